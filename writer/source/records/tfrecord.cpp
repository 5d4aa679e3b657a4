// TFRecord files with tf.train.Example.
//
// A file is a list of records: length, its checksum, content, its checksum. The content is a
// protocol buffer, and little of it is read: Message walks over its fields through a Window onto
// the file, and notes only the position of large values. The columns are the features of the first
// thousand examples. A record's checksum is verified when its image is read (PageCodec::kChecked).
#include <algorithm>
#include <map>

#include <sluice/error.h>

#include "writer/source/records/image_records.h"
#include "writer/source/records/packed_page.h"
#include "writer/source/records/records.h"
#include "writer/source/records/table_values.h"
#include "writer/text.h"

namespace sluice {

namespace {

using nlohmann::json;

// The limit for a feature whose values are read. Of an image only the position is noted; it may be
// larger.
constexpr std::uint64_t kMaxFeatureBytes = 16 << 20;
constexpr std::uint64_t kLookedAt = 1000;  // examples that are searched for columns

struct Feature {
  enum class Kind : std::uint8_t { kNone, kBytes, kFloats, kIntegers } kind = Kind::kNone;
  std::uint64_t offset = 0;  // in the file
  std::uint64_t bytes = 0;   // the size of the message that lists the feature's values
};

// Reads a few bytes here and there from a file. Reads at least 4 KiB at once and keeps them, since
// the next bytes wanted are usually among them.
class Window {
 public:
  Window(const FileHandle& file, const std::filesystem::path& path) : file_(file), path_(path) {}

  // Bytes [offset, offset + size) of a file of `file_bytes`; valid until the next call.
  Bytes Get(std::uint64_t offset, std::uint64_t size, std::uint64_t file_bytes) {
    if (offset < begin_ || offset + size > begin_ + held_.size()) {
      begin_ = offset;
      held_.resize(std::min(std::max<std::uint64_t>(size, 4096), file_bytes - offset));
      ReadExactly(file_, path_, offset, held_);
    }
    return Bytes(held_).subspan(offset - begin_, size);
  }

 private:
  const FileHandle& file_;
  const std::filesystem::path& path_;
  std::uint64_t begin_ = 0;
  std::vector<std::byte> held_;
};

// Reads a message in protocol buffers' wire format from a part of a file.
class Message {
 public:
  Message(Window& window, std::uint64_t begin, std::uint64_t end, std::uint64_t file_bytes)
      : window_(window), at_(begin), end_(end), file_bytes_(file_bytes) {}

  bool done() const { return at_ == end_; }
  std::uint64_t at() const { return at_; }

  std::uint64_t Varint() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ >= end_) Fail();
      const auto byte = std::to_integer<std::uint64_t>(window_.Get(at_++, 1, file_bytes_)[0]);
      number |= (byte & 127) << shift;
      if (byte < 128) return number;
    }
    Fail();
  }
  // Reads the length of the next value. Throws if that does not lie within the message.
  std::uint64_t Length() {
    const std::uint64_t length = Varint();
    if (length > end_ - at_) Fail();
    return length;
  }
  // The nested message that comes next; this one continues after it.
  Message Inner() {
    const std::uint64_t length = Length();
    at_ += length;
    return {window_, at_ - length, at_, file_bytes_};
  }
  Bytes Text(std::uint64_t most) {
    const std::uint64_t length = Length();
    if (length > most) Fail();
    at_ += length;
    return window_.Get(at_ - length, length, file_bytes_);
  }
  std::uint32_t Fixed32() {
    if (end_ - at_ < 4) Fail();
    at_ += 4;
    return LoadAt<std::uint32_t>(window_.Get(at_ - 4, 4, file_bytes_), 0);
  }
  void Skip(std::uint64_t type) {
    std::uint64_t size = 0;
    switch (type) {
      case 0: Varint(); return;
      case 1: size = 8; break;
      case 2: size = Length(); break;
      case 5: size = 4; break;
      default: Fail();
    }
    if (size > end_ - at_) Fail();
    at_ += size;
  }
  // Calls visit(message) for each field of that number that is a message; ignores other fields.
  template <class Visit>
  void ForEach(std::uint64_t number, Visit visit) {
    while (!done()) {
      const std::uint64_t tag = Varint();
      if (tag == (number << 3 | 2))
        visit(Inner());
      else
        Skip(tag & 7);
    }
  }
  [[noreturn]] void Fail() const {
    throw Error(ErrorCode::kCorrupt,
                "cannot be read as a tf.train.Example: wrong value at byte " + std::to_string(at_) +
                    "; the file is damaged, or its records are of another type");
  }

 private:
  Window& window_;
  std::uint64_t at_, end_, file_bytes_;
};

class TfRecords final : public ImageRecords {
 public:
  TfRecords(const ConvertSource& source, std::uint64_t archive, SourceList& list)
      : ImageRecords(source, archive, list),
        file_(OpenForReading(path_)),
        window_(file_, path_),
        bytes_(FileBytes(file_, path_)) {
    // ImageRecords cuts the extension, which would make "train" of "train.tfrecord-00000-of-00008".
    stem_ = list.archive_names[archive];
    FindFeatures(source);
  }

  std::vector<Column> UsualColumns(const ConvertSource& source) const override {
    std::vector<Column> columns;
    bool labelled = false;
    for (const char* usual : {"label", "class", "image/class/label"}) {
      if (labelled || !HasHeading(headings_, usual)) continue;
      labelled = true;
      if (source.label.store) columns.push_back({usual, ColumnType::kClass});
    }
    for (const std::string& heading : headings_) {
      if (heading == "text" || heading == "caption")
        columns.push_back({heading, ColumnType::kText});
    }
    return columns;
  }
  std::vector<std::string> KeyHeadings() const override {
    return {std::begin(kKeys), std::end(kKeys)};
  }

  bool Next() override {
    if (at_ == bytes_) return false;
    ReadRecord();
    ++record_;
    image_.reset();
    const auto image = features_.find(image_feature_);
    if (image == features_.end() || image->second.kind != Feature::Kind::kBytes) return true;
    Message list(window_, image->second.offset, image->second.offset + image->second.bytes, bytes_);
    try {
      list.ForEach(1, [&](Message value) {
        if (image_) return;
        const std::uint64_t begin = value.at();
        const std::uint64_t size = list.at() - begin;
        // The record is read whole, since its checksum covers all of it.
        list_.pages.push_back(
            {archive_, content_at_, record_bytes_ + 4, record_bytes_, PageCodec::kChecked});
        image_ = Extent{begin - content_at_, size, kInPage | (list_.pages.size() - 1)};
        sniffed_ = Sniff(window_.Get(begin, std::min<std::uint64_t>(size, kSniffBytes), bytes_));
      });
    } catch (const Error& error) {
      throw Error(error.code(), path_.string(), error.sentence());
    }
    return true;
  }

  json Get(const std::string& heading) const override {
    const auto found = features_.find(heading);
    return found == features_.end() ? json() : ValueOf(found->second);
  }
  std::string key() const override {
    for (const char* usual : kKeys) {
      const json value = KeyValue(usual);
      if (value.is_string() && !value.get_ref<const std::string&>().empty()) return value;
    }
    return ImageRecords::key();
  }

 private:
  // Features that may have the sample's key. The first that exists is used.
  static constexpr const char* kKeys[] = {"image/filename", "filename", "file_name", "key",
                                          "__key__"};

  [[noreturn]] void Fail(const std::string& sentence) const { FailAt(at_, sentence); }

  // Unlike Get(), never throws: a key of a wrong form is no reason to leave a sample out.
  json KeyValue(const char* heading) const {
    try {
      return Get(heading);
    } catch (const Error&) {
      return {};
    }
  }

  // Reads the next record's features, without their values.
  void ReadRecord() {
    if (bytes_ - at_ < 16) Fail("the file ends within a record");
    const Bytes head = window_.Get(at_, 12, bytes_);
    if (MaskedCrc(Crc32c(head.first(8))) != LoadAt<std::uint32_t>(head, 8)) {
      Fail(
          "the checksum of a record's length is wrong: the file is damaged, or is not a TFRecord "
          "file");
    }
    record_bytes_ = LoadAt<std::uint64_t>(head, 0);
    if (record_bytes_ > bytes_ - at_ - 16) Fail("the file ends within a record");
    content_at_ = at_ + 12;
    features_.clear();
    try {
      Message example(window_, content_at_, content_at_ + record_bytes_, bytes_);
      example.ForEach(1, [this](Message features) {
        features.ForEach(1, [this](Message entry) { ReadEntry(entry); });
      });
    } catch (const Error& error) {
      throw Error(error.code(), path_.string(), error.sentence());
    }
    at_ = content_at_ + record_bytes_ + 4;
  }

  void ReadEntry(Message entry) {
    constexpr std::uint64_t kMaxNameBytes = 4096;
    std::string name;
    Feature feature;
    while (!entry.done()) {
      const std::uint64_t tag = entry.Varint();
      if (tag == (1 << 3 | 2)) {
        name = AsText(entry.Text(kMaxNameBytes));
      } else if (tag == (2 << 3 | 2)) {
        Message value = entry.Inner();
        while (!value.done()) {
          const std::uint64_t kind = value.Varint();
          if ((kind & 7) != 2 || kind >> 3 == 0 || kind >> 3 > 3) {
            value.Skip(kind & 7);
            continue;
          }
          feature.kind = static_cast<Feature::Kind>(kind >> 3);
          feature.bytes = value.Length();
          feature.offset = value.at();
          break;
        }
      } else {
        entry.Skip(tag & 7);
      }
    }
    // A damaged or hostile record must not fill the memory with names.
    if (features_.size() < 4096) features_[name] = feature;
  }

  json ValueOf(const Feature& feature) const {
    if (feature.bytes > kMaxFeatureBytes) {
      throw Error(ErrorCode::kLimit, "has more than 16 MiB");
    }
    json values = json::array();
    Message list(window_, feature.offset, feature.offset + feature.bytes, bytes_);
    while (!list.done()) {
      const std::uint64_t tag = list.Varint();
      if (tag >> 3 != 1) {
        list.Skip(tag & 7);
      } else if (feature.kind == Feature::Kind::kBytes && (tag & 7) == 2) {
        values.push_back(std::string(AsText(list.Text(kMaxFeatureBytes))));
      } else if ((tag & 7) == 2) {
        for (Message packed = list.Inner(); !packed.done();)
          values.push_back(Number(feature, packed));
      } else {
        values.push_back(Number(feature, list));
      }
    }
    return values.size() == 1 ? values[0] : values;
  }

  static json Number(const Feature& feature, Message& message) {
    if (feature.kind == Feature::Kind::kIntegers) {
      return static_cast<std::int64_t>(message.Varint());
    }
    const std::uint32_t bits = message.Fixed32();
    float number = 0;
    std::memcpy(&number, &bits, sizeof number);
    return number;
  }

  void FindFeatures(const ConvertSource& source) {
    // The features, and whether one of their values begins like an image.
    std::map<std::string, bool> names;
    for (std::uint64_t i = 0; i < kLookedAt && at_ < bytes_; ++i) {
      ReadRecord();
      for (const auto& [name, feature] : features_) {
        bool& is_image = names[name];
        if (is_image || feature.kind != Feature::Kind::kBytes || feature.bytes < 16) continue;
        // A tag and a length precede the list's only value.
        const Bytes start = window_.Get(
            feature.offset, std::min<std::uint64_t>(feature.bytes, 16 + kSniffBytes), bytes_);
        std::size_t skip = 1;
        while (skip < 11 && (std::to_integer<unsigned>(start[skip]) & 128) != 0)
          ++skip;
        is_image = Sniff(start.subspan(std::min(skip + 1, start.size()))).kind != ImageKind::kNone;
      }
    }
    // The records that were searched for features are read again as samples.
    at_ = 0;
    image_feature_ = source.rows.path_column;
    for (const char* usual : {"image/encoded", "image", "jpg", "jpeg", "png", "image_raw"}) {
      if (image_feature_.empty() && names.contains(usual)) image_feature_ = usual;
    }
    for (const auto& [name, is_image] : names) {
      if (image_feature_.empty() && is_image) image_feature_ = name;
    }
    for (const auto& [name, is_image] : names) {
      if (name != image_feature_) headings_.push_back(name);
    }
    if (names.contains(image_feature_)) return;
    throw Error(ErrorCode::kInvalidArgument, path_.string(),
                image_feature_.empty()
                    ? "has no feature whose values begin like an image; name the feature that "
                      "holds the images by --path-column; the file has: " +
                          ListedHeadings(headings_)
                    : "has no feature \"" + ToUtf8(image_feature_) + "\"" +
                          HeadingsInstead(image_feature_, headings_));
  }

  FileHandle file_;
  mutable Window window_;
  std::uint64_t bytes_;
  std::uint64_t at_ = 0;  // where the next record begins in the file
  std::uint64_t content_at_ = 0,
                record_bytes_ = 0;  // the current record's content: offset and size
  std::map<std::string, Feature> features_;
  std::string image_feature_;
};

}  // namespace

bool IsTfRecord(Bytes start) noexcept {
  return start.size() >= 12 && MaskedCrc(Crc32c(start.first(8))) == LoadAt<std::uint32_t>(start, 8);
}

SourceList ReadTfRecords(const ConvertSource& source, const std::stop_token& stop) {
  return ReadImageRecordsOf<TfRecords>(source, stop);
}

}  // namespace sluice
