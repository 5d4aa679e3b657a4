// sluice::DatasetWriter, with its output read back through format/.
#include <cstring>
#include <optional>

#include <sluice/dataset_edit.h>
#include <sluice/dataset_writer.h>

#include "format/disk/checksum.h"
#include "format/disk/zstd.h"
#include "format/pixels/decode.h"
#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/temporary_folder.h"
#include "tests/working_directory.h"
#include "tests/writer/source_files.h"
#include "tests/writer/stored.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

Schema EveryKind() {
  return {{Field::Image(), Field::Mask("mask", "image"), Field::Label("label", {"cat", "dog"}),
           Field::Array("pose", DType::kFloat32, {2, 2}),
           Field::Variable("boxes", DType::kInt16, {4}), Field::Bytes("caption", Role::kText)}};
}

Schema BytesOnly() {
  return {{Field::Bytes("blob")}};
}

std::vector<std::byte> AsFile(const std::string& text) {
  const Bytes bytes = AsBytes(text);
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> AsElements(const std::vector<float>& values) {
  const Bytes bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

// `count` samples with `size` bytes each.
void AddBlobs(DatasetWriter& writer, int count, std::size_t size) {
  const std::string blob(size, 'x');
  for (int i = 0; i < count; ++i) {
    SampleBuilder sample = writer.NewSample(std::to_string(i));
    sample.SetText("blob", blob);
    writer.Add(sample);
  }
}

StoredDataset WriteBlobs(const std::filesystem::path& path, const DatasetWriterOptions& options,
                         int count, std::size_t size) {
  DatasetWriter writer(path, BytesOnly(), options);
  AddBlobs(writer, count, size);
  writer.Finish();
  return ReadDataset(path);
}

}  // namespace

TEST_CASE("a writer refuses a URL as its folder") {
  for (const char* const url : {"s3://bucket/x", "az://x"}) {
    CHECK(CodeOf([&] { DatasetWriter(url, {{Field::Bytes("x")}}); }) ==
          ErrorCode::kInvalidArgument);
  }
  CHECK_FALSE(std::filesystem::exists("s3:"));
}

TEST_CASE("every kind of field is read back as it was set") {
  const TemporaryFolder folder;
  const auto jpeg = MakeJpeg(MakePicture(31, 17));
  const std::vector<std::uint16_t> mask = {1, 2, 3, 4, 5, 60000};
  const std::vector<float> pose = {1, 2, 3, 4.5};
  const std::vector<std::int16_t> boxes = {1, 2, 3, 4, 5, 6, 7, 8};
  DatasetWriter writer(folder / "data", EveryKind());
  SampleBuilder sample = writer.NewSample("first");
  sample.SetJpeg("image", jpeg);
  sample.SetPixels("mask", 3, 2, 1, PixelType::kUint16, std::as_bytes(std::span(mask)));
  sample.Set<std::int32_t>("label", 1);
  sample.SetArray<float>("pose", pose);
  sample.SetArray<std::int16_t>("boxes", boxes);
  sample.SetText("caption", "a dog");
  writer.Add(sample);
  CHECK(writer.samples() == 1);
  writer.Finish();

  const StoredDataset data = ReadDataset(folder / "data");
  REQUIRE(data.samples.size() == 1);
  const StoredSample& stored = data.samples[0];
  CHECK(stored.key == "first");
  CHECK(stored.fields[0].codec == Codec::kJpeg);
  CHECK(stored.fields[0].bytes == jpeg);
  CHECK(stored.fields[0].width == 31);
  CHECK(stored.fields[0].height == 17);
  CHECK(stored.fields[0].channels == 3);
  CHECK(stored.fields[1].codec == Codec::kRaw);
  CHECK(stored.fields[1].pixel_type == PixelType::kUint16);
  CHECK(std::memcmp(stored.fields[1].bytes.data(), mask.data(), 12) == 0);
  CHECK(LoadAt<std::int32_t>(stored.fields[2].bytes, 0) == 1);
  CHECK(stored.fields[3].bytes == AsElements(pose));
  CHECK(stored.fields[4].bytes.size() == 16);
  CHECK(std::memcmp(stored.fields[4].bytes.data(), boxes.data(), 16) == 0);
  CHECK(stored.fields[5].bytes == AsFile("a dog"));
  CHECK(data.manifest.class_counts == std::vector<std::uint64_t>{0, 1});
  REQUIRE(data.manifest.images.size() == 2);
  CHECK(data.manifest.images[0].present == 1);
  CHECK(data.manifest.images[0].payload_bytes == jpeg.size());
  CHECK(data.manifest.images[1].pixel_type == PixelType::kUint16);
  // The counts of "boxes" and of "caption": values, bytes, most bytes.
  CHECK(data.manifest.values == std::vector<ManifestValues>{{1, 16, 16}, {1, 5, 5}});
}

TEST_CASE("a JPEG set as packed keeps its pixels, and one without a packed form stays a JPEG") {
  const TemporaryFolder folder;
  const auto jpeg = MakeJpeg(MakePicture(31, 17));
  JpegOptions as_rgb;  // not Y Cb Cr
  as_rgb.stored = JCS_RGB;
  as_rgb.subsample = false;
  const auto other = MakeJpeg(MakePicture(31, 17), as_rgb);
  DatasetWriter writer(folder / "data", {{Field::Image()}});
  SampleBuilder sample = writer.NewSample("packed");
  CHECK(sample.SetPacked("image", jpeg));
  writer.Add(sample);
  sample.Reset("not");
  CHECK_FALSE(sample.SetPacked("image", other));
  writer.Add(sample);
  sample.Reset("broken");
  const std::span<const std::byte> half(jpeg.data(), jpeg.size() / 2);
  CHECK_THROWS_AS(sample.SetPacked("image", half), Error);
  writer.Add(sample);
  writer.Finish();

  const StoredDataset data = ReadDataset(folder / "data");
  REQUIRE(data.samples.size() == 3);
  const auto& packed = data.samples[0].fields[0];
  CHECK(packed.codec == Codec::kPacked);
  CHECK(packed.width == 31);
  CHECK(packed.channels == 3);
  std::vector<std::uint8_t> of_packed(31 * 17 * 3), of_jpeg(31 * 17 * 3);
  PayloadDecoder decoder;
  const Region whole = Region::Whole(31, 17);
  CHECK(decoder.Decode({Codec::kPacked, PixelType::kUint8, 3, 31, 17, packed.bytes}, whole,
                       {of_packed.data(), 3, PixelOrder::kInterleaved}) == nullptr);
  CHECK(decoder.Decode({Codec::kJpeg, PixelType::kUint8, 3, 31, 17, jpeg}, whole,
                       {of_jpeg.data(), 3, PixelOrder::kInterleaved}) == nullptr);
  CHECK(of_packed == of_jpeg);
  CHECK(data.samples[1].fields[0].codec == Codec::kJpeg);
  CHECK(data.samples[1].fields[0].bytes == other);
  CHECK(data.samples[2].fields[0].codec == Codec::kAbsent);
}

TEST_CASE("unset fields are absent, and Reset() clears all fields") {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "data", {{Field::Image(), Field::Bytes("text")}});
  SampleBuilder sample = writer.NewSample("one");
  sample.SetText("text", "something");
  writer.Add(sample);
  sample.Reset("two");
  writer.Add(sample);
  writer.Finish();
  const StoredDataset data = ReadDataset(folder / "data");
  CHECK(data.Keys() == std::vector<std::string>{"one", "two"});
  CHECK(data.samples[0].fields[0].codec == Codec::kAbsent);
  CHECK(data.samples[0].fields[1].codec == Codec::kRaw);
  CHECK(data.samples[1].fields[1].codec == Codec::kAbsent);
  CHECK(data.manifest.images[0].present == 0);
  CHECK(data.manifest.values == std::vector<ManifestValues>{{1, 9, 9}});
}

TEST_CASE("with `compress`, a value is stored as a zstd frame of the same bytes") {
  const TemporaryFolder folder;
  const std::string text(5000, 'a');
  DatasetWriter writer(folder / "data", {{Field::Image(), Field::Bytes("text")}});
  SampleBuilder sample = writer.NewSample("one");
  sample.SetText("text", text, true);
  sample.SetPixels("image", 50, 100, 1, PixelType::kUint8, AsBytes(text), true);
  writer.Add(sample);
  writer.Finish();
  const StoredDataset data = ReadDataset(folder / "data");
  for (const StoredField& field : data.samples[0].fields) {
    CHECK(field.codec == Codec::kZstd);
    CHECK(field.bytes.size() < 500);
    std::vector<std::byte> content(5000);
    REQUIRE(ZstdDecompress(field.bytes, content));
    CHECK(content == AsFile(text));
  }
  CHECK(data.manifest.values == std::vector<ManifestValues>{{1, 5000, 5000}});
}

TEST_CASE("after every edit, the manifest's `values` agree with the shards") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "data";
  ManifestValues numbers, texts;
  {
    DatasetWriter writer(path,
                         {{Field::Variable("numbers", DType::kInt16, {}),
                           Field::Label("label", {"cat", "dog"}), Field::Bytes("text")}},
                         {"data", 1'000'000, 4});
    for (std::size_t i = 0; i < 30; ++i) {
      SampleBuilder sample = writer.NewSample(std::to_string(i));
      sample.Set<std::int32_t>("label", 0);
      if (i % 3 != 0) {
        sample.SetArray<std::int16_t>("numbers", std::vector<std::int16_t>(i % 7));
        numbers.Add({1, 2 * (i % 7), 2 * (i % 7)});
      }
      sample.SetText("text", std::string(100 * i, 'a'), i % 2 == 1);
      texts.Add({1, 100 * i, 100 * i});
      writer.Add(sample);
    }
    writer.Finish();
  }
  const std::vector<ManifestValues> expected = {{20, numbers.bytes, 12}, {30, 43'500, 2900}};
  REQUIRE((numbers == expected[0] && texts == expected[1]));
  const auto values = [](const std::filesystem::path& dataset) {
    Id128 id;
    return ReadManifest(dataset, id).values;
  };
  CHECK(values(path) == expected);
  MergeDatasets({path}, folder / "merged");
  CHECK(values(folder / "merged") == expected);
  SubsetDataset(path, folder / "part", {.samples = {0, 7, 28}});
  CHECK(values(folder / "part") == std::vector<ManifestValues>{{2, 0, 0}, {3, 3500, 2800}});
  std::filesystem::remove(path / kManifestName);
  CHECK(RepairDataset(path, {}).manifest_rebuilt);
  CHECK(values(path) == expected);
  RepackDataset(path, 5);
  CHECK(values(path) == expected);
}

TEST_CASE("a shard's id is XXH3-128 of the dataset's name and the shard's number and part") {
  const TemporaryFolder folder;
  const StoredDataset data = WriteBlobs(folder / "data", {"pets", 1'000'000, 0}, 30, 100'000);
  REQUIRE(data.manifest.shards.size() > 2);
  for (std::uint32_t number = 0; number < data.manifest.shards.size(); ++number) {
    std::string text = "pets";
    for (const std::uint32_t word : {number, 0U}) {
      text.append(reinterpret_cast<const char*>(&word), 4);
    }
    CHECK(data.manifest.shards[number].id == Hash128(AsBytes(text)));
  }
  CHECK(data.manifest.name == "pets");
}

TEST_CASE("the dataset is named after its folder unless a name is given") {
  const TemporaryFolder folder;
  CHECK(WriteBlobs(folder / "birds", {}, 1, 10).manifest.name == "birds");
  CHECK(WriteBlobs(folder.path() / "fish" / "", {}, 1, 10).manifest.name == "fish");
}

TEST_CASE("shards close before they exceed shard_bytes, and none much earlier") {
  const TemporaryFolder folder;
  const StoredDataset data = WriteBlobs(folder / "data", {"x", 2'000'000, 4}, 100, 50'000);
  REQUIRE(data.manifest.shards.size() == 3);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(data.manifest.shards[i].bytes <= 2'000'000);
  CHECK(data.manifest.shards[0].bytes > 1'900'000);
  std::vector<std::string> keys;
  keys.reserve(100);
  for (int i = 0; i < 100; ++i)
    keys.push_back(std::to_string(i));
  CHECK(data.Keys() == keys);
}

TEST_CASE("blocks hold block_samples samples, and only a shard's last block may hold fewer") {
  const TemporaryFolder folder;
  const StoredDataset data = WriteBlobs(folder / "data", {"x", 64'000'000, 7}, 24, 100);
  REQUIRE(data.manifest.shards.size() == 1);
  CHECK(data.manifest.shards[0].block_samples == 7);
  CHECK(data.manifest.shards[0].blocks == 4);
}

TEST_CASE("automatic blocks hold a power of two of samples and have about 512 KiB") {
  const TemporaryFolder folder;
  for (const std::size_t size : {3'000, 20'000, 100'000}) {
    const int count = static_cast<int>(3'000'000 / size);
    const StoredDataset data =
        WriteBlobs(folder / std::to_string(size), {"x", 64'000'000, 0}, count, size);
    const std::uint32_t samples = data.manifest.shards[0].block_samples;
    CHECK((samples & (samples - 1)) == 0);
    CHECK(data.block_bytes[0] >= 262'144);
    CHECK(data.block_bytes[0] <= 1'048'576);
  }
  // A block of tiny samples holds no more than 4096.
  CHECK(WriteBlobs(folder / "tiny", {}, 1100, 8).manifest.shards[0].block_samples == 4096);
}

TEST_CASE("a truncated JPEG file is refused, and one that only lacks its end marker is not") {
  const TemporaryFolder folder;
  const DatasetWriter writer(folder / "data", EveryKind());
  SampleBuilder sample = writer.NewSample("one");
  const std::vector<std::byte> whole = MakeJpeg(MakePicture(64, 48));
  const std::size_t half = whole.size() / 2;
  std::vector<std::byte> zeros = whole;
  std::fill_n(zeros.begin() + std::ptrdiff_t(half), zeros.size() - half, std::byte{0});
  for (const Bytes bytes : {Bytes(whole).first(half), Bytes(zeros)}) {
    CHECK_THROWS_WITH(sample.SetJpeg("image", bytes), ContainsSubstring("cut short"));
    CHECK(CodeOf([&] { sample.SetPacked("image", bytes); }) == ErrorCode::kInvalidArgument);
  }
  std::vector<std::byte> followed = whole;
  followed.resize(whole.size() + 100);
  for (const Bytes bytes : {Bytes(whole).first(whole.size() - 2), Bytes(followed)})
    CHECK_NOTHROW(sample.SetJpeg("image", bytes));
}

TEST_CASE("a JPEG that lacks its end marker is stored with one, and readers decode the result") {
  const TemporaryFolder folder;
  const Picture picture = MakePicture(64, 48);
  DatasetWriter writer(folder / "data", Schema{{Field::Image()}});
  std::vector<Picture> expected;
  for (const bool progressive : {false, true}) {
    const std::vector<std::byte> whole = MakeJpeg(picture, {.progressive = progressive});
    for (const std::size_t cut : {1, 2}) {
      SampleBuilder sample = writer.NewSample(std::to_string(expected.size()));
      sample.SetJpeg("image", Bytes(whole).first(whole.size() - cut));
      writer.Add(sample);
      expected.push_back(DecodeJpeg(whole));
    }
  }
  writer.Finish();
  const StoredDataset data = ReadDataset(folder / "data");
  REQUIRE(data.samples.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const StoredField& value = data.samples[i].fields[0];
    PayloadDecoder decoder;
    Picture read{value.width, value.height, 3, {}};
    read.pixels.resize(std::size_t{read.width} * read.height * 3);
    const ImagePayload payload{value.codec, PixelType::kUint8, 3,
                               value.width, value.height,      value.bytes};
    REQUIRE(decoder.Decode(payload, Region::Whole(read.width, read.height),
                           {read.pixels.data(), 3}) == nullptr);
    CHECK(LargestDifference(read.pixels, expected[i].pixels) <= kChromaRounding);
  }
}

TEST_CASE("a JPEG with an Exif orientation is stored upright, without loss for whole blocks") {
  const TemporaryFolder folder;
  const auto stored = [&](std::uint32_t width, std::uint32_t height, std::uint16_t orientation) {
    const FileBytes jpeg = WithOrientation(MakeJpeg(MakePicture(width, height)), orientation);
    const auto path = folder / (std::to_string(width) + "-" + std::to_string(orientation));
    DatasetWriter writer(path, Schema{{Field::Image()}});
    SampleBuilder sample = writer.NewSample("one");
    sample.SetJpeg("image", jpeg);
    writer.Add(sample);
    writer.Finish();
    return ReadDataset(path).samples[0].fields[0];
  };
  // `across` and `down`: where the stored picture has the pixel (x, y) of the upright one, by Exif
  // 2.32, 4.6.4 A, for orientations 1 to 8.
  const auto upright = [](const Picture& picture, int orientation) {
    const bool swaps = orientation >= 5;
    Picture turned{
        swaps ? picture.height : picture.width, swaps ? picture.width : picture.height, 3, {}};
    const std::uint32_t right = picture.width - 1, bottom = picture.height - 1;
    for (std::uint32_t y = 0; y < turned.height; ++y) {
      for (std::uint32_t x = 0; x < turned.width; ++x) {
        const std::uint32_t across[] = {x, right - x, right - x, x, y, y, right - y, right - y};
        const std::uint32_t down[] = {y, y, bottom - y, bottom - y, x, bottom - x, bottom - x, x};
        const std::size_t from =
            (std::size_t{down[orientation - 1]} * picture.width + across[orientation - 1]) * 3;
        turned.pixels.insert(turned.pixels.end(), &picture.pixels[from], &picture.pixels[from] + 3);
      }
    }
    return turned;
  };
  for (std::uint16_t orientation = 2; orientation <= 8; ++orientation) {
    INFO(orientation);
    // A picture of whole blocks of 16 pixels, which is turned without loss, and one of cut-off
    // blocks, which must be encoded anew.
    for (const auto& [width, height] : {std::pair{64U, 48U}, std::pair{61U, 43U}}) {
      const Picture expected =
          upright(DecodeJpeg(MakeJpeg(MakePicture(width, height))), orientation);
      const StoredField value = stored(width, height, orientation);
      CHECK(value.width == expected.width);
      CHECK(value.height == expected.height);
      CHECK(Difference(DecodeJpeg(value.bytes), expected) < (width == 64 ? 0.5 : 4));
    }
  }
}

TEST_CASE("a turned picture with boxes, masks or key points needs the option `upright`") {
  const TemporaryFolder folder;
  Field boxes = Field::Variable("boxes", DType::kFloat32, {4});
  boxes.role = Role::kBoxes;
  boxes.follows = "image";
  boxes.coordinates = "xyxy-pixels";
  const Schema schema{{Field::Image(), boxes, Field::Mask("mask", "image")}};
  const FileBytes plain = MakeJpeg(MakePicture(32, 16));
  const FileBytes turned = WithOrientation(plain, 6);
  const std::vector<float> box = {1, 2, 3, 4};
  const std::vector<std::byte> mask(32 * 16);
  for (const bool packed : {false, true}) {
    DatasetWriter writer(folder / (packed ? "packed" : "jpeg"), schema);
    SampleBuilder sample = writer.NewSample("one");
    const auto set = [&](const FileBytes& file) {
      sample.Reset("one");
      packed ? static_cast<void>(sample.SetPacked("image", file)) : sample.SetJpeg("image", file);
    };
    const auto refused = [&](const std::string& field) {
      const std::optional<Error> error = ErrorOf([&] { writer.Add(sample); });
      REQUIRE(error);
      CHECK(error->code() == ErrorCode::kInvalidArgument);
      CHECK_THAT(error->what(), ContainsSubstring("sample \"one\": Exif turns its picture") &&
                                    ContainsSubstring("field \"" + field + "\"") &&
                                    ContainsSubstring("DatasetWriterOptions::upright"));
    };
    set(turned);
    sample.SetArray<float>("boxes", box);
    refused("boxes");
    set(turned);
    sample.SetPixels("mask", 16, 32, 1, PixelType::kUint8, mask);
    refused("mask");
    set(turned);
    sample.SetArray<float>("boxes", std::vector<float>());  // no boxes
    writer.Add(sample);
    set(turned);
    sample.SetArray<float>("boxes", box);
    sample.SetJpeg("image", plain);  // replaces the turned one
    writer.Add(sample);
    CHECK(writer.samples() == 2);
  }
  DatasetWriter writer(folder / "upright", schema, {.upright = true});
  SampleBuilder sample = writer.NewSample("one");
  sample.SetJpeg("image", turned);
  sample.SetArray<float>("boxes", box);
  writer.Add(sample);
  writer.Finish();
  CHECK(ReadDataset(folder / "upright").samples[0].fields[0].width == 16);
}

TEST_CASE("fields of boxes and key points that cannot be moved with their image are refused") {
  const TemporaryFolder folder;
  Field boxes = Field::Variable("boxes", DType::kFloat32, {4});
  boxes.role = Role::kBoxes;
  boxes.follows = "image";
  Field points = Field::Variable("points", DType::kFloat32, {3, 2});
  points.role = Role::kKeypoints;
  points.follows = "image";
  const auto refusal = [&](Field field, bool image = true) {
    Schema schema{{Field::Label(), std::move(field)}};
    if (image) schema.fields.push_back(Field::Image());
    if (!image) schema.fields[1].follows.clear();
    const std::optional<Error> error =
        ErrorOf([&] { const DatasetWriter writer(folder / "data", schema); });
    return error ? error->sentence() : "";
  };
  CHECK(refusal(boxes).empty());
  CHECK(refusal(points).empty());
  CHECK(refusal(boxes, false).empty());  // there is no image that moves
  Field bad = boxes;
  bad.dtype = DType::kInt32;
  CHECK_THAT(refusal(bad),
             ContainsSubstring("field \"boxes\" has the role boxes, but holds int32"));
  bad = boxes;
  bad.shape = {5};
  CHECK_THAT(refusal(bad), ContainsSubstring("four numbers"));
  bad = boxes;
  bad.coordinates = "xyxy-furlongs";
  CHECK_THAT(refusal(bad), ContainsSubstring("xyxy-furlongs"));
  bad = boxes;
  bad.follows.clear();
  CHECK_THAT(refusal(bad), ContainsSubstring("set follows to the image"));
  bad = points;
  bad.shape = {3, 4};
  CHECK_THAT(refusal(bad), ContainsSubstring("two or three numbers"));
  bad = points;
  bad.attributes["flip_pairs"] = "1-3";
  CHECK_THAT(refusal(bad), ContainsSubstring("flip_pairs \"1-3\""));
}

TEST_CASE("boxes that are none, and entries that are not one for each box, are refused") {
  const TemporaryFolder folder;
  const auto following = [](const char* name, DType dtype, std::vector<std::uint32_t> shape,
                            Role role) {
    Field field = Field::Variable(name, dtype, std::move(shape));
    field.role = role;
    field.follows = "image";
    return field;
  };
  Field sides = following("sides", DType::kFloat64, {4}, Role::kBoxes);
  sides.coordinates = "cxcywh-relative";
  DatasetWriter writer(folder / "data",
                       {{Field::Image(), following("boxes", DType::kFloat32, {4}, Role::kBoxes),
                         sides, following("classes", DType::kInt32, {}, Role::kLabel),
                         following("points", DType::kFloat32, {2}, Role::kKeypoints)}});
  SampleBuilder sample = writer.NewSample("a");
  using Doubles = std::vector<double>;
  const auto refusal = [&](const std::vector<float>& boxes, const Doubles& of_sides,
                           const std::vector<std::int32_t>& classes) {
    sample.Reset("a");
    sample.SetArray<float>("boxes", boxes);
    sample.SetArray<double>("sides", of_sides);
    sample.SetArray<std::int32_t>("classes", classes);
    sample.SetArray<float>("points", std::vector<float>{1, 2, 3, 4, 5, 6});
    const std::optional<Error> error = ErrorOf([&] { writer.Add(sample); });
    return error ? error->sentence() : "";
  };
  CHECK(refusal({0, 0, 2, 2, 5, 5, 5, 5}, {.5, .5, .1, 0}, {1, 2}).empty());
  CHECK_THAT(refusal({0, 0, 2, 2, 5, 5, 4, 6}, {}, {1, 2}),
             ContainsSubstring("sample \"a\": field \"boxes\": box 1") &&
                 ContainsSubstring("[5.0,5.0,4.0,6.0] as xyxy-pixels"));
  CHECK_THAT(refusal({0, 0, NAN, 2}, {}, {1}), ContainsSubstring("not finite"));
  CHECK_THAT(refusal({}, {.5, .5, .1, -.1}, {}), ContainsSubstring("field \"sides\": box 0"));
  CHECK_THAT(refusal({0, 0, 2, 2}, {}, {1, 2, 3}),
             ContainsSubstring("field \"classes\" has 3 entries for the 1 box of field \"boxes\""));
  sample.Reset("a");
  sample.SetArray<std::int32_t>("classes", std::vector<std::int32_t>{1});
  CHECK_THAT(ErrorOf([&] { writer.Add(sample); })->sentence(), ContainsSubstring("the 0 boxes"));
  sample.Reset("a");
  sample.SetArray<float>("boxes", std::vector<float>{0, 0, 2, 2});  // of no known class
  writer.Add(sample);
}

TEST_CASE("values that do not fit the schema are refused, and the writer continues") {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "data", EveryKind());
  SampleBuilder sample = writer.NewSample("one");
  const std::vector<float> four = {1, 2, 3, 4};
  const std::vector<float> three = {1, 2, 3};
  const std::vector<std::int16_t> five = {1, 2, 3, 4, 5};
  const std::string many(65, 'x');
  const auto refused = [](auto&& call) { CHECK(CodeOf(call) == ErrorCode::kInvalidArgument); };
  refused([&] { sample.Set<std::int32_t>("lable", 0); });  // no such field
  CHECK_THAT(ErrorOf([&] { sample.Set<std::int32_t>("lable", 0); })->sentence(),
             ContainsSubstring("did you mean \"label\"?"));
  refused([&] { sample.Set<std::int64_t>("label", 0); });          // another type
  refused([&] { sample.SetText("label", "x"); });                  // another kind
  refused([&] { sample.SetArray<float>("pose", three); });         // another shape
  refused([&] { sample.SetArray<std::int16_t>("boxes", five); });  // not a whole box
  refused([&] { sample.SetArray<float>("caption", four); });       // not an array
  refused([&] { sample.SetJpeg("image", AsBytes("no JPEG")); });
  refused([&] { sample.SetPixels("image", 2, 2, 3, PixelType::kUint8, AsBytes("short")); });
  refused([&] { sample.SetPixels("image", 0, 2, 3, PixelType::kUint8, {}); });
  refused([&] { sample.SetPixels("image", 1, 1, 65, PixelType::kUint8, AsBytes(many)); });
  sample.SetArray<float>("pose", four);
  refused([&] { writer.Add(sample); });  // the label was not set
  for (const std::int32_t label : {-1, 2}) {
    sample.Set<std::int32_t>("label", label);
    refused([&] { writer.Add(sample); });
  }
  CHECK(writer.samples() == 0);
  sample.Set<std::int32_t>("label", 0);
  writer.Add(sample);
  writer.Finish();
  CHECK(ReadDataset(folder / "data").samples.size() == 1);
}

TEST_CASE("a text that is not UTF-8 or not JSON is refused, and the error names field and sample") {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "data",
                       {{Field::Bytes("caption", Role::kText), Field::Bytes("facts", Role::kJson),
                         Field::Bytes("blob")}});
  SampleBuilder sample = writer.NewSample("one");
  const auto refusal = [&](const char* field, std::string_view content) {
    const auto error = ErrorOf([&] { sample.SetText(field, content); });
    REQUIRE(error);
    CHECK(CodeOf([&] { sample.SetText(field, content, true); }) == error->code());
    CHECK(error->code() == ErrorCode::kInvalidArgument);
    return error->sentence();
  };
  CHECK(refusal("caption", "caf\xE9") ==
        "sample \"one\": field \"caption\" has the role text, but its content is not UTF-8 from "
        "byte 4 "
        "on; correct it, or give the field the role none");
  CHECK_THAT(refusal("facts", "{"), ContainsSubstring("sample \"one\": field \"facts\""));
  CHECK_THAT(refusal("facts", ""), ContainsSubstring("is not JSON from byte 1 on"));
  CHECK_THAT(refusal("facts", R"({"a":1,"a":2})"), ContainsSubstring("the member \"a\" twice"));
  CHECK_THAT(refusal("facts", std::string_view("1\0", 2)), ContainsSubstring("a zero byte"));
  CHECK_THAT(refusal("facts", "\xEF\xBB\xBF{}"), ContainsSubstring("a byte order mark"));
  CHECK_THAT(refusal("facts", std::string(33, '[') + std::string(33, ']')),
             ContainsSubstring("nests too deeply"));
  CHECK_THAT(refusal("facts", "\"\xFF\""), ContainsSubstring("is not JSON"));
  sample.SetText("caption", "caf\xC3\xA9");
  sample.SetText("facts", R"({"a":1.5,"b":[{"a":2}]})");
  sample.SetText("blob", "\xFF");
  writer.Add(sample);
  writer.Finish();
  CHECK(ReadDataset(folder / "data").samples.size() == 1);
}

TEST_CASE("keys and payloads beyond the limits are refused, and the writer continues",
          "[no-tsan]") {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "data", BytesOnly(), {"x", 1'000'000, 1});
  SampleBuilder sample = writer.NewSample(std::string(65'536, 'k'));
  CHECK(CodeOf([&] { writer.Add(sample); }) == ErrorCode::kLimit);
  const std::vector<std::byte> large(120'000'001);
  CHECK(CodeOf([&] { sample.SetBytes("blob", large); }) == ErrorCode::kLimit);
  sample.Reset(std::string(65'535, 'k'));
  sample.SetBytes("blob", Bytes(large).first(120'000'000));
  writer.Add(sample);  // the largest possible sample, in a shard of its own
  AddBlobs(writer, 1, 10);
  writer.Finish();
  const StoredDataset data = ReadDataset(folder / "data");
  REQUIRE(data.manifest.shards.size() == 2);
  CHECK(data.manifest.shards[0].bytes <= 128'000'000);
  CHECK(data.samples[0].key.size() == 65'535);
}

TEST_CASE("an image with more pixels than a reader accepts is refused, however few its bytes") {
  const TemporaryFolder folder;
  const DatasetWriter writer(folder / "data", {{Field::Image()}});
  SampleBuilder sample = writer.NewSample("x");
  CHECK(CodeOf([&] {
          sample.SetPixels("image", 20'000, 20'000, 1, PixelType::kUint8, {}, true);
        }) == ErrorCode::kLimit);
}

TEST_CASE("fields that together exceed a shard's maximum are refused", "[no-tsan]") {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "data", {{Field::Bytes("a"), Field::Bytes("b")}});
  SampleBuilder sample = writer.NewSample("both");
  const std::vector<std::byte> half(70'000'000);
  sample.SetBytes("a", half);
  sample.SetBytes("b", half);
  CHECK(CodeOf([&] { writer.Add(sample); }) == ErrorCode::kLimit);
  sample.Reset("one");
  sample.SetBytes("a", half);
  writer.Add(sample);
  writer.Finish();
  CHECK(ReadDataset(folder / "data").Keys() == std::vector<std::string>{"one"});
}

TEST_CASE("options out of range are refused before anything is created") {
  const TemporaryFolder folder;
  const auto with = [&](std::uint64_t shard_bytes, std::uint32_t block_samples) {
    return CodeOf([&] {
      DatasetWriter(folder / "data", BytesOnly(), {"x", shard_bytes, block_samples});
    });
  };
  CHECK(with(999'999, 0) == ErrorCode::kInvalidArgument);
  CHECK(with(128'000'001, 0) == ErrorCode::kInvalidArgument);
  CHECK(with(1'000'000, 65'537) == ErrorCode::kInvalidArgument);
  CHECK(CodeOf([&] { DatasetWriter(folder / "data", Schema{}); }) == ErrorCode::kInvalidArgument);
  CHECK_FALSE(std::filesystem::exists(folder / "data"));
}

TEST_CASE("a folder that holds anything is refused") {
  const TemporaryFolder folder;
  WriteBlobs(folder / "data", {}, 1, 10);
  CHECK(CodeOf([&] { DatasetWriter(folder / "data", BytesOnly()); }) == ErrorCode::kExists);
}

TEST_CASE("without Finish() the folder has a mark instead of a manifest") {
  const TemporaryFolder folder;
  {
    DatasetWriter writer(folder / "data", BytesOnly(), {"x", 1'000'000, 1});
    AddBlobs(writer, 15, 100'000);
  }
  const auto contents = ContentsOf(folder / "data");
  CHECK(contents.size() == 2);
  CHECK(contents.count("shard-00000.sluice") == 1);
  CHECK(contents.count("sluice-work.txt") == 1);
}

TEST_CASE("a dataset is written to one place, even if the process changes its working directory") {
  const TemporaryFolder folder;
  const TemporaryFolder elsewhere;
  std::optional<DatasetWriter> writer;
  {
    const WorkingDirectory there(folder.path());
    writer.emplace("data", BytesOnly(), DatasetWriterOptions{"x", 1'000'000, 1});
  }
  {
    const WorkingDirectory other(elsewhere.path());
    AddBlobs(*writer, 15, 100'000);
    writer->Finish();
  }
  CHECK(ReadDataset(folder / "data").samples.size() == 15);
  CHECK(std::filesystem::is_empty(elsewhere.path()));
}

TEST_CASE("after Finish() nothing can be added") {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "data", BytesOnly());
  writer.Finish();
  CHECK(CodeOf([&] { writer.Add(writer.NewSample("x")); }) == ErrorCode::kState);
  CHECK(CodeOf([&] { writer.Finish(); }) == ErrorCode::kState);
  CHECK(ReadDataset(folder / "data").samples.empty());
}

TEST_CASE("a sample made by a writer with a different schema is refused") {
  const TemporaryFolder folder;
  const DatasetWriter other(folder / "other", {{Field::Bytes("a"), Field::Bytes("b")}});
  DatasetWriter writer(folder / "data", BytesOnly());
  CHECK(CodeOf([&] { writer.Add(other.NewSample("x")); }) == ErrorCode::kInvalidArgument);
}

TEST_CASE("the same samples give the same bytes") {
  const TemporaryFolder folder;
  WriteBlobs(folder / "one", {"x", 1'000'000, 0}, 40, 50'000);
  WriteBlobs(folder / "two", {"x", 1'000'000, 0}, 40, 50'000);
  CHECK(ContentsOf(folder / "one") == ContentsOf(folder / "two"));
}

TEST_CASE("Encoded pixels are stored as libjpeg's own encoding of them, with restart markers") {
  const TemporaryFolder folder;
  const Picture picture = MakePicture(61, 47);
  DatasetWriter writer(folder / "d", {{Field::Image(), Field::Image("packed")}});
  SampleBuilder sample = writer.NewSample("one");
  const Bytes pixels = std::as_bytes(std::span(picture.pixels));
  sample.SetEncoded("image", 61, 47, 3, pixels, 80);
  sample.SetEncoded("packed", 61, 47, 3, pixels, 80, true);
  CHECK(CodeOf([&] { sample.SetEncoded("image", 61, 47, 2, pixels); }) ==
        ErrorCode::kInvalidArgument);
  CHECK(CodeOf([&] { sample.SetEncoded("image", 61, 46, 3, pixels); }) ==
        ErrorCode::kInvalidArgument);
  CHECK(CodeOf([&] { sample.SetEncoded("image", 61, 47, 3, pixels, 0); }) ==
        ErrorCode::kInvalidArgument);
  writer.Add(sample);
  writer.Finish();
  const std::vector<StoredField> stored = ReadDataset(folder / "d").samples.at(0).fields;
  const std::vector<std::byte> file = MakeJpeg(picture, {.quality = 80, .restart_rows = 1});
  CHECK(stored[0].codec == Codec::kJpeg);
  CHECK(DecodeJpeg(stored[0].bytes).pixels == DecodeJpeg(file).pixels);
  const std::vector<std::byte> restarts = {std::byte{0xFF}, std::byte{0xDD}};
  CHECK_FALSE(std::ranges::search(stored[0].bytes, restarts).empty());
  CHECK(stored[1].codec == Codec::kPacked);
  CHECK(JpegFileOf({Codec::kPacked, PixelType::kUint8, 3, 61, 47, stored[1].bytes}) ==
        stored[0].bytes);
}

}  // namespace sluice::test
