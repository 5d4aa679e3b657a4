// Storing JPEGs as packed images: the same coefficients without Huffman coding.
#pragma once

#include "format/disk/block.h"

namespace sluice {

// Turns a value of codec kJpeg into one of codec kPacked. False, with the value left as it is,
// where the file has no packed form: other colours than grey and Y Cb Cr, unusual sampling. Throws
// Error(kCorrupt) for a broken file.
bool PackJpeg(FieldValue& value);

}  // namespace sluice
