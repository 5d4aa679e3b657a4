// The sample trainers, each on a dataset that is easy to learn.
#ifdef TRAIN_SOFTMAX

#include <cstdlib>
#include <fstream>

#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

namespace {

// The number after `name` in line `line`.
double Figure(const std::string& text, int line, const std::string& name) {
  std::size_t begin = 0;
  for (int i = 0; i < line; ++i)
    begin = text.find('\n', begin) + 1;
  const std::size_t place = text.find(name, begin);
  REQUIRE(place != std::string::npos);
  return std::strtod(text.c_str() + place + name.size(), nullptr);
}

}  // namespace

TEST_CASE("the sample trainer learns to tell dark from bright pictures") {
  const TemporaryFolder folder;
  for (int i = 0; i < 40; ++i) {
    const auto shade = static_cast<std::uint8_t>(i);
    for (const bool bright : {false, true}) {
      const auto level = static_cast<std::uint8_t>(bright ? 160 + shade : 30 + shade);
      WriteJpeg(folder / (bright ? "source/bright" : "source/dark") / (std::to_string(i) + ".jpg"),
                Paint(40, 40, [level](std::uint32_t, std::uint32_t) {
                  return Colour{level, level, level};
                }));
    }
  }
  const std::string data = (folder / "data").string();
  REQUIRE(Sluice({"convert", (folder / "source").string(), data}).exit_code == 0);
  const Outcome outcome = Run(TRAIN_SOFTMAX, {data, "6"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(Figure(outcome.out, 5, "loss ") < 0.5 * Figure(outcome.out, 0, "loss "));
  CHECK(Figure(outcome.out, 5, "accuracy ") > 95);
}

TEST_CASE("the sample trainer for boxes learns where bright things are") {
  const TemporaryFolder folder;
  std::string table = "image,boxes\n";
  for (std::uint32_t i = 0; i < 40; ++i) {
    const std::uint32_t left = i * 7 % 60, top = i * 11 % 50;
    const std::string name = std::to_string(i) + ".jpg";
    WriteJpeg(folder / "source" / name, Paint(96, 80, [=](std::uint32_t x, std::uint32_t y) {
                const bool inside = x >= left && x < left + 30 && y >= top && y < top + 24;
                return inside ? Colour{230, 220, 210} : Colour{40, 50, 60};
              }));
    table += name + ",\"" + std::to_string(left) + " " + std::to_string(top) + " " +
             std::to_string(left + 30) + " " + std::to_string(top + 24) + "\"\n";
  }
  std::ofstream(folder / "boxes.csv") << table;
  const std::string data = (folder / "data").string();
  const Outcome converted =
      Sluice({"convert", (folder / "source").string(), data, "--table",
              (folder / "boxes.csv").string(), "--field", "boxes=boxes:xyxy"});
  INFO(converted.out << converted.err);
  REQUIRE(converted.exit_code == 0);
  const Outcome outcome = Run(TRAIN_BOXES, {data, "8"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.exit_code == 0);
  // A box covers 9% of a picture: a model that always answers "none" is right in 91%, with a loss
  // of 0.31.
  CHECK(Figure(outcome.out, 7, "accuracy ") > 96);
  CHECK(Figure(outcome.out, 7, "loss ") < 0.15);
}

TEST_CASE("the sample trainer for two views learns which of them belong together") {
  const TemporaryFolder folder;
  for (std::uint32_t i = 0; i < 64; ++i) {
    const auto level = [i](std::uint32_t by) {
      return static_cast<std::uint8_t>(30 + i * by % 190);
    };
    WriteJpeg(folder / "source" / (std::to_string(i) + ".jpg"),
              Paint(40, 40, [&](std::uint32_t, std::uint32_t) {
                return Colour{level(7), level(31), level(59)};
              }));
  }
  const std::string data = (folder / "data").string();
  REQUIRE(Sluice({"convert", (folder / "source").string(), data}).exit_code == 0);
  const Outcome outcome = Run(TRAIN_CONTRASTIVE, {data, "10"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.exit_code == 0);
  // A model that guesses finds one pair in 32, with a loss of log 32 = 3.47.
  CHECK(Figure(outcome.out, 9, "loss ") < 3);
  CHECK(Figure(outcome.out, 9, "loss ") < Figure(outcome.out, 0, "loss "));
  CHECK(Figure(outcome.out, 9, ", ") > 12);
}

TEST_CASE("the sample trainer refuses a dataset without labels") {
  const TemporaryFolder folder;
  WriteJpeg(folder / "source/a.jpg", MakePicture(40, 40));
  const std::string data = (folder / "data").string();
  REQUIRE(Sluice({"convert", (folder / "source").string(), data}).exit_code == 0);
  const Outcome outcome = Run(TRAIN_SOFTMAX, {data, "1"});
  CHECK(outcome.exit_code == 1);
  CHECK_FALSE(outcome.err.empty());
}

}  // namespace sluice::test

#endif
