// The pictures of a preview: thumbnails, with annotations drawn on them, and sheets of thumbnails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sluice/batch.h>
#include <sluice/dataset.h>
#include <sluice/image.h>
#include <sluice/schema.h>

namespace sluice {

// The 8-bit picture as RGB, scaled to fit side x side pixels without changing its shape. Each pixel
// of a reduced image is the mean of the pixels that it covers. Small images are enlarged by a whole
// factor, by repeating pixels. Opacity is ignored.
Image Thumbnail(const Image& image, std::uint32_t side);

// Arranges RGB pictures in a grid of `columns`, each in the middle of a cell of side x side pixels
// with a margin around it. An empty picture leaves its cell dark.
Image ContactSheet(const std::vector<Image>& pictures, std::uint32_t columns, std::uint32_t side);

// An RGB picture as a JPEG file in Base64 (RFC 4648), which an HTML page may contain.
std::string JpegInBase64(const Image& picture);

// The image field that a preview shows: as in a loader, the first image field that does not follow
// another one.
const Field& ShownImage(const Schema& schema);

// The shown image field, and then those that annotate it: the masks, instances, boxes and key
// points that follow it (or name no image), and the labels that follow it. `names`: of the
// annotations; empty: all. Throws Error(kInvalidArgument) for a name that is not one of them.
std::vector<Field> ShownFields(const Schema& schema, const std::vector<std::string>& names);

// An annotation's value in a stored sample, or in a row that a loader has made.
struct Annotation {
  const Field* field = nullptr;
  Image mask;                    // of a mask
  std::vector<double> numbers;   // of boxes, key points and labels
  std::vector<std::byte> bytes;  // of instances
};
// The values of `fields`, without those that the sample or the row lacks. `row`: a batch of one
// row. `fields` must outlive them.
std::vector<Annotation> AnnotationsOf(const Sample& sample, std::span<const Field> fields);
std::vector<Annotation> AnnotationsOf(const Batch& row, std::span<const Field> fields);
// An image field of a batch of one row, which is not normalized.
Image ImageOf(const Batch& row, const std::string& field);

// Draws masks, instances, boxes and key points, under the same rules as a loader: float32 or
// float64 numbers in the coordinates that FORMAT.md registers. All others are left out. Class 0 of
// a mask stays clear, other classes are tinted. If a label has as many entries as there are boxes,
// it gives each box and its instance their colour. At most 1000 boxes, instances or points of each
// field are drawn.
//
// `width`, `height`: of the annotated picture in pixels; `thumbnail`: RGB. Throws Error if a value
// is damaged.
void DrawAnnotations(std::span<const Annotation> annotations, std::uint32_t width,
                     std::uint32_t height, Image& thumbnail);

}  // namespace sluice
