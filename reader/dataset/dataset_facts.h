// A dataset's facts: all that is known once its manifest has been read. They never change, so all
// handles to the dataset share them, even loaders that map its shards for themselves.
//
// A mixture is a dataset, too: its schema joins the schemas of its parts, and its shards are the
// shards of all parts, part by part. `parts` says which part a shard belongs to. Parts may differ
// in the layout of their rows, and in the limits on their values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sluice/dataset.h>
#include <sluice/error.h>
#include <sluice/mixture.h>

#include "format/disk/manifest.h"
#include "format/disk/record_layout.h"
#include "format/remote/object_store.h"
#include "reader/order/shape.h"

namespace sluice {

// Why a value cannot be read: a sentence, which is null if nothing is wrong.
struct ValueFault {
  const char* what = nullptr;
  ErrorCode code = ErrorCode::kCorrupt;  // kLimit if ReadLimits refuses it
  explicit operator bool() const noexcept { return what != nullptr; }
};

// Limits on single values of a dataset: those of the manifest and those of ReadLimits. Sizes that a
// shard gives are checked against them before memory is allocated.
class ValueLimits {
 public:
  ValueLimits(const Manifest& manifest, const ReadLimits& limits);

  const ReadLimits& read_limits() const noexcept { return limits_; }
  // The largest size in bytes, decompressed, of a value of that bytes field or variable-length
  // field.
  std::uint64_t bytes(std::size_t field) const noexcept;
  // The most pixels of an image of that field.
  std::uint64_t pixels(std::size_t field) const noexcept;

  ValueFault CheckBytes(std::size_t field, std::uint64_t bytes) const noexcept;
  // Checks the entry against the manifest only, not ReadLimits.
  ValueFault CheckEntry(std::size_t field, const ImagePayload& image) const noexcept;
  // Checks the entry against the manifest and against ReadLimits. Call it before decoding the
  // image.
  ValueFault CheckImage(std::size_t field, const ImagePayload& image) const noexcept;

 private:
  ReadLimits limits_;
  bool values_known_;
  std::vector<ImageFigures> images_;    // by field
  std::vector<ManifestValues> values_;  // by field
};

struct DatasetFacts;

// Fields with shards of their own over a dataset's samples: a dataset without columns.
struct ColumnFacts {
  std::shared_ptr<const DatasetFacts> facts;
  // How its rows are laid out, by field of the dataset's schema. Only fields that users see.
  RecordLayout layout;
};

// A dataset of a mixture, as the mixture sees it.
struct MixedDataset {
  std::shared_ptr<DatasetState> dataset;
  std::uint32_t first_shard = 0;  // among the shards of the mixture
  std::uint64_t first_sample = 0;
  // How its rows are laid out, and the limits on its values, by field of the mixture's schema.
  RecordLayout layout;
  ValueLimits limits;
  std::vector<RecordLayout> columns = {};  // of the rows of its columns, likewise

  bool has(std::size_t field) const noexcept {
    return layout.has(field) || std::ranges::any_of(columns, [field](const RecordLayout& column) {
             return column.has(field);
           });
  }
};

// How the datasets of a mixture with weights are played.
struct MixtureRule {
  std::vector<double> weights;  // of the datasets, in the mixture's order
  MixtureShares shares = MixtureShares::kOfSamples;
  MixtureLength length = MixtureLength::kFirst;
  std::uint64_t samples = 0;  // in an epoch, for MixtureLength::kSamples
};

struct DatasetFacts {
  // Where a dataset lies: a folder, or an object store.
  struct Source {
    ManifestPlace place;
    std::shared_ptr<ObjectStore> store;
    std::shared_ptr<void> on_stop = {};  // while it lives, a stop request stops the store's calls
    // `path` is the folder or URL of a dataset, or that of its manifest.
    static Source Of(const std::filesystem::path& path, const std::stop_token& stop);
    static Source Of(std::shared_ptr<ObjectStore> store, const std::stop_token& stop,
                     const std::string& manifest = kManifestName);
  };
  // Which fields `manifest` has: those that users see, or those of the shards, for verifying.
  enum class Fields : std::uint8_t { kVisible, kOfShards };
  // Reads the manifest. Throws Error.
  DatasetFacts(Source source, const ReadLimits& read_limits, Fields fields = Fields::kVisible);
  // The facts of a source that is played: its samples are made when they are asked for.
  DatasetFacts(std::shared_ptr<SampleSupply> samples, const ReadLimits& read_limits);
  // Joins the datasets of a mixture. Throws Error(kInvalidArgument) that names the datasets that
  // cannot be mixed.
  explicit DatasetFacts(const Mixture& mixture_of);
  DatasetFacts(const DatasetFacts&) = delete;
  DatasetFacts& operator=(const DatasetFacts&) = delete;

  std::filesystem::path folder;        // as the caller named it
  std::filesystem::path path;          // what opens it again: `folder`, or an older manifest in it
  std::filesystem::path place;         // the absolute path, used to open files
  std::shared_ptr<ObjectStore> store;  // null unless the dataset lies in an object store
  std::shared_ptr<void> on_stop;       // Source::on_stop
  std::shared_ptr<SampleSupply> supply;  // null: the samples lie in shards
  std::string id;
  Schema stored;                       // of the shards' rows
  std::vector<std::uint32_t> sources;  // VisibleFields::sources; empty without columns
  Manifest manifest;
  std::vector<ColumnFacts> columns;
  // How rows are laid out, and the limits on their values: see LayoutOf() and LimitsOf().
  RecordLayout layout;
  ValueLimits limits;
  DatasetShape shape;
  std::vector<ShardSummary> shards;
  std::vector<ImageSummary> images;
  std::vector<MixedDataset> parts;     // of a mixture; else empty
  std::optional<MixtureRule> mixture;  // of a mixture with weights

  // How the rows of that source are laid out, by field of `fields`: of the shards (0) or of column
  // c (c + 1). Fields of other sources have no entry there.
  RecordLayout LayoutIn(const Schema& fields, std::uint32_t source) const;
  // The part of a mixture that has the shard.
  const MixedDataset& PartWith(std::uint32_t shard) const noexcept;
  // The layout of that shard's rows, and the limits on their values.
  const RecordLayout& LayoutOf(std::uint32_t shard) const noexcept {
    return parts.empty() ? layout : PartWith(shard).layout;
  }
  const ValueLimits& LimitsOf(std::uint32_t shard) const noexcept {
    return parts.empty() ? limits : PartWith(shard).limits;
  }
  // Whether the field lies in a column.
  bool InColumn(std::size_t field) const noexcept {
    return !sources.empty() && sources[field] != 0;
  }
  // Digests of what the samples are made of: of the image shards, and of the shards of the columns
  // from which a field's values come. The latter is empty for a field of the image shards.
  std::string ShardsDigest() const;
  std::string SourceDigest(const std::string& field) const;
  // Throws Error(kInvalidArgument) for a sample that was deleted.
  void RequireThere(std::uint64_t sample) const;
  bool Deleted(std::uint64_t sample) const noexcept {
    return !manifest.deleted.empty() && IsDeleted(manifest.deleted, sample);
  }
  // Whether the rows of all shards are laid out alike.
  bool one_layout() const noexcept;
  // A part of the mixture that lacks the field, or null.
  const DatasetFacts* LacksField(std::size_t field) const noexcept;

  // The index of the field of that name. Throws Error(kInvalidArgument) that lists the dataset's
  // fields.
  std::size_t FieldIndex(std::string_view name) const;
  // The image field of that name; the first image field if `name` is empty.
  std::size_t ImageField(std::string_view name) const;
  // The manifest's summary of that image field.
  const ImageSummary& ImagesOf(std::size_t field) const;
  // The bytes of each image of that field, if all are raw and of one size; else 0. Also 0 for
  // Schema::kNone.
  std::uint64_t RawImageBytes(std::size_t field) const;

 private:
  struct Joined;  // defined in mixture.cpp
  explicit DatasetFacts(Joined joined);
  // `read`: the manifest, and its id.
  DatasetFacts(std::pair<Manifest, std::string> read, Source&& source,
               const ReadLimits& read_limits, Fields fields);
  // A column of the dataset.
  DatasetFacts(const DatasetFacts& of, Manifest column);
  static DatasetShape ShapeOf(const Manifest& manifest);
  void Summarize();  // shards and images, from the manifest
};

}  // namespace sluice
