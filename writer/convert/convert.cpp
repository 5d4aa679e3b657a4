// A conversion in one go: sources, plan, shards, manifest, in one process and one folder.
//
// Stages lists the sources (ConversionInput), then resumes the plan that an earlier run left, or
// makes a plan: it converts the first 64 samples to learn how large samples become (ProbeSizes),
// and uses their outcomes again. The plan is written before anything else; Conversion then makes
// the missing shards.
//
// A conversion into an object store takes the three steps of convert_steps.cpp one after another,
// each of which can be repeated.
#include <algorithm>
#include <chrono>
#include <optional>

#include <sluice/convert_steps.h>
#include <sluice/cpu.h>
#include <sluice/error.h>

#include "format/disk/limits.h"
#include "format/disk/manifest.h"
#include "format/disk/shard_build.h"
#include "writer/convert/changed_sources.h"
#include "writer/convert/conversion.h"
#include "writer/convert/dataset_folder.h"
#include "writer/convert/kept_values.h"
#include "writer/convert/options.h"
#include "writer/convert/place.h"
#include "writer/convert/plan.h"
#include "writer/convert/planned_sources.h"
#include "writer/convert/probe.h"
#include "writer/convert/report.h"
#include "writer/source/check_source.h"
#include "writer/source/open_source.h"

namespace sluice {

namespace {

void FailOnBroken(const SourceList& sources, const ConvertOptions& options) {
  if (options.run.on_error != OnError::kFail || sources.broken.empty()) return;
  const LeftOut& first = sources.broken.front();
  throw Error(ErrorCode::kUnsupported,
              sources.archives.empty() ? (sources.root / first.path).string() : first.path,
              first.reason);
}

// If no list of paths is given, takes the list that an earlier run left in the dataset's plan.
ConvertSource WithPaths(const ConvertSource& source, const std::filesystem::path& dataset) {
  if (source.kind != ConvertSource::Kind::kPaths || !source.paths.empty()) return source;
  std::vector<std::byte> plan;
  if (std::filesystem::exists(dataset / kPlanName)) {
    ReadFile(dataset / kPlanName, kMaxManifestBytes, plan);
  }
  ConvertSource whole = source;
  whole.paths = PathsOfPlan(AsText(plan));
  if (!whole.paths.empty()) return whole;
  throw Error(ErrorCode::kNotFound, dataset.string(),
              "has no list of paths from an earlier run, and the list that was given is empty");
}

std::string FieldNames(const Schema& schema) {
  std::string names;
  for (const Field& field : schema.fields)
    names += (names.empty() ? "" : ", ") + field.name;
  return names;
}

// The ids that another label file gives its categories say nothing about the dataset's classes,
// which keep their own.
void TakeCategoryIds(const Schema& of_dataset, Schema& schema) {
  for (Field& field : schema.fields) {
    field.attributes.erase("category_ids");
    const std::size_t known = of_dataset.Find(field.name);
    if (known == Schema::kNone) continue;
    const auto& attributes = of_dataset.fields[known].attributes;
    if (const auto ids = attributes.find("category_ids"); ids != attributes.end())
      field.attributes.insert(*ids);
  }
}

// Says how two fields of one name differ, as a part of a sentence: "no_data -1, but the dataset has
// none". Empty if only their classes differ.
std::string DifferenceOf(const Field& field, const Field& wanted) {
  if (field.kind != wanted.kind || field.dtype != wanted.dtype || field.shape != wanted.shape ||
      field.role != wanted.role || field.follows != wanted.follows ||
      field.coordinates != wanted.coordinates) {
    return "another kind than in the dataset";
  }
  const auto value_in = [](const Field& of, const std::string& name) {
    const auto at = of.attributes.find(name);
    return at == of.attributes.end() ? std::string("none") : "\"" + at->second + "\"";
  };
  std::map<std::string, std::string> all = field.attributes;
  all.insert(wanted.attributes.begin(), wanted.attributes.end());
  for (const auto& [name, value] : all) {
    const std::string own = value_in(field, name), other = value_in(wanted, name);
    if (own != other) return "the " + name + " " + own + ", but the dataset has " + other;
  }
  return {};
}

// Throws Error(kInvalidArgument) that says what differs, unless the schemas are the same.
void RequireSame(const Schema& schema, const Schema& wanted) {
  if (schema == wanted) return;
  const auto refuse = [](const std::string& sentence) {
    throw Error(ErrorCode::kInvalidArgument, sentence);
  };
  if (FieldNames(schema) != FieldNames(wanted)) {
    refuse("the source has the fields " + FieldNames(schema) + ", but the dataset has " +
           FieldNames(wanted) + "; convert it to another dataset");
  }
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    const std::string difference = DifferenceOf(schema.fields[f], wanted.fields[f]);
    if (!difference.empty()) {
      refuse("field \"" + schema.fields[f].name + "\" of the source has " + difference +
             "; convert it to another dataset");
    }
  }
  refuse(
      "the source numbers its classes otherwise than the dataset; leave out --classes and "
      "--classes-of, so that it gets the dataset's own, or convert it to another dataset, and use "
      "`sluice merge`");
}

SourceList WithForms(SourceList list, const ConvertOptions& options, const ConvertHooks& hooks) {
  FindForms(options, hooks.stop, list);
  return list;
}

class Stages {
 public:
  Stages(const Schema* wanted, const ConvertSource& source, const ConvertOptions& options,
         const ConvertHooks& hooks)
      : source_(source),
        options_(options),
        hooks_(hooks),
        threads_(options.run.threads != 0 ? options.run.threads : AvailableCpus()),
        input_(WithForms(OpenSource(source, threads_, hooks, options.form), options, hooks),
               options),
        summary_(BeginSummary(input_.sources)) {
    if (wanted != nullptr) {
      TakeCategoryIds(*wanted, input_.schema);
      RequireSame(input_.schema, *wanted);
    }
    FailOnBroken(input_.sources, options);
  }

  ConvertSummary DryRun() {
    SummarizeProbe(input_, Settle(), summary_);
    LookForDuplicates();
    AddSuspicions(input_.sources, options_, false, summary_);
    return Summary();
  }

  // Only writes the plan and its list of sources.
  ConvertSummary PlanOnly(const std::filesystem::path& dataset) {
    const DatasetFolder folder(dataset);
    if (folder.plan()) ResumePlan(*folder.plan(), (dataset / kPlanName).string(), input_.plan);
    const std::timespec time = PlanTime(folder);
    const Probe probe = Settle(folder.plan().has_value());
    SummarizeProbe(input_, probe, summary_);
    AddSuspicions(input_.sources, options_, false, summary_);
    if (std::filesystem::exists(dataset / kManifestName)) return Summary();
    // The plan is written last: a process that finds the plan also finds the list.
    WritePlannedSources(dataset, input_.sources, options_);
    if (!folder.plan()) WritePlan(folder, time);
    return Summary();
  }

  ConvertSummary Run(const std::filesystem::path& dataset) {
    const DatasetFolder folder(dataset);
    const std::timespec time = PlanTime(folder);
    Probe probe;
    if (folder.plan()) {
      ResumePlan(*folder.plan(), (dataset / kPlanName).string(), input_.plan);
    } else {
      probe = Settle();
    }
    RemoveLeftovers(dataset);
    if (!folder.plan()) WritePlan(folder, time);
    Conversion conversion(folder, input_, hooks_);
    if (folder.plan()) conversion.Resume(threads_);
    conversion.Run(threads_, std::move(probe.outcomes));
    LookForDuplicates();
    conversion.Finish(summary_);
    RemovePlanned(dataset);
    return Summary();
  }

 private:
  // The time for a plan that is to be written; unused if there is a plan. Call it before any
  // content is read: a source that changes while it is read then has a later time.
  std::timespec PlanTime(const DatasetFolder& folder) const {
    return folder.plan() ? std::timespec{} : PlanTimeOf(input_.sources, threads_, hooks_.stop);
  }

  void WritePlan(const DatasetFolder& folder, const std::timespec& time) const {
    folder.Write(kPlanName, PlanToJson(input_.plan, source_.paths));
    SetPlanTime(folder.path(), time);
  }

  // Converts the first samples, and then sets the plan's samples per shard, unless an earlier run
  // has set them (`settled`).
  Probe Settle(bool settled = false) {
    Probe probe = ProbeSizes(input_, threads_, hooks_.stop);
    if (settled) return probe;
    SettlePlan(options_, probe.mean_bytes, BuildShardHeader(input_.schema, {}, 1).size(),
               input_.plan);
    return probe;
  }

  void LookForDuplicates() {
    if (!options_.run.find_duplicates) return;
    summary_.duplicates = FindDuplicates(input_.sources, threads_, hooks_.stop);
  }

  ConvertSummary Summary() {
    summary_.block_samples = input_.plan.block_samples;
    summary_.shard_samples = input_.plan.shard_samples;
    return std::move(summary_);
  }

  const ConvertSource& source_;
  const ConvertOptions& options_;
  const ConvertHooks& hooks_;
  unsigned threads_;
  ConversionInput input_;
  ConvertSummary summary_;
};

ConvertSummary ConvertSources(const Schema* wanted, const ConvertSource& source,
                              const std::filesystem::path& dataset, const ConvertOptions& options,
                              const ConvertHooks& hooks, bool plan_only = false) {
  const auto start = std::chrono::steady_clock::now();
  CheckOptions(options);
  CheckSource(source);
  if (!options.run.dry_run) RequireFolder(dataset);  // before a search for sources that takes long
  CheckFoldersApart(source, dataset);
  const ConvertSource whole = WithPaths(source, dataset);
  Stages stages(wanted, whole, options, hooks);
  ConvertSummary summary = options.run.dry_run ? stages.DryRun()
                           : plan_only         ? stages.PlanOnly(dataset)
                                               : stages.Run(dataset);
  AddGrowth(options, summary);
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

// Runs the three steps of convert_steps.cpp, each of which can be repeated.
ConvertSummary ConvertIntoStore(const ConvertSource& source, const std::filesystem::path& dataset,
                                const ConvertOptions& options, const ConvertHooks& hooks) {
  const auto start = std::chrono::steady_clock::now();
  PlanConversion(source, dataset, options, hooks);
  const PartSummary made =
      ConvertPlanned(dataset, {}, {options.run.threads, options.run.direct}, hooks);
  ConvertSummary summary = FinishConversion(dataset, options.run.threads, hooks).summary;
  summary.shrunk = made.shrunk;
  summary.reencoded = made.reencoded;
  summary.rounded = made.rounded;
  summary.direct_refused = made.direct_refused;
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

}  // namespace

void RequirePlace(const std::filesystem::path& dataset) {
  if (IsStoreUrl(dataset.native())) OpenStore(dataset.native());
}

void RequireFolder(const std::filesystem::path& dataset) {
  if (!IsStoreUrl(dataset.native())) return;
  // The message leaves the URL out: it may contain a secret.
  throw Error(
      ErrorCode::kInvalidArgument,
      "this changes a dataset in a folder, not at a URL: work on a folder, and use `sluice copy` "
      "between it and the URL");
}

ConvertSummary Convert(const ConvertSource& source, const std::filesystem::path& dataset,
                       const ConvertOptions& options, const ConvertHooks& hooks) {
  if (IsStoreUrl(dataset.native())) {
    if (options.run.check == SourceCheck::kContent) {
      throw Error(ErrorCode::kUnsupported,
                  "a dataset in an object store is not compared with its sources; convert into a "
                  "folder, and compare or copy that");
    }
    if (!options.run.dry_run) return ConvertIntoStore(source, dataset, options, hooks);
    RequirePlace(dataset);
  }
  return ConvertSources(nullptr, source, dataset, options, hooks);
}

ConvertSummary PlanConversion(const ConvertSource& source, const std::filesystem::path& dataset,
                              const ConvertOptions& options, const ConvertHooks& hooks) {
  // For a store, ConvertSources() checks only the place's local folder, not the dataset's URL.
  if (IsStoreUrl(dataset.native())) CheckFoldersApart(source, dataset);
  const std::unique_ptr<ConversionPlace> place = OpenPlace(dataset, hooks.stop);
  return place->Shown([&] {
    ConvertSummary summary = ConvertSources(nullptr, source, place->folder(), options, hooks, true);
    place->PutPlan();
    return summary;
  });
}

ConvertSummary ConvertTo(const Schema& wanted, const ConvertSource& source,
                         const std::filesystem::path& dataset, const ConvertOptions& options,
                         const ConvertHooks& hooks) {
  return ConvertSources(&wanted, source, dataset, options, hooks);
}

std::vector<std::vector<SharedImage>> FindSharedImages(const std::vector<SourcePart>& parts,
                                                       const std::filesystem::path& list,
                                                       unsigned threads,
                                                       const std::stop_token& stop,
                                                       const FormOptions& form) {
  if (threads == 0) threads = AvailableCpus();
  std::vector<SourceList> sources;
  for (const SourcePart& part : parts) {
    CheckSource(part.source);
    sources.push_back(OpenSource(WithPaths(part.source, part.dataset), threads,
                                 {.on_progress = {}, .stop = stop}, form));
  }
  std::vector<std::vector<SharedImage>> groups;
  for (const std::vector<ListedSource>& group : FindShared(sources, threads, stop)) {
    groups.emplace_back();
    for (const ListedSource& one : group) {
      groups.back().push_back({parts[one.list].name, NameDuplicate(sources[one.list], one.source)});
    }
  }
  const std::string table = SharedTable(groups);
  if (IsStoreUrl(list.native())) {
    const std::shared_ptr<ObjectStore> store = OpenStore(list.parent_path().native());
    const std::stop_callback on_stop(stop, [&store] { store->StopCalls(); });
    store->Put(list.filename().native(), AsBytes(table));
  } else if (!list.empty()) {
    WriteFile(list, AsBytes(table));
  }
  return groups;
}

std::vector<std::string> FindClasses(const ConvertSource& source, unsigned threads,
                                     const std::stop_token& stop, const FormOptions& form) {
  CheckSource(source);
  SourceList list = OpenSource(source, threads != 0 ? threads : AvailableCpus(),
                               {.on_progress = {}, .stop = stop}, form);
  if (source.kind == ConvertSource::Kind::kAnnotations) {
    for (const SourceField& field : list.fields) {
      if (field.field.role == Role::kLabel) return field.field.classes;
    }
  }
  return list.classes;
}

}  // namespace sluice
