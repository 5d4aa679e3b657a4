// Tables: comma-separated or tab-separated values, or a JSON object a line.
//
// TableReader gives one row after another, as texts or JSON values. Tables come from strangers, so
// TableReader takes time in proportion to the text, whatever the text is: an open quote, for
// example, must not make it read the rest of the file at each row. ReadTable() makes samples of the
// rows: it finds the columns, looks at each path's image, and leaves out rows that lack something,
// listed with their line.
#include "writer/source/records/table.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <sluice/convert_source.h>
#include <sluice/error.h>

#include "format/ascii.h"
#include "format/disk/checksum.h"
#include "format/disk/file.h"
#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "format/parallel.h"
#include "writer/source/images/image_kinds.h"
#include "writer/source/list/folder_walk.h"
#include "writer/source/list/list_checks.h"
#include "writer/source/list/look.h"
#include "writer/source/list/paths.h"
#include "writer/source/list/source_list.h"
#include "writer/source/records/record_fields.h"
#include "writer/source/records/records.h"
#include "writer/source/records/table_values.h"
#include "writer/text.h"

namespace sluice {

namespace {

constexpr std::uint64_t kMaxTableBytes = std::uint64_t{1} << 35;
// One byte more than a value may have: a longer cell is cut here, and still refused when it is
// stored.
constexpr std::size_t kMaxCellBytes = kMaxPayloadBytes + 1;
constexpr std::size_t kMaxLineBytes = 3 * kMaxPayloadBytes;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// The separator of cells in a file with that ending; 0 for JSON lines, nullopt for other files.
std::optional<char> SeparatorOf(std::string_view ending) {
  if (ending == ".csv") return ',';
  if (ending == ".tsv") return '\t';
  if (ending == ".jsonl") return '\0';
  return std::nullopt;
}

std::vector<std::byte> ReadTableFile(const std::filesystem::path& file) {
  std::vector<std::byte> content;
  ReadFile(file, kMaxTableBytes, content);
  return content;
}

}  // namespace

bool IsTableName(const std::filesystem::path& file) {
  return SeparatorOf(file.extension().string()).has_value();
}

TableReader::TableReader(const std::filesystem::path& file, const std::stop_token& stop)
    : TableReader(file.string(), file.extension().string(), ReadTableFile(file), stop) {}

TableReader::TableReader(std::string name, std::string_view ending, std::vector<std::byte> text,
                         std::stop_token stop)
    : name_(std::move(name)),
      content_(std::move(text)),
      rest_(AsText(content_)),
      stop_(std::move(stop)) {
  const std::optional<char> separator = SeparatorOf(ending);
  if (!separator) {
    throw Error(ErrorCode::kInvalidArgument, name_,
                "is not a table that can be read; its name must end in .csv, .tsv or .jsonl");
  }
  separator_ = *separator;
  Decode();
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
  if (separator_ == ',') FindSeparator();
  ReadHeadings();
}

// Spreadsheets also write UTF-16.
void TableReader::Decode() {
  try {
    DecodeUtf16(content_);
    rest_ = AsText(content_);
  } catch (const Error& error) {
    throw Error(error.code(), name_, error.sentence());
  }
}

// Where the decimal point is a comma, spreadsheets separate cells by semicolons or tabs.
void TableReader::FindSeparator() {
  const std::string_view headings = rest_.substr(0, rest_.find('\n'));
  for (const char other : {';', '\t'}) {
    if (headings.find(separator_) == std::string_view::npos &&
        headings.find(other) != std::string_view::npos) {
      separator_ = other;
    }
  }
}

bool TableReader::is_utf8() const noexcept {
  return IsUtf8(AsText(content_));
}

void TableReader::Fail(const std::string& sentence) const {
  throw Error(ErrorCode::kCorrupt, name_, "line " + std::to_string(record_line_), sentence);
}

void TableReader::FailRow(const std::string& sentence) const {
  throw UnusableRecord(ErrorCode::kCorrupt, name_, "line " + std::to_string(record_line_),
                       sentence);
}

std::string TableReader::Place() const {
  return std::filesystem::path(name_).filename().string() + ", line " +
         std::to_string(record_line_);
}

// Reads all objects to find the headings, which are the members of any of them.
void TableReader::ReadMembers() {
  const std::string_view begin = rest_;
  std::unordered_set<std::string> seen;
  std::optional<UnusableRecord> unusable;
  for (;;) {
    try {
      if (!NextObject()) break;
    } catch (const UnusableRecord& error) {  // reported when it is read as a row
      if (!unusable) unusable = error;
      continue;
    }
    for (const auto& [name, value] : object_.items()) {
      if (seen.insert(name).second) headings_.push_back(name);
    }
  }
  if (headings_.empty() && unusable) throw *unusable;
  if (headings_.empty()) Fail("the table has no rows");
  rest_ = begin;
  line_ = 1;
}

void TableReader::ReadHeadings() {
  if (separator_ == 0) return ReadMembers();
  if (!NextCells(headings_)) Fail("the table is empty; its first line must hold the headings");
  for (std::size_t i = 0; i < headings_.size(); ++i) {
    if (headings_[i].find('\r') != std::string::npos) {
      Fail("lines end in CR alone, as on old Macs; save the table with other line endings");
    }
    headings_[i] = std::string(Trimmed(headings_[i]));
    if (!columns_.emplace(headings_[i], i).second) {
      Fail("the heading \"" + ToUtf8(headings_[i]) + "\" comes twice");
    }
  }
}

bool TableReader::Next() {
  if (separator_ == 0) return NextObject();
  if (!NextCells(cells_)) return false;
  if (cells_.size() != headings_.size()) {
    FailRow("the row has " + std::to_string(cells_.size()) +
            (cells_.size() == 1 ? " cell" : " cells") + ", but there are " +
            std::to_string(headings_.size()) + " headings");
  }
  return true;
}

// Removes the quoted cell at the start of `rest_` and returns it. Doubled quotes become single.
std::string TableReader::QuotedCell() {
  std::string cell;
  for (std::size_t at = 1; at < rest_.size(); ++at) {
    if (rest_[at] == '\n') ++line_;
    const bool doubled = rest_[at] == '"' && at + 1 < rest_.size() && rest_[at + 1] == '"';
    if (rest_[at] != '"' || doubled) {
      if (cell.size() < kMaxCellBytes) cell += rest_[at];
      at += doubled ? 1 : 0;
    } else {
      rest_.remove_prefix(at + 1);
      return cell;
    }
  }
  Fail("a quotation mark is opened and never closed");
}

bool TableReader::NextCells(std::vector<std::string>& cells) {
  cells.clear();
  while (!rest_.empty() && (rest_[0] == '\n' || rest_.starts_with("\r\n"))) {  // empty lines
    rest_.remove_prefix(rest_[0] == '\n' ? 1 : 2);
    ++line_;
  }
  record_line_ = line_;
  if (rest_.empty()) return false;
  const char ends[] = {separator_, '\n', 0};
  for (;;) {
    if (stop_.stop_requested()) ThrowStopped();
    if (rest_.starts_with('"')) {
      cells.push_back(QuotedCell());
      if (!rest_.empty() && rest_[0] != separator_ && rest_[0] != '\n' &&
          !rest_.starts_with("\r\n")) {
        Fail("there is text after a closing quotation mark");
      }
      if (rest_.starts_with('\r')) rest_.remove_prefix(1);
    } else {
      const std::size_t size = std::min(rest_.find_first_of(ends), rest_.size());
      std::string_view cell = rest_.substr(0, size);
      rest_.remove_prefix(size);
      const bool last = rest_.empty() || rest_[0] == '\n';
      if (last && cell.ends_with('\r')) cell.remove_suffix(1);
      cells.emplace_back(cell.substr(0, kMaxCellBytes));
    }
    if (rest_.empty()) return true;
    const bool more = rest_[0] == separator_;
    rest_.remove_prefix(1);
    if (!more) {
      ++line_;
      return true;
    }
    if (rest_.empty()) {  // the file ends after a separator
      cells.emplace_back();
      return true;
    }
  }
}

bool TableReader::NextObject() {
  for (;;) {
    if (stop_.stop_requested()) ThrowStopped();
    record_line_ = line_;
    if (rest_.empty()) return false;
    const std::string_view text = TakeLine(rest_);
    ++line_;
    if (Trimmed(text).empty()) continue;
    if (text.size() > kMaxLineBytes) {
      FailRow("has " + std::to_string(text.size()) + " bytes; a line of JSON may have at most " +
              std::to_string(kMaxLineBytes));
    }
    if (NestsDeeperThan(text, kMaxJsonDepth)) FailRow("nests too deeply");
    object_ = nlohmann::json::parse(text, nullptr, false);
    if (object_.is_discarded()) object_ = nlohmann::json::parse(NullForNaN(text), nullptr, false);
    if (object_.is_discarded()) {  // bytes are counted in the line itself, so only if it has no NaN
      FailRow(NullForNaN(text) == text ? JsonFault(text) : "is not JSON");
    }
    if (!object_.is_object()) FailRow("is not a JSON object");
    return true;
  }
}

nlohmann::json TableReader::Get(const std::string& heading) const {
  if (separator_ == 0) {
    const auto member = object_.find(heading);
    return member == object_.end() ? nlohmann::json() : *member;
  }
  const auto found = columns_.find(heading);
  if (found == columns_.end()) return {};
  const std::string& cell = cells_[found->second];
  return cell.empty() ? nlohmann::json() : nlohmann::json(cell);
}

namespace {

[[noreturn]] void Refuse(const ConvertSource& source, const std::string& sentence) {
  throw Error(ErrorCode::kInvalidArgument, source.table.string(), sentence);
}

std::string PathColumn(const ConvertSource& source, const std::vector<std::string>& headings) {
  if (!source.rows.path_column.empty()) {
    if (HasHeading(headings, source.rows.path_column)) return source.rows.path_column;
    Refuse(source, "has no column \"" + ToUtf8(source.rows.path_column) + "\"" +
                       HeadingsInstead(source.rows.path_column, headings));
  }
  for (const char* usual : {"path", "file", "filename", "file_name", "image", "key"}) {
    if (HasHeading(headings, usual)) return usual;
  }
  Refuse(source,
         "has no column named path, file, filename, file_name, image or key; name the column of "
         "paths by --path-column; the table has: " +
             ListedHeadings(headings));
}

// The column of the samples' keys: "key", as `sluice export` writes it, unless it holds the paths
// or is requested as a field. "" without such a column.
std::string KeyColumn(const ConvertSource& source, const std::string& path_column,
                      const std::vector<std::string>& headings) {
  const bool asked_for = std::any_of(source.rows.columns.begin(), source.rows.columns.end(),
                                     [](const Column& column) { return column.column == "key"; });
  return path_column != "key" && HasHeading(headings, "key") && !asked_for ? "key" : "";
}

std::vector<Column> ColumnsToTake(const ConvertSource& source, const std::string& path_column,
                                  const std::string& key_column,
                                  const std::vector<std::string>& headings) {
  if (!source.rows.columns.empty()) return source.rows.columns;
  std::vector<Column> columns;
  for (const std::string& heading : headings) {
    if (heading == path_column || heading == key_column) continue;
    if (heading == "label" || heading == "class") {
      if (source.label.store) columns.push_back({heading, ColumnType::kClass});
    } else if (heading == "text" || heading == "caption") {
      columns.push_back({heading, ColumnType::kText});
    }
  }
  return columns;
}

// The files that a table names. Keys take too much memory, so their hashes stand for them.
struct NamedFiles {
  void Add(const std::string& key) {
    hashes.insert(Hash64(AsBytes(key)));
    folders.insert(key.substr(0, key.rfind('/') + 1));
  }
  bool Has(const std::string& key) const { return hashes.contains(Hash64(AsBytes(key))); }

  std::unordered_set<std::uint64_t> hashes;
  std::set<std::string> folders;  // "" or with a slash at the end
};

class TableScan {
 public:
  TableScan(const ConvertSource& source, SourceList list, unsigned threads,
            const ConvertHooks& hooks)
      : source_(source),
        threads_(threads),
        hooks_(hooks),
        reader_(source.table, hooks.stop),
        list_(std::move(list)),
        fields_(source, list_) {
    path_column_ = PathColumn(source, reader_.headings());
    key_column_ = KeyColumn(source, path_column_, reader_.headings());
    list_.fields.push_back({Field::Image(), Feed::kImage});
    for (const Column& column :
         ColumnsToTake(source, path_column_, key_column_, reader_.headings())) {
      fields_.Add(column, reader_.headings());
    }
    fields_.Check(reader_.headings(), hooks_.stop);
    fields_.WarnOfUnused(reader_.headings(), {path_column_, key_column_});
  }

  SourceList Run() {
    ReadRows();
    TakeGroups();
    fields_.SettleClasses(sources_, rows_);
    LookAtFiles();
    RequireImages(source_.table, list_);
    const bool boxes = std::any_of(list_.fields.begin(), list_.fields.end(),
                                   [](const auto& field) { return field.feed == Feed::kBoxes; });
    WarnOfRepeats(list_, boxes ? " (--group makes one sample of all)" : "");
    if (!reader_.is_utf8()) {
      list_.warnings.push_back(
          "the table is not UTF-8: bytes of other encodings become \\xe9 and the "
          "like in classes and texts; save it as UTF-8");
    }
    if (list_.fields.size() == 1 || (list_.fields.size() == 2 && list_.labelled)) {
      list_.values = {};  // no field needs them
    }
    return std::move(list_);
  }

 private:
  void ReadRows() {
    const RootPath root(list_);
    bool any = false;
    while (NextRow()) {
      any = true;
      if (hooks_.stop.stop_requested()) ThrowStopped();
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
        if (source_.rows.group) incomplete_.insert(key);
      }
    }
    if (!any && list_.broken.empty())
      throw Error(ErrorCode::kNotFound, source_.table.string(), "has no row for an image");
  }

  // Moves to the next row. Rows that cannot be read are left out. But if several rows make a
  // sample, such a row ends the conversion: its path cannot be read, so some image would silently
  // lack a box.
  bool NextRow() {
    for (;;) {
      try {
        return reader_.Next();
      } catch (const UnusableRecord& error) {
        if (source_.rows.group) throw;
        list_.broken.push_back({"", reader_.Place() + ": " + error.sentence()});
      }
    }
  }

  using Values = RecordFields::Values;

  void ReadRow(const std::string& key) {
    Source row;
    row.key = key;
    if (!key_column_.empty()) {
      const Cell cell = reader_.Get(key_column_);
      if (!cell.is_null()) row.sample_key = TextOf(cell);
      if (row.sample_key.size() > kMaxKeyBytes) {
        throw Error(ErrorCode::kCorrupt, "the key is longer than 65535 bytes");
      }
    }
    Values values = fields_.Read(reader_, row);
    if (source_.rows.group) return Join(std::move(row), std::move(values));
    AddRow(std::move(row), values, reader_.line());
  }

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
    const std::string begun =
        " has another value than in line " + std::to_string(group.line) + " for the same image";
    if (row.sample_key != group.row.sample_key) {
      throw Error(ErrorCode::kCorrupt, "the key" + begun);
    }
    if (row.split_value != group.row.split_value) {
      throw Error(ErrorCode::kCorrupt, "column " + ToUtf8(source_.split.by) + begun);
    }
    const std::string column = fields_.Join(group.values, values, row.label == group.row.label);
    if (!column.empty()) {
      throw Error(ErrorCode::kCorrupt, "column " + column + begun);
    }
  }

  // An image with a row that was left out is left out as well: it would lack that row's box.
  void TakeGroups() {
    for (Group& group : groups_) {
      if (!incomplete_.contains(group.row.key)) {
        AddRow(std::move(group.row), group.values, group.line);
      }
      group = {};
    }
  }

  // Looks at the images and at the masks that columns name; keeps the rows that can be converted.
  void LookAtFiles() {
    std::vector<std::size_t> masks;  // fields
    for (std::size_t f = 0; f < list_.fields.size(); ++f) {
      if (list_.fields[f].feed == Feed::kMask || list_.fields[f].feed == Feed::kValues)
        masks.push_back(f);
    }
    std::vector<Look> looks(sources_.size());
    std::vector<Look> mask_looks(sources_.size() * masks.size());
    LookIntoAll(list_, threads_, sources_.size(), hooks_, [&](std::size_t i) {
      looks[i] = LookInto(list_, sources_[i].key);
      for (std::size_t m = 0; m < masks.size(); ++m) {
        if (const auto value = rows_.Get(i, masks[m], list_.fields.size())) {
          mask_looks[i * masks.size() + m] = LookInto(list_, MaskFileOf(*value).path);
        }
      }
    });
    const auto mask_path = [&](std::size_t i, std::size_t m) {
      const auto value = rows_.Get(i, masks[m], list_.fields.size());
      return value ? MaskFileOf(*value).path : std::string();
    };
    SameNames names(list_.root, [&] {
      SameNames::Paths paths;
      for (std::size_t i = 0; i < sources_.size(); ++i) {
        paths.insert(sources_[i].key);
        for (std::size_t m = 0; m < masks.size(); ++m)
          paths.insert(mask_path(i, m));
      }
      return paths;
    });
    LinksOut links(list_.root, source_.follow_links);
    std::vector<std::string> mask_paths(masks.size());  // of a row; empty if it has no such mask
    NamedFiles named;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const std::string& key = sources_[i].key;
      const auto record_masks = std::span(mask_looks).subspan(i * masks.size(), masks.size());
      if (list_.store == nullptr) names.Resolve(sources_[i].key, looks[i]);
      named.Add(key);
      bool left = links.Take(key, key, list_.passed_over);
      for (std::size_t m = 0; m < masks.size() && !left; ++m) {
        mask_paths[m] = mask_path(i, m);
        if (mask_paths[m].empty()) continue;
        if (list_.store == nullptr) names.Resolve(mask_paths[m], record_masks[m]);
        named.Add(mask_paths[m]);
        left = links.Take(mask_paths[m], key, list_.passed_over);
      }
      if (!left) TakeRow(i, looks[i], masks, mask_paths, record_masks);
    }
    if (!names.Report().empty()) list_.warnings.push_back(names.Report());
    links.Warn(list_.warnings);
    for (const LeftOut& row : list_.broken)
      named.Add(row.path);
    if (list_.store == nullptr) AddWithoutRow(named);
  }

  // Lists the images that lie next to those of the table and have no row.
  void AddWithoutRow(const NamedFiles& named) {
    for (const std::string& folder : named.folders) {
      std::error_code ignored;
      if (!std::filesystem::is_directory(list_.root / folder, ignored)) continue;
      for (const WalkedFile& file :
           WalkFolder(list_.root / folder, {.enter = false}, hooks_.stop).files) {
        const std::string key = folder + file.key;
        if (IsImageName(key) && !named.Has(key))
          list_.passed_over.push_back({key, "an image without a row in the table"});
      }
    }
  }

  void TakeRow(std::size_t i, const Look& look, const std::vector<std::size_t>& masks,
               const std::vector<std::string>& mask_paths, std::span<const Look> mask_looks) {
    const std::string place =
        source_.table.filename().string() + ", line " + std::to_string(lines_[i]) + ": ";
    if (look.trouble.empty() && look.sniffed.kind == ImageKind::kNone) {
      list_.broken.push_back({sources_[i].key, place + "the file is not an image"});
      return;
    }
    if (!TakeOrLeave(look, sources_[i].key, list_)) {
      std::string& reason = list_.broken.back().reason;
      reason = place + (look.trouble.empty() ? "" : "its image ") + reason;
      return;
    }
    Values values(list_.fields.size());
    for (std::size_t m = 0; m < masks.size(); ++m) {
      const std::string& path = mask_paths[m];
      if (path.empty()) continue;
      const bool mask = list_.fields[masks[m]].feed == Feed::kMask;
      const Sniffed& sniffed = mask_looks[m].sniffed;
      std::string trouble = mask_looks[m].trouble;
      if (trouble.empty() && mask && sniffed.kind != ImageKind::kPng) trouble = "is not a PNG";
      if (trouble.empty() && !mask && !HasValues(sniffed))
        trouble = "is not a PNG, PPM, PFM, NPY or TIFF";
      if (!trouble.empty()) {
        list_.broken.push_back(
            {sources_[i].key, place + "the " + (mask ? "mask " : "image ") + path + " " + trouble});
        return;
      }
      if (!mask && !sniffed.only_values) list_.kinds.insert(sniffed.kind);
      values[masks[m]] = MaskValue(mask_looks[m].bytes, path);
    }
    for (std::size_t f = 0; f < list_.fields.size(); ++f) {
      list_.values.Add(values[f] ? std::optional<Bytes>(*values[f])
                                 : rows_.Get(i, f, list_.fields.size()));
    }
    sources_[i].bytes = look.bytes;
    sources_[i].changed = look.changed;
    for (const Look& mask : mask_looks)
      sources_[i].changed = std::max(sources_[i].changed, mask.changed);
    list_.sources.push_back(std::move(sources_[i]));
  }

  const ConvertSource& source_;
  unsigned threads_;
  const ConvertHooks& hooks_;
  TableReader reader_;
  SourceList list_;
  RecordFields fields_;
  std::string path_column_;
  std::string key_column_;  // "" if the paths are the keys
  // The rows that were read without errors; their files have not been looked at yet.
  std::vector<Source> sources_;
  std::vector<std::uint64_t> lines_;
  SourceValues rows_;
  // Rows of the same image, with ConvertSource::rows.group.
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

SourceList ReadTable(const ConvertSource& source, SourceList list, unsigned threads,
                     const ConvertHooks& hooks) {
  return TableScan(source, std::move(list), threads, hooks).Run();
}

}  // namespace sluice
