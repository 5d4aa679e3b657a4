// OneHot with labels of several integers: one number for each class.
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int kSamples = 24;

// The classes of sample i, out of five: those of 2, 3 and 4 that divide i; none for sample 0.
std::vector<std::int64_t> TagsOf(std::uint64_t i) {
  std::vector<std::int64_t> tags;
  for (std::uint64_t c = 2; c < 5 && i > 0; ++c)
    if (i % c == 0) tags.push_back(static_cast<std::int64_t>(c));
  return tags;
}

// The classes as a variable-length field, and as an array of four filled up with -1. `stray` is
// appended to the variable-length field of sample 6.
Dataset WriteTags(const TemporaryFolder& folder, const std::vector<std::int64_t>& stray = {}) {
  const std::filesystem::path path = folder / "tags";
  Field tags = Field::Variable("tags", DType::kInt64, {});
  tags.classes = {"zero", "one", "two", "three", "four"};
  tags.role = Role::kLabel;
  DatasetWriter writer(path,
                       {{Field::Image(), tags, Field::Array("padded", DType::kInt8, {4}),
                         Field::Array("score", DType::kFloat32, {})}},
                       {"tags", 1'000'000, 16});
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    SampleBuilder sample = writer.NewSample("key-" + std::to_string(i));
    const std::vector<std::uint8_t> pixels(8 * 8 * 3, 9);
    sample.SetPixels("image", 8, 8, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
    std::vector<std::int64_t> values = TagsOf(i);
    std::vector<std::int8_t> padded(4, -1);
    std::copy(values.begin(), values.end(), padded.begin());
    if (i == 6) values.insert(values.end(), stray.begin(), stray.end());
    if (i != 1) sample.SetArray<std::int64_t>("tags", values);  // sample 1 lacks the field
    sample.SetArray<std::int8_t>("padded", padded);
    sample.Set<float>("score", 1);
    writer.Add(sample);
  }
  writer.Finish();
  return Dataset::Open(path);
}

// Checks that the target is `own` for each class of a sample, and `other` for all other classes.
void CheckTargets(const Dataset& dataset, const OneHot& step, double own, double other) {
  LoaderOptions options = OptionsFor(7, 3);
  options.transform = {step};
  Loader loader(dataset, options);
  std::size_t seen = 0;
  for (const Batch& batch : loader.Epoch(0)) {
    const std::span<const float> target = batch.Field<float>("target");
    REQUIRE(target.size() == batch.size() * 5);
    for (std::size_t row = 0; row < batch.size(); ++row, ++seen) {
      std::vector<double> expected(5, other);
      for (const std::int64_t tag : TagsOf(batch.samples()[row]))
        expected[static_cast<std::size_t>(tag)] = own;
      for (std::size_t c = 0; c < 5; ++c)
        REQUIRE(target[row * 5 + c] == Approx(expected[c]));
    }
  }
  CHECK(seen == kSamples);
}

}  // namespace

TEST_CASE("Each of a sample's labels gives a 1, from a field of any length and from an array") {
  const TemporaryFolder folder;
  const Dataset dataset = WriteTags(folder, {3, 3});  // a class that is named twice counts once
  CheckTargets(dataset, OneHot{0, 0, "tags"}, 1, 0);  // as many classes as are named
  CheckTargets(dataset, OneHot{5, 0, "padded"}, 1, 0);
}

TEST_CASE("Smoothing several labels moves each number separately") {
  const TemporaryFolder folder;
  CheckTargets(WriteTags(folder), OneHot{0, 0.1, "tags"}, 0.9 + 0.02, 0.02);
}

TEST_CASE("A sample with an additional label that is not a class is a fault") {
  for (const std::int64_t stray : {std::int64_t{5}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    const TemporaryFolder folder;
    LoaderOptions options = OptionsFor(kSamples, 2);
    options.transform = {OneHot{0, 0, "tags"}};
    options.integrity.on_fault = OnFault::kSkip;
    Loader loader(WriteTags(folder, {stray}), options);
    CHECK((*loader.Epoch(0).begin()).size() == kSamples - 1);
    REQUIRE(loader.Faults().size() == 1);
    CHECK(loader.Faults()[0].sample == 6);
    CHECK_THAT(loader.Faults()[0].reason, ContainsSubstring("one of OneHot's classes"));
  }
}

TEST_CASE("OneHot says how to name a label of several integers, and refuses floats") {
  const TemporaryFolder folder;
  const Dataset dataset = WriteTags(folder);
  const auto refusal = [&](const OneHot& step) {
    LoaderOptions options = OptionsFor(4, 1);
    options.transform = {step};
    return ErrorText([&] { Loader loader(dataset, options); }, ErrorCode::kInvalidArgument);
  };
  CHECK_THAT(refusal(OneHot{}), ContainsSubstring("name their field in OneHot::label"));
  CHECK_THAT(refusal(OneHot{5, 0, "score"}), ContainsSubstring("one integer or several"));
  CHECK_THAT(refusal(OneHot{0, 0, "padded"}), ContainsSubstring("set OneHot::classes"));
}
