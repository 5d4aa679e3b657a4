// Keeping decoded rows and pictures for later epochs, and locking a dataset in memory.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/resource.h>
#include <unistd.h>

#include "reader/reading/decoded_picture_cache.h"
#include "tests/file_content.h"
#include "tests/reader/playing.h"
#include "tests/reader/process_memory.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

const Pipeline kFixed = {ResizeShortSide{48}, CenterCrop(40), HorizontalFlip(), RandomErasing()};
const Pipeline kRandom = {RandomResizedCrop(32), HorizontalFlip()};

LoaderOptions Keeping(const Pipeline& transform, std::uint64_t bytes, unsigned threads = 2) {
  LoaderOptions options = OptionsFor(16, threads);
  options.transform = transform;
  options.keep = DecodedPictures{bytes};
  return options;
}

// In dB, over all values of the batches.
double Psnr(const std::vector<PlayedBatch>& a, const std::vector<PlayedBatch>& b) {
  double squares = 0;
  std::size_t values = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    REQUIRE(a[i].samples == b[i].samples);
    REQUIRE(a[i].pixels.size() == b[i].pixels.size());
    for (std::size_t j = 0; j < a[i].pixels.size(); ++j) {
      const double difference = double(a[i].pixels[j]) - double(b[i].pixels[j]);
      squares += difference * difference;
    }
    values += a[i].pixels.size();
  }
  return 10 * std::log10(255.0 * 255.0 * double(values) / std::max(squares, 1e-9));
}

}  // namespace

TEST_CASE("Kept rows give the same batches to the byte, and later epochs decode nothing") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 100));
  for (const Layout layout : {Layout::kNHWC, Layout::kNCHW}) {
    for (const bool in_file : {false, true}) {
      for (const bool channels : {false, true}) {
        if (kSanitized && channels != (layout == Layout::kNCHW)) continue;
        LoaderOptions options = Keeping(kFixed, 1'000'000);
        options.output.layout = layout;
        options.output.channels = channels ? 1 : 0;
        if (in_file) options.keep->folder = folder.path().string();
        Loader keeping(dataset, options);
        options.keep.reset();
        Loader plain(dataset, options);
        REQUIRE(PlayBatches(keeping, 0) == PlayBatches(plain, 0));
        REQUIRE(PlayBatches(keeping, 1) == PlayBatches(plain, 1));
        // At the end of epoch 0, two threads may have decoded the same picture, one for each epoch.
        // By now all are kept.
        const std::uint64_t decoded = keeping.Stats().payload_bytes;
        for (std::uint64_t epoch = 2; epoch < 5; ++epoch)
          REQUIRE(PlayBatches(keeping, epoch) == PlayBatches(plain, epoch));
        CHECK(keeping.Stats().kept_pictures == 100);
        CHECK(keeping.Stats().kept_bytes == 100 * 40 * 40 * (channels ? 1 : 3));
        CHECK(keeping.Stats().payload_bytes == decoded);
        CHECK(decoded < 2 * dataset.images()[0].payload_bytes);
      }
    }
  }
}

TEST_CASE(
    "Whole pictures are kept for random crops, and crops do not depend on which pictures fit") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 100));
  Loader all(dataset, Keeping(kRandom, 4'000'000));
  Loader some(dataset, Keeping(kRandom, 600'000, 3));
  Loader hardly_any(dataset, Keeping(kRandom, 1, 1));
  LoaderOptions plain_options = OptionsFor(16, 2);
  plain_options.transform = kRandom;
  Loader plain(dataset, plain_options);
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    const std::vector<PlayedBatch> played = PlayBatches(all, epoch);
    REQUIRE(played == PlayBatches(some, epoch));
    REQUIRE(played == PlayBatches(hardly_any, epoch));
    CHECK(Psnr(played, PlayBatches(plain, epoch)) > 30);
  }
  CHECK(all.Stats().kept_pictures == 100);
  CHECK(all.Stats().payload_bytes < 2 * dataset.images()[0].payload_bytes);
  CHECK(some.Stats().kept_pictures > 20);
  CHECK(some.Stats().kept_pictures < 50);
  CHECK(some.Stats().kept_bytes <= 600'000);
  CHECK(hardly_any.Stats().kept_pictures == 0);
}

TEST_CASE("Raw pictures are not kept: there is nothing to decode") {
  const TemporaryFolder folder;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 100)), Keeping({}, 1'000'000));
  REQUIRE(PlayBatches(loader, 0).size() == 7);
  CHECK(loader.Stats().kept_pictures == 0);
}

TEST_CASE("A damaged picture is not kept, and is a fault in every epoch") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteJpegDataset(folder, 40);
  {
    const Dataset dataset = Dataset::Open(path);
    const Bytes payload = dataset[17].Payload().bytes;
    const std::filesystem::path file = path / dataset.shards().at(0).file;
    const std::string bytes = ContentOf(file);
    const std::string part(reinterpret_cast<const char*>(payload.data()), payload.size());
    const std::size_t at = bytes.find(part);
    REQUIRE(at != std::string::npos);
    std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(at + payload.size() / 2));
    out.put(static_cast<char>(~bytes[at + payload.size() / 2]));
  }
  for (const Verify verify : {Verify::kAlways, Verify::kNever}) {
    LoaderOptions options = Keeping(kRandom, 4'000'000);
    options.integrity.on_fault = OnFault::kSkip;
    options.integrity.verify = verify;
    Loader loader(Dataset::Open(path), options);
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch)
      REQUIRE(SamplesOf(PlayBatches(loader, epoch)).size() == 39);
    CHECK(loader.Stats().kept_pictures == 39);
    CHECK(loader.Faults().at(0).sample == 17);
  }
}

TEST_CASE("A cache gives back the pictures put into it, up to its budget, from any thread") {
  const TemporaryFolder folder;
  for (const std::string& where : {std::string(), folder.path().string()}) {
    DecodedPictureCache store(1000, 64 * 500, where);
    const auto picture_of = [](std::uint64_t sample) {
      return std::vector<std::byte>(33 + sample % 32, static_cast<std::byte>(sample));
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (std::uint64_t sample = 0; sample < 1000; ++sample)
          store.Put(sample, picture_of(sample));
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    CHECK(store.full());
    CHECK(store.kept() == 500);
    std::vector<std::byte> scratch;
    std::uint64_t found = 0;
    for (std::uint64_t sample = 0; sample < 1000; ++sample) {
      const Bytes got = store.Get(sample, scratch);
      CHECK(store.Has(sample) == !got.empty());
      if (got.empty()) continue;
      ++found;
      const std::vector<std::byte> expected = picture_of(sample);
      REQUIRE(std::equal(got.begin(), got.end(), expected.begin(), expected.end()));
    }
    CHECK(found == 500);
  }
}

TEST_CASE("A budget that exceeds memory or the disk is refused before anything is read") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 10));
  LoaderOptions options = Keeping(kFixed, std::uint64_t{1} << 50);
  CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kLimit),
             ContainsSubstring("DecodedPictures::bytes"));
  // The memory for batches must be there besides.
  LoaderOptions large = Keeping({Resize(1024, 1024)}, AvailableMemory() - (100 << 20));
  large.batch_size = 256;
  CHECK_THAT(ErrorText([&] { Loader(dataset, large); }, ErrorCode::kLimit),
             ContainsSubstring("decoded pictures (LoaderOptions::keep) take"));
  options.keep->folder = (folder / "nowhere").string();
  CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kIo),
             ContainsSubstring("nowhere"));
  options.keep->folder = folder.path().string();
  CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kIo),
             ContainsSubstring("has no room"));
  options = Keeping(kFixed, 0);
  CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("LoaderOptions::keep.bytes must be at least 1"));
}

namespace {

// What a function has made of all samples of an epoch: pixels, a number and a list for each.
struct Made {
  std::vector<std::uint8_t> pixels;
  std::vector<double> numbers;
  // For each sample, -1 if it has a list and -2 if it has none, then the list's values.
  std::vector<std::int64_t> lists;
  friend bool operator==(const Made&, const Made&) = default;
};

Made PlayMade(Loader& loader, std::uint64_t epoch) {
  Made made;
  for (const Batch& batch : loader.Epoch(epoch)) {
    const ImageBatch& image = batch.image();
    made.pixels.insert(made.pixels.end(), image.data,
                       image.data + image.samples * image.sample_bytes());
    const auto numbers = batch.Field<double>("number");
    made.numbers.insert(made.numbers.end(), numbers.begin(), numbers.end());
    const auto lists = batch.Variable<std::int64_t>("list");
    for (std::size_t row = 0; row < batch.size(); ++row) {
      made.lists.push_back(batch.Has("list", row) ? -1 : -2);
      made.lists.insert(made.lists.end(), lists[row].begin(), lists[row].end());
    }
  }
  return made;
}

}  // namespace

TEST_CASE("Results of a deterministic function are kept, and it is not called for them again") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 60));
  std::atomic<int> calls = 0;
  const auto make = [](MutableSample& sample) {
    for (std::uint8_t& value : sample.image())
      value = static_cast<std::uint8_t>(255 - value);
    sample.Field<double>("number")[0] = 0.5 * double(sample.index());
    const std::vector<std::int64_t> list(sample.index() % 3, std::int64_t(sample.index()));
    if (sample.index() % 4 != 0) sample.SetVariable<std::int64_t>("list", list);
  };
  LoaderOptions options = Keeping({Resize(24, 24)}, 1'000'000);
  options.sample_function = [&](MutableSample& sample) { void(++calls), make(sample); };
  options.output.made_fields = {Field::Array("number", DType::kFloat64, {}),
                                Field::Variable("list", DType::kInt64, {})};
  LoaderOptions plainly = options;
  plainly.sample_function = make;
  plainly.keep.reset();
  options.keep->function_is_deterministic = true;
  bool all = true;
  SECTION("in memory") {}
  SECTION("in a file") {
    options.keep->folder = folder.path().string();
  }
  SECTION("as many as there is room for") {
    options.keep->bytes = 20'000;  // of 60 rows of 1752 bytes and more
    all = false;
  }
  {
    Loader keeping(dataset, options);
    Loader plain(dataset, plainly);
    CHECK(keeping.Describe().find("kept as sample_function left them") != std::string::npos);
    for (const std::uint64_t epoch : {0, 1})
      CHECK(PlayMade(keeping, epoch) == PlayMade(plain, epoch));
    // While the last rows of epoch 0 were made, other threads may have made the first rows of epoch
    // 1, also of samples that were not kept yet. By now all are kept, and no more calls follow.
    const int settled = calls;
    CHECK(settled >= 60);
    for (const std::uint64_t epoch : {2, 3})
      CHECK(PlayMade(keeping, epoch) == PlayMade(plain, epoch));
    CHECK((calls == settled) == all);
    CHECK(keeping.Stats().kept_bytes <= options.keep->bytes);
    CHECK((keeping.Stats().kept_pictures == 60) == all);
    CHECK(keeping.Stats().kept_pictures > 0);
  }
}

TEST_CASE(
    "Keeping a function's results is refused without a function, and with random steps before it") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 10));
  LoaderOptions options = Keeping({Resize(24, 24)}, 1'000'000);
  options.keep->function_is_deterministic = true;
  const auto refused = [&](const char* why) {
    CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument),
               ContainsSubstring(why));
  };
  refused("but that function is not set");
  options.sample_function = [](MutableSample&) {};
  for (const Transform& step : {Transform(HorizontalFlip()), Transform(RandomErasing())}) {
    options.transform = {Resize(24, 24), step};
    refused("is random in each epoch");
  }
  options.transform = {RandomResizedCrop(24)};
  refused("RandomResizedCrop");
  options.transform = {Resize(24, 24)};
  options.views = {{"second", {RandomResizedCrop(24)}, {}}};
  refused("RandomResizedCrop");
}

TEST_CASE("A locked dataset is resident as a whole when the loader is made, or refused") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 4000);
  const Dataset dataset = Dataset::Open(path);
  LoaderOptions options = OptionsFor(16, 2);
  options.storage = Locked{};
  try {
    Loader loader(dataset, options);
    const std::uint64_t bytes = dataset.shards()[0].bytes + dataset.shards()[1].bytes;
    REQUIRE(dataset.shards().size() == 2);
    // Sanitizers make mlock do nothing.
    if (!kSanitized) CHECK(SumOfMappings("Locked", " " + path.string()) == bytes);
    if (!kSanitized) CHECK(MappedBytes(path.string()) == bytes);
    CHECK(SamplesOf(PlayBatches(loader, 0)).size() == 4000);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kLimit);
    CHECK_THAT(error.what(), ContainsSubstring("ulimit -l"));
  }
  options.stage = Stage{(folder / "stage").string(), 1'000'000};
  CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("stage"));
}

TEST_CASE("A locked dataset with a missing shard is refused, or played without it") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 4000));
  REQUIRE(dataset.shards().size() == 2);
  std::filesystem::remove(dataset.path() / dataset.shards()[0].file);
  LoaderOptions options = OptionsFor(16, 2);
  options.storage = Locked{};
  ErrorText([&] { Loader(dataset, options); }, ErrorCode::kNotFound);
  options.integrity.on_fault = OnFault::kSkip;
  try {
    Loader loader(dataset, options);
    CHECK(SamplesOf(PlayBatches(loader, 0)).size() == dataset.shards()[1].samples);
    REQUIRE(loader.Faults().size() == 1);
    CHECK(loader.Faults()[0].times >= dataset.shards()[0].samples);
  } catch (const Error& error) {  // this process may not lock as much
    CHECK(error.code() == ErrorCode::kLimit);
  }
}

TEST_CASE("The memory that may be locked is given in the unit of `ulimit -l`") {
  if (kSanitized) return;  // mlock does nothing there
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 4000));
  LoaderOptions options = OptionsFor(16, 2);
  options.storage = Locked{};
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_MEMLOCK, &before) == 0);
  rlimit little = before;
  little.rlim_cur = 65536;
  REQUIRE(setrlimit(RLIMIT_MEMLOCK, &little) == 0);
  try {
    Loader loader(dataset, options);
    WARN("skipped: this process may lock whatever it likes");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kLimit);
    CHECK_THAT(error.what(), ContainsSubstring("may lock 64 KiB in memory"));
  }
  setrlimit(RLIMIT_MEMLOCK, &before);
}
