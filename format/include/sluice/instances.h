// The values of fields of role kInstances: the outlines or runs of each box's object. Their form is
// in format/FORMAT.md, "Boxes, key points, masks".
//
//   sluice::InstancesBuilder builder;            // a value for DatasetWriter
//   builder.BeginObject();                       // of the first box
//   builder.AddOutline(corners);                 // x, y, x, y, ... in pixels
//   builder.Finish(value);
//   sample.SetBytes("instances", value, true);
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace sluice {

// A shape of an object: a closed outline, or runs of pixels down the columns of the picture.
struct InstanceShape {
  bool runs = false;  // the numbers are uint32 run lengths; else float32, corners x, y, x, y, ...
  std::span<const std::byte> numbers;  // as they are stored, little-endian
  // How many numbers there are.
  std::size_t count() const noexcept { return numbers.size() / 4; }
  // Number i (below count()) of an outline, as its label file had it: of the numbers with this
  // float32, the one with at most three decimals, if there is one.
  double corner(std::size_t i) const noexcept;
  // Number i (below count()) of runs.
  std::uint32_t run(std::size_t i) const noexcept { return At<std::uint32_t>(i); }

 private:
  template <class T>
  T At(std::size_t i) const noexcept {
    T number;
    std::memcpy(&number, numbers.data() + 4 * i, sizeof number);
    return number;
  }
};

// A value that has been checked. The bytes must outlive it.
class Instances {
 public:
  // Opens a value for an image of that size; 0: not known, so that the sum of runs is not compared.
  // Returns why the value cannot be used, or null. Costs time and no memory.
  const char* Open(std::span<const std::byte> value, std::uint32_t width,
                   std::uint32_t height) noexcept;
  // The number of objects.
  std::size_t size() const noexcept { return count_; }
  // Calls visit(InstanceShape) for each shape of that object.
  template <class Visit>
  void ForEachShape(std::size_t object, const Visit& visit) const {
    for (std::span<const std::byte> rest = BytesOf(object); !rest.empty();)
      visit(TakeShape(rest));
  }
  // The pixels that the object covers in its image, which has that size, as COCO's uncompressed
  // RLE: pixels outside and inside of the object in turns, down the columns from the left. Throws
  // Error(kCorrupt) if an outline is far longer than any real one.
  std::vector<std::uint32_t> Runs(std::size_t object, std::uint32_t width,
                                  std::uint32_t height) const;
  // The object's bytes, which another value may hold as well (InstancesBuilder::AddObject()).
  std::span<const std::byte> BytesOf(std::size_t object) const noexcept;

 private:
  // The first shape of checked bytes, which is taken off them.
  static InstanceShape TakeShape(std::span<const std::byte>& rest) noexcept;

  std::size_t count_ = 0;
  std::span<const std::byte> ends_, shapes_;
};

// Makes a value.
class InstancesBuilder {
 public:
  // The next shapes belong to the next object.
  void BeginObject() { ends_.push_back(static_cast<std::uint32_t>(shapes_.size())); }
  // Adds a closed outline: x and y of each corner, in pixels of the image.
  void AddOutline(std::span<const float> corners);
  // Adds COCO's uncompressed RLE of the image's size.
  void AddRuns(std::span<const std::uint32_t> runs);
  // Adds an object of another value, as it is.
  void AddObject(std::span<const std::byte> bytes);
  // The number of objects so far.
  std::size_t size() const noexcept { return ends_.size(); }
  // The bytes of the value so far.
  std::size_t bytes() const noexcept { return 4 + 4 * ends_.size() + shapes_.size(); }
  // Writes the value, and begins another one. At most 2^32 - 1 bytes of shapes.
  void Finish(std::vector<std::byte>& value);

 private:
  void Add(std::uint32_t head, std::span<const std::byte> numbers);

  std::vector<std::uint32_t> ends_;
  std::vector<std::byte> shapes_;
};

}  // namespace sluice
