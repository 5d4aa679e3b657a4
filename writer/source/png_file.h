// A PNG file opened with spng, with the limits and checks that every reader needs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "format/disk/bytes.h"

struct spng_ctx;
struct spng_ihdr;

namespace sluice {

class PngFile {
 public:
  // `file` must outlive this; `what` begins the sentence of every Error(kCorrupt), such as "broken
  // PNG". Texts are hidden from spng, and a colour profile unless it is wanted: spng would inflate
  // them to reach the pixels, and refuse a picture for its texts.
  PngFile(Bytes file, const char* what, bool with_profile = false);

  spng_ctx* get() const noexcept { return context_.get(); }
  spng_ihdr Header() const;
  // Whether there is a colour profile before the pixels.
  bool has_profile() const noexcept { return has_profile_; }
  // The text that holds XMP, inflated; empty if there is none that can be read.
  std::string Xmp() const;
  // Throws Error(kCorrupt) for a result other than SPNG_OK; CutShort if the file ends early.
  void Check(int result) const;

 private:
  // The file without what is hidden, and how far it has been read.
  struct Pieces {
    std::vector<Bytes> runs;
    std::size_t at = 0;
    static int Read(spng_ctx* context, void* self, void* to, std::size_t bytes);
  };

  std::unique_ptr<Pieces> pieces_;  // null: spng reads the file itself
  std::unique_ptr<spng_ctx, void (*)(spng_ctx*)> context_;
  std::vector<Bytes> Cut(Bytes file, bool with_profile);

  const char* what_;
  Bytes xmp_;  // a chunk
  bool has_profile_ = false;
};

}  // namespace sluice
