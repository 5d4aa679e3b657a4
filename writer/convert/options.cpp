#include "writer/convert/options.h"

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>

#include <sluice/error.h>

#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "writer/encode/jpeg.h"
#include "writer/source/images/icc.h"

namespace sluice {

namespace {

constexpr unsigned kMaxThreads = 1024;

void Require(bool holds, const std::string& sentence) {
  if (!holds) throw Error(ErrorCode::kInvalidArgument, sentence);
}

void CheckGeometry(const ConvertOptions& options) {
  const int set = options.geometry.max_side.has_value() + options.geometry.short_side.has_value() +
                  options.geometry.size.has_value();
  Require(set <= 1, "only one of max_side, short_side and size may be set");
  const std::uint32_t limit = options.form.image == ImageCodec::kRaw ? kMaxImageSide : kMaxJpegSide;
  const auto in_range = [limit](std::uint32_t side) { return side >= 1 && side <= limit; };
  const std::string range = " must lie between 1 and " + std::to_string(limit);
  if (options.geometry.max_side) Require(in_range(*options.geometry.max_side), "max_side" + range);
  if (options.geometry.short_side)
    Require(in_range(*options.geometry.short_side), "short_side" + range);
  if (options.geometry.size) {
    Require(in_range(options.geometry.size->width) && in_range(options.geometry.size->height),
            "the width and the height of size" + range);
    Require(std::uint64_t{options.geometry.size->width} * options.geometry.size->height <=
                kMaxImagePixels,
            "size has more than " + std::to_string(kMaxImagePixels) + " pixels");
  }
}

}  // namespace

void CheckOptions(const ConvertOptions& options) {
  CheckGeometry(options);
  Require(options.form.quality >= 1 && options.form.quality <= 100,
          "quality must lie between 1 and 100");
  Require(!options.form.keep || options.form.image != ImageCodec::kRaw,
          "quality keep is for JPEG files, and raw pixels have none");
  Require(options.form.restart_rows <= 65'535, "restart_rows must be at most 65535");
  Require(options.form.channels == 1 || options.form.channels == 3,
          "channels must be 1 (grey) or 3 (RGB)");
  if (options.form.icc == IccProfiles::kConvert && !CanConvertProfiles()) {
    throw Error(
        ErrorCode::kUnsupported,
        "this build of Sluice cannot convert colour profiles: install liblcms2-dev and build "
        "it again");
  }
  Require(
      options.shards.shard_bytes >= kMinShardBytes && options.shards.shard_bytes <= kMaxShardBytes,
      "shard_bytes must lie between " + std::to_string(kMinShardBytes) + " and " +
          std::to_string(kMaxShardBytes));
  Require(options.shards.block_samples <= kMaxBlockSamples, "block_samples must be at most 65536");
  Require(options.run.threads <= kMaxThreads, "threads must be at most 1024");
  Require(options.run.max_pixels >= 1 && options.run.max_pixels <= kMaxImagePixels,
          "max_pixels must lie between 1 and " + std::to_string(kMaxImagePixels));
}

nlohmann::json OptionsToJson(const ConvertOptions& options) {
  using nlohmann::json;
  const bool jpeg = options.form.image != ImageCodec::kRaw;
  const auto number = [](const std::optional<std::uint32_t>& value) {
    return value ? json(*value) : json();
  };
  const char* const fits[] = {"crop", "stretch", "pad"};
  const char* const images[] = {"jpeg", "raw", "packed"};
  json out = json::object();  // not by its first member: that one could fail half-way
  out["max_side"] = number(options.geometry.max_side);
  out["short_side"] = number(options.geometry.short_side);
  out["size"] = options.geometry.size
                    ? json{options.geometry.size->width, options.geometry.size->height}
                    : json();
  out["fit"] = options.geometry.size ? json(fits[static_cast<int>(options.geometry.fit)]) : json();
  out["image"] = images[static_cast<int>(options.form.image)];
  out["quality"] = jpeg ? json(options.form.quality) : json();
  out["keep"] = options.form.keep;
  out["restart_rows"] = jpeg ? json(options.form.restart_rows) : json();
  const bool colour = jpeg && options.form.channels == 3;
  out["subsampling"] =
      colour ? json(options.form.subsampling == Subsampling::k420 ? "420" : "444") : json();
  out["channels"] = options.form.channels;
  // Named only if they are not the default: most sources have nothing they apply to.
  if (options.form.background != ConvertOptions().form.background)
    out["background"] = options.form.background;
  if (options.form.icc == IccProfiles::kConvert) out["icc"] = "convert";
  if (options.form.truncated == Truncated::kWarn) out["truncated"] = "warn";
  if (options.form.truncated == Truncated::kAccept) out["truncated"] = "accept";
  out["shard_bytes"] = options.shards.shard_bytes;
  out["block_samples"] = options.shards.block_samples;
  out["keep_order"] = options.shards.keep_order;
  out["seed"] = options.shards.keep_order ? json() : json(options.shards.seed);
  out["max_pixels"] = options.run.max_pixels;
  return out;
}

namespace {

// Whether the value is a whole number that T can hold; others would be rounded or cut.
template <class T>
bool FitsIn(const nlohmann::json& value) {
  return value.is_number_unsigned() &&
         value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<T>::max());
}

template <class T>
void Take(const nlohmann::json& json, const char* name, T& value) {
  const auto member = json.find(name);
  if (member == json.end()) return;
  if constexpr (std::is_same_v<T, bool>) {
    if (member->is_boolean()) value = member->get<bool>();
  } else if (FitsIn<T>(*member)) {
    value = member->get<T>();
  }
}

void Take(const nlohmann::json& json, const char* name, std::optional<std::uint32_t>& value) {
  const auto member = json.find(name);
  value.reset();
  if (member != json.end() && FitsIn<std::uint32_t>(*member)) value = member->get<std::uint32_t>();
}

}  // namespace

ConvertOptions OptionsFromJson(const nlohmann::json& json) {
  ConvertOptions options;
  if (!json.is_object()) return options;
  Take(json, "max_side", options.geometry.max_side);
  Take(json, "short_side", options.geometry.short_side);
  const nlohmann::json size = json.value("size", nlohmann::json());
  if (size.is_array() && size.size() == 2 && FitsIn<std::uint32_t>(size[0]) &&
      FitsIn<std::uint32_t>(size[1])) {
    options.geometry.size = Size{size[0].get<std::uint32_t>(), size[1].get<std::uint32_t>()};
  }
  const auto is = [&json](const char* name, const char* text) {
    const auto member = json.find(name);
    return member != json.end() && *member == text;
  };
  if (is("fit", "stretch")) options.geometry.fit = Fit::kStretch;
  if (is("fit", "pad")) options.geometry.fit = Fit::kPad;
  if (is("image", "raw")) options.form.image = ImageCodec::kRaw;
  if (is("image", "packed")) options.form.image = ImageCodec::kPacked;
  if (is("subsampling", "444")) options.form.subsampling = Subsampling::k444;
  if (is("icc", "convert")) options.form.icc = IccProfiles::kConvert;
  if (is("truncated", "warn")) options.form.truncated = Truncated::kWarn;
  if (is("truncated", "accept")) options.form.truncated = Truncated::kAccept;
  const nlohmann::json background = json.value("background", nlohmann::json());
  const auto is_value = [](const nlohmann::json& value) {
    return value.is_number_unsigned() && value <= 255;
  };
  if (background.is_array() && background.size() == 3 &&
      std::all_of(background.begin(), background.end(), is_value)) {
    background.get_to(options.form.background);
  }
  Take(json, "quality", options.form.quality);
  Take(json, "keep", options.form.keep);
  Take(json, "restart_rows", options.form.restart_rows);
  Take(json, "channels", options.form.channels);
  Take(json, "shard_bytes", options.shards.shard_bytes);
  Take(json, "block_samples", options.shards.block_samples);
  Take(json, "keep_order", options.shards.keep_order);
  Take(json, "seed", options.shards.seed);
  Take(json, "max_pixels", options.run.max_pixels);
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
