// Conversions of a .beton that FFCV 1.0.2 wrote (goldens/write_beton.py), and of damaged copies.
#include <fstream>

#include <sluice/convert.h>
#include <sluice/error.h>

#include "tests/catch.h"
#include "tests/file_content.h"
#include "tests/format/error_of.h"
#include "tests/temporary_folder.h"
#include "tests/writer/converted.h"
#include "tests/writer/source_files.h"
#include "tests/writer/stored.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

struct BetonFolder : TemporaryFolder {
  std::string content = ContentOf(std::filesystem::path(SLUICE_GOLDENS) / "small.beton");
  ConvertOptions options;

  BetonFolder() {
    options.shards.keep_order = true;
    options.form.image = ImageCodec::kRaw;
  }
  ConvertSource Source() const {
    const std::filesystem::path file = path() / "small.beton";
    std::ofstream(file, std::ios::binary) << content;
    return ConvertSource::Archives({file});
  }
  ConvertSummary Convert(const ConvertSource& source) const {
    return ConvertBothWays(source, path() / "data", options);
  }
  StoredDataset Data() const { return ReadDataset(path() / "data"); }
  std::string Refusal(ErrorCode code) const {
    const std::optional<Error> error = ErrorOf([this] { Convert(Source()); });
    REQUIRE(error.has_value());
    CHECK(error->code() == code);
    return error->what();
  }
  template <class T>
  void Put(std::size_t at, T value) {
    std::memcpy(&content[at], &value, sizeof value);
  }
  template <class T>
  T At(std::size_t at) const {
    return LoadAt<T>(AsBytes(content), at);
  }
};

// The rows, of 96 bytes each, come after the header and the descriptions of nine fields.
constexpr std::size_t kRowsAt = 24 + 9 * 1041;

template <class T>
std::vector<T> ElementsIn(const StoredDataset& data, std::size_t sample, const char* name) {
  const StoredField& field = data.samples.at(sample).fields.at(data.manifest.schema.Find(name));
  std::vector<T> values(field.bytes.size() / sizeof(T));
  std::memcpy(values.data(), field.bytes.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace

TEST_CASE("FFCV's fields keep their values, types and shapes") {
  const BetonFolder folder;
  const ConvertSummary summary = folder.Convert(folder.Source());
  CHECK(summary.samples == 5);
  REQUIRE(summary.warnings.size() == 1);
  CHECK(summary.warnings[0] == "columns not used: wide");  // datasets do not have uint32
  const StoredDataset data = folder.Data();
  const Schema& schema = data.manifest.schema;
  CHECK(schema.fields[schema.Find("label")].classes == std::vector<std::string>{"0", "1", "2"});
  CHECK(schema.fields[schema.Find("matrix")].shape == std::vector<std::uint32_t>{2, 3});
  for (std::int16_t i = 0; i < 5; ++i) {
    INFO(i);
    const auto s = static_cast<std::size_t>(i);
    CHECK(data.samples[s].key == "small/000000" + std::to_string(i));
    CHECK(data.samples[s].Label() == i % 3);
    CHECK(ElementsIn<double>(data, s, "weight") == std::vector<double>{i / 8.0});
    CHECK(ElementsIn<std::int16_t>(data, s, "matrix") ==
          std::vector<std::int16_t>{
              i, static_cast<std::int16_t>(i + 1), static_cast<std::int16_t>(i + 2),
              static_cast<std::int16_t>(i + 3), static_cast<std::int16_t>(i + 4),
              static_cast<std::int16_t>(i + 5)});
    CHECK(ElementsIn<float>(data, s, "tensor") ==
          std::vector<float>(2, static_cast<float>(i) + 0.5F));
    CHECK(ElementsIn<std::int64_t>(data, s, "serial") ==
          std::vector<std::int64_t>{1'000'000'000'000 + i});
    const std::vector<char> about = ElementsIn<char>(data, s, "about");
    CHECK(std::string(about.begin(), about.end()) ==
          "{\"name\": \"sample " + std::to_string(i) + "\"}");
    const std::vector<std::uint8_t> raw = ElementsIn<std::uint8_t>(data, s, "raw");
    CHECK(raw.size() == s);
    CHECK((raw.empty() || raw.back() == i - 1));
    const StoredField& image = data.samples[s].fields[0];
    if (i % 2 == 1) {
      REQUIRE(image.width == 24);
      CHECK(std::abs(std::to_integer<int>(image.bytes[0]) - 40 * i) <= 1);
      continue;
    }
    REQUIRE(image.bytes.size() == 36);
    for (int p = 0; p < 12; ++p) {
      const auto at = static_cast<std::size_t>(p) * 3;
      CHECK(image.bytes[at] == std::byte(16 * i + p % 4));
      CHECK(image.bytes[at + 1] == std::byte(p / 4));
      CHECK(image.bytes[at + 2] == std::byte{7});
    }
  }
}

TEST_CASE("FFCV's JPEGs are kept as they are, and its integers become classes or text on request") {
  BetonFolder folder;
  folder.options.form.image = ImageCodec::kJpeg;
  folder.options.form.keep = true;
  ConvertSource source = folder.Source();
  source.label.classes = {"no", "yes", "perhaps"};
  source.rows.columns = {{"label", ColumnType::kClass},
                         {"serial", ColumnType::kText},
                         {"tensor", ColumnType::kClasses, "tags"}};
  const ConvertSummary summary = folder.Convert(source);
  CHECK(summary.kept == 2);
  CHECK(summary.classes == std::vector<std::string>{"no", "yes", "perhaps"});
  const std::vector<char> serial = ElementsIn<char>(folder.Data(), 4, "serial");
  CHECK(std::string(serial.begin(), serial.end()) == "1000000000004");
}

TEST_CASE("a sample of a .beton whose payload is invalid is left out with the reason") {
  BetonFolder folder;
  folder.Put(kRowsAt + 0 * 96 + 5, std::uint64_t{12});        // no payload begins there
  folder.Put(kRowsAt + 1 * 96 + 0, std::uint8_t{9});          // an unknown way to store
  folder.Put(kRowsAt + 2 * 96 + 1, std::uint16_t{60'000});    // more pixels than bytes
  folder.Put(kRowsAt + 3 * 96 + 48, std::uint64_t{1} << 60);  // a text that ends beyond the file
  const ConvertSummary summary = folder.Convert(folder.Source());
  CHECK(summary.samples == 1);
  REQUIRE(summary.skipped.size() == 4);
  CHECK_THAT(summary.skipped[0].reason, ContainsSubstring("not one of the file's payloads"));
  CHECK_THAT(summary.skipped[1].reason, ContainsSubstring("a mode that Sluice does not know"));
  CHECK_THAT(summary.skipped[2].reason,
             ContainsSubstring("the number of bytes that width and height give"));
  CHECK_THAT(summary.skipped[3].reason, ContainsSubstring("position is outside the file"));
}

TEST_CASE("a .beton with false claims is refused before memory is taken") {
  BetonFolder folder;
  SECTION("another version") {
    folder.Put(0, std::uint16_t{1});
    CHECK_THAT(folder.Refusal(ErrorCode::kUnsupported), ContainsSubstring("version 1"));
  }
  SECTION("never finished") {
    folder.Put(16, std::uint64_t{0});
    CHECK_THAT(folder.Refusal(ErrorCode::kCorrupt), ContainsSubstring("never finished"));
  }
  SECTION("more samples than the file has bytes for") {
    folder.Put(8, std::uint64_t{1} << 58);
    CHECK_THAT(folder.Refusal(ErrorCode::kCorrupt),
               ContainsSubstring("tables would lie outside the file"));
  }
  SECTION("a table of payloads beyond the file's end") {
    folder.Put(16, std::uint64_t{1} << 62);
    CHECK_THAT(folder.Refusal(ErrorCode::kCorrupt),
               ContainsSubstring("tables would lie outside the file"));
  }
  SECTION("cut short") {
    folder.content.resize(folder.content.size() - 7);
    CHECK_THAT(folder.Refusal(ErrorCode::kCorrupt), ContainsSubstring("cut short"));
  }
  SECTION("more fields than the file has bytes for") {
    folder.Put(2, std::uint16_t{900});
    CHECK_THAT(folder.Refusal(ErrorCode::kCorrupt), ContainsSubstring("900 fields"));
  }
  SECTION("an array of 2^40 elements") {
    folder.Put(24 + 3 * 1041 + 17, std::uint64_t{1} << 40);
    CHECK_THAT(folder.Refusal(ErrorCode::kLimit), ContainsSubstring("\"matrix\" has more bytes"));
  }
  SECTION("a field of a user-defined type") {
    folder.Put(24 + 1 * 1041, std::uint8_t{255});
    CHECK_THAT(folder.Refusal(ErrorCode::kUnsupported), ContainsSubstring("sluice.Writer"));
  }
}

}  // namespace sluice::test
