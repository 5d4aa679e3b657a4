#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <sluice/error.h>
#include <sluice/parse_pipeline.h>

#include "format/disk/limits.h"

namespace sluice {

namespace {

// A step's text, "name:arguments@probability", while its parts are taken off it.
class StepWords {
 public:
  explicit StepWords(std::string_view text) : text_(text), rest_(text) {
    if (const std::size_t at = rest_.find('@'); at != std::string_view::npos) {
      chance_ = Number(rest_.substr(at + 1), 1);
      rest_ = rest_.substr(0, at);
    }
    const std::size_t colon = rest_.find(':');
    name_ = rest_.substr(0, colon);
    rest_ = colon == std::string_view::npos ? "" : rest_.substr(colon + 1);
    if (colon != std::string_view::npos && rest_.empty()) Refuse("has nothing behind its colon");
  }

  std::string_view name() const noexcept { return name_; }
  std::string_view rest() const noexcept { return rest_; }
  const std::optional<double>& chance() const noexcept { return chance_; }

  [[noreturn]] void Refuse(const std::string& why) const {
    throw Error(ErrorCode::kInvalidArgument, "\"" + std::string(text_) + "\" " + why);
  }

  // ":word" at the end.
  bool TakeWord(std::string_view word) {
    if (!rest_.ends_with(word) || rest_.size() == word.size() ||
        rest_[rest_.size() - word.size() - 1] != ':') {
      return false;
    }
    rest_.remove_suffix(word.size() + 1);
    return true;
  }
  // What stands before that character, or all of it.
  std::string_view TakeUpTo(char end) {
    const std::size_t at = rest_.find(end);
    const std::string_view taken = rest_.substr(0, at);
    more_ = at != std::string_view::npos;
    rest_ = more_ ? rest_.substr(at + 1) : "";
    return taken;
  }
  bool more() const noexcept { return more_; }

  template <class Step>
  void TakeSize(Step& step, char end) {
    const std::string_view size = TakeUpTo(end);
    const std::size_t cross = size.find('x');
    step.width = step.height = Side(size.substr(0, cross));
    if (cross != std::string_view::npos) step.height = Side(size.substr(cross + 1));
  }
  std::uint32_t Side(std::string_view text) const { return Whole(text, 1, kMaxImageSide); }
  std::uint32_t Whole(std::string_view text, std::uint32_t least, std::uint32_t most) const {
    std::uint32_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || value < least || value > most) {
      Refuse("has \"" + std::string(text) + "\" for a whole number from " + std::to_string(least) +
             " to " + std::to_string(most));
    }
    return value;
  }

  // Numbers with / between, from 0 to `most` each.
  std::vector<double> Numbers(std::size_t least, std::size_t most_numbers, double most) {
    std::vector<double> numbers;
    if (!rest_.empty()) {
      do {
        numbers.push_back(Number(TakeUpTo('/'), most));
      } while (more());
    }
    if (numbers.size() < least || numbers.size() > most_numbers) {
      Refuse("takes " + std::to_string(least) + " to " + std::to_string(most_numbers) +
             " numbers, with / between");
    }
    return numbers;
  }
  unsigned Whole(double number) const {
    if (number != std::floor(number)) Refuse("takes a whole number");
    return static_cast<unsigned>(number);
  }

 private:
  double Number(std::string_view text, double most) const {
    double value = 0;
    const char* const end = text.data() + text.size();
    const bool decimal = text.find_first_not_of("0123456789.") == std::string_view::npos;
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (!decimal || error != std::errc() || stop != end || value > most) {
      Refuse("has \"" + std::string(text) + "\" for a number from 0 to " +
             std::to_string(static_cast<std::uint32_t>(most)));
    }
    return value;
  }

  std::string_view text_, name_, rest_;
  std::optional<double> chance_;
  bool more_ = false;  // something follows what was taken up to a character
};

template <class Step>
Step ReadChance(StepWords& words) {
  Step step;
  const std::vector<double> numbers = words.Numbers(0, 1, 1);
  if (!numbers.empty()) step.probability = numbers[0];
  return step;
}

template <class Step>
Step ReadSized(StepWords& words) {
  Step step;
  if (words.TakeWord("area")) step.filter = Filter::kArea;
  words.TakeSize(step, ':');
  if (words.more()) words.Refuse("takes :area or nothing behind the size");
  return step;
}

Transform ReadRandomResized(StepWords& words) {
  RandomResizedCrop step;
  if (words.TakeWord("area")) step.filter = Filter::kArea;
  words.TakeSize(step, '/');
  if (!words.more()) return step;
  const std::vector<double> numbers = words.Numbers(2, 4, 256);
  if (numbers.size() == 3) words.Refuse("takes a least and a largest ratio");
  step.min_scale = numbers[0];
  step.max_scale = numbers[1];
  if (numbers.size() > 2) {
    step.min_ratio = numbers[2];
    step.max_ratio = numbers[3];
  }
  return step;
}

Transform ReadShortSide(StepWords& words) {
  ResizeShortSide step;
  if (words.TakeWord("area")) step.filter = Filter::kArea;
  step.side = words.Side(words.rest());
  return step;
}

Transform ReadCenter(StepWords& words) {
  CenterCrop step;
  words.TakeSize(step, ':');
  if (words.more()) words.Refuse("takes a size alone");
  return step;
}

Transform ReadCrop(StepWords& words) {
  RandomCrop step;
  if (words.TakeWord("reflect")) step.border = Border::kReflect;
  words.TakeSize(step, '+');
  if (words.more()) {
    step.padding = words.Whole(words.rest(), 0, kMaxImageSide);
  } else if (step.border == Border::kReflect) {
    words.Refuse("has no padding to reflect: crop:S+P:reflect");
  }
  return step;
}

Transform ReadTranslate(StepWords& words) {
  RandomTranslate step;
  if (words.TakeWord("reflect")) step.border = Border::kReflect;
  step.padding = words.Whole(words.rest(), 0, kMaxImageSide);
  return step;
}

Transform ReadAffine(StepWords& words) {
  const std::vector<double> numbers = words.Numbers(1, 5, 360);
  if (numbers.size() == 3) words.Refuse("takes a least and a largest scale");
  RandomAffine step(numbers[0]);
  if (numbers.size() > 1) step.translate_x = step.translate_y = numbers[1];
  if (numbers.size() > 3) {
    step.min_scale = numbers[2];
    step.max_scale = numbers[3];
  }
  if (numbers.size() > 4) {
    step.min_shear_x = -numbers[4];
    step.max_shear_x = numbers[4];
  }
  return step;
}

Transform ReadJitter(StepWords& words) {
  std::vector<double> numbers = words.Numbers(1, 4, 1000);
  numbers.resize(4);
  return ColorJitter{numbers[0], numbers[1], numbers[2], numbers[3]};
}

Transform ReadBlur(StepWords& words) {
  const std::vector<double> numbers = words.Numbers(1, 3, 1000);
  GaussianBlur blur;
  blur.kernel = words.Whole(numbers[0]);
  if (numbers.size() > 1) blur.min_sigma = blur.max_sigma = numbers[1];
  if (numbers.size() > 2) blur.max_sigma = numbers[2];
  return blur;
}

Transform ReadSolarizing(StepWords& words) {
  Solarize step;
  if (!words.rest().empty()) step.threshold = words.Whole(words.rest(), 0, 256);
  return step;
}

Transform ReadPosterizing(StepWords& words) {
  return Posterize{words.Whole(words.rest(), 1, 8)};
}

Transform ReadSharpness(StepWords& words) {
  return AdjustSharpness{words.Numbers(1, 1, 1000)[0]};
}

Transform ReadAugment(StepWords& words) {
  const std::vector<double> numbers = words.Numbers(0, 3, 1000);
  if (numbers.size() == 1) words.Refuse("takes operations and their magnitude");
  RandAugment step;
  if (numbers.size() > 1) {
    step.operations = words.Whole(numbers[0]);
    step.magnitude = words.Whole(numbers[1]);
  }
  if (numbers.size() > 2) step.bins = words.Whole(numbers[2]);
  return step;
}

Transform ReadErase(StepWords& words) {
  const std::vector<double> numbers = words.Numbers(0, 3, 1);
  if (numbers.size() == 2) words.Refuse("takes a least and a largest share");
  RandomErasing step;
  if (!numbers.empty()) step.probability = numbers[0];
  if (numbers.size() > 2) {
    step.min_scale = numbers[1];
    step.max_scale = numbers[2];
  }
  return step;
}

// ImageNet's mean and deviation, as most trainings have them.
Transform ReadNormalized(StepWords& words) {
  Normalize normalize{{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}};
  if (words.rest() == "f16") {
    normalize.type = FloatType::kFloat16;
  } else if (words.rest() == "bf16") {
    normalize.type = FloatType::kBFloat16;
  } else if (!words.rest().empty() && words.rest() != "f32") {
    words.Refuse("is followed by nothing, :f32, :f16 or :bf16");
  }
  return normalize;
}

Transform ReadSmoothed(StepWords& words) {
  OneHot step;
  const std::vector<double> numbers = words.Numbers(0, 1, 1);
  if (!numbers.empty()) step.smoothing = numbers[0];
  return step;
}

template <class Step>
Step ReadMixing(StepWords& words) {
  Step step;
  const std::vector<double> numbers = words.Numbers(0, 2, 100);
  if (!numbers.empty()) step.alpha = numbers[0];
  if (numbers.size() > 1) step.probability = numbers[1];
  return step;
}

template <class Step, Step (*parse)(StepWords&)>
Transform ReadAs(StepWords& words) {
  return parse(words);
}

struct NamedStep {
  std::string_view name;
  Transform (*parse)(StepWords&);
};
constexpr NamedStep kSteps[] = {
    {"rrc", ReadRandomResized},
    {"resize", ReadAs<Resize, ReadSized<Resize>>},
    {"crc", ReadAs<CenterResizedCrop, ReadSized<CenterResizedCrop>>},
    {"short", ReadShortSide},
    {"center", ReadCenter},
    {"crop", ReadCrop},
    {"translate", ReadTranslate},
    {"flip", ReadAs<HorizontalFlip, ReadChance<HorizontalFlip>>},
    {"vflip", ReadAs<VerticalFlip, ReadChance<VerticalFlip>>},
    {"turns", ReadAs<RandomQuarterTurns, ReadChance<RandomQuarterTurns>>},
    {"affine", ReadAffine},
    {"jitter", ReadJitter},
    {"gray", ReadAs<RandomGrayscale, ReadChance<RandomGrayscale>>},
    {"blur", ReadBlur},
    {"solarize", ReadSolarizing},
    {"posterize", ReadPosterizing},
    {"equalize", ReadAs<Equalize, ReadChance<Equalize>>},
    {"autocontrast", ReadAs<AutoContrast, ReadChance<AutoContrast>>},
    {"invert", ReadAs<Invert, ReadChance<Invert>>},
    {"sharpness", ReadSharpness},
    {"erase", ReadErase},
    {"randaug", ReadAugment},
    {"trivialaug", ReadAs<TrivialAugmentWide, ReadChance<TrivialAugmentWide>>},
    {"normalize", ReadNormalized},
    {"onehot", ReadSmoothed},
    {"mixup", ReadAs<MixUp, ReadMixing<MixUp>>},
    {"cutmix", ReadAs<CutMix, ReadMixing<CutMix>>},
};

Transform ParseStep(std::string_view text) {
  StepWords words(text);
  for (const NamedStep& step : kSteps) {
    if (step.name != words.name()) continue;
    Transform transform = step.parse(words);
    if (!words.chance()) return transform;
    std::visit(
        [&]<class T>(T& op) {
          if constexpr (requires { op.probability; }) {
            op.probability = *words.chance();
          } else {
            words.Refuse("has no probability, so that no @ can follow it");
          }
        },
        transform);
    return transform;
  }
  std::string names;
  for (const NamedStep& step : kSteps)
    names += (names.empty() ? "" : ", ") + std::string(step.name);
  words.Refuse("is no step; there are " + names + " and none");
}

}  // namespace

Pipeline ParsePipeline(std::string_view text) {
  Pipeline pipeline;
  if (text == "none") return pipeline;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    pipeline.push_back(ParseStep(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return pipeline;
}

}  // namespace sluice
