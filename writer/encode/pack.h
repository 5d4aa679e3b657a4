// Stores JPEGs as packed images: the same coefficients without Huffman coding.
#pragma once

#include "format/disk/block.h"
#include "format/pixels/baseline/scan_decoder.h"

namespace sluice {

// Turns a value of codec kJpeg into one of codec kPacked. False, with the value unchanged, if the
// file has no packed form: colours other than grey and Y Cb Cr, or unusual sampling. Throws
// Error(kCorrupt) for a broken file.
bool PackJpeg(FieldValue& value, baseline::BlockReader& reader);

}  // namespace sluice
