// LoaderOptions::schedule: steps that change with the epoch.
#include <sluice/parse_pipeline.h>

#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

std::string Refusal(const Dataset& dataset, const LoaderOptions& options) {
  return ErrorText([&] { const Loader loader(dataset, options); }, ErrorCode::kInvalidArgument);
}

}  // namespace

TEST_CASE("Scheduled steps start with their epoch, for any number of threads and after a resume") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 60));
  LoaderOptions options = OptionsFor(8, GENERATE(1U, 3U));
  options.transform = {Invert(1)};
  options.schedule = {{2, {}}, {4, {Invert(1)}}};
  const auto check = [](const std::vector<PlayedBatch>& batches, bool inverted) {
    for (const PlayedBatch& batch : batches) {
      for (std::size_t row = 0; row < batch.samples.size(); ++row) {
        const std::uint64_t stored = batch.samples[row] % 251;
        REQUIRE(batch.pixels[row * 192] == (inverted ? 255 - stored : stored));
      }
    }
  };
  Loader loader(dataset, options);
  for (std::uint64_t epoch = 0; epoch < 6; ++epoch)
    check(PlayBatches(loader, epoch), epoch < 2 || epoch >= 4);
  const auto whole = PlayBatches(loader, 3);
  Loader first(dataset, options);
  PlayBatches(first, 3, 2);
  options.resume_from = first.State();
  Loader resumed(dataset, options);
  CHECK(PlayBatches(resumed, 3) == std::vector(whole.begin() + 2, whole.end()));
  check(PlayBatches(resumed, 4), true);
}

TEST_CASE("An epoch of a schedule equals that of a loader with the epoch's steps alone") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 24));
  const Pipeline strong = {RandomResizedCrop(32), HorizontalFlip(), ColorJitter{0.4, 0.4}};
  const Pipeline weak = {CenterResizedCrop(32), ColorJitter{0.4, 0.4}};
  LoaderOptions options = OptionsFor(8, 2);
  SECTION("decoded anew") {}
  SECTION("from kept pictures") {
    options.keep = DecodedPictures{8 << 20};
  }
  LoaderOptions plain = options;
  options.transform = strong;
  options.sizes = {{0, 32, 32}, {1, 20, 24}};
  options.schedule = {{2, weak}};
  options.views = {{"second", weak, {}, {{1, strong}}}};
  plain.views = {{"second", weak, {}}};
  Loader loader(dataset, options);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    plain.transform = epoch < 2 ? strong : weak;
    plain.sizes = {{0, 20, 24}};
    if (epoch == 0) plain.sizes.clear();
    plain.views[0].transform = epoch < 1 ? weak : strong;
    Loader alone(dataset, plain);
    auto expected = alone.Epoch(epoch).begin();
    for (const Batch& batch : loader.Epoch(epoch)) {
      CHECK(Keep(batch) == Keep(*expected));
      const ImageBatch &view = batch.image("second"), &other = expected->image("second");
      CHECK(std::equal(view.data, view.data + view.samples * view.sample_bytes(), other.data));
      ++expected;
    }
  }
  CHECK_THAT(loader.Describe(), ContainsSubstring("from epoch 2 on:\n  CenterResizedCrop"));
}

TEST_CASE("MixUp may end before the last epochs") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 32));
  LoaderOptions options = OptionsFor(16, 1);
  options.transform = {OneHot(), MixUp(1)};
  options.schedule = {{1, {OneHot()}}};
  Loader loader(dataset, options);
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    bool mixed = false;
    for (const Batch& batch : loader.Epoch(epoch))
      for (const float number : batch.Field<float>("target"))
        mixed = mixed || (number != 0 && number != 1);
    CHECK(mixed == (epoch == 0));
  }
}

TEST_CASE("An invalid schedule is refused") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 20));
  LoaderOptions options = OptionsFor(4, 1);
  options.schedule = {{0, {}}};
  CHECK_THAT(Refusal(dataset, options), ContainsSubstring("epoch 1 or later"));
  options.schedule = {{3, {}}, {3, {}}};
  CHECK_THAT(Refusal(dataset, options), ContainsSubstring("must increase"));
  options.schedule = {{3, {Normalize{}}}};
  CHECK_THAT(Refusal(dataset, options), ContainsSubstring("from epoch 3 on has Normalize"));
  options.transform = {OneHot(10, 0.1)};
  options.schedule = {{3, {OneHot(10)}}};
  CHECK_THAT(Refusal(dataset, options), ContainsSubstring("OneHot must be the same"));
  options.transform.clear();
  options.schedule = {{3, {GaussianBlur(17)}}};
  CHECK_THAT(Refusal(dataset, options), ContainsSubstring("GaussianBlur"));
  options.schedule = {{3, {HorizontalFlip()}}};
  options.sample_function = [](MutableSample&) {};
  options.keep = DecodedPictures{1 << 20, {}, true};
  CHECK_THAT(Refusal(dataset, options), ContainsSubstring("LoaderOptions::schedule empty"));
}

TEST_CASE("A ramp has a step for each epoch, and a schedule can be read from text") {
  const auto blend = [](double share) { return Pipeline{ColorJitter{0.8 * share}}; };
  const std::vector<ScheduledTransform> ramp = Ramp(10, 14, blend);
  REQUIRE(ramp.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(ramp[i].epoch == 11 + i);
    CHECK(std::get<ColorJitter>(ramp[i].transform[0]).brightness == Approx(0.2 * double(i + 1)));
  }
  CHECK_THROWS_AS(Ramp(4, 4, blend), Error);
  const std::vector<ScheduledTransform> read = ParseSchedule("80=rrc:224,flip;90=none");
  REQUIRE(read.size() == 2);
  CHECK((read[0].epoch == 80 && read[0].transform.size() == 2));
  CHECK((read[1].epoch == 90 && read[1].transform.empty()));
  for (const char* const wrong : {"", "flip", "x=flip", "8=flip;", "-1=flip", "8=flap"})
    CHECK_THROWS_AS(ParseSchedule(wrong), Error);
}
