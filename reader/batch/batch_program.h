// The steps of a pipeline that concern labels and whole batches, checked and ready to run.
#pragma once

#include <optional>
#include <vector>

#include <sluice/loader_options.h>

#include "reader/batch/mixed_fields.h"
#include "reader/batch/slot_layout.h"
#include "reader/dataset/dataset_facts.h"
#include "reader/dataset/field_choice.h"
#include "reader/transform/batch_mix.h"

namespace sluice {

struct Slot;

class BatchProgram {
 public:
  // Throws Error(kInvalidArgument) for parameters out of range, steps in an impossible order, and a
  // dataset without the labels that a step needs.
  BatchProgram(const DatasetFacts& dataset, const LoaderOptions& options,
               const FieldChoice& choice);

  // The field that OneHot adds to batches.
  const std::optional<Field>& target() const noexcept { return target_; }
  // The layout's variable that OneHot reads; Schema::kNone if it reads an array.
  std::size_t label_variable() const noexcept { return label_variable_; }
  bool mixes() const noexcept { return mixes_any_; }  // whether some epoch mixes

  // Finds the program's fields in the layout of batches. Must be called before SetTarget() and
  // Mix(). `followers`: needed if mixes().
  // `max_instances`: BatchRecipe::max_instances, which lives as long as the program. Throws
  // Error(kInvalidArgument) for fields that cannot be mixed with their image.
  void Bind(const DatasetFacts& dataset, const FieldChoice& choice, const SlotLayout& layout,
            const Followers& followers, const std::vector<std::uint64_t>& max_instances);
  // Whether steps cut or paste instances, which takes more memory (MixedFields::kObjectCopies).
  bool mixes_objects() const noexcept { return fields_.has_objects(); }
  // How many times as large as stored a row's values may be once boxes of several samples are
  // joined.
  std::uint64_t MostJoined() const noexcept;
  // Fills the target of a row from the row's label, which must have been read. Returns false if the
  // label is not a class.
  bool SetTarget(Slot& slot, std::size_t row) const;
  // Why the row's fields cannot be mixed; empty if they can, or if nothing is mixed.
  std::string UnfitToMix(const Slot& slot, std::size_t row) const {
    return mixes_any_ ? fields_.Unfit(slot, row) : std::string();
  }
  // Scratch memory of Mix().
  struct MixScratch {
    std::vector<std::uint8_t> saved;
    RowBefore row;
    ObjectScratch objects;
  };
  // Mixes a batch whose rows are all done, and none UnfitToMix().
  void Mix(Slot& slot, MixScratch& scratch) const;

 private:
  void Add(const OneHot& op, const DatasetFacts& dataset, const FieldChoice& choice);
  void AddMix(MixStep step, std::vector<MixStep>& mixes) const;
  float* TargetOf(Slot& slot, std::size_t row) const;
  // Mixes each row by draws of its own. `number`: of the step, among those that mix.
  void MixRows(const MixStep& step, std::size_t number, Slot& slot, MixScratch& scratch) const;
  std::span<const std::byte> LabelOf(const Slot& slot, std::size_t row) const;

  std::optional<Field> target_;
  std::string label_;
  DType label_type_ = DType::kInt32;
  bool padded_ = false;  // the label is an array, in which -1 stands for no label
  SlotLayout::ArrayField label_place_, target_place_;
  std::size_t label_variable_ =
      Schema::kNone;  // instead of label_place_, if the label is one of the layout's variables
  std::size_t classes_ = 0;
  float own_ = 1, other_ = 0;  // the target's numbers at the label's class and at the others
  std::vector<std::vector<MixStep>> mixes_;  // by stage of the transform
  bool mixes_any_ = false;
  bool takes_fields_ = false;  // boxes or masks follow the image that is mixed
  MixedFields fields_;
};

}  // namespace sluice
