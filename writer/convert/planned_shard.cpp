// A conversion can be killed at any instant, so a shard itself holds everything that the conversion
// knows of it: its section "origin" says which positions of the plan gave no sample and why, and
// has the counts for the summary. A later run reads the section instead of making the shard again
// (FindMadeShard).
//
// If all of a planned shard's sources were left out, it has no file; other processes that work on
// the same plan find a note in its place (LeaveEmptyShard). A shard in an object store has a
// receipt next to it, with its origin and its entries in the manifest, so that finishing the
// conversion need not read the shard's samples.
#include "writer/convert/planned_shard.h"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include <sluice/error.h>

#include "format/ascii.h"
#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "format/disk/system_error.h"
#include "writer/shard_writer.h"

namespace sluice {

using nlohmann::json;

void NotedPositions::Add(std::uint64_t position) {
  if (count++ < SomeImages::kExamples) first.push_back(position);
}

namespace {

// Counts that the JSON leaves out if they are 0.
constexpr std::pair<const char*, std::uint64_t Origin::*> kOriginCounts[] = {
    {"boxes_dropped", &Origin::boxes_dropped},
    {"profiles_dropped", &Origin::profiles_dropped},
    {"profiles_converted", &Origin::profiles_converted},
    {"channels_dropped", &Origin::channels_dropped},
    {"smaller", &Origin::smaller}};

}  // namespace

std::string OriginToJson(const Origin& origin) {
  json out = {{"shard", origin.shard}, {"part", origin.part}, {"last", origin.last}};
  if (origin.last) {
    out["left_out"] = origin.left_out;
    out["kept"] = origin.kept;
    out["bytes_in"] = origin.bytes_in;
    for (const auto& [name, count] : kOriginCounts) {
      if (origin.*count > 0) out[name] = origin.*count;
    }
    const auto note = [&out](const char* name, const NotedPositions& noted) {
      if (noted.count > 0) out[name] = {noted.count, noted.first};
    };
    note("turned", origin.turned);
    note("dim", origin.dim);
    if (!origin.truncated.empty()) out["truncated"] = origin.truncated;
  }
  return out.dump();
}

namespace {

// Takes only a whole number that fits; others would be rounded or cut, or be undefined behaviour.
template <class T>
bool TakeWholeNumber(const json& value, T& number) {
  if (!value.is_number_unsigned()) return false;
  if (value.get<std::uint64_t>() > std::numeric_limits<T>::max()) return false;
  number = value.get<T>();
  return true;
}

bool TakeReasons(const json& list, std::vector<std::pair<std::uint64_t, std::string>>& reasons) {
  if (!list.is_array()) return false;
  for (const json& one : list) {
    std::uint64_t position = 0;
    if (!one.is_array() || one.size() != 2 || !TakeWholeNumber(one[0], position) ||
        !one[1].is_string()) {
      return false;
    }
    reasons.emplace_back(position, one[1].get<std::string>());
  }
  return true;
}

// Takes a member that is absent, or as OriginToJson() writes it.
bool TakeNoted(const json& pair, NotedPositions& noted) {
  if (pair.is_null()) return true;
  if (!pair.is_array() || pair.size() != 2 || !TakeWholeNumber(pair[0], noted.count) ||
      !pair[1].is_array() ||
      pair[1].size() != std::min<std::uint64_t>(noted.count, SomeImages::kExamples)) {
    return false;
  }
  for (const json& position : pair[1]) {
    noted.first.emplace_back();
    if (!TakeWholeNumber(position, noted.first.back())) return false;
  }
  return true;
}

}  // namespace

std::optional<Origin> OriginFromJson(std::string_view text) {
  if (NestsDeeperThan(text, kMaxJsonDepth)) return std::nullopt;
  const json in = json::parse(text, nullptr, false);
  if (!in.is_object()) return std::nullopt;
  const json none;
  const auto member = [&in, &none](const char* name) -> const json& {
    const auto found = in.find(name);
    return found == in.end() ? none : *found;
  };
  Origin origin;
  if (!TakeWholeNumber(member("shard"), origin.shard) ||
      !TakeWholeNumber(member("part"), origin.part) || !member("last").is_boolean()) {
    return std::nullopt;
  }
  origin.last = member("last").get<bool>();
  if (!origin.last) return origin;
  const bool whole =
      TakeReasons(member("left_out"), origin.left_out) &&
      (member("truncated").is_null() || TakeReasons(member("truncated"), origin.truncated)) &&
      TakeWholeNumber(member("kept"), origin.kept) &&
      TakeWholeNumber(member("bytes_in"), origin.bytes_in) &&
      std::all_of(std::begin(kOriginCounts), std::end(kOriginCounts),
                  [&](const auto& count) {
                    return member(count.first).is_null() ||
                           TakeWholeNumber(member(count.first), origin.*count.second);
                  }) &&
      TakeNoted(member("turned"), origin.turned) && TakeNoted(member("dim"), origin.dim);
  if (!whole) return std::nullopt;
  return origin;
}

namespace {

constexpr std::string_view kEmptySuffix = ".empty.json";

// "shard-00012" and the suffix
std::string NameNextTo(std::uint32_t shard, std::string_view suffix) {
  const std::string name = ShardFileName(shard);
  return name.substr(0, name.rfind('.')).append(suffix);
}

std::string EmptyShardName(std::uint32_t shard) {
  return NameNextTo(shard, kEmptySuffix);
}

}  // namespace

std::string ReceiptName(std::uint32_t shard) {
  return NameNextTo(shard, ".made.json");
}

std::string ReceiptText(const Plan& plan, const Schema& schema, const MadeShard& made) {
  nlohmann::ordered_json receipt = nlohmann::ordered_json::object();
  receipt["plan"] = ToHex(plan.digest);
  receipt["origin"] = OriginToJson(made.origin);
  receipt["parts"] = nlohmann::json::array();
  for (const FinishedShard& part : made.parts) {
    Manifest manifest = BeginManifest(DescribedName(schema), schema);
    manifest.made = MadeJson(plan);
    AddShard(part, manifest);
    Id128 unused;
    receipt["parts"].push_back(ManifestToJson(manifest, unused));
  }
  return receipt.dump();
}

std::optional<MadeShard> MadeByReceipt(std::string_view text, const Plan& plan,
                                       const Schema& schema, std::uint32_t shard) {
  if (NestsDeeperThan(text, kMaxJsonDepth)) return std::nullopt;
  const nlohmann::json receipt = nlohmann::json::parse(text, nullptr, false);
  try {
    if (!receipt.is_object() || receipt.at("plan") != ToHex(plan.digest)) return std::nullopt;
    std::optional<Origin> origin = OriginFromJson(receipt.at("origin").get<std::string>());
    const std::vector<std::string> parts = receipt.at("parts").get<std::vector<std::string>>();
    const std::uint32_t last = parts.empty() ? 0 : static_cast<std::uint32_t>(parts.size() - 1);
    if (!origin || origin->shard != shard || !origin->last || origin->part != last)
      return std::nullopt;
    MadeShard made;
    for (std::uint32_t part = 0; part < parts.size(); ++part) {
      Id128 unused;
      Manifest manifest = ManifestFromJson(parts[part], ReceiptName(shard), unused);
      if (manifest.schema != schema || manifest.shards.size() != 1 ||
          manifest.shards[0].file != ShardFileName(shard, part) ||
          manifest.shards[0].id != ShardIdOf(plan, shard, part)) {
        return std::nullopt;
      }
      made.parts.push_back({{std::move(manifest.images), std::move(manifest.values),
                             std::move(manifest.class_counts)},
                            std::move(manifest.shards[0])});
    }
    made.origin = std::move(*origin);
    return made;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

Id128 ShardIdOf(const Plan& plan, std::uint32_t shard, std::uint32_t part) noexcept {
  return ShardId(std::as_bytes(std::span(plan.digest.bytes)), shard, part);
}

PlannedShardWriter::PlannedShardWriter(const Plan& plan, const Schema& schema,
                                       const std::filesystem::path& folder, std::uint32_t shard,
                                       DirectBuffer* direct, const std::string& own)
    : plan_(plan), schema_(schema), folder_(folder), direct_(direct), own_(own) {
  made_.origin.shard = shard;
}

void PlannedShardWriter::BeginPart() {
  const Origin& origin = made_.origin;
  part_.emplace(schema_, folder_,
                NewShard{.name = ShardFileName(origin.shard, origin.part),
                         .id = ShardIdOf(plan_, origin.shard, origin.part),
                         .block_samples = plan_.block_samples,
                         .reserve_bytes = OriginBound(plan_.SamplesOf(origin.shard)),
                         .direct = direct_,
                         .own = own_});
}

void PlannedShardWriter::Add(std::uint64_t position, Outcome outcome, std::uint64_t source_bytes) {
  if (part_ && !part_->Fits(outcome.sample, kMaxShardBytes)) {
    Origin origin;
    origin.shard = made_.origin.shard;
    origin.part = made_.origin.part;
    made_.parts.push_back(part_->Finish(OriginToJson(origin)));
    finished_bytes_ += made_.parts.back().shard.bytes;
    part_.reset();
    ++made_.origin.part;
  }
  if (!part_) BeginPart();
  part_->Add(std::move(outcome.sample));
  if (!outcome.cut_short.empty()) {
    made_.origin.truncated.emplace_back(position, std::move(outcome.cut_short));
  }
  made_.origin.bytes_in += source_bytes;
  made_.origin.kept += outcome.kept ? 1 : 0;
  made_.origin.boxes_dropped += outcome.boxes_dropped;
  made_.origin.smaller += outcome.smaller ? 1 : 0;
  if (outcome.turned) made_.origin.turned.Add(position);
  if (outcome.dim) made_.origin.dim.Add(position);
  made_.origin.profiles_dropped += outcome.profile_dropped ? 1 : 0;
  made_.origin.profiles_converted += outcome.profile_converted ? 1 : 0;
  made_.origin.channels_dropped += outcome.channels_dropped ? 1 : 0;
}

void PlannedShardWriter::LeaveOut(std::uint64_t position, std::string reason) {
  made_.origin.left_out.emplace_back(position, std::move(reason));
}

std::uint64_t PlannedShardWriter::bytes() const noexcept {
  return finished_bytes_ + (part_ ? part_->bytes() : 0);
}

MadeShard PlannedShardWriter::Finish() {
  made_.origin.last = true;
  if (part_) made_.parts.push_back(part_->Finish(OriginToJson(made_.origin)));
  part_.reset();
  return std::move(made_);
}

namespace {

using Reason = std::pair<std::uint64_t, std::string>;

// The first entry at or after the position: the list is in the order of the plan.
std::vector<Reason>::const_iterator FirstFrom(const std::vector<Reason>& reasons,
                                              std::uint64_t position) {
  return std::lower_bound(reasons.begin(), reasons.end(), position,
                          [](const Reason& one, std::uint64_t at) { return one.first < at; });
}

const std::string* ReasonAt(const std::vector<Reason>& reasons, std::uint64_t position) {
  const auto found = FirstFrom(reasons, position);
  return found != reasons.end() && found->first == position ? &found->second : nullptr;
}

// Returns the result of call(), or nothing if it finds a file that is missing, or that differs from
// the one that the plan writes under that name: then the shard must be made.
template <class Call>
auto UnlessMissing(const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kIo || IsShortage(error)) throw;
    return std::nullopt;
  }
}

}  // namespace

const std::string* MadeFiles::LeftOut(std::uint64_t position) const {
  return ReasonAt(origin.left_out, position);
}

bool MadeFiles::IsTruncated(std::uint64_t position) const {
  return ReasonAt(origin.truncated, position) != nullptr;
}

MadeFiles::Place MadeFiles::Find(std::uint64_t first, std::uint64_t position) const {
  if (LeftOut(position) != nullptr) return {};
  const auto before = FirstFrom(origin.left_out, position) - origin.left_out.begin();
  std::uint64_t index = position - first - static_cast<std::uint64_t>(before);
  for (const auto& part : parts) {
    if (index < part->samples()) return {part.get(), index};
    index -= part->samples();
  }
  return {};
}

std::optional<MadeFiles> OpenMadeShard(const Plan& plan,
                                       const std::shared_ptr<const ShardSchema>& schema,
                                       const std::filesystem::path& folder, std::uint32_t shard) {
  return UnlessMissing([&]() -> std::optional<MadeFiles> {
    MadeFiles made;
    for (std::uint32_t part = 0;; ++part) {
      ShardExpectation expect;
      expect.id = ShardIdOf(plan, shard, part);
      expect.block_samples = plan.block_samples;
      const std::filesystem::path path = folder / ShardFileName(shard, part);
      const ShardFile& file = *made.parts.emplace_back(
          std::make_unique<const ShardFile>(MappedFile(path), path.string(), schema, expect));
      std::optional<Origin> origin = OriginFromJson(AsText(file.Section(kSectionOrigin)));
      if (!origin || origin->shard != shard || origin->part != part) return std::nullopt;
      if (!origin->last) continue;
      made.origin = std::move(*origin);
      return made;
    }
  });
}

std::optional<MadeShard> FindMadeShard(const Plan& plan, const Schema& schema,
                                       const std::filesystem::path& folder, std::uint32_t shard) {
  std::optional<MadeFiles> files =
      OpenMadeShard(plan, std::make_shared<const ShardSchema>(schema), folder, shard);
  if (!files) return std::nullopt;
  return UnlessMissing([&]() -> std::optional<MadeShard> {
    MadeShard made;
    for (std::uint32_t part = 0; part < files->parts.size(); ++part)
      made.parts.push_back(SurveyShard(*files->parts[part], ShardFileName(shard, part)));
    made.origin = std::move(files->origin);
    return made;
  });
}

std::optional<PlannedName> ParseShardName(const std::string& name) {
  constexpr std::string_view kBegin = "shard-";
  if (!name.starts_with(kBegin)) return std::nullopt;
  std::string_view rest = std::string_view(name).substr(kBegin.size());
  const auto shard = TakeNumber<std::uint64_t>(rest);
  if (!shard) return std::nullopt;
  PlannedName out;
  out.shard = *shard;
  out.empty = rest == kEmptySuffix;
  if (rest.starts_with('.')) {
    std::string_view after = rest.substr(1);
    if (const auto part = TakeNumber<std::uint64_t>(after)) {
      out.part = *part;
      rest = after;
    }
  }
  return out.empty || rest == ".sluice" ? std::optional(out) : std::nullopt;
}

bool IsEmptyShardName(const std::string& name) {
  return name.starts_with("shard-") && name.ends_with(kEmptySuffix);
}

bool IsShardNamed(const std::filesystem::path& folder, std::uint32_t shard) {
  return std::filesystem::exists(folder / ShardFileName(shard)) ||
         std::filesystem::exists(folder / EmptyShardName(shard));
}

void LeaveEmptyShard(const std::filesystem::path& folder, const Plan& plan, const MadeShard& made,
                     const std::string& own) {
  const std::string text = ToHex(plan.digest) + "\n" + OriginToJson(made.origin);
  WriteFile(folder / EmptyShardName(made.origin.shard), AsBytes(text), nullptr, own);
}

std::optional<MadeShard> FindDoneShard(const Plan& plan, const Schema& schema,
                                       const std::filesystem::path& folder, std::uint32_t shard) {
  if (std::optional<MadeShard> made = FindMadeShard(plan, schema, folder, shard)) return made;
  std::vector<std::byte> content;
  if (std::filesystem::exists(folder / ReceiptName(shard))) {
    ReadFile(folder / ReceiptName(shard), kMaxReceiptBytes, content);
    return MadeByReceipt(AsText(content), plan, schema, shard);
  }
  try {
    ReadFile(folder / EmptyShardName(shard), OriginBound(kMaxPlannedSamples), content);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kIo) throw;
    return std::nullopt;
  }
  const std::string_view text = AsText(content);
  const std::string digest = ToHex(plan.digest) + "\n";
  if (!text.starts_with(digest)) return std::nullopt;
  std::optional<Origin> origin = OriginFromJson(text.substr(digest.size()));
  if (!origin || origin->shard != shard || !origin->last || origin->part != 0) return std::nullopt;
  return MadeShard{{}, std::move(*origin)};
}

bool IsOfPlan(const Manifest& manifest, const Plan& plan) {
  std::uint32_t shard = 0;
  std::uint32_t part = 0;
  return std::all_of(manifest.shards.begin(), manifest.shards.end(),
                     [&](const ManifestShard& entry) {
                       // A planned shard has no part if all of its sources were left out.
                       for (; shard < plan.shards(); ++shard, part = 0) {
                         if (entry.id == ShardIdOf(plan, shard, part)) {
                           ++part;
                           return true;
                         }
                       }
                       return false;
                     });
}

}  // namespace sluice
