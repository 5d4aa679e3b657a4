#include "writer/source/png_file.h"

#include <new>
#include <string>

#include <spng.h>

#include <sluice/error.h>

namespace sluice {

namespace {

// Of a text or profile, which nothing here needs: a hostile one may inflate to gigabytes.
constexpr std::size_t kMaxChunkBytes = 8 << 20;
constexpr std::size_t kMaxChunksBytes = 32 << 20;

}  // namespace

PngFile::PngFile(Bytes file, const char* what)
    : context_(spng_ctx_new(0), &spng_ctx_free), what_(what) {
  if (!context_) throw std::bad_alloc();
  Check(spng_set_crc_action(get(), SPNG_CRC_ERROR, SPNG_CRC_ERROR));
  Check(spng_set_chunk_limits(get(), kMaxChunkBytes, kMaxChunksBytes));
  Check(spng_set_png_buffer(get(), file.data(), file.size()));
}

spng_ihdr PngFile::Header() const {
  spng_ihdr header{};
  Check(spng_get_ihdr(get(), &header));
  return header;
}

void PngFile::Check(int result) const {
  if (result == SPNG_OK) return;
  throw Error(ErrorCode::kCorrupt, std::string(what_) + ": " + spng_strerror(result));
}

}  // namespace sluice
