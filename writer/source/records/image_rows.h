// Sources whose rows carry their images: Parquet, TFRecord, RecordIO, .beton.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <sluice/error.h>

#include "writer/source/list/look.h"
#include "writer/source/records/row_fields.h"

namespace sluice {

// The rows of one file. Values are located and not read where they can be large.
class ImageRows : public Cells {
 public:
  // The file is the `archive`-th of the list's.
  ImageRows(const ConvertSource& source, std::uint64_t archive, SourceList& list)
      : path_(source.archives[archive]),
        archive_(archive),
        list_(list),
        stem_(std::filesystem::path(list.archive_names[archive]).replace_extension().string()) {}

  const std::vector<std::string>& headings() const { return headings_; }
  // The columns to take if none is asked for.
  virtual std::vector<Column> UsualColumns(const ConvertSource& source) const = 0;
  // Columns of types that are not read, which are not among the headings.
  virtual std::vector<std::string> UnreadColumns() const { return {}; }
  // Headings that give keys, or number records: nobody misses a field of them.
  virtual std::vector<std::string> KeyHeadings() const { return {}; }
  // How to take one of the headings that UsualColumns() leaves out: "; to take boxes, ..."
  virtual std::string AdviceOnOthers() const { return {}; }
  // The names of a column's classes, in order, if the file has them. Its cells are then names.
  virtual std::vector<std::string> ClassesOf(const std::string&) const { return {}; }
  // Only these headings will be asked for.
  virtual void Use(const std::vector<std::string>&) {}
  // How the column's values lie in the file.
  virtual StoredForm FormOf(const std::string&) const { return {}; }
  // From now on this column's cells are numbers, though it could be located.
  virtual void ReadNumbersOf(const std::string&) {}

  // From now on this column's cells are numbers, though its classes have names.
  virtual void DropNamesOf(const std::string&) {}

  // Goes to the next row. False at the end. Throws Error for what makes the rest unreadable.
  virtual bool Next() = 0;
  // The row's image; nullopt: it has none.
  std::optional<Extent> image() const { return image_; }
  virtual std::string why_no_image() const { return "has no image"; }
  Sniffed sniffed() const { return sniffed_; }
  // The row's number, unless the file has something better.
  virtual std::string key() const {
    const std::string number = std::to_string(row_ - 1);
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
  std::string stem_;  // begins the keys: "train-0" of "train-0.parquet"
  std::vector<std::string> headings_;
  std::uint64_t row_ = 0;  // the next one
  std::optional<Extent> image_;
  Sniffed sniffed_;
};

// Opens the file, the `archive`-th of the list's.
using OpenRows = std::function<std::unique_ptr<ImageRows>(std::uint64_t archive, SourceList& list)>;

// Reads all rows of source.archives. Errors: those of the rows; kInvalidArgument (files of
// different columns; a column that is not there); kNotFound (no image).
SourceList ReadImageRows(const ConvertSource& source, const OpenRows& open,
                         const std::stop_token& stop);

// The same with Rows(source, archive, list).
template <class Rows>
SourceList ReadImageRowsOf(const ConvertSource& source, const std::stop_token& stop) {
  return ReadImageRows(
      source,
      [&source](std::uint64_t archive, SourceList& list) {
        return std::make_unique<Rows>(source, archive, list);
      },
      stop);
}

}  // namespace sluice
