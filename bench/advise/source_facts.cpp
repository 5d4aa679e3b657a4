// A folder is listed first, up to a limit, and then a random part of its files is read. The part of
// them that a conversion accepts scales the number of listed files to a number of images; files
// that are not images therefore count as examined, too. A dataset's manifest has its numbers of
// images and bytes, so its sample only gives kinds and sizes. The sample of a dataset is examined
// in ascending order and shuffled afterwards, since callers take slices of it.
#include "bench/advise/source_facts.h"

#include <algorithm>
#include <memory>
#include <random>
#include <set>

#include <sluice/dataset.h>
#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "format/disk/file.h"
#include "format/disk/manifest.h"
#include "format/pixels/decode.h"
#include "format/remote/object_store.h"
#include "writer/source/images/image_kinds.h"
#include "writer/source/images/sniff.h"
#include "writer/source/list/folder_walk.h"
#include "writer/source/list/source_list.h"

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 30;

// Collects the sizes of images, and finds the least, median and greatest.
class Sizes {
 public:
  void Add(std::uint32_t width, std::uint32_t height) {
    widths_.push_back(width);
    heights_.push_back(height);
  }

  void StoreIn(SourceFacts& facts) {
    if (widths_.empty()) return;
    std::sort(widths_.begin(), widths_.end());
    std::sort(heights_.begin(), heights_.end());
    facts.least_width = widths_.front();
    facts.median_width = widths_[widths_.size() / 2];
    facts.most_width = widths_.back();
    facts.least_height = heights_.front();
    facts.median_height = heights_[heights_.size() / 2];
    facts.most_height = heights_.back();
  }

 private:
  std::vector<std::uint32_t> widths_, heights_;
};

// Lists the files below the root that a conversion would read, at most `limits.files` of them. The
// classes are the top folders that hold such files.
std::vector<std::string> ListFiles(const fs::path& root, const LookLimits& limits,
                                   SourceFacts& facts, const std::stop_token& stop) {
  FolderTree tree =
      WalkFolder(root, {.follow_links = limits.follow_links, .max_files = limits.files}, stop);
  std::vector<std::string> files;
  std::set<std::string> classes;
  for (WalkedFile& file : tree.files) {
    const std::size_t slash = file.key.find('/');
    if (slash != std::string::npos) classes.insert(file.key.substr(0, slash));
    files.push_back(std::move(file.key));
  }
  facts.listed_all = !tree.cut;
  facts.warnings = std::move(tree.warnings);
  facts.classes = classes.size();
  facts.files = files.size();
  return files;
}

// The kind of a file's content. If a conversion accepts the file, sets its size in pixels, else
// width 0.
std::string KindOf(Bytes content, std::uint32_t& width, std::uint32_t& height) {
  const Sniffed sniffed = Sniff(content.first(std::min(content.size(), kSniffBytes)));
  width = 0;
  if (sniffed.kind == ImageKind::kJpeg) {
    JpegInfo info;
    std::string why;
    if (!ReadJpegInfo(content, info, why)) return "broken";
    width = info.width;
    height = info.height;
  } else if (sniffed.kind != ImageKind::kNone && WhyNotConverted(sniffed).empty()) {
    try {
      const std::unique_ptr<PixelSource> source = OpenPixels(sniffed.kind, content);
      width = source->width();
      height = source->height();
    } catch (const Error&) {
      return "broken";
    }
  }
  return sniffed.kind == ImageKind::kNone ? "no image" : sniffed.name;
}

SourceFacts LookAtFolder(const fs::path& root, const LookLimits& limits, std::mt19937_64& random,
                         const std::stop_token& stop) {
  SourceFacts facts;
  std::vector<std::string> files = ListFiles(root, limits, facts, stop);
  std::shuffle(files.begin(), files.end(), random);
  Sizes sizes;
  std::vector<std::byte> content;
  std::uint64_t bytes = 0;
  for (const std::string& file : files) {
    if (facts.looked_at == limits.look_at) break;
    if (stop.stop_requested()) ThrowStopped();
    ++facts.looked_at;
    std::uint32_t width = 0, height = 0;
    try {
      ReadFile(root / file, kLargestFile, content);
    } catch (const Error&) {
      ++facts.kinds["unreadable"];
      continue;
    }
    ++facts.kinds[KindOf(content, width, height)];
    if (width == 0) continue;
    sizes.Add(width, height);
    bytes += content.size();
    facts.paths.push_back(file);
  }
  if (facts.paths.empty()) {
    throw Error(ErrorCode::kNotFound, root.string(),
                std::string(facts.files == 0
                                ? "has no files"
                                : "has no image that can be converted among the files examined") +
                    (facts.warnings.empty() ? "" : "; " + facts.warnings.front()));
  }
  sizes.StoreIn(facts);
  const double usable =
      static_cast<double>(facts.paths.size()) / static_cast<double>(facts.looked_at);
  const auto files_in_all = static_cast<double>(facts.files);
  facts.images = static_cast<std::uint64_t>(usable * files_in_all + 0.5);
  facts.bytes = static_cast<std::uint64_t>(static_cast<double>(bytes) /
                                           static_cast<double>(facts.looked_at) * files_in_all);
  return facts;
}

SourceFacts LookAtDataset(const fs::path& path, const LookLimits& limits, std::mt19937_64& random,
                          const std::stop_token& stop) {
  const Dataset dataset = Dataset::Open(path);
  SourceFacts facts;
  facts.dataset = true;
  facts.images = dataset.size();
  facts.classes = static_cast<std::uint64_t>(
      std::count_if(dataset.class_counts().begin(), dataset.class_counts().end(),
                    [](std::uint64_t samples) { return samples > 0; }));
  if (dataset.images().empty() || dataset.size() == 0)
    throw Error(ErrorCode::kNotFound, path.string(), "holds no images");
  facts.bytes = dataset.images().front().payload_bytes;
  std::set<std::uint64_t> numbers;
  std::uniform_int_distribution<std::uint64_t> any(0, dataset.size() - 1);
  if (dataset.size() <= limits.look_at) {
    for (std::uint64_t i = 0; i < dataset.size(); ++i)
      numbers.insert(i);
  }
  while (numbers.size() < std::min(dataset.size(), limits.look_at))
    numbers.insert(any(random));
  Sizes sizes;
  for (const std::uint64_t number : numbers) {
    if (stop.stop_requested()) ThrowStopped();
    const ImagePayload payload = dataset[number].Payload();
    ++facts.looked_at;
    ++facts.kinds[std::string(NameOf(payload.codec))];
    if (payload.codec == Codec::kAbsent) continue;
    sizes.Add(payload.width, payload.height);
    facts.numbers.push_back(number);
  }
  if (facts.numbers.empty())
    throw Error(ErrorCode::kNotFound, path.string(), "has no images among the samples examined");
  sizes.StoreIn(facts);
  std::shuffle(facts.numbers.begin(), facts.numbers.end(), random);
  return facts;
}

}  // namespace

SourceFacts LookAtSource(const fs::path& source, const LookLimits& limits, std::uint64_t seed,
                         const std::stop_token& stop) {
  std::mt19937_64 random(seed);
  if (IsStoreUrl(source.string())) {
    throw Error(ErrorCode::kUnsupported, ShownPath(source.string()),
                "advise tries forms of local files: give it a part of the dataset (sluice subset "
                "URL DATASET) and --link with the rate that sluice-bench io URL measures");
  }
  const ManifestPlace place = ManifestPlace::Of(source);
  if (fs::exists(place.folder / place.name)) return LookAtDataset(source, limits, random, stop);
  if (!fs::is_directory(source)) {
    throw Error(ErrorCode::kNotFound, source.string(),
                "is neither a folder of pictures nor a dataset");
  }
  return LookAtFolder(source, limits, random, stop);
}

}  // namespace sluice::bench
