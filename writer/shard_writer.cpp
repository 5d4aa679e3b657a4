// A shard file is written block by block and gets its name when it is whole. A FinishedShard is
// what the manifest says of the shard: its entry, and its share of the totals. It is counted while
// the shard is written, or gathered from a shard on disk. The manifest's totals are the sums of
// these.
#include "writer/shard_writer.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include <sluice/error.h>
#include <sluice/version.h>

#include "format/boxes_and_points.h"
#include "format/disk/checksum.h"
#include "format/disk/limits.h"
#include "format/disk/manifest.h"
#include "format/disk/shard_build.h"

namespace sluice {

FinishedShard SurveyShard(const ShardFile& shard, const std::string& file_name) {
  const Schema& schema = shard.schema();
  FinishedShard finished{NoTotals(schema), {}};
  finished.shard = {file_name,           shard.id(),     shard.digest(),
                    shard.samples(),     shard.blocks(), shard.block_samples(),
                    shard.bytes().size()};
  // Shards are mapped, so a disk that fails shows only as bytes that Lost() reports afterwards.
  const ReadGuard guard = shard.Guard();
  for (std::uint32_t b = 0; b < shard.blocks(); ++b) {
    if (const Defect defect = finished.AddBlock(shard.Block(b), shard.layout(), schema))
      throw Error(ErrorCode::kCorrupt, shard.name(), "block " + std::to_string(b), defect);
  }
  if (shard.Lost(shard.bytes())) throw shard.Unreadable({});
  return finished;
}

namespace {

// "cat, dog and owl", "cat, dog and 8 more classes"
std::string Listed(const std::vector<std::string>& names, const char* more) {
  constexpr std::size_t kMaxNamed = 3;
  const std::size_t named = names.size() <= kMaxNamed ? names.size() : kMaxNamed - 1;
  std::string text;
  for (std::size_t i = 0; i < named; ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  if (named < names.size()) text += " and " + std::to_string(names.size() - named) + more;
  return text;
}

}  // namespace

// The name of a dataset for which none was given.
std::string DescribedName(const Schema& schema) {
  const std::size_t label = schema.ClassField();
  std::string name = "images";
  if (label != Schema::kNone)
    name += " of " + Listed(schema.fields[label].classes, " more classes");
  std::vector<std::string> others;
  for (std::size_t f = 1; f < schema.fields.size(); ++f) {  // the first is the image
    if (f != label) others.push_back(schema.fields[f].name);
  }
  return others.empty() ? name : name + " with " + Listed(others, " more fields");
}

Manifest BeginManifest(const std::string& name, const Schema& schema) {
  SampleTotals totals = NoTotals(schema);
  Manifest manifest;
  manifest.name = name;
  manifest.schema = schema;
  manifest.images = std::move(totals.images);
  manifest.values = std::move(totals.values);
  manifest.class_counts = std::move(totals.class_counts);
  return manifest;
}

nlohmann::json LibrariesOf(nlohmann::json others) {
  others["sluice"] = kLibraryVersion;
  others["sluice-writer"] = kWriterVersion;
  return others;
}

void AddShard(const FinishedShard& finished, Manifest& manifest) {
  manifest.samples += finished.shard.samples;
  std::size_t i = 0;
  for (const Field& field : manifest.schema.fields) {
    if (field.kind != FieldKind::kImage) continue;
    ImageFigures& images = manifest.images[i];
    const ImageFigures& more = finished.images[i++];
    // 8-bit images may stand among 16-bit ones, whichever of the shards comes first.
    if (images.present > 0 && more.present > 0 && !Admits(images.pixel_type, more.pixel_type) &&
        !Admits(more.pixel_type, images.pixel_type)) {
      throw Error(ErrorCode::kInvalidArgument, finished.shard.file,
                  "the images of field \"" + field.name + "\" hold " +
                      std::string(NameOf(more.pixel_type)) + ", and those before hold " +
                      std::string(NameOf(images.pixel_type)) +
                      ", but a field has one type; leave one of the datasets out, or write its "
                      "images again with the other's type");
    }
    images.Add(more);
  }
  // An older manifest does not have these values.
  for (std::size_t i = 0; i < manifest.values.size(); ++i)
    manifest.values[i].Add(finished.values[i]);
  for (std::size_t i = 0; i < finished.class_counts.size(); ++i) {
    manifest.class_counts[i] += finished.class_counts[i];
  }
  manifest.shards.push_back(finished.shard);
}

void WriteManifest(const Manifest& manifest, const std::filesystem::path& folder) {
  Id128 id;
  const std::string text = ManifestToJson(manifest, id);
  WriteFile(folder / kManifestName, AsBytes(text));
}

namespace {

// Bytes of the end of a shard: keys, origin, directory, tail.
std::uint64_t EndBytes(const Schema& schema, std::uint64_t blocks, std::uint64_t samples,
                       std::uint64_t keys_bytes, std::uint64_t origin_bytes) noexcept {
  return AlignUp(keys_bytes, kPayloadAlignment) + AlignUp(origin_bytes, kPayloadAlignment) +
         DirectoryBytes(schema, blocks, 2, samples) + sizeof(ShardTail) + kPageBytes;
}

// Upper bound for what one more key adds to KeysBuilder::BoundBytes(), whether or not a chunk
// closes.
std::uint64_t KeyBound(std::uint64_t key_bytes) noexcept {
  return key_bytes + sizeof(std::uint32_t) + key_bytes / 128 + 2048;
}

std::string InBytes(std::uint64_t bytes) {
  return std::to_string(bytes) + " bytes";
}

}  // namespace

void CheckDrawnFields(const Schema& schema) {
  const std::size_t image = schema.FindRole(Role::kImage);
  for (const Field& field : schema.fields) {
    if (!IsDrawn(field) && field.role != Role::kInstances) continue;
    std::string why = IsDrawn(field) ? WhyNotMovable(field) : "";
    if (why.empty() && field.follows.empty() && image != Schema::kNone) {
      why =
          "follows no image, so that crops and flips could not move it; set follows to the image "
          "that it was drawn on (\"" +
          schema.fields[image].name + "\"), also of the fields of its classes";
    }
    const auto are_its_boxes = [&field](const Field& other) {
      return other.role == Role::kBoxes && other.kind == FieldKind::kVariable &&
             other.follows == field.follows;
    };
    if (why.empty() && field.role == Role::kInstances &&
        std::ranges::none_of(schema.fields, are_its_boxes)) {
      why =
          "no variable field of boxes follows its image, and each of its objects belongs to a box; "
          "add a field of boxes";
    }
    if (why.empty()) continue;
    throw Error(ErrorCode::kInvalidArgument, "field \"" + field.name + "\"" + " has the role " +
                                                 std::string(NameOf(field.role)) + ", but " + why);
  }
}

std::string ShardFileName(std::uint32_t number, std::uint32_t part) {
  char name[48];
  if (part == 0) {
    std::snprintf(name, sizeof(name), "shard-%05u.sluice", number);
  } else {
    std::snprintf(name, sizeof(name), "shard-%05u.%u.sluice", number, part);
  }
  return name;
}

Id128 ShardId(Bytes identity, std::uint32_t number, std::uint32_t part) {
  const std::array<std::uint32_t, 2> words = {number, part};
  return Hash128({identity, std::as_bytes(std::span(words))});
}

void CheckLimits(const EncodedSample& sample, const Schema& schema, const RecordLayout& layout,
                 std::uint64_t header_bytes, std::uint64_t reserve_bytes) {
  if (sample.key.size() > kMaxKeyBytes) {
    throw Error(ErrorCode::kLimit,
                "its key has " + InBytes(sample.key.size()) + "; at most 65535 are allowed");
  }
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    if (sample.fields[f].bytes.size() > kMaxPayloadBytes) {
      throw Error(ErrorCode::kLimit, "field \"" + schema.fields[f].name + "\" takes " +
                                         InBytes(sample.fields[f].bytes.size()) +
                                         " as stored; at most 120000000 are allowed");
    }
  }
  const std::uint64_t bytes =
      header_bytes + BlockBytes(BlockBytesOf(sample, schema, layout)) +
      EndBytes(schema, 1, 1, KeysBuilder().BoundBytes() + KeyBound(sample.key.size()),
               reserve_bytes);
  if (bytes > kMaxShardBytes) {
    throw Error(ErrorCode::kLimit, "its fields together take more than a shard of " +
                                       InBytes(kMaxShardBytes) + " holds");
  }
}

std::string DirectRefusal(const std::filesystem::path& folder) {
  return "the file system of " + folder.string() +
         " does not allow writes past the page cache (O_DIRECT); shards were written through it";
}

ShardWriter::ShardWriter(const Schema& schema, const std::filesystem::path& folder,
                         const NewShard& shard)
    : schema_(schema),
      layout_(schema),
      column_fields_(ColumnFields(schema)),
      class_field_(schema.ClassField()),
      reserve_bytes_(shard.reserve_bytes),
      finished_{NoTotals(schema), {}},
      columns_(column_fields_.size()) {
  const std::vector<std::byte> header = BuildShardHeader(schema, shard.id, shard.block_samples);
  header_ = LoadAt<ShardHeader>(header, 0);
  finished_.shard.file = shard.name;
  finished_.shard.id = shard.id;
  finished_.shard.block_samples = shard.block_samples;
  file_ = std::make_unique<AtomicFile>(folder / shard.name, shard.direct, shard.own);
  file_->Write(header);
}

ShardWriter::~ShardWriter() = default;

// Counts everything that would still have to be written if this sample were the last: the block
// with it, the keys, and the end. So a shard never becomes larger than the limit when it is
// finished.
bool ShardWriter::Fits(const EncodedSample& sample, std::uint64_t limit) const {
  const std::uint64_t block =
      BlockBytes(block_content_bytes_ + BlockBytesOf(sample, schema_, layout_));
  const std::uint64_t keys = keys_.BoundBytes() + KeyBound(sample.key.size());
  const std::uint64_t end =
      EndBytes(schema_, blocks_.size() + 1, samples_ + 1, keys, reserve_bytes_);
  return file_->size() + block + end <= limit;
}

void ShardWriter::Add(EncodedSample sample) {
  // The sample itself is moved into the block below.
  Count(sample);
  keys_.Add(sample.key);
  for (std::size_t c = 0; c < column_fields_.size(); ++c) {
    const std::vector<std::byte>& value = sample.fields[column_fields_[c]].bytes;
    columns_[c].insert(columns_[c].end(), value.begin(), value.end());
  }
  block_content_bytes_ += BlockBytesOf(sample, schema_, layout_);
  block_.push_back(std::move(sample));
  ++samples_;
  if (block_.size() == finished_.shard.block_samples) WriteBlock();
}

void ShardWriter::Count(const EncodedSample& sample) {
  std::size_t image_field = 0;
  std::size_t value_field = 0;
  for (std::size_t f = 0; f < schema_.fields.size(); ++f) {
    const FieldValue& value = sample.fields[f];
    if (HasValues(schema_.fields[f])) {
      AddValue(value.codec, value.bytes, finished_.values[value_field++]);
    }
    if (f == class_field_) {
      finished_.CountClass(schema_.fields[f], value.bytes);
    }
    if (schema_.fields[f].kind != FieldKind::kImage) continue;
    ImageFigures& images = finished_.images[image_field++];
    if (value.codec == Codec::kAbsent) continue;
    images.Add(
        FiguresOf(value.width, value.height, value.channels, value.pixel_type, value.bytes.size()));
  }
}

void ShardWriter::WriteBlock() {
  if (block_.empty()) return;
  const std::vector<std::byte> block =
      BuildBlock(schema_, layout_, finished_.shard.id, static_cast<std::uint32_t>(blocks_.size()),
                 samples_ - block_.size(), block_);
  WriteBlock(block, block_.size());
  block_.clear();
  block_content_bytes_ = 0;
}

// A row of arrays needs only to be copied: that is why this goes around EncodedSample.
std::uint64_t ShardWriter::AddArrays(Bytes values, std::uint64_t limit) {
  const Field& field = schema_.fields[0];
  const std::uint64_t bytes = layout_.entry_bytes(0);
  const std::uint64_t record = layout_.record_bytes();
  std::uint64_t added = 0;
  // Used again for each block: all bytes of rows are written, and padding stays zero. Only a block
  // of fewer rows has padding where the one before has rows.
  std::vector<std::byte> block;
  std::uint64_t rows_before = 0;
  while (!values.empty() && (added == 0 || file_->size() + samples_ * bytes < limit)) {
    const std::uint64_t count =
        std::min<std::uint64_t>(finished_.shard.block_samples, values.size() / bytes);
    if (std::exchange(rows_before, count) != count)
      block.assign(AlignUp(PayloadStart(count, record), kPageBytes), std::byte{0});
    std::byte* const rows = block.data() + sizeof(BlockHeader);
    if (record == bytes) {
      std::memcpy(rows, values.data(), count * bytes);
    } else {
      for (std::uint64_t i = 0; i < count; ++i)
        std::memcpy(rows + i * record, values.data() + i * bytes, bytes);
    }
    FinishBlock(static_cast<std::uint32_t>(record), finished_.shard.id,
                static_cast<std::uint32_t>(blocks_.size()), samples_,
                static_cast<std::uint32_t>(count), block);
    const Bytes taken = values.first(count * bytes);
    if (!columns_.empty()) columns_[0].insert(columns_[0].end(), taken.begin(), taken.end());
    // Rows of arrays have no keys, but the shard has an entry for each sample.
    for (std::uint64_t i = 0; i < count; ++i)
      keys_.Add({});
    if (class_field_ != Schema::kNone) {
      for (std::uint64_t i = 0; i < count; ++i)
        finished_.CountClass(field, taken.subspan(i * bytes, bytes));
    }
    samples_ += count;
    added += count;
    WriteBlock(block, count);
    values = values.subspan(count * bytes);
  }
  return added;
}

void ShardWriter::WriteBlock(const std::vector<std::byte>& block, std::size_t samples) {
  BlockEntry entry;
  entry.offset = file_->size();
  entry.bytes = block.size();
  entry.count = static_cast<std::uint32_t>(samples);
  entry.header_checksum = LoadAt<BlockHeader>(block, 0).header_checksum;
  file_->Write(block);
  blocks_.push_back(entry);
}

void ShardWriter::WriteSection(std::uint32_t number, Bytes content) {
  SectionEntry entry;
  entry.number = number;
  entry.offset = file_->size();
  entry.bytes = content.size();
  entry.checksum = Hash64(content);
  file_->Write(content);
  // Padding, so that the next section or the directory begins aligned.
  const std::array<std::byte, kPayloadAlignment> zeros{};
  file_->Write(Bytes(zeros).first(AlignUp(content.size(), kPayloadAlignment) - content.size()));
  sections_.push_back(entry);
}

FinishedShard ShardWriter::Finish(std::string_view origin, FolderSync folder) {
  WriteBlock();
  WriteSection(kSectionKeys, keys_.Finish());
  if (!origin.empty()) WriteSection(kSectionOrigin, AsBytes(origin));
  file_->Write(BuildShardEnd(schema_,
                             {.header = header_,
                              .offset = file_->size(),
                              .blocks = blocks_,
                              .sections = sections_,
                              .samples = samples_,
                              .columns = columns_},
                             finished_.shard.digest));
  finished_.shard.samples = samples_;
  finished_.shard.blocks = blocks_.size();
  finished_.shard.bytes = file_->size();
  file_->Commit(folder);
  return std::move(finished_);
}

}  // namespace sluice
