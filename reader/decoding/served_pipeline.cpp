// The JSON is an object:
//
//   {"sluice_pipeline": 1, "width": 224, "height": 224, "channels": 3, "layout": "nchw",
//    "steps": [{"step": "ResizeShortSide", "side": 256, "choices": ["triangle"]}, ...],
//    "classes": ["cat", "owl"]}
//
// "classes" is left out if the dataset has none, or so many that the text would be refused.
//
// Each step is written with all of its parameters, under the names of its declaration (StepOf in
// step.h), so that a pipeline stays the same if a later version changes a default. Unknown members
// are refused, because in a later version they may change rows. Numbers are checked against the
// limits of the declaration, as everywhere.
#include "reader/decoding/served_pipeline.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include <sluice/error.h>
#include <sluice/parse_pipeline.h>

#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "reader/decoding/decoded_picture_use.h"
#include "reader/transform/all_steps.h"
#include "reader/transform/geometry.h"
#include "reader/transform/pixel_steps.h"
#include "reader/transform/steps.h"

namespace sluice {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kVersionMember = "sluice_pipeline";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kMaxText = 1'000'000;  // bytes; a longer one is not read
constexpr const char* kClasses = "classes";
constexpr const char* kChoices = "choices";  // a step's enumerators, in the order of declaration

[[noreturn]] void RefusePipeline(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument,
              "the pipeline " + what + "; Loader::PipelineText() writes one");
}

Json StepJson(const Transform& step);
Transform StepFromJson(const Json& json);

// Writes a step's parameters into an object.
class WritingStep final : public ParameterList {
 public:
  explicit WritingStep(Json& step) : step_(step) {}

  void Size(std::uint32_t& width, std::uint32_t& height) override {
    step_["width"] = width;
    step_["height"] = height;
  }
  void Number(const char* name, double& value, Limits limits, Shown) override {
    if (limits.whole) {
      step_[name] = static_cast<std::uint64_t>(value);
    } else {
      step_[name] = value;
    }
  }
  void Range(const char* name, double& low, double& high, Limits, Shown) override {
    step_[name] = {low, high};
  }
  void SizeIfAny(std::uint32_t& width, std::uint32_t& height) override {
    if (width != 0) Size(width, height);
  }
  void Numbers(const char* name, std::vector<double>& values, Limits limits, Shown) override {
    Json numbers = Json::array();
    for (const double value : values) {
      if (limits.whole) {
        numbers.push_back(static_cast<std::uint64_t>(value));
      } else {
        numbers.push_back(value);
      }
    }
    step_[name] = std::move(numbers);
  }
  void Shift(double& x, double& y, Limits) override { step_["shift"] = {x, y}; }
  void Colour(const char* name, std::array<std::uint8_t, 3>& colour) override {
    step_[name] = colour;
  }
  void Channels(const char* name, std::vector<float>& numbers) override { step_[name] = numbers; }
  void Flag(const char* word, bool& value) override { step_[word] = value; }
  void Lists(std::vector<Pipeline>& lists, std::vector<double>& weights) override {
    for (const Pipeline& list : lists) {
      Json& steps = step_["transforms"].emplace_back(Json::array());
      for (const Transform& step : list)
        steps.push_back(StepJson(step));
    }
    step_["p"] = weights;
  }

 private:
  void Choose(std::size_t& index, std::initializer_list<Word> words) override {
    step_[kChoices].push_back(words.begin()[index].text);
  }

  Json& step_;
};

// Sets a step's parameters from an object. Removes each member that it reads, so that End() finds
// the unknown ones.
class ReadingStep final : public ParameterList {
 public:
  explicit ReadingStep(Json step) : step_(std::move(step)) {
    const auto choices = step_.find(kChoices);
    if (choices == step_.end()) return;
    if (!choices->is_array()) Refuse(*choices);
    choices_ = *choices;
    step_.erase(choices);
  }

  void Size(std::uint32_t& width, std::uint32_t& height) override {
    width = static_cast<std::uint32_t>(Whole(Take("width"), 1, kMaxImageSide));
    height = static_cast<std::uint32_t>(Whole(Take("height"), 1, kMaxImageSide));
  }
  void Number(const char* name, double& value, Limits limits, Shown) override {
    const Json number = Take(name);
    value = limits.whole ? Whole(number, limits.least, limits.most) : Decimal(number);
  }
  void Range(const char* name, double& low, double& high, Limits, Shown) override {
    Pair(name, low, high);
  }
  void SizeIfAny(std::uint32_t& width, std::uint32_t& height) override {
    if (step_.contains("width")) Size(width, height);
  }
  void Numbers(const char* name, std::vector<double>& values, Limits limits, Shown) override {
    const Json numbers = Take(name);
    if (!numbers.is_array()) Refuse(numbers);
    values.clear();
    for (const Json& number : numbers)
      values.push_back(limits.whole ? Whole(number, limits.least, limits.most) : Decimal(number));
  }
  void Shift(double& x, double& y, Limits) override { Pair("shift", x, y); }
  void Colour(const char* name, std::array<std::uint8_t, 3>& colour) override {
    const Json values = Take(name);
    if (!values.is_array() || values.size() != colour.size()) Refuse(values);
    for (std::size_t c = 0; c < colour.size(); ++c)
      colour[c] = static_cast<std::uint8_t>(Whole(values[c], 0, 255));
  }
  void Channels(const char* name, std::vector<float>& numbers) override {
    const Json values = Take(name);
    if (!values.is_array() || values.size() > 4) Refuse(values);
    numbers.clear();
    for (const Json& value : values)
      numbers.push_back(static_cast<float>(Decimal(value)));
  }
  // Names that may be missing.
  void Names(const char* name, std::vector<std::string>& names) {
    if (!step_.contains(name)) return;
    const Json values = Take(name);
    if (!values.is_array()) Refuse(values);
    for (const Json& value : values) {
      if (!value.is_string()) Refuse(value);
      names.push_back(value.get<std::string>());
    }
  }
  void Lists(std::vector<Pipeline>& lists, std::vector<double>& weights) override {
    const Json given = Take("transforms"), p = Take("p");
    if (!given.is_array() || !p.is_array()) Refuse(given);
    for (const Json& list : given) {
      if (!list.is_array()) Refuse(list);
      Pipeline& steps = lists.emplace_back();
      for (const Json& step : list)
        steps.push_back(StepFromJson(step));
    }
    for (const Json& weight : p)
      weights.push_back(Decimal(weight));
  }
  void Flag(const char* word, bool& value) override {
    const Json given = Take(word);
    if (!given.is_boolean()) Refuse(given);
    value = given.get<bool>();
  }

  // Refuses what has not been read.
  void End() const {
    if (!step_.empty())
      RefusePipeline("has " + step_.dump() + ", which this version does not know");
    if (next_choice_ < choices_.size()) Refuse(choices_);
  }
  static double Whole(const Json& number, double least, double most) {
    if (!number.is_number_unsigned()) Refuse(number);
    const auto value = static_cast<double>(number.get<std::uint64_t>());
    if (value < least || value > most) Refuse(number);
    return value;
  }
  Json Take(const char* name) {
    const auto found = step_.find(name);
    if (found == step_.end()) RefusePipeline("lacks \"" + std::string(name) + "\"");
    Json value = *found;
    step_.erase(found);
    return value;
  }
  [[noreturn]] static void Refuse(const Json& value) {
    RefusePipeline("has the value " + value.dump() + " where it is not allowed");
  }

 private:
  static double Decimal(const Json& number) {
    if (!number.is_number()) Refuse(number);
    return number.get<double>();
  }
  void Pair(const char* name, double& first, double& second) {
    const Json values = Take(name);
    if (!values.is_array() || values.size() != 2) Refuse(values);
    first = Decimal(values[0]);
    second = Decimal(values[1]);
  }
  void Choose(std::size_t& index, std::initializer_list<Word> words) override {
    if (next_choice_ >= choices_.size()) RefusePipeline("lacks an entry of \"choices\"");
    const Json choice = choices_[next_choice_++];
    const auto* const found =
        std::ranges::find_if(words, [&choice](const Word& word) { return choice == word.text; });
    if (found == words.end()) Refuse(choice);
    index = static_cast<std::size_t>(found - words.begin());
  }

  Json step_;
  Json choices_ = Json::array();
  std::size_t next_choice_ = 0;
};

Json StepJson(const Transform& step) {
  Json json{{"step", StepName(step)}};
  std::visit(
      [&json]<class Step>(Step op) {
        WritingStep writing(json);
        StepOf<Step>::List(op, writing);
      },
      step);
  return json;
}

template <class... Steps>
std::optional<Transform> StepNamed(const std::string& name, const std::variant<Steps...>*) {
  std::optional<Transform> found;
  ((name == StepOf<Steps>::kName ? void(found = Steps()) : void()), ...);
  return found;
}

Transform StepFromJson(const Json& json) {
  if (!json.is_object()) ReadingStep::Refuse(json);
  ReadingStep reading(json);
  const Json name = reading.Take("step");
  std::optional<Transform> step;
  if (name.is_string())
    step = StepNamed(name.get<std::string>(), static_cast<const Transform*>(nullptr));
  if (!step || ConcernsBatch(*step)) RefusePipeline("has the unknown step " + name.dump());
  std::visit([&reading]<class Step>(Step& op) { StepOf<Step>::List(op, reading); }, *step);
  reading.End();
  CheckParameters(*step);
  return *std::move(step);
}

// Whether a step that changes pixels gives the same result for a picture each time. `probability`
// decides whether the step is applied. All other random choices of the step show in the operations
// that it draws, so these are drawn for several positions and compared.
bool IsFixedPixelStep(const Transform& step) {
  const double probability = std::visit(
      [](const auto& op) {
        if constexpr (requires { op.probability; }) return op.probability;
        return 1.0;
      },
      step);
  if (probability == 0) return true;
  if (probability < 1) return false;
  constexpr std::uint64_t kTries = 16;
  const Pixels shape{nullptr, 64, 48, 3};
  std::vector<std::uint8_t> first;
  for (std::uint64_t position = 0; position < kTries; ++position) {
    RandomStream draws(0, Purpose::kPixelTransform, position, DrawKind(step));
    PixelOps ops;
    DrawStep(step, shape, draws, ops);
    // Bytes can be compared, because PixelOp has no padding.
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(ops.at);
    const std::vector<std::uint8_t> drawn(bytes, bytes + ops.count * sizeof(PixelOp));
    if (position == 0) first = drawn;
    if (drawn != first) return false;
  }
  return true;
}

}  // namespace

ServedPipeline ServedPipeline::Of(const BatchRecipe& recipe, std::uint64_t epoch) {
  const LoaderOptions& options = recipe.options;
  const SlotLayout& layout = recipe.layout;
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument,
                "the pipeline of this Loader cannot be written for a server: " + what);
  };
  if (layout.images.empty()) refuse("its batches have no image");
  if (layout.picture().nearest) refuse("its image is a mask");
  if (layout.picture().wide) refuse("its images are not 8-bit pictures of up to four channels");
  if (options.sample_function || options.batch_function)
    refuse("it has a function of yours, which text cannot hold; make a Loader without it");
  if (!options.views.empty())
    refuse(
        "it has several views, for which pictures are decoded differently; make a Loader without "
        "LoaderOptions::views");
  if (layout.image_sizes != ImageSizes::kEqual)
    refuse(
        "its rows differ in size; make a Loader with a step such as CenterCrop(224), and with "
        "image_sizes kEqual");
  if (options.keep && !RowsAreFixed(options))
    refuse(
        "pictures that are kept between epochs are decoded differently; make a Loader without "
        "LoaderOptions::keep");
  const auto [stage, choices] = recipe.views[0].geometry.ChoicesIn(epoch);
  const std::size_t lists = recipe.views[0].geometry.RowStages(stage);
  if (lists > 1) refuse("RandomChoice draws the steps of each row; make a Loader without it");
  if (choices > lists)
    refuse("the size of its rows is drawn for each few batches; make a Loader with one size");
  ServedPipeline pipeline;
  pipeline.steps = StagesOf(options.transform, options.sizes, options.schedule)[stage].steps;
  std::erase_if(pipeline.steps, ConcernsBatch);
  const Geometry::Extent extent = layout.picture().extents[stage];
  pipeline.width = extent.width;
  pipeline.height = extent.height;
  pipeline.channels = static_cast<std::uint32_t>(layout.picture().image.channels);
  pipeline.layout = options.output.layout;
  const Schema& schema = recipe.dataset.facts->manifest.schema;
  if (const std::size_t label = schema.ClassField(); label != Schema::kNone) {
    pipeline.classes = schema.fields[label].classes;
    if (pipeline.Text().size() > kMaxText) pipeline.classes.clear();
  }
  return pipeline;
}

ServedPipeline ServedPipeline::Parse(std::string_view text) {
  // A stranger's text is refused before it is read: reading millions of steps takes gigabytes.
  if (text.size() > kMaxText) {
    RefusePipeline("has a text of " + std::to_string(text.size()) +
                   " bytes, and at most 1,000,000 are read");
  }
  ServedPipeline pipeline;
  if (text.find('{') == std::string_view::npos) {
    pipeline.steps = ParsePipeline(text);
    std::erase_if(pipeline.steps, ConcernsBatch);
    const std::optional<PictureExtent> extent = Geometry(pipeline.steps).FixedExtent();
    if (!extent)
      RefusePipeline("\"" + std::string(text.substr(0, 200)) +
                     "\" leaves the size of its rows open; add a step "
                     "such as center:224");
    pipeline.width = extent->width;
    pipeline.height = extent->height;
    return pipeline;
  }
  constexpr unsigned kMaxDepth = 8;
  if (NestsDeeperThan(text, kMaxDepth)) RefusePipeline("nests too deep");
  if (const std::string fault = JsonFault(text); !fault.empty()) RefusePipeline(fault);
  const Json json = Json::parse(text);
  if (!json.is_object()) ReadingStep::Refuse(json);
  ReadingStep reading(json);
  if (const Json version = reading.Take(kVersionMember);
      !version.is_number_unsigned() || version != kVersion) {
    RefusePipeline("has version " + version.dump() + ", and this version of Sluice reads " +
                   std::to_string(kVersion));
  }
  reading.Size(pipeline.width, pipeline.height);
  pipeline.channels = static_cast<std::uint32_t>(
      ReadingStep::Whole(reading.Take("channels"), 1, kMaxImageChannels));
  const Json layout = reading.Take("layout");
  if (layout != "nhwc" && layout != "nchw") ReadingStep::Refuse(layout);
  pipeline.layout = layout == "nhwc" ? Layout::kNHWC : Layout::kNCHW;
  const Json steps = reading.Take("steps");
  if (!steps.is_array()) ReadingStep::Refuse(steps);
  for (const Json& step : steps)
    pipeline.steps.push_back(StepFromJson(step));
  reading.Names(kClasses, pipeline.classes);
  reading.End();
  const std::optional<PictureExtent> extent = Geometry(pipeline.steps).FixedExtent();
  if (extent && *extent != PictureExtent{pipeline.width, pipeline.height}) {
    RefusePipeline("says that rows have " + std::to_string(pipeline.width) + "x" +
                   std::to_string(pipeline.height) + " pixels, and its steps make " +
                   std::to_string(extent->width) + "x" + std::to_string(extent->height));
  }
  return pipeline;
}

std::string ServedPipeline::Text() const {
  Json json{{kVersionMember, kVersion},
            {"width", width},
            {"height", height},
            {"channels", channels},
            {"layout", layout == Layout::kNHWC ? "nhwc" : "nchw"},
            {"steps", Json::array()}};
  for (const Transform& step : steps)
    json["steps"].push_back(StepJson(step));
  if (!classes.empty()) json[kClasses] = classes;
  return json.dump();
}

void ServedPipeline::RequireFixed() const {
  for (const Transform& step : steps) {
    const bool fixed = ChangesPixels(step) ? IsFixedPixelStep(step) : !DrawsNumbers(step);
    if (fixed) continue;
    throw Error(ErrorCode::kInvalidArgument,
                "the pipeline has " + StepText(step) +
                    ", which makes a different row each time; use the pipeline of the Loader for "
                    "validation");
  }
}

}  // namespace sluice
