// A mask is a picture of class numbers. It is painted from shapes when its image is encoded, so
// that a list of a million samples holds outlines and runs, not pictures.
//
// A value of Feed::kShapes is a sequence of shapes, largest object first; each has a head, followed
// by its numbers. Outlines are filled as pycocotools does (AppendRuns()), so that masks equal those
// used for COCO's published results. Run lengths are painted as they are.
#include "writer/source/labels/masks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <sluice/error.h>

#include "format/parallel.h"
#include "writer/source/list/alike.h"
#include "writer/source/list/list_checks.h"
#include "writer/source/list/look.h"
#include "writer/source/list/paths.h"

namespace sluice {

namespace {

enum class ShapeKind : std::uint32_t { kOutline, kRuns };

// Precedes a shape's numbers in a value.
struct ShapeHead {
  ShapeKind kind;
  std::uint32_t number;
  std::uint32_t width, height;  // kRuns
  std::uint64_t count;          // how many numbers follow: float64 for an outline, uint32 for runs
};

template <class T>
void Append(std::span<const T> values, std::vector<std::byte>& out) {
  const Bytes bytes = std::as_bytes(values);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

class Painter {
 public:
  explicit Painter(MaskPicture& mask) : mask_(mask) {}

  // Fills the positions from `begin` to before `end`, counted down the columns.
  void Fill(std::uint64_t begin, std::uint64_t end, std::uint32_t number) {
    std::uint64_t x = begin / mask_.height;
    std::uint64_t y = begin % mask_.height;
    for (; begin < end; ++begin) {
      const std::uint64_t at = y * mask_.width + x;
      if (mask_.value_bytes == 1) {
        mask_.pixels[at] = static_cast<std::uint8_t>(number);
      } else {
        const auto wide = static_cast<std::uint16_t>(number);
        std::memcpy(mask_.pixels.data() + 2 * at, &wide, sizeof wide);
      }
      if (++y == mask_.height) {
        y = 0;
        ++x;
      }
    }
  }

 private:
  MaskPicture& mask_;
};

void PaintRuns(const ShapeHead& head, Bytes numbers, MaskPicture& mask) {
  if (head.width != mask.width || head.height != mask.height) {
    throw Error(ErrorCode::kCorrupt,
                "the runs of its mask are for " + std::to_string(head.width) + "x" +
                    std::to_string(head.height) + " pixels, and the image has " +
                    std::to_string(mask.width) + "x" + std::to_string(mask.height));
  }
  Painter painter(mask);
  const std::uint64_t pixels = std::uint64_t{mask.width} * mask.height;
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < head.count; ++i) {
    const std::uint64_t run = LoadAt<std::uint32_t>(numbers, 4 * i);
    if (run > pixels - at) {
      throw Error(ErrorCode::kCorrupt, "the runs of its mask are longer than the image");
    }
    // Runs take turns, beginning with one outside of the object.
    if (i % 2 == 1) painter.Fill(at, at + run, head.number);
    at += run;
  }
}

}  // namespace

void AddShape(const Shape& shape, std::uint32_t number, std::vector<std::byte>& value) {
  const bool runs = !shape.runs.empty();
  const ShapeHead head{runs ? ShapeKind::kRuns : ShapeKind::kOutline, number, shape.width,
                       shape.height, runs ? shape.runs.size() : shape.outline.size()};
  Append(std::span(&head, 1), value);
  if (runs) return Append(std::span(shape.runs), value);
  Append(std::span(shape.outline), value);
}

bool AreShapes(Bytes value) noexcept {
  for (std::size_t at = 0; at < value.size();) {
    if (value.size() - at < sizeof(ShapeHead)) return false;
    const auto head = LoadAt<ShapeHead>(value, at);
    at += sizeof head;
    if (head.kind > ShapeKind::kRuns) return false;
    const std::size_t size = head.kind == ShapeKind::kRuns ? 4 : 8;
    if (head.count > (value.size() - at) / size) return false;
    for (std::uint64_t i = 0; head.kind == ShapeKind::kOutline && i < head.count; ++i) {
      if (!std::isfinite(LoadAt<double>(value, at + 8 * i))) return false;
    }
    if (head.kind == ShapeKind::kOutline && head.count % 2 != 0) return false;
    at += head.count * size;
  }
  return true;
}

std::vector<NumberedShape> ShapesIn(Bytes value) {
  std::vector<NumberedShape> shapes;
  const auto copy = [&value](auto& numbers, std::size_t count, std::size_t& at) {
    numbers.resize(count);
    const std::size_t bytes = count * sizeof numbers[0];
    if (bytes > 0) std::memcpy(numbers.data(), value.data() + at, bytes);
    at += bytes;
  };
  for (std::size_t at = 0; at < value.size();) {
    const auto head = LoadAt<ShapeHead>(value, at);
    at += sizeof head;
    Shape& shape = shapes.emplace_back(NumberedShape{head.number, {}}).shape;
    shape.width = head.width;
    shape.height = head.height;
    if (head.kind == ShapeKind::kRuns)
      copy(shape.runs, head.count, at);
    else
      copy(shape.outline, head.count, at);
  }
  return shapes;
}

MaskPicture PaintMask(Bytes value, std::uint32_t width, std::uint32_t height, bool wide,
                      bool relative) {
  MaskPicture mask{width, height, 1, wide ? 2U : 1U, {}};
  mask.pixels.resize(std::size_t{width} * height * mask.value_bytes);
  std::vector<double> corners;
  for (std::size_t at = 0; at < value.size();) {
    const auto head = LoadAt<ShapeHead>(value, at);
    at += sizeof head;
    const std::size_t bytes = head.count * (head.kind == ShapeKind::kRuns ? 4 : 8);
    const Bytes numbers = value.subspan(at, bytes);
    at += bytes;
    if (head.kind == ShapeKind::kRuns) {
      PaintRuns(head, numbers, mask);
      continue;
    }
    corners.resize(head.count);
    std::memcpy(corners.data(), numbers.data(), numbers.size());
    for (std::size_t i = 0; relative && i < corners.size(); ++i)
      corners[i] *= i % 2 == 0 ? width : height;
    std::vector<PixelRun> runs;
    if (!AppendRuns(corners, width, height, runs))
      throw Error(ErrorCode::kCorrupt, "an outline of its mask is too long for its size");
    Painter painter(mask);
    for (const PixelRun& run : runs)
      painter.Fill(run.begin, run.end, head.number);
  }
  return mask;
}

std::vector<std::uint32_t> RunsOf(const MaskPicture& mask) {
  std::vector<std::uint32_t> runs(1);
  bool inside = false;
  for (std::size_t x = 0; x < mask.width; ++x) {
    for (std::size_t y = 0; y < mask.height; ++y) {
      if ((mask.pixels[y * mask.width + x] != 0) != inside) {
        inside = !inside;
        runs.push_back(0);
      }
      ++runs.back();
    }
  }
  return runs;
}

namespace {

std::string MaskPathOf(const std::string& key) {
  return std::filesystem::path(key).replace_extension(".png").native();
}

// The mask of a stack of files has the sample's name, and not that of the first file.
std::string MaskPathOf(const SourceList& list, std::size_t source) {
  const bool stack = list.archives.empty() && list.Value(source, 0);
  const Source& one = list.sources[source];
  return stack ? one.sample_key + ".png" : MaskPathOf(one.key);
}

}  // namespace

void AddMaskFolder(const ConvertSource& source, unsigned threads, const std::stop_token& stop,
                   SourceList& list) {
  const std::filesystem::path& folder = source.mask_folder;
  if (!std::filesystem::is_directory(folder)) {
    throw Error(ErrorCode::kNotFound, folder.string(), "the folder of masks does not exist");
  }
  std::vector<Look> looks(list.sources.size());
  ParallelFor(threads, looks.size(), stop,
              [&](unsigned, std::size_t i) { looks[i] = LookInto(folder / MaskPathOf(list, i)); });
  if (stop.stop_requested()) ThrowStopped();
  std::vector<Source> sources;
  SourceValues values;
  LinksOut links(folder, source.follow_links);
  AlikeFiles files(folder);
  TakenForOthers taken;
  std::set<std::string> named;  // every image's mask, as it should be called
  for (std::size_t i = 0; i < list.sources.size(); ++i)
    named.insert(MaskPathOf(list, i));
  for (std::size_t i = 0; i < list.sources.size(); ++i) {
    std::string path = MaskPathOf(list, i);
    if (!looks[i].trouble.empty() && !std::filesystem::exists(folder / path)) {
      const std::vector<std::string> alike = files.Like(path);
      if (alike.size() == 1 && !named.contains(alike[0])) {
        taken.Add(path, alike[0]);
        path = alike[0];
        looks[i] = LookInto(folder / path);
      }
    }
    if (links.Take(path, list.sources[i].key, list.passed_over)) continue;
    std::string trouble = looks[i].trouble;
    if (trouble.empty() && looks[i].sniffed.kind != ImageKind::kPng) trouble = "is not a PNG";
    if (!trouble.empty()) {
      list.broken.push_back({list.sources[i].key, "its mask " + path + " " + trouble});
      continue;
    }
    for (std::size_t f = 0; f < list.fields.size(); ++f)
      values.Add(list.Value(i, f));
    values.Add(MaskValue(looks[i].bytes, path));
    sources.push_back(std::move(list.sources[i]));
  }
  links.Warn(list.warnings);
  if (!taken.Report().empty()) list.warnings.push_back(taken.Report());
  list.sources = std::move(sources);
  list.values = std::move(values);
  SourceField field{Field::Mask("mask", "image"), Feed::kMask};
  field.folder = folder;
  list.fields.push_back(std::move(field));
  // Masks that are missing were appended; the list is in the order of paths.
  std::ranges::sort(list.broken, {}, &LeftOut::path);
  RequireImages(folder, list);
}

}  // namespace sluice
