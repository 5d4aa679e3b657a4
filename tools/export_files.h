// Samples as files: images as standard files, values as cells of a table.
#pragma once

#include <string>
#include <vector>

#include <sluice/image.h>

namespace sluice {

// Decoded pixels as a PNG file: grey, grey and alpha, RGB or RGBA, of 8 or 16 bits.
std::vector<char> EncodePng(const Image& image);

// A cell of a CSV file, in quotes if it needs them (RFC 4180).
std::string CsvCell(const std::string& text);

// The text with a "'" before it if a spreadsheet would take it for a formula: one that begins with
// = + - @, a tab or a line's end, and is no number.
std::string NoFormula(const std::string& text);

// Names of classes as one text: "cat|dog" or, if a name would be read as several or as another one,
// a JSON list. The types classes and box-classes of `sluice convert --field` read both.
std::string NamesCell(const std::vector<std::string>& names);

}  // namespace sluice
