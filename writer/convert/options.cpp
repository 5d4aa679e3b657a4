// The list of options (convert_option_list.h) gives their ranges and their form as JSON. Only the
// rules that involve several options are written out here.
#include "writer/convert/options.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <set>
#include <string>
#include <type_traits>

#include <sluice/convert_option_list.h>
#include <sluice/error.h>

#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "format/disk/manifest.h"
#include "writer/encode/jpeg.h"
#include "writer/source/images/icc.h"
#include "writer/text.h"

namespace sluice {

namespace {

void Require(bool holds, const std::string& sentence) {
  if (!holds) throw Error(ErrorCode::kInvalidArgument, sentence);
}

void CheckGeometry(const GeometryOptions& geometry, ImageCodec image) {
  const int set =
      geometry.max_side.has_value() + geometry.short_side.has_value() + geometry.size.has_value();
  Require(set <= 1, "only one of max_side, short_side and size may be set");
  const std::uint32_t limit = image == ImageCodec::kRaw ? kMaxImageSide : kMaxJpegSide;
  const std::string range = " must be 1 to " + std::to_string(limit);
  Require(geometry.max_side.value_or(1) <= limit, "max_side" + range);
  Require(geometry.short_side.value_or(1) <= limit, "short_side" + range);
  if (!geometry.size) return;
  for (const std::uint32_t side : {geometry.size->width, geometry.size->height})
    Require(side >= 1 && side <= limit, "the width and the height of size" + range);
  Require(std::uint64_t{geometry.size->width} * geometry.size->height <= kMaxImagePixels,
          "size has more than " + std::to_string(kMaxImagePixels) + " pixels");
}

void CheckPixelOptions(const ConvertOptions& options) {
  const FormOptions& form = options.form;
  const bool keep = form.pixels == PixelValues::kKeep;
  Require(!keep || !(options.geometry.short_side || options.geometry.size),
          "pixels keep (--pixels keep) stores images in their own sizes, so short_side and size do "
          "not go with it; resize them when they are loaded");
  if (keep) {
    const FormOptions usual;
    const auto refuse = [](bool given, const std::string& name) {
      Require(!given, name +
                          " is for 8-bit pictures, and pixels keep (--pixels keep) stores "
                          "images as they are, in their own sizes; leave it out");
    };
    const GeometryOptions sizes;
    refuse(options.geometry.max_side && options.geometry.max_side != sizes.max_side, "max_side");
    refuse(form.image != usual.image, "image");
    refuse(form.quality != usual.quality, "quality");
    refuse(form.keep, "quality keep");
    refuse(form.restart_markers != usual.restart_markers, "restart_markers");
    refuse(form.subsampling != usual.subsampling, "subsampling");
    refuse(form.channels != usual.channels, "channels");
    refuse(form.background != usual.background, "background");
    refuse(form.icc != usual.icc, "icc");
    refuse(form.truncated != usual.truncated, "truncated");
  }
  Require(keep || form.stack.empty(), "stack (--stack) needs pixels keep (--pixels keep)");
  Require(!form.stack.empty() || form.stack_resize == StackResize::kRefuse,
          "stack_resize (--stack-resize) needs stack (--stack)");
  Require(form.stack.size() <= kMaxImageChannels,
          "stack (--stack) names more than " + std::to_string(kMaxImageChannels) + " channels");
  Require(form.stack.empty() || !options.run.find_duplicates,
          "find_duplicates (--find-duplicates) compares single files, so it does not go with stack "
          "(--stack)");
  std::set<std::string> names;
  for (const std::string& name : form.stack) {
    Require(!name.empty() && name.find_first_of(",/") == std::string::npos,
            "stack (--stack) has a name that is empty, or has a comma or slash");
    Require(ToUtf8(name) == name, "stack (--stack) has a name that is not UTF-8");
    Require(names.insert(name).second, "stack (--stack) names " + name + " twice");
  }
}

template <class V>
nlohmann::json OptionJson(const V& value) {
  if constexpr (requires { value.has_value(); }) {
    return value ? OptionJson(*value) : nlohmann::json();
  } else if constexpr (std::is_same_v<V, Size>) {
    return {value.width, value.height};
  } else if constexpr (option_list::HasWords<V>) {
    return option_list::WordOf(value);
  } else {
    return value;
  }
}

// The options that the dataset's bytes depend on.
template <class Options>
nlohmann::json ValuesOf(const Options& options) {
  nlohmann::json out = nlohmann::json::object();
  option_list::ForEachOption(options,
                             [&](const auto& option, const auto& value, const std::string&) {
                               if (option.facts.changes != option_list::Changes::kSpeed)
                                 out[option.name] = OptionJson(value);
                             });
  return out;
}

}  // namespace

void CheckOptions(const ConvertOptions& options) {
  const std::string wrong = option_list::WhatIsOutOfRange(options);
  Require(wrong.empty(), "ConvertOptions::" + wrong);
  CheckGeometry(options.geometry, options.form.image);
  CheckMetadata(options.shards.meta);
  Require(!options.form.keep || options.form.image != ImageCodec::kRaw,
          "quality keep stores JPEGs, so `image` must be jpeg or packed, not raw");
  Require(options.form.channels != 2, "channels must be 1 (grey) or 3 (RGB)");
  CheckPixelOptions(options);
  if (options.form.icc == IccProfiles::kConvert && !CanConvertProfiles()) {
    throw Error(
        ErrorCode::kUnsupported,
        "this build of Sluice cannot convert colour profiles: install liblcms2-dev and build "
        "it again");
  }
}

nlohmann::json OptionsToJson(const ConvertOptions& options) {
  nlohmann::json out = ValuesOf(options);
  const auto has_no_effect = [&](std::initializer_list<const char*> names) {
    for (const char* const name : names)
      out[name] = nullptr;
  };
  if (!options.geometry.size) has_no_effect({"fit"});
  if (options.form.pixels == PixelValues::kKeep) {
    has_no_effect({"max_side", "image", "quality", "keep", "restart_markers", "subsampling",
                   "channels", "background", "icc", "truncated"});
  }
  if (options.form.image == ImageCodec::kRaw) has_no_effect({"quality", "restart_markers"});
  if (options.form.image == ImageCodec::kRaw || options.form.channels != 3)
    has_no_effect({"subsampling"});
  if (options.shards.keep_order) has_no_effect({"seed"});
  // These options came later. They are left out at their defaults, so that a conversion without
  // them keeps the plan's digest, and the dataset its bytes, from before they existed.
  const nlohmann::json usual = ValuesOf(FormOptions());
  for (const char* const name :
       {"background", "icc", "truncated", "pixels", "stack", "stack_resize"}) {
    if (out[name] == usual[name]) out.erase(name);
  }
  if (options.shards.meta.empty()) out.erase("meta");
  return out;
}

namespace {

// Whether the value is a whole number that T can hold; others would be rounded or cut.
template <class T>
bool FitsIn(const nlohmann::json& value) {
  return value.is_number_unsigned() &&
         value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<T>::max());
}

// The JSON value as a V, or nullopt if it does not fit.
template <class V>
std::optional<V> ValueIn(const nlohmann::json& json) {
  if constexpr (std::is_same_v<V, bool>) {
    return json.is_boolean() ? std::optional(json.get<bool>()) : std::nullopt;
  } else if constexpr (option_list::HasWords<V>) {
    return json.is_string() ? option_list::FromWord<V>(json.get_ref<const std::string&>())
                            : std::nullopt;
  } else if constexpr (std::is_same_v<V, Size>) {
    if (!json.is_array() || json.size() != 2) return std::nullopt;
    const auto width = ValueIn<std::uint32_t>(json[0]), height = ValueIn<std::uint32_t>(json[1]);
    return width && height ? std::optional(Size{*width, *height}) : std::nullopt;
  } else if constexpr (std::is_same_v<V, Metadata>) {
    const bool fits =
        json.is_object() &&
        std::all_of(json.begin(), json.end(), [](const auto& one) { return one.is_string(); });
    return fits ? std::optional(json.template get<V>()) : std::nullopt;
  } else if constexpr (std::is_same_v<V, std::vector<std::string>>) {
    const bool fits = json.is_array() && std::all_of(json.begin(), json.end(), [](const auto& one) {
                        return one.is_string();
                      });
    return fits ? std::optional(json.template get<V>()) : std::nullopt;
  } else if constexpr (std::is_integral_v<V>) {
    return FitsIn<V>(json) ? std::optional(json.get<V>()) : std::nullopt;
  } else {  // an array of integers: a colour
    const bool fits = json.is_array() && json.size() == V().size() &&
                      std::all_of(json.begin(), json.end(), FitsIn<typename V::value_type>);
    return fits ? std::optional(json.get<V>()) : std::nullopt;
  }
}

}  // namespace

ConvertOptions OptionsFromJson(const nlohmann::json& json) {
  ConvertOptions options;
  if (!json.is_object()) return options;
  option_list::ForEachOption(options,
                             [&]<class V>(const auto& option, V& value, const std::string&) {
                               if (option.facts.changes == option_list::Changes::kSpeed) return;
                               const auto member = json.find(option.name);
                               if (member == json.end()) return;
                               if constexpr (requires { value.has_value(); }) {
                                 value = ValueIn<typename V::value_type>(*member);
                               } else {
                                 value = ValueIn<V>(*member).value_or(value);
                               }
                             });
  return options;
}

nlohmann::json OptionsOfMade(const std::string& made) {
  if (NestsDeeperThan(made, kMaxJsonDepth)) return {};
  const nlohmann::json json = nlohmann::json::parse(made, nullptr, false);
  if (!json.is_object()) return {};
  const auto options = json.find("options");
  return options == json.end() || !options->is_object() ? nlohmann::json() : *options;
}

}  // namespace sluice
