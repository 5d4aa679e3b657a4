// Thumbnails, sheets of them, and annotations drawn on them.
//
// Annotations are drawn on the thumbnail itself, so their coordinates are scaled from the picture
// that they annotate. That is a stored image, or a row of a batch: what both hold of a field is
// first put into one form, so that one code draws it. In a damaged or unusual dataset they may lie
// anywhere: each coordinate is clamped before it becomes a pixel.
#include "tools/preview_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <turbojpeg.h>

#include <sluice/error.h>
#include <sluice/instances.h>
#include <sluice/nearest_name.h>

#include "tools/samples.h"
#include "tools/wide_pictures.h"

namespace sluice {

namespace {

constexpr std::uint32_t kMargin = 2;       // pixels between the cells of a sheet
constexpr std::uint8_t kMarginValue = 24;  // the grey of the margin
constexpr std::uint8_t kEmptyValue = 64;   // the grey of a cell without a picture
constexpr int kQuality = 85;

// Reads a pixel of an 8-bit picture as RGB; a grey value becomes all three.
struct PixelReader {
  const Image& image;

  unsigned operator()(std::size_t x, std::size_t y, unsigned colour) const {
    const unsigned channel = image.channels >= 3 ? colour : 0;
    const std::size_t at = (y * image.width + x) * image.channels + channel;
    return image.pixels[at];
  }
};

Image Canvas(std::uint32_t width, std::uint32_t height) {
  Image canvas;
  canvas.width = width;
  canvas.height = height;
  canvas.channels = 3;
  canvas.pixels.resize(std::size_t{width} * height * 3);
  return canvas;
}

std::uint32_t Scaled(std::uint32_t side, std::uint32_t target, std::uint32_t longest) {
  return std::max<std::uint32_t>(
      1, static_cast<std::uint32_t>(std::uint64_t{side} * target / longest));
}

}  // namespace

Image Thumbnail(const Image& image, std::uint32_t side) {
  const std::uint32_t longest = std::max(image.width, image.height);
  // Small pictures are enlarged by a whole factor only, so that each pixel stays a square.
  const std::uint32_t factor = std::max<std::uint32_t>(1, side / longest);
  const std::uint32_t target = longest > side ? side : longest * factor;
  Image out = Canvas(Scaled(image.width, target, longest), Scaled(image.height, target, longest));
  const PixelReader pixel{image};
  std::uint8_t* value = out.pixels.data();
  for (std::uint32_t y = 0; y < out.height; ++y) {
    const auto top = static_cast<std::size_t>(std::uint64_t{y} * image.height / out.height);
    // The mean of all pixels that a pixel of the thumbnail covers, and at least one.
    const std::size_t bottom =
        std::max<std::size_t>(top + 1, std::uint64_t{y + 1} * image.height / out.height);
    for (std::uint32_t x = 0; x < out.width; ++x) {
      const auto left = static_cast<std::size_t>(std::uint64_t{x} * image.width / out.width);
      const std::size_t right =
          std::max<std::size_t>(left + 1, std::uint64_t{x + 1} * image.width / out.width);
      const std::uint64_t count = (bottom - top) * (right - left);
      for (unsigned c = 0; c < 3; ++c) {
        std::uint64_t sum = 0;
        for (std::size_t v = top; v < bottom; ++v) {
          for (std::size_t u = left; u < right; ++u)
            sum += pixel(u, v, c);
        }
        *value++ = static_cast<std::uint8_t>((sum + count / 2) / count);
      }
    }
  }
  return out;
}

Image ContactSheet(const std::vector<Image>& pictures, std::uint32_t columns, std::uint32_t side) {
  const std::uint32_t cell = side + kMargin;
  const auto rows = static_cast<std::uint32_t>((pictures.size() + columns - 1) / columns);
  Image sheet = Canvas(columns * cell + kMargin, rows * cell + kMargin);
  std::fill(sheet.pixels.begin(), sheet.pixels.end(), kMarginValue);
  const std::size_t stride = std::size_t{sheet.width} * 3;
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const Image& picture = pictures[i];
    const std::size_t left = i % columns * cell + kMargin;
    const std::size_t top = i / columns * cell + kMargin;
    if (picture.pixels.empty()) {
      for (std::size_t y = top; y < top + side; ++y)
        std::fill_n(&sheet.pixels[y * stride + left * 3], side * 3, kEmptyValue);
      continue;
    }
    const std::size_t x = left + (side - picture.width) / 2;
    const std::size_t y = top + (side - picture.height) / 2;
    const std::size_t row = std::size_t{picture.width} * 3;
    for (std::size_t v = 0; v < picture.height; ++v) {
      std::copy_n(&picture.pixels[v * row], row, &sheet.pixels[(y + v) * stride + x * 3]);
    }
  }
  return sheet;
}

std::string JpegInBase64(const Image& picture) {
  const std::unique_ptr<void, int (*)(void*)> handle(tjInitCompress(), &tjDestroy);
  if (!handle) throw std::bad_alloc();
  unsigned char* data = nullptr;
  unsigned long size = 0;
  const int result =
      tjCompress2(handle.get(), picture.pixels.data(), static_cast<int>(picture.width), 0,
                  static_cast<int>(picture.height), TJPF_RGB, &data, &size, TJSAMP_444, kQuality,
                  TJFLAG_ACCURATEDCT);
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owner(data, &tjFree);
  if (result != 0) throw Error(ErrorCode::kIo, tjGetErrorStr2(handle.get()));
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((size + 2) / 3 * 4);
  for (unsigned long at = 0; at < size; at += 3) {
    const unsigned long left = size - at;
    const unsigned group = data[at] << 16U | (left > 1 ? data[at + 1] << 8U : 0U) |
                           (left > 2 ? unsigned{data[at + 2]} : 0U);
    text += kDigits[group >> 18];
    text += kDigits[group >> 12 & 63];
    text += left > 1 ? kDigits[group >> 6 & 63] : '=';
    text += left > 2 ? kDigits[group & 63] : '=';
  }
  return text;
}

namespace {

constexpr std::size_t kMaxDrawn = 1000;  // boxes or points of a field

using Colour = std::array<std::uint8_t, 3>;

// Colours that differ from each other and from most photos.
Colour ColourOf(std::uint64_t number) {
  constexpr std::array<Colour, 10> kColours = {{{230, 25, 75},
                                                {60, 220, 75},
                                                {255, 225, 25},
                                                {0, 130, 240},
                                                {245, 130, 48},
                                                {190, 60, 240},
                                                {70, 240, 240},
                                                {240, 50, 230},
                                                {188, 246, 12},
                                                {250, 190, 190}}};
  return kColours[number % kColours.size()];
}

void Dot(Image& picture, std::int64_t x, std::int64_t y, const Colour& colour) {
  if (x < 0 || y < 0 || x >= picture.width || y >= picture.height) return;
  const std::size_t at = (static_cast<std::size_t>(y) * picture.width + std::size_t(x)) * 3;
  std::copy(colour.begin(), colour.end(), picture.pixels.begin() + static_cast<std::ptrdiff_t>(at));
}

// Mixes the colour, in equal parts, with that of a pixel of the picture.
void Tint(Image& picture, std::size_t x, std::size_t y, const Colour& colour) {
  auto* const pixel = &picture.pixels[(y * picture.width + x) * 3];
  for (std::size_t c = 0; c < 3; ++c)
    pixel[c] = static_cast<std::uint8_t>((unsigned{pixel[c]} + colour[c]) / 2);
}

// Scales a coordinate to the thumbnail. One outside the thumbnail becomes -1 or `side`.
std::int64_t Placed(double place, double scale, std::uint32_t side) {
  const double at = std::floor(place * scale);
  if (std::isnan(at)) return -1;
  return static_cast<std::int64_t>(std::clamp(at, -1.0, static_cast<double>(side)));
}

// Whether coordinates are fractions of the image's sides (else pixels). The rest of the text goes
// to `form`. Returns nullopt if the text names no known coordinates.
std::optional<bool> Relative(std::string_view text, std::string_view& form) {
  for (const std::string_view unit : {"relative", "pixels"}) {
    if (!text.ends_with(unit)) continue;
    form = text.substr(0, text.size() - unit.size());
    if (form.ends_with('-')) form.remove_suffix(1);
    return unit == "relative";
  }
  form = "";
  return text.empty() ? std::optional(false) : std::nullopt;
}

class Drawing {
 public:
  Drawing(std::span<const Annotation> annotations, std::uint32_t width, std::uint32_t height,
          Image& thumbnail)
      : annotations_(annotations), width_(width), height_(height), thumbnail_(thumbnail) {}

  void Run() {
    // Masks first, since they cover areas; then lines and points on top.
    for (const Role role : {Role::kMask, Role::kInstances, Role::kBoxes, Role::kKeypoints}) {
      for (const Annotation& annotation : annotations_) {
        if (annotation.field->role != role) continue;
        if (role == Role::kMask) DrawMask(annotation.mask);
        if (role == Role::kInstances) DrawInstances(annotation);
        if (role == Role::kBoxes) DrawBoxes(annotation);
        if (role == Role::kKeypoints) DrawPoints(annotation);
      }
    }
  }

 private:
  static bool HoldsNumbers(const Field& field) {
    return (field.kind == FieldKind::kArray || field.kind == FieldKind::kVariable) &&
           (field.dtype == DType::kFloat32 || field.dtype == DType::kFloat64) &&
           !field.shape.empty();
  }

  // The place among `stored` pixels of a side at which the centre of one of `shown` pixels lies.
  static std::uint64_t AtCentre(std::uint64_t pixel, std::uint64_t shown, std::uint64_t stored) {
    return (2 * pixel + 1) * stored / (2 * shown);
  }

  void DrawMask(const Image& mask) {
    const std::size_t bytes = SizeOf(mask.pixel_type);
    for (std::uint32_t y = 0; y < thumbnail_.height; ++y) {
      // The class at the centre of each pixel of the thumbnail: a mean of class numbers would be
      // another class.
      const std::size_t v = AtCentre(y, thumbnail_.height, mask.height);
      for (std::uint32_t x = 0; x < thumbnail_.width; ++x) {
        const std::size_t u = AtCentre(x, thumbnail_.width, mask.width);
        const auto* const pixel = &mask.pixels[(v * mask.width + u) * mask.channels * bytes];
        const double number = NumberAt(mask.pixel_type, pixel);
        // Class 0 is the background; NaN is skipped, too.
        if (!(number >= 1)) continue;
        const Colour colour = ColourOf(static_cast<unsigned>(std::min(number, 65535.0)) - 1);
        Tint(thumbnail_, x, y, colour);
      }
    }
  }

  // Tints each object in the colour of its box.
  void DrawInstances(const Annotation& annotation) {
    Instances instances;
    const char* const defect = instances.Open(annotation.bytes, width_, height_);
    if (defect != nullptr)
      throw Error(ErrorCode::kCorrupt, "field \"" + annotation.field->name + "\": " + defect);
    const std::vector<std::uint64_t> classes = ClassesOfBoxes(instances.size());
    for (std::size_t i = 0; i < std::min(instances.size(), kMaxDrawn); ++i) {
      const std::vector<std::uint32_t> runs = instances.Runs(i, width_, height_);
      // Pixels of the thumbnail, in the order of runs: down the columns. `end`: of the current run.
      std::size_t run = 0;
      std::uint64_t end = runs[0];
      for (std::uint32_t x = 0; x < thumbnail_.width; ++x) {
        for (std::uint32_t y = 0; y < thumbnail_.height; ++y) {
          const std::uint64_t at = AtCentre(x, thumbnail_.width, width_) * height_ +
                                   AtCentre(y, thumbnail_.height, height_);
          while (at >= end)
            end += runs[++run];
          if (run % 2 == 1) Tint(thumbnail_, x, y, ColourOf(classes[i]));
        }
      }
    }
  }

  // The class of each box: from the label that has as many entries, else the box's index.
  std::vector<std::uint64_t> ClassesOfBoxes(std::size_t count) const {
    std::vector<std::uint64_t> classes(count);
    std::iota(classes.begin(), classes.end(), std::uint64_t{0});
    for (const Annotation& label : annotations_) {
      if (label.field->role != Role::kLabel || label.numbers.size() != count) continue;
      for (std::size_t i = 0; i < count; ++i)
        classes[i] = static_cast<std::uint64_t>(static_cast<std::int64_t>(label.numbers[i]));
      break;
    }
    return classes;
  }

  void DrawBoxes(const Annotation& annotation) {
    const Field& field = *annotation.field;
    std::string_view form;
    const std::optional<bool> relative = Relative(field.coordinates, form);
    const bool corners = form.empty() ? field.coordinates.empty() : form == "xyxy";
    if (relative && form == "corners") return DrawOriented(annotation, *relative);
    if (!relative || (!corners && form != "xywh" && form != "cxcywh")) return;
    if (!HoldsNumbers(field) || field.shape.back() != 4) return;
    const std::vector<double>& numbers = annotation.numbers;
    const std::size_t count = numbers.size() / 4;
    const std::vector<std::uint64_t> classes = ClassesOfBoxes(count);
    for (std::size_t b = 0; b < std::min(count, kMaxDrawn); ++b) {
      std::array<double, 4> box = {numbers[b * 4], numbers[b * 4 + 1], numbers[b * 4 + 2],
                                   numbers[b * 4 + 3]};
      if (!std::all_of(box.begin(), box.end(), [](double n) { return std::isfinite(n); })) continue;
      if (form == "cxcywh") {
        box[0] -= box[2] / 2;
        box[1] -= box[3] / 2;
      }
      if (!corners) {
        box[2] += box[0];
        box[3] += box[1];
      }
      DrawBox(box, *relative, ColourOf(classes[b]));
    }
  }

  std::int64_t X(double x, bool relative) const {
    return Placed(x, thumbnail_.width / (relative ? 1.0 : width_), thumbnail_.width);
  }
  std::int64_t Y(double y, bool relative) const {
    return Placed(y, thumbnail_.height / (relative ? 1.0 : height_), thumbnail_.height);
  }

  void DrawBox(const std::array<double, 4>& box, bool relative, const Colour& colour) {
    const std::int64_t left = X(box[0], relative);
    const std::int64_t top = Y(box[1], relative);
    // A box ends before its right and bottom coordinates, so its last pixels are one less. This
    // way, a box that reaches the image's edge keeps its line there.
    const std::int64_t right = std::max(left, X(box[2], relative) - 1);
    const std::int64_t bottom = std::max(top, Y(box[3], relative) - 1);
    for (std::int64_t x = left; x <= right; ++x) {
      Dot(thumbnail_, x, top, colour);
      Dot(thumbnail_, x, bottom, colour);
    }
    for (std::int64_t y = top; y <= bottom; ++y) {
      Dot(thumbnail_, left, y, colour);
      Dot(thumbnail_, right, y, colour);
    }
  }

  void DrawOriented(const Annotation& annotation, bool relative) {
    if (!HoldsNumbers(*annotation.field) || annotation.field->shape.back() != 8) return;
    const std::vector<double>& numbers = annotation.numbers;
    const std::size_t count = numbers.size() / 8;
    const std::vector<std::uint64_t> classes = ClassesOfBoxes(count);
    for (std::size_t b = 0; b < std::min(count, kMaxDrawn); ++b) {
      const auto box = std::span(numbers).subspan(b * 8, 8);
      if (!std::ranges::all_of(box, [](double n) { return std::isfinite(n); })) continue;
      for (std::size_t c = 0; c < 8; c += 2) {
        const std::size_t next = (c + 2) % 8;
        DrawLine(X(box[c], relative), Y(box[c + 1], relative), X(box[next], relative),
                 Y(box[next + 1], relative), ColourOf(classes[b]));
      }
    }
  }

  void DrawLine(std::int64_t x0, std::int64_t y0, std::int64_t x1, std::int64_t y1,
                const Colour& colour) {
    const std::int64_t steps = std::max({std::abs(x1 - x0), std::abs(y1 - y0), std::int64_t{1}});
    for (std::int64_t i = 0; i <= steps; ++i)
      Dot(thumbnail_, x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps, colour);
  }

  // Draws points of two numbers, or of three with a visibility; visibility 0 means that the point
  // is absent.
  void DrawPoints(const Annotation& annotation) {
    const Field& field = *annotation.field;
    std::string_view form;
    const std::optional<bool> relative = Relative(field.coordinates, form);
    if (!relative || (!form.empty() && form != "xy" && form != "xyv")) return;
    if (!HoldsNumbers(field)) return;
    const std::size_t values = field.shape.back();
    if (values != 2 && values != 3) return;
    const std::size_t points = field.shape.size() >= 2 ? field.shape[field.shape.size() - 2] : 1;
    const std::vector<double>& numbers = annotation.numbers;
    for (std::size_t p = 0; p < std::min(numbers.size() / values, kMaxDrawn); ++p) {
      const double* const point = &numbers[p * values];
      if (!std::isfinite(point[0]) || !std::isfinite(point[1])) continue;
      if (values == 3 && !(point[2] > 0)) continue;
      DrawPoint(X(point[0], *relative), Y(point[1], *relative), ColourOf(p % points));
    }
  }

  void DrawPoint(std::int64_t x, std::int64_t y, const Colour& colour) {
    if (x < 0 || y < 0 || x >= thumbnail_.width || y >= thumbnail_.height) return;
    for (std::int64_t v = y - 1; v <= y + 1; ++v) {
      for (std::int64_t u = x - 1; u <= x + 1; ++u)
        Dot(thumbnail_, u, v, colour);
    }
  }

  std::span<const Annotation> annotations_;
  std::uint32_t width_, height_;
  Image& thumbnail_;
};

// Whether the field annotates that image.
bool Annotates(const Field& field, const Field& image) {
  switch (field.role) {
    // A mask that names no image is not drawn.
    case Role::kMask: return field.kind == FieldKind::kImage && field.follows == image.name;
    case Role::kLabel:
      return field.kind == FieldKind::kVariable && field.follows == image.name &&
             field.shape.empty() && IsInteger(field.dtype);
    case Role::kInstances:
    case Role::kBoxes:
    case Role::kKeypoints: return field.follows.empty() || field.follows == image.name;
    default: return false;
  }
}

PixelType PixelTypeOf(ElementType type) {
  switch (type) {
    case ElementType::kUint8: return PixelType::kUint8;
    case ElementType::kUint16: return PixelType::kUint16;
    case ElementType::kInt16: return PixelType::kInt16;
    case ElementType::kFloat16: return PixelType::kFloat16;
    default: break;  // the type that only Normalize makes does not come
  }
  return PixelType::kFloat32;
}

}  // namespace

const Field& ShownImage(const Schema& schema) {
  const Field* shown = nullptr;
  for (const Field& field : schema.fields) {
    if (field.kind != FieldKind::kImage) continue;
    if (field.follows.empty()) return field;
    if (shown == nullptr) shown = &field;
  }
  return *shown;
}

std::vector<Field> ShownFields(const Schema& schema, const std::vector<std::string>& names) {
  std::vector<Field> fields = {ShownImage(schema)};
  std::vector<std::string> known;
  for (const Field& field : schema.fields) {
    if (field.name == fields[0].name || !Annotates(field, fields[0])) continue;
    known.push_back(field.name);
    if (names.empty() || std::ranges::count(names, field.name) > 0) fields.push_back(field);
  }
  for (const std::string& name : names) {
    if (std::ranges::count(known, name) > 0) continue;
    throw Error(ErrorCode::kInvalidArgument,
                "field \"" + name + "\" is not an annotation of \"" + fields[0].name + "\"" +
                    (known.empty() ? ", which has none"
                                   : NamesInstead(name, known, "the annotations are")));
  }
  return fields;
}

std::vector<Annotation> AnnotationsOf(const Sample& sample, std::span<const Field> fields) {
  std::vector<Annotation> annotations;
  for (const Field& field : fields) {
    if (!sample.Has(field.name)) continue;
    Annotation& annotation = annotations.emplace_back();
    annotation.field = &field;
    switch (field.kind) {
      case FieldKind::kImage: annotation.mask = sample.Decode(field.name); break;
      case FieldKind::kBytes: {
        const auto bytes = sample.Bytes(field.name);
        annotation.bytes.assign(bytes.begin(), bytes.end());
        break;
      }
      case FieldKind::kArray:
      case FieldKind::kVariable: annotation.numbers = NumbersOf(sample, field); break;
    }
  }
  return annotations;
}

std::vector<Annotation> AnnotationsOf(const Batch& row, std::span<const Field> fields) {
  std::vector<Annotation> annotations;
  for (const Field& field : fields) {
    Annotation annotation;
    annotation.field = &field;
    switch (field.kind) {
      case FieldKind::kImage: annotation.mask = ImageOf(row, field.name); break;
      case FieldKind::kBytes: {
        const auto bytes = row.Bytes(field.name).values;
        if (bytes.empty()) continue;  // a row without objects
        annotation.bytes.assign(bytes.begin(), bytes.end());
        break;
      }
      case FieldKind::kArray:
      case FieldKind::kVariable:
        WithType(field.dtype, [&](auto type) {
          using T = decltype(type);
          const std::span<const T> values = field.kind == FieldKind::kArray
                                                ? row.Field<T>(field.name)
                                                : row.Variable<T>(field.name).values;
          annotation.numbers.assign(values.begin(), values.end());
        });
        break;
    }
    annotations.push_back(std::move(annotation));
  }
  return annotations;
}

Image ImageOf(const Batch& row, const std::string& field) {
  const ImageBatch shown = row.image(field, 0);
  Image image;
  image.width = static_cast<std::uint32_t>(shown.width);
  image.height = static_cast<std::uint32_t>(shown.height);
  image.channels = static_cast<std::uint8_t>(shown.channels);
  image.pixel_type = PixelTypeOf(shown.type);
  image.pixels.assign(shown.data, shown.data + shown.sample_bytes());
  return image;
}

void DrawAnnotations(std::span<const Annotation> annotations, std::uint32_t width,
                     std::uint32_t height, Image& thumbnail) {
  Drawing(annotations, width, height, thumbnail).Run();
}

}  // namespace sluice
