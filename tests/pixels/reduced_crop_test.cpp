// Crops that are shown at half their size or less, and so are decoded from reduced blocks. Their
// edges may lie anywhere between the samples of such blocks.
//
// The reference is a crop of the picture's formula, or of what libjpeg decodes at full size,
// resized in double precision with the triangle filter: it shares no code with the decoder. The
// reduced transforms filter differently, so values differ, but no sample may be moved. A
// displacement is found by least squares: the difference from the reference is fitted by the
// reference's own slope along each axis.
#include <cmath>
#include <functional>

#include "format/pixels/decode.h"
#include "format/pixels/packed/pack.h"
#include "format/pixels/planar.h"
#include "tests/catch.h"
#include "tests/pictures.h"
#include "tests/sanitized.h"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint32_t kWidth = 643, kHeight = 587;  // neither is a multiple of 8

// The grey value at a position in pixels. The centre of the first pixel is (0.5, 0.5).
using GreyFormula = std::function<double(double x, double y)>;

Picture PictureOfFormula(const GreyFormula& formula, std::uint32_t channels) {
  Picture picture{kWidth, kHeight, channels, {}};
  for (std::uint32_t y = 0; y < kHeight; ++y) {
    for (std::uint32_t x = 0; x < kWidth; ++x)
      picture.pixels.insert(picture.pixels.end(), channels,
                            static_cast<std::uint8_t>(std::lround(formula(x + 0.5, y + 0.5))));
  }
  return picture;
}

struct OffGridCrop {
  double left, top, width, height;
  std::uint32_t out;
};

std::vector<std::vector<double>> TriangleWeights(double start, double length, std::uint32_t out) {
  std::vector<std::vector<double>> weights(out);
  const double scale = length / out;
  const auto first = static_cast<int>(start), end = static_cast<int>(std::ceil(start + length));
  for (std::uint32_t i = 0; i < out; ++i) {
    double sum = 0;
    for (int s = first; s < end; ++s) {
      const double distance = std::fabs(s + 0.5 - start - (i + 0.5) * scale);
      weights[i].push_back(std::max(0.0, 1 - distance / scale));
      sum += weights[i].back();
    }
    for (double& weight : weights[i])
      weight /= sum;
  }
  return weights;
}

std::vector<double> ExactCropOf(const GreyFormula& formula, const OffGridCrop& crop) {
  const auto across = TriangleWeights(crop.left, crop.width, crop.out);
  const auto down = TriangleWeights(crop.top, crop.height, crop.out);
  const auto left = static_cast<int>(crop.left), top = static_cast<int>(crop.top);
  std::vector<double> exact(std::size_t{crop.out} * crop.out);
  for (std::size_t y = 0; y < down[0].size(); ++y) {
    std::vector<double> line;
    for (std::size_t x = 0; x < across[0].size(); ++x)
      line.push_back(formula(left + double(x) + 0.5, top + double(y) + 0.5));
    for (std::uint32_t i = 0; i < crop.out; ++i) {
      double sum = 0;
      for (std::size_t x = 0; x < line.size(); ++x)
        sum += across[i][x] * line[x];
      for (std::uint32_t j = 0; j < crop.out; ++j)
        exact[j * crop.out + i] += down[j][y] * sum;
    }
  }
  return exact;
}

Region RegionOfCrop(const OffGridCrop& crop) {
  const auto span = [&](double start, double length) {
    const auto first = static_cast<std::uint32_t>(start);
    const auto end = static_cast<std::uint32_t>(std::ceil(start + length));
    return Span{start, length, first, end - first, crop.out, 0, crop.out};
  };
  return {span(crop.left, crop.width), span(crop.top, crop.height)};
}

struct Displacement {
  double x = 0, y = 0;  // in pixels of the result
  double noise = 0;     // root mean square of the remaining difference, in grey levels
};

// Fits the outputs in [begin, end) of both axes.
Displacement DisplacementOf(const std::vector<std::uint8_t>& got, const std::vector<double>& exact,
                            std::uint32_t out, std::uint32_t begin, std::uint32_t end) {
  double xx = 0, xy = 0, yy = 0, ex = 0, ey = 0;
  const auto each = [&](const auto& use) {
    for (std::uint32_t j = begin; j < end; ++j) {
      for (std::uint32_t i = begin; i < end; ++i) {
        const double* at = &exact[std::size_t{j} * out + i];
        use((at[1] - at[-1]) / 2, (at[out] - at[-std::ptrdiff_t{out}]) / 2,
            got[std::size_t{j} * out + i] - *at);
      }
    }
  };
  each([&](double dx, double dy, double e) {
    xx += dx * dx, xy += dx * dy, yy += dy * dy, ex += dx * e, ey += dy * e;
  });
  const double determinant = xx * yy - xy * xy;
  Displacement found{(ex * yy - ey * xy) / determinant, (ey * xx - ex * xy) / determinant, 0};
  double squares = 0;
  each([&](double dx, double dy, double e) {
    squares += std::pow(e - found.x * dx - found.y * dy, 2);
  });
  found.noise = std::sqrt(squares / std::pow(end - begin, 2));
  return found;
}

// Root mean square of the differences of the outermost outputs, in grey levels.
double EdgeDifferenceOf(const std::vector<std::uint8_t>& got, const std::vector<double>& exact,
                        std::uint32_t out) {
  double squares = 0;
  for (std::uint32_t i = 0; i < out; ++i) {
    for (const std::size_t at : {std::size_t{i}, std::size_t{out - 1} * out + i,
                                 std::size_t{i} * out, std::size_t{i} * out + out - 1})
      squares += std::pow(got[at] - exact[at], 2);
  }
  return std::sqrt(squares / (4.0 * out));
}

// How far values lie from a reference, in grey levels.
struct DifferenceFrom {
  double mean = 0, largest = 0;
  DifferenceFrom(const std::vector<std::uint8_t>& got, const std::vector<double>& exact) {
    for (std::size_t i = 0; i < got.size(); ++i) {
      mean += (got[i] - exact[i]) / double(got.size());
      largest = std::max(largest, std::fabs(got[i] - exact[i]));
    }
  }
};

// A picture in one of the forms in which it may be stored.
struct StoredForm {
  const char* name;
  Codec codec;
  std::vector<std::byte> bytes;
  std::vector<std::byte> jpeg;  // with the same coefficients
};

// The pixels that libjpeg decodes at full size. They are used instead of the formula of a gradient,
// because encoding rounds a gradient alike in each block, which would look like a displacement.
GreyFormula AsStored(const StoredForm& form) {
  return [picture = DecodeJpeg(form.jpeg, 1)](double x, double y) {
    return double(*picture.at(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y)));
  };
}

std::vector<StoredForm> StoredFormsOf(const Picture& picture) {
  JpegOptions options;
  options.quality = 100;
  options.restart_rows = 1;
  const std::vector<std::byte> baseline = MakeJpeg(picture, options);
  packed::Coefficients coefficients;
  std::string why;
  REQUIRE(packed::ReadCoefficients(baseline, coefficients, why) == packed::Taken::kYes);
  options.restart_rows = 0;
  options.progressive = true;
  const std::vector<std::byte> progressive = MakeJpeg(picture, options);
  std::vector<StoredForm> forms = {{"baseline", Codec::kJpeg, baseline, baseline},
                                   {"packed", Codec::kPacked, packed::Pack(coefficients), baseline},
                                   {"progressive", Codec::kJpeg, progressive, progressive}};
  if (picture.channels == 3) {
    options.progressive = false;
    options.stored = JCS_RGB;
    const std::vector<std::byte> rgb = MakeJpeg(picture, options);
    forms.push_back({"stored as RGB", Codec::kJpeg, rgb, rgb});
  }
  return forms;
}

std::vector<std::uint8_t> GreyCrop(const StoredForm& form, const Picture& picture,
                                   const OffGridCrop& crop) {
  const ImagePayload payload{
      form.codec,    PixelType::kUint8, static_cast<std::uint8_t>(picture.channels),
      picture.width, picture.height,    form.bytes};
  std::vector<std::uint8_t> out(std::size_t{crop.out} * crop.out);
  PayloadDecoder decoder;
  const Defect defect = decoder.Decode(payload, RegionOfCrop(crop), {out.data(), 1});
  INFO(std::string(defect == nullptr ? "" : defect));
  REQUIRE(defect == nullptr);
  return out;
}

// Crops that begin off the grid of the reduced samples; the fourth does so only at its left edge.
const std::vector<OffGridCrop> kOffTheGrid = {
    {37, 21, 523, 509, 250},      // a half
    {3, 5, 487, 493, 121},        // a quarter
    {131, 77, 501, 507, 61},      // an eighth
    {45, 18, 511, 509, 150},      // a half; an output covers more than three pixels
    {6.3, 9.8, 601.4, 570.9, 91}  // a quarter, between pixels
};

std::uint32_t ReductionOf(const OffGridCrop& crop) {
  return 1U << ReductionLog2(RegionOfCrop(crop), 1, 1, 1);
}

}  // namespace

TEST_CASE("The crops of these tests are decoded at a half, a quarter and an eighth") {
  std::vector<std::uint32_t> reductions;
  for (const OffGridCrop& crop : kOffTheGrid)
    reductions.push_back(ReductionOf(crop));
  CHECK(reductions == std::vector<std::uint32_t>{2, 4, 8, 2, 4});
}

TEST_CASE("A gradient is not displaced by a crop off the reduced grid", "[no-asan]") {
  constexpr double kAcross = 0.19, kDown = 0.17;  // levels to the next pixel
  const GreyFormula rising = [](double x, double y) { return 14 + kAcross * x + kDown * y; };
  const GreyFormula falling = [&](double x, double y) { return 255 - rising(x, y); };
  for (const std::uint32_t channels : {1U, 3U}) {
    if (kSanitized && channels == 3) continue;
    const Picture up = PictureOfFormula(rising, channels);
    const Picture down = PictureOfFormula(falling, channels);
    const std::vector<StoredForm> forms_up = StoredFormsOf(up), forms_down = StoredFormsOf(down);
    for (std::size_t f = 0; f < forms_up.size(); ++f) {
      for (const OffGridCrop& crop : kOffTheGrid) {
        CAPTURE(forms_up[f].name, channels, crop.left, crop.out);
        const DifferenceFrom above(GreyCrop(forms_up[f], up, crop),
                                   ExactCropOf(AsStored(forms_up[f]), crop));
        const DifferenceFrom below(GreyCrop(forms_down[f], down, crop),
                                   ExactCropOf(AsStored(forms_down[f]), crop));
        CHECK(above.largest < 1.5);
        CHECK(below.largest < 1.5);
        // Rounding makes both brighter or both darker; a displacement makes one of them brighter
        // and the other one darker. A reduced block leaves out the coefficients that flatten its
        // slope, so the slope is steeper there than in the picture. At a quarter, samples therefore
        // seem to lie 0.07 samples closer to the block's edge.
        const double slope = (kAcross * crop.width + kDown * crop.height) / crop.out;
        const double displacement = (above.mean - below.mean) / 2 / slope;
        CHECK(std::fabs(displacement) < 0.1);
      }
    }
  }
}

TEST_CASE("A zone plate is not displaced by a crop off the reduced grid") {
  for (const OffGridCrop& crop : kOffTheGrid) {
    // A period takes about five pixels of the result at the crop's farthest corner, and more
    // elsewhere.
    const double scale = std::max(crop.width, crop.height) / crop.out;
    const double x0 = crop.left + 0.4 * crop.width, y0 = crop.top + 0.45 * crop.height;
    const double farthest = 0.6 * std::hypot(crop.width, crop.height);
    const GreyFormula plate = [&](double x, double y) {
      const double squares = std::pow(x - x0, 2) + std::pow(y - y0, 2);
      return 128 + 100 * std::cos(3.14159265358979 * squares / (5 * scale * farthest));
    };
    const Picture picture = PictureOfFormula(plate, 1);
    const std::vector<double> exact = ExactCropOf(plate, crop);
    for (const StoredForm& form : StoredFormsOf(picture)) {
      CAPTURE(form.name, crop.left, crop.out);
      const std::vector<std::uint8_t> got = GreyCrop(form, picture, crop);
      const Displacement all = DisplacementOf(got, exact, crop.out, 1, crop.out - 1);
      CAPTURE(all.noise);
      CHECK(std::fabs(all.x) < 0.01);
      CHECK(std::fabs(all.y) < 0.01);
      CHECK(all.noise < 5);
      // The outermost outputs, for which the filter is cut off at the crop's edge.
      const double edge = EdgeDifferenceOf(got, exact, crop.out);
      CHECK(edge < 8);
    }
  }
}
