// A thread that needs a sample borrows an encoder, which has memory of its own, and makes a block
// of this one sample. Before that it compares the file's time with the list, so that no epoch
// silently plays other pictures than the one before. A sample that is compiled already
// (SourceCompiler) is read instead.
#include "writer/convert/played_source.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

#include <sys/mman.h>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/keys.h"
#include "format/disk/limits.h"
#include "format/disk/sample_supply.h"
#include "format/disk/shard_build.h"
#include "format/disk/system_error.h"
#include "writer/convert/image_survey.h"
#include "writer/convert/planned_shard.h"
#include "writer/convert/sample_encoder.h"
#include "writer/convert/source_compiler.h"
#include "writer/source/list/store_files.h"
#include "writer/source/read_source.h"

namespace sluice {

std::int64_t TimeOf(const SourceList& list, std::size_t source) {
  if (!list.archives.empty() || list.store != nullptr) return 0;
  std::int64_t last = 0;
  list.ForEachFile(source, [&last](const std::filesystem::path& file) {
    const FileState state = StateOf(file);
    last = std::max(last, state.seconds * 1'000'000'000 + state.nanoseconds);
  });
  return last;
}

namespace {

using Clock = std::chrono::steady_clock;

// The sides, channels and codec of an image, as one number. Sides have 16 bits (kMaxImageSide).
std::uint64_t MadeImage(const FieldValue& image) {
  return std::uint64_t{image.width} << 48 | std::uint64_t{image.height} << 32 |
         std::uint64_t{image.channels} << 16 | static_cast<std::uint64_t>(image.codec);
}

void SetMadeImage(std::uint64_t made, FieldValue& image) {
  image.SetSize(static_cast<std::uint32_t>(made >> 48), made >> 32 & 0xFFFF, made >> 16 & 0xFF);
  image.codec = static_cast<Codec>(made & 0xFF);
}

// Whether no value but the image itself depends on the image, as boxes, key points and masks do.
bool OnlyImageIsRead(const SourceList& list) {
  return std::all_of(list.fields.begin(), list.fields.end(), [](const SourceField& field) {
    return field.feed == Feed::kImage || field.feed == Feed::kLabel ||
           field.feed == Feed::kElements || field.feed == Feed::kText;
  });
}

class PlayedSource final : public SampleSupply {
 public:
  PlayedSource(ConversionInput input, std::vector<ImageFigures> images)
      : input_(std::move(input)),
        layout_(input_.schema),
        place_(input_.sources.root),
        images_(OnlyImageIsRead(input_.sources) ? input_.sources.sources.size() : 0) {
    if (place_.empty() && !input_.sources.archives.empty()) place_ = input_.sources.archives[0];
    MakeManifest(std::move(images));
  }

  // Begins to compile the source (PlayOptions::compile_to).
  void Compile(const ConvertSource& source, const PlayOptions& options,
               const std::stop_token& stop) {
    compiler_.emplace(
        input_,
        SourceCompiler::Settings{.folder = options.compile_to,
                                 .source = source,
                                 .check_time = [this](std::size_t s) { CheckTime(s); },
                                 .on_warning = options.on_warning},
        stop);
  }

  const Manifest& manifest() const noexcept override { return manifest_; }
  Id128 id() const noexcept override { return id_; }
  const std::filesystem::path& place() const noexcept override { return place_; }

  MappedFile Frame(std::uint32_t shard) const override;
  std::vector<std::byte> Make(std::uint32_t shard, std::uint64_t sample,
                              const std::atomic<bool>* give_up) override;
  std::optional<std::vector<std::byte>> MakeWithoutImage(std::uint32_t shard,
                                                         std::uint64_t sample) override;
  void Expect(std::uint32_t shard, std::uint32_t block) override;
  void ForgetExpected() override {
    if (input_.sources.store != nullptr) input_.sources.store->ForgetExpected();
  }

  std::uint64_t MakingBytes() const noexcept override;
  std::uint64_t ListBytes() const noexcept override;
  Work work() const noexcept override {
    const auto seconds = [](const std::atomic<std::uint64_t>& nanoseconds) {
      return 1e-9 * static_cast<double>(nanoseconds.load(std::memory_order_relaxed));
    };
    return {seconds(reading_),
            seconds(making_),
            made_.load(std::memory_order_relaxed),
            bytes_.load(std::memory_order_relaxed),
            compiled_.load(std::memory_order_relaxed),
            Reads()};
  }

 private:
  // An encoder, and the times of its last sample.
  struct Maker {
    explicit Maker(const ConversionInput& input)
        : encoder(input.sources, input.options, input.schema,
                  BuildShardHeader(input.schema, {}, 1).size(), OriginBound(kMaxPlannedSamples)) {
      encoder.images.TakeJpegsAsTheyAre();
      encoder.images.on_step = [this](EncodeStep step) {
        if (step == EncodeStep::kRead) read = Clock::now();
      };
    }
    SampleEncoder encoder;
    Clock::time_point read;
  };

  void MakeManifest(std::vector<ImageFigures> images);
  std::size_t SourceAt(std::uint32_t shard, std::uint64_t sample) const {
    return input_.order.at(shard * input_.plan.shard_samples + sample);
  }
  Outcome Encode(std::size_t source, const std::atomic<bool>* give_up, bool with_image);
  std::optional<EncodedSample> Compiled(std::uint32_t shard, std::uint64_t sample);
  void NoteImage(std::size_t source, const EncodedSample& sample) {
    if (!images_.empty())
      images_[source].store(MadeImage(sample.fields[0]), std::memory_order_relaxed);
  }
  std::vector<std::byte> BlockOf(std::uint32_t shard, std::uint64_t sample,
                                 const EncodedSample& encoded) const {
    return BuildBlock(input_.schema, layout_, ShardIdOf(input_.plan, shard, 0),
                      static_cast<std::uint32_t>(sample / input_.plan.block_samples), sample,
                      {&encoded, 1});
  }
  void CheckTime(std::size_t source) const;
  DurationHistogram Reads() const {
    const std::lock_guard lock(mutex_);
    return reads_;
  }

  const ConversionInput input_;
  const RecordLayout layout_;
  std::filesystem::path place_;
  Manifest manifest_;
  Id128 id_;

  // By source, what its row says of an image that was made before (MadeImage); 0: nothing yet.
  // Empty if other values need the image's file.
  std::vector<std::atomic<std::uint64_t>> images_;

  mutable std::mutex mutex_;
  // mutex_ guards these two.
  std::vector<std::unique_ptr<Maker>> idle_;
  DurationHistogram reads_;
  std::atomic<std::uint64_t> reading_{0}, making_{0};  // nanoseconds
  std::atomic<std::uint64_t> made_{0}, bytes_{0}, compiled_{0};
  std::optional<SourceCompiler> compiler_;  // its thread uses the other members
};

void PlayedSource::MakeManifest(std::vector<ImageFigures> images) {
  const SourceList& list = input_.sources;
  const Plan& plan = input_.plan;
  manifest_ = BeginManifest(DescribedName(input_.schema), input_.schema);
  manifest_.made = MadeJson(plan);
  ChangeMetadata(input_.options.shards.meta, manifest_.meta);
  manifest_.samples = plan.samples;
  manifest_.images = std::move(images);
  manifest_.values = SurveyValues(list, input_.schema);
  SampleTotals totals = NoTotals(input_.schema);
  if (const std::size_t f = input_.schema.ClassField(); f != Schema::kNone) {
    std::vector<std::byte> stored;
    for (std::size_t i = 0; i < list.sources.size(); ++i) {
      Bytes element = std::as_bytes(std::span(&list.sources[i].label, 1));
      if (list.fields[f].feed != Feed::kLabel) {
        if (list.fields[f].located || !ReadStored(list, i, f, stored)) continue;
        element = stored;
      }
      totals.CountClass(input_.schema.fields[f], element);
    }
  }
  manifest_.class_counts = std::move(totals.class_counts);
  std::uint64_t bytes = 0;
  for (const Source& source : list.sources)
    bytes += source.bytes;
  for (std::uint32_t shard = 0; shard < plan.shards(); ++shard) {
    ManifestShard entry;
    entry.file = ShardFileName(shard);
    entry.id = ShardIdOf(plan, shard, 0);
    entry.digest = entry.id;  // a digest would need bytes, which do not exist yet
    entry.samples = plan.SamplesOf(shard);
    entry.block_samples = plan.block_samples;
    entry.blocks = (entry.samples + plan.block_samples - 1) / plan.block_samples;
    entry.bytes = std::max<std::uint64_t>(1, bytes / plan.samples * entry.samples);
    manifest_.shards.push_back(std::move(entry));
  }
  ManifestToJson(manifest_, id_);
}

// The frame is a file in memory (memfd). In the place of its blocks it has holes, which take no
// memory.
MappedFile PlayedSource::Frame(std::uint32_t shard) const {
  const SourceList& list = input_.sources;
  const std::uint64_t samples = input_.plan.SamplesOf(shard);
  const std::vector<std::byte> header =
      BuildShardHeader(input_.schema, ShardIdOf(input_.plan, shard, 0), input_.plan.block_samples);
  const auto head = LoadAt<ShardHeader>(header, 0);
  std::uint64_t at = header.size();
  std::vector<BlockEntry> blocks;
  for (std::uint64_t left = samples; left > 0; left -= blocks.back().count) {
    BlockEntry entry;
    entry.offset = at;
    entry.count =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(left, input_.plan.block_samples));
    entry.bytes = AlignUp(PayloadStart(entry.count, layout_.record_bytes()), kPageBytes);
    at += entry.bytes;
    blocks.push_back(entry);
  }
  KeysBuilder builder;
  const std::vector<std::size_t> fields = ColumnFields(input_.schema);
  std::vector<std::vector<std::byte>> columns(fields.size());
  std::vector<std::byte> stored;
  for (std::uint64_t s = 0; s < samples; ++s) {
    const std::size_t source = SourceAt(shard, s);
    builder.Add(list.sources[source].KeyOfSample());
    for (std::size_t c = 0; c < fields.size(); ++c) {
      Bytes element = std::as_bytes(std::span(&list.sources[source].label, 1));
      if (list.fields[fields[c]].feed != Feed::kLabel) {
        ReadStored(list, source, fields[c], stored);
        element = stored;
      }
      columns[c].insert(columns[c].end(), element.begin(), element.end());
    }
  }
  const std::vector<std::byte> keys = builder.Finish();
  SectionEntry section;
  section.number = kSectionKeys;
  section.offset = at;
  section.bytes = keys.size();
  section.checksum = Hash64(keys);
  Id128 digest;
  const std::uint64_t directory = AlignUp(at + keys.size(), kPayloadAlignment);
  const std::vector<std::byte> end = BuildShardEnd(input_.schema,
                                                   {.header = head,
                                                    .offset = directory,
                                                    .blocks = blocks,
                                                    .sections = {&section, 1},
                                                    .samples = samples,
                                                    .columns = columns},
                                                   digest);
  const FileHandle file(memfd_create("sluice-frame", MFD_CLOEXEC));
  if (!file || !WriteWhole(file, 0, header) || !WriteWhole(file, section.offset, keys) ||
      !WriteWhole(file, directory, end)) {
    throw Error(errno == ENOMEM || errno == ENOSPC ? ErrorCode::kMemory : ErrorCode::kIo,
                place_.string(),
                "its keys and labels cannot be kept in memory: " + SystemErrorText(errno));
  }
  return MappedFile(file, place_, MapAdvice::kNormal);
}

void PlayedSource::CheckTime(std::size_t source) const {
  const std::int64_t listed = input_.sources.sources[source].changed;
  if (listed == 0 || input_.sources.store != nullptr) return;
  const std::int64_t now = TimeOf(input_.sources, source);
  if (now == listed || now == 0) return;  // reading it says why it cannot be examined
  throw Error(ErrorCode::kIo,
              "was changed since the source was listed; list it anew (remove the index, if there "
              "is one), or restore the file");
}

Outcome PlayedSource::Encode(std::size_t source, const std::atomic<bool>* give_up,
                             bool with_image) {
  std::unique_ptr<Maker> maker;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      maker = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (maker == nullptr) maker = std::make_unique<Maker>(input_);
  const Clock::time_point start = Clock::now();
  maker->read = start;
  maker->encoder.give_up = give_up;
  if (with_image) CheckTime(source);
  Outcome outcome = maker->encoder.Encode(source, with_image);
  const auto count = [](std::atomic<std::uint64_t>& sum, Clock::duration time) {
    sum.fetch_add(static_cast<std::uint64_t>(
                      std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()),
                  std::memory_order_relaxed);
  };
  count(reading_, maker->read - start);
  count(making_, Clock::now() - maker->read);
  made_.fetch_add(1, std::memory_order_relaxed);
  if (with_image) bytes_.fetch_add(input_.sources.sources[source].bytes, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  if (with_image) reads_.Add(std::chrono::duration<double>(maker->read - start).count());
  idle_.push_back(std::move(maker));
  return outcome;
}

// The sample, if the source is compiled that far. Its time is not counted: it is that of a dataset.
std::optional<EncodedSample> PlayedSource::Compiled(std::uint32_t shard, std::uint64_t sample) {
  if (!compiler_) return std::nullopt;
  std::optional<EncodedSample> found = compiler_->Find(shard, sample);
  if (!found) return found;
  std::uint64_t bytes = 0;
  for (const FieldValue& value : found->fields)
    bytes += value.bytes.size();
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  compiled_.fetch_add(1, std::memory_order_relaxed);
  return found;
}

std::vector<std::byte> PlayedSource::Make(std::uint32_t shard, std::uint64_t sample,
                                          const std::atomic<bool>* give_up) {
  const std::size_t source = SourceAt(shard, sample);
  if (const std::optional<EncodedSample> compiled = Compiled(shard, sample)) {
    const Source& file = input_.sources.sources[source];
    if (input_.sources.store != nullptr) input_.sources.store->Unexpect(file.key, file.bytes);
    NoteImage(source, *compiled);
    return BlockOf(shard, sample, *compiled);
  }
  const std::uint64_t number = shard * input_.plan.shard_samples + sample;
  const auto named = [&](ErrorCode code, const std::string& sentence) {
    return Error(code, input_.sources.NameOf(source), "sample " + std::to_string(number), sentence);
  };
  Outcome outcome;
  try {
    outcome = Encode(source, give_up, true);
  } catch (const Error& error) {
    throw named(error.code(), error.sentence());
  }
  if (!outcome.reason.empty())
    throw named(outcome.unreadable ? ErrorCode::kIo : ErrorCode::kCorrupt, outcome.reason);
  NoteImage(source, outcome.sample);
  return BlockOf(shard, sample, outcome.sample);
}

std::optional<std::vector<std::byte>> PlayedSource::MakeWithoutImage(std::uint32_t shard,
                                                                     std::uint64_t sample) {
  const std::size_t source = SourceAt(shard, sample);
  const std::uint64_t made = images_.empty() ? 0 : images_[source].load(std::memory_order_relaxed);
  if (made == 0 || input_.sources.sources[source].described_width != 0) return std::nullopt;
  Outcome outcome = Encode(source, nullptr, false);
  if (!outcome.reason.empty()) return std::nullopt;  // Make() will say why
  SetMadeImage(made, outcome.sample.fields[0]);
  return BlockOf(shard, sample, outcome.sample);
}

void PlayedSource::Expect(std::uint32_t shard, std::uint32_t block) {
  const SourceList& list = input_.sources;
  const std::uint64_t begin = std::uint64_t{block} * input_.plan.block_samples;
  const std::uint64_t end =
      std::min(begin + input_.plan.block_samples, input_.plan.SamplesOf(shard));
  if (compiler_ && compiler_->Expect(shard, begin, end)) return;
  if (list.store == nullptr) return;
  for (std::uint64_t sample = begin; sample < end; ++sample) {
    const Source& source = list.sources[SourceAt(shard, sample)];
    list.store->Expect(source.key, source.bytes);
  }
}

std::uint64_t PlayedSource::MakingBytes() const noexcept {
  // Bytes a pixel while an image that is not taken as it is gets decoded and encoded: as
  // SampleReader counts them.
  constexpr std::uint64_t kPixelBytes = 24;
  const ImageFigures& images = manifest_.images[0];
  const std::uint64_t pixels = std::min<std::uint64_t>(
      input_.options.run.max_pixels, std::uint64_t{images.max_width} * images.max_height);
  std::uint64_t file = 0;
  for (const Source& source : input_.sources.sources)
    file = std::max(file, source.bytes);
  std::uint64_t page = 0;
  for (const PackedPage& one : input_.sources.pages)
    page = std::max(page, one.stored + one.plain);
  std::uint64_t values = 0;
  for (const ManifestValues& one : manifest_.values)
    values += one.max_bytes;
  return file + page + kPixelBytes * pixels + 2 * (images.max_payload_bytes + values);
}

std::uint64_t PlayedSource::ListBytes() const noexcept {
  const SourceList& list = input_.sources;
  std::uint64_t bytes =
      input_.order.size() * sizeof(std::uint32_t) + list.pages.size() * sizeof(PackedPage) +
      2 * (list.values.Memory().first.size() + list.values.Memory().second.size());
  for (const Source& source : list.sources)
    bytes += sizeof(Source) + source.key.size() + source.sample_key.size();
  // Frames have the keys and columns once more.
  bytes = 2 * bytes + images_.size() * sizeof(std::uint64_t) +
          (list.store != nullptr ? StoreFiles::kMaxAhead : 0);
  if (!compiler_) return bytes;
  constexpr std::uint64_t kMaxWaiting = std::uint64_t{64} << 20;  // finished results: RunInOrder()
  if (list.store != nullptr) bytes *= 2;  // the compiler then has a list of its own
  return bytes + kMaxWaiting + (1 + SourceCompiler::Threads()) * MakingBytes();
}

}  // namespace

std::shared_ptr<SampleSupply> SupplyOf(ConversionInput input, std::vector<ImageFigures> images,
                                       const ConvertSource& source, const PlayOptions& options,
                                       const std::stop_token& stop) {
  auto played = std::make_shared<PlayedSource>(std::move(input), std::move(images));
  if (!options.compile_to.empty()) played->Compile(source, options, stop);
  return played;
}

}  // namespace sluice
