// Replaces C++ names in messages by the names that Python has for them, with regular expressions
// that are made at the first message. Their order matters. Enumerators come first, because later
// rules look for "sluice.Type.NAME" as a value. The rules for groups of options come before the
// general one for a member's qualified name, and flags with a name of their own before all others.
// Text that no rule knows stays as it is, so a new C++ name in a message needs a rule here.
#include <cctype>
#include <regex>
#include <utility>
#include <vector>

#include <sluice/convert_option_list.h>
#include <sluice/loader_option_list.h>

#include "reader/python/binding/binding.h"

namespace sluice::python {

namespace {

// Rules are applied one after another, as by std::regex_replace.
using Rules = std::vector<std::pair<std::regex, std::string>>;

Rules MakeRules() {
  Rules rules;
  const auto add = [&rules](const std::string& names, const std::string& python) {
    rules.emplace_back(std::regex(names), python);
  };
  add(R"((_function|thread_setup|order\.batches) threw)", "$1 raised");
  add(R"(dataset\[i\]\.Decode\(\))", "dataset[i].array(field)");
  add(R"(SetPixels\(\) stores)", "image=\"raw\" stores");
  add(R"(ResumePoint::Text\(\)|Loader::State\(\))", "Loader.state()");
  add(R"(Loader::Faults\(\))", "Loader.faults()");
  add(R"(Loader::PipelineText\(\))", "Loader.pipeline()");
  add(R"(Dataset::Find\(\))", "Dataset.find()");
  add(R"((Batch::)?WaitOn\(\))", "Batch.wait_on()");
  add(R"(Batch::image\(\))", "batch[\"image\"]");
  add(R"(Batch::image\(name\))", "batch[name]");
  add(R"(SampleList::Of\b)", "SampleList.of");
  add(R"(\bProgressiveSizes\b)", "progressive_sizes()");
  add(R"(\bSizesByBatch\b)", "sizes_by_batch()");
  add(R"(SampleList::Weighted)", "SampleList.weighted");
  add(R"(SampleList::ClassBalanced)", "SampleList.class_balanced");
  add(R"(device = Device::Cuda\(\))", "device=\"cuda\"");
  add(R"(\bstorage = (Mapped|Locked|Direct)\b)", "storage=sluice.$1()");
  // Two members of a step that Python has as one pair. (RandomIoUCrop has them as two keywords.)
  add(R"((RandomZoomOut needs .*)min_side <= max_side)", "$1side_range[0] <= side_range[1]");
  add(R"((ScaleJitter needs .*)min_scale <= max_scale)", "$1scale_range[0] <= scale_range[1]");
  add(R"((RandomAffine needs .*)min_shear_x <= max_shear_x)", "$1shear[0] <= shear[1]");
  add(R"((RandomAffine needs .*)min_shear_y <= max_shear_y)", "$1shear[2] <= shear[3]");
  add(R"((RandomAffine needs .*)translate_x)", "$1translate[0]");
  add(R"((RandomAffine needs .*)translate_y)", "$1translate[1]");
  add(R"(((RandomResizedCrop|RandomAffine|GaussianBlur|RandomErasing|RandomPhotometricDistort) )"
      R"(needs .*)min_(\w+) <= max_\w+)",
      "$1$3[0] <= $3[1]");
  add(R"(LoaderOptions::output\.boxes\.(\w+))",
      "output=sluice.OutputOptions(boxes=sluice.BoxRule($1=...))");
  // Members of the groups of options: with the value that a message gives them, and without one.
  option_list::ForEachMember<LoaderOptions>(
      [&]<class V>(const option_list::Option<LoaderOptions, V>& group) {
        if constexpr (option_list::HasOptions<V>) {
          const std::string python =
              std::string(group.name) + "=sluice." + option_list::OptionsOf<V>.name + "($1=";
          const std::string member = std::string("LoaderOptions::") + group.name + R"(\.(\w+))";
          add(member + R"( = (sluice\.\w+\.\w+))", python + "$2)");
          add(member, python + "...)");
        }
      });
  add(R"(OnDevice::(\w+) = (sluice\.\w+\.\w+))", "sluice.OnDevice($1=$2)");
  add(R"(\bring\.(prefetch|hold|pinned)\b)", "ring=sluice.RingOptions($1=...)");
  add(R"(ConvertSource::Archives\(\))", "ConvertSource.archives()");
  add(R"(ConvertSource::Table\(\))", "ConvertSource.table()");
  add(R"(LoaderOptions::(\w+))", "$1");
  add(R"(ConvertOptions::\w+\.(\w+))", "$1");
  add(R"((DecodedPictures|Stage|SharedRows|OneHot|Normalize|RandomCrop|View|OnDevice)::(\w+))",
      "sluice.$1($2=...)");
  add(R"(MetricsOptions::(\w+))", "$1");
  add(R"(ConvertSource::Paths\b)", "sluice.ConvertSource.paths");
  add(R"(DatasetWriterOptions::(\w+) = true)", "sluice.Writer($1=True)");
  add(R"(ReadLimits::(\w+))", "sluice.Dataset($1=...)");
  add(R"(Field<T>\(\), where T is (\w+))", "field(), which is $1");
  add(R"(Variable<T>\(\), where T is (\w+))", "variable(), which is $1");
  add(R"(Variable<std::byte>\(\))", "variable()");
  add(R"(use index\(\) in the function)", "use index in the function");
  add(R"(dataset\[index\]\.key\(\))", "dataset[index].key");
  add(R"(which shape\(\) gives)", "which image() gives");
  add(R"(std::(u?int\d+)_t)", "$1");
  add(R"(std::byte)", "bytes");
  add(R"(kSamples \("samples"\))", "sluice.MixtureLength.SAMPLES");
  add(R"(to kFloat32)", "to sluice.FloatType.FLOAT32");
  add(R"(set it to kStorage)", "set it to sluice.ImagesIn.STORAGE");
  add(R"(to kQuasiRandom or kRandom)", "to sluice.Shuffle.QUASI_RANDOM or sluice.Shuffle.RANDOM");
  // Options of the command that ConvertSource has as attributes.
  add(R"(--as-stored \(upright = false\))", "--as-stored");
  add(R"(--upright \(true\))", "--upright");
  add(R"(--classes-of\b)", "ConvertSource.label.classes_of");
  add(R"(--(classes|numbers)\b)", "ConvertSource.label.$1");
  add(R"(--upright\b)", "ConvertSource.upright = True");
  add(R"(--follow-links\b)", "ConvertSource.follow_links = True");
  add(R"(--as-stored\b)", "ConvertSource.upright = False");
  add(R"( \((--[\w-]+(, )?)+\))", "");  // after the option's name
  add(R"(--labels none)", "ConvertSource.label.store = False");
  add(R"(--labels (top|parent))", "ConvertSource.label.folders = \"$1\"");
  add(R"(--path-column\b)", "ConvertSource.rows.path_column");
  add(R"(--field\b)", "ConvertSource.rows.columns");
  add(R"(--group\b)", "ConvertSource.rows.group");
  add(R"(--split-by\b)", "ConvertSource.split.by");
  // Flags of the command that are keywords of convert() and Source.
  const ConvertOptions usual;
  option_list::ForEachOption(usual, [&](const auto& option, const auto&, const auto&) {
    std::string flag = option.name;
    std::ranges::replace(flag, '_', '-');
    add("--" + flag + "(?![\\w-])", option.name);
  });
  return rules;
}

// Turns "Shuffle::kQuasiRandom" into "sluice.Shuffle.QUASI_RANDOM", and "shuffle = kQuasiRandom"
// into "shuffle = sluice.Shuffle.QUASI_RANDOM".
std::string WithEnumerators(std::string text) {
  static const auto [types, enumerator] = [] {
    Rules rules;
    std::string names = "Border|MixtureLength|MixtureShares|FloatType";
    const LoaderOptions usual;
    option_list::ForEachOption(usual, [&]<class V>(const auto& option, const V&,
                                                   const std::string&) {
      if constexpr (option_list::HasWords<V>) {
        const std::string type = option_list::WordsOf<V>.name;
        rules.emplace_back(std::regex(std::string("\\b") + option.name + "( =| at)? k(?=[A-Z])"),
                           std::string(option.name) + "$1 " + type + "::k");
        names += "|" + type;
      }
    });
    return std::pair(rules, std::regex("\\b(" + names + ")::k([A-Z]\\w*)"));
  }();
  for (const auto& [names, full] : types)
    text = std::regex_replace(text, names, full);
  for (std::smatch found; std::regex_search(text, found, enumerator);) {
    std::string name;
    bool after_small = false;  // "QuasiRandom" is QUASI_RANDOM, and "NHWC" is NHWC
    for (const char letter : found.str(2)) {
      if (after_small && std::isupper(letter) != 0) name += '_';
      after_small = std::islower(letter) != 0;
      name += static_cast<char>(std::toupper(letter));
    }
    text = found.prefix().str() + "sluice." + found.str(1) + "." + name + found.suffix().str();
  }
  return text;
}

}  // namespace

std::string InPythonsWords(std::string text) {
  static const Rules rules = MakeRules();
  text = WithEnumerators(std::move(text));
  for (const auto& [names, python] : rules)
    text = std::regex_replace(text, names, python);
  return text;
}

std::vector<std::string> InPythonsWords(std::vector<std::string> texts) {
  for (std::string& text : texts)
    text = InPythonsWords(std::move(text));
  return texts;
}

}  // namespace sluice::python
