// The dataset that a source is compiled into while it is played (PlayOptions::compile_to).
//
// A thread of low priority converts the source as Convert() does, from the list and the plan that
// are played: so the dataset is that of Convert(), byte for byte, and an interrupted one is resumed
// by the next training, or by Convert(). A sample has the same number in both. So as soon as a
// shard is made, its samples are read from there, and nothing else changes: not the order, not the
// batches.
//
// A shard is only read if it was made of the files that were listed. An earlier run may have made
// it, or another process that plays the same source (only one of them compiles; the others look for
// its shards). So the times of the shard's files are compared with the list, and with the time of
// the plan (changed_sources.h). This is done once, on the compiler's thread. A shard that fails
// this test, or that turns out to be damaged, is not read: its samples are made as if it did not
// exist.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <sluice/convert_source.h>

#include "format/mutex.h"
#include "format/own_process.h"
#include "writer/convert/dataset_folder.h"
#include "writer/convert/plan.h"
#include "writer/convert/planned_shard.h"

namespace sluice {

// Thread-safe.
class SourceCompiler {
 public:
  struct Settings {
    std::filesystem::path folder;
    ConvertSource source;
    // Throws an Error without a name if that source of the list was changed since.
    std::function<void(std::size_t source)> check_time;
    // Called by any thread.
    std::function<void(const std::string&)> on_warning;
  };

  // Throws Error(kInvalidArgument, kExists) if the source may not be compiled into that folder,
  // whatever samples it has. Call it before the source is listed.
  static void CheckFolder(const ConvertSource& source, const std::filesystem::path& folder);

  // Begins to compile. `input`, with its plan settled, must outlive the compiler. Throws
  // Error(kExists) if the folder has other samples or other options.
  SourceCompiler(const ConversionInput& input, Settings settings, const std::stop_token& stop);
  // Ends the compilation within the time that a sample takes.
  ~SourceCompiler();
  SourceCompiler(const SourceCompiler&) = delete;
  SourceCompiler& operator=(const SourceCompiler&) = delete;

  // The values of a sample, by its number in the planned shard. nullopt if it is not compiled yet,
  // or if a conversion leaves it out.
  std::optional<EncodedSample> Find(std::uint32_t shard, std::uint64_t sample);
  // Begins to read what Find() will need for these samples. Returns false if their shard is not
  // compiled yet.
  bool Expect(std::uint32_t shard, std::uint64_t begin, std::uint64_t end);

  // The threads that make samples for the dataset.
  static unsigned Threads() noexcept;

 private:
  void RequireFits(const std::string& plan) const;
  void Run(const std::stop_token& stop);
  bool Claim(const std::stop_token& stop);
  void Compile(const std::stop_token& stop);
  bool LookForShards(const std::stop_token& stop);
  bool OpenShard(std::uint32_t shard, bool compare);
  void RequireAsListed(std::uint32_t shard) const;
  std::shared_ptr<const MadeFiles> Opened(std::uint32_t shard);
  void Warn(const std::string& text) const;

  struct Shard {
    std::shared_ptr<const MadeFiles> files;  // null: not compiled yet
    bool damaged = false;
  };

  const ConversionInput& input_;
  const std::shared_ptr<const ShardSchema> schema_;
  const Settings settings_;
  const OwnProcess process_;             // a fork of this object has no thread_
  std::optional<ConversionInput> own_;   // the thread's, if the sources lie in a store
  std::optional<DatasetFolder> folder_;  // empty while another process works in it
  Mutex mutex_;
  std::vector<Shard> shards_ GUARDED_BY(mutex_);
  std::size_t open_ GUARDED_BY(mutex_) = 0;  // shards that are mapped
  bool any_damaged_ GUARDED_BY(mutex_) = false;
  std::jthread thread_;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;  // of the user's request
};

}  // namespace sluice
