// JPEG sources made smaller or larger, compared with a reference: libjpeg's accurate decoding of
// the whole picture and a triangle filter in double precision.
#include <algorithm>
#include <cmath>
#include <span>

#include <sluice/convert.h>
#include <sluice/error.h>

#include "format/random.h"
#include "tests/catch.h"
#include "tests/writer/source_files.h"
#include "writer/encode/jpeg.h"
#include "writer/fit/fit.h"

namespace sluice::test {

namespace {

// The smallest PSNR against the reference that these tests accept for their own drawn pictures.
// (For comparison: 39 photos, resized by factors from 1.3 to 16, reach 52 dB on average and at
// least 41.)
constexpr double kLeastPsnr = 42;

struct WeightedPixel {
  std::uint32_t at;
  double weight;
};

// The weights of output `i` if [start, start + length) of `size` pixels becomes `out` pixels.
std::vector<WeightedPixel> Triangle(double start, double length, std::uint32_t size,
                                    std::uint32_t out, std::uint32_t i) {
  const double scale = length / out;
  const double reach = std::max(1.0, scale);
  const double centre = start + (i + 0.5) * scale;
  std::vector<WeightedPixel> taps;
  double sum = 0;
  for (std::uint32_t s = 0; s < size; ++s) {
    const double weight = 1 - std::fabs(s + 0.5 - centre) / reach;
    if (weight <= 0) continue;
    taps.push_back({s, weight});
    sum += weight;
  }
  for (WeightedPixel& tap : taps)
    tap.weight /= sum;
  return taps;
}

// Likewise, but each weight is the share of the output's interval that lies in the pixel.
std::vector<WeightedPixel> Overlap(double start, double length, std::uint32_t size,
                                   std::uint32_t out, std::uint32_t i) {
  const double scale = length / out;
  const double first = start + i * scale, last = std::min<double>(first + scale, size);
  std::vector<WeightedPixel> taps;
  for (std::uint32_t s = 0; s < size; ++s) {
    const double covered = std::min(last, s + 1.0) - std::max<double>(first, s);
    if (covered > 0) taps.push_back({s, covered / (last - first)});
  }
  return taps;
}

// The upright picture, resized as the geometry says, with black around it. Row by row, interleaved.
std::vector<double> ResizedExactly(const Picture& picture, const FittedGeometry& geometry,
                                   decltype(&Triangle) filter = Triangle) {
  const std::size_t channels = picture.channels;
  std::vector<double> lines(std::size_t{geometry.out_height} * picture.width * channels);
  for (std::uint32_t j = 0; j < geometry.out_height; ++j) {
    double* const line = &lines[j * picture.width * channels];
    for (const WeightedPixel& tap :
         filter(geometry.top, geometry.height, picture.height, geometry.out_height, j)) {
      for (std::size_t v = 0; v < picture.width * channels; ++v)
        line[v] += tap.weight * picture.at(0, tap.at)[v];
    }
  }
  std::vector<double> out(std::size_t{geometry.target_width} * geometry.target_height * channels);
  for (std::uint32_t i = 0; i < geometry.out_width; ++i) {
    const auto taps = filter(geometry.left, geometry.width, picture.width, geometry.out_width, i);
    for (std::uint32_t j = 0; j < geometry.out_height; ++j) {
      const double* const line = &lines[j * picture.width * channels];
      double* const pixel =
          &out[((j + geometry.y) * geometry.target_width + i + geometry.x) * channels];
      for (const WeightedPixel& tap : taps) {
        for (std::size_t c = 0; c < channels; ++c)
          pixel[c] += tap.weight * line[tap.at * channels + c];
      }
    }
  }
  return out;
}

double Psnr(const std::vector<double>& exact, std::span<const std::uint8_t> got) {
  REQUIRE(exact.size() == got.size());
  double squares = 0;
  for (std::size_t i = 0; i < exact.size(); ++i)
    squares += std::pow(exact[i] - got[i], 2);
  return 10 * std::log10(255.0 * 255.0 * static_cast<double>(exact.size()) / squares);
}

// Runs a JPEG file through the fitter, as the encoder of samples does for a picture whose colours
// it does not convert.
sluice::Picture FitFile(FileBytes file, const FittedGeometry& geometry, std::uint32_t channels = 3,
                        bool ycc420 = false) {
  JpegSource source(TakeJpeg(file));
  JpegFitter fitter;
  return fitter.Fit(source, file, {.channels = channels}, geometry, ycc420);
}

// JFIF's Y Cb Cr.
Picture ToYcc(Picture picture) {
  for (std::size_t i = 0; i < picture.pixels.size(); i += 3) {
    const double r = picture.pixels[i], g = picture.pixels[i + 1], b = picture.pixels[i + 2];
    const double y = 0.299 * r + 0.587 * g + 0.114 * b;
    const double values[] = {y, (b - y) / 1.772 + 128, (r - y) / 1.402 + 128};
    for (std::size_t c = 0; c < 3; ++c)
      picture.pixels[i + c] =
          static_cast<std::uint8_t>(std::clamp(std::lround(values[c]), 0L, 255L));
  }
  return picture;
}

// The smallest PSNR of the planes Y, Cb and Cr that the fitter makes for an encoder with halved
// chroma. `upright`: the file's picture, turned upright. `subsampled`: whether the file has halved
// chroma. The reference averages chroma (Overlap) if the planes have fewer samples of it than the
// file, and uses the triangle filter otherwise.
double Ycc420PsnrOf(const FileBytes& file, const Picture& upright, const FittedGeometry& geometry,
                    bool subsampled = true) {
  const sluice::Picture got = FitFile(file, geometry, 3, true);
  REQUIRE(got.ycc420);
  REQUIRE(got.width == geometry.target_width);
  REQUIRE(got.height == geometry.target_height);
  FittedGeometry half = geometry;
  half.out_width = half.target_width = (geometry.out_width + 1) / 2;
  half.out_height = half.target_height = (geometry.out_height + 1) / 2;
  // A chroma sample covers two output pixels. If the output's size is odd, the last one reaches
  // beyond the picture, so the part of the source grows in proportion.
  const double pixel_width = geometry.width / geometry.out_width;
  const double pixel_height = geometry.height / geometry.out_height;
  half.width = 2 * pixel_width * half.out_width;
  half.height = 2 * pixel_height * half.out_height;
  const Picture ycc = ToYcc(upright);
  const double factor = std::min(half.width / half.out_width, half.height / half.out_height);
  const double halved_in_file = subsampled ? 2 : 1;
  const std::vector<double> full_size = ResizedExactly(ycc, geometry);
  const std::vector<double> half_size =
      ResizedExactly(ycc, half, factor > halved_in_file ? Overlap : Triangle);
  const std::size_t luma = full_size.size() / 3, chroma = half_size.size() / 3;
  REQUIRE(got.pixels.size() == luma + 2 * chroma);
  double least = 99;
  for (std::size_t c = 0; c < 3; ++c) {
    const std::vector<double>& all = c == 0 ? full_size : half_size;
    std::vector<double> plane;
    for (std::size_t i = c; i < all.size(); i += 3)
      plane.push_back(all[i]);
    const std::size_t at = c == 0 ? 0 : luma + (c - 1) * chroma;
    least = std::min(least, Psnr(plane, std::span(got.pixels).subspan(at, plane.size())));
  }
  return least;
}

double PsnrOf(const FileBytes& file, const FittedGeometry& geometry, std::uint32_t channels = 3) {
  const sluice::Picture got = FitFile(file, geometry, channels);
  CHECK(got.width == geometry.target_width);
  CHECK(got.height == geometry.target_height);
  CHECK(got.channels == channels);
  return Psnr(ResizedExactly(DecodeJpeg(file, channels), geometry), got.pixels);
}

FittedGeometry Resized(const Picture& picture, std::uint32_t width, std::uint32_t height,
                       Fit fit = Fit::kStretch) {
  ConvertOptions options;
  options.geometry.max_side.reset();
  options.geometry.size = Size{width, height};
  options.geometry.fit = fit;
  return FitGeometry(picture.width, picture.height, options);
}

std::string ReasonOf(const FileBytes& file, const FittedGeometry& geometry) {
  try {
    FitFile(file, geometry);
  } catch (const Error& error) {
    return error.sentence();
  }
  return "";
}

// The planes of a file with halved chroma, as libjpeg decodes them.
std::vector<std::uint8_t> RawPlanes(const FileBytes& file) {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&jpeg, TRUE);
  jpeg.raw_data_out = TRUE;
  jpeg_start_decompress(&jpeg);
  // Each call of jpeg_read_raw_data() gives a row of MCUs: 16 lines of luma, 8 of Cb and 8 of Cr,
  // in whole blocks, which may be wider than the picture.
  constexpr std::size_t kLines = 16;
  const std::size_t stride = jpeg.image_width + 64;
  std::vector<std::uint8_t> planes[3], lines(3 * kLines * stride);
  JSAMPROW rows[3][kLines];
  JSAMPARRAY image[3] = {rows[0], rows[1], rows[2]};
  for (std::size_t i = 0; i < 3 * kLines; ++i)
    rows[i / kLines][i % kLines] = lines.data() + i * stride;
  while (jpeg.output_scanline < jpeg.output_height) {
    jpeg_read_raw_data(&jpeg, image, kLines);
    for (int c = 0; c < 3; ++c) {
      const std::size_t width = jpeg.comp_info[c].downsampled_width;
      const std::size_t values = width * jpeg.comp_info[c].downsampled_height;
      for (std::size_t i = 0; i < (c == 0 ? kLines : kLines / 2) && planes[c].size() < values; ++i)
        planes[c].insert(planes[c].end(), rows[c][i], rows[c][i] + width);
    }
  }
  jpeg_finish_decompress(&jpeg);
  jpeg_destroy_decompress(&jpeg);
  for (const int c : {1, 2})
    planes[0].insert(planes[0].end(), planes[c].begin(), planes[c].end());
  return planes[0];
}

// A picture with smooth edges in every direction, as photos have, and little grain.
Picture Rings(std::uint32_t width, std::uint32_t height, std::uint32_t channels = 3) {
  Picture picture{width, height, channels, {}};
  RandomStream random(7, static_cast<Purpose>(999), 0);
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      const double from = std::hypot(x - 0.3 * width, y - 0.6 * height);
      for (std::uint32_t c = 0; c < channels; ++c) {
        const double value = 128 + 70 * std::sin(from / (9 + 4 * c)) + 30 * std::sin(x * 0.05 + c);
        picture.pixels.push_back(
            static_cast<std::uint8_t>(value + static_cast<double>(random.Below(6))));
      }
    }
  }
  return picture;
}

}  // namespace

TEST_CASE(
    "a resized JPEG has a PSNR of 42 dB or more against an accurate decode and a triangle filter",
    "[no-asan][no-tsan]") {
  for (const auto& [width, height] : {std::pair{640U, 480U}, {517U, 389U}, {251U, 600U}}) {
    const Picture picture = Rings(width, height);
    for (const bool subsample : {false, true}) {
      const FileBytes file = MakeJpeg(picture, {.subsample = subsample});
      for (const double factor : {0.7, 1.2, 1.9, 2.0, 3.1, 4.0, 6.3, 8.06, 12.5, 16.1, 24.5}) {
        const auto out_width = static_cast<std::uint32_t>(std::lround(width / factor));
        const auto out_height = static_cast<std::uint32_t>(std::lround(height / factor));
        INFO(width << "x" << height << " by " << factor << (subsample ? " 4:2:0" : " 4:4:4"));
        const FittedGeometry geometry = Resized(picture, out_width, out_height);
        CHECK(PsnrOf(file, geometry) >= kLeastPsnr);
        CHECK(Ycc420PsnrOf(file, DecodeJpeg(file), geometry, subsample) >= kLeastPsnr);
      }
    }
  }
}

TEST_CASE("resizing is as accurate for other samplings, codings and colours") {
  const Picture picture = Rings(430, 322);
  for (const auto& [h, v] : {std::pair{2, 1}, {1, 2}, {4, 1}, {4, 2}, {3, 1}}) {
    INFO("sampling " << h << "x" << v);
    CHECK(PsnrOf(MakeJpeg(picture, {.luma_h = h, .luma_v = v}), Resized(picture, 171, 128)) >=
          kLeastPsnr);
  }
  for (const JpegOptions& options :
       {JpegOptions{.progressive = true}, JpegOptions{.restart_rows = 1},
        JpegOptions{.optimise = true}, JpegOptions{.stored = JCS_RGB}}) {
    const FileBytes file = MakeJpeg(picture, options);
    CHECK(PsnrOf(file, Resized(picture, 201, 150)) >= kLeastPsnr);
    CHECK(PsnrOf(file, Resized(picture, 60, 45)) >= kLeastPsnr);
  }
  const FileBytes grey = MakeJpeg(Rings(430, 322, 1));
  CHECK(PsnrOf(grey, Resized(picture, 90, 67), 1) >= kLeastPsnr);
  CHECK(FitFile(grey, Resized(picture, 90, 67), 3).channels == 1);
  CHECK(PsnrOf(MakeJpeg(picture), Resized(picture, 90, 67), 1) >= kLeastPsnr);
}

TEST_CASE("resizing is as accurate for crop, stretch and pad, however the axes differ",
          "[no-tsan]") {
  const Picture picture = Rings(601, 399);
  const FileBytes file = MakeJpeg(picture);
  for (const Fit fit : {Fit::kCrop, Fit::kStretch, Fit::kPad}) {
    for (const auto& [width, height] :
         {std::pair{224U, 224U}, {97U, 211U}, {33U, 20U}, {400U, 31U}, {640U, 640U}}) {
      INFO(width << "x" << height << " fit " << static_cast<int>(fit));
      const FittedGeometry geometry = Resized(picture, width, height, fit);
      CHECK(PsnrOf(file, geometry) >= kLeastPsnr);
      if (fit == Fit::kPad) continue;
      CHECK(Ycc420PsnrOf(file, DecodeJpeg(file), geometry) >= kLeastPsnr);
    }
  }
}

TEST_CASE("a turned JPEG is resized like the upright one, in all eight orientations") {
  const Picture picture = Rings(300, 200);
  const FileBytes plain = MakeJpeg(picture, {.subsample = false});
  const Picture decoded = DecodeJpeg(plain);
  for (std::uint16_t tag = 1; tag <= 8; ++tag) {
    INFO("orientation " << tag);
    const Orientation turn = OrientationOf(tag);
    Picture upright{turn.transposed ? 200U : 300U, turn.transposed ? 300U : 200U, 3, {}};
    for (std::uint32_t y = 0; y < upright.height; ++y) {
      for (std::uint32_t x = 0; x < upright.width; ++x) {
        std::uint32_t a = turn.transposed ? y : x;
        std::uint32_t b = turn.transposed ? x : y;
        if (turn.mirror_x) a = 299 - a;
        if (turn.mirror_y) b = 199 - b;
        upright.pixels.insert(upright.pixels.end(), decoded.at(a, b), decoded.at(a, b) + 3);
      }
    }
    const FileBytes file = WithOrientation(plain, tag);
    for (const Fit fit : {Fit::kCrop, Fit::kPad}) {
      const FittedGeometry geometry = Resized(upright, 77, 50, fit);
      CHECK(Psnr(ResizedExactly(upright, geometry), FitFile(file, geometry).pixels) >= kLeastPsnr);
    }
    for (const auto& [width, height] : {std::pair{77U, 50U}, {76U, 51U}, {1U, 1U}, {33U, 35U}}) {
      INFO(width << "x" << height);
      const FittedGeometry geometry = Resized(upright, width, height, Fit::kCrop);
      CHECK(Ycc420PsnrOf(file, upright, geometry, false) >= kLeastPsnr);
    }
  }
}

TEST_CASE("images at their own size have libjpeg's pixels") {
  for (const bool subsample : {false, true}) {
    const FileBytes file = MakeJpeg(Rings(121, 87), {.subsample = subsample});
    const Picture decoded = DecodeJpeg(file);
    const FittedGeometry cut = Resized(decoded, 121, 61, Fit::kCrop);
    const sluice::Picture got = FitFile(file, cut);
    REQUIRE(cut.top == 13);
    CHECK(std::equal(got.pixels.begin(), got.pixels.end(), decoded.at(0, 13)));
    CHECK(FitFile(file, Resized(decoded, 121, 87)).pixels == decoded.pixels);
  }
}

TEST_CASE(
    "for an encoder with halved chroma, a picture that keeps its size keeps the file's planes") {
  for (const bool progressive : {false, true}) {
    const FileBytes file = MakeJpeg(Rings(121, 87), {.progressive = progressive});
    const sluice::Picture got = FitFile(file, Resized(DecodeJpeg(file), 121, 87), 3, true);
    REQUIRE(got.ycc420);
    CHECK(got.pixels == RawPlanes(file));
  }
  // If the file has full chroma, each chroma value is the mean of four samples. Over the whole
  // picture, rounding must not shift the colour.
  for (const auto& [width, height] : {std::pair{120U, 86U}, {121U, 87U}}) {
    const FileBytes file = MakeJpeg(Rings(width, height), {.subsample = false});
    const FittedGeometry whole = Resized(DecodeJpeg(file), width, height);
    const sluice::Picture got = FitFile(file, whole, 3, true);
    REQUIRE(got.ycc420);
    const Picture ycc = ToYcc(DecodeJpeg(file));
    const std::uint8_t* chroma = got.pixels.data() + std::size_t{width} * height;
    for (const std::size_t c : {1, 2}) {
      double sum = 0, most = 0;
      for (std::uint32_t y = 0; y < height; y += 2) {
        for (std::uint32_t x = 0; x < width; x += 2) {
          const std::uint32_t right = std::min(x + 1, width - 1),
                              below = std::min(y + 1, height - 1);
          const double mean = (ycc.at(x, y)[c] + ycc.at(right, y)[c] + ycc.at(x, below)[c] +
                               ycc.at(right, below)[c]) /
                              4.0;
          const double off = *chroma++ - mean;
          sum += off;
          most = std::max(most, std::fabs(off));
        }
      }
      CHECK(std::fabs(sum / (width / 2.0 * height / 2.0)) < 0.05);
      CHECK(most <= 2);  // RGB is rounded, and clamped to 0 and 255
    }
  }
  // Grey files, RGB files, pictures with a border and grey results do not become planes.
  const FileBytes grey = MakeJpeg(Rings(64, 48, 1));
  CHECK_FALSE(FitFile(grey, Resized(DecodeJpeg(grey), 32, 24), 3, true).ycc420);
  const FileBytes rgb = MakeJpeg(Rings(64, 48), {.stored = JCS_RGB});
  CHECK_FALSE(FitFile(rgb, Resized(DecodeJpeg(rgb), 32, 24), 3, true).ycc420);
  const FileBytes plain = MakeJpeg(Rings(64, 48));
  CHECK_FALSE(FitFile(plain, Resized(DecodeJpeg(plain), 32, 32, Fit::kPad), 3, true).ycc420);
  CHECK_FALSE(FitFile(plain, Resized(DecodeJpeg(plain), 32, 24), 1, true).ycc420);
}

TEST_CASE("the planes that EncodeJpeg() is given are the ones that its file holds") {
  for (const auto& [width, height] :
       {std::pair{64U, 48U}, {1U, 1U}, {15U, 17U}, {16U, 16U}, {33U, 8U}, {121U, 87U}}) {
    INFO(width << "x" << height);
    sluice::Picture picture =
        FitFile(MakeJpeg(Rings(200, 160)), Resized(Rings(200, 160), width, height), 3, true);
    REQUIRE(picture.ycc420);
    ConvertOptions options;
    options.form.quality = 100;
    const FileBytes file = EncodeJpeg(picture, options);
    // At quality 100 all quantisation steps are 1, so a plane differs only by rounding.
    CHECK(LargestDifference(RawPlanes(file), picture.pixels) <= 2);
  }
}

TEST_CASE("damage outside of a crop is found") {
  const Picture picture = Rings(160, 640);
  const FittedGeometry middle = Resized(picture, 80, 80, Fit::kCrop);
  for (const JpegOptions& options :
       {JpegOptions{}, JpegOptions{.restart_rows = 1}, JpegOptions{.progressive = true},
        JpegOptions{.luma_h = 4, .luma_v = 1}, JpegOptions{.luma_h = 3, .luma_v = 1},
        JpegOptions{.stored = JCS_RGB}}) {
    const FileBytes file = MakeJpeg(picture, options);
    CHECK(ReasonOf(file, middle).empty());
    // A twentieth is missing: far below the middle, except in the progressive file.
    CHECK(ReasonOf(Truncated(file, file.size() / 20 * 19), middle).find("broken JPEG") == 0);
  }
  // The second restart marker, far above the middle, is wrong.
  FileBytes file = MakeJpeg(picture, {.restart_rows = 1});
  std::size_t at = 0;
  while (file[at] != std::byte{0xFF} || file[at + 1] != std::byte{0xD1})
    ++at;
  file[at + 1] = std::byte{0xD5};
  CHECK(ReasonOf(file, middle).find("broken JPEG") == 0);
}

TEST_CASE("a JPEG that ends before all its components have come is broken, resized or not") {
  const Picture picture = Rings(64, 48);
  std::vector<jpeg_scan_info> scans;
  for (int c = 0; c < 3; ++c)
    scans.push_back({1, {c, 0, 0, 0}, 0, 63, 0, 0});
  FileBytes file = EncodeWith(picture, [&](jpeg_compress_struct& jpeg) {
    jpeg.scan_info = scans.data();
    jpeg.num_scans = 3;
  });
  std::size_t last = file.size() - 2;
  while (file[last] != std::byte{0xFF} || file[last + 1] != std::byte{0xDA})
    --last;
  CHECK(ReasonOf(file, Resized(picture, 32, 24)).empty());
  file.resize(last);
  for (const std::uint32_t width : {64U, 32U}) {
    CHECK(ReasonOf(file, Resized(picture, width, 48)).find("components is missing") !=
          std::string::npos);
  }
}

}  // namespace sluice::test
