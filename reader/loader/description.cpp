// Loader::Describe(): in words, what the loader does to each field of a batch, and where. Shapes,
// and where each step runs, come from the structures that the loader works by (the layout, the
// programs of the views), so that the text cannot promise what is not done. The rest comes from the
// checked options.
#include <algorithm>
#include <cmath>

#include <sluice/unmapped_note.h>

#include "format/pixels/wide.h"
#include "reader/dataset/options_of.h"
#include "reader/dataset/rank_epoch.h"
#include "reader/decoding/decoded_picture_use.h"
#include "reader/loader/loader_setup.h"
#include "reader/transform/pixel_steps.h"
#include "reader/transform/steps.h"
#include "reader/upload/uploader.h"

namespace sluice {

namespace {

std::string ShapeText(const ImageBatch& image, const std::vector<Geometry::Extent>& extents,
                      ImageSizes image_sizes, const std::vector<OutputSize>& by_epoch) {
  // Each size once, if they are drawn for the batches.
  const bool drawn = std::ranges::any_of(by_epoch, [](const OutputSize& s) { return s.every > 0; });
  std::vector<std::string> shown;
  for (const Geometry::Extent& extent : extents) {
    std::string size = std::to_string(extent.width) + "x" + std::to_string(extent.height);
    const auto known = drawn ? shown.begin() : shown.end() - (shown.empty() ? 0 : 1);
    if (std::find(known, shown.end(), size) == shown.end()) shown.push_back(std::move(size));
  }
  std::string sizes;
  for (const std::string& size : shown)
    sizes += (sizes.empty() ? "" : drawn ? " or " : ", later ") + size;
  if (image_sizes != ImageSizes::kEqual) sizes = "up to " + sizes;
  if (image_sizes == ImageSizes::kPadded) sizes += ", padded to the batch's largest";
  if (image_sizes == ImageSizes::kOwn) sizes += ", each of its own size";
  return sizes + ", " + std::to_string(image.channels) +
         (image.channels == 1 ? " channel of " : " channels of ") +
         std::string(NameOf(image.type)) + (image.layout == Layout::kNHWC ? ", NHWC" : ", NCHW");
}

// The program of the view says how many of the steps that change pixels run on the host. If
// anything is left to the device, the device runs the rest of them and Normalize.
void DescribeSteps(const Pipeline& steps, const PixelProgram& program, std::size_t stage,
                   std::string& text) {
  std::vector<std::string> names;
  std::size_t widest = 0;
  for (const Transform& step : steps) {
    names.push_back(StepText(step));
    widest = std::max(widest, names.back().size());
  }
  std::size_t pixel_steps = 0;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const bool on_device = program.continues_on_device() &&
                           (std::holds_alternative<Normalize>(steps[s]) ||
                            (ChangesPixels(steps[s]) && pixel_steps >= program.steps_here(stage)));
    // The stage is that of the first lists.
    const auto* const choice = std::get_if<RandomChoice>(&steps[s]);
    pixel_steps += static_cast<std::size_t>(
        choice == nullptr ? ChangesPixels(steps[s])
                          : std::ranges::count_if(choice->transforms[0], ChangesPixels));
    text += "  " + names[s] + std::string(widest - names[s].size() + 2, ' ') +
            (on_device ? "on the device" : HowItRuns(steps[s])) + "\n";
  }
}

void Describe(const std::string& title, const Pipeline& transform,
              const std::vector<ScheduledTransform>& schedule, const ViewProgram& view,
              std::string& text) {
  text += title + "\n";
  DescribeSteps(transform, view.pixels, 0, text);
  for (const ScheduledTransform& later : schedule) {
    text += "  from epoch " + std::to_string(later.epoch) + " on" +
            (later.transform.empty() ? ": no steps\n" : ":\n");
    DescribeSteps(later.transform, view.pixels, view.geometry.ChoicesIn(later.epoch).first, text);
  }
}

std::string ImagesText(const SlotLayout& layout, ImagesIn images) {
  if (images == ImagesIn::kStorage) return {};
  return layout.picture().name +
         ": all pictures of the dataset are put into the device's memory while the first epoch "
         "plays; from then on, the device also crops and resizes raw ones\n";
}

// The text for LoaderOptions::output.mask_fill.
std::string FillText(const SlotLayout::ImageField& image) {
  if (image.fill == 0) return "";
  return "; " + NumberText(ValueOf(image.pixels, image.fill)) + " in a border of one colour";
}

const std::string& FollowerName(const Followers::Numbers& numbers, const SlotLayout& layout) {
  return numbers.variable ? layout.variables[numbers.index].name
                          : layout.arrays[numbers.index].name;
}

// Names the label fields that do not follow boxes, because that is rarely what a user wants: when
// boxes are dropped, the entries of such a field belong to other boxes than before.
std::string FollowersText(const LoaderOptions& options, const Schema& schema,
                          const SlotLayout& layout, const Followers& follow) {
  std::string text, lists;  // the label fields that keep their entries
  for (const SlotLayout::VariableField& field : layout.variables) {
    if (field.field == Schema::kNone) continue;
    const Field& stored = schema.fields[field.field];
    if (stored.role == Role::kLabel && stored.follows.empty())
      lists += (lists.empty() ? "" : ", ") + field.name;
  }
  if (!follow.boxes.empty() && !lists.empty()) {
    text += lists +
            ": follows no image, so keeps all entries when boxes are dropped. If the "
            "entries belong to boxes, store the field with follows = the boxes' image\n";
  }
  const BoxRule& rule = options.output.boxes;
  for (const Followers::Boxes& boxes : follow.boxes) {
    for (const std::size_t instances : boxes.instances) {
      text += layout.variables[instances].name + ": instances of " + FollowerName(boxes, layout) +
              ", as runs of the pixels that the row shows of each\n";
    }
    if (boxes.stay) continue;
    const bool anew = rule.from_masks && !boxes.instances.empty();
    text += FollowerName(boxes, layout) + ": boxes, moved and cut off with their image" +
            (anew ? ", and made anew from their masks" : "") + "; dropped if a side is less than " +
            NumberText(rule.min_side) + " px";
    if (rule.max_aspect) text += " or more than " + NumberText(*rule.max_aspect) + " x the other";
    if (rule.min_visible > 0)
      text += " or less than " + NumberText(rule.min_visible) + " of the box is visible";
    if (rule.min_mask > 0 && !boxes.instances.empty())
      text += " or less than " + NumberText(double(rule.min_mask)) + " px of its mask";
    if (rule.most) text += " or a row has " + NumberText(double(*rule.most)) + " larger ones";
    for (std::size_t c = 0; c < boxes.companions.size(); ++c) {
      text += (c == 0 ? ", and with them their entries in " : ", ") +
              layout.variables[boxes.companions[c]].name;
    }
    text += "\n";
  }
  for (const Followers::Points& points : follow.points)
    text += FollowerName(points, layout) + ": key points, moved with their image\n";
  return text;
}

std::string MixtureText(const DatasetFacts& dataset, const LoaderOptions& options) {
  if (dataset.parts.empty()) return {};
  const auto plan = MixturePlanOf(options);
  std::string text = "a mixture of " + std::to_string(dataset.parts.size()) + " datasets, ";
  if (plan == nullptr) {
    text += "every sample once an epoch\n";
  } else if (plan->parameters().shares == MixtureShares::kOfEachBatch) {
    text += "each with a fixed share of each batch\n";
  } else {
    text += "by weight\n";
  }
  // A mixture may have thousands of datasets; the text is for people.
  constexpr std::size_t kMaxNamed = 10;
  for (std::size_t k = 0; k < std::min(dataset.parts.size(), kMaxNamed); ++k) {
    const DatasetFacts& part = *dataset.parts[k].dataset->facts;
    const std::string samples = std::to_string(part.manifest.samples) + " samples";
    text += "  " + part.folder.string() + ": ";
    if (plan == nullptr) {
      text += samples + "\n";
      continue;
    }
    const MixturePlan::Part& share = plan->parts()[k];
    const double percent =
        100 * static_cast<double>(share.draws) / static_cast<double>(plan->positions());
    text += std::to_string(share.draws) + " an epoch of its " + samples + ", " +
            NumberText(std::round(10 * percent) / 10) + "%";
    if (share.of_batch > 0) text += ", " + std::to_string(share.of_batch) + " a batch";
    text += "\n";
  }
  if (dataset.parts.size() > kMaxNamed)
    text += "  and " + std::to_string(dataset.parts.size() - kMaxNamed) + " more\n";
  return text;
}

}  // namespace

std::string DescriptionOf(const BatchRecipe& recipe, bool device_decodes) {
  const LoaderOptions& options = recipe.options;
  const SlotLayout& layout = recipe.layout;
  const std::vector<ViewProgram>& views = recipe.views;
  std::string text = MixtureText(recipe.dataset, options);
  if (const std::string note = UnmappedNote(recipe.dataset.facts->folder); !note.empty())
    text += note + "\n";
  if (layout.images.empty())
    Describe("no image", options.transform, options.schedule, views[0], text);
  for (std::size_t v = 0; v < layout.views; ++v) {
    const SlotLayout::ImageField& view = layout.images[v];
    const ImageBatch delivered = DeliveredImage(view.image, views[v].pixels, options.output.layout);
    const std::string of = v == 0 ? "" : " (a view of " + layout.picture().name + ")";
    Describe(view.name + of + ": " +
                 ShapeText(delivered, view.extents, layout.image_sizes,
                           v == 0 ? options.sizes : options.views[v - 1].sizes) +
                 FillText(view),
             v == 0 ? options.transform : options.views[v - 1].transform,
             v == 0 ? options.schedule : options.views[v - 1].schedule, views[v], text);
  }
  if (device_decodes) {
    text += layout.picture().name +
            ": JPEGs and packed pictures as `sluice convert` stores them are " +
            (options.on_device.decode == DecodeOn::kAuto
                 ? "decoded on the device or on the host: the loader divides them by what it "
                   "measures"
                 : "decoded on the device") +
            "; the host decodes pictures with a border, a turn, or steps that run on the host\n";
    text += ImagesText(layout, options.on_device.images);
  }
  if (views.size() > 1)
    text += "A picture is decoded once for all views if that is cheaper than once for each.\n";
  for (std::size_t i = layout.views; i < layout.images.size(); ++i) {
    const SlotLayout::ImageField& image = layout.images[i];
    text += image.name + ": " +
            ShapeText(image.image, image.extents, layout.image_sizes, options.sizes) +
            "; the geometric steps" +
            (image.nearest ? ", by the nearest pixel" + FillText(image) + "\n" : "\n");
  }
  for (const SlotLayout::ArrayField& array : layout.arrays) {
    if (array.absent.empty()) continue;
    text += array.name + ": " + std::to_string(*options.output.absent) +
            " for samples of a dataset without it\n";
  }
  text += FollowersText(options, recipe.dataset.facts->manifest.schema, layout, recipe.followers);
  if (KeepsFunctionRows(options)) {
    text += "Rows are kept as sample_function left them: you declared it deterministic.\n";
  } else if (options.keep) {
    text +=
        RowsAreFixed(options)
            ? "Rows are kept as they are before flips and steps that change pixels.\n"
            : "Pictures are decoded and kept whole; geometric steps start from the kept picture.\n";
  }
  if (options.sample_function) text += "sample_function: for each sample, after its steps\n";
  if (options.batch_function) text += "batch_function: over the batch, after all steps\n";
  return text;
}

}  // namespace sluice
