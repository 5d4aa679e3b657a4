// Shards that other programs delete, replace or overwrite while they are played.
#include <fstream>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/reader/faulty_playing.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

// Limits the number of open files while an object lives.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t most) {
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before_) == 0);
    rlimit limit = before_;
    limit.rlim_cur = most;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// Writes the content into the existing file, instead of replacing the file.
void Overwrite(const std::filesystem::path& file, const std::string& content) {
  struct stat before {};
  struct stat after {};
  REQUIRE(stat(file.c_str(), &before) == 0);
  {
    std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
    out << content;
    REQUIRE(out.flush().good());
  }
  REQUIRE(stat(file.c_str(), &after) == 0);
  REQUIRE(before.st_ino == after.st_ino);
}

LoaderOptions PlayedBy(Shuffle shuffle, bool direct, Verify verify) {
  LoaderOptions options = OptionsFor(50, 2);
  options.order.shuffle = shuffle;
  if (direct) options.storage = Direct{};
  options.integrity.verify = verify;
  return options;
}

}  // namespace

TEST_CASE("Past the page cache and with few descriptors, deleted shards are read to their end") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 3000, 2);
  const Dataset dataset = Dataset::Open(path);
  const std::vector<ShardSummary>& shards = dataset.shards();
  REQUIRE(shards.size() >= 6);
  std::optional<Loader> whole;
  std::optional<Loader> labels;
  {
    const DescriptorLimit limit(16);  // four shards are kept open
    LoaderOptions options = OptionsFor(100, 2);
    options.storage = Direct{};
    whole.emplace(dataset, options);
    options.output.fields = {"label"};
    labels.emplace(dataset, options);
  }
  const auto play_labels = [&](std::uint64_t epoch) {
    std::uint64_t samples = 0;
    for (const Batch& batch : labels->Epoch(epoch)) {
      const auto values = batch.Field<std::int32_t>("label");
      for (std::size_t row = 0; row < batch.size(); ++row)
        REQUIRE(values[row] == static_cast<std::int32_t>(batch.samples()[row] % 10));
      samples += batch.size();
    }
    return samples;
  };
  REQUIRE(PlayOn(*whole, 0).samples.size() == 3000);
  REQUIRE(play_labels(0) == 3000);
  std::ofstream(folder / "nonsense") << "something else";
  std::filesystem::rename(folder / "nonsense", path / shards[1].file);
  std::filesystem::copy(path / shards[3].file, folder / "another");
  std::filesystem::rename(folder / "another", path / shards[2].file);
  std::filesystem::remove(path / shards[0].file);
  for (const std::uint64_t epoch : {7, 8}) {
    const Played played = PlayOn(*whole, epoch);
    CHECK(played.errors.empty());
    CHECK(played.samples.size() == 3000);
    CHECK(play_labels(epoch) == 3000);
  }
  CHECK(whole->Faults().empty());
}

TEST_CASE(
    "A shard that is overwritten in place is a fault with its name, and no wrong sample comes") {
  const TemporaryFolder folder;
  const TemporaryFolder other_folder;
  const std::filesystem::path path = WriteRawDataset(folder, 800, 2);
  const Dataset other = Dataset::Open(WriteRawDataset(other_folder, 801, 2));
  for (const bool direct : {false, true}) {
    for (const Shuffle shuffle : {Shuffle::kQuasiRandom, Shuffle::kRandom, Shuffle::kSequential}) {
      if (direct && shuffle == Shuffle::kRandom) continue;
      const Verify verify = shuffle == Shuffle::kSequential ? Verify::kNever : Verify::kAlways;
      const TemporaryFolder copy;
      std::filesystem::copy(path, copy / "d");
      const Dataset dataset = Dataset::Open(copy / "d");
      REQUIRE(dataset.shards().size() >= 2);
      Loader loader(dataset, PlayedBy(shuffle, direct, verify));
      REQUIRE(PlayOn(loader, 0).samples.size() == 800);
      const ShardSummary& shard = dataset.shards()[1];
      // Blocks of the same size at the same places, with other samples in them.
      const std::string content = ContentOf(other.path() / other.shards()[0].file);
      REQUIRE(content.size() >= shard.bytes);
      Overwrite(copy / "d" / shard.file, content);
      loader.Epoch(7);  // drops what was decoded ahead of epoch 1
      const Played played = PlayOn(loader, 1);
      REQUIRE_FALSE(played.errors.empty());
      for (const std::string& error : played.errors) {
        REQUIRE_THAT(error, ContainsSubstring(shard.file));
        REQUIRE_THAT(error, ContainsSubstring("overwritten"));
      }
      LoaderOptions options = PlayedBy(shuffle, false, verify);
      options.integrity.on_fault = OnFault::kSkip;
      Loader skipping(dataset, options);
      REQUIRE(PlayOn(skipping, 2).samples.size() == 800 - shard.samples);
    }
  }
}

TEST_CASE("A shard that is touched, linked, or overwritten with its own bytes still plays") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 1000);
  const Dataset dataset = Dataset::Open(path);
  const std::filesystem::path file = path / dataset.shards()[0].file;
  Loader mapped(dataset, PlayedBy(Shuffle::kQuasiRandom, false, Verify::kAlways));
  Loader direct(dataset, PlayedBy(Shuffle::kQuasiRandom, true, Verify::kAlways));
  std::uint64_t epoch = 0;
  const auto require_whole = [&] {
    for (Loader* const loader : {&mapped, &direct}) {
      loader->Epoch(epoch + 100);
      const Played played = PlayOn(*loader, epoch++);
      REQUIRE(played.errors.empty());
      REQUIRE(played.samples.size() == 1000);
    }
  };
  require_whole();
  for (const int hours : {-5, 0, 5}) {
    std::filesystem::last_write_time(
        file, std::filesystem::file_time_type::clock::now() + std::chrono::hours(hours));
    require_whole();
  }
  std::filesystem::create_hard_link(file, folder / "link");
  std::filesystem::permissions(
      file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  require_whole();
  Overwrite(file, ContentOf(file));
  require_whole();
}
