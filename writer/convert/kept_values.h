// Images whose values are stored as they are (PixelValues::kKeep, and columns of images).
#pragma once

#include <atomic>
#include <optional>
#include <stop_token>
#include <vector>

#include <sluice/convert.h>

#include "format/disk/block.h"
#include "writer/fit/fit.h"
#include "writer/source/images/values.h"
#include "writer/source/list/source_list.h"

namespace sluice {

// Decodes a source's image, or the second image of another field; the files of a stack become the
// channels of one picture. nullopt if the source has none. `file` is memory to read into. Throws an
// Error whose sentence() says what is wrong, without naming the source.
std::optional<ValuePicture> ReadValues(const SourceList& list, std::size_t source,
                                       std::size_t field, const ConvertOptions& options,
                                       std::vector<std::byte>& file,
                                       const std::atomic<bool>* give_up = nullptr);

// Gives the list's fields of such images, and of masks, the form of the first source that can be
// read: type and channels, and the attributes no_data and channels (not of masks). If it has
// geographic tags, adds a field "geo" for those of all sources; without that field, a source with
// such tags is refused.
void FindForms(const ConvertOptions& options, const std::stop_token& stop, SourceList& list);

// Fits a picture of a field and stores it. Throws Error(kUnsupported) if it does not have the
// field's form.
void StoreValues(ValuePicture picture, const SourceField& field, const Placement& placement,
                 FieldValue& value);

}  // namespace sluice
