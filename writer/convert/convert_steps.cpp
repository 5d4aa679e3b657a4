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
#include "writer/convert/duplicates.h"
#include "writer/convert/options.h"
#include "writer/convert/planned_sources.h"
#include "writer/convert/receipt.h"
#include "writer/convert/store_conversion.h"
#include "writer/convert/suspicions.h"

namespace sluice {

namespace {

// A word for temporary names that no other process has, on any machine.
std::string OwnWord() {
  Id128 id;
  if (getrandom(id.bytes.data(), id.bytes.size(), 0) != static_cast<ssize_t>(id.bytes.size())) {
    throw Error(ErrorCode::kIo, "no random numbers can be had from the system");
  }
  return kOwnPrefix.substr(1).data() + ToHex(id);
}

// The options that a plan's text names; OptionsOfMade() reads the same member.
ConvertOptions OptionsOfPlan(const std::string& plan) {
  return OptionsFromJson(OptionsOfMade(plan));
}

// A plan and its list of sources, read from its files.
class Planned {
 public:
  Planned(const DatasetFolder& folder, const std::stop_token& stop)
      : planned_(ReadPlannedSources(folder.path())),
        options_(OptionsOfPlan(*folder.plan())),
        schema_(planned_.list.MakeSchema()) {
    planned_.list.SetRoot(planned_.list.root, stop);
    schema_.Validate();
    CheckOptions(options_);
    options_.run.on_error = planned_.on_error;
    options_.run.find_duplicates = planned_.find_duplicates;
    plan_ = BeginPlan(planned_.list, options_);
    ResumePlan(*folder.plan(), (folder.path() / kPlanName).string(), plan_);
    order_ = ConvertOrder(plan_.samples, options_);
  }

  ConvertOptions& options() noexcept { return options_; }
  const SourceList& sources() const noexcept { return planned_.list; }
  const Schema& schema() const noexcept { return schema_; }
  const Plan& plan() const noexcept { return plan_; }
  const std::vector<std::uint32_t>& order() const noexcept { return order_; }

 private:
  PlannedSources planned_;
  ConvertOptions options_;
  Schema schema_;
  Plan plan_;
  std::vector<std::uint32_t> order_;
};

// The manifest of the folder, if it is that of the plan there. Throws Error(kExists) if it is
// another one's.
std::optional<Manifest> FindFinished(const std::filesystem::path& dataset,
                                     const std::string& plan) {
  Manifest manifest;
  try {
    Id128 id;
    manifest = ReadManifest(dataset, id);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kCorrupt && error.code() != ErrorCode::kUnfinished) throw;
    return std::nullopt;
  }
  const PlanOutline outline = OutlineOfPlan(plan, (dataset / kPlanName).string());
  const nlohmann::json made = nlohmann::json::parse(manifest.made, nullptr, false);
  if (made.is_object() && made.value("plan", nlohmann::json()) == outline.digest) return manifest;
  throw Error(ErrorCode::kExists, dataset.string(),
              "holds a dataset that this plan did not make, or that was changed since; choose "
              "another folder");
}

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// `store`: null, or where the folder's shards belong.
// `finished`: whether another process has finished the dataset meanwhile.
void MakePart(const DatasetFolder& folder, StoreConversion* store, const PlanPart& part,
              const PartOptions& options, const ConvertHooks& hooks,
              const std::function<bool()>& finished, PartSummary& summary) {
  Planned planned(folder, hooks.stop);
  planned.options().run.direct = options.direct;
  Conversion conversion(folder, planned.sources(), planned.schema(), planned.plan(),
                        planned.order(), planned.options(), hooks, part);
  if (store != nullptr) {
    store->BringReceipts(planned.plan(), planned.schema(), part);
    if (finished()) return;  // and its receipts may be gone
    conversion.on_shard = [&](const MadeShard& made) {
      store->PutShard(planned.plan(), planned.schema(), made);
    };
  }
  const unsigned threads = options.threads != 0 ? options.threads : AvailableCpus();
  conversion.Resume(threads);
  const std::size_t missing = conversion.Missing().size();
  conversion.Run(threads, {});
  if (store != nullptr) store->Flush();
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

FinishedConversion FinishPlanned(const DatasetFolder& folder, StoreConversion* store,
                                 unsigned threads, const ConvertHooks& hooks) {
  if (threads == 0) threads = AvailableCpus();
  Planned planned(folder, hooks.stop);
  if (store != nullptr) store->BringReceipts(planned.plan(), planned.schema(), {});
  ConvertSummary summary = BeginSummary(planned.sources());
  Conversion conversion(folder, planned.sources(), planned.schema(), planned.plan(),
                        planned.order(), planned.options(), hooks);
  conversion.Resume(threads);
  if (const std::vector<std::uint32_t> missing = conversion.Missing(); !missing.empty()) {
    ThrowMissing(folder.path(), missing, planned.plan().shards());
  }
  if (planned.options().run.find_duplicates) {
    summary.duplicates =
        NameDuplicates(planned.sources(), FindDuplicates(planned.sources(), threads, hooks.stop));
  }
  conversion.Finish(summary);
  RemovePlanned(folder.path());
  AddGrowth(planned.options(), summary);
  summary.block_samples = planned.plan().block_samples;
  summary.shard_samples = planned.plan().shard_samples;
  return {std::move(summary), planned.options(), false};
}

PartSummary ConvertPartIn(const std::filesystem::path& dataset, StoreConversion* store,
                          const PlanPart& part, const PartOptions& options,
                          const ConvertHooks& hooks) {
  const DatasetFolder folder(dataset, OwnWord());
  PartSummary summary;
  const auto finished = [&] {
    if (store != nullptr) store->BringManifest();
    summary.dataset_finished = FindFinished(dataset, *folder.plan()).has_value();
    return summary.dataset_finished;
  };
  if (!finished()) {
    try {
      MakePart(folder, store, part, options, hooks, finished, summary);
      // A process that finished the dataset meanwhile did not see the receipts written since.
      if (finished()) RemoveReceipts(dataset);
    } catch (const Error& error) {
      // Another process may have made the last shards and finished the dataset meanwhile.
      const bool gone = error.code() == ErrorCode::kIo || error.code() == ErrorCode::kNotFound;
      if (!gone || !finished()) throw;
    }
  }
  return summary;
}

FinishedConversion FinishIn(const std::filesystem::path& dataset, StoreConversion* store,
                            unsigned threads, const ConvertHooks& hooks) {
  const DatasetFolder folder(dataset, OwnWord());
  FinishedConversion out;
  const auto finished = [&] {
    if (store != nullptr) store->BringManifest();
    const std::optional<Manifest> manifest = FindFinished(dataset, *folder.plan());
    if (!manifest) return false;
    // The finisher may have been killed before it had removed the list, which goes last. Without
    // one, nothing here is this conversion's: another command may be at work.
    if (std::filesystem::exists(dataset / kPlannedSourcesName)) RemovePlanned(dataset);
    out = {CountsOf(*manifest), OptionsOfPlan(*folder.plan()), true};
    return true;
  };
  if (!finished()) {
    try {
      out = FinishPlanned(folder, store, threads, hooks);
    } catch (const Error&) {
      // Another process may have finished the dataset, and removed what this one was reading.
      if (!finished()) throw;
    }
  }
  return out;
}

// From names and sizes alone: a store shows neither unfinished uploads nor useful times.
ConversionStatus StatusInStore(const std::filesystem::path& dataset) {
  const std::shared_ptr<ObjectStore> store = OpenStore(dataset.native());
  std::vector<std::byte> content;
  try {
    content = store->Get(kPlanName, kMaxManifestBytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    throw Error(ErrorCode::kNotFound, store->url(), "has no plan of a conversion");
  }
  const PlanOutline outline = OutlineOfPlan(AsText(content), store->url() + "/" + kPlanName);
  ConversionStatus status;
  status.samples = outline.plan.samples;
  status.shards = outline.plan.shards();
  std::set<std::string> objects;
  store->List("", [&](std::string_view name, const ObjectInfo& info) {
    objects.emplace(name);
    if (name.ends_with(".sluice")) status.bytes += info.bytes;
  });
  status.finished = objects.contains(kManifestName);
  for (std::uint64_t shard = 0; shard < status.shards; ++shard) {
    if (status.finished || objects.contains(ReceiptName(static_cast<std::uint32_t>(shard)))) {
      ++status.done;
      status.done_samples += outline.plan.SamplesOf(shard);
    } else {
      status.missing.push_back(shard);
    }
  }
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
  PartSummary summary;
  if (IsStoreUrl(dataset.native())) {
    StoreConversion store(dataset, hooks.stop);
    store.Shown([&] {
      summary = ConvertPartIn(store.folder(), &store, part, options, hooks);
      store.RemoveIfFinished();
    });
  } else {
    summary = ConvertPartIn(dataset, nullptr, part, options, hooks);
  }
  summary.seconds = SecondsSince(start);
  return summary;
}

FinishedConversion FinishConversion(const std::filesystem::path& dataset, unsigned threads,
                                    const ConvertHooks& hooks) {
  const auto start = std::chrono::steady_clock::now();
  FinishedConversion out;
  if (IsStoreUrl(dataset.native())) {
    StoreConversion store(dataset, hooks.stop);
    store.Shown([&] {
      out = FinishIn(store.folder(), &store, threads, hooks);
      store.Finish();
    });
  } else {
    out = FinishIn(dataset, nullptr, threads, hooks);
  }
  out.summary.seconds = SecondsSince(start);
  return out;
}

ConversionStatus StatusOfConversion(const std::filesystem::path& dataset) {
  if (IsStoreUrl(dataset.native())) return StatusInStore(dataset);
  if (!std::filesystem::exists(dataset / kPlanName)) {
    throw Error(ErrorCode::kNotFound, dataset.string(), "has no plan of a conversion");
  }
  std::vector<std::byte> content;
  ReadFile(dataset / kPlanName, kMaxManifestBytes, content);
  const PlanOutline outline = OutlineOfPlan(AsText(content), (dataset / kPlanName).string());
  ConversionStatus status;
  status.finished = std::filesystem::exists(dataset / kManifestName);
  status.samples = outline.plan.samples;
  status.shards = outline.plan.shards();
  std::vector<bool> there(status.shards);
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
    if (!planned || planned->shard >= status.shards) continue;
    if (!planned->empty) status.bytes += static_cast<std::uint64_t>(about.st_size);
    if (planned->part > 0) continue;  // the first part of a planned shard stands for it
    there[planned->shard] = true;
    if (!first || about.st_mtime < *first) {
      first = about.st_mtime;
      first_samples = outline.plan.SamplesOf(planned->shard);
    }
    last = std::max(last, about.st_mtime);
  }
  for (std::uint64_t shard = 0; shard < status.shards; ++shard) {
    if (there[shard]) {
      ++status.done;
      status.done_samples += outline.plan.SamplesOf(shard);
    } else {
      status.missing.push_back(shard);
    }
  }
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
