// Repair of damaged shards, and of forged ones, whose checksums are right and whose claims are
// false. A repair must cost no more than the bytes that are really there.
#include <sluice/dataset_edit.h>

#include "format/disk/block.h"
#include "format/disk/checksum.h"
#include "format/disk/shard_build.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/writer/stored.h"

namespace sluice::test {

namespace {

constexpr std::uint32_t kBlockSamples = 4;
constexpr std::uint32_t kSide = 8;

Schema Images() {
  return Schema{{Field::Image()}};
}

// A block of pictures of one colour each. All blocks have the same shard id.
std::vector<std::byte> BlockOf(std::uint32_t number, std::uint32_t count = kBlockSamples) {
  std::vector<EncodedSample> samples(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    FieldValue value;
    value.codec = Codec::kRaw;
    value.width = value.height = kSide;
    value.channels = 3;
    value.bytes.assign(kSide * kSide * 3, static_cast<std::byte>(number * kBlockSamples + i));
    samples[i].fields.push_back(std::move(value));
  }
  return BuildBlock(Images(), RecordLayout(Images()), Id128{{7}}, number,
                    std::uint64_t{number} * kBlockSamples, samples);
}

// Changes a block's header and recomputes its checksum.
template <class Change>
void Forge(std::vector<std::byte>& block, Change&& change) {
  auto header = LoadAt<BlockHeader>(block, 0);
  change(header);
  StoreAt(block, 0, header);
  header.header_checksum = Hash64(Bytes(block).first(offsetof(BlockHeader, header_checksum)));
  StoreAt(block, 0, header);
}

// A dataset without a manifest, of one shard that has blocks but no end.
struct Broken {
  TemporaryFolder folder;

  explicit Broken(const std::vector<std::vector<std::byte>>& blocks) {
    std::vector<std::byte> file = BuildShardHeader(Images(), Id128{{7}}, kBlockSamples);
    for (const std::vector<std::byte>& block : blocks)
      file.insert(file.end(), block.begin(), block.end());
    std::filesystem::create_directory(folder / "data");
    WriteFile(folder / "data/shard-00000.sluice", file);
  }

  RepairReport Mend() const { return RepairDataset(folder / "data", folder / "made"); }

  // The colours of the recovered pictures.
  std::vector<int> Colours() const {
    std::vector<int> colours;
    for (const StoredSample& sample : ReadDataset(folder / "made").samples)
      colours.push_back(static_cast<int>(sample.fields[0].bytes.at(0)));
    return colours;
  }
};

}  // namespace

TEST_CASE("a block that claims to begin at sample 2^48 is refused without memory for its claim") {
  std::vector<std::byte> forged = BlockOf(1);
  Forge(forged, [](BlockHeader& header) { header.first_sample = std::uint64_t{1} << 48; });
  const Broken broken({BlockOf(0), forged, BlockOf(2)});
  const RepairReport report = broken.Mend();
  CHECK(broken.Colours() == std::vector<int>{0, 1, 2, 3, 8, 9, 10, 11});
  REQUIRE(report.lost.size() == 1);
  CHECK(report.lost[0].sample == 4);
  CHECK(report.lost[0].samples == 4);
}

TEST_CASE("millions of samples that a block claims are missing before it count as one loss") {
  std::vector<std::byte> forged = BlockOf(1);
  Forge(forged, [](BlockHeader& header) {
    header.number = 1000;
    header.first_sample = 65'000'000;
  });
  const Broken broken({BlockOf(0), forged});
  const RepairReport report = broken.Mend();
  CHECK(broken.Colours() == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  REQUIRE(report.lost.size() == 1);
  CHECK(report.lost[0].sample == 4);
  CHECK(report.lost[0].samples == 64'999'996);
}

TEST_CASE("pages that each claim a block of 128 MB are searched without taking such memory") {
  // The claims add up to half a terabyte. Memory, or the test's time, would not be enough for it.
  std::vector<std::vector<std::byte>> blocks;
  for (std::uint32_t number = 0; number < 4000; ++number) {
    blocks.push_back(BlockOf(0));
    Forge(blocks.back(), [number](BlockHeader& header) {
      header.bytes = 127'999'999 / kPageBytes * kPageBytes;
      header.record_bytes += number == 3999 ? 0 : 8;  // of another schema, except the last one
    });
  }
  const Broken broken(blocks);
  CHECK(broken.Mend().lost.empty());
  CHECK(broken.Colours() == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("samples that share one payload are not copied beyond their block's size") {
  constexpr std::uint32_t kCount = 400;
  std::vector<std::byte> block = BlockOf(0, kCount);
  const RecordLayout layout(Images());
  const auto entry = [&](std::uint32_t row) {
    return sizeof(BlockHeader) + row * layout.record_bytes() + layout.offset(0);
  };
  // All samples have the same payload: from the first sample's bytes to the block's end.
  auto first = LoadAt<PayloadEntry>(block, entry(0));
  first.size = static_cast<std::uint32_t>(block.size() - first.offset);
  first.checksum = Hash64(Bytes(block).subspan(first.offset));
  for (std::uint32_t row = 0; row < kCount; ++row)
    StoreAt(block, entry(row), first);
  Forge(block, [&](BlockHeader& header) {
    header.table_checksum =
        Hash64(Bytes(block).subspan(sizeof(BlockHeader), kCount * layout.record_bytes()));
  });
  const Broken broken({block});
  const RepairReport report = broken.Mend();
  CHECK(report.made.samples == 1);
  REQUIRE(report.lost.size() == 1);
  CHECK(report.lost[0].sample == 1);
  CHECK(report.lost[0].samples == kCount - 1);
}

TEST_CASE("the last block, cut anywhere, gives the samples before the cut") {
  const std::vector<std::byte> whole = BlockOf(1);
  for (std::size_t size = 0; size < whole.size(); size += 61) {
    INFO(size << " bytes of the block are left");
    const Broken broken({BlockOf(0), {whole.begin(), whole.begin() + std::ptrdiff_t(size)}});
    broken.Mend();
    std::vector<int> expected = {0, 1, 2, 3};
    for (int i = 0; i < 4; ++i) {
      auto entry = LoadAt<PayloadEntry>(
          whole, sizeof(BlockHeader) + std::size_t(i) * RecordLayout(Images()).record_bytes());
      if (entry.offset + entry.size <= size) expected.push_back(4 + i);
    }
    CHECK(broken.Colours() == expected);
  }
}

}  // namespace sluice::test
