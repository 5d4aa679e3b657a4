#include "writer/convert/suspicions.h"

#include <algorithm>

#include "writer/text.h"

namespace sluice {

namespace {

// Classes that differ by more are usually given weights, or were put together by mistake.
constexpr std::uint64_t kUnevenRatio = 10;

std::string ClassText(const ConvertSummary& summary, std::size_t number) {
  return "class " + std::to_string(number) + " (" + summary.classes[number] + ")";
}

// Names that are numbers may leave thousands of classes empty.
void AddEmptyClasses(ConvertSummary& summary) {
  constexpr std::size_t kMostNamed = 8;
  std::vector<std::size_t> empty;
  for (std::size_t c = 0; c < summary.class_counts.size(); ++c) {
    if (summary.class_counts[c] == 0) empty.push_back(c);
  }
  if (empty.size() > kMostNamed) {
    summary.warnings.push_back(std::to_string(empty.size()) + " classes have no sample, such as " +
                               ClassText(summary, empty[0]) + "; their numbers stay");
    return;
  }
  for (const std::size_t c : empty)
    summary.warnings.push_back(ClassText(summary, c) + " has no sample; its number stays");
}

void AddClasses(ConvertSummary& summary) {
  AddEmptyClasses(summary);
  std::size_t least = summary.class_counts.size();
  std::size_t most = least;
  for (std::size_t c = 0; c < summary.class_counts.size(); ++c) {
    const std::uint64_t count = summary.class_counts[c];
    if (count == 0) continue;
    if (least == summary.class_counts.size() || count < summary.class_counts[least]) least = c;
    if (most == summary.class_counts.size() || count > summary.class_counts[most]) most = c;
  }
  if (most == summary.class_counts.size()) return;
  const std::uint64_t fewest = summary.class_counts[least];
  const std::uint64_t largest = summary.class_counts[most];
  if (largest / kUnevenRatio < fewest) return;
  summary.warnings.push_back("the classes are very uneven: " + ClassText(summary, least) + " has " +
                             std::to_string(fewest) + (fewest == 1 ? " sample, " : " samples, ") +
                             ClassText(summary, most) + " " + std::to_string(largest));
}

void AddSmaller(const ConvertOptions& options, ConvertSummary& summary) {
  if (summary.smaller == 0) return;
  const bool one = summary.smaller == 1;
  std::string text = std::to_string(summary.smaller) + (one ? " image is" : " images are");
  text += " smaller than ";
  if (options.geometry.size) {
    text += std::to_string(options.geometry.size->width) + "x" +
            std::to_string(options.geometry.size->height) + " and w" + (one ? "as" : "ere") +
            " enlarged";
  } else {
    text += std::to_string(options.geometry.short_side.value_or(0)) +
            " pixels on the shorter side and " + (one ? "stays" : "stay") + " so";
  }
  summary.warnings.push_back(text);
}

// Annotations that are taken the wrong way lie off their objects, and no size tells.
void AddTurned(const SourceList& sources, bool all, ConvertSummary& summary) {
  if (summary.turned.count == 0 || sources.upright) return;
  const bool one = summary.turned.count == 1;
  summary.warnings.push_back(
      (all ? "" : "at least ") + std::to_string(summary.turned.count) +
      (one ? " image is" : " images are") + " turned or mirrored by " + (one ? "its" : "their") +
      " orientation (Exif) and " + (one ? "has" : "have") +
      " boxes, masks or key points, such as " + ExamplesText(summary.turned) +
      ": these are taken as drawn on the upright image. If they were drawn on the image as its "
      "file stores it, convert with --as-stored (ConvertSource::upright = false); --upright (true) "
      "confirms this and ends the warning");
}

// Values are reduced to 8 bits by the range that the file's kind has, not by what is used of it.
void AddDim(bool all, ConvertSummary& summary) {
  if (summary.dim.count == 0) return;
  const bool one = summary.dim.count == 1;
  summary.warnings.push_back(
      (all ? "" : "at least ") + std::to_string(summary.dim.count) +
      (one ? " image has" : " images have") + " more than 8 bits a value and " +
      (one ? "uses" : "use") + " less than a quarter of the range, such as " +
      ExamplesText(summary.dim) +
      ": in 8 bits, values of at most 63 of 255 are left, nearly black. Scale such images to the "
      "whole range before converting (16-bit files that hold 12 bits: by 16)");
}

void AddTruncated(const ConvertOptions& options, bool all, ConvertSummary& summary) {
  if (options.form.truncated != Truncated::kWarn || summary.truncated.empty()) return;
  const std::size_t count = summary.truncated.size();
  const LeftOut& first = summary.truncated.front();
  summary.warnings.push_back((count == 1 ? "an image ends early and was"
                                         : std::to_string(count) + " images end early and were") +
                             std::string(" taken as far as ") +
                             (count == 1 ? "it goes" : "they go") + ", such as " +
                             ToUtf8(first.path) + " (" + first.reason + "); " +
                             (all ? "see skipped.tsv" : "more may follow"));
}

void AddDuplicates(ConvertSummary& summary) {
  const auto across = std::count_if(
      summary.duplicates.begin(), summary.duplicates.end(),
      [](const std::vector<Duplicate>& group) {
        return std::any_of(group.begin(), group.end(), [&group](const Duplicate& file) {
          return file.class_name != group.front().class_name;
        });
      });
  if (across == 0) return;
  summary.warnings.push_back(std::to_string(across) + (across == 1 ? " image is" : " images are") +
                             " in more than one class with the same bytes");
}

}  // namespace

std::string ExamplesText(const SomeImages& images) {
  std::string text;
  for (std::size_t i = 0; i < images.examples.size(); ++i) {
    const bool last = i + 1 == images.examples.size();
    text += (i == 0                          ? ""
             : last && i + 1 == images.count ? " and "
                                             : ", ") +
            ToUtf8(images.examples[i]);
  }
  return text;
}

void AddGrowth(const ConvertOptions& options, ConvertSummary& summary) {
  // Pages and directories make small datasets larger than their sources; nobody minds.
  constexpr std::uint64_t kOverhead = 1'000'000;
  if (summary.bytes_out <= summary.bytes_in + kOverhead) return;
  std::string advice;
  switch (options.form.image) {
    case ImageCodec::kRaw: advice = "--image jpeg or packed"; break;
    case ImageCodec::kPacked: advice = "--image jpeg, which takes 0.7 of packed"; break;
    case ImageCodec::kJpeg:
      advice = "a --quality below " + std::to_string(options.form.quality);
      if (!options.form.keep)
        advice += ", --quality keep where sources are JPEGs of the right size";
      break;
  }
  const auto per_cent =
      static_cast<std::uint64_t>(100.0 * static_cast<double>(summary.bytes_out) /
                                 static_cast<double>(std::max<std::uint64_t>(summary.bytes_in, 1)));
  summary.warnings.push_back("the dataset takes " + std::to_string(per_cent) +
                             "% of the bytes of its sources; smaller would be: " + advice +
                             ", or fewer pixels (--max-side, --short-side)");
}

void AddSuspicions(const SourceList& sources, const ConvertOptions& options, bool all,
                   ConvertSummary& summary) {
  AddClasses(summary);
  AddSmaller(options, summary);
  AddTurned(sources, all, summary);
  AddDim(all, summary);
  AddTruncated(options, all, summary);
  AddDuplicates(summary);
}

}  // namespace sluice
