// `sluice inspect`: describes a dataset or one of its samples, as text or as JSON. The description
// comes from the manifest alone, so it also works if shards are missing. JSON has the dataset and
// the chosen sample in one object, whereas the text shows only one of them. The text about a sample
// is made from its JSON (SampleJson in samples.h), so both have the same members. It shows nan and
// inf, for which JSON has no numbers, and cuts long values; an array is only formatted up to the
// part that is shown.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include <sluice/dataset.h>
#include <sluice/error.h>
#include <sluice/loader_option_list.h>
#include <sluice/version.h>

#include "tools/cli/declared.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"
#include "tools/commands.h"
#include "tools/samples.h"

namespace sluice {

namespace {

using Json = nlohmann::ordered_json;

Json FieldJson(const Field& field) {
  Json json{{"name", field.name}, {"kind", NameOf(field.kind)}, {"role", NameOf(field.role)}};
  if (field.kind == FieldKind::kArray || field.kind == FieldKind::kVariable) {
    json["dtype"] = NameOf(field.dtype);
    json["shape"] = field.shape;
  }
  if (!field.follows.empty()) json["follows"] = field.follows;
  if (!field.coordinates.empty()) json["coordinates"] = field.coordinates;
  if (!field.classes.empty()) json["classes"] = field.classes;
  if (!field.attributes.empty()) json["attributes"] = field.attributes;
  return json;
}

Json ImageSummaryJson(const ImageSummary& images) {
  return {{"field", images.field},
          {"present", images.present},
          {"min_width", images.min_width},
          {"max_width", images.max_width},
          {"min_height", images.min_height},
          {"max_height", images.max_height},
          {"min_channels", images.min_channels},
          {"max_channels", images.max_channels},
          {"pixel_type", NameOf(images.pixel_type)},
          {"payload_bytes", images.payload_bytes},
          {"max_payload_bytes", images.max_payload_bytes}};
}

// The counts are those of Schema::ClassField(): the first field that has classes.
Json ClassesJson(const Dataset& dataset) {
  Json classes = Json::array();
  const std::size_t label = dataset.schema().ClassField();
  const auto& counts = dataset.class_counts();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    classes.push_back(
        {{"name", dataset.schema().fields[label].classes[i]}, {"samples", counts[i]}});
  }
  return classes;
}

Json ShardJson(const ShardSummary& shard) {
  return {{"file", shard.file},
          {"samples", shard.samples},
          {"blocks", shard.blocks},
          {"block_samples", shard.block_samples},
          {"bytes", shard.bytes}};
}

void PrintInspectJson(const Dataset& dataset, bool with_shards,
                      std::optional<std::uint64_t> sample) {
  std::uint64_t bytes = 0;
  for (const ShardSummary& shard : dataset.shards())
    bytes += shard.bytes;
  Json fields = Json::array();
  for (const Field& field : dataset.schema().fields)
    fields.push_back(FieldJson(field));
  Json images = Json::array();
  for (const ImageSummary& one : dataset.images())
    images.push_back(ImageSummaryJson(one));

  Json json{{"path", dataset.path().string()},
            {"name", dataset.name()},
            {"id", dataset.id()},
            {"format_version", kFormatVersion},
            {"samples", dataset.size()},
            {"shards", dataset.shards().size()},
            {"bytes", bytes},
            {"fields", fields},
            {"images", images},
            {"classes", ClassesJson(dataset)},
            {"meta", dataset.meta()},
            {"made_with", Json::parse(dataset.made_with(), nullptr, false)}};
  if (with_shards) {
    json["shard_list"] = Json::array();
    for (const ShardSummary& shard : dataset.shards()) {
      json["shard_list"].push_back(ShardJson(shard));
    }
  }
  if (dataset.deleted() > 0) json["deleted"] = dataset.deleted();
  if (sample) json["sample"] = SampleJson(dataset, *sample);
  cli::PrintJson(json);
}

using cli::CountText;
using cli::Format;
using cli::Printable;

constexpr std::size_t kLongestValue = 100;  // bytes shown of a value

// "240", or "180 to 300"
std::string RangeText(std::uint32_t least, std::uint32_t most) {
  if (least == most) return std::to_string(least);
  return std::to_string(least) + " to " + std::to_string(most);
}

std::string ShapeText(const Field& field) {
  std::string shape = field.kind == FieldKind::kVariable ? "[n" : "[";
  for (const std::uint32_t extent : field.shape) {
    shape += (shape.size() > 1 ? ", " : "") + std::to_string(extent);
  }
  return shape + "]";
}

std::string ImagesText(const ImageSummary& images) {
  if (images.present == 0) return "in no sample";
  return RangeText(images.min_width, images.max_width) + " x " +
         RangeText(images.min_height, images.max_height) + " pixels, " +
         (images.max_channels == 1 ? "grey"
          : images.min_channels == images.max_channels && images.max_channels == 3
              ? "RGB"
              : RangeText(images.min_channels, images.max_channels) + " channels") +
         (images.pixel_type == PixelType::kUint8 ? ""
          : images.pixel_type == PixelType::kUint16
              ? ", 16 bits"
              : ", " + std::string(NameOf(images.pixel_type))) +
         ", " + cli::BytesText(images.payload_bytes / images.present) + " on average, at most " +
         cli::BytesText(images.max_payload_bytes);
}

std::string FieldLine(const Dataset& dataset, const Field& field) {
  std::string kind(NameOf(field.kind));
  if (field.kind == FieldKind::kArray || field.kind == FieldKind::kVariable) {
    kind = NameOf(field.dtype);
    const bool scalar = field.kind == FieldKind::kArray && field.shape.empty();
    if (!scalar) kind.append(" ").append(ShapeText(field));
  }
  if (field.role != Role::kNone && NameOf(field.role) != kind) {
    kind += ", " + std::string(NameOf(field.role));
  }
  if (!field.follows.empty()) kind += " of " + field.follows;
  if (!field.coordinates.empty()) kind += ", " + field.coordinates;
  if (!field.classes.empty()) {
    kind += ", " + CountText(field.classes.size(), "class", "classes");
  }
  for (const ImageSummary& images : dataset.images()) {
    if (images.field == field.name) kind += ", " + ImagesText(images);
  }
  for (const auto& [name, value] : field.attributes)
    kind.append(", ").append(name).append("=").append(value);
  return Format("  %-10s %s\n", Printable(field.name).c_str(), Printable(kind).c_str());
}

std::string ClassLines(const Dataset& dataset) {
  const std::size_t label = dataset.schema().ClassField();
  const auto& counts = dataset.class_counts();
  std::string lines = counts.empty() ? "" : "classes\n";
  for (std::size_t i = 0; i < counts.size(); ++i) {
    lines += Format("  %6zu  %10llu  %s\n", i, static_cast<unsigned long long>(counts[i]),
                    Printable(dataset.schema().fields[label].classes[i]).c_str());
  }
  return lines;
}

std::string ShardLines(const Dataset& dataset) {
  std::string lines = "shards\n";
  for (const ShardSummary& shard : dataset.shards()) {
    lines += Format("  %s  %8llu samples in %llu blocks of %u, %s\n", Printable(shard.file).c_str(),
                    static_cast<unsigned long long>(shard.samples),
                    static_cast<unsigned long long>(shard.blocks), shard.block_samples,
                    cli::BytesText(shard.bytes).c_str());
  }
  return lines;
}

// A value's JSON text, with nan and inf, which JSON does not have.
std::string PlainText(const Json& value) {
  const double number = value.is_number_float() ? value.get<double>() : 0;
  if (!std::isfinite(number)) return Format("%g", number);
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// An array's text or, if that is longer than kLongestValue, more than kLongestValue bytes of
// it.
std::string ArrayText(const Json& array) {
  std::string text = "[";
  for (const Json& value : array) {
    // Stops early: an array may have millions of numbers, of which a line is shown.
    if (text.size() > kLongestValue) return text;
    if (text.size() > 1) text += ',';
    text += value.is_array() ? ArrayText(value) : PlainText(value);
  }
  return text + "]";
}

std::string ValueText(const Json& value) {
  std::string shown;
  if (value.is_string()) {
    // One byte more than is shown, so that the cut below knows that something is missing.
    shown = value.get_ref<const std::string&>().substr(0, kLongestValue + 1);
  } else if (value.is_array()) {
    shown = ArrayText(value);
  } else {
    shown = PlainText(value);
  }
  if (shown.size() > kLongestValue) {
    shown.resize(kLongestValue);
    shown += " ...";
  }
  return Printable(shown);
}

// "  name  value" for each member, those of nested objects as "outer.inner".
std::string MemberLines(const Json& object, const std::string& prefix) {
  std::string lines;
  for (const auto& [name, value] : object.items()) {
    if (value.is_object()) {
      lines += MemberLines(value, prefix + name + ".");
    } else if (!value.is_null()) {
      lines += Format("  %-24s %s\n", Printable(prefix + name).c_str(), ValueText(value).c_str());
    }
  }
  return lines;
}

std::string MetaLines(const Dataset& dataset) {
  if (dataset.meta().empty()) return "";
  return "metadata\n" + MemberLines(Json(dataset.meta()), "");
}

std::string MadeWithLines(const Dataset& dataset) {
  const Json made = Json::parse(dataset.made_with(), nullptr, false);
  if (!made.is_object() || made.empty()) return "";
  return "made with\n" + MemberLines(made, "");
}

void PrintInspectText(const Dataset& dataset, bool with_shards) {
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  for (const ShardSummary& shard : dataset.shards()) {
    bytes += shard.bytes;
    blocks += shard.blocks;
  }
  std::string text =
      Printable(dataset.name()) + ": " + CountText(dataset.size(), "sample", "samples") + " in " +
      CountText(dataset.shards().size(), "shard", "shards") + " (" +
      CountText(blocks, "block", "blocks") + "), " + cli::BytesText(bytes) + "\nid " +
      dataset.id() + ", format version " + std::to_string(kFormatVersion) + "\nfields\n";
  for (const Field& field : dataset.schema().fields)
    text += FieldLine(dataset, field);
  text += ClassLines(dataset) + MetaLines(dataset) + MadeWithLines(dataset);
  if (with_shards) text += ShardLines(dataset);
  cli::PrintOut(text);
}

void PrintSampleText(const Dataset& dataset, std::uint64_t sample) {
  const Json json = SampleJson(dataset, sample);
  std::string text = "sample " + std::to_string(sample) + ": " +
                     Printable(json["key"].get<std::string>()) + "\n  at " +
                     Printable(json["place"].get<std::string>()) + "\n";
  for (const Json& field : json["fields"]) {
    text += Printable(field["name"].get<std::string>()) + "\n";
    for (const auto& [name, value] : field.items()) {
      if (name != "name") text += Format("  %-12s %s\n", name.c_str(), ValueText(value).c_str());
    }
  }
  cli::PrintOut(text);
}

constexpr const char* kInspectDescription =
    "Shows what a dataset holds.\n\n"
    "Prints the content of the manifest: schema, counts, classes, sizes, metadata (--meta of "
    "`sluice convert`), and how the dataset was made. Reads a shard only if --sample or --key asks "
    "for one of its samples.\n";

constexpr const char* kInspectExamples =
    "\n"
    "Examples:\n"
    "  sluice inspect data/photos\n"
    "  sluice inspect data/photos --sample 0\n"
    "  sluice inspect data/photos --key cats/tom.jpg\n"
    "  sluice inspect data/photos --shards --json\n\n";

struct InspectArguments {
  std::string dataset;
  std::optional<std::uint64_t> sample;
  std::optional<std::string> key;
  bool shards = false;
  bool json = false;
  ReadLimits limits;
};

int RunInspect(const InspectArguments& arguments) {
  const Dataset dataset = Dataset::Open(arguments.dataset, arguments.limits);
  std::optional<std::uint64_t> sample = arguments.sample;
  if (arguments.key) sample = FindKey(dataset, *arguments.key);
  if (arguments.json) {
    PrintInspectJson(dataset, arguments.shards, sample);
  } else if (sample) {
    PrintSampleText(dataset, *sample);
  } else {
    PrintInspectText(dataset, arguments.shards);
  }
  return cli::kDone;
}

}  // namespace

cli::Command AddInspectCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("inspect", kInspectDescription);
  const auto arguments = std::make_shared<InspectArguments>();
  cli::AddArgument(*app, "DATASET", arguments->dataset, "folder of the dataset");
  CLI::Option* const sample =
      cli::AddDeclared(*app, *arguments,
                       option_list::Option("sample", &InspectArguments::sample,
                                           "show the fields of sample N (from 0)"));
  cli::AddOption(*app, "--key", "KEY",
                 "show the fields of the sample with that key, the first if there are several",
                 [arguments](const std::string& text) { arguments->key = text; })
      ->excludes(sample);
  cli::AddDeclared(*app, arguments->limits, &ReadLimits::max_value_bytes);
  app->add_flag("--shards", arguments->shards, "list the shards, too");
  app->add_flag("--json", arguments->json, "print one JSON object to standard output");
  app->footer(std::string(kInspectExamples) + cli::kExitCodeHelp);
  return {app, [arguments] { return RunInspect(*arguments); }};
}

}  // namespace sluice
