#include "tools/preview_samples.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <sluice/error.h>

#include "tools/preview_annotations.h"
#include "tools/sample_values.h"
#include "tools/thumbnail.h"

namespace sluice {

namespace {

constexpr std::uint64_t kMostProbed = 4096;
constexpr std::size_t kCaptionBytes = 200;

bool IsDamage(const Error& error) noexcept {
  return error.code() == ErrorCode::kCorrupt || error.code() == ErrorCode::kUnsupported ||
         error.code() == ErrorCode::kLimit;
}

std::string ClassText(const Field& field, std::int64_t number) {
  const bool named = number >= 0 && static_cast<std::uint64_t>(number) < field.classes.size();
  return named ? field.classes[static_cast<std::size_t>(number)] : std::to_string(number);
}

void ReadLabel(const Sample& sample, const Field& field, PreviewPicture& picture) {
  constexpr std::size_t kMostLabels = 8;
  if (!sample.Has(field.name)) return;
  const std::vector<std::int64_t> numbers = IntegersOf(sample, field);
  const std::size_t count = numbers.size();
  for (std::size_t i = 0; i < std::min(count, kMostLabels); ++i)
    picture.label_text += (i == 0 ? "" : ", ") + ClassText(field, numbers[i]);
  if (count == 1) picture.label = numbers[0];
  if (count > kMostLabels) picture.label_text += ", ...";
}

// One sample without its pixels.
PreviewPicture LookAt(const Dataset& dataset, std::uint64_t index) {
  PreviewPicture picture;
  picture.index = index;
  try {
    const Sample sample = dataset[index];
    picture.key = sample.key();
    const Schema& schema = dataset.schema();
    std::size_t label = schema.LabelField();
    if (label == Schema::kNone) label = schema.FindRole(Role::kLabel);  // of several numbers
    if (label != Schema::kNone) ReadLabel(sample, schema.fields[label], picture);
    if (const std::size_t text = schema.FindRole(Role::kText); text != Schema::kNone) {
      if (sample.Has(schema.fields[text].name)) {
        picture.caption = sample.Text(schema.fields[text].name).substr(0, kCaptionBytes);
      }
    }
    const std::string& field = ShownImage(schema).name;
    if (!sample.Has(field)) {
      picture.trouble = kNoImage;
      return picture;
    }
    const ImagePayload payload = sample.Payload(field);
    picture.width = payload.width;
    picture.height = payload.height;
  } catch (const Error& error) {
    if (!IsDamage(error)) throw;
    picture.trouble = error.what();
  }
  return picture;
}

// One of each label in turn, until there are `count`.
std::vector<PreviewPicture> Chosen(std::vector<PreviewPicture> looked, std::uint64_t count) {
  std::map<std::optional<std::int64_t>, std::vector<PreviewPicture>> by_label;
  const bool labelled = std::any_of(looked.begin(), looked.end(), [](const PreviewPicture& one) {
    return one.label.has_value();
  });
  if (!labelled) {  // evenly
    std::vector<PreviewPicture> chosen;
    const std::uint64_t most = std::min<std::uint64_t>(count, looked.size());
    for (std::uint64_t i = 0; i < most; ++i)
      chosen.push_back(std::move(looked[i * looked.size() / most]));
    return chosen;
  }
  for (PreviewPicture& one : looked)
    by_label[one.label].push_back(std::move(one));
  std::vector<PreviewPicture> chosen;
  for (std::size_t round = 0; chosen.size() < count; ++round) {
    const std::size_t before = chosen.size();
    for (auto& [label, pictures] : by_label) {
      if (round < pictures.size() && chosen.size() < count) {
        chosen.push_back(std::move(pictures[round]));
      }
    }
    if (chosen.size() == before) break;
  }
  std::sort(chosen.begin(), chosen.end(), [](const PreviewPicture& a, const PreviewPicture& b) {
    return std::tie(a.label, a.index) < std::tie(b.label, b.index);
  });
  return chosen;
}

}  // namespace

Preview TakePreview(const Dataset& dataset, const PreviewOptions& options,
                    const std::function<void(std::uint64_t, std::uint64_t)>& on_progress) {
  Preview preview;
  preview.probed = std::min(dataset.size(), kMostProbed);
  std::vector<PreviewPicture> looked;
  for (std::uint64_t i = 0; i < preview.probed; ++i) {
    // Rounded so that no two are the same, without a product that could overflow.
    const std::uint64_t whole = dataset.size() / preview.probed;
    const std::uint64_t rest = dataset.size() % preview.probed;
    looked.push_back(LookAt(dataset, i * whole + i * rest / preview.probed));
    const PreviewPicture& picture = looked.back();
    if (picture.width > 0) preview.sizes.emplace_back(picture.width, picture.height);
  }
  preview.pictures = Chosen(std::move(looked), options.count);
  for (std::size_t i = 0; i < preview.pictures.size(); ++i) {
    PreviewPicture& picture = preview.pictures[i];
    on_progress(i, preview.pictures.size());
    if (!picture.trouble.empty()) continue;
    try {
      const Field& field = ShownImage(dataset.schema());
      const Sample sample = dataset[picture.index];
      picture.thumbnail = Thumbnail(sample.Decode(field.name), options.side);
      DrawAnnotations(sample, dataset.schema(), field, picture.width, picture.height,
                      picture.thumbnail);
    } catch (const Error& error) {
      if (!IsDamage(error)) throw;
      picture.trouble = error.what();
    }
  }
  return preview;
}

}  // namespace sluice
