#include "writer/convert/planned_sources.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/file.h"
#include "format/disk/json.h"
#include "format/disk/system_error.h"
#include "format/disk/zstd.h"
#include "format/remote/object_store.h"
#include "writer/source/labels/masks.h"

namespace sluice {

namespace {

constexpr std::string_view kMagic = "sluice-plan-src1";
constexpr std::size_t kFrameBytes = std::size_t{1} << 20;  // plain bytes of a frame, about
constexpr std::size_t kMaxPlain = std::size_t{1} << 30;    // of a frame: a large value is one

// SourceList::upright. The first two are what it was when kAsStored was the default: plans of then
// keep their meaning.
enum class Drawn : std::uint8_t { kAsStored, kUpright, kUnsaid };

struct FrameHead {
  std::uint64_t plain = 0;  // 0: the end
  std::uint64_t stored = 0;
  std::uint64_t hash = 0;  // of what is stored
};

class Sink {
 public:
  explicit Sink(const std::filesystem::path& path) : file_(path) { file_.Write(AsBytes(kMagic)); }

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

// Never holds more than the file's frames say, one after another.
class Tap {
 public:
  explicit Tap(const std::filesystem::path& path) : path_(path), file_(OpenForReading(path)) {
    std::array<std::byte, kMagic.size()> magic{};
    Read(magic);
    if (AsText(magic) != kMagic) Refuse();
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
  // Whatever the count promises, memory is taken for what is there.
  template <class Do>
  void Each(Do&& take) {
    const auto count = Number<std::uint64_t>();
    for (std::uint64_t i = 0; i < count; ++i)
      take();
  }
  void End() {
    if (at_ != plain_.size() || NextFrame()) Refuse();
  }

  [[noreturn]] void Refuse() const {
    throw Error(ErrorCode::kCorrupt, path_.string(),
                "is damaged, or of another version of Sluice; run `sluice plan` again, into an "
                "empty folder");
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
    // zstd makes nothing smaller than about a 33,000th: no memory is taken for a promise.
    if (head.plain > kMaxPlain || head.plain / 40'000 > head.stored ||
        head.stored > head.plain + head.plain / 128 + 512) {
      Refuse();
    }
    std::vector<std::byte> stored(head.stored);
    Read(stored);
    if (Hash64(stored) != head.hash || ZstdContentBytes(stored) != head.plain) Refuse();
    plain_.erase(plain_.begin(), plain_.begin() + static_cast<std::ptrdiff_t>(at_));
    at_ = 0;
    const std::size_t kept = plain_.size();
    plain_.resize(kept + head.plain);
    if (!ZstdDecompress(stored, std::span(plain_).subspan(kept))) Refuse();
    return true;
  }

  const std::filesystem::path path_;
  const FileHandle file_;
  std::uint64_t offset_ = 0;
  std::vector<std::byte> plain_;
  std::size_t at_ = 0;
};

std::string Absolute(const std::filesystem::path& path) {
  if (path.empty() || IsStoreUrl(path.native())) return path.native();
  return std::filesystem::absolute(path).lexically_normal().string();
}

void PutLeftOut(const std::vector<LeftOut>& list, Sink& out) {
  out.Number(list.size());
  for (const LeftOut& one : list) {
    out.Text(one.path);
    out.Text(one.reason);
  }
}

void TakeLeftOut(Tap& in, std::vector<LeftOut>& list) {
  in.Each([&] {
    list.emplace_back();
    list.back().path = in.Text();
    list.back().reason = in.Text();
  });
}

void PutFields(const SourceList& list, Sink& out) {
  out.Text(SchemaToJson(list.MakeSchema()));
  for (const SourceField& field : list.fields) {
    out.Number(field.feed);
    out.Number(field.relative);
    out.Text(Absolute(field.folder));
    out.Number(field.wide);
    out.Number(field.located);
  }
}

void TakeFields(Tap& in, const std::string& file, SourceList& list) {
  for (Field& field : SchemaFromJson(in.Text(), file).fields) {
    SourceField taken;
    taken.field = std::move(field);
    taken.feed = in.Number<Feed>();
    taken.relative = in.Number<bool>();
    taken.folder = in.Text();
    taken.wide = in.Number<bool>();
    taken.located = in.Number<bool>();
    if (taken.feed == Feed::kLabel) taken.field.classes.clear();  // SourceList::classes
    list.fields.push_back(std::move(taken));
  }
}

template <class T>
bool AreFinite(Bytes value) {
  for (std::size_t at = 0; at + sizeof(T) <= value.size(); at += sizeof(T)) {
    if (!std::isfinite(LoadAt<T>(value, at))) return false;
  }
  return true;
}

// Whether a value is of the size that the encoder takes for its field. `boxes`: those of the
// source, if it has any.
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
    // Where every source has one.
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

}  // namespace

void WritePlannedSources(const std::filesystem::path& folder, const SourceList& list,
                         const ConvertOptions& options) {
  if (list.secret_root) {
    throw Error(ErrorCode::kUnsupported, list.root.string(),
                "a conversion in parts, or into a store, keeps no password and no query of its "
                "source's URL, and its workers could not read it; convert to a local folder in one "
                "piece, or take a source whose credentials come from the environment (s3://)");
  }
  Sink out(folder / kPlannedSourcesName);
  out.Number(options.run.on_error);
  out.Number(options.run.find_duplicates);
  out.Text(Absolute(list.root));
  out.Number(list.archives.size());
  for (const std::filesystem::path& archive : list.archives)
    out.Text(Absolute(archive));
  out.Number(list.pages.size());
  for (const PackedPage& page : list.pages) {
    for (const std::uint64_t number : {page.archive, page.offset, page.stored, page.plain})
      out.Number(number);
    out.Number(page.codec);
    out.Number(page.width);
  }
  PutFields(list, out);
  out.Number(list.labelled);
  out.Number(!list.upright ? Drawn::kUnsaid : *list.upright ? Drawn::kUpright : Drawn::kAsStored);
  out.Number(list.classes.size());
  for (const std::string& name : list.classes)
    out.Text(name);
  out.Number(list.kinds.size());
  for (const ImageKind kind : list.kinds)
    out.Number(kind);
  PutLeftOut(list.broken, out);
  PutLeftOut(list.passed_over, out);
  out.Number(list.warnings.size());
  for (const std::string& warning : list.warnings)
    out.Text(warning);
  out.Number(!list.values.empty());
  out.Number(list.sources.size());
  for (std::size_t s = 0; s < list.sources.size(); ++s) {
    const Source& source = list.sources[s];
    out.Text(source.key);
    out.Number(source.bytes);
    out.Number(static_cast<std::uint32_t>(source.label));
    out.Number(source.described_width);
    out.Number(source.described_height);
    out.Text(source.sample_key);
    for (std::size_t f = 0; f < list.fields.size() && !list.values.empty(); ++f) {
      const std::optional<Bytes> value = list.Value(s, f);
      out.Number(value.has_value());
      if (value) out.Blob(*value);
    }
  }
  out.Finish();
}

PlannedSources ReadPlannedSources(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kPlannedSourcesName;
  if (!std::filesystem::exists(path)) {
    throw Error(ErrorCode::kNotFound, path.string(),
                "is not there; run `sluice plan` with the same source and options again, or resume "
                "in one piece with `sluice convert`");
  }
  Tap in(path);
  PlannedSources planned;
  SourceList& list = planned.list;
  planned.on_error = in.Number<bool>() ? OnError::kFail : OnError::kSkip;
  planned.find_duplicates = in.Number<bool>();
  list.root = in.Text();
  std::vector<std::filesystem::path> archives;
  in.Each([&] { archives.emplace_back(in.Text()); });
  list.SetArchives(std::move(archives));
  in.Each([&] {
    PackedPage page;
    for (std::uint64_t* const number : {&page.archive, &page.offset, &page.stored, &page.plain})
      *number = in.Number<std::uint64_t>();
    page.codec = in.Number<PageCodec>();
    page.width = in.Number<std::uint32_t>();
    const std::uint64_t most = std::max(page.stored, page.plain);
    const bool pixels = page.codec == PageCodec::kPixels;
    if (page.archive >= list.archives.size() || most > kMaxPlain || pixels != (page.width > 0)) {
      in.Refuse();
    }
    list.pages.push_back(page);
  });
  TakeFields(in, path.string(), list);
  list.labelled = in.Number<bool>();
  const auto drawn = in.Number<Drawn>();
  if (drawn > Drawn::kUnsaid) in.Refuse();
  if (drawn != Drawn::kUnsaid) list.upright = drawn == Drawn::kUpright;
  in.Each([&] { list.classes.push_back(in.Text()); });
  in.Each([&] { list.kinds.insert(in.Number<ImageKind>()); });
  TakeLeftOut(in, list.broken);
  TakeLeftOut(in, list.passed_over);
  in.Each([&] { list.warnings.push_back(in.Text()); });
  if (!FieldsFit(list)) in.Refuse();
  const bool has_values = in.Number<bool>();
  if (!has_values && !list.archives.empty()) in.Refuse();
  in.Each([&] {
    Source source;
    source.key = in.Text();
    source.bytes = in.Number<std::uint64_t>();
    source.label = static_cast<std::int32_t>(in.Number<std::uint32_t>());
    source.described_width = in.Number<std::uint16_t>();
    source.described_height = in.Number<std::uint16_t>();
    source.sample_key = in.Text();
    if (source.label < 0 ||
        (list.labelled && static_cast<std::size_t>(source.label) >= list.classes.size())) {
      in.Refuse();
    }
    list.sources.push_back(std::move(source));
    for (std::size_t f = 0; f < list.fields.size() && has_values; ++f) {
      if (in.Number<bool>()) {
        list.values.Add(in.Blob());
      } else {
        list.values.Add(std::nullopt);
      }
    }
    if (has_values && !ValuesFit(list, list.sources.size() - 1)) in.Refuse();
  });
  in.End();
  if (list.sources.empty()) in.Refuse();
  return planned;
}

}  // namespace sluice
