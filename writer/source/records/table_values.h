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

// A string unchanged; a number or truth value as it is written.
std::string TextOf(const Cell& cell);

// The trimmed names in a list (also as JSON in a text), or in a text where commas, semicolons and
// bars separate them.
std::vector<std::string> NamesOf(const Cell& cell);

std::int64_t IntegerOf(const Cell& cell);

// All numbers of a list, nested or not, or of a text in which they are separated by white space or
// any of "[](),;|".
std::vector<double> NumbersOf(const Cell& cell);

// Rounds to float32. Throws for a number that is too large, instead of making it infinite.
float NarrowNumber(double number);

// Four numbers per box, as corners: left, top, right, bottom. Throws for a box whose right or
// bottom comes before its left or top and, with `relative`, for corners outside of -0.1..1.1.
std::vector<double> CornersOf(const Cell& cell, BoxFormat format, bool relative = false);

// A JSON value as compact text; if cells are text, the text is parsed first.
std::string JsonOf(const Cell& cell, bool is_text);

}  // namespace sluice
