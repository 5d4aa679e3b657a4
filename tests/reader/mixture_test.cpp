// Loaders of several datasets: reader/dataset/dataset_state.h. mixture_order_test.cpp tests how the
// datasets take turns.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>

#include <sluice/resume.h>

#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"
#include "tests/sanitized.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

// Raw 8x8 pictures whose pixels all hold `first` + index, with labels and these fields.
Dataset WritePlain(const TemporaryFolder& folder, const std::string& name, int count, int first,
                   std::vector<Field> fields = {}) {
  Schema schema{{Field::Image(), Field::Label("label", {"a", "b"})}};
  schema.fields.insert(schema.fields.end(), fields.begin(), fields.end());
  DatasetWriter writer(folder / name, schema, {name, 1'000'000, 8});
  for (int i = 0; i < count; ++i) {
    SampleBuilder sample = writer.NewSample(name + "-" + std::to_string(i));
    const std::vector<std::uint8_t> pixels(192, static_cast<std::uint8_t>(first + i));
    sample.SetPixels("image", 8, 8, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
    sample.Set<std::int32_t>("label", i % 2);
    for (const Field& field : fields) {
      if (field.kind == FieldKind::kBytes) sample.SetText(field.name, name + std::to_string(i));
      if (field.kind == FieldKind::kArray) sample.Set<float>(field.name, static_cast<float>(i));
    }
    writer.Add(sample);
  }
  writer.Finish();
  return Dataset::Open(folder / name);
}

std::vector<PlayedBatch> Epochs(Loader& loader, std::uint64_t first, std::uint64_t end) {
  std::vector<PlayedBatch> played;
  for (std::uint64_t epoch = first; epoch < end; ++epoch)
    for (PlayedBatch& batch : PlayBatches(loader, epoch))
      played.push_back(std::move(batch));
  return played;
}

}  // namespace

TEST_CASE(
    "A mixture's batches hold the samples that they name, for any threads and from any batch") {
  const TemporaryFolder folder;
  const Dataset a = WritePlain(folder, "a", 60, 0);
  const Dataset b = WritePlain(folder, "b", 1, 100);
  const Dataset c = WritePlain(folder, "c", 25, 200);
  Mixture mixture{{a, 0.6}, {b, 0.1}, {c, 0.3}};
  LoaderOptions options = OptionsFor(8, 3);
  options.order.lanes = 4;
  SECTION("until the first dataset has been played") {}
  SECTION("until the shortest dataset has been played") {
    mixture.length = MixtureLength::kShortest;
  }
  SECTION("for a number of samples") {
    mixture.length = MixtureLength::kSamples;
    mixture.samples = 77;
  }
  SECTION("with a share of each batch") {
    mixture.shares = MixtureShares::kOfEachBatch;
  }
  SECTION("without weights") {
    mixture = {{a}, {b}, {c}};
  }
  SECTION("with random steps") {
    options.transform = {ColorJitter{0.9}};
  }
  Loader loader(mixture, options);
  const std::vector<PlayedBatch> played = Epochs(loader, 0, 3);
  for (const PlayedBatch& batch : played) {
    for (std::size_t row = 0; row < batch.samples.size() && options.transform.empty(); ++row) {
      const std::uint64_t s = batch.samples[row];
      const std::uint64_t pixel = s < 60 ? s : s < 61 ? 100 : 200 + s - 61;
      CHECK(batch.pixels[row * 192 + 100] == pixel);
    }
  }
  for (const unsigned threads : {0U, 1U, 16U}) {
    options.threads = threads;
    Loader other(mixture, options);
    CHECK(Epochs(other, 0, 3) == played);
  }
  const std::size_t each = loader.batches_per_epoch();
  for (std::size_t done = 0; done <= each; done += kSanitized ? 3 : 1) {
    Loader first(mixture, options);
    PlayBatches(first, 1, done);
    if (done == 0) first.Epoch(1);
    LoaderOptions later = options;
    later.resume_from = ResumePoint::Parse(first.State().Text());
    Loader resumed(mixture, later);
    const std::vector<PlayedBatch> rest = Epochs(resumed, resumed.State().epoch, 3);
    CHECK(rest ==
          std::vector(played.begin() + static_cast<std::ptrdiff_t>(each + done), played.end()));
  }
}

TEST_CASE("Ranks of a mixture play the same global batches, whatever their number") {
  const TemporaryFolder folder;
  const Dataset a = WritePlain(folder, "a", 90, 0);
  const Dataset b = WritePlain(folder, "b", 41, 100);
  const bool weighted = GENERATE(true, false);
  const Mixture mixture = weighted ? Mixture{{a, 2}, {b, 1}} : Mixture{{a}, {b}};
  const auto sorted = [](std::vector<std::uint64_t> samples) {
    std::sort(samples.begin(), samples.end());
    return samples;
  };
  LoaderOptions options = OptionsFor(16, 2);
  options.order.lanes = 8;
  Loader alone(mixture, options);
  const std::vector<PlayedBatch> whole = PlayBatches(alone, 2);
  for (const unsigned ranks : {2U, 4U}) {
    std::vector<std::vector<std::uint64_t>> global(whole.size());
    for (unsigned rank = 0; rank < ranks; ++rank) {
      options.batch_size = 16 / ranks;
      options.ranks = {rank, ranks};
      Loader loader(mixture, options);
      const std::vector<PlayedBatch> played = PlayBatches(loader, 2);
      REQUIRE(played.size() == whole.size());
      for (std::size_t g = 0; g < played.size(); ++g)
        global[g].insert(global[g].end(), played[g].samples.begin(),
                         played[g].samples.begin() + static_cast<std::ptrdiff_t>(played[g].valid));
    }
    for (std::size_t g = 0; g < whole.size(); ++g)
      CHECK(sorted(global[g]) == sorted(whole[g].samples));
  }
}

TEST_CASE("Without weights, a mixture's epoch has every sample once, for any number of datasets") {
  const TemporaryFolder folder;
  Mixture mixture;
  for (int i = 0; i < 20; ++i)
    mixture.parts.push_back({WritePlain(folder, "part" + std::to_string(i), 1 + i % 3, i)});
  Loader loader(mixture, OptionsFor(7, 2));
  std::vector<std::uint64_t> samples = SamplesOf(PlayBatches(loader, 0));
  CHECK(samples.size() == 39);
  CHECK(std::set(samples.begin(), samples.end()).size() == 39);
  CHECK_THAT(loader.Describe(), ContainsSubstring("a mixture of 20 datasets, every sample once"));
  CHECK(mixture.Of(0).part == 0);
  CHECK(mixture.Of(5).part == 2);
  CHECK(mixture.Of(5).sample == 2);
  CHECK_THROWS_WITH(mixture.Of(39), ContainsSubstring("it has 39"));
}

TEST_CASE("Fields that a dataset of a mixture lacks are absent from its samples") {
  const TemporaryFolder folder;
  const Field score = Field::Array("score", DType::kFloat32, {});
  const Field text = Field::Bytes("text", Role::kText);
  const Dataset a = WritePlain(folder, "a", 20, 0, {score});
  const Dataset b = WritePlain(folder, "b", 20, 100, {text, score});
  const Dataset c = WritePlain(folder, "c", 20, 200);
  LoaderOptions options = OptionsFor(7, 2);
  options.output.absent = -1;
  Loader loader(Mixture{{a}, {b}, {c}}, options);
  std::size_t rows = 0;
  for (const Batch& batch : loader.Epoch(0)) {
    const auto scores = batch.Field<float>("score");
    for (std::size_t row = 0; row < batch.size(); ++row, ++rows) {
      const std::uint64_t s = batch.samples()[row];
      const std::uint64_t own = s % 20;
      CHECK(batch.image().data[row * 192] == 100 * (s / 20) + own);
      CHECK(batch.Field<std::int32_t>("label")[row] == static_cast<std::int32_t>(own % 2));
      CHECK(batch.Has("score", row) == (s < 40));
      CHECK(scores[row] == (s < 40 ? static_cast<float>(own) : -1));
      CHECK(batch.Has("text", row) == (s >= 20 && s < 40));
      CHECK(batch.Text("text", row) ==
            (s >= 20 && s < 40 ? "b" + std::to_string(own) : std::string()));
    }
  }
  CHECK(rows == 60);
  LoaderOptions chosen = OptionsFor(7, 1);
  chosen.output.fields = {"image", "text"};  // parts of blocks are read
  Loader parts(Mixture{{a}, {b}, {c}}, chosen);
  CHECK(SamplesOf(PlayBatches(parts, 0)).size() == 60);
}

TEST_CASE("Samples without a label are refused, or get the requested number") {
  const TemporaryFolder folder;
  const Dataset labelled = WritePlain(folder, "labelled", 20, 0);
  {
    DatasetWriter writer(folder / "unlabelled", {{Field::Image()}}, {});
    const std::vector<std::byte> pixels(8 * 8 * 3, std::byte{9});
    for (int i = 0; i < 20; ++i) {
      SampleBuilder sample = writer.NewSample(std::to_string(i));
      sample.SetPixels("image", 8, 8, 3, PixelType::kUint8, pixels);
      writer.Add(sample);
    }
    writer.Finish();
  }
  const Dataset unlabelled = Dataset::Open(folder / "unlabelled");
  const Mixture mixture{{labelled}, {unlabelled}};
  LoaderOptions options = OptionsFor(7, 2);
  CHECK_THAT(ErrorText([&] { const Loader loader(mixture, options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring(unlabelled.path().string() + ": has no label \"label\"") &&
                 ContainsSubstring("LoaderOptions::output.absent"));
  options.output.absent = std::int64_t{1} << 40;
  CHECK_THAT(ErrorText([&] { const Loader loader(mixture, options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("does not fit field \"label\" of int32"));
  options.output.absent = -100;
  Loader loader(mixture, options);
  CHECK_THAT(loader.Describe(), ContainsSubstring("label: -100 for samples of a dataset without"));
  for (const Batch& batch : loader.Epoch(0)) {
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::uint64_t s = batch.samples()[row];
      CHECK(batch.Has("label", row) == (s < 20));
      CHECK(batch.Field<std::int32_t>("label")[row] ==
            (s < 20 ? static_cast<std::int32_t>(s % 2) : -100));
    }
  }
  options.output.absent.reset();
  options.output.fields = {"image"};
  Loader images(mixture, options);
  CHECK(SamplesOf(PlayBatches(images, 0)).size() == 40);
}

TEST_CASE(
    "A field that a dataset of a mixture lacks is refused, unless an option says what it holds") {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::vector<Field>& more) {
    Schema schema{{Field::Image()}};
    schema.fields.insert(schema.fields.end(), more.begin(), more.end());
    DatasetWriter writer(folder / name, schema, {});
    const std::vector<std::byte> pixels(8 * 8 * 3, std::byte{9});
    SampleBuilder sample = writer.NewSample("x");
    sample.SetPixels("image", 8, 8, 3, PixelType::kUint8, pixels);
    for (const Field& field : more) {
      if (field.kind == FieldKind::kImage)
        sample.SetPixels(field.name, 8, 8, 1, PixelType::kUint8, std::span(pixels).first(64));
      if (field.kind == FieldKind::kArray) sample.Set<float>(field.name, 9);
    }
    writer.Add(sample);
    writer.Finish();
    return Dataset::Open(folder / name);
  };
  const Dataset plain = write("plain", {});
  Field boxes = Field::Variable("boxes", DType::kFloat32, {4});
  boxes.role = Role::kBoxes;
  boxes.follows = "image";
  boxes.coordinates = "xyxy-pixels";
  Field labels = Field::Variable("labels", DType::kInt32, {});
  labels.role = Role::kLabel;
  const struct {
    Field field;
    std::string consequence, option;
  } cases[] = {
      {Field::Array("score", DType::kFloat32, {}), "field \"score\" of its samples would be 0",
       "absent to a number that your loss ignores"},
      {boxes, "field \"boxes\" of its samples would be empty, as if they had none", "absent"},
      {labels, "label \"labels\" of its samples would say that they are of no class", "absent"},
      {Field::Image("depth"), "field \"depth\" of its samples would be black", "absent"},
      {Field::Mask("mask", "image"), "field \"mask\" of its samples would be class 0 everywhere",
       "mask_fill"},
  };
  for (const auto& [field, consequence, option] : cases) {
    INFO(field.name);
    const Mixture mixture{{write(field.name, {field})}, {plain}};
    LoaderOptions options = OptionsFor(2, 1);
    options.output.fields = {"image", field.name};
    CHECK_THAT(
        ErrorText([&] { const Loader loader(mixture, options); }, ErrorCode::kInvalidArgument),
        ContainsSubstring(plain.path().string() + ": has no ") && ContainsSubstring(consequence) &&
            ContainsSubstring("set LoaderOptions::output." + option));
    if (field.role == Role::kMask) {
      options.output.mask_fill = {{"mask", 255}};
    } else {
      options.output.absent = -100;
    }
    Loader loader(mixture, options);
    for (const Batch& batch : loader.Epoch(0)) {
      for (std::size_t row = 0; row < batch.size(); ++row) {
        const bool has = batch.samples()[row] == 0;
        if (field.kind != FieldKind::kVariable) CHECK(batch.Has(field.name, row) == has);
        if (field.name == "score") CHECK(batch.Field<float>("score")[row] == (has ? 9 : -100));
        if (field.name == "mask") CHECK(batch.image("mask").data[row * 64] == (has ? 9 : 255));
      }
    }
    options.output = {};
    options.output.fields = {"image"};
    CHECK_NOTHROW(Loader(mixture, options));
  }
}

TEST_CASE("Datasets that cannot be mixed, and options that do not fit, are refused") {
  const TemporaryFolder folder;
  const Dataset a = WritePlain(folder, "a", 20, 0, {Field::Array("score", DType::kFloat32, {})});
  const Dataset b = WritePlain(folder, "b", 20, 0, {Field::Bytes("score")});
  const auto refused = [](const Mixture& mixture, const LoaderOptions& options,
                          const std::string& why) {
    CHECK_THAT(
        ErrorText([&] { const Loader loader(mixture, options); }, ErrorCode::kInvalidArgument),
        ContainsSubstring(why));
  };
  LoaderOptions options = OptionsFor(4, 1);
  options.output.absent = -1;
  refused({}, options, "it has no datasets");
  refused({{a}, {b}}, options, "field \"score\" has another kind than in " + a.path().string());
  const std::filesystem::path raw = WriteRawDataset(folder, 20);
  const Dataset classes = Dataset::Open(raw);  // begins with "a", "b", too
  CHECK_NOTHROW(Loader(Mixture{{a}, {classes}}, options));
  {
    DatasetWriter writer(folder / "other", {{Field::Image(), Field::Label("label", {"b", "a"})}});
    SampleBuilder sample = writer.NewSample("x");
    const std::vector<std::uint8_t> pixels(192);
    sample.SetPixels("image", 8, 8, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
    sample.Set<std::int32_t>("label", 0);
    writer.Add(sample);
    writer.Finish();
  }
  refused({{a}, {Dataset::Open(folder / "other")}}, options, "would mean two classes");
  {
    DatasetWriter writer(folder / "text", {{Field::Bytes("text")}});
    SampleBuilder sample = writer.NewSample("x");
    sample.SetText("text", "y");
    writer.Add(sample);
    writer.Finish();
  }
  refused({{a}, {Dataset::Open(folder / "text")}}, options, "it has no image field \"image\"");
  refused({{a, 1}, {a, -1}}, options, "the weight of dataset 1 is not a number above 0");
  refused({{a, 0}, {a, 1}}, options, "the weight of dataset 0 is not a number above 0");
  Mixture unweighted{{a}, {a}};
  unweighted.length = MixtureLength::kShortest;
  refused(unweighted, options, "give each dataset a weight");
  const Mixture mixture{{a, 1}, {a, 2}};
  options.order.shuffle = Shuffle::kSequential;
  refused(mixture, options, "set LoaderOptions::order.shuffle to kQuasiRandom or kRandom");
  options = OptionsFor(4, 1);
  options.order.samples = SampleList::Of({1, 2});
  refused(mixture, options, "leave LoaderOptions::order.samples empty");
  CHECK(Loader(Mixture{{a}, {a}}, options).samples_per_epoch() == 2);
  options = OptionsFor(4, 1);
  options.storage = Direct{};
  refused(mixture, options, "do not work with a mixture yet");
}

TEST_CASE("A mixture's resume point fits no other mixture") {
  const TemporaryFolder folder;
  const Dataset a = WritePlain(folder, "a", 20, 0);
  const Dataset b = WritePlain(folder, "b", 20, 100);
  LoaderOptions options = OptionsFor(4, 1);
  const ResumePoint point = Loader(Mixture{{a, 1}, {b, 1}}, options).State();
  options.resume_from = point;
  const auto refused = [&options](const Mixture& mixture, const std::string& why) {
    CHECK_THAT(
        ErrorText([&] { const Loader loader(mixture, options); }, ErrorCode::kInvalidArgument),
        ContainsSubstring(why));
  };
  refused({{a, 1}, {b, 2}}, "another mixture");
  refused({{b, 1}, {a, 1}}, "belongs to the dataset with id");
  CHECK_NOTHROW(Loader(Mixture{{a, 2}, {b, 2}}, options));
}

TEST_CASE("A missing shard of a mixture is named, or its samples are left out") {
  const TemporaryFolder folder;
  const Dataset a = WritePlain(folder, "a", 40, 0);
  WritePlain(folder, "b", 40, 100);
  const std::filesystem::path shard = folder / "b" / Dataset::Open(folder / "b").shards()[0].file;
  std::filesystem::remove(shard);
  const Dataset c = WritePlain(folder, "c", 40, 200);
  const Mixture mixture{{a, 1}, {Dataset::Open(folder / "b"), 1}, {c, 1}};
  LoaderOptions options = OptionsFor(8, 2);
  CHECK_THAT(ErrorText(
                 [&] {
                   Loader loader(mixture, options);
                   PlayBatches(loader, 0);
                 },
                 ErrorCode::kNotFound),
             ContainsSubstring(shard.string()));
  options.integrity.on_fault = OnFault::kSkip;
  Loader skipping(mixture, options);
  CHECK(SamplesOf(PlayBatches(skipping, 0)).size() == 80);
  REQUIRE(skipping.Faults().size() == 1);
  CHECK(skipping.Faults()[0].sample == 40);
  CHECK(skipping.Faults()[0].samples == 40);
}

TEST_CASE("Row() finds a sample of a mixture, and Describe() and Stats() say what is mixed") {
  const TemporaryFolder folder;
  const Dataset a = WritePlain(folder, "a", 30, 0);
  const Dataset b = WritePlain(folder, "b", 60, 100);
  Loader loader(Mixture{{a, 3}, {b, 1}}, OptionsFor(4, 2));
  const std::vector<PlayedBatch> played = PlayBatches(loader, 1);
  const std::uint64_t sample = played[3].samples[2];
  const Batch row = loader.Row(sample, 1);
  CHECK(row.samples()[0] == sample);
  CHECK(row.image().data[0] == played[3].pixels[2 * 192]);
  CHECK_THAT(loader.Describe(), ContainsSubstring("a mixture of 2 datasets, by weight"));
  CHECK_THAT(loader.Describe(),
             ContainsSubstring(a.path().string() + ": 30 an epoch of its 30 samples, 75%"));
  CHECK_THAT(loader.Describe(),
             ContainsSubstring(b.path().string() + ": 10 an epoch of its 60 samples, 25%"));
  CHECK(loader.Stats().epoch_samples == 40);
  CHECK(loader.samples_per_epoch() == 40);
  CHECK(loader.Memory().bookkeeping > 0);
}

TEST_CASE("A faulty sample of a mixture is replaced by another of its own dataset") {
  const TemporaryFolder folder;
  const Dataset a = WritePlain(folder, "a", 60, 0);
  const Dataset b = WritePlain(folder, "b", 40, 100);
  LoaderOptions options = OptionsFor(8, 1);
  options.order.lanes = 4;
  options.integrity.on_fault = OnFault::kSubstitute;
  options.sample_function = [](MutableSample& sample) {
    if (sample.index() % 5 == 0) throw std::runtime_error("a fifth");
  };
  Mixture mixture{{a, 3}, {b, 1}};
  if (GENERATE(false, true)) mixture.shares = MixtureShares::kOfEachBatch;
  const auto flags = [&](unsigned threads) {
    options.threads = threads;
    Loader loader(mixture, options);
    std::vector<std::vector<SampleFlag>> seen;
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch)
      for (const Batch& batch : loader.Epoch(epoch)) {
        seen.emplace_back(batch.flags().begin(), batch.flags().end());
        for (std::size_t row = 0; row < batch.size(); ++row) {
          const std::uint64_t sample = batch.samples()[row];
          REQUIRE(sample % 5 != 0);
          REQUIRE(batch.image().data[192 * row] == (sample < 60 ? sample : 100 + sample - 60));
        }
      }
    CHECK(loader.Faults().size() > 10);
    return seen;
  };
  const auto replaced = flags(1);
  CHECK(replaced == flags(3));
  // Each dataset has as many rows as without faults.
  options.sample_function = {};
  options.integrity.on_fault = OnFault::kError;
  Loader whole(mixture, options);
  Loader again(mixture, [&] {
    LoaderOptions faulty = options;
    faulty.integrity.on_fault = OnFault::kSubstitute;
    faulty.sample_function = [](MutableSample& sample) {
      if (sample.index() % 5 == 0) throw std::runtime_error("a fifth");
    };
    return faulty;
  }());
  const auto expected = PlayBatches(whole, 0), found = PlayBatches(again, 0);
  REQUIRE(expected.size() == found.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (std::size_t row = 0; row < expected[i].samples.size(); ++row) {
      const std::uint64_t was = expected[i].samples[row], is = found[i].samples[row];
      REQUIRE((was < 60) == (is < 60));
      REQUIRE((was % 5 == 0 || was == is));
      REQUIRE((replaced[i][row] == SampleFlag::kSubstitute) == (was % 5 == 0));
    }
}
