// sluice convert: how images are stored. Checked by libjpeg on the payloads.
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
  JpegFacts SourceFacts() const { return ReadJpeg(ReadBytes(folder_ / "source" / "one.jpg")); }
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

TEST_CASE("option --quality sets the quantisation tables, those of 90 by default") {
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

TEST_CASE("option --quality keep encodes what has to be resized at 90, keep:Q at Q") {
  const Picture large = MakePicture(200, 100);
  const Converted resized({"--quality", "keep", "--max-side", "50"}, large, {.quality = 60});
  CHECK(resized.Facts().luma_step == LumaStepAt(90));
  CHECK(resized.answer()["kept"] == 0);
  CHECK(Converted({"--quality", "keep:40", "--max-side", "50"}, large).Facts().luma_step ==
        LumaStepAt(40));
}

TEST_CASE("option --restart sets the MCU rows between restart markers") {
  // 64 pixels in 4:2:0 are 4 MCUs of 16.
  CHECK(Converted({}).Facts().restart_interval == 4);
  CHECK(Converted({"--restart", "2"}).Facts().restart_interval == 8);
  CHECK(Converted({"--restart", "none"}).Facts().restart_interval == 0);
}

TEST_CASE("option --subsampling chooses the resolution of colour") {
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

}  // namespace sluice::test
