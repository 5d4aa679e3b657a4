// Converts a table's cells to values. A cell is a text, or any JSON value. Each function throws
// Error(kCorrupt) with a sentence about the cell.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <sluice/convert_source.h>

namespace sluice {

using Cell = nlohmann::json;

// A text as it is; a number or a truth value as it is written.
std::string TextOf(const Cell& cell);

// The names in a list (which may be JSON within a text), or in a text separated by commas,
// semicolons and bars (and spaces), trimmed.
std::vector<std::string> NamesOf(const Cell& cell, bool at_spaces);

std::int64_t IntegerOf(const Cell& cell);

// All numbers of a list, nested or not, or of a text in which they are separated by any of
// "[](),;|" and space.
std::vector<double> NumbersOf(const Cell& cell);

// As float32; a number too large for that is refused, not made infinite.
float NarrowNumber(double number);

// Four numbers a box, as corners: left, top, right, bottom. Refuses boxes that end before they
// begin, and with `relative` those far beyond 0 to 1.
std::vector<double> CornersOf(const Cell& cell, BoxFormat format, bool relative = false);

// A JSON value as compact text; if cells are text, the text is parsed first.
std::string JsonOf(const Cell& cell, bool is_text);

}  // namespace sluice
