#include "writer/source/png_file.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include <spng.h>

#include <sluice/error.h>

#include "format/disk/system_error.h"
#include "writer/source/cut_short.h"

namespace sluice {

namespace {

// For profiles: a hostile one may inflate to gigabytes.
constexpr std::size_t kMaxChunkBytes = 8 << 20;
constexpr std::size_t kMaxChunksBytes = 32 << 20;

constexpr std::size_t kSignatureBytes = 8;
constexpr std::size_t kChunkBytes = 12;  // besides its content: size, name, checksum
constexpr std::string_view kXmpKeyword("XML:com.adobe.xmp\0", 18);

struct Chunk {
  std::string_view name;
  Bytes whole;
  Bytes content;
};

// The chunk that begins there, or nullopt if it is damaged or cut short.
std::optional<Chunk> ChunkAt(Bytes file, std::size_t at) {
  if (at > file.size() || file.size() - at < kChunkBytes) return std::nullopt;
  std::size_t size = 0;
  for (std::size_t i = 0; i < 4; ++i)
    size = size << 8 | std::to_integer<std::size_t>(file[at + i]);
  if (size > file.size() - at - kChunkBytes) return std::nullopt;
  return Chunk{AsText(file.subspan(at + 4, 4)), file.subspan(at, size + kChunkBytes),
               file.subspan(at + 8, size)};
}

bool IsText(std::string_view name) noexcept {
  return name == "tEXt" || name == "zTXt" || name == "iTXt";
}

}  // namespace

// The file cut into runs that leave out its texts, and its profile if that is not wanted. From
// where it is damaged, or not a PNG, the rest is one run.
std::vector<Bytes> PngFile::Cut(Bytes file, bool with_profile) {
  std::vector<Bytes> runs;
  std::size_t begin = 0;
  bool pixels = false;
  for (std::size_t at = kSignatureBytes; const auto chunk = ChunkAt(file, at);) {
    const std::size_t end = at + chunk->whole.size();
    pixels = pixels || chunk->name == "IDAT";
    const bool profile = chunk->name == "iCCP" && !pixels;
    has_profile_ = has_profile_ || profile;
    if (IsText(chunk->name) || (profile && !with_profile)) {
      runs.push_back(file.subspan(begin, at - begin));
      begin = end;
      const bool xmp = chunk->name == "iTXt" && AsText(chunk->content).starts_with(kXmpKeyword);
      if (xmp && xmp_.empty()) xmp_ = chunk->whole;
    }
    at = end;
    if (chunk->name == "IEND") break;
  }
  runs.push_back(file.subspan(begin));
  return runs;
}

int PngFile::Pieces::Read(spng_ctx*, void* self, void* to, std::size_t bytes) {
  auto& [runs, at] = *static_cast<Pieces*>(self);
  auto* out = static_cast<std::byte*>(to);
  while (bytes > 0) {
    if (at == runs.size()) return SPNG_IO_EOF;
    const std::size_t part = std::min(bytes, runs[at].size());
    out = std::copy_n(runs[at].begin(), part, out);
    bytes -= part;
    runs[at] = runs[at].subspan(part);
    if (runs[at].empty()) ++at;
  }
  return 0;
}

PngFile::PngFile(Bytes file, const char* what, bool with_profile)
    : context_(spng_ctx_new(0), &spng_ctx_free), what_(what) {
  if (!context_) throw std::bad_alloc();
  Check(spng_set_crc_action(get(), SPNG_CRC_ERROR, SPNG_CRC_ERROR));
  Check(spng_set_chunk_limits(get(), kMaxChunkBytes, kMaxChunksBytes));
  file = WithoutZeros(file);
  std::vector<Bytes> runs = Cut(file, with_profile);
  if (runs.size() == 1) {
    Check(spng_set_png_buffer(get(), file.data(), file.size()));
  } else {
    pieces_ = std::make_unique<Pieces>(Pieces{std::move(runs)});
    Check(spng_set_png_stream(get(), &Pieces::Read, pieces_.get()));
  }
}

std::string PngFile::Xmp() const {
  constexpr std::string_view kBefore(
      "\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\0\0\0\0\x3A\x7E\x9B\x55",
      33);  // a grey pixel
  constexpr std::string_view kBehind("\0\0\0\0IDAT\x35\xAF\x06\x1E", kChunkBytes);
  if (xmp_.empty()) return {};
  // A file of its own, so that a text which is damaged or inflates without end harms nothing else.
  std::string file(kBefore);
  file += AsText(xmp_);
  file += kBehind;
  const AllocationWatch memory;
  const std::unique_ptr<spng_ctx, void (*)(spng_ctx*)> context(spng_ctx_new(0), &spng_ctx_free);
  if (!context) throw std::bad_alloc();
  spng_set_crc_action(context.get(), SPNG_CRC_ERROR, SPNG_CRC_ERROR);
  spng_set_chunk_limits(context.get(), kMaxChunkBytes, kMaxChunksBytes);
  spng_set_png_buffer(context.get(), file.data(), file.size());
  spng_text text{};
  std::uint32_t count = 1;
  const bool read = spng_get_text(context.get(), &text, &count) == SPNG_OK;
  if (memory.failed()) throw std::bad_alloc();
  return read ? std::string(text.text, text.length) : std::string();
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
