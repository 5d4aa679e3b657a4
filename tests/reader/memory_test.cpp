// The memory that a loader states (Memory()) bounds the memory that the process uses, in every way
// of reading.
#include <algorithm>
#include <fstream>
#include <set>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/disk/file.h"
#include "format/disk/manifest.h"
#include "tests/reader/cached_pages.h"
#include "tests/reader/playing.h"
#include "tests/reader/process_memory.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

// Mapped in addition to blocks: for the header and the directory, the 64 KiB that the kernel maps
// around a page that is read, for up to four pages; and the two folios of up to 2 MiB in which a
// block begins and ends that was just read and is not yet released.
constexpr std::uint64_t kMappedAlong = 4 * 65536 + 2 * (std::uint64_t{2} << 20);

// Rewrites each shard in one large write, so that the page cache holds it in folios as large as
// possible.
void RewriteShards(const Dataset& dataset) {
  for (const ShardSummary& shard : dataset.shards()) {
    const std::filesystem::path file = dataset.path() / shard.file;
    std::vector<std::byte> content;
    ReadFile(file, shard.bytes, content);
    WriteFile(file, content);
  }
}

// Four lanes of two blocks.
LoaderOptions SmallWindow(Behind behind) {
  LoaderOptions options = OptionsFor(16, 2);
  options.ring.prefetch = 2;
  options.order.lanes = 4;
  options.order.window_bytes = 4 * 40 * kPictureBytes;  // two blocks a lane, of 16 samples each
  options.storage = Mapped{.behind = behind};
  return options;
}

}  // namespace

TEST_CASE("The memory bound is the sum for the slots, the threads and the window") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 1600));
  LoaderOptions options = SmallWindow(Behind::kUnmap);
  options.ring.prefetch = 3;
  options.ring.hold = 2;
  Loader loader(dataset, options);
  const LoaderMemory memory = loader.Memory();
  CHECK(memory.slots == loader.memory_bytes());
  CHECK(memory.slots >= 6 * 16 * kPictureBytes);
  CHECK(memory.slots < 6 * 17 * (kPictureBytes + 64));
  // For each of two threads: 2 MiB, 24 bytes for each pixel of the largest picture with 32 pixels
  // more on each axis, and four payloads.
  CHECK(memory.scratch == 2 * ((2 << 20) + 24 * 96 * 96 + 4 * kPictureBytes));
  CHECK(memory.own() == memory.slots + memory.scratch + memory.bookkeeping);
  // 100 blocks, of which 8 are open.
  CHECK(memory.window == 8 * ((dataset.shards()[0].bytes + 99) / 100));
  CHECK(memory.mapped == 2 * memory.window);
  options.storage = Mapped{.behind = Behind::kKeep};
  CHECK(Loader(dataset, options).Memory().mapped == dataset.shards()[0].bytes);
  options.order.shuffle = Shuffle::kRandom;
  CHECK(Loader(dataset, options).Memory().window >= dataset.shards()[0].bytes);
}

TEST_CASE("A rank of two has half of the window") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 800));
  LoaderOptions options = SmallWindow(Behind::kUnmap);
  const std::uint64_t alone = Loader(dataset, options).Memory().window;
  options.ranks.world_size = 2;
  const LoaderMemory shared = Loader(dataset, options).Memory();
  CHECK(shared.window == alone / 2);
  // Three windows rather than two, because of the number of samples that the ring holds, and in the
  // tail one block of each of the four lanes.
  const std::uint64_t block = alone / 8;
  CHECK(shared.mapped == 3 * shared.window + 4 * block);
}

TEST_CASE("Mapped memory stays under two windows if used blocks are released", "[no-tsan]") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteLargerDataset(folder, 1600);
  if (GENERATE(false, true)) RewriteShards(Dataset::Open(path));
  const std::uint64_t often = kSanitized ? 20 : 4;  // adding up a sanitizer's mappings takes long
  for (const Shuffle shuffle : {Shuffle::kQuasiRandom, Shuffle::kSequential}) {
    for (const Behind behind : {Behind::kUnmap, Behind::kDrop}) {
      const Dataset dataset = Dataset::Open(path);
      LoaderOptions options = SmallWindow(behind);
      options.order.shuffle = shuffle;
      Loader loader(dataset, options);
      std::uint64_t most = 0;
      for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        std::set<std::uint64_t> samples;
        for (const Batch& batch : loader.Epoch(epoch)) {
          samples.insert(batch.samples().begin(), batch.samples().end());
          for (std::size_t row = 0; row < batch.size(); ++row)
            REQUIRE(batch.image().data[row * kPictureBytes] ==
                    static_cast<std::uint8_t>(batch.samples()[row]));
          if (batch.index() % often == 0) most = std::max(most, MappedBytes(path.string()));
        }
        REQUIRE(samples.size() == 1600);
      }
      CHECK(most > 0);
      CHECK(most <= loader.Memory().mapped + kMappedAlong);
    }
  }
}

TEST_CASE("Used blocks are released when epochs are left early and on several ranks", "[no-tsan]") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteLargerDataset(folder, 1600);
  LoaderOptions options = SmallWindow(Behind::kUnmap);
  options.ranks.world_size = 2;
  options.ranks.rank = 1;
  Loader loader(Dataset::Open(path), options);
  std::uint64_t most = 0;
  for (std::uint64_t round = 0; round < 12; ++round) {
    std::uint64_t batches = 0;
    for (const Batch& batch : loader.Epoch(round / 3)) {
      REQUIRE(batch.size() > 0);
      most = std::max(most, MappedBytes(path.string()));
      if (++batches == 5 + round) break;
    }
  }
  // An epoch that was left keeps its window open until the ring has gone round once more.
  CHECK(most <= 2 * loader.Memory().mapped + kMappedAlong);
}

TEST_CASE("Released blocks leave the page cache") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 1600));
  if (!DropFromCache(dataset)) {
    WARN("skipped: this file system drops nothing");
    return;
  }
  Loader loader(dataset, SmallWindow(Behind::kDrop));
  PlayBatches(loader, 0, 90);
  CHECK(CachedBytes(dataset) <= dataset.shards()[0].bytes / 2);
}

TEST_CASE("The loader's own memory stays under the bound, for every kind of file", "[no-tsan]") {
  const bool views = GENERATE(false, true);
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "kinds";
  {
    DatasetWriter writer(path, {{Field::Image()}}, {"kinds", 4'000'000, 4});
    for (int i = 0; i < 24; ++i) {
      JpegOptions kind;
      kind.progressive = i % 2 == 0;
      kind.subsample = i % 3 != 0;
      kind.restart_rows = i % 4 == 1 ? 1 : 0;
      SampleBuilder sample = writer.NewSample(std::to_string(i));
      const auto side = static_cast<std::uint32_t>(400 + 16 * i);
      sample.SetJpeg("image",
                     MakeJpeg(MakePicture(side, side, 3, static_cast<std::uint64_t>(i)), kind));
      writer.Add(sample);
    }
    writer.Finish();
  }
  LoaderOptions options = OptionsFor(4, 2);
  options.transform = {RandomResizedCrop(224), HorizontalFlip()};
  for (int i = 0; views && i < 10; ++i)
    options.views.push_back({"v" + std::to_string(i), {RandomResizedCrop(200)}, {}});
  const std::uint64_t before = AnonymousBytes();
  Loader loader(Dataset::Open(path), options);
  std::uint64_t most = 0;
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    for (const Batch& batch : loader.Epoch(epoch)) {
      REQUIRE(batch.size() == 4);
      most = std::max(most, AnonymousBytes());
    }
  }
  if (!kSanitized) CHECK(most <= before + loader.Memory().own());
}

namespace {

// Sample i has (i % 7)^4 x 16 bytes of boxes and a text of (i % 5) x 20 kB, which is compressed in
// every second sample. Samples have no picture.
std::filesystem::path WriteValues(const TemporaryFolder& folder, int count) {
  const std::filesystem::path path = folder / "values";
  DatasetWriter writer(path,
                       {{Field::Variable("boxes", DType::kFloat32, {4}), Field::Bytes("text")}},
                       {"values", 4'000'000, 8});
  for (int i = 0; i < count; ++i) {
    SampleBuilder sample = writer.NewSample(std::to_string(i));
    const int n = i % 7;
    sample.SetArray<float>("boxes",
                           std::vector<float>(static_cast<std::size_t>(4 * n * n * n * n)));
    std::string text(static_cast<std::size_t>(i % 5) * 20'000, 'a');
    for (std::size_t at = 0; at < text.size(); at += 3)
      text[at] = static_cast<char>('a' + (at * at + static_cast<std::size_t>(i)) % 26);
    sample.SetText("text", text, i % 2 == 0);
    writer.Add(sample);
  }
  writer.Finish();
  return path;
}

// Removes the limits of values from the manifest, as in datasets written before those existed.
void ForgetValues(const std::filesystem::path& path) {
  Id128 id;
  Manifest manifest = ReadManifest(path, id);
  REQUIRE(manifest.values.size() == 2);
  manifest.values.clear();
  WriteFile(path / kManifestName, AsBytes(ManifestToJson(manifest, id)));
}

}  // namespace

TEST_CASE("Fields of variable size count twice their largest value for each row") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteValues(folder, 100);
  LoaderOptions options = OptionsFor(5, 1);
  options.ring.prefetch = 3;
  options.ring.hold = 2;
  // For a row: twice the largest value, and 128 bytes of overhead.
  const std::uint64_t boxes = 2 * 16 * 6 * 6 * 6 * 6 + 128;
  const std::uint64_t text = 2 * 80'000 + 128;
  for (const bool known : {true, false}) {
    if (!known) ForgetValues(path);
    const Dataset dataset = Dataset::Open(path);
    options.output.fields = {};
    const LoaderMemory memory = Loader(dataset, options).Memory();
    CHECK(memory.variable == 6 * 5 * (boxes + text));
    CHECK(memory.own() == memory.slots + memory.variable + memory.scratch + memory.bookkeeping);
    options.output.fields = {"boxes"};
    CHECK(Loader(dataset, options).Memory().variable == 6 * 5 * boxes);
  }
}

TEST_CASE("Memory for values of very different sizes stays under the bound") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteValues(folder, 420));
  const LoaderOptions options = OptionsFor(12, 3);
  const std::uint64_t before = AnonymousBytes();
  Loader loader(dataset, options);
  std::uint64_t most = 0;
  for (std::uint64_t epoch = 0; epoch < 6; ++epoch) {
    for (const Batch& batch : loader.Epoch(epoch)) {
      const auto boxes = batch.Variable<float>("boxes");
      for (std::size_t row = 0; row < batch.size(); ++row) {
        const std::uint64_t n = batch.samples()[row] % 7;
        REQUIRE(boxes[row].size() == 4 * n * n * n * n);
        REQUIRE(batch.Text("text", row).size() == batch.samples()[row] % 5 * 20'000);
      }
      most = std::max(most, AnonymousBytes());
    }
  }
  if (!kSanitized) CHECK(most <= before + loader.Memory().own());
}

namespace {

// A new memory cgroup, if this process may make one.
class MemoryGroup {
 public:
  explicit MemoryGroup(std::uint64_t limit) {
    const std::string name = "/sluice-test-" + std::to_string(getpid());
    if (Make("/sys/fs/cgroup/memory" + name, "memory.limit_in_bytes", limit)) return;
    Make("/sys/fs/cgroup" + name, "memory.max", limit);
  }
  ~MemoryGroup() {
    if (!folder_.empty()) rmdir(folder_.c_str());
  }
  bool made() const { return !folder_.empty(); }
  static constexpr int kNoEntry = 77;  // this process may not put another one into the group
  // Runs the program in the group and returns its exit code, 256 + the signal that ended it, or
  // kNoEntry.
  int Run(const std::string& command) const {
    const std::string inside = "echo $$ > '" + folder_ + "/cgroup.procs' || exit " +
                               std::to_string(kNoEntry) + "; exec " + command;
    const int status = std::system(("sh -c \"" + inside + "\"").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
  }

 private:
  bool Make(const std::string& folder, const char* limit_file, std::uint64_t limit) {
    if (mkdir(folder.c_str(), 0755) != 0) return false;
    std::ofstream file(folder + "/" + limit_file);
    file << limit << std::flush;
    if (file.good()) {
      folder_ = folder;
    } else {
      rmdir(folder.c_str());
    }
    return made();
  }
  std::string folder_;
};

}  // namespace

TEST_CASE("A dataset four times as large as a memory group allows is played for several epochs") {
  constexpr std::uint64_t kLimit = 12 << 20;
  const MemoryGroup group(kLimit);
  if (!group.made() || kSanitized) {
    WARN("skipped: this process may not make a memory group, or runs under a sanitizer");
    return;
  }
  const TemporaryFolder folder;
  constexpr int kSamples = 4 * kLimit / kPictureBytes;
  const std::filesystem::path path = WriteLargerDataset(folder, kSamples);
  for (const std::string behind : {"keep", "drop"}) {
    // Pages that are already in memory count for another group.
    if (!DropFromCache(Dataset::Open(path))) WARN("this file system drops nothing");
    const std::string out = (folder / "out").string();
    const int result = group.Run(std::string(SLUICE_PLAY_BOUNDED) + " '" + path.string() + "' " +
                                 behind + " 3 > '" + out + "'");
    if (result == MemoryGroup::kNoEntry) {
      WARN("skipped: this process may not put another into a group");
      return;
    }
    REQUIRE(result == 0);
    std::ifstream answer(out);
    int samples = 0;
    answer >> samples;
    CHECK(samples == 3 * kSamples);
  }
}
