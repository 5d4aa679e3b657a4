#include "reader/transform/step_text.h"

#include <array>
#include <charconv>
#include <type_traits>

namespace sluice {

namespace {

template <class Number>
std::string TextOf(Number value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

// "Name(24, 0.5, words)".
class Call {
 public:
  explicit Call(const char* name) : text_(std::string(name) + "(") {}

  Call& Add(const std::string& what) {
    text_ += (text_.back() == '(' ? "" : ", ") + what;
    return *this;
  }
  template <class... Numbers>
  Call& Add(Numbers... numbers) requires(std::is_arithmetic_v<Numbers>&&...) {
    (Add(TextOf(numbers)), ...);
    return *this;
  }
  // What is as it is by default stays away.
  Call& AddRange(const char* name, double low, double high, double usual_low, double usual_high) {
    if (low == usual_low && high == usual_high) return *this;
    return Add(name + (" " + TextOf(low)) + " to " + TextOf(high));
  }
  Call& AddShift(double x, double y) {
    if (x == 0 && y == 0) return *this;
    return Add("shift " + TextOf(x) + " by " + TextOf(y));
  }
  Call& AddChance(double probability) {
    return probability == 1 ? *this : Add("probability " + TextOf(probability));
  }
  Call& AddColour(const char* name, const std::array<std::uint8_t, 3>& colour) {
    if (colour == std::array<std::uint8_t, 3>{}) return *this;
    return Add(name + (" " + TextOf(int{colour[0]})) + "/" + TextOf(int{colour[1]}) + "/" +
               TextOf(int{colour[2]}));
  }
  Call& AddWord(bool said, const char* word) { return said ? Add(std::string(word)) : *this; }
  std::string Text() const { return text_ + ")"; }

 private:
  std::string text_;
};

std::string FilterText(Filter filter) {
  return filter == Filter::kArea ? "area" : "triangle";
}
std::string BorderText(Border border) {
  return border == Border::kReflect ? "reflected border" : "border of one colour";
}
// One of them, or one for each channel.
std::string ChannelsText(const std::vector<float>& numbers) {
  std::string text;
  for (const float number : numbers)
    text += (text.empty() ? "" : "/") + TextOf(number);
  return text;
}

std::string Text(const RandomResizedCrop& op) {
  const RandomResizedCrop usual;
  return Call("RandomResizedCrop")
      .Add(op.width, op.height)
      .Add(FilterText(op.filter))
      .AddRange("scale", op.min_scale, op.max_scale, usual.min_scale, usual.max_scale)
      .AddRange("ratio", op.min_ratio, op.max_ratio, usual.min_ratio, usual.max_ratio)
      .Text();
}
std::string Text(const Resize& op) {
  return Call("Resize").Add(op.width, op.height).Add(FilterText(op.filter)).Text();
}
std::string Text(const ResizeShortSide& op) {
  return Call("ResizeShortSide").Add(op.side).Add(FilterText(op.filter)).Text();
}
std::string Text(const CenterCrop& op) {
  return Call("CenterCrop").Add(op.width, op.height).Text();
}
std::string Text(const CenterResizedCrop& op) {
  return Call("CenterResizedCrop")
      .Add(op.width, op.height, op.ratio)
      .Add(FilterText(op.filter))
      .Text();
}
std::string Text(const RandomCrop& op) {
  Call call("RandomCrop");
  call.Add(op.width, op.height, op.padding);
  if (op.padding > 0) call.Add(BorderText(op.border));
  return call.AddColour("fill", op.fill).Text();
}
std::string Text(const RandomTranslate& op) {
  return Call("RandomTranslate")
      .Add(op.padding)
      .Add(BorderText(op.border))
      .AddColour("fill", op.fill)
      .Text();
}
std::string Text(const HorizontalFlip& op) {
  return Call("HorizontalFlip").Add(op.probability).Text();
}
std::string Text(const VerticalFlip& op) {
  return Call("VerticalFlip").Add(op.probability).Text();
}
std::string Text(const RandomQuarterTurns& op) {
  return Call("RandomQuarterTurns").Add(op.probability).Text();
}
std::string Text(const RandomAffine& op) {
  return Call("RandomAffine")
      .Add(op.min_degrees, op.max_degrees, op.probability)
      .AddShift(op.translate_x, op.translate_y)
      .AddRange("scale", op.min_scale, op.max_scale, 1, 1)
      .AddRange("shear", op.min_shear_x, op.max_shear_x, 0, 0)
      .AddRange("vertical shear", op.min_shear_y, op.max_shear_y, 0, 0)
      .AddColour("fill", op.fill)
      .Text();
}
std::string Text(const ColorJitter& op) {
  return Call("ColorJitter")
      .Add(op.brightness, op.contrast, op.saturation, op.hue)
      .AddChance(op.probability)
      .Text();
}
std::string Text(const RandomGrayscale& op) {
  return Call("RandomGrayscale").Add(op.probability).Text();
}
std::string Text(const GaussianBlur& op) {
  return Call("GaussianBlur").Add(op.kernel, op.min_sigma, op.max_sigma, op.probability).Text();
}
std::string Text(const Solarize& op) {
  return Call("Solarize").Add(op.threshold, op.probability).Text();
}
std::string Text(const Posterize& op) {
  return Call("Posterize").Add(op.bits, op.probability).Text();
}
std::string Text(const Equalize& op) {
  return Call("Equalize").Add(op.probability).Text();
}
std::string Text(const AutoContrast& op) {
  return Call("AutoContrast").Add(op.probability).Text();
}
std::string Text(const Invert& op) {
  return Call("Invert").Add(op.probability).Text();
}
std::string Text(const AdjustSharpness& op) {
  return Call("AdjustSharpness").Add(op.factor, op.probability).Text();
}
std::string Text(const RandomErasing& op) {
  const RandomErasing usual;
  Call call("RandomErasing");
  call.Add(op.probability, op.min_scale, op.max_scale)
      .AddRange("ratio", op.min_ratio, op.max_ratio, usual.min_ratio, usual.max_ratio);
  if (!op.noise) call.AddColour("value", op.value);
  return call.AddWord(op.noise, "noise").Text();
}
std::string Text(const RandAugment& op) {
  return Call("RandAugment")
      .Add(op.operations, op.magnitude, op.bins)
      .AddWord(op.bilinear, "bilinear")
      .AddColour("fill", op.fill)
      .AddChance(op.probability)
      .Text();
}
std::string Text(const TrivialAugmentWide& op) {
  return Call("TrivialAugmentWide")
      .Add(op.bins)
      .AddWord(op.bilinear, "bilinear")
      .AddColour("fill", op.fill)
      .AddChance(op.probability)
      .Text();
}
std::string Text(const Normalize& op) {
  const char* const type = op.type == FloatType::kFloat32   ? "float32"
                           : op.type == FloatType::kFloat16 ? "float16"
                                                            : "bfloat16";
  return Call("Normalize")
      .Add(ChannelsText(op.mean))
      .Add(ChannelsText(op.deviation))
      .Add(std::string(type))
      .Text();
}
std::string Text(const OneHot& op) {
  Call call("OneHot");
  if (op.classes != 0) call.Add(op.classes);
  call.Add("smoothing " + TextOf(op.smoothing));
  if (!op.label.empty()) call.Add("of \"" + op.label + "\"");
  return call.Add("as \"" + op.field + "\"").Text();
}
std::string Text(const MixUp& op) {
  return Call("MixUp").Add(op.alpha, op.probability).Text();
}
std::string Text(const CutMix& op) {
  return Call("CutMix").Add(op.alpha, op.probability).Text();
}

}  // namespace

std::string NumberText(double value) {
  return TextOf(value);
}

std::string StepText(const Transform& step) {
  return std::visit([](const auto& op) { return Text(op); }, step);
}

std::string StepName(const Transform& step) {
  const std::string text = StepText(step);
  return text.substr(0, text.find('('));
}

}  // namespace sluice
