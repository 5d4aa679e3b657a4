// What belongs to a picture, drawn on its thumbnail: masks, boxes and key points.
#pragma once

#include <sluice/dataset.h>
#include <sluice/image.h>

namespace sluice {

// The image field that a preview shows: as in a loader, the first that follows no other.
const Field& ShownImage(const Schema& schema);

// Draws the sample's masks, boxes and key points that follow `image` (or name no image) as a loader
// takes them: float32 or float64 numbers, in the coordinates that FORMAT.md registers; what is
// stored otherwise is left out. Of a mask class 0 stays clear, the others are tinted; a box has the
// colour of its class where a label field follows the same image and has as many entries. Of each
// field at most 1000 boxes or points are drawn.
//
// `width`, `height`: of the image in pixels; `thumbnail`: in RGB. Throws Error where a value is
// damaged.
void DrawAnnotations(const Sample& sample, const Schema& schema, const Field& image,
                     std::uint32_t width, std::uint32_t height, Image& thumbnail);

}  // namespace sluice
