// The ways of decoding that `sluice-bench decode` compares.
//
// Three parts: whole ways (our decoder with each set of kernels, libjpeg-turbo's own features,
// FFCV's way); our decoders up to each of their stages, where the later stages are replaced by
// functions that do nothing, so that differences of times are the stages' costs; and the reference,
// computed by definition in double precision, against which the pixels of all ways are judged.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <turbojpeg.h>

#include <sluice/error.h>

#include "bench/parts/decode.h"
#include "format/pixels/baseline/scan_decoder.h"
#include "format/pixels/jpeg.h"
#include "format/pixels/packed/decoder.h"
#include "format/pixels/planar.h"
#include "format/pixels/resample.h"

#ifdef SLUICE_HAVE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#endif

namespace sluice::bench {

namespace {

[[noreturn]] void Fail(const char* what) {
  throw Error(ErrorCode::kCorrupt, what);
}

#ifdef SLUICE_HAVE_OPENCV
// FFCV's way: decodes the whole frame by TurboJPEG with its fast transform, then resizes the crop
// by OpenCV's area filter. FFCV mirrors in a separate pass, which is left out in its favour.
class WholeThenArea : public DecodeVariant {
 public:
  WholeThenArea() : handle_(tjInitDecompress(), tjDestroy) { cv::setNumThreads(1); }

  void Decode(const DecodeItem& item, std::uint8_t* rgb) override {
    const auto width = static_cast<int>(item.payload.width);
    const auto height = static_cast<int>(item.payload.height);
    frame_.create(height, width, CV_8UC3);
    const auto* const file = reinterpret_cast<const unsigned char*>(item.payload.bytes.data());
    if (tjDecompress2(handle_.get(), file, item.payload.bytes.size(), frame_.data, width, 0, height,
                      TJPF_RGB, TJFLAG_FASTDCT) != 0) {
      Fail(tjGetErrorStr2(handle_.get()));
    }
    const cv::Rect crop(
        static_cast<int>(item.region.x.start), static_cast<int>(item.region.y.start),
        static_cast<int>(item.region.x.length), static_cast<int>(item.region.y.length));
    cv::Mat target(static_cast<int>(item.region.y.out), static_cast<int>(item.region.x.out),
                   CV_8UC3, rgb);
    cv::resize(frame_(crop), target, target.size(), 0, 0, cv::INTER_AREA);
  }

 private:
  std::unique_ptr<void, int (*)(tjhandle)> handle_;
  cv::Mat frame_;
};
#endif

// libjpeg-turbo's own features: skipped rows, cropped columns, a reduced transform. Converts to RGB
// first, then resizes by our code.
class LibjpegPartial : public DecodeVariant {
 public:
  void Decode(const DecodeItem& item, std::uint8_t* rgb) override {
    const Span& x = item.region.x;
    const Span& y = item.region.y;
    JpegWindow window{x.bound, y.bound, x.bound_length, y.bound_length, 1, 3};
    while (window.reduction < 8 && x.length >= 2.0 * window.reduction * x.out &&
           y.length >= 2.0 * window.reduction * y.out) {
      window.reduction *= 2;
    }
    JpegPart part;
    if (const Defect defect = decoder_.Decode(item.payload.bytes, item.payload.width,
                                              item.payload.height, window, part)) {
      Fail(defect);
    }
    const double r = part.reduction;
    resampler_.Resample({part.pixels, part.stride, part.width, part.height, 3},
                        {x.start / r - part.left, x.length / r, x.out, item.region.flip},
                        {y.start / r - part.top, y.length / r, y.out, false},
                        {rgb, std::size_t{x.target} * 3});
  }

 private:
  JpegDecoder decoder_;
  Resampler resampler_;
};

// libjpeg-turbo decodes to planes, which our code resizes before it converts colours: the way for
// files that our decoder does not decode.
class LibjpegPlanes : public DecodeVariant {
 public:
  void Decode(const DecodeItem& item, std::uint8_t* rgb) override {
    if (planes_.Decode(item.payload.bytes, item.payload.width, item.payload.height, item.region) !=
        JpegPlanes::Outcome::kDecoded) {
      Fail("libjpeg cannot give planes for this file");
    }
    planar_.Run(planes_.planes(), planes_.components(), item.region,
                {rgb, 3, PixelOrder::kInterleaved});
  }

 private:
  JpegPlanes planes_{kernels::Chosen()};
  PlanarResampler planar_{kernels::Chosen()};
};

// Our decoder of JPEGs. If `resample` is false, stops at the planes.
class Own : public DecodeVariant {
 public:
  Own(const kernels::Kernels& set, bool resample)
      : set_(set), decoder_(set_), planar_(set_), resample_(resample) {}

  void Decode(const DecodeItem& item, std::uint8_t* rgb) override {
    if (!decoder_.Decode(item.payload.bytes, item.payload.width, item.payload.height,
                         item.region)) {
      Fail("our decoder cannot read this file");
    }
    if (!resample_) return;
    planar_.Run(decoder_.planes(), decoder_.components(), item.region,
                {rgb, 3, PixelOrder::kInterleaved});
  }

 private:
  const kernels::Kernels set_;
  baseline::Decoder decoder_;
  PlanarResampler planar_;
  bool resample_;
};

// Our decoder of packed images. Decodes a picture that has no packed form as a JPEG.
class Packed : public DecodeVariant {
 public:
  explicit Packed(const kernels::Kernels& set) : decoder_(set), planar_(set), jpeg_(set, true) {}

  void Decode(const DecodeItem& item, std::uint8_t* rgb) override {
    if (item.packed.codec != Codec::kPacked) {
      jpeg_.Decode(item, rgb);
      return;
    }
    if (const Defect defect = decoder_.Decode(item.packed, 3, item.region)) Fail(defect);
    planar_.Run(decoder_.planes(), decoder_.components(), item.region,
                {rgb, 3, PixelOrder::kInterleaved});
  }

 private:
  packed::Decoder decoder_;
  PlanarResampler planar_;
  Own jpeg_;
};

}  // namespace

std::vector<NamedVariant> DecodeVariants() {
  std::vector<NamedVariant> variants;
  const auto add = [&](std::string name, std::string description,
                       std::unique_ptr<DecodeVariant> variant) {
    variants.push_back({std::move(name), std::move(description), std::move(variant)});
  };
#ifdef SLUICE_HAVE_OPENCV
  add("ffcv", "FFCV's way: whole frame, fast DCT, INTER_AREA", std::make_unique<WholeThenArea>());
#endif
  add("libjpeg", "libjpeg-turbo in part, our resize of RGB", std::make_unique<LibjpegPartial>());
  add("planes", "libjpeg-turbo to planes, our resize", std::make_unique<LibjpegPlanes>());
  const kernels::KernelList list = kernels::Available();
  for (std::size_t i = 0; i < list.count; ++i) {
    const std::string set = list.sets[i]->name;
    add("own-" + set, "our decoder, " + set, std::make_unique<Own>(*list.sets[i], true));
  }
  for (std::size_t i = 0; i < list.count; ++i) {
    const std::string set = list.sets[i]->name;
    add("packed-" + set, "packed images, " + set, std::make_unique<Packed>(*list.sets[i]));
  }
  const kernels::Kernels& best = *list.sets[list.count - 1];
  kernels::Kernels serial = best;
  serial.strands_pay = false;
  add("own-serial", std::string("our decoder, ") + best.name + ", one restart interval at a time",
      std::make_unique<Own>(serial, true));
  add("to-planes", std::string("our decoder, ") + best.name + ", without resize and colour",
      std::make_unique<Own>(best, false));
  return variants;
}

// The cost of each stage of our decoder: the whole path with its last stages removed one by one, by
// sets of kernels in which those stages do nothing.

namespace {

bool EntropyAlone(const kernels::SegmentJob& job) {
  kernels::SegmentJob entropy = job;
  entropy.transform = false;
  return kernels::Chosen().decode_segment(entropy);
}

void FinishWithoutTransform(const kernels::SegmentJob& job, const kernels::BlockRun& run) {
  kernels::SegmentJob entropy = job;
  entropy.transform = false;
  kernels::Chosen().finish_blocks(entropy, run);
}

bool NoSegment(const kernels::SegmentJob&) {
  return true;
}

bool UnpackingAlone(const kernels::PackedLineJob& job) {
  kernels::PackedLineJob unpacking = job;
  unpacking.transform = false;
  return kernels::Chosen().unpack_line(unpacking);
}

bool NoRow(const kernels::PackedLineJob&) {
  return true;
}
void NoWeights(const kernels::WeightJob&) {}
void NoSum(const kernels::LineSum&, std::size_t, std::uint8_t*) {}
void NoTransposition(const std::uint8_t*, std::size_t, std::size_t, std::size_t, std::uint8_t*,
                     std::size_t) {}
void NoColour(const std::uint8_t*, const std::uint8_t*, const std::uint8_t*, std::size_t,
              std::uint8_t*) {}

// Our decoder up to a given stage.
class UpTo : public DecodeVariant {
 public:
  // If `resample` is false, stops at the planes.
  UpTo(const kernels::Kernels& set, bool packed, bool resample)
      : set_(set), of_packed_(packed), resample_(resample) {}

  void Decode(const DecodeItem& item, std::uint8_t* rgb) override {
    if (of_packed_ && item.packed.codec == Codec::kPacked) {
      packed_.Decode(item.packed, 3, item.region);
      if (resample_) Resample(packed_, item.region, rgb);
    } else {
      jpeg_.Decode(item.payload.bytes, item.payload.width, item.payload.height, item.region);
      if (resample_) Resample(jpeg_, item.region, rgb);
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
  bool of_packed_, resample_;
};

}  // namespace

std::vector<NamedVariant> DecodeStages(bool packed) {
  kernels::Kernels set = kernels::Chosen();
  std::vector<NamedVariant> stages;
  const auto add = [&](const char* name, const char* description, bool resample) {
    stages.insert(stages.begin(),
                  {name, description, std::make_unique<UpTo>(set, packed, resample)});
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
    set.unpack_line = UnpackingAlone;
    set.decode_segment = EntropyAlone;
    set.finish_blocks = FinishWithoutTransform;
    add("unpacking", "masks, and values of 4 and more bits to bytes", false);
    set.unpack_line = NoRow;
    set.decode_segment = NoSegment;
    set.strands_pay = false;
    add("parse", "header and rows' places", false);
  } else {
    set.decode_segment = EntropyAlone;
    set.finish_blocks = FinishWithoutTransform;
    add("entropy", "Huffman decoding, skipping included", false);
    set.decode_segment = NoSegment;
    set.strands_pay = false;
    add("parse", "header, restart markers, stuffed bytes", false);
  }
  return stages;
}

namespace {

// The weights that the filter, by definition, gives the input pixels of the span's bound for output
// pixel i.
std::vector<double> WeightsOf(const Span& span, Filter filter, std::uint32_t i) {
  const double scale = span.length / span.out;
  const double reach = std::max(1.0, scale);
  const double centre = span.start - span.bound + (i + 0.5) * scale;
  std::vector<double> weights(span.bound_length);
  double sum = 0;
  for (std::uint32_t s = 0; s < span.bound_length; ++s) {
    const double distance = std::fabs(s + 0.5 - centre);
    const bool overlap = filter == Filter::kArea && scale > 1;
    weights[s] = overlap ? std::clamp((scale + 1) / 2 - distance, 0.0, 1.0)
                         : std::max(0.0, 1 - distance / reach);
    sum += weights[s];
  }
  for (double& weight : weights)
    weight /= sum;
  return weights;
}

}  // namespace

std::vector<double> ReferencePixels(const DecodeItem& item) {
  const Span& x = item.region.x;
  const Span& y = item.region.y;
  JpegDecoder decoder;
  JpegPart part;
  if (const Defect defect =
          decoder.Decode(item.payload.bytes, item.payload.width, item.payload.height,
                         {0, 0, item.payload.width, item.payload.height, 1, 3}, part)) {
    throw Error(ErrorCode::kCorrupt, defect);
  }
  // First in height, then in width: the first pass then leaves fewer rows for the second one.
  std::vector<double> lines(std::size_t{y.out} * x.bound_length * 3);
  for (std::uint32_t j = 0; j < y.out; ++j) {
    const std::vector<double> weights = WeightsOf(y, item.region.filter, j);
    double* const line = &lines[std::size_t{j} * x.bound_length * 3];
    for (std::uint32_t s = 0; s < y.bound_length; ++s) {
      if (weights[s] == 0) continue;
      const std::uint8_t* const row =
          part.pixels + (std::size_t{y.bound} + s) * part.stride + std::size_t{x.bound} * 3;
      for (std::size_t v = 0; v < std::size_t{x.bound_length} * 3; ++v)
        line[v] += weights[s] * row[v];
    }
  }
  std::vector<double> pixels(std::size_t{y.out} * x.out * 3);
  for (std::uint32_t i = 0; i < x.out; ++i) {
    const std::vector<double> weights = WeightsOf(x, item.region.filter, i);
    const std::uint32_t place = item.region.flip ? x.out - 1 - i : i;
    for (std::uint32_t j = 0; j < y.out; ++j) {
      double* const pixel = &pixels[(std::size_t{j} * x.out + place) * 3];
      const double* const line = &lines[std::size_t{j} * x.bound_length * 3];
      for (std::uint32_t s = 0; s < x.bound_length; ++s) {
        if (weights[s] == 0) continue;
        for (std::size_t c = 0; c < 3; ++c)
          pixel[c] += weights[s] * line[std::size_t{s} * 3 + c];
      }
    }
  }
  return pixels;
}

double PeakSignalToNoise(const std::vector<double>& reference,
                         const std::vector<std::uint8_t>& pixels) {
  double squares = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double difference = reference[i] - pixels[i];
    squares += difference * difference;
  }
  if (squares == 0) return 99;
  return 10 * std::log10(255.0 * 255.0 * static_cast<double>(reference.size()) / squares);
}

}  // namespace sluice::bench
