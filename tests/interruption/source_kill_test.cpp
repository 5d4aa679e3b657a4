// Conversions of files that hold images (Parquet, .beton, TFRecord, RecordIO), killed and resumed.
#include <csignal>
#include <fstream>

#include "tests/catch.h"
#include "tests/interruption/conversion.h"
#include "tests/interruption/file_record.h"
#include "tests/tools/sources.h"
#include "writer/source/records/packed_page.h"

namespace sluice::test {

namespace {

std::string LittleEndian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i)
    text += static_cast<char>(value >> (8 * i));
  return text;
}

// A length-delimited field (of bytes) of a protocol buffer.
std::string LengthField(int number, const std::string& bytes) {
  std::string text(1, static_cast<char>(number << 3 | 2));
  std::size_t size = bytes.size();
  for (; size >= 128; size >>= 7)
    text += static_cast<char>(size | 128);
  return text + static_cast<char>(size) + bytes;
}

// A record of a TFRecord file: a tf.train.Example with the feature "image".
std::string TfRecordOf(const std::string& image) {
  const std::string list = LengthField(1, LengthField(1, image));
  const std::string feature = LengthField(1, LengthField(1, "image") + LengthField(2, list));
  const std::string data = LengthField(1, feature);
  const std::string length = LittleEndian(data.size(), 8);
  return length + LittleEndian(MaskedCrc(Crc32c(AsBytes(length))), 4) + data +
         LittleEndian(MaskedCrc(Crc32c(AsBytes(data))), 4);
}

std::string RecordIoOf(const std::string& image) {
  std::string text = LittleEndian(0xced7230a, 4) + LittleEndian(24 + image.size(), 4) +
                     std::string(24, '\0') + image;
  text.resize((text.size() + 3) / 4 * 4);
  return text;
}

}  // namespace

TEST_CASE("a killed conversion of a file that holds images resumes and gives the same bytes") {
  const std::string kind = GENERATE("parquet", "beton", "tfrecord", "rec");
  INFO(kind);
  const TemporaryFolder folder;
  std::filesystem::path source =
      std::filesystem::path(SLUICE_GOLDENS) / (kind == "parquet" ? "plain.parquet" : "small.beton");
  if (kind == "tfrecord" || kind == "rec") {
    source = folder / ("source." + kind);
    std::ofstream file(source, std::ios::binary);
    for (std::uint64_t i = 0; i < 4; ++i) {
      const std::vector<std::byte> jpeg = MakeJpeg(MakePicture(200, 160, 3, i));
      const std::string image(AsText(jpeg));
      file << (kind == "rec" ? RecordIoOf(image) : TfRecordOf(image));
    }
  }
  // The pictures are stored raw, so that they fill several shards.
  const auto command = [&](const std::filesystem::path& data) -> Words {
    return {"convert", source.string(), data.string(), "--size",    "400x400", "--image",
            "raw",     "--shard-bytes", "1MB",         "--threads", "1"};
  };
  const auto run = [&](const std::filesystem::path& data, const std::string& action,
                       const std::filesystem::path& record = {}) {
    return Sluice(command(data), Conversion::WithSeam(data, action, record));
  };
  REQUIRE(run(folder / "expected", "", folder / "record").exit_code == 0);
  const Contents expected = ContentsIfAny(folder / "expected");
  REQUIRE(expected.size() >= 4);
  const std::size_t calls = ReadRecord(folder / "record").size();
  for (const std::size_t number : {calls / 3, calls * 3 / 4}) {
    INFO("killed before call " << number << " of " << calls);
    const std::filesystem::path data = folder / ("killed" + std::to_string(number));
    CHECK(run(data, "kill:" + std::to_string(number)).signal == SIGKILL);
    const Outcome again = Sluice(command(data));
    INFO(again.err);
    CHECK(again.exit_code == 0);
    CHECK(ContentsIfAny(data) == expected);
  }
}

}  // namespace sluice::test
