// Writes and reads the manifest as JSON, and checks that its numbers agree.
//
// CheckManifest() is called once, when the text is parsed: it compares the numbers with each other,
// with the schema and with the format's limits. Later code may use them as indices unchecked.
#include "format/disk/manifest.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>

#include <sluice/error.h>
#include <sluice/version.h>
#include <sluice/work_folder.h>

#include "format/disk/checksum.h"
#include "format/disk/file.h"
#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "format/disk/record_layout.h"
#include "format/disk/system_error.h"
#include "format/disk/zstd.h"

namespace sluice {

namespace {

// Whether `values` values, each of at most `most` bytes, can have `bytes` bytes together.
bool Fit(std::uint64_t bytes, std::uint64_t values, std::uint64_t most) noexcept {
  // Divides instead of multiplying, which could overflow.
  return bytes == 0 || (values > 0 && (bytes - 1) / values < most);
}

class ManifestCheck {
 public:
  ManifestCheck(const Manifest& manifest, const std::string& file)
      : manifest_(manifest), file_(file) {}

  // CheckShards() comes first: CheckImages() compares with the sum of the shards' bytes.
  void Run() {
    CheckShards();
    CheckColumns();
    CheckDeleted();
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
    const std::uint64_t record_bytes = RecordLayout(manifest_.schema).record_bytes();
    std::uint64_t samples = 0;
    for (const ManifestShard& shard : manifest_.shards) {
      if (shard.samples == 0 || shard.block_samples == 0 ||
          shard.blocks != (shard.samples - 1) / shard.block_samples + 1) {
        Refuse("gives numbers for " + shard.file + " that contradict each other");
      }
      // There is a page for the header and for each block, and a row for each sample. Larger claims
      // would cost readers memory and time.
      if (shard.bytes / kPageBytes <= shard.blocks || shard.samples > shard.bytes / record_bytes) {
        Refuse("says of " + shard.file +
               " that it has more samples or blocks than its bytes can hold");
      }
      Require(files_.insert(shard.file).second, "names " + shard.file + " twice");
      samples += shard.samples;
      stored_bytes_ += shard.bytes;
    }
    Require(samples == manifest_.samples, "its number of samples is not the sum of its shards'");
  }

  void CheckColumns() {
    for (const Manifest& column : manifest_.columns) {
      Require(column.samples == manifest_.samples,
              "a column has " + std::to_string(column.samples) + " samples, and the dataset " +
                  std::to_string(manifest_.samples));
      // A column is checked like a dataset of its own, except that it shares the names of files.
      ManifestCheck(column, file_).Run();
      for (const ManifestShard& shard : column.shards)
        Require(files_.insert(shard.file).second, "names " + shard.file + " twice");
    }
    if (manifest_.columns.empty() && manifest_.hidden.empty()) return;
    const std::vector<const Manifest*> sources = Sources();
    std::unordered_set<std::string_view> names;
    for (const Manifest* const source : sources) {
      for (const Field& field : source->schema.fields)
        names.insert(field.name);
      // Without the sizes of each source, totals could not be put together field by field
      // (AddTotalsOf()).
      Require(source->values.size() == NoValues(source->schema).size(),
              "it has columns, and no sizes of the values of a field");
    }
    std::unordered_set<std::string_view> hidden;
    for (const std::string& name : manifest_.hidden) {
      Require(names.contains(name) && hidden.insert(name).second,
              "hides the field \"" + name + "\", which it does not have or hides twice");
    }
    const VisibleFields visible = VisibleFields::Of(manifest_);
    try {
      visible.schema.Validate(false);
    } catch (const Error& error) {
      Refuse("its columns do not fit its fields: " + error.sentence());
    }
    // The counts of another label say nothing about this one.
    const std::size_t label = visible.schema.ClassField();
    if (label == Schema::kNone) return;
    const Schema& source = sources[visible.sources[label]]->schema;
    Require(source.ClassField() == source.Find(visible.schema.fields[label].name),
            "it has no counts of the classes of the field \"" + visible.schema.fields[label].name +
                "\"");
  }

  std::vector<const Manifest*> Sources() const {
    std::vector<const Manifest*> sources = {&manifest_};
    for (const Manifest& column : manifest_.columns)
      sources.push_back(&column);
    return sources;
  }

  void CheckDeleted() {
    std::uint64_t end = 0;
    for (const DeletedRun& run : manifest_.deleted) {
      // Runs must not touch either, so that a set of samples can be written in one way only.
      const bool apart = &run == manifest_.deleted.data() ? true : run.first > end;
      Require(apart && run.count > 0 && run.first <= manifest_.samples &&
                  run.count <= manifest_.samples - run.first,
              "its deleted samples are not in order, overlap or do not exist");
      end = run.end();
    }
  }

  void CheckClassCounts() {
    const std::size_t field = manifest_.schema.ClassField();
    const std::size_t classes =
        field == Schema::kNone ? 0 : manifest_.schema.fields[field].classes.size();
    Require(manifest_.class_counts.size() == classes,
            "it counts the samples of " + std::to_string(manifest_.class_counts.size()) +
                " classes, and its label has " + std::to_string(classes));
    // Counts down, since a sum of forged counts could overflow.
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
    for (const ImageFigures& images : manifest_.images) {
      Require(images.present <= manifest_.samples, "it has more images than samples");
      if (images.present == 0) {
        Require(images == ImageFigures{}, "it gives sizes for a field without images");
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
  std::uint64_t stored_bytes_ = 0;  // size of all shards together
  std::unordered_set<std::string_view> files_;
};

void CheckManifest(const Manifest& manifest, const std::string& file) {
  ManifestCheck(manifest, file).Run();
}

}  // namespace

// A column's field may belong to an image of the image shards. Checked alone, it would refer to a
// field that does not exist, so such references are left out.
Schema ColumnAlone(Schema column, const Schema& images) {
  for (Field& field : column.fields) {
    const std::size_t image = images.Find(field.follows);
    if (column.Find(field.follows) == Schema::kNone && image != Schema::kNone &&
        images.fields[image].kind == FieldKind::kImage) {
      field.follows.clear();
    }
  }
  return column;
}

VisibleFields VisibleFields::Of(const Manifest& manifest) {
  // By hash, since a forged manifest may have very many fields.
  std::unordered_map<std::string_view, std::size_t> places;
  std::vector<std::pair<const Field*, std::uint32_t>> fields;
  // A later column replaces an earlier field of its name, and keeps that field's place in the
  // order.
  const auto add = [&](const Schema& schema, std::size_t source) {
    for (const Field& field : schema.fields) {
      const auto [at, is_new] = places.emplace(field.name, fields.size());
      if (is_new) fields.emplace_back();
      fields[at->second] = {&field, static_cast<std::uint32_t>(source)};
    }
  };
  add(manifest.schema, 0);
  for (std::size_t c = 0; c < manifest.columns.size(); ++c)
    add(manifest.columns[c].schema, c + 1);
  const std::unordered_set<std::string_view> hidden(manifest.hidden.begin(), manifest.hidden.end());
  VisibleFields visible;
  visible.schema.unknown = manifest.schema.unknown;
  for (const auto& [field, source] : fields) {
    if (hidden.contains(field->name)) continue;
    visible.schema.fields.push_back(*field);
    visible.sources.push_back(source);
  }
  return visible;
}

namespace {

// The totals of one field, and the counts of its classes if its source has them.
void AddTotalsOf(const Manifest& source, const Field& field, Manifest& visible) {
  std::size_t image = 0;
  std::size_t value = 0;
  for (const Field& other : source.schema.fields) {
    if (other.name == field.name) break;
    image += other.kind == FieldKind::kImage ? 1 : 0;
    value += HasValues(other) ? 1 : 0;
  }
  if (field.kind == FieldKind::kImage) visible.images.push_back(source.images[image]);
  if (HasValues(field)) visible.values.push_back(source.values[value]);
  if (visible.schema.ClassField() == visible.schema.Find(field.name))
    visible.class_counts = source.class_counts;
}

}  // namespace

Manifest WithVisibleFields(Manifest manifest) {
  if (manifest.columns.empty() && manifest.hidden.empty()) return manifest;
  VisibleFields visible = VisibleFields::Of(manifest);
  Manifest stored;  // the totals of the shards' own fields
  // The totals are put together again in the order of the visible fields. Those of replaced and
  // hidden fields go.
  stored.schema = std::exchange(manifest.schema, std::move(visible.schema));
  stored.images = std::exchange(manifest.images, {});
  stored.values = std::exchange(manifest.values, {});
  stored.class_counts = std::exchange(manifest.class_counts, {});
  manifest.schema_text.clear();
  for (std::size_t f = 0; f < visible.sources.size(); ++f) {
    const std::uint32_t source = visible.sources[f];
    AddTotalsOf(source == 0 ? stored : manifest.columns[source - 1], manifest.schema.fields[f],
                manifest);
  }
  return manifest;
}

bool IsDeleted(const std::vector<DeletedRun>& runs, std::uint64_t sample) noexcept {
  const auto after = std::ranges::upper_bound(runs, sample, {}, &DeletedRun::first);
  return after != runs.begin() && sample < std::prev(after)->end();
}

std::uint64_t CountOf(const std::vector<DeletedRun>& runs) noexcept {
  std::uint64_t count = 0;
  for (const DeletedRun& run : runs)
    count += run.count;
  return count;
}

bool SameSource(const Manifest& a, const VisibleFields& of_a, const Manifest& b,
                const VisibleFields& of_b, std::string_view field) {
  const std::size_t in_a = of_a.schema.Find(field);
  const std::size_t in_b = of_b.schema.Find(field);
  if (in_a == Schema::kNone || in_b == Schema::kNone) return false;
  const std::uint32_t source_a = of_a.sources[in_a];
  const std::uint32_t source_b = of_b.sources[in_b];
  if (of_a.schema.fields[in_a] != of_b.schema.fields[in_b]) return false;
  // Of fields in the image shards, only that they lie there is compared, not the shards.
  if (source_a == 0 || source_b == 0) return source_a == source_b;
  return a.columns[source_a - 1].shards == b.columns[source_b - 1].shards;
}

std::vector<ManifestValues> NoValues(const Schema& schema) {
  std::vector<ManifestValues> values;
  for (const Field& field : schema.fields)
    if (HasValues(field)) values.emplace_back();
  return values;
}

void AddValue(Codec codec, Bytes payload, ManifestValues& values) noexcept {
  if (codec == Codec::kAbsent) return;
  std::uint64_t bytes = payload.size();
  if (codec == Codec::kZstd) {
    bytes = ZstdContentBytes(payload).value_or(0);
    // A size that no reader accepts must not become the field's largest; reading the value reports
    // it.
    if (bytes > kMaxInflatedBytes) bytes = 0;
  }
  values.Add({1, bytes, bytes});
}

SampleTotals NoTotals(const Schema& schema) {
  SampleTotals totals;
  for (const Field& field : schema.fields) {
    if (field.kind == FieldKind::kImage) totals.images.emplace_back();
  }
  totals.values = NoValues(schema);
  const std::size_t classes = schema.ClassField();
  if (classes != Schema::kNone) totals.class_counts.resize(schema.fields[classes].classes.size());
  return totals;
}

void SampleTotals::CountClass(const Field& field, Bytes element) noexcept {
  const std::int64_t number = ClassNumber(field, element);
  if (IsClass(field, number)) ++class_counts[static_cast<std::size_t>(number)];
}

Defect SampleTotals::AddBlock(const BlockView& block, const RecordLayout& layout,
                              const Schema& schema) noexcept {
  const std::size_t class_field = schema.ClassField();
  Defect first = nullptr;
  for (std::uint32_t row = 0; row < block.count(); ++row) {
    std::size_t image_field = 0, value_field = 0;
    for (std::size_t f = 0; f < schema.fields.size(); ++f) {
      const Field& field = schema.fields[f];
      Defect defect = nullptr;
      if (f == class_field && layout.has(f)) CountClass(field, block.Elements(layout, row, f));
      if (field.kind == FieldKind::kImage) {
        ImageFigures& sums = images[image_field++];
        ImagePayload image;
        std::uint64_t checksum = 0;
        defect = block.GetImage(layout, row, f, image, checksum);
        if (defect == nullptr && image.codec != Codec::kAbsent) {
          sums.Add(FiguresOf(image.width, image.height, image.channels, image.pixel_type,
                             image.bytes.size()));
        }
      } else if (HasValues(field)) {
        ManifestValues& sums = values[value_field++];
        BlockView::Payload payload;
        defect = block.GetPayload(layout, row, f, payload);
        if (defect == nullptr)
          AddValue(static_cast<Codec>(payload.entry.codec), payload.bytes, sums);
      }
      // The rest of the block is counted all the same.
      if (first == nullptr) first = defect;
    }
  }
  return first;
}

void SampleTotals::Add(const SampleTotals& other) noexcept {
  for (std::size_t i = 0; i < images.size(); ++i)
    images[i].Add(other.images[i]);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i].Add(other.values[i]);
  for (std::size_t i = 0; i < class_counts.size(); ++i)
    class_counts[i] += other.class_counts[i];
}

namespace {

using nlohmann::json;

// The file is these bytes, 32 digits, and the rest. The digits are the digest of the rest.
constexpr std::string_view kOpening = "{\"id\":\"";
constexpr std::size_t kIdDigits = 32;
constexpr const char* kFormatName = "sluice-dataset";
// The names in "requires".
constexpr const char* kColumnsFeature = "columns";
constexpr const char* kDeletedFeature = "deleted";
constexpr const char* kWidePixels = "wide-pixels";  // images that readers before it could not have

json ValuesToJson(const ManifestValues& values) {
  return {{"present", values.present}, {"bytes", values.bytes}, {"max_bytes", values.max_bytes}};
}

// Thrown for a member that breaks the format; a caller that knows the file turns it into an Error.
struct Malformed {
  std::string what;
};

// A whole number from 0 to `limit`, of the member with that name; anything else is malformed. `of`:
// the file of the shard that the member describes, if it does.
std::uint64_t Unsigned(const json& value, const char* member, std::uint64_t limit,
                       const std::string& of = {}) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > limit) {
    throw Malformed{"\"" + std::string(member) + "\"" + (of.empty() ? of : " of " + of) +
                    " is not a whole number from 0 to " + std::to_string(limit)};
  }
  return value.get<std::uint64_t>();
}
std::uint64_t UnsignedIn(const json& in, const char* member, std::uint64_t limit,
                         const std::string& of = {}) {
  return Unsigned(in.at(member), member, limit, of);
}

// A member that is a list. Checked because iterating over an object would give its members.
const json& List(const json& in, const char* member) {
  const json& list = in.at(member);
  if (!list.is_array()) throw Malformed{std::string(member) + " is not a list"};
  return list;
}

template <class N>
void RangeFromJson(const json& in, const char* member, std::uint64_t limit, N& low, N& high) {
  const json& range = in.at(member);
  const std::string named = "\"" + std::string(member) + "\" ";
  if (!range.is_array() || range.size() != 2) throw Malformed{named + "does not have two ends"};
  low = static_cast<N>(Unsigned(range.at(0), member, limit));
  high = static_cast<N>(Unsigned(range.at(1), member, limit));
  if (low > high) throw Malformed{named + "ends before it begins"};
}

ImageFigures ImagesFromJson(const json& in) {
  ImageFigures images;
  images.present = UnsignedIn(in, "present", kMaxSamples);
  images.payload_bytes = UnsignedIn(in, "payload_bytes", UINT64_MAX);
  images.max_payload_bytes = UnsignedIn(in, "max_payload_bytes", kMaxPayloadBytes);
  RangeFromJson(in, "width", kMaxImageSide, images.min_width, images.max_width);
  RangeFromJson(in, "height", kMaxImageSide, images.min_height, images.max_height);
  RangeFromJson(in, "channels", kMaxImageChannels, images.min_channels, images.max_channels);
  const auto type = in.at("pixel_type").get<std::string>();
  for (unsigned number = 0; NameOf(images.pixel_type) != type; ++number) {
    if (number > kMaxPixelType) throw Malformed{"an unknown pixel type"};
    images.pixel_type = static_cast<PixelType>(number);
  }
  return images;
}

ManifestValues ValuesFromJson(const json& in) {
  return {UnsignedIn(in, "present", kMaxSamples), UnsignedIn(in, "bytes", UINT64_MAX),
          UnsignedIn(in, "max_bytes", kMaxInflatedBytes)};
}

json ShardToJson(const ManifestShard& shard) {
  json out = {
      {"file", shard.file},       {"id", ToHex(shard.id)},  {"digest", ToHex(shard.digest)},
      {"samples", shard.samples}, {"blocks", shard.blocks}, {"block_samples", shard.block_samples},
      {"bytes", shard.bytes}};
  if (!shard.unknown.empty()) out.update(json::parse(shard.unknown));
  return out;
}

Id128 IdFromJson(const json& in, const char* member, const std::string& of) {
  Id128 id;
  if (!FromHex(in.at(member).get<std::string>(), id)) {
    throw Malformed{"\"" + std::string(member) + "\" of " + of +
                    " is not 32 lower-case hexadecimal digits"};
  }
  return id;
}

ManifestShard ShardFromJson(const json& in) {
  ManifestShard shard;
  shard.file = in.at("file").get<std::string>();
  // Only a plain name: a manifest must not lead a reader to files outside the dataset's folder.
  if (shard.file.empty() || shard.file.size() > kMaxNameBytes || shard.file[0] == '.' ||
      shard.file.find('/') != std::string::npos || shard.file.find('\0') != std::string::npos) {
    throw Malformed{"a shard's file name is not a plain name"};
  }
  shard.id = IdFromJson(in, "id", shard.file);
  shard.digest = IdFromJson(in, "digest", shard.file);
  shard.samples = UnsignedIn(in, "samples", kMaxShardBytes, shard.file);
  shard.blocks = UnsignedIn(in, "blocks", kMaxShardBytes, shard.file);
  shard.block_samples =
      static_cast<std::uint32_t>(UnsignedIn(in, "block_samples", kMaxBlockSamples, shard.file));
  shard.bytes = UnsignedIn(in, "bytes", kMaxShardBytes, shard.file);
  shard.unknown =
      MembersBut({"file", "id", "digest", "samples", "blocks", "block_samples", "bytes"}, in);
  return shard;
}

void CheckVersion(std::uint64_t version, const std::string& file) {
  if (version == kFormatVersion) return;
  throw Error(ErrorCode::kUnsupported, file,
              "is of format version " + std::to_string(version) + "; this build reads version " +
                  std::to_string(kFormatVersion) + ", use another version of Sluice");
}

// Finds the member "version" of the outermost object, and stops the parser there. Keeps no other
// value.
class VersionSearch : public json::json_sax_t {
 public:
  std::optional<std::uint64_t> version;

  bool null() override { return Value(); }
  bool boolean(bool /*value*/) override { return Value(); }
  bool number_integer(std::int64_t /*value*/) override { return Value(); }
  bool number_unsigned(std::uint64_t value) override {
    if (is_next_) version = value;
    return Value();
  }
  bool number_float(double /*value*/, const std::string& /*text*/) override { return Value(); }
  bool string(std::string& /*value*/) override { return Value(); }
  bool binary(json::binary_t& /*value*/) override { return Value(); }
  bool start_object(std::size_t /*members*/) override { return Enter(); }
  bool key(std::string& name) override {
    is_next_ = depth_ == 1 && name == "version";
    return true;
  }
  bool end_object() override { return Leave(); }
  bool start_array(std::size_t /*elements*/) override { return Enter(); }
  bool end_array() override { return Leave(); }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const json::exception& /*error*/) override {
    return false;
  }

 private:
  // Called at each value. Returns whether the parser is to continue.
  bool Value() const { return !is_next_; }
  bool Enter() {
    ++depth_;
    return Value();
  }
  bool Leave() {
    --depth_;
    return true;
  }

  std::size_t depth_ = 0;
  bool is_next_ = false;  // whether the next value is the version
};

void CheckFormat(const json& in, const std::string& file) {
  if (in.at("format") != kFormatName) {
    throw Error(ErrorCode::kCorrupt, file, "is not the manifest of a Sluice dataset");
  }
  // Before any other member is read, since another version may give them another meaning.
  CheckVersion(UnsignedIn(in, "version", UINT32_MAX), file);
  const json required = in.contains("requires") ? List(in, "requires") : json::array();
  const auto known = [](const json& name) {
    return name == kColumnsFeature || name == kDeletedFeature || name == kWidePixels;
  };
  if (!std::ranges::all_of(required, known)) {
    throw Error(ErrorCode::kUnsupported, file,
                "needs features that this build does not know (" + required.dump() +
                    "); use a newer version of Sluice");
  }
}

// Members that change what the dataset holds. A reader that does not know them must not open it, so
// they are refused without the feature in "requires".
const json* RequiredList(const json& in, const char* member, const char* feature) {
  const auto found = in.find(member);
  if (found == in.end()) return nullptr;
  List(in, member);
  const auto required = in.find("requires");
  if (required == in.end() || std::ranges::find(*required, json(feature)) == required->end()) {
    throw Malformed{"it has \"" + std::string(member) + "\", and \"requires\" does not name \"" +
                    feature + "\""};
  }
  return &*found;
}

void RequireOnly(std::initializer_list<std::string_view> known, const json& in, const char* where) {
  if (!in.is_object()) throw Malformed{std::string(where) + " is not an object"};
  for (const auto& member : in.items()) {
    if (std::ranges::find(known, member.key()) == known.end())
      throw Malformed{std::string(where) + " has the member \"" + member.key() + "\""};
  }
}

void TotalsFromJson(const json& in, Manifest& manifest) {
  manifest.samples = UnsignedIn(in, "samples", kMaxSamples);
  for (const json& images : List(in, "images"))
    manifest.images.push_back(ImagesFromJson(images));
  if (in.contains("values")) {
    for (const json& values : List(in, "values"))
      manifest.values.push_back(ValuesFromJson(values));
  }
  for (const json& count : List(in, "class_counts")) {
    manifest.class_counts.push_back(Unsigned(count, "class_counts", kMaxSamples));
  }
}

Error TooManyShards(const std::string& file) {
  return {ErrorCode::kLimit, file, "names more than 1000000 shards"};
}

Manifest ColumnFromJson(const json& in, const Schema& stored, const std::string& file) {
  RequireOnly({"schema", "samples", "images", "values", "class_counts", "shards"}, in, "a column");
  Manifest column;
  column.schema = ColumnSchemaFromParsed(in.at("schema"), stored, file);
  TotalsFromJson(in, column);
  const json& shards = List(in, "shards");
  if (shards.size() > kMaxShards) throw TooManyShards(file);
  for (const json& shard : shards)
    column.shards.push_back(ShardFromJson(shard));
  return column;
}

void ChangesFromJson(const json& in, const std::string& file, Manifest& manifest) {
  if (const json* const columns = RequiredList(in, "columns", kColumnsFeature)) {
    if (columns->size() > kMaxFields)
      throw Error(ErrorCode::kLimit, file, "has more than 256 columns");
    for (const json& column : *columns)
      manifest.columns.push_back(ColumnFromJson(column, manifest.schema, file));
  }
  if (const json* const hidden = RequiredList(in, "hidden", kColumnsFeature))
    manifest.hidden = hidden->get<std::vector<std::string>>();
  if (const json* const deleted = RequiredList(in, "deleted", kDeletedFeature)) {
    if (deleted->size() > kMaxDeletedRuns) {
      throw Error(ErrorCode::kLimit, file, "has more than 1048576 runs of deleted samples");
    }
    for (const json& run : *deleted) {
      if (!run.is_array() || run.size() != 2)
        throw Malformed{"a run of deleted samples is not a pair of numbers"};
      manifest.deleted.push_back({Unsigned(run.at(0), "deleted", kMaxSamples),
                                  Unsigned(run.at(1), "deleted", kMaxSamples)});
    }
  }
  // For people, like "made": whatever else stands there is left out.
  const auto change = in.find("change");
  if (change == in.end() || !change->is_object()) return;
  ManifestChange known;
  const auto text = [&](const char* member) {
    const auto found = change->find(member);
    return found != change->end() && found->is_string() ? found->get<std::string>() : "";
  };
  const auto samples = change->find("samples");
  if (!FromHex(text("parent"), known.parent) || samples == change->end() ||
      !samples->is_number_unsigned()) {
    return;
  }
  known.samples = samples->get<std::uint64_t>();
  known.by = text("by");
  known.note = text("note");
  manifest.change = std::move(known);
}

// Makes the shards while the text is parsed, so that memory never holds all of them as JSON.
class ShardList {
 public:
  void Take(const json& entry) {
    // Counts on without storing: Done() reports it when the other members have been checked.
    if (++count_ > kMaxShards || error_ != nullptr) return;
    try {
      shards_.push_back(ShardFromJson(entry));
    } catch (...) {
      error_ = std::current_exception();  // thrown by Done(): errors of other members come first
    }
  }

  // Throws what the first faulty entry threw.
  std::vector<ManifestShard> Done(const std::string& file) {
    if (count_ > kMaxShards) {
      throw TooManyShards(file);
    }
    if (error_ != nullptr) std::rethrow_exception(error_);
    return std::move(shards_);
  }

 private:
  std::vector<ManifestShard> shards_;
  std::uint64_t count_ = 0;
  std::exception_ptr error_;
};

Manifest FromJson(const json& in, ShardList& shards, const std::string& file) {
  CheckFormat(in, file);
  Manifest manifest;
  manifest.name = in.at("name").get<std::string>();
  manifest.schema = SchemaFromParsed(in.at("schema"), file);
  TotalsFromJson(in, manifest);
  if (!in.at("made").is_object()) throw Malformed{"\"made\" is not an object"};
  manifest.made = in.at("made").dump();
  // Another writer may mean something else by "meta". Then it is kept like an unknown member: the
  // list of known members below has "id" twice, and no "meta".
  const auto meta = in.find("meta");
  const bool is_text =
      meta != in.end() && meta->is_object() && !meta->contains("") &&
      std::all_of(meta->begin(), meta->end(), [](const json& value) { return value.is_string(); });
  if (is_text) manifest.meta = meta->get<Metadata>();
  manifest.unknown = MembersBut({"id", "format", "version", "requires", "name", "samples", "schema",
                                 "images", "values", "class_counts", "made", "shards", "columns",
                                 "hidden", "deleted", "change", is_text ? "meta" : "id"},
                                in);
  ChangesFromJson(in, file, manifest);
  List(in, "shards");  // empty, since its elements were streamed
  manifest.shards = shards.Done(file);
  const std::size_t value_fields = static_cast<std::size_t>(
      std::count_if(manifest.schema.fields.begin(), manifest.schema.fields.end(), HasValues));
  if (in.contains("values") && manifest.values.size() != value_fields)
    throw Malformed{"\"values\" does not match the schema"};
  CheckManifest(manifest, file);
  return manifest;
}

}  // namespace

ImageFigures FiguresOf(std::uint32_t width, std::uint32_t height, std::uint8_t channels,
                       PixelType type, std::uint64_t bytes) noexcept {
  return {1, bytes, bytes, width, width, height, height, channels, channels, type};
}

json FiguresToJson(const ImageFigures& images) {
  return {{"present", images.present},
          {"payload_bytes", images.payload_bytes},
          {"max_payload_bytes", images.max_payload_bytes},
          {"width", {images.min_width, images.max_width}},
          {"height", {images.min_height, images.max_height}},
          {"channels", {images.min_channels, images.max_channels}},
          {"pixel_type", NameOf(images.pixel_type)}};
}

ImageFigures FiguresFromJson(const json& in) {
  try {
    return ImagesFromJson(in);
  } catch (const Malformed& malformed) {
    throw Error(ErrorCode::kCorrupt, malformed.what);
  }
}

void ManifestValues::Add(const ManifestValues& other) noexcept {
  present += other.present;
  bytes += other.bytes;
  max_bytes = std::max(max_bytes, other.max_bytes);
}

std::string OldManifestName(const Id128& id) {
  return "manifest-" + ToHex(id) + ".json";
}

bool IsOldManifestName(std::string_view name) noexcept {
  return name.starts_with("manifest-") && name.ends_with(".json");
}

ManifestPlace ManifestPlace::Of(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  if (name != kManifestName && !IsOldManifestName(name)) return {path};
  return {path.has_parent_path() ? path.parent_path() : ".", name};
}

void CheckMetadata(const Metadata& meta) {
  try {
    json(meta).dump();
  } catch (const json::exception&) {
    throw Error(ErrorCode::kInvalidArgument, "a name or a value of the metadata is not UTF-8");
  }
  if (meta.contains("")) {
    throw Error(ErrorCode::kInvalidArgument, "a name of the metadata is empty");
  }
}

void ChangeMetadata(const Metadata& changes, Metadata& meta) {
  for (const auto& [name, value] : changes)
    meta[name] = value;
  std::erase_if(meta, [](const auto& member) { return member.second.empty(); });
}

std::vector<std::string> KeepMembers(const Manifest& from, Manifest& manifest) {
  std::vector<std::string> others;
  for (const auto& [name, value] : from.meta) {
    const auto [there, is_new] = manifest.meta.emplace(name, value);
    if (!is_new && there->second != value) others.push_back(name);
  }
  if (manifest.schema_text.empty() && from.schema == manifest.schema)
    manifest.schema_text = from.schema_text;
  manifest.unknown = JoinMembers(manifest.unknown, from.unknown);
  return others;
}

namespace {

// A schema that another version wrote keeps its text, with members that this one does not know, as
// long as it still says the same.
std::string SchemaTextOf(const Manifest& manifest) {
  std::string text = SchemaToJson(manifest.schema);
  const bool same = !manifest.schema_text.empty() &&
                    SchemaToJson(SchemaFromJson(manifest.schema_text, kManifestName)) == text;
  return same ? manifest.schema_text : text;
}

}  // namespace

namespace {

json ListOfFigures(const std::vector<ImageFigures>& figures) {
  json images = json::array();
  for (const ImageFigures& field : figures)
    images.push_back(FiguresToJson(field));
  return images;
}

json ListOfValues(const std::vector<ManifestValues>& sums) {
  json values = json::array();
  for (const ManifestValues& field : sums)
    values.push_back(ValuesToJson(field));
  return values;
}

std::string ShardsText(const std::vector<ManifestShard>& shards) {
  std::string text;
  for (std::size_t i = 0; i < shards.size(); ++i)
    text += (i == 0 ? "\n" : ",\n") + ShardToJson(shards[i]).dump();
  return text;
}

// Whether the shards may have images that readers before kWidePixels could not have.
bool HasWidePixels(const Manifest& manifest) {
  return std::ranges::any_of(manifest.images, [](const ImageFigures& field) {
    return field.pixel_type > PixelType::kUint16 || field.max_channels > 4;
  });
}

// `requires`, and the members that only a changed dataset has; empty for all others.
std::string ChangesText(const Manifest& manifest) {
  std::string text;
  json features = json::array();
  if (!manifest.columns.empty() || !manifest.hidden.empty()) features.push_back(kColumnsFeature);
  if (!manifest.deleted.empty()) features.push_back(kDeletedFeature);
  if (HasWidePixels(manifest) || std::ranges::any_of(manifest.columns, HasWidePixels))
    features.push_back(kWidePixels);
  if (!features.empty()) text += "\"requires\":" + features.dump() + ",\n";
  if (manifest.change) {
    text += "\"change\":" +
            json{{"parent", ToHex(manifest.change->parent)},
                 {"samples", manifest.change->samples},
                 {"by", manifest.change->by},
                 {"note", manifest.change->note}}
                .dump(-1, ' ', false, json::error_handler_t::replace) +
            ",\n";
  }
  if (!manifest.deleted.empty()) {
    json runs = json::array();
    for (const DeletedRun& run : manifest.deleted)
      runs.push_back({run.first, run.count});
    text += "\"deleted\":" + runs.dump() + ",\n";
  }
  if (!manifest.hidden.empty()) text += "\"hidden\":" + json(manifest.hidden).dump() + ",\n";
  if (manifest.columns.empty()) return text;
  text += "\"columns\":[";
  for (std::size_t c = 0; c < manifest.columns.size(); ++c) {
    const Manifest& column = manifest.columns[c];
    text += c == 0 ? "\n{" : ",\n{";
    text += "\"schema\":" + SchemaToJson(column.schema) + ",\n";
    text += "\"samples\":" + std::to_string(column.samples) + ",\n";
    text += "\"images\":" + ListOfFigures(column.images).dump() + ",\n";
    text += "\"values\":" + ListOfValues(column.values).dump() + ",\n";
    text += "\"class_counts\":" + json(column.class_counts).dump() + ",\n";
    text += "\"shards\":[" + ShardsText(column.shards) + "\n]}";
  }
  return text + "],\n";
}

}  // namespace

std::string ManifestToJson(const Manifest& manifest, Id128& id) {
  // Written by hand so that `id` comes first and each shard has its own line.
  std::string rest = "\",\n";
  rest += "\"format\":\"" + std::string(kFormatName) + "\",\n";
  rest += "\"version\":" + std::to_string(kFormatVersion) + ",\n";
  rest += "\"name\":" + json(manifest.name).dump(-1, ' ', false, json::error_handler_t::replace);
  rest += ",\n\"samples\":" + std::to_string(manifest.samples) + ",\n";
  rest += "\"schema\":" + SchemaTextOf(manifest) + ",\n";
  rest += "\"images\":" + ListOfFigures(manifest.images).dump() + ",\n";
  if (!manifest.values.empty())
    rest += "\"values\":" + ListOfValues(manifest.values).dump() + ",\n";
  rest += "\"class_counts\":" + json(manifest.class_counts).dump() + ",\n";
  if (!manifest.meta.empty()) rest += "\"meta\":" + json(manifest.meta).dump() + ",\n";
  if (!manifest.unknown.empty()) {
    const json unknown = json::parse(manifest.unknown);
    for (const auto& [name, value] : unknown.items()) {
      // Our "meta" replaces an unknown one of another writer.
      if (name != "meta" || manifest.meta.empty())
        rest += json(name).dump() + ":" + value.dump() + ",\n";
    }
  }
  rest += ChangesText(manifest);
  rest += "\"made\":" + manifest.made + ",\n\"shards\":[" + ShardsText(manifest.shards) + "\n]}\n";
  id = Hash128(AsBytes(rest));
  return std::string(kOpening) + ToHex(id) + rest;
}

Manifest ManifestFromJson(std::string_view text, const std::string& file, Id128& id) {
  if (text.size() < kOpening.size() + kIdDigits || !text.starts_with(kOpening) ||
      !FromHex(text.substr(kOpening.size(), kIdDigits), id)) {
    throw Error(ErrorCode::kCorrupt, file, "is not the manifest of a Sluice dataset");
  }
  // The digest is compared before the text becomes objects, which take three times its memory.
  if (Hash128(AsBytes(text.substr(kOpening.size() + kIdDigits))) != id) {
    // Another version may compute the digest differently.
    VersionSearch search;
    json::sax_parse(text, &search);
    if (search.version) CheckVersion(*search.version, file);
    throw Error(ErrorCode::kCorrupt, file,
                "its digest does not match its content: it was damaged or edited; restore it or "
                "convert again");
  }
  try {
    ShardList shards;
    std::string fault;
    const json value =
        ParseJson(text, fault, {"shards", [&shards](const json& entry) { shards.Take(entry); }});
    if (!fault.empty()) throw Malformed{"it " + fault};
    Manifest manifest = FromJson(value, shards, file);
    const std::string_view schema = MemberText(text, "schema");
    if (schema != SchemaToJson(manifest.schema)) manifest.schema_text = schema;
    return manifest;
  } catch (const json::exception&) {
    throw Error(ErrorCode::kCorrupt, file,
                "cannot be read: a member is missing or has the wrong type");
  } catch (const Malformed& malformed) {
    throw Error(ErrorCode::kCorrupt, file, "cannot be read: " + malformed.what);
  }
}

Manifest ReadManifest(const std::filesystem::path& of, Id128& id) {
  const ManifestPlace place = ManifestPlace::Of(of);
  const std::filesystem::path& folder = place.folder;
  const std::filesystem::path path = folder / place.name;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    if (error) {  // it may still exist
      throw SystemError(ErrorCode::kIo, path.string(), "cannot be examined: " + error.message(),
                        error.value());
    }
    if (place.is_old()) {
      throw Error(ErrorCode::kNotFound, path.string(),
                  "is not there; give the dataset's folder for the manifest that is in use");
    }
    std::error_code ignored;
    if (std::filesystem::exists(folder / kPlanName, ignored)) {
      throw Error(ErrorCode::kUnfinished, folder.string(),
                  "the conversion into this dataset was not finished; run the same `sluice "
                  "convert` command again to resume");
    }
    if (!std::filesystem::exists(folder, ignored)) {
      throw Error(ErrorCode::kNotFound, folder.string(),
                  folder.empty() ? "the path of the dataset is empty"
                  : folder.string().starts_with("~")
                      ? "there is no dataset here: ~ is not the home "
                        "folder in a program; give the whole path"
                      : "there is no dataset here: the folder does not exist");
    }
    if (WorkFolder::IsAt(folder)) {
      throw Error(ErrorCode::kNotFound, folder.string(),
                  "is not a dataset yet: the command or program that makes it has not finished. If "
                  "it was stopped, run it again");
    }
    std::filesystem::path part;  // the first dataset inside, as `sluice convert --split` makes them
    for (std::filesystem::directory_iterator inside(folder, ignored), end; inside != end;
         inside.increment(ignored)) {
      if (inside->is_directory(ignored) && (part.empty() || inside->path() < part) &&
          std::filesystem::exists(inside->path() / kManifestName, ignored)) {
        part = inside->path();
      }
    }
    throw Error(ErrorCode::kNotFound, folder.string(),
                part.empty() ? "is not a dataset: it has no manifest.json; make one with `sluice "
                               "convert SOURCE DATASET`"
                             : "is not a dataset, but holds datasets: name one of them, such as " +
                                   part.string());
  }
  std::vector<std::byte> content;
  ReadFile(path, kMaxManifestBytes, content);
  return ManifestFromJson(AsText(content), path.string(), id);
}

}  // namespace sluice
