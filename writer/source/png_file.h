// A PNG file opened with spng, with the limits and checks that every reader needs.
#pragma once

#include <memory>
#include <vector>

#include "format/disk/bytes.h"

struct spng_ctx;
struct spng_ihdr;

namespace sluice {

class PngFile {
 public:
  // `file` must outlive this; `what` begins the sentence of every Error(kCorrupt), such as "broken
  // PNG". A colour profile is hidden from spng unless it is wanted: spng would inflate it to reach
  // the pixels.
  PngFile(Bytes file, const char* what, bool with_profile = false);

  spng_ctx* get() const noexcept { return context_.get(); }
  spng_ihdr Header() const;
  // Whether there is a colour profile before the pixels.
  bool has_profile() const noexcept { return has_profile_; }
  // Throws Error(kCorrupt) for a result other than SPNG_OK; CutShort if the file ends early.
  void Check(int result) const;

 private:
  // The file without its profiles, and how far it has been read.
  struct Pieces {
    std::vector<Bytes> left;
    static int Read(spng_ctx* context, void* self, void* to, std::size_t bytes);
  };

  std::unique_ptr<Pieces> pieces_;  // null: spng reads the file itself
  std::unique_ptr<spng_ctx, void (*)(spng_ctx*)> context_;
  const char* what_;
  bool has_profile_ = false;
};

}  // namespace sluice
