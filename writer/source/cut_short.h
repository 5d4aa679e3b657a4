// The error of a file whose data ends before its picture does, as after a broken download.
//
// It is a separate error because the part of the picture that is there can be taken:
// ConvertOptions::truncated. Every way of storing a picture uses the same readers, so that all of
// them judge a file alike.
#pragma once

#include <string>

#include <sluice/error.h>

#include "format/disk/bytes.h"

namespace sluice {

class CutShort : public Error {
 public:
  // `what` is, for example, "broken PNG".
  CutShort(const std::string& what, const std::string& how)
      : Error(ErrorCode::kCorrupt, what + ": it is cut short: " + how) {}
};

// The file without the zeros at its end, which a broken download leaves. For kinds of files that
// never end in a zero byte.
inline Bytes WithoutZeros(Bytes file) noexcept {
  std::size_t size = file.size();
  while (size > 0 && file[size - 1] == std::byte{0})
    --size;
  return file.first(size);
}

// The file without the zeros at its end if they are as many as only a broken download leaves. For
// kinds of files that may end with a few.
inline Bytes WithoutManyZeros(Bytes file) noexcept {
  constexpr std::size_t kMany = 512;
  const Bytes data = WithoutZeros(file);
  return file.size() - data.size() < kMany ? file : data;
}

}  // namespace sluice
