// Makes fields of a table's columns, and values of its cells. The column's type decides how, so
// each step is a switch over ColumnType: which field to make, how to convert a cell, how to join
// the records of one sample, and how to number the classes once all records are read.
//
// Errors name the column; the caller adds the file and the line.
#include "writer/source/records/record_fields.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <sluice/error.h>
#include <sluice/nearest_name.h>

#include "format/ascii.h"
#include "format/disk/checksum.h"
#include "writer/source/list/alike.h"
#include "writer/source/list/dataset_classes.h"
#include "writer/source/list/paths.h"
#include "writer/source/records/table_values.h"
#include "writer/text.h"

namespace sluice {

std::string ListedHeadings(const std::vector<std::string>& headings) {
  constexpr std::size_t kMaxNamed = 32;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMaxNamed, headings.size()); ++i)
    text += (text.empty() ? "" : ", ") + ToUtf8(headings[i]);
  if (headings.size() <= kMaxNamed) return text;
  return text + " and " + std::to_string(headings.size() - kMaxNamed) + " more";
}

std::string HeadingsInstead(const std::string& heading, const std::vector<std::string>& headings) {
  std::vector<std::string> names;
  std::ranges::transform(headings, std::back_inserter(names), ToUtf8);
  return NamesInstead(ToUtf8(heading), names, "it has");
}

bool HasHeading(const std::vector<std::string>& headings, const std::string& heading) {
  return std::find(headings.begin(), headings.end(), heading) != headings.end();
}

namespace {

// `joined`: the four numbers of a box are in four columns.
Field FieldOfColumn(const Column& column, bool joined) {
  std::string name = column.field.empty() ? column.column : column.field;
  if (joined && column.field.empty()) name = "boxes";
  Field field;
  switch (column.type) {
    case ColumnType::kClass: return Field::Label(name);
    case ColumnType::kClasses:
    case ColumnType::kBoxClasses:
      field = Field::Variable(name, DType::kInt32, {});
      field.role = Role::kLabel;
      if (column.type == ColumnType::kBoxClasses) field.follows = "image";
      return field;
    case ColumnType::kInt: return Field::Array(name, DType::kInt64, {});
    case ColumnType::kFloat:
    case ColumnType::kFloats: return Field::Array(name, DType::kFloat32, {});
    case ColumnType::kBoxes:
      field = Field::Variable(name, DType::kFloat32, {4});
      field.role = Role::kBoxes;
      field.follows = "image";
      field.coordinates = "xyxy-pixels";
      return field;
    case ColumnType::kText: return Field::Bytes(name, Role::kText);
    case ColumnType::kJson: return Field::Bytes(name, Role::kJson);
    case ColumnType::kBytes: return Field::Bytes(name);
    case ColumnType::kMask: return Field::Mask(name, "image");
    case ColumnType::kImage:
      if (column.nearest) return Field::Mask(name, "image");
      field = Field::Image(name);
      field.follows = "image";
      return field;
  }
  return field;
}

// The headings of a column of boxes. A box's numbers may be in four of them,
// "left+top+width+height".
std::vector<std::string> HeadingsOf(const Column& column,
                                    const std::vector<std::string>& headings) {
  std::vector<std::string> parts;
  if (column.type == ColumnType::kBoxes && !HasHeading(headings, column.column)) {
    for (std::size_t begin = 0; begin <= column.column.size();) {
      const std::size_t end = std::min(column.column.find('+', begin), column.column.size());
      parts.push_back(column.column.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  if (parts.size() == 4) return parts;
  return {column.column};
}

Feed FeedOf(const Column& column, bool labelled) {
  switch (column.type) {
    case ColumnType::kClass: return labelled ? Feed::kElements : Feed::kLabel;
    case ColumnType::kBoxes: return Feed::kBoxes;
    case ColumnType::kBoxClasses: return Feed::kBoxClasses;
    case ColumnType::kText:
    case ColumnType::kBytes:
    case ColumnType::kJson: return Feed::kText;
    case ColumnType::kMask: return Feed::kMask;
    case ColumnType::kImage: return Feed::kValues;
    case ColumnType::kClasses:
    case ColumnType::kInt:
    case ColumnType::kFloat:
    case ColumnType::kFloats: break;
  }
  return Feed::kElements;
}

// Whether values of the type are stored exactly as they lie in the file.
bool IsStoredAsIs(ColumnType type) noexcept {
  return type == ColumnType::kFloats || type == ColumnType::kText || type == ColumnType::kJson ||
         type == ColumnType::kBytes;
}

// Turns four lists (left edges, tops, rights, bottoms) into one list of boxes.
Cell Interleaved(const Cell& lists) {
  for (const Cell& list : lists) {
    if (!list.is_array() || list.size() != lists[0].size()) return lists;
  }
  Cell boxes = Cell::array();
  for (std::size_t i = 0; i < lists[0].size(); ++i) {
    for (const Cell& list : lists)
      boxes.push_back(list[i]);
  }
  return boxes;
}

// The name of a class. A text is trimmed, since tables may have spaces after commas.
std::string NameOf(const Cell& cell, bool is_text) {
  std::string name = is_text ? std::string(Trimmed(TextOf(cell))) : TextOf(cell);
  if (name.empty()) throw Error(ErrorCode::kCorrupt, "has no value");
  return name;
}

// Whether the value is missing; an empty list counts as missing, unless the field is a list.
bool IsNone(const Cell& cell, ColumnType type) {
  if (type == ColumnType::kClass && cell.is_number_float() && std::isnan(cell.get<double>()))
    return true;
  if (!cell.is_array() || !cell.empty()) return cell.is_null();
  return type == ColumnType::kClass || type == ColumnType::kInt || type == ColumnType::kFloat ||
         type == ColumnType::kText || type == ColumnType::kBytes || type == ColumnType::kMask ||
         type == ColumnType::kImage;
}

}  // namespace

std::filesystem::path RecordFields::Place() const {
  const bool table = !source_.table.empty() || source_.archives.empty();
  return table ? source_.table : source_.archives.front();
}

void RecordFields::Refuse(const std::string& sentence) const {
  throw Error(ErrorCode::kInvalidArgument, Place().string(), sentence);
}

void RecordFields::Require(const std::string& heading,
                           const std::vector<std::string>& headings) const {
  if (HasHeading(headings, heading)) return;
  Refuse("has no column \"" + ToUtf8(heading) + "\"" + HeadingsInstead(heading, headings));
}

void RecordFields::Add(const Column& column, const std::vector<std::string>& headings,
                       const std::vector<std::string>& classes, const StoredForm& form) {
  const std::vector<std::string> taken = HeadingsOf(column, headings);
  for (const std::string& heading : taken)
    Require(heading, headings);
  SourceField field{FieldOfColumn(column, taken.size() > 1), FeedOf(column, list_.labelled)};
  field.relative = column.relative;
  if (field.feed == Feed::kMask || field.feed == Feed::kValues) field.folder = list_.root;
  if (field.feed == Feed::kValues) field.form = ValueForm();
  if (column.type == ColumnType::kFloats && form.dtype) {
    field.field.dtype = *form.dtype;
    field.field.shape = form.shape;
  }
  field.located = form.located && IsStoredAsIs(column.type);
  list_.labelled = list_.labelled || field.feed == Feed::kLabel;
  const bool given = !column.classes.empty();
  if (given && !HasClasses(column.type)) {
    Refuse("has a column that takes no classes, \"" + ToUtf8(column.column) +
           "\"; only the types class, classes and box_classes do");
  }
  used_columns_.push_back({column, taken, list_.fields.size(),
                           ClassNames(given ? column.classes : classes), !classes.empty(), given});
  list_.fields.push_back(std::move(field));
}

void RecordFields::AddClasses(const std::string& heading, const std::vector<std::string>& names) {
  for (UsedColumn& used : used_columns_) {
    if (used.given || used.column.column != heading) continue;
    if (!used.named && !names.empty()) {
      Refuse("does not name the classes of the column \"" + ToUtf8(heading) +
             "\", but another file does; put that other file first, give the names (--classes), or "
             "convert the files separately");
    }
    used.names.Extend(names);
  }
}

std::vector<std::string> RecordFields::HeadingsWithoutNames() const {
  std::vector<std::string> headings;
  for (const UsedColumn& used : used_columns_) {
    const ColumnType type = used.column.type;
    if (type == ColumnType::kInt || type == ColumnType::kFloat || type == ColumnType::kFloats) {
      headings.insert(headings.end(), used.headings.begin(), used.headings.end());
    }
  }
  return headings;
}

std::vector<std::string> RecordFields::HeadingsReadAsNumbers() const {
  std::vector<std::string> headings;
  for (const UsedColumn& used : used_columns_) {
    if (!list_.fields[used.field].located) {
      headings.insert(headings.end(), used.headings.begin(), used.headings.end());
    }
  }
  return headings;
}

void RecordFields::GiveClasses(const std::stop_token& stop) {
  if (source_.label.classes.empty()) return;
  // A field of a dataset gives its classes to the column of its name.
  if (!source_.label.classes_of.empty()) {
    const DatasetClasses dataset = ClassesOfDataset(source_.label.classes_of, stop);
    for (UsedColumn& used : used_columns_) {
      const auto classes = dataset.fields.find(list_.fields[used.field].field.name);
      if (!HasClasses(used.column.type) || used.given || classes == dataset.fields.end()) continue;
      used.names = ClassNames(classes->second);
      used.given = true;
    }
  }
  const auto is_label = [this](const UsedColumn& used) {
    return list_.fields[used.field].feed == Feed::kLabel;
  };
  const auto has_classes = [](const UsedColumn& used) { return HasClasses(used.column.type); };
  auto used = std::find_if(used_columns_.begin(), used_columns_.end(), is_label);
  if (used == used_columns_.end())
    used = std::find_if(used_columns_.begin(), used_columns_.end(), has_classes);
  if (used == used_columns_.end()) {
    list_.warnings.push_back(
        "no column has classes, and the names that were given (--classes) are not used; name the "
        "label's column (--field label=class)");
    return;
  }
  if (used->given) return;
  used->names = ClassNames(source_.label.classes);
  used->given = true;
}

void RecordFields::Check(const std::vector<std::string>& headings, const std::stop_token& stop) {
  GiveClasses(stop);
  if (!source_.split.by.empty()) Require(source_.split.by, headings);
  list_.MakeSchema().Validate();
  const auto count = [this](Feed feed) {
    return std::count_if(list_.fields.begin(), list_.fields.end(),
                         [feed](const SourceField& field) { return field.feed == feed; });
  };
  if (count(Feed::kBoxes) > 1) Refuse("only one column of boxes can be used");
  if (count(Feed::kBoxClasses) > 0 && count(Feed::kBoxes) == 0) {
    Refuse("a column of type box_classes needs a column of type boxes");
  }
}

void RecordFields::WarnOfUnused(const std::vector<std::string>& headings,
                                const std::vector<std::string>& used_otherwise,
                                const std::string& advice) {
  std::vector<std::string> unused;
  for (const std::string& heading : headings) {
    if (!source_.label.store && (heading == "label" || heading == "class"))
      continue;  // the user asked for no labels
    const bool taken =
        std::any_of(used_columns_.begin(), used_columns_.end(),
                    [&](const UsedColumn& used) { return HasHeading(used.headings, heading); });
    if (!taken && !heading.empty() && heading != source_.split.by &&
        !HasHeading(used_otherwise, heading)) {
      unused.push_back(heading);
    }
  }
  if (unused.empty()) return;
  list_.warnings.push_back("columns not used: " + ListedHeadings(unused) + advice);
}

Cell RecordFields::CellOf(const UsedColumn& used, const Cells& record) const {
  if (used.headings.size() == 1) return record.Get(used.headings[0]);
  Cell cells = Cell::array();
  for (const std::string& heading : used.headings)
    cells.push_back(record.Get(heading));
  const auto is_null = [](const Cell& cell) { return cell.is_null(); };
  if (std::all_of(cells.begin(), cells.end(), is_null)) return {};
  return Interleaved(cells);
}

RecordFields::Values RecordFields::Read(const Cells& record, Source& source) {
  Values values(list_.fields.size());
  std::size_t boxes = 0;
  for (UsedColumn& used : used_columns_) {
    try {
      const Cell cell = CellOf(used, record);
      if (IsNone(cell, used.column.type)) {
        RequireOptional(used);
        continue;
      }
      if (list_.fields[used.field].feed == Feed::kLabel) {
        source.label = ClassOf(used, NameIn(used, cell, record.has_text_cells()));
        continue;
      }
      values[used.field] = ValueOf(used, cell, record.has_text_cells());
      if (used.column.type == ColumnType::kBoxes) boxes = values[used.field]->size() / 32;
    } catch (const Error& error) {
      throw Error(error.code(), "column " + ToUtf8(used.column.column) + ": " + error.sentence());
    }
  }
  CheckBoxClasses(values, boxes);
  if (!source_.split.by.empty()) source.split_value = SplitValueOf(record);
  return values;
}

std::uint64_t RecordFields::SplitValueOf(const Cells& record) const {
  try {
    const Cell cell = record.Get(source_.split.by);
    if (cell.is_null()) throw Error(ErrorCode::kCorrupt, "has no value to split by");
    return Hash64(AsBytes(AlikeValue(NameOf(cell, record.has_text_cells()))));
  } catch (const Error& error) {
    throw Error(error.code(), "column " + ToUtf8(source_.split.by) + ": " + error.sentence());
  }
}

std::string RecordFields::Join(Values& whole, const Values& more, bool same_label) const {
  for (const UsedColumn& used : used_columns_) {
    std::optional<std::vector<std::byte>>& value = whole[used.field];
    const std::optional<std::vector<std::byte>>& other = more[used.field];
    const ColumnType type = used.column.type;
    if (type == ColumnType::kBoxes || type == ColumnType::kBoxClasses ||
        type == ColumnType::kClasses) {
      if (!value) value.emplace();
      if (other) value->insert(value->end(), other->begin(), other->end());
    } else if (value != other || (list_.fields[used.field].feed == Feed::kLabel && !same_label)) {
      return ToUtf8(used.column.column);
    }
  }
  return {};
}

void RecordFields::RequireOptional(const UsedColumn& used) const {
  if (list_.fields[used.field].field.kind == FieldKind::kArray) {
    // Sluice took the column by itself: the user may leave it out.
    const bool automatic = source_.rows.columns.empty() && used.column.type != ColumnType::kClass;
    throw Error(
        ErrorCode::kCorrupt,
        std::string("has no value") +
            (automatic ? "; name the columns to use by --field, and leave this one out" : ""));
  }
}

void RecordFields::CheckBoxClasses(const Values& values, std::size_t boxes) const {
  for (const UsedColumn& used : used_columns_) {
    if (used.column.type != ColumnType::kBoxClasses) continue;
    const std::optional<std::vector<std::byte>>& value = values[used.field];
    const std::size_t classes = value ? value->size() / sizeof(std::int32_t) : 0;
    if (classes == boxes) continue;
    throw Error(ErrorCode::kCorrupt, "column " + ToUtf8(used.column.column) + ": there are " +
                                         std::to_string(classes) + " classes for " +
                                         std::to_string(boxes) + " boxes");
  }
}

// A class that was given may begin or end with a space; other names are trimmed.
std::string RecordFields::NameIn(const UsedColumn& used, const Cell& cell, bool is_text) {
  const bool given = cell.is_string() && used.names.Has(cell.get_ref<const std::string&>());
  return given ? cell.get<std::string>() : NameOf(cell, is_text);
}

std::int32_t RecordFields::ClassOf(UsedColumn& used, const std::string& name) {
  const std::optional<std::int32_t> number = used.names.Add(name);
  if (number) return *number;
  throw Error(ErrorCode::kCorrupt, "\"" + ToUtf8(name) + "\" is not one of the given classes");
}

std::vector<std::byte> RecordFields::ValueOf(UsedColumn& used, const Cell& cell, bool is_text) {
  const Column& column = used.column;
  if (list_.fields[used.field].located) {
    return ElementBytes<std::vector<std::uint8_t>>(cell.get_binary());
  }
  switch (column.type) {
    case ColumnType::kClass: return ElementBytes(ClassOf(used, NameIn(used, cell, is_text)));
    case ColumnType::kClasses:
    case ColumnType::kBoxClasses: {
      std::vector<std::int32_t> numbers;
      for (const std::string& name : NamesOf(cell))
        numbers.push_back(ClassOf(used, name));
      return ElementBytes(numbers);
    }
    case ColumnType::kInt: return ElementBytes(IntegerOf(cell));
    case ColumnType::kFloat:
    case ColumnType::kFloats: return NumbersValue(used, cell);
    case ColumnType::kBoxes: {
      const std::vector<double> corners = CornersOf(cell, column.boxes, column.relative);
      for (const double at : corners)
        used.farthest = std::max(used.farthest, at);
      return ElementBytes(corners);
    }
    case ColumnType::kText: return ElementBytes(ToUtf8(TextOf(cell)));
    case ColumnType::kJson: return ElementBytes(JsonOf(cell, is_text));
    case ColumnType::kBytes: return ElementBytes(TextOf(cell));
    case ColumnType::kMask:
    case ColumnType::kImage: return MaskKey(TextOf(cell));
  }
  return {};
}

std::vector<std::byte> RecordFields::NumbersValue(UsedColumn& used, const Cell& cell) {
  const std::vector<double> numbers = NumbersOf(cell);
  std::vector<std::uint32_t>& shape = list_.fields[used.field].field.shape;
  std::size_t expected = 1;
  if (used.column.type == ColumnType::kFloats) {
    if (shape.empty() && !numbers.empty()) {
      shape = {static_cast<std::uint32_t>(numbers.size())};
    }
    expected = shape.empty() ? 1 : shape[0];
  }
  if (numbers.size() != expected) {
    throw Error(ErrorCode::kCorrupt, "there are " + std::to_string(numbers.size()) +
                                         " numbers instead of " + std::to_string(expected) +
                                         (shape.empty() ? "" : " as in the earlier rows"));
  }
  if (list_.fields[used.field].field.dtype == DType::kFloat64) {
    return ElementBytes(numbers);
  }
  std::vector<float> narrow;
  for (const double number : numbers) {
    narrow.push_back(NarrowNumber(number));
    constexpr double kDigits = 1LL << 53;  // whole numbers up to here have all their digits
    const bool tiny = std::abs(number) < std::numeric_limits<float>::min();
    const bool whole = std::abs(number) <= kDigits && std::floor(number) == number;
    if (narrow.back() != number && (tiny || whole) && !used.rounded) used.rounded = number;
  }
  return ElementBytes(narrow);
}

std::vector<std::byte> RecordFields::MaskKey(const std::string& path) const {
  const std::optional<std::string> key = RootPath(list_).KeyOf(path);
  if (key) return MaskValue(0, *key);
  throw Error(ErrorCode::kCorrupt, "the path does not lie below " + list_.root.string());
}

void RecordFields::SettleClasses(std::vector<Source>& sources, SourceValues& records) {
  for (UsedColumn& used : used_columns_) {
    SourceField& field = list_.fields[used.field];
    if (!used.column.relative && used.farthest > 0 && used.farthest <= 1) {
      list_.warnings.push_back("all boxes of the column " + ToUtf8(used.column.column) +
                               " lie within the first pixel; if they are fractions of the image's "
                               "sides, add -relative to their form");
    }
    const std::string column = ToUtf8(used.column.column);
    if (used.rounded) {
      list_.warnings.push_back("the column " + column + " holds " + Cell(*used.rounded).dump() +
                               ", which is stored as " +
                               Cell(static_cast<float>(*used.rounded)).dump() +
                               ": fields of numbers are float32; to keep all digits, store the "
                               "column as text (--field " +
                               column + "=text)");
    }
    NamesOrigin origin{Place(), "the column " + column,
                       "these rows or their values, name the classes in their order (--classes), "
                       "or store the column as it is (--field " +
                           column + "=int or " + column + "=text)"};
    if (field.feed == Feed::kLabel) {
      origin.sample = [&sources](std::int32_t added) {
        const auto first =
            std::find_if(sources.begin(), sources.end(),
                         [added](const Source& record) { return record.label == added; });
        return first == sources.end() ? std::string() : first->key;
      };
    }
    used.names.Settle(origin, list_.warnings);
    if (field.field.role != Role::kLabel) continue;
    if (field.feed == Feed::kLabel) {
      for (Source& record : sources)
        record.label = used.names.NumberOf(record.label);
      list_.classes = used.names.Names();
      continue;
    }
    field.field.classes = used.names.Names();
    for (std::size_t i = 0; i < sources.size(); ++i)
      used.names.Renumber(records.Mutable(i, used.field, list_.fields.size()));
  }
}

}  // namespace sluice
