#include "tools/preview_page.h"

#include <algorithm>
#include <array>

#include "tools/cli/html.h"
#include "tools/cli/output.h"
#include "tools/cli/quantity.h"
#include "tools/thumbnail.h"

namespace sluice {

namespace {

using cli::CountText;
using cli::Format;

constexpr std::size_t kMostClasses = 60;

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
    "td i{display:block;height:.8em;background:#4a78b0;min-width:1px}"
    ".plots{display:flex;flex-wrap:wrap;gap:3em}";

std::string Escaped(const std::string& text) {
  return cli::HtmlEscaped(cli::Printable(text));
}

// The end of a long path, which tells more than its beginning.
std::string PathEnd(const std::string& path) {
  constexpr std::size_t kMostShown = 22;  // characters: about a caption's width
  const std::string text = cli::Printable(path);
  std::size_t shown = 0;
  for (std::size_t at = text.size(); at > 0;) {
    --at;
    if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) continue;  // within a character
    if (++shown == kMostShown && at > 0) return cli::HtmlEscaped("\xE2\x80\xA6" + text.substr(at));
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
  std::string html = "<table>\n";
  for (const BarRow& row : rows) {
    html += "<tr><td>" + Escaped(row.label) + "</td><td class=n>" + std::to_string(row.count);
    if (row.count > 0) {
      html += Format("</td><td><i style=\"width:%.1fem\"></i>",
                     18.0 * static_cast<double>(row.count) / static_cast<double>(most));
    }
    html += "</td></tr>\n";
  }
  return html + "</table>\n";
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
  return html + "</figcaption></figure>\n";
}

std::string ClassesHtml(const Dataset& dataset) {
  const std::vector<std::uint64_t>& counts = dataset.class_counts();
  if (counts.empty()) return {};
  const Field& field = dataset.schema().fields[dataset.schema().ClassField()];
  std::vector<BarRow> rows;
  std::uint64_t rest = 0;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    if (c >= kMostClasses) {
      rest += counts[c];
      continue;
    }
    rows.push_back({field.classes[c], counts[c]});
  }
  std::string html = "<h2>" + CountText(counts.size(), "class", "classes") + "</h2>\n" + Bars(rows);
  if (counts.size() > kMostClasses) {
    html += "<p>and " + CountText(counts.size() - kMostClasses, "more class", "more classes") +
            " of " + CountText(rest, "sample", "samples") + "</p>\n";
  }
  return html;
}

// Longer sides, in steps that double.
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
    while (at > 0 && ratio < kShapes[at].least)
      --at;
    ++rows[at].count;
  }
  return "<div><h2>Shape, width to height</h2>\n" + Bars(rows) + "</div>\n";
}

}  // namespace

std::string PreviewPage(const Dataset& dataset, const Preview& preview) {
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
  html += "<h2>" + CountText(preview.pictures.size(), "picture", "pictures") + "</h2>\n";
  html += "<div class=pictures>\n";
  for (const PreviewPicture& picture : preview.pictures)
    html += PictureHtml(picture);
  html += "</div>\n" + ClassesHtml(dataset);
  html += "<div class=plots>\n" + SizesHtml(preview) + ShapesHtml(preview) + "</div>\n";
  if (preview.probed < dataset.size()) {
    html += "<p>Sizes and shapes are those of " + CountText(preview.probed, "sample", "samples") +
            ", spread evenly over the dataset.</p>\n";
  }
  return html + "</html>\n";
}

}  // namespace sluice
