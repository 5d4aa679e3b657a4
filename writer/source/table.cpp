#include "writer/source/table.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "writer/parallel.h"
#include "writer/source/class_names.h"
#include "writer/source/look.h"
#include "writer/source/root_path.h"
#include "writer/source/same_name.h"
#include "writer/source/table_reader.h"
#include "writer/source/table_values.h"
#include "writer/text.h"

namespace sluice {

namespace {

[[noreturn]] void Refuse(const ConvertSource& source, const std::string& sentence) {
  throw Error(ErrorCode::kInvalidArgument, source.table.string(), sentence);
}

std::string Listed(const std::vector<std::string>& headings) {
  constexpr std::size_t kMostNamed = 32;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostNamed, headings.size()); ++i)
    text += (text.empty() ? "" : ", ") + ToUtf8(headings[i]);
  if (headings.size() <= kMostNamed) return text;
  return text + " and " + std::to_string(headings.size() - kMostNamed) + " more";
}

bool Has(const std::vector<std::string>& headings, const std::string& heading) {
  return std::find(headings.begin(), headings.end(), heading) != headings.end();
}

std::string PathColumn(const ConvertSource& source, const std::vector<std::string>& headings) {
  if (!source.path_column.empty()) {
    if (Has(headings, source.path_column)) return source.path_column;
    Refuse(source, "has no column \"" + source.path_column + "\"; it has: " + Listed(headings));
  }
  for (const char* usual : {"path", "file", "filename", "file_name", "image", "key"}) {
    if (Has(headings, usual)) return usual;
  }
  Refuse(source,
         "has no column named path, file, filename, file_name, image or key; set the path column "
         "to one of its columns: " +
             Listed(headings));
}

// The column of the samples' keys: "key", as `sluice export` writes it, if it is not the column of
// the paths and is not asked for as a field. "": there is none.
std::string KeyColumn(const ConvertSource& source, const std::string& path_column,
                      const std::vector<std::string>& headings) {
  const bool asked_for = std::any_of(source.columns.begin(), source.columns.end(),
                                     [](const Column& column) { return column.column == "key"; });
  return path_column != "key" && Has(headings, "key") && !asked_for ? "key" : "";
}

// The headings of a column of boxes whose numbers stand in several: "left+top+width+height".
std::vector<std::string> HeadingsOf(const Column& column,
                                    const std::vector<std::string>& headings) {
  std::vector<std::string> parts;
  if (column.type == ColumnType::kBoxes && !Has(headings, column.column)) {
    for (std::size_t begin = 0; begin <= column.column.size();) {
      const std::size_t end = std::min(column.column.find('+', begin), column.column.size());
      parts.push_back(column.column.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  if (parts.size() == 4) return parts;
  return {column.column};
}

std::vector<Column> ColumnsToTake(const ConvertSource& source, const std::string& path_column,
                                  const std::string& key_column,
                                  const std::vector<std::string>& headings, SourceList& list) {
  if (!source.columns.empty()) {
    for (const Column& column : source.columns) {
      for (const std::string& heading : HeadingsOf(column, headings)) {
        if (Has(headings, heading)) continue;
        Refuse(source, "has no column \"" + heading + "\"; it has: " + Listed(headings));
      }
    }
    return source.columns;
  }
  std::vector<Column> columns;
  std::vector<std::string> others;
  for (const std::string& heading : headings) {
    if (heading == path_column || heading == key_column) continue;
    if (heading == "label" || heading == "class") {
      if (source.labels) columns.push_back({heading, ColumnType::kClass});
    } else if (heading == "text" || heading == "caption") {
      columns.push_back({heading, ColumnType::kText});
    } else {
      others.push_back(heading);
    }
  }
  if (!others.empty()) {
    list.warnings.push_back("columns not used: " + Listed(others));
  }
  return columns;
}

// A column that is being read.
struct Taking {
  Column column;
  std::vector<std::string> headings;  // one; of boxes also four
  std::size_t field = 0;              // index in the list
  ClassNames names;                   // for types with classes
};

Field FieldOf(const Column& column, bool joined) {
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
    case ColumnType::kInteger: return Field::Array(name, DType::kInt64, {});
    case ColumnType::kNumber:
    case ColumnType::kNumbers: return Field::Array(name, DType::kFloat32, {});
    case ColumnType::kBoxes:
      field = Field::Variable(name, DType::kFloat32, {4});
      field.role = Role::kBoxes;
      field.follows = "image";
      field.coordinates = "xyxy-pixels";
      return field;
    case ColumnType::kText: return Field::Bytes(name, Role::kText);
    case ColumnType::kJson: return Field::Bytes(name, Role::kJson);
    case ColumnType::kMask: return Field::Mask(name, "image");
  }
  return field;
}

Feed FeedOf(const Column& column, bool labelled) {
  switch (column.type) {
    case ColumnType::kClass: return labelled ? Feed::kElements : Feed::kLabel;
    case ColumnType::kBoxes: return Feed::kBoxes;
    case ColumnType::kBoxClasses: return Feed::kBoxClasses;
    case ColumnType::kText:
    case ColumnType::kJson: return Feed::kText;
    case ColumnType::kMask: return Feed::kMask;
    default: return Feed::kElements;
  }
}

template <class T>
std::vector<std::byte> ToBytes(std::span<const T> values) {
  const Bytes bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}

class TableScan {
 public:
  TableScan(const ConvertSource& source, unsigned threads, const std::stop_token& stop)
      : source_(source), threads_(threads), stop_(stop), reader_(source.table, stop) {
    list_.root = source.root.empty() ? source.table.parent_path() : source.root;
    list_.upright = source.upright;
    path_column_ = PathColumn(source, reader_.headings());
    key_column_ = KeyColumn(source, path_column_, reader_.headings());
    list_.fields.push_back({Field::Image(), Feed::kImage});
    for (Column& column :
         ColumnsToTake(source, path_column_, key_column_, reader_.headings(), list_)) {
      AddField(column);
    }
    list_.MakeSchema().Validate();
    CheckBoxes();
  }

  SourceList Run() {
    ReadRows();
    TakeGroups();
    SettleClasses();
    LookAtFiles();
    RequireImages(source_.table, list_);
    WarnOfRepeats(list_);
    if (list_.fields.size() == 1 || (list_.fields.size() == 2 && list_.labelled)) {
      list_.values = {};  // no field needs them
    }
    return std::move(list_);
  }

 private:
  void AddField(const Column& column) {
    const bool joined = HeadingsOf(column, reader_.headings()).size() > 1;
    SourceField field{FieldOf(column, joined), FeedOf(column, list_.labelled)};
    field.relative = column.relative;
    if (field.feed == Feed::kMask) field.folder = list_.root;
    const bool first_label = field.feed == Feed::kLabel;
    list_.labelled = list_.labelled || first_label;
    taking_.push_back({column, HeadingsOf(column, reader_.headings()), list_.fields.size(),
                       ClassNames(first_label ? source_.classes : std::vector<std::string>())});
    list_.fields.push_back(std::move(field));
  }

  void CheckBoxes() const {
    const auto count = [this](Feed feed) {
      return std::count_if(list_.fields.begin(), list_.fields.end(),
                           [feed](const SourceField& field) { return field.feed == feed; });
    };
    if (count(Feed::kBoxes) > 1) Refuse(source_, "only one column of boxes can be used");
    if (count(Feed::kBoxClasses) > 0 && count(Feed::kBoxes) == 0) {
      Refuse(source_, "a column of box classes needs one of boxes");
    }
  }

  void ReadRows() {
    const RootPath root(list_.root);
    while (reader_.Next()) {
      if (stop_.stop_requested()) ThrowStopped();
      const Cell path = reader_.Get(path_column_);
      std::string key = path.is_string() ? path.get<std::string>() : "";
      try {
        if (key.empty()) throw Error(ErrorCode::kCorrupt, "the path is empty");
        const std::optional<std::string> below = root.KeyOf(key);
        if (!below) {
          throw Error(ErrorCode::kCorrupt, "the path does not lie below " + list_.root.string());
        }
        key = *below;
        ReadRow(key);
      } catch (const Error& error) {
        list_.broken.push_back({key, reader_.Place() + ": " + error.sentence()});
        if (source_.group) incomplete_.insert(key);
      }
    }
  }

  Cell CellOf(const Taking& taking) const {
    if (taking.headings.size() == 1) return reader_.Get(taking.headings[0]);
    Cell cells = Cell::array();
    for (const std::string& heading : taking.headings)
      cells.push_back(reader_.Get(heading));
    const auto is_null = [](const Cell& cell) { return cell.is_null(); };
    return std::all_of(cells.begin(), cells.end(), is_null) ? Cell() : cells;
  }

  using Values = std::vector<std::optional<std::vector<std::byte>>>;

  void AddRow(Source row, const Values& values, std::uint64_t line) {
    for (const auto& value : values)
      rows_.Add(value ? std::optional<Bytes>(*value) : std::nullopt);
    sources_.push_back(std::move(row));
    lines_.push_back(line);
  }

  // Adds a row to those of the same image.
  void Join(Source row, Values values) {
    const auto [known, added] = group_of_.emplace(row.key, groups_.size());
    if (added) {
      groups_.push_back({std::move(row), std::move(values), reader_.line()});
      return;
    }
    Group& group = groups_[known->second];
    const std::string begun = ", but in line " + std::to_string(group.line) + " it is another";
    if (row.sample_key != group.row.sample_key) {
      throw Error(ErrorCode::kCorrupt, "the key is one" + begun);
    }
    for (const Taking& taking : taking_) {
      std::optional<std::vector<std::byte>>& whole = group.values[taking.field];
      std::optional<std::vector<std::byte>>& more = values[taking.field];
      const ColumnType type = taking.column.type;
      if (type == ColumnType::kBoxes || type == ColumnType::kBoxClasses ||
          type == ColumnType::kClasses) {
        if (!whole) whole.emplace();
        if (more) whole->insert(whole->end(), more->begin(), more->end());
      } else if (whole != more || (list_.fields[taking.field].feed == Feed::kLabel &&
                                   row.label != group.row.label)) {
        throw Error(ErrorCode::kCorrupt,
                    "column " + ToUtf8(taking.column.column) + " has one value" + begun);
      }
    }
  }

  // An image that lacks a row would lack a box: it is left out with that row.
  void TakeGroups() {
    for (Group& group : groups_) {
      if (!incomplete_.contains(group.row.key)) {
        AddRow(std::move(group.row), group.values, group.line);
      }
      group = {};
    }
  }

  void ReadRow(const std::string& key) {
    Values values(list_.fields.size());
    Source row;
    row.key = key;
    if (!key_column_.empty()) {
      const Cell cell = reader_.Get(key_column_);
      if (!cell.is_null()) row.sample_key = TextOf(cell);
      if (row.sample_key.size() > kMaxKeyBytes) {
        throw Error(ErrorCode::kCorrupt, "the key is longer than 65535 bytes");
      }
    }
    std::size_t boxes = 0;
    for (Taking& taking : taking_) {
      const Cell cell = CellOf(taking);
      try {
        if (cell.is_null()) {
          RequireNone(taking);
          continue;
        }
        if (list_.fields[taking.field].feed == Feed::kLabel) {
          row.label = ClassOf(taking, TextOf(cell));
          continue;
        }
        values[taking.field] = ValueOf(taking, cell);
        if (taking.column.type == ColumnType::kBoxes) boxes = values[taking.field]->size() / 32;
      } catch (const Error& error) {
        throw Error(error.code(),
                    "column " + ToUtf8(taking.column.column) + ": " + error.sentence());
      }
    }
    CheckBoxClasses(values, boxes);
    if (source_.group) return Join(std::move(row), std::move(values));
    AddRow(std::move(row), values, reader_.line());
  }

  void RequireNone(const Taking& taking) const {
    if (list_.fields[taking.field].field.kind == FieldKind::kArray) {
      throw Error(ErrorCode::kCorrupt, "has no value");
    }
  }

  void CheckBoxClasses(const std::vector<std::optional<std::vector<std::byte>>>& values,
                       std::size_t boxes) const {
    for (const Taking& taking : taking_) {
      if (taking.column.type != ColumnType::kBoxClasses || !values[taking.field]) continue;
      const std::size_t classes = values[taking.field]->size() / sizeof(std::int32_t);
      if (classes == boxes) continue;
      throw Error(ErrorCode::kCorrupt, "column " + ToUtf8(taking.column.column) + ": there are " +
                                           std::to_string(classes) + " classes for " +
                                           std::to_string(boxes) + " boxes");
    }
  }

  static std::int32_t ClassOf(Taking& taking, const std::string& name) {
    const std::optional<std::int32_t> number = taking.names.Add(name);
    if (number) return *number;
    throw Error(ErrorCode::kCorrupt, "\"" + ToUtf8(name) + "\" is not one of the given classes");
  }

  std::vector<std::byte> ValueOf(Taking& taking, const Cell& cell) {
    const Column& column = taking.column;
    switch (column.type) {
      case ColumnType::kClass: {
        const std::int32_t number = ClassOf(taking, TextOf(cell));
        return ToBytes(std::span<const std::int32_t>(&number, 1));
      }
      case ColumnType::kClasses:
      case ColumnType::kBoxClasses: {
        std::vector<std::int32_t> numbers;
        for (const std::string& name : NamesOf(cell, column.at_spaces))
          numbers.push_back(ClassOf(taking, name));
        return ToBytes(std::span<const std::int32_t>(numbers));
      }
      case ColumnType::kInteger: {
        const std::int64_t number = IntegerOf(cell);
        return ToBytes(std::span<const std::int64_t>(&number, 1));
      }
      case ColumnType::kNumber:
      case ColumnType::kNumbers: return NumbersValue(taking, cell);
      case ColumnType::kBoxes: return ToBytes<double>(CornersOf(cell, column.boxes));
      case ColumnType::kText: {
        const std::string text = ToUtf8(TextOf(cell));
        return ToBytes<char>(text);
      }
      case ColumnType::kJson: {
        const std::string text = JsonOf(cell, reader_.has_text_cells());
        return ToBytes<char>(text);
      }
      case ColumnType::kMask: return MaskKey(TextOf(cell));
    }
    return {};
  }

  std::vector<std::byte> NumbersValue(const Taking& taking, const Cell& cell) {
    const std::vector<double> numbers = NumbersOf(cell);
    std::vector<std::uint32_t>& shape = list_.fields[taking.field].field.shape;
    std::size_t expected = 1;
    if (taking.column.type == ColumnType::kNumbers) {
      if (shape.empty() && !numbers.empty()) {
        shape = {static_cast<std::uint32_t>(numbers.size())};
      }
      expected = shape.empty() ? 1 : shape[0];
    }
    if (numbers.size() != expected) {
      throw Error(ErrorCode::kCorrupt, "there are " + std::to_string(numbers.size()) +
                                           " numbers, and not " + std::to_string(expected) +
                                           (shape.empty() ? "" : " as in the earlier rows"));
    }
    std::vector<float> narrow;
    for (const double number : numbers)
      narrow.push_back(NarrowNumber(number));
    return ToBytes<float>(narrow);
  }

  std::vector<std::byte> MaskKey(const std::string& path) const {
    const std::optional<std::string> key = RootPath(list_.root).KeyOf(path);
    if (key) return MaskValue(0, *key);
    throw Error(ErrorCode::kCorrupt, "the path does not lie below " + list_.root.string());
  }

  void SettleClasses() {
    for (Taking& taking : taking_) {
      SourceField& field = list_.fields[taking.field];
      taking.names.Settle();
      if (field.field.role != Role::kLabel) continue;
      if (field.feed == Feed::kLabel) {
        for (Source& row : sources_)
          row.label = taking.names.NumberOf(row.label);
        list_.classes = taking.names.Names();
        continue;
      }
      field.field.classes = taking.names.Names();
      for (std::size_t i = 0; i < sources_.size(); ++i)
        taking.names.Renumber(rows_.Mutable(i, taking.field, list_.fields.size()));
    }
  }

  // Looks at the images and at the masks that columns name; keeps the rows that can be converted.
  void LookAtFiles() {
    std::vector<std::size_t> masks;  // fields
    for (std::size_t f = 0; f < list_.fields.size(); ++f) {
      if (list_.fields[f].feed == Feed::kMask) masks.push_back(f);
    }
    std::vector<Look> looks(sources_.size());
    std::vector<Look> mask_looks(sources_.size() * masks.size());
    ParallelFor(threads_, sources_.size(), stop_, [&](unsigned, std::size_t i) {
      looks[i] = LookInto(list_.root / sources_[i].key);
      for (std::size_t m = 0; m < masks.size(); ++m) {
        if (const auto value = rows_.Get(i, masks[m], list_.fields.size())) {
          mask_looks[i * masks.size() + m] = LookInto(list_.root / MaskFileOf(*value).path);
        }
      }
    });
    if (stop_.stop_requested()) ThrowStopped();
    SameNames names(list_.root);
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      names.Resolve(sources_[i].key, looks[i]);
      TakeRow(i, looks[i], masks, std::span(mask_looks).subspan(i * masks.size(), masks.size()));
    }
    if (!names.Report().empty()) list_.warnings.push_back(names.Report());
  }

  void TakeRow(std::size_t i, const Look& look, const std::vector<std::size_t>& masks,
               std::span<const Look> mask_looks) {
    const std::string place =
        source_.table.filename().string() + ", line " + std::to_string(lines_[i]) + ": ";
    if (look.trouble.empty() && look.sniffed.kind == ImageKind::kNone) {
      list_.broken.push_back({sources_[i].key, place + "is not an image"});
      return;
    }
    if (!TakeOrLeave(look, sources_[i].key, list_)) {
      list_.broken.back().reason = place + list_.broken.back().reason;
      return;
    }
    std::vector<std::optional<std::vector<std::byte>>> values(list_.fields.size());
    for (std::size_t m = 0; m < masks.size(); ++m) {
      const auto value = rows_.Get(i, masks[m], list_.fields.size());
      if (!value) continue;
      const std::string path = MaskFileOf(*value).path;
      std::string trouble = mask_looks[m].trouble;
      if (trouble.empty() && mask_looks[m].sniffed.kind != ImageKind::kPng) trouble = "is no PNG";
      if (!trouble.empty()) {
        list_.broken.push_back({sources_[i].key, place + "the mask " + path + " " + trouble});
        return;
      }
      values[masks[m]] = MaskValue(mask_looks[m].bytes, path);
    }
    for (std::size_t f = 0; f < list_.fields.size(); ++f) {
      if (values[f]) {
        list_.values.Add(*values[f]);
      } else {
        list_.values.Add(rows_.Get(i, f, list_.fields.size()));
      }
    }
    sources_[i].bytes = look.bytes;
    list_.sources.push_back(std::move(sources_[i]));
  }

  const ConvertSource& source_;
  unsigned threads_;
  const std::stop_token& stop_;
  TableReader reader_;
  SourceList list_;
  std::string path_column_;
  std::string key_column_;  // "" if the paths are the keys
  std::vector<Taking> taking_;
  // Of the rows that were read without errors, before their files were looked at.
  std::vector<Source> sources_;
  std::vector<std::uint64_t> lines_;
  SourceValues rows_;
  // Rows of the same image, with ConvertSource::group.
  struct Group {
    Source row;
    Values values;
    std::uint64_t line = 0;  // of its first row
  };
  std::vector<Group> groups_;
  std::unordered_map<std::string, std::size_t> group_of_;  // by the image's path
  std::set<std::string> incomplete_;                       // paths with a row that was left out
};

}  // namespace

SourceList ReadTable(const ConvertSource& source, unsigned threads, const std::stop_token& stop) {
  return TableScan(source, threads, stop).Run();
}

}  // namespace sluice
