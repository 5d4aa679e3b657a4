// sluice convert: the size of the images, read back through the public Dataset.
#include <sluice/dataset.h>

#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

namespace {

// Converts one picture with `options`, and reads the sample.
class Resized {
 public:
  explicit Resized(const Picture& picture, Words options) {
    WriteJpeg(folder_ / "source" / "one.jpg", picture);
    Words words = {"convert", (folder_ / "source").string(), (folder_ / "data").string()};
    words.insert(words.end(), options.begin(), options.end());
    const Outcome outcome = Sluice(words);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
  }

  std::string SizeText() const {
    const ImagePayload image = Dataset::Open(folder_ / "data")[0].Payload();
    return std::to_string(image.width) + "x" + std::to_string(image.height);
  }
  Image Decode() const { return Dataset::Open(folder_ / "data")[0].Decode(); }

 private:
  TemporaryFolder folder_;
};

// Left half red, right half blue.
Picture RedAndBlue(std::uint32_t width, std::uint32_t height) {
  return Paint(width, height, [width](std::uint32_t x, std::uint32_t) {
    return x < width / 2 ? Colour{250, 0, 0} : Colour{0, 0, 250};
  });
}

// The colour of a pixel: "red", "blue", "black" or "mixed".
std::string NearestColour(const Image& image, std::uint32_t x, std::uint32_t y) {
  const std::uint8_t* pixel = &image.pixels[(std::size_t{y} * image.width + x) * 3];
  if (pixel[0] > 150) return "red";
  return pixel[2] > 150 ? "blue" : pixel[0] + pixel[2] < 60 ? "black" : "mixed";
}

}  // namespace

TEST_CASE("convert shrinks the longer side to 500 pixels by default") {
  CHECK(Resized(MakePicture(1000, 400), {}).SizeText() == "500x200");
  CHECK(Resized(MakePicture(300, 700), {}).SizeText() == "214x500");
}

TEST_CASE("convert says how many images it shrank, and to what size") {
  const TemporaryFolder folder;
  WriteJpeg(folder / "source/a.jpg", MakePicture(60, 40));
  WriteJpeg(folder / "source/b.jpg", MakePicture(40, 60));
  WriteJpeg(folder / "source/c.jpg", MakePicture(30, 20));
  const auto [options, count, line] = GENERATE(Catch::Generators::table<Words, int, std::string>({
      {{}, 0, ""},
      {{"--max-side", "50"}, 2, "2 images, to 50 pixels on the longer side; --no-resize keeps"},
      {{"--short-side", "20"}, 2, "2 images, to 20 pixels on the shorter side;"},
      {{"--size", "20x20"}, 2, "2 images, to 20x20 pixels;"},
  }));
  Words words = {"convert", (folder / "source").string(), (folder / "data").string()};
  words.insert(words.end(), options.begin(), options.end());
  const std::string out = Sluice(words).out;
  CHECK((out.find("\n  shrunk     ") != std::string::npos) == (count > 0));
  CHECK_THAT(out, Catch::Matchers::ContainsSubstring(line));
  words.push_back("--json");
  CHECK(JsonOf(Sluice(words))["shrunk"].is_null());  // an earlier run has made the samples
  words[2] += ".json";
  CHECK(JsonOf(Sluice(words))["shrunk"] == count);
}

TEST_CASE("convert says how many JPEGs it encoded anew, and how to keep them") {
  const TemporaryFolder folder;
  WriteJpeg(folder / "source/a.jpg", MakePicture(60, 40));
  WriteJpeg(folder / "source/b.jpg", MakePicture(40, 60));
  WriteJpeg(folder / "source/c.jpg", MakePicture(30, 20));
  const auto [options, count, line] = GENERATE(Catch::Generators::table<Words, int, std::string>({
      {{}, 3, "3 JPEGs anew, at quality 90; --quality keep keeps"},
      {{"--quality", "80"}, 3, "3 JPEGs anew, at quality 80; --quality keep keeps"},
      {{"--quality", "keep"}, 0, "3 images have the source's own"},
      {{"--quality", "keep", "--max-side", "50"}, 2, "2 JPEGs anew, at quality 90; --help says"},
      {{"--image", "raw"}, 0, ""},
  }));
  Words words = {"convert", (folder / "source").string(), (folder / "data").string()};
  words.insert(words.end(), options.begin(), options.end());
  const std::string out = Sluice(words).out;
  CHECK((out.find("\n  encoded    ") != std::string::npos) == (count > 0));
  CHECK_THAT(out, Catch::Matchers::ContainsSubstring(line));
  words.push_back("--json");
  CHECK(JsonOf(Sluice(words))["reencoded"].is_null());  // an earlier run has made the samples
  words[2] += ".json";
  CHECK(JsonOf(Sluice(words))["reencoded"] == count);
}

TEST_CASE("option --max-side shrinks the longer side and leaves smaller images alone") {
  CHECK(Resized(MakePicture(400, 200), {"--max-side", "100"}).SizeText() == "100x50");
  CHECK(Resized(MakePicture(90, 60), {"--max-side", "100"}).SizeText() == "90x60");
}

TEST_CASE("option --short-side shrinks the shorter side and leaves smaller images alone") {
  CHECK(Resized(MakePicture(1600, 800), {"--short-side", "100"}).SizeText() == "200x100");
  CHECK(Resized(MakePicture(90, 60), {"--short-side", "100"}).SizeText() == "90x60");
}

TEST_CASE("option --no-resize keeps images that are longer than the default allows") {
  CHECK(Resized(MakePicture(1000, 400), {"--no-resize"}).SizeText() == "1000x400");
}

TEST_CASE("option --size gives every image that size and may enlarge") {
  CHECK(Resized(MakePicture(400, 200), {"--size", "64x48"}).SizeText() == "64x48");
  CHECK(Resized(MakePicture(20, 30), {"--size", "64"}).SizeText() == "64x64");
}

TEST_CASE("option --fit sets how to treat another aspect ratio") {
  // 400x100 to 100x100. Cropped: the middle quarter, still half red, half blue. Stretched: the same
  // halves. Padded: the picture in the middle 25 rows, black above and below.
  const Picture wide = RedAndBlue(400, 100);

  const Image cropped = Resized(wide, {"--size", "100x100"}).Decode();
  CHECK(NearestColour(cropped, 25, 5) == "red");
  CHECK(NearestColour(cropped, 75, 95) == "blue");

  const Image padded = Resized(wide, {"--size", "100x100", "--fit", "pad"}).Decode();
  CHECK(NearestColour(padded, 25, 5) == "black");
  CHECK(NearestColour(padded, 25, 50) == "red");
  CHECK(NearestColour(padded, 75, 50) == "blue");
  CHECK(NearestColour(padded, 75, 95) == "black");

  // A red stripe at the left edge survives stretching, but not cropping.
  const Picture striped = Paint(400, 100, [](std::uint32_t x, std::uint32_t) {
    return x < 100 ? Colour{250, 0, 0} : Colour{0, 0, 250};
  });
  const Words stretch = {"--size", "100x100", "--fit", "stretch"};
  CHECK(NearestColour(Resized(striped, stretch).Decode(), 10, 50) == "red");
  const Words crop = {"--size", "100x100", "--fit", "crop"};
  CHECK(NearestColour(Resized(striped, crop).Decode(), 10, 50) == "blue");
}

}  // namespace sluice::test
