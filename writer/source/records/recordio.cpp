// RecordIO as MXNet packs images (im2rec): each record has labels, which are numbers, and then an
// image file.
//
// The first record with an image decides what the labels are. One number is a class; several are
// boxes if they have the form for object detection, and a vector otherwise.
//
// InsightFace's files of faces end with a record for each identity, which has no image and lists
// that identity's pictures. Their first record has no image either: its two numbers say where the
// lists are. A file with such a first record is recognised as InsightFace's, and the class of a
// face is the first of its labels, as in InsightFace's own loader.
#include <algorithm>
#include <cmath>

#include "writer/source/records/image_records.h"
#include "writer/source/records/packed_page.h"
#include "writer/source/records/records.h"
#include "writer/text.h"

namespace sluice {

namespace {

using nlohmann::json;

constexpr std::size_t kImageHeadBytes = 24;    // flag, label, id, id2
constexpr std::uint32_t kMaxLabels = 1 << 20;  // in one record

class RecordIoRecords final : public ImageRecords {
 public:
  RecordIoRecords(const ConvertSource& source, std::uint64_t archive, SourceList& list)
      : ImageRecords(source, archive, list),
        file_(OpenForReading(path_)),
        bytes_(FileBytes(file_, path_)) {
    if (!source.rows.path_column.empty()) {
      throw Error(ErrorCode::kInvalidArgument, path_.string(), "has no columns of images");
    }
    FindHeadings();
  }

  std::vector<Column> UsualColumns(const ConvertSource& source) const override {
    if (!source.label.store || headings_.empty()) return {};
    if (headings_[0] == "label") return {{"label", ColumnType::kClass}};
    if (headings_[0] == "labels") return {{"labels", ColumnType::kFloats}};
    Column boxes{"boxes", ColumnType::kBoxes};
    boxes.relative = true;
    return {boxes, {"classes", ColumnType::kBoxClasses}};
  }
  std::vector<std::string> KeyHeadings() const override {
    if (of_faces_) return {"id", "labels"};
    return {"id"};
  }

  bool Next() override {
    while (at_ != bytes_) {
      ReadRecord();
      ++record_;
      if (!of_faces_ || !IsListOfIdentity()) return true;
      ++lists_;
    }
    if (lists_ > 0) {
      list_.passed_over.push_back({list_.archive_names[archive_],
                                   std::to_string(lists_) + (lists_ == 1 ? " record" : " records") +
                                       " without an image, which are "
                                       "InsightFace's lists of identities"});
      lists_ = 0;
    }
    return false;
  }

  json Get(const std::string& heading) const override {
    if (heading == "label" && labels_.is_array()) return AsClass(labels_[0]);
    if (heading == "label" || heading == "labels") return labels_;
    if (heading == "boxes") return boxes_;
    if (heading == "classes") return classes_;
    return heading == "id" ? json(id_) : json();
  }

 private:
  [[noreturn]] void Fail(const std::string& sentence) const { FailAt(at_, sentence); }

  void FindHeadings() {
    const std::size_t pages = list_.pages.size();
    while (!image_ && at_ != bytes_) {
      ReadRecord();
      of_faces_ = of_faces_ || (record_ == 0 && IsListOfIdentity());
      ++record_;
    }
    if (record_ == 0) return;  // the file is empty
    if (of_faces_)
      headings_ = {"label", "labels"};
    else if (!boxes_.is_null())
      headings_ = {"boxes", "classes"};
    else if (labels_.is_array())
      headings_ = {"labels"};
    else
      headings_ = {"label"};
    headings_.push_back("id");
    at_ = 0;
    record_ = 0;
    // The search for headings has added pages of split records; Next() will add them again.
    list_.pages.resize(pages);
  }

  // Whether the record has the range of an identity's pictures instead of an image.
  bool IsListOfIdentity() const { return !image_ && labels_.is_array() && labels_.size() == 2; }

  // Labels are stored as floats, but a class is written as a whole number: "3", not "3.0".
  static json AsClass(const json& label) {
    if (!label.is_number()) return label;
    const auto number = label.get<float>();
    if (std::floor(number) != number || std::abs(number) >= 1e9F) return label;
    return static_cast<std::int64_t>(number);
  }

  struct Part {
    unsigned kind = 0;  // 0: a whole record; 1: its first part; 2: a middle part; 3: its last part
    std::uint64_t begin = 0, bytes = 0, next = 0;
  };

  Part ReadPart(std::uint64_t at) {
    std::array<std::byte, 8> head{};
    if (bytes_ - at < head.size()) Fail("the file ends within a record");
    ReadExactly(file_, path_, at, head);
    if (LoadAt<std::uint32_t>(head, 0) != kRecordIoMagic)
      Fail("no record begins here: the file is damaged");
    const auto word = LoadAt<std::uint32_t>(head, 4);
    Part part{word >> 29, at + head.size(), word & ((1U << 29) - 1), 0};
    if (part.bytes > bytes_ - part.begin) Fail("the file ends within a record");
    // Records are padded to four bytes; the last one may lack the padding.
    part.next = std::min(AlignUp(part.begin + part.bytes, std::uint64_t{4}), bytes_);
    return part;
  }

  void ReadRecord() {
    Part part = ReadPart(at_);
    const bool split = part.kind == 1;
    if (part.kind > 1) Fail("a part of a record has no beginning");
    const std::uint64_t begin = part.begin;
    std::uint64_t plain = part.bytes;
    // A record is split where its data contained the magic number, which the parts leave out.
    for (Part last = part; split && last.kind != 3;) {
      last = ReadPart(last.next);
      if (last.kind != 2 && last.kind != 3) Fail("a record lacks its last part");
      // 4: the magic number that stood between the parts.
      plain += 4 + last.bytes;
      part.next = last.next;
      part.bytes = last.begin + last.bytes - begin;
    }
    if (split) {
      list_.pages.push_back({archive_, begin, part.bytes, plain, PageCodec::kJoined});
      TakeJoined(begin, part.bytes, plain);
    } else {
      Take(plain, [&](std::uint64_t offset, std::span<std::byte> to) {
        ReadExactly(file_, path_, begin + offset, to);
      });
      if (image_) *image_ = {begin + image_->offset, image_->bytes, archive_};
    }
    at_ = part.next;
  }

  void TakeJoined(std::uint64_t begin, std::uint64_t stored, std::uint64_t plain) {
    std::vector<std::byte> parts(stored);
    std::vector<std::byte> whole(plain);
    ReadExactly(file_, path_, begin, parts);
    if (!UnpackPage({.codec = PageCodec::kJoined}, parts, whole)) Fail("a record is damaged");
    Take(plain, [&](std::uint64_t offset, std::span<std::byte> to) {
      std::copy_n(whole.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
    });
    if (image_) image_->archive = kInPage | (list_.pages.size() - 1);
  }

  // Reads the labels, and finds the image, of a record of `bytes`.
  template <class Read>
  void Take(std::uint64_t bytes, Read read) {
    std::array<std::byte, kImageHeadBytes> head{};
    image_.reset();
    labels_ = boxes_ = classes_ = json();
    if (bytes < head.size()) Fail("a record has no header of an image");
    read(0, head);
    const auto count = LoadAt<std::uint32_t>(head, 0);
    labels_ = LoadAt<float>(head, 4);
    id_ = LoadAt<std::uint64_t>(head, 8);
    if (count > kMaxLabels || 4 * std::uint64_t{count} > bytes - head.size()) {
      Fail("a record has more labels than bytes");
    }
    const std::uint64_t at = head.size() + 4 * std::uint64_t{count};
    if (count > 0) {
      std::vector<float> labels(count);
      read(head.size(), std::as_writable_bytes(std::span(labels)));
      labels_ = labels.size() == 1 ? json(labels[0]) : json(labels);
      TakeBoxes(labels);
    }
    labels_ = AsClass(labels_);
    std::array<std::byte, kSniffBytes> start{};
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(bytes - at, kSniffBytes));
    read(at, std::span(start).first(size));
    sniffed_ = Sniff(Bytes(start).first(size));
    if (bytes > at) image_ = Extent{at, bytes - at, 0};
  }

  // Labels for object detection: the size of the header, the size of an object, the rest of the
  // header; then for each object its class and its corners, as fractions.
  void TakeBoxes(const std::vector<float>& labels) {
    if (labels.size() < 2) return;
    const float header = labels[0];
    const float object = labels[1];
    // The labels of an image without objects are only the header, so the size of an object may be
    // larger than the number of labels.
    const auto whole = [&](float number, float least) {
      return number >= least && number <= static_cast<float>(labels.size()) + 5 &&
             std::floor(number) == number;
    };
    if (!whole(header, 2) || !whole(object, 5) || header > static_cast<float>(labels.size()))
      return;
    const auto begin = static_cast<std::size_t>(header);
    const auto step = static_cast<std::size_t>(object);
    if ((labels.size() - begin) % step != 0) return;
    boxes_ = json::array();
    classes_ = json::array();
    for (std::size_t i = begin; i < labels.size(); i += step) {
      // A class that is not finite stays a float, for which the sample is left out.
      const bool number = std::isfinite(labels[i]);
      classes_.push_back(number
                             ? json(static_cast<std::int64_t>(std::clamp(labels[i], -1e9F, 1e9F)))
                             : json(labels[i]));
      for (std::size_t k = 1; k <= 4; ++k)
        boxes_.push_back(labels[i + k]);
    }
  }

  FileHandle file_;
  std::uint64_t bytes_;
  std::uint64_t at_ = 0;
  bool of_faces_ = false;    // the file is InsightFace's
  std::uint64_t lists_ = 0;  // number of identities' lists that were passed over
  json labels_, boxes_, classes_;
  std::uint64_t id_ = 0;
};

}  // namespace

bool IsRecordIo(Bytes start) noexcept {
  return start.size() >= 8 && LoadAt<std::uint32_t>(start, 0) == kRecordIoMagic;
}

SourceList ReadRecordIo(const ConvertSource& source, const std::stop_token& stop) {
  return ReadImageRecordsOf<RecordIoRecords>(source, stop);
}

}  // namespace sluice
