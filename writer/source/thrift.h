// Thrift's compact protocol, as far as Parquet's headers need it. Every number is checked against
// what is left of the bytes; each function throws Error(kCorrupt).
#pragma once

#include <cstdint>

#include "format/disk/bytes.h"

namespace sluice {

class ThriftReader {
 public:
  enum Type : unsigned {
    kTrue = 1,
    kFalse = 2,
    kByte = 3,
    kDouble = 7,
    kBinary = 8,
    kList = 9,
    kSet = 10,
    kMap = 11,
    kStruct = 12
  };

  explicit ThriftReader(Bytes bytes) : bytes_(bytes) {}

  // Calls visit(id, type) for each field of a struct; it must read the field's value, or Skip() it.
  template <class Visit>
  void Struct(Visit visit) {
    const Nested nested(*this);
    for (std::int64_t id = 0;;) {
      const unsigned head = Byte();
      if (head == 0) return;
      id = (head >> 4) != 0 ? id + (head >> 4) : Integer();
      visit(id, head & 15);
    }
  }
  // Calls visit(type) for each element of a list.
  template <class Visit>
  void List(Visit visit) {
    const Nested nested(*this);
    const unsigned head = Byte();
    std::uint64_t count = head >> 4;
    if (count == 15) count = Unsigned();
    if (count > bytes_.size() - at_) Fail();
    for (; count > 0; --count)
      visit(head & 15);
  }
  std::int64_t Integer();
  std::string_view Binary();
  void Skip(unsigned type);
  // How many bytes were read.
  std::size_t position() const noexcept { return at_; }

 private:
  static constexpr unsigned kMostNested = 32;
  struct Nested {
    explicit Nested(ThriftReader& reader) : reader_(reader) {
      if (++reader.depth_ > kMostNested) Fail();
    }
    ~Nested() { --reader_.depth_; }
    ThriftReader& reader_;
  };
  [[noreturn]] static void Fail();
  unsigned Byte();
  std::uint64_t Unsigned();
  void SkipElement(unsigned type);

  Bytes bytes_;
  std::size_t at_ = 0;
  unsigned depth_ = 0;
};

}  // namespace sluice
