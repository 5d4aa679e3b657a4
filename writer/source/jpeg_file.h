// The part of a JPEG file that is its picture.
//
// A file may have anything after its picture: nothing where the end marker should be, the zeros of
// a broken download, a second picture, rubbish. Decoders differ in whether they look there. So each
// of them gets the picture alone, and all of them judge a file alike.
#pragma once

#include <vector>

#include "format/disk/bytes.h"

namespace sluice {

struct JpegFile {
  Bytes bytes;  // ends with an end-of-image marker
  // Whether that marker is the file's own. If not, scans may be missing without a trace.
  bool ended = true;
};

// Cuts `content` down to its picture and makes sure that it has an end marker. In a file without
// one, zeros at the end are not taken for data (but for a single one): they would be decoded to
// grey. A file that is not a JPEG loses only such zeros.
//
// Whatever is made of the picture, decoders get these bytes and no others: libjpeg's judgement of a
// damaged file depends on what follows the damage.
JpegFile TakeJpeg(std::vector<std::byte>& content);

}  // namespace sluice
