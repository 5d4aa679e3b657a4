// Masks: painted from the outlines and run lengths of annotations, or found in a folder of their
// own.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "format/disk/bytes.h"
#include "format/pixels/outline.h"
#include "writer/source/images/png.h"
#include "writer/source/list/source_list.h"

namespace sluice {

struct Shape {
  // Corners x, y, x, y, ... of a closed outline.
  std::vector<double> outline;
  // Or COCO's RLE: alternating run lengths of pixels outside and inside, down the columns from the
  // left, of a picture of this size.
  std::vector<std::uint32_t> runs;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};

// Appends the shape to a value for PaintMask(), which gives the pixels that it covers `number`, or
// for ShapesIn().
void AddShape(const Shape& shape, std::uint32_t number, std::vector<std::byte>& value);

struct NumberedShape {
  std::uint32_t number = 0;
  Shape shape;
};
// The shapes of a value, for which AreShapes() is true.
std::vector<NumberedShape> ShapesIn(Bytes value);

// Whether the value consists of complete shapes and nothing else.
bool AreShapes(Bytes value) noexcept;

// Paints the shapes in order, each over those before it; pixels that none covers are 0. Pixels are
// of 8 bits unless `wide`. Outlines are filled as pycocotools does; with `relative`, their corners
// are fractions of the size. Throws Error(kCorrupt) if runs are for another size, or an outline is
// too long for the size.
MaskPicture PaintMask(Bytes value, std::uint32_t width, std::uint32_t height, bool wide,
                      bool relative);

// COCO's run lengths of the pixels of an 8-bit mask of one channel that are not 0.
std::vector<std::uint32_t> RunsOf(const MaskPicture& mask);

// Adds a field "mask" to a list of files: the mask of a/b.jpg is a/b.png below
// ConvertSource::mask_folder. Sources without a usable mask are moved to list.broken, and sources
// whose mask lies behind a link out of the folder to list.passed_over (LinksOut).
void AddMaskFolder(const ConvertSource& source, unsigned threads, const std::stop_token& stop,
                   SourceList& list);

}  // namespace sluice
