// JPEG 2000, as a JP2 file or a bare codestream, by openjpeg.
//
// openjpeg allocates memory for every tile, component, precinct and code block that the headers
// name: two hundred bytes can ask for gigabytes. It also takes missing tiles for black ones. So
// CodestreamReader reads the headers first: it refuses numbers that no picture of that size has,
// and counts the tiles that are there (ISO/IEC 15444-1, annexes A and I). openjpeg then decodes the
// components, and rows are made of them here.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <openjpeg.h>

#include <sluice/error.h>

#include "format/disk/bytes.h"
#include "writer/source/images/iso_boxes.h"
#include "writer/source/images/pixel_source.h"

namespace sluice {

namespace {

constexpr std::uint32_t kMaxJp2Components = 5;

struct Jp2Tiles {
  std::uint32_t promised = 0;  // according to the header's size and grid
  std::uint32_t present = 0;   // tiles with a header in the file
};

constexpr std::uint64_t kMaxJp2Layers = 1024;
constexpr std::uint32_t kMaxJp2Levels = 32;
// Pictures with more pixels are refused, whatever the options.
constexpr std::uint64_t kMaxJp2Pixels = std::uint64_t{1} << 28;

enum Jp2Marker : std::uint32_t {
  kSoc = 0xFF4F,
  kSiz = 0xFF51,
  kCod = 0xFF52,
  kCoc = 0xFF53,
  kSot = 0xFF90,
  kSod = 0xFF93,
};

[[noreturn]] void RefuseCount(std::uint64_t count, const char* what) {
  throw Error(ErrorCode::kUnsupported, "unsupported JPEG 2000: it has " + std::to_string(count) +
                                           " " + what + ", more than pictures of its size have");
}

std::uint64_t CeilDivide(std::uint64_t whole, std::uint64_t part) noexcept {
  return (whole + part - 1) / part;
}

// The codestream in the boxes of a JP2 file; empty if it is missing.
Bytes CodestreamOf(Bytes file) noexcept {
  while (const std::optional<FileBox> box = TakeFileBox(file)) {
    if (box->type == "jp2c") return box->body;
  }
  return {};
}

class CodestreamReader {
 public:
  explicit CodestreamReader(Bytes bytes) : bytes_(bytes) {}

  Jp2Tiles Look() {
    if (!Has(2) || Next() != kSoc) return {};
    at_ = 2;
    if (!ReadHeaders(kSot) || tiles_ == 0) return {};
    std::vector<bool> seen(tiles_);
    while (Has(12) && Next() == kSot) {
      const std::size_t start = at_;
      const std::uint64_t tile = BigEndian(bytes_, start + 4, 2);
      const std::uint64_t length = BigEndian(bytes_, start + 6, 4);
      if (tile < tiles_) seen[tile] = true;
      at_ += 12;
      if (!ReadHeaders(kSod)) break;
      if (length < 12 || length > bytes_.size() - start) break;  // 0: up to the end
      at_ = start + length;
    }
    return {tiles_, static_cast<std::uint32_t>(std::count(seen.begin(), seen.end(), true))};
  }

 private:
  bool Has(std::size_t count) const noexcept { return bytes_.size() - at_ >= count; }
  std::uint64_t Next() const noexcept { return BigEndian(bytes_, at_, 2); }

  // Reads marker segments up to the marker `last`; false if the file ends before it.
  bool ReadHeaders(Jp2Marker last) {
    while (Has(2)) {
      const std::uint64_t marker = Next();
      if (marker == last) return true;
      if (!Has(4)) return false;
      const std::size_t size = BigEndian(bytes_, at_ + 2, 2);
      if (size < 2 || !Has(2 + size)) return false;
      const Bytes body = bytes_.subspan(at_ + 4, size - 2);
      if (marker == kSiz) ReadSize(body);
      if (marker == kCod) ReadCoding(body);
      if (marker == kCoc) ReadComponentCoding(body);
      at_ += 2 + size;
    }
    return false;
  }

  void ReadSize(Bytes body) {
    if (body.size() < 36) return;
    const auto word = [&](std::size_t i) { return BigEndian(body, 2 + 4 * i, 4); };
    // Lengths on the reference grid: the picture's right, bottom, left and top edges, a tile's
    // width and height, and where the first tile begins.
    const std::uint64_t across = word(0), down = word(1), left = word(2), top = word(3);
    const std::uint64_t tile_across = word(4), tile_down = word(5), from_x = word(6),
                        from_y = word(7);
    if (across <= left || down <= top || tile_across == 0 || tile_down == 0 || from_x > left ||
        from_y > top) {
      return;  // openjpeg refuses them
    }
    const std::uint64_t components = BigEndian(body, 34, 2);
    if (components > kMaxJp2Components) RefuseCount(components, "components");
    width_ = across - left;
    height_ = down - top;
    const std::uint64_t tiles =
        CeilDivide(across - from_x, tile_across) * CeilDivide(down - from_y, tile_down);
    if (tiles > std::min<std::uint64_t>(1024 + Pixels() / 16'384, 65'535))
      RefuseCount(tiles, "tiles");
    tiles_ = static_cast<std::uint32_t>(tiles);
  }

  void ReadCoding(Bytes body) {
    if (body.size() < 10) return;
    layers_ = BigEndian(body, 2, 2);
    if (layers_ > kMaxJp2Layers) RefuseCount(layers_, "layers");
    CheckBlocks((BigEndian(body, 0, 1) & 1) != 0, body.subspan(5));
  }

  void ReadComponentCoding(Bytes body) {
    if (body.size() < 7) return;  // a component's number is one byte, since there are at most five
    CheckBlocks((BigEndian(body, 1, 1) & 1) != 0, body.subspan(2));
  }

  // `body` begins with the number of levels. Counts precincts and blocks of one component, as if
  // the whole picture were one tile.
  void CheckBlocks(bool own_precincts, Bytes body) const {
    const auto levels = static_cast<std::uint32_t>(BigEndian(body, 0, 1));
    // openjpeg refuses more levels, and kMaxJp2Pixels, where Pixels() ends, is more than any option
    // allows.
    if (levels > kMaxJp2Levels || Pixels() == kMaxJp2Pixels) return;
    const std::uint64_t across = BigEndian(body, 1, 1) % 16 + 2;
    const std::uint64_t down = BigEndian(body, 2, 1) % 16 + 2;
    std::uint64_t precincts = 0;
    std::uint64_t blocks = 0;
    for (std::uint32_t level = 0; level <= levels; ++level) {
      std::uint64_t precinct_across = 15, precinct_down = 15;
      if (own_precincts) {
        if (body.size() < 6 + level) return;
        const std::uint64_t sides = BigEndian(body, 5 + level, 1);
        precinct_across = sides & 15;
        precinct_down = sides >> 4;
      }
      const std::uint64_t width = CeilDivide(width_, std::uint64_t{1} << (levels - level));
      const std::uint64_t height = CeilDivide(height_, std::uint64_t{1} << (levels - level));
      precincts += CeilDivide(width, std::uint64_t{1} << precinct_across) *
                   CeilDivide(height, std::uint64_t{1} << precinct_down);
      // A block lies within its precinct. Above the lowest resolution level, a precinct covers half
      // its width and height in each band.
      const std::uint64_t half = level > 0 ? 1 : 0;
      const std::uint64_t inner_across = precinct_across - std::min(precinct_across, half);
      const std::uint64_t inner_down = precinct_down - std::min(precinct_down, half);
      blocks += CeilDivide(width, std::uint64_t{1} << std::min(across, inner_across)) *
                CeilDivide(height, std::uint64_t{1} << std::min(down, inner_down));
    }
    const std::uint64_t most_precincts = 4096 + Pixels() / 1024;
    if (precincts > most_precincts) RefuseCount(precincts, "precincts");
    if (blocks > 4096 + Pixels() / 128) RefuseCount(blocks, "code blocks");
    if (precincts * std::max<std::uint64_t>(layers_, 1) > 64 * most_precincts) {
      RefuseCount(precincts * layers_, "packets");
    }
  }

  std::uint64_t Pixels() const noexcept {
    return std::min(kMaxJp2Pixels, width_ > kMaxJp2Pixels ? kMaxJp2Pixels : width_ * height_);
  }

  Bytes bytes_;
  std::size_t at_ = 0;
  std::uint64_t width_ = 0;
  std::uint64_t height_ = 0;
  std::uint64_t layers_ = 0;
  std::uint32_t tiles_ = 0;  // that the header's size and grid give; 0: not read yet
};

// The number of colours per pixel after the palette (box "pclr") of a JP2 file; 0 if it has none.
std::uint32_t PaletteColours(Bytes file) noexcept {
  while (std::optional<FileBox> box = TakeFileBox(file)) {
    if (box->type != "jp2h") continue;
    for (Bytes header = box->body; (box = TakeFileBox(header));) {
      if (box->type == "pclr" && box->body.size() >= 3)
        return static_cast<std::uint32_t>(BigEndian(box->body, 2, 1));
    }
    return 0;
  }
  return 0;
}

// Counts the tiles of a JP2 file or a bare codestream (ISO/IEC 15444-1, annexes A and I). If the
// file ends in its headers, both counts are 0, and openjpeg reports the error. Throws
// Error(kUnsupported) if a header asks for more tiles, components, layers, precincts or code blocks
// than pictures of its size have.
Jp2Tiles LookAtCodestream(Bytes file) {
  const bool bare = file.size() >= 2 && BigEndian(file, 0, 2) == kSoc;
  return CodestreamReader(bare ? file : CodestreamOf(file)).Look();
}

class Jp2Source : public PixelSource {
 public:
  explicit Jp2Source(Bytes file);

  Bytes Profile() override;
  Picture Decode(const ColorRules& rules) override;

 private:
  struct Stream {
    Bytes file;
    std::size_t at = 0;
    // openjpeg's first error message. Warnings are not kept, since files that it decodes well can
    // have some. A fixed array, because the handler runs inside openjpeg, through which no
    // exception may pass.
    std::array<char, 200> trouble{};
    bool ends_early = false;  // openjpeg asked for bytes beyond the file's end
  };

  void CheckComponents() const;
  // The value of a component at a pixel of the picture, scaled to 0..65535.
  std::uint16_t ValueAt(std::size_t component, std::uint32_t x, std::uint32_t y) const noexcept;
  void ReadLine(std::uint32_t y, std::uint16_t* rgba) const noexcept;
  [[noreturn]] void ThrowBroken() const;

  Stream stream_;
  std::unique_ptr<void*, void (*)(void**)> opened_;  // openjpeg's stream
  std::unique_ptr<void*, void (*)(void**)> codec_;
  std::unique_ptr<opj_image, void (*)(opj_image*)> image_;
  Jp2Tiles tiles_;
  bool luma_ = false;        // components are YCbCr
  std::size_t opacity_ = 0;  // index of the opacity component; 0: opaque
  bool premultiplied_ = false;
};

constexpr const char* kBrokenJp2 = "broken JPEG 2000";
constexpr std::size_t kJp2ReadAhead = 64 << 10;

std::uint16_t ClampedValue(double value) noexcept {
  return static_cast<std::uint16_t>(std::lround(std::clamp(value, 0.0, 65'535.0)));
}

Jp2Source::Jp2Source(Bytes file)
    : stream_{WithoutManyZeros(file), 0, {}, false},
      opened_(opj_stream_create(kJp2ReadAhead, OPJ_TRUE), &opj_stream_destroy),
      codec_(nullptr, &opj_destroy_codec),
      image_(nullptr, &opj_image_destroy),
      tiles_(LookAtCodestream(stream_.file)) {
  const bool bare = AsText(file).starts_with("\xff\x4f");
  codec_.reset(opj_create_decompress(bare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2));
  if (!codec_ || !opened_) throw std::bad_alloc();
  opj_stream_t* const stream = opened_.get();
  opj_stream_set_user_data(stream, &stream_, nullptr);
  opj_stream_set_user_data_length(stream, stream_.file.size());
  opj_stream_set_read_function(stream, [](void* to, OPJ_SIZE_T count, void* self) {
    auto& from = *static_cast<Stream*>(self);
    const Bytes got = from.file.subspan(from.at, std::min(count, from.file.size() - from.at));
    if (got.empty()) {
      from.ends_early = true;
      return static_cast<OPJ_SIZE_T>(-1);
    }
    std::copy(got.begin(), got.end(), static_cast<std::byte*>(to));
    from.at += got.size();
    return got.size();
  });
  opj_stream_set_skip_function(stream, [](OPJ_OFF_T count, void* self) {
    auto& from = *static_cast<Stream*>(self);
    if (count < 0 || static_cast<std::uint64_t>(count) > from.file.size() - from.at) {
      from.at = from.file.size();
      from.ends_early = true;
      return OPJ_OFF_T{-1};
    }
    from.at += static_cast<std::size_t>(count);
    return count;
  });
  opj_stream_set_seek_function(stream, [](OPJ_OFF_T to, void* self) {
    auto& from = *static_cast<Stream*>(self);
    if (to < 0 || static_cast<std::uint64_t>(to) > from.file.size()) return OPJ_FALSE;
    from.at = static_cast<std::size_t>(to);
    return OPJ_TRUE;
  });
  const auto remember = [](const char* text, void* self) {
    auto& trouble = static_cast<Stream*>(self)->trouble;
    if (trouble[0] != 0) return;
    const std::string_view line = std::string_view(text).substr(0, std::strcspn(text, "\n"));
    trouble[line.copy(trouble.data(), trouble.size() - 1)] = 0;
  };
  opj_set_error_handler(codec_.get(), remember, &stream_);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* image = nullptr;
  const bool read = opj_setup_decoder(codec_.get(), &parameters) != OPJ_FALSE &&
                    opj_decoder_set_strict_mode(codec_.get(), OPJ_FALSE) != OPJ_FALSE &&
                    opj_read_header(stream, codec_.get(), &image) != OPJ_FALSE;
  image_.reset(image);
  if (!read || image == nullptr) {
    if (stream_.ends_early) throw CutShort(kBrokenJp2, "it ends in its header");
    ThrowBroken();
  }
  CheckComponents();
  width_ = image->comps[0].w;
  height_ = image->comps[0].h;
  const std::uint32_t palette = PaletteColours(stream_.file);
  grey_ = (palette > 0 ? palette : image->numcomps) <= 2;
  has_profile_ = image->icc_profile_len > 0;
}

void Jp2Source::ThrowBroken() const {
  throw Error(ErrorCode::kCorrupt,
              std::string(kBrokenJp2) + ": " +
                  (stream_.trouble[0] == 0 ? "openjpeg cannot decode it" : stream_.trouble.data()));
}

void Jp2Source::CheckComponents() const {
  const auto unsupported = [](const std::string& what) {
    throw Error(ErrorCode::kUnsupported, "unsupported JPEG 2000: " + what);
  };
  const opj_image_t& image = *image_;
  if (image.numcomps == 0 || image.numcomps > kMaxJp2Components) {
    unsupported("it has " + std::to_string(image.numcomps) + " components");
  }
  if (image.color_space == OPJ_CLRSPC_CMYK) unsupported("its colours are inks (CMYK)");
  for (std::uint32_t c = 0; c < image.numcomps; ++c) {
    const opj_image_comp_t& component = image.comps[c];
    if (component.prec == 0 || component.prec > 31) unsupported("its values have too many bits");
    // openjpeg allocates memory for each component, so none may be larger than the first.
    if (component.w > image.comps[0].w || component.h > image.comps[0].h || component.dx == 0 ||
        component.dy == 0) {
      unsupported("a component is larger than the first");
    }
  }
}

Bytes Jp2Source::Profile() {
  return {reinterpret_cast<const std::byte*>(image_->icc_profile_buf), image_->icc_profile_len};
}

std::uint16_t Jp2Source::ValueAt(std::size_t c, std::uint32_t x, std::uint32_t y) const noexcept {
  const opj_image_comp_t& component = image_->comps[c];
  const opj_image_comp_t& first = image_->comps[0];
  const std::uint64_t column =
      std::min<std::uint64_t>(std::uint64_t{x} * first.dx / component.dx, component.w - 1);
  const std::uint64_t row =
      std::min<std::uint64_t>(std::uint64_t{y} * first.dy / component.dy, component.h - 1);
  const std::int64_t most = (std::int64_t{1} << component.prec) - 1;
  const std::int64_t value = std::int64_t{component.data[row * component.w + column]} +
                             (component.sgnd != 0 ? (most + 1) / 2 : 0);
  return static_cast<std::uint16_t>((std::clamp(value, std::int64_t{0}, most) * 65'535 + most / 2) /
                                    most);
}

void Jp2Source::ReadLine(std::uint32_t y, std::uint16_t* rgba) const noexcept {
  // The value of chroma that means no colour: 128 of 255, or the same for other bit depths.
  const double bits = luma_ ? image_->comps[1].prec : 8;
  const double centre = 65'535 * std::exp2(bits - 1) / (std::exp2(bits) - 1);
  for (std::uint32_t x = 0; x < width_; ++x, rgba += 4) {
    for (std::size_t c = 0; c < 3; ++c)
      rgba[c] = ValueAt(grey_ ? 0 : c, x, y);
    rgba[3] = opacity_ == 0 ? 65'535 : ValueAt(opacity_, x, y);
    if (!luma_) continue;
    const double luma = rgba[0];
    const double blue = rgba[1] - centre;
    const double red = rgba[2] - centre;
    rgba[0] = ClampedValue(luma + 1.402 * red);
    rgba[1] = ClampedValue(luma - 0.344136 * blue - 0.714136 * red);
    rgba[2] = ClampedValue(luma + 1.772 * blue);
  }
}

Picture Jp2Source::Decode(const ColorRules& rules) {
  stream_.trouble[0] = 0;
  const bool decoded = opj_decode(codec_.get(), opened_.get(), image_.get()) != OPJ_FALSE;
  if (stream_.ends_early) EndsEarly(kBrokenJp2, "its pixels end early");
  if (tiles_.present < tiles_.promised && cut_short().empty()) {
    EndsEarly(kBrokenJp2, std::to_string(tiles_.promised - tiles_.present) + " of its " +
                              std::to_string(tiles_.promised) + " tiles are missing");
  }
  CheckComponents();  // again: the colours of a palette are components now
  const opj_image_t& image = *image_;
  grey_ = image.numcomps <= 2;
  const bool whole = decoded && stream_.trouble[0] == 0;
  if (!whole && cut_short().empty()) ThrowBroken();
  for (std::uint32_t c = 0; c < image.numcomps; ++c) {
    // Nothing was decoded of a picture that ends early: all of it is black.
    if (image.comps[c].data == nullptr) return MakePicture(PictureChannels(grey_, true, rules));
    if (image.comps[c].alpha == 0 || c == 0) continue;
    opacity_ = c;
    premultiplied_ = image.comps[c].alpha == 2;
  }
  const std::uint32_t colours = image.numcomps - (opacity_ > 0 ? 1 : 0);
  if (image.comps[0].w != width_ || image.comps[0].h != height_ || (!grey_ && colours < 3)) {
    ThrowBroken();
  }
  drops_channels_ = colours > (grey_ ? 1U : 3U);
  luma_ = !grey_ && (image.color_space == OPJ_CLRSPC_SYCC || image.color_space == OPJ_CLRSPC_EYCC ||
                     image.comps[1].dx != image.comps[0].dx);
  Picture picture = MakePicture(PictureChannels(grey_, opacity_ == 0, rules));
  std::vector<std::uint16_t> row(std::size_t{width_} * 4);
  deep_ = image.comps[0].prec > 8;
  for (std::uint32_t y = 0; y < height_; ++y) {
    ReadLine(y, row.data());
    if (premultiplied_) DivideByOpacity(row);
    StoreRgbaLine(row.data(), width_, picture.channels, rules, picture.Line(y));
  }
  return picture;
}

}  // namespace

std::unique_ptr<PixelSource> OpenJp2(Bytes file, bool) {
  return std::make_unique<Jp2Source>(file);
}

std::string Jp2Version() {
  return opj_version();
}

}  // namespace sluice
