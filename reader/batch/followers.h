// Which fields of a batch are boxes and key points that move with an image, and what goes with
// them: worked out once from the schema.
#pragma once

#include <vector>

#include "reader/batch/slot_layout.h"
#include "reader/dataset/field_choice.h"
#include "reader/transform/annotations.h"

namespace sluice {

struct Followers {
  // A field of numbers: one of the layout's arrays, or of its variables.
  struct Numbers {
    bool variable = false;
    std::size_t index = 0;
    std::size_t leader = 0;  // the image's field
    bool doubles = false;    // float64, else float32
    Coordinates coordinates;
  };
  struct Boxes : Numbers {
    std::vector<std::size_t> companions;  // of the layout's variables: an entry for each box
  };
  struct Points : Numbers {
    PointShape shape;
  };
  std::vector<Boxes> boxes;
  std::vector<Points> points;

  bool empty() const noexcept { return boxes.empty() && points.empty(); }

  // Throws Error(kInvalidArgument) for fields that cannot be moved: of integers, or with
  // coordinates this build does not know; or masks, too, behind steps that move pixels and nothing
  // else, and where samples of a batch are mixed. Empty where the geometric steps of `view` do
  // nothing.
  static Followers Of(const DatasetState& dataset, const FieldChoice& choice,
                      const SlotLayout& layout, const ViewProgram& view, bool mixes);
};

}  // namespace sluice
