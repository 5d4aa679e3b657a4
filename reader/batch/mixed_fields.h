// The fields that MixUp and CutMix take along with the picture: boxes, fields with an entry for
// each box, masks and other images that follow it.
//
// Where the picture has boxes, each row is mixed by draws of its own: MixUp gives it the boxes of
// both samples, CutMix those of the partner that lie in the rectangle.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <sluice/loader_options.h>

#include "reader/batch/followers.h"
#include "reader/transform/batch_mix.h"

namespace sluice {

struct Slot;

// A row as it was before it was mixed.
struct RowBefore {
  std::vector<std::vector<std::uint8_t>> images;  // the picture, then MixedFields::images
  std::vector<std::vector<std::byte>> variables;  // as Slot::variables; empty where not mixed
  std::vector<float> numbers;                     // of the target
};

class MixedFields {
 public:
  MixedFields() = default;
  // Throws Error(kInvalidArgument) for a field that follows the picture and cannot be mixed.
  // `blends`: some step mixes whole pictures.
  MixedFields(const DatasetFacts& dataset, const FieldChoice& choice, const SlotLayout& layout,
              const Followers& followers, bool blends);
  // Whether the batch has a field that follows the picture, so that labels need not be mixed.
  static bool Any(const DatasetFacts& dataset, const FieldChoice& choice);

  bool has_boxes() const noexcept { return !boxes_.empty(); }
  // Indices in SlotLayout::images, without the picture.
  const std::vector<std::size_t>& images() const noexcept { return images_; }

  // Copies what is mixed of the row, without the target.
  void Save(const Slot& slot, std::size_t row, RowBefore& saved) const;
  // Draws as the row asks for it: nothing if it is not mixed. A cut touches none of its boxes, and
  // shows one of the partner's. The partner is the row before, or `saved` for the first row.
  std::optional<MixDraw> Draw(const MixStep& step, const Slot& slot, std::size_t row,
                              const RowBefore& saved) const;
  // Why the row's own fields cannot be mixed: a field lacks an entry for some box. Empty if they
  // can. Asked of each row, so that such a sample is treated as LoaderOptions::integrity.on_fault
  // says.
  std::string Unfit(const Slot& slot, std::size_t row) const;
  // Mixes the row's images and boxes. No row may be Unfit().
  void Mix(const MixDraw& draw, Slot& slot, std::size_t row, const RowBefore& saved) const;

 private:
  // The partner's value.
  const std::vector<std::byte>& ValueOf(std::size_t variable, const Slot& slot, std::size_t row,
                                        const RowBefore& saved) const;
  void MixBoxes(const Followers::Boxes& boxes, const MixDraw& draw, Slot& slot, std::size_t row,
                const RowBefore& saved) const;

  std::vector<Followers::Boxes> boxes_;
  std::vector<Followers::Points> points_;  // with an entry for each box
  std::vector<std::size_t> images_;
  std::vector<std::size_t> variables_;  // all that are mixed
};

}  // namespace sluice
