// The primary picture of a HEIF file (HEIC), by libheif, which crops, rotates and mirrors it as the
// file's own properties say.
//
// Exif's orientation repeats these properties for other programs and is ignored (ISO/IEC 23008-12,
// Annex A).
#include <algorithm>
#include <memory>
#include <vector>

#include <libheif/heif.h>
#include <pthread.h>

#include <sluice/error.h>

#include "writer/source/images/iso_boxes.h"
#include "writer/source/images/pixel_source.h"

namespace sluice {

namespace {

class HeifSource : public PixelSource {
 public:
  explicit HeifSource(Bytes file);

  Bytes Profile() override;
  Picture Decode(const ColorRules& rules) override;

 private:
  static void Check(const heif_error& error);
  void FindProfile();

  std::unique_ptr<heif_context, void (*)(heif_context*)> context_;
  std::unique_ptr<const heif_image_handle, void (*)(const heif_image_handle*)> picture_;
  std::vector<std::byte> profile_;
};

constexpr const char* kBrokenHeif = "broken HEIF";

HeifSource::HeifSource(Bytes file)
    : context_(heif_context_alloc(), &heif_context_free),
      picture_(nullptr, &heif_image_handle_release) {
  if (!context_) throw std::bad_alloc();
  heif_context_set_max_decoding_threads(context_.get(), 0);  // in the calling thread
  file = WithoutManyZeros(file);
  RequireFewItems(file, "HEIF");
  Check(heif_context_read_from_memory_without_copy(context_.get(), file.data(), file.size(),
                                                   nullptr));
  heif_image_handle* picture = nullptr;
  Check(heif_context_get_primary_image_handle(context_.get(), &picture));
  picture_.reset(picture);
  width_ = static_cast<std::uint32_t>(std::max(heif_image_handle_get_width(picture), 0));
  height_ = static_cast<std::uint32_t>(std::max(heif_image_handle_get_height(picture), 0));
  FindProfile();
}

void HeifSource::Check(const heif_error& error) {
  if (error.code == heif_error_Ok) return;
  if (error.code == heif_error_Memory_allocation_error &&
      error.subcode != heif_suberror_Security_limit_exceeded) {
    throw std::bad_alloc();
  }
  const std::string why = error.message != nullptr ? error.message : "it cannot be read";
  if (error.code == heif_error_Unsupported_filetype ||
      error.code == heif_error_Unsupported_feature) {
    throw Error(ErrorCode::kUnsupported, "unsupported HEIF: " + why);
  }
  if (error.subcode == heif_suberror_End_of_data) throw CutShort(kBrokenHeif, why);
  throw Error(ErrorCode::kCorrupt, std::string(kBrokenHeif) + ": " + why);
}

// Finds the ICC profile, or the numbers (nclx) that describe colours other than sRGB's.
void HeifSource::FindProfile() {
  const std::size_t size = heif_image_handle_get_raw_color_profile_size(picture_.get());
  if (size > 0) {
    profile_.resize(size);
    Check(heif_image_handle_get_raw_color_profile(picture_.get(), profile_.data()));
    has_profile_ = true;
    return;
  }
  heif_color_profile_nclx* colours = nullptr;
  if (heif_image_handle_get_nclx_color_profile(picture_.get(), &colours).code != heif_error_Ok) {
    return;
  }
  constexpr int kBt709 = 1, kUnspecified = 2, kBt601 = 6, kSrgb = 13;
  const int tone = colours->transfer_characteristics;
  has_profile_ = colours->color_primaries > kUnspecified ||
                 (tone > kUnspecified && tone != kBt601 && tone != kSrgb) || tone < kBt709;
  heif_nclx_color_profile_free(colours);
}

// libde265 decodes in a thread of its own. If that thread cannot be started for lack of memory,
// libde265 waits for it forever, so RoomToDecode checks first that there is enough.
//
// The bytes are a generous bound, not a measurement. Planes of the picture (3 values per pixel
// without subsampling), of its opacity (1), and of the RGBA that they are converted to (4) take 8
// bytes per pixel; the bound is twice that, and kHeifBytesBesides is for what does not depend on
// the size. Pictures of more than 8 bits take double.
constexpr std::size_t kHeifBytesEach = 16;
constexpr std::size_t kHeifBytesBesides = 8 << 20;

// The stack size of a new thread.
std::size_t StackBytes() noexcept {
  std::size_t bytes = 0;
  pthread_attr_t usual;
  if (pthread_attr_init(&usual) != 0) return bytes;
  pthread_attr_getstacksize(&usual, &bytes);
  pthread_attr_destroy(&usual);
  return bytes;
}

Bytes HeifSource::Profile() {
  return profile_;
}

Picture HeifSource::Decode(const ColorRules& rules) {
  // libheif decodes the picture completely or not at all, so a file that ends early is always
  // refused, whatever ConvertOptions::form.truncated says.
  const std::unique_ptr<heif_decoding_options, void (*)(heif_decoding_options*)> options(
      heif_decoding_options_alloc(), &heif_decoding_options_free);
  if (!options) throw std::bad_alloc();
  options->strict_decoding = 1;
  deep_ = heif_image_handle_get_luma_bits_per_pixel(picture_.get()) > 8;
  const bool opaque = heif_image_handle_has_alpha_channel(picture_.get()) == 0;
  const RoomToDecode room(StackBytes() + kHeifBytesBesides +
                          std::size_t{width_} * height_ * (deep_ ? 2 : 1) * kHeifBytesEach);
  heif_image* image = nullptr;
  Check(heif_decode_image(
      picture_.get(), &image, heif_colorspace_RGB,
      deep_ ? heif_chroma_interleaved_RRGGBBAA_LE : heif_chroma_interleaved_RGBA, options.get()));
  const std::unique_ptr<heif_image, void (*)(const heif_image*)> decoded(image,
                                                                         &heif_image_release);
  int stride = 0;
  const std::uint8_t* const pixels =
      heif_image_get_plane_readonly(image, heif_channel_interleaved, &stride);
  if (pixels == nullptr ||
      heif_image_get_width(image, heif_channel_interleaved) != static_cast<int>(width_) ||
      heif_image_get_height(image, heif_channel_interleaved) != static_cast<int>(height_)) {
    throw Error(ErrorCode::kCorrupt,
                std::string(kBrokenHeif) + ": its pixels are not as many as its header says");
  }
  const int bits = heif_image_get_bits_per_pixel_range(image, heif_channel_interleaved);
  const bool premultiplied = heif_image_handle_is_premultiplied_alpha(picture_.get()) != 0;
  const unsigned most = (1U << std::clamp(bits, 1, 16)) - 1;
  Picture picture = MakePicture(PictureChannels(grey_, opaque, rules));
  std::vector<std::uint16_t> row(std::size_t{width_} * 4);
  for (std::size_t y = 0; y < height_; ++y) {
    const std::uint8_t* const in = pixels + y * static_cast<std::size_t>(stride);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const unsigned value = deep_ ? in[2 * i] | unsigned{in[2 * i + 1]} << 8 : in[i];
      row[i] = static_cast<std::uint16_t>((std::min(value, most) * 65'535ULL + most / 2) / most);
    }
    if (premultiplied && !opaque) DivideByOpacity(row);
    StoreRgbaLine(row.data(), width_, picture.channels, rules, picture.Line(y));
  }
  return picture;
}

}  // namespace

std::unique_ptr<PixelSource> OpenHeif(Bytes file, bool) {
  return std::make_unique<HeifSource>(file);
}

std::string HeifVersion() {
  return heif_get_version();
}

}  // namespace sluice
