// A source is read, and ImageEncoder makes the stored image. Boxes, masks and key points are then
// moved as the picture was (Placement).
//
// Every fault of a source becomes a reason for leaving it out. What is not a fault of the source
// ends the conversion: that the process lacks memory or open files, or a fault of the disk or store
// that holds the sources.
#include "writer/convert/sample_encoder.h"

#include <algorithm>

#include <sluice/error.h>
#include <sluice/instances.h>

#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "format/disk/system_error.h"
#include "format/disk/zstd.h"
#include "writer/convert/kept_values.h"
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
#include "writer/source/read_source.h"
#include "writer/text.h"

namespace sluice {

namespace {

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
    : images(options),
      sources_(sources),
      options_(options),
      schema_(schema),
      layout_(schema),
      header_bytes_(header_bytes),
      reserve_bytes_(reserve_bytes) {}

Outcome SampleEncoder::Encode(std::size_t source, bool with_image) {
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
    if (with_image) EncodeImage(source, outcome);
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
    if (unreadable) RequirePlaces(sources_);
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
  if (sources_.fields[0].form) {
    std::optional<ValuePicture> picture = ReadValues(sources_, source, 0, options_, file_, give_up);
    images.Place(picture->width, picture->height, picture->orientation);
    geo_ = std::move(picture->geo);
    StoreValues(*std::move(picture), sources_.fields[0], images.placement(),
                outcome.sample.fields[0]);
    if (!geo_.empty() && schema_.Find("geo") == Schema::kNone) {
      throw Error(ErrorCode::kUnsupported,
                  "has geographic tags, and the first source that can be read, whose form all "
                  "have, has none; convert it to another dataset");
    }
    if (images.on_step) images.on_step(EncodeStep::kEncoded);
    return;
  }
  ReadImageFile(sources_, source, file_, give_up);
  if (images.on_step) images.on_step(EncodeStep::kRead);
  images.Encode(file_, outcome);
}

Placement SampleEncoder::AnnotatedPlacement() const {
  return sources_.DrawnUpright() ? images.placement().Upright() : images.placement();
}

std::string SampleEncoder::OrientationAdvice(std::uint32_t width, std::uint32_t height) const {
  const Placement placement = AnnotatedPlacement();
  const bool exchanged = images.placement().orientation.transposed &&
                         width == placement.stored_height && height == placement.stored_width;
  if (!exchanged) return {};
  return sources_.DrawnUpright() ? "; the file stores the image in that size: if the annotations "
                                   "were drawn on the image as stored, convert with --as-stored"
                                 : "; the upright image has that size: convert with --upright";
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
                                       SizeText(width, height) + OrientationAdvice(width, height));
}

void SampleEncoder::EncodeFields(std::size_t source, Outcome& outcome) {
  CheckDescribed(sources_.sources[source]);
  outcome.turned = !images.placement().orientation.identity() && sources_.HasDrawn(source);
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
      case Feed::kValues: EncodeValues(source, f, value); break;
      case Feed::kGeo:
        if (geo_.empty()) break;
        value.codec = Codec::kRaw;
        value.SetBytes(AsBytes(geo_));
        break;
      case Feed::kShapes:
        if (const std::optional<Bytes> shapes = sources_.Value(source, f)) {
          const Placement placement = AnnotatedPlacement();
          StoreMask(PaintMask(*shapes, placement.stored_width, placement.stored_height,
                              sources_.fields[f].wide, sources_.fields[f].relative),
                    value);
        }
        break;
      case Feed::kPoints: EncodePoints(source, f, value); break;
      case Feed::kInstances: EncodeInstances(source, f, value); break;
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
    std::string fault = JsonFault(AsText(value.bytes));
    if (!fault.empty()) {
      const std::string without = NullForNaN(AsText(value.bytes));
      value.SetBytes(AsBytes(without));
      fault = JsonFault(without);
    }
    if (!fault.empty())
      throw Error(ErrorCode::kCorrupt, "its ." + schema_.fields[field].name + " " + fault);
    return;
  }
  if (schema_.fields[field].role != Role::kText) return;
  const std::string valid = ToUtf8(AsText(value.bytes));
  if (valid != AsText(value.bytes)) value.SetBytes(AsBytes(valid));
}

void SampleEncoder::EncodeMask(std::size_t source, std::size_t field, FieldValue& value) {
  if (!ReadMaskFile(sources_, source, field, file_, give_up)) return;
  MaskPicture mask = DecodeMask(file_, options_.run.max_pixels);
  CheckSize(mask.width, mask.height, "its mask ");
  const PixelType type = mask.value_bytes == 2 ? PixelType::kUint16 : PixelType::kUint8;
  const std::optional<ValueForm>& form = sources_.fields[field].form;
  if (form && (form->type != type || form->channels != mask.channels)) {
    throw Error(ErrorCode::kUnsupported,
                "its mask holds " + FormText(mask.channels, type) + ", and that of " +
                    ToUtf8(form->first) + " " + FormText(form->channels, form->type) +
                    "; the masks of a dataset have one form: write all of them alike, or convert "
                    "this image to another dataset");
  }
  StoreMask(std::move(mask), value);
}

void SampleEncoder::CheckSize(std::uint32_t width, std::uint32_t height, const char* what) const {
  const Placement placement = AnnotatedPlacement();
  if (width == placement.stored_width && height == placement.stored_height) return;
  throw Error(ErrorCode::kCorrupt, std::string(what) + "is " + SizeText(width, height) +
                                       " and the image " +
                                       SizeText(placement.stored_width, placement.stored_height) +
                                       OrientationAdvice(width, height));
}

void SampleEncoder::EncodeValues(std::size_t source, std::size_t field, FieldValue& value) {
  const std::string what = "its " + schema_.fields[field].name;
  try {
    std::optional<ValuePicture> picture =
        ReadValues(sources_, source, field, options_, file_, give_up);
    if (!picture) return;
    CheckSize(picture->width, picture->height);
    StoreValues(*std::move(picture), sources_.fields[field], AnnotatedPlacement(), value);
  } catch (const StoreFault&) {
    throw;
  } catch (const Error& error) {
    if (IsShortage(error)) throw;
    throw Error(error.code(), what + " " + error.sentence());
  }
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
  const std::size_t of_box = schema_.fields[boxes_field].elements();
  const bool relative = sources_.fields[boxes_field].relative;
  FittedBoxes fitted = of_box == 8 ? FitOrientedBoxes(boxes, relative, AnnotatedPlacement())
                                   : FitBoxes(boxes, relative, AnnotatedPlacement());
  FieldValue& value = outcome.sample.fields[boxes_field];
  value.SetBytes(std::as_bytes(std::span(fitted.corners)));
  value.codec = Codec::kRaw;
  outcome.boxes_dropped = boxes.size() / of_box - fitted.taken.size();
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

void SampleEncoder::EncodeInstances(std::size_t source, std::size_t field,
                                    FieldValue& value) const {
  const std::optional<Bytes> stored = sources_.Value(source, field);
  if (!stored || !boxes_taken_) return;
  const Placement placement = AnnotatedPlacement();
  const std::vector<NumberedShape> shapes = ShapesIn(*stored);
  InstancesBuilder instances;
  // Both are in the order of boxes.
  auto shape = shapes.begin();
  for (const std::size_t box : *boxes_taken_) {
    instances.BeginObject();
    shape = std::ranges::find_if(shape, shapes.end(),
                                 [box](const NumberedShape& one) { return one.number >= box; });
    for (; shape != shapes.end() && shape->number == box; ++shape) {
      if (shape->shape.runs.empty()) {
        instances.AddOutline(
            FitOutline(shape->shape.outline, sources_.fields[field].relative, placement));
        continue;
      }
      std::vector<std::byte> one;
      AddShape(shape->shape, 1, one);
      instances.AddRuns(RunsOf(
          FitMask(PaintMask(one, placement.stored_width, placement.stored_height, false, false),
                  placement)));
    }
  }
  instances.Finish(value.bytes);
  value.codec = Codec::kRaw;
  std::vector<std::byte> compressed = ZstdCompress(value.bytes);
  if (compressed.size() >= value.bytes.size()) return;
  value.codec = Codec::kZstd;
  value.bytes = std::move(compressed);
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

}  // namespace sluice
