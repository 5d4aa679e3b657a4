#include "bench/epoch/device_use.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "bench/machine/process_usage.h"
#include "tools/cli/output.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {
namespace {

using cli::Format;

double Share(double part, double whole) {
  return whole > 0 ? std::min(1.0, part / whole) : 0;
}

std::string GigabytesText(double bytes_per_second) {
  return Format("%.3g GB/s", 1e-9 * bytes_per_second);
}

std::string DecodingText(const DeviceUse& use) {
  if (!use.asked_to_decode) return "by the CPUs";
  if (use.decoded_images == 0) return "by the CPUs: the device took none of these images";
  return Format("%.1f%% of the images by the device, %s us each (%.0f%% of the time)",
                100 * Share(double(use.decoded_images), double(use.images)),
                cli::RateText(1e6 * use.decode_seconds / double(use.decoded_images)).c_str(),
                100 * Share(use.decode_seconds, use.seconds));
}

std::string BusText(const DeviceUse& use) {
  std::string text = cli::BytesText(use.uploaded_bytes) + " crossed it";
  if (use.samples > 0)
    text += Format(", %.3g kB a sample", 1e-3 * double(use.uploaded_bytes) / double(use.samples));
  if (use.upload_seconds <= 0) return text;
  const double rate = double(use.uploaded_bytes) / use.upload_seconds;
  text += Format("; copies took %.0f%% of the time, at %s",
                 100 * Share(use.upload_seconds, use.seconds), GigabytesText(rate).c_str());
  if (use.bare_copies && *use.bare_copies > 0) {
    text += Format(" (bare pinned copies: %s, so %.0f%% of them)",
                   GigabytesText(*use.bare_copies).c_str(), 100 * rate / *use.bare_copies);
  }
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> LinesOf(const DeviceUse& use) {
  return {{"decoding", DecodingText(use)},
          {"bus", BusText(use)},
          {"CPUs", CpusText(use.cpus_busy, use.cpus)},
          {"GPU", GpuText(use.gpu)}};
}

std::string TextOf(const DeviceUse& use) {
  constexpr std::size_t kColumns = 100, kIndent = 13;
  std::string text = "to " + use.device + ":\n";
  for (const auto& [name, words] : LinesOf(use)) {
    std::string wrapped = cli::Wrapped(words, kColumns - kIndent);
    for (std::size_t at = wrapped.find('\n'); at != std::string::npos;
         at = wrapped.find('\n', at + 1))
      wrapped.insert(at + 1, kIndent, ' ');
    text += Format("  %-11s", name.c_str()) + wrapped + "\n";
  }
  return text + "\n";
}

std::pair<std::string, double> BusiestOf(const DeviceUse& use) {
  const std::pair<std::string, double> all[] = {
      {"decoding on the device", Share(use.decode_seconds, use.seconds)},
      {"copies to the device", Share(use.upload_seconds, use.seconds)},
      {"the CPUs", Share(use.cpus_busy, use.cpus)}};
  return *std::max_element(std::begin(all), std::end(all),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
}

nlohmann::ordered_json JsonOf(const DeviceUse& use) {
  nlohmann::ordered_json json{{"seconds", use.seconds},
                              {"samples", use.samples},
                              {"images", use.images},
                              {"decoded_images", use.decoded_images},
                              {"decode_seconds", use.decode_seconds},
                              {"uploaded_bytes", use.uploaded_bytes},
                              {"upload_seconds", use.upload_seconds},
                              {"cpus_busy", use.cpus_busy},
                              {"cpus", use.cpus}};
  if (use.bare_copies) json["bare_copies_bytes_per_second"] = *use.bare_copies;
  for (const auto& [name, words] : LinesOf(use))
    json["words"][name] = words;
  return json;
}

}  // namespace sluice::bench
