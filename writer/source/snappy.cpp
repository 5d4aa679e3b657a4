#include "writer/source/snappy.h"

#include <cstring>

namespace sluice {

namespace {

class Decompressor {
 public:
  Decompressor(Bytes in, std::span<std::byte> out) : in_(in), out_(out) {}

  bool Run() noexcept {
    if (!Length()) return false;
    while (at_ < in_.size()) {
      const unsigned tag = std::to_integer<unsigned>(in_[at_++]);
      if (!((tag & 3) == 0 ? Literal(tag >> 2) : Copy(tag))) return false;
    }
    return made_ == out_.size();
  }

 private:
  bool Little(unsigned bytes, std::uint64_t& number) noexcept {
    if (in_.size() - at_ < bytes) return false;
    number = 0;
    for (unsigned i = 0; i < bytes; ++i)
      number |= std::to_integer<std::uint64_t>(in_[at_++]) << (8 * i);
    return true;
  }

  // The length at the beginning, seven bits a byte.
  bool Length() noexcept {
    std::uint64_t length = 0;
    for (unsigned shift = 0; shift < 35 && at_ < in_.size(); shift += 7) {
      const unsigned byte = std::to_integer<unsigned>(in_[at_++]);
      length |= std::uint64_t{byte & 127} << shift;
      if (byte < 128) return length == out_.size();
    }
    return false;
  }

  bool Literal(std::uint64_t length) noexcept {
    if (length >= 60 && !Little(static_cast<unsigned>(length - 59), length)) return false;
    ++length;
    if (length > in_.size() - at_ || length > out_.size() - made_) return false;
    std::memcpy(out_.data() + made_, in_.data() + at_, length);
    at_ += length;
    made_ += length;
    return true;
  }

  bool Copy(unsigned tag) noexcept {
    std::uint64_t offset = 0;
    std::uint64_t length = (tag >> 2) + 1;
    if ((tag & 3) == 1) {
      if (!Little(1, offset)) return false;
      length = ((tag >> 2) & 7) + 4;
      offset |= std::uint64_t{tag >> 5} << 8;
    } else if (!Little((tag & 3) == 2 ? 2 : 4, offset)) {
      return false;
    }
    if (offset == 0 || offset > made_ || length > out_.size() - made_) return false;
    for (; length > 0; --length, ++made_)  // what is copied may reach into what is made
      out_[made_] = out_[made_ - offset];
    return true;
  }

  Bytes in_;
  std::span<std::byte> out_;
  std::size_t at_ = 0;
  std::size_t made_ = 0;
};

}  // namespace

bool SnappyDecompress(Bytes compressed, std::span<std::byte> content) noexcept {
  return Decompressor(compressed, content).Run();
}

}  // namespace sluice
