// The summary of a conversion: lines for people and one JSON object, from the same account. A dry
// run, a plan, and a run that completes an earlier one print it as well, and they know less.
// IsStored() and IsOfOneRun() say which figures mean something: after an earlier run, this run's
// counts of shrunk and encoded images are not those of the dataset, so the text leaves them out and
// the JSON has null. Files that were left out are grouped by the text of their reason; a reason
// that named its file would be a group of its own. The JSON lists all of them, the text only the
// most frequent reasons.
#include <algorithm>
#include <cstdio>
#include <map>

#include <nlohmann/json.hpp>

#include <sluice/shown_path.h>

#include "tools/cli/output.h"
#include "tools/cli/quantity.h"
#include "tools/convert.h"

namespace sluice {
namespace {

using cli::CountText;
using cli::Format;
using cli::Printable;

constexpr std::size_t kReasonsShown = 8;

struct Reason {
  std::string text;
  std::string example;  // the first path
  std::uint64_t count = 0;
};

// By count, the most frequent first.
std::vector<Reason> GroupByReason(const std::vector<LeftOut>& left_out) {
  std::map<std::string, Reason> by_text;
  for (const LeftOut& one : left_out) {
    Reason& reason = by_text[one.reason];
    if (reason.count++ == 0) reason = {one.reason, one.path, 1};
  }
  std::vector<Reason> reasons;
  reasons.reserve(by_text.size());
  for (auto& [text, reason] : by_text)
    reasons.push_back(std::move(reason));
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const Reason& a, const Reason& b) { return a.count > b.count; });
  return reasons;
}

}  // namespace

std::string ReasonLines(const std::vector<LeftOut>& left_out) {
  const std::vector<Reason> reasons = GroupByReason(left_out);
  std::string lines;
  for (std::size_t i = 0; i < std::min(kReasonsShown, reasons.size()); ++i) {
    lines += Format("%8llu  %s: %s%s\n", static_cast<unsigned long long>(reasons[i].count),
                    Printable(reasons[i].text).c_str(), Printable(reasons[i].example).c_str(),
                    reasons[i].count > 1 ? ", ..." : "");
  }
  if (reasons.size() > kReasonsShown) {
    lines += "          and " +
             CountText(reasons.size() - kReasonsShown, "more reason", "more reasons") + "\n";
  }
  return lines;
}

nlohmann::ordered_json LeftOutJson(const std::vector<LeftOut>& left_out) {
  auto list = nlohmann::ordered_json::array();
  for (const LeftOut& one : left_out)
    list.push_back({{"path", one.path}, {"reason", one.reason}});
  return list;
}

namespace {

// " of 3 classes", " with boxes, classes" or " without labels".
std::string ContentOf(const ConvertSummary& summary) {
  if (!summary.classes.empty()) {
    return " of " + CountText(summary.classes.size(), "class", "classes");
  }
  std::string others;
  for (std::size_t f = 1; f < summary.fields.size(); ++f)
    others += (others.empty() ? " with " : ", ") + Printable(summary.fields[f]);
  return others.empty() ? " without labels" : others;
}

// "  classes    0 cat, 1 dog, 2 owl and 7 more": as many of the first names as fit into a line or
// two.
std::string ClassesLine(const ConvertSummary& summary) {
  constexpr std::size_t kMaxBytes = 140;
  if (summary.classes.empty()) return {};
  std::string text;
  std::size_t shown = 0;
  while (shown < summary.classes.size() && summary.classes[shown] == std::to_string(shown))
    ++shown;
  if (shown == summary.classes.size() && shown > 1)
    return "  classes    0 to " + std::to_string(shown - 1) + ", each called by its number\n";
  for (shown = 0; shown < summary.classes.size(); ++shown) {
    const std::string one =
        (shown == 0 ? "" : ", ") + std::to_string(shown) + " " + Printable(summary.classes[shown]);
    if (shown > 0 && text.size() + one.size() > kMaxBytes) break;
    text += one;
  }
  if (shown < summary.classes.size())
    text += " and " + std::to_string(summary.classes.size() - shown) + " more";
  return "  classes    " + text + "\n";
}

bool IsStored(const ConvertAccount& account) {
  return !account.options.run.dry_run && !account.planned;
}

// Whether this run converted all images, so that its counts of shrunk and of encoded images are
// those of the dataset.
bool IsOfOneRun(const ConvertAccount& account) {
  return IsStored(account) && account.found_done == 0;
}

// "500 pixels on the longer side"
std::string TargetText(const GeometryOptions& geometry) {
  if (geometry.size)
    return std::to_string(geometry.size->width) + "x" + std::to_string(geometry.size->height) +
           " pixels";
  const bool shorter = geometry.short_side.has_value();
  return std::to_string(shorter ? *geometry.short_side : geometry.max_side.value_or(0)) +
         " pixels on the " + (shorter ? "shorter" : "longer") + " side";
}

// The lines about the result: samples, sizes, time.
std::string MadeLines(const ConvertAccount& account) {
  const ConvertSummary& summary = account.summary;
  const bool stored = IsStored(account);
  std::string text = account.options.run.dry_run ? "dry run, nothing was written"
                     : account.planned           ? Printable(account.dataset) + ", planned"
                                                 : Printable(account.dataset);
  text += !stored && !summary.skipped.empty() ? ": at most " : ": ";
  text += CountText(summary.samples, "sample", "samples");
  text += ContentOf(summary);
  text += " in " + CountText(summary.shards, "shard", "shards") + "\n";
  text += ClassesLine(summary);
  text += "  sources    " + cli::BytesText(summary.bytes_in) + "\n";
  text +=
      std::string("  dataset    ") + (!stored ? "about " : "") + cli::BytesText(summary.bytes_out);
  if (summary.bytes_in > 0) {
    text += Format(" (%.0f%% of the sources)", 100.0 * static_cast<double>(summary.bytes_out) /
                                                   static_cast<double>(summary.bytes_in));
  }
  text += "\n  time       " + cli::SecondsText(summary.seconds);
  const std::uint64_t sources = summary.samples + summary.skipped.size();
  if (account.found_done > 0) {
    text += "; " + CountText(account.found_done, "source was", "sources were") +
            " done already by an earlier run";
  } else if (stored && summary.seconds > 0) {
    text += Format(" (%s images/s)",
                   cli::RateText(static_cast<double>(sources) / summary.seconds).c_str());
  }
  text += "\n";
  if (summary.shrunk > 0 && IsOfOneRun(account)) {
    text += "  shrunk     " + CountText(summary.shrunk, "image", "images") + ", to " +
            TargetText(account.options.geometry) + "; --no-resize keeps the sizes\n";
  }
  if (summary.reencoded > 0 && IsOfOneRun(account)) {
    const FormOptions& form = account.options.form;
    text += "  encoded    " + CountText(summary.reencoded, "JPEG", "JPEGs") + " anew, at quality " +
            std::to_string(form.quality) +
            (form.keep ? "; --help says for which JPEGs --quality keep is not possible\n"
                       : "; --quality keep keeps the coefficients of JPEGs that are not resized\n");
  }
  if (!summary.pixels.empty()) {
    text += "  pixels     " + summary.pixels + ", as the first image that can be read\n";
  }
  if (summary.rounded > 0 && IsStored(account)) {
    text += "  rounded    " + CountText(summary.rounded, "image", "images") +
            " of more than 8 bits to 8; --pixels keep stores their values as they are\n";
  }
  if (account.options.form.keep && stored) {
    text += "  kept       " + CountText(summary.kept, "image has", "images have") +
            " the source's own coefficients\n";
  }
  if (summary.profiles_converted > 0) {
    text += "  profiles   " + CountText(summary.profiles_converted, "image was", "images were") +
            " converted to sRGB\n";
  }
  if (summary.profiles_dropped > 0) {
    const bool convert = account.options.form.icc == IccProfiles::kConvert;
    text += "  profiles   " +
            CountText(summary.profiles_dropped, "image has a colour profile",
                      "images have colour profiles") +
            (convert ? " that cannot be used; their values are unchanged\n"
                     : ", dropped; --icc convert converts the colours to sRGB\n");
  }
  if (summary.channels_dropped > 0) {
    text += "  channels   " +
            CountText(summary.channels_dropped, "JPEG 2000 image has", "JPEG 2000 images have") +
            " channels that are neither colours nor opacity; these were dropped\n";
  }
  return text;
}

std::string DuplicatesLine(const ConvertAccount& account) {
  const auto& groups = account.summary.duplicates;
  if (groups.empty()) return "  duplicates none\n";
  std::uint64_t files = 0;
  for (const std::vector<Duplicate>& group : groups)
    files += group.size();
  std::string text = "  duplicates " + CountText(files, "source", "sources") +
                     " with the bytes of another, " +
                     CountText(groups.size(), "picture", "pictures") +
                     "; none was left out: " + Printable(groups[0][0].path) + " and " +
                     Printable(groups[0][1].path);
  if (!account.options.run.dry_run)
    text += "; see " + Printable(account.dataset) + "/duplicates.tsv";
  return text + "\n";
}

}  // namespace

namespace {

nlohmann::ordered_json SomeJson(const SomeImages& images) {
  return {{"count", images.count}, {"examples", images.examples}};
}

}  // namespace

void PrintConvertText(const ConvertAccount& account) {
  const ConvertSummary& summary = account.summary;
  for (const std::string& warning : summary.warnings) {
    std::fprintf(stderr, "sluice: warning: %s\n", Printable(warning).c_str());
  }
  std::string text = MadeLines(account);
  if (summary.boxes_dropped > 0) {
    text += "  boxes      " + CountText(summary.boxes_dropped, "box", "boxes") +
            " dropped: without area, or outside of the image\n";
  }
  if (!summary.passed_over.empty()) {
    text += "  ignored    " + CountText(summary.passed_over.size(), "file", "files") + ":\n" +
            ReasonLines(summary.passed_over);
  }
  if (!summary.skipped.empty()) {
    text += "  LEFT OUT   " + CountText(summary.skipped.size(), "source", "sources") + ":\n" +
            ReasonLines(summary.skipped);
  }
  if (account.options.run.find_duplicates && !account.planned) text += DuplicatesLine(account);
  if (!account.options.run.dry_run && !account.planned &&
      !(summary.passed_over.empty() && summary.skipped.empty())) {
    text += "  " + Printable(account.dataset) + "/skipped.tsv lists them all\n";
  }
  if (account.planned) {
    text += "  next       sluice convert --part I/N " + Printable(account.dataset) +
            "   (for each I from 0 to N - 1)\n             sluice finish " +
            Printable(account.dataset) + "\n";
  }
  cli::PrintOut(text);
}

nlohmann::ordered_json ConvertJson(const ConvertAccount& account) {
  const ConvertSummary& summary = account.summary;
  auto classes = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < summary.classes.size(); ++i) {
    classes.push_back({{"name", summary.classes[i]}, {"samples", summary.class_counts.at(i)}});
  }
  auto duplicates = nlohmann::ordered_json::array();
  for (const std::vector<Duplicate>& group : summary.duplicates) {
    auto files = nlohmann::ordered_json::array();
    for (const Duplicate& file : group)
      files.push_back({{"path", file.path}, {"class", file.class_name}});
    duplicates.push_back(files);
  }
  nlohmann::ordered_json json = {{"dataset", ShownPath(account.dataset)},
                                 {"dry_run", account.options.run.dry_run},
                                 {"samples", summary.samples},
                                 {"fields", summary.fields},
                                 {"classes", summary.classes.size()},
                                 {"skipped", summary.skipped.size()},
                                 {"passed_over", summary.passed_over.size()},
                                 {"truncated", summary.truncated.size()},
                                 {"kept", summary.kept},
                                 {"shrunk", nullptr},
                                 {"reencoded", nullptr},
                                 {"rounded", nullptr},
                                 {"pixels", summary.pixels},
                                 {"boxes_dropped", summary.boxes_dropped},
                                 {"profiles_dropped", summary.profiles_dropped},
                                 {"profiles_converted", summary.profiles_converted},
                                 {"channels_dropped", summary.channels_dropped},
                                 {"found_done", account.found_done},
                                 {"shards", summary.shards},
                                 {"shard_samples", summary.shard_samples},
                                 {"block_samples", summary.block_samples},
                                 {"bytes_in", summary.bytes_in},
                                 {"bytes_out", summary.bytes_out},
                                 {"seconds", summary.seconds},
                                 {"class_list", classes},
                                 {"skipped_list", LeftOutJson(summary.skipped)},
                                 {"passed_over_list", LeftOutJson(summary.passed_over)},
                                 {"truncated_list", LeftOutJson(summary.truncated)},
                                 {"smaller", summary.smaller},
                                 {"turned", SomeJson(summary.turned)},
                                 {"dim", SomeJson(summary.dim)},
                                 {"warnings", summary.warnings}};
  if (IsOfOneRun(account)) {
    json["shrunk"] = summary.shrunk;
    json["reencoded"] = summary.reencoded;
    json["rounded"] = summary.rounded;
  }
  if (account.options.run.find_duplicates && !account.planned) json["duplicates"] = duplicates;
  if (account.planned) json["planned"] = true;
  return json;
}

}  // namespace sluice
