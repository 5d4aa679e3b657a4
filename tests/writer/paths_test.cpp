// Conversions of a list of paths.
#include <sluice/convert.h>
#include <sluice/error.h>

#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/temporary_folder.h"
#include "tests/writer/source_files.h"
#include "tests/writer/stored.h"

namespace sluice::test {

TEST_CASE("a list of paths is converted like a folder that holds only those files") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 3);
  ConvertOptions options;
  options.shards.keep_order = true;
  const std::string absolute = (folder / "source/ant/2.jpg").string();
  const ConvertSummary summary =
      Convert(ConvertSource::Paths({"cow/1.jpg", absolute, "./ant//0.jpg"}, folder / "source"),
              folder / "data", options);
  CHECK(summary.classes == std::vector<std::string>{"ant", "cow"});
  const StoredDataset data = ReadDataset(folder / "data");
  CHECK(data.Keys() == std::vector<std::string>{"cow/1.jpg", "ant/2.jpg", "ant/0.jpg"});
  CHECK(data.samples[0].Label() == 1);
}

TEST_CASE("hidden files and system folders in a list are skipped as in a folder") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 2);
  for (const char* name : {"ant/.ipynb_checkpoints/0.jpg", "@eaDir/0.jpg", "@eaDir/1.jpg"})
    WriteSource(folder / "source" / name, MakeJpeg(MakePicture(20, 20)));
  const ConvertSummary summary =
      Convert(ConvertSource::Paths({"./ant/0.jpg", "ant/.ipynb_checkpoints/0.jpg", "@eaDir/0.jpg",
                                    "@eaDir/1.jpg", "cow/0.jpg"},
                                   folder / "source"),
              folder / "data");
  CHECK(summary.samples == 2);
  CHECK(summary.classes == std::vector<std::string>{"ant", "cow"});
  REQUIRE(summary.passed_over.size() == 2);
  CHECK(summary.passed_over[0].path == "@eaDir");
  CHECK(summary.passed_over[1].path == "ant/.ipynb_checkpoints");
}

TEST_CASE("a path outside the root is refused, and the error gives its number in the list") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 1);
  const auto error = ErrorOf([&] {
    Convert(ConvertSource::Paths({"ant/0.jpg", "../other.jpg"}, folder / "source"),
            folder / "data");
  });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kInvalidArgument);
  CHECK(error->sentence().find("path 2 of the list, ../other.jpg") == 0);
}

TEST_CASE("the plan keeps the list: a resumed run needs no list, and a different one is refused") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 3);
  // A name that is not UTF-8 and contains what looks like an escape.
  const std::string odd = "ant/\xff\\xff.jpg";
  WriteSource(folder / "source" / odd, MakeJpeg(MakePicture(20, 20)));
  const auto convert = [&](std::vector<std::string> paths) {
    return Convert(ConvertSource::Paths(std::move(paths), folder / "source"), folder / "data");
  };
  convert({"ant/1.jpg", odd});
  const auto contents = ContentsOf(folder / "data");
  std::filesystem::remove(folder / "data/manifest.json");
  std::filesystem::remove(folder / "data/shard-00000.sluice");
  CHECK(convert({}).samples == 2);
  CHECK(ContentsOf(folder / "data") == contents);
  CHECK(CodeOf([&] { convert({"ant/1.jpg"}); }) == ErrorCode::kExists);
  CHECK(CodeOf([&] { Convert(ConvertSource::Paths({}, folder / "source"), folder / "new"); }) ==
        ErrorCode::kNotFound);
}

TEST_CASE("a listed file that does not exist is left out") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 1);
  const ConvertSummary summary = Convert(
      ConvertSource::Paths({"ant/0.jpg", "ant/gone.jpg"}, folder / "source"), folder / "data");
  REQUIRE(summary.skipped.size() == 1);
  CHECK(summary.skipped[0].path == "ant/gone.jpg");
}

}  // namespace sluice::test
