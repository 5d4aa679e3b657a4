// Compares the worked example of FORMAT.md with the bytes that the code writes.
//
// In the document, a line "File NAME, N bytes" in bold begins a file; in the code blocks that
// follow, each line "OFFSET  HEX HEX ..." gives bytes of that file. Bytes that no line gives are
// zero. The manifest stands as text, in a code block of the language json.
#include <algorithm>
#include <fstream>
#include <map>

#include "tests/catch.h"
#include "tests/format/example.h"

namespace sluice {

namespace {

struct Document {
  std::map<std::string, std::vector<std::byte>> files;  // by name, from hex lines
  std::map<std::string, std::string> texts;             // by name, from json code blocks
  std::size_t hex_lines = 0;
};

// Reads "OFFSET  HEX HEX ...", up to two spaces or the end. Returns false for any other line.
bool ParseHexLine(const std::string& line, std::size_t& offset, std::vector<std::byte>& bytes) {
  const auto is_hex = [&line](std::size_t at, std::size_t count) {
    return line.size() >= at + count &&
           line.find_first_not_of("0123456789abcdef", at) >= at + count;
  };
  if (!is_hex(0, 8) || line.compare(8, 2, "  ") != 0) return false;
  offset = std::stoul(line.substr(0, 8), nullptr, 16);
  bytes.clear();
  for (std::size_t at = 10; is_hex(at, 2); at += 3) {
    bytes.push_back(static_cast<std::byte>(std::stoul(line.substr(at, 2), nullptr, 16)));
  }
  return !bytes.empty();
}

Document ReadDocument() {
  std::ifstream in(SLUICE_FORMAT_DOCUMENT);
  REQUIRE(in);
  Document document;
  std::string name;
  bool in_json = false;
  for (std::string line; std::getline(in, line);) {
    std::size_t offset = 0;
    std::vector<std::byte> bytes;
    if (line.rfind("**File `", 0) == 0) {
      const std::size_t end = line.find('`', 8);
      REQUIRE(end != std::string::npos);
      name = line.substr(8, end - 8);
      document.files[name].resize(std::stoul(line.substr(line.find(", ", end) + 2)));
    } else if (line == "```json" && !name.empty()) {
      in_json = true;
    } else if (line == "```") {
      in_json = false;
    } else if (in_json) {
      document.texts[name] += line + "\n";
    } else if (!name.empty() && ParseHexLine(line, offset, bytes)) {
      std::vector<std::byte>& file = document.files[name];
      REQUIRE(offset + bytes.size() <= file.size());
      std::copy(bytes.begin(), bytes.end(), file.begin() + static_cast<std::ptrdiff_t>(offset));
      ++document.hex_lines;
    }
  }
  return document;
}

}  // namespace

TEST_CASE("the worked example of FORMAT.md is what the code writes, byte for byte") {
  const Document document = ReadDocument();
  const test::ExampleDataset dataset = test::WorkedExample();
  REQUIRE(document.files.count("shard-00000.sluice") == 1);
  CHECK(document.hex_lines > 40);
  const std::vector<std::byte>& shown = document.files.at("shard-00000.sluice");
  const std::vector<std::byte>& made = dataset.shards[0].bytes;
  REQUIRE(shown.size() == made.size());
  for (std::size_t at = 0; at < made.size(); ++at) {
    INFO("byte " << at);
    REQUIRE(std::to_integer<int>(shown[at]) == std::to_integer<int>(made[at]));
  }
}

TEST_CASE("the worked example's manifest is what the code writes, byte for byte") {
  const Document document = ReadDocument();
  REQUIRE(document.texts.count("manifest.json") == 1);
  Id128 id;
  const std::string made = ManifestToJson(test::WorkedExample().manifest, id);
  CHECK(document.texts.at("manifest.json") == made);
  CHECK(document.files.at("manifest.json").size() == made.size());
}

}  // namespace sluice
