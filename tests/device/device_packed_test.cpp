// Loaders whose device decodes packed pictures: their batches equal the host's.
#include <fstream>
#include <set>

#include "tests/device/device_decoding.h"
#include "tests/file_content.h"

using namespace sluice;
using namespace sluice::test;

namespace {

enum class Form { kPacked, kStored, kProgressive };

// Writes packed pictures and JPEGs: form(i) returns the form of picture i.
template <class FormOf>
std::filesystem::path WriteMixed(const TemporaryFolder& folder, int count, const FormOf& form) {
  const std::filesystem::path path = folder / "mixed";
  DatasetWriter writer(path, {{Field::Image(), Field::Label("label")}}, {"mixed", 1'000'000, 4});
  for (int i = 0; i < count; ++i) {
    SampleBuilder sample = writer.NewSample("photo-" + std::to_string(i));
    const auto n = static_cast<std::uint32_t>(i);
    JpegOptions options;
    options.restart_rows = 1;
    options.progressive = form(i) == Form::kProgressive;
    options.subsample = i % 5 != 0;
    const auto file = MakeJpeg(MakePicture(80 + n % 17, 60 + n % 23, 3, n), options);
    if (form(i) == Form::kPacked) {
      REQUIRE(sample.SetPacked("image", file));
    } else {
      sample.SetJpeg("image", file);
    }
    sample.Set<std::int32_t>("label", i);
    writer.Add(sample);
  }
  writer.Finish();
  return path;
}

}  // namespace

TEST_CASE("A device decodes every packed picture, and batches equal the host's") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteMixed(folder, 46, [](int) { return Form::kPacked; }));
  Trainer trainer;
  for (const unsigned threads : {0U, 2U}) {
    LoaderOptions options = DecodingOptions(trainer, 6, threads);
    options.transform = {RandomResizedCrop(24), HorizontalFlip(),
                         Normalize{kMeans, kDeviations, FloatType::kFloat16}};
    CHECK(CheckSame(dataset, options) >= 2 * 46);
    options.output.channels = 1;
    options.transform = {Resize(80, 50), VerticalFlip(), Normalize{{0.5F}, {0.25F}}};
    CHECK(CheckSame(dataset, options) >= 2 * 46);
  }
}

TEST_CASE("Packed pictures, JPEGs and pictures for the host may share a batch") {
  const TemporaryFolder folder;
  const Dataset dataset =
      Dataset::Open(WriteMixed(folder, 48, [](int i) { return static_cast<Form>(i % 3); }));
  Trainer trainer;
  LoaderOptions options = DecodingOptions(trainer);
  options.transform = {RandomResizedCrop(24), HorizontalFlip(), ColorJitter{.4, .4, .4, .1},
                       Normalize{kMeans, kDeviations}};
  options.views = {{"plain", {CenterCrop(12)}, {}}};
  CheckSame(dataset, options, {"image", "plain"});
  options.views = {};
  CHECK(IsAbout(CheckSame(dataset, options), 2 * 32));
}

TEST_CASE("Rows of packed pictures fit into a slot, whatever their sampling") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "full";
  DatasetWriter writer(path, {{Field::Image(), Field::Label("label")}}, {"full", 1'000'000, 4});
  for (int i = 0; i < 12; ++i) {
    SampleBuilder sample = writer.NewSample("photo-" + std::to_string(i));
    JpegOptions options;
    options.subsample = false;
    const Picture picture = MakePicture(100, 300, 3, static_cast<std::uint64_t>(i));
    REQUIRE(sample.SetPacked("image", MakeJpeg(picture, options)));
    sample.Set<std::int32_t>("label", i);
    writer.Add(sample);
  }
  writer.Finish();
  const Dataset dataset = Dataset::Open(path);
  Trainer trainer;
  LoaderOptions options = DecodingOptions(trainer, 4, 0);
  options.transform = {Resize(100, 300)};
  CHECK(CheckSame(dataset, options) == 2 * 12);
}

TEST_CASE(
    "A packed picture that a device refuses is decoded again by the host, which may find a fault") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteMixed(folder, 26, [](int) { return Form::kPacked; });
  const std::filesystem::path shard = path / "shard-00000.sluice";
  std::string bytes = ContentOf(shard);
  std::size_t at = 0;
  // Payloads begin with the form, three components, factors of 2 x 2 and two tables.
  const std::string begin("\x01\x03\x22\x02", 4);
  const std::size_t pictures = 26 - 6;  // every fifth has other factors
  for (std::size_t i = 0; i < pictures; ++i) {
    at = bytes.find(begin, at + 1);
    REQUIRE(at != std::string::npos);
    const auto height = static_cast<std::size_t>(static_cast<std::uint8_t>(bytes[at + 6]));
    const std::size_t rows = (height + 7) / 8 + 2 * ((height + 15) / 16);
    const std::size_t first_row = at + 24 + 2 * 64 + 4 * rows;
    // The first row then claims 2^24 large values, which do not fit.
    if (i % 7 == 3) bytes[first_row + 3] = 1;
  }
  std::ofstream(shard, std::ios::binary | std::ios::trunc) << bytes;
  const Dataset dataset = Dataset::Open(path);
  Trainer trainer;
  LoaderOptions options = DecodingOptions(trainer);
  options.transform = {Resize(24, 24), Normalize{kMeans, kDeviations}};
  options.integrity.verify = Verify::kNever;
  options.integrity.on_fault = OnFault::kSubstitute;
  CHECK(CheckSame(dataset, options) > 0);
  Loader loader(dataset, options);
  Play(loader, 0, {"image"});
  std::set<std::uint64_t> faulty;
  for (const SampleFault& fault : loader.Faults())
    faulty.insert(fault.sample);
  CHECK(faulty.size() == 3);  // pictures 3, 10 and 17 of the 20
}
