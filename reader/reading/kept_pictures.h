// Decoding that keeps what it has decoded: LoaderOptions::keep.
//
// What is kept of a sample is the picture before its first random step. Where no step but a flip is
// random, that is the row itself, not flipped yet: batches are the same to the byte as without
// keeping. Else it is the whole picture in the batch's channels, from which each epoch takes its
// crop; every sample then goes that way, kept or not, so that batches do not depend on what had
// room. Those differ by rounding from what the fused way makes. Raw payloads are not kept: there is
// nothing to decode.
//
// Each worker thread has one; they share the store.
#pragma once

#include <vector>

#include <sluice/loader_options.h>

#include "format/pixels/decode.h"
#include "reader/reading/decoded_store.h"

namespace sluice {

// Whether the steps leave nothing to chance but flips and turns at their end, so that all epochs'
// rows are the same but for those; and the row is all that is made of a picture.
bool RowsAreFixed(const LoaderOptions& options);

class KeptPictures {
 public:
  // `store` may be null: nothing is kept then.
  KeptPictures(DecodedStore* store, const LoaderOptions& options)
      : store_(store), rows_(RowsAreFixed(options)) {}

  // Whether that sample's picture is kept; the next Decode() takes it then, and needs no payload.
  bool Find(std::uint64_t sample, const ImagePayload& payload, const Region& region,
            std::uint32_t channels);
  // As PayloadDecoder::Decode, after Find() of the same.
  Defect Decode(PayloadDecoder& decoder, const ImagePayload& payload, const Region& region,
                const PixelTarget& target);
  // Whether the next Decode() decodes the whole picture, whatever the region.
  bool whole(const ImagePayload& payload) const noexcept {
    return store_ != nullptr && payload.codec != Codec::kRaw && !rows_;
  }
  // Whether Decode() has made something worth keeping, so that it should be right.
  bool pending() const noexcept { return pending_; }
  // Keeps it. The payload was whole when it was decoded.
  void Keep(std::uint64_t sample);

 private:
  DecodedStore* store_;
  bool rows_;
  std::vector<std::byte> read_;     // from a file
  std::vector<std::byte> picture_;  // on its way to the store
  ImagePayload kept_;               // what Find() was asked for; no bytes where it is not kept
  bool pending_ = false;
};

}  // namespace sluice
