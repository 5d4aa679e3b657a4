#include "writer/source/jp2_source.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <openjpeg.h>

#include <sluice/error.h>

namespace sluice {

namespace {

constexpr const char* kBrokenJp2 = "broken JPEG 2000";
constexpr std::size_t kReadAhead = 64 << 10;

std::uint16_t Clamped(double value) noexcept {
  return static_cast<std::uint16_t>(std::lround(std::clamp(value, 0.0, 65'535.0)));
}

}  // namespace

Jp2Source::Jp2Source(Bytes file)
    : stream_{WithoutManyZeros(file), 0, {}, false},
      opened_(opj_stream_create(kReadAhead, OPJ_TRUE), &opj_stream_destroy),
      codec_(nullptr, &opj_destroy_codec),
      image_(nullptr, &opj_image_destroy),
      tiles_(jp2::LookAtCodestream(stream_.file)) {
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
  const std::uint32_t palette = jp2::PaletteColours(stream_.file);
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
  if (image.numcomps == 0 || image.numcomps > jp2::kMostComponents) {
    unsupported("it has " + std::to_string(image.numcomps) + " components");
  }
  if (image.color_space == OPJ_CLRSPC_CMYK) unsupported("its colours are inks (CMYK)");
  for (std::uint32_t c = 0; c < image.numcomps; ++c) {
    const opj_image_comp_t& component = image.comps[c];
    if (component.prec == 0 || component.prec > 31) unsupported("its values have too many bits");
    // Memory is taken for each of them.
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

void Jp2Source::ReadRow(std::uint32_t y, std::uint16_t* rgba) const noexcept {
  // Of no colour: 128 of 255.
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
    rgba[0] = Clamped(luma + 1.402 * red);
    rgba[1] = Clamped(luma - 0.344136 * blue - 0.714136 * red);
    rgba[2] = Clamped(luma + 1.772 * blue);
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
  CheckComponents();  // a palette's colours are there now
  const opj_image_t& image = *image_;
  grey_ = image.numcomps <= 2;
  const bool whole = decoded && stream_.trouble[0] == 0;
  if (!whole && cut_short().empty()) ThrowBroken();
  for (std::uint32_t c = 0; c < image.numcomps; ++c) {
    if (image.comps[c].data == nullptr) return MakePicture(PictureChannels(grey_, true, rules));
    if (image.comps[c].alpha == 0 || c == 0) continue;
    opacity_ = c;
    premultiplied_ = image.comps[c].alpha == 2;
  }
  const std::uint32_t colours = image.numcomps - (opacity_ > 0 ? 1 : 0);
  if (image.comps[0].w != width_ || image.comps[0].h != height_ || (!grey_ && colours < 3)) {
    ThrowBroken();
  }
  luma_ = !grey_ && (image.color_space == OPJ_CLRSPC_SYCC || image.color_space == OPJ_CLRSPC_EYCC ||
                     image.comps[1].dx != image.comps[0].dx);
  Picture picture = MakePicture(PictureChannels(grey_, opacity_ == 0, rules));
  std::vector<std::uint16_t> row(std::size_t{width_} * 4);
  deep_ = image.comps[0].prec > 8;
  for (std::uint32_t y = 0; y < height_; ++y) {
    ReadRow(y, row.data());
    if (premultiplied_) DivideByOpacity(row);
    StoreRgbaRow(row.data(), width_, picture.channels, rules,
                 &picture.pixels[std::size_t{y} * width_ * picture.channels]);
  }
  return picture;
}

}  // namespace sluice
