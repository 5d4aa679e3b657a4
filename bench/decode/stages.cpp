// The cost of each stage of our decoder: the whole path with its last stages removed one by one, by
// sets of kernels in which those stages do nothing.
#include "bench/decode/task.h"
#include "format/pixels/baseline/decoder.h"
#include "format/pixels/packed/decoder.h"
#include "format/pixels/planar.h"

namespace sluice::bench {

namespace {

bool EntropyAlone(const kernels::SegmentJob& job) {
  kernels::SegmentJob entropy = job;
  entropy.transform = false;
  return kernels::Chosen().decode_segment(entropy);
}

void FinishNothing(const kernels::SegmentJob& job, const kernels::BlockRun& run) {
  kernels::SegmentJob entropy = job;
  entropy.transform = false;
  kernels::Chosen().finish_blocks(entropy, run);
}

bool NoSegment(const kernels::SegmentJob&) {
  return true;
}

bool UnpackingAlone(const kernels::PackedRowJob& job) {
  kernels::PackedRowJob unpacking = job;
  unpacking.transform = false;
  return kernels::Chosen().unpack_row(unpacking);
}

bool NoRow(const kernels::PackedRowJob&) {
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
  UpTo(const kernels::Kernels& set, bool packed, bool planes)
      : set_(set), of_packed_(packed), planes_(planes) {}

  void Decode(const DecodeItem& item, std::uint8_t* rgb) override {
    if (of_packed_ && item.packed.codec == Codec::kPacked) {
      packed_.Decode(item.packed, 3, item.region);
      if (planes_) Resample(packed_, item.region, rgb);
    } else {
      jpeg_.Decode(item.payload.bytes, item.payload.width, item.payload.height, item.region);
      if (planes_) Resample(jpeg_, item.region, rgb);
    }
  }

 private:
  template <class Decoder>
  void Resample(const Decoder& decoder, const Region& region, std::uint8_t* rgb) {
    planar_.Run(decoder.planes(), decoder.components(), region, {rgb, 3, PixelOrder::kInterleaved});
  }

  kernels::Kernels set_;
  baseline::Decoder jpeg_{set_};
  packed::Decoder packed_{set_};
  PlanarResampler planar_{set_};
  bool of_packed_, planes_;
};

}  // namespace

std::vector<NamedVariant> DecodeStages(bool packed) {
  kernels::Kernels set = kernels::Chosen();
  std::vector<NamedVariant> stages;
  const auto add = [&](const char* name, const char* description, bool planes) {
    stages.insert(stages.begin(), {name, description, std::make_unique<UpTo>(set, packed, planes)});
  };
  add("colour", "planes to RGB", true);
  set.to_rgb = NoColour;
  add("resize", "both passes and the transposition", true);
  set.sum_lines = NoSum;
  set.transpose = NoTransposition;
  add("weights", "the weights of samples for each output pixel", true);
  set.make_weights = NoWeights;
  add("transform", packed ? "coefficients to their places, inverse DCT" : "inverse DCT", false);
  if (packed) {
    set.unpack_row = UnpackingAlone;
    set.decode_segment = EntropyAlone;
    set.finish_blocks = FinishNothing;
    add("unpacking", "masks, and values of 4 and more bits to bytes", false);
    set.unpack_row = NoRow;
    set.decode_segment = NoSegment;
    set.strands_pay = false;
    add("parse", "header and rows' places", false);
  } else {
    set.decode_segment = EntropyAlone;
    set.finish_blocks = FinishNothing;
    add("entropy", "Huffman decoding, skipping included", false);
    set.decode_segment = NoSegment;
    set.strands_pay = false;
    add("parse", "header, restart markers, stuffed bytes", false);
  }
  return stages;
}

}  // namespace sluice::bench
