// The fields that a table's columns become, and their values record by record.
//
// To add a type of column, add a value to ColumnType. The compiler then warns of the switches in
// record_fields.cpp. It does not warn of functions that compare types by ==, such as HasClasses()
// and, in record_fields.cpp, IsStoredAsIs(), IsNone() and Join(), nor of the parsing in
// table_values.cpp. (SettleClasses() assumes that every field with the role label holds int32 class
// numbers.) The type also goes into these files, where
// "(?<!Feed::)kBoxClasses|box_classes|BOX_CLASSES" shows how:
//   writer/include/sluice/convert_source.h
//   writer/source/convert_source.cpp      HasClasses()
//   writer/source/records/record_fields.cpp
//   tools/convert_source.cpp              ParseColumn() and the help of --field
//   writer/include/sluice/convert_option_list.h
//   writer/README.md
//   samples/guides/labels.md
//   samples/guides/detection.md
//   tests/writer/table_test.cpp
//   tests/fuzz/table_target.cpp
//   tests/python/test_sources.py
//   not samples/guides/from-huggingface.md  needs no change: an example of one form
//   not tests/                            need no change: they only have such columns
//   not writer/source/list/source_list.h  needs no change: a Feed of that name
//   not writer/source/records/recordio.cpp  needs no change: its columns have that type
//   not tools/export_files.h              needs no change: what its tables can be read as
//
// For a new DType, see sluice/schema.h.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "writer/source/list/class_names.h"
#include "writer/source/list/source_list.h"

namespace sluice {

// The current record of a table of any kind.
class Cells {
 public:
  virtual ~Cells() = default;
  // The value under that heading; null if it is missing.
  virtual nlohmann::json Get(const std::string& heading) const = 0;
  // Whether values are text rather than JSON.
  virtual bool has_text_cells() const noexcept = 0;
};

// How a file that gives its columns types (see ImageRecords) stores a column's values.
struct StoredForm {
  // Cells are Extents (json::binary), unless ImageRecords::ReadNumbersOf() was called for the
  // column.
  bool located = false;
  std::optional<DType> dtype;  // of numbers; nullopt: as the column's type says
  std::vector<std::uint32_t> shape = {};
};

// "a, b, c and 3 more"
std::string ListedHeadings(const std::vector<std::string>& headings);
// Of a column that does not exist: "; did you mean "label"?", or "; it has: a, b, c".
std::string HeadingsInstead(const std::string& heading, const std::vector<std::string>& headings);
bool HasHeading(const std::vector<std::string>& headings, const std::string& heading);

class RecordFields {
 public:
  // One value per field; nullopt if it is absent.
  using Values = std::vector<std::optional<std::vector<std::byte>>>;

  // Both must outlive the object.
  RecordFields(const ConvertSource& source, SourceList& list) : source_(source), list_(list) {}

  // Adds the column's field to the list. `classes`: the column's class names in order, if the file
  // has them. Throws Error(kInvalidArgument) if there is no such column.
  void Add(const Column& column, const std::vector<std::string>& headings,
           const std::vector<std::string>& classes = {}, const StoredForm& form = {});
  // Adds the class names that a further file gives for the column. Throws Error(kInvalidArgument)
  // if the first file gave none.
  void AddClasses(const std::string& heading, const std::vector<std::string>& names);
  // The headings whose cells must be read as numbers: their positions in the file are not enough.
  std::vector<std::string> HeadingsReadAsNumbers() const;
  // The headings whose values must be read as numbers even if the file has class names for them.
  std::vector<std::string> HeadingsWithoutNames() const;
  // Call it after the last Add(): gives ConvertSource::label.classes to the label or, without one,
  // to the first column with classes. Throws Error(kInvalidArgument) if the fields do not fit
  // together, or if SplitPart::by is not one of the headings.
  void Check(const std::vector<std::string>& headings, const std::stop_token& stop);

  // Adds a warning that lists the headings that no field uses, followed by `advice`. The warning
  // leaves out the headings in `used_otherwise` (paths, keys). Call it after the last Add().
  void WarnOfUnused(const std::vector<std::string>& headings,
                    const std::vector<std::string>& used_otherwise, const std::string& advice = {});

  // The record's values; sets `label` and `split_value` of its source. Throws Error with a sentence
  // about the record.
  Values Read(const Cells& record, Source& source);
  // Adds the values of another record of the same sample to `whole`. `same_label`: whether the
  // records have the same label. Returns the name of a column in which the records contradict each
  // other, or
  // "".
  std::string Join(Values& whole, const Values& more, bool same_label) const;
  // Numbers the classes, once all records are read. `records` has the values of `sources`.
  void SettleClasses(std::vector<Source>& sources, SourceValues& records);

 private:
  struct UsedColumn {
    Column column;
    std::vector<std::string> headings;   // one, or four for boxes
    std::size_t field = 0;               // index in the list
    ClassNames names;                    // for types with classes
    bool named = false;                  // the file has the classes' names
    bool given = false;                  // the names are the caller's
    double farthest = 0;                 // the largest coordinate of all boxes so far
    std::optional<double> rounded = {};  // the first number that float32 changes visibly
  };
  void GiveClasses(const std::stop_token& stop);
  nlohmann::json CellOf(const UsedColumn& used, const Cells& record) const;
  // Throws if the column's field must have a value in every record.
  void RequireOptional(const UsedColumn& used) const;
  // The file to name in messages about the whole table.
  std::filesystem::path Place() const;
  void CheckBoxClasses(const Values& values, std::size_t boxes) const;
  std::uint64_t SplitValueOf(const Cells& record) const;
  static std::string NameIn(const UsedColumn& used, const nlohmann::json& cell, bool is_text);
  static std::int32_t ClassOf(UsedColumn& used, const std::string& name);
  std::vector<std::byte> ValueOf(UsedColumn& used, const nlohmann::json& cell, bool is_text);
  std::vector<std::byte> NumbersValue(UsedColumn& used, const nlohmann::json& cell);
  std::vector<std::byte> MaskKey(const std::string& path) const;
  [[noreturn]] void Refuse(const std::string& sentence) const;
  void Require(const std::string& heading, const std::vector<std::string>& headings) const;

  const ConvertSource& source_;
  SourceList& list_;
  std::vector<UsedColumn> used_columns_;
};

}  // namespace sluice
