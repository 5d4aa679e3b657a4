// Steps of a pipeline for labels and whole batches: the last ones, after Normalize.
//
// OneHot adds a float32 field with one number for each class. MixUp and CutMix mix each sample with
// the previous one of the batch (the first with the last). They mix both the pixels and OneHot's
// field, and draw once for the whole batch. "The batch" is the rank's own: with another batch_size
// or world_size, the samples are the same, but they are mixed differently. The number of threads
// and a resume change nothing. Mixing is refused with several views.
//
// If boxes follow the image, each row draws for itself, boxes and instances are mixed with it
// (reader/TRANSFORMS.md, "Mixing boxes and masks"), and OneHot is not needed. A mask is cut by
// CutMix, and refused with MixUp. CopyPaste is for instances only.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace sluice {

// Adds a field with one number for each class: 1 for the class that the label names, else 0.
//
// A label of several integers (a variable-length field, or an array) names several classes, for
// losses such as binary cross-entropy. A class that is named twice counts once. A sample without
// labels gets no 1. In an array, -1 stands for no label. If the field follows an image (the classes
// of boxes), labels of dropped boxes do not count.
struct OneHot {
  std::size_t classes = 0;  // 0: as many as the label field has class names; at most 65536
  // Label smoothing (Szegedy et al. 2016), 0 to 1. Every class gets smoothing / classes, and the
  // classes that the label names get 1 - smoothing on top. So the numbers add up to 1 with one
  // label, to more with several labels, and to `smoothing` without labels.
  double smoothing = 0;
  // The label field, of one integer or several. Empty: Schema::LabelField(), which has one integer.
  // A sample with a label that is not below `classes` is a fault: see
  // LoaderOptions::integrity.on_fault.
  std::string label;
  std::string field = "target";  // the name of the batch's new field: Field<float>(field)
  OneHot() = default;
  explicit OneHot(std::size_t classes_, double smoothing_ = 0, std::string label_ = {},
                  std::string field_ = "target")
      : classes(classes_),
        smoothing(smoothing_),
        label(std::move(label_)),
        field(std::move(field_)) {}
  OneHot& with_smoothing(double value) { return smoothing = value, *this; }
};

// Replaces each sample by lambda x the sample + (1 - lambda) x its partner, which is the sample
// before it in the batch. Lambda is drawn from Beta(alpha, alpha) (Zhang et al. 2018). Needs OneHot
// before it, or boxes.
struct MixUp {
  double alpha = 0.2;      // > 0, at most 100
  double probability = 1;  // that a batch is mixed; with boxes, a row
  MixUp() = default;
  explicit MixUp(double alpha_, double p = 1) : alpha(alpha_), probability(p) {}
  MixUp& with_probability(double value) { return probability = value, *this; }
};

// Replaces a rectangle of each sample's pixels by the same rectangle of its partner, which is the
// sample before it in the batch (Yun et al. 2019). The rectangle has (1 - lambda) of the area, with
// lambda drawn from Beta(alpha, alpha). It may lie anywhere, and is cut off at the edges. Labels
// are mixed by the area that remains of the sample. Needs OneHot before it, or boxes or a mask.
struct CutMix {
  double alpha = 1;        // > 0, at most 100
  double probability = 1;  // that a batch is mixed; with boxes, a row
  CutMix() = default;
  explicit CutMix(double alpha_, double p = 1) : alpha(alpha_), probability(p) {}
  CutMix& with_probability(double value) { return probability = value, *this; }
};

// Pastes objects of the sample before it in the batch into each row: pixels, masks, boxes and their
// other fields (Ghiasi et al. 2021). Needs a field of instances, and is refused with OneHot. The
// rules are those of torchvision's reference script or, with `flip`, of Ultralytics: see reader/
// TRANSFORMS.md, "Pasting objects".
struct CopyPaste {
  // The chance that a row is pasted into. With `flip`: the share of the fitting objects that are
  // pasted.
  double probability = 0.5;
  bool flip = false;  // pastes the row's own objects, mirrored, where they hide little of others
  CopyPaste() = default;
  explicit CopyPaste(double p, bool flip_ = false) : probability(p), flip(flip_) {}
  CopyPaste& with_probability(double value) { return probability = value, *this; }
};

}  // namespace sluice
