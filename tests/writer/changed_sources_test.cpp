// Sources that change between two runs of a conversion, without changing their names or sizes.
#include <chrono>
#include <cstdlib>
#include <thread>

#include <sluice/convert_steps.h>
#include <sluice/error.h>

#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/temporary_folder.h"
#include "tests/writer/converted.h"
#include "tests/writer/stored.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

namespace fs = std::filesystem;

// A picture of one value. The files of all values have the same size.
FileBytes Ppm(std::uint8_t value) {
  const std::string text =
      "P6 200 160 255\n" + std::string(std::size_t{200} * 160 * 3, static_cast<char>(value));
  const Bytes bytes = AsBytes(text);
  return {bytes.begin(), bytes.end()};
}

FileBytes Mask(std::uint8_t value) {
  return MakePng(200, 160, std::vector<std::uint8_t>(std::size_t{200} * 160, value),
                 {.color_type = 0});
}

// 40 images, "00.ppm" to "39.ppm", and eight samples in each shard.
struct PpmImages : TemporaryFolder {
  const fs::path source = path() / "source";
  const fs::path data = path() / "data";
  ConvertOptions options = AsTheyAre();

  PpmImages() {
    options.shards.keep_order = true;
    options.shards.shard_bytes = 1'000'000;
    for (int i = 0; i < 40; ++i)
      WriteSource(source / Name(i), Ppm(static_cast<std::uint8_t>(i)));
  }
  static std::string Name(int i) { return (i < 10 ? "0" : "") + std::to_string(i) + ".ppm"; }
  ConvertSummary Convert() const { return sluice::Convert(source, data, options); }
  std::string Refusal(const ConvertSource& from) const {
    const auto before = ContentsOf(data);
    const auto error = ErrorOf([&] { sluice::Convert(from, data, options); });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kExists);
    CHECK(ContentsOf(data) == before);
    return error->sentence();
  }
  std::string Refusal() const { return Refusal(source); }
  // Stops a conversion that has finished at least its first two shards.
  void Interrupt() const {
    std::stop_source stop;
    ConvertHooks hooks;
    hooks.stop = stop.get_token();
    hooks.on_progress = [&](const ConvertProgress& progress) {
      if (progress.samples_done >= 25) stop.request_stop();
    };
    ConvertOptions one = options;
    one.run.threads = 1;
    CHECK(CodeOf([&] { sluice::Convert(source, data, one, hooks); }) == ErrorCode::kState);
    CHECK(fs::exists(data / "shard-00001.sluice"));
    CHECK_FALSE(fs::exists(data / "manifest.json"));
  }
};

}  // namespace

TEST_CASE("a finished dataset is refused if an image was replaced by one of the same size") {
  PpmImages images;
  images.Convert();
  CHECK(WarningWith(images.Convert(), "changed").empty());
  WriteSource(images.source / "07.ppm", Ppm(200));
  CHECK_THAT(images.Refusal(),
             ContainsSubstring("holds a finished dataset, and 1 source changed, such as 07.ppm, "
                               "since it was made: convert into another folder, or remove this"));
  WriteSource(images.source / "31.ppm", Ppm(201));
  CHECK_THAT(images.Refusal(), ContainsSubstring("2 sources changed, such as 07.ppm and 31.ppm,"));
  WriteSource(images.source / "07.ppm", Ppm(7));
  WriteSource(images.source / "31.ppm", Ppm(31));
  CHECK(images.Convert().samples == 40);
}

TEST_CASE("a file moved over a source is noticed, even if it keeps its old time") {
  const PpmImages images;
  WriteSource(images.path() / "other.ppm", Ppm(99));
  fs::last_write_time(images.path() / "other.ppm",
                      fs::file_time_type::clock::now() - std::chrono::hours(1000));
  images.Convert();
  fs::rename(images.path() / "other.ppm", images.source / "12.ppm");
  CHECK_THAT(images.Refusal(), ContainsSubstring("such as 12.ppm,"));
}

TEST_CASE("another folder whose files have the same names and sizes is noticed") {
  const PpmImages images;
  const fs::path other = images.path() / "other";
  for (int i = 0; i < 40; ++i)
    WriteSource(other / PpmImages::Name(i), Ppm(static_cast<std::uint8_t>(100 + i)));
  images.Convert();  // all files are older than this plan
  CHECK_THAT(images.Refusal(SourceAt(other)),
             ContainsSubstring("40 sources changed, such as 00.ppm"));
  CHECK(images.Convert().samples == 40);

  fs::remove_all(images.data);
  images.Interrupt();
  CHECK_FALSE(WarningWith(sluice::Convert(other, images.data, images.options), "changed").empty());
  sluice::Convert(other, images.path() / "anew", images.options);
  CHECK(ContentsOf(images.data) == ContentsOf(images.path() / "anew"));
}

TEST_CASE("files that were only touched are compared once and change nothing") {
  const PpmImages images;
  images.Convert();
  const auto contents = ContentsOf(images.data);
  for (int i = 0; i < 40; ++i)
    WriteSource(images.source / PpmImages::Name(i), Ppm(static_cast<std::uint8_t>(i)));
  const auto compared = [&] {
    std::uint64_t most = 0;
    ConvertHooks hooks;
    hooks.on_look = [&](std::uint64_t, std::uint64_t count) { most = std::max(most, count); };
    const ConvertSummary summary =
        sluice::Convert(images.source, images.data, images.options, hooks);
    CHECK(WarningWith(summary, "changed").empty());
    return summary.samples;
  };
  const auto before = fs::last_write_time(images.data / "plan.json");
  CHECK(compared() == 40);
  const auto after = fs::last_write_time(images.data / "plan.json");
  CHECK(after > before);  // so the next run has nothing to compare
  CHECK(compared() == 40);
  CHECK(fs::last_write_time(images.data / "plan.json") == after);
  CHECK(ContentsOf(images.data) == contents);
}

TEST_CASE("contents are compared on request, whatever the times say") {
  PpmImages images;
  images.Convert();
  WriteSource(images.source / "21.ppm", Ppm(200));
  fs::last_write_time(images.data / "plan.json",
                      fs::file_time_type::clock::now() + std::chrono::hours(1));
  CHECK(images.Convert().samples == 40);
  images.options.run.check = SourceCheck::kContent;
  CHECK_THAT(images.Refusal(), ContainsSubstring("such as 21.ppm,"));
}

TEST_CASE("a resumed conversion makes shards of changed images again") {
  const PpmImages images;
  images.Interrupt();
  WriteSource(images.source / "03.ppm", Ppm(200));
  WriteSource(images.source / "35.ppm", Ppm(201));  // its shard had not been made yet
  const auto kept = fs::last_write_time(images.data / "shard-00001.sluice");
  const ConvertSummary summary = images.Convert();
  CHECK(WarningWith(summary, "changed") ==
        "1 source changed, such as 03.ppm, since an earlier run; every shard with a changed source "
        "was made again");
  CHECK(fs::last_write_time(images.data / "shard-00001.sluice") == kept);
  sluice::Convert(images.source, images.path() / "anew", images.options);
  CHECK(ContentsOf(images.data) == ContentsOf(images.path() / "anew"));
  CHECK(WarningWith(images.Convert(), "changed").empty());
}

TEST_CASE("parts make shards of changed images again, and finishing is refused until then") {
  const PpmImages images;
  PlanConversion(images.source, images.data, images.options);
  for (const std::uint64_t part : {0, 1})
    ConvertPlanned(images.data, {part, 2}, {.threads = 1});
  WriteSource(images.source / "03.ppm", Ppm(200));
  const auto error = ErrorOf([&] { FinishConversion(images.data); });
  REQUIRE(error);
  CHECK_THAT(error->sentence(), ContainsSubstring("or of sources that changed since: 0; run"));
  const PartSummary first = ConvertPlanned(images.data, {0, 2}, {.threads = 1});
  CHECK(first.shards - first.found == 1);
  const PartSummary second = ConvertPlanned(images.data, {1, 2}, {.threads = 1});
  CHECK(second.found == second.shards);
  CHECK(FinishConversion(images.data).summary.samples == 40);
  sluice::Convert(images.source, images.path() / "anew", images.options);
  CHECK(ContentsOf(images.data) == ContentsOf(images.path() / "anew"));
}

TEST_CASE("parts whose sources have been removed stay as they were made") {
  const PpmImages images;
  PlanConversion(images.source, images.data, images.options);
  ConvertPlanned(images.data, {0, 1}, {.threads = 1});
  fs::remove_all(images.source);
  const PartSummary again = ConvertPlanned(images.data, {0, 1}, {.threads = 1});
  CHECK(again.found == again.shards);
  CHECK(FinishConversion(images.data).summary.samples == 40);
}

TEST_CASE("a broken image that was repaired without changing its size is noticed") {
  const PpmImages images;
  const FileBytes whole = MakePng(MakePicture(60, 50));
  FileBytes broken = whole;
  broken[broken.size() / 2] ^= std::byte{1};
  WriteSource(images.source / "05.ppm", broken);
  CHECK(images.Convert().skipped.size() == 1);
  CHECK(images.Convert().skipped.size() == 1);
  WriteSource(images.source / "05.ppm", broken);  // as broken as before
  CHECK(images.Convert().skipped.size() == 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // more than a file system's tick
  WriteSource(images.source / "05.ppm", whole);
  CHECK_THAT(images.Refusal(), ContainsSubstring("such as 05.ppm,"));
}

TEST_CASE("a mask replaced by another of its size is noticed, from a folder and from a table") {
  const PpmImages images;
  std::string rows = "path,mask\n";
  REQUIRE(Mask(3).size() == Mask(4).size());
  for (int i = 0; i < 40; ++i) {
    const std::string png = fs::path(PpmImages::Name(i)).replace_extension(".png").string();
    WriteSource(images.source / "masks" / png, Mask(3));
    rows += PpmImages::Name(i) + ",masks/" + png + "\n";
  }
  WriteSource(images.path() / "t.csv", rows);
  ConvertSource table = ConvertSource::Table(images.path() / "t.csv");
  table.root = images.source;
  table.rows.columns = {{"mask", ColumnType::kMask}};
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i)
    names.push_back(PpmImages::Name(i));
  ConvertSource of_folder = ConvertSource::Paths(names, images.source);
  of_folder.mask_folder = images.source / "masks";
  for (const ConvertSource& source : {table, of_folder}) {
    fs::remove_all(images.data);
    WriteSource(images.source / "masks/09.png", Mask(3));
    CHECK(sluice::Convert(source, images.data, images.options).samples == 40);
    WriteSource(images.source / "masks/09.png", Mask(4));
    CHECK_THAT(images.Refusal(source), ContainsSubstring("such as 09.ppm,"));
  }
}

TEST_CASE("an archive replaced by one with the same members and sizes is noticed") {
  const PpmImages images;
  const std::string tar = (images.path() / "all.tar").string();
  const auto pack = [&] {
    const std::string command =
        "cd " + images.source.string() + " && tar -cf " + tar + " $(ls | sort)";
    REQUIRE(std::system(command.c_str()) == 0);
  };
  pack();
  const ConvertSource source = ConvertSource::Archives({tar});
  CHECK(sluice::Convert(source, images.data, images.options).samples == 40);
  pack();
  CHECK(sluice::Convert(source, images.data, images.options).samples == 40);
  WriteSource(images.source / "30.ppm", Ppm(200));
  pack();
  CHECK_THAT(images.Refusal(source), ContainsSubstring("1 source changed, such as all.tar: 30"));
}

}  // namespace sluice::test
