// Steps that make numbers of pixels and labels, or mix the samples of a batch.
#pragma once

#include "reader/transform/batch_mix.h"
#include "reader/transform/step.h"

namespace sluice {

template <>
struct StepOf<RandomChoice> : AnyStep {
  static constexpr StepKind kKind = StepKind::kChoice;
  static constexpr const char* kName = "RandomChoice";
  static constexpr const char* kText = "choice";
  static constexpr std::uint16_t kDraws = kChoiceDraws;
  static constexpr const char* kRuns = "one of the lists, drawn for each row";
  static void List(RandomChoice& op, ParameterList& list) { list.Lists(op.transforms, op.p); }
};

// NumberTable (number_table.h) runs this step and checks its parameters.
template <>
struct StepOf<Normalize> : AnyStep {
  static constexpr const char* kName = "Normalize";
  static constexpr const char* kText = "normalize";
  static constexpr StepKind kKind = StepKind::kNumbers;
  static constexpr const char* kRuns = "while the row is written";
  static void List(Normalize& op, ParameterList& list) {
    list.Channels("mean", op.mean);
    list.Channels("deviation", op.deviation);
    list.Choice(op.type, {{"f32", "float32"}, {"f16", "float16"}, {"bf16", "bfloat16"}});
  }
  // The meaning of "normalize" as text: ImageNet's mean and deviation, the usual ones.
  static Normalize AsWritten() {
    return Normalize({0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F});
  }
};

// BatchProgram runs this step, and checks that the dataset has what it needs.
template <>
struct StepOf<OneHot> : BatchStep {
  static constexpr const char* kName = "OneHot";
  static constexpr const char* kText = "onehot[:smoothing]";
  static constexpr const char* kRuns = "for each sample, next to its label";
  static void List(OneHot& op, ParameterList& list) {
    list.Whole("classes", op.classes, 0, 65536, Shown::kIfUnusual);
    list.Number("smoothing", op.smoothing, AtLeast(0, 1), Shown::kNamed);
    list.Name("of", op.label);
    list.Name("as", op.field);
  }
};

template <>
struct StepOf<MixUp> : BatchStep {
  static constexpr const char* kName = "MixUp";
  static constexpr const char* kText = "mixup[:alpha[/probability]]";
  static constexpr std::uint8_t kDraws = 1;
  static void List(MixUp& op, ParameterList& list) {
    list.Number("alpha", op.alpha, Above(0, 100));
    list.Chance(op.probability);
  }

  static MixStep Mix(const MixUp& op) {
    return {MixKind::kBlend, op.alpha, op.probability, kDraws};
  }
};

template <>
struct StepOf<CutMix> : BatchStep {
  static constexpr const char* kName = "CutMix";
  static constexpr const char* kText = "cutmix[:alpha[/probability]]";
  static constexpr std::uint8_t kDraws = 2;
  static void List(CutMix& op, ParameterList& list) {
    list.Number("alpha", op.alpha, Above(0, 100));
    list.Chance(op.probability);
  }

  static MixStep Mix(const CutMix& op) { return {MixKind::kCut, op.alpha, op.probability, kDraws}; }
};

template <>
struct StepOf<CopyPaste> : BatchStep {
  static constexpr const char* kName = "CopyPaste";
  static constexpr const char* kText = "copypaste[:probability]";
  static constexpr std::uint8_t kDraws = 3;
  static void List(CopyPaste& op, ParameterList& list) {
    list.Chance(op.probability);
    list.Flag("flip", op.flip);
  }

  static MixStep Mix(const CopyPaste& op) {
    return {MixKind::kPaste, 1, op.probability, kDraws, op.flip};
  }
};

}  // namespace sluice
