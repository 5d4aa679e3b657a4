// train_cifar, the sample trainer with LibTorch: it learns with either of its loaders.
#ifdef TRAIN_CIFAR

#include <cstdlib>

#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

namespace {

// Pictures of 32x32, dark or bright, with stripes.
void WriteShades(const std::filesystem::path& folder, int each) {
  for (int i = 0; i < each; ++i) {
    for (const bool bright : {false, true}) {
      const int level = (bright ? 150 : 20) + i;
      WriteJpeg(folder / (bright ? "bright" : "dark") / (std::to_string(i) + ".jpg"),
                Paint(32, 32, [level, i](std::uint32_t x, std::uint32_t y) {
                  const auto shade = static_cast<std::uint8_t>(
                      level + ((x + static_cast<std::uint32_t>(i) * y) / 8 % 2 == 0 ? 30 : 0));
                  return Colour{shade, shade, shade};
                }));
    }
  }
}

double LossOf(const std::string& text, int epoch) {
  const std::size_t line = text.find("epoch " + std::to_string(epoch) + "  loss ");
  REQUIRE(line != std::string::npos);
  return std::strtod(text.c_str() + text.find("loss ", line) + 5, nullptr);
}

}  // namespace

TEST_CASE("train_cifar learns on the CPU, from Sluice and from files") {
  const TemporaryFolder folder;
  WriteShades(folder / "source", 32);
  const std::string source = (folder / "source").string();
  const std::string data = (folder / "data").string();
  REQUIRE(Sluice({"convert", source, data}).exit_code == 0);
  const Words options = {"--width", "4", "--batch", "16", "--epochs", "4", "--threads", "2"};
  for (const bool naive : {false, true}) {
    const std::string path = naive ? source : data;
    Words words = {"--loader", naive ? "naive" : "sluice", path, path};
    words.insert(words.end(), options.begin(), options.end());
    if (!naive) words.insert(words.end(), {"--cutout", "12"});
    const Outcome outcome = Run(TRAIN_CIFAR, words);
    INFO(outcome.out << outcome.err);
    REQUIRE(outcome.exit_code == 0);
    // Ten classes, of which two occur: a model that knows nothing has a loss of ln 10 = 2.3.
    CHECK(LossOf(outcome.out, 3) < 0.8 * LossOf(outcome.out, 0));
    CHECK_THAT(outcome.out, Catch::Matchers::ContainsSubstring("accuracy "));
  }
}

TEST_CASE("train_cifar prints its usage for an unknown loader, and for impossible Cutout") {
  for (const Words& options : {Words{"--loader", "other"}, Words{"--cutout", "32"},
                               Words{"--loader", "naive", "--cutout", "8"}}) {
    Words words = options;
    words.insert(words.end(), {"a", "b"});
    const Outcome outcome = Run(TRAIN_CIFAR, words);
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.err, Catch::Matchers::ContainsSubstring("usage: train_cifar"));
  }
}

}  // namespace sluice::test

#endif
