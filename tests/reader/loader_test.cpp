// The loader's basic promises: every sample once, the same bytes for any threads, last batches,
// channels, errors and counts.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include <sluice/error.h>
#include <sluice/loader.h>

#include "tests/catch.h"
#include "tests/file_content.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

// The batches of an epoch, one after another.
struct Epoch {
  std::vector<std::uint64_t> samples;
  std::vector<std::uint8_t> pixels;
  std::vector<std::int32_t> labels;
  std::vector<std::size_t> sizes;  // of the batches
};

Epoch Play(Loader& loader, std::uint64_t epoch) {
  Epoch played;
  for (const Batch& batch : loader.Epoch(epoch)) {
    REQUIRE(batch.epoch() == epoch);
    REQUIRE(batch.index() == played.sizes.size());
    played.sizes.push_back(batch.size());
    const auto samples = batch.samples();
    played.samples.insert(played.samples.end(), samples.begin(), samples.end());
    const auto labels = batch.Field<std::int32_t>("label");
    played.labels.insert(played.labels.end(), labels.begin(), labels.end());
    const ImageBatch& image = batch.image();
    REQUIRE(image.samples == batch.size());
    played.pixels.insert(played.pixels.end(), image.data,
                         image.data + image.samples * image.sample_bytes());
  }
  return played;
}

void RequireEachOnce(std::vector<std::uint64_t> samples, std::uint64_t count) {
  REQUIRE(samples.size() == count);
  std::sort(samples.begin(), samples.end());
  for (std::uint64_t i = 0; i < count; ++i)
    REQUIRE(samples[i] == i);
}

std::string MessageOf(const std::function<void()>& action, ErrorCode code) {
  try {
    action();
  } catch (const Error& error) {
    UNSCOPED_INFO(error.what());
    CHECK(error.code() == code);
    return error.what();
  }
  FAIL("no error");
  return {};
}

}  // namespace

TEST_CASE("Every sample comes once per epoch with its own pixels and label, in every order") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 997));
  for (const Shuffle shuffle : {Shuffle::kQuasiRandom, Shuffle::kRandom, Shuffle::kSequential}) {
    for (const unsigned threads : {1U, 3U}) {
      for (const std::size_t batch_size : {1U, 10U, 256U, 2000U}) {
        LoaderOptions options = OptionsFor(batch_size, threads);
        options.order.shuffle = shuffle;
        options.order.lanes = 7;
        Loader loader(dataset, options);
        REQUIRE(loader.batches_per_epoch() == (997 + batch_size - 1) / batch_size);
        for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
          const Epoch played = Play(loader, epoch);
          RequireEachOnce(played.samples, 997);
          for (std::size_t i = 0; i < 997; ++i) {
            REQUIRE(played.labels[i] == static_cast<std::int32_t>(played.samples[i] % 10));
            REQUIRE(played.pixels[i * 192] == played.samples[i] % 251);
            REQUIRE(played.pixels[i * 192 + 191] == played.samples[i] % 251);
          }
        }
      }
    }
  }
}

TEST_CASE("Batches have the same bytes for any number of threads and any prefetch") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 90));
  Epoch first;
  for (const unsigned threads : {1U, 2U, 7U}) {
    LoaderOptions options = OptionsFor(16, threads);
    options.ring.prefetch = threads;
    options.transform = {RandomResizedCrop(32), HorizontalFlip()};
    options.seed = 3;
    Loader loader(dataset, options);
    Play(loader, 0);
    const Epoch played = Play(loader, 1);
    RequireEachOnce(played.samples, 90);
    if (threads == 1) first = played;
    REQUIRE(played.samples == first.samples);
    REQUIRE(played.pixels == first.pixels);
    REQUIRE(played.labels == first.labels);
  }
}

TEST_CASE("Epochs differ, seeds differ, and a repeated epoch is the same") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 40));
  LoaderOptions options = OptionsFor(8, 2);
  options.transform = {RandomResizedCrop(16)};
  Loader loader(dataset, options);
  const Epoch zero = Play(loader, 0);
  const Epoch one = Play(loader, 1);
  REQUIRE(zero.samples != one.samples);
  REQUIRE(zero.pixels != one.pixels);
  REQUIRE(Play(loader, 0).pixels == zero.pixels);
  REQUIRE(Play(loader, 7).pixels != zero.pixels);
  options.seed = 1;
  Loader other(dataset, options);
  REQUIRE(Play(other, 0).samples != zero.samples);
}

TEST_CASE("Pixels of a batch equal those of decoding each sample alone") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "same";
  {
    DatasetWriter writer(path, {{Field::Image(), Field::Label()}});
    for (int i = 0; i < 12; ++i) {
      SampleBuilder sample = writer.NewSample(std::to_string(i));
      sample.SetJpeg("image", MakeJpeg(MakePicture(50, 40, 3, static_cast<std::uint64_t>(i))));
      sample.Set<std::int32_t>("label", i);
      writer.Add(sample);
    }
    writer.Finish();
  }
  const Dataset dataset = Dataset::Open(path);
  Loader interleaved(dataset, OptionsFor(5, 2));
  LoaderOptions planar_options = OptionsFor(5, 2);
  planar_options.output.layout = Layout::kNCHW;
  Loader planar(dataset, planar_options);
  const Epoch nhwc = Play(interleaved, 0);
  const Epoch nchw = Play(planar, 0);
  for (std::size_t i = 0; i < 12; ++i) {
    const Image image = dataset[nhwc.samples[i]].Decode();
    REQUIRE(std::memcmp(&nhwc.pixels[i * 6000], image.pixels.data(), 6000) == 0);
    for (std::size_t p = 0; p < 2000; ++p) {
      for (std::size_t c = 0; c < 3; ++c) {
        REQUIRE(nchw.pixels[i * 6000 + c * 2000 + p] == image.pixels[p * 3 + c]);
      }
    }
  }
}

TEST_CASE("The last batch is kept short, dropped, or filled from the epoch's start") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 25));
  LoaderOptions options = OptionsFor(10, 2);
  Loader keep(dataset, options);
  const Epoch kept = Play(keep, 0);
  CHECK(kept.sizes == std::vector<std::size_t>{10, 10, 5});
  CHECK((keep.batches_per_epoch() == 3 && keep.samples_per_epoch() == 25));
  options.ranks.last_batch = LastBatch::kDrop;
  Loader drop(dataset, options);
  CHECK(Play(drop, 0).sizes == std::vector<std::size_t>{10, 10});
  CHECK((drop.batches_per_epoch() == 2 && drop.samples_per_epoch() == 20));
  options.ranks.last_batch = LastBatch::kPad;
  Loader pad(dataset, options);
  const Epoch padded = Play(pad, 0);
  CHECK(padded.sizes == std::vector<std::size_t>{10, 10, 10});
  CHECK(pad.samples_per_epoch() == 30);
  for (std::size_t i = 0; i < 5; ++i)
    CHECK(padded.samples[25 + i] == padded.samples[i]);
  std::vector<std::size_t> valid;
  for (const Batch& batch : pad.Epoch(1))
    valid.push_back(batch.valid());
  CHECK(valid == std::vector<std::size_t>{10, 10, 5});
}

TEST_CASE(
    "A dataset smaller than a batch has one short batch, and a loader that drops it is refused") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 3));
  LoaderOptions options = OptionsFor(8, 1);
  Loader keep(dataset, options);
  CHECK(Play(keep, 0).sizes == std::vector<std::size_t>{3});
  options.ranks.last_batch = LastBatch::kDrop;
  CHECK_THAT(MessageOf([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("it has 3 samples") && ContainsSubstring("batch_size is 8") &&
                 ContainsSubstring("make batch_size at most 3") && ContainsSubstring("kKeep"));
  options.ranks.last_batch = LastBatch::kPad;
  Loader pad(dataset, options);
  CHECK(Play(pad, 0).samples.size() == 8);
}

TEST_CASE("Grey and colour images are converted to the requested channels, or refused when mixed") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "mixed";
  {
    DatasetWriter writer(path, {{Field::Image(), Field::Label()}});
    for (std::uint32_t i = 0; i < 4; ++i) {
      SampleBuilder sample = writer.NewSample(std::to_string(i));
      sample.SetJpeg("image", MakeJpeg(MakePicture(16, 16, i % 2 == 0 ? 1 : 3)));
      sample.Set<std::int32_t>("label", static_cast<std::int32_t>(i));
      writer.Add(sample);
    }
    writer.Finish();
  }
  const Dataset dataset = Dataset::Open(path);
  LoaderOptions options = OptionsFor(4, 1);
  CHECK_THAT(MessageOf([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument),
             Catch::Matchers::ContainsSubstring("channels"));
  for (const unsigned channels : {1U, 3U}) {
    options.output.channels = channels;
    options.order.shuffle = Shuffle::kSequential;
    Loader loader(dataset, options);
    const Epoch played = Play(loader, 0);
    for (std::size_t i = 0; i < 4; ++i) {
      const auto expected =
          DecodeJpeg(MakeJpeg(MakePicture(16, 16, i % 2 == 0 ? 1 : 3)), channels).pixels;
      const std::span got = std::span(played.pixels).subspan(i * expected.size(), expected.size());
      REQUIRE(LargestDifference(expected, got) <= kChromaRounding);
    }
  }
}

TEST_CASE("Options that do not fit the dataset are refused at construction, with advice") {
  const TemporaryFolder folder;
  const Dataset sizes = Dataset::Open(WriteJpegDataset(folder, 30));
  CHECK_THAT(MessageOf([&] { Loader(sizes, OptionsFor(8, 1)); }, ErrorCode::kInvalidArgument),
             Catch::Matchers::ContainsSubstring("RandomResizedCrop"));
  const auto refused = [&](auto change) {
    LoaderOptions options = OptionsFor(8, 1);
    options.transform = {Resize(16)};
    change(options);
    MessageOf([&] { Loader(sizes, options); }, ErrorCode::kInvalidArgument);
  };
  refused([](LoaderOptions& o) { o.batch_size = 0; });
  refused([](LoaderOptions& o) { o.batch_size = std::size_t{1} << 40; });
  refused([](LoaderOptions& o) { o.ring.prefetch = 1025; });
  refused([](LoaderOptions& o) { o.threads = 5000; });
  refused([](LoaderOptions& o) { o.order.lanes = 0; });
  refused([](LoaderOptions& o) { o.output.channels = 2; });
  refused([](LoaderOptions& o) { o.output.image = "picture"; });
  refused([](LoaderOptions& o) { o.output.image = "label"; });
  refused([](LoaderOptions& o) { o.transform = {Resize(0)}; });
}

TEST_CASE("Batches larger than memory are refused before memory is taken") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 30));
  LoaderOptions options = OptionsFor(20'000, 1);
  options.transform = {Resize(4000)};  // a batch of 960 GB
  options.ring.prefetch = 1000;
  CHECK_THAT(MessageOf([&] { Loader(dataset, options); }, ErrorCode::kLimit),
             Catch::Matchers::ContainsSubstring("batch_size"));
}

TEST_CASE("A dataset without images gives its arrays as batches") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "arrays";
  {
    DatasetWriter writer(path, {{Field::Array("x", DType::kFloat32, {3}), Field::Label("y")}});
    for (int i = 0; i < 50; ++i) {
      SampleBuilder sample = writer.NewSample(std::to_string(i));
      const std::vector<float> values = {float(i), float(2 * i), float(3 * i)};
      sample.SetArray<float>("x", values);
      sample.Set<std::int32_t>("y", i);
      writer.Add(sample);
    }
    writer.Finish();
  }
  Loader loader(Dataset::Open(path), OptionsFor(7, 2));
  std::set<std::int32_t> seen;
  for (const Batch& batch : loader.Epoch(0)) {
    CHECK(batch.image().samples * batch.image().sample_bytes() == 0);
    const auto x = batch.Field<float>("x");
    const auto y = batch.Field<std::int32_t>("y");
    REQUIRE(x.size() == 3 * batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      CHECK(x[3 * i + 2] == float(3 * y[i]));
      CHECK(seen.insert(y[i]).second);
    }
    MessageOf([&] { batch.Field<float>("y"); }, ErrorCode::kInvalidArgument);
    MessageOf([&] { batch.Field<float>("z"); }, ErrorCode::kInvalidArgument);
  }
  CHECK(seen.size() == 50);
}

TEST_CASE(
    "A damaged sample is an error that names shard, sample and key, and batches before it come") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 64);
  const Dataset whole = Dataset::Open(path);
  const std::filesystem::path file = path / whole.shards()[0].file;
  const std::string bytes = ContentOf(file);
  const auto put = [&](char value) {
    std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(bytes.find(std::string(192, '\x28'))));  // sample 40
    out.put(value);
  };
  put('\x7f');
  const Dataset dataset = Dataset::Open(path);
  LoaderOptions options = OptionsFor(16, 2);
  options.order.shuffle = Shuffle::kSequential;
  options.integrity.verify = Verify::kAlways;
  {
    Loader loader(dataset, options);
    std::size_t batches = 0;
    const std::string message = MessageOf(
        [&] {
          for (const Batch& batch : loader.Epoch(0))
            batches += batch.size() == 16 ? 1 : 0;
        },
        ErrorCode::kCorrupt);
    CHECK(batches == 2);
    CHECK_THAT(message, Catch::Matchers::ContainsSubstring(whole.shards()[0].file));
    CHECK_THAT(message, Catch::Matchers::ContainsSubstring("sample 40 \"key-40\""));
    // The loader still works: another epoch gets as far.
    batches = 0;
    MessageOf(
        [&] {
          for (const Batch& batch : loader.Epoch(1))
            batches += batch.size() == 16 ? 1 : 0;
        },
        ErrorCode::kCorrupt);
    CHECK(batches == 2);
  }
  options.integrity.verify = Verify::kNever;
  Loader careless(dataset, options);
  CHECK(Play(careless, 0).samples.size() == 64);
  options.integrity.verify = Verify::kAuto;
  Loader once(dataset, options);
  for (const std::uint64_t epoch : {5, 6, 7})
    MessageOf([&] { Play(once, epoch); }, ErrorCode::kCorrupt);
  // A raw payload's checksum that has matched once is not compared again.
  put('\x28');
  CHECK(Play(once, 8).samples.size() == 64);
  put('\x7f');
  CHECK(Play(once, 9).samples.size() == 64);
}

TEST_CASE("A missing shard is an error of the epoch that needs it") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 64);
  Dataset dataset = Dataset::Open(path);
  std::filesystem::remove(path / dataset.shards()[0].file);
  Loader loader(dataset, OptionsFor(16, 2));
  MessageOf([&] { Play(loader, 0); }, ErrorCode::kNotFound);
}

TEST_CASE("Statistics count the batches handed over") {
  const TemporaryFolder folder;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 100)), OptionsFor(10, 2));
  Play(loader, 0);
  const LoaderStats stats = loader.Stats();
  CHECK(stats.samples == 100);
  CHECK(stats.batches == 10);
  CHECK(stats.payload_bytes >= 100 * 192);
  CHECK(stats.decode_seconds > 0);
  CHECK(loader.threads() == 2);
  // Four slots of ten 8x8 RGB pictures and ten labels; each part is aligned to a page or 64 bytes.
  CHECK(loader.memory_bytes() >= 4 * (10 * 192 + 10 * 4));
}

TEST_CASE("Without a number of threads, a loader chooses one") {
  const TemporaryFolder folder;
  Loader loader(Dataset::Open(WriteRawDataset(folder, 10)), OptionsFor(10, {}));
  CHECK(loader.threads() >= 1);
  CHECK(loader.threads() <= 1024);
}

TEST_CASE("Page-locked batches are delivered, or refused with a reason") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 20));
  LoaderOptions options = OptionsFor(10, 1);
  options.ring.pinned = true;
  try {
    Loader loader(dataset, options);
    CHECK(Play(loader, 0).samples.size() == 20);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kUnsupported);
    CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("pinned"));
  }
}
