// The user's own functions on samples and on batches.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>

#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

// Inverts pixels, and writes a draw and copies of the sample's number into fields.
void InvertAndNote(MutableSample& sample) {
  for (std::uint8_t& value : sample.image())
    value = static_cast<std::uint8_t>(255 - value);
  sample.Field<double>("drawn")[0] = sample.draws().Uniform();
  const std::vector<std::int64_t> counted(sample.index() % 3,
                                          static_cast<std::int64_t>(sample.index()));
  sample.SetVariable<std::int64_t>("counted", counted);
}

LoaderOptions NotingOptions(unsigned threads) {
  LoaderOptions options = OptionsFor(8, threads);
  options.sample_function = InvertAndNote;
  options.output.made_fields = {Field::Array("drawn", DType::kFloat64, {}),
                                Field::Variable("counted", DType::kInt64, {})};
  return options;
}

struct Noted {
  std::vector<std::uint64_t> samples;
  std::vector<double> drawn;
};
Noted PlayNoted(Loader& loader, std::uint64_t epoch, std::size_t limit = SIZE_MAX) {
  Noted noted;
  std::size_t batches = 0;
  for (const Batch& batch : loader.Epoch(epoch)) {
    const auto drawn = batch.Field<double>("drawn");
    const auto counted = batch.Variable<std::int64_t>("counted");
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::uint64_t i = batch.samples()[row];
      REQUIRE(batch.image().data[row * 192 + 5] == 255 - i % 251);
      REQUIRE(counted[row].size() == i % 3);
      for (const std::int64_t value : counted[row])
        REQUIRE(value == static_cast<std::int64_t>(i));
      noted.samples.push_back(i);
      noted.drawn.push_back(drawn[row]);
    }
    if (++batches == limit) break;
  }
  return noted;
}

}  // namespace

TEST_CASE("A slow function runs in six of eight threads at once, even if the ring is short") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(64, 8);
  options.ring.prefetch = 1;
  std::atomic<int> inside = 0;
  std::atomic<bool> met = false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  options.sample_function = [&](MutableSample& sample) {
    using namespace std::chrono;
    ++inside;
    std::this_thread::sleep_for(milliseconds(1));
    while (sample.position() >= 640 && !met && steady_clock::now() < end) {
      if (inside >= 6) met = true;
      std::this_thread::yield();
    }
    --inside;
  };
  Loader loader(Dataset::Open(WriteRawDataset(folder, 1280)), options);
  CHECK(PlayBatches(loader, 0).size() == 20);
  CHECK(met);
}

TEST_CASE("A sample function changes pixels in place and makes fields of its own") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 60));
  Loader loader(dataset, NotingOptions(1));
  const Noted alone = PlayNoted(loader, 2);
  REQUIRE(alone.drawn.size() == 60);
  CHECK(std::set<double>(alone.drawn.begin(), alone.drawn.end()).size() == 60);
  CHECK(PlayNoted(loader, 3).drawn != alone.drawn);
  Loader many(dataset, NotingOptions(4));
  CHECK(PlayNoted(many, 2, 3).samples ==
        std::vector<std::uint64_t>(alone.samples.begin(), alone.samples.begin() + 24));
  LoaderOptions options = NotingOptions(3);
  options.resume_from = many.State();
  Loader resumed(dataset, options);
  CHECK(PlayNoted(resumed, 2).drawn ==
        std::vector<double>(alone.drawn.begin() + 24, alone.drawn.end()));
}

TEST_CASE("A sample function after Normalize gets the normalised numbers") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 20));
  LoaderOptions options = OptionsFor(8, 2);
  options.transform = {Normalize{{0}, {1}}};
  options.sample_function = [](MutableSample& sample) {
    if (sample.floats().size() != 192) throw std::runtime_error("too many");
    for (float& number : sample.floats())
      number = -number;
  };
  Loader loader(dataset, options);
  for (const Batch& batch : loader.Epoch(0)) {
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const double pixel = double(batch.samples()[row] % 251);
      REQUIRE(batch.image().floats()[row * 192 + 191] == Approx(-pixel / 255));
    }
  }
}

TEST_CASE("An exception of a sample function is a fault of the sample, with its key") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 40));
  LoaderOptions options = OptionsFor(8, 3);
  options.sample_function = [](MutableSample& sample) {
    if (sample.index() == 17) throw std::runtime_error("no such luck");
    if (sample.index() == 18) throw 5;
  };
  options.integrity.on_fault = OnFault::kSkip;
  Loader skipping(dataset, options);
  CHECK(SamplesOf(PlayBatches(skipping, 0)).size() == 38);
  const std::vector<SampleFault> faults = skipping.Faults();
  REQUIRE(faults.size() == 2);
  CHECK((faults[0].key == "key-17" && faults[1].key == "key-18"));
  CHECK_THAT(faults[0].reason, ContainsSubstring("sample_function threw: no such luck"));
  options.integrity.on_fault = OnFault::kSubstitute;
  Loader substituting(dataset, options);
  const std::vector<std::uint64_t> samples = SamplesOf(PlayBatches(substituting, 0));
  CHECK((samples.size() == 40 && std::count(samples.begin(), samples.end(), 17) == 0));
  options.integrity.on_fault = OnFault::kError;
  Loader failing(dataset, options);
  CHECK_THAT(ErrorText([&] { PlayBatches(failing, 0); }, ErrorCode::kState),
             ContainsSubstring("key-1"));
}

TEST_CASE(
    "Memory that a function keeps is never reused, and the batch it belonged to is an error") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 40);
  const bool of_batch = GENERATE(false, true);
  LoaderOptions options = OptionsFor(8, 2);
  options.order.shuffle = Shuffle::kSequential;
  const std::vector<PlayedBatch> expected = [&] {
    Loader loader(Dataset::Open(path), options);
    return PlayBatches(loader, 1);
  }();
  std::shared_ptr<const void> memory;
  std::span<std::byte> kept;
  options.integrity.on_fault = OnFault::kSkip;
  const auto keep = [&](MutableRows& rows) {
    if (memory != nullptr) return;
    memory = rows.Keep();
    kept = rows.ImageBytes();
  };
  options.ring.prefetch = 1;
  if (of_batch) {
    options.batch_function = [&](MutableBatch& batch) {
      if (batch.epoch() == 0 && batch.index() == 2) keep(batch);
    };
  } else {
    options.sample_function = [&](MutableSample& sample) {
      if (sample.epoch() == 0 && sample.index() == 19) keep(sample);
    };
  }
  {
    Loader loader(Dataset::Open(path), options);
    CHECK_THAT(ErrorText([&] { PlayBatches(loader, 0); }, ErrorCode::kState),
               ContainsSubstring("_function called Keep()"));
    std::vector<PlayedBatch> played;
    for (const Batch& batch : loader.Epoch(1)) {
      std::fill(kept.begin(), kept.end(), std::byte{0x55});
      played.push_back(Keep(batch));
    }
    CHECK(played == expected);
  }
  std::fill(kept.begin(), kept.end(), std::byte{0x56});  // also when the loader is gone
  CHECK(std::count(kept.begin(), kept.end(), std::byte{0x56}) == std::ssize(kept));
}

TEST_CASE("Images are read as their own type, and as no other") {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "d", {{Field::Image(), Field::Mask("mask", "image")}});
  SampleBuilder made = writer.NewSample("a");
  const std::vector<std::uint16_t> wide = {500, 600, 700, 65535};
  const std::vector<std::uint8_t> pixels(4, 9);
  made.SetPixels("image", 2, 2, 1, PixelType::kUint8, std::as_bytes(std::span(pixels)));
  made.SetPixels("mask", 2, 2, 1, PixelType::kUint16, std::as_bytes(std::span(wide)));
  writer.Add(made);
  writer.Finish();
  const Dataset dataset = Dataset::Open(folder / "d");
  const auto refused = [](const std::function<void()>& action, const char* type) {
    CHECK_THAT(ErrorText(action, ErrorCode::kInvalidArgument),
               ContainsSubstring(std::string("values of ") + type + ";"));
  };
  std::vector<std::string> said;
  for (const auto type : {std::optional<FloatType>(), std::optional(FloatType::kFloat32),
                          std::optional(FloatType::kBFloat16)}) {
    LoaderOptions options = OptionsFor(1, 1);
    if (type) options.transform = {Normalize{{0}, {1}, *type}};
    options.sample_function = [&said](MutableSample& sample) {
      if (sample.Values<std::uint16_t>("mask")[1] != 600) throw std::runtime_error("the mask");
      if (sample.epoch() > 0) return;  // decoded ahead
      const auto note = [&said](const std::function<void()>& action) {
        try {
          action();
          said.push_back("read");
        } catch (const Error& error) {
          said.push_back(error.code() == ErrorCode::kInvalidArgument ? "refused" : "");
        }
      };
      note([&] { sample.image(); });
      note([&] { sample.Values<std::uint16_t>(); });
      note([&] { sample.floats(); });
      note([&] { sample.image("mask"); });
    };
    Loader loader(dataset, options);
    const Batch batch = *loader.Epoch(0).begin();
    const ImageBatch& image = batch.image();
    const ImageBatch& mask = batch.image("mask");
    CHECK(mask.Values<std::uint16_t>()[3] == 65535);
    refused([&] { mask.Values<std::uint8_t>(); }, "uint16");
    if (!type) {
      CHECK(image.Values<std::uint8_t>()[3] == 9);
      refused([&] { image.floats(); }, "uint8");
    } else if (*type == FloatType::kFloat32) {
      CHECK(image.floats()[3] == Approx(9 / 255.0));
      refused([&] { image.Values<std::uint8_t>(); }, "float32");
      refused([&] { image.Values<std::uint16_t>(); }, "float32");
    } else {
      CHECK(image.Values<std::uint16_t>()[3] == 0x3D11);  // 9 / 255 is 0x3D109091
      refused([&] { image.floats(); }, "bfloat16");
    }
  }
  const std::string no = "refused", yes = "read";
  // In each line: image(), Values<std::uint16_t>(), floats(), and image() of the 16-bit mask.
  CHECK(said == std::vector{yes, no, no, no,    // uint8
                            no, no, yes, no,    // float32
                            no, yes, no, no});  // bfloat16
}

TEST_CASE("A sample function that asks for a missing field or view gets an error that says so") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 4));
  const std::pair<SampleFunction, const char*> wrong[] = {
      {[](MutableSample& sample) { sample.Field<float>("label"); }, "holds int32"},
      {[](MutableSample& sample) { sample.Field<float>("lable"); },
       "among this batch's fixed-shape arrays"},
      {[](MutableSample& sample) { sample.image("mask"); }, "among this batch's images"},
      {[](MutableSample& sample) { sample.floats(); },
       "field \"image\" holds values of uint8; read them as std::uint8_t"},
      {[](MutableSample& sample) { sample.Variable<float>("label"); },
       "among this batch's variable-length"},
      {[](MutableSample& sample) {
         const float values[3] = {};
         sample.SetVariable<float>("pairs", values);
       },
       "whole number of entries"},
      {[](MutableSample& sample) { sample.Variable<std::byte>("pairs"); }, "holds numbers"}};
  for (const auto& [function, text] : wrong) {
    LoaderOptions options = OptionsFor(4, 1);
    options.sample_function = function;
    options.output.made_fields = {Field::Variable("pairs", DType::kFloat32, {2})};
    Loader loader(dataset, options);
    CHECK_THAT(ErrorText([&] { PlayBatches(loader, 0); }, ErrorCode::kInvalidArgument),
               ContainsSubstring(text) && ContainsSubstring("key-"));
  }
}

TEST_CASE("A batch function sees whole batches, without the rows that are left out") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 50));
  LoaderOptions options = OptionsFor(8, 3);
  options.integrity.on_fault = OnFault::kSkip;
  options.output.made_fields = {Field::Array("share", DType::kFloat64, {}),
                                Field::Variable("numbers", DType::kInt64, {})};
  options.sample_function = [](MutableSample& sample) {
    if (sample.index() == 20) throw std::runtime_error("left out");
    const auto number = static_cast<std::int64_t>(sample.index());
    sample.SetVariable<std::int64_t>("numbers", std::span(&number, 1));
  };
  // Writes each sample's share of the batch's sum of numbers, and a draw of the batch into a pixel.
  options.batch_function = [](MutableBatch& batch) {
    const auto numbers = batch.Variable<std::int64_t>("numbers");
    const double sum = static_cast<double>(
        std::accumulate(numbers.values.begin(), numbers.values.end(), std::int64_t{0}));
    const std::span<double> share = batch.Field<double>("share");
    for (std::size_t row = 0; row < batch.size(); ++row)
      share[row] = static_cast<double>(numbers[row][0]) / sum;
    batch.image()[0] = static_cast<std::uint8_t>(batch.draws().Below(256));
  };
  std::vector<std::uint8_t> first;
  for (const unsigned threads : {1U, 4U}) {
    options.threads = threads;
    Loader loader(dataset, options);
    std::vector<std::uint8_t> drawn;
    std::size_t seen = 0;
    for (const Batch& batch : loader.Epoch(1)) {
      double sum = 0;
      for (const double share : batch.Field<double>("share"))
        sum += share;
      CHECK(sum == Approx(1));
      drawn.push_back(batch.image().data[0]);
      seen += batch.size();
    }
    CHECK(seen == 49);
    if (first.empty()) first = drawn;
    CHECK(drawn == first);
  }
  CHECK(std::set<std::uint8_t>(first.begin(), first.end()).size() > 1);
}

TEST_CASE("An exception of a batch function fails its batch, and the next batch comes") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 32));
  LoaderOptions options = OptionsFor(8, 2);
  options.batch_function = [](MutableBatch& batch) {
    if (batch.index() == 1) throw std::runtime_error("not this one");
  };
  Loader loader(dataset, options);
  const EpochRange range = loader.Epoch(0);
  EpochIterator it = range.begin();
  CHECK(it->index() == 0);
  CHECK_THAT(ErrorText([&] { ++it; }, ErrorCode::kState),
             ContainsSubstring("batch 1") && ContainsSubstring("not this one"));
  ++it;
  CHECK(it->index() == 2);
}

TEST_CASE("A value may be set to a part of itself, and an absent one differs from an empty one") {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "d",
                       {{Field::Image(), Field::Mask("mask", "image"),
                         Field::Variable("pairs", DType::kInt32, {2}), Field::Bytes("text")}});
  for (int i = 0; i < 24; ++i) {
    SampleBuilder sample = writer.NewSample("key-" + std::to_string(i));
    const std::vector<std::uint8_t> pixels(12, 3);
    sample.SetPixels("image", 2, 2, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
    if (i % 2 == 0) {
      sample.SetPixels("mask", 2, 2, 1, PixelType::kUint8,
                       std::as_bytes(std::span(pixels).first(4)));
    }
    std::vector<std::int32_t> pairs(static_cast<std::size_t>(2 * i));
    std::iota(pairs.begin(), pairs.end(), i);
    sample.SetArray<std::int32_t>("pairs", pairs);
    if (i % 3 != 0) sample.SetText("text", i % 3 == 1 ? "" : "words");
    writer.Add(sample);
  }
  writer.Finish();
  LoaderOptions options = OptionsFor(8, 3);
  options.output.mask_fill = {{"mask", 0}};
  options.output.made_fields = {Field::Variable("seen", DType::kInt32, {}),
                                Field::Array("words", DType::kInt32, {})};
  options.sample_function = [](MutableSample& sample) {
    const auto number = static_cast<std::int32_t>(sample.index());
    // All except the first pair and the last one.
    const auto pairs = sample.Variable<std::int32_t>("pairs");
    if (pairs.size() >= 4)
      sample.SetVariable<std::int32_t>("pairs", pairs.subspan(2, pairs.size() - 4));
    if (sample.Has("text") != (number % 3 != 0) || sample.Has("mask") != (number % 2 == 0) ||
        !sample.Has("image") || sample.Has("seen")) {
      throw std::runtime_error("wrong Has()");
    }
    sample.SetVariable<std::int32_t>("seen", std::span(&number, 1));
    if (!sample.Has("seen")) throw std::runtime_error("wrong Has() of a value that was set");
  };
  options.batch_function = [](MutableBatch& batch) {
    const auto text = batch.Variable<std::byte>("text");
    const std::span<std::int32_t> words = batch.Field<std::int32_t>("words");
    for (std::size_t row = 0; row < batch.size(); ++row)
      words[row] = batch.Has("text", row) ? static_cast<std::int32_t>(text[row].size()) : -1;
    batch.Has("mask", batch.size() - 1);
  };
  const Dataset dataset = Dataset::Open(folder / "d");
  Loader loader(dataset, options);
  std::size_t seen = 0;
  for (const Batch& batch : loader.Epoch(0)) {
    const auto pairs = batch.Variable<std::int32_t>("pairs");
    for (std::size_t row = 0; row < batch.size(); ++row, ++seen) {
      const auto i = static_cast<std::int32_t>(batch.samples()[row]);
      const std::size_t count = static_cast<std::size_t>(i < 2 ? 2 * i : 2 * i - 4);
      REQUIRE(pairs[row].size() == count);
      for (std::size_t k = 0; k < count; ++k)
        REQUIRE(pairs[row][k] == i + static_cast<std::int32_t>(k) + (i < 2 ? 0 : 2));
      REQUIRE(batch.Field<std::int32_t>("words")[row] == (i % 3 == 0 ? -1 : i % 3 == 1 ? 0 : 5));
    }
  }
  CHECK(seen == 24);
  options.batch_function = [](MutableBatch& batch) { batch.Has("txt", 0); };
  Loader failing(dataset, options);
  CHECK_THAT(ErrorText([&] { PlayBatches(failing, 0); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("\"txt\""));
}

TEST_CASE("A made field may hold pictures of a different shape, also of a larger one") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 6));
  LoaderOptions options = OptionsFor(3, 2);
  options.output.made_fields = {Field::Array("large", DType::kUint8, {160, 160, 3})};
  options.sample_function = [](MutableSample& sample) {
    const std::span<std::uint8_t> large = sample.Field<std::uint8_t>("large");
    for (std::size_t i = 0; i < large.size(); ++i)
      large[i] = static_cast<std::uint8_t>(sample.image()[0] + i % 3);
  };
  Loader loader(dataset, options);
  for (const Batch& batch : loader.Epoch(0)) {
    const auto large = batch.Field<std::uint8_t>("large");
    REQUIRE(large.size() == batch.size() * 160 * 160 * 3);
    CHECK(large[160 * 160 * 3 + 5] == batch.samples()[1] + 2);
    CHECK(batch.DeviceArray("large").shape[1] == 160);
  }
}

TEST_CASE("Invalid made fields are refused") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 4));
  const auto refusal = [&](Field field, bool function) {
    LoaderOptions options = OptionsFor(4, 1);
    options.output.made_fields = {std::move(field)};
    if (function) options.sample_function = [](MutableSample&) {};
    return ErrorText([&] { Loader loader(dataset, options); }, ErrorCode::kInvalidArgument);
  };
  CHECK_THAT(refusal(Field::Label(), true),
             ContainsSubstring("has the name of a field of the dataset"));
  CHECK_THAT(refusal(Field::Image("view"), true), ContainsSubstring("array of shape"));
  CHECK_THAT(refusal(Field::Array("x", DType::kInt8, {2}), false),
             ContainsSubstring("needs a sample_function"));
  CHECK_THAT(refusal(Field::Array("x", DType::kInt8, {1 << 15, 1 << 15}), true),
             ContainsSubstring("268435456"));
  CHECK_THAT(refusal(Field::Array("x", DType::kInt8, {3, 0}), true), ContainsSubstring("of 0"));
  CHECK_THAT(refusal(Field::Array("", DType::kInt8, {3}), true), ContainsSubstring("name"));
}

TEST_CASE("A sample function gets the sample's key, also of a sample that replaces another") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 60));
  LoaderOptions options = OptionsFor(8, 4);
  options.output.made_fields = {Field::Bytes("key")};
  options.integrity.on_fault = OnFault::kSubstitute;
  options.sample_function = [](MutableSample& sample) {
    if (sample.index() == 17) throw std::runtime_error("not this one");
    const std::string key = sample.key();
    sample.SetVariable<std::byte>("key", std::as_bytes(std::span(key)));
  };
  Loader loader(dataset, options);
  std::size_t substitutes = 0;
  for (const Batch& batch : loader.Epoch(0)) {
    for (std::size_t row = 0; row < batch.size(); ++row) {
      REQUIRE(batch.Text("key", row) == "key-" + std::to_string(batch.samples()[row]));
      substitutes += batch.flags()[row] == SampleFlag::kSubstitute ? 1 : 0;
    }
  }
  CHECK(substitutes == 1);
}

TEST_CASE(
    "A key in a chunk of more than 4 MiB of keys is refused, and Dataset still reads the key") {
  const TemporaryFolder folder;
  // A chunk has up to 4096 keys of any length, so these 80 keys are one chunk of 4.8 MB.
  const auto key_of = [](std::uint64_t i) { return std::to_string(i) + std::string(60'000, 'k'); };
  DatasetWriter writer(folder / "d", {{Field::Image(), Field::Label()}});
  const std::vector<std::byte> pixels(4 * 4 * 3);
  for (std::uint64_t i = 0; i < 80; ++i) {
    SampleBuilder sample = writer.NewSample(key_of(i));
    sample.SetPixels("image", 4, 4, 3, PixelType::kUint8, pixels);
    sample.Set<std::int32_t>("label", 0);
    writer.Add(sample);
  }
  writer.Finish();
  const Dataset dataset = Dataset::Open(folder / "d");
  LoaderOptions options = OptionsFor(8, 1);
  options.sample_function = [](MutableSample& sample) { (void)sample.key(); };
  Loader loader(dataset, options);
  const std::string text = ErrorText([&] { PlayBatches(loader, 0); }, ErrorCode::kLimit);
  CHECK_THAT(text, ContainsSubstring("shard-00000.sluice: keys: ") &&
                       ContainsSubstring("more than 4194304 bytes") &&
                       ContainsSubstring("dataset[index].key() has no such limit"));
  CHECK(dataset[79].key() == key_of(79));
}
