// A source is read, and its kind is detected from its content. A JPEG may keep its coefficients, or
// be recoded, or be resized plane by plane; all other images, and JPEGs that need it, go through
// pixels: colours to sRGB, orientation, size. Boxes, masks and key points are then moved as the
// picture was (Placement).
//
// Every fault of a source becomes a reason for leaving it out. Only lack of memory and a fault of
// the disk or store that holds the sources end the conversion: they are not faults of the source.
#include "writer/convert/sample_encoder.h"

#include <algorithm>

#include <sluice/error.h>

#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "format/disk/system_error.h"
#include "format/disk/zstd.h"
#include "writer/encode/jpeg.h"
#include "writer/fit/fit.h"
#include "writer/shard_writer.h"
#include "writer/source/images/image_kinds.h"
#include "writer/source/images/jpeg.h"
#include "writer/source/images/pixel_source.h"
#include "writer/source/images/sniff.h"
#include "writer/source/labels/annotations.h"
#include "writer/source/labels/masks.h"
#include "writer/source/list/store_files.h"
#include "writer/text.h"

namespace sluice {

namespace {

constexpr std::size_t kImageField = 0;
constexpr std::uint16_t kQuarter = 65'536 / 4;

// The geometry of a picture of this stored size once it is upright.
FittedGeometry FitUpright(std::uint32_t stored_width, std::uint32_t stored_height,
                          Orientation orientation, const ConvertOptions& options) {
  return orientation.transposed ? FitGeometry(stored_height, stored_width, options)
                                : FitGeometry(stored_width, stored_height, options);
}

// Makes a sentence a reason: printable ASCII, because reasons go into tables and JSON, and at most
// kMaxReasonBytes, because shards keep room for them.
std::string ToReason(const std::string& sentence) {
  std::string reason = sentence.substr(0, kMaxReasonBytes);
  for (char& c : reason) {
    if (c < ' ' || c > '~' || c == '"' || c == '\\') c = '?';
  }
  return reason;
}

std::string SizeText(std::uint32_t width, std::uint32_t height) {
  return std::to_string(width) + "x" + std::to_string(height);
}

Outcome LeftOutFor(const Error& error) {
  Outcome outcome;
  outcome.reason = ToReason(error.sentence());
  return outcome;
}

}  // namespace

SampleEncoder::SampleEncoder(const SourceList& sources, const ConvertOptions& options,
                             const Schema& schema, std::uint64_t header_bytes,
                             std::uint64_t reserve_bytes)
    : sources_(sources),
      options_(options),
      schema_(schema),
      layout_(schema),
      header_bytes_(header_bytes),
      reserve_bytes_(reserve_bytes) {}

Outcome SampleEncoder::Encode(std::size_t source) {
  Outcome outcome;
  const AllocationWatch memory;
  const auto no_memory = [&] {
    return Error(ErrorCode::kMemory, sources_.sources[source].key,
                 "there is not enough memory to convert it; take fewer --threads, or raise "
                 "`ulimit -v`, and run the same command again to resume");
  };
  try {
    outcome.sample.key = sources_.sources[source].KeyOfSample();
    outcome.sample.fields.resize(schema_.fields.size());
    EncodeImage(source, outcome);
    EncodeFields(source, outcome);
    return Checked(std::move(outcome));
  } catch (const StoreFault&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw no_memory();
  } catch (const Error& error) {
    const bool unreadable = error.code() == ErrorCode::kNotFound || error.code() == ErrorCode::kIo;
    if (IsShortage(error)) throw;
    // Most libraries report a broken picture and a failed allocation in the same way.
    if (memory.failed()) throw no_memory();
    if (unreadable) sources_.RequirePlaces();
    outcome = LeftOutFor(error);
    outcome.unreadable = unreadable;
    return outcome;
  }
}

Outcome SampleEncoder::Checked(Outcome outcome) const {
  try {
    CheckLimits(outcome.sample, schema_, layout_, header_bytes_, reserve_bytes_);
    return outcome;
  } catch (const Error& error) {
    return LeftOutFor(error);
  }
}

void SampleEncoder::EncodeImage(std::size_t source, Outcome& outcome) {
  ReadImageFile(sources_, source, file_);
  Reached(EncodeStep::kRead);
  const Sniffed sniffed = Sniff(file_);
  // The file may have changed since the sources were listed.
  const std::string unconverted = WhyNotConverted(sniffed);
  if (!unconverted.empty()) throw Error(ErrorCode::kUnsupported, unconverted);
  if (sniffed.kind == ImageKind::kJpeg) return EncodeFromJpeg(outcome);
  EncodeFromPixels(sniffed.kind, outcome);
}

Placement SampleEncoder::AnnotatedPlacement() const {
  return sources_.DrawnUpright() ? placement_.Upright() : placement_;
}

std::string SampleEncoder::OtherWay(std::uint32_t width, std::uint32_t height) const {
  const Placement placement = AnnotatedPlacement();
  const bool other = placement_.orientation.transposed && width == placement.stored_height &&
                     height == placement.stored_width;
  if (!other) return {};
  return sources_.DrawnUpright() ? "; its file stores it in that size: if annotations were drawn "
                                   "on it so, convert with --as-stored"
                                 : "; it has that size upright: convert with --upright";
}

void SampleEncoder::CheckDescribed(const Source& source) const {
  const std::uint32_t width = source.described_width;
  const std::uint32_t height = source.described_height;
  if (width == 0 || height == 0) return;
  const Placement placement = AnnotatedPlacement();
  if (width == placement.stored_width && height == placement.stored_height) return;
  throw Error(ErrorCode::kCorrupt, "has " +
                                       SizeText(placement.stored_width, placement.stored_height) +
                                       " pixels, but its label file describes " +
                                       SizeText(width, height) + OtherWay(width, height));
}

void SampleEncoder::EncodeFields(std::size_t source, Outcome& outcome) {
  CheckDescribed(sources_.sources[source]);
  outcome.turned = !placement_.orientation.identity() && sources_.HasDrawn(source);
  boxes_taken_.reset();
  for (std::size_t f = 0; f < sources_.fields.size(); ++f) {
    FieldValue& value = outcome.sample.fields[f];
    switch (sources_.fields[f].feed) {
      case Feed::kImage:
      case Feed::kBoxClasses: break;  // image: done already; classes: done with the boxes
      case Feed::kLabel:
        value.SetBytes(std::as_bytes(std::span(&sources_.sources[source].label, 1)));
        break;
      case Feed::kElements:
        if (ReadStored(sources_, source, f, value.bytes) &&
            schema_.fields[f].kind == FieldKind::kVariable) {
          value.codec = Codec::kRaw;
        }
        break;
      case Feed::kText: EncodeText(source, f, value); break;
      case Feed::kMask: EncodeMask(source, f, value); break;
      case Feed::kShapes:
        if (const std::optional<Bytes> shapes = sources_.Value(source, f)) {
          const Placement placement = AnnotatedPlacement();
          StoreMask(PaintMask(*shapes, placement.stored_width, placement.stored_height,
                              sources_.fields[f].wide, sources_.fields[f].relative),
                    value);
        }
        break;
      case Feed::kPoints: EncodePoints(source, f, value); break;
      case Feed::kBoxes: EncodeBoxes(source, f, outcome); break;
    }
  }
}

void SampleEncoder::EncodeText(std::size_t source, std::size_t field, FieldValue& value) {
  if (!ReadStored(sources_, source, field, value.bytes)) return;
  value.codec = Codec::kRaw;
  if (!sources_.fields[field].located) return;  // a table's texts were checked when it was read
  if (schema_.fields[field].role == Role::kJson) {
    if (AsText(value.bytes).starts_with(kUtf8Mark))
      value.bytes.erase(value.bytes.begin(), value.bytes.begin() + kUtf8Mark.size());
    if (const std::string fault = JsonFault(AsText(value.bytes)); !fault.empty())
      throw Error(ErrorCode::kCorrupt, "its ." + schema_.fields[field].name + " " + fault);
    return;
  }
  if (schema_.fields[field].role != Role::kText) return;
  const std::string valid = ToUtf8(AsText(value.bytes));
  if (valid != AsText(value.bytes)) value.SetBytes(AsBytes(valid));
}

void SampleEncoder::EncodeMask(std::size_t source, std::size_t field, FieldValue& value) {
  if (!ReadMaskFile(sources_, source, field, file_)) return;
  MaskPicture mask = DecodeMask(file_, options_.run.max_pixels);
  const Placement placement = AnnotatedPlacement();
  if (mask.width != placement.stored_width || mask.height != placement.stored_height) {
    throw Error(ErrorCode::kCorrupt, "its mask is " + SizeText(mask.width, mask.height) +
                                         " and the image " +
                                         SizeText(placement.stored_width, placement.stored_height) +
                                         OtherWay(mask.width, mask.height));
  }
  StoreMask(std::move(mask), value);
}

void SampleEncoder::StoreMask(MaskPicture mask, FieldValue& value) const {
  mask = FitMask(std::move(mask), AnnotatedPlacement());
  value.SetSize(mask.width, mask.height, mask.channels);
  value.pixel_type = mask.value_bytes == 2 ? PixelType::kUint16 : PixelType::kUint8;
  const Bytes pixels = std::as_bytes(std::span(mask.pixels));
  value.codec = Codec::kZstd;
  value.bytes = ZstdCompress(pixels);
  if (value.bytes.size() < pixels.size()) return;
  value.codec = Codec::kRaw;
  value.SetBytes(pixels);
}

void SampleEncoder::EncodeBoxes(std::size_t source, std::size_t boxes_field, Outcome& outcome) {
  const std::optional<Bytes> corners = sources_.Value(source, boxes_field);
  if (!corners) return;
  std::vector<double> boxes(corners->size() / sizeof(double));
  std::copy_n(corners->begin(), corners->size(), std::as_writable_bytes(std::span(boxes)).begin());
  FittedBoxes fitted = FitBoxes(boxes, sources_.fields[boxes_field].relative, AnnotatedPlacement());
  FieldValue& value = outcome.sample.fields[boxes_field];
  value.SetBytes(std::as_bytes(std::span(fitted.corners)));
  value.codec = Codec::kRaw;
  outcome.boxes_dropped = boxes.size() / 4 - fitted.taken.size();
  for (std::size_t f = 0; f < sources_.fields.size(); ++f) {
    if (sources_.fields[f].feed != Feed::kBoxClasses) continue;
    const std::optional<Bytes> classes = sources_.Value(source, f);
    if (!classes) continue;
    FieldValue& taken = outcome.sample.fields[f];
    taken.codec = Codec::kRaw;
    for (const std::size_t box : fitted.taken) {
      const Bytes one = classes->subspan(box * sizeof(std::int32_t), sizeof(std::int32_t));
      taken.bytes.insert(taken.bytes.end(), one.begin(), one.end());
    }
  }
  boxes_taken_ = std::move(fitted.taken);
}

void SampleEncoder::EncodePoints(std::size_t source, std::size_t field, FieldValue& value) const {
  const std::optional<Bytes> stored = sources_.Value(source, field);
  if (!stored) return;
  value.codec = Codec::kRaw;
  std::vector<float> points(stored->size() / sizeof(float));
  std::copy_n(stored->begin(), stored->size(), std::as_writable_bytes(std::span(points)).begin());
  FitPoints(points, sources_.fields[field].relative, AnnotatedPlacement());
  const Bytes bytes = std::as_bytes(std::span(points));
  if (!boxes_taken_) return value.SetBytes(bytes);
  const std::size_t entry = schema_.fields[field].elements() * sizeof(float);
  for (const std::size_t box : *boxes_taken_) {
    const Bytes one = bytes.subspan(box * entry, entry);
    value.bytes.insert(value.bytes.end(), one.begin(), one.end());
  }
}

void SampleEncoder::CheckPixels(std::uint32_t width, std::uint32_t height) const {
  if (width == 0 || height == 0) {
    throw Error(ErrorCode::kCorrupt, "broken: its header says that it has no pixels");
  }
  if (std::uint64_t{width} * height > options_.run.max_pixels) {
    throw Error(ErrorCode::kLimit, "has " + std::to_string(width) + "x" + std::to_string(height) +
                                       " pixels, more than the " +
                                       std::to_string(options_.run.max_pixels) + " of max_pixels");
  }
}

ColorRules SampleEncoder::RulesFor(bool has_profile, Bytes profile, ProfileColors colors,
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

void SampleEncoder::EncodeFromJpeg(Outcome& outcome) {
  const JpegFile file = TakeJpeg(file_);
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

bool SampleEncoder::KeepCoefficients(const JpegFile& file, const JpegSource& source,
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

bool SampleEncoder::Recode(const JpegFile& file, const JpegSource& source, Outcome& outcome) {
  if (!recoder_.Take(file.bytes, source.width(), source.height(), options_)) return false;
  Reached(EncodeStep::kDecoded);
  recoder_.Store(outcome.sample.fields[kImageField]);
  Reached(EncodeStep::kEncoded);
  return true;
}

void SampleEncoder::EncodeFromPixels(ImageKind kind, Outcome& outcome) {
  const bool convert = options_.form.icc == IccProfiles::kConvert;
  const std::unique_ptr<PixelSource> source = OpenPixels(kind, file_, convert);
  const std::uint32_t width = source->width();
  const std::uint32_t height = source->height();
  CheckPixels(width, height);
  const Bytes profile = convert ? source->Profile() : Bytes();
  const ColorRules rules = RulesFor(source->has_profile(), profile, source->colors(), outcome);
  if (TakesCutShort()) source->TakeCutShort();
  Picture picture = source->Decode(rules);
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

void SampleEncoder::Store(Picture picture, FieldValue& value) {
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

}  // namespace sluice
