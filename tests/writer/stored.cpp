#include "tests/writer/stored.h"

#include <stdexcept>

#include "format/disk/checksum.h"

namespace sluice::test {

namespace {

void Require(Defect defect) {
  if (defect != nullptr) throw std::runtime_error(defect);
}

StoredField ReadField(const ShardFile& shard, const BlockView& block, std::uint32_t row,
                      std::size_t f) {
  StoredField field;
  const Field& description = shard.schema().fields[f];
  if (description.kind == FieldKind::kArray) {
    const Bytes elements = block.Elements(shard.layout(), row, f);
    field.bytes.assign(elements.begin(), elements.end());
    return field;
  }
  BlockView::Payload payload;
  Require(block.GetPayload(shard.layout(), row, f, payload));
  field.codec = static_cast<Codec>(payload.entry.codec);
  field.bytes.assign(payload.bytes.begin(), payload.bytes.end());
  if (field.codec != Codec::kAbsent && payload.entry.checksum != Hash64(payload.bytes)) {
    throw std::runtime_error("a payload's checksum does not match");
  }
  if (description.kind == FieldKind::kImage) {
    ImagePayload image;
    std::uint64_t checksum = 0;
    Require(block.GetImage(shard.layout(), row, f, image, checksum));
    field.width = image.width;
    field.height = image.height;
    field.channels = image.channels;
    field.pixel_type = image.pixel_type;
  }
  return field;
}

void ReadShard(const ShardFile& shard, StoredDataset& dataset) {
  Require(shard.VerifyPlacement());
  for (std::uint32_t b = 0; b < shard.blocks(); ++b) {
    const BlockView block = shard.Block(b);
    Require(block.VerifyPlacement(shard.schema(), shard.layout()));
    dataset.block_bytes.push_back(shard.block_entry(b).bytes);
    for (std::uint32_t row = 0; row < block.count(); ++row) {
      StoredSample sample;
      sample.key = shard.Key(std::uint64_t{b} * shard.block_samples() + row);
      for (std::size_t f = 0; f < shard.schema().fields.size(); ++f) {
        sample.fields.push_back(ReadField(shard, block, row, f));
      }
      dataset.samples.push_back(std::move(sample));
    }
  }
}

}  // namespace

Picture StoredSample::Pixels(std::uint32_t channels) const {
  const StoredField& image = fields.at(0);
  if (image.codec == Codec::kJpeg) return DecodeJpeg(image.bytes, channels);
  Picture picture{image.width, image.height, image.channels, {}};
  const auto* begin = reinterpret_cast<const std::uint8_t*>(image.bytes.data());
  picture.pixels.assign(begin, begin + image.bytes.size());
  return picture;
}

const StoredSample& StoredDataset::Find(const std::string& key) const {
  for (const StoredSample& sample : samples) {
    if (sample.key == key) return sample;
  }
  throw std::runtime_error("no sample " + key);
}

std::vector<std::string> StoredDataset::Keys() const {
  std::vector<std::string> keys;
  for (const StoredSample& sample : samples)
    keys.push_back(sample.key);
  return keys;
}

StoredDataset ReadDataset(const std::filesystem::path& folder) {
  StoredDataset dataset;
  Id128 id;
  dataset.manifest = ReadManifest(folder, id);
  for (const ManifestShard& entry : dataset.manifest.shards) {
    ReadShard(ShardFile(folder / entry.file, dataset.manifest.schema, ShardExpectation::Of(entry)),
              dataset);
  }
  if (dataset.samples.size() != dataset.manifest.samples) {
    throw std::runtime_error("the samples do not add up");
  }
  return dataset;
}

std::map<std::string, std::string> ContentsOf(const std::filesystem::path& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    contents[entry.path().filename().string()] = ContentOf(entry.path());
  }
  return contents;
}

}  // namespace sluice::test
