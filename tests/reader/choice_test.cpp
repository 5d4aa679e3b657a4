// RandomChoice: which list a row has, and that the row is the one of a pipeline with this list
// alone.
#include <cmath>
#include <map>
#include <numeric>

#include <sluice/parse_pipeline.h>
#include <sluice/resume.h>

#include "format/random.h"
#include "reader/transform/geometry.h"
#include "tests/reader/playing.h"
#include "tests/reader/street_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

constexpr int kSamples = 70;

// The bytes and boxes of each row, by its sample.
struct Played {
  std::map<std::uint64_t, std::vector<std::uint8_t>> pixels;
  std::map<std::uint64_t, std::vector<float>> boxes;
};

void Add(const Batch& batch, Played& played, const std::string& view = "image") {
  for (std::size_t row = 0; row < batch.valid(); ++row) {
    const std::uint64_t sample = batch.samples()[row];
    const ImageBatch image = batch.image(view, row);
    std::vector<std::uint8_t>& pixels = played.pixels[sample];
    pixels.assign(image.data, image.data + image.sample_bytes());
    pixels.push_back(static_cast<std::uint8_t>(image.width));
    const auto boxes = batch.Variable<float>("boxes")[row];
    played.boxes[sample].assign(boxes.begin(), boxes.end());
  }
}

LoaderOptions ChoiceOptions(const Pipeline& steps, ImageSizes sizes = ImageSizes::kEqual) {
  LoaderOptions options = OptionsFor(8, 2);
  options.seed = 11;
  options.output.fields = {"image", "mask", "boxes", "classes"};
  options.output.mask_fill["mask"] = 0;
  options.output.image_sizes = sizes;
  options.transform = steps;
  return options;
}

Played Play(const Dataset& dataset, const LoaderOptions& options, std::uint64_t epoch) {
  Played played;
  Loader loader(dataset, options);
  for (const Batch& batch : loader.Epoch(epoch))
    Add(batch, played);
  return played;
}

// The list of a row with that position: DRAWS.md's rule, for one choice.
std::size_t ListOf(const LoaderOptions& options, std::uint64_t epoch, std::uint64_t position,
                   const std::vector<double>& weights) {
  RandomStream stream(DrawSeed(options.seed, epoch), Purpose::kTransform, position, 15);
  double sum = 0;
  for (const double weight : weights)
    sum += weight;
  const double share = stream.Uniform() * sum;
  double up_to = 0;
  for (std::size_t i = 0;; ++i)
    if (share < (up_to += weights[i])) return i;
}

}  // namespace

TEST_CASE("A row of a choice is the row of a pipeline with the drawn list alone") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteStreet(folder, kSamples));
  struct Case {
    std::vector<const char*> lists;
    ImageSizes sizes;
  };
  std::vector<std::uint64_t> samples(kSamples);
  std::iota(samples.begin(), samples.end(), 0);
  const Case cases[] = {
      {{"rrc:8", "flip:1,resize:8,solarize:99@1", "crop:8,jitter:0.4/0.4"}, ImageSizes::kEqual},
      {{"short:7", "crop:9x5,flip", "none"}, ImageSizes::kOwn},
      {{"shortest:5-9", "turns:1,affine:20@1", "scalejitter:12,fixedcrop:10"}, ImageSizes::kPadded},
  };
  for (const auto& [lists, sizes] : cases) {
    const std::vector<double> weights = {3, 1, 2};
    RandomChoice choice;
    choice.p = weights;
    for (const char* const list : lists)
      choice.transforms.push_back(ParsePipeline(list));
    const bool turns = std::string(lists[1]).starts_with("turns");
    const Pipeline before = turns ? ParsePipeline("resize:10") : Pipeline{};
    const auto with = [&](const Pipeline& steps) {
      Pipeline all = before;
      all.insert(all.end(), steps.begin(), steps.end());
      const Pipeline last = ParsePipeline("gray:0.3");
      all.insert(all.end(), last.begin(), last.end());
      return all;
    };
    const LoaderOptions options = ChoiceOptions(with({choice}), sizes);
    for (const std::uint64_t epoch : {0, 3}) {
      // Padded rows of one batch depend on the others, so each row is compared by itself.
      LoaderOptions one = options;
      one.output.image_sizes = sizes == ImageSizes::kEqual ? sizes : ImageSizes::kOwn;
      const Played chosen = Play(dataset, one, epoch);
      std::vector<Played> alone;
      for (const Pipeline& list : choice.transforms) {
        one.transform = with(list);
        alone.push_back(Play(dataset, one, epoch));
      }
      std::size_t rows = 0;
      std::map<std::size_t, int> drawn;
      for (const PlayedRow& row :
           Loader::When(dataset, options, samples, std::vector<std::uint64_t>{epoch})) {
        const std::size_t list = ListOf(options, epoch, row.position, weights);
        CHECK(chosen.pixels.at(row.sample) == alone[list].pixels.at(row.sample));
        CHECK(chosen.boxes.at(row.sample) == alone[list].boxes.at(row.sample));
        ++drawn[list];
        ++rows;
      }
      CHECK(rows == kSamples);
      CHECK(drawn.size() == 3);
    }
  }
}

TEST_CASE("Lists are drawn as often as their weights say, and a weight of 0 never") {
  const Geometry geometry(ParsePipeline("choice(1*flip|0*vflip|5*turns|2.5*|1.5*flip,vflip)"));
  REQUIRE(geometry.RowStages(0) == 5);
  const double weights[] = {1, 0, 5, 2.5, 1.5};
  int counts[5] = {};
  constexpr int kRows = 100'000;
  for (std::uint64_t position = 0; position < kRows; ++position)
    ++counts[geometry.RowStage(0, DrawSeed(3, 1), position)];
  CHECK(counts[1] == 0);
  double chi_square = 0;
  for (const int i : {0, 2, 3, 4}) {
    const double expected = kRows * weights[i] / 10;
    chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  CHECK(chi_square < 16.27);  // three degrees of freedom: exceeded once in a thousand
}

TEST_CASE("A choice of one list draws nothing") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteStreet(folder, kSamples));
  const auto played = [&](const char* text) {
    return Play(dataset, ChoiceOptions(ParsePipeline(text)), 1).pixels;
  };
  CHECK(played("choice(rrc:8),choice(0.1*flip)") == played("rrc:8,flip"));
  CHECK(played("choice(choice(rrc:8|resize:8)),flip") == played("choice(rrc:8|resize:8),flip"));
}

TEST_CASE("Choices do not depend on threads, ranks or a resume, and views draw by themselves") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteStreet(folder, kSamples));
  LoaderOptions options =
      ChoiceOptions(ParsePipeline("choice(0.6*rrc:8|0.4*resize:8,choice(flip:1|invert@1|))"));
  options.schedule = {{2, ParsePipeline("choice(resize:8|crop:8),flip")}};
  options.sizes = {{0, 8, 8}, {3, 10, 6, 2}, {3, 12, 12, 2}};
  options.views = {{"other", options.transform, {}}};
  std::map<std::uint64_t, Played> expected;
  for (const std::uint64_t epoch : {0, 2, 3})
    expected[epoch] = Play(dataset, options, epoch);
  CHECK(expected[0].pixels != expected[2].pixels);
  for (const unsigned threads : {1U, 5U}) {
    options.threads = threads;
    for (const auto& [epoch, played] : expected)
      CHECK(Play(dataset, options, epoch).pixels == played.pixels);
  }
  for (const auto& [epoch, played] : expected) {
    if (epoch == 3) continue;  // a rank's batch has a size of its own number
    Played all;
    for (const std::uint32_t rank : {0U, 1U}) {
      LoaderOptions of_rank = options;
      of_rank.ranks.world_size = 2;
      of_rank.ranks.rank = rank;
      Loader loader(dataset, of_rank);
      for (const Batch& batch : loader.Epoch(epoch))
        Add(batch, all);
    }
    CHECK(all.pixels == played.pixels);
  }
  for (const std::uint64_t begun : {1, 5}) {
    Loader first(dataset, options);
    Played all;
    std::uint64_t taken = 0;
    for (const Batch& batch : first.Epoch(2)) {
      Add(batch, all);
      if (++taken == begun) break;
    }
    LoaderOptions resumed = options;
    resumed.resume_from = first.State();
    Loader second(dataset, resumed);
    for (const Batch& batch : second.Epoch(2))
      Add(batch, all);
    CHECK(all.pixels == expected[2].pixels);
  }
  Loader views(dataset, options);
  Played first, other;
  for (const Batch& batch : views.Epoch(0)) {
    Add(batch, first);
    Add(batch, other, "other");
  }
  CHECK(first.pixels != other.pixels);
  for (const std::uint64_t sample : {0, 17, 69}) {
    const Batch row = views.Row(sample, 0);
    Played one;
    Add(row, one);
    CHECK(one.pixels.at(sample) == first.pixels.at(sample));
  }
}

TEST_CASE("Kept pictures and rows of other loaders have the choices of a loader alone") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteStreet(folder, kSamples));
  for (const char* const text :
       {"choice(rrc:8|resize:8)", "resize:8,choice(solarize:80@1|invert@1|)"}) {
    const LoaderOptions options = ChoiceOptions(ParsePipeline(text));
    LoaderOptions kept = options;
    kept.keep = DecodedPictures{1 << 22};
    Loader loader(dataset, kept);
    for (const std::uint64_t epoch : {0, 1}) {
      Played played;
      for (const Batch& batch : loader.Epoch(epoch))
        Add(batch, played);
      CHECK(played.pixels == Play(dataset, options, epoch).pixels);
    }
    LoaderOptions shared = options;
    shared.share = SharedRows{1 << 22};
    shared.share->folder = folder / "shared";
    LoaderOptions other = shared;
    other.transform = ParsePipeline("choice(resize:8|rrc:8)");
    std::filesystem::create_directories(folder / "shared");
    const Played by_first = Play(dataset, shared, 0);
    CHECK(by_first.pixels == Play(dataset, options, 0).pixels);
    CHECK(Play(dataset, other, 0).pixels != by_first.pixels);
  }
}

TEST_CASE("A choice that cannot be as asked is refused by name") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteStreet(folder, 10));
  const auto refusal = [&](const char* text) {
    return ErrorText([&] { Loader loader(dataset, ChoiceOptions(ParsePipeline(text))); },
                     ErrorCode::kInvalidArgument);
  };
  CHECK_THAT(refusal("choice(resize:8|resize:9)"),
             ContainsSubstring("the lists of RandomChoice make images of 8x8 and of 9x9") &&
                 ContainsSubstring("a step after the choice such as Resize(224)"));
  CHECK_THAT(refusal("choice(resize:8|)"), ContainsSubstring("8x8 and of 16x12"));
  CHECK_THAT(refusal("choice(flip|normalize),resize:8"),
             ContainsSubstring("lists without Normalize, OneHot, MixUp, CutMix and CopyPaste"));
  CHECK_THAT(refusal("choice(1*flip|vflip)"), ContainsSubstring("1 for 2 lists"));
  CHECK_THAT(refusal("choice(-1*flip|2*vflip)"), ContainsSubstring("weights p of 0 or more"));
  CHECK_THAT(refusal("choice(0*flip|0*vflip)"), ContainsSubstring("finite sum above 0"));
  CHECK_THAT(refusal("choice(x*flip|vflip)"), ContainsSubstring("the weight \"x\""));
  CHECK_THAT(refusal("choice(flip|vflip"), ContainsSubstring("does not end with a bracket"));
  CHECK_THAT(refusal("choice"), ContainsSubstring("at least one list"));
  std::string many;
  for (int i = 0; i < 9; ++i)
    many += std::string(i == 0 ? "" : ",") + "choice(flip|vflip)";
  CHECK_THAT(refusal(many.c_str()), ContainsSubstring("more than 256 ways"));
  Loader served(dataset, ChoiceOptions(ParsePipeline("choice(resize:8|center:8)")));
  CHECK_THAT(ErrorText([&] { served.PipelineText(); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("RandomChoice draws the steps of each row"));
  CHECK_THAT(served.Describe(), ContainsSubstring("RandomChoice([Resize(8, 8, triangle)], "
                                                  "[CenterCrop(8, 8)])") &&
                                    ContainsSubstring("one of the lists, drawn for each row"));
}

TEST_CASE("Describe() names sizes that are drawn once each, and how a RandomAffine runs") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteStreet(folder, kSamples));
  LoaderOptions options = ChoiceOptions({RandomAffine(0).with_size(16, 16)});
  options.sizes = SizesByBatch({8, 24}, 3);
  options.schedule = {{2, {RandomAffine(10).with_size(16, 16)}}};
  const std::string text = Loader(dataset, options).Describe();
  CHECK_THAT(text, ContainsSubstring(": 8x8 or 24x24, 3 channels"));
  CHECK_THAT(text,
             ContainsSubstring("RandomAffine(0, 0, 1, size 16x16)  fused with decoding, unless"));
  CHECK_THAT(text, ContainsSubstring("RandomAffine(-10, 10, 1, size 16x16)  a second pass"));
}
