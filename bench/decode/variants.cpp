#include <cstring>

#include <turbojpeg.h>

#include <sluice/error.h>

#include "bench/decode/task.h"
#include "format/pixels/baseline/decoder.h"
#include "format/pixels/jpeg.h"
#include "format/pixels/jpeg_planes.h"
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
// FFCV's way: the whole frame through TurboJPEG with its fast transform, then OpenCV's area resize
// of the crop. FFCV mirrors in a pass of its own, which is left out in its favour.
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

// libjpeg-turbo's own features: skipped rows, cropped columns, a reduced transform. First colours,
// then our resize of RGB.
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

// libjpeg-turbo to planes, our resize before colours: the way for files that our decoder does not
// decode.
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

// Our decoder; if `resample` is false, only as far as its planes.
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

// Our decoder of packed images.
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

}  // namespace sluice::bench
