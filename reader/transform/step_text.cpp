#include "reader/transform/step_text.h"

#include <array>
#include <charconv>
#include <initializer_list>

namespace sluice {

namespace {

std::string NumberText(double value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

std::string Call(const char* name, std::initializer_list<double> numbers,
                 const std::string& more = {}) {
  std::string text = std::string(name) + "(";
  for (const double number : numbers)
    text += (text.back() == '(' ? "" : ", ") + NumberText(number);
  if (!more.empty()) text += (text.back() == '(' ? "" : ", ") + more;
  return text + ")";
}

const char* FilterText(Filter filter) {
  return filter == Filter::kArea ? "area" : "triangle";
}
const char* BorderText(Border border) {
  return border == Border::kReflect ? "reflected border" : "border of one colour";
}

std::string Text(const RandomResizedCrop& op) {
  return Call("RandomResizedCrop", {double(op.width), double(op.height)}, FilterText(op.filter));
}
std::string Text(const Resize& op) {
  return Call("Resize", {double(op.width), double(op.height)}, FilterText(op.filter));
}
std::string Text(const ResizeShortSide& op) {
  return Call("ResizeShortSide", {double(op.side)}, FilterText(op.filter));
}
std::string Text(const CenterCrop& op) {
  return Call("CenterCrop", {double(op.width), double(op.height)});
}
std::string Text(const CenterResizedCrop& op) {
  return Call("CenterResizedCrop", {double(op.width), double(op.height), op.ratio},
              FilterText(op.filter));
}
std::string Text(const RandomCrop& op) {
  return Call("RandomCrop", {double(op.width), double(op.height), double(op.padding)},
              op.padding > 0 ? BorderText(op.border) : "");
}
std::string Text(const RandomTranslate& op) {
  return Call("RandomTranslate", {double(op.padding)}, BorderText(op.border));
}
std::string Text(const HorizontalFlip& op) {
  return Call("HorizontalFlip", {op.probability});
}
std::string Text(const VerticalFlip& op) {
  return Call("VerticalFlip", {op.probability});
}
std::string Text(const RandomQuarterTurns& op) {
  return Call("RandomQuarterTurns", {op.probability});
}
std::string Text(const RandomAffine& op) {
  return Call("RandomAffine", {op.min_degrees, op.max_degrees, op.probability});
}
std::string Text(const ColorJitter& op) {
  return Call("ColorJitter", {op.brightness, op.contrast, op.saturation, op.hue});
}
std::string Text(const RandomGrayscale& op) {
  return Call("RandomGrayscale", {op.probability});
}
std::string Text(const GaussianBlur& op) {
  return Call("GaussianBlur", {double(op.kernel), op.min_sigma, op.max_sigma, op.probability});
}
std::string Text(const Solarize& op) {
  return Call("Solarize", {double(op.threshold), op.probability});
}
std::string Text(const Posterize& op) {
  return Call("Posterize", {double(op.bits), op.probability});
}
std::string Text(const Equalize& op) {
  return Call("Equalize", {op.probability});
}
std::string Text(const AutoContrast& op) {
  return Call("AutoContrast", {op.probability});
}
std::string Text(const Invert& op) {
  return Call("Invert", {op.probability});
}
std::string Text(const AdjustSharpness& op) {
  return Call("AdjustSharpness", {op.factor, op.probability});
}
std::string Text(const RandomErasing& op) {
  return Call("RandomErasing", {op.probability, op.min_scale, op.max_scale});
}
std::string Text(const RandAugment& op) {
  return Call("RandAugment", {double(op.operations), double(op.magnitude), double(op.bins)});
}
std::string Text(const TrivialAugmentWide& op) {
  return Call("TrivialAugmentWide", {double(op.bins)});
}
std::string Text(const Normalize& op) {
  switch (op.type) {
    case FloatType::kFloat32: return Call("Normalize", {}, "float32");
    case FloatType::kFloat16: return Call("Normalize", {}, "float16");
    case FloatType::kBFloat16: break;
  }
  return Call("Normalize", {}, "bfloat16");
}
std::string Text(const OneHot& op) {
  return Call("OneHot", {op.smoothing});
}
std::string Text(const MixUp& op) {
  return Call("MixUp", {op.alpha, op.probability});
}
std::string Text(const CutMix& op) {
  return Call("CutMix", {op.alpha, op.probability});
}

}  // namespace

std::string StepText(const Transform& step) {
  return std::visit([](const auto& op) { return Text(op); }, step);
}

}  // namespace sluice
