// The cells of a table as the values they stand for. A cell is a text, or any JSON value. Each
// function throws Error(kCorrupt) with a sentence about the cell.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <sluice/convert_source.h>

namespace sluice {

using Cell = nlohmann::json;

// A text, or what a number or a truth value is written as.
std::string TextOf(const Cell& cell);

// The names in a list (which may be the JSON that a text holds), or in a text at commas, semicolons
// and bars (and spaces), trimmed.
std::vector<std::string> NamesOf(const Cell& cell, bool at_spaces);

std::int64_t IntegerOf(const Cell& cell);

// All numbers of a list, nested or not, or of a text in which anything of "[](),;|" and space
// stands between them.
std::vector<double> NumbersOf(const Cell& cell);

// As float32; what is too large for one is refused, not made infinite.
float NarrowNumber(double number);

// Four numbers a box, as corners: left, top, right, bottom.
std::vector<double> CornersOf(const Cell& cell, BoxFormat format);

// A JSON value as compact text; where cells are text, that text is parsed first.
std::string JsonOf(const Cell& cell, bool is_text);

}  // namespace sluice
