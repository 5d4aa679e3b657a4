#include "writer/convert/planned_shard.h"

#include <algorithm>
#include <charconv>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "format/disk/system_error.h"
#include "writer/convert/receipt.h"

namespace sluice {

namespace {

Bytes Identity(const Plan& plan) noexcept {
  return std::as_bytes(std::span(plan.digest.bytes));
}

}  // namespace

Id128 ShardIdOf(const Plan& plan, std::uint32_t shard, std::uint32_t part) noexcept {
  return ShardId(Identity(plan), shard, part);
}

PlannedShardWriter::PlannedShardWriter(const Plan& plan, const Schema& schema,
                                       const std::filesystem::path& folder, std::uint32_t shard,
                                       DirectBuffer* direct, const std::string& own)
    : plan_(plan), schema_(schema), folder_(folder), direct_(direct), own_(own) {
  made_.origin.shard = shard;
}

void PlannedShardWriter::BeginPart() {
  const Origin& origin = made_.origin;
  part_.emplace(schema_, folder_, ShardFileName(origin.shard, origin.part),
                ShardId(Identity(plan_), origin.shard, origin.part), plan_.block_samples,
                OriginBound(plan_.SamplesOf(origin.shard)), direct_, own_);
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

std::optional<MadeShard> FindMadeShard(const Plan& plan, const Schema& schema,
                                       const std::filesystem::path& folder, std::uint32_t shard) {
  MadeShard made;
  for (std::uint32_t part = 0;; ++part) {
    const std::string name = ShardFileName(shard, part);
    try {
      ShardExpectation expect;
      expect.id = ShardId(Identity(plan), shard, part);
      expect.block_samples = plan.block_samples;
      const ShardFile file(folder / name, schema, expect);
      std::optional<Origin> origin = OriginFromJson(AsText(file.Section(kSectionOrigin)));
      if (!origin || origin->shard != shard || origin->part != part) return std::nullopt;
      made.parts.push_back(SurveyShard(file, name));
      if (!origin->last) continue;
      made.origin = std::move(*origin);
      return made;
    } catch (const Error& error) {
      // It is missing, or not what this plan writes under that name: it is made (again).
      if (error.code() == ErrorCode::kIo || IsShortage(error)) throw;
      return std::nullopt;
    }
  }
}

namespace {
constexpr std::string_view kEmptySuffix = ".empty.json";
}  // namespace

std::optional<PlannedName> ParseShardName(const std::string& name) {
  constexpr std::string_view kBegin = "shard-";
  if (!name.starts_with(kBegin)) return std::nullopt;
  PlannedName out;
  const char* at = name.data() + kBegin.size();
  const char* const end = name.data() + name.size();
  const auto number = [&](std::uint64_t& value) {
    const auto [next, error] = std::from_chars(at, end, value);
    const bool good = error == std::errc() && next != at;
    at = next;
    return good;
  };
  if (!number(out.shard)) return std::nullopt;
  if (std::string_view(at, end) == kEmptySuffix) {
    out.empty = true;
    return out;
  }
  if (end - at > 1 && *at == '.' && at[1] >= '0' && at[1] <= '9') {
    ++at;
    if (!number(out.part)) return std::nullopt;
  }
  if (std::string_view(at, end) != ".sluice") return std::nullopt;
  return out;
}

namespace {
// "shard-00012.empty.json"
std::string EmptyShardName(std::uint32_t shard) {
  const std::string name = ShardFileName(shard);
  return name.substr(0, name.rfind('.')) + std::string(kEmptySuffix);
}
}  // namespace

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
                         if (entry.id == ShardId(Identity(plan), shard, part)) {
                           ++part;
                           return true;
                         }
                       }
                       return false;
                     });
}

}  // namespace sluice
