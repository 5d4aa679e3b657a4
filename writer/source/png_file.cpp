#include "writer/source/png_file.h"

#include <algorithm>
#include <new>
#include <string>

#include <spng.h>

#include <sluice/error.h>

#include "writer/source/cut_short.h"

namespace sluice {

namespace {

// For texts and profiles, which nothing here needs: a hostile one may inflate to gigabytes.
constexpr std::size_t kMaxChunkBytes = 8 << 20;
constexpr std::size_t kMaxChunksBytes = 32 << 20;

constexpr std::size_t kSignatureBytes = 8;
constexpr std::size_t kChunkBytes = 12;  // besides its content: size, name, checksum

// The file cut into runs that leave out the profiles before the pixels. From where it is damaged,
// or not a PNG, the rest is one run.
std::vector<Bytes> WithoutProfiles(Bytes file) {
  std::vector<Bytes> runs;
  std::size_t begin = 0;
  std::size_t at = kSignatureBytes;
  while (at <= file.size() && file.size() - at >= kChunkBytes) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < 4; ++i)
      size = size << 8 | std::to_integer<std::size_t>(file[at + i]);
    const std::string_view name = AsText(file.subspan(at + 4, 4));
    if (name == "IDAT" || size > file.size() - at - kChunkBytes) break;
    const std::size_t end = at + kChunkBytes + size;
    if (name == "iCCP") {
      runs.push_back(file.subspan(begin, at - begin));
      begin = end;
    }
    at = end;
  }
  runs.push_back(file.subspan(begin));
  return runs;
}

}  // namespace

int PngFile::Pieces::Read(spng_ctx*, void* self, void* to, std::size_t bytes) {
  std::vector<Bytes>& left = static_cast<Pieces*>(self)->left;
  auto* out = static_cast<std::byte*>(to);
  while (bytes > 0) {
    if (left.empty()) return SPNG_IO_EOF;
    const std::size_t part = std::min(bytes, left.front().size());
    out = std::copy_n(left.front().begin(), part, out);
    bytes -= part;
    left.front() = left.front().subspan(part);
    if (left.front().empty()) left.erase(left.begin());
  }
  return 0;
}

PngFile::PngFile(Bytes file, const char* what, bool with_profile)
    : context_(spng_ctx_new(0), &spng_ctx_free), what_(what) {
  if (!context_) throw std::bad_alloc();
  Check(spng_set_crc_action(get(), SPNG_CRC_ERROR, SPNG_CRC_ERROR));
  Check(spng_set_chunk_limits(get(), kMaxChunkBytes, kMaxChunksBytes));
  file = WithoutZeros(file);
  std::vector<Bytes> runs = WithoutProfiles(file);
  has_profile_ = runs.size() > 1;
  if (with_profile || !has_profile_) {
    Check(spng_set_png_buffer(get(), file.data(), file.size()));
  } else {
    pieces_ = std::make_unique<Pieces>(Pieces{std::move(runs)});
    Check(spng_set_png_stream(get(), &Pieces::Read, pieces_.get()));
  }
}

spng_ihdr PngFile::Header() const {
  spng_ihdr header{};
  Check(spng_get_ihdr(get(), &header));
  return header;
}

void PngFile::Check(int result) const {
  if (result == SPNG_OK) return;
  if (result == SPNG_IO_EOF) throw CutShort(what_, spng_strerror(result));
  throw Error(ErrorCode::kCorrupt, std::string(what_) + ": " + spng_strerror(result));
}

}  // namespace sluice
