#include "writer/source/thrift.h"

#include <sluice/error.h>

namespace sluice {

void ThriftReader::Fail() {
  throw Error(ErrorCode::kCorrupt, "a header is damaged");
}

unsigned ThriftReader::Byte() {
  if (at_ >= bytes_.size()) Fail();
  return std::to_integer<unsigned>(bytes_[at_++]);
}

std::uint64_t ThriftReader::Unsigned() {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const unsigned byte = Byte();
    number |= std::uint64_t{byte & 127} << shift;
    if (byte < 128) return number;
  }
  Fail();
}

std::int64_t ThriftReader::Integer() {
  const std::uint64_t number = Unsigned();
  return static_cast<std::int64_t>((number >> 1) ^ (~(number & 1) + 1));
}

std::string_view ThriftReader::Binary() {
  const std::uint64_t size = Unsigned();
  if (size > bytes_.size() - at_) Fail();
  const std::string_view text = AsText(bytes_.subspan(at_, size));
  at_ += size;
  return text;
}

void ThriftReader::SkipElement(unsigned type) {
  // In a list, a truth value takes a byte.
  if (type == kTrue || type == kFalse)
    Byte();
  else
    Skip(type);
}

void ThriftReader::Skip(unsigned type) {
  switch (type) {
    case kTrue:
    case kFalse: return;  // the field's head has the value
    case kByte: Byte(); return;
    case 4:
    case 5:
    case 6: Unsigned(); return;
    case kDouble:
      if (bytes_.size() - at_ < 8) Fail();
      at_ += 8;
      return;
    case kBinary: Binary(); return;
    case kList:
    case kSet: List([this](unsigned element) { SkipElement(element); }); return;
    case kMap: {
      const Nested nested(*this);
      std::uint64_t count = Unsigned();
      if (count == 0) return;
      const unsigned types = Byte();
      if (count > bytes_.size() - at_) Fail();
      for (; count > 0; --count) {
        SkipElement(types >> 4);
        SkipElement(types & 15);
      }
      return;
    }
    case kStruct: Struct([this](std::int64_t, unsigned field) { Skip(field); }); return;
    default: Fail();
  }
}

}  // namespace sluice
