// Whole shards: header, directory, tail and sections, and the refusal of damaged ones.
#include "format/disk/shard.h"

#include "format/disk/checksum.h"
#include "format/disk/limits.h"
#include "format/disk/shard_build.h"
#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/format/example.h"
#include "tests/temporary_folder.h"

namespace sluice {

namespace {

using test::BuiltShard;

// Writes the bytes of a shard, which a test may have changed, to a temporary file.
class OnDisk {
 public:
  explicit OnDisk(const std::vector<std::byte>& bytes) : path_(folder_ / "a.sluice") {
    WriteFile(path_, bytes);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  test::TemporaryFolder folder_;
  std::filesystem::path path_;
};

std::optional<Error> ShardRefusal(const std::vector<std::byte>& bytes, const Schema& schema,
                                  const ShardExpectation& expect = {}) {
  const OnDisk file(bytes);
  return test::ErrorOf([&] { ShardFile(file.path(), schema, expect); });
}

// Changes a structure at `offset` and recomputes the checksum at its end.
template <class Struct, class Change>
void Edit(std::vector<std::byte>& bytes, std::size_t offset, Change&& change) {
  auto value = LoadAt<Struct>(bytes, offset);
  change(value);
  StoreAt<Struct>(bytes, offset, value);
  const std::uint64_t checksum = Hash64(Bytes(bytes).subspan(offset, sizeof(Struct) - 8));
  StoreAt<std::uint64_t>(bytes, offset + sizeof(Struct) - 8, checksum);
}

// Changes the directory's bytes and recomputes its checksum in the tail.
template <class Change>
void EditDirectory(std::vector<std::byte>& bytes, Change&& change) {
  const std::size_t at = bytes.size() - sizeof(ShardTail);
  const auto tail = LoadAt<ShardTail>(bytes, at);
  const auto directory = std::span(bytes).subspan(tail.directory_offset, tail.directory_bytes);
  change(directory);
  Edit<ShardTail>(bytes, at, [&](ShardTail& t) { t.directory_checksum = Hash64(directory); });
}

const test::ExampleDataset& Varied() {
  static const test::ExampleDataset dataset = test::VariedExample();
  return dataset;
}

}  // namespace

TEST_CASE("a shard gives back its counts, columns, keys and sections") {
  const BuiltShard& built = Varied().shards[1];
  const OnDisk file(built.bytes);
  const ShardFile shard(file.path(), Varied().schema);
  CHECK(shard.id() == test::IdOf(2));
  CHECK(shard.digest() == built.entry.digest);
  CHECK(shard.samples() == 12);
  CHECK(shard.blocks() == 2);
  CHECK(shard.block_samples() == 6);
  CHECK(ShardFile::ReadSchema(file.path()) == Varied().schema);
  for (std::uint64_t s = 0; s < 12; ++s) {
    CHECK(shard.Key(s) == Varied().samples[10 + s].key);
    CHECK(LoadAt<std::int8_t>(shard.Column(0), s) == -int(10 + s));
    CHECK(LoadAt<std::int64_t>(shard.Column(1), s * 8) == -1 - int(10 + s));
  }
  CHECK(AsText(shard.Section(kSectionOrigin)) == "{}");
  CHECK(shard.Section(99).empty());
  CHECK(shard.Place(7) == "block 1, record 1");
  CHECK(shard.VerifyPlacement() == nullptr);
}

TEST_CASE("every block of a shard is whole and in its place") {
  for (const BuiltShard& built : Varied().shards) {
    const OnDisk file(built.bytes);
    const ShardFile shard(file.path(), Varied().schema);
    std::uint64_t samples = 0;
    for (std::uint32_t b = 0; b < shard.blocks(); ++b) {
      const BlockView block = shard.Block(b);
      CHECK(block.VerifyPlacement(shard.schema(), shard.layout()) == nullptr);
      CHECK(shard.Block(b).count() == block.count());  // a second time: the block is now verified
      samples += block.count();
    }
    CHECK(samples == built.entry.samples);
  }
}

TEST_CASE("a shard is compared with its manifest") {
  const BuiltShard& built = Varied().shards[0];
  ShardExpectation expect;
  expect.id = built.entry.id;
  expect.digest = built.entry.digest;
  expect.samples = built.entry.samples;
  expect.blocks = built.entry.blocks;
  expect.bytes = built.entry.bytes;
  expect.block_samples = built.entry.block_samples;
  CHECK_FALSE(ShardRefusal(built.bytes, Varied().schema, expect).has_value());
  const auto refused = [&](auto member) {
    ShardExpectation other = expect;
    auto& value = other.*member;
    std::remove_reference_t<decltype(*value)> changed{};
    value = changed;
    const auto error = ShardRefusal(built.bytes, Varied().schema, other);
    return error.has_value() && error->code() == ErrorCode::kCorrupt;
  };
  CHECK(refused(&ShardExpectation::id));
  CHECK(refused(&ShardExpectation::digest));
  CHECK(refused(&ShardExpectation::samples));
  CHECK(refused(&ShardExpectation::blocks));
  CHECK(refused(&ShardExpectation::bytes));
  CHECK(refused(&ShardExpectation::block_samples));
}

TEST_CASE("a shard whose schema is not the dataset's is refused") {
  Schema other = Varied().schema;
  other.fields[0].name = "picture";
  other.fields[1].follows = other.fields[4].follows = "picture";
  const auto error = ShardRefusal(Varied().shards[0].bytes, other);
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::kCorrupt);
}

TEST_CASE(
    "a shard of another format version is unsupported, even if its header's checksum is wrong") {
  std::vector<std::byte> bytes = Varied().shards[0].bytes;
  StoreAt<std::uint32_t>(bytes, 8, 2);  // the header's checksum is now wrong, but it is not checked
  const auto error = ShardRefusal(bytes, Varied().schema);
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::kUnsupported);
  CHECK_THAT(error->what(), Catch::Matchers::ContainsSubstring("version 2"));
}

TEST_CASE("an unknown feature is unsupported") {
  std::vector<std::byte> bytes = Varied().shards[0].bytes;
  Edit<ShardHeader>(bytes, 0, [](ShardHeader& h) { h.required = std::uint64_t{1} << 63; });
  const auto error = ShardRefusal(bytes, Varied().schema);
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::kUnsupported);
}

TEST_CASE("an unknown section is skipped unless it is marked as required") {
  const Schema schema = test::WorkedExample().schema;
  const auto samples = test::WorkedExample().samples;
  const auto optional = test::BuildShard(schema, test::IdOf(5), 8, samples, {{777, "x"}}, 0);
  const auto required =
      test::BuildShard(schema, test::IdOf(5), 8, samples, {{777, "x"}}, kSectionRequired);
  CHECK_FALSE(ShardRefusal(optional.bytes, schema).has_value());
  const auto error = ShardRefusal(required.bytes, schema);
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::kUnsupported);
  CHECK_THAT(error->what(), Catch::Matchers::ContainsSubstring("777"));
}

TEST_CASE("headers with impossible sizes or another shard's id are refused") {
  const auto refused = [](void (*change)(ShardHeader&)) {
    std::vector<std::byte> bytes = Varied().shards[0].bytes;
    Edit<ShardHeader>(bytes, 0, change);
    const auto error = ShardRefusal(bytes, Varied().schema);
    return error.has_value() && error->code() == ErrorCode::kCorrupt;
  };
  CHECK(refused([](ShardHeader& h) { h.header_bytes = 0; }));
  CHECK(refused([](ShardHeader& h) { h.header_bytes = 4095; }));
  CHECK(refused([](ShardHeader& h) { h.header_bytes = 1u << 31; }));
  CHECK(refused([](ShardHeader& h) { h.schema_bytes = 4096 - 63; }));
  CHECK(refused([](ShardHeader& h) { h.schema_bytes = 0xFFFFFFFF; }));
  CHECK(refused([](ShardHeader& h) { h.block_samples = 0; }));
  CHECK(refused([](ShardHeader& h) { h.block_samples = kMaxBlockSamples + 1; }));
  CHECK(refused([](ShardHeader& h) { h.shard_id = test::IdOf(77); }));
}

TEST_CASE("tails with impossible sizes, another version or another shard's id are refused") {
  const auto refused = [](void (*change)(ShardTail&)) {
    std::vector<std::byte> bytes = Varied().shards[0].bytes;
    Edit<ShardTail>(bytes, bytes.size() - sizeof(ShardTail), change);
    const auto error = ShardRefusal(bytes, Varied().schema);
    return error.has_value() && error->code() == ErrorCode::kCorrupt;
  };
  CHECK(refused([](ShardTail& t) { t.version = 2; }));
  CHECK(refused([](ShardTail& t) { t.shard_id = test::IdOf(77); }));
  CHECK(refused([](ShardTail& t) { t.directory_offset = 0; }));
  CHECK(refused([](ShardTail& t) { t.directory_offset += 1; }));
  CHECK(refused([](ShardTail& t) { t.directory_offset = UINT64_MAX - 63; }));
  CHECK(refused([](ShardTail& t) { t.directory_bytes = UINT64_MAX; }));
  CHECK(refused([](ShardTail& t) { t.directory_bytes = 0; }));
  CHECK(refused([](ShardTail& t) { t.directory_bytes -= 64; }));
}

TEST_CASE("directories that contradict themselves are refused") {
  const auto refused = [](auto change) {
    std::vector<std::byte> bytes = Varied().shards[0].bytes;
    EditDirectory(bytes, change);
    const auto error = ShardRefusal(bytes, Varied().schema);
    return error.has_value() && error->code() == ErrorCode::kCorrupt;
  };
  const auto header = [](auto member, std::uint64_t value) {
    return [=](std::span<std::byte> directory) {
      auto h = LoadAt<DirectoryHeader>(directory, 0);
      h.*member = static_cast<std::remove_reference_t<decltype(h.*member)>>(value);
      StoreAt<DirectoryHeader>(directory, 0, h);
    };
  };
  const auto block = [](auto member, std::uint64_t value, std::size_t number) {
    return [=](std::span<std::byte> directory) {
      const std::size_t at = sizeof(DirectoryHeader) + number * sizeof(BlockEntry);
      auto e = LoadAt<BlockEntry>(directory, at);
      e.*member = static_cast<std::remove_reference_t<decltype(e.*member)>>(value);
      StoreAt<BlockEntry>(directory, at, e);
    };
  };
  CHECK_FALSE(refused([](std::span<std::byte>) {}));
  CHECK(refused(header(&DirectoryHeader::blocks, 0)));
  CHECK(refused(header(&DirectoryHeader::blocks, 2)));
  CHECK(refused(header(&DirectoryHeader::blocks, 0xFFFFFFFF)));
  CHECK(refused(header(&DirectoryHeader::sections, 0xFFFFFFFF)));
  CHECK(refused(header(&DirectoryHeader::samples, 9)));
  CHECK(refused(header(&DirectoryHeader::samples, UINT64_MAX / 2)));
  CHECK(refused(header(&DirectoryHeader::columns, 1)));
  CHECK(refused(header(&DirectoryHeader::bytes, 64)));
  CHECK(refused(block(&BlockEntry::offset, 1, 0)));
  CHECK(refused(block(&BlockEntry::offset, 0, 0)));
  CHECK(refused(block(&BlockEntry::offset, UINT64_MAX - 4095, 0)));
  CHECK(refused(block(&BlockEntry::bytes, UINT64_MAX, 0)));
  CHECK(refused(block(&BlockEntry::count, 3, 0)));  // too few samples, but not the last block
  CHECK(refused(block(&BlockEntry::count, 5, 2)));  // the last block, with too many samples
  CHECK(refused(block(&BlockEntry::count, 0, 2)));
}

TEST_CASE("a block in the place of another block is refused") {
  std::vector<std::byte> bytes = Varied().shards[0].bytes;
  const std::vector<std::byte> first(bytes.begin() + 4096, bytes.begin() + 8192);
  std::copy(bytes.begin() + 8192, bytes.begin() + 12288, bytes.begin() + 4096);
  std::copy(first.begin(), first.end(), bytes.begin() + 8192);
  const OnDisk file(bytes);
  const ShardFile shard(file.path(), Varied().schema);
  CHECK(test::CodeOf([&] { shard.Block(0); }) == ErrorCode::kCorrupt);
  CHECK(test::CodeOf([&] { shard.Block(1); }) == ErrorCode::kCorrupt);
  CHECK(shard.Block(2).count() == 2);
}

TEST_CASE("a truncated file is refused wherever it was cut") {
  const std::vector<std::byte>& whole = Varied().shards[0].bytes;
  // Cuts at each whole page, and one byte after it.
  for (std::size_t size = 0; size < whole.size(); size += size % 4096 == 0 ? 1 : 4095) {
    const auto error = ShardRefusal(
        {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}, Varied().schema);
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::kCorrupt);
  }
}

TEST_CASE("errors name the shard's file and the place in it") {
  std::vector<std::byte> bytes = Varied().shards[0].bytes;
  bytes[8192 + 70] ^= std::byte{1};  // in the table of block 1
  const OnDisk file(bytes);
  const ShardFile shard(file.path(), Varied().schema);
  const auto error = test::ErrorOf([&] { shard.Block(1); });
  REQUIRE(error.has_value());
  CHECK(error->file() == file.path().string());
  CHECK(error->place() == "block 1");
  CHECK_THAT(error->what(), Catch::Matchers::ContainsSubstring("checksum"));
}

TEST_CASE("a missing shard is reported as not found, and a folder is not a shard") {
  const test::TemporaryFolder folder;
  CHECK(test::CodeOf([&] { ShardFile(folder / "none.sluice", Varied().schema); }) ==
        ErrorCode::kNotFound);
  CHECK(test::CodeOf([&] { ShardFile(folder.path(), Varied().schema); }) == ErrorCode::kIo);
}

TEST_CASE("a schema of more than 16 MiB as text is refused when a shard is made") {
  const Schema schema{
      {Field::Label("label", std::vector<std::string>(70'000, std::string(250, 'c')))}};
  CHECK(test::CodeOf([&] { BuildShardHeader(schema, test::IdOf(1), 1); }) == ErrorCode::kLimit);
}

TEST_CASE("long schemas take as many header pages as they need") {
  const Schema schema{
      {Field::Label("label", std::vector<std::string>(1000, "a class of its own"))}};
  std::vector<EncodedSample> samples{{"k", {test::ArrayValue<std::int32_t>({999})}}};
  const BuiltShard built = test::BuildShard(schema, test::IdOf(1), 4, samples);
  const OnDisk file(built.bytes);
  const ShardFile shard(file.path(), schema);
  CHECK(shard.first_block_offset() == 24'576);  // 64 + about 21,100 bytes of text
  CHECK(shard.VerifyPlacement() == nullptr);
  CHECK(LoadAt<std::int32_t>(shard.Block(0).Elements(shard.layout(), 0, 0), 0) == 999);
}

TEST_CASE("blocks that share pages, or have no room for their rows, are refused") {
  const BuiltShard& built = Varied().shards[1];
  const auto with = [&](auto change) {
    std::vector<std::byte> bytes = built.bytes;
    EditDirectory(bytes, [&](std::span<std::byte> directory) {
      const std::size_t at = sizeof(DirectoryHeader);
      auto first = LoadAt<BlockEntry>(directory, at);
      auto second = LoadAt<BlockEntry>(directory, at + sizeof(BlockEntry));
      change(first, second);
      StoreAt(directory, at, first);
      StoreAt(directory, at + sizeof(BlockEntry), second);
    });
    return ShardRefusal(bytes, Varied().schema);
  };
  CHECK_FALSE(with([](BlockEntry&, BlockEntry&) {}).has_value());
  const auto shared = with([](BlockEntry& a, BlockEntry& b) { b.offset = a.offset; });
  REQUIRE(shared.has_value());
  CHECK(shared->code() == ErrorCode::kCorrupt);
  CHECK(with([](BlockEntry& a, BlockEntry& b) { std::swap(a.offset, b.offset); }).has_value());
  CHECK(with([](BlockEntry& a, BlockEntry&) { a.bytes = 64; }).has_value());
}

}  // namespace sluice
