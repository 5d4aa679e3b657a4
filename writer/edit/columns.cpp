// Fields with shards of their own (`sluice column`): a column is written as the shards of an
// ordinary dataset without keys, into the dataset's folder, and then named by a new manifest.
//
// Its rows come from one of three places (ColumnRows): another dataset, a table, or memory. Row n
// belongs to sample n, or the row with a sample's key belongs to that sample. Everything that may
// be wrong with the rows is found before the manifest is written, so an error changes nothing.
//
// Blocks: a small column is read once by loaders, so its blocks have the usual size. Of a larger
// one, a loader reads the blocks next to the image blocks that it has open, in random order. Then
// usual blocks would nearly double what an epoch reads. So these hold the samples of the fewest
// whole image blocks that make 16 KiB.
#include "writer/edit/columns.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include <sluice/dataset_edit.h>
#include <sluice/error.h>
#include <sluice/nearest_name.h>

#include "format/ascii.h"
#include "format/boxes_and_points.h"
#include "format/disk/checksum.h"
#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "format/disk/shard_build.h"
#include "writer/edit/dataset_build.h"
#include "writer/edit/new_version.h"
#include "writer/edit/table_columns.h"
#include "writer/shard_writer.h"
#include "writer/source/list/source_list.h"
#include "writer/text.h"

namespace sluice {

namespace {

constexpr std::uint64_t kSmallColumn = std::uint64_t{64} << 20;
constexpr std::uint64_t kLeastBlockBytes = 16384;

[[noreturn]] void Refuse(const std::string& file, const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, file, what);
}

std::string Quoted(const std::string& name) {
  return "field \"" + name + "\"";
}

// The rows of another dataset.
class DatasetRows : public ColumnRows {
 public:
  DatasetRows(const std::filesystem::path& from, const ColumnOptions& options,
              const std::stop_token& stop)
      : dataset_(from, stop, Changed::kTaken), rows_(dataset_, options.fields) {
    if (!dataset_.manifest.deleted.empty())
      Refuse(dataset_.folder.string(),
             "has deleted samples, so its rows are not all there; make a "
             "dataset without them with `sluice subset`");
  }
  std::string name() const override { return dataset_.folder.string(); }
  const Schema& schema() const override { return rows_.schema(); }
  std::uint64_t size() const override { return dataset_.manifest.samples; }
  EncodedSample Row(std::uint64_t row) override { return rows_.Values(row); }
  std::uint64_t Bytes() const override {
    std::uint64_t bytes = 0;
    const VisibleFields visible = VisibleFields::Of(dataset_.manifest);
    const Manifest totals = WithVisibleFields(dataset_.manifest);
    std::size_t image = 0;
    std::size_t value = 0;
    for (const Field& field : visible.schema.fields) {
      const bool is_image = field.kind == FieldKind::kImage;
      const std::uint64_t of_images = is_image ? totals.images[image++].payload_bytes : 0;
      const bool has_values = HasValues(field) && !totals.values.empty();
      const std::uint64_t of_values = has_values ? totals.values[value++].bytes : 0;
      if (schema().Find(field.name) != Schema::kNone) bytes += of_images + of_values;
    }
    return bytes + size() * RecordLayout(ColumnAlone(schema(), visible.schema)).record_bytes();
  }
  void ForEachKey(const std::function<void(std::string_view)>& visit) override {
    ::sluice::ForEachKey(dataset_, visit);
  }
  std::string Place(std::uint64_t row) const override { return "sample " + std::to_string(row); }

 private:
  const StoredDataset dataset_;
  VisibleRows rows_;
};

// Writes the shards of a column.
class ColumnWriter {
 public:
  ColumnWriter(NewVersion& version, const std::filesystem::path& folder, const Schema& schema,
               std::uint32_t block_samples, const EditHooks& hooks)
      : ColumnWriter(version, folder, BeginManifest("", schema), block_samples, hooks) {}
  // Adds shards to a column.
  ColumnWriter(NewVersion& version, const std::filesystem::path& folder, Manifest column,
               std::uint32_t block_samples, const EditHooks& hooks)
      : version_(version),
        folder_(folder),
        schema_(column.schema),
        layout_(schema_),
        header_bytes_(BuildShardHeader(schema_, {}, 1).size()),
        block_samples_(block_samples),
        hooks_(hooks),
        column_(std::move(column)) {
    if (hooks.direct) direct_.emplace();
    const std::string text = SchemaToJson(schema_) + ToHex(version.manifest().change->parent);
    identity_ = Hash128(AsBytes(text));
  }

  void Add(EncodedSample sample) {
    CheckLimits(sample, schema_, layout_, header_bytes_);
    if (shard_ && (shard_->bytes() > kDefaultShardBytes || !shard_->Fits(sample, kMaxShardBytes)))
      Close();
    Open();
    shard_->Add(std::move(sample));
  }

  // Rows of a single array field.
  void AddArrays(Bytes values) {
    const std::size_t row = layout_.entry_bytes(0);
    while (!values.empty()) {
      Open();
      const std::uint64_t added = shard_->AddArrays(values, kDefaultShardBytes);
      values = values.subspan(added * row);
      if (!values.empty()) Close();
    }
  }

  Manifest Finish() {
    if (shard_) Close();
    return std::move(column_);
  }

 private:
  void Open() {
    if (shard_) return;
    const Id128 id = ShardId(std::as_bytes(std::span(identity_.bytes)), number_++);
    shard_.emplace(schema_, folder_,
                   NewShard{.name = version_.NameFor(schema_, id),
                            .id = id,
                            .block_samples = block_samples_,
                            .direct = direct_ ? &*direct_ : nullptr});
  }
  void Close() {
    AddShard(shard_->Finish({}, FolderSync::kByCaller), column_);
    shard_.reset();
    if (hooks_.stop.stop_requested()) ThrowStopped();
  }

  NewVersion& version_;
  const std::filesystem::path folder_;
  const Schema schema_;
  const RecordLayout layout_;
  const std::uint64_t header_bytes_;
  const std::uint32_t block_samples_;
  const EditHooks& hooks_;
  Manifest column_;
  Id128 identity_;
  std::uint32_t number_ = 0;
  std::optional<DirectBuffer> direct_;
  std::optional<ShardWriter> shard_;
};

std::uint32_t BlockSamplesOf(const Manifest& dataset, std::uint64_t bytes) {
  const std::uint64_t mean =
      std::max<std::uint64_t>(1, bytes / std::max<std::uint64_t>(1, dataset.samples));
  if (bytes <= kSmallColumn) return AutomaticBlockSamples(mean);
  const std::uint64_t of_images = dataset.shards[0].block_samples;
  const std::uint64_t blocks = (kLeastBlockBytes - 1) / (mean * of_images) + 1;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks * of_images, kMaxBlockSamples));
}

// Checks the fields to come before anything is written.
void CheckFields(const StoredDataset& dataset, const std::vector<std::string>& fields,
                 bool replace) {
  const VisibleFields visible = VisibleFields::Of(dataset.manifest);
  const std::string folder = dataset.folder.string();
  std::unordered_set<std::string_view> names;
  for (const std::string& name : fields) {
    if (!names.insert(name).second) Refuse(folder, Quoted(name) + " is named twice");
    const std::size_t at = visible.schema.Find(name);
    if (!replace && at != Schema::kNone) {
      Refuse(folder, "has a " + Quoted(name) +
                         " already; `sluice column replace` puts other values in its place");
    }
    if (!replace) continue;
    if (at == Schema::kNone) {
      std::vector<std::string> known;
      for (const Field& other : visible.schema.fields)
        known.push_back(other.name);
      Refuse(folder,
             "has no " + Quoted(name) + " to replace" + NamesInstead(name, known, "it has"));
    }
    const Field& old = visible.schema.fields[at];
    if (old.kind == FieldKind::kImage && old.role != Role::kMask && visible.sources[at] == 0) {
      Refuse(folder,
             Quoted(name) + " is the picture of its samples, which cannot be replaced by a column");
    }
  }
}

// Checks a manifest to come: the fields that users would see must fit each other.
void CheckVisible(const std::string& folder, const Manifest& manifest) {
  const VisibleFields visible = VisibleFields::Of(manifest);
  if (visible.schema.fields.empty()) Refuse(folder, "would have no field left");
  try {
    visible.schema.Validate(false);
  } catch (const Error& error) {
    Refuse(folder, error.sentence());
  }
  CheckDrawnFields(visible.schema);
  const std::size_t label = visible.schema.ClassField();
  if (label == Schema::kNone) return;
  const std::uint32_t source = visible.sources[label];
  const Schema& own = source == 0 ? manifest.schema : manifest.columns[source - 1].schema;
  const std::string& name = visible.schema.fields[label].name;
  if (own.ClassField() != own.Find(name)) {
    Refuse(folder, Quoted(name) +
                       " would become the label that says a sample's class, and its classes were "
                       "never counted; replace it with `sluice column replace` first");
  }
}

// Columns all of whose fields others have replaced, or that are hidden, are no longer named.
void DropUnused(Manifest& manifest) {
  const VisibleFields visible = VisibleFields::Of(manifest);
  for (std::size_t c = manifest.columns.size(); c-- > 0;) {
    const auto used = std::ranges::find(visible.sources, static_cast<std::uint32_t>(c + 1));
    if (used == visible.sources.end())
      manifest.columns.erase(manifest.columns.begin() + static_cast<std::ptrdiff_t>(c));
  }
  std::erase_if(manifest.hidden, [&manifest](const std::string& name) {
    const auto has = [&name](const Manifest& source) {
      return source.schema.Find(name) != Schema::kNone;
    };
    return !has(manifest) && std::ranges::none_of(manifest.columns, has);
  });
}

std::string NamesOf(const std::vector<Field>& fields) {
  std::string names;
  for (const Field& field : fields)
    names += " " + field.name;
  return names;
}

// Takes the column into the manifest, and finishes it.
VersionSummary TakeColumn(NewVersion& version, Manifest column, std::uint64_t missing) {
  const std::uint64_t shards = column.shards.size();
  std::uint64_t bytes = 0;
  for (const ManifestShard& shard : column.shards)
    bytes += shard.bytes;
  Manifest& manifest = version.edited();
  std::erase_if(manifest.hidden, [&column](const std::string& name) {
    return column.schema.Find(name) != Schema::kNone;
  });
  manifest.columns.push_back(std::move(column));
  DropUnused(manifest);
  VersionSummary summary = version.FinishVersion();
  summary.missing = missing;
  summary.shards = shards;
  summary.bytes = bytes;
  return summary;
}

void RequireColumnsPossible(const StoredDataset& dataset) {
  const Manifest& manifest = dataset.manifest;
  if (manifest.samples == 0) Refuse(dataset.folder.string(), "has no samples");
  if (manifest.values.size() != NoValues(manifest.schema).size()) {
    Refuse(dataset.folder.string(),
           "was made by a version of Sluice that did not note the sizes of values, which columns "
           "need; `sluice append --repack` notes them");
  }
}

// The row of each sample: by number, or by key. kNoRow: none.
constexpr std::uint64_t kNoRow = UINT64_MAX;

// The samples without a row that need one, since they were not deleted: how many, and the first.
std::pair<std::uint64_t, std::uint64_t> LackingRows(const Manifest& manifest,
                                                    const std::vector<std::uint64_t>& of_samples) {
  std::pair<std::uint64_t, std::uint64_t> lacking;
  for (std::uint64_t sample = 0; sample < of_samples.size(); ++sample) {
    if (of_samples[sample] != kNoRow || IsDeleted(manifest.deleted, sample)) continue;
    if (lacking.first++ == 0) lacking.second = sample;
  }
  return lacking;
}

std::vector<std::uint64_t> RowsByKey(const StoredDataset& dataset, ColumnRows& rows) {
  std::unordered_map<std::string, std::uint64_t> by_key;
  std::uint64_t row = 0;
  rows.ForEachKey([&](std::string_view key) {
    const auto [there, is_new] = by_key.emplace(std::string(key), row);
    if (!is_new) {
      Refuse(rows.name(), rows.Place(row) + " has the key \"" + ToUtf8(std::string(key)) +
                              "\" of " + rows.Place(there->second));
    }
    ++row;
  });
  std::vector<std::uint64_t> of_samples;
  std::vector<bool> used(row);
  ForEachKey(dataset, [&](std::string_view key) {
    const auto found = by_key.find(std::string(key));
    of_samples.push_back(found == by_key.end() ? kNoRow : found->second);
    if (found != by_key.end()) used[found->second] = true;
  });
  const auto unused = std::ranges::find(used, false);
  if (unused != used.end()) {
    const auto at = static_cast<std::uint64_t>(unused - used.begin());
    for (const auto& [key, number] : by_key) {
      if (number == at) {
        Refuse(rows.name(), rows.Place(at) + " has the key \"" + ToUtf8(key) +
                                "\", which no sample of " + dataset.folder.string() + " has");
      }
    }
  }
  return of_samples;
}

// Throws for a label that is not a class. `field`: one that numbers classes.
template <class Place>
void CheckLabel(const std::string& file, const Field& field, Bytes elements, const Place& place) {
  const std::int64_t number = ClassNumber(field, elements);
  if (IsClass(field, number)) return;
  throw Error(ErrorCode::kInvalidArgument, file, place(),
              Quoted(field.name) + " is " + std::to_string(number) +
                  ", and its classes have the numbers 0 to " +
                  std::to_string(field.classes.size() - 1));
}

Schema WithMissing(Schema schema, const ColumnOptions& options, bool any_missing) {
  if (!any_missing || !options.missing) return schema;
  for (Field& field : schema.fields) {
    if (field.kind == FieldKind::kArray)
      field.attributes["missing"] = MissingText(*options.missing);
  }
  return schema;
}

std::string CommandOf(bool replace, const std::vector<Field>& fields) {
  return std::string("sluice column ") + (replace ? "replace" : "add") + NamesOf(fields);
}

VersionSummary ChangeColumns(const std::filesystem::path& path, const std::filesystem::path& from,
                             const ColumnOptions& options, bool replace, const EditHooks& hooks) {
  if (options.fields.empty()) Refuse(path.string(), "no field was named to take from the source");
  const LockedDataset locked(path, Changed::kTaken);
  const StoredDataset& dataset = locked.stored;
  const std::string folder = dataset.folder.string();
  RequireColumnsPossible(dataset);
  CheckFields(dataset, options.fields, replace);
  std::unique_ptr<ColumnRows> rows;
  if (IsTable(from)) {
    rows = OpenTableColumns(from, options, VisibleFields::Of(dataset.manifest).schema, hooks.stop);
  } else {
    rows = std::make_unique<DatasetRows>(from, options, hooks.stop);
  }
  std::vector<std::uint64_t> of_samples;
  if (options.by_key) {
    of_samples = RowsByKey(dataset, *rows);
  } else if (rows->size() != dataset.manifest.samples) {
    Refuse(rows->name(), "has " + std::to_string(rows->size()) + " rows, and " + folder + " has " +
                             std::to_string(dataset.manifest.samples) +
                             " samples; give a row for each sample, or match rows by their keys "
                             "(--by-key)");
  }
  const auto [missing, first_missing] = LackingRows(dataset.manifest, of_samples);
  const bool has_arrays = std::ranges::any_of(
      rows->schema().fields, [](const Field& field) { return field.kind == FieldKind::kArray; });
  if (missing > 0 && has_arrays && !options.missing) {
    Refuse(rows->name(), "has no row for " + std::to_string(missing) + " samples of " + folder +
                             ", such as \"" + KeyOfSample(dataset, first_missing) +
                             "\"; give their value (--missing VALUE)");
  }
  const Schema schema = WithMissing(rows->schema(), options, missing > 0);
  Manifest trial = dataset.manifest;
  trial.columns.push_back(BeginManifest("", schema));
  std::erase_if(trial.hidden,
                [&schema](const std::string& name) { return schema.Find(name) != Schema::kNone; });
  CheckVisible(folder, trial);

  NewVersion version(locked, true, hooks.direct);
  version.Record(CommandOf(replace, schema.fields), options.note);
  ColumnWriter writer(version, dataset.folder, schema,
                      BlockSamplesOf(dataset.manifest, rows->Bytes()), hooks);
  EncodedSample empty;
  empty.fields.resize(schema.fields.size());
  const bool any_empty = std::ranges::find(of_samples, kNoRow) != of_samples.end();
  for (std::size_t f = 0; f < schema.fields.size() && any_empty; ++f) {
    if (schema.fields[f].kind == FieldKind::kArray)
      empty.fields[f].bytes = ElementsOf(schema.fields[f], options.missing.value_or(0), folder);
  }
  std::vector<std::size_t> labels;
  for (std::size_t f = 0; f < schema.fields.size(); ++f)
    if (schema.fields[f].numbers_classes()) labels.push_back(f);
  constexpr std::uint64_t kReport = 1024;
  for (std::uint64_t sample = 0; sample < dataset.manifest.samples; ++sample) {
    if (sample % kReport == 0) {
      if (hooks.stop.stop_requested()) ThrowStopped();
      if (hooks.on_progress) hooks.on_progress(sample, dataset.manifest.samples);
    }
    const std::uint64_t row = of_samples.empty() ? sample : of_samples[sample];
    EncodedSample values = row == kNoRow ? empty : rows->Row(row);
    try {
      for (const std::size_t f : labels)
        CheckLabel(rows->name(), schema.fields[f], values.fields[f].bytes,
                   [&] { return rows->Place(row); });
      writer.Add(std::move(values));
    } catch (const Error& error) {
      if (!error.file().empty()) throw;
      throw Error(error.code(), rows->name(), row == kNoRow ? "" : rows->Place(row),
                  error.sentence());
    }
  }
  return TakeColumn(version, writer.Finish(), missing + rows->gaps());
}

VersionSummary ChangeColumn(const std::filesystem::path& path, const ColumnValues& column,
                            const ColumnOptions& options, bool replace, const EditHooks& hooks) {
  const Field& field = column.field;
  if (field.kind != FieldKind::kArray) {
    Refuse(path.string(), Quoted(field.name) +
                              " is not an array of one shape; write such values with a "
                              "DatasetWriter, and add them from that dataset");
  }
  const LockedDataset locked(path, Changed::kTaken);
  const StoredDataset& dataset = locked.stored;
  const std::uint64_t samples = dataset.manifest.samples;
  RequireColumnsPossible(dataset);
  Schema schema{{field}};
  CheckFields(dataset, {field.name}, replace);
  const std::uint64_t row = field.elements() * SizeOf(field.dtype);
  const std::uint64_t rows = row == 0 ? 0 : column.values.size() / row;
  const bool all = !column.samples;
  const std::uint64_t given = all ? samples : column.samples->size();
  const std::string folder = dataset.folder.string();
  if (row == 0 || column.values.size() % row != 0 || rows != given) {
    Refuse(folder, Quoted(field.name) + " is given " + std::to_string(rows) + " rows for " +
                       std::to_string(given) + " samples");
  }
  std::vector<std::byte> ordered;
  std::uint64_t missing = 0;
  if (!all) {
    std::vector<std::uint64_t> of_samples(samples, kNoRow);
    for (std::uint64_t i = 0; i < rows; ++i) {
      const std::uint64_t sample = (*column.samples)[i];
      if (sample >= samples) {
        Refuse(folder, "has " + std::to_string(samples) + " samples, so there is no sample " +
                           std::to_string(sample) + " (row " + std::to_string(i) + ")");
      }
      if (of_samples[sample] != kNoRow) {
        Refuse(folder, "sample " + std::to_string(sample) + " is given twice (rows " +
                           std::to_string(of_samples[sample]) + " and " + std::to_string(i) + ")");
      }
      of_samples[sample] = i;
    }
    std::uint64_t first = 0;
    std::tie(missing, first) = LackingRows(dataset.manifest, of_samples);
    if (missing > 0 && !options.missing) {
      Refuse(folder, "sample " + std::to_string(first) + " is given no row of " +
                         Quoted(field.name) +
                         "; give the value of such samples "
                         "(missing)");
    }
    const std::vector<std::byte> other =
        rows < samples ? ElementsOf(field, options.missing.value_or(0), folder)
                       : std::vector<std::byte>();
    ordered.resize(samples * row);
    for (std::uint64_t sample = 0; sample < samples; ++sample) {
      const std::uint64_t from = of_samples[sample];
      const std::byte* const value =
          from == kNoRow ? other.data() : column.values.data() + from * row;
      std::memcpy(ordered.data() + sample * row, value, row);
    }
  }
  const Bytes values = all ? Bytes(column.values) : Bytes(ordered);
  if (field.numbers_classes()) {
    for (std::uint64_t sample = 0; sample < samples; ++sample) {
      CheckLabel(folder, field, values.subspan(sample * row, row),
                 [sample] { return "sample " + std::to_string(sample); });
    }
  }
  schema = WithMissing(schema, options, missing > 0);
  Manifest trial = dataset.manifest;
  trial.columns.push_back(BeginManifest("", schema));
  std::erase(trial.hidden, field.name);
  CheckVisible(folder, trial);
  NewVersion version(locked, true, hooks.direct);
  version.Record(CommandOf(replace, schema.fields), options.note);
  ColumnWriter writer(version, dataset.folder, schema,
                      BlockSamplesOf(dataset.manifest, samples * AlignUp(row, 8)), hooks);
  writer.AddArrays(values);
  return TakeColumn(version, writer.Finish(), missing);
}

// What appended samples have in a column.
class RowsOfAdded {
 public:
  RowsOfAdded(const std::string& folder, const Manifest& manifest, std::size_t column,
              const StoredDataset& added, const std::optional<double>& missing)
      : schema_(manifest.columns[column].schema) {
    const VisibleFields visible = VisibleFields::Of(manifest);
    empty_.fields.resize(schema_.fields.size());
    std::vector<std::string> taken;
    for (std::size_t f = 0; f < schema_.fields.size(); ++f) {
      const Field& field = schema_.fields[f];
      const std::size_t own = added.manifest.schema.Find(field.name);
      const std::size_t at = visible.schema.Find(field.name);
      const bool seen = at != Schema::kNone && visible.sources[at] == column + 1;
      Field stored = own == Schema::kNone ? Field() : added.manifest.schema.fields[own];
      stored.attributes = field.attributes;
      if (seen && stored == field) {
        taken.push_back(field.name);
        targets_.push_back(f);
      } else if (field.kind == FieldKind::kArray) {
        empty_.fields[f].bytes = ElementsOf(field, ValueFor(folder, field, seen, missing), folder);
      }
    }
    if (!taken.empty()) rows_.emplace(added, taken);
  }

  EncodedSample Row(std::uint64_t sample) {
    EncodedSample row = empty_;
    if (!rows_) return row;
    EncodedSample own = rows_->Values(sample);
    for (std::size_t f = 0; f < targets_.size(); ++f)
      row.fields[targets_[f]] = std::move(own.fields[f]);
    return row;
  }

 private:
  static double ValueFor(const std::string& folder, const Field& field, bool seen,
                         const std::optional<double>& missing) {
    const auto before = field.attributes.find("missing");
    if (before != field.attributes.end()) {
      if (const auto number = ParseNumber<double>(before->second)) return *number;
    }
    if (missing) return *missing;
    if (!seen) return 0;  // nobody sees the field
    Refuse(folder, "has the column \"" + field.name +
                       "\", for which the samples to add have no value; give it (--missing VALUE), "
                       "and put their values there later by `sluice column replace`");
  }

  const Schema& schema_;
  EncodedSample empty_;
  std::vector<std::size_t> targets_;
  std::optional<VisibleRows> rows_;
};

}  // namespace

void ExtendColumns(NewVersion& version, const std::filesystem::path& folder,
                   const StoredDataset& added, const std::optional<double>& missing,
                   const EditHooks& hooks) {
  const Manifest before = version.manifest();
  for (std::size_t c = 0; c < before.columns.size(); ++c) {
    const Manifest& column = before.columns[c];
    RowsOfAdded rows(folder.string(), before, c, added, missing);
    ColumnWriter writer(version, folder, column, column.shards[0].block_samples, hooks);
    for (std::uint64_t sample = 0; sample < added.manifest.samples; ++sample)
      writer.Add(rows.Row(sample));
    version.edited().columns[c] = writer.Finish();
  }
}

VersionSummary AddColumns(const std::filesystem::path& dataset, const std::filesystem::path& from,
                          const ColumnOptions& options, const EditHooks& hooks) {
  return ChangeColumns(dataset, from, options, false, hooks);
}

VersionSummary ReplaceColumns(const std::filesystem::path& dataset,
                              const std::filesystem::path& from, const ColumnOptions& options,
                              const EditHooks& hooks) {
  return ChangeColumns(dataset, from, options, true, hooks);
}

VersionSummary AddColumn(const std::filesystem::path& dataset, const ColumnValues& column,
                         const ColumnOptions& options, const EditHooks& hooks) {
  return ChangeColumn(dataset, column, options, false, hooks);
}

VersionSummary ReplaceColumn(const std::filesystem::path& dataset, const ColumnValues& column,
                             const ColumnOptions& options, const EditHooks& hooks) {
  return ChangeColumn(dataset, column, options, true, hooks);
}

VersionSummary DropFields(const std::filesystem::path& path, const std::vector<std::string>& fields,
                          const std::string& note) {
  const LockedDataset locked(path, Changed::kTaken);
  const StoredDataset& dataset = locked.stored;
  const std::string folder = dataset.folder.string();
  RequireColumnsPossible(dataset);
  if (fields.empty()) Refuse(folder, "no field was named to drop");
  const VisibleFields visible = VisibleFields::Of(dataset.manifest);
  const std::size_t label = visible.schema.ClassField();
  NewVersion version(locked, true, false);
  Manifest& manifest = version.edited();
  std::string by = "sluice column drop";
  for (const std::string& name : fields) {
    std::vector<std::string> known;
    for (const Field& field : visible.schema.fields)
      known.push_back(field.name);
    const std::size_t at = visible.schema.Find(name);
    if (at == Schema::kNone)
      Refuse(folder, "has no " + Quoted(name) + NamesInstead(name, known, "it has"));
    for (const Field& field : visible.schema.fields) {
      const bool stays = std::ranges::find(fields, field.name) == fields.end();
      if (field.follows == name && stays) {
        Refuse(folder, Quoted(field.name) + " follows " + Quoted(name) +
                           ", so that one cannot be dropped; drop both");
      }
    }
    if (std::ranges::find(manifest.hidden, name) != manifest.hidden.end())
      Refuse(folder, Quoted(name) + " is named twice");
    manifest.hidden.push_back(name);
    by += " " + name;
  }
  DropUnused(manifest);
  CheckVisible(folder, manifest);
  if (label != Schema::kNone && VisibleFields::Of(manifest).schema.ClassField() == Schema::kNone) {
    Refuse(folder, Quoted(visible.schema.fields[label].name) +
                       " is its last label, so it cannot be dropped; replace it instead");
  }
  version.Record(by, note);
  return version.FinishVersion();
}

}  // namespace sluice
