#include "bench/convert_stages.h"

#include <algorithm>
#include <ctime>

#include <sluice/error.h>

#include "format/cpu.h"
#include "writer/encode/jpeg.h"
#include "writer/encode/keep.h"
#include "writer/fit/fit_picture.h"
#include "writer/fit/jpeg_fitter.h"
#include "writer/source/open.h"
#include "writer/source/pixel_source.h"

namespace sluice::bench {
namespace {

double ThreadMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

// What the encoder of samples does, with a clock between its steps.
class StageClock {
 public:
  StageClock(const SourceList& sources, const ConvertOptions& options)
      : sources_(sources), options_(options) {}

  void Convert(std::size_t source) {
    const double begin = ThreadMilliseconds();
    ReadImageFile(sources_, source, file_);
    const double read = ThreadMilliseconds();
    bool kept = false;
    const Picture picture = Decode(kept);
    const double decoded = ThreadMilliseconds();
    if (!kept && options_.image != ImageCodec::kRaw) EncodeJpeg(picture, options_);
    const double encoded = ThreadMilliseconds();
    ++stages_.images;
    stages_.read += read - begin;
    (kept ? stages_.encode : stages_.decode) += decoded - read;
    stages_.encode += encoded - decoded;
  }

  ConvertStages Mean() const {
    ConvertStages mean = stages_;
    if (mean.images == 0) return mean;
    for (double* const part : {&mean.read, &mean.decode, &mean.encode})
      *part /= static_cast<double>(mean.images);
    return mean;
  }

 private:
  FittedGeometry Fit(std::uint32_t width, std::uint32_t height, Orientation orientation) const {
    return orientation.transposed ? FitGeometry(height, width, options_)
                                  : FitGeometry(width, height, options_);
  }

  Picture Decode(bool& kept) {
    const ColorRules rules{options_.channels, options_.background, nullptr};
    const ImageKind kind = Sniff(file_).kind;
    Picture picture;
    if (kind == ImageKind::kJpeg) {
      file_.insert(file_.end(), {std::byte{0xFF}, std::byte{0xD9}});
      JpegSource source(file_);
      const FittedGeometry geometry = Fit(source.width(), source.height(), source.orientation());
      kept = options_.keep && geometry.unchanged && KeepJpeg(file_, options_).has_value();
      if (kept) return picture;
      picture = fitter_.Fit(source, file_, rules, geometry);
    } else {
      const std::unique_ptr<PixelSource> source = OpenPixels(kind, file_);
      if (std::uint64_t{source->width()} * source->height() > options_.max_pixels) {
        throw Error(ErrorCode::kLimit, "too large");
      }
      picture = source->Decode(rules);
      picture = FitPicture(
          std::move(picture), 1, source->width(), source->height(), source->orientation(),
          Fit(source->width(), source->height(), source->orientation()), resampler_);
    }
    return picture.channels == 1 && options_.channels == 3 ? GreyToRgb(picture) : picture;
  }

  const SourceList& sources_;
  const ConvertOptions& options_;
  std::vector<std::byte> file_;
  JpegFitter fitter_;
  Resampler resampler_;
  ConvertStages stages_;
};

}  // namespace

ConvertStages MeasureStages(const ConvertSource& source, const ConvertOptions& options,
                            std::uint64_t most, const std::stop_token& stop) {
  const SourceList sources = OpenSource(source, AvailableCpus(), stop);
  const std::uint64_t count = std::min<std::uint64_t>(most, sources.sources.size());
  StageClock clock(sources, options);
  for (std::uint64_t i = 0; i < count && !stop.stop_requested(); ++i) {
    try {
      clock.Convert(i * sources.sources.size() / count);
    } catch (const Error&) {
      continue;  // the conversion itself says what is wrong with it
    }
  }
  return clock.Mean();
}

}  // namespace sluice::bench
