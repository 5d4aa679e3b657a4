#include "bench/advise/form.h"

#include <algorithm>
#include <cmath>

#include "tools/cli/quantity.h"

namespace sluice::bench {
namespace {

using cli::Format;

struct StoredSize {
  std::string name, option;
  std::optional<std::uint32_t> max_side, short_side;
};

// Scales the usual 500 and 256, so that a crop of `side` has as many pixels to take from as one of
// 224.
std::uint32_t Scaled(std::uint32_t usual, std::uint32_t side) {
  return static_cast<std::uint32_t>(std::lround(usual * static_cast<double>(side) / 224));
}

std::vector<StoredSize> SizesFor(const SourceFacts& facts, std::uint32_t side) {
  const std::uint32_t max_side = Scaled(500, side), short_side = Scaled(256, side);
  std::vector<StoredSize> sizes;
  if (std::max(facts.most_width, facts.most_height) > max_side) {
    sizes.push_back({Format("%u", max_side), Format("--max-side %u", max_side), max_side, {}});
  } else {
    sizes.push_back({"own size", "--no-resize", {}, {}});
  }
  if (std::min(facts.median_width, facts.median_height) > short_side) {
    sizes.push_back(
        {Format("short %u", short_side), Format("--short-side %u", short_side), {}, short_side});
  }
  return sizes;
}

Form FormOf(ImageCodec image, const StoredSize& size) {
  Form form;
  const char* const name = image == ImageCodec::kJpeg     ? "jpeg"
                           : image == ImageCodec::kPacked ? "packed"
                                                          : "raw";
  form.name = std::string(name) + " " + size.name;
  form.options = std::string("--image ") + name + " " + size.option;
  form.convert.image = image;
  form.convert.max_side = size.max_side;
  form.convert.short_side = size.short_side;
  return form;
}

std::vector<Form> FormsOfFolder(const SourceFacts& facts, std::uint32_t side,
                                const std::vector<int>& qualities) {
  std::vector<Form> forms;
  std::uint32_t preference = 0;
  const std::vector<StoredSize> sizes = SizesFor(facts, side);
  for (const StoredSize& size : sizes) {
    Form raw = FormOf(ImageCodec::kRaw, size);
    raw.preference = preference;
    for (const int quality : qualities) {
      for (const ImageCodec image : {ImageCodec::kJpeg, ImageCodec::kPacked}) {
        Form form = FormOf(image, size);
        form.name += Format(" q%d", quality);
        form.options += Format(" --quality %d", quality);
        form.convert.quality = quality;
        form.preference = preference;
        forms.push_back(std::move(form));
      }
      ++preference;
    }
    forms.push_back(std::move(raw));
  }
  // The sources' own coefficients, if there are any. If nothing is resized this is the first
  // choice; otherwise it shows the cost of keeping the size.
  if (facts.kinds.contains("JPEG")) {
    const bool resized = sizes.front().max_side.has_value();
    for (const ImageCodec image : {ImageCodec::kJpeg, ImageCodec::kPacked}) {
      Form form = FormOf(image, {"own size", "--no-resize", {}, {}});
      form.name += " keep";
      form.options += Format(" --quality keep:%d", qualities.front());
      form.convert.keep = true;
      form.convert.quality = qualities.front();
      form.preference = resized ? preference : 0;
      forms.push_back(std::move(form));
    }
  }
  return forms;
}

std::vector<Form> FormsOfDataset(const SourceFacts& facts) {
  const auto most =
      std::max_element(facts.kinds.begin(), facts.kinds.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  Form now;
  now.name = most->first + ", as it is";
  now.as_it_is = true;
  std::vector<Form> forms = {now};
  for (const auto& [name, image] : {std::pair{"jpeg", ImageCodec::kJpeg},
                                    {"packed", ImageCodec::kPacked},
                                    {"raw", ImageCodec::kRaw}}) {
    if (most->first == name) continue;
    Form form;
    form.name = name;
    form.options = std::string("--image ") + name;
    form.convert.image = image;
    // Made from pixels, both other forms lose something.
    form.preference = most->first == "raw" ? 1 : 0;
    forms.push_back(std::move(form));
  }
  return forms;
}

}  // namespace

std::vector<Form> FormsFor(const SourceFacts& facts, std::uint32_t side,
                           const std::vector<int>& qualities) {
  return facts.dataset ? FormsOfDataset(facts) : FormsOfFolder(facts, side, qualities);
}

}  // namespace sluice::bench
