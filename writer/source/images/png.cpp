// PNG, by spng: every colour type and bit depth, interlaced or not, as a picture or as a mask.
//
// Pictures: 16-bit values are rounded to 8 bits. Gamma, chromaticities and cICP are ignored; if
// they describe colours other than sRGB's, the picture counts as one whose profile is not used.
// From an animation, the default image is used. Masks: the values that the file stores, which may
// be palette indices.
//
// Both are built on PngFile. To reach the pixels, spng inflates texts, and a profile even if nobody
// asked for it. It also refuses a picture because of a damaged chunk that no pixel depends on. So
// PngFile gives spng the file without such chunks, as a list of runs.
#include "writer/source/images/png.h"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spng.h>

#include <sluice/error.h>

#include "format/disk/bytes.h"
#include "format/disk/system_error.h"
#include "writer/source/images/pixel_source.h"
#include "writer/source/images/values.h"

namespace sluice {

namespace {

class PngFile {
 public:
  // `file` must outlive this; `what` begins the sentence of every Error(kCorrupt), such as "broken
  // PNG". Texts are hidden from spng, and a colour profile unless it is wanted: spng would inflate
  // them to reach the pixels, and refuse a picture for its texts.
  PngFile(Bytes file, const char* what, bool with_profile = false);

  spng_ctx* get() const noexcept { return context_.get(); }
  spng_ihdr Header() const;
  // Whether there is a colour profile before the pixels, or chunks that describe colours other than
  // sRGB's.
  bool has_profile() const noexcept { return has_profile_; }
  // The text that holds XMP, inflated; empty if it is missing or cannot be read.
  std::string Xmp() const;
  // Throws Error(kCorrupt) for a result other than SPNG_OK; CutShort if the file ends early.
  void Check(int result) const;

 private:
  // The file without the hidden chunks, and how far it has been read.
  struct Pieces {
    std::vector<Bytes> runs;
    std::size_t at = 0;
    static int Read(spng_ctx* context, void* self, void* to, std::size_t bytes);
  };

  std::unique_ptr<Pieces> pieces_;  // null: spng reads the file itself
  std::unique_ptr<spng_ctx, void (*)(spng_ctx*)> context_;
  std::vector<Bytes> Cut(Bytes file, bool with_profile);

  const char* what_;
  Bytes xmp_;  // the whole chunk of the text that holds XMP; empty without XMP
  bool has_profile_ = false;
};

// Limits because of profiles: a hostile profile may inflate to gigabytes.
constexpr std::size_t kMaxChunkBytes = 8 << 20;
constexpr std::size_t kMaxChunksBytes = 32 << 20;

constexpr std::size_t kSignatureBytes = 8;
constexpr std::size_t kChunkBytes = 12;  // besides its content: size, name, checksum
constexpr std::string_view kXmpKeyword("XML:com.adobe.xmp\0", 18);

struct PngChunk {
  std::string_view name;
  Bytes whole;
  Bytes content;
};

// The chunk that begins there, or nullopt if it is damaged or cut short.
std::optional<PngChunk> PngChunkAt(Bytes file, std::size_t at) {
  if (at > file.size() || file.size() - at < kChunkBytes) return std::nullopt;
  std::size_t size = 0;
  for (std::size_t i = 0; i < 4; ++i)
    size = size << 8 | std::to_integer<std::size_t>(file[at + i]);
  if (size > file.size() - at - kChunkBytes) return std::nullopt;
  return PngChunk{AsText(file.subspan(at + 4, 4)), file.subspan(at, size + kChunkBytes),
                  file.subspan(at + 8, size)};
}

bool IsText(std::string_view name) noexcept {
  return name == "tEXt" || name == "zTXt" || name == "iTXt";
}

constexpr auto kCrcOfByte = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320U : 0U);
    table[byte] = crc;
  }
  return table;
}();

bool ChecksumHolds(const PngChunk& chunk) noexcept {
  const std::size_t end = chunk.whole.size() - 4;
  std::uint32_t crc = ~0U;
  for (const std::byte byte : chunk.whole.subspan(4, end - 4))
    crc = (crc >> 8) ^ kCrcOfByte[(crc ^ std::to_integer<std::uint32_t>(byte)) & 255];
  std::uint32_t stored = 0;
  for (const std::byte byte : chunk.whole.subspan(end))
    stored = stored << 8 | std::to_integer<std::uint32_t>(byte);
  return ~crc == stored;
}

// Whether the chunk is damaged and can be left out, as libpng does with a warning: gamma, Exif, a
// profile (which then counts as one that cannot be used), private chunks. Not transparency: without
// it, the picture would have other pixels, and nothing would say so. A name that differs from
// tRNS in one letter may be a damaged tRNS.
bool IsDispensable(const PngChunk& chunk) noexcept {
  const bool ancillary = chunk.name[0] >= 'a' && chunk.name[0] <= 'z';
  int as_transparency = 0;
  for (std::size_t i = 0; i < chunk.name.size(); ++i)
    as_transparency += chunk.name[i] == "tRNS"[i] ? 1 : 0;
  return ancillary && as_transparency < 3 && !ChecksumHolds(chunk);
}

std::uint32_t PngNumber(Bytes content, std::size_t index) noexcept {
  std::uint32_t number = 0;
  for (std::size_t i = 4 * index; i < 4 * index + 4; ++i)
    number = number << 8 | std::to_integer<std::uint32_t>(content[i]);
  return number;
}

// Whether gAMA, cHRM or cICP describe colours that differ from sRGB's visibly.
bool DescribesOtherColours(const PngChunk& chunk) noexcept {
  const auto differs = [&](std::size_t index, std::uint32_t of, std::uint32_t by) {
    const std::uint32_t number = PngNumber(chunk.content, index);
    return number + by < of || number > of + by;
  };
  if (chunk.name == "gAMA" && chunk.content.size() == 4) return differs(0, 45'455, 2'300);
  if (chunk.name == "cHRM" && chunk.content.size() == 32) {
    constexpr std::uint32_t kOfSrgb[] = {31'270, 32'900, 64'000, 33'000,
                                         30'000, 60'000, 15'000, 6'000};
    for (std::size_t i = 0; i < std::size(kOfSrgb); ++i)
      if (differs(i, kOfSrgb[i], 1'000)) return true;
  }
  if (chunk.name == "cICP" && chunk.content.size() == 4)
    return PngNumber(chunk.content, 0) != 0x01'0d'00'01;  // primaries, curve, RGB, full range
  return false;
}

// The file cut into runs that leave out its texts, damaged chunks that are dispensable, and its
// profile if that is not wanted. From the first place on at which no chunk can be recognised, and
// in a file that is not a PNG, the rest is one run.
std::vector<Bytes> PngFile::Cut(Bytes file, bool with_profile) {
  std::vector<Bytes> runs;
  std::size_t begin = 0;
  // The chunks seen so far: pixels; an sRGB chunk; a gAMA or cHRM (`other`) or a cICP that
  // describes other colours than sRGB's.
  bool pixels = false, srgb = false, other = false, cicp = false;
  for (std::size_t at = kSignatureBytes; const auto chunk = PngChunkAt(file, at);) {
    const std::size_t end = at + chunk->whole.size();
    pixels = pixels || chunk->name == "IDAT";
    const bool profile = chunk->name == "iCCP" && !pixels;
    has_profile_ = has_profile_ || profile;
    if (!pixels && !IsDispensable(*chunk)) {
      srgb = srgb || chunk->name == "sRGB";
      (chunk->name == "cICP" ? cicp : other) |= DescribesOtherColours(*chunk);
    }
    if (IsText(chunk->name) || (profile && !with_profile) || IsDispensable(*chunk)) {
      runs.push_back(file.subspan(begin, at - begin));
      begin = end;
      const bool xmp = chunk->name == "iTXt" && AsText(chunk->content).starts_with(kXmpKeyword);
      if (xmp && xmp_.empty()) xmp_ = chunk->whole;
    }
    at = end;
    if (chunk->name == "IEND") break;
  }
  has_profile_ = has_profile_ || cicp || (other && !srgb);
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
      33);  // the signature and header of a PNG of one grey pixel
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

class PngSource : public PixelSource {
 public:
  PngSource(Bytes file, bool with_profile);

  Bytes Profile() override;
  Picture Decode(const ColorRules& rules) override;

 private:
  // The format in which spng is asked for a row.
  struct LineFormat {
    int format = 0;
    std::uint32_t pixel_bytes = 0;
  };
  LineFormat FormatFor(bool opaque) const;
  // Returns true if the file ends early and that is accepted, false for SPNG_OK; throws for every
  // other result.
  bool Ended(int result);
  void DecodeLines(LineFormat format, const ColorRules& rules, Picture& picture);
  void DecodeInterlaced(LineFormat format, const ColorRules& rules, Picture& picture);
  void FindOrientation();

  PngFile png_;
  std::optional<std::string> xmp_;  // PngFile::Xmp(); nullopt until it was called
  std::uint8_t bit_depth_ = 0;
  std::uint8_t color_type_ = 0;
  bool interlaced_ = false;
};

// Converts one decoded row, in the format that spng gave, to the picture's channels.
void StoreLine(const void* in, int format, const ColorRules& rules, const Picture& picture,
               std::uint8_t* out) {
  const auto* values = static_cast<const std::uint8_t*>(in);
  switch (format) {
    case SPNG_FMT_RGBA16:
      return StoreRgbaLine(static_cast<const std::uint16_t*>(in), picture.width, picture.channels,
                           rules, out);
    case SPNG_FMT_RGBA8: return StoreRgbaLine(values, picture.width, picture.channels, rules, out);
    case SPNG_FMT_RGB8: return StoreRgbLine(values, picture.width, picture.channels, rules, out);
    default: return StoreGreyLine(values, picture.width, rules, out);
  }
}

// Whether decoded rows have the picture's own form, so that spng can decode straight into it.
bool FitsInPlace(int format, std::uint32_t channels) noexcept {
  return format == SPNG_FMT_G8 || (format == SPNG_FMT_RGB8 && channels == 3);
}

PngSource::PngSource(Bytes file, bool with_profile) : png_(file, "broken PNG", with_profile) {
  has_profile_ = png_.has_profile();
  const spng_ihdr header = png_.Header();
  width_ = header.width;
  height_ = header.height;
  bit_depth_ = header.bit_depth;
  deep_ = bit_depth_ > 8;
  color_type_ = header.color_type;
  interlaced_ = header.interlace_method != SPNG_INTERLACE_NONE;
  grey_ =
      color_type_ == SPNG_COLOR_TYPE_GRAYSCALE || color_type_ == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA;
}

Bytes PngSource::Profile() {
  spng_iccp profile{};
  if (spng_get_iccp(png_.get(), &profile) != SPNG_OK) return {};
  return {reinterpret_cast<const std::byte*>(profile.profile), profile.profile_len};
}

PngSource::LineFormat PngSource::FormatFor(bool opaque) const {
  if (bit_depth_ == 16) return {SPNG_FMT_RGBA16, 8};
  if (!opaque) return {SPNG_FMT_RGBA8, 4};
  return grey_ ? LineFormat{SPNG_FMT_G8, 1} : LineFormat{SPNG_FMT_RGB8, 3};
}

Picture PngSource::Decode(const ColorRules& rules) {
  spng_trns transparency{};
  const bool opaque = color_type_ != SPNG_COLOR_TYPE_GRAYSCALE_ALPHA &&
                      color_type_ != SPNG_COLOR_TYPE_TRUECOLOR_ALPHA &&
                      spng_get_trns(png_.get(), &transparency) == SPNG_ECHUNKAVAIL;
  Picture picture = MakePicture(PictureChannels(grey_, opaque, rules));
  FindOrientation();  // from Exif before the pixels; below, from Exif after them
  if (interlaced_) {
    DecodeInterlaced(FormatFor(opaque), rules, picture);
  } else {
    DecodeLines(FormatFor(opaque), rules, picture);
  }
  // Reads the chunks after the image data: checksums, and perhaps the orientation.
  if (cut_short().empty() && !Ended(spng_decode_chunks(png_.get()))) FindOrientation();
  return picture;
}

bool PngSource::Ended(int result) {
  if (result != SPNG_IO_EOF) {
    png_.Check(result);
    return false;
  }
  EndsEarly("broken PNG", spng_strerror(result));
  return true;
}

void PngSource::DecodeLines(LineFormat format, const ColorRules& rules, Picture& picture) {
  bool ended = Ended(spng_decode_image(png_.get(), nullptr, 0, format.format,
                                       SPNG_DECODE_TRNS | SPNG_DECODE_PROGRESSIVE));
  const std::size_t line_bytes = std::size_t{width_} * format.pixel_bytes;
  const bool in_place = FitsInPlace(format.format, picture.channels);
  std::vector<std::byte> row(in_place ? 0 : line_bytes);
  for (std::uint32_t y = 0; y < height_; ++y) {
    std::uint8_t* const out = picture.Line(y);
    void* const target = in_place ? static_cast<void*>(out) : row.data();
    if (!ended) {
      const int result = spng_decode_row(png_.get(), target, line_bytes);
      ended = (result != SPNG_EOI || y + 1 != height_) && Ended(result);
      if (ended) std::fill(row.begin(), row.end(), std::byte{0});
    }
    StoreLine(target, format.format, rules, picture, out);
  }
}

// An interlaced image's passes come in an order that needs the whole image at once.
void PngSource::DecodeInterlaced(LineFormat format, const ColorRules& rules, Picture& picture) {
  const std::size_t line_bytes = std::size_t{width_} * format.pixel_bytes;
  const bool in_place = FitsInPlace(format.format, picture.channels);
  std::vector<std::byte> all(in_place ? 0 : line_bytes * height_);
  void* const target = in_place ? static_cast<void*>(picture.pixels.data()) : all.data();
  Ended(
      spng_decode_image(png_.get(), target, line_bytes * height_, format.format, SPNG_DECODE_TRNS));
  for (std::uint32_t y = 0; y < height_; ++y) {
    StoreLine(static_cast<const std::byte*>(target) + y * line_bytes, format.format, rules, picture,
              picture.Line(y));
  }
}

// From the chunks that were read so far, and the text that holds XMP.
Orientation OrientationIn(const PngFile& png, const std::string& xmp) {
  spng_exif exif{};
  if (spng_get_exif(png.get(), &exif) != SPNG_OK) exif = {};
  return ReadOrientation(std::as_bytes(std::span(exif.data, exif.length)), AsBytes(xmp));
}

void PngSource::FindOrientation() {
  if (!xmp_) xmp_ = png_.Xmp();
  orientation_ = OrientationIn(png_, *xmp_);
}

std::uint32_t ChannelsOf(std::uint8_t color_type) noexcept {
  switch (color_type) {
    case SPNG_COLOR_TYPE_GRAYSCALE_ALPHA: return 2;
    case SPNG_COLOR_TYPE_TRUECOLOR: return 3;
    case SPNG_COLOR_TYPE_TRUECOLOR_ALPHA: return 4;
    default: return 1;
  }
}

// Unpacks values of fewer than eight bits, the first in the highest bits, to one a byte: in place,
// from the end of the row.
void Unpack(std::uint8_t* row, std::uint32_t width, unsigned bits) noexcept {
  for (std::uint32_t x = width; x-- > 0;) {
    const std::uint64_t bit = std::uint64_t{x} * bits;
    const unsigned shift = 8 - bits - static_cast<unsigned>(bit % 8);
    row[x] = static_cast<std::uint8_t>((row[bit / 8] >> shift) & ((1U << bits) - 1));
  }
}

// The values of a file whose size was checked.
MaskPicture StoredValues(const PngFile& png, const spng_ihdr& header) {
  MaskPicture mask;
  mask.width = header.width;
  mask.height = header.height;
  mask.channels = ChannelsOf(header.color_type);
  mask.value_bytes = header.bit_depth == 16 ? 2 : 1;
  std::size_t size = 0;
  png.Check(spng_decoded_image_size(png.get(), SPNG_FMT_PNG, &size));
  const std::size_t packed = size / mask.height;  // of a row
  std::vector<std::uint8_t> image(size);
  png.Check(spng_decode_image(png.get(), image.data(), image.size(), SPNG_FMT_PNG, 0));
  png.Check(spng_decode_chunks(png.get()));
  if (header.bit_depth >= 8) {
    mask.pixels = std::move(image);
    return mask;
  }
  mask.pixels.resize(std::size_t{mask.width} * mask.height * mask.channels * mask.value_bytes);
  for (std::uint32_t y = 0; y < mask.height; ++y) {
    std::uint8_t* const row = mask.pixels.data() + std::size_t{y} * mask.width;
    std::copy_n(image.data() + y * packed, packed, row);
    Unpack(row, mask.width, header.bit_depth);
  }
  return mask;
}

}  // namespace

MaskPicture DecodeMask(Bytes file, std::uint64_t max_pixels) {
  const PngFile png(file, "its mask is a broken PNG");
  const spng_ihdr header = png.Header();
  if (std::uint64_t{header.width} * header.height > max_pixels) {
    throw Error(ErrorCode::kLimit, "its mask has " + std::to_string(header.width) + "x" +
                                       std::to_string(header.height) + " pixels, more than the " +
                                       std::to_string(max_pixels) + " of max_pixels");
  }
  return StoredValues(png, header);
}

ValuePicture PngValues(Bytes file, std::uint64_t max_pixels) {
  const PngFile png(file, "broken PNG");
  const spng_ihdr header = png.Header();
  ValuePicture picture;
  picture.type = header.bit_depth == 16 ? PixelType::kUint16 : PixelType::kUint8;
  CheckValues(header.width, header.height, ChannelsOf(header.color_type), picture.type, max_pixels);
  static_cast<MaskPicture&>(picture) = StoredValues(png, header);
  picture.orientation = OrientationIn(png, png.Xmp());
  return picture;
}

std::unique_ptr<PixelSource> OpenPng(Bytes file, bool with_profile) {
  return std::make_unique<PngSource>(file, with_profile);
}

}  // namespace sluice
