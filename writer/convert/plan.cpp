// The plan is JSON; its digest covers all that the bytes of the dataset depend on. The list of
// sources is a file of its own next to it, in zstd frames with checksums. WriteList() and
// ReadList() must mirror each other; ReadList() checks each value before it is used.
#include "writer/convert/plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <type_traits>

#include <jpeglib.h>
#include <spng.h>

#include <sluice/error.h>
#include <sluice/version.h>

#include "format/disk/checksum.h"
#include "format/disk/file.h"
#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "format/disk/system_error.h"
#include "format/disk/zstd.h"
#include "format/random.h"
#include "format/remote/object_store.h"
#include "writer/convert/options.h"
#include "writer/shard_writer.h"
#include "writer/source/images/icc.h"
#include "writer/source/images/image_kinds.h"
#include "writer/source/labels/masks.h"
#include "writer/text.h"

#define SLUICE_TEXT_OF(token) SLUICE_TEXT(token)
#define SLUICE_TEXT(token) #token

namespace sluice {

namespace {

using nlohmann::json;

constexpr const char* kFormatName = "sluice-plan";
constexpr unsigned kPlanVersion = 1;

// Less than the format's maximum, because sizes vary: a shard planned for the maximum itself would
// be split half the time.
constexpr std::uint64_t kMaxPlannedBytes = 115'000'000;
// The bytes at the end of a shard (directory, beginning of the keys, tail) that are not counted per
// sample.
constexpr std::uint64_t kShardEndBytes = 16'384;

// Computes the digest of a list of sources in chained runs, so that memory holds no second copy of
// the list.
class SourceDigest {
 public:
  void Add(std::string_view name, std::uint64_t bytes, std::int32_t label) {
    const std::uint64_t length = name.size();
    Append(std::as_bytes(std::span(&length, 1)));
    Append(AsBytes(name));
    Append(std::as_bytes(std::span(&bytes, 1)));
    Append(std::as_bytes(std::span(&label, 1)));
    if (run_.size() >= kRunBytes) Fold();
  }
  Id128 Finish() {
    Fold();
    return digest_;
  }

 private:
  static constexpr std::size_t kRunBytes = 1 << 20;
  void Append(Bytes bytes) { run_.insert(run_.end(), bytes.begin(), bytes.end()); }
  void Fold() {
    digest_ = Hash128({std::as_bytes(std::span(digest_.bytes)), Bytes(run_)});
    run_.clear();
  }

  Id128 digest_;
  std::vector<std::byte> run_;
};

// A digest of the sources' values and of their meaning (the schema). `upright`: whether boxes,
// masks and key points were drawn on upright images; without such annotations it has no effect.
Id128 ValuesDigest(const SourceList& list, bool upright) {
  const std::string schema = SchemaToJson(list.MakeSchema());
  const auto [ends, content] = list.values.Memory();
  const char drawn = upright && list.HasDrawn() ? 1 : 0;
  return Hash128({AsBytes(schema), std::as_bytes(std::span(&drawn, 1)), ends, content});
}

json SourcesToJson(const SourceList& list) {
  SourceDigest digest;
  std::uint64_t bytes = 0;
  // Classes are digested too: a class without samples changes the schema, and no source shows it.
  for (std::size_t c = 0; c < list.classes.size(); ++c) {
    digest.Add(list.classes[c], 0, static_cast<std::int32_t>(c));
  }
  for (const Source& source : list.sources) {
    digest.Add(source.key, source.bytes, source.label);
    if (!source.sample_key.empty()) digest.Add(source.sample_key, 0, 0);
    if (source.described_width != 0) {
      digest.Add({}, source.described_width, source.described_height);
    }
    bytes += source.bytes;
  }
  return {{"values", ToHex(ValuesDigest(list, list.DrawnUpright()))},
          {"count", list.sources.size()},
          {"bytes", bytes},
          {"labelled", list.labelled},
          {"classes", list.classes.size()},
          {"digest", ToHex(digest.Finish())}};
}

// The versions of the libraries that every build has, and of the others that these sources need.
json LibrariesToJson(const SourceList& sources, const ConvertOptions& options) {
  json out = {{"sluice-writer", kWriterVersion},
              {"libjpeg-turbo", SLUICE_TEXT_OF(LIBJPEG_TURBO_VERSION)},
              {"zstd", ZstdVersion()},
              {"spng", spng_version_string()}};
  for (const auto& [name, version] : DecoderVersions(sources.kinds))
    out[name] = version;
  if (options.form.icc == IccProfiles::kConvert) out["lcms2"] = ColorLibraryVersion();
  return out;
}

// "quality was 90 then and is 80 now" for the first member that differs.
std::string FirstDifference(const json& then, const json& now) {
  json all = then.is_object() ? then : json::object();  // a member may be on one side only
  all.update(now);
  for (const auto& member : all.items()) {
    const std::string& name = member.key();
    const json before = then.is_object() ? then.value(name, json()) : json();
    const json value = now.value(name, json());
    if (before == value) continue;
    return name + " was " + (before.is_null() ? "not set" : before.dump()) + " then and is " +
           (value.is_null() ? "not set" : value.dump()) + " now";
  }
  return "they were written by another version of Sluice";
}

// "16 images were found then and 25 now", or the first other difference.
std::string SourceDifference(const json& then, const Plan& plan) {
  const json& now = plan.inputs.at("sources");
  const auto differ = [&](const char* name) {
    return then.value(name, json()) != now.value(name, json());
  };
  const auto both = [&](const char* name, const std::string& what) {
    return then.value(name, json()).dump() + what + " then and " + now.at(name).dump() + " now";
  };
  if (!then.is_object()) return "the earlier plan names none";
  if (differ("count")) return both("count", " images were found");
  if (differ("classes")) return both("classes", " classes were found");
  if (differ("bytes")) return "the images had " + both("bytes", " bytes");
  if (differ("digest")) return "names, sizes or classes of images changed";
  if (then.value("values", json()) == plan.values_drawn_otherwise) {
    return plan.drawn_upright ? "boxes, masks and key points were taken as drawn on the images as "
                                "stored (--as-stored) then and as drawn upright now"
                              : "boxes, masks and key points were taken as drawn upright then and "
                                "as drawn on the images as stored now";
  }
  return "the values of their fields changed";
}

[[noreturn]] void ThrowOtherPlan(const json& then, const Plan& plan, const std::string& file) {
  const json& now = plan.inputs;
  std::string what;
  std::string how = "repeat the earlier command to finish it, or choose another folder";
  if (then.value("options", json()) != now.at("options")) {
    what = "other options: " + FirstDifference(then.value("options", json()), now.at("options"));
  } else if (then.value("sources", json()) != now.at("sources")) {
    what = "other sources: " + SourceDifference(then.value("sources", json()), plan);
    how += "; `sluice append` adds images to a finished dataset";
  } else {
    what =
        "other libraries: " + FirstDifference(then.value("libraries", json()), now.at("libraries"));
  }
  throw Error(ErrorCode::kExists, file,
              "the folder has a conversion that was begun with " + what + "; " + how);
}

}  // namespace

std::uint64_t Plan::SamplesOf(std::uint64_t shard) const noexcept {
  return std::min(shard_samples, samples - shard * shard_samples);
}

ConversionInput::ConversionInput(SourceList all_sources, const ConvertOptions& all_options)
    : sources(std::move(all_sources)), options(all_options), schema(sources.MakeSchema()) {
  schema.Validate();
  plan = BeginPlan(sources, options);
  order = ConvertOrder(plan.samples, options);
}

std::string AbsolutePlace(const std::filesystem::path& path) {
  if (path.empty() || IsStoreUrl(path.native())) return path.native();
  return std::filesystem::absolute(path).lexically_normal().string();
}

Plan BeginPlan(const SourceList& sources, const ConvertOptions& options) {
  Plan plan;
  plan.samples = sources.sources.size();
  if (plan.samples > UINT32_MAX) {
    throw Error(ErrorCode::kLimit, "more than 4294967295 sources cannot be converted at once");
  }
  plan.inputs = {{"options", OptionsToJson(options)},
                 {"sources", SourcesToJson(sources)},
                 {"libraries", LibrariesToJson(sources, options)}};
  plan.digest = Hash128(AsBytes(plan.inputs.dump()));
  plan.drawn_upright = sources.DrawnUpright();
  if (sources.HasDrawn()) {
    plan.values_drawn_otherwise = ToHex(ValuesDigest(sources, !plan.drawn_upright));
  }
  return plan;
}

void SettlePlan(const ConvertOptions& options, std::uint64_t mean_bytes, std::uint64_t header_bytes,
                Plan& plan) {
  plan.block_samples = options.shards.block_samples != 0 ? options.shards.block_samples
                                                         : AutomaticBlockSamples(mean_bytes);
  const std::uint64_t around = header_bytes + kShardEndBytes;
  const std::uint64_t planned = std::min(options.shards.shard_bytes, kMaxPlannedBytes);
  const std::uint64_t room = planned > around ? planned - around : 0;
  std::uint64_t samples = std::clamp<std::uint64_t>(room / mean_bytes, 1, kMaxPlannedSamples);
  if (samples > plan.block_samples) samples -= samples % plan.block_samples;  // whole blocks
  plan.shard_samples = samples;
  if (plan.shards() > kMaxShards) {
    throw Error(ErrorCode::kLimit, "the dataset would have " + std::to_string(plan.shards()) +
                                       " shards, more than 1000000; choose larger shards");
  }
}

std::string PlanToJson(const Plan& plan, const std::vector<std::string>& paths) {
  json out = plan.inputs;
  for (const std::string& path : paths)
    out["paths"].push_back(EscapeBytes(path));
  out["format"] = kFormatName;
  out["version"] = kPlanVersion;
  out["digest"] = ToHex(plan.digest);
  out["shard_samples"] = plan.shard_samples;
  out["block_samples"] = plan.block_samples;
  return out.dump(1) + "\n";
}

std::vector<std::string> PathsOfPlan(std::string_view text) {
  if (NestsDeeperThan(text, kMaxJsonDepth)) return {};
  const json plan = json::parse(text, nullptr, false);
  if (!plan.is_object() || !plan.contains("paths") || !plan["paths"].is_array()) return {};
  std::vector<std::string> paths;
  for (const json& path : plan["paths"]) {
    if (!path.is_string()) return {};
    paths.push_back(UnescapeBytes(path.get_ref<const std::string&>()));
  }
  return paths;
}

namespace {

// Parses a plan's text; checks its samples per shard and per block, and stores them in `plan`.
json ParsePlan(std::string_view text, const std::string& file, Plan& plan) {
  const Error broken(ErrorCode::kCorrupt, file,
                     "is not the plan of a conversion that this version of Sluice can resume; "
                     "choose another folder, or remove this one");
  if (NestsDeeperThan(text, kMaxJsonDepth)) throw broken;
  json then = json::parse(text, nullptr, false);
  if (!then.is_object()) throw broken;
  try {
    if (then.at("format") != kFormatName || then.at("version") != kPlanVersion) throw broken;
    then.at("digest").get_ref<const std::string&>();
    plan.shard_samples = then.at("shard_samples").get<std::uint64_t>();
    plan.block_samples = then.at("block_samples").get<std::uint32_t>();
  } catch (const json::exception&) {
    throw broken;
  }
  if (plan.shard_samples == 0 || plan.shard_samples > kMaxPlannedSamples ||
      plan.block_samples == 0 || plan.block_samples > kMaxBlockSamples) {
    throw broken;
  }
  return then;
}

}  // namespace

void ResumePlan(std::string_view text, const std::string& file, Plan& plan) {
  Plan of_text;
  const json then = ParsePlan(text, file, of_text);
  if (then.at("digest") != ToHex(plan.digest)) ThrowOtherPlan(then, plan, file);
  plan.shard_samples = of_text.shard_samples;
  plan.block_samples = of_text.block_samples;
}

PlanOutline OutlineOfPlan(std::string_view text, const std::string& file) {
  PlanOutline outline;
  const json then = ParsePlan(text, file, outline.plan);
  outline.digest = then.at("digest").get<std::string>();
  const json count = then.value("sources", json()).is_object()
                         ? then.at("sources").value("count", json())
                         : json();
  if (!count.is_number_unsigned() || count == 0 || count > UINT32_MAX) {
    throw Error(ErrorCode::kCorrupt, file, "does not say how many sources were planned");
  }
  outline.plan.samples = count.get<std::uint64_t>();
  if (outline.plan.shards() > kMaxShards) {
    throw Error(ErrorCode::kCorrupt, file, "plans more than 1000000 shards");
  }
  return outline;
}

std::string MadeJson(const Plan& plan) {
  json options = plan.inputs.at("options");
  options.erase("meta");  // a member of the manifest
  return json{{"by", "sluice convert"},
              {"plan", ToHex(plan.digest)},
              {"options", std::move(options)},
              {"libraries", LibrariesOf(plan.inputs.at("libraries"))}}
      .dump();
}

std::vector<std::uint32_t> ConvertOrder(std::uint64_t samples, const ConvertOptions& options) {
  std::vector<std::uint32_t> order(samples);
  std::iota(order.begin(), order.end(), 0U);
  if (options.shards.keep_order) return order;
  // Fisher-Yates shuffle, from the end.
  RandomStream random(options.shards.seed, Purpose::kConvertOrder, 0);
  for (std::uint64_t left = samples; left > 1; --left) {
    std::swap(order[left - 1], order[random.Below(left)]);
  }
  return order;
}

namespace {

constexpr std::string_view kMagic = "sluice-plan-src1";
constexpr std::string_view kIndexMagic = "sluice-index-02\n";
static_assert(kIndexMagic.size() == kMagic.size());
// A frame is written once it holds this many bytes before compression. A single text or blob is not
// split, so the frame of a longer one is larger.
constexpr std::size_t kFrameBytes = std::size_t{1} << 20;
// The most bytes of a frame's or page's content that a reader accepts.
constexpr std::size_t kMaxPlain = std::size_t{1} << 30;

// SourceList::upright in the file. The first two values have the meaning they had when kAsStored
// was the default, so that plans from that time can still be read.
enum class Drawn : std::uint8_t { kAsStored, kUpright, kUnsaid };

struct FrameHead {
  std::uint64_t plain = 0;   // bytes of the content before compression; 0: the file ends here
  std::uint64_t stored = 0;  // compressed bytes, which follow
  std::uint64_t hash = 0;    // of the compressed bytes
};

// Writes the file in frames (kFrameBytes).
class PlannedSourcesWriter {
 public:
  PlannedSourcesWriter(const std::filesystem::path& path, std::string_view magic) : file_(path) {
    file_.Write(AsBytes(magic));
  }

  template <class T>
  void Number(T value) {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>);
    const auto wide = static_cast<std::uint64_t>(value);
    Append(std::as_bytes(std::span(&wide, 1)));
  }
  void Text(std::string_view text) { Blob(AsBytes(text)); }
  void Blob(Bytes bytes) {
    Number(bytes.size());
    Append(bytes);
  }
  // Writes numbers, texts and paths; paths become absolute. PlannedSourcesReader::Pass() reads them
  // back.
  template <class... T>
  void Pass(const T&... values) {
    const auto pass = [this]<class V>(const V& value) {
      if constexpr (std::is_same_v<V, std::filesystem::path>)
        Text(AbsolutePlace(value));
      else if constexpr (std::is_same_v<V, std::string>)
        Text(value);
      else
        Number(value);
    };
    (pass(values), ...);
  }
  template <class List, class Do>
  void PassEach(const List& list, Do&& pass) {
    Number(list.size());
    for (const auto& one : list)
      pass(one);
  }
  void Finish() {
    Frame();
    const FrameHead end;
    file_.Write(std::as_bytes(std::span(&end, 1)));
    file_.Commit();
  }

 private:
  void Append(Bytes bytes) {
    plain_.insert(plain_.end(), bytes.begin(), bytes.end());
    if (plain_.size() >= kFrameBytes) Frame();
  }
  void Frame() {
    if (plain_.empty()) return;
    const std::vector<std::byte> stored = ZstdCompress(plain_, 1);
    const FrameHead head{plain_.size(), stored.size(), Hash64(stored)};
    file_.Write(std::as_bytes(std::span(&head, 1)));
    file_.Write(stored);
    plain_.clear();
  }

  AtomicFile file_;
  std::vector<std::byte> plain_;
};

// Reads the file frame by frame; holds only the frames that the current value needs.
class PlannedSourcesReader {
 public:
  PlannedSourcesReader(const std::filesystem::path& path, std::string_view magic)
      : path_(path), is_index_(magic == kIndexMagic), file_(OpenForReading(path)) {
    std::array<std::byte, kMagic.size()> there{};
    Read(there);
    if (AsText(there) != magic) Refuse();
  }

  template <class T>
  T Number() {
    const auto value = LoadAt<std::uint64_t>(Take(sizeof(std::uint64_t)), 0);
    if constexpr (std::is_same_v<T, bool>) {
      if (value > 1) Refuse();
    } else if constexpr (std::is_enum_v<T>) {
      if (value > UINT8_MAX) Refuse();
    } else if (static_cast<std::uint64_t>(static_cast<T>(value)) != value) {
      Refuse();
    }
    return static_cast<T>(value);
  }
  Bytes Blob() { return Take(Number<std::uint64_t>()); }
  std::string Text() { return std::string(AsText(Blob())); }
  // Allocates memory for the elements that are read, not for the count that the file claims.
  template <class Do>
  void Each(Do&& take) {
    const auto count = Number<std::uint64_t>();
    for (std::uint64_t i = 0; i < count; ++i)
      take();
  }
  template <class... T>
  void Pass(T&... values) {
    const auto pass = [this]<class V>(V& value) {
      if constexpr (std::is_integral_v<V> || std::is_enum_v<V>)
        value = Number<V>();
      else
        value = Text();
    };
    (pass(values), ...);
  }
  template <class List, class Do>
  void PassEach(List& list, Do&& pass) {
    Each([&] { pass(list.emplace_back()); });
  }
  void End() {
    if (at_ != plain_.size() || NextFrame()) Refuse();
  }

  [[noreturn]] void Refuse() const {
    throw Error(ErrorCode::kCorrupt, path_.string(),
                is_index_ ? "is not an index, is damaged, or is of another version of Sluice; "
                            "remove it, or choose another name for the index"
                          : "is damaged, or of another version of Sluice; run `sluice plan` again, "
                            "into an empty folder");
  }

 private:
  void Read(std::span<std::byte> to) {
    try {
      ReadExactly(file_, path_, offset_, to);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kIo || IsShortage(error)) throw;
      Refuse();
    }
    offset_ += to.size();
  }
  // Valid until the next call.
  Bytes Take(std::uint64_t bytes) {
    while (plain_.size() - at_ < bytes) {
      if (!NextFrame()) Refuse();
    }
    at_ += bytes;
    return Bytes(plain_).subspan(at_ - bytes, bytes);
  }
  bool NextFrame() {
    FrameHead head;
    Read(std::as_writable_bytes(std::span(&head, 1)));
    if (head.plain == 0) return false;
    // A damaged head may claim any size: before memory is taken, the file must have these bytes.
    if (head.plain > kMaxPlain || head.stored > FileBytes(file_, path_) - offset_) Refuse();
    std::vector<std::byte> stored(head.stored);
    Read(stored);
    if (Hash64(stored) != head.hash) Refuse();
    plain_.erase(plain_.begin(), plain_.begin() + static_cast<std::ptrdiff_t>(at_));
    at_ = 0;
    if (!ZstdAppend(stored, head.plain, plain_)) Refuse();
    return true;
  }

  const std::filesystem::path path_;
  const bool is_index_;
  const FileHandle file_;
  std::uint64_t offset_ = 0;      // of the next frame in the file
  std::vector<std::byte> plain_;  // content of the frames that were read and are still needed
  std::size_t at_ = 0;            // where the next value begins in plain_
};

// The Pass functions describe the format for both directions: `file` is a PlannedSourcesWriter or a
// PlannedSourcesReader.
template <class File, class List>
void PassList(File& file, List& list) {
  file.PassEach(list, [&](auto& one) { file.Pass(one); });
}

template <class File, class List>
void PassLeftOut(File& file, List& list) {
  file.PassEach(list, [&](auto& one) { file.Pass(one.path, one.reason); });
}

template <class File, class List>
void PassPages(File& file, List& pages) {
  file.PassEach(pages, [&](auto& page) {
    file.Pass(page.archive, page.offset, page.stored, page.plain, page.codec, page.width);
  });
}

template <class File, class OneField>
void PassField(File& file, OneField& field) {
  file.Pass(field.feed, field.relative, field.folder, field.wide, field.located);
}

template <class File, class OneSource>
void PassSource(File& file, OneSource& source) {
  file.Pass(source.key, source.bytes, source.label, source.described_width, source.described_height,
            source.sample_key);
}

void TakeFields(PlannedSourcesReader& in, const std::string& file, SourceList& list) {
  for (Field& field : SchemaFromJson(in.Text(), file).fields) {
    SourceField& taken = list.fields.emplace_back();
    taken.field = std::move(field);
    PassField(in, taken);
    // The classes of this field are in SourceList::classes, which the file has as well.
    if (taken.feed == Feed::kLabel) taken.field.classes.clear();
  }
}

template <class T>
bool AreFinite(Bytes value) {
  for (std::size_t at = 0; at + sizeof(T) <= value.size(); at += sizeof(T)) {
    if (!std::isfinite(LoadAt<T>(value, at))) return false;
  }
  return true;
}

// Whether a value has the size and form that the encoder expects for its field. `boxes`: the number
// of the source's boxes, if it has a list of boxes.
bool Fits(const SourceField& field, Bytes value, const SourceList& list,
          std::optional<std::size_t> boxes) {
  const std::size_t entry = field.field.elements() * SizeOf(field.field.dtype);
  if (field.located || (field.feed == Feed::kImage && !list.archives.empty())) {
    if (value.size() != sizeof(Extent)) return false;
    const std::uint64_t archive = LoadAt<Extent>(value, 0).archive;
    return (archive & kInPage) != 0 ? (archive & ~kInPage) < list.pages.size()
                                    : archive < list.archives.size();
  }
  switch (field.feed) {
    case Feed::kImage:
    case Feed::kLabel: return value.empty();
    case Feed::kText: return true;
    case Feed::kMask: return value.size() >= sizeof(std::uint64_t);
    case Feed::kShapes: return AreShapes(value);
    case Feed::kBoxes:
      return entry == 4 * sizeof(float) && value.size() % (4 * sizeof(double)) == 0 &&
             AreFinite<double>(value);
    case Feed::kBoxClasses: return boxes && value.size() == *boxes * sizeof(std::int32_t);
    case Feed::kPoints:
      return entry > 0 && field.field.dtype == DType::kFloat32 && AreFinite<float>(value) &&
             (boxes ? value.size() == *boxes * entry : value.size() % entry == 0);
    case Feed::kElements:
      return entry > 0 && (field.field.kind == FieldKind::kVariable ? value.size() % entry == 0
                                                                    : value.size() == entry);
  }
  return false;
}

bool ValuesFit(const SourceList& list, std::size_t source) {
  std::optional<std::size_t> boxes;
  for (std::size_t f = 0; f < list.fields.size(); ++f) {
    if (list.fields[f].feed != Feed::kBoxes) continue;
    if (const auto value = list.Value(source, f)) boxes = value->size() / (4 * sizeof(double));
  }
  for (std::size_t f = 0; f < list.fields.size(); ++f) {
    const std::optional<Bytes> value = list.Value(source, f);
    if (value && !Fits(list.fields[f], *value, list, boxes)) return false;
    // In archives, every source must have a value for its image: where the image lies.
    if (!value && f == 0 && !list.archives.empty()) return false;
  }
  return true;
}

bool FieldsFit(const SourceList& list) {
  if (list.fields.empty() || list.fields[0].feed != Feed::kImage) return false;
  for (const SourceField& field : list.fields) {
    if (field.feed > Feed::kPoints) return false;
    const bool image = field.field.kind == FieldKind::kImage;
    const bool mask = field.feed == Feed::kMask || field.feed == Feed::kShapes;
    if (image != (field.feed == Feed::kImage || mask)) return false;
    if (field.located && list.archives.empty()) return false;
    if (field.feed == Feed::kLabel && field.field != Field::Label(field.field.name)) return false;
  }
  return true;
}

void WriteList(PlannedSourcesWriter& out, const SourceList& list) {
  out.Pass(list.root);
  PassList(out, list.archives);
  PassPages(out, list.pages);
  out.Text(SchemaToJson(list.MakeSchema()));
  for (const SourceField& field : list.fields)
    PassField(out, field);
  out.Number(list.labelled);
  out.Number(!list.upright ? Drawn::kUnsaid : *list.upright ? Drawn::kUpright : Drawn::kAsStored);
  PassList(out, list.classes);
  PassList(out, list.kinds);
  PassLeftOut(out, list.broken);
  PassLeftOut(out, list.passed_over);
  PassList(out, list.warnings);
  out.Number(!list.values.empty());
  out.Number(list.sources.size());
  for (std::size_t s = 0; s < list.sources.size(); ++s) {
    PassSource(out, list.sources[s]);
    for (std::size_t f = 0; f < list.fields.size() && !list.values.empty(); ++f) {
      const std::optional<Bytes> value = list.Value(s, f);
      out.Number(value.has_value());
      if (value) out.Blob(*value);
    }
  }
}

void ReadList(PlannedSourcesReader& in, const std::string& file, SourceList& list) {
  in.Pass(list.root);
  std::vector<std::filesystem::path> archives;
  PassList(in, archives);
  list.SetArchives(std::move(archives));
  PassPages(in, list.pages);
  for (const PackedPage& page : list.pages) {
    const std::uint64_t most = std::max(page.stored, page.plain);
    const bool pixels = page.codec == PageCodec::kPixels;
    if (page.archive >= list.archives.size() || most > kMaxPlain || pixels != (page.width > 0)) {
      in.Refuse();
    }
  }
  TakeFields(in, file, list);
  list.labelled = in.Number<bool>();
  const auto drawn = in.Number<Drawn>();
  if (drawn > Drawn::kUnsaid) in.Refuse();
  if (drawn != Drawn::kUnsaid) list.upright = drawn == Drawn::kUpright;
  PassList(in, list.classes);
  in.Each([&] { list.kinds.insert(in.Number<ImageKind>()); });
  PassLeftOut(in, list.broken);
  PassLeftOut(in, list.passed_over);
  PassList(in, list.warnings);
  if (!FieldsFit(list)) in.Refuse();
  const bool has_values = in.Number<bool>();
  if (!has_values && !list.archives.empty()) in.Refuse();
  in.PassEach(list.sources, [&](Source& source) {
    PassSource(in, source);
    if (source.label < 0 ||
        (list.labelled && static_cast<std::size_t>(source.label) >= list.classes.size())) {
      in.Refuse();
    }
    for (std::size_t f = 0; f < list.fields.size() && has_values; ++f) {
      list.values.Add(in.Number<bool>() ? std::optional(in.Blob()) : std::nullopt);
    }
    if (has_values && !ValuesFit(list, list.sources.size() - 1)) in.Refuse();
  });
  if (list.sources.empty()) in.Refuse();
}

// A source with secrets in its URL cannot be saved.
void RequireNoSecret(const SourceList& list, const std::string& what) {
  if (list.secret_root) {
    throw Error(ErrorCode::kUnsupported, list.root.string(),
                "the source's URL has a password or a query, which Sluice does not save, " + what);
  }
}

}  // namespace

void WritePlannedSources(const std::filesystem::path& folder, const SourceList& list,
                         const ConvertOptions& options) {
  RequireNoSecret(list,
                  "so the workers of a conversion in parts, or into a store, could not read the "
                  "source; convert to a local folder in one piece, or take a source whose "
                  "credentials come from the environment (s3://)");
  PlannedSourcesWriter out(folder / kPlannedSourcesName, kMagic);
  out.Pass(options.run.on_error, options.run.find_duplicates);
  WriteList(out, list);
  out.Finish();
}

PlannedSources ReadPlannedSources(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kPlannedSourcesName;
  if (!std::filesystem::exists(path)) {
    throw Error(ErrorCode::kNotFound, path.string(),
                "is not there; run `sluice plan` with the same source and options again, or resume "
                "in one piece with `sluice convert`");
  }
  PlannedSourcesReader in(path, kMagic);
  PlannedSources planned;
  planned.on_error = in.Number<bool>() ? OnError::kFail : OnError::kSkip;
  in.Pass(planned.find_duplicates);
  ReadList(in, path.string(), planned.list);
  in.End();
  return planned;
}

void WriteSourceIndex(const std::filesystem::path& file, const std::string& head,
                      const SourceList& list) {
  RequireNoSecret(list,
                  "so there can be no index of it; take a source whose credentials come from the "
                  "environment (s3://)");
  PlannedSourcesWriter out(file, kIndexMagic);
  out.Pass(head);
  WriteList(out, list);
  for (const Source& source : list.sources)
    out.Number(source.changed);
  out.Finish();
}

SourceIndex ReadSourceIndex(const std::filesystem::path& file) {
  PlannedSourcesReader in(file, kIndexMagic);
  SourceIndex index;
  in.Pass(index.head);
  ReadList(in, file.string(), index.list);
  for (Source& source : index.list.sources)
    source.changed = in.Number<std::int64_t>();
  in.End();
  return index;
}

}  // namespace sluice
