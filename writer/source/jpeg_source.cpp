#include "writer/source/jpeg_source.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <sluice/error.h>

#include "writer/source/cut_short.h"

namespace sluice {

namespace {

constexpr std::string_view kExifMarker("Exif\0\0", 6);
constexpr std::string_view kXmpMarker("http://ns.adobe.com/xap/1.0/\0", 29);
constexpr std::string_view kProfileMarker("ICC_PROFILE\0", 12);

bool IsCmyk(const jpeg_decompress_struct& object) noexcept {
  return object.jpeg_color_space == JCS_CMYK || object.jpeg_color_space == JCS_YCCK;
}

}  // namespace

JpegSource::JpegSource(const JpegFile& file, bool with_profile) : ended_(file.ended) {
  ReadHeader(file.bytes, with_profile);
  ReadMarkers();
}

void JpegSource::ReadHeader(Bytes bytes, bool with_profile) {
  if (setjmp(jpeg_.trap.jump) != 0) jpeg_.trap.Throw();
  jpeg_save_markers(&jpeg_.object, JPEG_APP0 + 1, 0xFFFF);
  jpeg_save_markers(&jpeg_.object, JPEG_APP0 + 2, with_profile ? 0xFFFF : kProfileMarker.size());
  jpeg_mem_src(&jpeg_.object, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&jpeg_.object, TRUE);
}

void JpegSource::ReadMarkers() {
  Bytes exif;
  Bytes xmp;
  for (auto* marker = jpeg_.object.marker_list; marker != nullptr; marker = marker->next) {
    const Bytes data(reinterpret_cast<const std::byte*>(marker->data), marker->data_length);
    if (marker->marker == JPEG_APP0 + 1) {
      if (exif.empty() && AsText(data).starts_with(kExifMarker)) exif = data;
      if (xmp.empty() && AsText(data).starts_with(kXmpMarker)) xmp = data;
    }
    if (marker->marker == JPEG_APP0 + 2 && AsText(data).starts_with(kProfileMarker)) {
      has_profile_ = true;
    }
  }
  orientation_ = ReadOrientation(exif, xmp);
}

std::vector<std::byte> JpegSource::Profile() {
  if (setjmp(jpeg_.trap.jump) != 0) jpeg_.trap.Throw();
  JOCTET* data = nullptr;
  unsigned int size = 0;
  if (jpeg_read_icc_profile(&jpeg_.object, &data, &size) == FALSE) return {};
  const auto* const begin = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> profile(begin, begin + size);
  std::free(data);
  return profile;
}

ProfileColors JpegSource::colors() const noexcept {
  const jpeg_decompress_struct& object = jpeg_.object;
  if (object.jpeg_color_space == JCS_GRAYSCALE) return ProfileColors::kGrey;
  if (!IsCmyk(object)) return ProfileColors::kRgb;
  return object.saw_Adobe_marker != 0 ? ProfileColors::kCmykInverted : ProfileColors::kCmyk;
}

void JpegSource::Start(std::uint32_t channels, std::uint32_t reduction) {
  if (setjmp(jpeg_.trap.jump) != 0) jpeg_.trap.Throw();
  jpeg_decompress_struct& object = jpeg_.object;
  object.scale_num = 8 / reduction;
  object.scale_denom = 8;
  object.dct_method = JDCT_ISLOW;
  if (IsCmyk(object)) {
    object.out_color_space = JCS_CMYK;
  } else if (channels == 1 || object.jpeg_color_space == JCS_GRAYSCALE) {
    object.out_color_space = JCS_GRAYSCALE;
  } else {
    object.out_color_space = JCS_RGB;
  }
  jpeg_start_decompress(&object);
}

bool JpegSource::may_lack_scans() const noexcept {
  const jpeg_decompress_struct& object = jpeg_.object;
  return !ended_ && (object.progressive_mode != 0 || object.comps_in_scan < object.num_components);
}

// A file of several scans may end before all components, or all their bits, have arrived. If bits
// are missing but the file has an end marker, somebody made it that way.
void JpegSource::CheckScans() {
  const jpeg_decompress_struct& object = jpeg_.object;
  const char* missing = nullptr;
  for (int c = 0; c < object.num_components; ++c) {
    if (object.comp_info[c].quant_table == nullptr) {
      missing = "one of its colour components is missing";
    } else if (may_lack_scans() && object.coef_bits != nullptr && missing == nullptr) {
      const int* const bits = object.coef_bits[c];  // still missing; -1: all of them
      if (std::any_of(bits, bits + DCTSIZE2, [](int left) { return left != 0; })) {
        missing = "its last scans are missing";
      }
    }
  }
  JpegTrap& trap = jpeg_.trap;
  if (missing == nullptr || trap.cut_short[0] != 0) return;
  if (ended_) throw Error(ErrorCode::kCorrupt, std::string("broken JPEG: ") + missing);
  if (!trap.takes_cut_short) throw CutShort("broken JPEG", missing);
  std::snprintf(trap.cut_short, sizeof trap.cut_short, "%s", missing);
}

void JpegSource::StoreRow(const ColorRules& rules, std::uint8_t* row, const Picture& picture,
                          std::uint8_t* out) const {
  if (!IsCmyk(jpeg_.object)) {
    return jpeg_.object.output_components == 1
               ? StoreGreyRow(row, picture.width, rules, out)
               : StoreRgbRow(row, picture.width, picture.channels, rules, out);
  }
  // Adobe's programs store inks inverted, and mark the file as theirs; nearly every CMYK JPEG is
  // from one of them.
  StoreCmykRow(row, picture.width, jpeg_.object.saw_Adobe_marker != 0, picture.channels, rules,
               out);
}

void JpegSource::ReadRows(const ColorRules& rules, std::uint8_t* row, Picture& picture) {
  if (setjmp(jpeg_.trap.jump) != 0) jpeg_.trap.Throw();
  jpeg_decompress_struct& object = jpeg_.object;
  const std::size_t stride = std::size_t{picture.width} * picture.channels;
  while (object.output_scanline < object.output_height) {
    std::uint8_t* const out = picture.pixels.data() + object.output_scanline * stride;
    JSAMPROW target = row != nullptr ? row : out;
    jpeg_read_scanlines(&object, &target, 1);
    if (row != nullptr) StoreRow(rules, row, picture, out);
  }
}

Picture JpegSource::Decode(const ColorRules& rules, std::uint32_t reduction) {
  // Colours are converted to sRGB before they become grey.
  Start(rules.transform != nullptr ? 3 : rules.channels, reduction);
  const std::uint32_t channels = colors() == ProfileColors::kGrey ? 1 : rules.channels;
  Picture picture{jpeg_.object.output_width, jpeg_.object.output_height, channels, {}};
  picture.pixels.resize(std::size_t{picture.width} * picture.height * picture.channels);
  const bool in_place = !IsCmyk(jpeg_.object) && rules.transform == nullptr;
  std::vector<std::uint8_t> row(in_place ? 0 : std::size_t{picture.width} * 4);
  ReadRows(rules, in_place ? nullptr : row.data(), picture);
  CheckScans();
  return picture;
}

jvirt_barray_ptr* JpegSource::ReadCoefficients() {
  jvirt_barray_ptr* const coefficients = ReadAllCoefficients();
  CheckScans();
  return coefficients;
}

jvirt_barray_ptr* JpegSource::ReadAllCoefficients() {
  if (setjmp(jpeg_.trap.jump) != 0) jpeg_.trap.Throw();
  return jpeg_read_coefficients(&jpeg_.object);
}

}  // namespace sluice
