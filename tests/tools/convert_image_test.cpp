// sluice convert: how images are stored. libjpeg checks the payloads.
#include <optional>

#include <sluice/dataset.h>

#include "tests/temporary_folder.h"
#include "tests/tools/jpeg_facts.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

namespace {

// One picture of 64x64 (or as given) converted with `options`.
class Converted {
 public:
  explicit Converted(Words options, const Picture& picture = MakePicture(64, 64),
                     const JpegOptions& source = {}) {
    WriteJpeg(folder_ / "source" / "one.jpg", picture, source);
    Words words = {"convert", (folder_ / "source").string(), (folder_ / "data").string(), "--json"};
    words.insert(words.end(), options.begin(), options.end());
    const Outcome outcome = Sluice(words);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    answer_ = JsonOf(outcome);
    sample_.emplace(Dataset::Open(folder_ / "data")[0]);
  }

  ImagePayload Payload() const { return sample_->Payload(); }
  JpegFacts Facts() const { return ReadJpeg(sample_->Payload().bytes); }
  JpegFacts SourceFacts() const { return ReadJpeg(ContentOf(folder_ / "source" / "one.jpg")); }
  const nlohmann::json& answer() const { return answer_; }

 private:
  TemporaryFolder folder_;
  nlohmann::json answer_;
  std::optional<Sample> sample_;
};

}  // namespace

TEST_CASE("option --image chooses between JPEG files and raw pixels") {
  CHECK(Converted({}).Payload().codec == Codec::kJpeg);
  CHECK(Converted({"--image", "jpeg"}).Payload().codec == Codec::kJpeg);
  const Converted raw({"--image", "raw"});
  CHECK(raw.Payload().codec == Codec::kRaw);
  CHECK(raw.Payload().bytes.size() == 64ULL * 64 * 3);
}

TEST_CASE("option --quality sets the quantisation tables, by default those of 90") {
  CHECK(Converted({}).Facts().luma_step == LumaStepAt(90));
  CHECK(Converted({"--quality", "30"}).Facts().luma_step == LumaStepAt(30));
  CHECK(Converted({"--quality", "75"}).Facts().luma_step == LumaStepAt(75));
}

TEST_CASE("option --quality keep keeps the coefficients of a JPEG that needs no resizing") {
  const Converted kept({"--quality", "keep"}, MakePicture(64, 64), {.quality = 60});
  CHECK(kept.Facts().coefficients == kept.SourceFacts().coefficients);
  CHECK(kept.Facts().luma_step == LumaStepAt(60));
  CHECK(kept.Facts().restart_interval == 4);
  CHECK(kept.answer()["kept"] == 1);
}

TEST_CASE("option --quality keep encodes resized images at 90, and keep:Q at Q") {
  const Picture large = MakePicture(200, 100);
  const Converted resized({"--quality", "keep", "--max-side", "50"}, large, {.quality = 60});
  CHECK(resized.Facts().luma_step == LumaStepAt(90));
  CHECK(resized.answer()["kept"] == 0);
  CHECK(Converted({"--quality", "keep:40", "--max-side", "50"}, large).Facts().luma_step ==
        LumaStepAt(40));
}

TEST_CASE("option --no-restart-markers leaves out the restart marker of each MCU row") {
  // 64 pixels in 4:2:0 are 4 MCUs of 16.
  CHECK(Converted({}).Facts().restart_interval == 4);
  CHECK(Converted({"--no-restart-markers"}).Facts().restart_interval == 0);
}

TEST_CASE("a wide row has restart markers in it, whether or not coefficients are kept") {
  // 1024 pixels in 4:2:0 are 64 MCUs: 4 parts of 256 pixels.
  const Picture wide = MakePicture(1024, 40);
  const auto interval = [&](Words options, const JpegOptions& source = {}) {
    options.emplace_back("--no-resize");
    return Converted(options, wide, source).Facts().restart_interval;
  };
  CHECK(interval({}) == 16);
  CHECK(interval({"--subsampling", "444"}) == 32);
  CHECK(interval({"--channels", "1"}) == 32);
  CHECK(interval({"--no-restart-markers"}) == 0);
  CHECK(interval({"--quality", "keep"}) == 16);
  CHECK(interval({"--quality", "keep"}, {.progressive = true}) == 16);
}

TEST_CASE("option --subsampling sets the resolution of colour") {
  CHECK(Converted({}).Facts().luma_width_factor == 2);
  CHECK(Converted({"--subsampling", "420"}).Facts().luma_width_factor == 2);
  CHECK(Converted({"--subsampling", "444"}).Facts().luma_width_factor == 1);
}

TEST_CASE("option --channels 1 stores grey images") {
  CHECK(Converted({}).Facts().components == 3);
  CHECK(Converted({"--channels", "1"}).Facts().components == 1);
  CHECK(Converted({"--channels", "1", "--image", "raw"}).Payload().bytes.size() == 64ULL * 64);
  CHECK(Converted({"--channels", "3"}, MakePicture(64, 64, 1)).Facts().components == 3);
}

TEST_CASE("option --background is the colour behind transparent pixels") {
  const TemporaryFolder folder;
  // A BMP of 2x1: an opaque pixel and an invisible one.
  std::string bmp("BM\x82\0\0\0\0\0\0\0\x7A\0\0\0\x6C\0\0\0\2\0\0\0\1\0\0\0\1\0\x20\0\3\0\0\0", 34);
  bmp.resize(54);
  bmp.append("\0\0\xFF\0\0\xFF\0\0\xFF\0\0\0\0\0\0\xFF", 16);
  bmp.resize(122);
  bmp.append("\1\2\3\xFF\4\5\6\0", 8);
  WriteBytes(folder / "source" / "a.bmp", bmp);
  const auto pixels = [&](const char* data, const Words& more) {
    Words words = {"convert", (folder / "source").string(), (folder / data).string(), "--image",
                   "raw"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = Sluice(words);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    return Dataset::Open(folder / data)[0].Decode().pixels;
  };
  CHECK(pixels("white", {}) == std::vector<std::uint8_t>{3, 2, 1, 255, 255, 255});
  CHECK(pixels("other", {"--background", "9,8,7"}) == std::vector<std::uint8_t>{3, 2, 1, 9, 8, 7});
}

TEST_CASE("the summary says that colour profiles were dropped, and how to convert them") {
  const TemporaryFolder folder;
  const std::vector<std::byte> jpeg = MakeJpeg(MakePicture(16, 16));
  std::string file(reinterpret_cast<const char*>(jpeg.data()), jpeg.size());
  WriteBytes(folder / "source" / "plain.jpg", file);
  // After the marker at the start of the file, a segment of the kind that holds a colour profile.
  file.insert(2, std::string("\xFF\xE2\0\x14ICC_PROFILE\0\1\1junk", 22));
  WriteBytes(folder / "source" / "with.jpg", file);
  const Words words = {"convert", (folder / "source").string(), (folder / "data").string()};
  const Outcome outcome = Sluice(words);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out.find("1 image has a colour profile, dropped; --icc convert") !=
        std::string::npos);
}

}  // namespace sluice::test
