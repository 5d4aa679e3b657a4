#include "writer/sample_builder.h"

#include <algorithm>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "format/disk/zstd.h"
#include "format/pixels/decode.h"
#include "writer/encode/coefficients.h"
#include "writer/encode/jpeg.h"
#include "writer/fit/fit_picture.h"
#include "writer/source/images/jpeg.h"

namespace sluice {

namespace {

std::string Quoted(std::string_view name) {
  return "field \"" + std::string(name) + "\"";
}

// Stores content as it is, or as a zstd frame.
void SetContent(std::string_view field, Bytes content, bool compress, FieldValue& value) {
  const std::uint64_t limit = compress ? kMaxInflatedBytes : kMaxPayloadBytes;
  if (content.size() > limit) {
    throw Error(ErrorCode::kLimit, Quoted(field) + " is given " + std::to_string(content.size()) +
                                       " bytes; at most " + std::to_string(limit) +
                                       " can be stored" + (compress ? " compressed" : ""));
  }
  if (compress) {
    value.bytes = ZstdCompress(content);
    value.codec = Codec::kZstd;
  } else {
    value.bytes.assign(content.begin(), content.end());
    value.codec = Codec::kRaw;
  }
}

// Whether the file's picture is all there. Most files end with their end marker and are baseline,
// and that is enough. Of one without, all data are read; one that only libjpeg reads is decoded, as
// readers will decode it.
void RequireWhole(const JpegFile& file, const JpegInfo& info) {
  if (!file.ended) JpegSource(file).ReadCoefficients();
  baseline::BlockReader reader(kernels::Chosen());
  if (reader.Begin(file.bytes)) return;
  const ImagePayload payload{.codec = Codec::kJpeg,
                             .channels = info.channels,
                             .width = info.width,
                             .height = info.height,
                             .bytes = file.bytes};
  std::vector<std::uint8_t> pixels(std::size_t{info.width} * info.height * info.channels);
  PayloadDecoder decoder;
  const Defect defect = decoder.Decode(payload, Region::Whole(info.width, info.height),
                                       {pixels.data(), info.channels});
  if (defect != nullptr) throw Error(ErrorCode::kCorrupt, defect);
}

// The picture turned as its orientation says: without decoding if whole blocks allow it, as
// `sluice convert --quality keep` does.
void StoreUpright(const JpegFile& file, JpegSource& source, std::uint8_t channels,
                  FieldValue& value) {
  ConvertOptions options;
  options.geometry.max_side = std::nullopt;
  options.form.keep = true;
  options.form.channels = channels;
  baseline::BlockReader reader(kernels::Chosen());
  if (std::optional<KeptJpeg> kept = KeepJpeg(file, source, options, reader)) {
    value.bytes = std::move(kept->file);
    value.codec = Codec::kJpeg;
    value.width = kept->width;
    value.height = kept->height;
    value.channels = kept->channels;
    return;
  }
  const bool turned = source.orientation().transposed;
  const FittedGeometry geometry = FitGeometry(turned ? source.height() : source.width(),
                                              turned ? source.width() : source.height(), options);
  JpegFitter fitter;
  EncodeInto(
      fitter.Fit(source, file.bytes, {channels, options.form.background, nullptr}, geometry, true),
      options, value);
}

bool Pack(FieldValue& value) {
  baseline::BlockReader reader(kernels::Chosen());
  return PackJpeg(value, reader);
}

void CheckPixels(std::string_view name, std::uint32_t width, std::uint32_t height,
                 std::uint8_t channels, std::size_t bytes, PixelType type) {
  if (width == 0 || width > kMaxImageSide || height == 0 || height > kMaxImageSide ||
      channels == 0 || channels > 4) {
    throw Error(
        ErrorCode::kInvalidArgument,
        Quoted(name) + " takes images of 1 to 65535 pixels a side and 1 to 4 channels, not " +
            std::to_string(width) + "x" + std::to_string(height) + "x" + std::to_string(channels));
  }
  if (std::uint64_t{width} * height > kMaxImagePixels) {
    throw Error(ErrorCode::kLimit, Quoted(name) + " takes images of at most " +
                                       std::to_string(kMaxImagePixels) + " pixels, not " +
                                       std::to_string(width) + "x" + std::to_string(height));
  }
  const std::uint64_t expected = std::uint64_t{width} * height * channels * SizeOf(type);
  if (bytes != expected) {
    throw Error(ErrorCode::kInvalidArgument,
                Quoted(name) + " was set with " + std::to_string(bytes) +
                    " bytes of pixels, but its size takes " + std::to_string(expected));
  }
}

}  // namespace

FieldValue& SampleBuilder::State::Value(std::string_view name, FieldKind kind) {
  const std::size_t index = schema->Find(name);
  if (index == Schema::kNone) {
    throw Error(ErrorCode::kInvalidArgument, "the schema has no " + Quoted(name));
  }
  if (schema->fields[index].kind != kind) {
    throw Error(ErrorCode::kInvalidArgument, Quoted(name) + " has the kind " +
                                                 std::string(NameOf(schema->fields[index].kind)) +
                                                 " but was set as " + std::string(NameOf(kind)));
  }
  set[index] = true;
  return sample.fields[index];
}

SampleBuilder::SampleBuilder(std::unique_ptr<State> state) : state_(std::move(state)) {}
SampleBuilder::SampleBuilder(SampleBuilder&&) noexcept = default;
SampleBuilder& SampleBuilder::operator=(SampleBuilder&&) noexcept = default;
SampleBuilder::~SampleBuilder() = default;

void SampleBuilder::Reset(std::string key) {
  state_->sample.key = std::move(key);
  for (FieldValue& value : state_->sample.fields) {
    std::vector<std::byte> memory = std::move(value.bytes);
    memory.clear();
    value = FieldValue{};
    value.bytes = std::move(memory);
  }
  state_->set.assign(state_->set.size(), false);
}

void SampleBuilder::SetElements(std::string_view name, DType type,
                                std::span<const std::byte> bytes) {
  const std::size_t index = state_->schema->Find(name);
  const bool variable =
      index != Schema::kNone && state_->schema->fields[index].kind == FieldKind::kVariable;
  // A name that is not there, or of another kind, is refused by Value().
  const Field* const field = index == Schema::kNone ? nullptr : &state_->schema->fields[index];
  if (field != nullptr && (variable || field->kind == FieldKind::kArray)) {
    const std::uint64_t unit = field->elements() * SizeOf(field->dtype);
    if (field->dtype != type) {
      throw Error(ErrorCode::kInvalidArgument,
                  Quoted(name) + " has elements of type " + std::string(NameOf(field->dtype)) +
                      " but was set with " + std::string(NameOf(type)));
    }
    if (variable ? bytes.size() % unit != 0 : bytes.size() != unit) {
      throw Error(ErrorCode::kInvalidArgument,
                  Quoted(name) + " was set with " + std::to_string(bytes.size() / SizeOf(type)) +
                      " elements, but its shape takes " + (variable ? "a multiple of " : "") +
                      std::to_string(field->elements()));
    }
    if (bytes.size() > kMaxPayloadBytes) {
      throw Error(ErrorCode::kLimit, Quoted(name) + " was given more than " +
                                         std::to_string(kMaxPayloadBytes) + " bytes");
    }
  }
  FieldValue& value = state_->Value(name, variable ? FieldKind::kVariable : FieldKind::kArray);
  value.bytes.assign(bytes.begin(), bytes.end());
  if (variable) value.codec = Codec::kRaw;
}

void SampleBuilder::SetJpeg(std::string_view name, std::span<const std::byte> file) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::kInvalidArgument,
                Quoted(name) + " was set with bytes that are not a usable JPEG file: " + why);
  };
  JpegInfo info;
  std::string why;
  if (!ReadJpegInfo(file, info, why)) refuse(why);
  std::vector<std::byte> content(file.begin(), file.end());
  const JpegFile jpeg = TakeJpeg(content);
  FieldValue value;
  try {
    RequireWhole(jpeg, info);
    JpegSource source(jpeg);
    if (source.orientation().identity()) {
      const bool marked = file.size() >= jpeg.bytes.size() &&
                          std::ranges::equal(file.first(jpeg.bytes.size()), jpeg.bytes);
      SetContent(name, marked ? file : jpeg.bytes, false, value);
      value.codec = Codec::kJpeg;
      value.width = info.width;
      value.height = info.height;
      value.channels = info.channels;
    } else {
      StoreUpright(jpeg, source, info.channels, value);
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kCorrupt && error.code() != ErrorCode::kUnsupported) throw;
    refuse(error.sentence());
  }
  state_->Value(name, FieldKind::kImage) = std::move(value);
}

bool SampleBuilder::SetPacked(std::string_view name, std::span<const std::byte> jpeg_file) {
  SetJpeg(name, jpeg_file);
  FieldValue& value = state_->Value(name, FieldKind::kImage);
  try {
    return Pack(value);
  } catch (const Error& error) {
    value = FieldValue();
    throw Error(ErrorCode::kInvalidArgument, Quoted(name) + " was set with a " + error.sentence());
  }
}

void SampleBuilder::SetEncoded(std::string_view name, std::uint32_t width, std::uint32_t height,
                               std::uint8_t channels, std::span<const std::byte> pixels,
                               int quality, bool packed) {
  if (channels != 1 && channels != 3) {
    throw Error(ErrorCode::kInvalidArgument,
                Quoted(name) + " cannot be encoded: a JPEG has 1 or 3 channels, not " +
                    std::to_string(channels) + "; SetPixels() stores others as they are");
  }
  if (quality < 1 || quality > 100) {
    throw Error(ErrorCode::kInvalidArgument, "a JPEG's quality lies between 1 and 100");
  }
  CheckPixels(name, width, height, channels, pixels.size(), PixelType::kUint8);
  ConvertOptions options;
  options.form.quality = quality;
  options.form.channels = channels;
  options.form.image = packed ? ImageCodec::kPacked : ImageCodec::kJpeg;
  Picture picture;
  picture.width = width;
  picture.height = height;
  picture.channels = channels;
  const auto* const first = reinterpret_cast<const std::uint8_t*>(pixels.data());
  picture.pixels.assign(first, first + pixels.size());
  FieldValue value;
  EncodeInto(picture, options, value);
  state_->Value(name, FieldKind::kImage) = std::move(value);
}

void SampleBuilder::SetPixels(std::string_view name, std::uint32_t width, std::uint32_t height,
                              std::uint8_t channels, PixelType type,
                              std::span<const std::byte> pixels, bool compress) {
  CheckPixels(name, width, height, channels, pixels.size(), type);
  FieldValue value;
  SetContent(name, pixels, compress, value);
  value.width = width;
  value.height = height;
  value.channels = channels;
  value.pixel_type = type;
  state_->Value(name, FieldKind::kImage) = std::move(value);
}

void SampleBuilder::SetBytes(std::string_view name, std::span<const std::byte> bytes,
                             bool compress) {
  FieldValue value;
  SetContent(name, bytes, compress, value);
  state_->Value(name, FieldKind::kBytes) = std::move(value);
}

void SampleBuilder::SetText(std::string_view name, std::string_view text, bool compress) {
  SetBytes(name, AsBytes(text), compress);
}

}  // namespace sluice
