// Power losses. The tests make states that a disk may have after a power loss at any moment of a
// conversion. They open the dataset in each state, run the reading commands on some of them, and
// resume the conversion.
#include <set>

#include <sluice/convert.h>
#include <sluice/dataset.h>
#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/interruption/conversion.h"
#include "tests/interruption/disk_model.h"
#include "tests/tools/sources.h"

namespace sluice::test {

namespace {

// The same conversion as Conversion::Command(), but without a new process, because there are many
// states.
void Resume(const Conversion& conversion, const std::filesystem::path& data) {
  ConvertOptions options;
  options.geometry.max_side.reset();
  options.geometry.size = Size{200, 160};
  options.form.image = ImageCodec::kRaw;
  options.shards.shard_bytes = 1'000'000;
  options.run.threads = 2;
  options.run.direct = conversion.direct();
  Convert(conversion.source(), data, options);
}

std::string DigestOf(const DiskState& state) {
  if (!state) return "none";
  std::string text;
  for (const auto& [name, content] : *state)
    text += name + " " + ToHex(Hash128(AsBytes(content))) + "\n";
  return text;
}

void LayOut(const DiskState& state, const std::filesystem::path& data) {
  std::filesystem::remove_all(data);
  if (!state) return;
  std::filesystem::create_directory(data);
  for (const auto& [name, content] : *state)
    WriteBytes(data / name, content);
}

class Replay {
 public:
  Replay(const Conversion& conversion, std::size_t every)
      : conversion_(conversion), every_(every), data_(conversion.folder() / "replayed") {}

  // Tests every `every`-th new state after each call of a record. If `finished`, only one state may
  // be possible after the last call: the whole dataset.
  void Run(const std::vector<RecordedCall>& calls, const std::filesystem::path& recorded,
           bool finished) {
    DiskModel model(recorded.string());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      INFO("power lost after call " << i);
      model.Apply(calls[i]);
      model.ForEachState([&](const DiskState& state) { Visit(state); });
    }
    if (!finished) return;
    std::size_t states = 0;
    model.ForEachState([&](const DiskState& state) {
      ++states;
      CHECK(state == DiskState(conversion_.expected()));
    });
    CHECK(states == 1);
  }

  std::size_t states() const { return seen_.size(); }

 private:
  void Visit(const DiskState& state) {
    if (!seen_.insert(DigestOf(state)).second || seen_.size() % every_ != 0) return;
    LayOut(state, data_);
    Read(state == DiskState(conversion_.expected()));
    if (seen_.size() % (every_ * 40) == 0) conversion_.CheckReaders(data_);
    Resume(conversion_, data_);
    CHECK(ContentsIfAny(data_) == conversion_.expected());
  }

  // Checks that a folder with a manifest can be read as a whole dataset, and that opening a folder
  // without one gives a clear error. A complete folder must have a manifest.
  void Read(bool complete) const {
    if (std::filesystem::exists(data_ / "manifest.json")) {
      const Dataset dataset = Dataset::Open(data_);
      for (std::uint64_t i = 0; i < dataset.size(); ++i)
        dataset[i].Payload();
      return;
    }
    CHECK_FALSE(complete);
    const auto error = ErrorOf([&] { Dataset::Open(data_); });
    REQUIRE(error);
    const bool clear =
        error->code() == ErrorCode::kUnfinished || error->code() == ErrorCode::kNotFound;
    CHECK(clear);
  }

  const Conversion& conversion_;
  std::size_t every_;
  std::filesystem::path data_;
  std::set<std::string> seen_;
};

// Replays an uninterrupted run and, for each of `kills`, a run that was killed before this call and
// then resumed.
void ReplayConversions(int shards, bool direct, std::size_t every, const std::vector<int>& kills) {
  const Conversion conversion(shards, direct);
  Replay replay(conversion, every);
  const auto data = conversion.folder() / "recorded";
  const auto record = conversion.folder() / "record";
  REQUIRE(conversion.Run(data, "", record).exit_code == 3);
  replay.Run(ReadRecord(record), data, true);
  for (const int kill : kills) {
    INFO("killed before call " << kill);
    std::filesystem::remove_all(data);
    std::filesystem::remove(record);
    conversion.Run(data, "kill:" + std::to_string(kill), record);
    REQUIRE(conversion.Run(data, "", record).exit_code == 3);
    replay.Run(ReadRecord(record), data, true);
  }
  CHECK(replay.states() > 20);
}

}  // namespace

TEST_CASE("after a power loss at any moment, a conversion can resume from the folder") {
  ReplayConversions(2, GENERATE(false, true), 17, {20});
}

TEST_CASE("a conversion can resume from each state that a disk may hold after a power loss",
          "[slow]") {
  std::vector<int> kills;
  for (int call = 1; call < 60; ++call)
    kills.push_back(call);
  ReplayConversions(3, GENERATE(false, true), 1, kills);
}

}  // namespace sluice::test
