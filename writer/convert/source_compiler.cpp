// The constructor claims the folder, on the caller's thread; all after that is Run(), on the
// compiler's own. Find() and Expect() may be called by any thread meanwhile, and see a shard only
// once OpenShard() has checked it and put it into `shards_`.
// DatasetFolder throws kState if another process works in the folder. That is not a failure here:
// Claim() waits with growing pauses, and opens the shards that the other process makes. An error on
// the thread never ends the training: it becomes one warning, and the source is played as it is.
#include "writer/convert/source_compiler.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <utility>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sluice/cpu.h>
#include <sluice/error.h>

#include "format/disk/limits.h"
#include "format/disk/system_error.h"
#include "writer/convert/changed_sources.h"
#include "writer/convert/conversion.h"
#include "writer/edit/stored_dataset.h"
#include "writer/source/check_source.h"

namespace sluice {

namespace {

// Each open shard takes a mapping, of which a process may have 65,530 by default; a reader takes as
// many for the frames. The samples of further shards are made from the source in each epoch.
constexpr std::size_t kMaxOpen = 16'384;

// Waits that long, or until a stop is requested.
void Sleep(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait_for(lock, stop, time, [] { return false; });
}

// The plan in a folder that another process has locked; empty before that process has written it.
std::string PlanIn(const std::filesystem::path& folder) {
  std::vector<std::byte> content;
  try {
    ReadFile(folder / kPlanName, kMaxManifestBytes, content);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
  }
  return std::string(AsText(content));
}

}  // namespace

unsigned SourceCompiler::Threads() noexcept {
  return std::max(1U, AvailableCpus() / 8);
}

void SourceCompiler::CheckFolder(const ConvertSource& source, const std::filesystem::path& folder) {
  RequireFolder(folder);
  CheckFoldersApart(source, folder);
  std::error_code ignored;
  if (!std::filesystem::exists(folder, ignored)) return;
  try {
    const DatasetFolder claimed(folder);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kState) throw;
  }
}

SourceCompiler::SourceCompiler(const ConversionInput& input, Settings settings,
                               const std::stop_token& stop)
    : input_(input),
      schema_(std::make_shared<const ShardSchema>(input.schema)),
      settings_(std::move(settings)),
      shards_(input.plan.shards()) {
  try {
    folder_.emplace(settings_.folder);
    if (folder_->plan()) RequireFits(*folder_->plan());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kState) throw;
    if (const std::string plan = PlanIn(settings_.folder); !plan.empty()) RequireFits(plan);
  }
  try {
    thread_ = std::jthread([this](const std::stop_token& of_thread) { Run(of_thread); });
  } catch (const std::system_error&) {
    throw Error(ErrorCode::kMemory, "the system has no thread for compiling the source");
  }
  on_stop_.emplace(stop, [this] { thread_.request_stop(); });
}

SourceCompiler::~SourceCompiler() {
  // After a fork, the thread runs in the parent only.
  if (!process_.IsThis() && thread_.joinable()) thread_.detach();
}

// Throws unless the plan is the one that is played, and the folder's dataset, if it is finished, is
// as the plan makes it.
void SourceCompiler::RequireFits(const std::string& plan) const {
  Plan there = input_.plan;
  ResumePlan(plan, (settings_.folder / kPlanName).string(), there);
  if (there.shard_samples != input_.plan.shard_samples ||
      there.block_samples != input_.plan.block_samples) {
    throw Error(ErrorCode::kExists, settings_.folder.string(),
                "has a conversion with other numbers of samples in shards and blocks, so its order "
                "is another one; choose another folder, or remove this one");
  }
  Id128 id;
  const std::optional<Manifest> manifest = FindManifest(settings_.folder, id);
  if (manifest && !IsOfPlan(*manifest, input_.plan)) {
    throw Error(ErrorCode::kExists, settings_.folder.string(),
                "holds a dataset that was changed since it was compiled; play that dataset, or "
                "choose another folder");
  }
}

void SourceCompiler::Run(const std::stop_token& stop) {
  // On Linux this is a property of the thread, which its own threads inherit. It also lowers the
  // priority of what they read and write.
  constexpr int kLowest = 19;
  setpriority(PRIO_PROCESS, 0, kLowest);
  std::string why;
  try {
    if (input_.sources.store != nullptr) {
      // The store's reading ahead serves one reader, and its requests end with one stop request.
      own_.emplace(input_);
      own_->sources.SetRoot(settings_.source.root, stop);
    }
    LookForShards(stop);
    if (Claim(stop)) Compile(stop);
  } catch (const std::bad_alloc&) {
    why = "there is not enough memory";
  } catch (const std::exception& error) {
    why = error.what();
  }
  folder_.reset();
  if (why.empty() || stop.stop_requested()) return;
  Warn("the source is not compiled any further, and is played as it is: " + why +
       ". Once the cause is removed, the next start resumes the compilation");
}

// Waits until no other process has the folder, and takes it. Returns false if nothing is left to
// do.
bool SourceCompiler::Claim(const std::stop_token& stop) {
  using std::chrono::milliseconds;
  constexpr milliseconds kShortest{250}, kLongest{16'000};
  for (milliseconds pause = kShortest; !folder_; pause = std::min(2 * pause, kLongest)) {
    Sleep(pause, stop);
    if (stop.stop_requested()) return false;
    if (LookForShards(stop)) pause = kShortest;
    try {
      folder_.emplace(settings_.folder);
      if (folder_->plan()) RequireFits(*folder_->plan());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kState) throw;
    }
  }
  for (std::uint32_t shard = 0; shard < input_.plan.shards(); ++shard)
    if (Opened(shard) == nullptr) return true;
  Id128 id;
  return !FindManifest(settings_.folder, id);
}

// As Convert(), for a source that is listed already.
void SourceCompiler::Compile(const std::stop_token& stop) {
  const ConversionInput& input = own_ ? *own_ : input_;
  const ConvertHooks hooks = {.on_progress = {}, .stop = stop};
  const bool resumes = folder_->plan().has_value();
  const std::timespec time =
      resumes ? std::timespec{} : PlanTimeOf(input.sources, Threads(), hooks.stop);
  RemoveLeftovers(settings_.folder);
  if (!resumes) {
    folder_->Write(kPlanName, PlanToJson(input.plan, settings_.source.paths));
    SetPlanTime(settings_.folder, time);
  }
  Conversion conversion(*folder_, input, hooks);
  if (resumes) {
    conversion.Resume(Threads());
    LookForShards(stop);
  }
  conversion.on_shard = [this](const MadeShard& made) {
    RequireAsListed(made.origin.shard);
    OpenShard(made.origin.shard, false);
  };
  conversion.Run(Threads(), {});
  ConvertSummary summary = BeginSummary(input.sources);
  conversion.Finish(summary);
  RemovePlanned(settings_.folder);
  const std::vector<std::string>& said = input.sources.warnings;
  for (const std::string& warning : summary.warnings)
    if (std::find(said.begin(), said.end(), warning) == said.end()) Warn(warning);
}

void SourceCompiler::RequireAsListed(std::uint32_t shard) const {
  const std::uint64_t first = shard * input_.plan.shard_samples;
  for (std::uint64_t s = 0; s < input_.plan.SamplesOf(shard); ++s) {
    const std::size_t source = input_.order[first + s];
    try {
      settings_.check_time(source);
    } catch (const Error& error) {
      throw Error(error.code(), input_.sources.NameOf(source), error.sentence());
    }
  }
}

// Opens the shards that are in the folder. Returns whether there were any new ones.
bool SourceCompiler::LookForShards(const std::stop_token& stop) {
  bool any = false;
  for (std::uint32_t shard = 0; shard < input_.plan.shards() && !stop.stop_requested(); ++shard) {
    std::error_code ignored;
    if (Opened(shard) == nullptr &&
        std::filesystem::exists(settings_.folder / ShardFileName(shard), ignored))
      any |= OpenShard(shard, true);
  }
  return any;
}

// Returns false if the shard is damaged, or is not made of the files that were listed. (Playing
// such a file, or the conversion, says what is wrong.) `compare`: also false if the shard's first
// sample is another one, as of a folder with the same names and sizes.
bool SourceCompiler::OpenShard(std::uint32_t shard, bool compare) {
  // The plan's time is read before the shard: a process that advances it has first removed the
  // shards of files that were changed.
  struct stat plan {};
  if (stat((settings_.folder / kPlanName).c_str(), &plan) != 0) return false;
  std::optional<MadeFiles> files;
  try {
    files = OpenMadeShard(input_.plan, schema_, settings_.folder, shard);
    if (!files || !UnchangedSince(plan.st_mtim, input_, shard)) return false;
    RequireAsListed(shard);
    if (compare) {
      const ConversionInput& input = own_ ? *own_ : input_;
      SampleEncoder encoder(input.sources, input.options, input.schema, 0, 0);
      if (HasChanged(input, encoder, *files, shard * input.plan.shard_samples)) return false;
    }
  } catch (const Error&) {
    return false;
  }
  std::uint64_t samples = files->origin.left_out.size();
  for (const auto& part : files->parts)
    samples += part->samples();
  if (samples != input_.plan.SamplesOf(shard)) return false;
  const MutexLock lock(mutex_);
  if (shards_[shard].damaged || open_ >= kMaxOpen) return false;
  shards_[shard].files = std::make_shared<const MadeFiles>(*std::move(files));
  ++open_;
  return true;
}

std::shared_ptr<const MadeFiles> SourceCompiler::Opened(std::uint32_t shard) {
  const MutexLock lock(mutex_);
  return shards_[shard].files;
}

std::optional<EncodedSample> SourceCompiler::Find(std::uint32_t shard, std::uint64_t sample) {
  const std::shared_ptr<const MadeFiles> files = Opened(shard);
  if (files == nullptr) return std::nullopt;
  const std::uint64_t first = shard * input_.plan.shard_samples;
  const auto [part, index] = files->Find(first, first + sample);
  // A sample whose file ends early (IsTruncated) is made from its source instead: played from
  // there, a JPEG that ends early is taken as it is, and then is a fault. The compilation must not
  // change that.
  if (part == nullptr || files->IsTruncated(first + sample)) return std::nullopt;
  try {
    return CopyValues(*part, index);
  } catch (const Error& error) {
    if (IsShortage(error)) throw;
    {
      const MutexLock lock(mutex_);
      shards_[shard] = {nullptr, true};
      if (std::exchange(any_damaged_, true)) return std::nullopt;
    }
    Warn(std::string("a shard that the source was compiled into cannot be read, so its samples are "
                     "made from the source again: ") +
         error.what() + ". Remove this file, and the next start compiles it again");
    return std::nullopt;
  }
}

bool SourceCompiler::Expect(std::uint32_t shard, std::uint64_t begin, std::uint64_t end) {
  const std::shared_ptr<const MadeFiles> files = Opened(shard);
  if (files == nullptr) return false;
  const std::uint64_t first = shard * input_.plan.shard_samples;
  std::pair<const ShardFile*, std::uint32_t> last = {};
  for (std::uint64_t sample = begin; sample < end; ++sample) {
    const auto [part, index] = files->Find(first, first + sample);
    if (part == nullptr) continue;
    const auto block = static_cast<std::uint32_t>(index / part->block_samples());
    if (std::exchange(last, {part, block}) == std::pair(part, block)) continue;
    const BlockEntry& entry = part->block_entry(block);
    AskFor(part->bytes().subspan(entry.offset, entry.bytes));
  }
  return true;
}

void SourceCompiler::Warn(const std::string& text) const {
  if (settings_.on_warning) settings_.on_warning(text);
}

}  // namespace sluice
