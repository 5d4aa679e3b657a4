// Draws a picture's masks, boxes and key points on its thumbnail.
#pragma once

#include <sluice/dataset.h>
#include <sluice/image.h>

namespace sluice {

// The image field that a preview shows: as in a loader, the first that follows no other.
const Field& ShownImage(const Schema& schema);

// Draws the sample's masks, boxes and key points that follow `image` (or name no image) as a loader
// takes them: float32 or float64 numbers, in the coordinates that FORMAT.md registers; others are
// left out. Class 0 of a mask stays clear, the others are tinted. A box has the colour of its class
// if a label field follows the same image and has as many entries. At most 1000 boxes or points of
// each field are drawn.
//
// `width`, `height`: of the image in pixels; `thumbnail`: in RGB. Throws Error if a value is
// damaged.
void DrawAnnotations(const Sample& sample, const Schema& schema, const Field& image,
                     std::uint32_t width, std::uint32_t height, Image& thumbnail);

}  // namespace sluice
