// Checking a dataset (verify): every damage is found, and nothing else is reported.
#include <fstream>

#include <sluice/error.h>
#include <sluice/verify.h>

#include "format/disk/checksum.h"
#include "format/disk/manifest.h"
#include "tests/catch.h"
#include "tests/file_content.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

void FlipBit(const std::filesystem::path& file, std::uint64_t offset) {
  std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
  stream.seekg(static_cast<std::streamoff>(offset));
  const int byte = stream.get();
  stream.seekp(static_cast<std::streamoff>(offset));
  stream.put(static_cast<char>(byte ^ 0x10));
}

}  // namespace

TEST_CASE("A good dataset has no faults, with and without decoding, on any number of threads") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteJpegDataset(folder, 60);
  for (const bool decode : {false, true}) {
    for (const unsigned threads : {1U, 3U}) {
      VerifyOptions options;
      options.decode = decode;
      options.threads = threads;
      std::uint64_t reported = 0;
      options.on_progress = [&](std::uint64_t done, std::uint64_t all) {
        reported = done;
        REQUIRE(all == 60);
      };
      const VerifyReport report = VerifyDataset(path, options);
      CHECK(report.faults.empty());
      CHECK(report.samples == 60);
      CHECK(reported == 60);
      CHECK(report.bytes == Dataset::Open(path).shards()[0].bytes);
    }
  }
}

TEST_CASE("A value with a flag that is not known is one fault, of its sample") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 3);
  Id128 id;
  Manifest manifest = ReadManifest(path, id);
  const std::filesystem::path file = path / manifest.shards[0].file;
  std::string shard = ContentOf(file);
  // The flag, and then each checksum that covers it: format/FORMAT.md, "Shards".
  const auto at = [&shard]<class T>(std::size_t offset, T) {
    T value;
    std::memcpy(&value, &shard[offset], sizeof value);
    return value;
  };
  const auto seal = [&shard](std::size_t offset, std::size_t begin, std::size_t size) {
    const std::uint64_t sum = Hash64(AsBytes(std::string_view(shard).substr(begin, size)));
    std::memcpy(&shard[offset], &sum, sizeof sum);
    return sum;
  };
  const std::size_t block = at(12, std::uint32_t{}), tail = shard.size() - 64;
  const std::size_t directory = at(tail + 32, std::uint64_t{});
  const std::size_t directory_bytes = at(tail + 40, std::uint64_t{});
  shard[block + 64 + 22] = 1;
  seal(block + 48, block + 64,
       std::size_t{at(block + 24, std::uint32_t{})} * at(block + 28, std::uint32_t{}));
  const std::uint64_t sum = seal(block + 56, block, 56);
  std::memcpy(&shard[directory + 64 + 24], &sum, sizeof sum);
  seal(tail + 48, directory, directory_bytes);
  seal(tail + 56, tail, 56);
  std::ofstream(file, std::ios::binary) << shard;
  const std::string_view all = shard;
  manifest.shards[0].digest =
      Hash128({AsBytes(all.substr(directory, directory_bytes)), AsBytes(all.substr(tail))});
  std::ofstream(path / kManifestName, std::ios::binary) << ManifestToJson(manifest, id);
  const VerifyReport report = VerifyDataset(path);
  std::vector<std::int64_t> samples;
  for (const Fault& fault : report.faults) {
    if (fault.reason.find("the payload's flags are not known") != std::string::npos)
      samples.push_back(fault.sample);
  }
  CHECK(samples == std::vector<std::int64_t>{0});
}

TEST_CASE("A flipped bit anywhere in a shard is found", "[no-tsan]") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 40, 8);
  const std::filesystem::path shard = path / Dataset::Open(path).shards()[0].file;
  const std::uint64_t size = std::filesystem::file_size(shard);
  for (std::uint64_t offset = 3; offset < size; offset += 61) {
    FlipBit(shard, offset);
    INFO("byte " << offset);
    REQUIRE_FALSE(VerifyDataset(path).faults.empty());
    FlipBit(shard, offset);
  }
  REQUIRE(VerifyDataset(path).faults.empty());
}

TEST_CASE("A damaged payload is reported with shard, sample and key") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 40, 8);
  const Dataset dataset = Dataset::Open(path);
  const std::filesystem::path shard = path / dataset.shards()[0].file;
  // Sample 11's pixels: 192 bytes of value 11.
  const std::string bytes = ContentOf(shard);
  FlipBit(shard, bytes.find(std::string(192, '\x0b')) + 5);
  const VerifyReport report = VerifyDataset(path);
  REQUIRE(report.faults.size() == 1);
  CHECK(report.faults[0].shard == dataset.shards()[0].file);
  CHECK(report.faults[0].sample == 11);
  CHECK(report.faults[0].key == "key-11");
  CHECK_THAT(report.faults[0].reason, Catch::Matchers::ContainsSubstring("checksum"));
  CHECK(report.samples == 40);
}

TEST_CASE("A payload with a matching checksum that cannot be decoded is found by decoding") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "undecodable";
  {
    DatasetWriter writer(path, {{Field::Image()}});
    auto file = MakeJpeg(MakePicture(64, 64));
    file.resize(file.size() / 2);
    file.insert(file.end(), {std::byte{0xFF}, std::byte{0xD9}});  // the end marker of a JPEG
    SampleBuilder sample = writer.NewSample("half.jpg");
    sample.SetJpeg("image", file);
    writer.Add(sample);
    writer.Finish();
  }
  CHECK(VerifyDataset(path).faults.empty());
  VerifyOptions options;
  options.decode = true;
  const VerifyReport report = VerifyDataset(path, options);
  REQUIRE(report.faults.size() == 1);
  CHECK(report.faults[0].key == "half.jpg");
}

TEST_CASE("A missing shard is a fault, a damaged manifest an error") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 40, 8);
  const std::filesystem::path shard = path / Dataset::Open(path).shards()[0].file;
  std::filesystem::rename(shard, folder / "away");
  const VerifyReport report = VerifyDataset(path);
  REQUIRE(report.faults.size() == 1);
  CHECK(report.faults[0].sample == -1);
  std::filesystem::rename(folder / "away", shard);
  FlipBit(path / "manifest.json", 100);
  CHECK_THROWS_AS(VerifyDataset(path), Error);
}

TEST_CASE("A check that is asked to stop reports that it stopped") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 40, 8);
  std::stop_source source;
  source.request_stop();
  VerifyOptions options;
  options.stop = source.get_token();
  const VerifyReport report = VerifyDataset(path, options);
  CHECK(report.stopped);
  CHECK(report.samples == 0);
}
