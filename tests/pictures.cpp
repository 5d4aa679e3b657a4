#include "tests/pictures.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "format/random.h"

namespace sluice::test {

Picture MakePicture(std::uint32_t width, std::uint32_t height, std::uint32_t channels,
                    std::uint64_t seed) {
  Picture picture{width, height, channels, {}};
  RandomStream random(seed, static_cast<Purpose>(999), 0);
  const int shift = static_cast<int>(random.Below(128));
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      for (std::uint32_t c = 0; c < channels; ++c) {
        int value = static_cast<int>((x * (c + 1) * 120) / width + (y * (3 - c % 3) * 40) / height);
        value +=
            ((x / 9 + y / 7) % 2 == 0 ? 30 : 0) + shift / 4 + static_cast<int>(random.Below(8));
        picture.pixels.push_back(static_cast<std::uint8_t>(value > 255 ? 255 : value));
      }
    }
  }
  return picture;
}

std::vector<std::byte> EncodeJpegWith(const Picture& picture, const JpegSettings& set,
                                      J_COLOR_SPACE in) {
  jpeg_compress_struct object{};
  jpeg_error_mgr errors{};
  object.err = jpeg_std_error(&errors);
  jpeg_create_compress(&object);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&object, &memory, &size);
  object.image_width = picture.width;
  object.image_height = picture.height;
  object.input_components = static_cast<int>(picture.channels);
  object.in_color_space = picture.channels == 1   ? JCS_GRAYSCALE
                          : picture.channels == 4 ? JCS_CMYK
                                                  : in;
  jpeg_set_defaults(&object);
  jpeg_set_quality(&object, 95, TRUE);
  set(object);
  jpeg_start_compress(&object, TRUE);
  while (object.next_scanline < object.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(picture.at(0, object.next_scanline));
    jpeg_write_scanlines(&object, &row, 1);
  }
  jpeg_finish_compress(&object);
  jpeg_destroy_compress(&object);
  const auto* bytes = reinterpret_cast<const std::byte*>(memory);
  std::vector<std::byte> file(bytes, bytes + size);
  std::free(memory);
  return file;
}

std::vector<std::byte> MakeJpeg(const Picture& picture, const JpegOptions& options) {
  const auto set = [&](jpeg_compress_struct& object) {
    if (picture.channels == 3) jpeg_set_colorspace(&object, options.stored);
    jpeg_set_quality(&object, options.quality, TRUE);
    if (!options.subsample) {
      object.comp_info[0].h_samp_factor = object.comp_info[0].v_samp_factor = 1;
    }
    if (options.luma_h != 0) {
      object.comp_info[0].h_samp_factor = options.luma_h;
      object.comp_info[0].v_samp_factor = options.luma_v;
    }
    object.optimize_coding = options.optimise ? TRUE : FALSE;
    if (options.progressive) jpeg_simple_progression(&object);
    object.restart_in_rows = options.restart_rows;
    object.restart_interval = options.restart_interval;
  };
  return EncodeJpegWith(picture, set, options.in);
}

Picture DecodeJpeg(const std::vector<std::byte>& file, std::uint32_t channels) {
  jpeg_decompress_struct object{};
  jpeg_error_mgr errors{};
  object.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&object);
  jpeg_mem_src(&object, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&object, TRUE);
  object.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(&object);
  Picture picture{object.output_width, object.output_height, channels, {}};
  picture.pixels.resize(std::size_t{picture.width} * picture.height * channels);
  while (object.output_scanline < object.output_height) {
    JSAMPROW row = const_cast<JSAMPROW>(picture.at(0, object.output_scanline));
    jpeg_read_scanlines(&object, &row, 1);
  }
  jpeg_finish_decompress(&object);
  jpeg_destroy_decompress(&object);
  return picture;
}

int LargestDifference(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  if (a.size() != b.size()) return 256;
  int largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

}  // namespace sluice::test
