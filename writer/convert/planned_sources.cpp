// The file has zstd frames with checksums. WriteList() and ReadList() must mirror each other;
// ReadList() checks each value before it is used.
#include "writer/convert/planned_sources.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/file.h"
#include "format/disk/json.h"
#include "format/disk/system_error.h"
#include "format/disk/zstd.h"
#include "writer/source/labels/masks.h"
#include "writer/source/list/paths.h"

namespace sluice {

namespace {

constexpr std::string_view kMagic = "sluice-plan-src2";
constexpr std::string_view kIndexMagic = "sluice-index-03\n";
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
  auto& form = field.form;
  bool kept = form.has_value();
  file.Pass(kept);
  if constexpr (!std::is_const_v<OneField>) {
    if (kept) form.emplace();
  }
  if (kept) file.Pass(form->type, form->channels, form->first);
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
    case Feed::kImage: return AreStackFiles(value);
    case Feed::kLabel:
    case Feed::kGeo: return value.empty();
    case Feed::kText: return true;
    case Feed::kValues:
    case Feed::kMask: return value.size() >= sizeof(std::uint64_t);
    case Feed::kShapes: return AreShapes(value);
    case Feed::kInstances:
      return boxes && AreShapes(value) &&
             std::ranges::all_of(ShapesIn(value),
                                 [&](const NumberedShape& shape) { return shape.number < *boxes; });
    case Feed::kBoxes:
      return (entry == 4 * sizeof(float) || entry == 8 * sizeof(float)) &&
             value.size() % (2 * entry) == 0 && AreFinite<double>(value);
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
    const std::size_t box = list.fields[f].field.elements() * sizeof(double);
    if (const auto value = list.Value(source, f); value && box > 0) boxes = value->size() / box;
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
    if (field.feed > Feed::kInstances) return false;
    const bool image = field.field.kind == FieldKind::kImage;
    const bool mask =
        field.feed == Feed::kMask || field.feed == Feed::kShapes || field.feed == Feed::kValues;
    if (field.form && (!image || field.form->type > PixelType::kFloat32)) return false;
    if (field.feed == Feed::kValues && !field.form) return false;
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
