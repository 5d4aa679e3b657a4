// Limits on the size of a value, from the manifest and from ReadLimits. They are checked before
// memory is taken.
#include <sluice/loader.h>
#include <sluice/verify.h>

#include "format/disk/zstd.h"
#include "tests/catch.h"
#include "tests/format/built_shard.h"
#include "tests/reader/playing.h"
#include "tests/temporary_folder.h"

using namespace sluice;
using namespace sluice::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// A zstd frame of a few kB that inflates to `bytes` zeros.
FieldValue Zeros(std::size_t bytes) {
  return PayloadValue(AsText(ZstdCompress(std::vector<std::byte>(bytes), 1)), Codec::kZstd);
}

// A dataset of one field "blob". `sizes` are the bytes to which the values inflate. `values` is
// what the manifest states about them, left out if empty.
Dataset WriteBlobs(const TemporaryFolder& folder, const std::vector<std::size_t>& sizes,
                   const std::vector<ManifestValues>& values, const ReadLimits& limits = {}) {
  const Schema schema{{Field::Bytes("blob")}};
  std::vector<EncodedSample> samples;
  for (const std::size_t size : sizes)
    samples.push_back({"key-" + std::to_string(samples.size()), {Zeros(size)}});
  const std::vector<BuiltShard> shards = {BuildShard(schema, IdOf(1), 4, samples)};
  Manifest manifest = ManifestOf("blobs", schema, shards, samples);
  manifest.values = values;
  WriteDataset(folder.path(), manifest, shards);
  return Dataset::Open(folder.path(), limits);
}

// Grey raw pictures of these sides. If `said` is not 0, the manifest states it as their largest
// width and height.
Dataset WritePictures(const TemporaryFolder& folder, const std::vector<std::uint32_t>& sides,
                      std::uint32_t said, const ReadLimits& limits = {}) {
  const Schema schema{{Field::Image()}};
  std::vector<EncodedSample> samples;
  for (const std::uint32_t side : sides) {
    const std::string pixels(std::size_t{side} * side, 'x');
    samples.push_back(
        {"key-" + std::to_string(samples.size()), {ImageValue(side, side, 1, pixels)}});
  }
  const std::vector<BuiltShard> shards = {BuildShard(schema, IdOf(1), 4, samples)};
  Manifest manifest = ManifestOf("pictures", schema, shards, samples);
  if (said != 0) manifest.images[0].max_width = manifest.images[0].max_height = said;
  WriteDataset(folder.path(), manifest, shards);
  return Dataset::Open(folder.path(), limits);
}

LoaderOptions Skipping(std::size_t batch_size) {
  LoaderOptions options;
  options.batch_size = batch_size;
  options.threads = 1;
  options.ring.prefetch = 2;
  options.order.shuffle = Shuffle::kSequential;
  options.integrity.on_fault = OnFault::kSkip;
  return options;
}

// The reasons why samples could not be read, by sample number.
std::map<std::uint64_t, std::string> FaultsOf(Loader& loader) {
  for (const Batch& batch : loader.Epoch(0))
    (void)batch;
  std::map<std::uint64_t, std::string> faults;
  for (const SampleFault& fault : loader.Faults())
    faults[static_cast<std::uint64_t>(fault.sample)] = fault.reason;
  return faults;
}

// The code of the error that reading the sample's blob throws; kState, which it never throws, if it
// is read.
ErrorCode CodeOfReading(const Dataset& dataset, std::uint64_t sample) {
  try {
    (void)dataset[sample].Bytes("blob");
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kState;
}

}  // namespace

TEST_CASE("A value larger than the manifest says is not read") {
  const TemporaryFolder folder;
  // The third is larger than the manifest's maximum.
  const Dataset dataset =
      WriteBlobs(folder, {1000, 2000, 2001, 5}, {{.present = 4, .bytes = 5000, .max_bytes = 2000}});
  CHECK(dataset[1].Bytes("blob").size() == 2000);
  CHECK(CodeOfReading(dataset, 2) == ErrorCode::kCorrupt);
  Loader loader(dataset, Skipping(4));
  const auto faults = FaultsOf(loader);
  REQUIRE(faults.size() == 1);
  CHECK_THAT(faults.at(2), ContainsSubstring("larger than the manifest says"));
  // Four slots (1 + prefetch + hold) of four rows, each with twice the largest value and overhead.
  CHECK(loader.Memory().variable < (1 + 2 + 1) * 4 * (2 * 2000 + 200));
  const VerifyReport report = VerifyDataset(folder.path());
  REQUIRE(report.faults.size() == 1);
  CHECK(report.faults[0].key == "key-2");
}

TEST_CASE("Without `values` in the manifest, a value has at most 64 MiB, or the given limit",
          "[no-tsan]") {
  const TemporaryFolder folder;
  constexpr std::size_t kMost = std::size_t{64} << 20;
  CHECK(CodeOfReading(WriteBlobs(folder, {kMost}, {}), 0) == ErrorCode::kState);
  const TemporaryFolder larger;
  const Dataset usual = WriteBlobs(larger, {kMost + 1, 10}, {});
  CHECK(CodeOfReading(usual, 0) == ErrorCode::kLimit);
  Loader loader(usual, Skipping(2));
  const auto faults = FaultsOf(loader);
  REQUIRE(faults.size() == 1);
  CHECK_THAT(faults.at(0), ContainsSubstring("max_value_bytes"));
  CHECK(loader.Memory().variable <= (1 + 2 + 1) * 2 * (2 * kMost + 200));
  CHECK(CodeOfReading(Dataset::Open(larger.path(), {.max_value_bytes = kMost + 1}), 0) ==
        ErrorCode::kState);
}

TEST_CASE("max_value_bytes also limits values below the manifest's maximum") {
  const TemporaryFolder folder;
  const Dataset dataset =
      WriteBlobs(folder, {1000, 2000}, {{2, 3000, 2000}}, {.max_value_bytes = 1500});
  CHECK(CodeOfReading(dataset, 0) == ErrorCode::kState);
  CHECK(CodeOfReading(dataset, 1) == ErrorCode::kLimit);
  Loader loader(dataset, Skipping(2));
  CHECK(FaultsOf(loader).count(1) == 1);
  CHECK(loader.Memory().variable < (1 + 2 + 1) * 2 * (2 * 1500 + 200));
}

TEST_CASE("A loader whose batches would not fit into memory is refused when it is made") {
  const TemporaryFolder folder;
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
  std::vector<std::size_t> sizes(4, 100);
  const Dataset dataset = WriteBlobs(folder, sizes, {{4, 4 * kGiB, kGiB}});
  LoaderOptions options = Skipping(1 << 20);  // batches of a petabyte
  try {
    Loader loader(dataset, options);
    FAIL("it was made");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kLimit);
    CHECK_THAT(error.what(), ContainsSubstring("LoaderOptions::output.fields"));
  }
}

TEST_CASE("A value is decompressed once, however often a sample is asked for it") {
  const TemporaryFolder folder;
  const Dataset dataset = WriteBlobs(folder, {1000}, {});
  const Sample sample = dataset[0];
  const auto first = sample.Bytes("blob");
  CHECK(sample.Bytes("blob").data() == first.data());
}

TEST_CASE("An image of more pixels than allowed is not decoded") {
  const TemporaryFolder folder;
  const Dataset dataset = WritePictures(folder, {10, 20, 10}, 0, {.max_pixels = 399});
  CHECK(dataset[0].Decode().width == 10);
  CHECK(dataset[1].Shape().width == 20);  // nothing is decoded for that
  try {
    (void)dataset[1].Decode();
    FAIL("it was decoded");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kLimit);
    CHECK_THAT(error.what(), ContainsSubstring("max_pixels"));
    CHECK_THAT(error.what(), ContainsSubstring("record 1"));
  }
  LoaderOptions options = Skipping(3);
  options.transform = {Resize(8, 8)};
  Loader loader(dataset, options);
  const auto faults = FaultsOf(loader);
  REQUIRE(faults.size() == 1);
  CHECK_THAT(faults.at(1), ContainsSubstring("max_pixels"));

  VerifyOptions verify;
  verify.max_pixels = 399;
  CHECK(VerifyDataset(folder.path(), verify).faults.empty());
  verify.decode = true;
  CHECK(VerifyDataset(folder.path(), verify).faults.size() == 1);
}

TEST_CASE("A loader whose images are all too large is refused when it is made") {
  const TemporaryFolder folder;
  const Dataset dataset = WritePictures(folder, {20, 20}, 0, {.max_pixels = 399});
  LoaderOptions options = Skipping(2);
  options.transform = {Resize(8, 8)};
  try {
    Loader loader(dataset, options);
    FAIL("it was made");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kLimit);
    CHECK_THAT(error.what(), ContainsSubstring("max_pixels"));
  }
}

TEST_CASE("An image larger than the manifest says is not decoded") {
  const TemporaryFolder folder;
  const Dataset dataset = WritePictures(folder, {10, 20}, 10);
  CHECK(dataset[0].Decode().width == 10);
  try {
    (void)dataset[1].Decode();
    FAIL("it was decoded");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kCorrupt);
  }
  LoaderOptions options = Skipping(2);
  options.transform = {Resize(8, 8)};
  Loader loader(dataset, options);
  const auto faults = FaultsOf(loader);
  REQUIRE(faults.size() == 1);
  CHECK_THAT(faults.at(1), ContainsSubstring("larger than the manifest says"));
  CHECK(VerifyDataset(folder.path()).faults.size() == 1);
}
