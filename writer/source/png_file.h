// A PNG file under spng, with the limits and checks that every reader of one wants.
#pragma once

#include <memory>
#include <vector>

#include "format/disk/bytes.h"

struct spng_ctx;
struct spng_ihdr;

namespace sluice {

class PngFile {
 public:
  // `file` outlives this; `what` begins the sentence of every Error(kCorrupt), such as "broken
  // PNG". A colour profile is left in its file unless it is wanted: spng would inflate it to see
  // the pixels.
  PngFile(Bytes file, const char* what, bool with_profile = false);

  spng_ctx* get() const noexcept { return context_.get(); }
  spng_ihdr Header() const;
  // Whether a colour profile stands before the pixels.
  bool has_profile() const noexcept { return has_profile_; }
  // Throws Error(kCorrupt) for a result that is not SPNG_OK; CutShort where the file ends early.
  void Check(int result) const;

 private:
  // The file but for its profiles, and how far it was read.
  struct Pieces {
    std::vector<Bytes> left;
    static int Read(spng_ctx* context, void* self, void* to, std::size_t bytes);
  };

  std::unique_ptr<Pieces> pieces_;  // none: spng has the file itself
  std::unique_ptr<spng_ctx, void (*)(spng_ctx*)> context_;
  const char* what_;
  bool has_profile_ = false;
};

}  // namespace sluice
