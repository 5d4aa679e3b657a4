// Steps of a pipeline that change the values of pixels, after the geometric steps.
//
// They work on 8-bit grey or RGB pixels, in the order given. ColorJitter of brightness and contrast
// alone, GaussianBlur, RandomErasing to black or with noise, and Normalize also work on images of
// other types and of up to 64 channels; other steps are refused for these. Such values keep their
// own scale: contrast is that of each channel, noise is uniform over the integer type's range, or
// from 0 to 1, and values are clamped to the type's range only when they are stored. Normalize, if
// it is used, is the last. The definitions are those of torchvision's transforms for PIL images,
// except that the hue is computed in floating point, not in Pillow's 256 steps. Each step has its
// own random numbers, so adding a step does not change what the others draw.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice {

// Changes brightness, contrast, saturation and hue, in random order. Each of the first three is
// adjusted by a factor drawn from max(0, 1 - x) to 1 + x, where x is the member. The hue is turned
// on the colour circle by -x to x of a full turn.
struct ColorJitter {
  double brightness = 0;   // >= 0
  double contrast = 0;     // >= 0
  double saturation = 0;   // >= 0
  double hue = 0;          // 0 to 0.5
  double probability = 1;  // of being applied, 0 to 1
  ColorJitter() = default;
  explicit ColorJitter(double brightness_, double contrast_ = 0, double saturation_ = 0,
                       double hue_ = 0, double p = 1)
      : brightness(brightness_),
        contrast(contrast_),
        saturation(saturation_),
        hue(hue_),
        probability(p) {}
  ColorJitter& with_probability(double value) { return probability = value, *this; }
};

// Changes hue, saturation and value, as Ultralytics trains detectors. The hue is turned on the
// colour circle by -hue to hue of a full turn. Saturation and value are multiplied by factors from
// 1 - x to 1 + x, where x is the member, and cut off at their greatest. Pictures of one channel
// stay as they are.
struct RandomHSV {
  double hue = 0.015;       // 0 to 0.5
  double saturation = 0.7;  // 0 to 1
  double value = 0.4;       // 0 to 1
  double probability = 1;   // of being applied, 0 to 1
  RandomHSV() = default;
  explicit RandomHSV(double hue_, double saturation_ = 0.7, double value_ = 0.4, double p = 1)
      : hue(hue_), saturation(saturation_), value(value_), probability(p) {}
  RandomHSV& with_probability(double chance) { return probability = chance, *this; }
};

// Changes brightness, contrast, saturation and hue, and exchanges channels, each with the same
// probability: SSD's distortion, with torchvision's rule. The order is fixed, except that contrast
// comes second or, with probability 1/2, after the hue.
struct RandomPhotometricDistort {
  double min_brightness = 0.875, max_brightness = 1.125;  // factors, >= 0
  double min_contrast = 0.5, max_contrast = 1.5;          // factors, >= 0
  double min_saturation = 0.5, max_saturation = 1.5;      // factors, >= 0
  double min_hue = -0.05, max_hue = 0.05;                 // -0.5 to 0.5 of a full turn
  double probability = 0.5;                               // of each of the five changes, 0 to 1
  RandomPhotometricDistort() = default;
  explicit RandomPhotometricDistort(double p) : probability(p) {}
  RandomPhotometricDistort& brightness(double low, double high) {
    return min_brightness = low, max_brightness = high, *this;
  }
  RandomPhotometricDistort& contrast(double low, double high) {
    return min_contrast = low, max_contrast = high, *this;
  }
  RandomPhotometricDistort& saturation(double low, double high) {
    return min_saturation = low, max_saturation = high, *this;
  }
  RandomPhotometricDistort& hue(double low, double high) {
    return min_hue = low, max_hue = high, *this;
  }
};

// Sets all channels to the lightness.
struct RandomGrayscale {
  double probability = 0.1;  // of being applied, 0 to 1
  RandomGrayscale() = default;
  explicit RandomGrayscale(double p) : probability(p) {}
};

// Blurs with a Gaussian of `kernel` x `kernel` pixels, whose standard deviation is drawn uniformly.
// The picture is mirrored at its edges.
struct GaussianBlur {
  // Odd, 3 to 255, and less than twice the picture's width and twice its height.
  std::uint32_t kernel = 23;
  double min_sigma = 0.1, max_sigma = 2.0;  // pixels
  double probability = 1;                   // of being applied, 0 to 1
  GaussianBlur() = default;
  explicit GaussianBlur(std::uint32_t kernel_size) : kernel(kernel_size) {}
  GaussianBlur(std::uint32_t kernel_size, double low_sigma, double high_sigma = 2, double p = 1)
      : kernel(kernel_size), min_sigma(low_sigma), max_sigma(high_sigma), probability(p) {}
  GaussianBlur& sigma(double low, double high) { return min_sigma = low, max_sigma = high, *this; }
  GaussianBlur& with_probability(double value) { return probability = value, *this; }
};

// Inverts values at or above the threshold.
struct Solarize {
  unsigned threshold = 128;  // 0 to 256
  double probability = 1;    // of being applied, 0 to 1
  Solarize() = default;
  explicit Solarize(unsigned threshold_, double p = 1) : threshold(threshold_), probability(p) {}
  Solarize& with_probability(double value) { return probability = value, *this; }
};

// Keeps the upper bits of each value.
struct Posterize {
  unsigned bits = 4;       // 1 to 8
  double probability = 1;  // of being applied, 0 to 1
  Posterize() = default;
  explicit Posterize(unsigned bits_, double p = 1) : bits(bits_), probability(p) {}
  Posterize& with_probability(double value) { return probability = value, *this; }
};

// Spreads each channel's values so that all values are about equally frequent.
struct Equalize {
  double probability = 1;  // of being applied, 0 to 1
  Equalize() = default;
  explicit Equalize(double p) : probability(p) {}
};

// Stretches each channel's values to the range 0 to 255.
struct AutoContrast {
  double probability = 1;  // of being applied, 0 to 1
  AutoContrast() = default;
  explicit AutoContrast(double p) : probability(p) {}
};

// Replaces each value v by 255 - v.
struct Invert {
  double probability = 1;  // of being applied, 0 to 1
  Invert() = default;
  explicit Invert(double p) : probability(p) {}
};

// Blends with a smoothed picture: factor 0 gives the smoothed picture, 1 the original, 2 sharpens.
struct AdjustSharpness {
  double factor = 2;       // >= 0
  double probability = 1;  // of being applied, 0 to 1
  AdjustSharpness() = default;
  explicit AdjustSharpness(double sharpness_factor, double p = 1)
      : factor(sharpness_factor), probability(p) {}
  AdjustSharpness& with_probability(double value) { return probability = value, *this; }
};

// Replaces a rectangle of random area and aspect ratio (Zhong et al. 2017). The rule is that of
// torchvision's RandomErasing: ten tries. If both ratios are 1 and both scales are equal, this is
// Cutout's square, except that the square always lies inside the picture.
//
// The step comes before Normalize. In torchvision's recipes it comes after Normalize, and fills
// with zeros. For the same result, set `value` to the colour that Normalize has as its mean.
struct RandomErasing {
  double probability = 0.5;                       // of being applied, 0 to 1
  double min_scale = 0.02, max_scale = 0.33;      // share of the picture's area
  double min_ratio = 0.3, max_ratio = 3.3;        // height / width
  std::array<std::uint8_t, 3> value = {0, 0, 0};  // the rectangle's colour, by channel
  bool noise = false;                             // random values instead
  RandomErasing() = default;
  explicit RandomErasing(double p) : probability(p) {}
  RandomErasing& scale(double low, double high) { return min_scale = low, max_scale = high, *this; }
  RandomErasing& ratio(double low, double high) { return min_ratio = low, max_ratio = high, *this; }
  RandomErasing& with_value(const std::array<std::uint8_t, 3>& colour) {
    return value = colour, *this;
  }
  RandomErasing& with_noise() { return noise = true, *this; }
};

// Applies `operations` operations, all of the same magnitude. Each is drawn evenly from fourteen
// (Cubuk et al. 2020, with torchvision's table of magnitudes). Some of the fourteen move pixels
// (shears, translations, rotations), so no mask, boxes or key points may follow the image.
struct RandAugment {
  unsigned operations = 2;  // 0 to 16
  unsigned magnitude = 9;   // below `bins`
  unsigned bins = 31;       // 2 to 1000
  bool bilinear = false;    // interpolates moved pixels; false takes the nearest one
  std::array<std::uint8_t, 3> fill = {0, 0, 0};  // the colour of gaps left by moves, by channel
  double probability = 1;                        // of being applied, 0 to 1
  RandAugment() = default;
  explicit RandAugment(unsigned num_ops, unsigned magnitude_ = 9, unsigned num_magnitude_bins = 31)
      : operations(num_ops), magnitude(magnitude_), bins(num_magnitude_bins) {}
  RandAugment& with_bilinear() { return bilinear = true, *this; }
  RandAugment& with_fill(const std::array<std::uint8_t, 3>& value) { return fill = value, *this; }
  RandAugment& with_probability(double value) { return probability = value, *this; }
};

// Applies one of RandAugment's operations, with a magnitude drawn evenly from a wider range
// (Mueller and Hutter 2021). As with RandAugment, no mask, boxes or key points may follow the
// image.
struct TrivialAugmentWide {
  unsigned bins = 31;     // 2 to 1000
  bool bilinear = false;  // interpolates moved pixels; false takes the nearest one
  std::array<std::uint8_t, 3> fill = {0, 0, 0};  // the colour of gaps left by moves, by channel
  double probability = 1;                        // of being applied, 0 to 1
  TrivialAugmentWide() = default;
  explicit TrivialAugmentWide(unsigned num_magnitude_bins) : bins(num_magnitude_bins) {}
  TrivialAugmentWide& with_bilinear() { return bilinear = true, *this; }
  TrivialAugmentWide& with_fill(const std::array<std::uint8_t, 3>& value) {
    return fill = value, *this;
  }
  TrivialAugmentWide& with_probability(double value) { return probability = value, *this; }
};

// The type of the numbers that Normalize makes.
enum class FloatType : std::uint8_t {
  kFloat32,   // float
  kFloat16,   // IEEE 754 binary16
  kBFloat16,  // the upper half of a float32
};

// Makes floating-point numbers of the pixels: (value / 255 - mean) / deviation. Give one mean and
// one deviation, or one for each channel, for pixels from 0 to 1, as torchvision does (0.485).
// Values for pixels from 0 to 255, as FFCV gives them (123.675), are refused: the Error says to
// divide them by 255, and gives the result.
//
// For images that are not 8-bit pictures of up to four channels: (value - mean) / deviation, in the
// units of the stored values, with one number or one for each delivered channel. No data (the
// field's attribute `no_data`) becomes 0.
struct Normalize {
  std::vector<float> mean = {0};         // 0 to 1 for 8-bit pictures
  std::vector<float> deviation = {1};    // above 0; up to 1 for 8-bit pictures
  FloatType type = FloatType::kFloat32;  // of the batch's numbers
  Normalize() = default;
  explicit Normalize(std::vector<float> mean_, std::vector<float> std_ = {1},
                     FloatType type_ = FloatType::kFloat32)
      : mean(std::move(mean_)), deviation(std::move(std_)), type(type_) {}
};

}  // namespace sluice
