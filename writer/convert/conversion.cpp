// The middle of every conversion: finding the planned shards that exist, making the others, and
// writing the manifest.
//
// Samples are encoded on many threads and consumed in the plan's order on one (RunInOrder), which
// writes one planned shard after another. So the bytes do not depend on the number of threads. The
// summary's numbers for a shard come from the shard's own record (Origin), whether it was made now
// or by an earlier run; only `shrunk`, `reencoded` and `rounded` count this run's shards alone.
#include "writer/convert/conversion.h"

#include <algorithm>
#include <utility>

#include <sluice/error.h>

#include "format/disk/manifest.h"
#include "format/disk/shard_build.h"
#include "writer/convert/changed_sources.h"
#include "writer/convert/ordered_pipeline.h"
#include "writer/convert/report.h"
#include "writer/shard_writer.h"
#include "writer/source/images/values.h"
#include "writer/source/list/store_files.h"
#include "writer/text.h"

namespace sluice {

namespace {
constexpr std::chrono::milliseconds kReportInterval(100);

std::uint64_t BytesOf(const MadeShard& made) noexcept {
  std::uint64_t bytes = 0;
  for (const FinishedShard& part : made.parts)
    bytes += part.shard.bytes;
  return bytes;
}
// "2 sources changed, such as a.png and b.png,"
std::string CountOfChanged(const SomeImages& changed) {
  return std::to_string(changed.count) + (changed.count == 1 ? " source" : " sources") +
         " changed, such as " + ExamplesText(changed) + ",";
}
}  // namespace

ConvertSummary BeginSummary(const SourceList& sources) {
  ConvertSummary summary;
  for (const Field& field : sources.MakeSchema().fields)
    summary.fields.push_back(field.name);
  summary.classes = sources.classes;
  summary.skipped = sources.broken;
  summary.passed_over = sources.passed_over;
  summary.warnings = sources.warnings;
  if (const std::optional<ValueForm>& form = sources.fields[0].form)
    summary.pixels = FormText(form->channels, form->type);
  return summary;
}

Conversion::Conversion(const DatasetFolder& dataset, const ConversionInput& input,
                       const ConvertHooks& hooks, const PlanPart& part)
    : dataset_(dataset),
      input_(input),
      hooks_(hooks),
      part_(part),
      made_(input.plan.shards()),
      class_counts_(input.plan.shards()) {
  for (std::uint64_t shard = part.number; shard < made_.size(); shard += part.of)
    progress_.samples_total += input.plan.SamplesOf(shard);
  if (input.options.run.direct) direct_.emplace();
}

void Conversion::FailOn(std::uint64_t position, const std::string& reason) const {
  if (input_.options.run.on_error != OnError::kFail) return;
  throw Error(ErrorCode::kCorrupt, input_.sources.NameOf(input_.order[position]), reason);
}

void Conversion::Resume(unsigned threads) {
  // The manifest is checked before anything is written: if it belongs to another dataset, that
  // dataset's shards may have the names of planned ones.
  Id128 id;
  const std::optional<Manifest> manifest = FindManifest(dataset_.path(), id);
  if (manifest && !IsOfPlan(*manifest, input_.plan)) RefuseChanged();
  for (std::uint64_t at = part_.number; at < made_.size(); at += part_.of) {
    const auto shard = static_cast<std::uint32_t>(at);
    if (hooks_.stop.stop_requested()) ThrowStopped();
    made_[shard] = FindDoneShard(input_.plan, input_.schema, dataset_.path(), shard);
    if (!made_[shard]) continue;
    RequireKnown(made_[shard]->origin, shard);
    KeepClassCounts(*made_[shard]);
  }
  RemoveChanged(manifest.has_value(), threads);
  for (std::uint64_t shard = part_.number; shard < made_.size(); shard += part_.of) {
    if (!made_[shard]) continue;
    for (const auto& [position, reason] : made_[shard]->origin.left_out)
      FailOn(position, reason);
    progress_.samples_done += input_.plan.SamplesOf(shard);
    progress_.bytes_in += made_[shard]->origin.bytes_in;
    finished_bytes_ += BytesOf(*made_[shard]);
  }
}

void Conversion::RemoveChanged(bool finished, unsigned threads) {
  const ChangedSources found = FindChangedSources(input_, dataset_.path(), made_, threads, hooks_);
  NotedPositions changed;
  for (const std::uint64_t position : found.positions)
    changed.Add(position);
  AddNoted(changed, changed_);
  if (finished && changed_.count > 0) {
    throw Error(ErrorCode::kExists, dataset_.path().string(),
                "holds a finished dataset, and " + CountOfChanged(changed_) +
                    " since it was made: convert into another folder, or remove this one first");
  }
  for (const std::uint64_t position : found.positions) {
    std::optional<MadeShard>& made = made_[position / input_.plan.shard_samples];
    if (!made) continue;
    // If other processes work on the plan, the files stay; each is replaced by the new shard of the
    // same name.
    for (std::size_t p = 0; p < made->parts.size() && dataset_.own().empty(); ++p)
      std::filesystem::remove(dataset_.path() / made->parts[p].shard.file);
    class_counts_[made->origin.shard].clear();
    made.reset();
  }
  const bool all = part_.of == 1 && dataset_.own().empty();
  if (!all || found.compared == 0) return;
  // The removals must reach the disk before the plan's new time does. Otherwise a removed shard
  // could be back after a power loss, and the new time would say that its sources were compared.
  SyncFolder(dataset_.path());
  SetPlanTime(dataset_.path(), found.plan_time);
}

void Conversion::RequireKnown(const Origin& origin, std::uint32_t shard) const {
  std::vector<std::uint64_t> positions = origin.turned.first;
  positions.insert(positions.end(), origin.dim.first.begin(), origin.dim.first.end());
  for (const auto* const reasons : {&origin.left_out, &origin.truncated}) {
    for (const auto& [position, reason] : *reasons)
      positions.push_back(position);
  }
  if (std::all_of(positions.begin(), positions.end(),
                  [this](std::uint64_t position) { return position < input_.plan.samples; })) {
    return;
  }
  throw Error(ErrorCode::kCorrupt, (dataset_.path() / ShardFileName(shard)).string(),
              "names sources that the plan does not have; remove this file and run again");
}

void Conversion::AddNoted(const NotedPositions& noted, SomeImages& images) const {
  images.count += noted.count;
  for (const std::uint64_t position : noted.first) {
    if (images.examples.size() == SomeImages::kExamples) return;
    images.examples.push_back(input_.sources.KeyForPeople(input_.order[position]));
  }
}

std::vector<std::uint32_t> Conversion::Missing() const {
  std::vector<std::uint32_t> missing;
  for (std::uint64_t shard = part_.number; shard < made_.size(); shard += part_.of) {
    if (!made_[shard]) missing.push_back(static_cast<std::uint32_t>(shard));
  }
  return missing;
}

void Conversion::Summarize(PartSummary& summary) const {
  for (std::uint64_t shard = part_.number; shard < made_.size(); shard += part_.of) {
    ++summary.shards;
    summary.samples += input_.plan.SamplesOf(shard);
    summary.left_out += made_[shard]->origin.left_out.size();
    summary.bytes_out += BytesOf(*made_[shard]);
  }
  summary.shrunk = shrunk_;
  summary.reencoded = reencoded_;
  summary.rounded = rounded_;
  summary.direct_refused = direct_ && direct_->refused();
}

void Conversion::Run(unsigned threads, std::vector<std::optional<Outcome>> probed) {
  const std::vector<std::uint32_t> open = Missing();
  std::uint64_t samples = 0;
  for (const std::uint32_t shard : open)
    samples += input_.plan.SamplesOf(shard);
  Report(true);
  // All shards but the plan's last have the same number of samples.
  const auto position_of = [&](std::uint64_t index) {
    return open[index / input_.plan.shard_samples] * input_.plan.shard_samples +
           index % input_.plan.shard_samples;
  };
  const std::uint64_t header_bytes = BuildShardHeader(input_.schema, {}, 1).size();
  const std::uint64_t reserve_bytes = OriginBound(input_.plan.SamplesOf(0));
  threads = static_cast<unsigned>(std::min<std::uint64_t>(threads, samples));
  std::vector<SampleEncoder> encoders;
  encoders.reserve(threads);
  for (unsigned i = 0; i < threads; ++i)
    encoders.emplace_back(input_.sources, input_.options, input_.schema, header_bytes,
                          reserve_bytes);
  const StoreFiles::Ahead ahead(input_.sources, samples, [&](std::uint64_t index) -> const Source* {
    const std::uint64_t position = position_of(index);
    if (position < probed.size()) return nullptr;  // the probe has made most of these samples
    return &input_.sources.sources[input_.order[position]];
  });
  if (samples > 0) {
    RunInOrder(
        threads, samples, hooks_.stop,
        [&](unsigned worker, std::uint64_t index) {
          const std::uint64_t position = position_of(index);
          if (position < probed.size() && probed[position]) {
            return encoders[worker].Checked(*std::exchange(probed[position], std::nullopt));
          }
          return encoders[worker].Encode(input_.order[position]);
        },
        [&](std::uint64_t index, Outcome&& outcome) {
          Consume(position_of(index), std::move(outcome));
        });
  }
  Report(true);
}

void Conversion::Consume(std::uint64_t position, Outcome&& outcome) {
  const auto shard = static_cast<std::uint32_t>(position / input_.plan.shard_samples);
  const std::uint64_t within = position % input_.plan.shard_samples;
  if (within == 0) {
    writing_.emplace(input_.plan, input_.schema, dataset_.path(), shard,
                     direct_ ? &*direct_ : nullptr, dataset_.own());
  }
  const std::uint64_t bytes = input_.sources.ImageBytesOf(input_.order[position]);
  if (outcome.reason.empty()) {
    shrunk_ += outcome.shrunk ? 1 : 0;
    reencoded_ += outcome.reencoded ? 1 : 0;
    rounded_ += outcome.rounded ? 1 : 0;
    writing_->Add(position, std::move(outcome), bytes);
  } else {
    FailOn(position, outcome.reason);
    writing_->LeaveOut(position, std::move(outcome.reason));
  }
  ++progress_.samples_done;
  progress_.bytes_in += bytes;
  if (within + 1 == input_.plan.SamplesOf(shard)) {
    made_[shard] = writing_->Finish();
    writing_.reset();
    if (made_[shard]->parts.empty() && !dataset_.own().empty()) {
      LeaveEmptyShard(dataset_.path(), input_.plan, *made_[shard], dataset_.own());
    }
    if (on_shard) on_shard(*made_[shard]);
    KeepClassCounts(*made_[shard]);
    finished_bytes_ += BytesOf(*made_[shard]);
  }
  Report(!writing_);
}

void Conversion::KeepClassCounts(MadeShard& made) {
  for (FinishedShard& part : made.parts) {
    for (std::size_t c = 0; c < part.class_counts.size(); ++c) {
      if (part.class_counts[c] > 0)
        class_counts_[made.origin.shard].emplace_back(c, part.class_counts[c]);
    }
    std::vector<std::uint64_t>().swap(part.class_counts);  // assigning {} would keep its memory
  }
}

void Conversion::Report(bool now) {
  if (!hooks_.on_progress) return;
  const auto time = std::chrono::steady_clock::now();
  if (!now && time - last_report_ < kReportInterval) return;
  last_report_ = time;
  progress_.bytes_out = finished_bytes_ + (writing_ ? writing_->bytes() : 0);
  hooks_.on_progress(progress_);
}

void Conversion::Finish(ConvertSummary& summary) {
  Manifest manifest = BeginManifest(DescribedName(input_.schema), input_.schema);
  manifest.made = MadeJson(input_.plan);
  ChangeMetadata(input_.options.shards.meta, manifest.meta);
  for (const auto& counts : class_counts_) {
    for (const auto& [number, count] : counts)
      manifest.class_counts[number] += count;
  }
  for (const std::optional<MadeShard>& made : made_) {
    for (const FinishedShard& part : made->parts)
      AddShard(part, manifest);
    for (const auto& [position, reason] : made->origin.left_out) {
      summary.skipped.push_back({input_.sources.KeyForPeople(input_.order[position]), reason});
    }
    for (const auto& [position, reason] : made->origin.truncated) {
      summary.truncated.push_back({input_.sources.KeyForPeople(input_.order[position]), reason});
    }
    summary.bytes_in += made->origin.bytes_in;
    summary.kept += made->origin.kept;
    summary.boxes_dropped += made->origin.boxes_dropped;
    summary.profiles_dropped += made->origin.profiles_dropped;
    summary.profiles_converted += made->origin.profiles_converted;
    summary.channels_dropped += made->origin.channels_dropped;
    summary.smaller += made->origin.smaller;
    AddNoted(made->origin.turned, summary.turned);
    AddNoted(made->origin.dim, summary.dim);
  }
  for (std::vector<LeftOut>* const list : {&summary.skipped, &summary.truncated}) {
    std::ranges::sort(*list, {}, &LeftOut::path);
  }
  if (manifest.samples == 0) {
    throw Error(ErrorCode::kCorrupt, input_.sources.root.string(),
                "none of its " + std::to_string(input_.plan.samples) +
                    " images could be converted; the first: " +
                    ToUtf8(summary.skipped.front().path) + ": " + summary.skipped.front().reason);
  }
  summary.samples = manifest.samples;
  summary.class_counts = manifest.class_counts;
  summary.shards = manifest.shards.size();
  summary.shrunk = shrunk_;
  summary.reencoded = reencoded_;
  summary.rounded = rounded_;
  AddSuspicions(input_.sources, input_.options, true, summary);
  if (changed_.count > 0) {
    summary.warnings.push_back(CountOfChanged(changed_) +
                               " since an earlier run; every shard with a changed source was made "
                               "again");
  }
  summary.direct_refused = direct_ && direct_->refused();
  if (summary.direct_refused) summary.warnings.push_back(DirectRefusal(dataset_.path()));
  dataset_.Write(kSkippedName, SkippedTable(summary, input_.options));
  if (input_.options.run.find_duplicates) {
    dataset_.Write(kDuplicatesName, DuplicatesTable(summary.duplicates));
  }
  WriteManifest(manifest);
  for (const ManifestShard& shard : manifest.shards)
    summary.bytes_out += shard.bytes;
  for (const char* name : {kManifestName, kPlanName, kSkippedName, kDuplicatesName}) {
    if (name == kDuplicatesName && !input_.options.run.find_duplicates) continue;
    summary.bytes_out += std::filesystem::file_size(dataset_.path() / name);
  }
}

// The folder has a valid manifest that is not this conversion's: something changed the dataset
// since.
void Conversion::RefuseChanged() const {
  throw Error(ErrorCode::kExists, dataset_.path().string(),
              "holds a dataset that this conversion began and that was changed since; choose "
              "another folder");
}

void Conversion::WriteManifest(Manifest manifest) const {
  Id128 there;
  const std::optional<Manifest> before = FindManifest(dataset_.path(), there);
  if (before) manifest.made = before->made;  // it may name an earlier version of Sluice
  Id128 id;
  const std::string text = ManifestToJson(manifest, id);
  if (!before) {
    // A conversion that was not finished has no versions. With the first manifest, columns and
    // deletions would be undone in silence.
    for (const auto& entry : std::filesystem::directory_iterator(dataset_.path())) {
      const std::string name = entry.path().filename().string();
      if (!IsOldManifestName(name)) continue;
      throw Error(ErrorCode::kExists, dataset_.path().string(),
                  "holds a dataset that was changed, and its manifest.json is lost; copy the "
                  "newest version that is kept to manifest.json, such as " +
                      name + ", or convert to another folder");
    }
    return dataset_.Write(kManifestName, text);
  }
  if (there != id) RefuseChanged();
}

}  // namespace sluice
