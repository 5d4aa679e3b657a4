// FrameFor() runs for each sample and checks nothing. So OrderCheck refuses, when a loader is made,
// every pipeline that one map and one visible rectangle cannot express: two kinds of border, or a
// reflected border that a later step would cut.
//
// OrderCheck follows the size of the result as far as it is known without a picture. It does so by
// applying each step to a frame with fixed draws, unless the step draws the size. The file ends
// with ProgressiveSizes() and with questions about the declarations of steps.
#include "reader/transform/geometry.h"

#include <algorithm>
#include <iterator>
#include <string>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "format/random.h"
#include "reader/transform/all_steps.h"
#include "reader/transform/step.h"
#include "reader/transform/steps.h"

namespace sluice {

namespace {

template <class T>
concept HasBorder = requires(const T& op) {
  op.border;
};

// Tracks the steps so far, to decide which may follow.
class OrderCheck {
 public:
  template <class T>
  void Follow(const T& op) {
    // A warp that keeps the size and comes last works on the row with its border. Any other step
    // after a border, or a warp, works on the map alone.
    const bool alone = StepOf<T>::kWarps && !StepOf<T>::ChoosesRegion(op) && warping_.empty();
    if (reflected_ && !StepOf<T>::kTurns && !alone) {
      RefuseTransform("no crop, resize or second warp can follow " + bordering_ +
                      " with Border::kReflect; put " + StepName(op) + " before it");
    }
    if (StepOf<T>::kWarps && !alone) RequireBorder(op);
    if (!warping_.empty() && !StepOf<T>::kTurns && border_ && *border_ != warp_border_)
      RefuseKinds(warping_);
    if (StepOf<T>::kMosaic) {
      if (mosaic_) RefuseTransform("a pipeline can have one Mosaic");
      if (!warping_.empty()) {
        RefuseTransform(warping_ + " must come after Mosaic, where one pass warps the whole row");
      }
      mosaic_ = true;
    } else if (StepOf<T>::kNeedsBoxes && mosaic_) {
      RefuseTransform(StepName(op) + " looks at the boxes of one image; put it before Mosaic");
    }
    if (StepOf<T>::kSwapsSides && known_ && known_->width != known_->height) {
      RefuseTransform(StepName(op) +
                      " needs square images; put a crop or resize to a square before it");
    }
    if (StepOf<T>::MayPad(op, known_)) {
      if (!warping_.empty() && KindOf(op) != warp_border_) RefuseKinds(StepName(op));
      Pad(op);
    }
    if (StepOf<T>::kWarps) {
      warping_ = StepName(op);
      warp_border_ = KindOf(op);
    }
    if (const auto size = ExtentOf(op)) {
      known_ = size;
      sizing_.clear();
    } else if (StepOf<T>::kDrawsSize) {
      known_.reset();
      sizing_ = StepName(op);
    } else if (known_) {
      Framing framing(known_->width, known_->height, 0, 0);
      framing.Apply(op);
      known_ = {framing.width(), framing.height()};
    }
  }
  const std::optional<PictureExtent>& known() const noexcept { return known_; }
  // The step whose draws decide the size of the result; empty if no step draws it.
  const std::string& sizing() const noexcept { return sizing_; }

 private:
  struct Kind {
    Border border = Border::kConstant;
    std::array<std::uint8_t, 3> fill = {0, 0, 0};
    friend bool operator==(const Kind&, const Kind&) = default;
  };

  template <class T>
  static Kind KindOf(const T& op) {
    Kind kind;
    if constexpr (requires { op.fill; }) kind.fill = op.fill;
    if constexpr (HasBorder<T>) kind.border = op.border;
    // A reflected border has no colour, so two of them are of one kind whatever their `fill`.
    if (kind.border == Border::kReflect) kind.fill = {};
    return kind;
  }
  [[noreturn]] void RefuseKinds(const std::string& second) const {
    RefuseTransform(
        (bordering_.empty() ? warping_ : bordering_) + " and " + second +
        " may add borders of different kinds, but an image can have only one; give "
        "them the same border and fill (Mosaic and Letterbox have 114, the others 0), or "
        "crop so that no border is needed");
  }
  // Refuses a step whose border differs from that of the steps so far.
  template <class T>
  void RequireBorder(const T& op) const {
    if (border_ && *border_ != KindOf(op)) RefuseKinds(StepName(op));
    if (!warping_.empty() && warp_border_ != KindOf(op)) RefuseKinds(StepName(op));
  }
  template <class T>
  void Pad(const T& op) {
    const Kind kind = KindOf(op);
    if (border_ && (*border_ != kind || kind.border == Border::kReflect)) RefuseKinds(StepName(op));
    border_ = kind;
    bordering_ = StepName(op);
    reflected_ = kind.border == Border::kReflect;
  }

  std::optional<PictureExtent> known_;  // the size of the result, if the same for every picture
  std::optional<Kind> border_;
  std::string bordering_;  // the step that may add the border
  std::string warping_;    // the step that adds a second pass
  Kind warp_border_;       // what the warp leaves empty
  std::string sizing_;
  bool reflected_ = false;
  bool mosaic_ = false;
};

// Calls `declared` with the declaration of a geometric step, and the step; returns false for other
// steps.
template <class Declared>
bool OfGeometricStep(const Transform& step, const Declared& declared) {
  return std::visit(
      [&]<class Step>(const Step& op) {
        if constexpr (StepOf<Step>::kKind == StepKind::kGeometric) {
          return bool(declared(StepOf<Step>{}, op));
        } else {
          return false;
        }
      },
      step);
}

bool NeedsBoxes(const Transform& step) noexcept {
  return OfGeometricStep(step, []<class Of>(Of, const auto&) { return Of::kNeedsBoxes; });
}

}  // namespace

Geometry::Geometry(const std::vector<PipelineStage>& stages) {
  for (const PipelineStage& from : stages) {
    if (from.steps.size() > 256) RefuseTransform("a pipeline can have at most 256 steps");
    Period& stage = stages_.emplace_back();
    stage.epoch = from.epoch;
    stage.every = from.every;
    stage.choices = from.choices;
    stage.row_choice = from.row_choice;
    std::ranges::copy_if(from.steps, std::back_inserter(stage.pipeline), IsGeometric);
    OrderCheck order;
    for (const Transform& step : stage.pipeline) {
      CheckParameters(step);
      std::visit(
          [&order]<class Step>(const Step& op) {
            if constexpr (StepOf<Step>::kKind == StepKind::kGeometric) order.Follow(op);
          },
          step);
      if (SwapsSides(step)) swapping_step_ = StepName(step);
      if (Warps(step)) warping_step_ = StepName(step);
      if (NeedsBoxes(step)) boxes_step_ = StepName(step);
    }
    stage.fixed = order.known();
    stage.sizing_step = order.sizing();
    stage.parts = MostPartsOf(stage.pipeline);
    if (from.size && stage.fixed != from.size) {
      RefuseTransform(
          "LoaderOptions::sizes needs a step with a width and height, such as "
          "RandomResizedCrop(224), and no ResizeShortSide after it");
    }
  }
}

bool Geometry::empty() const noexcept {
  return std::ranges::all_of(stages_, [](const Period& stage) { return stage.pipeline.empty(); });
}

std::pair<std::size_t, std::size_t> Geometry::ChoicesIn(std::uint64_t epoch) const noexcept {
  // Those that begin last, at or before the epoch. The first begins at 0, so there is always one.
  const auto after = std::ranges::upper_bound(stages_, epoch, {}, &Period::epoch);
  const auto begun = std::ranges::lower_bound(stages_, (after - 1)->epoch, {}, &Period::epoch);
  return {static_cast<std::size_t>(begun - stages_.begin()),
          static_cast<std::size_t>(after - begun)};
}

std::size_t Geometry::StageOf(std::uint64_t epoch, std::uint64_t draw_seed, std::uint64_t batch,
                              std::optional<std::uint32_t> size) const {
  const auto [first, count] = ChoicesIn(epoch);
  const std::size_t lists = stages_[first].choices;
  if (size) {
    if (*size < count / lists) return first + lists * *size;
    throw Error(ErrorCode::kInvalidArgument, "",
                "epoch " + std::to_string(epoch) + ", batch " + std::to_string(batch),
                "LoaderOptions::order.batches gave size " + std::to_string(*size) +
                    ", counted from 0, and LoaderOptions::sizes has " +
                    std::to_string(count / lists) + " for that epoch");
  }
  if (count == lists) return first;
  RandomStream draws(draw_seed, Purpose::kOutputSize, batch / stages_[first].every);
  return first + lists * static_cast<std::size_t>(draws.Below(count / lists));
}

Frame Geometry::FrameFor(std::uint32_t width, std::uint32_t height, std::uint64_t draw_seed,
                         std::uint64_t position, std::size_t stage, PictureBoxes* boxes,
                         std::uint16_t part) const {
  Framing framing(width, height, draw_seed, position, boxes, DrawnSize::kDrawn, part);
  for (const Transform& step : stages_[stage].pipeline)
    framing.Apply(step);
  framing.Finish();
  return framing.frame();
}

PictureExtent Geometry::SizeFor(const Extent& picture, std::size_t stage, DrawnSize sizes) const {
  Framing framing(picture.width, picture.height, 0, 0, nullptr, sizes);
  for (const Transform& step : stages_[stage].pipeline)
    framing.Apply(step);
  return {framing.width(), framing.height()};
}

std::uint64_t DrawSeed(std::uint64_t seed, std::uint64_t epoch, std::uint16_t view) noexcept {
  return RandomStream(seed, Purpose::kTransform, epoch, view).Word64();
}

std::vector<OutputSize> SizesByBatch(const std::vector<std::uint32_t>& sides, std::uint32_t every,
                                     std::uint64_t epoch) {
  if (sides.empty() || every == 0) {
    throw Error(ErrorCode::kInvalidArgument,
                "SizesByBatch needs at least one side, and a number of batches above 0");
  }
  std::vector<OutputSize> sizes;
  for (const std::uint32_t side : sides)
    sizes.push_back({epoch, side, side, every});
  return sizes;
}

std::vector<OutputSize> ProgressiveSizes(std::uint32_t low, std::uint32_t high, std::uint64_t begin,
                                         std::uint64_t end, std::uint32_t multiple) {
  if (begin >= end || multiple == 0) {
    throw Error(ErrorCode::kInvalidArgument,
                "ProgressiveSizes needs begin < end and a multiple of 1 or more");
  }
  if (std::min(low, high) == 0 || std::max(low, high) > kMaxImageSide) {
    throw Error(ErrorCode::kInvalidArgument, "ProgressiveSizes needs sides of 1 to 65535 pixels");
  }
  if (std::min(low, high) <= multiple / 2) {  // it would be rounded to 0
    throw Error(ErrorCode::kInvalidArgument,
                "ProgressiveSizes makes sides that are multiples of " + std::to_string(multiple) +
                    ", and " + std::to_string(std::min(low, high)) +
                    " is nearer to 0; the least side is " + std::to_string(multiple / 2 + 1) +
                    ", or give another multiple");
  }
  const auto side_of = [&](std::uint64_t epoch) {
    const double share = epoch <= begin ? 0 : double(epoch - begin) / double(end - begin);
    const double units = (low + share * (double(high) - low)) / multiple;
    auto whole = static_cast<std::uint32_t>(units);
    const double rest = units - whole;
    if (rest > 0.5 || (rest == 0.5 && whole % 2 == 1)) ++whole;
    return whole * multiple;
  };
  // The side only grows or only shrinks, so a binary search finds the epoch of the next change.
  std::vector<OutputSize> sizes = {{0, side_of(0), side_of(0)}};
  while (sizes.back().width != side_of(end)) {
    const std::uint32_t side = sizes.back().width;
    std::uint64_t same = sizes.back().epoch, other = end;
    while (other - same > 1) {
      const std::uint64_t middle = same + (other - same) / 2;
      (side_of(middle) == side ? same : other) = middle;
    }
    sizes.push_back({other, side_of(other), side_of(other)});
  }
  return sizes;
}

std::uint16_t MostPartsOf(const Pipeline& steps) noexcept {
  std::uint16_t most = 1;
  for (const Transform& step : steps) {
    if (OfGeometricStep(step, []<class Of>(Of, const auto&) { return Of::kMosaic; }))
      most = kMostParts;
    if (const auto* const choice = std::get_if<RandomChoice>(&step))
      for (const Pipeline& list : choice->transforms)
        most = std::max(most, MostPartsOf(list));
  }
  return most;
}

bool Turns(const Transform& step) noexcept {
  return OfGeometricStep(step, []<class Of>(Of, const auto&) { return Of::kTurns; });
}

bool SwapsSides(const Transform& step) noexcept {
  return OfGeometricStep(step, []<class Of>(Of, const auto&) { return Of::kSwapsSides; });
}

bool Warps(const Transform& step) noexcept {
  return OfGeometricStep(step, []<class Of>(Of, const auto&) { return Of::kWarps; });
}

bool ChoosesRegion(const Transform& step) noexcept {
  return OfGeometricStep(
      step, []<class Of>(Of, const auto& op) { return Of::kWarps && Of::ChoosesRegion(op); });
}

bool DrawsPart(const Transform& step) noexcept {
  return OfGeometricStep(step, []<class Of>(Of, const auto&) {
    return requires {
      Of::kDraws;
    }
    &&!Of::kTurns && !Of::kWarps;
  });
}

}  // namespace sluice
