// Loader::Row(), decoding in the consumer's thread, and state that each thread sets up for itself.
#include <atomic>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"
#include "tests/reader/tiny_shards.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

// A row: its pixels, its label and the number that the function drew.
struct SeenRow {
  std::vector<std::uint8_t> pixels;
  std::vector<double> numbers;
  friend bool operator==(const SeenRow&, const SeenRow&) = default;
};
SeenRow RowAt(const Batch& batch, std::size_t row) {
  const ImageBatch& image = batch.image();
  const std::uint8_t* const first = image.data + row * image.sample_bytes();
  return {{first, first + image.sample_bytes()},
          {double(batch.Field<std::int32_t>("label")[row]), batch.Field<double>("drawn")[row]}};
}

LoaderOptions DrawingOptions(std::size_t batch_size, unsigned threads) {
  LoaderOptions options = OptionsFor(batch_size, threads);
  options.transform = {RandomResizedCrop(24), HorizontalFlip(), ColorJitter{0.4}};
  options.sample_function = [](MutableSample& sample) {
    sample.Field<double>("drawn")[0] = sample.draws().Uniform();
  };
  options.output.made_fields = {Field::Array("drawn", DType::kFloat64, {})};
  return options;
}

// Checks that the epoch has as many rows as wanted, and that Row() makes each of them.
void CheckRows(Loader& loader, std::uint64_t epoch, std::size_t wanted) {
  std::size_t rows = 0;
  for (const Batch& batch : loader.Epoch(epoch)) {
    for (std::size_t row = 0; row < batch.valid(); ++row, ++rows) {
      const Batch one = loader.Row(batch.samples()[row], epoch);
      REQUIRE((one.size() == 1 && one.epoch() == epoch));
      REQUIRE(one.samples()[0] == batch.samples()[row]);
      REQUIRE(RowAt(one, 0) == RowAt(batch, row));
    }
  }
  REQUIRE(rows == wanted);
}

}  // namespace

TEST_CASE("A single row equals the sample's row in its epoch, in every order") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 23));
  LoaderOptions options = DrawingOptions(4, 2);
  std::size_t wanted = 23;
  SECTION("quasi-random") {
    options.order.lanes = 2;
  }
  SECTION("random, of one rank of two") {
    options.order.shuffle = Shuffle::kRandom;
    options.ranks = {.rank = 1, .world_size = 2};
    wanted = 11;
  }
  SECTION("a list, past the page cache") {
    options.order.samples = SampleList::Of({3, 9, 11, 22});
    options.storage = Direct{};
    wanted = 4;
  }
  SECTION("from kept pictures, by a schedule") {
    options.keep = DecodedPictures{1 << 20};
    options.schedule = {{1, {CenterResizedCrop(24)}}};
  }
  Loader loader(dataset, options);
  CheckRows(loader, 0, wanted);
  CheckRows(loader, 1, wanted);
  const Batch kept = loader.Row(dataset.size() - 1, 5);  // outlives the loader
  { const Loader gone = std::move(loader); }
  CHECK(kept.image().samples == 1);
}

TEST_CASE("If shards are dealt to ranks, Row() also finds samples of other ranks") {
  const TemporaryFolder folder;
  WriteTinyShards(folder / "tiny", 24);
  const Dataset dataset = Dataset::Open(folder / "tiny");
  std::map<std::uint64_t, double> drawn;
  LoaderOptions options = DrawingOptions(8, 1);
  options.transform.clear();
  for (unsigned rank = 0; rank < 2; ++rank) {
    options.ranks = {.rank = rank, .world_size = 2, .by_shards = true};
    Loader loader(dataset, options);
    for (const Batch& batch : loader.Epoch(2))
      for (std::size_t row = 0; row < batch.valid(); ++row)
        drawn[batch.samples()[row]] = batch.Field<double>("drawn")[row];
  }
  CHECK(drawn.size() == 48);
  Loader loader(dataset, options);
  for (const auto& [sample, number] : drawn)
    REQUIRE(loader.Row(sample, 2).Field<double>("drawn")[0] == number);
}

TEST_CASE("A row that does not exist or cannot be made is an error") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 30));
  LoaderOptions options = OptionsFor(8, 1);
  options.integrity.on_fault = OnFault::kSkip;
  options.order.samples = SampleList::Of({1, 5});
  options.transform = {OneHot(), MixUp(1)};
  options.sample_function = [](MutableSample& sample) {
    if (sample.index() == 5) throw std::runtime_error("five");
  };
  options.batch_function = [](MutableBatch&) { throw std::runtime_error("not for a row"); };
  Loader loader(dataset, options);
  const Batch one = loader.Row(1, 0);
  CHECK((one.Field<float>("target")[1] == 1 && one.image().data[0] == 1));
  const auto refusal = [&](std::uint64_t sample, ErrorCode code) {
    return ErrorText([&] { loader.Row(sample, 3); }, code);
  };
  CHECK_THAT(refusal(5, ErrorCode::kState), ContainsSubstring("five"));
  CHECK_THAT(refusal(2, ErrorCode::kInvalidArgument),
             ContainsSubstring("epoch 3 does not have sample 2"));
  CHECK_THAT(refusal(30, ErrorCode::kInvalidArgument), ContainsSubstring("the dataset has 30"));
  CHECK(loader.Faults().empty());
}

TEST_CASE("Several threads make rows while an epoch is played") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 24));
  Loader loader(dataset, DrawingOptions(4, 2));
  std::vector<SeenRow> rows(24);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < 24; i += 3)
        rows[i] = RowAt(loader.Row(i, 1), 0);
    });
  }
  for (const Batch& batch : loader.Epoch(0))
    CHECK(batch.size() > 0);
  for (std::thread& thread : threads)
    thread.join();
  for (const Batch& batch : loader.Epoch(1))
    for (std::size_t row = 0; row < batch.size(); ++row)
      CHECK(RowAt(batch, row) == rows[batch.samples()[row]]);
}

TEST_CASE("Several threads read samples of one dataset at random") {
  const TemporaryFolder folder;
  WriteTinyShards(folder / "tiny", 100);
  const Dataset dataset = Dataset::Open(folder / "tiny");
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 100; ++i) {
        const std::uint64_t n = (i * 37 + t * 53) % 200;
        const Sample sample = dataset[n];
        const bool right = sample.Decode().pixels[0] == n &&
                           sample.Integer("label") == static_cast<std::int64_t>(n % 2) &&
                           sample.key() == "key-" + std::to_string(n) &&
                           dataset.Find(sample.key()) == n;
        if (!right) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("Without threads, the consumer's thread decodes the same batches") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 30));
  LoaderOptions options = DrawingOptions(4, 3);
  std::vector<PlayedBatch> expected;
  {
    Loader loader(dataset, options);
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch)
      for (const PlayedBatch& batch : PlayBatches(loader, epoch))
        expected.push_back(batch);
  }
  options.threads = 0;
  std::set<std::thread::id> callers;
  std::uint64_t calls = 0;
  options.sample_function = [&](MutableSample& sample) {
    callers.insert(std::this_thread::get_id());
    ++calls;
    if (sample.state<int>() != 7) throw std::runtime_error("no state");
    sample.Field<double>("drawn")[0] = sample.draws().Uniform();
  };
  options.thread_setup = [](unsigned thread) { return std::any(7 + static_cast<int>(thread)); };
  Loader loader(dataset, options);
  CHECK(loader.threads() == 0);
  std::vector<PlayedBatch> played = PlayBatches(loader, 0, 2);
  CHECK(calls == 8);  // nothing ahead of the current batch
  played.clear();
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch)
    for (const PlayedBatch& batch : PlayBatches(loader, epoch))
      played.push_back(batch);
  CHECK(played == expected);
  CHECK(callers == std::set<std::thread::id>{std::this_thread::get_id()});
  const EpochRange range = loader.Epoch(4);
  CHECK(range.WaitFor(std::chrono::minutes(1)));
  calls = 0;
  CHECK(range.Next()->size() == 4);
  CHECK(calls == 4);
}

TEST_CASE("Each thread has a state of its own, set up once on that thread") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 64));
  struct State {
    std::thread::id thread;
    unsigned number;
    std::shared_ptr<int> counted;
  };
  const auto alive = std::make_shared<int>();
  std::atomic<unsigned> made = 0;
  std::atomic<int> wrong = 0;
  LoaderOptions options = OptionsFor(4, 3);
  options.thread_setup = [&](unsigned thread) {
    ++made;
    return std::any(State{std::this_thread::get_id(), thread, alive});
  };
  options.sample_function = [&](MutableSample& sample) {
    const State& state = sample.state<State>();
    if (state.thread != std::this_thread::get_id() || state.number > 2) ++wrong;
  };
  options.batch_function = [&](MutableBatch& batch) {
    if (batch.state<State>().thread != std::this_thread::get_id()) ++wrong;
  };
  {
    Loader loader(dataset, options);
    CHECK(made == 3);  // the constructor has waited for all threads
    CHECK(PlayBatches(loader, 0).size() == 16);
  }
  CHECK(wrong == 0);
  CHECK(made == 3);
  options.thread_setup = nullptr;
  CHECK(alive.use_count() == 1);  // the states are gone
}

TEST_CASE("A thread's set-up that fails is the constructor's error") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 20));
  LoaderOptions options = OptionsFor(4, GENERATE(0U, 3U));
  options.thread_setup = [threads = *options.threads](unsigned thread) -> std::any {
    if (thread + 1 >= threads) throw std::runtime_error("no card");
    return 1;
  };
  const auto make = [&] { const Loader loader(dataset, options); };
  CHECK_THAT(ErrorText(make, ErrorCode::kState),
             ContainsSubstring("thread_setup threw for thread") && ContainsSubstring("no card"));
  options.thread_setup = [](unsigned) { return std::any(2.5); };
  options.sample_function = [](MutableSample& sample) { sample.state<int>() = 1; };
  Loader loader(dataset, options);
  CHECK_THAT(ErrorText([&] { PlayBatches(loader, 0); }, ErrorCode::kState),
             ContainsSubstring("another type"));
}
