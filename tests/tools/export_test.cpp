// sluice export.
#include <cstdio>

#include <sluice/dataset.h>
#include <sluice/dataset_writer.h>

#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

std::string PayloadOf(const Sample& sample) {
  const auto bytes = sample.Payload().bytes;
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE(
    "export gives the stored JPEGs back, byte for byte, and converting them again the samples") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  WriteClasses(at("source"), 3);
  REQUIRE(Sluice({"convert", at("source"), at("data"), "--keep-order"}).exit_code == 0);
  const Outcome outcome = Sluice({"export", at("data"), at("out")});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("9 samples"));
  const Dataset dataset = Dataset::Open(at("data"));
  for (std::uint64_t i = 0; i < dataset.size(); ++i) {
    CHECK(ReadBytes(folder / ("out/images/" + dataset[i].key())) == PayloadOf(dataset[i]));
  }
  CHECK_THAT(ReadBytes(folder / "out/labels.csv"),
             Catch::Matchers::StartsWith("path,key,label\nimages/cat/0.jpg,cat/0.jpg,cat\n"));
  REQUIRE(Sluice({"convert", "--table", at("out/labels.csv"), at("again"), "--keep-order",
                  "--quality", "keep"})
              .exit_code == 0);
  const Dataset again = Dataset::Open(at("again"));
  for (std::uint64_t i = 0; i < dataset.size(); ++i) {
    CHECK(PayloadOf(again[i]) == PayloadOf(dataset[i]));
    CHECK(again[i].Integer("label") == dataset[i].Integer("label"));
  }
  CHECK(Sluice({"export", at("data"), at("out")}).exit_code == 1);  // is not empty
}

TEST_CASE("export writes fields of every kind, and no name leads out of its folder") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  Schema schema{{Field::Image(), Field::Mask("mask", "image"),
                 Field::Variable("boxes", DType::kFloat32, {4}), Field::Bytes("note", Role::kText),
                 Field::Bytes("sound"), Field::Array("n", DType::kInt64, {})}};
  DatasetWriter writer(at("data"), schema);
  for (const char* key : {"../../evil.jpg", "a/x.png", "a/x.gif"}) {
    SampleBuilder sample = writer.NewSample(key);
    const std::vector<std::uint8_t> pixels = {1, 2, 3, 4, 5, 6};
    sample.SetPixels("image", 2, 1, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
    sample.SetPixels("mask", 2, 1, 1, PixelType::kUint8, std::as_bytes(std::span(pixels).first(2)),
                     true);
    sample.SetArray<float>("boxes", std::vector<float>{0, 0.5F, 1, 2, 3, 4, 5, 6});
    sample.SetText("note", "one, \"two\"\nthree");
    sample.SetBytes("sound", std::as_bytes(std::span(pixels)));
    sample.Set<std::int64_t>("n", -5);
    writer.Add(sample);
  }
  writer.Finish();
  CHECK(Sluice({"export", at("data"), at("deep/er/out")}).exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "deep/evil.png"));
  CHECK(std::filesystem::exists(folder / "deep/er/out/images/__/__/evil.png"));
  CHECK(std::filesystem::exists(folder / "deep/er/out/images/a/x.png"));
  CHECK(std::filesystem::exists(folder / "deep/er/out/images/a/x-1.png"));
  CHECK(std::filesystem::exists(folder / "deep/er/out/mask/a/x.png"));
  CHECK(ReadBytes(folder / "deep/er/out/sound/a/x.bin") == std::string("\1\2\3\4\5\6"));
  CHECK_THAT(ReadBytes(folder / "deep/er/out/labels.csv"),
             ContainsSubstring("images/a/x.png,a/x.png,mask/a/x.png,\"[[0.0,0.5,1.0,2.0],[3.0,4.0,"
                               "5.0,6.0]]\",\"one, \"\"two\"\"\nthree\",sound/a/x.bin,-5\n"));
}

TEST_CASE("export leaves a damaged sample out and names it") {
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  WriteClasses(at("source"), 2);
  REQUIRE(Sluice({"convert", at("source"), at("data"), "--keep-order"}).exit_code == 0);
  const std::string payload = PayloadOf(Dataset::Open(at("data"))[3]);
  std::string shard = ReadBytes(folder / "data/shard-00000.sluice");
  shard[shard.find(payload) + payload.size() / 2] ^= 1;
  WriteBytes(folder / "data/shard-00000.sluice", shard);
  const Outcome outcome = Sluice({"export", at("data"), at("out")});
  CHECK(outcome.exit_code == 3);
  CHECK_THAT(outcome.out, ContainsSubstring("left out: sample 3: "));
  CHECK_THAT(outcome.out, ContainsSubstring("5 samples"));
}

}  // namespace sluice::test
