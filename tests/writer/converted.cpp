#include "tests/writer/converted.h"

#include <cmath>

#include <sluice/convert_steps.h>
#include <sluice/dataset.h>
#include <sluice/play_source.h>

#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/writer/stored.h"

namespace sluice::test {

ConvertOptions AsTheyAre(unsigned channels) {
  ConvertOptions options;
  options.geometry.max_side.reset();
  options.form.image = ImageCodec::kRaw;
  options.form.channels = channels;
  return options;
}

Converted ConvertOne(const FileBytes& file, const ConvertOptions& options) {
  const TemporaryFolder folder;
  WriteSource(folder / "source" / "one", file);
  WriteSource(folder / "source" / "other", MakeJpeg(MakePicture(8, 8)));
  Converted converted;
  converted.summary = Convert(folder / "source", folder / "data", options);
  if (!converted.summary.skipped.empty()) {
    converted.reason = converted.summary.skipped[0].reason;
  } else {
    converted.picture = ReadDataset(folder / "data").Find("one").Pixels(options.form.channels);
  }
  return converted;
}

namespace {

// Checks that both samples have the same fields, with the same values.
void CheckSameSample(const Sample& played, const Sample& stored, const Schema& schema) {
  CHECK(played.key() == stored.key());
  for (const Field& field : schema.fields) {
    INFO(stored.key() << ", field " << field.name);
    REQUIRE(played.Has(field.name) == stored.Has(field.name));
    if (!stored.Has(field.name)) continue;
    if (field.kind != FieldKind::kImage) {
      CHECK(played.Copy(field.name) == stored.Copy(field.name));
      continue;
    }
    const Image a = played.Decode(field.name);
    const Image b = stored.Decode(field.name);
    CHECK((a.width == b.width && a.height == b.height && a.channels == b.channels));
    CHECK(a.pixel_type == b.pixel_type);
    CHECK((a.pixels == b.pixels));
  }
}

// Plays the source, and compares its samples with the dataset that was made of it. A sample that
// the conversion left out must throw when it is played.
void CheckPlayed(const ConvertSource& source, const std::filesystem::path& dataset,
                 const ConvertOptions& options, const std::filesystem::path& index) {
  PlayOptions play;
  play.geometry = options.geometry;
  play.form = options.form;
  play.shards = options.shards;
  play.max_pixels = options.run.max_pixels;
  play.index = index;
  const Dataset stored = Dataset::Open(dataset);
  const Dataset played = Dataset::Open(PlaySource(source, play));
  REQUIRE(played.schema() == stored.schema());
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; i < played.size(); ++i) {
    const Sample sample = played[i];
    try {
      sample.Payload();
    } catch (const Error&) {
      continue;
    }
    // A left-out JPEG that is taken as it is may throw only when it is decoded.
    if (options.form.keep && (next == stored.size() || stored[next].key() != sample.key()))
      continue;
    REQUIRE(next < stored.size());
    CheckSameSample(sample, stored[next++], stored.schema());
  }
  CHECK(next == stored.size());
  if (played.size() == stored.size()) CHECK(played.class_counts() == stored.class_counts());
  for (std::size_t f = 0; f < stored.images().size(); ++f) {
    const ImageSummary& a = played.images()[f];
    const ImageSummary& b = stored.images()[f];
    CHECK((a.min_width <= b.min_width && a.max_width >= b.max_width));
    CHECK((a.min_height <= b.min_height && a.max_height >= b.max_height));
    CHECK((a.max_channels == b.max_channels && a.pixel_type == b.pixel_type));
    CHECK(a.max_payload_bytes >= b.max_payload_bytes);
  }
}

}  // namespace

ConvertSummary ConvertBothWays(const ConvertSource& source, const std::filesystem::path& dataset,
                               const ConvertOptions& options) {
  ConvertSummary summary = Convert(source, dataset, options);
  const TemporaryFolder folder;
  const std::filesystem::path parts = folder / "parts";
  PlanConversion(source, parts, options);
  for (const std::uint64_t part : {1, 0})
    ConvertPlanned(parts, {part, 2}, {.threads = 1});
  FinishConversion(parts);
  CHECK(ContentsOf(parts) == ContentsOf(dataset));
  ConvertOptions again = options;
  again.run.check = SourceCheck::kContent;
  CHECK(Convert(source, dataset, again).samples == summary.samples);
  CHECK(ContentsOf(parts) == ContentsOf(dataset));
  for (int time = 0; time < 2; ++time)  // the second time from the index
    CheckPlayed(source, dataset, options, folder / "index");
  return summary;
}

std::string WarningWith(const ConvertSummary& summary, const std::string& text) {
  for (const std::string& warning : summary.warnings) {
    if (warning.find(text) != std::string::npos) return warning;
  }
  return {};
}

std::uint8_t Over(double value, double opacity, double under) {
  return static_cast<std::uint8_t>(std::lround(under + opacity * (255 * value - under)));
}

Picture Stored(const Picture& upright, int orientation) {
  const std::uint32_t w = upright.width;
  const std::uint32_t h = upright.height;
  const bool turned = orientation >= 5;
  Picture stored{turned ? h : w, turned ? w : h, 3, {}};
  stored.pixels.resize(upright.pixels.size());
  for (std::uint32_t y = 0; y < h; ++y) {
    for (std::uint32_t x = 0; x < w; ++x) {
      std::uint32_t row = 0;
      std::uint32_t column = 0;
      switch (orientation) {
        case 1: row = y, column = x; break;                  // row 0 at the top, column 0 left
        case 2: row = y, column = w - 1 - x; break;          // top, right
        case 3: row = h - 1 - y, column = w - 1 - x; break;  // bottom, right
        case 4: row = h - 1 - y, column = x; break;          // bottom, left
        case 5: row = x, column = y; break;                  // left, top
        case 6: row = w - 1 - x, column = y; break;          // right, top
        case 7: row = w - 1 - x, column = h - 1 - y; break;  // right, bottom
        case 8: row = x, column = h - 1 - y; break;          // left, bottom
        default: break;
      }
      for (std::uint32_t c = 0; c < 3; ++c) {
        stored.pixels[(row * stored.width + column) * 3 + c] = upright.at(x, y)[c];
      }
    }
  }
  return stored;
}

}  // namespace sluice::test
