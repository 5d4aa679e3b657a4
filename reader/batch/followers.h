// The fields of a batch that are boxes and key points and move with an image, and the fields with
// an entry for each box: worked out once from the schema.
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
    std::vector<std::size_t> companions;  // indices of layout variables with an entry for each box
  };
  struct Points : Numbers {
    PointShape shape;
  };
  std::vector<Boxes> boxes;
  std::vector<Points> points;

  bool empty() const noexcept { return boxes.empty() && points.empty(); }

  // Throws Error(kInvalidArgument) for fields that cannot be moved: integers, or coordinates
  // unknown to this build. Also for boxes, key points and masks if a step moves pixels and nothing
  // else, or if samples of a batch are mixed. Empty if the geometric steps of `view` do nothing.
  static Followers Of(const DatasetFacts& dataset, const FieldChoice& choice,
                      const SlotLayout& layout, const ViewProgram& view, bool mixes);
};

}  // namespace sluice
