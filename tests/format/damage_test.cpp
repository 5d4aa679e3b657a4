// Every byte of a shard is checked: whichever byte is damaged, a full check notices.
#include <fcntl.h>
#include <unistd.h>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/keys.h"
#include "format/disk/shard.h"
#include "tests/catch.h"
#include "tests/format/example.h"
#include "tests/sanitized.h"
#include "tests/temporary_folder.h"

namespace sluice {

namespace {

bool BlockIsSound(const ShardFile& shard, std::uint32_t number) {
  const BlockView block = shard.Block(number);
  if (block.VerifyPlacement(shard.schema(), shard.layout()) != nullptr) return false;
  for (std::uint32_t row = 0; row < block.count(); ++row) {
    for (std::size_t f = 0; f < shard.schema().fields.size(); ++f) {
      if (shard.schema().fields[f].kind == FieldKind::kArray) continue;
      BlockView::Payload payload;
      if (block.GetPayload(shard.layout(), row, f, payload) != nullptr) return false;
      if (payload.entry.codec != 0 && Hash64(payload.bytes) != payload.entry.checksum) return false;
    }
  }
  return true;
}

// The checks that FORMAT.md, "Checking", lists for a shard alone, without its manifest.
bool IsSound(const std::filesystem::path& path, const Schema& schema) {
  try {
    const ShardFile shard(path, schema);
    if (shard.VerifyPlacement() != nullptr) return false;
    for (const SectionEntry& section : shard.sections())
      (void)shard.Section(section.number);
    for (std::uint32_t b = 0; b < shard.blocks(); ++b) {
      if (!BlockIsSound(shard, b)) return false;
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

TEST_CASE("a change of any single byte of a shard is noticed", "[no-tsan]") {
  const std::size_t step = test::kSanitized ? 5 : 1;
  const test::ExampleDataset dataset = test::VariedExample();
  const std::size_t which = GENERATE(std::size_t{1}, std::size_t{2});
  const std::vector<std::byte>& bytes = dataset.shards[which].bytes;
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder / "a.sluice";
  WriteFile(path, bytes);
  REQUIRE(IsSound(path, dataset.schema));

  const FileHandle file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  REQUIRE(file);
  std::vector<std::size_t> missed;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    // Flips one bit, as failing storage does; which one depends on the offset.
    const std::byte damaged = bytes[at] ^ static_cast<std::byte>(1u << at % 8);
    REQUIRE(pwrite(file.get(), &damaged, 1, static_cast<off_t>(at)) == 1);
    if (IsSound(path, dataset.schema)) missed.push_back(at);
    REQUIRE(pwrite(file.get(), &bytes[at], 1, static_cast<off_t>(at)) == 1);
  }
  CHECK(missed == std::vector<std::size_t>{});
  CHECK(IsSound(path, dataset.schema));
}

TEST_CASE("a file that grew is noticed") {
  const test::ExampleDataset dataset = test::VariedExample();
  std::vector<std::byte> bytes = dataset.shards[2].bytes;
  const test::TemporaryFolder folder;
  for (const std::size_t more : {std::size_t{1}, std::size_t{64}, std::size_t{4096}}) {
    bytes.resize(dataset.shards[2].bytes.size() + more);
    WriteFile(folder / "a.sluice", bytes);
    CHECK_FALSE(IsSound(folder / "a.sluice", dataset.schema));
  }
}

}  // namespace sluice
