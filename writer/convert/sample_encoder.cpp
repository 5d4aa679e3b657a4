#include "writer/convert/sample_encoder.h"

#include <sluice/error.h>

#include "format/disk/file.h"
#include "format/disk/limits.h"
#include "writer/encode/jpeg.h"
#include "writer/encode/keep.h"
#include "writer/fit/fit_picture.h"
#include "writer/shard_writer.h"
#include "writer/source/jpeg_source.h"
#include "writer/source/png_source.h"
#include "writer/source/sniff.h"

namespace sluice {

namespace {

constexpr std::uint64_t kMaxSourceBytes = 1'073'741'824;
constexpr std::size_t kImageField = 0;
constexpr std::size_t kLabelField = 1;

// The size of a picture of this stored size once it is upright.
Geometry FitUpright(std::uint32_t stored_width, std::uint32_t stored_height,
                    Orientation orientation, const ConvertOptions& options) {
  return orientation.transposed ? FitGeometry(stored_height, stored_width, options)
                                : FitGeometry(stored_width, stored_height, options);
}

// Reasons go into tables and JSON, and their number of bytes is planned for.
std::string ToReason(const std::string& sentence) {
  std::string reason = sentence.substr(0, kMaxReasonBytes);
  for (char& c : reason) {
    if (c < ' ' || c > '~' || c == '"' || c == '\\') c = '?';
  }
  return reason;
}

}  // namespace

Schema ConvertedSchema(const SourceList& sources) {
  Schema schema{{Field::Image()}};
  if (sources.labelled) schema.fields.push_back(Field::Label("label", sources.classes));
  return schema;
}

SampleEncoder::SampleEncoder(const std::filesystem::path& folder, const ConvertOptions& options,
                             const Schema& schema, std::uint64_t header_bytes,
                             std::uint64_t reserve_bytes)
    : folder_(folder),
      options_(options),
      schema_(schema),
      layout_(schema),
      header_bytes_(header_bytes),
      reserve_bytes_(reserve_bytes) {}

Outcome SampleEncoder::Encode(const Source& source) {
  Outcome outcome;
  try {
    EncodeImage(source, outcome);
    CheckLimits(outcome.sample, schema_, layout_, header_bytes_, reserve_bytes_);
  } catch (const Error& error) {
    outcome = Outcome{};
    outcome.reason = ToReason(error.sentence());
  }
  return outcome;
}

void SampleEncoder::EncodeImage(const Source& source, Outcome& outcome) {
  outcome.sample.key = source.key;
  outcome.sample.fields.resize(schema_.fields.size());
  if (schema_.fields.size() > kLabelField) {
    const Bytes label = std::as_bytes(std::span(&source.label, 1));
    outcome.sample.fields[kLabelField].bytes.assign(label.begin(), label.end());
  }
  ReadFile(folder_ / source.key, kMaxSourceBytes, file_);
  if (file_.size() != source.bytes) {
    throw Error(ErrorCode::kIo, "changed its size from " + std::to_string(source.bytes) + " to " +
                                    std::to_string(file_.size()) +
                                    " bytes since the conversion was planned");
  }
  switch (Sniff(file_).kind) {
    case ImageKind::kJpeg: return EncodeFromJpeg(outcome);
    case ImageKind::kPng: return EncodeFromPng(outcome);
    case ImageKind::kNone:
    case ImageKind::kUnsupported: break;
  }
  throw Error(ErrorCode::kIo, "was a JPEG or PNG image when the folder was read and is none now");
}

void SampleEncoder::CheckPixels(std::uint32_t width, std::uint32_t height) const {
  if (width == 0 || height == 0) {
    throw Error(ErrorCode::kCorrupt, "broken: its header says that it has no pixels");
  }
  if (std::uint64_t{width} * height > options_.max_pixels) {
    throw Error(ErrorCode::kLimit, "has " + std::to_string(width) + "x" + std::to_string(height) +
                                       " pixels, more than the " +
                                       std::to_string(options_.max_pixels) + " of max_pixels");
  }
}

void SampleEncoder::EncodeFromJpeg(Outcome& outcome) {
  for (const std::uint8_t byte : {0xFF, 0xD9})
    file_.push_back(std::byte{byte});
  JpegSource source(file_);
  CheckPixels(source.width(), source.height());
  const Geometry geometry =
      FitUpright(source.width(), source.height(), source.orientation(), options_);
  FieldValue& value = outcome.sample.fields[kImageField];
  if (options_.keep && geometry.unchanged) {
    if (std::optional<KeptJpeg> kept = KeepJpeg(file_, options_)) {
      value.bytes = std::move(kept->file);
      value.codec = Codec::kJpeg;
      value.width = kept->width;
      value.height = kept->height;
      value.channels = kept->channels;
      outcome.kept = true;
      return;
    }
  }
  Store(jpeg_fitter_.Fit(source, file_, options_.channels, geometry), value);
}

void SampleEncoder::EncodeFromPng(Outcome& outcome) {
  PngSource source(file_);
  CheckPixels(source.width(), source.height());
  Picture picture = source.Decode(options_.channels);
  const Geometry geometry =
      FitUpright(source.width(), source.height(), source.orientation(), options_);
  Store(FitPicture(std::move(picture), 1, source.width(), source.height(), source.orientation(),
                   geometry, resampler_),
        outcome.sample.fields[kImageField]);
}

void SampleEncoder::Store(Picture picture, FieldValue& value) const {
  if (picture.channels == 1 && options_.channels == 3) picture = GreyToRgb(picture);
  value.width = picture.width;
  value.height = picture.height;
  value.channels = static_cast<std::uint8_t>(picture.channels);
  if (options_.image == ImageCodec::kJpeg) {
    value.codec = Codec::kJpeg;
    value.bytes = EncodeJpeg(picture, options_);
    return;
  }
  if (std::max(picture.width, picture.height) > kMaxImageSide ||
      picture.pixels.size() > kMaxPayloadBytes) {
    throw Error(ErrorCode::kLimit, "takes " + std::to_string(picture.pixels.size()) +
                                       " bytes as raw pixels (" + std::to_string(picture.width) +
                                       "x" + std::to_string(picture.height) +
                                       "), more than can be stored; make it smaller");
  }
  value.codec = Codec::kRaw;
  const Bytes pixels = std::as_bytes(std::span(picture.pixels));
  value.bytes.assign(pixels.begin(), pixels.end());
}

}  // namespace sluice
