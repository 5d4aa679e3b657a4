// How a decoder thread uses the cache of decoded pictures (LoaderOptions::keep): CachedPicture
// takes pictures from DecodedPictureCache and puts them there, CachedRows does so with whole rows.
// Each thread has its own objects; they share the cache.
//
// The cache keeps each sample's picture before its first random step. If only flips and turns are
// random, that picture is the row as it is before they are applied, and batches are the same to the
// byte as without keeping. Otherwise, it is the whole picture, with the batch's number of channels,
// from which each epoch takes its crop. Every sample is then decoded whole first, kept or not, so
// that batches do not depend on which pictures had room. They differ from batches without keeping:
// there, a JPEG may be decoded at a reduced size, and its components are resampled before they
// become RGB. Raw payloads are not kept: there is nothing to decode.
//
// With DecodedPictures::function_is_deterministic the cache keeps whole rows instead, as the user's
// sample_function left them. A sample whose row is kept is neither read nor decoded again, and the
// function is not called for it.
#pragma once

#include <vector>

#include <sluice/loader_options.h>

#include "format/pixels/decode.h"
#include "reader/batch/slot.h"
#include "reader/reading/decoded_picture_cache.h"

namespace sluice {

// Whether a sample's row, as it is before flips, turns, warps and steps that change pixels, is the
// same in all epochs. It is if the options have neither views nor a schedule and at most one output
// size, and if the transform neither draws a part of the picture nor crops or resizes it after a
// flip or turn.
bool RowsAreFixed(const LoaderOptions& options);

class CachedPicture {
 public:
  // `cache` may be null: nothing is kept then.
  CachedPicture(DecodedPictureCache* cache, const LoaderOptions& options)
      : cache_(cache), rows_(RowsAreFixed(options)) {}

  // Returns whether the cache has that sample's picture. If so, the next Decode() takes the picture
  // from there, and needs no payload.
  bool Find(std::uint64_t sample, const ImagePayload& payload, const Region& region,
            std::uint32_t channels);
  // Like PayloadDecoder::Decode(). Find() must have been called for the same picture.
  Defect Decode(PayloadDecoder& decoder, const ImagePayload& payload, const Region& region,
                const PixelTarget& target);
  // Whether the next Decode() decodes the whole picture, whatever the region.
  bool whole(const ImagePayload& payload) const noexcept {
    return cache_ != nullptr && payload.codec != Codec::kRaw && !rows_;
  }
  // From Find() on: whether Decode() makes, or has made, a picture to keep, so that its payload
  // should be verified.
  bool pending() const noexcept { return pending_; }
  // Puts that picture into the cache. The caller must have verified its payload.
  void Keep(std::uint64_t sample);

 private:
  DecodedPictureCache* cache_;
  bool rows_;  // what is kept is the row before flips and turns, not the whole picture
  std::vector<std::byte> read_;     // what the cache reads from its file
  std::vector<std::byte> picture_;  // on its way to the cache
  // The row or whole picture, raw, to make the target from; without bytes until the cache has it or
  // Decode() has made it. Its codec is not kRaw if nothing is kept for this payload.
  ImagePayload kept_;
  bool pending_ = false;
};

class CachedRows {
 public:
  // `cache` may be null: nothing is kept then.
  explicit CachedRows(DecodedPictureCache* cache) noexcept : cache_(cache) {}

  // If the row's sample is kept, fills the row, sets slot.files[row] to null, and returns true.
  bool Restore(Slot& slot, std::size_t row);
  // Puts the row into the cache, unless the cache is full, or slot.files[row] is null because the
  // row came from this cache or another loader. The caller must have verified the row's bytes.
  void Keep(Slot& slot, std::size_t row);

 private:
  DecodedPictureCache* cache_;
  std::vector<std::byte> read_;  // what the cache reads from its file
  std::vector<std::byte> row_;   // on its way to the cache
};

}  // namespace sluice
