#include "tests/writer/source_files.h"

#include <cmath>
#include <fstream>
#include <stdexcept>

#include <png.h>

#include "format/disk/bytes.h"

namespace sluice::test {

namespace {

// A little-endian TIFF structure with one directory of one entry.
std::vector<std::uint8_t> ExifOf(std::uint16_t orientation) {
  std::vector<std::uint8_t> exif = {'I',  'I', 42, 0, 8, 0, 0, 0,   // header, directory at 8
                                    1,    0,                        // one entry
                                    0x12, 1,   3,  0, 1, 0, 0, 0,   // orientation, one short
                                    0,    0,   0,  0, 0, 0, 0, 0};  // its value, no next directory
  exif[18] = static_cast<std::uint8_t>(orientation);
  return exif;
}

}  // namespace

void WriteSource(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

void WriteSource(const std::filesystem::path& path, const FileBytes& bytes) {
  WriteSource(path, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

FileBytes EncodeWith(const Picture& picture,
                     const std::function<void(jpeg_compress_struct&)>& configure) {
  return EncodeJpegWith(picture, configure);
}

FileBytes WithOrientation(const FileBytes& jpeg, std::uint16_t orientation) {
  const std::vector<std::uint8_t> exif = ExifOf(orientation);
  const auto length = static_cast<std::uint16_t>(2 + 6 + exif.size());
  std::vector<std::uint8_t> segment = {0xFF, 0xE1, static_cast<std::uint8_t>(length >> 8),
                                       static_cast<std::uint8_t>(length)};
  for (const char c : {'E', 'x', 'i', 'f', '\0', '\0'}) {
    segment.push_back(static_cast<std::uint8_t>(c));
  }
  segment.insert(segment.end(), exif.begin(), exif.end());
  FileBytes file(jpeg.begin(), jpeg.begin() + 2);
  for (const std::uint8_t byte : segment)
    file.push_back(std::byte{byte});
  file.insert(file.end(), jpeg.begin() + 2, jpeg.end());
  return file;
}

FileBytes WithXmp(const FileBytes& jpeg, const std::string& packet) {
  const std::string name("http://ns.adobe.com/xap/1.0/\0", 29);
  const std::size_t length = 2 + name.size() + packet.size();
  std::string segment = {'\xff', '\xe1', static_cast<char>(length >> 8), static_cast<char>(length)};
  segment += name + packet;
  FileBytes file(jpeg.begin(), jpeg.begin() + 2);
  const Bytes bytes = AsBytes(segment);
  file.insert(file.end(), bytes.begin(), bytes.end());
  file.insert(file.end(), jpeg.begin() + 2, jpeg.end());
  return file;
}

FileBytes MakePng(std::uint32_t width, std::uint32_t height, const std::vector<std::uint8_t>& rows,
                  const PngOptions& options) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  FileBytes file;
  png_set_write_fn(
      png, &file,
      [](png_structp self, png_bytep data, std::size_t size) {
        auto& out = *static_cast<FileBytes*>(png_get_io_ptr(self));
        const auto* bytes = reinterpret_cast<const std::byte*>(data);
        out.insert(out.end(), bytes, bytes + size);
      },
      nullptr);
  png_set_IHDR(png, info, width, height, options.bit_depth, options.color_type,
               options.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> palette;
  for (std::size_t i = 0; i + 2 < options.palette.size(); i += 3) {
    palette.push_back({options.palette[i], options.palette[i + 1], options.palette[i + 2]});
  }
  if (!palette.empty()) png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
  if (!options.palette_opacity.empty()) {
    png_set_tRNS(png, info, options.palette_opacity.data(),
                 static_cast<int>(options.palette_opacity.size()), nullptr);
  }
  if (options.orientation != 0) {
    std::vector<std::uint8_t> exif = ExifOf(options.orientation);
    png_set_eXIf_1(png, info, static_cast<png_uint_32>(exif.size()), exif.data());
  }
  if (!options.xmp.empty()) {
    png_text text{};
    text.compression = PNG_ITXT_COMPRESSION_NONE;
    text.key = const_cast<png_charp>("XML:com.adobe.xmp");
    text.text = const_cast<png_charp>(options.xmp.c_str());
    png_set_text(png, info, &text, 1);
  }
  if (!options.profile.empty()) {
    // The test may want an invalid profile, so libpng must not check it.
    png_set_option(png, PNG_SKIP_sRGB_CHECK_PROFILE, PNG_OPTION_ON);
    png_set_iCCP(png, info, "profile", PNG_COMPRESSION_TYPE_BASE,
                 reinterpret_cast<png_const_bytep>(options.profile.data()),
                 static_cast<png_uint_32>(options.profile.size()));
  }
  std::vector<png_bytep> pointers;
  for (std::uint32_t y = 0; y < height; ++y) {
    pointers.push_back(const_cast<png_bytep>(rows.data() + rows.size() / height * y));
  }
  png_set_rows(png, info, pointers.data());
  png_write_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
  png_destroy_write_struct(&png, &info);
  return file;
}

FileBytes MakePng(const Picture& picture) {
  PngOptions options;
  options.color_type = picture.channels == 1 ? 0 : 2;
  return MakePng(picture.width, picture.height, picture.pixels, options);
}

FileBytes Truncated(const FileBytes& file, std::size_t count) {
  return {file.begin(), file.begin() + static_cast<std::ptrdiff_t>(count)};
}

double Difference(const Picture& a, const Picture& b) {
  if (a.width != b.width || a.height != b.height || a.channels != b.channels) return 1e9;
  double sum = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i)
    sum += std::abs(a.pixels[i] - b.pixels[i]);
  return sum / static_cast<double>(a.pixels.size());
}

void WriteClasses(const std::filesystem::path& folder, int per_class) {
  std::uint64_t seed = 1;
  for (const char* name : {"ant", "bee", "cow"}) {
    for (int i = 0; i < per_class; ++i, ++seed) {
      const auto width = static_cast<std::uint32_t>(90 + seed % 21);
      WriteSource(folder / name / (std::to_string(i) + ".jpg"),
                  MakeJpeg(MakePicture(width, 80, 3, seed)));
    }
  }
}

}  // namespace sluice::test
