// Names that control a terminal, reverse text or hide it: no command passes them on.
#include <sluice/dataset_writer.h>

#include "tests/catch.h"
#include "tests/file_content.h"
#include "tests/temporary_folder.h"
#include "tests/tools/dataset_commands.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/sources.h"

namespace sluice::test {
namespace {

// A sequence that sets a colour, with CSI as one character and as two; the end of a window's title;
// reversed text; direction marks; zero-width blanks; line separators; a tag.
const std::string kHidden =
    "\xc2\x9b"
    "31m\x1b[31m\x07\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8f\xd8\x9c\xe2\x80\x8b\xef\xbb\xbf"
    "\xe2\x80\xa8\xe2\x80\xa9\xf3\xa0\x81\x81\x7f";

// The first of these characters that a text contains unescaped, or why it is not UTF-8; empty if
// neither.
std::string FirstHidden(const std::string& text) {
  for (const char* bytes : {"\xc2\x9b", "\x1b", "\x07", "\xe2\x80\xae", "\xe2\x81\xa6",
                            "\xe2\x80\x8f", "\xd8\x9c", "\xe2\x80\x8b", "\xef\xbb\xbf",
                            "\xe2\x80\xa8", "\xe2\x80\xa9", "\xf3\xa0\x81\x81", "\x7f", "\r"}) {
    if (text.find(bytes) != std::string::npos) return nlohmann::json(bytes).dump(-1, ' ', true);
  }
  try {
    (void)nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception& error) {
    return error.what();
  }
  return {};
}

// Writes a dataset in which every name contains hidden text, and the keys are not UTF-8.
void WriteWithHiddenText(const std::filesystem::path& folder) {
  Field label = Field::Label("label" + kHidden, {"cat" + kHidden, "dog" + kHidden});
  Field image = Field::Image("image" + kHidden);
  image.attributes = {{"camera" + kHidden, "front" + kHidden}};
  DatasetWriter writer(folder, Schema{{image, label, Field::Bytes("text", Role::kText)}});
  for (std::int32_t i = 0; i < 4; ++i) {
    SampleBuilder sample = writer.NewSample(
        "\x9b"
        "31m\xff" +
        kHidden + std::to_string(i));
    sample.SetJpeg(image.name, MakeJpeg(MakePicture(20, 20, 3, static_cast<std::uint64_t>(i) + 1)));
    sample.Set<std::int32_t>(label.name, i % 2);
    sample.SetText("text", "said" + kHidden);
    writer.Add(sample);
  }
  writer.Finish();
}

void CheckNothingHidden(const Outcome& outcome) {
  CHECK(outcome.signal == 0);
  CHECK(FirstHidden(outcome.out) == "");
  CHECK(FirstHidden(outcome.err) == "");
}

}  // namespace

TEST_CASE("no command passes on text that controls a terminal or is hidden") {
  const TemporaryFolder folder;
  const std::filesystem::path data = folder / ("data" + kHidden);
  WriteWithHiddenText(data);
  const std::filesystem::path damaged = folder / ("damaged" + kHidden);
  std::filesystem::copy(data, damaged);
  std::string shard = ContentOf(damaged / "shard-00000.sluice");
  for (std::size_t at = 4096; at < shard.size(); at += 1024)
    shard[at] = static_cast<char>(shard[at] ^ 0x55);
  WriteBytes(damaged / "shard-00000.sluice", shard);
  const std::filesystem::path source = folder / ("source" + kHidden);
  WriteJpeg(source / ("cat" + kHidden) / "a.jpg", MakePicture(20, 20));
  WriteBytes(source / ("cat" + kHidden) / ("b" + kHidden + ".jpg"), TruncatedJpeg());
  int number = 0;
  for (const std::filesystem::path& dataset : {data, damaged, folder / ("none" + kHidden)}) {
    for (const DatasetCommand& command : DatasetCommands()) {
      const std::filesystem::path out = folder / ("out" + kHidden + std::to_string(number++));
      for (const bool json : {false, true}) {
        Words words = command.With({dataset, data, source, out.string() + (json ? "json" : "")});
        if (json) words.push_back("--json");
        CAPTURE(command.words, json);
        CheckNothingHidden(Run(command.program, words));
      }
      if (std::filesystem::exists(out.string() + ".html")) {
        CHECK(FirstHidden(ContentOf(out.string() + ".html")) == "");
      }
    }
  }
  CheckNothingHidden(Sluice({"convert", source.string(), (folder / ("new" + kHidden)).string()}));
  CheckNothingHidden(
      Sluice({"subset", data.string(), (folder / "x").string(), "--class", kHidden}));
  CheckNothingHidden(Sluice({"inspect", data.string(), "--key", kHidden}));
  CheckNothingHidden(Sluice({"inspect", data.string(), "--" + kHidden}));
  CheckNothingHidden(Sluice({kHidden}));
}

TEST_CASE("JSON escapes hidden text, and a parser reads the original names") {
  const TemporaryFolder folder;
  WriteWithHiddenText(folder / "data");
  const auto json = JsonOf(Sluice({"inspect", (folder / "data").string(), "--json"}));
  CHECK(json["fields"][0]["name"] == "image" + kHidden);
  CHECK(json["classes"][1]["name"] == "dog" + kHidden);
}

}  // namespace sluice::test
