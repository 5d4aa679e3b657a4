// Checks that a dataset is as FORMAT.md specifies: `sluice verify`.
//
// Threads take shards by a shared counter, and each shard is checked from the outside to the
// inside: its sections, the placement of its blocks, each block's header and table, each value's
// checksum and entry, and last, if asked for, the value itself: an image is decoded whole, a zstd
// frame decompressed, a text read. Each thread sums up the samples that it sees. If no fault was
// found, the sums must be those of the manifest.
//
// Every fault is listed, with the sample's key if that can be read. Only a lack of memory, mappings
// or descriptors ends the check, because it says nothing about the dataset.
#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <new>
#include <optional>

#include <sluice/cpu.h>
#include <sluice/error.h>
#include <sluice/instances.h>
#include <sluice/verify.h>

#include "format/disk/json.h"
#include "format/disk/keys.h"
#include "format/disk/limits.h"
#include "format/disk/record_layout.h"
#include "format/disk/system_error.h"
#include "format/disk/zstd.h"
#include "format/parallel.h"
#include "format/pixels/decode.h"
#include "reader/dataset/dataset_state.h"

namespace sluice {

namespace {

// Checks one shard after another. Each worker thread has one, and takes shards by a shared counter.
class ShardCheck {
 public:
  ShardCheck(DatasetState& dataset, const VerifyOptions& options)
      : dataset_(dataset), options_(options), totals_(NoTotals(dataset.facts->manifest.schema)) {}

  // The sums over the samples of all shards that were checked.
  const SampleTotals& totals() const noexcept { return totals_; }

  // Returns the faults of a shard. Calls `on_samples` with the number of samples as they are done.
  template <class OnSamples>
  std::vector<Fault> Check(std::uint32_t shard, OnSamples on_samples);

 private:
  void CheckBlock(const ShardFile& file, BlockHold& blocks, std::uint32_t shard,
                  std::uint32_t block, std::vector<Fault>& faults);
  Defect CheckField(const BlockView& view, std::uint32_t row, std::size_t field);
  Defect CheckLabel(const Field& field, Bytes element);
  Defect CheckValue(const BlockView::Payload& payload, std::size_t field);
  Defect CheckContent(const Field& field, Bytes content);
  // Whether runs cover the image, and whether there is an object for each box.
  Defect CheckInstances(const BlockView& view, std::uint32_t row, std::size_t index, Bytes content);
  Defect CheckImage(const BlockView& view, std::uint32_t row, std::size_t field);
  void CheckSections(const ShardFile& file, std::uint32_t shard, std::vector<Fault>& faults);
  std::string KeyOf(const ShardFile& file, std::uint64_t sample);

  DatasetState& dataset_;
  const VerifyOptions& options_;
  PayloadDecoder decoder_{DecodePolicy{.whole_file = true}};
  SampleTotals totals_;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::byte> content_;  // of a zstd frame
  KeyChunk keys_;                   // keys of the shard that is being checked
  std::string sentence_;            // the text of a Defect that has numbers or names in it
};

std::string ShardCheck::KeyOf(const ShardFile& file, std::uint64_t sample) {
  try {
    return file.Key(sample, keys_);
  } catch (const Error&) {
    return {};
  }
}

Defect ShardCheck::CheckField(const BlockView& view, std::uint32_t row, std::size_t index) {
  const Field& field = dataset_.facts->manifest.schema.fields[index];
  if (field.numbers_classes())
    return CheckLabel(field, view.Elements(dataset_.facts->layout, row, index));
  if (field.kind == FieldKind::kArray) return nullptr;
  BlockView::Payload payload;
  if (const Defect defect = view.GetPayload(dataset_.facts->layout, row, index, payload))
    return defect;
  if (payload.entry.codec == static_cast<std::uint16_t>(Codec::kAbsent)) return nullptr;
  if (!view.Matches(payload.bytes, payload.entry.checksum))
    return "the payload's checksum does not match";
  if (field.kind == FieldKind::kImage) return CheckImage(view, row, index);
  const Defect defect = CheckValue(payload, index);
  if (defect != nullptr || field.role != Role::kInstances || !options_.decode) return defect;
  const bool compressed = payload.entry.codec == static_cast<std::uint16_t>(Codec::kZstd);
  return CheckInstances(view, row, index, compressed ? Bytes(content_) : payload.bytes);
}

Defect ShardCheck::CheckInstances(const BlockView& view, std::uint32_t row, std::size_t index,
                                  Bytes content) {
  const std::vector<Field>& fields = dataset_.facts->manifest.schema.fields;
  const auto of_leader = [&](const Field& field) {
    return field.role == Role::kBoxes && field.kind == FieldKind::kVariable &&
           field.follows == fields[index].follows;
  };
  const std::size_t leader = dataset_.facts->manifest.schema.Find(fields[index].follows);
  ImagePayload image;
  std::uint64_t checksum = 0;
  // A damaged image or field of boxes is a fault of its own.
  if (leader == Schema::kNone ||
      view.GetImage(dataset_.facts->layout, row, leader, image, checksum) != nullptr)
    return nullptr;
  Instances instances;
  if (const Defect defect = instances.Open(content, image.width, image.height)) return defect;
  const auto found = std::ranges::find_if(fields, of_leader);
  BlockView::Payload boxes;
  if (found == fields.end() ||
      view.GetPayload(dataset_.facts->layout, row, static_cast<std::size_t>(found - fields.begin()),
                      boxes) != nullptr)
    return nullptr;
  const bool compressed = boxes.entry.codec == static_cast<std::uint16_t>(Codec::kZstd);
  const std::uint64_t bytes =
      compressed ? ZstdContentBytes(boxes.bytes).value_or(0) : boxes.bytes.size();
  const std::uint64_t count = bytes / (found->elements() * SizeOf(found->dtype));
  if (instances.size() == count) return nullptr;
  sentence_ = "it has " + std::to_string(instances.size()) + " objects for " +
              std::to_string(count) + " boxes";
  return sentence_.c_str();
}

Defect ShardCheck::CheckLabel(const Field& field, Bytes element) {
  const std::int64_t number = ClassNumber(field, element);
  if (IsClass(field, number)) return nullptr;
  sentence_ = "its number " + std::to_string(number) + " is not one of the field's " +
              std::to_string(field.classes.size()) + " classes";
  return sentence_.c_str();
}

// Compares sizes with the manifest and the format's limits. ReadLimits belong to readers, and say
// nothing about a fault.
Defect ShardCheck::CheckValue(const BlockView::Payload& payload, std::size_t index) {
  if (const Defect defect = BlockView::CheckContentCodec(payload)) return defect;
  const Field& field = dataset_.facts->manifest.schema.fields[index];
  const bool compressed = payload.entry.codec == static_cast<std::uint16_t>(Codec::kZstd);
  std::uint64_t bytes = payload.bytes.size();
  if (compressed) {
    const std::optional<std::uint64_t> content = ZstdContentBytes(payload.bytes);
    if (!content) return "it is not a zstd frame that declares its content's size";
    if (*content > kMaxInflatedBytes) return "its content has more than 1073741824 bytes";
    bytes = *content;
  }
  if (!dataset_.facts->manifest.values.empty()) {
    if (const ValueFault over = dataset_.facts->limits.CheckBytes(index, bytes)) return over.what;
  }
  if (field.kind == FieldKind::kVariable && bytes % (field.elements() * SizeOf(field.dtype)) != 0)
    return "it does not hold a whole number of entries";
  if (!options_.decode) return nullptr;
  if (!compressed) return CheckContent(field, payload.bytes);
  content_.resize(static_cast<std::size_t>(bytes));
  if (!ZstdDecompress(payload.bytes, content_)) return "the zstd frame cannot be decompressed";
  return CheckContent(field, content_);
}

Defect ShardCheck::CheckContent(const Field& field, Bytes content) {
  if (field.kind != FieldKind::kBytes) return nullptr;
  sentence_ = RoleFault(field.role, AsText(content));
  if (sentence_.empty()) return nullptr;
  sentence_ = "its content " + sentence_;
  return sentence_.c_str();
}

Defect ShardCheck::CheckImage(const BlockView& view, std::uint32_t row, std::size_t index) {
  ImagePayload image;
  std::uint64_t checksum = 0;
  if (const Defect defect = view.GetImage(dataset_.facts->layout, row, index, image, checksum)) {
    return defect;
  }
  if (const ValueFault over = dataset_.facts->limits.CheckEntry(index, image)) return over.what;
  if (const Defect defect = CheckStored(image)) return defect;
  if (!options_.decode) return nullptr;
  if (const ValueFault over = dataset_.facts->limits.CheckImage(index, image)) return over.what;
  JpegInfo info;
  if (image.codec == Codec::kJpeg && ReadJpegInfo(image.bytes, info, sentence_) &&
      info.channels != image.channels) {
    return "the JPEG has another number of channels than the table says";
  }
  pixels_.resize(std::size_t{image.width} * image.height * image.channels *
                 SizeOf(image.pixel_type));
  return decoder_.Decode(image, Region::Whole(image.width, image.height),
                         {pixels_.data(), image.channels, PixelOrder::kInterleaved});
}

void ShardCheck::CheckSections(const ShardFile& file, std::uint32_t shard,
                               std::vector<Fault>& faults) {
  for (const SectionEntry& section : file.sections()) {
    try {
      const Bytes bytes = file.Section(section.number);
      if (section.number == kSectionOrigin) {
        if (const std::string fault = JsonFault(AsText(bytes)); !fault.empty())
          faults.push_back({dataset_.facts->shards[shard].file, -1, {}, "section 2 " + fault});
      }
      if (section.number != kSectionKeys) continue;
      for (std::uint64_t sample = 0; sample < file.samples();
           sample += std::max<std::uint64_t>(1, keys_.count))
        file.Key(sample, keys_);
    } catch (const Error& error) {
      if (options_.stop.stop_requested()) return;
      if (IsShortage(error)) throw;
      faults.push_back(
          {dataset_.facts->shards[shard].file, -1, {}, error.place() + ": " + error.sentence()});
    }
  }
}

void ShardCheck::CheckBlock(const ShardFile& file, BlockHold& blocks, std::uint32_t shard,
                            std::uint32_t block, std::vector<Fault>& faults) {
  const std::string& name = dataset_.facts->shards[shard].file;
  const std::uint64_t first = std::uint64_t{block} * file.block_samples();
  const auto number = [&](std::uint64_t row) {
    const SampleRef ref =
        dataset_.facts->shape.Record(dataset_.facts->shape.first_block(shard) + block, row);
    return static_cast<std::int64_t>(ref.index);
  };
  std::optional<BlockView> view;
  try {
    view = blocks.Block(block);
  } catch (const Error& error) {
    if (options_.stop.stop_requested()) return;  // the stop may have caused the error
    if (IsShortage(error)) throw;
    // Nothing in the block can be trusted: every sample of it is a fault.
    for (std::uint32_t row = 0; row < file.block_entry(block).count; ++row) {
      faults.push_back(
          {name, number(row), KeyOf(file, first + row), error.place() + ": " + error.sentence()});
    }
    return;
  }
  totals_.AddBlock(*view, dataset_.facts->layout, dataset_.facts->manifest.schema);
  for (std::uint32_t row = 0; row < view->count(); ++row) {
    for (std::size_t f = 0; f < dataset_.facts->manifest.schema.fields.size(); ++f) {
      if (const Defect defect = CheckField(*view, row, f)) {
        faults.push_back({name, number(row), KeyOf(file, first + row),
                          file.Place(first + row) + ", field \"" +
                              dataset_.facts->manifest.schema.fields[f].name + "\": " + defect});
      }
    }
  }
  if (const Defect defect =
          view->VerifyPlacement(dataset_.facts->manifest.schema, dataset_.facts->layout)) {
    faults.push_back({name, -1, {}, "block " + std::to_string(block) + ": " + defect});
  }
  // The directory's columns must repeat the scalars in the rows.
  const std::vector<std::size_t> columns = ColumnFields(dataset_.facts->manifest.schema);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::size_t size = SizeOf(dataset_.facts->manifest.schema.fields[columns[c]].dtype);
    for (std::uint32_t row = 0; row < view->count(); ++row) {
      const Bytes in_record = view->Elements(dataset_.facts->layout, row, columns[c]);
      const Bytes in_column = file.Column(c).subspan((first + row) * size, size);
      if (std::memcmp(in_record.data(), in_column.data(), size) != 0) {
        faults.push_back({name, number(row), KeyOf(file, first + row),
                          "the directory's column of field \"" +
                              dataset_.facts->manifest.schema.fields[columns[c]].name +
                              "\" differs from the sample's row"});
      }
    }
  }
}

template <class OnSamples>
std::vector<Fault> ShardCheck::Check(std::uint32_t shard, OnSamples on_samples) {
  std::vector<Fault> faults;
  const std::string& name = dataset_.facts->shards[shard].file;
  try {
    const ShardUse use = dataset_.table.Shard(shard);
    const ShardFile& file = *use;
    const ReadGuard guard = file.Guard();
    keys_ = {};
    CheckSections(file, shard, faults);
    if (const Defect defect = file.VerifyPlacement()) faults.push_back({name, -1, {}, defect});
    BlockHold blocks(file);
    for (std::uint32_t block = 0; block < file.blocks(); ++block) {
      if (options_.stop.stop_requested()) return faults;
      CheckBlock(file, blocks, shard, block, faults);
      on_samples(file.block_entry(block).count);
    }
    if (file.Lost(file.bytes())) faults.push_back({name, -1, {}, file.Unreadable({}).sentence()});
  } catch (const Error& error) {
    if (options_.stop.stop_requested()) return faults;  // the stop may have caused the error
    if (IsShortage(error)) throw;
    faults.push_back(
        {name, -1, {}, (error.place().empty() ? "" : error.place() + ": ") + error.sentence()});
    on_samples(dataset_.facts->shards[shard].samples);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kMemory, name, "there is not enough memory to check it");
  }
  return faults;
}

// Compares the ids of shards with each other. If two are the same, adds a fault to those of the
// later shard.
void CheckIds(const DatasetFacts& facts, std::vector<std::vector<Fault>>& faults) {
  std::map<std::array<std::uint8_t, 16>, const ManifestShard*> ids;
  for (std::size_t s = 0; s < facts.manifest.shards.size(); ++s) {
    const ManifestShard& shard = facts.manifest.shards[s];
    const auto [other, is_new] = ids.emplace(shard.id.bytes, &shard);
    if (!is_new) faults[s].push_back({shard.file, -1, {}, "has the id of " + other->second->file});
  }
}

// Compares the sums in the manifest with those of the samples.
class TotalsCheck {
 public:
  TotalsCheck(const Manifest& manifest, const SampleTotals& found)
      : manifest_(manifest), found_(found) {}

  std::vector<Fault> Run() {
    std::size_t image = 0, value = 0;
    for (const Field& field : manifest_.schema.fields) {
      if (field.kind == FieldKind::kImage) {
        CompareImages(field, manifest_.images[image], found_.images[image]);
        ++image;
      } else if (HasValues(field) && !manifest_.values.empty()) {
        CompareValues(field, manifest_.values[value], found_.values[value]);
        ++value;
      }
    }
    for (std::size_t c = 0; c < found_.class_counts.size(); ++c)
      Compare("class_counts of class " + std::to_string(c), manifest_.class_counts[c],
              found_.class_counts[c]);
    return std::move(faults_);
  }

 private:
  void CompareImages(const Field& field, const ImageFigures& claimed, const ImageFigures& found) {
    const std::string of = "images of field \"" + field.name + "\": ";
    Compare(of + "present", claimed.present, found.present);
    Compare(of + "payload_bytes", claimed.payload_bytes, found.payload_bytes);
    Compare(of + "max_payload_bytes", claimed.max_payload_bytes, found.max_payload_bytes);
    Compare(of + "the least width", claimed.min_width, found.min_width);
    Compare(of + "the greatest width", claimed.max_width, found.max_width);
    Compare(of + "the least height", claimed.min_height, found.min_height);
    Compare(of + "the greatest height", claimed.max_height, found.max_height);
    Compare(of + "the least number of channels", claimed.min_channels, found.min_channels);
    Compare(of + "the greatest number of channels", claimed.max_channels, found.max_channels);
    if (claimed.pixel_type != found.pixel_type) {
      faults_.push_back({kManifestName,
                         -1,
                         {},
                         of + "pixel_type is " + std::string(NameOf(claimed.pixel_type)) +
                             ", but the samples give " + std::string(NameOf(found.pixel_type))});
    }
  }
  void CompareValues(const Field& field, const ManifestValues& claimed,
                     const ManifestValues& found) {
    const std::string of = "values of field \"" + field.name + "\": ";
    Compare(of + "present", claimed.present, found.present);
    Compare(of + "bytes", claimed.bytes, found.bytes);
    Compare(of + "max_bytes", claimed.max_bytes, found.max_bytes);
  }
  void Compare(const std::string& what, std::uint64_t claimed, std::uint64_t found) {
    if (claimed == found) return;
    faults_.push_back({kManifestName,
                       -1,
                       {},
                       what + " is " + std::to_string(claimed) + ", but the samples give " +
                           std::to_string(found)});
  }

  const Manifest& manifest_;
  const SampleTotals& found_;
  std::vector<Fault> faults_;
};

}  // namespace

namespace {

// Checks the shards of a dataset, or of a column, and adds to the report.
void VerifyShards(DatasetState& dataset, const VerifyOptions& options, VerifyReport& report);

}  // namespace

VerifyReport VerifyDataset(const std::filesystem::path& path, const VerifyOptions& options) {
  ReadLimits limits;
  limits.max_pixels = options.max_pixels;
  VerifyReport report;
  std::shared_ptr<DatasetState> opened;
  try {
    opened = DatasetState::Open(path, limits, MaxMappedShards(), options.stop,
                                DatasetFacts::Fields::kOfShards);
  } catch (const Error& error) {
    report.stopped = options.stop.stop_requested();
    if (error.code() != ErrorCode::kState || !report.stopped) throw;
    return report;
  }
  VerifyShards(*opened, options, report);
  // A column has the same samples again, which are not counted twice.
  const std::uint64_t samples = report.samples;
  for (const std::shared_ptr<DatasetState>& column : opened->columns) {
    if (report.stopped) break;
    report.samples = 0;
    VerifyShards(*column, options, report);
    report.samples = samples;
  }
  return report;
}

namespace {

void VerifyShards(DatasetState& dataset, const VerifyOptions& options, VerifyReport& report) {
  const std::size_t faults_before = report.faults.size();
  const std::size_t shards = dataset.facts->shards.size();
  std::vector<std::vector<Fault>> faults(shards);
  std::mutex mutex;  // guards report.samples and the progress call
  const auto count = [&](std::uint64_t samples) {
    const std::lock_guard lock(mutex);
    report.samples += samples;
    if (options.on_progress) options.on_progress(report.samples, dataset.facts->manifest.samples);
  };
  const unsigned threads = options.threads != 0 ? options.threads : AvailableCpus();
  std::vector<std::optional<ShardCheck>> checks(std::min<std::size_t>(threads, shards));
  ParallelFor(threads, shards, options.stop, [&](unsigned worker, std::size_t shard) {
    std::optional<ShardCheck>& check = checks[worker];
    if (!check) check.emplace(dataset, options);
    faults[shard] = check->Check(static_cast<std::uint32_t>(shard), count);
  });
  CheckIds(*dataset.facts, faults);
  for (std::size_t s = 0; s < shards; ++s) {
    report.bytes += dataset.facts->shards[s].bytes;
    std::move(faults[s].begin(), faults[s].end(), std::back_inserter(report.faults));
  }
  report.stopped = options.stop.stop_requested();
  if (report.faults.size() == faults_before && !report.stopped) {
    SampleTotals totals = NoTotals(dataset.facts->manifest.schema);
    for (const std::optional<ShardCheck>& check : checks)
      if (check) totals.Add(check->totals());
    std::vector<Fault> wrong = TotalsCheck(dataset.facts->manifest, totals).Run();
    std::move(wrong.begin(), wrong.end(), std::back_inserter(report.faults));
  }
}

}  // namespace

}  // namespace sluice
