// The plan is JSON; its digest covers all that the bytes of the dataset depend on. Libraries are
// among them: another version of a decoder or encoder may give other bytes.
#include "writer/convert/plan.h"

#include <algorithm>

#include <jpeglib.h>
#include <spng.h>

#include <sluice/error.h>
#include <sluice/version.h>

#include "format/disk/checksum.h"
#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "format/disk/zstd.h"
#include "writer/convert/options.h"
#include "writer/shard_writer.h"
#include "writer/source/images/icc.h"
#include "writer/source/images/image_kinds.h"
#include "writer/source/images/values.h"
#include "writer/text.h"

#define SLUICE_TEXT_OF(token) SLUICE_TEXT(token)
#define SLUICE_TEXT(token) #token

namespace sluice {

namespace {

using nlohmann::json;

constexpr const char* kFormatName = "sluice-plan";
constexpr unsigned kPlanVersion = 1;

// Less than the format's maximum, because sizes vary: a shard planned for the maximum itself would
// be split half the time.
constexpr std::uint64_t kMaxPlannedBytes = 115'000'000;
// The bytes at the end of a shard (directory, beginning of the keys, tail) that are not counted per
// sample.
constexpr std::uint64_t kShardEndBytes = 16'384;

// Computes the digest of a list of sources in chained runs, so that memory holds no second copy of
// the list.
class SourceDigest {
 public:
  void Add(std::string_view name, std::uint64_t bytes, std::int32_t label) {
    const std::uint64_t length = name.size();
    Append(std::as_bytes(std::span(&length, 1)));
    Append(AsBytes(name));
    Append(std::as_bytes(std::span(&bytes, 1)));
    Append(std::as_bytes(std::span(&label, 1)));
    if (run_.size() >= kRunBytes) Fold();
  }
  Id128 Finish() {
    Fold();
    return digest_;
  }

 private:
  static constexpr std::size_t kRunBytes = 1 << 20;
  void Append(Bytes bytes) { run_.insert(run_.end(), bytes.begin(), bytes.end()); }
  void Fold() {
    digest_ = Hash128({std::as_bytes(std::span(digest_.bytes)), Bytes(run_)});
    run_.clear();
  }

  Id128 digest_;
  std::vector<std::byte> run_;
};

// A digest of the sources' values and of their meaning (the schema). `upright`: whether boxes,
// masks and key points were drawn on upright images; without such annotations it has no effect.
Id128 ValuesDigest(const SourceList& list, bool upright) {
  const std::string schema = SchemaToJson(list.MakeSchema());
  const auto [ends, content] = list.values.Memory();
  const char drawn = upright && list.HasDrawn() ? 1 : 0;
  return Hash128({AsBytes(schema), std::as_bytes(std::span(&drawn, 1)), ends, content});
}

json SourcesToJson(const SourceList& list) {
  SourceDigest digest;
  std::uint64_t bytes = 0;
  // Classes are digested too: a class without samples changes the schema, and no source shows it.
  for (std::size_t c = 0; c < list.classes.size(); ++c) {
    digest.Add(list.classes[c], 0, static_cast<std::int32_t>(c));
  }
  for (const Source& source : list.sources) {
    digest.Add(source.key, source.bytes, source.label);
    if (!source.sample_key.empty()) digest.Add(source.sample_key, 0, 0);
    if (source.described_width != 0) {
      digest.Add({}, source.described_width, source.described_height);
    }
    bytes += source.bytes;
  }
  json out = {{"values", ToHex(ValuesDigest(list, list.DrawnUpright()))},
              {"count", list.sources.size()},
              {"bytes", bytes},
              {"labelled", list.labelled},
              {"classes", list.classes.size()},
              {"digest", ToHex(digest.Finish())}};
  for (const SourceField& field : list.fields) {
    if (field.form)
      out["pixels"][field.field.name] = FormText(field.form->channels, field.form->type);
  }
  return out;
}

// The versions of the libraries that every build has, and of the others that these sources need.
json LibrariesToJson(const SourceList& sources, const ConvertOptions& options) {
  json out = {{"sluice-writer", kWriterVersion},
              {"libjpeg-turbo", SLUICE_TEXT_OF(LIBJPEG_TURBO_VERSION)},
              {"zstd", ZstdVersion()},
              {"spng", spng_version_string()}};
  for (const auto& [name, version] : DecoderVersions(sources.kinds))
    out[name] = version;
  if (options.form.icc == IccProfiles::kConvert) out["lcms2"] = ColorLibraryVersion();
  return out;
}

// "quality was 90 then and is 80 now" for the first member that differs.
std::string FirstDifference(const json& then, const json& now) {
  json all = then.is_object() ? then : json::object();  // a member may be on one side only
  all.update(now);
  std::vector<std::string> names = {"pixels"};  // first: it makes many others idle
  for (const auto& member : all.items())
    names.push_back(member.key());
  for (const std::string& name : names) {
    const json before = then.is_object() ? then.value(name, json()) : json();
    const json value = now.value(name, json());
    if (before == value) continue;
    return name + " was " + (before.is_null() ? "not set" : before.dump()) + " then and is " +
           (value.is_null() ? "not set" : value.dump()) + " now";
  }
  return "they were written by another version of Sluice";
}

// "16 images were found then and 25 now", or the first other difference.
std::string SourceDifference(const json& then, const Plan& plan) {
  const json& now = plan.inputs.at("sources");
  const auto differ = [&](const char* name) {
    return then.value(name, json()) != now.value(name, json());
  };
  const auto both = [&](const char* name, const std::string& what) {
    return then.value(name, json()).dump() + what + " then and " + now.at(name).dump() + " now";
  };
  if (!then.is_object()) return "the earlier plan names none";
  if (differ("count")) return both("count", " images were found");
  if (differ("classes")) return both("classes", " classes were found");
  if (differ("bytes")) return "the images had " + both("bytes", " bytes");
  if (differ("pixels")) {
    return "the first image that can be read had the pixels " +
           then.value("pixels", json()).dump() + " then and has " +
           now.value("pixels", json()).dump() + " now";
  }
  if (differ("digest")) return "names, sizes or classes of images changed";
  if (then.value("values", json()) == plan.values_drawn_otherwise) {
    return plan.drawn_upright ? "boxes, masks and key points were taken as drawn on the images as "
                                "stored (--as-stored) then and as drawn upright now"
                              : "boxes, masks and key points were taken as drawn upright then and "
                                "as drawn on the images as stored now";
  }
  return "the values of their fields changed";
}

[[noreturn]] void ThrowOtherPlan(const json& then, const Plan& plan, const std::string& file) {
  const json& now = plan.inputs;
  std::string what;
  std::string how = "repeat the earlier command to finish it, or choose another folder";
  if (then.value("options", json()) != now.at("options")) {
    what = "other options: " + FirstDifference(then.value("options", json()), now.at("options"));
  } else if (then.value("sources", json()) != now.at("sources")) {
    what = "other sources: " + SourceDifference(then.value("sources", json()), plan);
    how += "; `sluice append` adds images to a finished dataset";
  } else {
    what =
        "other libraries: " + FirstDifference(then.value("libraries", json()), now.at("libraries"));
  }
  throw Error(ErrorCode::kExists, file,
              "the folder has a conversion that was begun with " + what + "; " + how);
}

}  // namespace

std::uint64_t Plan::SamplesOf(std::uint64_t shard) const noexcept {
  return std::min(shard_samples, samples - shard * shard_samples);
}

ConversionInput::ConversionInput(SourceList all_sources, const ConvertOptions& all_options)
    : sources(std::move(all_sources)), options(all_options), schema(sources.MakeSchema()) {
  schema.Validate();
  plan = BeginPlan(sources, options);
  order = ConvertOrder(plan.samples, options);
}

Plan BeginPlan(const SourceList& sources, const ConvertOptions& options) {
  Plan plan;
  plan.samples = sources.sources.size();
  if (plan.samples > UINT32_MAX) {
    throw Error(ErrorCode::kLimit, "more than 4294967295 sources cannot be converted at once");
  }
  plan.inputs = {{"options", OptionsToJson(options)},
                 {"sources", SourcesToJson(sources)},
                 {"libraries", LibrariesToJson(sources, options)}};
  plan.digest = Hash128(AsBytes(plan.inputs.dump()));
  plan.drawn_upright = sources.DrawnUpright();
  if (sources.HasDrawn()) {
    plan.values_drawn_otherwise = ToHex(ValuesDigest(sources, !plan.drawn_upright));
  }
  return plan;
}

void SettlePlan(const ConvertOptions& options, std::uint64_t mean_bytes, std::uint64_t header_bytes,
                Plan& plan) {
  plan.block_samples = options.shards.block_samples != 0 ? options.shards.block_samples
                                                         : AutomaticBlockSamples(mean_bytes);
  const std::uint64_t around = header_bytes + kShardEndBytes;
  const std::uint64_t planned = std::min(options.shards.shard_bytes, kMaxPlannedBytes);
  const std::uint64_t room = planned > around ? planned - around : 0;
  std::uint64_t samples = std::clamp<std::uint64_t>(room / mean_bytes, 1, kMaxPlannedSamples);
  if (samples > plan.block_samples) samples -= samples % plan.block_samples;  // whole blocks
  plan.shard_samples = samples;
  if (plan.shards() > kMaxShards) {
    throw Error(ErrorCode::kLimit, "the dataset would have " + std::to_string(plan.shards()) +
                                       " shards, more than 1000000; choose larger shards");
  }
}

std::string PlanToJson(const Plan& plan, const std::vector<std::string>& paths) {
  json out = plan.inputs;
  for (const std::string& path : paths)
    out["paths"].push_back(EscapeBytes(path));
  out["format"] = kFormatName;
  out["version"] = kPlanVersion;
  out["digest"] = ToHex(plan.digest);
  out["shard_samples"] = plan.shard_samples;
  out["block_samples"] = plan.block_samples;
  return out.dump(1) + "\n";
}

std::vector<std::string> PathsOfPlan(std::string_view text) {
  if (NestsDeeperThan(text, kMaxJsonDepth)) return {};
  const json plan = json::parse(text, nullptr, false);
  if (!plan.is_object() || !plan.contains("paths") || !plan["paths"].is_array()) return {};
  std::vector<std::string> paths;
  for (const json& path : plan["paths"]) {
    if (!path.is_string()) return {};
    paths.push_back(UnescapeBytes(path.get_ref<const std::string&>()));
  }
  return paths;
}

namespace {

// Parses a plan's text; checks its samples per shard and per block, and stores them in `plan`.
json ParsePlan(std::string_view text, const std::string& file, Plan& plan) {
  const Error broken(ErrorCode::kCorrupt, file,
                     "is not the plan of a conversion that this version of Sluice can resume; "
                     "choose another folder, or remove this one");
  if (NestsDeeperThan(text, kMaxJsonDepth)) throw broken;
  json then = json::parse(text, nullptr, false);
  if (!then.is_object()) throw broken;
  try {
    if (then.at("format") != kFormatName || then.at("version") != kPlanVersion) throw broken;
    then.at("digest").get_ref<const std::string&>();
    plan.shard_samples = then.at("shard_samples").get<std::uint64_t>();
    plan.block_samples = then.at("block_samples").get<std::uint32_t>();
  } catch (const json::exception&) {
    throw broken;
  }
  if (plan.shard_samples == 0 || plan.shard_samples > kMaxPlannedSamples ||
      plan.block_samples == 0 || plan.block_samples > kMaxBlockSamples) {
    throw broken;
  }
  return then;
}

}  // namespace

void ResumePlan(std::string_view text, const std::string& file, Plan& plan) {
  Plan of_text;
  const json then = ParsePlan(text, file, of_text);
  if (then.at("digest") != ToHex(plan.digest)) ThrowOtherPlan(then, plan, file);
  plan.shard_samples = of_text.shard_samples;
  plan.block_samples = of_text.block_samples;
}

PlanOutline OutlineOfPlan(std::string_view text, const std::string& file) {
  PlanOutline outline;
  const json then = ParsePlan(text, file, outline.plan);
  outline.digest = then.at("digest").get<std::string>();
  const json count = then.value("sources", json()).is_object()
                         ? then.at("sources").value("count", json())
                         : json();
  if (!count.is_number_unsigned() || count == 0 || count > UINT32_MAX) {
    throw Error(ErrorCode::kCorrupt, file, "does not say how many sources were planned");
  }
  outline.plan.samples = count.get<std::uint64_t>();
  if (outline.plan.shards() > kMaxShards) {
    throw Error(ErrorCode::kCorrupt, file, "plans more than 1000000 shards");
  }
  return outline;
}

std::string MadeJson(const Plan& plan) {
  json options = plan.inputs.at("options");
  options.erase("meta");  // a member of the manifest
  return json{{"by", "sluice convert"},
              {"plan", ToHex(plan.digest)},
              {"options", std::move(options)},
              {"libraries", LibrariesOf(plan.inputs.at("libraries"))}}
      .dump();
}

std::vector<std::uint32_t> ConvertOrder(std::uint64_t samples, const ConvertOptions& options) {
  if (!options.shards.keep_order)
    return Permutation<std::uint32_t>(samples, options.shards.seed, 0);
  std::vector<std::uint32_t> order(samples);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

}  // namespace sluice
