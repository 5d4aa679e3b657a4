// A PNG file under spng, with the limits and checks that every reader of one wants.
#pragma once

#include <memory>

#include "format/disk/bytes.h"

struct spng_ctx;
struct spng_ihdr;

namespace sluice {

class PngFile {
 public:
  // `file` outlives this; `what` begins the sentence of every Error(kCorrupt), such as "broken
  // PNG".
  PngFile(Bytes file, const char* what);

  spng_ctx* get() const noexcept { return context_.get(); }
  spng_ihdr Header() const;
  // Throws Error(kCorrupt) for a result that is not SPNG_OK.
  void Check(int result) const;

 private:
  std::unique_ptr<spng_ctx, void (*)(spng_ctx*)> context_;
  const char* what_;
};

}  // namespace sluice
