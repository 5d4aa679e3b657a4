// A file's kind is detected from its content. A JPEG may keep its coefficients, or be recoded, or
// be resized plane by plane; all other images, and JPEGs that need it, go through pixels: colours
// to sRGB, orientation, size.
//
// ImageFileReader() at the end reads files for a server, which stores nothing. If the header of a
// JPEG shows that our own decoder reads it and that nothing turns it, the file's bytes are returned
// without a copy. All other files are encoded as by a conversion that keeps coefficients and sizes.
#include "writer/convert/image_encoder.h"

#include <algorithm>

#include <sluice/error.h>
#include <sluice/image_file.h>

#include "format/disk/limits.h"
#include "format/disk/system_error.h"
#include "writer/source/images/image_kinds.h"
#include "writer/source/images/sniff.h"

namespace sluice {

namespace {

constexpr std::size_t kImageField = 0;
constexpr std::uint16_t kQuarter = 65'536 / 4;  // of the range of 16-bit values

// The geometry of a picture of this stored size once it is upright.
FittedGeometry FitUpright(std::uint32_t stored_width, std::uint32_t stored_height,
                          Orientation orientation, const ConvertOptions& options) {
  return orientation.transposed ? FitGeometry(stored_height, stored_width, options)
                                : FitGeometry(stored_width, stored_height, options);
}

// The bytes of a JPEG whose decoding gives the pixels that a conversion with `keep` and no resizing
// stores; nullopt for all other files.
std::optional<Bytes> PlayablePicture(Bytes file, std::uint64_t max_pixels,
                                     baseline::Header& header) {
  const std::optional<Bytes> picture = UprightPicture(file);
  const bool playable = picture && baseline::ParseHeader(*picture, header) &&
                        std::uint64_t{header.width} * header.height <= max_pixels;
  return playable ? picture : std::nullopt;
}

}  // namespace

std::string ToReason(const std::string& sentence) {
  std::string reason = sentence.substr(0, kMaxReasonBytes);
  for (char& c : reason) {
    if (c == '"') c = '\'';
    if (c < ' ' || c > '~' || c == '\\') c = '?';
  }
  return reason;
}

void ImageEncoder::Encode(std::vector<std::byte>& file, Outcome& outcome) {
  const Sniffed sniffed = Sniff(file);
  const std::string unconverted = WhyNotConverted(sniffed);
  if (!unconverted.empty()) throw Error(ErrorCode::kUnsupported, unconverted);
  if (sniffed.kind == ImageKind::kJpeg) return EncodeFromJpeg(file, outcome);
  EncodeFromPixels(sniffed.kind, file, outcome);
}

void ImageEncoder::CheckPixels(std::uint32_t width, std::uint32_t height) const {
  if (width == 0 || height == 0) {
    throw Error(ErrorCode::kCorrupt, "broken: its header says that it has no pixels");
  }
  if (std::uint64_t{width} * height > options_.run.max_pixels) {
    throw Error(ErrorCode::kLimit, "has " + std::to_string(width) + "x" + std::to_string(height) +
                                       " pixels, more than the " +
                                       std::to_string(options_.run.max_pixels) + " of max_pixels");
  }
}

ColorRules ImageEncoder::RulesFor(bool has_profile, Bytes profile, ProfileColors colors,
                                  Outcome& outcome) {
  ColorRules rules{options_.form.channels, options_.form.background, nullptr, &greatest_};
  transform_.reset();
  greatest_.reset();
  if (!has_profile) return rules;
  outcome.profile_dropped = true;
  if (options_.form.icc != IccProfiles::kConvert) return rules;
  ColorProfiles::Meaning meaning = profiles_.Find(profile, colors);
  transform_ = std::move(meaning.transform);
  rules.transform = transform_.get();
  outcome.profile_dropped = !meaning.understood;
  outcome.profile_converted = transform_ != nullptr;
  return rules;
}

bool ImageEncoder::TakeAsItIs(Bytes file, Outcome& outcome) {
  const FormOptions& form = options_.form;
  if (!form.keep || form.image != ImageCodec::kJpeg || form.icc != IccProfiles::kDrop) return false;
  const auto picture = PlayablePicture(file, options_.run.max_pixels, header_);
  if (!picture || header_.components != form.channels) return false;
  const FittedGeometry geometry = FitGeometry(header_.width, header_.height, options_);
  if (!geometry.unchanged) return false;
  placement_ = {header_.width, header_.height, Orientation{}, geometry};
  FieldValue& value = outcome.sample.fields[kImageField];
  value.codec = Codec::kJpeg;
  value.SetSize(header_.width, header_.height, header_.components);
  value.SetBytes(*picture);
  outcome.kept = true;
  Reached(EncodeStep::kEncoded);
  return true;
}

void ImageEncoder::EncodeFromJpeg(std::vector<std::byte>& content, Outcome& outcome) {
  if (as_they_are_ && TakeAsItIs(content, outcome)) return;
  const JpegFile file = TakeJpeg(content);
  const bool convert = options_.form.icc == IccProfiles::kConvert;
  JpegSource source(file, convert);
  CheckPixels(source.width(), source.height());
  const FittedGeometry geometry =
      FitUpright(source.width(), source.height(), source.orientation(), options_);
  placement_ = {source.width(), source.height(), source.orientation(), geometry};
  outcome.smaller = IsSmallerThanTarget(geometry, options_);
  outcome.shrunk = IsShrunk(geometry);
  const std::vector<std::byte> profile = convert ? source.Profile() : std::vector<std::byte>();
  const ColorRules rules = RulesFor(source.has_profile(), profile, source.colors(), outcome);
  if (options_.form.keep && geometry.unchanged && rules.transform == nullptr &&
      KeepCoefficients(file, source, outcome)) {
    return;
  }
  outcome.reencoded = options_.form.image != ImageCodec::kRaw;
  if (options_.form.image != ImageCodec::kRaw && geometry.unchanged && rules.transform == nullptr &&
      source.orientation().identity() && Recode(file, source, outcome)) {
    return;
  }
  if (TakesCutShort()) source.TakeCutShort();
  const bool ycc420 =
      options_.form.image != ImageCodec::kRaw && options_.form.subsampling == Subsampling::k420;
  Picture picture = jpeg_fitter_.Fit(source, file.bytes, rules, geometry, ycc420);
  outcome.cut_short = ToReason(source.cut_short());
  Store(std::move(picture), outcome.sample.fields[kImageField]);
}

bool ImageEncoder::KeepCoefficients(const JpegFile& file, const JpegSource& source,
                                    Outcome& outcome) {
  std::optional<FieldValue> kept;
  try {
    Reached(EncodeStep::kDecoded);
    kept = KeepJpeg(file, source, options_, blocks_);
  } catch (const CutShort&) {
    if (!TakesCutShort()) throw;
  }
  if (!kept) return false;
  FieldValue& value = outcome.sample.fields[kImageField];
  value = *std::move(kept);
  outcome.kept = true;
  if (options_.form.image == ImageCodec::kPacked) PackJpeg(value, blocks_);
  Reached(EncodeStep::kEncoded);
  return true;
}

bool ImageEncoder::Recode(const JpegFile& file, const JpegSource& source, Outcome& outcome) {
  if (!recoder_.Take(file.bytes, source.width(), source.height(), options_)) return false;
  Reached(EncodeStep::kDecoded);
  recoder_.Store(outcome.sample.fields[kImageField]);
  Reached(EncodeStep::kEncoded);
  return true;
}

void ImageEncoder::EncodeFromPixels(ImageKind kind, Bytes file, Outcome& outcome) {
  const bool convert = options_.form.icc == IccProfiles::kConvert;
  const std::unique_ptr<PixelSource> source = OpenPixels(kind, file, convert);
  const std::uint32_t width = source->width();
  const std::uint32_t height = source->height();
  CheckPixels(width, height);
  const Bytes profile = convert ? source->Profile() : Bytes();
  const ColorRules rules = RulesFor(source->has_profile(), profile, source->colors(), outcome);
  if (TakesCutShort()) source->TakeCutShort();
  Picture picture = source->Decode(rules);
  outcome.rounded = source->deep();
  outcome.dim = source->deep() && greatest_ && *greatest_ < kQuarter;
  outcome.channels_dropped = source->drops_channels();
  outcome.cut_short = ToReason(source->cut_short());
  const Orientation orientation = source->orientation();
  const FittedGeometry geometry = FitUpright(width, height, orientation, options_);
  placement_ = {width, height, orientation, geometry};
  outcome.smaller = IsSmallerThanTarget(geometry, options_);
  outcome.shrunk = IsShrunk(geometry);
  Store(FitPicture(std::move(picture), 1, placement_, resampler_),
        outcome.sample.fields[kImageField]);
}

void ImageEncoder::Place(std::uint32_t width, std::uint32_t height, Orientation orientation) {
  placement_ = {width, height, orientation, {}};
  placement_.geometry = FitGeometry(placement_.upright_width(), placement_.upright_height(),
                                    {.geometry = {.max_side = {}}});
}

void ImageEncoder::Store(Picture picture, FieldValue& value) {
  if (picture.channels == 1 && options_.form.channels == 3) picture = GreyToRgb(picture);
  Reached(EncodeStep::kDecoded);
  if (options_.form.image != ImageCodec::kRaw) {
    EncodeInto(picture, options_, value);
    return Reached(EncodeStep::kEncoded);
  }
  value.SetSize(picture.width, picture.height, picture.channels);
  if (std::max(picture.width, picture.height) > kMaxImageSide ||
      picture.pixels.size() > kMaxPayloadBytes) {
    throw Error(ErrorCode::kLimit, "takes " + std::to_string(picture.pixels.size()) +
                                       " bytes as raw pixels (" + std::to_string(picture.width) +
                                       "x" + std::to_string(picture.height) +
                                       "), more than can be stored; make it smaller");
  }
  value.codec = Codec::kRaw;
  value.SetBytes(std::as_bytes(std::span(picture.pixels)));
  Reached(EncodeStep::kEncoded);
}

namespace {

class FileReader {
 public:
  FileReader(unsigned channels, std::uint64_t max_pixels,
             std::function<void(const std::string&)> warn)
      : warn_(std::move(warn)) {
    options_.form.keep = true;
    options_.form.image = ImageCodec::kRaw;
    options_.form.channels = channels;
    options_.geometry.max_side.reset();
    options_.run.max_pixels = max_pixels;
  }

  ImagePayload Read(Bytes file) {
    const Sniffed sniffed = Sniff(file);
    if (sniffed.kind == ImageKind::kNone)
      throw Error(ErrorCode::kUnsupported, "is not an image of a known kind");
    if (sniffed.kind == ImageKind::kJpeg) {
      if (const auto picture = PlayablePicture(file, options_.run.max_pixels, header_)) {
        return {Codec::kJpeg,  PixelType::kUint8, static_cast<std::uint8_t>(header_.components),
                header_.width, header_.height,    *picture};
      }
    }
    file_.assign(file.begin(), file.end());
    outcome_ = {};
    outcome_.sample.fields.resize(1);
    const AllocationWatch memory;
    try {
      encoder_.Encode(file_, outcome_);
    } catch (const Error&) {
      // Most libraries report a broken picture and a failed allocation in the same way.
      if (memory.failed()) throw std::bad_alloc();
      throw;
    }
    if (outcome_.dim && warn_) {
      warn_(
          "an image has more than 8 bits a value and uses less than a quarter of the range: in 8 "
          "bits, values of at most 63 of 255 are left, nearly black; scale such images to the "
          "whole range first, as those of the training (16-bit files that hold 12 bits: by 16)");
    }
    const FieldValue& made = outcome_.sample.fields[kImageField];
    return {made.codec, PixelType::kUint8, static_cast<std::uint8_t>(made.channels),
            made.width, made.height,       made.bytes};
  }

 private:
  const std::function<void(const std::string&)> warn_;
  ConvertOptions options_;
  ImageEncoder encoder_{options_};
  baseline::Header header_;
  std::vector<std::byte> file_;
  Outcome outcome_;
};

}  // namespace

std::function<ImagePayload(std::span<const std::byte>)> ImageFileReader(unsigned channels,
                                                                        std::uint64_t max_pixels) {
  return WarningImageFileReader({})(channels, max_pixels);
}

std::function<std::function<ImagePayload(std::span<const std::byte>)>(unsigned, std::uint64_t)>
WarningImageFileReader(std::function<void(const std::string&)> warn) {
  return [warn = std::move(warn)](unsigned channels, std::uint64_t max_pixels) {
    const auto reader = std::make_shared<FileReader>(channels, max_pixels, warn);
    return [reader](std::span<const std::byte> file) { return reader->Read(file); };
  };
}

}  // namespace sluice
