// From text to a pipeline: "rrc:224,flip,normalize".
//
// The grammar of a step is the text form of its declaration (StepOf<Step>::kText), such as
// "posterize:bits". The form has the step's name, then its parameters, each with a separator before
// it; parameters in brackets may be left out. Messages about a step that cannot be read print that
// form, so grammar, parser and help cannot differ.
#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <sluice/error.h>
#include <sluice/nearest_name.h>
#include <sluice/parse_pipeline.h>

#include "format/ascii.h"
#include "reader/transform/all_steps.h"
#include "reader/transform/steps.h"

namespace sluice {

namespace {

// A text as messages quote it: its beginning, if it is long.
std::string Quoted(std::string_view text) {
  constexpr std::size_t kMaxQuoted = 200;
  if (text.size() <= kMaxQuoted) return std::string(text);
  return std::string(text.substr(0, kMaxQuoted)) + "...";
}

// A step's text form, StepOf<Step>::kText, taken apart.
struct StepForm {
  struct Place {
    char before;  // the separator
    std::string_view name;
  };

  explicit StepForm(std::string_view text) : name(text.substr(0, text.find_first_of(":["))) {
    for (std::size_t at = name.size(); at < text.size(); ++at) {
      if (text[at] == ']') break;
      if (text[at] == '[') {
        complete.push_back(places.size());
        continue;
      }
      const std::size_t end = std::min(text.find_first_of(":/+[]", at + 1), text.size());
      places.push_back({text[at], text.substr(at + 1, end - at - 1)});
      at = end - 1;
    }
    complete.push_back(places.size());
  }
  std::size_t Uses(std::string_view parameter) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(places, [=](const Place& p) { return p.name == parameter; }));
  }

  std::string_view name;
  std::vector<Place> places;
  std::vector<std::size_t> complete;  // how many numbers may be typed for the step to be complete
};

// Collects the words that may follow the numbers: "[:area]". Sets each number to its maximum, so
// that a parameter that is listed only for some values of another (RandomCrop's border, if it has
// padding) is listed, too.
class WordsOf final : public ParameterList {
 public:
  std::string text;

  void Number(const char*, double& value, Limits limits, Shown) override { value = limits.most; }
  void Flag(const char* word, bool&) override { text += "[:" + std::string(word) + "]"; }
  void Lists(std::vector<Pipeline>&, std::vector<double>&) override {
    text += "([weight*]steps|[weight*]steps...)";
  }

 private:
  void Choose(std::size_t&, std::initializer_list<Word> words) override {
    std::string others;
    for (const Word* word = words.begin() + 1; word != words.end(); ++word)
      others += (others.empty() ? "[:" : "|:") + std::string(word->text);
    text += others + "]";
  }
};

// The text form of a step and its words, for messages and help.
template <class Step>
std::string FormText() {
  Step step;
  WordsOf words;
  StepOf<Step>::List(step, words);
  return StepOf<Step>::kText + words.text;
}

// A step as it was typed: numbers at their places, words, and a probability after an @.
class Typed {
 public:
  Typed(std::string_view text, const StepForm& form, std::string takes)
      : text_(text), takes_(std::move(takes)) {
    std::string_view rest = text.substr(form.name.size());
    if (const std::size_t at = rest.find('@'); at != std::string_view::npos) {
      chance = rest.substr(at + 1);
      rest = rest.substr(0, at);
    }
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find_first_of(":/+", 1), rest.size());
      const std::string_view part = rest.substr(1, end - 1);
      // Words and numbers may both follow a colon; only a word begins with a letter.
      if (rest[0] == ':' && !part.empty() && part[0] >= 'a' && part[0] <= 'z') {
        words.push_back(part);
      } else if (numbers.size() < form.places.size() &&
                 rest[0] == form.places[numbers.size()].before) {
        numbers.push_back(part);
      } else {
        Refuse("has \"" + Quoted(rest.substr(0, end)) + "\"");
      }
      rest = rest.substr(end);
    }
    if (std::ranges::find(form.complete, numbers.size()) == form.complete.end()) {
      Refuse("is incomplete");
    }
  }

  [[noreturn]] void Refuse(const std::string& why) const {
    throw Error(ErrorCode::kInvalidArgument,
                "\"" + Quoted(text_) + "\" " + why + "; it takes " + takes_);
  }
  double Decimal(std::string_view text) const {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (text.find_first_not_of("0123456789.") != std::string_view::npos || error != std::errc() ||
        stop != end) {
      Refuse("has \"" + Quoted(text) + "\" instead of a number");
    }
    return value;
  }
  std::uint32_t Whole(std::string_view text) const {
    std::uint32_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end)
      Refuse("has \"" + Quoted(text) + "\" instead of a whole number");
    return value;
  }

  std::vector<std::string_view> numbers, words;
  std::optional<std::string_view> chance;

 private:
  std::string_view text_;
  std::string takes_;
};

// Gives parameters the values that were typed.
class TypedReading final : public ParameterList {
 public:
  TypedReading(Typed& typed, const StepForm& form) : typed_(typed), form_(form) {}

  void Size(std::uint32_t& width, std::uint32_t& height) override {
    const std::string_view text = TextOf("size");
    const std::size_t cross = text.find('x');
    width = height = typed_.Whole(text.substr(0, cross));
    if (cross != std::string_view::npos) height = typed_.Whole(text.substr(cross + 1));
  }
  void Number(const char* name, double& value, Limits limits, Shown) override {
    std::string_view text = TextOf(name);
    if (typed_.chance && name == std::string_view("probability"))
      text = *std::exchange(typed_.chance, std::nullopt);
    if (text.data() == nullptr) return;
    value = limits.whole ? typed_.Whole(text) : typed_.Decimal(text);
  }
  void Range(const char* name, double& low, double& high, Limits, Shown) override {
    const std::string_view first = TextOf(name), second = TextOf(name, 1);
    if (first.data() == nullptr) return;
    low = high = typed_.Decimal(first);
    if (second.data() != nullptr) {
      high = typed_.Decimal(second);
    } else if (form_.Uses(name) == 1) {
      // A range that the form has once is symmetric: "affine:30" is -30 to 30.
      low = -high;
    }
  }
  void SizeIfAny(std::uint32_t& width, std::uint32_t& height) override {
    if (TextOf("size").data() != nullptr) Size(width, height);
  }
  void Numbers(const char* name, std::vector<double>& values, Limits limits, Shown) override {
    std::string_view text = TextOf(name);
    if (text.data() == nullptr) return;
    values.clear();
    for (std::size_t end = 0; end != text.npos;
         text.remove_prefix(end == text.npos ? 0 : end + 1)) {
      end = text.find('-');
      const std::string_view one = text.substr(0, end);
      values.push_back(limits.whole ? typed_.Whole(one) : typed_.Decimal(one));
    }
  }
  void Shift(double& x, double& y, Limits) override {
    if (const std::string_view text = TextOf("shift"); text.data() != nullptr)
      x = y = typed_.Decimal(text);
  }
  void Flag(const char* word, bool& value) override { value = Take(word) || value; }

 private:
  void Choose(std::size_t& index, std::initializer_list<Word> words) override {
    for (std::size_t i = 0; i < words.size(); ++i)
      if (Take(words.begin()[i].text)) index = i;
  }
  bool Take(std::string_view word) { return std::erase(typed_.words, word) > 0; }
  // The text at a parameter's first place, or at a later one (`use`); its data() is null if it was
  // left out.
  std::string_view TextOf(std::string_view name, std::size_t use = 0) const {
    for (std::size_t i = 0; i < typed_.numbers.size(); ++i)
      if (form_.places[i].name == name && use-- == 0) return typed_.numbers[i];
    return {};
  }

  Typed& typed_;
  const StepForm& form_;
};

template <class Step>
Transform Read(std::string_view text, const StepForm& form) {
  Typed typed(text, form, FormText<Step>());
  Step step;
  if constexpr (requires { StepOf<Step>::AsWritten(); }) step = StepOf<Step>::AsWritten();
  TypedReading reading(typed, form);
  StepOf<Step>::List(step, reading);
  // The parameters have taken their words; what is left belongs to none of them.
  if (!typed.words.empty()) typed.Refuse("has \":" + Quoted(typed.words[0]) + "\"");
  if (typed.chance) typed.Refuse("has no probability, so no @ can follow it");
  if (const std::string wrong = WrongParameter(step); !wrong.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "\"" + Quoted(text) + "\": " + wrong);
  }
  return step;
}

// Calls `take(StepForm, Read<Step>, FormText<Step>, kName)` for each type of step.
template <class Take, class... Steps>
void ForEachStep(const Take& take, const std::variant<Steps...>*) {
  (take(StepForm(StepOf<Steps>::kText), Read<Steps>, FormText<Steps>, StepOf<Steps>::kName), ...);
}
template <class Take>
void ForEachStep(const Take& take) {
  ForEachStep(take, static_cast<const Transform*>(nullptr));
}

std::string_view WithoutBlanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\n\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n\r") + 1 - begin);
}

// Names of torchvision's and FFCV's, in lower case, that say nothing of the step here, and our name
// of the step. Null: no step is needed.
constexpr std::pair<std::string_view, const char*> kForeign[] = {
    {"centercroprgbimagedecoder", "crc"},
    {"convertimagedtype", "normalize"},
    {"cutout", "erase"},
    {"imagemixup", "mixup"},
    {"normalizeimage", "normalize"},
    {"randomrotation", "affine"},
    {"todtype", "normalize"},
    {"compose", nullptr},
    {"identity", nullptr},
    {"piltotensor", nullptr},
    {"todevice", nullptr},
    {"toimage", nullptr},
    {"topilimage", nullptr},
    {"topuretensor", nullptr},
    {"totensor", nullptr},
    {"totorchimage", nullptr},
};

// The name in "transforms.Resize(224)", without what distinguishes other programs' names from ours.
std::string_view BareName(std::string_view text) {
  text = text.substr(0, text.find_first_of(":@( "));
  return text.substr(text.rfind('.') + 1);
}
std::string_view WithoutRandom(std::string_view name) {
  for (const std::string_view word : {"Random", "random_"})
    if (name.starts_with(word)) name.remove_prefix(word.size());
  constexpr std::string_view kDecoder = "RGBImageDecoder";
  if (name.ends_with(kDecoder)) name.remove_suffix(kDecoder.size());
  return name;
}

[[noreturn]] void RefuseStep(std::string_view text) {
  const std::string_view bare = BareName(text);
  if (LowerCase(bare) == "none") {
    throw Error(ErrorCode::kInvalidArgument,
                "\"" + Quoted(text) + "\" is not a step; for no steps, write none alone");
  }
  std::string wanted(WithoutRandom(bare));
  for (const auto& [name, step] : kForeign) {
    if (LowerCase(bare) != name) continue;
    if (step == nullptr) {
      throw Error(ErrorCode::kInvalidArgument,
                  "\"" + Quoted(text) +
                      "\" is not a step, and needs none: batches are arrays; leave it out");
    }
    wanted = step;
  }
  // torchvision's Resize of one number is the shorter side.
  const std::size_t open = text.find('(');
  if (bare == "Resize" && open != text.npos && text.rfind('(') == open) wanted = "short";
  std::vector<std::string> names, forms, ours;
  ForEachStep([&](const StepForm& form, auto, auto form_text, const char* name) {
    for (const std::string_view each : {form.name, WithoutRandom(name)}) {
      names.emplace_back(each);
      forms.push_back(form_text());
    }
    ours.emplace_back(form.name);
  });
  ours.emplace_back("none");
  const auto found = std::ranges::find(names, NearestName(wanted, names));
  throw Error(
      ErrorCode::kInvalidArgument,
      "\"" + Quoted(text) + "\" is not a step" +
          (found == names.end()
               ? NamesInstead({}, ours, "the steps are")
               : "; did you mean " + forms[static_cast<std::size_t>(found - names.begin())] + "?"));
}

constexpr int kMaxNesting = 8;

// Calls `take` with each part of the text between separators that stand in no brackets.
template <class Take>
void ForEachPart(std::string_view text, char separator, const Take& take) {
  int open = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && text[at] == '(') ++open;
    if (at < text.size() && text[at] == ')') --open;
    if (at < text.size() && (text[at] != separator || open > 0)) continue;
    take(WithoutBlanks(text.substr(begin, at - begin)));
    begin = at + 1;
  }
}

Pipeline ParseSteps(std::string_view text, int nesting);

// "choice(0.5*rrc:224|0.5*short:256,center:224)"
RandomChoice ParseChoice(std::string_view text, int nesting) {
  const auto refuse = [text](const std::string& why) {
    throw Error(ErrorCode::kInvalidArgument,
                "\"" + Quoted(text) + "\" " + why + "; it takes " + FormText<RandomChoice>());
  };
  std::string_view lists = text.substr(text.find('('));
  if (lists.back() != ')') refuse("does not end with a bracket");
  if (nesting >= kMaxNesting) refuse("is nested too deep");
  lists = lists.substr(1, lists.size() - 2);
  RandomChoice choice;
  ForEachPart(lists, '|', [&](std::string_view list) {
    const std::size_t star = list.substr(0, list.find('(')).find('*');
    if (star != std::string_view::npos) {
      double weight = 0;
      const std::string_view number = WithoutBlanks(list.substr(0, star));
      const char* const end = number.data() + number.size();
      const auto [stop, error] = std::from_chars(number.data(), end, weight);
      if (error != std::errc() || stop != end)
        refuse("has the weight \"" + Quoted(number) + "\", which is not a number");
      choice.p.push_back(weight);
      list = WithoutBlanks(list.substr(star + 1));
    }
    choice.transforms.push_back(list.empty() ? Pipeline() : ParseSteps(list, nesting + 1));
  });
  if (const std::string wrong = WrongParameter(choice); !wrong.empty()) refuse(": " + wrong);
  return choice;
}

Transform ParseStep(std::string_view text, int nesting) {
  if (text.starts_with("choice(")) return ParseChoice(text, nesting);
  const std::string_view name = text.substr(0, text.find_first_of(":@"));
  std::optional<Transform> step;
  ForEachStep([&](const StepForm& form, auto read, auto, auto) {
    if (form.name == name) step = read(text, form);
  });
  if (!step) RefuseStep(text);
  return *step;
}

Pipeline ParseSteps(std::string_view text, int nesting) {
  Pipeline pipeline;
  if (text == "none") return pipeline;
  ForEachPart(text, ',',
              [&](std::string_view step) { pipeline.push_back(ParseStep(step, nesting)); });
  return pipeline;
}

}  // namespace

Pipeline ParsePipeline(std::string_view text) {
  return ParseSteps(WithoutBlanks(text), 0);
}

std::vector<ScheduledTransform> ParseSchedule(std::string_view text) {
  std::vector<ScheduledTransform> schedule;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const std::size_t sign = std::min(part.find('='), part.size());
    ScheduledTransform later;
    const char* const number_end = part.data() + sign;
    const auto [stop, error] = std::from_chars(part.data(), number_end, later.epoch);
    if (sign == part.size() || error != std::errc() || stop != number_end) {
      throw Error(ErrorCode::kInvalidArgument,
                  "\"" + Quoted(part) +
                      "\" is not a part of a schedule; write EPOCH=STEPS, such as "
                      "80=rrc:224,flip, and separate parts by \";\"");
    }
    later.transform = ParsePipeline(part.substr(sign + 1));
    schedule.push_back(std::move(later));
    begin = end + 1;
  }
  return schedule;
}

std::vector<std::string> PipelineSteps() {
  std::vector<std::string> forms;
  ForEachStep([&](const StepForm&, auto, auto form_text, auto) { forms.push_back(form_text()); });
  return forms;
}

}  // namespace sluice
