// Makes samples of the records of Parquet, TFRecord, RecordIO and .beton files. The first file
// decides which columns become fields, and all others must have them. A record without an image or
// with an unusable value is left out with the reason. Images are not read here; the list keeps
// their positions.
#include "writer/source/records/image_records.h"

#include <algorithm>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "writer/source/list/list_checks.h"
#include "writer/text.h"

namespace sluice {

namespace {

class ImageRecordList {
 public:
  ImageRecordList(const ConvertSource& source, const std::stop_token& stop)
      : source_(source), stop_(stop), fields_(source, list_) {
    list_.SetArchives(source.archives);
    list_.root = source.archives.front().parent_path();
  }

  SourceList Run(const OpenRecords& open) {
    for (std::uint64_t archive = 0; archive < source_.archives.size(); ++archive) {
      const std::unique_ptr<ImageRecords> records = open(archive, list_);
      if (archive == 0) AddFields(*records);
      for (const std::string& heading : used_) {
        if (HasHeading(records->headings(), heading)) continue;
        throw Error(ErrorCode::kInvalidArgument, source_.archives[archive].string(),
                    "has no column \"" + ToUtf8(heading) +
                        "\", although the first file has one; convert files with different "
                        "columns separately");
      }
      if (archive > 0) {
        RequireClasses(*records, source_.archives[archive]);
        AddClasses(*records);
      }
      records->Use(used_);
      for (const std::string& heading : fields_.HeadingsReadAsNumbers())
        records->ReadNumbersOf(heading);
      for (const std::string& heading : fields_.HeadingsWithoutNames())
        records->DropNamesOf(heading);
      const std::string place = list_.archive_names[archive] + ": ";
      while (records->Next()) {
        if (stop_.stop_requested()) ThrowStopped();
        Take(*records, place);
      }
    }
    fields_.SettleClasses(list_.sources, list_.values);
    RequireImages(source_.archives.front(), list_);
    WarnOfRepeats(list_);
    return std::move(list_);
  }

 private:
  void AddFields(const ImageRecords& records) {
    list_.fields.push_back({Field::Image(), Feed::kImage});
    const std::vector<Column> columns =
        source_.rows.columns.empty() ? records.UsualColumns(source_) : source_.rows.columns;
    for (const Column& column : columns) {
      if (source_.rows.columns.empty() && column.type == ColumnType::kClass)
        taken_for_classes_.push_back(column.column);
      if (column.type == ColumnType::kMask || column.type == ColumnType::kImage) {
        throw Error(ErrorCode::kInvalidArgument, source_.archives.front().string(),
                    "masks and second images cannot be read from this kind of file, only by path "
                    "from a table");
      }
      if (HasHeading(records.UnreadColumns(), column.column)) {
        throw Error(ErrorCode::kInvalidArgument, source_.archives.front().string(),
                    "has in the column \"" + ToUtf8(column.column) +
                        "\" values of a type that Sluice does not read, such as decimals; write "
                        "them as integers, floats or texts");
      }
      fields_.Add(column, records.headings(), records.ClassesOf(column.column),
                  records.FormOf(column.column));
      for (const std::string& heading : records.headings()) {
        const bool part =
            ("+" + column.column + "+").find("+" + heading + "+") != std::string::npos;
        if (heading == column.column || (column.type == ColumnType::kBoxes && part)) {
          used_.push_back(heading);
        }
      }
    }
    const std::string& split = source_.split.by;
    if (!split.empty()) {
      if (records.FormOf(split).located) {
        throw Error(ErrorCode::kInvalidArgument, source_.archives.front().string(),
                    "cannot be split by the column \"" + ToUtf8(split) +
                        "\", whose values are arrays, bytes or JSON; name a column with one "
                        "number or text a row");
      }
      used_.push_back(split);
    }
    fields_.Check(records.headings(), stop_);
    std::vector<std::string> all = records.headings();
    const std::vector<std::string> unread = records.UnreadColumns();
    all.insert(all.end(), unread.begin(), unread.end());
    fields_.WarnOfUnused(all, records.KeyHeadings(),
                         source_.rows.columns.empty() ? records.AdviceOnOthers() : "");
  }

  // The first file's numbers may look like classes although the column has fractions in a later
  // file. (The other way, whole numbers are read as floats, as the first file's are.)
  void RequireClasses(const ImageRecords& records, const std::filesystem::path& file) const {
    for (const std::string& heading : taken_for_classes_) {
      if (!records.HasFractions(heading)) continue;
      const std::string name = ToUtf8(heading);
      throw Error(ErrorCode::kInvalidArgument, file.string(),
                  "has in the column \"" + name +
                      "\" numbers that are not classes, and the first file has classes there; say "
                      "what the column is, with --field " +
                      name + "=float or " + name + "=class, or convert the files separately");
    }
  }

  // Files may number the same classes differently, so classes are matched by name.
  void AddClasses(const ImageRecords& records) {
    for (const std::string& heading : used_)
      fields_.AddClasses(heading, records.ClassesOf(heading));
  }

  void Take(const ImageRecords& records, const std::string& place) {
    Source taken;
    taken.key = records.key();
    const auto leave_out = [&](const std::string& reason) {
      list_.broken.push_back({place + taken.key, reason});
    };
    const std::optional<Extent> image = records.image();
    if (!image) return leave_out(records.why_no_image());
    if (taken.key.size() > kMaxKeyBytes) return leave_out("the key is longer than 65535 bytes");
    Look look;
    look.sniffed = records.sniffed();
    look.bytes = taken.bytes = image->bytes;
    if (look.sniffed.kind == ImageKind::kNone)
      return leave_out("the bytes in its column of images are not an image");
    RecordFields::Values values;
    try {
      values = fields_.Read(records, taken);
    } catch (const Error& error) {
      return leave_out(error.sentence());
    }
    if (!TakeOrLeave(look, place + taken.key, list_)) return;
    const Bytes extent = std::as_bytes(std::span(&*image, 1));
    list_.values.Add(extent);
    for (std::size_t f = 1; f < values.size(); ++f)
      list_.values.Add(values[f] ? std::optional<Bytes>(*values[f]) : std::nullopt);
    list_.sources.push_back(std::move(taken));
  }

  const ConvertSource& source_;
  const std::stop_token& stop_;
  SourceList list_;
  RecordFields fields_;
  std::vector<std::string> used_;  // headings of the columns that are read, in every file
  std::vector<std::string> taken_for_classes_;  // those that the user did not name
};

}  // namespace

SourceList ReadImageRecords(const ConvertSource& source, const OpenRecords& open,
                            const std::stop_token& stop) {
  return ImageRecordList(source, stop).Run(open);
}

}  // namespace sluice
