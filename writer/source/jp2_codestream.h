// What a JPEG 2000 codestream promises, looked at before openjpeg takes memory for it.
//
// openjpeg allocates for every tile, component, precinct and code block that the headers name: two
// hundred bytes can ask for gigabytes. And it takes tiles that are not there for black ones.
#pragma once

#include <cstdint>

#include "format/disk/bytes.h"

namespace sluice::jp2 {

constexpr std::uint32_t kMostComponents = 5;

struct Tiles {
  std::uint32_t promised = 0;  // by the size and the grid
  std::uint32_t present = 0;   // with a header in the file
};

// The colours that a JP2 file's palette (its box "pclr") makes of each value; 0: it has none.
std::uint32_t PaletteColours(Bytes file) noexcept;

// Of a JP2 file or a bare codestream (ISO/IEC 15444-1, annexes A and I). A file that ends in its
// headers is left to openjpeg: both are 0, as if no tile were missing. Throws Error(kUnsupported)
// if a header asks for more tiles, components, layers, precincts or code blocks than pictures of
// its size have.
Tiles LookAtCodestream(Bytes file);

}  // namespace sluice::jp2
