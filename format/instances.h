// The values of role `instances`: the outlines or runs of each box's object. See FORMAT.md,
// "Instances".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "format/disk/bytes.h"

namespace sluice {

struct InstanceShape {
  bool runs = false;  // the numbers are uint32 run lengths; else float32, corners x, y, x, y, ...
  Bytes numbers;
  std::size_t count() const noexcept { return numbers.size() / 4; }
};

// A value that has been checked. The bytes must outlive it.
class Instances {
 public:
  // Opens a value for an image of that size; 0: not known, so that the sum of runs is not compared.
  // Returns why the value cannot be used, or null. Costs time and no memory.
  const char* Open(Bytes value, std::uint32_t width, std::uint32_t height) noexcept;
  // The number of objects.
  std::size_t size() const noexcept { return count_; }
  // Calls visit(InstanceShape) for each shape of that object.
  template <class Visit>
  void ForEachShape(std::size_t object, const Visit& visit) const {
    for (Bytes rest = BytesOf(object); !rest.empty();)
      visit(TakeShape(rest));
  }
  // The object's bytes, which another value may hold as well (InstancesBuilder::AddObject()).
  Bytes BytesOf(std::size_t object) const noexcept;

 private:
  // The first shape of checked bytes, which is taken off them.
  static InstanceShape TakeShape(Bytes& rest) noexcept;

  std::size_t count_ = 0;
  Bytes ends_, shapes_;
};

// Makes a value.
class InstancesBuilder {
 public:
  // The next shapes belong to the next object.
  void BeginObject() { ends_.push_back(static_cast<std::uint32_t>(shapes_.size())); }
  void AddOutline(std::span<const float> corners);
  void AddRuns(std::span<const std::uint32_t> runs);
  // An object of another value, as it is.
  void AddObject(Bytes bytes);
  std::size_t size() const noexcept { return ends_.size(); }
  // The bytes of the value so far.
  std::size_t bytes() const noexcept { return 4 + 4 * ends_.size() + shapes_.size(); }
  // Writes the value, and begins another one. At most 2^32 - 1 bytes of shapes.
  void Finish(std::vector<std::byte>& value);

 private:
  void Add(std::uint32_t head, Bytes numbers);

  std::vector<std::uint32_t> ends_;
  std::vector<std::byte> shapes_;
};

}  // namespace sluice
