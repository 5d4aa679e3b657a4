// The order of the steps keeps a change from being missed. The plan's new time is fixed before the
// first suspect is read (FindSuspects()): a file that changes during the comparison is then later
// than that time, and the next run finds it. PlanTimeOf() begins with the current time for the same
// reason.
// The current time is taken from the coarse clock that files get theirs from; a finer clock could
// be ahead of a file that is written later.
// All threads compare the samples of one shard at a time: only its files are open meanwhile.
#include "writer/convert/changed_sources.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>

#include <fcntl.h>
#include <sys/stat.h>

#include <sluice/error.h>

#include "format/disk/shard_build.h"
#include "format/parallel.h"
#include "writer/edit/stored_dataset.h"

namespace sluice {

namespace {

// Seconds since 1970 and nanoseconds.
using Time = std::pair<std::int64_t, std::int64_t>;
constexpr Time kUnknown = {0, 0};

Time TimeOf(const struct timespec& time) {
  return {time.tv_sec, time.tv_nsec};
}

std::timespec SpecOf(const Time& time) {
  return {static_cast<std::time_t>(time.first), static_cast<long>(time.second)};
}

std::timespec Now(clockid_t clock) {
  std::timespec now{};
  clock_gettime(clock, &now);
  return now;
}

// The current time of the clock that most file systems take files' times from.
Time FileClock() {
  return TimeOf(Now(CLOCK_REALTIME_COARSE));
}

// The later of a file's modification time and its status change time. If a copy or a move kept the
// modification time, the status change time still tells when that was done. kUnknown if the file is
// missing.
//
// A modification time in the future (of a camera, or from an archive of another time zone) is not
// when the file was changed. The status change time is then used alone: each write and each setting
// of a time moves it to the current time.
Time ChangeOf(const std::filesystem::path& file, const Time& now) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0) return kUnknown;
  const Time written = TimeOf(info.st_mtim);
  return written > now ? TimeOf(info.st_ctim) : std::max(written, TimeOf(info.st_ctim));
}

class SourceTimes {
 public:
  explicit SourceTimes(const SourceList& sources) : sources_(sources) {
    for (const std::filesystem::path& archive : sources.archives)
      archives_.push_back(ChangeOf(archive, now_));
  }

  // The later of `known` and the source's time, which is ignored if it lies in the future.
  Time Latest(const Time& known, std::size_t source) const {
    const Time time = Of(source);
    return time > now_ ? known : std::max(known, time);
  }

  // The latest time of all files that the source's sample is made of.
  Time Of(std::size_t source) const {
    Time last = kUnknown;
    if (!archives_.empty()) {
      last = archives_[sources_.ArchiveOf(source)];
    } else if (sources_.store != nullptr) {
      last = {sources_.sources[source].changed, 0};
    }
    sources_.ForEachFile(source, [&](const std::filesystem::path& file) {
      last = std::max(last, ChangeOf(file, now_));
    });
    return last;
  }

 private:
  const SourceList& sources_;
  std::vector<Time> archives_;
  const Time now_ = TimeOf(Now(CLOCK_REALTIME));
};

bool AreSame(const FieldValue& a, const FieldValue& b) {
  return a.bytes == b.bytes && a.codec == b.codec && a.width == b.width && a.height == b.height &&
         a.channels == b.channels && a.pixel_type == b.pixel_type;
}

bool AreSame(const EncodedSample& a, const EncodedSample& b) {
  return a.key == b.key &&
         std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end(),
                    [](const FieldValue& x, const FieldValue& y) { return AreSame(x, y); });
}

class Comparison {
 public:
  Comparison(const ConversionInput& of, const std::filesystem::path& folder,
             const std::vector<std::optional<MadeShard>>& made, const ConvertHooks& hooks)
      : of_(of), folder_(folder), made_(made), hooks_(hooks) {}

  ChangedSources Run(unsigned threads) {
    // A folder with the same names and sizes may be another source, whose files are as old.
    const bool all = of_.options.run.check == SourceCheck::kContent ||
                     !Changed(Sample(), threads, false).empty();
    FindSuspects(threads, all);
    found_.positions = Changed(suspects_, threads, true);
    found_.compared = suspects_.size();
    return std::move(found_);
  }

 private:
  // A few positions of the shards that are made, evenly spaced, whose sources can be examined.
  std::vector<std::uint64_t> Sample() const {
    constexpr std::uint64_t kSampled = 16;
    std::vector<std::uint64_t> positions;
    for (std::size_t shard = 0; shard < made_.size(); ++shard) {
      if (!made_[shard] || made_[shard]->parts.empty() || !LiesHere(*made_[shard])) continue;
      for (std::uint64_t s = 0; s < of_.plan.SamplesOf(shard); ++s)
        positions.push_back(shard * of_.plan.shard_samples + s);
    }
    const std::size_t step = std::max<std::size_t>(1, positions.size() / kSampled);
    const SourceTimes times(of_.sources);
    std::vector<std::uint64_t> sampled;
    for (std::size_t i = 0; i < positions.size(); i += step) {
      if (times.Of(of_.order[positions[i]]) != kUnknown) sampled.push_back(positions[i]);
    }
    return sampled;
  }

  // Those of the positions, which ascend, whose samples differ from the stored ones.
  std::vector<std::uint64_t> Changed(const std::vector<std::uint64_t>& positions, unsigned threads,
                                     bool reports) {
    const std::uint64_t header_bytes = BuildShardHeader(of_.schema, {}, 1).size();
    const std::uint64_t reserve_bytes = OriginBound(of_.plan.SamplesOf(0));
    std::vector<SampleEncoder> encoders;
    encoders.reserve(threads);
    for (unsigned i = 0; i < threads && !positions.empty(); ++i)
      encoders.emplace_back(of_.sources, of_.options, of_.schema, header_bytes, reserve_bytes);
    const auto schema = std::make_shared<const ShardSchema>(of_.schema);
    std::vector<std::uint64_t> found;
    std::atomic<std::uint64_t> compared{0};
    for (auto begin = positions.begin(); begin != positions.end();) {
      const std::uint64_t shard = *begin / of_.plan.shard_samples;
      const auto end = std::find_if(begin, positions.end(), [&](std::uint64_t position) {
        return position / of_.plan.shard_samples != shard;
      });
      const std::optional<MadeFiles> files =
          OpenMadeShard(of_.plan, schema, folder_, static_cast<std::uint32_t>(shard));
      std::vector<char> changed(static_cast<std::size_t>(end - begin));
      ParallelFor(threads, changed.size(), hooks_.stop, [&](unsigned worker, std::size_t i) {
        const std::uint64_t position = *(begin + static_cast<std::ptrdiff_t>(i));
        changed[i] = !files || HasChanged(of_, encoders[worker], *files, position) ? 1 : 0;
        if (reports) Report(++compared, positions.size());
      });
      if (hooks_.stop.stop_requested()) ThrowStopped();
      for (std::size_t i = 0; i < changed.size(); ++i) {
        if (changed[i] != 0) found.push_back(*(begin + static_cast<std::ptrdiff_t>(i)));
      }
      begin = end;
    }
    return found;
  }

  // Finds the positions whose sources may have changed, and the plan's new time.
  void FindSuspects(unsigned threads, bool all) {
    struct stat plan {};
    if (stat((folder_ / kPlanName).c_str(), &plan) != 0) return;
    const Time since = TimeOf(plan.st_mtim);
    Time latest = std::max(since, FileClock());
    const SourceTimes times(of_.sources);
    std::vector<std::vector<std::uint64_t>> by_shard(made_.size());
    ParallelFor(threads, made_.size(), hooks_.stop, [&](unsigned, std::size_t shard) {
      if (!made_[shard] || !LiesHere(*made_[shard])) return;
      const std::uint64_t first = shard * of_.plan.shard_samples;
      const std::uint64_t end = first + of_.plan.SamplesOf(shard);
      for (std::uint64_t p = first; p < end && !hooks_.stop.stop_requested(); ++p) {
        if (all || times.Of(of_.order[p]) > since) by_shard[shard].push_back(p);
      }
    });
    if (hooks_.stop.stop_requested()) ThrowStopped();
    for (const std::vector<std::uint64_t>& positions : by_shard)
      suspects_.insert(suspects_.end(), positions.begin(), positions.end());
    for (const std::uint64_t position : suspects_)
      latest = times.Latest(latest, of_.order[position]);
    found_.plan_time = SpecOf(latest);
  }

  bool LiesHere(const MadeShard& made) const {
    return std::all_of(made.parts.begin(), made.parts.end(), [this](const FinishedShard& part) {
      return std::filesystem::exists(folder_ / part.shard.file);
    });
  }

  void Report(std::uint64_t compared, std::uint64_t of) {
    using Clock = std::chrono::steady_clock;
    if (!hooks_.on_look) return;
    const std::lock_guard lock(mutex_);
    if (Clock::now() - last_ < std::chrono::milliseconds(200)) return;
    last_ = Clock::now();
    hooks_.on_look(compared, of);
  }

  const ConversionInput& of_;
  const std::filesystem::path& folder_;
  const std::vector<std::optional<MadeShard>>& made_;
  const ConvertHooks& hooks_;
  std::vector<std::uint64_t> suspects_;  // positions
  ChangedSources found_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace

void SetPlanTime(const std::filesystem::path& folder, const std::timespec& when) {
  const std::array<std::timespec, 2> times = {std::timespec{0, UTIME_OMIT}, when};
  // A failure is ignored: it only means that more sources are compared than necessary.
  utimensat(AT_FDCWD, (folder / kPlanName).c_str(), times.data(), 0);
}

std::timespec PlanTimeOf(const SourceList& sources, unsigned threads, const std::stop_token& stop) {
  constexpr std::size_t kRun = 1024;  // sources that a thread takes at a time
  const Time begun = FileClock();
  const SourceTimes times(sources);
  std::vector<Time> latest(threads, begun);
  ParallelFor(threads, (sources.sources.size() + kRun - 1) / kRun, stop,
              [&](unsigned worker, std::size_t run) {
                const std::size_t end = std::min((run + 1) * kRun, sources.sources.size());
                for (std::size_t s = run * kRun; s < end; ++s)
                  latest[worker] = times.Latest(latest[worker], s);
              });
  if (stop.stop_requested()) ThrowStopped();
  return SpecOf(*std::max_element(latest.begin(), latest.end()));
}

bool HasChanged(const ConversionInput& of, SampleEncoder& encoder, const MadeFiles& files,
                std::uint64_t position) {
  const Outcome now = encoder.Encode(of.order[position]);
  if (now.unreadable) return false;
  const std::string* const left_out = files.LeftOut(position);
  if (left_out != nullptr || !now.reason.empty())
    return left_out == nullptr || *left_out != now.reason;
  const std::uint64_t first = position / of.plan.shard_samples * of.plan.shard_samples;
  const MadeFiles::Place then = files.Find(first, position);
  return then.part == nullptr || !AreSame(now.sample, CopySample(*then.part, then.index));
}

bool UnchangedSince(const std::timespec& time, const ConversionInput& of, std::uint32_t shard) {
  const SourceTimes times(of.sources);
  const std::uint64_t first = shard * of.plan.shard_samples;
  for (std::uint64_t p = first; p < first + of.plan.SamplesOf(shard); ++p) {
    if (times.Of(of.order[p]) > TimeOf(time)) return false;
  }
  return true;
}

ChangedSources FindChangedSources(const ConversionInput& of, const std::filesystem::path& folder,
                                  const std::vector<std::optional<MadeShard>>& made,
                                  unsigned threads, const ConvertHooks& hooks) {
  return Comparison(of, folder, made, hooks).Run(threads);
}

}  // namespace sluice
