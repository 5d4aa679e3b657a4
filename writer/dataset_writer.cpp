// Datasets that a program writes sample by sample, without a plan: samples go to shards in the
// order they come. Unless the options set block_samples, the first samples wait in memory until
// their sizes show how many samples make a block of about 512 KiB.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include <sluice/dataset_writer.h>
#include <sluice/error.h>
#include <sluice/instances.h>
#include <sluice/nearest_name.h>
#include <sluice/pixel_attributes.h>

#include "format/boxes_and_points.h"
#include "format/disk/block.h"
#include "format/disk/file.h"
#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "format/disk/shard_build.h"
#include "format/disk/zstd.h"
#include "format/pixels/decode.h"
#include "format/pixels/tiled/tiled.h"
#include "writer/convert/dataset_folder.h"
#include "writer/encode/jpeg.h"
#include "writer/fit/fit.h"
#include "writer/shard_writer.h"
#include "writer/source/images/jpeg.h"
#include "writer/source/list/paths.h"

namespace sluice {

struct SampleBuilder::State {
  std::shared_ptr<const Schema> schema;
  EncodedSample sample;
  std::vector<bool> set;     // by field: whether it has a value
  std::vector<bool> turned;  // by field: whether its picture was turned upright

  // The field of that name and kind, which is then marked as set. Throws Error(kInvalidArgument).
  FieldValue& Value(std::string_view name, FieldKind kind);
};

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
    value.SetBytes(content);
    value.codec = Codec::kRaw;
  }
}

// Throws unless the file's whole picture is there. A baseline file that has its end marker, as most
// do, is not read further. If the marker is missing, all data is read. A file that our own decoder
// does not read is decoded whole by libjpeg, as readers will do.
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

// Stores the picture turned as its orientation says: without decoding if whole blocks allow it, as
// `sluice convert --quality keep` does.
void StoreUpright(const JpegFile& file, JpegSource& source, std::uint8_t channels,
                  FieldValue& value) {
  ConvertOptions options;
  options.geometry.max_side = std::nullopt;
  options.form.keep = true;
  options.form.channels = channels;
  baseline::BlockReader reader(kernels::Chosen());
  if (std::optional<FieldValue> kept = KeepJpeg(file, source, options, reader)) {
    value = *std::move(kept);
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
      channels == 0 || channels > kMaxImageChannels) {
    throw Error(ErrorCode::kInvalidArgument,
                Quoted(name) + " takes images of 1 to 65535 pixels a side and 1 to " +
                    std::to_string(kMaxImageChannels) + " channels, not " + std::to_string(width) +
                    "x" + std::to_string(height) + "x" + std::to_string(channels));
  }
  const std::uint64_t expected = std::uint64_t{width} * height * channels * SizeOf(type);
  if (expected > kMaxImageBytes) {
    throw Error(ErrorCode::kLimit, Quoted(name) + " takes images of at most " +
                                       std::to_string(kMaxImageBytes) + " bytes, not " +
                                       std::to_string(expected));
  }
  if (std::uint64_t{width} * height > kMaxImagePixels) {
    throw Error(ErrorCode::kLimit, Quoted(name) + " takes images of at most " +
                                       std::to_string(kMaxImagePixels) + " pixels, not " +
                                       std::to_string(width) + "x" + std::to_string(height));
  }
  if (bytes != expected) {
    throw Error(ErrorCode::kInvalidArgument,
                Quoted(name) + " was set with " + std::to_string(bytes) +
                    " bytes of pixels, but its size takes " + std::to_string(expected));
  }
}

// Whether the field is a mask of a type that masks always had. They keep the codec that readers of
// any version know.
bool IsUsualMask(const Schema& schema, std::string_view name, PixelType type,
                 std::uint8_t channels) {
  const std::size_t field = schema.Find(name);
  return field != Schema::kNone && schema.fields[field].role == Role::kMask &&
         type == PixelType::kUint16 && channels <= 4;
}

}  // namespace

FieldValue& SampleBuilder::State::Value(std::string_view name, FieldKind kind) {
  const std::size_t index = schema->Find(name);
  if (index == Schema::kNone) {
    std::vector<std::string> names;
    for (const Field& field : schema->fields)
      names.push_back(field.name);
    throw Error(ErrorCode::kInvalidArgument,
                "the schema has no " + Quoted(name) + NamesInstead(name, names, "it has"));
  }
  if (schema->fields[index].kind != kind) {
    throw Error(ErrorCode::kInvalidArgument, Quoted(name) + " has the kind " +
                                                 std::string(NameOf(schema->fields[index].kind)) +
                                                 " but was set as " + std::string(NameOf(kind)));
  }
  set[index] = true;
  turned[index] = false;
  return sample.fields[index];
}

SampleBuilder::SampleBuilder(std::unique_ptr<State> state) : state_(std::move(state)) {}
SampleBuilder::SampleBuilder(SampleBuilder&&) noexcept = default;
SampleBuilder& SampleBuilder::operator=(SampleBuilder&&) noexcept = default;
SampleBuilder::~SampleBuilder() = default;

void SampleBuilder::Reset(std::string key) {
  state_->sample.key = std::move(key);
  for (FieldValue& value : state_->sample.fields) {
    // Keeps the allocation: a builder is used for one sample after another.
    std::vector<std::byte> memory = std::move(value.bytes);
    memory.clear();
    value = FieldValue{};
    value.bytes = std::move(memory);
  }
  state_->set.assign(state_->set.size(), false);
  state_->turned.assign(state_->set.size(), false);
}

void SampleBuilder::SetElements(std::string_view name, DType type,
                                std::span<const std::byte> bytes) {
  const std::size_t index = state_->schema->Find(name);
  const bool variable =
      index != Schema::kNone && state_->schema->fields[index].kind == FieldKind::kVariable;
  // Value() refuses a missing name or a field of another kind.
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
  value.SetBytes(bytes);
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
  bool turned = false;
  try {
    // A broken file must be refused here, with its sample's name. Once it is stored, only a
    // training would meet it.
    RequireWhole(jpeg, info);
    JpegSource source(jpeg);
    turned = !source.orientation().identity();
    if (!turned) {
      // A file that has its end marker is stored as it is. Otherwise, TakeJpeg() has added the
      // marker to jpeg.bytes.
      const bool marked = file.size() >= jpeg.bytes.size() &&
                          std::ranges::equal(file.first(jpeg.bytes.size()), jpeg.bytes);
      SetContent(name, marked ? file : jpeg.bytes, false, value);
      value.codec = Codec::kJpeg;
      value.SetSize(info.width, info.height, info.channels);
    } else {
      StoreUpright(jpeg, source, info.channels, value);
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kCorrupt && error.code() != ErrorCode::kUnsupported) throw;
    refuse(error.sentence());
  }
  state_->Value(name, FieldKind::kImage) = std::move(value);
  state_->turned[state_->schema->Find(name)] = turned;
}

bool SampleBuilder::SetPacked(std::string_view name, std::span<const std::byte> jpeg_file) {
  // Checks the file and turns its picture; only a sound JPEG is packed.
  SetJpeg(name, jpeg_file);
  FieldValue& value = state_->sample.fields[state_->schema->Find(name)];
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
  const auto* const first = reinterpret_cast<const std::uint8_t*>(pixels.data());
  const Picture picture{width, height, channels, {first, first + pixels.size()}};
  FieldValue value;
  EncodeInto(picture, options, value);
  state_->Value(name, FieldKind::kImage) = std::move(value);
}

void SampleBuilder::SetPixels(std::string_view name, std::uint32_t width, std::uint32_t height,
                              std::uint8_t channels, PixelType type,
                              std::span<const std::byte> pixels, bool compress) {
  CheckPixels(name, width, height, channels, pixels.size(), type);
  FieldValue value;
  // In tiles, since a crop then needs only some of them.
  if (compress && IsWide(type, channels) && !IsUsualMask(*state_->schema, name, type, channels)) {
    value.bytes = tiled::Encode({Codec::kRaw, type, channels, width, height, pixels});
    value.codec = Codec::kTiled;
  } else {
    SetContent(name, pixels, compress, value);
  }
  value.SetSize(width, height, channels);
  value.pixel_type = type;
  state_->Value(name, FieldKind::kImage) = std::move(value);
}

void SampleBuilder::SetBytes(std::string_view name, std::span<const std::byte> bytes,
                             bool compress) {
  const std::size_t index = state_->schema->Find(name);
  const Role role = index == Schema::kNone ? Role::kNone : state_->schema->fields[index].role;
  if (const std::string fault = RoleFault(role, AsText(bytes)); !fault.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "sample \"" + state_->sample.key.substr(0, 200) + "\": " + Quoted(name) +
                    " has the role " + std::string(NameOf(role)) + ", but its content " + fault +
                    "; correct it, or give the field the role none");
  }
  FieldValue value;
  SetContent(name, bytes, compress, value);
  state_->Value(name, FieldKind::kBytes) = std::move(value);
}

void SampleBuilder::SetText(std::string_view name, std::string_view text, bool compress) {
  SetBytes(name, AsBytes(text), compress);
}

namespace {

constexpr std::size_t kSurveyedSamples = 1024;  // the most that wait in memory

void CheckOptions(const DatasetWriterOptions& options) {
  if (options.shard_bytes < kMinShardBytes || options.shard_bytes > kMaxShardBytes) {
    throw Error(ErrorCode::kInvalidArgument,
                "shard_bytes is " + std::to_string(options.shard_bytes) + "; it must be between " +
                    std::to_string(kMinShardBytes) + " and " + std::to_string(kMaxShardBytes));
  }
  if (options.block_samples > kMaxBlockSamples) {
    throw Error(ErrorCode::kInvalidArgument, "block_samples must be at most 65536");
  }
  CheckMetadata(options.meta);
}

// Describes how the dataset was made, for its manifest.
std::string MadeJson(const DatasetWriterOptions& options) {
  return nlohmann::json{{"by", "sluice::DatasetWriter"},
                        {"libraries", LibrariesOf({{"zstd", ZstdVersion()}})},
                        {"shard_bytes", options.shard_bytes}}
      .dump();
}

}  // namespace

struct DatasetWriter::State {
  State(const std::filesystem::path& dataset, const Schema& the_schema,
        const DatasetWriterOptions& the_options)
      : folder(AbsolutePath(dataset)),
        schema(std::make_shared<const Schema>(the_schema)),
        layout(*schema),
        header_bytes(BuildShardHeader(*schema, {}, 1).size()),
        options(the_options),
        block_samples(the_options.block_samples),
        pixel_types(schema->fields.size()) {}

  void Check(const SampleBuilder::State& sample) const;
  template <class Refuse>
  void CheckImages(const std::vector<FieldValue>& values, const Refuse& refuse) const;
  void Append(EncodedSample sample);
  void SettleBlockSamples();
  void Store(EncodedSample sample);
  void CloseShard();

  std::filesystem::path folder;
  std::optional<NewFolder> made_in;  // null after Finish()
  std::shared_ptr<const Schema> schema;
  RecordLayout layout;
  std::uint64_t header_bytes;
  DatasetWriterOptions options;
  Manifest manifest;
  std::uint64_t samples = 0;
  std::uint32_t block_samples;          // 0 until it is chosen
  std::vector<EncodedSample> surveyed;  // the first samples, while block_samples is 0
  std::uint64_t surveyed_bytes = 0;
  std::optional<ShardWriter> shard;
  bool over = false;  // finished, or broken by an error of the file system
  std::vector<std::optional<PixelType>> pixel_types;  // by field: of its images so far
};

namespace {

// Refuses boxes that are not boxes, and fields whose entries are not one for each box.
template <class Refuse>
void CheckBoxes(const std::vector<Field>& fields, const std::vector<FieldValue>& values,
                const std::vector<bool>& set, const Refuse& refuse) {
  const auto entries = [&](std::size_t f) {
    return values[f].bytes.size() / (fields[f].elements() * SizeOf(fields[f].dtype));
  };
  std::map<std::string_view, std::size_t> boxes_of;  // the first field of boxes by its image
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (fields[f].role != Role::kBoxes) continue;
    const Bytes bytes = values[f].bytes;
    const bool doubles = fields[f].dtype == DType::kFloat64;
    const auto number = [&](std::size_t i) {
      return doubles ? LoadAt<double>(bytes, 8 * i) : double{LoadAt<float>(bytes, 4 * i)};
    };
    // A box with corners is turned into a size, so that one check serves both forms.
    const Coordinates coordinates = *Coordinates::Of(fields[f]);
    const bool corners = coordinates.form == Coordinates::Form::kCorners;
    const bool upright = coordinates.of_box() == 4;
    for (std::size_t i = 0; !upright && i < bytes.size() / (doubles ? 8 : 4); ++i) {
      if (!std::isfinite(number(i)))
        refuse("field \"" + fields[f].name + "\": box " + std::to_string(i / 8) +
               " has a number that is not finite");
    }
    for (std::size_t i = 0; upright && i + 4 <= bytes.size() / (doubles ? 8 : 4); i += 4) {
      const double width = number(i + 2) - (corners ? number(i) : 0);
      const double height = number(i + 3) - (corners ? number(i + 1) : 0);
      if (width >= 0 && height >= 0 && std::isfinite(number(i) + number(i + 1) + width + height))
        continue;
      const nlohmann::json box = {number(i), number(i + 1), number(i + 2), number(i + 3)};
      refuse("field \"" + fields[f].name + "\": box " + std::to_string(i / 4) +
             " has a number that is not finite, or ends before it begins: " + box.dump() + " as " +
             (fields[f].coordinates.empty() ? "xyxy-pixels" : fields[f].coordinates));
    }
    if (fields[f].kind == FieldKind::kVariable) boxes_of.emplace(fields[f].follows, f);
  }
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const auto boxes = boxes_of.find(fields[f].follows);
    if (fields[f].follows.empty() || boxes == boxes_of.end() || !set[f]) continue;
    if (!BelongsToBoxes(fields[f]) || entries(f) == entries(boxes->second)) continue;
    const std::size_t own = entries(f), others = entries(boxes->second);
    refuse("field \"" + fields[f].name + "\" has " + std::to_string(own) +
           (own == 1 ? " entry for the " : " entries for the ") + std::to_string(others) +
           (others == 1 ? " box of field \"" : " boxes of field \"") + fields[boxes->second].name +
           "\"; give an entry for each box, or a schema in which it does not follow their image");
  }
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const auto boxes = boxes_of.find(fields[f].follows);
    if (fields[f].role != Role::kInstances || boxes == boxes_of.end() || !set[f]) continue;
    std::vector<std::byte> content = values[f].bytes;
    if (values[f].codec == Codec::kZstd) {
      content.resize(*ZstdContentBytes(values[f].bytes));
      ZstdDecompress(values[f].bytes, content);
    }
    const FieldValue& image =
        values[std::ranges::find(fields, fields[f].follows, &Field::name) - fields.begin()];
    Instances instances;
    if (const Defect defect = instances.Open(content, image.width, image.height))
      refuse("field \"" + fields[f].name + "\": " + defect);
    if (instances.size() != entries(boxes->second)) {
      refuse("field \"" + fields[f].name + "\" has " + std::to_string(instances.size()) +
             " objects for the " + std::to_string(entries(boxes->second)) + " boxes of field \"" +
             fields[boxes->second].name + "\"; give an object for each box");
    }
  }
}

}  // namespace

// All images of a field have one type, and as many channels as the field's attribute names.
template <class Refuse>
void DatasetWriter::State::CheckImages(const std::vector<FieldValue>& values,
                                       const Refuse& refuse) const {
  for (std::size_t f = 0; f < schema->fields.size(); ++f) {
    const Field& field = schema->fields[f];
    const FieldValue& value = values[f];
    if (field.kind != FieldKind::kImage || value.codec == Codec::kAbsent) continue;
    const std::string of = "field \"" + field.name + "\"";
    // The types are those of the samples before, in whatever order 8-bit and 16-bit images came.
    if (pixel_types[f] && !Admits(*pixel_types[f], value.pixel_type) &&
        !Admits(value.pixel_type, *pixel_types[f])) {
      refuse(of + " has an image of " + std::string(NameOf(value.pixel_type)) +
             ", and earlier ones have " + std::string(NameOf(*pixel_types[f])) +
             "; convert the images to one type, or give them fields of their own");
    }
    const std::size_t names = ChannelNamesOf(field).size();
    if (names != 0 && names != value.channels) {
      refuse(of + " names " + std::to_string(names) +
             " channels in its attribute \"channels\", and the image has " +
             std::to_string(value.channels));
    }
  }
}

void DatasetWriter::State::Check(const SampleBuilder::State& sample) const {
  const auto refuse = [&sample](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument, "sample \"" + sample.sample.key + "\": " + what);
  };
  if (sample.schema != schema && *sample.schema != *schema) {
    refuse("comes from NewSample() of a writer with another schema");
  }
  for (std::size_t f = 0; f < schema->fields.size(); ++f) {
    if (schema->fields[f].kind == FieldKind::kArray && !sample.set[f]) {
      refuse("field \"" + schema->fields[f].name + "\" was not set; set every array field");
    }
  }
  for (std::size_t f = 0; f < schema->fields.size(); ++f) {
    const Field& field = schema->fields[f];
    if (!field.numbers_classes()) continue;
    const std::int64_t number = ClassNumber(field, sample.sample.fields[f].bytes);
    if (!IsClass(field, number)) {
      refuse("field \"" + field.name + "\" is " + std::to_string(number) + ", but there are " +
             std::to_string(field.classes.size()) + " classes, counted from 0");
    }
  }
  CheckImages(sample.sample.fields, refuse);
  CheckBoxes(schema->fields, sample.sample.fields, sample.set, refuse);
  for (std::size_t f = 0; f < schema->fields.size() && !options.upright; ++f) {
    const Field& field = schema->fields[f];
    if (field.follows.empty() || sample.sample.fields[f].bytes.empty()) continue;
    if (!sample.turned[schema->Find(field.follows)]) continue;
    refuse("Exif turns its picture in field \"" + field.follows + "\" upright; field \"" +
           field.name +
           "\" belongs to this picture. If it was drawn on the upright picture, set "
           "DatasetWriterOptions::upright = true. If it was drawn on the picture as the file "
           "stores it, turn the field's values, too, or remove the orientation from the file");
  }
  try {
    CheckLimits(sample.sample, *schema, layout, header_bytes);
  } catch (const Error& error) {
    throw Error(error.code(),
                "sample \"" + sample.sample.key.substr(0, 200) + "\": " + error.sentence());
  }
}

// Chooses block_samples so that samples of the mean size so far make blocks of about 512 KiB. Then
// stores the samples that waited.
void DatasetWriter::State::SettleBlockSamples() {
  const std::uint64_t mean = surveyed.empty() ? 1 : surveyed_bytes / surveyed.size();
  block_samples = AutomaticBlockSamples(mean);
  for (EncodedSample& sample : surveyed)
    Store(std::move(sample));
  surveyed.clear();
}

void DatasetWriter::State::Append(EncodedSample sample) {
  if (block_samples != 0) return Store(std::move(sample));
  surveyed_bytes += BlockBytesOf(sample, *schema, layout);
  surveyed.push_back(std::move(sample));
  // Enough for one block: later samples are assumed to be like these.
  if (surveyed_bytes >= kPlannedBlockBytes || surveyed.size() == kSurveyedSamples) {
    SettleBlockSamples();
  }
}

void DatasetWriter::State::Store(EncodedSample sample) {
  // A sample that fits no shard was refused by CheckLimits(), so it fits the next one.
  if (shard && !shard->Fits(sample, options.shard_bytes)) CloseShard();
  if (!shard) {
    const auto number = static_cast<std::uint32_t>(manifest.shards.size());
    if (number == kMaxShards) {
      throw Error(ErrorCode::kLimit, folder.string(),
                  "a dataset can have at most 1000000 shards; choose larger ones");
    }
    // The id depends on the dataset's name and the shard's number only, so that the same samples
    // under the same name give the same bytes.
    shard.emplace(*schema, folder,
                  NewShard{.name = ShardFileName(number),
                           .id = ShardId(AsBytes(manifest.name), number),
                           .block_samples = block_samples});
  }
  shard->Add(std::move(sample));
}

void DatasetWriter::State::CloseShard() {
  if (!shard) return;
  AddShard(shard->Finish(), manifest);
  shard.reset();
}

DatasetWriter::DatasetWriter(const std::filesystem::path& dataset, const Schema& schema,
                             const DatasetWriterOptions& options) {
  CheckOptions(options);
  schema.Validate();
  CheckDrawnFields(schema);
  for (const Field& field : schema.fields)
    CheckPixelAttributes(field);
  state_ = std::make_unique<State>(dataset, schema, options);
  state_->manifest = BeginManifest(
      options.name.empty() ? NamedFolder(dataset).filename().string() : options.name, schema);
  state_->manifest.made = MadeJson(options);
  ChangeMetadata(options.meta, state_->manifest.meta);
  state_->made_in.emplace(dataset);
  // If the program ends early, the next writer into this folder removes what was left.
  state_->made_in->Keep();
}

DatasetWriter::~DatasetWriter() = default;

SampleBuilder DatasetWriter::NewSample(std::string key) const {
  auto state = std::make_unique<SampleBuilder::State>();
  state->schema = state_->schema;
  state->sample.key = std::move(key);
  state->sample.fields.resize(state_->schema->fields.size());
  state->set.resize(state_->schema->fields.size());
  state->turned.resize(state_->schema->fields.size());
  return SampleBuilder(std::move(state));
}

void DatasetWriter::Add(const SampleBuilder& sample) {
  if (state_->over) {
    throw Error(ErrorCode::kState, state_->folder.string(),
                "this writer is finished, or was stopped by an error; nothing can be added");
  }
  state_->Check(*sample.state_);
  for (std::size_t f = 0; f < state_->schema->fields.size(); ++f) {
    const FieldValue& value = sample.state_->sample.fields[f];
    std::optional<PixelType>& type = state_->pixel_types[f];
    if (value.codec != Codec::kAbsent)
      type = std::max(type.value_or(value.pixel_type), value.pixel_type);
  }
  state_->over = true;  // stays so if something below throws
  state_->Append(sample.state_->sample);
  state_->over = false;
  ++state_->samples;
}

void DatasetWriter::Finish() {
  if (state_->over) {
    throw Error(ErrorCode::kState, state_->folder.string(),
                "this writer is finished already, or was stopped by an error");
  }
  state_->over = true;
  if (state_->block_samples == 0) state_->SettleBlockSamples();
  state_->CloseShard();
  WriteManifest(state_->manifest, state_->folder);
  state_->made_in->Finish();
  state_->made_in.reset();
}

std::uint64_t DatasetWriter::samples() const noexcept {
  return state_->samples;
}

}  // namespace sluice
