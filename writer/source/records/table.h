// The rows of a table: comma-separated or tab-separated values with a line of headings (RFC 4180),
// or a JSON object a line.
#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

#include <sluice/error.h>

#include "format/disk/bytes.h"
#include "writer/source/records/record_fields.h"

namespace sluice {

// Error(kCorrupt): a row cannot be read at all, but later rows can.
struct UnusableRecord : Error {
  using Error::Error;
};

// The table's values are text, or in a .jsonl file any JSON value. Errors name the file and line.
// Takes time in proportion to the text, whatever its content, and checks for a stop request
// throughout (Error(kState)).
class TableReader : public Cells {
 public:
  // Reads the whole file. The ending of its name gives the format.
  explicit TableReader(const std::filesystem::path& file, const std::stop_token& stop = {});
  // As above for a text in memory; `ending` is ".csv", ".tsv" or ".jsonl".
  TableReader(std::string name, std::string_view ending, std::vector<std::byte> text,
              std::stop_token stop = {});

  // The headings; of a .jsonl file, all members of all its objects.
  const std::vector<std::string>& headings() const noexcept { return headings_; }

  // Whether values are text rather than JSON.
  bool has_text_cells() const noexcept override { return separator_ != 0; }

  // Goes to the next row. False at the end. Throws UnusableRecord, or Error(kCorrupt) for what
  // makes the rest unreadable.
  bool Next();
  // The line in which the current row begins, from 1.
  std::uint64_t line() const noexcept { return record_line_; }
  // The current row's value under that heading, which is one of headings(). Null if it has none or
  // an empty cell.
  nlohmann::json Get(const std::string& heading) const override;

  // Whether the whole table is UTF-8.
  bool is_utf8() const noexcept;

  // "labels.csv, line 17"
  std::string Place() const;

 private:
  void Decode();
  void ReadHeadings();
  void FindSeparator();
  void ReadMembers();
  bool NextCells(std::vector<std::string>& cells);
  bool NextObject();
  std::string QuotedCell();
  [[noreturn]] void Fail(const std::string& sentence) const;
  [[noreturn]] void FailRow(const std::string& sentence) const;

  std::string name_;                // for messages
  char separator_ = 0;              // 0: JSON lines
  std::vector<std::byte> content_;  // the whole text
  std::string_view rest_;           // the part of it still to be read
  std::uint64_t line_ = 1;          // of the text still to be read
  std::uint64_t record_line_ = 0;
  std::stop_token stop_;
  std::vector<std::string> headings_;
  std::unordered_map<std::string, std::size_t> columns_;  // by heading; not for JSON lines
  std::vector<std::string> cells_;
  nlohmann::json object_;
};

}  // namespace sluice
