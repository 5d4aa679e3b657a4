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

#include <sluice/instances.h>

#include "format/disk/file.h"
#include "format/disk/manifest.h"
#include "tests/reader/cached_pages.h"
#include "tests/reader/playing.h"
#include "tests/reader/process_memory.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

// Four lanes of two blocks.
LoaderOptions SmallWindow() {
  LoaderOptions options = OptionsFor(16, 2);
  options.ring.prefetch = 2;
  options.order.lanes = 4;
  options.order.window_bytes = 4 * 40 * kPictureBytes;  // two blocks a lane, of 16 samples each
  return options;
}

}  // namespace

TEST_CASE("The memory bound is the sum for the slots, the threads and the window") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 1600));
  LoaderOptions options = SmallWindow();
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
  CHECK(memory.mapped == dataset.shards()[0].bytes);
  options.order.shuffle = Shuffle::kRandom;
  CHECK(Loader(dataset, options).Memory().window >= dataset.shards()[0].bytes);
}

TEST_CASE("A rank of two has half of the window") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteLargerDataset(folder, 800));
  LoaderOptions options = SmallWindow();
  const std::uint64_t alone = Loader(dataset, options).Memory().window;
  options.ranks.world_size = 2;
  options.storage = Direct{};
  const LoaderMemory shared = Loader(dataset, options).Memory();
  CHECK(shared.window == alone / 2);
  // Three windows rather than two, because of the number of samples that the ring holds; a block
  // for each of two threads; and an eighth.
  const std::uint64_t block = alone / 8;
  CHECK(shared.blocks == ((3 * shared.window + 2 * block) * 9 + 7) / 8);
}

TEST_CASE("The loader's own memory stays under the bound, for every kind of file",
          "[no-asan][no-tsan]") {
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
  for (const std::string storage : {"mapped", "direct"}) {
    // Pages that are already in memory count for another group.
    if (!DropFromCache(Dataset::Open(path))) WARN("this file system drops nothing");
    const std::string out = (folder / "out").string();
    const int result = group.Run(std::string(SLUICE_PLAY_BOUNDED) + " '" + path.string() + "' " +
                                 storage + " 3 > '" + out + "'");
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

namespace {

constexpr int kCrowdObjects = 300, kCrowdSide = 256;

// Pictures of 256 x 256 with 300 objects each. An object's outline is a comb as wide as the
// picture, so that its runs are long.
std::filesystem::path WriteCrowded(const TemporaryFolder& folder, int count) {
  const Field boxes = BoxesField();
  Field instances = Field::Bytes("instances", Role::kInstances);
  instances.follows = "image";
  DatasetWriter writer(folder / "crowded", {{Field::Image(), boxes, instances}},
                       {"crowded", 40'000'000, 4});
  const std::vector<std::uint8_t> pixels(std::size_t{kCrowdSide} * kCrowdSide * 3);
  for (int i = 0; i < count; ++i) {
    SampleBuilder sample = writer.NewSample(std::to_string(i));
    sample.SetPixels("image", kCrowdSide, kCrowdSide, 3, PixelType::kUint8,
                     std::as_bytes(std::span(pixels)));
    std::vector<float> corners;
    InstancesBuilder builder;
    for (int object = 0; object < kCrowdObjects; ++object) {
      const float top = float(object % 100), bottom = top + 60 + float(object / 100);
      corners.insert(corners.end(), {0, top, float(kCrowdSide), bottom});
      std::vector<float> outline = {0, top};
      for (float x = 0; x < float(kCrowdSide); x += 4) {
        for (const float number : {x, bottom, x + 2, bottom, x + 2, top + 20, x + 4, top + 20})
          outline.push_back(number);
      }
      outline.insert(outline.end(), {float(kCrowdSide), top});
      builder.BeginObject();
      builder.AddOutline(outline);
    }
    sample.SetArray<float>("boxes", corners);
    std::vector<std::byte> value;
    builder.Finish(value);
    sample.SetBytes("instances", value);
    writer.Add(sample);
  }
  writer.Finish();
  return folder / "crowded";
}

}  // namespace

TEST_CASE("Memory for 300 objects a picture stays under the bound, which is lower for fewer",
          "[no-asan][no-tsan]") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteCrowded(folder, 32));
  LoaderOptions options = OptionsFor(8, 2);
  options.ring.prefetch = 1;
  options.order.lanes = 8;
  options.order.shuffle = Shuffle::kRandom;
  options.transform = {Mosaic(kCrowdSide), RandomCrop(kCrowdSide)};
  const std::uint64_t all = Loader(dataset, options).Memory().variable;
  options.output.boxes.min_mask = GENERATE(0, 1);
  if (GENERATE(false, true)) options.output.boxes.most = 30;
  const std::uint64_t before = AnonymousBytes();
  Loader loader(dataset, options);
  std::uint64_t most = 0, bytes = 0;
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    for (const Batch& batch : loader.Epoch(epoch)) {
      bytes = std::max(bytes, std::uint64_t{batch.VariableArray("instances").bytes});
      most = std::max(most, AnonymousBytes());
    }
  }
  if (!kSanitized) CHECK(most <= before + loader.Memory().own());
  // The test would show nothing if the instances were small.
  CHECK(bytes >
        (options.output.boxes.most ? 8 * 30 : 8 * kCrowdObjects) * 4 * std::uint64_t{kCrowdSide});
  if (options.output.boxes.most) CHECK(loader.Memory().variable < all * 3 / 4);
}
