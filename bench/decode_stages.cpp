// What each stage of our decoder costs: the whole path with its last stages taken out one by one,
// by sets of kernels in which they do nothing.
#include "bench/decode_task.h"
#include "format/pixels/baseline/decoder.h"
#include "format/pixels/planar.h"

namespace sluice::bench {

namespace {

bool EntropyAlone(const kernels::SegmentJob& job) {
  kernels::SegmentJob entropy = job;
  entropy.transform = false;
  return kernels::Chosen().decode_segment(entropy);
}

bool NoSegment(const kernels::SegmentJob&) {
  return true;
}
void NoWeights(const kernels::WeightJob&) {}
void NoSum(const kernels::LineSum&, std::size_t, std::uint8_t*) {}
void NoTransposition(const std::uint8_t*, std::size_t, std::size_t, std::size_t, std::uint8_t*,
                     std::size_t) {}
void NoColour(const std::uint8_t*, const std::uint8_t*, const std::uint8_t*, std::size_t,
              std::uint8_t*) {}

// The path up to a stage.
class UpTo : public DecodeVariant {
 public:
  UpTo(const kernels::Kernels& set, bool planes) : set_(set), planes_(planes) {}

  void Decode(const DecodeItem& item, std::uint8_t* rgb) override {
    decoder_.Decode(item.payload.bytes, item.payload.width, item.payload.height, item.region);
    if (!planes_) return;
    planar_.Run(decoder_.planes(), decoder_.components(), item.region,
                {rgb, 3, PixelOrder::kInterleaved});
  }

 private:
  kernels::Kernels set_;
  baseline::Decoder decoder_{set_};
  PlanarResampler planar_{set_};
  bool planes_;
};

}  // namespace

std::vector<NamedVariant> DecodeStages() {
  kernels::Kernels set = kernels::Chosen();
  std::vector<NamedVariant> stages;
  const auto add = [&](const char* name, const char* description, bool planes) {
    stages.insert(stages.begin(), {name, description, std::make_unique<UpTo>(set, planes)});
  };
  add("colour", "planes to RGB", true);
  set.to_rgb = NoColour;
  add("resize", "both passes and the transposition", true);
  set.sum_lines = NoSum;
  set.transpose = NoTransposition;
  add("weights", "what each output pixel takes of which samples", true);
  set.make_weights = NoWeights;
  add("transform", "inverse DCT", false);
  set.decode_segment = EntropyAlone;
  add("entropy", "Huffman decoding, skipping included", false);
  set.decode_segment = NoSegment;
  add("parse", "header, restart markers, stuffed bytes", false);
  return stages;
}

}  // namespace sluice::bench
