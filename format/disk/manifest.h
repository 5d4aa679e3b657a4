// The manifest: a dataset's one index, a JSON file that is written last (format/FORMAT.md,
// "Manifest").
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <sluice/image.h>
#include <sluice/schema.h>

#include "format/disk/block.h"
#include "format/disk/bytes.h"

namespace sluice {

inline constexpr const char* kManifestName = "manifest.json";
inline constexpr const char* kPlanName = "plan.json";

// The name of a manifest that another one has replaced: "manifest-ID.json".
std::string OldManifestName(const Id128& id);
bool IsOldManifestName(std::string_view name) noexcept;

// Where a dataset's manifest lies: the folder or URL, and the manifest's name there.
struct ManifestPlace {
  std::filesystem::path folder;
  std::string name = kManifestName;

  // `path`: the dataset's folder or URL, or the path of its manifest.json or manifest-ID.json.
  static ManifestPlace Of(const std::filesystem::path& path);
  bool is_old() const noexcept { return name != kManifestName; }
  // A path from which Of() gives this place again.
  std::filesystem::path path() const { return is_old() ? folder / name : folder; }
};

struct ManifestShard {
  std::string file;  // a plain file name in the dataset's folder
  Id128 id;
  Id128 digest;
  std::uint64_t samples = 0;
  std::uint64_t blocks = 0;
  std::uint32_t block_samples = 0;
  std::uint64_t bytes = 0;
  std::string unknown = {};  // like Manifest::unknown, for this shard's object in "shards"

  friend bool operator==(const ManifestShard&, const ManifestShard&) = default;
};

// The figures of one image, whose payload has `bytes` bytes.
ImageFigures FiguresOf(std::uint32_t width, std::uint32_t height, std::uint8_t channels,
                       PixelType type, std::uint64_t bytes) noexcept;
// As a manifest has them. FiguresFromJson() throws nlohmann's exceptions, and Error(kCorrupt)
// without a file's name.
nlohmann::json FiguresToJson(const ImageFigures& images);
ImageFigures FiguresFromJson(const nlohmann::json& in);

// A summary of all values of a bytes or variable-length field. Sizes are decompressed ones.
struct ManifestValues {
  std::uint64_t present = 0;    // samples with a value
  std::uint64_t bytes = 0;      // all of them together
  std::uint64_t max_bytes = 0;  // the largest

  void Add(const ManifestValues& other) noexcept;
  friend bool operator==(const ManifestValues&, const ManifestValues&) = default;
};

// Whether the manifest has ManifestValues for a field.
constexpr bool HasValues(const Field& field) noexcept {
  return field.kind == FieldKind::kBytes || field.kind == FieldKind::kVariable;
}

// A user's statements about a dataset, such as its license: values by their names.
using Metadata = std::map<std::string, std::string>;

// Samples that were deleted: those from number `first` on.
struct DeletedRun {
  std::uint64_t first = 0, count = 0;
  std::uint64_t end() const noexcept { return first + count; }
  friend bool operator==(const DeletedRun&, const DeletedRun&) = default;
};

// How a version of a dataset was made from the version before it.
struct ManifestChange {
  Id128 parent;
  std::uint64_t samples = 0;  // of the parent; a program that copied this member changed them
  std::string by;             // the command
  std::string note;           // the user's
  friend bool operator==(const ManifestChange&, const ManifestChange&) = default;
};

struct Manifest {
  std::string name;
  Schema schema;
  std::uint64_t samples = 0;
  std::vector<ImageFigures> images;  // one for each image field, in the schema's order
  // One for each field that HasValues(); empty in older manifests.
  std::vector<ManifestValues> values;
  // How many samples each class of Schema::ClassField() has.
  std::vector<std::uint64_t> class_counts;
  std::string made = "{}";  // how it was made: a JSON object, for people
  Metadata meta;
  // Members that this version does not know, as a JSON object; usually empty.
  std::string unknown;
  std::vector<ManifestShard> shards;
  // Fields with shards of their own over the same samples. A column has a schema, samples, images,
  // values, class_counts and shards; its other members are empty.
  std::vector<Manifest> columns = {};
  std::vector<std::string> hidden = {};  // names of fields that were dropped
  std::vector<DeletedRun> deleted = {};  // ascending, with samples between them
  std::optional<ManifestChange> change = {};
  // The text that the schema was read from, if SchemaToJson() would write another one. It is
  // written again as long as it still describes `schema`.
  std::string schema_text = {};
};

// Calls visit(shard) for each shard of the manifest and of its columns.
template <class Visit>
void ForEachShard(const Manifest& manifest, Visit&& visit) {
  for (const ManifestShard& shard : manifest.shards)
    visit(shard);
  for (const Manifest& column : manifest.columns)
    for (const ManifestShard& shard : column.shards)
      visit(shard);
}

// The schema of a column, made valid by itself: without what its fields follow in `images`.
Schema ColumnAlone(Schema column, const Schema& images);

// The fields that users see: those of the shards, then those of the columns that have other names.
// A column's field of an earlier name takes its place. Hidden fields are left out.
struct VisibleFields {
  Schema schema;
  std::vector<std::uint32_t> sources;  // by field: 0 for the shards, c + 1 for column c

  static VisibleFields Of(const Manifest& manifest);
};
// The manifest with the fields that users see, and their totals, in place of those of its shards.
Manifest WithVisibleFields(Manifest manifest);
// Whether a sample is in one of the runs.
bool IsDeleted(const std::vector<DeletedRun>& runs, std::uint64_t sample) noexcept;

// How many samples they are.
std::uint64_t CountOf(const std::vector<DeletedRun>& runs) noexcept;

// Whether the field of that name is the same in both manifests, and lies in the same shards of a
// column, or in the image shards of each.
bool SameSource(const Manifest& a, const VisibleFields& of_a, const Manifest& b,
                const VisibleFields& of_b, std::string_view field);

// Throws Error(kInvalidArgument) if a name is empty, or a name or value is not UTF-8.
void CheckMetadata(const Metadata& meta);
// Sets the values of `changes`; a name whose value there is empty is removed.
void ChangeMetadata(const Metadata& changes, Metadata& meta);
// Adds to `manifest` the metadata and unknown members of `from` that `manifest` lacks, and, if both
// schemas are equal, the schema's text. Returns the names of metadata whose values differ.
std::vector<std::string> KeepMembers(const Manifest& from, Manifest& manifest);

// The file's text; `id` gets the dataset's id.
std::string ManifestToJson(const Manifest& manifest, Id128& id);

// Parses and checks: digest, version, limits, sums. Errors: kCorrupt, kUnsupported, kLimit.
Manifest ManifestFromJson(std::string_view text, const std::string& file, Id128& id);

// Reads a dataset's manifest; `of` as for ManifestPlace::Of(). Errors as above, kNotFound, kMemory,
// kIo, and kUnfinished if a conversion into the folder was begun but not finished.
Manifest ReadManifest(const std::filesystem::path& of, Id128& id);

// Summaries of no samples: an entry for each field that HasValues().
std::vector<ManifestValues> NoValues(const Schema& schema);

// The sums over samples that a manifest states.
struct SampleTotals {
  std::vector<ImageFigures> images;         // one for each image field, in the schema's order
  std::vector<ManifestValues> values;       // one for each field that HasValues()
  std::vector<std::uint64_t> class_counts;  // samples of each class of Schema::ClassField()

  // Counts a sample for its class, given its value of Schema::ClassField(). Ignores a number that
  // no class has (in a damaged or forged dataset).
  void CountClass(const Field& field, Bytes element) noexcept;
  // Adds the values of a block's samples. Leaves out values that GetPayload() or GetImage()
  // refuses, and returns the defect of the first of them, or null. The caller must
  // hold a ReadGuard of the block's shard.
  Defect AddBlock(const BlockView& block, const RecordLayout& layout,
                  const Schema& schema) noexcept;
  void Add(const SampleTotals& other) noexcept;
};

// Totals of no samples, with the right number of entries.
SampleTotals NoTotals(const Schema& schema);

// Adds one payload. A zstd frame that cannot be read is counted as present, with no bytes.
void AddValue(Codec codec, Bytes payload, ManifestValues& values) noexcept;

}  // namespace sluice
