// SampleList::Where: a user's function selects the samples to play.
#include <algorithm>
#include <atomic>
#include <fstream>
#include <stdexcept>

#include <sluice/dataset_edit.h>

#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

// Sample i has a raw picture of 16 x (8 + i % 4) pixels, the label i % 10, i % 5 boxes, the text
// "note i" and the pair {i, -i}.
std::filesystem::path WriteBoxes(const TemporaryFolder& folder, int count,
                                 std::uint64_t shard_bytes = 1'000'000) {
  const std::filesystem::path path = folder / "boxes";
  DatasetWriter writer(
      path,
      {{Field::Image(), Field::Label("label"), Field::Variable("boxes", DType::kFloat32, {4}),
        Field::Bytes("note"), Field::Array("pair", DType::kInt32, {2})}},
      {"boxes", shard_bytes, 8});
  for (int i = 0; i < count; ++i) {
    SampleBuilder sample = writer.NewSample("box-" + std::to_string(i));
    const auto height = static_cast<std::uint32_t>(8 + i % 4);
    const std::vector<std::uint8_t> pixels(16 * height * 3, static_cast<std::uint8_t>(i));
    sample.SetPixels("image", 16, height, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
    sample.Set<std::int32_t>("label", i % 10);
    const std::vector<float> boxes(static_cast<std::size_t>(i % 5) * 4, 1.F);
    sample.SetArray<float>("boxes", boxes);
    sample.SetText("note", "note " + std::to_string(i), i % 2 == 0);
    const std::vector<std::int32_t> pair = {i, -i};
    sample.SetArray<std::int32_t>("pair", pair);
    writer.Add(sample);
  }
  writer.Finish();
  return path;
}

std::vector<std::uint64_t> NumbersWhere(std::uint64_t count, bool (*keep)(std::uint64_t)) {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t i = 0; i < count; ++i)
    if (keep(i)) numbers.push_back(i);
  return numbers;
}

FilterOptions FilterBy(std::vector<std::string> fields, unsigned threads = 2) {
  FilterOptions options;
  options.fields = std::move(fields);
  options.threads = threads;
  return options;
}

}  // namespace

TEST_CASE("A filter sees key, scalars, arrays, variable fields, text and an image's size") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteBoxes(folder, 4000));
  REQUIRE(dataset.shards().size() > 1);
  const auto is = [&](const SampleFilter& keep, std::vector<std::string> fields,
                      bool (*expected)(std::uint64_t)) {
    for (const unsigned threads : {1U, 4U}) {
      const SampleList list = SampleList::Where(dataset, keep, FilterBy(fields, threads));
      CHECK(list.digest() == SampleList::Of(NumbersWhere(4000, expected)).digest());
    }
  };
  is([](const Sample& s) { return s.key().ends_with("7"); }, {},
     [](std::uint64_t i) { return i % 10 == 7; });
  is([](const Sample& s) { return s.Integer("label") < 3; }, {"label"},
     [](std::uint64_t i) { return i % 10 < 3; });
  is([](const Sample& s) { return s.Array<std::int32_t>("pair")[1] > -100; }, {"pair"},
     [](std::uint64_t i) { return i < 100; });
  is([](const Sample& s) { return !s.Array<float>("boxes").empty(); }, {"boxes"},
     [](std::uint64_t i) { return i % 5 != 0; });
  is([](const Sample& s) { return s.Text("note").size() == 7; }, {"note", "boxes"},
     [](std::uint64_t i) { return i >= 10 && i < 100; });
  // Fields that the filter looks at need not be named.
  is([](const Sample& s) { return s.Shape().height == 9 && s.Array<float>("boxes").size() == 4; },
     {}, [](std::uint64_t i) { return i % 4 == 1 && i % 5 == 1; });
  CHECK(SampleList::Where(dataset, [](const Sample&) { return false; }).size() == 0);
  CHECK(SampleList::Where(dataset, [](const Sample&) { return true; }).size() == 4000);
}

TEST_CASE(
    "Samples that a filter keeps play once per epoch in full batches, on ranks and after a "
    "resume") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 3000));
  const auto odd = [](const Sample& sample) { return sample.Integer("label") % 2 == 1; };
  const std::vector<std::uint64_t> expected =
      NumbersWhere(3000, [](std::uint64_t i) { return i % 10 % 2 == 1; });
  LoaderOptions options = OptionsFor(24, 1);
  options.order.lanes = 12;
  options.order.samples = SampleList::Where(dataset, odd);
  Loader alone(dataset, options);
  const std::vector<PlayedBatch> whole = PlayBatches(alone, 3);
  std::vector<std::uint64_t> played = SamplesOf(whole);
  std::sort(played.begin(), played.end());
  REQUIRE(played == expected);
  REQUIRE(whole.size() == 63);  // 1500 / 24, rounded up
  for (std::size_t b = 0; b + 1 < whole.size(); ++b)
    REQUIRE(whole[b].samples.size() == 24);

  options.threads = 4;
  options.order.samples = SampleList::Where(dataset, odd, FilterBy({"label"}, 3));
  Loader many(dataset, options);
  CHECK(PlayBatches(many, 3, 40) == std::vector(whole.begin(), whole.begin() + 40));
  options.resume_from = many.State();
  Loader resumed(dataset, options);
  CHECK(PlayBatches(resumed, 3) == std::vector(whole.begin() + 40, whole.end()));

  options.resume_from.reset();
  options.ranks.world_size = 4;
  options.batch_size = 6;
  for (options.ranks.rank = 0; options.ranks.rank < 4; ++options.ranks.rank) {
    Loader loader(dataset, options);
    const std::vector<PlayedBatch> share = PlayBatches(loader, 3);
    REQUIRE(share.size() == whole.size());
    for (std::size_t b = 0; b < share.size(); ++b)
      for (std::size_t row = 0; row < share[b].valid; ++row)
        REQUIRE(share[b].samples[row] == whole[b].samples[4 * row + options.ranks.rank]);
  }
}

TEST_CASE("A resume with a filter that now decides otherwise is refused") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 400));
  LoaderOptions options = OptionsFor(10, 1);
  options.order.samples =
      SampleList::Where(dataset, [](const Sample& sample) { return sample.Integer("label") > 4; });
  Loader loader(dataset, options);
  PlayBatches(loader, 0, 3);
  options.resume_from = loader.State();
  options.order.samples =
      SampleList::Where(dataset, [](const Sample& sample) { return sample.Integer("label") > 5; });
  CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("other samples"));
  // A list that was made from another dataset is refused, too.
  const TemporaryFolder other;
  const Dataset longer = Dataset::Open(WriteRawDataset(other, 401));
  options.resume_from.reset();
  CHECK_THAT(ErrorText([&] { Loader(longer, options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("400 samples"));
  // It is refused even if both datasets have the same number of samples.
  const TemporaryFolder another;
  const Dataset as_long = Dataset::Open(WriteRawDataset(another, 400, 8));
  REQUIRE(as_long.id() != dataset.id());
  for (const SampleList& list : {options.order.samples, SampleList::ClassBalanced(dataset, 5)}) {
    options.order.samples = list;
    CHECK_THAT(ErrorText([&] { Loader(as_long, options); }, ErrorCode::kInvalidArgument),
               ContainsSubstring(dataset.id()));
  }
}

TEST_CASE("Only the blocks with samples that a filter keeps are read ahead") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 4000, 10));
  // Blocks have ten samples. Of every tenth block, the filter keeps every second sample.
  LoaderOptions options = OptionsFor(50, 1);
  options.order.samples = SampleList::Where(dataset, [](const Sample& sample) {
    return sample.index() / 10 % 10 == 3 && sample.index() % 2 == 0;
  });
  options.order.lanes = 4;
  REQUIRE(options.order.samples.size() == 200);
  Loader loader(dataset, options);
  REQUIRE(PlayBatches(loader, 0).size() == 4);
  const std::uint64_t block_bytes = 8192;  // more than 10 x (192 + 56), rounded up to pages
  // This epoch's blocks, and at most as much of the next epoch.
  CHECK(loader.Stats().read_ahead_bytes <= 2 * 40 * block_bytes);
}

TEST_CASE("An error from a filter names the first sample that failed, for any number of threads") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteBoxes(folder, 4000));
  const auto choosy = [](const Sample& sample) {
    if (sample.index() % 700 == 699) throw std::runtime_error("cannot make up its mind");
    return true;
  };
  for (const unsigned threads : {1U, 2U, 4U}) {
    const std::string text = ErrorText(
        [&] { SampleList::Where(dataset, choosy, FilterBy({}, threads)); }, ErrorCode::kState);
    CHECK_THAT(text, ContainsSubstring("sample 699 \"box-699\"") &&
                         ContainsSubstring("cannot make up its mind"));
  }
  CHECK_THAT(ErrorText([&] { SampleList::Where(dataset, [](const Sample&) -> bool { throw 1; }); },
                       ErrorCode::kState),
             ContainsSubstring("sample 0"));
  CHECK_THAT(
      ErrorText([&] { SampleList::Where(dataset, [](const Sample& s) { return s.Has("box"); }); },
                ErrorCode::kInvalidArgument),
      ContainsSubstring("no field \"box\"") && ContainsSubstring("box-0"));
  ErrorText([&] { SampleList::Where(dataset, choosy, FilterBy({"box"})); },
            ErrorCode::kInvalidArgument);
  ErrorText([&] { SampleList::Where(dataset, SampleFilter()); }, ErrorCode::kInvalidArgument);
}

TEST_CASE("A sample that cannot be read ends a filter, unless the filter catches the error") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteBoxes(folder, 100);
  std::string note;
  {
    const Dataset whole = Dataset::Open(path);
    REQUIRE(whole.shards().size() == 1);
    const Sample sample = whole[33];  // texts of odd samples are not compressed
    const auto at = reinterpret_cast<const char*>(sample.Bytes("note").data());
    std::fstream file(path / whole.shards()[0].file,
                      std::ios::in | std::ios::out | std::ios::binary);
    std::string content(std::istreambuf_iterator<char>(file), {});
    const std::size_t found = content.find(std::string(at, 7));
    REQUIRE(found != std::string::npos);
    file.clear();
    file.seekp(static_cast<std::streamoff>(found));
    file << 'N';
  }
  const Dataset dataset = Dataset::Open(path);
  const auto looks = [](const Sample& sample) { return sample.Text("note").size() > 1; };
  CHECK_THAT(ErrorText([&] { SampleList::Where(dataset, looks); }, ErrorCode::kCorrupt),
             ContainsSubstring("box-33") && ContainsSubstring("checksum"));
  const auto forgives = [&](const Sample& sample) {
    try {
      return looks(sample);
    } catch (const Error&) {
      return false;
    }
  };
  CHECK(SampleList::Where(dataset, forgives).size() == 99);
}

TEST_CASE("A shard that is truncated while a filter reads it is an error, not a crash") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteBoxes(folder, 100);
  const Dataset dataset = Dataset::Open(path);
  const std::filesystem::path shard = path / dataset.shards()[0].file;
  std::atomic<bool> cut{false};
  const auto looks = [&](const Sample& sample) {
    if (sample.index() == 20 && !cut.exchange(true)) std::filesystem::resize_file(shard, 8192);
    return sample.Text("note").size() > 1;
  };
  CHECK_THAT(
      ErrorText([&] { SampleList::Where(dataset, looks, FilterBy({"note"})); }, ErrorCode::kIo),
      ContainsSubstring("cut short"));
}

TEST_CASE("Running a filter can be watched, and stopped") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteBoxes(folder, 4000));
  FilterOptions options = FilterBy({"boxes"});
  std::uint64_t last = 0;
  bool grows = true;
  options.on_progress = [&](std::uint64_t asked, std::uint64_t of) {
    grows = grows && asked > last && of == 4000;
    last = asked;
  };
  SampleList::Where(
      dataset, [](const Sample&) { return true; }, options);
  CHECK((grows && last == 4000));
  std::stop_source stop;
  options.on_progress = {};
  options.stop = stop.get_token();
  std::atomic<int> asked{0};
  const auto keep = [&](const Sample&) {
    if (++asked == 10) stop.request_stop();
    return true;
  };
  CHECK_THAT(ErrorText([&] { SampleList::Where(dataset, keep, options); }, ErrorCode::kState),
             ContainsSubstring("stopped"));
  CHECK(asked < 4000);
}

TEST_CASE(
    "A filtered list is taken by a version whose fields have the values that the filter saw") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteBoxes(folder, 100);
  const auto put = [&path](std::int32_t value, bool replace) {
    const std::vector<std::int32_t> scores(100, value);
    const ColumnValues column{
        Field::Array("score", DType::kInt32, {}), std::as_bytes(std::span(scores)), {}};
    return replace ? ReplaceColumn(path, column) : AddColumn(path, column);
  };
  const auto plays = [&path](const SampleList& list) {
    LoaderOptions options;
    options.order.samples = list;
    options.output.fields = {"label"};
    Loader(Dataset::Open(path), options);
  };
  const SampleList plain = SampleList::Where(
      Dataset::Open(path), [](const Sample& sample) { return sample.index() % 2 == 0; });
  put(1, false);
  plays(plain);  // it knows no such field
  const SampleList scored = SampleList::Where(Dataset::Open(path), [](const Sample& sample) {
    return sample.Array<std::int32_t>("score")[0] == 1;
  });
  CHECK(scored.size() == 100);
  DeleteSamples(path, {.samples = {3}, .keys = {}, .note = {}});
  plays(scored);
  put(2, true);
  plays(plain);
  CHECK_THAT(ErrorText([&] { plays(scored); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("the field \"score\" had other values"));
  DropFields(path, {"score"});
  plays(scored);
}
