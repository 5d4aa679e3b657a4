#include "format/disk/manifest_check.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "format/disk/row_layout.h"

namespace sluice {

namespace {

// Whether `values` values of at most `most` bytes can have `bytes` bytes together.
bool Fit(std::uint64_t bytes, std::uint64_t values, std::uint64_t most) noexcept {
  return bytes == 0 || (values > 0 && (bytes - 1) / values < most);
}

class ManifestCheck {
 public:
  ManifestCheck(const Manifest& manifest, const std::string& file)
      : manifest_(manifest), file_(file) {}

  void Run() {
    CheckShards();
    CheckClassCounts();
    CheckImages();
    CheckValues();
  }

 private:
  [[noreturn]] void Refuse(const std::string& what) const {
    throw Error(ErrorCode::kCorrupt, file_, what + "; restore it or convert again");
  }
  void Require(bool holds, const std::string& what) const {
    if (!holds) Refuse(what);
  }

  void CheckShards() {
    const std::uint64_t row_bytes = RowLayout(manifest_.schema).row_bytes();
    std::unordered_set<std::string_view> files;
    std::uint64_t samples = 0;
    for (const ManifestShard& shard : manifest_.shards) {
      if (shard.samples == 0 || shard.block_samples == 0 ||
          shard.blocks != (shard.samples - 1) / shard.block_samples + 1) {
        Refuse("says of " + shard.file + " numbers that contradict each other");
      }
      // There is a page for the header and for each block, and a row for each sample. Larger claims
      // would cost readers memory and time.
      if (shard.bytes / kPageBytes <= shard.blocks || shard.samples > shard.bytes / row_bytes) {
        Refuse("says of " + shard.file +
               " that it has more samples or blocks than its bytes can hold");
      }
      Require(files.insert(shard.file).second, "names " + shard.file + " twice");
      samples += shard.samples;
      stored_bytes_ += shard.bytes;
    }
    Require(samples == manifest_.samples, "its samples are not those of its shards together");
  }

  void CheckClassCounts() {
    const std::size_t field = manifest_.schema.ClassField();
    const std::size_t classes =
        field == Schema::kNone ? 0 : manifest_.schema.fields[field].classes.size();
    Require(manifest_.class_counts.size() == classes,
            "it counts the samples of " + std::to_string(manifest_.class_counts.size()) +
                " classes, and its label has " + std::to_string(classes));
    std::uint64_t left = manifest_.samples;
    for (const std::uint64_t count : manifest_.class_counts) {
      Require(count <= left, "its classes have more samples than there are");
      left -= count;
    }
  }

  void CheckImages() {
    const std::vector<Field>& fields = manifest_.schema.fields;
    const auto count = std::count_if(fields.begin(), fields.end(), [](const Field& field) {
      return field.kind == FieldKind::kImage;
    });
    Require(manifest_.images.size() == static_cast<std::size_t>(count),
            "its images do not match its schema");
    for (const ManifestImages& images : manifest_.images) {
      Require(images.present <= manifest_.samples, "it has more images than samples");
      if (images.present == 0) {
        Require(images == ManifestImages{}, "it gives sizes for a field without images");
        continue;
      }
      Require(images.min_width > 0 && images.min_height > 0 && images.min_channels > 0 &&
                  std::uint64_t{images.min_width} * images.min_height <= kMaxImagePixels,
              "the sizes of its images are out of range");
      Require(images.max_payload_bytes <= images.payload_bytes &&
                  images.payload_bytes <= stored_bytes_ &&
                  Fit(images.payload_bytes, images.present, images.max_payload_bytes),
              "the byte counts of its images contradict each other");
    }
  }

  void CheckValues() {
    if (manifest_.values.empty()) return;  // an older manifest
    const std::vector<Field>& fields = manifest_.schema.fields;
    const auto count = std::count_if(fields.begin(), fields.end(), HasValues);
    Require(manifest_.values.size() == static_cast<std::size_t>(count),
            "its values do not match its schema");
    for (const ManifestValues& values : manifest_.values) {
      Require(values.present <= manifest_.samples, "it has more values than samples");
      Require(
          values.max_bytes <= values.bytes && Fit(values.bytes, values.present, values.max_bytes),
          "the byte counts of its values contradict each other");
    }
  }

  const Manifest& manifest_;
  const std::string& file_;
  std::uint64_t stored_bytes_ = 0;  // of all shards
};

}  // namespace

void CheckManifest(const Manifest& manifest, const std::string& file) {
  ManifestCheck(manifest, file).Run();
}

}  // namespace sluice
