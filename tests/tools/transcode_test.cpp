// Packed images, as the commands convert, append, export and transcode them, and as a loader plays
// them.
#include <map>

#include <sluice/dataset.h>
#include <sluice/dataset_writer.h>

#include "tests/reader/playing.h"
#include "tests/temporary_folder.h"
#include "tests/tools/jpeg_facts.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

struct Stored {
  Codec codec = Codec::kAbsent;
  std::string bytes;
  friend bool operator==(const Stored&, const Stored&) = default;
};

// The stored images, by key. The dataset is verified on the way.
std::map<std::string, Stored> StoredIn(const std::string& path, std::string_view field = {}) {
  REQUIRE(Sluice({"verify", path, "--decode", "--quiet"}).exit_code == 0);
  const Dataset dataset = Dataset::Open(path);
  std::map<std::string, Stored> stored;
  for (std::uint64_t i = 0; i < dataset.size(); ++i) {
    const Sample sample = dataset[i];
    const ImagePayload payload = sample.Payload(field);
    const auto* bytes = reinterpret_cast<const char*>(payload.bytes.data());
    stored[sample.key()] = {payload.codec, {bytes, payload.bytes.size()}};
  }
  return stored;
}

bool AllAre(Codec codec, const std::map<std::string, Stored>& stored) {
  return !stored.empty() && std::all_of(stored.begin(), stored.end(), [codec](const auto& one) {
    return one.second.codec == codec;
  });
}

// A folder of datasets whose images have several forms. Called with a name, gives the path there.
struct Forms {
  TemporaryFolder folder;
  std::string operator()(const std::string& name) const { return (folder / name).string(); }
  // A dataset of pictures of several sizes, with and without colour, in the form `image`.
  std::string Convert(const std::string& image) const {
    for (int i = 0; i < 6; ++i) {
      const auto size = static_cast<std::uint32_t>(60 + 23 * i);
      WriteJpeg(folder / "source" / (i % 2 == 0 ? "even" : "odd") / (std::to_string(i) + ".jpg"),
                MakePicture(size, 150 - size / 2, i == 4 ? 1 : 3, size));
    }
    REQUIRE(Sluice({"convert", (*this)("source"), (*this)(image), "--image", image, "--max-side",
                    "120", "--keep-order"})
                .exit_code == 0);
    return (*this)(image);
  }
};

std::vector<PlayedBatch> Crops(const std::string& dataset) {
  LoaderOptions options = OptionsFor(3, 2);
  options.transform = {RandomResizedCrop(32), HorizontalFlip()};
  Loader loader(Dataset::Open(dataset), options);
  return PlayBatches(loader, 1);
}

}  // namespace

TEST_CASE("convert --image packed gives the same JPEGs and the same batches") {
  const Forms at;
  const std::string jpeg = at.Convert("jpeg");
  const std::string packed = at.Convert("packed");
  const auto stored = StoredIn(packed);
  CHECK(stored.size() == 6);
  CHECK(AllAre(Codec::kPacked, stored));
  CHECK_THAT(Sluice({"inspect", packed, "--sample", "0"}).out, ContainsSubstring("packed"));
  CHECK(Crops(packed) == Crops(jpeg));
  REQUIRE(Sluice({"export", packed, at("out")}).exit_code == 0);
  for (const auto& [key, value] : StoredIn(jpeg)) {
    const bool same = ContentOf(at("out/images/") + key) == value.bytes;
    CHECK(same);
  }
}

TEST_CASE("convert --image packed --quality keep stores the source's coefficients") {
  const Forms at;
  const auto write = [&](const char* name, const JpegOptions& options) {
    WriteJpeg(at("source/") + name, MakePicture(50, 40), options);
  };
  write("a.jpg", {.quality = 83, .progressive = true});
  write("b.jpg", {.quality = 40, .subsample = false, .optimise = true});
  write("c.jpg", {.quality = 70, .luma_h = 4, .luma_v = 1});  // has no packed form
  const Outcome outcome = Sluice(
      {"convert", at("source"), at("data"), "--image", "packed", "--quality", "keep", "--json"});
  CHECK(JsonOf(outcome)["kept"] == 3);
  const auto stored = StoredIn(at("data"));
  CHECK(stored.at("a.jpg").codec == Codec::kPacked);
  CHECK(stored.at("b.jpg").codec == Codec::kPacked);
  CHECK(stored.at("c.jpg").codec == Codec::kJpeg);
  REQUIRE(Sluice({"export", at("data"), at("out")}).exit_code == 0);
  for (const char* name : {"a.jpg", "b.jpg", "c.jpg"}) {
    const bool same = ReadJpeg(ContentOf(at("out/images/") + name)).coefficients ==
                      ReadJpeg(ContentOf(at("source/") + name)).coefficients;
    CHECK(same);
  }
}

TEST_CASE("images appended to a dataset of packed images are packed") {
  const Forms at;
  const std::string packed = at.Convert("packed");
  WriteJpeg(at("more/odd/new.jpg"), MakePicture(70, 50));
  const Outcome outcome = Sluice({"append", at("more"), packed});
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  const auto stored = StoredIn(packed);
  CHECK(stored.size() == 7);
  CHECK(AllAre(Codec::kPacked, stored));
}

TEST_CASE("transcode from JPEG to packed and back gives the bytes of a conversion") {
  const Forms at;
  const auto jpeg = StoredIn(at.Convert("jpeg"));
  const auto packed = StoredIn(at.Convert("packed"));
  const Outcome outcome =
      Sluice({"transcode", at("jpeg"), at("there"), "--image", "packed", "--json"});
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  CHECK(JsonOf(outcome)["images"] == 6);
  CHECK(JsonOf(outcome)["left_as_they_were"] == 0);
  CHECK((StoredIn(at("there")) == packed));
  REQUIRE(Sluice({"transcode", at("there"), at("back"), "--image", "jpeg"}).exit_code == 0);
  CHECK((StoredIn(at("back")) == jpeg));
  const Dataset before = Dataset::Open(at("jpeg"));
  const Dataset after = Dataset::Open(at("back"));
  CHECK(after.schema().fields[1].classes == before.schema().fields[1].classes);
  for (std::uint64_t i = 0; i < before.size(); ++i) {
    CHECK(after[i].key() == before[i].key());
    CHECK(after[i].Integer("label") == before[i].Integer("label"));
  }
  // The number of threads does not matter.
  for (const char* threads : {"1", "3"}) {
    REQUIRE(
        Sluice({"transcode", at("jpeg"), at(threads), "--image", "packed", "--threads", threads})
            .exit_code == 0);
  }
  CHECK((ContentOf(at("1/manifest.json")) == ContentOf(at("3/manifest.json"))));
  CHECK(Sluice({"transcode", at("jpeg"), at("there"), "--image", "raw"}).exit_code == 1);
  CHECK(Sluice({"transcode", at("jpeg"), at("new"), "--image", "gif"}).exit_code == 2);
  CHECK(
      Sluice({"transcode", at("jpeg"), at("new"), "--image", "raw", "--quality", "80"}).exit_code ==
      2);
}

TEST_CASE("transcode to raw stores the pixels that a reader decodes, and from raw makes JPEGs") {
  const Forms at;
  const Dataset dataset = Dataset::Open(at.Convert("packed"));
  REQUIRE(Sluice({"transcode", at("packed"), at("raw"), "--image", "raw"}).exit_code == 0);
  const auto raw = StoredIn(at("raw"));
  CHECK(AllAre(Codec::kRaw, raw));
  for (std::uint64_t i = 0; i < dataset.size(); ++i) {
    const std::vector<std::uint8_t> pixels = dataset[i].Decode().pixels;
    const bool same = raw.at(dataset[i].key()).bytes == std::string(pixels.begin(), pixels.end());
    CHECK(same);
  }
  REQUIRE(Sluice({"transcode", at("raw"), at("again"), "--image", "packed", "--quality", "77"})
              .exit_code == 0);
  const auto again = Dataset::Open(at("again"));
  CHECK(AllAre(Codec::kPacked, StoredIn(at("again"))));
  CHECK(ReadJpeg(JpegFileOf(again[0].Payload())).luma_step == LumaStepAt(77));
}

TEST_CASE("transcode leaves masks and unsuitable pixels as they are, and counts them") {
  const Forms at;
  const Schema schema{{Field::Image(), Field::Mask("mask", "image")}};
  DatasetWriter writer(at("data"), schema);
  const std::vector<std::uint8_t> values(20 * 10 * 2, 7);
  const auto bytes = std::as_bytes(std::span(values));
  for (const unsigned channels : {1U, 2U}) {
    SampleBuilder sample = writer.NewSample(channels == 2 ? "two" : "one");
    sample.SetPixels("image", 20, 10, channels, PixelType::kUint8, bytes.first(200 * channels));
    sample.SetPixels("mask", 20, 10, 1, PixelType::kUint8, bytes.first(200), true);
    writer.Add(sample);
  }
  writer.Finish();
  const Outcome outcome = Sluice({"transcode", at("data"), at("new"), "--image", "packed"});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("1 image cannot be stored in this form"));
  const auto before = StoredIn(at("data"));
  const auto after = StoredIn(at("new"));
  CHECK((after.at("two") == before.at("two")));
  CHECK(after.at("one").codec == Codec::kPacked);
  CHECK((StoredIn(at("new"), "mask") == StoredIn(at("data"), "mask")));
}

TEST_CASE("transcode names the sample whose image is broken") {
  const Forms at;
  DatasetWriter writer(at("data"), Schema{{Field::Image()}});
  const std::string broken = TruncatedJpeg() + "\xFF\xD9";  // an end marker, which writers trust
  SampleBuilder sample = writer.NewSample("half.jpg");
  sample.SetJpeg("image", std::as_bytes(std::span(broken)));
  writer.Add(sample);
  writer.Finish();
  const Outcome outcome = Sluice({"transcode", at("data"), at("new"), "--image", "packed"});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring("shard-00000.sluice"));
  CHECK_THAT(outcome.err, ContainsSubstring("half.jpg"));
}

}  // namespace sluice::test
