#include "writer/source/table_reader.h"

#include <algorithm>
#include <unordered_set>

#include <sluice/convert_source.h>
#include <sluice/error.h>

#include "format/disk/file.h"
#include "format/disk/json_depth.h"
#include "format/disk/limits.h"
#include "writer/source/encoding.h"
#include "writer/source/source_list.h"
#include "writer/source/table_values.h"
#include "writer/text.h"

namespace sluice {

namespace {

constexpr std::uint64_t kMaxTableBytes = std::uint64_t{1} << 35;
// One more than any value may have: a longer one is cut to that, and refused when it is stored.
constexpr std::size_t kMostCellBytes = kMaxPayloadBytes + 1;
constexpr std::size_t kMostLineBytes = 3 * kMaxPayloadBytes;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Of a file with that ending: what separates cells, or 0 for JSON lines. Nothing: it is no table.
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
  if (!rest_.starts_with("\xff\xfe") && !rest_.starts_with("\xfe\xff")) return;
  try {
    const std::string text = FromEncoding(rest_, "UTF-16");
    const Bytes bytes = AsBytes(text);
    content_.assign(bytes.begin(), bytes.end());
    rest_ = AsText(content_);
  } catch (const Error& error) {
    throw Error(error.code(), name_, error.sentence());
  }
}

// Where a comma stands in numbers, spreadsheets put semicolons or tabs between cells.
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
  throw Error(ErrorCode::kCorrupt, name_, "line " + std::to_string(row_line_), sentence);
}

void TableReader::FailRow(const std::string& sentence) const {
  throw UnusableRow(ErrorCode::kCorrupt, name_, "line " + std::to_string(row_line_), sentence);
}

std::string TableReader::Place() const {
  return std::filesystem::path(name_).filename().string() + ", line " + std::to_string(row_line_);
}

// The members of the objects are known only after all objects have been read.
void TableReader::ReadMembers() {
  const std::string_view begin = rest_;
  std::unordered_set<std::string> seen;
  std::optional<UnusableRow> unusable;
  for (;;) {
    try {
      if (!NextObject()) break;
    } catch (const UnusableRow& error) {  // told of when it is read as a row
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
    headings_[i] = Trimmed(headings_[i]);
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

// Takes the quoted cell at the start of `rest_`; doubled quotes become single.
std::string TableReader::QuotedCell() {
  std::string cell;
  for (std::size_t at = 1; at < rest_.size(); ++at) {
    if (rest_[at] == '\n') ++line_;
    const bool doubled = rest_[at] == '"' && at + 1 < rest_.size() && rest_[at + 1] == '"';
    if (rest_[at] != '"' || doubled) {
      if (cell.size() < kMostCellBytes) cell += rest_[at];
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
  row_line_ = line_;
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
      cells.emplace_back(cell.substr(0, kMostCellBytes));
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
    row_line_ = line_;
    if (rest_.empty()) return false;
    const std::size_t size = std::min(rest_.find('\n'), rest_.size());
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(std::min(size + 1, rest_.size()));
    ++line_;
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (text.size() > kMostLineBytes) {
      FailRow("has " + std::to_string(text.size()) + " bytes; a line of JSON may have at most " +
              std::to_string(kMostLineBytes));
    }
    if (NestsDeeperThan(text, kMaxJsonDepth)) FailRow("nests too deeply");
    object_ = nlohmann::json::parse(text, nullptr, false);
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

}  // namespace sluice
