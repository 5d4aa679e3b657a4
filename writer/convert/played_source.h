// The samples of a source that is played without a conversion, made when they are asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include <sluice/play_source.h>

#include "format/disk/manifest.h"
#include "writer/convert/plan.h"

namespace sluice {

// When the files of the source's sample were last written to, in nanoseconds since 1970; 0 if the
// sources lie in archives or in an object store, or no file can be examined.
std::int64_t TimeOf(const SourceList& list, std::size_t source);

// `input`: with its plan settled; `images`: of SurveyImages(). Begins to compile the source if the
// options say so.
std::shared_ptr<SampleSupply> SupplyOf(ConversionInput input, std::vector<ImageFigures> images,
                                       const ConvertSource& source, const PlayOptions& options,
                                       const std::stop_token& stop);

}  // namespace sluice
