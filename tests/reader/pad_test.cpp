// Variable-length fields padded to rectangles.
#include <sluice/pad.h>

#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("A field of any number of entries is padded to the longest of the batch") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 12));
  LoaderOptions options = OptionsFor(4, 2);
  options.order.shuffle = Shuffle::kSequential;
  options.output.made_fields = {Field::Variable("pairs", DType::kInt32, {2})};
  options.sample_function = [](MutableSample& sample) {
    std::vector<std::int32_t> pairs;  // as many as the sample's number, but never more than 5
    for (std::uint64_t i = 0; i < sample.index() % 6; ++i)
      pairs.insert(pairs.end(), {static_cast<std::int32_t>(sample.index()), -1});
    sample.SetVariable<std::int32_t>("pairs", pairs);
  };
  Loader loader(dataset, options);
  for (const Batch& batch : loader.Epoch(0)) {
    const std::size_t longest[] = {3, 5, 5};  // of samples 0 to 3, 4 to 7 and 8 to 11
    const auto padded = Pad(batch.Variable<std::int32_t>("pairs"), 9);
    CHECK((padded.entry == 2 && padded.longest == longest[batch.index()]));
    REQUIRE(padded.values.size() == 4 * padded.longest * 2);
    for (std::size_t row = 0; row < 4; ++row) {
      const std::uint64_t sample = batch.samples()[row];
      CHECK(padded.counts[row] == sample % 6);
      for (std::size_t e = 0; e < padded.longest; ++e) {
        const std::int32_t* const entry = &padded.values[(row * padded.longest + e) * 2];
        const bool own = e < sample % 6;
        CHECK(entry[0] == (own ? static_cast<std::int32_t>(sample) : 9));
        CHECK(entry[1] == (own ? -1 : 9));
      }
    }
    CHECK(Pad(batch.Variable<std::int32_t>("pairs"), 0, 7).values.size() == 4 * 7 * 2);
  }
}

TEST_CASE("A batch without entries is padded to nothing, or to the requested length") {
  const std::uint64_t offsets[] = {0, 0, 0};
  const VariableValues<float> none{{}, offsets, 4};
  CHECK((Pad(none).values.empty() && Pad(none).longest == 0));
  CHECK(Pad(none, -1, 1).values == std::vector<float>(8, -1));
}
