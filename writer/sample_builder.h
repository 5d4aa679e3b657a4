// The state of a SampleBuilder: the sample as it will be stored, and which fields have been set.
#pragma once

#include <memory>

#include <sluice/dataset_writer.h>

#include "format/disk/block.h"

namespace sluice {

struct SampleBuilder::State {
  std::shared_ptr<const Schema> schema;
  EncodedSample sample;
  std::vector<bool> set;

  // The field of that name and kind, marked as set. Throws Error(kInvalidArgument).
  FieldValue& Value(std::string_view name, FieldKind kind);
};

}  // namespace sluice
