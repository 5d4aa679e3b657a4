// Additions to a dataset that are killed, or lose power, at any moment. The dataset must always be
// whole, with the old samples or with all. The same command run again must give the result of an
// uninterrupted run.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <set>

#include <sluice/dataset.h>
#include <sluice/dataset_edit.h>
#include <sluice/work_folder.h>

#include "format/disk/checksum.h"
#include "format/random.h"
#include "tests/catch.h"
#include "tests/interruption/conversion.h"
#include "tests/interruption/disk_model.h"
#include "tests/tools/sources.h"
#include "tests/writer/stored.h"

namespace sluice::test {

namespace {

using Clock = std::chrono::steady_clock;

// A dataset of one shard, and pictures for `shards` more.
class Addition {
 public:
  // `direct`: the command writes shards past the page cache; the run for after() does not.
  Addition(int shards, bool direct) {
    WriteClasses(folder_ / "first", 2, 60, 50);
    WriteClasses(folder_ / "second", (shards * 8 + 2) / 3, 50, 60);
    REQUIRE(
        Sluice({"convert", (folder_ / "first").string(), (folder_ / "before").string(), "--size",
                "200x160", "--image", "raw", "--shard-bytes", "1MB", "--threads", "2"})
            .exit_code == 0);
    before_ = ContentsOf(folder_ / "before");
    const auto data = Fresh();
    REQUIRE(Run(data).exit_code == 0);
    after_ = ContentsOf(data);
    all_ = Dataset::Open(data).size();
    REQUIRE(after_.size() >= before_.size() + 1 + static_cast<std::size_t>(shards));
    direct_ = direct;
  }

  const TemporaryFolder& folder() const { return folder_; }
  const Contents& before() const { return before_; }
  const Contents& after() const { return after_; }
  bool direct() const { return direct_; }
  std::filesystem::path source() const { return folder_ / "second"; }

  // Makes a new folder with a copy of the dataset before the addition, and returns the copy's path.
  // Files that the addition makes next to the dataset go into the same folder.
  std::filesystem::path Fresh() const {
    const auto work = folder_ / "work";
    std::filesystem::remove_all(work);
    std::filesystem::create_directory(work);
    std::filesystem::copy(folder_ / "before", work / "data");
    return work / "data";
  }
  static std::filesystem::path Beside(const std::filesystem::path& data) {
    return data.string() + ".append";
  }
  static std::filesystem::path Staging(const std::filesystem::path& data) {
    return Beside(data) / "dataset";
  }

  Words Command(const std::filesystem::path& data) const {
    Words words = {"append", source().string(), data.string(), "--threads", "2"};
    if (direct_) words.emplace_back("--direct");
    return words;
  }
  Outcome Run(const std::filesystem::path& data, const std::string& action = {},
              const std::filesystem::path& record = {}) const {
    if (action.empty() && record.empty()) return Sluice(Command(data));
    return Sluice(Command(data), Conversion::WithSeam(data.parent_path(), action, record));
  }

  // Checks that the dataset is whole, with the old samples or with all.
  void CheckWhole(const std::filesystem::path& data) const {
    const Dataset dataset = Dataset::Open(data);
    const bool whole = dataset.size() == 6 || dataset.size() == all_;
    CHECK(whole);
    for (std::uint64_t i = 0; i < dataset.size(); ++i)
      CHECK(dataset[i].Payload().width == 200);
  }
  // Runs the command again, and checks that it ends with the bytes of an uninterrupted run.
  void CheckResumes(const std::filesystem::path& data) const {
    const Outcome outcome = Run(data);
    INFO("stdout: " << outcome.out << "\nstderr: " << outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK(ContentsOf(data) == after_);
    CHECK_FALSE(std::filesystem::exists(Beside(data)));
  }

 private:
  TemporaryFolder folder_;
  bool direct_ = false;
  Contents before_, after_;
  std::uint64_t all_ = 0;  // samples
};

void KillBeforeCalls(int shards, bool direct, std::size_t first, std::size_t step) {
  const Addition addition(shards, direct);
  const auto record = addition.folder() / "record";
  REQUIRE(addition.Run(addition.Fresh(), "", record).exit_code == 0);
  const std::size_t calls = ReadRecord(record).size();
  REQUIRE(calls > 30);
  for (std::size_t call = first; call < calls; call += step) {
    INFO("killed before call " << call << " of " << calls);
    const auto data = addition.Fresh();
    CHECK(addition.Run(data, "kill:" + std::to_string(call)).signal == SIGKILL);
    addition.CheckWhole(data);
    addition.CheckResumes(data);
  }
}

void KillAdditions(int kills, bool direct) {
  const Addition addition(3, direct);
  const Clock::time_point start = Clock::now();
  REQUIRE(addition.Run(addition.Fresh()).exit_code == 0);
  const double run_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  RandomStream random(11, static_cast<Purpose>(999), 1);
  for (int attempt = 0; attempt < kills; ++attempt) {
    const auto data = addition.Fresh();
    const std::chrono::duration<double> wait(run_seconds * static_cast<double>(random.Below(1000)) /
                                             1000);
    Running running(SLUICE_COMMAND, addition.Command(data));
    const Clock::time_point begin = Clock::now();
    running.Wait([&](const Outcome&) {
      if (Clock::now() - begin >= wait) running.Signal(SIGKILL);
    });
    addition.CheckWhole(data);
    addition.CheckResumes(data);
  }
}

std::string DigestOfFolder(const DiskState& state) {
  if (!state) return "none";
  std::string text;
  for (const auto& [name, content] : *state)
    text += name + " " + ToHex(Hash128(AsBytes(content))) + "\n";
  return text;
}

void LayOutFolder(const DiskState& state, const std::filesystem::path& folder) {
  std::filesystem::remove_all(folder);
  if (!state) return;
  std::filesystem::create_directory(folder);
  for (const auto& [name, content] : *state)
    WriteBytes(folder / name, content);
}

// Goes through the states that a power loss after any call of a recorded addition may leave in two
// folders: the dataset's and the one of the added shards. Resumes the addition from every
// `every`-th of these states.
class AppendReplay {
 public:
  AppendReplay(const Addition& addition, std::size_t every) : addition_(addition), every_(every) {}

  void Run() {
    const auto recorded = addition_.Fresh();
    const auto record = addition_.folder() / "record";
    REQUIRE(addition_.Run(recorded, "", record).exit_code == 0);
    DiskModel data(recorded.string());
    data.Begin(addition_.before());
    DiskModel staging(Addition::Staging(recorded).string());
    std::size_t number = 0;
    for (RecordedCall call : ReadRecord(record)) {
      INFO("power lost after call " << number++);
      const std::string& path = call.call == FileCall::kLink ? call.to : call.path;
      const bool parent = path == recorded.parent_path().string();
      const auto in = [&path](const std::string& folder) {
        return path == folder || path.starts_with(folder + "/");
      };
      if (call.call == FileCall::kLink) {
        call.data = addition_.after().at(std::filesystem::path(path).filename().string());
      }
      if (path == Addition::Beside(recorded).string() ? call.call == FileCall::kSync
                                                      : in(Addition::Staging(recorded).string())) {
        staging.Apply(call);
      }
      if (parent || in(recorded.string())) data.Apply(call);
      data.ForEachState([&](const DiskState& one) {
        staging.ForEachState([&](const DiskState& other) { Visit(one, other); });
      });
    }
    CHECK(seen_.size() > 20);
    data.ForEachState(
        [&](const DiskState& state) { CHECK(state == DiskState(addition_.after())); });
  }

 private:
  void Visit(const DiskState& data, const DiskState& staging) {
    if (!seen_.insert(DigestOfFolder(data) + "beside it\n" + DigestOfFolder(staging)).second)
      return;
    if (seen_.size() % every_ != 0) return;
    const auto path = addition_.folder() / "replayed";
    LayOutFolder(data, path);
    std::filesystem::remove_all(Addition::Beside(path));
    if (staging) WorkFolder(Addition::Beside(path)).Keep();
    LayOutFolder(staging, Addition::Staging(path));
    addition_.CheckWhole(path);
    ConvertOptions options;
    options.run.threads = 2;
    options.run.direct = addition_.direct();
    AppendToDataset(path, addition_.source(), options);
    CHECK(ContentsOf(path) == addition_.after());
    CHECK_FALSE(std::filesystem::exists(Addition::Beside(path)));
  }

  const Addition& addition_;
  std::size_t every_;
  std::set<std::string> seen_;
};

}  // namespace

TEST_CASE(
    "an addition killed before some of its file calls leaves a whole dataset and can resume") {
  KillBeforeCalls(2, GENERATE(false, true), 4, 17);
}

TEST_CASE("an addition killed before any of its file calls can resume", "[slow]") {
  KillBeforeCalls(3, GENERATE(false, true), 0, 1);
}

TEST_CASE("an addition killed after its work but before its exit is finished by the next run") {
  const Addition addition(1, false);
  const auto record = addition.folder() / "record";
  REQUIRE(addition.Run(addition.Fresh(), "", record).exit_code == 0);
  const std::vector<RecordedCall> calls = ReadRecord(record);
  const auto last = std::find_if(calls.rbegin(), calls.rend(), [](const RecordedCall& call) {
    return call.call == FileCall::kUnlink;
  });
  REQUIRE(last != calls.rend());  // it removes the mark from the folder next to the dataset
  const auto data = addition.Fresh();
  CHECK(addition.Run(data, "kill:" + std::to_string(calls.rend() - last - 1)).signal == SIGKILL);
  addition.CheckResumes(data);
  // Now no file shows whether the addition was finished.
  const Outcome again = addition.Run(data);
  CHECK(again.exit_code == 0);
  CHECK(again.out.find("all already in the dataset: nothing was added") != std::string::npos);
  CHECK(ContentsOf(data) == addition.after());
}

TEST_CASE("an addition killed at a random time can resume") {
  KillAdditions(2, GENERATE(false, true));
}

TEST_CASE("additions killed 100 times at random can resume", "[slow]") {
  KillAdditions(50, GENERATE(false, true));
}

TEST_CASE(
    "after a power loss at any moment of an addition the dataset is whole, and it can resume") {
  const Addition addition(1, GENERATE(false, true));
  AppendReplay(addition, 19).Run();
}

TEST_CASE("an addition can resume from each state that a disk may hold after a power loss",
          "[slow]") {
  const Addition addition(2, GENERATE(false, true));
  AppendReplay(addition, 1).Run();
}

}  // namespace sluice::test
