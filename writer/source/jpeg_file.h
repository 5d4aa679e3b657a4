// What of a JPEG file is its picture.
//
// Files have all sorts of things behind their picture: nothing at all where the end marker should
// be, the zeros of a download that broke off, a second picture, rubbish. Decoders differ in whether
// they look there. They are all given the picture alone, so that a file is judged alike by whatever
// reads it.
#pragma once

#include <vector>

#include "format/disk/bytes.h"

namespace sluice {

struct JpegFile {
  Bytes bytes;  // ends with an end-of-image marker
  // Whether that marker was the file's own. Else scans may be missing that nothing tells of.
  bool ended = true;
};

// Cuts `content` down to its picture and sees to the end marker. Zeros at the end of a file without
// one are not taken for data: they would be decoded to grey. Of a file that is no JPEG nothing is
// cut away but such zeros.
//
// `for_coefficients`: they will be read, which goes beyond a picture's one scan. Decoding does not,
// and then that scan need not be searched for its end where the file has an end marker.
JpegFile TakeJpeg(std::vector<std::byte>& content, bool for_coefficients);

}  // namespace sluice
