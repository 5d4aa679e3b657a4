// A conversion in parts gives the bytes of a conversion in one piece, in whatever order and on
// whatever machines the parts are made.
#include <fstream>
#include <thread>

#include <sys/resource.h>

#include <sluice/convert_steps.h>

#include "format/disk/checksum.h"
#include "format/disk/zstd.h"
#include "tests/catch.h"
#include "tests/file_content.h"
#include "tests/format/error_of.h"
#include "tests/sanitized.h"
#include "tests/temporary_folder.h"
#include "tests/writer/source_files.h"
#include "tests/writer/stored.h"

namespace sluice::test {

namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

// Writes 140 sources, of which one in ten is broken. With FiveShards(), they fill five shards.
void WriteSources(const fs::path& folder) {
  WriteClasses(folder, 42);
  for (int i = 0; i < 14; ++i)
    WriteSource(folder / ("cow/broken" + std::to_string(i)), std::string("\xff\xd8\xff\xe0"));
}

ConvertOptions FiveShards() {
  ConvertOptions options;
  options.geometry.max_side.reset();
  options.geometry.size = Size{110, 90};
  options.form.image = ImageCodec::kRaw;
  options.shards.shard_bytes = 1'000'000;
  return options;
}

}  // namespace

TEST_CASE("parts give the bytes of a whole conversion, in any order and number, and repeated") {
  const TemporaryFolder folder;
  WriteSources(folder / "source");
  const ConvertSummary whole = Convert(folder / "source", folder / "whole", FiveShards());
  REQUIRE(whole.shards >= 4);
  const fs::path data = folder / "data";
  const ConvertSummary planned = PlanConversion(folder / "source", data, FiveShards());
  CHECK(planned.shards == whole.shards);
  CHECK(StatusOfConversion(data).missing.size() == whole.shards);
  SECTION("three parts, the last one first and twice") {
    CHECK(ConvertPlanned(data, {2, 3}).found == 0);
    const PartSummary again = ConvertPlanned(data, {2, 3});
    CHECK(again.found == again.shards);
    CHECK(again.shards > 0);
    ConvertPlanned(data, {0, 3});
    const std::optional<Error> error = ErrorOf([&] { FinishConversion(data); });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kUnfinished);
    CHECK_THAT(error->what(), ContainsSubstring(": 1"));
    ConvertPlanned(data, {1, 3});
  }
  SECTION("the number of parts changes") {
    ConvertPlanned(data, {1, 2});
    ConvertPlanned(data, {0, 1}, {.threads = 3});
  }
  SECTION("every part made twice at once") {
    std::vector<std::jthread> workers;
    for (std::uint64_t i = 0; i < 4; ++i)
      workers.emplace_back([&, i] { ConvertPlanned(data, {i % 2, 2}, {.threads = 1}); });
  }
  SECTION("more parts than shards") {
    for (std::uint64_t i = 0; i < 9; ++i)
      ConvertPlanned(data, {i, 9}, {.threads = 1});
  }
  SECTION("begun in parts, finished by a conversion in one piece") {
    ConvertPlanned(data, {0, 2});
    Convert(folder / "source", data, FiveShards());
  }
  CHECK(StatusOfConversion(data).missing.empty());
  const ConvertSummary finished = FinishConversion(data).summary;
  CHECK(finished.samples == whole.samples);
  CHECK(ContentsOf(data) == ContentsOf(folder / "whole"));
  CHECK(StatusOfConversion(data).finished);
  CHECK(ConvertPlanned(data, {0, 2}).dataset_finished);
  CHECK(FinishConversion(data).summary.samples == whole.samples);
  CHECK(ContentsOf(data) == ContentsOf(folder / "whole"));
}

TEST_CASE("a planned shard without samples is recorded, so that it is not made again") {
  const TemporaryFolder folder;
  WriteSource(folder / "source/a/good.png",
              MakePng(Picture{8, 8, 3, std::vector<std::uint8_t>(192)}));
  for (int i = 0; i < 40; ++i)
    WriteSource(folder / ("source/b/" + std::to_string(i)), std::string("\xff\xd8\xff\xe0"));
  ConvertOptions options = FiveShards();
  options.geometry.size = Size{300, 300};  // three samples per shard
  options.shards.keep_order = true;
  const ConvertSummary whole = Convert(folder / "source", folder / "whole", options);
  CHECK(whole.samples == 1);
  const fs::path data = folder / "data";
  PlanConversion(folder / "source", data, options);
  const PartSummary part = ConvertPlanned(data, {0, 1});
  CHECK(part.left_out == 40);
  CHECK(part.shards > 3);
  CHECK(StatusOfConversion(data).missing.empty());
  CHECK(ConvertPlanned(data, {0, 1}).found == part.shards);
  CHECK(FinishConversion(data).summary.skipped.size() == 40);
  CHECK(ContentsOf(data) == ContentsOf(folder / "whole"));
}

TEST_CASE("files that do not belong to the plan are made again or refused by name") {
  const TemporaryFolder folder;
  WriteSources(folder / "source");
  const fs::path data = folder / "data";
  PlanConversion(folder / "source", data, FiveShards());
  ConvertPlanned(data, {0, 1});
  SECTION("a damaged shard") {
    const std::string content = ContentOf(data / "shard-00001.sluice");
    fs::resize_file(data / "shard-00001.sluice", content.size() / 2);
    CHECK_THAT(ErrorOf([&] { FinishConversion(data); }).value().what(), ContainsSubstring(": 1;"));
    const PartSummary mended = ConvertPlanned(data, {0, 1});
    CHECK(mended.found + 1 == mended.shards);
    CHECK(ContentOf(data / "shard-00001.sluice") == content);
  }
  SECTION("a shard of another plan") {
    ConvertOptions other = FiveShards();
    other.shards.seed = 1;
    Convert(folder / "source", folder / "other", other);
    fs::copy_file(folder / "other/shard-00002.sluice", data / "shard-00002.sluice",
                  fs::copy_options::overwrite_existing);
    CHECK_THAT(ErrorOf([&] { FinishConversion(data); }).value().what(), ContainsSubstring(": 2;"));
  }
  SECTION("another plan's list of sources") {
    ConvertOptions other = FiveShards();
    WriteSource(folder / "source/cow/more.png",
                MakePng(Picture{8, 8, 3, std::vector<std::uint8_t>(192)}));
    PlanConversion(folder / "source", folder / "other", other);
    fs::copy_file(folder / "other/plan-sources.bin", data / "plan-sources.bin",
                  fs::copy_options::overwrite_existing);
    CHECK(CodeOf([&] { ConvertPlanned(data, {0, 1}); }) == ErrorCode::kExists);
  }
  SECTION("an invalid part, and a folder without a plan") {
    CHECK(CodeOf([&] { ConvertPlanned(data, {2, 2}); }) == ErrorCode::kInvalidArgument);
    CHECK(CodeOf([&] { ConvertPlanned(folder / "source", {0, 1}); }) == ErrorCode::kNotFound);
  }
}

TEST_CASE("a damaged or forged list of sources is refused") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 3);
  WriteSource(folder / "table.jsonl",
              std::string(R"({"path": "source/ant/0.jpg", "label": "a", "box": [[1, 2, 30, 40]]})"
                          "\n"
                          R"({"path": "source/bee/0.jpg", "label": "b", "box": []})"
                          "\n"));
  ConvertSource source = ConvertSource::Table(folder / "table.jsonl");
  source.rows.columns = {{"label", ColumnType::kClass}, {"box", ColumnType::kBoxes}};
  const fs::path data = folder / "data";
  PlanConversion(source, data, FiveShards());
  const std::string content = ContentOf(data / "plan-sources.bin");
  // After kBegin bytes, the list has one frame: a head of three numbers, then zstd data. A head of
  // zeros ends the list.
  constexpr std::size_t kBegin = 16;
  constexpr std::size_t kHead = 24;
  std::vector<std::byte> plain(LoadAt<std::uint64_t>(AsBytes(content), kBegin));
  const Bytes stored =
      AsBytes(content).subspan(kBegin + kHead, content.size() - kBegin - 2 * kHead);
  REQUIRE(ZstdDecompress(stored, plain));
  const auto write = [&](const std::vector<std::byte>& forged) {
    const std::vector<std::byte> frame = ZstdCompress(forged, 1);
    const std::uint64_t head[3] = {forged.size(), frame.size(), Hash64(frame)};
    std::string text = content.substr(0, kBegin);
    text += AsText(std::as_bytes(std::span(head)));
    text += AsText(frame);
    text += std::string(kHead, '\0');
    std::ofstream(data / "plan-sources.bin", std::ios::binary) << text;
  };
  write(plain);
  CHECK(ConvertPlanned(data, {0, 2}).shards > 0);
  fs::remove(data / "shard-00000.sluice");
  // At every fifth byte of the list, changes the first and the last byte of a number of 8 bytes
  // that may begin there. The result must be an Error, or a converted part if the bytes do not
  // matter (such as those of a name that only warnings use). Then truncates the list.
  for (std::size_t at = 0; at + 8 <= plain.size(); at += 5) {
    std::vector<std::byte> forged = plain;
    forged[at] ^= std::byte{0x81};
    forged[at + 7] ^= std::byte{0x40};
    write(forged);
    try {
      ConvertPlanned(data, {0, 1}, {.threads = 1});
      fs::remove(data / "shard-00000.sluice");
    } catch (const Error&) {  // any other exception, or a memory fault, fails the test
    }
  }
  write({plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(plain.size() / 2)});
  CHECK(CodeOf([&] { ConvertPlanned(data, {0, 1}); }) == ErrorCode::kCorrupt);
  std::ofstream(data / "plan-sources.bin", std::ios::binary)
      << content.substr(0, content.size() / 2);
  CHECK(CodeOf([&] { ConvertPlanned(data, {0, 1}); }) == ErrorCode::kCorrupt);
}

TEST_CASE("a list of sources takes memory for what it holds, not for what its heads claim") {
  if (kSanitized) return;  // sanitizers need address space
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 3);
  const fs::path data = folder / "data";
  PlanConversion(folder / "source", data, FiveShards());
  const std::string content = ContentOf(data / "plan-sources.bin");
  constexpr std::uint64_t kClaim = std::uint64_t{1} << 30;
  // A frame whose data are missing, and a frame whose head claims more content than it has.
  const std::vector<std::byte> stored(30'000, std::byte{1});
  const std::uint64_t absent[3] = {kClaim, kClaim, 0};
  const std::uint64_t longer[3] = {kClaim, stored.size(), Hash64(stored)};
  for (const auto& [head, frame] : {std::pair(absent, Bytes()), {longer, Bytes(stored)}}) {
    std::ofstream(data / "plan-sources.bin", std::ios::binary)
        << content.substr(0, 16) << AsText(std::as_bytes(std::span(head, 3))) << AsText(frame);
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_DATA, &before) == 0);
    const rlimit less{kClaim / 2, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_DATA, &less) == 0);
    const std::optional<Error> error = ErrorOf([&] { ConvertPlanned(data, {0, 1}); });
    REQUIRE(setrlimit(RLIMIT_DATA, &before) == 0);
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kCorrupt);
  }
}

}  // namespace sluice::test
