// What a batch looks like in memory, worked out once from the dataset and the options.
#pragma once

#include <string>
#include <vector>

#include <sluice/loader.h>

#include "reader/dataset_state.h"
#include "reader/transform/geometry.h"

namespace sluice {

struct SlotLayout {
  struct ArrayField {
    std::size_t field = 0;  // in the schema
    std::string name;
    DType dtype = DType::kUint8;
    std::size_t sample_bytes = 0;
    std::size_t offset = 0;  // of the batch's first value, from the slot's start
  };

  std::size_t batch_size = 0;
  std::size_t image_field = Schema::kNone;
  ImageBatch image;  // of a full batch; its data is unset and lies at the slot's start
  std::vector<ArrayField> arrays;
  std::size_t bytes = 0;  // of a slot
};

// Throws Error(kInvalidArgument) for options that do not fit the dataset.
SlotLayout MakeSlotLayout(const DatasetState& dataset, const LoaderOptions& options,
                          const Geometry& geometry);

}  // namespace sluice
