// Steps of a pipeline that concern labels and whole batches: the last ones, behind Normalize.
//
// OneHot adds a field to batches: float32 of as many numbers as there are classes. MixUp and CutMix
// mix each sample with the one before it in the batch (the first with the last), pixels and that
// field alike; what is drawn, is drawn for a batch. That is the rank's own batch: with another
// batch_size or world_size, the samples are the same and their mixtures others. Threads and
// resuming change nothing. Masks, boxes and key points of the image would no longer fit it: with
// them, and with several views, mixing is refused.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace sluice {

struct OneHot {
  std::size_t classes = 0;  // 0: as many as the label field has names
  // Shared out evenly among all classes (Szegedy et al. 2016): the label's own number is
  // 1 - smoothing + smoothing / classes, every other smoothing / classes.
  double smoothing = 0;
  // A field of one integer; empty: Schema::LabelField(). A sample whose label is not below
  // `classes` cannot be had: LoaderOptions::integrity.on_fault says what becomes of it.
  std::string label;
  std::string field = "target";  // what the batch's field is called: Field<float>(field)
  OneHot() = default;
  explicit OneHot(std::size_t count, double smooth = 0, std::string of = {},
                  std::string as = "target")
      : classes(count), smoothing(smooth), label(std::move(of)), field(std::move(as)) {}
  OneHot& with_smoothing(double value) { return smoothing = value, *this; }
};

// lambda x sample + (1 - lambda) x its partner, lambda drawn from Beta(alpha, alpha) (Zhang et al.
// 2018). Needs OneHot before it.
struct MixUp {
  double alpha = 0.2;      // > 0, at most 100
  double probability = 1;  // that a batch is mixed
  MixUp() = default;
  explicit MixUp(double both, double p = 1) : alpha(both), probability(p) {}
  MixUp& with_probability(double value) { return probability = value, *this; }
};

// A rectangle of the partner's pixels takes the place of the sample's own: of (1 - lambda) of the
// area, lambda from Beta(alpha, alpha), anywhere, cut off at the edges; labels are mixed by the
// area that was (Yun et al. 2019). Needs OneHot before it.
struct CutMix {
  double alpha = 1;
  double probability = 1;
  CutMix() = default;
  explicit CutMix(double both, double p = 1) : alpha(both), probability(p) {}
  CutMix& with_probability(double value) { return probability = value, *this; }
};

}  // namespace sluice
