// Conversions of Parquet files that pyarrow wrote (goldens/write_parquet.py), and of damaged
// copies.
#include <fstream>

#include <sys/resource.h>

#include <sluice/convert.h>
#include <sluice/error.h>

#include "format/disk/zstd.h"
#include "tests/catch.h"
#include "tests/file_content.h"
#include "tests/format/error_of.h"
#include "tests/sanitized.h"
#include "tests/temporary_folder.h"
#include "tests/writer/converted.h"
#include "tests/writer/source_files.h"
#include "tests/writer/stored.h"
#include "writer/source/records/packed_page.h"
#include "writer/source/records/parquet_column.h"
#include "writer/source/records/records.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

using Strings = std::vector<std::string>;

std::filesystem::path Golden(const std::string& name) {
  return std::filesystem::path(SLUICE_GOLDENS) / (name + ".parquet");
}

struct ParquetFolder : TemporaryFolder {
  ConvertSummary Convert(const ConvertSource& source) const {
    ConvertOptions options;
    options.shards.keep_order = true;
    options.form.image = ImageCodec::kRaw;
    return ConvertBothWays(source, path() / "data", options);
  }
  StoredDataset Data() const { return ReadDataset(path() / "data"); }
};

template <class T>
std::vector<T> ElementsOf(const StoredField& field) {
  std::vector<T> values(field.bytes.size() / sizeof(T));
  std::memcpy(values.data(), field.bytes.data(), values.size() * sizeof(T));
  return values;
}

const StoredField& FieldOf(const StoredDataset& data, std::size_t sample, const char* name) {
  return data.samples.at(sample).fields.at(data.manifest.schema.Find(name));
}

// Whether the image is the picture that write_parquet.py gives sample i.
bool IsPicture(const StoredField& image, int i) {
  if (image.width != 4 || image.height != 3 || image.channels != 3) return false;
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 4; ++x) {
      const std::byte* const pixel = &image.bytes.at(static_cast<std::size_t>(y * 4 + x) * 3);
      if (pixel[0] != std::byte(16 * i + x) || pixel[1] != std::byte(y) || pixel[2] != std::byte{7})
        return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE(
    "Parquet files give the pictures, classes and values that pyarrow wrote in any encoding") {
  const ParquetFolder folder;
  const std::string form = GENERATE("plain", "dictionary", "zstd2", "snappy");
  CAPTURE(form);
  const ConvertSummary summary = folder.Convert(ConvertSource::Archives({Golden(form)}));
  CHECK(summary.samples == 6);
  CHECK(summary.classes == Strings{"zebra", "ant"});
  REQUIRE(summary.warnings.size() == 1);
  CHECK_THAT(summary.warnings[0], ContainsSubstring("--field objects.bbox=boxes:xywh"));
  const StoredDataset data = folder.Data();
  CHECK(data.Keys() == Strings{"0.png", form + "/0000001", "2.png", form + "/0000003", "4.png",
                               form + "/0000005"});
  for (std::size_t i = 0; i < 6; ++i) {
    CAPTURE(i);
    CHECK(IsPicture(data.samples[i].fields[0], static_cast<int>(i)));
    CHECK(data.samples[i].Label() == static_cast<int>(i % 2));
    const StoredField& caption = FieldOf(data, i, "caption");
    if (i == 3)
      CHECK(caption.codec == Codec::kAbsent);
    else
      CHECK(AsText(caption.bytes) == "number " + std::to_string(i));
    CHECK(ElementsOf<float>(FieldOf(data, i, "weight")) ==
          std::vector<float>{static_cast<float>(i) / 4});
    CHECK(ElementsOf<std::int64_t>(FieldOf(data, i, "good")) ==
          std::vector<std::int64_t>{i > 2 ? 1 : 0});
    CHECK(AsText(FieldOf(data, i, "tags").bytes) == (i % 2 == 0 ? "[]" : "[\"a\"]"));
  }
}

TEST_CASE("boxes in lists of a Parquet file are read with the names of their classes") {
  const ParquetFolder folder;
  const std::string form = GENERATE("plain", "dictionary", "zstd2", "snappy");
  CAPTURE(form);
  ConvertSource source = ConvertSource::Archives({Golden(form)});
  source.rows.columns = {{"objects.bbox", ColumnType::kBoxes, "boxes", BoxFormat::kXywh},
                         {"objects.category", ColumnType::kBoxClasses, "kinds"}};
  folder.Convert(source);
  const StoredDataset data = folder.Data();
  CHECK(ElementsOf<float>(FieldOf(data, 5, "boxes")) ==
        std::vector<float>{0, 0, 2, 1, 0, 0, 2, 1, 1, 1, 3, 3});
  CHECK(ElementsOf<std::int32_t>(FieldOf(data, 5, "kinds")) == std::vector<std::int32_t>{1, 1, 1});
  CHECK(ElementsOf<std::int32_t>(FieldOf(data, 0, "kinds")) == std::vector<std::int32_t>{0});
  CHECK(data.manifest.schema.fields[2].classes == Strings{"cat", "dog"});
}

TEST_CASE(
    "a Parquet file's columns of decimals are left out with a warning, not read as integers") {
  const ParquetFolder folder;
  ConvertSource source = ConvertSource::Archives({Golden("decimals")});
  const ConvertSummary summary = folder.Convert(source);
  CHECK(summary.samples == 3);
  REQUIRE(summary.warnings.size() == 1);
  CHECK(summary.warnings[0] == "columns not used: price, total");
  const StoredDataset data = folder.Data();
  CHECK(data.manifest.schema.fields.size() == 2);
  CHECK(data.samples[1].Label() == 1);
  source.rows.columns = {{"label", ColumnType::kClass}, {"price", ColumnType::kFloat}};
  const auto error = ErrorOf([&] { Convert(source, folder.path() / "named"); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kInvalidArgument);
  CHECK_THAT(error->sentence(), ContainsSubstring("column \"price\" values of a type"));
}

TEST_CASE("a Parquet file's unsigned integers are not read as negative ones") {
  const ParquetFolder folder;
  const std::string form = GENERATE("unsigned", "unsigned_dictionary");
  CAPTURE(form);
  ConvertSource source = ConvertSource::Archives({Golden(form)});
  source.rows.columns = {{"small", ColumnType::kInt}, {"list", ColumnType::kFloats}};
  CHECK(folder.Convert(source).samples == 3);
  const StoredDataset data = folder.Data();
  CHECK(ElementsOf<std::int64_t>(FieldOf(data, 1, "small")) ==
        std::vector<std::int64_t>{2147483648});
  CHECK(ElementsOf<std::int64_t>(FieldOf(data, 2, "small")) ==
        std::vector<std::int64_t>{4294967295});
  CHECK(ElementsOf<float>(FieldOf(data, 1, "list")) == std::vector<float>{2147483648.0F, 5});

  source.rows.columns = {{"large", ColumnType::kInt}};
  const ConvertSummary summary = Convert(source, folder / "large");
  CHECK(summary.samples == 2);
  REQUIRE(summary.skipped.size() == 1);
  CHECK_THAT(summary.skipped[0].reason,
             ContainsSubstring("9223372036854775808\" is not a whole number of 64 bits"));
  CHECK(ElementsOf<std::int64_t>(FieldOf(ReadDataset(folder / "large"), 1, "large")) ==
        std::vector<std::int64_t>{INT64_MAX});
}

TEST_CASE(
    "several Parquet files make one dataset, with the same bytes from any number of threads") {
  const ParquetFolder folder;
  const ConvertSource source = ConvertSource::Archives({Golden("plain"), Golden("snappy")});
  ConvertOptions options;
  options.run.threads = 1;
  sluice::Convert(source, folder / "one", options);
  options.run.threads = 5;
  sluice::Convert(source, folder / "five", options);
  CHECK(ReadDataset(folder / "one").samples.size() == 12);
  CHECK(ContentsOf(folder / "one") == ContentsOf(folder / "five"));
}

TEST_CASE("files with the same name are distinguished by their folders, in keys and in messages") {
  const ParquetFolder folder;
  for (const char* place : {"a/train", "b/train"}) {
    std::filesystem::create_directories(folder / place);
    std::filesystem::copy_file(Golden("gaps"), folder / place / "0.parquet");
  }
  ConvertSource source =
      ConvertSource::Archives({folder / "a/train/0.parquet", folder / "b/train/0.parquet"});
  source.rows.columns = {{"kinds", ColumnType::kClasses}};
  const ConvertSummary summary = folder.Convert(source);
  CHECK(folder.Data().Keys() == Strings{"0.png", "2.png", "0.png", "2.png"});
  REQUIRE(summary.skipped.size() == 2);
  CHECK(summary.skipped[1].path == "b/train/0.parquet: b/train/0/0000001");
}

TEST_CASE("classes that files number differently are one class if they share a name") {
  const ParquetFolder folder;
  ConvertSource source = ConvertSource::Archives({Golden("plain"), Golden("other")});
  source.rows.columns = {{"label", ColumnType::kClass}};
  const ConvertSummary summary = folder.Convert(source);
  CHECK(summary.classes == Strings{"zebra", "ant", "cat"});
  const StoredDataset data = folder.Data();
  REQUIRE(data.samples.size() == 9);
  // The first file has zebra and ant in turn, the second file has ant, cat, zebra.
  const std::int32_t expected[] = {0, 1, 0, 1, 0, 1, 1, 2, 0};
  for (std::size_t i = 0; i < 9; ++i)
    CHECK(data.samples[i].Label() == expected[i]);
  source.archives = {Golden("bare"), Golden("other")};
  const std::optional<Error> error = ErrorOf([&] { sluice::Convert(source, folder / "more"); });
  REQUIRE(error.has_value());
  CHECK_THAT(error->what(), ContainsSubstring("put that other file first"));
}

TEST_CASE("a Parquet file without metadata has its image in the only column of bytes") {
  const ParquetFolder folder;
  const ConvertSummary summary = folder.Convert(ConvertSource::Archives({Golden("bare")}));
  CHECK(summary.classes == Strings{"a", "b"});
  const StoredDataset data = folder.Data();
  CHECK(data.Keys() == Strings{"bare/0000000", "bare/0000001"});
  CHECK(IsPicture(data.samples[1].fields[0], 1));
  CHECK(data.samples[1].Label() == 0);
}

TEST_CASE("of several image columns, the one with the usual name or the named one is used") {
  const ParquetFolder folder;
  const ConvertSummary summary = folder.Convert(ConvertSource::Archives({Golden("depth")}));
  REQUIRE(summary.warnings.size() == 2);  // the second says that column "depth" is not used
  CHECK_THAT(summary.warnings[0], ContainsSubstring("depth, image; Sluice takes \"image\""));
  CHECK(IsPicture(folder.Data().samples[0].fields[0], 1));

  ConvertSource views = ConvertSource::Archives({Golden("views")});
  const std::optional<Error> error = ErrorOf([&] { sluice::Convert(views, folder / "views"); });
  REQUIRE(error.has_value());
  CHECK_THAT(error->what(), ContainsSubstring("name one of them by --path-column: left, right"));
  views.rows.path_column = "right";
  std::filesystem::remove_all(folder / "data");
  folder.Convert(views);
  CHECK(IsPicture(folder.Data().samples[0].fields[0], 1));
}

TEST_CASE("incomplete rows of a Parquet file are left out alone, with advice") {
  const ParquetFolder folder;
  ConvertSource source = ConvertSource::Archives({Golden("gaps")});
  const ConvertSummary whole = folder.Convert(source);
  CHECK(folder.Data().Keys() == Strings{"0.png"});
  REQUIRE(whole.skipped.size() == 2);
  CHECK(whole.skipped[1].reason == "column kinds: a list has an entry that is null");
  CHECK(whole.skipped[0].reason ==
        "column score: has no value; name the columns to use by --field, and leave this one out");
  std::filesystem::remove_all(folder / "data");
  source.rows.columns = {{"kinds", ColumnType::kClasses}};
  CHECK(folder.Convert(source).skipped.size() == 1);
  CHECK(ElementsOf<std::int32_t>(FieldOf(folder.Data(), 0, "kinds")) ==
        std::vector<std::int32_t>{1, 0});
}

TEST_CASE("a label of floats in a Parquet file numbers classes unless it has fractions") {
  const ParquetFolder folder;
  const ConvertSummary summary = folder.Convert(ConvertSource::Archives({Golden("floats")}));
  CHECK(summary.classes == Strings{"0", "1", "2", "3"});
  REQUIRE(summary.skipped.size() == 2);  // a null and a NaN
  for (const LeftOut& one : summary.skipped)
    CHECK(one.reason == "column label: has no value");
  const StoredDataset data = folder.Data();
  REQUIRE(data.samples.size() == 2);
  CHECK(data.samples[0].Label() == 3);
  CHECK(data.samples[1].Label() == 1);
  CHECK(ElementsOf<float>(FieldOf(data, 0, "class")) == std::vector<float>{0.25F});
}

TEST_CASE("a label that is a class in the first file and a fraction in a later one is refused") {
  const ParquetFolder folder;
  ConvertSource source = ConvertSource::Archives({Golden("floats"), Golden("fractions")});
  const auto error = ErrorOf([&] { folder.Convert(source); });
  REQUIRE(error);
  CHECK_THAT(error->what(), ContainsSubstring("fractions.parquet") &&
                                ContainsSubstring("\"label\" numbers that are not classes") &&
                                ContainsSubstring("--field label=float"));
  source.rows.columns = {{"label", ColumnType::kFloat}};
  CHECK(folder.Convert(source).samples == 7);  // floats.parquet has a null
}

TEST_CASE("a label of fractions takes a later file's whole numbers as floats") {
  const ParquetFolder folder;
  const ConvertSource source = ConvertSource::Archives({Golden("fractions"), Golden("floats")});
  CHECK(folder.Convert(source).samples == 7);
  const StoredDataset data = folder.Data();
  CHECK(ElementsOf<float>(FieldOf(data, 0, "label")) == std::vector<float>{2.5F});
  CHECK(ElementsOf<float>(FieldOf(data, 4, "label")) == std::vector<float>{3});
}

TEST_CASE("floats of 16 bits in a Parquet file are read as those of 32 bits are") {
  const std::string file = GENERATE("halves", "halves_dictionary");
  const ParquetFolder folder;
  const ConvertSummary summary = folder.Convert(ConvertSource::Archives({Golden(file)}));
  CHECK(summary.classes == Strings{"0", "1", "2"});
  CHECK(summary.warnings.empty());
  const StoredDataset data = folder.Data();
  REQUIRE(data.samples.size() == 4);
  const std::int32_t labels[] = {2, 0, 1, 0};
  const float others[] = {-0.5F, 0x1p-24F, 65504, 0x1p-14F};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(data.samples[i].Label() == labels[i]);
    CHECK(ElementsOf<float>(FieldOf(data, i, "other")) == std::vector<float>{others[i]});
  }
}

TEST_CASE("a column of whole floats can be stored as integers") {
  const ParquetFolder folder;
  ConvertSource source = ConvertSource::Archives({Golden("floats")});
  source.rows.columns = {{"label", ColumnType::kInt}};
  const ConvertSummary summary = folder.Convert(source);
  CHECK(summary.skipped.size() == 2);  // a null and a NaN
  CHECK(ElementsOf<std::int64_t>(FieldOf(folder.Data(), 0, "label")) ==
        std::vector<std::int64_t>{3});
  CHECK(ElementsOf<std::int64_t>(FieldOf(folder.Data(), 1, "label")) ==
        std::vector<std::int64_t>{1});
  std::filesystem::remove_all(folder / "data");
  source.rows.columns = {{"class", ColumnType::kInt}};
  const ConvertSummary fractions = folder.Convert(source);
  REQUIRE(fractions.skipped.size() == 1);
  CHECK(fractions.skipped[0].reason == "column class: \"0.25\" is not a whole number of 64 bits");
}

TEST_CASE("a warning says if a column of numbers has digits that float32 does not hold") {
  const ParquetFolder folder;
  const ConvertSummary summary = folder.Convert(ConvertSource::Archives({Golden("floats")}));
  const auto of = [&](const std::string& column) {
    return std::count_if(summary.warnings.begin(), summary.warnings.end(),
                         [&](const std::string& one) { return one.starts_with(column); });
  };
  CHECK(of("the column tiny holds 1e-300, which is stored as 0.0") == 1);
  CHECK(of("the column large holds 16777217.0, which is stored as 16777216.0") == 1);
  CHECK(of("the column class") == 0);
}

TEST_CASE(
    "a column of a Parquet file whose numbers have class names can be read as plain integers") {
  const ParquetFolder folder;
  ConvertSource source = ConvertSource::Archives({Golden("plain")});
  source.rows.columns = {{"label", ColumnType::kInt, "number"}};
  CHECK(folder.Convert(source).samples == 6);
  CHECK(ElementsOf<std::int64_t>(FieldOf(folder.Data(), 5, "number")) ==
        std::vector<std::int64_t>{1});
}

TEST_CASE("unsupported Parquet files are refused with advice") {
  const ParquetFolder folder;
  const auto sentence = [&](const ConvertSource& source) {
    const auto error = ErrorOf([&] { folder.Convert(source); });
    REQUIRE(error);
    return error->sentence();
  };
  CHECK_THAT(sentence(ConvertSource::Archives({Golden("gzip")})),
             ContainsSubstring(
                 "is compressed with gzip; Sluice reads Snappy, zstd and uncompressed columns"));
  ConvertSource source = ConvertSource::Archives({Golden("bare")});
  source.rows.columns = {{"size", ColumnType::kText}};
  CHECK_THAT(sentence(source), ContainsSubstring("no column \"size\"; it has: label"));
  source = ConvertSource::Archives({Golden("bare")});
  source.rows.path_column = "photo";
  CHECK_THAT(sentence(source), ContainsSubstring("no column \"photo\" of images"));
  CHECK_THAT(sentence(ConvertSource::Archives({Golden("plain"), Golden("bare")})),
             ContainsSubstring("convert files with different columns separately"));
}

TEST_CASE("a Parquet file that is truncated anywhere is refused") {
  const ParquetFolder folder;
  const auto [form, step] = GENERATE(
      Catch::Generators::table<const char*, std::size_t>({{"bare", 1}, {"dictionary", 13}}));
  const std::string whole = ContentOf(Golden(form));
  for (std::size_t size = 4; size < whole.size(); size += step) {
    WriteSource(folder / "cut.parquet", whole.substr(0, size));
    CAPTURE(size);
    REQUIRE(ErrorOf([&] { ReadParquet(ConvertSource::Archives({folder / "cut.parquet"}), {}); }));
  }
}

TEST_CASE("a Parquet file with a wrong byte anywhere is read or refused", "[no-tsan]") {
  const ParquetFolder folder;
  const std::string form = GENERATE("plain", "dictionary", "zstd2", "snappy");
  const std::string whole = ContentOf(Golden(form));
  std::size_t refused = 0;
  // (The fuzz target changes bytes anywhere, and several at once.)
  for (std::size_t at = 0; at < whole.size(); at += 11) {
    std::string wrong = whole;
    wrong[at] = static_cast<char>(wrong[at] ^ (at % 3 == 0 ? 0x80 : at % 3 == 1 ? 0x01 : 0xff));
    WriteSource(folder / "wrong.parquet", wrong);
    const ConvertSource source = ConvertSource::Archives({folder / "wrong.parquet"});
    if (ErrorOf([&] { ReadParquet(source, {}); })) ++refused;
  }
  CHECK(refused > whole.size() / 88);  // more than one change in eight
}

TEST_CASE("a page takes memory for what it unpacks to, not for what its head claims") {
  if (kSanitized) return;  // sanitizers need address space
  constexpr std::uint64_t kClaim = std::uint64_t{200} << 20;
  for (const PageCodec codec : {PageCodec::kSnappy, PageCodec::kZstd}) {
    const TemporaryFolder folder;
    // Thrift's compact protocol: the type, the two sizes, and a head with the number of values.
    std::string page = {0x15, 0x00, 0x15};
    std::uint64_t zigzag = 2 * kClaim;
    for (; zigzag > 127; zigzag >>= 7)
      page += static_cast<char>(zigzag | 128);
    page += static_cast<char>(zigzag);
    const std::string stored = codec == PageCodec::kZstd
                                   ? std::string(AsText(ZstdCompress(AsBytes("abcdefgh"))))
                                   : std::string(
                                         "\x08\x1c"
                                         "abcdefgh");
    page += {0x15, static_cast<char>(2 * stored.size())};
    page += {0x2c, 0x15, 0x02, 0x15, 0x00, 0x15, 0x06, 0x15, 0x06, 0x00, 0x00};
    WriteSource(folder / "page", page + stored);
    ParquetFile file;
    file.path = folder / "page";
    file.file = OpenForReading(file.path);
    file.bytes = page.size() + stored.size();
    ParquetChunk chunk;
    chunk.bytes = file.bytes;
    chunk.values = 1;
    chunk.codec = codec;
    ParquetLeaf leaf;
    leaf.name = "id";
    leaf.type = ParquetType::kInt64;
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_DATA, &before) == 0);
    const rlimit less{kClaim / 2, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_DATA, &less) == 0);
    const std::optional<Error> error =
        ErrorOf([&] { ParquetColumn(file, chunk, leaf, nullptr, 0).NextRow([](const auto&) {}); });
    REQUIRE(setrlimit(RLIMIT_DATA, &before) == 0);
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kCorrupt);
    CHECK_THAT(error->sentence(), ContainsSubstring("a page cannot be decompressed"));
  }
}

TEST_CASE("Snappy's copies may overlap, and none reads outside the bytes") {
  const auto unpack = [](std::string_view packed, std::size_t size) {
    std::vector<std::byte> content(size);
    return SnappyDecompress(AsBytes(packed), content) ? std::string(AsText(content)) : "refused";
  };
  using namespace std::string_view_literals;
  CHECK(unpack("\x0a\x04"
               "ab\x1e\x02\x00"sv,
               10) == "ababababab");  // a copy of 8 bytes from 2 before
  CHECK(unpack("\x06\x04"
               "ab\x01\x02"sv,
               6) == "ababab");  // a short one of 4
  CHECK(unpack("\x02\x04"
               "ab"sv,
               3) == "refused");
  CHECK(unpack("\x0a\x04"
               "ab\x1e\x03\x00"sv,
               10) == "refused");  // from before the beginning
  CHECK(unpack("\x06\x04"
               "ab\x01\x00"sv,
               6) == "refused");  // from itself
  CHECK(unpack("\x08\xf4\xff"sv, 8) == "refused");
  CHECK(unpack(""sv, 0) == "refused");
}

}  // namespace sluice::test
