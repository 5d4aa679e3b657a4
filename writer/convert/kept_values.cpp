// All images of a field have one form, since batches have one type and statistics are made by
// channel. The form is found before anything is converted, and stands in the plan: which images are
// left out then depends neither on threads nor on the order in which they are converted.
#include "writer/convert/kept_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include <sluice/error.h>
#include <sluice/pixel_attributes.h>

#include "format/disk/limits.h"
#include "format/disk/system_error.h"
#include "format/disk/zstd.h"
#include "format/pixels/tiled/tiled.h"
#include "format/pixels/wide.h"
#include "writer/source/images/image_kinds.h"
#include "writer/source/list/store_files.h"
#include "writer/source/read_source.h"

namespace sluice {

namespace {

bool SameNumber(double a, double b) noexcept {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// An orientation as the rows of the file that it turns; so a stack's files may have different ones.
ValuePicture Upright(ValuePicture picture) {
  Placement placement{picture.width, picture.height, picture.orientation, {}};
  placement.geometry = FitGeometry(placement.upright_width(), placement.upright_height(),
                                   {.geometry = {.max_side = {}}});
  picture.orientation = {};
  return FitValues(std::move(picture), {}, true, placement);
}

// One channel of a stack in the size of the first one.
ValuePicture InSize(ValuePicture picture, const ValuePicture& first, StackResize resize) {
  if (picture.width == first.width && picture.height == first.height) return picture;
  if (resize == StackResize::kRefuse) {
    throw Error(ErrorCode::kUnsupported,
                "has " + std::to_string(picture.width) + "x" + std::to_string(picture.height) +
                    " pixels, and the first file of the sample " + std::to_string(first.width) +
                    "x" + std::to_string(first.height) +
                    "; --stack-resize nearest or linear gives it that size");
  }
  ConvertOptions options;
  options.geometry.size = Size{first.width, first.height};
  options.geometry.fit = Fit::kStretch;
  const Placement placement{
      picture.width, picture.height, {}, FitGeometry(picture.width, picture.height, options)};
  const std::optional<double> no_data = picture.no_data;
  return FitValues(std::move(picture), no_data, resize == StackResize::kNearest, placement);
}

ValuePicture ReadStack(const SourceList& list, std::size_t source, const ConvertOptions& options,
                       std::vector<std::byte>& file, const std::atomic<bool>* give_up) {
  const std::vector<MaskFile> others = StackFilesOf(*list.Value(source, 0));
  ValuePicture all;
  for (std::size_t c = 0; c <= others.size(); ++c) {
    const std::string& path = c == 0 ? list.sources[source].key : others[c - 1].path;
    try {
      if (c == 0) {
        ReadImageFile(list, source, file, give_up);
      } else {
        ReadStackFile(list, others[c - 1], file, give_up);
      }
      ValuePicture picture = Upright(DecodeValues(file, options.run.max_pixels));
      if (picture.channels != 1) {
        throw Error(ErrorCode::kUnsupported, "has " + std::to_string(picture.channels) +
                                                 " channels; a file of a stack has 1");
      }
      if (c == 0) {  // also checks that all of them together are not too large
        all = NewValues(picture.width, picture.height, others.size() + 1, picture.type,
                        options.run.max_pixels);
        all.geo = picture.geo;
      } else {
        picture = InSize(std::move(picture), all, options.form.stack_resize);
        if (picture.type != all.type) {
          throw Error(ErrorCode::kUnsupported,
                      "has values of the type " + std::string(NameOf(picture.type)) +
                          ", and the first file of the sample " + std::string(NameOf(all.type)));
        }
        if (picture.no_data && all.no_data && !SameNumber(*picture.no_data, *all.no_data)) {
          throw Error(ErrorCode::kUnsupported,
                      "has another number for no data than an earlier file of the sample");
        }
      }
      if (!all.no_data) all.no_data = picture.no_data;
      const std::size_t bytes = all.value_bytes;
      const std::size_t pixels = std::size_t{all.width} * all.height;
      const std::uint8_t* from = picture.pixels.data();
      std::uint8_t* to = all.pixels.data() + c * bytes;
      for (std::size_t i = 0; i < pixels; ++i, from += bytes, to += (others.size() + 1) * bytes)
        std::memcpy(to, from, bytes);
    } catch (const Error& error) {
      if (c == 0 || IsShortage(error) || dynamic_cast<const StoreFault*>(&error) != nullptr) throw;
      throw Error(error.code(), "its file " + path + " " + error.sentence());
    }
  }
  return all;
}

// The picture of the first source that can be read, and the source; empty if none can.
std::optional<std::pair<ValuePicture, std::size_t>> FirstReadable(const ConvertOptions& options,
                                                                  std::size_t field,
                                                                  const std::stop_token& stop,
                                                                  const SourceList& list) {
  std::vector<std::byte> file;
  for (std::size_t i = 0; i < list.sources.size(); ++i) {
    if (stop.stop_requested()) ThrowStopped();
    try {
      std::optional<ValuePicture> picture = ReadValues(list, i, field, options, file);
      if (picture) return std::pair(*std::move(picture), i);
    } catch (const StoreFault&) {
      throw;
    } catch (const Error& error) {
      if (IsShortage(error)) throw;
    }
  }
  return std::nullopt;
}

std::string NumberText(double number) {
  if (std::isnan(number)) return "nan";
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

void AddGeo(SourceList& list) {
  SourceValues values;
  for (std::size_t i = 0; i < list.sources.size() && !list.values.empty(); ++i) {
    for (std::size_t f = 0; f < list.fields.size(); ++f)
      values.Add(list.Value(i, f));
    values.Add(std::nullopt);
  }
  list.values = std::move(values);
  list.fields.push_back({Field::Bytes("geo", Role::kJson), Feed::kGeo});
}

}  // namespace

std::optional<ValuePicture> ReadValues(const SourceList& list, std::size_t source,
                                       std::size_t field, const ConvertOptions& options,
                                       std::vector<std::byte>& file,
                                       const std::atomic<bool>* give_up) {
  if (field > 0) {
    if (!ReadMaskFile(list, source, field, file, give_up)) return std::nullopt;
    return DecodeValues(file, options.run.max_pixels);
  }
  if (list.archives.empty() && list.Value(source, 0))
    return ReadStack(list, source, options, file, give_up);
  ReadImageFile(list, source, file, give_up);
  return DecodeValues(file, options.run.max_pixels);
}

void FindForms(const ConvertOptions& options, const std::stop_token& stop, SourceList& list) {
  bool geo = false;
  if (options.form.pixels == PixelValues::kKeep) list.fields[0].form = ValueForm();
  for (std::size_t f = 0; f < list.fields.size(); ++f) {
    SourceField& field = list.fields[f];
    if (!field.form && field.feed != Feed::kMask) continue;
    const auto found = FirstReadable(options, f, stop, list);
    if (!found) continue;
    const ValuePicture* const first = &found->first;
    field.form = ValueForm{first->type, first->channels, list.KeyForPeople(found->second)};
    if (field.feed == Feed::kMask) continue;
    // 8-bit pictures take no part in rules for no data.
    if (first->no_data && IsWide(first->type, first->channels))
      field.field.attributes["no_data"] = NumberText(*first->no_data);
    if (f == 0 && !options.form.stack.empty()) {
      std::string& names = field.field.attributes["channels"];
      for (const std::string& name : options.form.stack)
        names += (names.empty() ? "" : ",") + name;
    }
    geo = geo || (f == 0 && !first->geo.empty());
  }
  if (geo && list.MakeSchema().Find("geo") == Schema::kNone) AddGeo(list);
}

void StoreValues(ValuePicture picture, const SourceField& field, const Placement& placement,
                 FieldValue& value) {
  const ValueForm form = field.form.value_or(ValueForm());
  if (form.channels != 0 && (picture.type != form.type || picture.channels != form.channels)) {
    throw Error(ErrorCode::kUnsupported,
                "holds " + FormText(picture.channels, picture.type) +
                    ", and the first source that can be read, whose form all have, " +
                    FormText(form.channels, form.type) + "; convert it to another dataset");
  }
  const std::optional<double> no_data = NoDataOf(field.field);
  if (picture.no_data && IsWide(picture.type, picture.channels) &&
      !(no_data && SameNumber(*no_data, *picture.no_data))) {
    throw Error(ErrorCode::kUnsupported,
                "has " + NumberText(*picture.no_data) +
                    " for no data, and the first source that can be read, whose form all have, " +
                    (no_data ? NumberText(*no_data) : "no such number") +
                    "; convert it to another dataset");
  }
  const bool mask = field.field.role == Role::kMask;
  picture = FitValues(std::move(picture), no_data, mask, placement);
  value.SetSize(picture.width, picture.height, picture.channels);
  value.pixel_type = picture.type;
  const Bytes pixels = std::as_bytes(std::span(picture.pixels));
  if (IsWide(picture.type, picture.channels)) {
    value.bytes = tiled::Encode(
        {Codec::kRaw, picture.type, value.channels, picture.width, picture.height, pixels});
    value.codec = Codec::kTiled;
    return;
  }
  value.codec = Codec::kRaw;
  if (mask) value.bytes = ZstdCompress(pixels);
  if (mask && value.bytes.size() < pixels.size()) {
    value.codec = Codec::kZstd;
    return;
  }
  if (pixels.size() > kMaxPayloadBytes) {
    throw Error(ErrorCode::kLimit, "takes " + std::to_string(pixels.size()) +
                                       " bytes as raw pixels, more than can be stored");
  }
  value.SetBytes(pixels);
}

}  // namespace sluice
