// Columns from a table. A table is read twice: once to find the type of each field, unless the user
// or the field to be replaced gives it, and once for the values, which stay in memory in one run
// for each field.
#include "writer/edit/table_columns.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include <sluice/error.h>

#include "format/ascii.h"
#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "format/disk/record_layout.h"
#include "writer/source/list/source_list.h"
#include "writer/source/records/parquet_column.h"
#include "writer/source/records/parquet_file.h"
#include "writer/source/records/table.h"
#include "writer/source/records/table_values.h"
#include "writer/text.h"

namespace sluice {

namespace {

[[noreturn]] void RefuseTable(const std::filesystem::path& file, const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, file.string(), what);
}

bool IsParquet(const std::filesystem::path& file) {
  return file.extension() == ".parquet";
}

// Calls visit(cells, place) for each row, with its cells under the headings; a null cell is empty.
using VisitRow = std::function<void(const std::vector<Cell>& cells, const std::string& place)>;

std::size_t IndexOf(const std::filesystem::path& file, const std::string& heading,
                    const std::vector<std::string>& headings) {
  const auto found = std::ranges::find(headings, heading);
  if (found == headings.end()) {
    RefuseTable(file,
                "has no column \"" + ToUtf8(heading) + "\"" + HeadingsInstead(heading, headings));
  }
  return static_cast<std::size_t>(found - headings.begin());
}

void ForEachTextRow(const std::filesystem::path& file, const std::vector<std::string>& headings,
                    const std::stop_token& stop, const VisitRow& visit) {
  TableReader table(file, stop);
  for (const std::string& heading : headings)
    IndexOf(file, heading, table.headings());
  while (table.Next()) {
    std::vector<Cell> cells;
    for (const std::string& heading : headings)
      cells.push_back(table.Get(heading));
    visit(cells, "line " + std::to_string(table.line()));
  }
}

void ForEachParquetRow(const std::filesystem::path& path, const std::vector<std::string>& headings,
                       const std::stop_token& stop, const VisitRow& visit) {
  const ParquetFile file = OpenParquet(path);
  std::vector<std::string> known;
  for (const ParquetLeaf& leaf : file.leaves)
    known.push_back(leaf.name);
  std::vector<std::size_t> leaves;
  for (const std::string& heading : headings) {
    leaves.push_back(IndexOf(path, heading, known));
    if (!file.leaves[leaves.back()].supported)
      RefuseTable(path, "the column \"" + ToUtf8(heading) + "\" has a type that is not read");
  }
  std::uint64_t row = 0;
  for (const ParquetGroup& group : file.groups) {
    std::vector<std::unique_ptr<ParquetColumn>> columns;
    for (const std::size_t leaf : leaves) {
      columns.push_back(
          std::make_unique<ParquetColumn>(file, group.chunks[leaf], file.leaves[leaf], nullptr, 0));
    }
    for (std::uint64_t i = 0; i < group.rows; ++i, ++row) {
      if (stop.stop_requested()) ThrowStopped();
      std::vector<Cell> cells;
      for (std::size_t c = 0; c < leaves.size(); ++c) {
        const ParquetLeaf& leaf = file.leaves[leaves[c]];
        Cell cell = leaf.lists > 0 ? Cell::array() : Cell();
        bool is_null = leaf.lists > 0;
        columns[c]->NextRow([&](const ParquetValue& value) {
          if (value.missing) {
            throw Error(ErrorCode::kCorrupt, path.string(), "row " + std::to_string(row),
                        "the column \"" + leaf.name + "\" has a list with an entry that is null");
          }
          is_null = false;
          if (leaf.lists > 0)
            cell.push_back(CellOf(leaf, value));
          else
            cell = CellOf(leaf, value);
        });
        cells.push_back(is_null ? Cell() : std::move(cell));
      }
      visit(cells, "row " + std::to_string(row));
    }
  }
}

void ForEachRow(const std::filesystem::path& file, const std::vector<std::string>& headings,
                const std::stop_token& stop, const VisitRow& visit) {
  if (IsParquet(file)) return ForEachParquetRow(file, headings, stop, visit);
  ForEachTextRow(file, headings, stop, visit);
}

std::optional<DType> TypeNamed(std::string_view name) {
  for (std::uint8_t i = 0; !NameOf(static_cast<DType>(i)).empty(); ++i)
    if (NameOf(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  return std::nullopt;
}

// A field of that type, such as "float16[768]". A "class" has no classes yet.
Field FieldOfType(const std::filesystem::path& file, const std::string& name,
                  const std::string& type) {
  if (type == "text") return Field::Bytes(name, Role::kText);
  if (type == "json") return Field::Bytes(name, Role::kJson);
  if (type == "class") return Field::Label(name);
  const std::size_t bracket = type.find('[');
  const std::optional<DType> element = TypeNamed(type.substr(0, bracket));
  std::vector<std::uint32_t> shape;
  bool good = element.has_value();
  if (bracket != std::string::npos) {
    good = good && type.ends_with(']');
    std::string_view rest(type);
    rest = rest.substr(bracket + 1, rest.size() - bracket - 2);
    while (good) {
      const std::size_t comma = rest.find(',');
      const auto extent = ParseNumber<std::uint32_t>(rest.substr(0, comma));
      good = extent && *extent > 0;
      if (good) shape.push_back(*extent);
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  if (!good) {
    RefuseTable(file, "\"" + type +
                          "\" is not a type of a field: give int8 to int64, uint8, uint16, "
                          "float16 to float64 (for arrays with their extents, as float16[768]), "
                          "text, json or class");
  }
  return Field::Array(name, *element, std::move(shape));
}

// What the cells of a column have been so far.
struct Guess {
  bool whole = true;
  bool numbers = true;
  std::optional<std::size_t> count;  // of numbers in a cell

  void See(const Cell& cell) {
    if (!numbers || cell.is_null()) return;
    try {
      const std::vector<double> values = NumbersOf(cell);
      const bool same = !count || *count == values.size();
      if (!same || values.empty()) {
        numbers = false;
        return;
      }
      count = values.size();
    } catch (const Error&) {
      numbers = false;
      return;
    }
    if (!whole) return;
    try {
      IntegerOf(cell);
      whole = !cell.is_number_float();
    } catch (const Error&) {
      whole = false;
    }
  }
  Field FieldOf(const std::string& name) const {
    if (!numbers || !count) return Field::Bytes(name, Role::kText);
    if (*count > 1)
      return Field::Array(name, DType::kFloat32, {static_cast<std::uint32_t>(*count)});
    return Field::Array(name, whole ? DType::kInt64 : DType::kFloat32, {});
  }
};

template <class T>
void AddElement(T value, std::vector<std::byte>& elements) {
  const Bytes bytes = std::as_bytes(std::span(&value, 1));
  elements.insert(elements.end(), bytes.begin(), bytes.end());
}

void AddInteger(const Field& field, std::int64_t number, std::vector<std::byte>& elements) {
  WithElementType(field.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      if (!std::in_range<T>(number)) {
        throw Error(ErrorCode::kInvalidArgument,
                    std::to_string(number) + " does not fit " + std::string(NameOf(field.dtype)));
      }
      AddElement(static_cast<T>(number), elements);
    }
  });
}

// The number of the class that a cell names, or is.
std::int64_t ClassOf(const Field& field, const Cell& cell) {
  const std::string text = TextOf(cell);
  const auto named = std::ranges::find(field.classes, text);
  if (named != field.classes.end()) return named - field.classes.begin();
  try {
    const std::int64_t number = IntegerOf(cell);
    if (IsClass(field, number)) return number;
  } catch (const Error&) {
    // not a number either
  }
  throw Error(ErrorCode::kInvalidArgument, "\"" + ToUtf8(text) + "\" is not one of the " +
                                               std::to_string(field.classes.size()) +
                                               " classes of the field \"" + field.name + "\"");
}

std::vector<std::byte> ElementsOfCell(const Field& field, const Cell& cell) {
  std::vector<std::byte> elements;
  if (field.numbers_classes()) {
    AddInteger(field, ClassOf(field, cell), elements);
    return elements;
  }
  if (IsInteger(field.dtype) && field.kind == FieldKind::kArray && field.shape.empty()) {
    AddInteger(field, IntegerOf(cell), elements);
    return elements;
  }
  const std::vector<double> numbers = NumbersOf(cell);
  const bool variable = field.kind == FieldKind::kVariable;
  if (variable ? numbers.size() % field.elements() != 0 : numbers.size() != field.elements()) {
    throw Error(ErrorCode::kInvalidArgument,
                "there are " + std::to_string(numbers.size()) + " numbers for the field \"" +
                    field.name + "\" instead of " + (variable ? "a multiple of " : "") +
                    std::to_string(field.elements()));
  }
  for (const double number : numbers) {
    WithElementType(field.dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_integral_v<T>) {
        AddInteger(field, IntegerOf(Cell(number)), elements);
      } else if constexpr (std::is_same_v<T, double>) {
        AddElement(number, elements);
      } else {
        AddElement(T(NarrowNumber(number)), elements);
      }
    });
  }
  return elements;
}

// One field of all rows.
struct Packed {
  std::vector<std::byte> values;
  std::vector<std::uint64_t> ends;
  std::vector<bool> present;
};

class TableRows : public ColumnRows {
 public:
  TableRows(const std::filesystem::path& file, const ColumnOptions& options, const Schema& old,
            const std::stop_token& stop)
      : file_(file), options_(options) {
    std::vector<std::string> headings = options.fields;
    if (options.by_key) {
      if (options.by_key->empty())
        RefuseTable(file, "is a table; name its column of keys (--by-key COLUMN)");
      headings.push_back(*options.by_key);
    }
    FindTypes(headings, old, stop);
    columns_.resize(schema_.fields.size());
    ForEachRow(file, headings, stop,
               [this](const std::vector<Cell>& cells, const std::string& at) { Take(cells, at); });
  }

  std::string name() const override { return file_.string(); }
  const Schema& schema() const override { return schema_; }
  std::uint64_t size() const override { return places_.size(); }
  EncodedSample Row(std::uint64_t row) override {
    EncodedSample sample;
    sample.fields.resize(columns_.size());
    for (std::size_t f = 0; f < columns_.size(); ++f) {
      const Packed& column = columns_[f];
      const std::uint64_t begin = row == 0 ? 0 : column.ends[row - 1];
      FieldValue& value = sample.fields[f];
      if (!column.present[row]) continue;
      value.SetBytes(::sluice::Bytes(column.values).subspan(begin, column.ends[row] - begin));
      if (schema_.fields[f].kind != FieldKind::kArray) value.codec = Codec::kRaw;
    }
    return sample;
  }
  std::uint64_t Bytes() const override {
    std::uint64_t bytes = size() * RecordLayout(schema_).record_bytes();
    for (std::size_t f = 0; f < columns_.size(); ++f)
      if (schema_.fields[f].kind != FieldKind::kArray) bytes += columns_[f].values.size();
    return bytes;
  }
  void ForEachKey(const std::function<void(std::string_view)>& visit) override {
    for (const std::string& key : keys_)
      visit(key);
  }
  std::string Place(std::uint64_t row) const override { return places_[row]; }
  std::uint64_t gaps() const override { return gaps_; }

 private:
  void FindTypes(const std::vector<std::string>& headings, const Schema& old,
                 const std::stop_token& stop) {
    std::vector<bool> guessed;
    std::vector<bool> collected;
    for (const std::string& name : options_.fields) {
      const auto type = options_.types.find(name);
      const std::size_t at = old.Find(name);
      Field field;
      if (type != options_.types.end())
        field = FieldOfType(file_, name, type->second);
      else if (at != Schema::kNone)
        field = old.fields[at];
      if (field.kind == FieldKind::kImage) {
        RefuseTable(file_, "field \"" + name +
                               "\" is an image, which a table has not; take it from "
                               "a dataset");
      }
      guessed.push_back(field.name.empty());
      collected.push_back(type != options_.types.end() && type->second == "class");
      if (field.name.empty()) field.name = name;
      schema_.fields.push_back(std::move(field));
    }
    const auto any = [](const std::vector<bool>& of) {
      return std::ranges::find(of, true) != of.end();
    };
    if (!any(guessed) && !any(collected)) return;
    std::vector<Guess> guesses(guessed.size());
    std::vector<std::set<std::string>> classes(guessed.size());
    ForEachRow(file_, headings, stop, [&](const std::vector<Cell>& cells, const std::string&) {
      for (std::size_t f = 0; f < guesses.size(); ++f) {
        if (guessed[f]) guesses[f].See(cells[f]);
        if (collected[f] && !cells[f].is_null()) classes[f].insert(TextOf(cells[f]));
      }
    });
    for (std::size_t f = 0; f < guesses.size(); ++f) {
      Field& field = schema_.fields[f];
      if (guessed[f]) field = guesses[f].FieldOf(field.name);
      if (collected[f]) field.classes.assign(classes[f].begin(), classes[f].end());
    }
  }

  void Take(const std::vector<Cell>& cells, const std::string& place) {
    bool has_gap = false;
    try {
      for (std::size_t f = 0; f < columns_.size(); ++f)
        has_gap = Take(schema_.fields[f], cells[f], columns_[f]) || has_gap;
      if (options_.by_key) keys_.push_back(cells.back().is_null() ? "" : TextOf(cells.back()));
    } catch (const Error& error) {
      if (!error.file().empty()) throw;
      throw Error(ErrorCode::kInvalidArgument, file_.string(), place, error.sentence());
    }
    places_.push_back(place);
    gaps_ += has_gap ? 1 : 0;
  }

  // Returns whether the cell got the value for missing ones.
  bool Take(Field& field, const Cell& cell, Packed& column) {
    std::vector<std::byte> value;
    if (field.kind == FieldKind::kBytes && !cell.is_null()) {
      const std::string text = field.role == Role::kJson
                                   ? JsonOf(cell, !IsParquet(file_) || cell.is_string())
                                   : TextOf(cell);
      if (const std::string fault = RoleFault(field.role, text); !fault.empty()) {
        throw Error(ErrorCode::kInvalidArgument,
                    "the content of the field \"" + field.name + "\" " + fault);
      }
      const ::sluice::Bytes bytes = AsBytes(text);
      value.assign(bytes.begin(), bytes.end());
    } else if (!cell.is_null()) {
      try {
        value = ElementsOfCell(field, cell);
      } catch (const Error& error) {
        throw Error(error.code(), "field \"" + field.name + "\": " + error.sentence());
      }
    } else if (field.kind == FieldKind::kArray) {
      if (!options_.missing) {
        throw Error(ErrorCode::kInvalidArgument,
                    "the field \"" + field.name +
                        "\" has no value; give the value of such samples "
                        "(--missing VALUE)");
      }
      value = ElementsOf(field, *options_.missing, file_.string());
      field.attributes["missing"] = MissingText(*options_.missing);
    }
    column.values.insert(column.values.end(), value.begin(), value.end());
    column.ends.push_back(column.values.size());
    column.present.push_back(!cell.is_null() || field.kind == FieldKind::kArray);
    return cell.is_null() && field.kind == FieldKind::kArray;
  }

  const std::filesystem::path file_;
  const ColumnOptions& options_;
  Schema schema_;
  std::vector<Packed> columns_;
  std::vector<std::string> places_;
  std::vector<std::string> keys_;
  std::uint64_t gaps_ = 0;
};

}  // namespace

std::vector<std::byte> ElementsOf(const Field& field, double value, const std::string& file) {
  std::vector<std::byte> elements(field.elements() * SizeOf(field.dtype));
  const bool fits = WithElementType(field.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      if (!(value >= -0x1p63 && value < 0x1p63) || std::floor(value) != value) return false;
      if (!std::in_range<T>(static_cast<std::int64_t>(value))) return false;
    }
    const T element = [value] {
      if constexpr (std::is_same_v<T, Float16>)
        return Float16(static_cast<float>(value));
      else
        return static_cast<T>(value);
    }();
    for (std::size_t at = 0; at < elements.size(); at += sizeof element)
      std::memcpy(elements.data() + at, &element, sizeof element);
    return true;
  });
  if (!fits || (field.numbers_classes() && !IsClass(field, ClassNumber(field, elements)))) {
    throw Error(ErrorCode::kInvalidArgument, file,
                "the value for samples without a row (--missing) is not one that field \"" +
                    field.name + "\" can hold");
  }
  return elements;
}

std::string MissingText(double value) {
  if (std::isnan(value)) return "nan";
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

bool IsTable(const std::filesystem::path& from) {
  return IsTableName(from) || IsParquet(from);
}

std::unique_ptr<ColumnRows> OpenTableColumns(const std::filesystem::path& from,
                                             const ColumnOptions& options, const Schema& old,
                                             const std::stop_token& stop) {
  return std::make_unique<TableRows>(from, options, old, stop);
}

}  // namespace sluice
