// The sizes of a source's images and values, found without making a sample: a played source's
// manifest has them.
#pragma once

#include <stop_token>
#include <vector>

#include <sluice/play_source.h>

#include "format/disk/manifest.h"
#include "writer/convert/plan.h"
#include "writer/convert/probe.h"

namespace sluice {

// The summary of all images for each field of images, from the beginnings of their files. Calls
// `options.on_look`. Throws Error: StoreFault, kState (stopped).
std::vector<ImageFigures> SurveyImages(const ConversionInput& input, const Probe& probe,
                                       unsigned threads, const PlayOptions& options,
                                       const std::stop_token& stop);

// Upper bounds for the values of bytes and variable fields, which the list has.
std::vector<ManifestValues> SurveyValues(const SourceList& list, const Schema& schema);

}  // namespace sluice
