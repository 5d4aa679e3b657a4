// Conversions of TFRecord and RecordIO files, made here from their formats' descriptions.
#include "writer/source/records/records.h"

#include <sluice/convert.h>
#include <sluice/error.h>

#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/temporary_folder.h"
#include "tests/writer/converted.h"
#include "tests/writer/source_files.h"
#include "tests/writer/stored.h"
#include "writer/source/records/packed_page.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

using Strings = std::vector<std::string>;

std::string Little(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i)
    text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string Little(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return Little(bits, 4);
}

// Protocol buffers: a number in seven bits per byte; a field of bytes.
std::string Varint(std::uint64_t value) {
  std::string text;
  for (; value >= 128; value >>= 7)
    text += static_cast<char>(value | 128);
  return text + static_cast<char>(value);
}
std::string ProtoField(int number, const std::string& bytes) {
  return Varint(static_cast<std::uint64_t>(number) << 3 | 2) + Varint(bytes.size()) + bytes;
}

// A feature of kind 1 (bytes), 2 (floats) or 3 (integers) whose list has this content.
std::string Feature(const std::string& name, int kind, const std::string& list) {
  return ProtoField(1, ProtoField(1, name) + ProtoField(2, ProtoField(kind, list)));
}
std::string BytesFeature(const std::string& name, const std::string& value) {
  return Feature(name, 1, ProtoField(1, value));
}
std::string IntegerFeature(const std::string& name, std::uint64_t value) {
  return Feature(name, 3, ProtoField(1, Varint(value)));
}
std::string FloatsFeature(const std::string& name, const std::vector<float>& values) {
  std::string packed;
  for (const float value : values)
    packed += Little(value);
  return Feature(name, 2, ProtoField(1, packed));
}

std::string TfRecord(const std::string& features) {
  const std::string data = ProtoField(1, features);
  const std::string length = Little(data.size(), 8);
  return length + Little(MaskedCrc(Crc32c(AsBytes(length))), 4) + data +
         Little(MaskedCrc(Crc32c(AsBytes(data))), 4);
}

constexpr std::uint32_t kMagic = 0xced7230a;

// A record as MXNet's RecordIO writes it: split where the magic number occurs in the data.
std::string RecordIo(const std::string& data) {
  const auto part = [](unsigned kind, const std::string& bytes) {
    return Little(kMagic, 4) + Little(std::uint64_t{kind} << 29 | bytes.size(), 4) + bytes;
  };
  std::string text;
  std::size_t begin = 0;
  for (std::size_t at = 0; at + 4 <= data.size(); at += 4) {
    if (data.substr(at, 4) != Little(kMagic, 4)) continue;
    text += part(begin == 0 ? 1 : 2, data.substr(begin, at - begin));
    begin = at + 4;
  }
  text += part(begin == 0 ? 0 : 3, data.substr(begin));
  text.resize((text.size() + 3) / 4 * 4);
  return text;
}

// A record of MXNet's images: the number of labels (0 if there is one), the label (0 if there are
// several), the id, a second id; then the labels if there are several; then the image file.
std::string ImageRecord(const std::vector<float>& labels, std::uint64_t id,
                        const std::string& image) {
  std::string head = labels.size() == 1 ? Little(0, 4) + Little(labels[0])
                                        : Little(labels.size(), 4) + Little(0, 4);
  head += Little(id, 8) + Little(0, 8);
  for (std::size_t i = 0; labels.size() > 1 && i < labels.size(); ++i)
    head += Little(labels[i]);
  return RecordIo(head + image);
}

std::string JpegOf(std::uint64_t seed) {
  const FileBytes jpeg = MakeJpeg(MakePicture(40, 30, 3, seed));
  return std::string(AsText(jpeg));
}

struct RecordFolder : TemporaryFolder {
  ConvertSource Source(const std::string& content) const {
    WriteSource(path() / "train.records", content);
    return ConvertSource::Archives({path() / "train.records"});
  }
  ConvertSummary Convert(const ConvertSource& source) const {
    ConvertOptions options;
    options.shards.keep_order = true;
    options.form.keep = true;
    options.geometry.max_side.reset();
    return ConvertBothWays(source, path() / "data", options);
  }
  StoredDataset Data() const { return ReadDataset(path() / "data"); }
};

template <class T>
std::vector<T> NumbersIn(const StoredField& field) {
  std::vector<T> values(field.bytes.size() / sizeof(T));
  std::memcpy(values.data(), field.bytes.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace

TEST_CASE("CRC-32C gives the published check value") {
  CHECK(Crc32c(AsBytes("123456789")) == 0xe3069283U);  // from the catalogue of CRCs
  CHECK(Crc32c(AsBytes("")) == 0);
}

TEST_CASE("a TFRecord's examples become samples: image, label, and the requested columns") {
  const RecordFolder folder;
  const auto example = [](std::uint64_t i, const std::string& name) {
    return TfRecord(IntegerFeature("image/class/label", i) +
                    BytesFeature("image/encoded", JpegOf(i)) +
                    (name.empty() ? "" : BytesFeature("image/filename", name)) +
                    FloatsFeature("xmin", {0, 0.5F}) + FloatsFeature("ymin", {0, 0.5F}) +
                    FloatsFeature("xmax", {0.5F, 1}) + FloatsFeature("ymax", {0.5F, 1}));
  };
  ConvertSource source = folder.Source(example(3, "c.jpg") + example(1, ""));
  ConvertSummary summary = folder.Convert(source);
  CHECK(summary.class_counts == std::vector<std::uint64_t>{0, 1, 0, 1});
  CHECK(summary.warnings.at(0) == "columns not used: xmax, xmin, ymax, ymin");
  CHECK(summary.kept == 2);
  const StoredDataset data = folder.Data();
  CHECK(data.Keys() == Strings{"c.jpg", "train.records/0000001"});
  CHECK(data.Find("c.jpg").Label() == 3);
  CHECK(Difference(data.samples[1].Pixels(), MakePicture(40, 30, 3, 1)) < 8);
  source.rows.columns = {{"xmin+ymin+xmax+ymax", ColumnType::kBoxes}};
  source.rows.columns[0].relative = true;
  CHECK(sluice::Convert(source, folder / "boxes").warnings.at(0) ==
        "columns not used: image/class/label");
  CHECK(NumbersIn<float>(ReadDataset(folder / "boxes").samples[0].fields[1]) ==
        std::vector<float>{0, 0, 20, 15, 20, 15, 40, 30});
  // A picture without boxes has an empty list of boxes. A field for one value (here a text) is
  // absent if the feature's list is empty.
  std::string empty = BytesFeature("image", JpegOf(1)) + Feature("note", 1, "");
  for (const char* side : {"xmin", "ymin", "xmax", "ymax"})
    empty += FloatsFeature(side, {});
  WriteSource(folder / "empty.records", TfRecord(empty));
  source.archives = {folder / "empty.records"};
  source.rows.columns.push_back({"note", ColumnType::kText});
  sluice::Convert(source, folder / "empty");
  const StoredSample none = ReadDataset(folder / "empty").samples.at(0);
  CHECK(none.fields[1].codec == Codec::kRaw);
  CHECK(none.fields[1].bytes.empty());
  CHECK(none.fields[2].codec == Codec::kAbsent);
}

TEST_CASE("a TFRecord with damaged data is left out, and a file with damaged framing is refused") {
  const RecordFolder folder;
  const std::string first = TfRecord(BytesFeature("image", JpegOf(1)));
  std::string both = first + TfRecord(BytesFeature("image", JpegOf(2)));
  both[first.size() - 100] ^= 1;  // within the first image
  const ConvertSummary summary = folder.Convert(folder.Source(both));
  CHECK(summary.samples == 1);
  REQUIRE(summary.skipped.size() == 1);
  CHECK(summary.skipped[0].reason == "the archive is damaged: a checksum is wrong");
  both[first.size()] ^= 1;
  const auto error = ErrorOf([&] { folder.Convert(folder.Source(both)); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kCorrupt);
  CHECK_THAT(error->sentence(), ContainsSubstring("checksum of a record's length"));
}

TEST_CASE("a TFRecord without an image is refused with the features that it has") {
  const RecordFolder folder;
  const auto error = ErrorOf([&] {
    folder.Convert(folder.Source(TfRecord(IntegerFeature("a", 1) + BytesFeature("b", "x"))));
  });
  REQUIRE(error);
  CHECK_THAT(error->sentence(), ContainsSubstring("the file has: a, b"));
}

TEST_CASE("RecordIO's records become samples, and split ones are joined again") {
  const RecordFolder folder;
  std::string with_magic = JpegOf(2);
  // A comment after the JPEG's first marker contains the magic number twice, at multiples of four.
  with_magic.insert(2, "\xff\xfe" + std::string("\0\x10", 2) + "xx" + Little(kMagic, 4) +
                           Little(kMagic, 4) + "1234");
  const std::string record = ImageRecord({4}, 9, with_magic);
  CHECK(record.size() > with_magic.size() + 24 + 8);  // the record was split
  folder.Convert(folder.Source(ImageRecord({1}, 7, JpegOf(1)) + record));
  const StoredDataset data = folder.Data();
  CHECK(data.Keys() == Strings{"train/0000000", "train/0000001"});
  CHECK(data.samples[0].Label() == 1);
  CHECK(data.samples[1].Label() == 4);
  CHECK(Difference(data.samples[1].Pixels(), MakePicture(40, 30, 3, 2)) < 8);
}

TEST_CASE("InsightFace's records without an image are reported together and decide no field") {
  // The layout of face2rec2.py: record 0 says at which numbers the records of identities lie, and
  // each of those says where its pictures lie. Pictures have one label or, in later files, two.
  const bool pairs = GENERATE(false, true);
  const auto face = [&](float identity, std::uint64_t id) {
    return ImageRecord(pairs ? std::vector<float>{identity, 0} : std::vector<float>{identity}, id,
                       JpegOf(id));
  };
  const RecordFolder folder;
  const ConvertSummary summary = folder.Convert(
      folder.Source(ImageRecord({4, 6}, 0, "") + face(0, 1) + face(1, 2) + face(1, 3) +
                    ImageRecord({1, 2}, 4, "") + ImageRecord({2, 4}, 5, "")));
  CHECK(summary.samples == 3);
  CHECK(summary.skipped.empty());
  CHECK(summary.class_counts == std::vector<std::uint64_t>{1, 2});
  REQUIRE(summary.passed_over.size() == 1);
  CHECK(summary.passed_over[0].path == "train.records");
  CHECK_THAT(summary.passed_over[0].reason, StartsWith("3 records without an image"));
  const StoredDataset data = folder.Data();
  CHECK(data.Keys() == Strings{"train/0000001", "train/0000002", "train/0000003"});
  CHECK(data.samples[0].Label() == 0);
  CHECK(data.samples[2].Label() == 1);
}

TEST_CASE("a RecordIO record without an image is left out, and the next one decides the fields") {
  const RecordFolder folder;
  const ConvertSummary summary =
      folder.Convert(folder.Source(ImageRecord({1, 2, 3}, 0, "") + ImageRecord({1}, 1, JpegOf(1))));
  CHECK(summary.class_counts == std::vector<std::uint64_t>{0, 1});
  REQUIRE(summary.skipped.size() == 1);
  CHECK(summary.skipped[0].path == "train.records: train/0000000");
}

TEST_CASE("RecordIO's detection labels become boxes and classes") {
  // Labels: 4 numbers of a head (its length, the length of an object, the picture's size), then two
  // objects of 5 numbers: the class, and the corners as fractions.
  const RecordFolder folder;
  folder.Convert(folder.Source(
      ImageRecord({4, 5, 40, 30, 2, 0.25F, 0.5F, 0.75F, 1, 0, 0, 0, 0.5F, 0.5F}, 0, JpegOf(1))));
  const StoredDataset data = folder.Data();
  CHECK(NumbersIn<float>(data.samples[0].fields[1]) ==
        std::vector<float>{10, 15, 30, 30, 0, 0, 20, 15});
  CHECK(NumbersIn<std::int32_t>(data.samples[0].fields[2]) == std::vector<std::int32_t>{2, 0});
}

TEST_CASE("RecordIO's objects whose class is not a number leave their image out") {
  const RecordFolder folder;
  const float none = std::numeric_limits<float>::quiet_NaN();
  const ConvertSummary summary =
      folder.Convert(folder.Source(ImageRecord({2, 5, none, 0.25F, 0.5F, 0.75F, 1}, 0, JpegOf(1)) +
                                   ImageRecord({2, 5, 1, 0.25F, 0.5F, 0.75F, 1}, 1, JpegOf(2))));
  CHECK(summary.samples == 1);
  REQUIRE(summary.skipped.size() == 1);
  CHECK_THAT(summary.skipped[0].reason, ContainsSubstring("a number is not finite"));
}

TEST_CASE("record files truncated within a record are refused, and a changed byte does no harm") {
  const RecordFolder folder;
  const bool tf = GENERATE(true, false);
  const std::string whole =
      tf ? TfRecord(BytesFeature("image", JpegOf(1)) + IntegerFeature("label", 1))
         : ImageRecord({1, 2, 3}, 1, JpegOf(1));
  const auto read = [&](const std::string& content) {
    const ConvertSource source = folder.Source(content);
    return ErrorOf([&] { tf ? ReadTfRecords(source, {}) : ReadRecordIo(source, {}); });
  };
  CHECK_FALSE(read(whole));
  // (A few bytes of padding may be missing after a RecordIO record.)
  for (std::size_t size = 12; size < whole.size() - 4; size += size < 64 ? 1 : 7) {
    CAPTURE(size);
    REQUIRE(read(whole.substr(0, size)));
  }
  for (std::size_t at = 0; at < 160; ++at) {
    std::string wrong = whole;
    wrong[at] = static_cast<char>(~wrong[at]);
    read(wrong);
  }
}

}  // namespace sluice::test
