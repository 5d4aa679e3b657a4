// Sources whose records contain their images: Parquet, TFRecord, RecordIO, .beton.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <sluice/error.h>

#include "writer/source/list/look.h"
#include "writer/source/records/record_fields.h"

namespace sluice {

// The records of one file. Of values that can be large, Get() may give the position (an Extent)
// instead of the content: see StoredForm::located.
class ImageRecords : public Cells {
 public:
  // The file is source.archives[archive].
  ImageRecords(const ConvertSource& source, std::uint64_t archive, SourceList& list)
      : path_(source.archives[archive]),
        archive_(archive),
        list_(list),
        stem_(std::filesystem::path(list.archive_names[archive]).replace_extension().string()) {}

  const std::vector<std::string>& headings() const { return headings_; }
  // The columns to use if the user names none.
  virtual std::vector<Column> UsualColumns(const ConvertSource& source) const = 0;
  // Columns of unsupported types. headings() does not have them.
  virtual std::vector<std::string> UnreadColumns() const { return {}; }
  // Headings of columns that hold keys or record numbers. No warning says that they are unused.
  virtual std::vector<std::string> KeyHeadings() const { return {}; }
  // Advice, for messages, on headings that UsualColumns() leaves out: "; to take boxes, ..."
  virtual std::string AdviceOnOthers() const { return {}; }
  // The names of a column's classes, in order, if the file has them. Get() then returns names.
  virtual std::vector<std::string> ClassesOf(const std::string&) const { return {}; }
  // Announces the headings that Get() will be called with.
  virtual void Use(const std::vector<std::string>&) {}
  // How the column's values lie in the file.
  virtual StoredForm FormOf(const std::string&) const { return {}; }
  // From now on, Get() returns this column's numbers instead of their position in the file.
  virtual void ReadNumbersOf(const std::string&) {}

  // From now on, Get() returns this column's class numbers, although the classes have names.
  virtual void DropNamesOf(const std::string&) {}

  // Whether the column has numbers that cannot be classes: a column of the same name may be classes
  // in another file.
  virtual bool HasFractions(const std::string&) const { return false; }

  // Moves to the next record; false at the end. Throws Error if the rest of the file cannot be
  // read.
  virtual bool Next() = 0;
  // nullopt if the record has no image.
  std::optional<Extent> image() const { return image_; }
  virtual std::string why_no_image() const { return "has no image"; }
  Sniffed sniffed() const { return sniffed_; }
  // The sample's key: the record's number, unless the file has a better one.
  virtual std::string key() const {
    const std::string number = std::to_string(record_ - 1);
    return stem_ + "/" + std::string(number.size() < 7 ? 7 - number.size() : 0, '0') + number;
  }

  bool has_text_cells() const noexcept final { return false; }

 protected:
  // Throws Error(kCorrupt).
  [[noreturn]] void FailAt(std::uint64_t byte, const std::string& sentence) const {
    throw Error(ErrorCode::kCorrupt, path_.string(),
                "byte " + std::to_string(byte) + ": " + sentence);
  }

  std::filesystem::path path_;
  std::uint64_t archive_;
  SourceList& list_;
  std::string stem_;  // the beginning of keys: "train-0" for "train-0.parquet"
  std::vector<std::string> headings_;
  std::uint64_t record_ = 0;  // number of the next record
  std::optional<Extent> image_;
  Sniffed sniffed_;
};

// Opens source.archives[archive].
using OpenRecords =
    std::function<std::unique_ptr<ImageRecords>(std::uint64_t archive, SourceList& list)>;

// Reads all records of source.archives. Errors: those of the records; kInvalidArgument (files with
// different columns; a column that does not exist); kNotFound (no image).
SourceList ReadImageRecords(const ConvertSource& source, const OpenRecords& open,
                            const std::stop_token& stop);

// The same; Records(source, archive, list) opens a file.
template <class Records>
SourceList ReadImageRecordsOf(const ConvertSource& source, const std::stop_token& stop) {
  return ReadImageRecords(
      source,
      [&source](std::uint64_t archive, SourceList& list) {
        return std::make_unique<Records>(source, archive, list);
      },
      stop);
}

}  // namespace sluice
