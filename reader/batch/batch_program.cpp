// OneHot, MixUp, CutMix and CopyPaste need a label or all rows of a batch, so they cannot run with
// a row's other steps. SetTarget() runs when a row is made, Mix() once all rows of the batch are
// done.
//
// The layout of batches needs target(), and this program needs the places in that layout. So the
// program is made first, without places, and Bind() adds them. The constructor checks every stage
// of a schedule; StagesOf() has already made sure that all stages have the same OneHot. Mix() mixes
// targets by the share that MixBatch() returns, since CutMix may cut off its rectangle at the
// edges.
#include "reader/batch/batch_program.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "reader/batch/slot.h"
#include "reader/transform/all_steps.h"
#include "reader/transform/steps.h"

namespace sluice {

namespace {

constexpr std::size_t kMaxClasses = 65536;

std::int64_t IntegerOf(DType type, const std::byte* value) {
  return WithElementType(type, [value](auto number) {
    std::memcpy(&number, value, sizeof number);
    return static_cast<std::int64_t>(number);
  });
}

}  // namespace

BatchProgram::BatchProgram(const DatasetFacts& dataset, const LoaderOptions& options,
                           const FieldChoice& choice)
    : takes_fields_(choice.image != Schema::kNone && MixedFields::Any(dataset, choice)) {
  for (const PipelineStage& stage : StagesOf(options.transform, options.sizes, options.schedule)) {
    target_.reset();  // all stages have the same target
    std::vector<MixStep>& mixes = mixes_.emplace_back();
    for (const Transform& transform : stage.steps) {
      if (ConcernsBatch(transform)) CheckParameters(transform);
      std::visit(
          [&]<class Step>(const Step& op) {
            if constexpr (requires { StepOf<Step>::Mix(op); }) {
              AddMix(StepOf<Step>::Mix(op), mixes);
            } else if constexpr (StepOf<Step>::kKind == StepKind::kBatch) {
              if (!mixes.empty()) RefuseTransform("put OneHot before MixUp, CutMix and CopyPaste");
              Add(op, dataset, choice);
            }
          },
          transform);
    }
    mixes_any_ = mixes_any_ || !mixes.empty();
  }
  if (mixes_any_ && choice.image == Schema::kNone)
    RefuseTransform("MixUp, CutMix and CopyPaste need an image, and the batch has none");
  if (mixes_any_ && options.output.image_sizes != ImageSizes::kEqual) {
    RefuseTransform(
        "MixUp, CutMix and CopyPaste need images of one size; add a step such as "
        "RandomResizedCrop(224), and leave LoaderOptions::output.image_sizes at kEqual");
  }
  if (mixes_any_ && dataset.manifest.schema.fields[choice.image].role == Role::kMask)
    RefuseTransform(
        "MixUp, CutMix and CopyPaste mix pictures, and LoaderOptions::output.image is a mask");
}

void BatchProgram::Add(const OneHot& op, const DatasetFacts& dataset, const FieldChoice& choice) {
  const Schema& schema = dataset.manifest.schema;
  if (target_) RefuseTransform("a transform can have one OneHot only");
  const std::size_t field = op.label.empty() ? schema.LabelField() : dataset.FieldIndex(op.label);
  if (field == Schema::kNone)
    RefuseTransform(
        "OneHot needs a label field of one integer, and the dataset has none; if samples have "
        "several labels, name their field in OneHot::label");
  const Field& label = schema.fields[field];
  const bool array = label.kind == FieldKind::kArray;
  if ((!array && label.kind != FieldKind::kVariable) || !IsInteger(label.dtype)) {
    RefuseTransform("OneHot needs a label of one integer or several, and field \"" + label.name +
                    "\" is not one");
  }
  if (!choice.chosen[field]) {
    RefuseTransform("OneHot needs field \"" + label.name +
                    "\", which LoaderOptions::output.fields leaves out");
  }
  if (const DatasetFacts* const without = dataset.LacksField(field)) {
    RefuseTransform("OneHot needs field \"" + label.name + "\", which " + without->folder.string() +
                    " lacks; leave that dataset out of the mixture");
  }
  classes_ = op.classes != 0 ? op.classes : label.classes.size();
  if (classes_ == 0) {
    RefuseTransform("set OneHot::classes to the number of classes: field \"" + label.name +
                    "\" does not name them");
  }
  if (classes_ > kMaxClasses) RefuseTransform("OneHot can have at most 65536 classes");
  if (op.field.empty() || op.field.size() > kMaxNameBytes)
    RefuseTransform("OneHot's field needs a name of 1 to 255 bytes");
  if (schema.Find(op.field) != Schema::kNone) {
    RefuseTransform("OneHot's field \"" + op.field +
                    "\" is already a field of the dataset; choose another name");
  }
  label_ = label.name;
  label_type_ = label.dtype;
  padded_ = array && !label.shape.empty();
  // Label smoothing (Szegedy et al. 2016): the share `smoothing` is spread over all classes.
  other_ = static_cast<float>(op.smoothing / double(classes_));
  own_ = static_cast<float>(1 - op.smoothing + op.smoothing / double(classes_));
  target_ = Field::Array(op.field, DType::kFloat32, {static_cast<std::uint32_t>(classes_)});
}

void BatchProgram::AddMix(MixStep step, std::vector<MixStep>& mixes) const {
  const bool pastes = step.kind == MixKind::kPaste;
  if (pastes && target_)
    RefuseTransform(
        "CopyPaste changes which objects a row shows, and OneHot's numbers are those of before; "
        "leave one of them out");
  if (!pastes && !target_ && !takes_fields_)
    RefuseTransform("MixUp and CutMix mix labels, too: put OneHot before them");
  // Each step draws from a random stream of its own. The low eight bits of the stream's number are
  // the kDraws of the step's type; the others count the earlier steps of that type in this stage.
  const auto same = [&step](const MixStep& other) { return (other.stream & 255) == step.stream; };
  const auto uses = std::ranges::count_if(mixes, same);
  step.stream = static_cast<std::uint16_t>(uses << 8 | step.stream);
  mixes.push_back(step);
}

void BatchProgram::Bind(const DatasetFacts& dataset, const FieldChoice& choice,
                        const SlotLayout& layout, const Followers& followers,
                        const std::vector<std::uint64_t>& max_instances) {
  if (mixes_any_) {
    std::vector<MixStep> all;
    for (const std::vector<MixStep>& mixes : mixes_)
      all.insert(all.end(), mixes.begin(), mixes.end());
    fields_ = MixedFields(dataset, choice, layout, followers, all, max_instances);
  }
  if (!target_) return;
  label_variable_ = FindIn(layout.variables, label_);
  if (label_variable_ == Schema::kNone) label_place_ = layout.arrays[FindIn(layout.arrays, label_)];
  target_place_ = layout.arrays[FindIn(layout.arrays, target_->name)];
}

std::span<const std::byte> BatchProgram::LabelOf(const Slot& slot, std::size_t row) const {
  if (label_variable_ != Schema::kNone) return slot.variables[label_variable_].rows[row];
  const std::size_t bytes = label_place_.sample_bytes;
  return {slot.memory.data() + label_place_.offset + row * bytes, bytes};
}

bool BatchProgram::SetTarget(Slot& slot, std::size_t row) const {
  float* const numbers = TargetOf(slot, row);
  std::fill_n(numbers, classes_, other_);
  const std::span<const std::byte> label = LabelOf(slot, row);
  for (std::size_t at = 0; at < label.size(); at += SizeOf(label_type_)) {
    const std::int64_t own = IntegerOf(label_type_, &label[at]);
    // -1 fills up a fixed-shape array of labels.
    if (padded_ && own == -1) continue;
    // The number comes from the dataset, and would be an index beyond the target.
    if (own < 0 || own >= static_cast<std::int64_t>(classes_)) return false;
    numbers[own] = own_;
  }
  return true;
}

std::uint64_t BatchProgram::MostJoined() const noexcept {
  std::size_t most = 0;
  for (const std::vector<MixStep>& mixes : mixes_)
    most = std::max(most, mixes.size());
  return fields_.has_boxes() ? std::uint64_t{1} << most : 1;
}

float* BatchProgram::TargetOf(Slot& slot, std::size_t row) const {
  return reinterpret_cast<float*>(slot.memory.data() + target_place_.offset +
                                  row * target_place_.sample_bytes);
}

void BatchProgram::Mix(Slot& slot, MixScratch& scratch) const {
  const std::vector<MixStep>& mixes = mixes_[slot.stages[0]];
  if (slot.size == 0 || mixes.empty()) return;
  for (std::size_t number = 0; number < mixes.size(); ++number) {
    const MixStep& step = mixes[number];
    if (fields_.has_boxes()) {
      MixRows(step, number, slot, scratch);
      continue;
    }
    RandomStream draws = DrawsOf(step, slot.draw_seed, slot.first_position);
    if (!IsMixed(step, draws)) continue;
    const ImageBatch& picture = slot.images[0].image;
    const MixDraw draw = DrawMix(step, picture.width, picture.height, draws);
    const auto mix = [&](std::size_t image) {
      ImageBatch shape = slot.images[image].image;
      shape.samples = slot.size;
      MixImages(PixelsOf(slot, image, 0), shape, draw, scratch.saved);
    };
    mix(0);
    std::ranges::for_each(fields_.images(), mix);
    if (target_) MixNumbers(TargetOf(slot, 0), slot.size, classes_, draw.share, scratch.saved);
  }
}

void BatchProgram::MixRows(const MixStep& step, std::size_t number, Slot& slot,
                           MixScratch& scratch) const {
  RowBefore& saved = scratch.row;
  scratch.objects.step = number;
  if (step.flip) {
    for (std::size_t row = 0; row < slot.size; ++row)
      fields_.PasteMirrored(step, slot, row, saved, scratch.objects);
    return;
  }
  if (slot.size < 2) return;
  fields_.Save(slot, slot.size - 1, saved);
  if (target_) {
    const float* const last = TargetOf(slot, slot.size - 1);
    saved.numbers.assign(last, last + classes_);
  }
  for (std::size_t row = slot.size; row-- > 0;) {
    const MixedFields::Partner partner(slot, row, saved);
    if (step.kind == MixKind::kPaste) {
      fields_.Paste(step, slot, row, partner, scratch.objects);
      continue;
    }
    const std::optional<MixDraw> draw = fields_.Draw(step, slot, row, partner);
    if (!draw || !fields_.Mix(*draw, slot, row, partner, scratch.objects) || !target_) continue;
    const float* const numbers = row == 0 ? saved.numbers.data() : TargetOf(slot, row - 1);
    MixNumbers(TargetOf(slot, row), numbers, classes_, draw->share);
  }
}

}  // namespace sluice
