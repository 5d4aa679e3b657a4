// In some tables all cells are texts; in others they have types. So each function takes a value in
// its own type first and then as a text, also with the habits of programs that write tables: 17.0
// for a whole number, a list as JSON in a text, NaN in JSON.
// Sentences quote the cell, cut to 40 bytes and valid as UTF-8. They name neither file nor row,
// which only the caller knows.
#include "writer/source/records/table_values.h"

#include <cmath>
#include <limits>

#include <sluice/error.h>

#include "format/ascii.h"
#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "writer/text.h"

namespace sluice {

namespace {

[[noreturn]] void Fail(const std::string& sentence) {
  throw Error(ErrorCode::kCorrupt, sentence);
}

std::string Shown(const std::string& text) {
  constexpr std::size_t kShown = 40;
  return "\"" + ToUtf8(text.substr(0, kShown)) + (text.size() > kShown ? "..." : "") + "\"";
}

// The pieces between any of `separators`.
std::vector<std::string_view> Pieces(std::string_view text, const char* separators) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const std::size_t end = text.find_first_of(separators);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

void AddNumbers(const Cell& cell, std::vector<double>& numbers) {
  if (cell.is_number()) {
    numbers.push_back(cell.get<double>());
  } else if (cell.is_array()) {
    for (const Cell& inner : cell)
      AddNumbers(inner, numbers);
  } else if (cell.is_string()) {
    const auto& text = cell.get_ref<const std::string&>();
    for (const std::string_view piece : Pieces(text, "[](),;| \t\r\n")) {
      if (piece.empty()) continue;
      const auto number = ParseNumber<double>(piece);
      if (!number) {
        const std::string shown = Shown(std::string(piece));
        Fail(piece == text ? shown + " is not a number"
                           : Shown(text) + " has " + shown + ", which is not a number");
      }
      numbers.push_back(*number);
    }
  } else {
    Fail(cell.is_null() ? "has null, NaN or Infinity in the place of a number"
                        : Shown(cell.dump()) + " has no numbers");
  }
}

}  // namespace

std::string TextOf(const Cell& cell) {
  if (cell.is_string()) return cell.get<std::string>();
  if (cell.is_structured()) Fail(Shown(cell.dump()) + " is not text");
  if (cell.is_number_float() && !std::isfinite(cell.get<double>())) Fail("a number is not finite");
  return cell.dump();
}

std::vector<std::string> NamesOf(const Cell& cell) {
  std::vector<std::string> names;
  if (cell.is_array()) {
    for (const Cell& name : cell)
      names.push_back(TextOf(name));
    return names;
  }
  const std::string text = TextOf(cell);
  if (text.starts_with('[') && !NestsDeeperThan(text, kMaxJsonDepth)) {
    const Cell list = Cell::parse(text, nullptr, false);
    if (list.is_array()) return NamesOf(list);
  }
  for (const std::string_view piece : Pieces(text, ",;|")) {
    if (const auto name = Trimmed(piece); !name.empty()) names.emplace_back(name);
  }
  return names;
}

std::int64_t IntegerOf(const Cell& cell) {
  if (cell.is_number_unsigned() && cell.get<std::uint64_t>() <= INT64_MAX) {
    return cell.get<std::int64_t>();
  }
  if (cell.is_number_integer() && !cell.is_number_unsigned()) return cell.get<std::int64_t>();
  const std::string text(Trimmed(TextOf(cell)));
  const auto number = ParseNumber<std::int64_t>(text);
  // Tables whose column of whole numbers has gaps have 17.0 for 17.
  constexpr double kMax = 1LL << 53;  // doubles above may have been rounded
  const auto real = number ? std::nullopt : ParseNumber<double>(text);
  if (real && std::floor(*real) == *real && std::abs(*real) <= kMax)
    return static_cast<std::int64_t>(*real);
  if (!number) Fail(Shown(text) + " is not a whole number of 64 bits");
  return *number;
}

float NarrowNumber(double number) {
  constexpr double kMax = std::numeric_limits<float>::max();
  constexpr double kRoundsUp = 0x1.ffffffp127;  // larger numbers round to infinity
  if (!std::isfinite(number) || std::abs(number) <= kMax) return static_cast<float>(number);
  if (std::abs(number) >= kRoundsUp) {
    Fail(Cell(number).dump() + " does not fit 32 bits");
  }
  // A text of FLT_MAX in its shortest form, 3.4028235e38, is a little larger than FLT_MAX.
  return static_cast<float>(std::copysign(kMax, number));
}

std::vector<double> NumbersOf(const Cell& cell) {
  std::vector<double> numbers;
  AddNumbers(cell, numbers);
  return numbers;
}

std::vector<double> CornersOf(const Cell& cell, BoxFormat format, bool relative) {
  constexpr double kBeyond = 0.1;  // how far fractions may exceed 0..1, as object detectors' do
  std::vector<double> boxes = NumbersOf(cell);
  if (boxes.size() % 4 != 0) {
    Fail("a box has four numbers, but there are " + std::to_string(boxes.size()));
  }
  for (std::size_t i = 0; i < boxes.size(); i += 4) {
    double* const box = &boxes[i];
    for (int k = 0; k < 4; ++k) {
      if (!std::isfinite(box[k])) Fail("a box has a number that is not finite");
    }
    if (format == BoxFormat::kCxcywh) {
      box[0] -= box[2] / 2;
      box[1] -= box[3] / 2;
    }
    if (format != BoxFormat::kXyxy) {
      box[2] += box[0];
      box[3] += box[1];
    }
    if (box[2] < box[0] || box[3] < box[1]) {
      Fail("a box ends before it begins: left, top, right and bottom are " +
           Cell(std::span(box, 4)).dump());
    }
    if (relative &&
        (std::min(box[0], box[1]) < -kBeyond || std::max(box[2], box[3]) > 1 + kBeyond)) {
      Fail(
          "a box should be in fractions of the image's sides, but its left, top, right and "
          "bottom are " +
          Cell(std::span(box, 4)).dump());
    }
  }
  return boxes;
}

std::string JsonOf(const Cell& cell, bool is_text) {
  if (!is_text) return cell.dump(-1, ' ', false, Cell::error_handler_t::replace);
  const std::string text = TextOf(cell);
  if (NestsDeeperThan(text, kMaxJsonDepth)) Fail(Shown(text) + " nests too deeply");
  Cell value = Cell::parse(text, nullptr, false);
  if (value.is_discarded()) value = Cell::parse(NullForNaN(text), nullptr, false);
  if (value.is_discarded())
    Fail(Shown(text) + " " + (NullForNaN(text) == text ? JsonFault(text) : "is not JSON"));
  return value.dump(-1, ' ', false, Cell::error_handler_t::replace);
}

}  // namespace sluice
