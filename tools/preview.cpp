// `sluice preview`: a dataset at a glance, as a page of HTML or as one sheet of pictures.
//
// However large the dataset is, at most 4096 samples are examined, without decoding their pixels.
// The pictures are chosen from them, one of each class in turn, and only these are decoded.
// Damaged samples are shown as such, so that a preview also works on a dataset that has some.
//
// With --transform, a loader makes each picture as its row of a training (Loader::Row()), with all
// annotations that follow the image. Its batches have one row, so that it takes little memory. The
// options that decide the order are a training's, since random steps draw by a sample's position in
// the epoch, and Mosaic finds the other samples of a row by it.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <sluice/dataset.h>
#include <sluice/error.h>
#include <sluice/loader.h>
#include <sluice/loader_option_list.h>
#include <sluice/parse_pipeline.h>
#include <sluice/shown_path.h>

#include "tools/cli/declared.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"
#include "tools/cli/steps.h"
#include "tools/commands.h"
#include "tools/edit_command.h"
#include "tools/export_files.h"
#include "tools/preview_picture.h"
#include "tools/samples.h"
#include "tools/wide_pictures.h"

namespace sluice {

namespace {

// The `trouble` of a sample that is not damaged but has no picture.
constexpr const char* kNoImage = "has no image";

struct PreviewPicture {
  std::uint64_t index = 0;
  std::string key;
  std::optional<std::int64_t> label;  // of the first label field, if that is one number
  std::string label_text;             // its class's name, or the numbers
  std::string caption;                // of the first text field, cut off
  std::uint32_t width = 0, height = 0;
  // With --transform: the size of the row, and the samples that it shows, its own first.
  std::uint32_t row_width = 0, row_height = 0;
  std::vector<std::uint64_t> shown;
  Image thumbnail;      // with its annotations; empty if the picture is damaged or absent
  std::string trouble;  // why `thumbnail` is empty, or why annotations are missing
};

struct Preview {
  std::vector<PreviewPicture> pictures;  // in rounds: in each, one of each label, by label
  std::uint64_t probed = 0;  // samples that were examined, spread evenly over the dataset
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sizes;  // width and height of each image
};

struct PreviewOptions {
  std::uint64_t count = 100;        // of the pictures, at most
  std::uint32_t side = 128;         // of a thumbnail, in pixels
  std::vector<std::string> bands;   // names of the channels that are shown; empty: the first ones
  std::vector<std::string> fields;  // of the annotations; empty: all
  // How rows are made; unless steps are given, the samples are shown as they are stored.
  std::optional<std::string> steps;  // as they were typed
  LoaderOptions loader;
  std::uint64_t epoch = 0;
};

// Limits that keep a preview small.
constexpr std::uint64_t kMaxProbed = 4096;
constexpr std::size_t kCaptionBytes = 200;

// Errors that belong to one sample. All others, such as a disk that cannot be read, end the
// command.
bool IsDamage(const Error& error) noexcept {
  return error.code() == ErrorCode::kCorrupt || error.code() == ErrorCode::kUnsupported ||
         error.code() == ErrorCode::kLimit;
}

std::string ClassText(const Field& field, std::int64_t number) {
  const bool named = number >= 0 && static_cast<std::uint64_t>(number) < field.classes.size();
  return named ? field.classes[static_cast<std::size_t>(number)] : std::to_string(number);
}

void ReadLabel(const Sample& sample, const Field& field, PreviewPicture& picture) {
  constexpr std::size_t kMaxLabels = 8;
  if (!sample.Has(field.name)) return;
  const std::vector<std::int64_t> numbers = IntegersOf(sample, field);
  const std::size_t count = numbers.size();
  for (std::size_t i = 0; i < std::min(count, kMaxLabels); ++i)
    picture.label_text += (i == 0 ? "" : ", ") + ClassText(field, numbers[i]);
  if (count == 1) picture.label = numbers[0];
  if (count > kMaxLabels) picture.label_text += ", ...";
}

// Examines one sample without decoding its pixels.
PreviewPicture Examine(const Dataset& dataset, std::uint64_t index) {
  PreviewPicture picture;
  picture.index = index;
  try {
    const Sample sample = dataset[index];
    picture.key = sample.key();
    const Schema& schema = dataset.schema();
    std::size_t label = schema.LabelField();
    // If no label field holds a single number, takes the first label field.
    if (label == Schema::kNone) label = schema.FindRole(Role::kLabel);
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

// Takes one sample of each label in turn, until there are `count`. So the first pictures show as
// many classes as possible, also on a screen that shows only some. If there are more labels than
// `count`, takes labels at even distances; if no sample has a label, samples at even distances.
std::vector<PreviewPicture> Chosen(std::vector<PreviewPicture> examined, std::uint64_t count) {
  std::map<std::optional<std::int64_t>, std::vector<PreviewPicture>> by_label;
  for (PreviewPicture& one : examined)
    by_label[one.label].push_back(std::move(one));
  std::vector<std::vector<PreviewPicture>> groups;
  for (auto& [label, pictures] : by_label)
    groups.push_back(std::move(pictures));
  if (groups.size() == 1 && !groups[0][0].label) {  // each sample is a group of its own
    std::vector<PreviewPicture> unlabelled = std::exchange(groups, {}).front();
    for (PreviewPicture& one : unlabelled)
      groups.emplace_back().push_back(std::move(one));
  }
  std::vector<PreviewPicture> chosen;
  const std::uint64_t shown = std::min<std::uint64_t>(count, groups.size());
  for (std::size_t round = 0; chosen.size() < count; ++round) {
    const std::size_t before = chosen.size();
    for (std::uint64_t i = 0; i < shown && chosen.size() < count; ++i) {
      std::vector<PreviewPicture>& group = groups[i * groups.size() / shown];
      if (round < group.size()) chosen.push_back(std::move(group[round]));
    }
    if (chosen.size() == before) break;
  }
  return chosen;
}

// The loader that makes the pictures of a preview as rows.
Loader RowLoader(const Dataset& dataset, LoaderOptions options, const std::vector<Field>& fields) {
  options.batch_size = 1;
  options.threads = 0;
  options.ring = {.prefetch = 1, .hold = 0};
  options.ranks.world_size = 1;  // rows are the same for all world sizes
  OutputOptions& output = options.output;
  output.image = fields[0].name;
  output.image_sizes = ImageSizes::kOwn;
  const std::vector<ImageSummary>& images = dataset.images();
  const auto pictures = std::ranges::find(images, output.image, &ImageSummary::field);
  if (pictures->min_channels != pictures->max_channels) output.channels = 3;
  for (const Field& field : fields) {
    output.fields.push_back(field.name);
    if (field.role == Role::kMask) output.mask_fill[field.name] = 0;
  }
  return Loader(dataset, std::move(options));
}

// The sample's picture with its annotations, as they are stored or as the loader makes them.
void Show(const Dataset& dataset, const PreviewOptions& options, const std::vector<Field>& fields,
          const std::optional<Loader>& loader, PreviewPicture& picture) {
  const auto draw = [&](const auto& source, Image image) {
    const std::uint32_t width = image.width, height = image.height;
    if (IsWide(image.pixel_type, image.channels) || !options.bands.empty())
      image = Stretched(image, fields[0], options.bands);
    picture.thumbnail = Thumbnail(image, options.side);
    DrawAnnotations(AnnotationsOf(source, std::span(fields).subspan(1)), width, height,
                    picture.thumbnail);
  };
  if (!loader) {
    const Sample sample = dataset[picture.index];
    return draw(sample, sample.Decode(fields[0].name));
  }
  const Batch row = loader->Row(picture.index, options.epoch);
  const ImageBatch image = row.image(fields[0].name, 0);
  picture.row_width = static_cast<std::uint32_t>(image.width);
  picture.row_height = static_cast<std::uint32_t>(image.height);
  std::ranges::copy_if(row.parts(), std::back_inserter(picture.shown),
                       [](std::uint64_t sample) { return sample != Batch::kNoSample; });
  draw(row, ImageOf(row, fields[0].name));
}

// Examines 4096 samples, spread evenly over the dataset (all samples of a smaller one), chooses
// equally many of each class, and decodes these. Calls on_progress(pictures decoded, all pictures).
Preview TakePreview(const Dataset& dataset, const PreviewOptions& options,
                    const std::function<void(std::uint64_t, std::uint64_t)>& on_progress) {
  Preview preview;
  const std::vector<Field> fields = ShownFields(dataset.schema(), options.fields);
  std::optional<Loader> loader;
  if (options.steps) loader.emplace(RowLoader(dataset, options.loader, fields));
  const std::uint64_t most = std::min(dataset.size(), kMaxProbed);
  std::vector<PreviewPicture> examined;
  for (std::uint64_t i = 0; i < most; ++i) {
    // The rounding keeps the numbers distinct, and no product can overflow.
    const std::uint64_t sample = i * (dataset.size() / most) + i * (dataset.size() % most) / most;
    if (dataset.IsDeleted(sample)) continue;
    examined.push_back(Examine(dataset, sample));
    const PreviewPicture& picture = examined.back();
    if (picture.width > 0) preview.sizes.emplace_back(picture.width, picture.height);
  }
  preview.probed = examined.size();
  preview.pictures = Chosen(std::move(examined), options.count);
  for (std::size_t i = 0; i < preview.pictures.size(); ++i) {
    PreviewPicture& picture = preview.pictures[i];
    on_progress(i, preview.pictures.size());
    if (!picture.trouble.empty()) continue;
    try {
      Show(dataset, options, fields, loader, picture);
    } catch (const Error& error) {
      if (!IsDamage(error)) throw;
      picture.trouble = error.what();
    }
  }
  return preview;
}

using cli::CountText;
using cli::Format;

constexpr std::size_t kMaxClasses = 60;  // with a bar each; further ones are counted together
constexpr std::size_t kTableRows = 20;   // bars of a table; further ones stand beside it

constexpr const char* kStyle =
    "body{font:14px/1.4 system-ui,sans-serif;margin:2em auto;max-width:76em;padding:0 1em;"
    "color:#222;background:#fff}"
    "h1{font-size:1.5em;margin:0}h2{font-size:1.1em;margin:2em 0 .5em}p{margin:.2em 0;color:#555}"
    ".pictures{display:flex;flex-wrap:wrap;gap:10px;align-items:flex-end}"
    "figure{margin:0}figure img{display:block;margin:0 auto;image-rendering:auto}"
    "figcaption{font-size:11px;color:#555;max-width:12em;overflow:hidden;text-overflow:ellipsis;"
    "white-space:nowrap}"
    "figcaption b{color:#222;font-weight:600}"
    ".bad{background:#eee;color:#a00;font-size:11px;overflow:hidden;padding:.5em;width:9em;height:"
    "9em}"
    "table{border-collapse:collapse}td{padding:1px .6em 1px 0;vertical-align:middle}"
    "td.n{text-align:right;font-variant-numeric:tabular-nums}"
    "td:first-child{max-width:14em;overflow-wrap:anywhere}"
    "td i{display:block;height:.8em;background:#4a78b0;min-width:1px}"
    ".plots,.bars{display:flex;flex-wrap:wrap;gap:0 2.5em;align-items:flex-start}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#14181e}"
    "p,figcaption{color:#9aa4b2}figcaption b{color:#ddd}.bad{background:#2a2f37;color:#f99}}";

std::string Escaped(const std::string& text) {
  return cli::HtmlEscaped(cli::Printable(text));
}

// The end of a long path, which says more than its beginning.
std::string PathEnd(const std::string& path) {
  constexpr std::size_t kMaxShown = 22;  // characters: about a caption's width
  const std::string text = cli::Printable(path);
  std::size_t shown = 0;
  for (std::size_t at = text.size(); at > 0;) {
    --at;
    if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) continue;  // within a character
    if (++shown == kMaxShown && at > 0) return cli::HtmlEscaped("\xE2\x80\xA6" + text.substr(at));
  }
  return cli::HtmlEscaped(text);
}

struct BarRow {
  std::string label;
  std::uint64_t count = 0;
};

std::string Bars(const std::vector<BarRow>& rows) {
  std::uint64_t most = 1;
  for (const BarRow& row : rows)
    most = std::max(most, row.count);
  std::string html = "<div class=bars>\n<table>\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const BarRow& row = rows[i];
    if (i > 0 && i % kTableRows == 0) html += "</table>\n<table>\n";
    html += "<tr><td>" + Escaped(row.label) + "</td><td class=n>" + std::to_string(row.count);
    if (row.count > 0) {
      html += Format("</td><td><i style=\"width:%.1fem\"></i>",
                     9.0 * static_cast<double>(row.count) / static_cast<double>(most));
    }
    html += "</td></tr>\n";
  }
  return html + "</table>\n</div>\n";
}

std::string NumbersText(const std::vector<std::uint64_t>& numbers) {
  std::string text;
  for (const std::uint64_t number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

std::string PictureHtml(const PreviewPicture& picture) {
  std::string title = "sample " + std::to_string(picture.index) + ": " + picture.key;
  if (!picture.caption.empty()) title += " - " + picture.caption;
  std::string html = "<figure title=\"" + Escaped(title) + "\">";
  if (picture.thumbnail.pixels.empty()) {
    html += "<div class=bad>" + Escaped(picture.trouble) + "</div>";
  } else {
    html += Format("<img width=%u height=%u alt=\"\" src=\"data:image/jpeg;base64,",
                   picture.thumbnail.width, picture.thumbnail.height) +
            JpegInBase64(picture.thumbnail) + "\">";
  }
  html += "<figcaption>";
  if (!picture.label_text.empty()) html += "<b>" + Escaped(picture.label_text) + "</b><br>";
  html += PathEnd(picture.key);
  if (picture.width > 0) html += Format("<br>%ux%u", picture.width, picture.height);
  if (picture.row_width > 0) html += Format(" as %ux%u", picture.row_width, picture.row_height);
  if (picture.shown.size() > 1) html += "<br>samples " + NumbersText(picture.shown);
  return html + "</figcaption></figure>\n";
}

std::string ClassesHtml(const Dataset& dataset) {
  const std::vector<std::uint64_t>& counts = dataset.class_counts();
  if (counts.empty()) return {};
  const Field& field = dataset.schema().fields[dataset.schema().ClassField()];
  std::vector<BarRow> rows;
  std::uint64_t rest = 0;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    if (c >= kMaxClasses) {
      rest += counts[c];
      continue;
    }
    rows.push_back({field.classes[c], counts[c]});
  }
  std::string html =
      "<div><h2>" + CountText(counts.size(), "class", "classes") + "</h2>\n" + Bars(rows);
  if (counts.size() > kMaxClasses) {
    html += "<p>and " + CountText(counts.size() - kMaxClasses, "more class", "more classes") +
            " of " + CountText(rest, "sample", "samples") + "</p>\n";
  }
  return html + "</div>\n";
}

// Counts of images by their longer side, in ranges whose bounds double.
std::string SizesHtml(const Preview& preview) {
  std::vector<BarRow> rows;
  for (std::uint32_t least = 1; least <= 65536; least *= 2) {
    const auto count = static_cast<std::uint64_t>(
        std::count_if(preview.sizes.begin(), preview.sizes.end(), [least](const auto& size) {
          const std::uint32_t longer = std::max(size.first, size.second);
          return longer >= least && longer < 2 * least;
        }));
    if (count > 0 || !rows.empty()) {
      rows.push_back({std::to_string(least) + " to " + std::to_string(2 * least - 1), count});
    }
  }
  while (!rows.empty() && rows.back().count == 0)
    rows.pop_back();
  return "<div><h2>Longer side, pixels</h2>\n" + Bars(rows) + "</div>\n";
}

std::string ShapesHtml(const Preview& preview) {
  struct Shape {
    const char* name;
    double least;  // width / height
  };
  constexpr std::array<Shape, 9> kShapes = {{{"narrower than 1:2", 0},
                                             {"1:2 to 2:3", 1.0 / 2},
                                             {"2:3 to 3:4", 2.0 / 3},
                                             {"3:4 to nearly square", 3.0 / 4},
                                             {"square, within 5%", 0.95},
                                             {"nearly square to 4:3", 1 / 0.95},
                                             {"4:3 to 3:2", 4.0 / 3},
                                             {"3:2 to 2:1", 3.0 / 2},
                                             {"wider than 2:1", 2.0}}};
  std::vector<BarRow> rows;
  for (const Shape& shape : kShapes)
    rows.push_back({shape.name, 0});
  for (const auto& [width, height] : preview.sizes) {
    const double ratio = static_cast<double>(width) / height;
    std::size_t at = kShapes.size() - 1;
    // From the widest down: the first bound that the ratio reaches is that of its range.
    while (at > 0 && ratio < kShapes[at].least)
      --at;
    ++rows[at].count;
  }
  return "<div><h2>Shape, width to height</h2>\n" + Bars(rows) + "</div>\n";
}

std::string PreviewPage(const Dataset& dataset, const Preview& preview,
                        const PreviewOptions& options) {
  std::uint64_t bytes = 0;
  for (const ShardSummary& shard : dataset.shards())
    bytes += shard.bytes;
  const std::string name = Escaped(dataset.path().filename().string());
  std::string html =
      "<!DOCTYPE html>\n<html lang=en><meta charset=utf-8>\n"
      "<meta name=viewport content=\"width=device-width\">\n<title>" +
      name + "</title>\n<style>" + kStyle + "</style>\n<h1>" + name + "</h1>\n<p>" +
      CountText(dataset.size(), "sample", "samples") + " in " +
      CountText(dataset.shards().size(), "shard", "shards") + ", " + cli::BytesText(bytes) +
      "; dataset " + dataset.id() + "</p>\n";
  html += "<div class=plots>\n" + ClassesHtml(dataset) + "<div>\n" + SizesHtml(preview) +
          ShapesHtml(preview) + "</div>\n</div>\n";
  if (preview.probed < dataset.size()) {
    html += "<p>Sizes and shapes are those of " + CountText(preview.probed, "sample", "samples") +
            ", spread evenly over the dataset.</p>\n";
  }
  html += "<h2>" + CountText(preview.pictures.size(), "picture", "pictures") + "</h2>\n";
  if (options.steps) {
    html += "<p>Rows of epoch " + std::to_string(options.epoch) + ", seed " +
            std::to_string(options.loader.seed) + ", by the steps " + Escaped(*options.steps) +
            "</p>\n";
  }
  html += "<div class=pictures>\n";
  for (const PreviewPicture& picture : preview.pictures)
    html += PictureHtml(picture);
  return html + "</div>\n</html>\n";
}

constexpr const char* kPreviewDescription =
    "Shows a dataset at a glance.\n\n"
    "OUT.html is a page in one file: the number of samples in each class, the images' sizes and "
    "shapes, and pictures with their labels. OUT.png is a sheet of the pictures alone, row by row. "
    "Pictures are spread evenly over the dataset, and come one of each class in turn, with their "
    "masks, instances, boxes and key points. At most 4096 samples are looked at, however large the "
    "dataset is.\n\n"
    "Samples are shown as they are stored. With --transform, each is shown as the row that a "
    "training's epoch has for it, and a mosaic's caption names the four samples. Give the options "
    "of the training's loader that decide the order, to see its very rows.\n";

constexpr const char* kPreviewExamples =
    "\nExamples:\n"
    "  sluice preview data/photos photos.html\n"
    "  sluice preview data/photos sheet.png --count 400 --side 64\n"
    "  sluice preview data/boxes rows.html --transform mosaic:640,crop:640,flip,hsv --side 320\n\n";

// The limit keeps a sheet and its PNG below a few hundred megabytes, and a page below some tens.
constexpr std::uint64_t kMaxPixels = 64'000'000;

struct PreviewArguments {
  std::string dataset;
  std::string out;
  PreviewOptions options;
  std::uint32_t columns = 0;
  EditOutput output;
  ReadLimits limits;
};

constexpr auto kPictureOptions = option_list::Options<PreviewOptions>(
    "PreviewOptions", "",
    option_list::Option("count", &PreviewOptions::count, "pictures to show",
                        {.least = 1, .most = 10'000}),
    option_list::Option("side", &PreviewOptions::side, "pixels of a picture's longer side",
                        {.least = 16, .most = 1024}));

// The steps of a training, as --transform gives them, that are shown. Normalize and OneHot change
// the numbers of a picture and of its label, and neither's look. A row alone cannot show a step
// that mixes the rows of a batch.
Pipeline ShownSteps(const std::string& text) {
  Pipeline steps = ParsePipeline(text);
  std::erase_if(steps, [](const Transform& step) {
    return std::holds_alternative<Normalize>(step) || std::holds_alternative<OneHot>(step);
  });
  for (const Transform& step : steps) {
    const char* const mixes = std::holds_alternative<MixUp>(step)       ? "mixup"
                              : std::holds_alternative<CutMix>(step)    ? "cutmix"
                              : std::holds_alternative<CopyPaste>(step) ? "copypaste"
                                                                        : nullptr;
    if (mixes == nullptr) continue;
    throw cli::UsageError(std::string(mixes) +
                          " mixes the rows of a batch, and a preview makes each row by itself; "
                          "leave it out, and look at batches of a loader instead");
  }
  return steps;
}

bool IsPage(const std::string& out) {
  return out.ends_with(".html") || out.ends_with(".htm");
}

void CheckPreview(const PreviewArguments& arguments) {
  if (IsStoreUrl(arguments.out)) {
    throw cli::UsageError("preview writes a file to a local disk, not to \"" +
                          ShownPath(arguments.out) + "\"");
  }
  if (!IsPage(arguments.out) && !arguments.out.ends_with(".png")) {
    throw cli::UsageError("\"" + arguments.out + "\" must end in .html or .png");
  }
  if (IsPage(arguments.out) && arguments.columns != 0) {
    throw cli::UsageError("--columns is for OUT.png; a page fits its pictures to the window");
  }
  const PreviewOptions& options = arguments.options;
  if (options.count * options.side * options.side > kMaxPixels) {
    throw cli::UsageError("--count " + std::to_string(options.count) + " pictures of --side " +
                          std::to_string(options.side) +
                          " are more than 64 million pixels; lower one of the two");
  }
}

void WriteSheet(const PreviewArguments& arguments, Preview& preview) {
  std::vector<Image> pictures;
  pictures.reserve(preview.pictures.size());
  for (PreviewPicture& picture : preview.pictures)
    pictures.push_back(std::move(picture.thumbnail));
  std::uint32_t columns = arguments.columns;
  if (columns == 0) {  // wider than it is high, as screens are
    columns = static_cast<std::uint32_t>(
        std::ceil(std::sqrt(static_cast<double>(pictures.size()) * 16 / 10)));
  }
  columns = std::min(columns, static_cast<std::uint32_t>(pictures.size()));
  const std::vector<char> png = EncodePng(ContactSheet(pictures, columns, arguments.options.side));
  cli::WriteWholeFile(arguments.out, {png.data(), png.size()});
}

int RunPreview(PreviewArguments& arguments) {
  CheckPreview(arguments);
  std::optional<Dataset> opened;
  Preview preview;
  const bool done = RunEdit(
      arguments.output, "decoding", "looking at " + cli::Printable(ShownPath(arguments.dataset)),
      [&](const EditHooks& hooks) {
        opened = Dataset::Open(arguments.dataset, arguments.limits, hooks.stop);
        if (opened->images().empty() || opened->size() == 0) {
          throw Error(ErrorCode::kInvalidArgument, ShownPath(arguments.dataset), "has no image");
        }
        preview =
            TakePreview(*opened, arguments.options, [&hooks](std::uint64_t i, std::uint64_t of) {
              if (hooks.stop.stop_requested()) throw Error(ErrorCode::kState, "stopped");
              hooks.on_progress(i, of);
            });
      });
  if (!done) return cli::kInterrupted;
  const Dataset& dataset = *opened;
  std::vector<std::string> damaged;
  std::vector<std::vector<std::uint64_t>> shown;
  for (const PreviewPicture& picture : preview.pictures) {
    shown.push_back(picture.shown);
    if (!picture.trouble.empty() && picture.trouble != kNoImage) damaged.push_back(picture.trouble);
  }
  const std::size_t count = preview.pictures.size();
  if (IsPage(arguments.out)) {
    const std::string page = PreviewPage(dataset, preview, arguments.options);
    cli::WriteWholeFile(arguments.out, page);
  } else {
    WriteSheet(arguments, preview);
  }
  if (arguments.output.json) {
    nlohmann::ordered_json json = {{"dataset", ShownPath(arguments.dataset)},
                                   {"out", ShownPath(arguments.out)},
                                   {"samples", dataset.size()},
                                   {"probed", preview.probed},
                                   {"pictures", count},
                                   {"damaged", damaged}};
    if (arguments.options.steps) json["shown"] = shown;
    cli::PrintJson(json);
  } else if (!arguments.output.quiet) {
    std::string text = cli::Printable(arguments.out) + ": " +
                       cli::CountText(count, "picture", "pictures") + " of " +
                       cli::CountText(dataset.size(), "sample", "samples") + "\n";
    for (const std::string& one : damaged)
      text += "  damaged: " + cli::Printable(one) + "\n";
    cli::PrintOut(text);
  }
  // The preview is written in either case; the exit code tells scripts that samples are damaged.
  return damaged.empty() ? cli::kDone : cli::kFailed;
}

void AddRowOptions(CLI::App& app, PreviewOptions& options) {
  LoaderOptions& loader = options.loader;
  CLI::Option* const transform = cli::AddOption(
      app, "--transform", "STEPS",
      cli::TransformHelp() +
          ". Shows rows instead of stored samples. Normalize and OneHot are left out",
      [&options](const std::string& text) {
        options.loader.transform = ShownSteps(text);
        options.steps = text;
      });
  const auto add = [&](auto& group, auto member) { return cli::AddDeclared(app, group, member); };
  for (CLI::Option* const option :
       {cli::AddDeclared(
            app, options,
            option_list::Option("epoch", &PreviewOptions::epoch, "the epoch of the rows, from 0")),
        add(loader, &LoaderOptions::seed), add(loader.order, &OrderOptions::shuffle),
        add(loader.order, &OrderOptions::lanes), add(loader.order, &OrderOptions::window_bytes),
        add(loader.output, &OutputOptions::flip_pairs)}) {
    option->needs(transform);
  }
}

}  // namespace

cli::Command AddPreviewCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("preview", kPreviewDescription);
  const auto arguments = std::make_shared<PreviewArguments>();
  cli::AddArgument(*app, "DATASET", arguments->dataset, "folder of the dataset");
  cli::AddArgument(*app, "OUT", arguments->out,
                   "file to write, .html or .png; an existing file is replaced");
  cli::AddDeclared(*app, arguments->options, kPictureOptions);
  cli::AddDeclared(
      *app, *arguments,
      option_list::Option(
          "columns", &PreviewArguments::columns,
          "pictures in a row of a sheet (default: a sheet that is a little wider than high)",
          {.most = 1000, .zero = ""}));
  cli::AddOption(
      *app, "--bands", "A,B,C",
      "names of one or three channels to show, of images with named channels "
      "(default: the first three). Images of other types than uint8 are stretched from "
      "the 2nd to the 98th percentile of each",
      [arguments](const std::string& text) { arguments->options.bands = cli::Split(text); });
  cli::AddOption(
      *app, "--fields", "NAMES",
      "fields of masks, instances, boxes, key points and classes to show, separated by "
      "commas (default: all)",
      [arguments](const std::string& text) { arguments->options.fields = cli::Split(text); });
  AddRowOptions(*app, arguments->options);
  cli::AddDeclared(*app, arguments->limits);
  AddOutputOptions(*app, arguments->output);
  app->footer(std::string(kPreviewExamples) + cli::kExitCodeHelp);
  return {app, [arguments] { return RunPreview(*arguments); }};
}

}  // namespace sluice
