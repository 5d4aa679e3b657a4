// Datasets that a program writes sample by sample, without a plan: samples go to shards in the
// order they come. Until the first block's size is known, the first samples wait; then as many
// samples make a block as come to about 512 KiB.
#include <algorithm>
#include <optional>

#include <sluice/dataset_writer.h>
#include <sluice/error.h>
#include <sluice/version.h>

#include "format/disk/file.h"
#include "format/disk/limits.h"
#include "format/disk/zstd.h"
#include "writer/convert/dataset_folder.h"
#include "writer/sample_builder.h"
#include "writer/shard_writer.h"

namespace sluice {

namespace {

constexpr std::size_t kSurveyedSamples = 1024;  // at most, to choose the samples of a block

void CheckOptions(const DatasetWriterOptions& options) {
  if (options.shard_bytes < kMinShardBytes || options.shard_bytes > kMaxShardBytes) {
    throw Error(ErrorCode::kInvalidArgument,
                "shard_bytes is " + std::to_string(options.shard_bytes) + "; it must be between " +
                    std::to_string(kMinShardBytes) + " and " + std::to_string(kMaxShardBytes));
  }
  if (options.block_samples > kMaxBlockSamples) {
    throw Error(ErrorCode::kInvalidArgument, "block_samples must be at most 65536");
  }
}

// How the dataset was made, for its manifest.
std::string MadeJson(const DatasetWriterOptions& options) {
  return std::string("{\"by\":\"sluice::DatasetWriter\",\"libraries\":{\"sluice\":\"") +
         kWriterVersion + "\",\"zstd\":\"" + ZstdVersion() +
         "\"},\"shard_bytes\":" + std::to_string(options.shard_bytes) + "}";
}

std::string FolderName(const std::filesystem::path& folder) {
  const std::filesystem::path path = std::filesystem::absolute(folder).lexically_normal();
  return (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
}

}  // namespace

struct DatasetWriter::State {
  State(const std::filesystem::path& dataset, const Schema& the_schema,
        const DatasetWriterOptions& the_options)
      : folder(AbsolutePath(dataset)),
        schema(std::make_shared<const Schema>(the_schema)),
        layout(*schema),
        header_bytes(BuildShardHeader(*schema, {}, 1).size()),
        options(the_options),
        block_samples(the_options.block_samples) {}

  void Check(const SampleBuilder::State& sample) const;
  void Append(EncodedSample sample);
  void SettleBlockSamples();
  void Store(EncodedSample sample);
  void CloseShard();

  std::filesystem::path folder;
  FileHandle lock;  // keeps other processes from writing there
  std::shared_ptr<const Schema> schema;
  RowLayout layout;
  std::uint64_t header_bytes;
  DatasetWriterOptions options;
  Manifest manifest;
  std::uint64_t samples = 0;
  std::uint32_t block_samples;          // 0 until it is settled
  std::vector<EncodedSample> surveyed;  // the first samples, until then
  std::uint64_t surveyed_bytes = 0;
  std::optional<ShardWriter> shard;
  bool over = false;  // finished, or broken by an error of the file system
};

void DatasetWriter::State::Check(const SampleBuilder::State& sample) const {
  const auto refuse = [&sample](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument, "sample \"" + sample.sample.key + "\": " + what);
  };
  if (sample.schema != schema && *sample.schema != *schema) {
    refuse("comes from NewSample() of a writer with another schema");
  }
  for (std::size_t f = 0; f < schema->fields.size(); ++f) {
    if (schema->fields[f].kind == FieldKind::kArray && !sample.set[f]) {
      refuse("field \"" + schema->fields[f].name + "\" was not set; set every array field");
    }
  }
  for (std::size_t f = 0; f < schema->fields.size(); ++f) {
    const Field& field = schema->fields[f];
    if (!field.numbers_classes()) continue;
    const std::int64_t number = ClassNumber(field, sample.sample.fields[f].bytes);
    if (!IsClass(field, number)) {
      refuse("field \"" + field.name + "\" is " + std::to_string(number) + ", but there are " +
             std::to_string(field.classes.size()) + " classes, counted from 0");
    }
  }
  try {
    CheckLimits(sample.sample, *schema, layout, header_bytes);
  } catch (const Error& error) {
    throw Error(error.code(),
                "sample \"" + sample.sample.key.substr(0, 200) + "\": " + error.sentence());
  }
}

// Samples of the same size as the first ones make blocks of about 512 KiB.
void DatasetWriter::State::SettleBlockSamples() {
  const std::uint64_t mean = surveyed.empty() ? 1 : surveyed_bytes / surveyed.size();
  block_samples = AutomaticBlockSamples(mean);
  for (EncodedSample& sample : surveyed)
    Store(std::move(sample));
  surveyed.clear();
}

void DatasetWriter::State::Append(EncodedSample sample) {
  if (block_samples != 0) return Store(std::move(sample));
  surveyed_bytes += BlockBytesOf(sample, *schema, layout);
  surveyed.push_back(std::move(sample));
  if (surveyed_bytes >= kPlannedBlockBytes || surveyed.size() == kSurveyedSamples) {
    SettleBlockSamples();
  }
}

void DatasetWriter::State::Store(EncodedSample sample) {
  if (shard && !shard->Fits(sample, options.shard_bytes)) CloseShard();
  if (!shard) {
    const auto number = static_cast<std::uint32_t>(manifest.shards.size());
    if (number == kMaxShards) {
      throw Error(ErrorCode::kLimit, folder.string(),
                  "a dataset can have at most 1000000 shards; choose larger ones");
    }
    shard.emplace(*schema, folder,
                  NewShard{.name = ShardFileName(number),
                           .id = ShardId(AsBytes(manifest.name), number),
                           .block_samples = block_samples});
  }
  shard->Add(std::move(sample));
}

void DatasetWriter::State::CloseShard() {
  if (!shard) return;
  AddShard(shard->Finish(), manifest);
  shard.reset();
}

DatasetWriter::DatasetWriter(const std::filesystem::path& dataset, const Schema& schema,
                             const DatasetWriterOptions& options) {
  CheckOptions(options);
  schema.Validate();
  state_ = std::make_unique<State>(dataset, schema, options);
  state_->manifest =
      BeginManifest(options.name.empty() ? FolderName(dataset) : options.name, schema);
  state_->manifest.made = MadeJson(options);
  CreateFolder(dataset);
  state_->lock = LockFolder(dataset);
  if (!std::filesystem::is_empty(dataset)) {
    throw Error(ErrorCode::kExists, dataset.string(),
                "is not empty; empty it, or choose a folder that does not exist yet");
  }
}

DatasetWriter::~DatasetWriter() = default;

SampleBuilder DatasetWriter::NewSample(std::string key) const {
  auto state = std::make_unique<SampleBuilder::State>();
  state->schema = state_->schema;
  state->sample.key = std::move(key);
  state->sample.fields.resize(state_->schema->fields.size());
  state->set.resize(state_->schema->fields.size());
  return SampleBuilder(std::move(state));
}

void DatasetWriter::Add(const SampleBuilder& sample) {
  if (state_->over) {
    throw Error(ErrorCode::kState, state_->folder.string(),
                "this writer is finished, or was stopped by an error; nothing can be added");
  }
  state_->Check(*sample.state_);
  state_->over = true;  // stays so if something below throws
  state_->Append(sample.state_->sample);
  state_->over = false;
  ++state_->samples;
}

void DatasetWriter::Finish() {
  if (state_->over) {
    throw Error(ErrorCode::kState, state_->folder.string(),
                "this writer is finished already, or was stopped by an error");
  }
  state_->over = true;
  if (state_->block_samples == 0) state_->SettleBlockSamples();
  state_->CloseShard();
  Id128 id;
  const std::string text = ManifestToJson(state_->manifest, id);
  WriteFile(state_->folder / kManifestName, AsBytes(text));
  state_->lock = FileHandle();
}

std::uint64_t DatasetWriter::samples() const noexcept {
  return state_->samples;
}

}  // namespace sluice
