// All answers come from the steps' declarations (StepOf), so a new step changes nothing here; only
// FixedSteps() names two steps. A declaration lists its parameters once, and the two ParameterLists
// here read that list: Checking compares each parameter with its limits, Describing writes the
// step's text. Describing also reads the list of a default step, to leave out what is as usual. The
// static_asserts make sure that no two types of step share a random stream.
//
// The second half merges sizes and schedule into stages: one for each epoch at which either
// changes.
#include "reader/transform/steps.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <vector>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "reader/transform/all_steps.h"
#include "reader/transform/step.h"

namespace sluice {

namespace {

StepKind KindOfStep(const Transform& step) noexcept {
  return std::visit([]<class Step>(const Step&) { return StepOf<Step>::kKind; }, step);
}

// Whether each step of a kind has a kDraws of its own, so that no two types of step draw the same
// numbers.
template <StepKind kind, class... Steps>
constexpr bool DrawOnTheirOwn(const std::variant<Steps...>*) {
  std::uint64_t seen = 0;
  const auto is_new = [&seen]<class Step>(const Step*) {
    if constexpr (StepOf<Step>::kKind == kind && requires { StepOf<Step>::kDraws; }) {
      const std::uint64_t bit = std::uint64_t{1} << StepOf<Step>::kDraws;
      if ((seen & bit) != 0) return false;
      seen |= bit;
    }
    return true;
  };
  return (is_new(static_cast<const Steps*>(nullptr)) && ...);
}
constexpr const Transform* kSteps = nullptr;
static_assert(DrawOnTheirOwn<StepKind::kGeometric>(kSteps));
static_assert(DrawOnTheirOwn<StepKind::kPixels>(kSteps));
static_assert(DrawOnTheirOwn<StepKind::kBatch>(kSteps));

}  // namespace

bool IsGeometric(const Transform& step) noexcept {
  return KindOfStep(step) == StepKind::kGeometric;
}
bool ChangesPixels(const Transform& step) noexcept {
  return KindOfStep(step) == StepKind::kPixels;
}
bool DrawsNumbers(const Transform& step) noexcept {
  return std::visit(
      []<class Step>(const Step&) {
        return requires {
          StepOf<Step>::kDraws;
        };
      },
      step);
}
bool ConcernsBatch(const Transform& step) noexcept {
  return KindOfStep(step) == StepKind::kBatch;
}

namespace {

bool Within(double value, const Limits& limits) {
  return (limits.open_least ? value > limits.least : value >= limits.least) &&
         (limits.open_most ? value < limits.most : value <= limits.most);
}

// Keeps the error of the first parameter outside its limits.
class Checking final : public ParameterList {
 public:
  const std::string& wrong() const noexcept { return wrong_; }

  void Size(std::uint32_t& width, std::uint32_t& height) override {
    if (width == 0 || height == 0 || width > kMaxImageSide || height > kMaxImageSide)
      Say("a width and height of 1 to 65535 pixels", NumberText(width) + "x" + NumberText(height));
  }
  void Number(const char* name, double& value, Limits limits, Shown) override {
    if (Within(value, limits)) return;
    const bool chance = name == std::string("probability");
    Say(chance ? "a probability of 0 to 1" : Between(limits, name), NumberText(value));
  }
  void Range(const char* name, double& low, double& high, Limits limits, Shown) override {
    if (Within(low, limits) && Within(high, limits) && low <= high) return;
    const std::string names = "min_" + std::string(name) + " <= max_" + name;
    Say(Between(limits, names), NumberText(low) + " and " + NumberText(high));
  }
  void SizeIfAny(std::uint32_t& width, std::uint32_t& height) override {
    if (width != 0 || height != 0) Size(width, height);
  }
  void Numbers(const char* name, std::vector<double>& values, Limits limits, Shown) override {
    if (values.empty()) Say("at least one number in " + std::string(name), "none");
    for (double& value : values)
      Number(name, value, limits, Shown::kAlways);
  }
  void Lists(std::vector<Pipeline>& lists, std::vector<double>& weights) override {
    const auto refused = [](const Transform& step) {
      const StepKind kind = KindOfStep(step);
      return kind == StepKind::kNumbers || kind == StepKind::kBatch;
    };
    if (lists.empty()) Say("at least one list of steps", "none");
    if (!weights.empty() && weights.size() != lists.size()) {
      Say("a weight in p for each list",
          std::to_string(weights.size()) + " for " + std::to_string(lists.size()) + " lists");
    }
    double sum = weights.empty() ? 1 : 0;
    for (const double weight : weights) {
      if (!(weight >= 0)) Say("weights p of 0 or more", NumberText(weight));
      sum += weight;
    }
    if (!(sum > 0) || !std::isfinite(sum))
      Say("weights p with a finite sum above 0", NumberText(sum));
    for (const Pipeline& list : lists) {
      const auto found = std::ranges::find_if(list, refused);
      if (found != list.end()) {
        Say("lists without Normalize, OneHot, MixUp, CutMix and CopyPaste, which go after it",
            StepName(*found));
      }
    }
  }
  void Shift(double& x, double& y, Limits limits) override {
    if (!Within(x, limits)) Say(Between(limits, "translate_x"), NumberText(x));
    if (!Within(y, limits)) Say(Between(limits, "translate_y"), NumberText(y));
  }

 private:
  static std::string Between(const Limits& limits, const std::string& what) {
    return NumberText(limits.least) + (limits.open_least ? " < " : " <= ") + what +
           (limits.open_most ? " < " : " <= ") + NumberText(limits.most);
  }
  void Say(const std::string& needs, const std::string& has) {
    if (wrong_.empty()) wrong_ = "needs " + needs + ", and has " + has;
  }

  std::string wrong_;
};

}  // namespace

std::string WrongParameter(const Transform& step) {
  return std::visit(
      []<class Step>(Step op) {
        Checking checking;
        StepOf<Step>::List(op, checking);
        std::string wrong = checking.wrong();
        if (wrong.empty()) {
          if (const char* const more = StepOf<Step>::Wrong(op)) wrong = more;
        }
        return wrong.empty() ? wrong : StepOf<Step>::kName + (" " + wrong);
      },
      step);
}

void CheckParameters(const Transform& step) {
  if (const std::string wrong = WrongParameter(step); !wrong.empty()) RefuseTransform(wrong);
}

bool HasColour(const Transform& step) {
  class Finding final : public ParameterList {
   public:
    void Colour(const char*, std::array<std::uint8_t, 3>& colour) override {
      found = found || colour != std::array<std::uint8_t, 3>{};
    }
    bool found = false;
  } list;
  std::visit([&list]<class Step>(Step copy) { StepOf<Step>::List(copy, list); }, step);
  return list.found;
}

namespace {

std::string TextOf(double value) {
  std::array<char, 32> text;
  value += 0.0;  // so that a zero has no sign
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

// Makes the text between the brackets of "Name(24, 0.5, words)".
class Describing final : public ParameterList {
 public:
  void Size(std::uint32_t& width, std::uint32_t& height) override {
    Add(TextOf(width) + ", " + TextOf(height));
  }
  void Number(const char* name, double& value, Limits, Shown shown) override {
    Add(name, TextOf(value), shown);
  }
  void Range(const char* name, double& low, double& high, Limits, Shown shown) override {
    const bool named = shown == Shown::kNamed || shown == Shown::kNamedIfUnusual;
    Add(name, TextOf(low) + (named ? " to " : ", ") + TextOf(high), shown);
  }
  void SizeIfAny(std::uint32_t& width, std::uint32_t& height) override {
    if (width != 0) Add("size " + TextOf(width) + "x" + TextOf(height));
  }
  void Numbers(const char* name, std::vector<double>& values, Limits, Shown shown) override {
    std::string text;
    for (const double value : values)
      text += (text.empty() ? "" : "/") + TextOf(value);
    Add(name, text, shown);
  }
  void Shift(double& x, double& y, Limits) override {
    Add("shift", TextOf(x) + " by " + TextOf(y), Shown::kNamedIfUnusual);
  }
  void Colour(const char* name, std::array<std::uint8_t, 3>& colour) override {
    Add(name, TextOf(colour[0]) + "/" + TextOf(colour[1]) + "/" + TextOf(colour[2]),
        Shown::kNamedIfUnusual);
  }
  void Channels(const char*, std::vector<float>& numbers) override {
    std::string text;
    for (const float number : numbers) {
      std::array<char, 32> one;
      const auto end = std::to_chars(one.data(), one.data() + one.size(), number).ptr;
      text += (text.empty() ? "" : "/") + std::string(one.data(), end);
    }
    Add(text);
  }
  void Lists(std::vector<Pipeline>& lists, std::vector<double>& weights) override {
    for (std::size_t i = 0; i < lists.size(); ++i) {
      std::string text;
      for (const Transform& step : lists[i])
        text += (text.empty() ? "" : ", ") + StepText(step);
      const std::string weight = i < weights.size() ? TextOf(weights[i]) + ": " : "";
      Add(weight + "[" + text + "]");
    }
  }
  void Flag(const char* word, bool& value) override {
    if (value) Add(word);
  }
  void Name(const char* before, std::string& name) override {
    if (!name.empty()) Add(std::string(before) + " \"" + name + "\"");
  }

  // The text. Leaves out parameters that are shown only if unusual, and that are as in `usual`.
  std::string TextComparedWith(const Describing& usual) const {
    std::string text;
    for (const Piece& piece : pieces_) {
      const auto same = [&piece](const Piece& other) { return other.text == piece.text; };
      if (piece.if_unusual && std::ranges::any_of(usual.pieces_, same)) continue;
      text += (text.empty() ? "" : ", ") + piece.text;
    }
    return text;
  }

 private:
  struct Piece {
    std::string text;
    bool if_unusual;
  };
  void Choose(std::size_t& index, std::initializer_list<Word> words) override {
    Add(words.begin()[index].shown);
  }
  void Add(const std::string& text) { pieces_.push_back({text, false}); }
  void Add(const char* name, const std::string& text, Shown shown) {
    const bool named = shown == Shown::kNamed || shown == Shown::kNamedIfUnusual;
    pieces_.push_back({named ? name + (" " + text) : text,
                       shown == Shown::kIfUnusual || shown == Shown::kNamedIfUnusual});
  }

  std::vector<Piece> pieces_;
};

}  // namespace

std::string NumberText(double value) {
  return TextOf(value);
}

std::string StepText(const Transform& step) {
  return std::visit(
      []<class Step>(Step op) {
        Describing own, usual;
        Step other;
        StepOf<Step>::List(op, own);
        StepOf<Step>::List(other, usual);
        return std::string(StepOf<Step>::kName) + "(" + own.TextComparedWith(usual) + ")";
      },
      step);
}

std::string StepName(const Transform& step) {
  return std::visit([]<class Step>(const Step&) { return std::string(StepOf<Step>::kName); }, step);
}

const char* HowItRuns(const Transform& step) {
  return std::visit(
      []<class Step>(const Step& op) {
        if constexpr (requires { op.border; }) {
          if (op.border == Border::kReflect)
            return "fused with decoding, then the border is filled";
        }
        if constexpr (requires { StepOf<Step>::HowItRuns(op); }) return StepOf<Step>::HowItRuns(op);
        return StepOf<Step>::kRuns;
      },
      step);
}

namespace {

constexpr std::size_t kMaxStages = 65536;

// Changes the width and height of the last step that has them, if there is one.
void SetSize(Pipeline& pipeline, const PictureExtent& size) {
  bool set = false;
  for (auto step = pipeline.rbegin(); step != pipeline.rend() && !set; ++step) {
    std::visit(
        [&]<class T>(T& op) {
          if constexpr (FixesExtent<T>) {
            if (!ExtentOf(op)) return;
            op.width = size.width;
            op.height = size.height;
            set = true;
          }
        },
        *step);
  }
}

// The steps that decide which fields batches have, and of which type.
std::string FixedSteps(const Pipeline& steps) {
  std::string text;
  for (const Transform& step : steps) {
    if (std::holds_alternative<Normalize>(step) || std::holds_alternative<OneHot>(step))
      text += (text.empty() ? "" : ", ") + StepText(step);
  }
  return text.empty() ? "neither" : text;
}

void CheckEpochs(std::span<const OutputSize> sizes, std::span<const ScheduledTransform> schedule) {
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    const bool choice = s > 0 && sizes[s].epoch == sizes[s - 1].epoch;
    if (choice && (sizes[s].every == 0 || sizes[s].every != sizes[s - 1].every)) {
      RefuseTransform(
          "LoaderOptions::sizes has several sizes for epoch " + std::to_string(sizes[s].epoch) +
          "; give each the same `every`, the number of batches for which one of them is drawn");
    }
    if (s == 0 ? sizes[s].epoch != 0 : !choice && sizes[s].epoch < sizes[s - 1].epoch) {
      RefuseTransform("LoaderOptions::sizes must begin with epoch 0, and its epochs must increase");
    }
  }
  for (std::size_t s = 0; s < schedule.size(); ++s) {
    if (schedule[s].epoch <= (s == 0 ? 0 : schedule[s - 1].epoch)) {
      RefuseTransform(
          "LoaderOptions::schedule must begin with epoch 1 or later, and its epochs must increase; "
          "the steps from epoch 0 on are LoaderOptions::transform");
    }
  }
}

// The last entry of `list` that has begun by that epoch; null if no entry has.
template <class Entry>
const Entry* InEpoch(std::span<const Entry> list, std::uint64_t epoch) {
  const auto after = std::ranges::upper_bound(list, epoch, {}, &Entry::epoch);
  return after == list.begin() ? nullptr : &*(after - 1);
}

}  // namespace

Pipeline AllStepsOf(const Pipeline& steps) {
  Pipeline all;
  for (const Transform& step : steps) {
    const auto* const choice = std::get_if<RandomChoice>(&step);
    if (choice == nullptr) {
      all.push_back(step);
      continue;
    }
    for (const Pipeline& list : choice->transforms) {
      const Pipeline of_list = AllStepsOf(list);
      all.insert(all.end(), of_list.begin(), of_list.end());
    }
  }
  return all;
}

RowChoice RowChoice::Of(const Pipeline& steps, std::vector<Pipeline>& pipelines) {
  RowChoice choice;
  choice.Add(steps, pipelines);
  return choice;
}

std::uint32_t RowChoice::Add(Pipeline steps, std::vector<Pipeline>& pipelines) {
  constexpr std::size_t kMaxPipelines = 256;
  const auto at = std::ranges::find_if(
      steps, [](const Transform& step) { return std::holds_alternative<RandomChoice>(step); });
  if (at == steps.end()) {
    if (pipelines.size() >= kMaxPipelines) {
      RefuseTransform(
          "the lists of RandomChoice can be combined in more than 256 ways; give it fewer lists");
    }
    pipelines.push_back(std::move(steps));
    return kPipeline | static_cast<std::uint32_t>(pipelines.size() - 1);
  }
  CheckParameters(*at);
  const RandomChoice choice = std::get<RandomChoice>(*at);
  const auto with = [&](const Pipeline& list) {
    Pipeline whole(steps.begin(), at);
    whole.insert(whole.end(), list.begin(), list.end());
    whole.insert(whole.end(), at + 1, steps.end());
    return whole;
  };
  if (choice.transforms.size() == 1) return Add(with(choice.transforms[0]), pipelines);
  const std::size_t draw = draws_.size();
  draws_.emplace_back();
  double sum = 0;
  for (std::size_t i = 0; i < choice.transforms.size(); ++i) {
    sum += choice.p.empty() ? 1 : choice.p[i];
    draws_[draw].sums.push_back(sum);
    const std::uint32_t next = Add(with(choice.transforms[i]), pipelines);
    draws_[draw].next.push_back(next);
  }
  return static_cast<std::uint32_t>(draw);
}

std::size_t RowChoice::At(std::uint64_t draw_seed, std::uint64_t position) const {
  if (draws_.empty()) return 0;
  std::uint32_t at = 0;
  for (std::uint16_t drawn = 0; (at & kPipeline) == 0; ++drawn) {
    const Draw& draw = draws_[at];
    RandomStream random(draw_seed, Purpose::kTransform, position,
                        static_cast<std::uint16_t>(drawn << 4 | kChoiceDraws));
    const double share = random.Uniform() * draw.sums.back();
    at = draw.next[static_cast<std::size_t>(std::ranges::upper_bound(draw.sums, share) -
                                            draw.sums.begin())];
  }
  return at & ~kPipeline;
}

std::vector<PipelineStage> StagesOf(const Pipeline& transform, std::span<const OutputSize> sizes,
                                    std::span<const ScheduledTransform> schedule) {
  CheckEpochs(sizes, schedule);
  std::set<std::uint64_t> epochs = {0};
  for (const OutputSize& size : sizes)
    epochs.insert(size.epoch);
  for (const ScheduledTransform& later : schedule)
    epochs.insert(later.epoch);
  if (epochs.size() > kMaxStages)
    RefuseTransform("LoaderOptions::schedule and sizes can change at most 65535 times");
  std::optional<std::string> fixed;
  std::vector<PipelineStage> stages;
  for (const std::uint64_t epoch : epochs) {
    const ScheduledTransform* const later = InEpoch(schedule, epoch);
    std::vector<Pipeline> pipelines;
    const RowChoice row_choice =
        RowChoice::Of(later == nullptr ? transform : later->transform, pipelines);
    const std::string here = FixedSteps(pipelines[0]);
    if (!fixed) fixed = here;
    if (here != *fixed) {
      RefuseTransform("Normalize and OneHot must be the same in all epochs, and LoaderOptions::" +
                      std::string("transform has ") + *fixed + ", but the schedule from epoch " +
                      std::to_string(epoch) + " on has " + here);
    }
    const auto add = [&](const OutputSize* size) {
      if (stages.size() + pipelines.size() > kMaxStages) {
        RefuseTransform(
            "LoaderOptions::schedule and sizes can have at most 65535 sizes in all, counted for "
            "each list of a RandomChoice");
      }
      for (std::size_t i = 0; i < pipelines.size(); ++i) {
        PipelineStage& stage = stages.emplace_back();
        stage.epoch = epoch;
        stage.steps = pipelines[i];
        stage.choices = i == 0 ? pipelines.size() : 0;
        if (i == 0) stage.row_choice = row_choice;
        if (size == nullptr) continue;
        stage.every = size->every;
        stage.size = {size->width, size->height};
        SetSize(stage.steps, *stage.size);
      }
    };
    const OutputSize* const last = InEpoch(sizes, epoch);
    if (last == nullptr) {
      add(nullptr);
      continue;
    }
    for (const OutputSize& size :
         std::ranges::equal_range(sizes, last->epoch, {}, &OutputSize::epoch)) {
      add(&size);
    }
  }
  return stages;
}

std::vector<ScheduledTransform> Ramp(std::uint64_t begin, std::uint64_t end,
                                     const std::function<Pipeline(double)>& steps) {
  if (begin >= end || end - begin >= kMaxStages) {
    throw Error(ErrorCode::kInvalidArgument,
                "Ramp needs begin < end, and at most 65535 epochs between them");
  }
  std::vector<ScheduledTransform> schedule;
  for (std::uint64_t epoch = begin + 1; epoch <= end; ++epoch)
    schedule.push_back({epoch, steps(double(epoch - begin) / double(end - begin))});
  return schedule;
}

}  // namespace sluice
