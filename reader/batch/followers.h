// The fields of a batch that follow an image: boxes and key points, which are moved as the image
// is, and fields with an entry for each box.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "format/boxes_and_points.h"
#include "reader/batch/slot_layout.h"
#include "reader/dataset/field_choice.h"
#include "reader/transform/annotations.h"

namespace sluice {

struct ViewProgram;

// Calls f with the bytes, which may be constant, as the numbers that they hold.
template <class Bytes, class F>
void WithNumbers(bool doubles, Bytes&& bytes, const F& f) {
  using Byte = std::remove_pointer_t<decltype(bytes.data())>;
  using Double = std::conditional_t<std::is_const_v<Byte>, const double, double>;
  using Float = std::conditional_t<std::is_const_v<Byte>, const float, float>;
  if (doubles) return f(std::span(reinterpret_cast<Double*>(bytes.data()), bytes.size() / 8));
  f(std::span(reinterpret_cast<Float*>(bytes.data()), bytes.size() / 4));
}
// Takes out the entries that are not kept, of a row of a variable-length field.
void Compact(std::vector<std::byte>& row, std::size_t entry_bytes,
             const std::vector<std::uint8_t>& kept);

// Worked out once from the schema.
struct Followers {
  // A field of numbers: one of the layout's arrays, or of its variables.
  struct Numbers {
    bool variable = false;
    std::size_t index = 0;   // in SlotLayout::variables or, if not `variable`, in arrays
    std::size_t leader = 0;  // the image's field
    bool doubles = false;    // float64, else float32
    Coordinates coordinates;
  };
  struct Boxes : Numbers {
    std::vector<std::size_t> companions;  // indices of layout variables with an entry for each box
    std::vector<std::size_t> instances;   // and of those with an object for each box
    bool stay = false;  // no step is geometric: boxes stay as they are, and instances become runs
  };
  struct Points : Numbers {
    PointShape shape;
  };
  std::vector<Boxes> boxes;
  std::vector<Points> points;

  bool empty() const noexcept { return boxes.empty() && points.empty(); }

  // Throws Error(kInvalidArgument) for fields that cannot be moved: integers, or coordinates
  // unknown to this build; for several key points of an object without flip_pairs, if a step
  // mirrors. Also for boxes, key points and masks if a step moves the pixels of their image without
  // them. `unmoved`: also finds them if the geometric steps of `view` do nothing; otherwise the
  // result is empty then.
  static Followers Of(const DatasetFacts& dataset, const LoaderOptions& options,
                      const FieldChoice& choice, const SlotLayout& layout, const ViewProgram& view,
                      bool unmoved = false);
};

}  // namespace sluice
