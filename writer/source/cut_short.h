// The error of a file whose data end before its picture does, such as after a broken download.
//
// It is an error of its own because what there is of such a picture can be taken:
// ConvertOptions::truncated. Every way of storing a picture asks the same readers, so that a file
// is judged alike in all of them.
#pragma once

#include <string>

#include <sluice/error.h>

#include "format/disk/bytes.h"

namespace sluice {

class CutShort : public Error {
 public:
  // `what` is such as "broken PNG".
  CutShort(const std::string& what, const std::string& how)
      : Error(ErrorCode::kCorrupt, what + ": it is cut short: " + how) {}
};

// The file without the zeros at its end, which a download leaves that broke off. For kinds of files
// whose last byte is another one.
inline Bytes WithoutZeros(Bytes file) noexcept {
  std::size_t size = file.size();
  while (size > 0 && file[size - 1] == std::byte{0})
    --size;
  return file.first(size);
}

}  // namespace sluice
