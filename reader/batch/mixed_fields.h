// The fields that MixUp, CutMix and CopyPaste take along with the picture: boxes, their instances,
// fields with an entry for each box, masks and other images that follow it.
//
// Where the picture has boxes, each row is mixed by draws of its own: MixUp gives it the boxes of
// both samples, CutMix those of the partner that lie in the rectangle, CopyPaste those of the
// objects that it pastes. Object i of the instances belongs to box i, before and after.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sluice/loader_options.h>

#include "reader/batch/followers.h"
#include "reader/batch/row_objects.h"
#include "reader/transform/batch_mix.h"

namespace sluice {

struct Slot;

// A row as it was before it was mixed.
struct RowBefore {
  std::vector<std::vector<std::uint8_t>> images;  // the picture, then MixedFields::images
  std::vector<std::vector<std::byte>> variables;  // as Slot::variables; empty where not mixed
  std::vector<float> numbers;                     // of the target
};

// Buffers for mixing objects, and which of an epoch's mixing steps uses them.
struct ObjectScratch {
  std::size_t step = 0;
  InstancesBuilder builder;
  std::vector<std::vector<std::byte>> values;  // by field of instances
  std::vector<PixelRun> pasted;
  std::vector<std::uint8_t> covered;  // by pixel of the row
};

class MixedFields {
 public:
  MixedFields() = default;
  // Throws Error(kInvalidArgument) for a field that follows the picture and cannot be mixed by
  // these steps. `max_instances`: by layout variable, the most bytes of a row's instances.
  MixedFields(const DatasetFacts& dataset, const FieldChoice& choice, const SlotLayout& layout,
              const Followers& followers, std::span<const MixStep> steps,
              std::span<const std::uint64_t> max_instances);
  // Whether the batch has a field that follows the picture, so that labels need not be mixed.
  static bool Any(const DatasetFacts& dataset, const FieldChoice& choice);

  bool has_boxes() const noexcept { return !boxes_.empty(); }
  bool has_objects() const noexcept { return !objects_.empty(); }
  // How many times as much memory as a row's instances an ObjectScratch takes at most: two values,
  // and in memory, where runs are twice as large as stored, those of what is pasted and those of an
  // object before and after; half as much again, as buffers grow.
  static constexpr std::uint64_t kObjectCopies = 12;
  // Indices in SlotLayout::images, without the picture.
  const std::vector<std::size_t>& images() const noexcept { return images_; }

  // The row that another one is mixed with: the row before it, or a copy.
  class Partner {
   public:
    // The row before `row`; for the first row, `last`.
    Partner(const Slot& slot, std::size_t row, const RowBefore& last)
        : slot_(slot), row_(row), saved_(row == 0 ? &last : nullptr) {}
    Partner(const Slot& slot, const RowBefore& saved) : slot_(slot), saved_(&saved) {}

    // An index of SlotLayout::variables.
    const std::vector<std::byte>& ValueOf(std::size_t variable) const;
    // An index of SlotLayout::images, and of RowBefore::images.
    const std::uint8_t* PixelsOf(std::size_t image, std::size_t of_saved) const;

   private:
    const Slot& slot_;
    std::size_t row_ = 0;
    const RowBefore* saved_;
  };

  // Copies what is mixed of the row, without the target.
  void Save(const Slot& slot, std::size_t row, RowBefore& saved) const {
    SaveImages(slot, row, saved);
    SaveValues(slot, row, saved);
  }
  // Draws as the row asks for it: nothing if it is not mixed. A cut touches none of its boxes, and
  // shows one of the partner's.
  std::optional<MixDraw> Draw(const MixStep& step, const Slot& slot, std::size_t row,
                              const Partner& partner) const;
  // Why the row's own fields cannot be mixed: a field lacks an entry for some box, or a function
  // has set instances that are not a row's. Empty if they can. Asked of each row, so that such a
  // sample is treated as LoaderOptions::integrity.on_fault says.
  std::string Unfit(const Slot& slot, std::size_t row) const;
  // The functions below mix the row's images, boxes and instances. No row may be Unfit(). A row
  // whose instances would take more memory than the bound stays as it is.

  // MixUp or CutMix. Returns whether the row was mixed.
  bool Mix(const MixDraw& draw, Slot& slot, std::size_t row, const Partner& partner,
           ObjectScratch& scratch) const;
  // CopyPaste: draws and pastes objects of the partner.
  void Paste(const MixStep& step, Slot& slot, std::size_t row, const Partner& partner,
             ObjectScratch& scratch) const;
  // CopyPaste with `flip`. `saved`: a buffer for the mirrored row.
  void PasteMirrored(const MixStep& step, Slot& slot, std::size_t row, RowBefore& saved,
                     ObjectScratch& scratch) const;

 private:
  void SaveImages(const Slot& slot, std::size_t row, RowBefore& saved) const;
  void SaveValues(const Slot& slot, std::size_t row, RowBefore& saved) const;
  RowObjects ObjectsIn(const Slot& slot) const;
  // Whether the instances built so far, of that index in objects_, are within the bound.
  bool WithinBound(std::size_t objects, const ObjectScratch& scratch) const noexcept;
  // The row's own objects outside of the cut, then the partner's objects of these numbers in it;
  // without a cut, whole. Fills scratch.values; returns whether they are within the bound.
  bool JoinObjects(const Slot& slot, std::size_t row, const Partner& partner,
                   std::span<const std::size_t> chosen, const std::optional<CutRectangle>& cut,
                   ObjectScratch& scratch) const;
  void TakeObjects(Slot& slot, std::size_t row, ObjectScratch& scratch) const;
  // Adds the partner's entries of these numbers. Returns where they begin, in bytes.
  std::size_t AddEntries(std::size_t variable, std::span<const std::size_t> chosen, Slot& slot,
                         std::size_t row, const Partner& partner) const;
  // If the variable holds points with visibilities: sets that of the points that are hidden to 0.
  // `first`: the byte at which the points to look at begin.
  void HidePoints(std::size_t variable, std::size_t first, Slot& slot, std::size_t row,
                  const std::function<bool(double x, double y)>& hides) const;
  // `chosen`: the numbers of the partner's boxes that the row shows.
  void MixBoxes(const Followers::Boxes& boxes, std::span<const std::size_t> chosen,
                const MixDraw& draw, Slot& slot, std::size_t row, const Partner& partner) const;
  // Mirrors the boxes and points of a saved row. Returns which boxes have an area in the picture.
  std::vector<std::uint8_t> MirrorValues(const Slot& slot, RowBefore& saved) const;
  // Pastes these objects of the partner. `mirrored`: its instances are not mirrored yet.
  void PasteObjects(std::span<const std::size_t> chosen, bool mirrored, Slot& slot, std::size_t row,
                    const Partner& partner, ObjectScratch& scratch) const;

  std::vector<Followers::Boxes> boxes_;
  std::vector<Followers::Points> points_;  // with an entry for each box
  std::vector<std::size_t> images_;
  std::vector<std::size_t> variables_;  // all that are mixed
  std::vector<std::size_t> objects_;    // instances of the first boxes
  std::vector<std::uint64_t> bounds_;   // of each, the bytes before a step
};

}  // namespace sluice
