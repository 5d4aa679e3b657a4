// The list of samples to convert: their images and values, and where these are.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <sluice/convert.h>
#include <sluice/error.h>
#include <sluice/image.h>
#include <sluice/schema.h>

#include "format/disk/bytes.h"
#include "format/disk/file.h"
#include "writer/source/images/sniff.h"

namespace sluice {

// The bytes of a field's value: a number, or a text, vector or span of them.
template <class T>
std::vector<std::byte> ElementBytes(const T& value) {
  Bytes bytes;
  if constexpr (std::is_arithmetic_v<T>)
    bytes = std::as_bytes(std::span(&value, 1));
  else
    bytes = std::as_bytes(std::span(value));
  return {bytes.begin(), bytes.end()};
}

struct Source {
  std::string key;          // path relative to the root, with '/', or an archive's key; raw bytes
  std::uint64_t bytes = 0;  // of the image at the first look
  std::int32_t label = 0;   // the class's number; 0 without classes
  // The image's size according to its label file; 0: not given. An image of another size is left
  // out.
  std::uint16_t described_width = 0, described_height = 0;
  std::string sample_key = {};    // the sample's key, if a table gives another one
  std::int64_t changed = 0;       // as Look::changed: the latest of the image and its masks
  std::uint64_t split_value = 0;  // the digest of its value in SplitPart::by, if that is set

  const std::string& KeyOfSample() const noexcept { return sample_key.empty() ? key : sample_key; }
};

// Where a field's values come from.
enum class Feed : std::uint8_t {
  kImage,       // the image; SourceValues holds the MaskFiles of a stack's other channels
  kLabel,       // Source::label
  kElements,    // SourceValues holds the elements
  kText,        // SourceValues holds the content
  kBoxes,       // SourceValues holds four float64 a box: corners in pixels, or fractions; eight
                // for oriented boxes
  kBoxClasses,  // SourceValues holds an int32 or float32 a box, of the list's only field of boxes
  kMask,        // SourceValues holds a MaskFile
  kShapes,      // SourceValues holds a value of masks.h: a mask to be painted
  kPoints,      // SourceValues holds float32 x, y, visibility for each point of each box
  kValues,      // SourceValues holds the MaskFile of an image whose values are stored
  kGeo,         // the geographic tags of the image, whose values are stored
  kInstances,   // SourceValues holds a value of masks.h, in which a shape's number is its box's
};

// The form that the values of all images of a field have (values.h).
struct ValueForm {
  PixelType type = PixelType::kUint8;
  std::uint32_t channels = 0;  // 0: no source could be read, so any form is taken
  std::string first = {};      // the source that was read, for messages
};

struct SourceField {
  Field field;
  Feed feed = Feed::kImage;
  bool relative = false;              // kBoxes, kShapes, kPoints, kInstances: fractions
  std::filesystem::path folder = {};  // kMask, kValues: the path is relative to this
  bool wide = false;                  // kShapes: the mask has 16 bits
  bool located = false;               // kElements, kText, kMask: SourceValues holds an Extent
  // Of a mask; and of kImage and kValues if the values are stored as they are.
  std::optional<ValueForm> form = {};
};

// A run of bytes of an archive.
struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t archive = 0;  // of SourceList::archives; with kInPage, of SourceList::pages
};
inline constexpr std::uint64_t kInPage = std::uint64_t{1} << 63;  // a bit of Extent::archive

enum class PageCodec : std::uint8_t {
  kNone = 0,  // this and the next two have Parquet's numbers
  kSnappy = 1,
  kZstd = 6,
  kChecked = 100,  // a TFRecord: the bytes, then their masked CRC-32C
  kJoined = 101,   // the parts of a split RecordIO record, without the first part's head
  kPixels = 102,   // RGB values of 8 bits; unpacked, they are a PPM
};

// A piece of an archive whose bytes are not the content itself: compressed, checked, split or
// without a header. (records/packed_page.h unpacks it.) Most images lie in their archive byte for
// byte, and an Extent says where. A page is read whole and unpacked. It may hold several sources;
// their extents count from its unpacked beginning.
struct PackedPage {
  std::uint64_t archive = 0;  // of SourceList::archives
  std::uint64_t offset = 0;
  std::uint64_t stored = 0;  // bytes in the archive
  std::uint64_t plain = 0;   // bytes once unpacked
  PageCodec codec = PageCodec::kNone;
  std::uint32_t width = 0;  // kPixels
};

// The values of all sources for all fields, in one piece of memory. Add the sources in order.
class SourceValues {
 public:
  // Adds the value of the next field, or of the next source's first field; nullopt: absent.
  void Add(std::optional<Bytes> value);
  std::optional<Bytes> Get(std::size_t source, std::size_t field, std::size_t fields) const;
  // Like Get(), for changing the value in place.
  std::span<std::byte> Mutable(std::size_t source, std::size_t field, std::size_t fields);
  bool empty() const noexcept { return ends_.empty(); }
  // The ends of all values and their bytes, for a digest.
  std::pair<Bytes, Bytes> Memory() const;

 private:
  static constexpr std::uint64_t kAbsent = std::uint64_t{1} << 63;
  std::vector<std::uint64_t>
      ends_;  // of each value in bytes_; with the bit kAbsent if it is absent
  std::vector<std::byte> bytes_;
};

class StoreFiles;

// Tells whether a file is still the one that was listed.
struct FileState {
  std::uint64_t device = 0, inode = 0, bytes = 0;
  std::int64_t seconds = 0, nanoseconds = 0;  // when it was last written to
  friend bool operator==(const FileState&, const FileState&) = default;
  // The members that stay the same after a restart of the machine: all but the device.
  std::string Words() const;
};
// All zeros if the file cannot be examined; opening it says why.
FileState StateOf(const std::filesystem::path& file);
FileState StateOf(const FileHandle& file);

// Reads exactly `to.size()` bytes at `offset`. Throws Error(kIo) or, at the file's end, kCorrupt.
void ReadExactly(const FileHandle& file, const std::filesystem::path& path, std::uint64_t offset,
                 std::span<std::byte> to);

struct SourceList {
  std::filesystem::path root;                   // of the files: a folder, or a URL
  std::shared_ptr<StoreFiles> store;            // the files, if the root is a URL
  bool secret_root = false;                     // the URL had secrets that `root` leaves out
  std::vector<std::filesystem::path> archives;  // hold everything, if there are any
  std::vector<FileState> archive_states;        // when the list was begun
  std::vector<std::string> archive_names;       // for messages and keys, no two alike
  std::vector<PackedPage> pages;                // of archives
  std::vector<SourceField> fields;              // of the schema; the image is the first
  bool labelled = false;                        // there is a field of Feed::kLabel
  std::vector<std::string> classes;             // of that field, invalid UTF-8 escaped
  std::vector<Source> sources;                  // in the order that keep_order keeps
  std::set<ImageKind> kinds;                    // of the sources' images
  bool keeps_pixels = false;                    // while sources are listed: of PixelValues::kKeep
  SourceValues values;                          // empty if no field takes its values from here
  std::optional<bool> upright;                  // of ConvertSource
  std::vector<LeftOut> broken;       // images of unsupported kinds, files that cannot be opened
  std::vector<LeftOut> passed_over;  // not an image, or hidden
  std::vector<std::string> warnings;

  // Sets the root, and opens the store if it is a URL. Reads end soon after a stop request. Throws
  // Error.
  void SetRoot(const std::filesystem::path& place, const std::stop_token& stop);
  // Sets the archives, their states and names. Call it before the archives are read. A name is
  // "0.tar" or, if several archives have this name, with as many folders as tell them apart,
  // "train/0.tar".
  void SetArchives(std::vector<std::filesystem::path> files);
  Schema MakeSchema() const;
  std::optional<Bytes> Value(std::size_t source, std::size_t field) const {
    if (values.empty()) return std::nullopt;
    return values.Get(source, field, fields.size());
  }
  // Calls visit(path) for each file that the source's sample is made of; archives and objects in a
  // store are not such files.
  template <class Visit>
  void ForEachFile(std::size_t source, Visit visit) const;
  // Whether boxes, masks and key points were drawn on the upright images.
  bool DrawnUpright() const noexcept { return upright.value_or(true); }
  // Whether there are fields of boxes, masks or key points.
  bool HasDrawn() const noexcept;
  // Whether the source has any boxes, masks or key points.
  bool HasDrawn(std::size_t source) const;
  Extent ExtentOf(std::size_t source, std::size_t field) const;
  // For messages: the file's path, or the archive and the key.
  std::string NameOf(std::size_t source) const;
  // For the list of sources left out: the key, with the archive's name if there are several.
  std::string KeyForPeople(std::size_t source) const;
  // Bytes of the source's image, in all of its files.
  std::uint64_t ImageBytesOf(std::size_t source) const;
  // The archive that the source's image lies in.
  std::size_t ArchiveOf(std::size_t source) const;
};

// The value for a mask in a file of its own: its size at the first look, then its path.
std::vector<std::byte> MaskValue(std::uint64_t bytes, std::string_view path);
struct MaskFile {
  std::uint64_t bytes = 0;
  std::string path;
};
MaskFile MaskFileOf(Bytes value);

// The files of a stack's other channels: the value of the image, as MaskValue() makes them, each
// with a zero byte at its end.
std::vector<MaskFile> StackFilesOf(Bytes value);
// Whether the value consists of such files.
bool AreStackFiles(Bytes value) noexcept;

template <class Visit>
void SourceList::ForEachFile(std::size_t source, Visit visit) const {
  if (archives.empty() && store == nullptr) {
    visit(root / sources[source].key);
    for (const MaskFile& file : StackFilesOf(Value(source, 0).value_or(Bytes())))
      visit(root / file.path);
  }
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if ((fields[f].feed != Feed::kMask && fields[f].feed != Feed::kValues) || fields[f].located)
      continue;
    if (const std::optional<Bytes> mask = Value(source, f))
      visit(fields[f].folder / MaskFileOf(*mask).path);
  }
}

// The error for a requested stop.
Error StoppedError();
[[noreturn]] void ThrowStopped();

}  // namespace sluice
