// A source that is played without a conversion: its plan is the plan of a conversion, and its
// samples are made by a conversion's code when they are asked for.
//
// PlaySource() makes the list of samples as Convert() does, and shares Convert()'s plan: so a
// sample has the number, shard and block that it would have in the dataset. What a manifest says of
// images must be known before the first batch (a loader makes room for the largest): the beginnings
// of all files tell their sizes (ImageLook). The rest of a manifest follows from the list. All of
// this can be kept in an index.
//
// While the source is played, a thread that needs a sample borrows an encoder, which has memory of
// its own, and makes a block of this one sample. Before that it compares the file's time with the
// list, so that no epoch silently plays other pictures than the one before.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include <sluice/convert_option_list.h>
#include <sluice/cpu.h>
#include <sluice/error.h>
#include <sluice/play_source.h>
#include <sluice/shown_path.h>

#include "format/disk/checksum.h"
#include "format/disk/json.h"
#include "format/disk/keys.h"
#include "format/disk/limits.h"
#include "format/disk/sample_supply.h"
#include "format/disk/system_error.h"
#include "format/parallel.h"
#include "format/remote/object_store.h"
#include "writer/convert/conversion.h"
#include "writer/convert/options.h"
#include "writer/convert/plan.h"
#include "writer/convert/planned_shard.h"
#include "writer/convert/probe.h"
#include "writer/convert/report.h"
#include "writer/convert/sample_encoder.h"
#include "writer/convert/source_compiler.h"
#include "writer/source/check_source.h"
#include "writer/source/images/image_kinds.h"
#include "writer/source/images/jpeg.h"
#include "writer/source/labels/annotations.h"
#include "writer/source/list/dataset_classes.h"
#include "writer/source/list/store_files.h"
#include "writer/source/open_source.h"
#include "writer/text.h"

namespace sluice {

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kSecond = 1'000'000'000;  // nanoseconds

ConvertOptions ConversionOf(const PlayOptions& options) {
  ConvertOptions convert;
  convert.geometry = options.geometry;
  convert.form = options.form;
  convert.shards = options.shards;
  convert.run.max_pixels = options.max_pixels;
  return convert;
}

// When a file was last written to, in nanoseconds since 1970; 0 if it cannot be examined.
std::int64_t WrittenAt(const std::filesystem::path& file) {
  const FileState state = StateOf(file);
  return state.seconds * kSecond + state.nanoseconds;
}

// The latest time of the files that the source's sample is made of; 0 if the sources lie in
// archives or in an object store.
std::int64_t TimeOf(const SourceList& list, std::size_t source) {
  if (!list.archives.empty() || list.store != nullptr) return 0;
  std::int64_t last = WrittenAt(list.root / list.sources[source].key);
  for (std::size_t f = 0; f < list.fields.size(); ++f) {
    if (list.fields[f].feed != Feed::kMask || list.fields[f].located) continue;
    if (const std::optional<Bytes> mask = list.Value(source, f))
      last = std::max(last, WrittenAt(list.fields[f].folder / MaskFileOf(*mask).path));
  }
  return last;
}

// --- What the manifest says of images -----------------------------------------------------------

// The size of an upright picture.
struct UprightSize {
  std::uint32_t width = 0, height = 0;  // 0: unknown
  bool may_be_turned = false;           // width and height may still have to be exchanged
};

// The size according to the beginning of an image file, or to a whole file. Throws if that part
// does not tell it.
UprightSize SizeIn(Bytes start, bool whole) {
  const Sniffed sniffed = Sniff(start);
  if (!WhyNotConverted(sniffed).empty()) return {};
  // A PNG or WebP may have its Exif or XMP, and so its orientation, after the pixels. The source of
  // a PNG reads them only in Decode(), which is not called here.
  const std::string_view text = AsText(start);
  const bool says_more = text.find("eXIf") != text.npos || text.find("adobe.xmp") != text.npos;
  const bool late = sniffed.kind == ImageKind::kPng    ? says_more || !whole
                    : sniffed.kind == ImageKind::kWebp ? !whole
                                                       : false;
  const auto upright = [late](std::uint32_t width, std::uint32_t height, Orientation orientation) {
    return orientation.transposed ? UprightSize{height, width, late}
                                  : UprightSize{width, height, late};
  };
  if (sniffed.kind == ImageKind::kJpeg) {
    const JpegSource jpeg({start, true});
    return upright(jpeg.width(), jpeg.height(), jpeg.orientation());
  }
  const std::unique_ptr<PixelSource> image = OpenPixels(sniffed.kind, start);
  return upright(image->width(), image->height(), image->orientation());
}

// Looks at the beginnings of images. Each thread has one.
class ImageLook {
 public:
  explicit ImageLook(const SourceList& list) : list_(list) {}

  // Returns nothing if the image cannot be read; playing it will say why.
  UprightSize SizeOf(std::size_t source) {
    // The tables before a JPEG's size are often longer than a page: thumbnails, colour profiles.
    constexpr std::uint64_t kStartBytes = 65'536;
    for (const std::uint64_t most : {kStartBytes, kMaxSourceBytes}) {
      try {
        ReadImageStart(list_, source, most, content_, page_);
      } catch (const StoreFault&) {
        throw;
      } catch (const Error& error) {
        if (IsShortage(error)) throw;
        return {};
      }
      try {
        return SizeIn(content_, content_.size() < most);
      } catch (const Error& error) {
        if (IsShortage(error)) throw;
        if (content_.size() < kStartBytes) return {};
      }
    }
    return {};
  }

 private:
  const SourceList& list_;
  std::vector<std::byte> content_;
  UnpackedPage page_;
};

// An upper bound for the bytes of a stored image of that size: those of a baseline JPEG whose every
// coefficient has the longest code (27 bits), with three components at full size.
std::uint64_t MaxPayloadOf(std::uint64_t pixels, std::uint64_t file_bytes) {
  constexpr std::uint64_t kPixelBytes = 11;
  constexpr std::uint64_t kHeaderBytes = 1 << 20;
  return std::min(kMaxPayloadBytes, std::max(file_bytes, pixels * kPixelBytes + kHeaderBytes));
}

// The manifest's summary of all images, from the beginnings of their files.
std::vector<ImageFigures> SurveyImages(const ConversionInput& input, const Probe& probe,
                                       unsigned threads, const PlayOptions& options,
                                       const std::stop_token& stop) {
  const SourceList& list = input.sources;
  std::vector<UprightSize> sizes(list.sources.size());
  std::vector<ImageLook> looks(list.store != nullptr ? StoreFiles::kLooking : threads,
                               ImageLook(list));
  std::atomic<std::uint64_t> looked{0};
  std::mutex mutex;
  ParallelFor(static_cast<unsigned>(looks.size()), sizes.size(), stop,
              [&](unsigned worker, std::size_t i) {
                sizes[i] = looks[worker].SizeOf(i);
                const std::uint64_t now = ++looked;
                if (!options.on_look || now % 1024 != 0) return;
                const std::lock_guard lock(mutex);
                options.on_look(now, sizes.size());
              });
  if (stop.stop_requested()) ThrowStopped();

  std::vector<ImageFigures> images;
  for (std::size_t f = 0; f < list.fields.size(); ++f) {
    if (input.schema.fields[f].kind != FieldKind::kImage) continue;
    ImageFigures& of = images.emplace_back();
    // The channels and the type of masks are those of the first samples. As in any dataset, all
    // masks must have the same.
    auto channels = static_cast<std::uint8_t>(f == 0 ? input.options.form.channels : 1);
    PixelType type = list.fields[f].wide ? PixelType::kUint16 : PixelType::kUint8;
    for (const std::optional<Outcome>& outcome : probe.outcomes) {
      if (f == 0 || !outcome || outcome->sample.fields[f].codec == Codec::kAbsent) continue;
      channels = outcome->sample.fields[f].channels;
      type = outcome->sample.fields[f].pixel_type;
      break;
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::uint64_t pixels = std::uint64_t{sizes[i].width} * sizes[i].height;
      if (pixels == 0 || pixels > options.max_pixels) continue;
      if (f > 0 && !list.Value(i, f)) continue;
      const auto add = [&](std::uint32_t width, std::uint32_t height) {
        const FittedGeometry fitted = FitGeometry(width, height, input.options);
        of.Add(FiguresOf(fitted.target_width, fitted.target_height, channels, type,
                         list.sources[i].bytes));
        const std::uint64_t stored = std::uint64_t{fitted.target_width} * fitted.target_height;
        of.max_payload_bytes =
            std::max(of.max_payload_bytes, MaxPayloadOf(stored, list.sources[i].bytes));
      };
      add(sizes[i].width, sizes[i].height);
      if (!sizes[i].may_be_turned) continue;
      add(sizes[i].height, sizes[i].width);
      --of.present;  // it is one image
      of.payload_bytes -= list.sources[i].bytes;
    }
  }
  return images;
}

// Upper bounds for the values of bytes and variable fields, which the list has.
std::vector<ManifestValues> SurveyValues(const SourceList& list, const Schema& schema) {
  std::vector<ManifestValues> all;
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    if (!HasValues(schema.fields[f])) continue;
    ManifestValues& of = all.emplace_back();
    for (std::size_t i = 0; i < list.sources.size(); ++i) {
      const std::optional<Bytes> value = list.Value(i, f);
      if (!value) continue;
      std::uint64_t bytes = list.fields[f].located ? list.ExtentOf(i, f).bytes : value->size();
      // Text that is not UTF-8 gets four bytes for one.
      if (list.fields[f].feed == Feed::kText && list.fields[f].located) bytes *= 4;
      of.Add({1, bytes, bytes});
    }
  }
  return all;
}

// --- The index ----------------------------------------------------------------------------------

// The words for all members of a ConvertSource: a list of samples depends on these and the files.
template <class T>
json WordsOfSource(const T& value) {
  if constexpr (option_list::HasOptions<T>) {
    json words;
    option_list::ForEachMember<T>(
        [&](const auto& option) { words[option.name] = WordsOfSource(value.*option.member); });
    return words;
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return EscapeBytes(AbsolutePlace(value));
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    return EscapeBytes(value);
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<int>(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else if constexpr (requires { value.has_value(); }) {
    return value ? WordsOfSource(*value) : json();
  } else {
    json words = json::array();
    for (const auto& one : value)
      words.push_back(WordsOfSource(one));
    return words;
  }
}

std::string DigestOf(const json& words) {
  return ToHex(Hash128(AsBytes(words.dump())));
}

// The files that the whole list was made of: [name, state] of each file, and [name, digest] of a
// folder of label files and of the classes of another dataset. A changed entry makes an index
// invalid.
json FilesOf(const ConvertSource& source, const std::stop_token& stop) {
  json files = json::array();
  std::vector<std::filesystem::path> paths = source.archives;
  if (source.kind == ConvertSource::Kind::kTable) paths.push_back(source.table);
  if (source.kind == ConvertSource::Kind::kAnnotations) paths.push_back(source.label_files.path);
  for (const std::filesystem::path& path : paths)
    files.push_back({EscapeBytes(path.native()), StateOf(path).Words()});
  // A folder's own time does not tell that a file in it was written to.
  std::error_code ignored;
  if (source.kind == ConvertSource::Kind::kAnnotations &&
      std::filesystem::is_directory(source.label_files.path, ignored)) {
    files.push_back({"a label file or a file of class names of " +
                         EscapeBytes(source.label_files.path.native()),
                     DigestOfLabelFiles(source, stop)});
  }
  if (const std::filesystem::path& dataset = source.label.classes_of; !dataset.empty()) {
    const DatasetClasses classes = ClassesOfDataset(dataset, stop);
    files.push_back({"the classes of " + EscapeBytes(ShownPath(dataset.native())),
                     DigestOf({classes.label, classes.fields})});
  }
  return files;
}

// Throws json::exception, and Error(kCorrupt) without a name.
std::vector<ImageFigures> ImagesFromJson(const json& in) {
  constexpr std::uint64_t kMaxPresent = UINT32_MAX;
  std::vector<ImageFigures> images;
  for (const json& one : in) {
    images.push_back(FiguresFromJson(one));
    if (images.back().present > kMaxPresent ||
        images.back().payload_bytes > kMaxPresent * kMaxSourceBytes) {
      throw Error(ErrorCode::kCorrupt, "has sizes of images that are out of range");
    }
  }
  return images;
}

// --- The samples --------------------------------------------------------------------------------

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
  const RowLayout layout_;
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
    entry.bytes = AlignUp(PayloadStart(entry.count, layout_.row_bytes()), kPageBytes);
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

// --- Opening ------------------------------------------------------------------------------------

void Warn(const SourceList& list, const PlayOptions& options) {
  if (!options.on_warning) return;
  if (!list.broken.empty()) {
    const LeftOut& first = list.broken.front();
    options.on_warning(std::to_string(list.broken.size()) +
                       (list.broken.size() == 1 ? " file cannot" : " files cannot") +
                       " be played, such as " + ToUtf8(first.path) + ": " + first.reason);
  }
  for (const std::string& warning : list.warnings)
    options.on_warning(warning);
}

// Samples per shard and block, as a conversion plans them.
void Settle(const Probe& probe, ConversionInput& input) {
  SettlePlan(input.options, probe.mean_bytes, BuildShardHeader(input.schema, {}, 1).size(),
             input.plan);
}

std::shared_ptr<SampleSupply> Play(ConversionInput input, std::vector<ImageFigures> images,
                                   const ConvertSource& source, const PlayOptions& options,
                                   const std::stop_token& stop) {
  Warn(input.sources, options);
  auto played = std::make_shared<PlayedSource>(std::move(input), std::move(images));
  if (!options.compile_to.empty()) played->Compile(source, options, stop);
  return played;
}

std::shared_ptr<SampleSupply> FromIndex(const ConvertSource& source, const PlayOptions& options,
                                        const std::stop_token& stop) {
  const std::string name = options.index.string();
  SourceIndex index = ReadSourceIndex(options.index);
  const auto refuse = [&name](ErrorCode code, const std::string& what) {
    throw Error(code, name, what + "; remove the index, and it is made anew");
  };
  const json head = json::parse(index.head, nullptr, false);
  try {
    if (head.at("source") != DigestOf(WordsOfSource(source)))
      refuse(ErrorCode::kExists, "is the index of another source, or was made with other options");
    const json now = FilesOf(source, stop);
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (head.at("files").at(i) != now[i]) {
        refuse(ErrorCode::kExists,
               "is older than " + now[i].at(0).get<std::string>() + ", which was changed since");
      }
    }
    index.list.SetRoot(index.list.root, stop);
    ConversionInput input(std::move(index.list), ConversionOf(options));
    const std::string plan = head.at("plan").get<std::string>();
    const PlanOutline outline = OutlineOfPlan(plan, name);
    if (outline.digest != ToHex(input.plan.digest) || outline.plan.samples != input.plan.samples) {
      refuse(ErrorCode::kExists,
             "was made with other options, or by another version of Sluice or its libraries");
    }
    input.plan.shard_samples = outline.plan.shard_samples;
    input.plan.block_samples = outline.plan.block_samples;
    std::vector<ImageFigures> images = ImagesFromJson(head.at("images"));
    if (images.size() != NoTotals(input.schema).images.size())
      refuse(ErrorCode::kCorrupt, "lacks the sizes of a field's images");
    return Play(std::move(input), std::move(images), source, options, stop);
  } catch (const json::exception&) {
    refuse(ErrorCode::kCorrupt, "is damaged");
    throw;
  }
}

}  // namespace

std::shared_ptr<SampleSupply> PlaySource(const ConvertSource& source, const PlayOptions& options,
                                         const std::stop_token& stop) {
  const ConvertOptions convert = ConversionOf(options);
  CheckOptions(convert);
  CheckSource(source);
  if (!options.compile_to.empty()) SourceCompiler::CheckFolder(source, options.compile_to);
  std::error_code ignored;
  if (!options.index.empty() && std::filesystem::exists(options.index, ignored))
    return FromIndex(source, options, stop);
  const unsigned threads = options.threads != 0 ? options.threads : AvailableCpus();
  const json files = FilesOf(source, stop);  // before they are read
  ConvertHooks hooks;
  hooks.stop = stop;
  hooks.on_look = options.on_look;
  SourceList list = OpenSource(source, threads, hooks);
  for (std::size_t i = 0; i < list.sources.size(); ++i) {
    const std::int64_t time = TimeOf(list, i);
    if (time != 0) list.sources[i].changed = time;
  }
  ConversionInput input(std::move(list), convert);
  const Probe probe = ProbeSizes(input, threads, stop);
  Settle(probe, input);
  // The same warnings as a dry run of the conversion gives.
  ConvertSummary summary = BeginSummary(input.sources);
  SummarizeProbe(input, probe, summary);
  AddSuspicions(input.sources, convert, false, summary);
  input.sources.warnings = std::move(summary.warnings);
  std::vector<ImageFigures> images = SurveyImages(input, probe, threads, options, stop);
  if (!options.index.empty()) {
    json figures = json::array();
    for (const ImageFigures& one : images)
      figures.push_back(FiguresToJson(one));
    const json head = {{"source", DigestOf(WordsOfSource(source))},
                       {"files", files},
                       {"plan", PlanToJson(input.plan)},
                       {"images", figures}};
    WriteSourceIndex(options.index, head.dump(), input.sources);
  }
  return Play(std::move(input), std::move(images), source, options, stop);
}

std::shared_ptr<SampleSupply> PlaySource(const std::filesystem::path& place,
                                         const PlayOptions& options, const std::stop_token& stop) {
  return PlaySource(SourceAt(place), options, stop);
}

}  // namespace sluice
