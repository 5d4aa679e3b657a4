// Opening a dataset and reading its samples by number, and the errors of doing so.
#include <fstream>
#include <functional>
#include <optional>

#include <sluice/dataset.h>
#include <sluice/error.h>

#include "format/disk/file.h"
#include "format/disk/manifest.h"
#include "tests/catch.h"
#include "tests/reader/sample_data.h"
#include "tests/working_directory.h"

using namespace sluice;
using namespace sluice::test;

namespace {

ErrorCode CodeOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    UNSCOPED_INFO(error.what());
    return error.code();
  }
  FAIL("no error");
  return ErrorCode::kState;
}

// How many bytes this process has read by system calls so far.
std::uint64_t BytesRead() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::uint64_t value = 0;
  io >> name >> value;  // rchar
  return value;
}

}  // namespace

TEST_CASE("Samples are found by number, with key, fields and pixels as they were written") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 1000));
  REQUIRE(dataset.size() == 1000);
  CHECK(dataset.name() == "raw");
  CHECK(dataset.schema().fields.size() == 2);
  CHECK(dataset.class_counts() == std::vector<std::uint64_t>(10, 100));
  CHECK(dataset.images().at(0).uniform());
  for (const std::uint64_t i : {0, 1, 15, 16, 500, 999}) {
    const Sample sample = dataset[i];
    CHECK(sample.index() == i);
    CHECK(sample.key() == "key-" + std::to_string(i));
    CHECK(sample.Integer("label") == static_cast<std::int64_t>(i % 10));
    CHECK(sample.Array<std::int32_t>("label")[0] == static_cast<std::int32_t>(i % 10));
    const Image image = sample.Decode();
    CHECK((image.width == 8 && image.height == 8 && image.channels == 3));
    CHECK(image.pixels == std::vector<std::uint8_t>(192, static_cast<std::uint8_t>(i % 251)));
    CHECK(sample.Payload().bytes.size() == 192);
  }
}

TEST_CASE("A JPEG's payload is the file that was given, and decodes to libjpeg's pixels") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 20));
  const auto file = MakeJpeg(MakePicture(80 + 7, 60 + 7, 3, 7));
  const Sample sample = dataset[7];
  const ImagePayload payload = sample.Payload("image");
  REQUIRE(payload.codec == Codec::kJpeg);
  CHECK(std::vector<std::byte>(payload.bytes.begin(), payload.bytes.end()) == file);
  CHECK(LargestDifference(sample.Decode().pixels, DecodeJpeg(file).pixels) <= kChromaRounding);
}

TEST_CASE("Every kind of field is read back, and an absent one says so") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "kinds";
  {
    DatasetWriter writer(path, {{Field::Image(), Field::Mask("mask", "image"),
                                 Field::Variable("boxes", DType::kFloat32, {4}),
                                 Field::Array("pose", DType::kFloat64, {2, 3}),
                                 Field::Bytes("caption", Role::kText)}});
    SampleBuilder full = writer.NewSample("full");
    const std::vector<std::uint8_t> mask = {1, 2, 3, 4};
    full.SetJpeg("image", MakeJpeg(MakePicture(20, 10)));
    full.SetPixels("mask", 2, 2, 1, PixelType::kUint8, std::as_bytes(std::span(mask)), true);
    const std::vector<float> boxes = {0, 1, 2, 3, 4, 5, 6, 7};
    full.SetArray<float>("boxes", boxes);
    const std::vector<double> pose = {1, 2, 3, 4, 5, 6};
    full.SetArray<double>("pose", pose);
    full.SetText("caption", "a long, long, long, long, long caption", true);
    writer.Add(full);
    SampleBuilder bare = writer.NewSample("bare");
    bare.SetArray<double>("pose", pose);
    writer.Add(bare);
    writer.Finish();
  }
  const Dataset dataset = Dataset::Open(path / "manifest.json");
  const Sample full = dataset[0];
  CHECK(full.Decode("mask").pixels == std::vector<std::uint8_t>{1, 2, 3, 4});
  CHECK(full.Array<float>("boxes").size() == 8);
  CHECK(full.Array<float>("boxes")[7] == 7);
  CHECK(full.Array<double>("pose")[5] == 6);
  CHECK(full.Text("caption") == "a long, long, long, long, long caption");
  const Sample bare = dataset[1];
  CHECK_FALSE(bare.Has("image"));
  CHECK(full.Has("image"));
  CHECK(bare.Has("pose"));
  CHECK(bare.Array<float>("boxes").empty());
  CHECK(bare.Text("caption").empty());
  CHECK(CodeOf([&] { bare.Decode(); }) == ErrorCode::kCorrupt);
}

TEST_CASE("Wrong names, types and numbers are refused") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 10));
  CHECK(CodeOf([&] { dataset[10]; }) == ErrorCode::kInvalidArgument);
  CHECK(CodeOf([&] { dataset[0].Integer("lable"); }) == ErrorCode::kInvalidArgument);
  CHECK(CodeOf([&] { dataset[0].Array<float>("label"); }) == ErrorCode::kInvalidArgument);
  CHECK(CodeOf([&] { dataset[0].Bytes("label"); }) == ErrorCode::kInvalidArgument);
  CHECK(CodeOf([&] { dataset[0].Payload("label"); }) == ErrorCode::kInvalidArgument);
}

TEST_CASE(
    "A folder without a dataset, an unfinished one and a damaged one each have their own error") {
  const TemporaryFolder folder;
  CHECK(CodeOf([&] { Dataset::Open(folder / "nowhere"); }) == ErrorCode::kNotFound);
  CHECK(CodeOf([&] { Dataset::Open(folder.path()); }) == ErrorCode::kNotFound);
  const std::filesystem::path path = WriteRawDataset(folder, 100);
  std::filesystem::rename(path / "manifest.json", folder / "kept.json");
  std::ofstream(path / "plan.json") << "{}";
  CHECK(CodeOf([&] { Dataset::Open(path); }) == ErrorCode::kUnfinished);
  std::ofstream(path / "manifest.json") << "{\"id\":\"00\"}";
  CHECK(CodeOf([&] { Dataset::Open(path); }) == ErrorCode::kCorrupt);
  std::filesystem::rename(folder / "kept.json", path / "manifest.json");
  CHECK(Dataset::Open(path).size() == 100);
}

TEST_CASE("A dataset opened by a relative path is found when the working directory has changed") {
  const TemporaryFolder folder;
  WriteRawDataset(folder, 40);
  const TemporaryFolder elsewhere;
  std::filesystem::create_directory(folder / "beside");
  for (const char* name : {"../raw", "./../raw/manifest.json"}) {
    std::optional<Dataset> dataset;
    {
      const WorkingDirectory there(folder / "beside");
      dataset = Dataset::Open(name);
    }
    const WorkingDirectory other(elsewhere.path());
    CHECK((*dataset)[39].key() == "key-39");
    CHECK(dataset->path().is_relative());  // as it was named
  }
}

TEST_CASE("A shard that is missing or cut short is an error with its name when it is used") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 3000, 16, 1'000'000);
  const Dataset whole = Dataset::Open(path);
  REQUIRE(whole.shards().size() == 1);
  const std::filesystem::path shard = path / whole.shards()[0].file;
  std::filesystem::resize_file(shard, std::filesystem::file_size(shard) - 4096);
  const Dataset cut = Dataset::Open(path);
  CHECK(CodeOf([&] { cut[0].Integer("label"); }) == ErrorCode::kCorrupt);
  std::filesystem::remove(shard);
  const Dataset missing = Dataset::Open(path);
  CHECK(CodeOf([&] { missing[0].Integer("label"); }) == ErrorCode::kNotFound);
}

TEST_CASE("A shard that is put back is read by the next access to one of its samples") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 20);
  const Dataset dataset = Dataset::Open(path);
  const std::filesystem::path shard = path / dataset.shards()[0].file;
  std::filesystem::rename(shard, folder / "away");
  const auto label = [&] { return dataset[3].Integer("label"); };
  CHECK(CodeOf(label) == ErrorCode::kNotFound);
  std::filesystem::rename(folder / "away", shard);
  CHECK_NOTHROW(label());
}

TEST_CASE("Opening reads the manifest and no shard, for one shard and for ten thousand") {
  const TemporaryFolder folder;
  for (const std::uint64_t shards : {1, 10'000}) {
    Manifest manifest;
    manifest.name = "many";
    manifest.schema = {{Field::Label("label")}};
    for (std::uint64_t s = 0; s < shards; ++s) {
      ManifestShard shard;
      shard.file = "shard-" + std::to_string(s) + ".sluice";  // does not exist
      shard.samples = 1000;
      shard.block_samples = 10;
      shard.blocks = 100;
      shard.bytes = 50'000'000;
      manifest.shards.push_back(shard);
      manifest.samples += 1000;
    }
    Id128 id;
    const std::string text = ManifestToJson(manifest, id);
    WriteFile(folder / "manifest.json", AsBytes(text));
    const std::uint64_t own = [] {  // bytes that reading the counter itself takes
      const std::uint64_t before = BytesRead();
      return BytesRead() - before;
    }();
    const std::uint64_t before = BytesRead();
    const Dataset dataset = Dataset::Open(folder.path());
    const std::uint64_t read = BytesRead() - before - own;
    CHECK(dataset.size() == shards * 1000);
    CHECK(dataset.id() == ToHex(id));
    // The counter's own text may grow by a digit or two meanwhile.
    CHECK(read >= text.size());
    CHECK(read <= text.size() + 16);
  }
}
