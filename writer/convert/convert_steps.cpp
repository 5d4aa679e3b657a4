// A conversion in three steps, for many processes: plan, parts, finish; and how far it has come.
//
// The processes share only the place: the plan, its list of sources, and the shards that exist.
// Each step reads plan and list (ReadInput), finds what is done already, and does the rest. No
// process waits for another. So at any moment another process may finish the dataset and remove the
// list and receipts that this one is reading: an error counts only if the dataset is not finished
// (FindManifest is called again).
#include <functional>
#include <set>

#include <sys/random.h>
#include <sys/stat.h>

#include <sluice/convert_steps.h>
#include <sluice/cpu.h>
#include <sluice/error.h>

#include "format/disk/file.h"
#include "format/disk/limits.h"
#include "format/disk/manifest.h"
#include "writer/convert/conversion.h"
#include "writer/convert/dataset_folder.h"
#include "writer/convert/options.h"
#include "writer/convert/place.h"
#include "writer/convert/plan.h"
#include "writer/convert/planned_shard.h"
#include "writer/convert/planned_sources.h"
#include "writer/convert/report.h"

namespace sluice {

namespace {

// A random word for the temporary names of this process: no process on any machine has the same.
std::string OwnWord() {
  Id128 id;
  if (getrandom(id.bytes.data(), id.bytes.size(), 0) != static_cast<ssize_t>(id.bytes.size())) {
    throw Error(ErrorCode::kIo, "cannot get random numbers from the system");
  }
  return kOwnPrefix.substr(1).data() + ToHex(id);
}

// The options that a plan's text names; OptionsOfMade() reads the same member.
ConvertOptions OptionsOfPlan(const std::string& plan) {
  return OptionsFromJson(OptionsOfMade(plan));
}

// A plan and its list of sources, read from its files.
ConversionInput ReadInput(const DatasetFolder& folder, const std::stop_token& stop) {
  PlannedSources planned = ReadPlannedSources(folder.path());
  planned.list.SetRoot(planned.list.root, stop);
  ConvertOptions options = OptionsOfPlan(*folder.plan());
  CheckOptions(options);
  options.run.on_error = planned.on_error;
  options.run.find_duplicates = planned.find_duplicates;
  ConversionInput input(std::move(planned.list), options);
  ResumePlan(*folder.plan(), (folder.path() / kPlanName).string(), input.plan);
  return input;
}

// The folder's manifest, if there is one. Throws Error(kExists) if the plan there did not make it.
std::optional<Manifest> FindFinished(const std::filesystem::path& dataset,
                                     const std::string& plan) {
  Id128 id;
  std::optional<Manifest> manifest = FindManifest(dataset, id);
  if (!manifest) return manifest;
  const PlanOutline outline = OutlineOfPlan(plan, (dataset / kPlanName).string());
  const nlohmann::json made = nlohmann::json::parse(manifest->made, nullptr, false);
  if (made.is_object() && made.value("plan", nlohmann::json()) == outline.digest) return manifest;
  throw Error(ErrorCode::kExists, dataset.string(),
              "holds a dataset that this plan did not make, or that was changed since; choose "
              "another folder");
}

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The place, folder and hooks of a process that makes a part or finishes a dataset.
struct Step {
  ConversionPlace& place;
  const DatasetFolder folder;
  const ConvertHooks& hooks;

  Step(ConversionPlace& of, const ConvertHooks& all_hooks)
      : place(of), folder(of.folder(), OwnWord()), hooks(all_hooks) {}

  // The manifest, if the dataset is finished; another process may just have finished it.
  std::optional<Manifest> FindManifest() const {
    place.BringManifest();
    return FindFinished(folder.path(), *folder.plan());
  }
};

void MakePart(const Step& step, const PlanPart& part, const PartOptions& options,
              PartSummary& summary) {
  ConversionInput input = ReadInput(step.folder, step.hooks.stop);
  input.options.run.direct = options.direct;
  Conversion conversion(step.folder, input, step.hooks, part);
  step.place.BringReceipts(input, part);
  summary.dataset_finished = step.FindManifest().has_value();
  // The process that finished the dataset may have removed receipts, so that shards seem missing.
  if (summary.dataset_finished) return;
  conversion.on_shard = [&](const MadeShard& made) { step.place.PutShard(input, made); };
  const unsigned threads = options.threads != 0 ? options.threads : AvailableCpus();
  conversion.Resume(threads);
  const std::size_t missing = conversion.Missing().size();
  conversion.Run(threads, {});
  step.place.Flush();
  conversion.Summarize(summary);
  summary.found = summary.shards - missing;
}

ConvertSummary CountsOf(const Manifest& manifest) {
  ConvertSummary summary;
  summary.samples = manifest.samples;
  summary.class_counts = manifest.class_counts;
  summary.shards = manifest.shards.size();
  for (const ManifestShard& shard : manifest.shards)
    summary.bytes_out += shard.bytes;
  return summary;
}

[[noreturn]] void ThrowMissing(const std::filesystem::path& folder,
                               const std::vector<std::uint32_t>& missing, std::uint64_t planned) {
  std::vector<std::uint64_t> absent;
  std::vector<std::uint64_t> wrong;
  for (const std::uint32_t shard : missing)
    (IsShardNamed(folder, shard) ? wrong : absent).push_back(shard);
  std::string what;
  if (!absent.empty()) {
    what = std::to_string(absent.size()) + " of " + std::to_string(planned) +
           " planned shards are not there: " + NumberRuns(absent) + "; ";
  }
  if (!wrong.empty()) {
    what += (what.empty() ? "holds" : "and it holds") +
            std::string(
                " planned shards that are damaged, not of this plan, or of sources "
                "that changed since: ") +
            NumberRuns(wrong) + "; ";
  }
  throw Error(ErrorCode::kUnfinished, folder.string(),
              what + "run their parts again (shard S is in part S mod N of N)");
}

FinishedConversion FinishPlanned(const Step& step, unsigned threads) {
  if (threads == 0) threads = AvailableCpus();
  const ConversionInput input = ReadInput(step.folder, step.hooks.stop);
  step.place.BringReceipts(input, {});
  ConvertSummary summary = BeginSummary(input.sources);
  Conversion conversion(step.folder, input, step.hooks);
  conversion.Resume(threads);
  if (const std::vector<std::uint32_t> missing = conversion.Missing(); !missing.empty()) {
    ThrowMissing(step.folder.path(), missing, input.plan.shards());
  }
  if (input.options.run.find_duplicates) {
    summary.duplicates = FindDuplicates(input.sources, threads, step.hooks.stop);
  }
  conversion.Finish(summary);
  RemovePlanned(step.folder.path());
  AddGrowth(input.options, summary);
  summary.block_samples = input.plan.block_samples;
  summary.shard_samples = input.plan.shard_samples;
  return {std::move(summary), input.options, false};
}

PartSummary ConvertPartIn(ConversionPlace& place, const PlanPart& part, const PartOptions& options,
                          const ConvertHooks& hooks) {
  const Step step(place, hooks);
  PartSummary summary;
  const auto finished = [&] { return summary.dataset_finished = step.FindManifest().has_value(); };
  if (finished()) return summary;
  try {
    MakePart(step, part, options, summary);
    // If another process has finished the dataset meanwhile, it did not remove the notes that this
    // one wrote after that.
    if (finished()) RemoveEmptyShardNotes(place.folder());
  } catch (const Error& error) {
    // Another process may have made the last shards and finished the dataset meanwhile.
    const bool gone = error.code() == ErrorCode::kIo || error.code() == ErrorCode::kNotFound;
    if (!gone || !finished()) throw;
  }
  return summary;
}

FinishedConversion FinishIn(ConversionPlace& place, unsigned threads, const ConvertHooks& hooks) {
  const Step step(place, hooks);
  FinishedConversion out;
  const auto finished = [&] {
    const std::optional<Manifest> manifest = step.FindManifest();
    if (!manifest) return false;
    // The process that finished the dataset may have been killed before it removed the list, which
    // it does last. If the list is gone, nothing of this conversion is left to remove, and other
    // files may belong to a command that is running.
    if (std::filesystem::exists(place.folder() / kPlannedSourcesName))
      RemovePlanned(place.folder());
    out = {CountsOf(*manifest), OptionsOfPlan(*step.folder.plan()), true};
    return true;
  };
  if (finished()) return out;
  try {
    out = FinishPlanned(step, threads);
  } catch (const Error&) {
    // Another process may have finished the dataset, and removed what this one was reading.
    if (!finished()) throw;
  }
  return out;
}

// Counts the shards for which is_done(shard).
template <class IsDone>
void CountDone(const Plan& plan, IsDone is_done, ConversionStatus& status) {
  status.samples = plan.samples;
  status.shards = plan.shards();
  for (std::uint64_t shard = 0; shard < status.shards; ++shard) {
    if (is_done(shard)) {
      ++status.done;
      status.done_samples += plan.SamplesOf(shard);
    } else {
      status.missing.push_back(shard);
    }
  }
}

// Finds the status by names and sizes alone: a store shows neither unfinished uploads nor useful
// times.
ConversionStatus StatusInStore(const std::filesystem::path& dataset, const std::stop_token& stop) {
  const std::shared_ptr<ObjectStore> store = OpenStore(dataset.native());
  const std::stop_callback on_stop(stop, [&store] { store->StopCalls(); });
  std::vector<std::byte> content;
  try {
    content = store->Get(kPlanName, kMaxManifestBytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    throw Error(ErrorCode::kNotFound, store->url(), "has no plan of a conversion");
  }
  const PlanOutline outline = OutlineOfPlan(AsText(content), store->url() + "/" + kPlanName);
  ConversionStatus status;
  std::set<std::string> objects;
  store->List("", [&](std::string_view name, const ObjectInfo& info) {
    objects.emplace(name);
    if (name.ends_with(".sluice")) status.bytes += info.bytes;
  });
  status.finished = objects.contains(kManifestName);
  CountDone(
      outline.plan,
      [&](std::uint64_t shard) {
        return status.finished || objects.contains(ReceiptName(static_cast<std::uint32_t>(shard)));
      },
      status);
  return status;
}

}  // namespace

PartSummary ConvertPlanned(const std::filesystem::path& dataset, const PlanPart& part,
                           const PartOptions& options, const ConvertHooks& hooks) {
  const auto start = std::chrono::steady_clock::now();
  if (part.of == 0 || part.number >= part.of || part.of > kMaxShards) {
    throw Error(ErrorCode::kInvalidArgument,
                "a part is I/N, with I from 0 to N - 1 and N up to 1000000");
  }
  const std::unique_ptr<ConversionPlace> place = OpenPlace(dataset, hooks.stop);
  PartSummary summary = place->Shown([&] {
    PartSummary made = ConvertPartIn(*place, part, options, hooks);
    place->RemoveIfFinished();
    return made;
  });
  summary.seconds = SecondsSince(start);
  return summary;
}

FinishedConversion FinishConversion(const std::filesystem::path& dataset, unsigned threads,
                                    const ConvertHooks& hooks) {
  const auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<ConversionPlace> place = OpenPlace(dataset, hooks.stop);
  FinishedConversion out = place->Shown([&] {
    FinishedConversion made = FinishIn(*place, threads, hooks);
    place->Finish();
    return made;
  });
  out.summary.seconds = SecondsSince(start);
  return out;
}

ConversionStatus StatusOfConversion(const std::filesystem::path& dataset,
                                    const std::stop_token& stop) {
  if (IsStoreUrl(dataset.native())) return StatusInStore(dataset, stop);
  if (!std::filesystem::exists(dataset / kPlanName)) {
    throw Error(ErrorCode::kNotFound, dataset.string(), "has no plan of a conversion");
  }
  std::vector<std::byte> content;
  ReadFile(dataset / kPlanName, kMaxManifestBytes, content);
  const PlanOutline outline = OutlineOfPlan(AsText(content), (dataset / kPlanName).string());
  ConversionStatus status;
  status.finished = std::filesystem::exists(dataset / kManifestName);
  std::vector<bool> there(outline.plan.shards());
  // The speed is that of all shards after the first: `first` and `last` are the modification times
  // of the oldest and the newest shard, `first_samples` the samples of the oldest.
  std::optional<std::time_t> first;
  std::time_t last = 0;
  std::uint64_t first_samples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dataset)) {
    const std::string name = entry.path().filename().string();
    struct stat about {};
    if (stat(entry.path().c_str(), &about) != 0) continue;  // renamed meanwhile
    if (!NameOfTemporary(name).empty()) {
      ++(std::time(nullptr) - about.st_mtime < 60 ? status.writing : status.abandoned);
      continue;
    }
    const std::optional<PlannedName> planned = ParseShardName(name);
    if (!planned || planned->shard >= there.size()) continue;
    if (!planned->empty) status.bytes += static_cast<std::uint64_t>(about.st_size);
    if (planned->part > 0) continue;  // the first part of a planned shard stands for it
    there[planned->shard] = true;
    if (!first || about.st_mtime < *first) {
      first = about.st_mtime;
      first_samples = outline.plan.SamplesOf(planned->shard);
    }
    last = std::max(last, about.st_mtime);
  }
  CountDone(
      outline.plan, [&](std::uint64_t shard) { return there[shard]; }, status);
  if (first && last > *first) {
    status.samples_per_second = static_cast<double>(status.done_samples - first_samples) /
                                static_cast<double>(last - *first);
  }
  return status;
}

std::string NumberRuns(const std::vector<std::uint64_t>& numbers, std::size_t most) {
  std::string text;
  std::size_t runs = 0;
  for (std::size_t i = 0; i < numbers.size(); ++runs) {
    if (runs == most) return text + " and " + std::to_string(numbers.size() - i) + " more";
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1)
      ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(numbers[i]);
    if (end - i > 1) text += (end - i > 2 ? "-" : ", ") + std::to_string(numbers[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace sluice
