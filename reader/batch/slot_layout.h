// The layout of a batch in host memory, worked out once from the dataset and the options: images,
// then arrays, then operations for a device, then JPEGs that it decodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sluice/loader_options.h>

#include "reader/batch/jpeg_room.h"
#include "reader/dataset/dataset_state.h"
#include "reader/dataset/field_choice.h"
#include "reader/transform/view_program.h"

namespace sluice {

struct SlotLayout {
  struct ArrayField {
    std::size_t field = 0;  // in the schema; Schema::kNone: the user's functions make it
    std::string name;
    DType dtype = DType::kUint8;
    std::size_t sample_bytes = 0;
    std::size_t offset = 0;  // of the first row's value, from the slot's start
    std::vector<std::uint32_t> shape;
    // The samples [first, end) of a mixture's datasets that lack the field.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> lacking = {};
    bool Has(std::uint64_t sample) const noexcept {
      for (const auto& [first, end] : lacking)
        if (sample >= first && sample < end) return false;
      return true;
    }
    // The row's bytes in these; empty: zeros.
    std::vector<std::byte> absent = {};
  };

  // Operations that a device runs on the rows of an image: `each` for each row, at the end of the
  // slot.
  struct DeviceOps {
    std::size_t each = 0;  // 0: there are none
    std::size_t offset = 0;
    std::size_t row_bytes() const noexcept { return each * sizeof(PixelOp); }
  };

  // An image field other than the first, or a further view of the first.
  struct ImageField {
    std::size_t field = 0;
    std::size_t view = 0;  // number of the loader's view; 0: the first, by LoaderOptions::transform
    std::string name;
    std::size_t leader = Schema::kNone;  // the field whose region it shows; its own if it leads
    bool nearest = false;                // a mask: its pixels are never mixed
    std::uint16_t fill = 0;              // a mask's value in a border of one colour
    bool moves = false;  // an augment moves its pixels, so the border of its picture is unknown
    PixelType pixels = PixelType::kUint8;   // as stored
    ImageBatch image;                       // as below
    std::vector<Geometry::Extent> extents;  // as below
    std::vector<Geometry::Extent> least;    // as below
    std::size_t row_bytes = 0;              // as below
    std::size_t offset = 0;
    DeviceOps ops;
  };
  // A variable field, or a bytes field, where each byte is an entry.
  struct VariableField {
    std::size_t field = 0;  // as above
    std::string name;
    bool bytes = false;
    DType dtype = DType::kUint8;
    std::size_t entry = 1;  // elements
    std::size_t entry_bytes = 1;
    std::vector<std::uint32_t> shape;  // of an entry
  };

  std::size_t batch_size = 0;
  std::size_t image_field = Schema::kNone;
  std::string image_name;
  bool image_nearest = false;                  // the image is a mask
  std::uint16_t image_fill = 0;                // as above
  bool image_moves = false;                    // as above
  PixelType image_pixels = PixelType::kUint8;  // as stored
  ImageBatch image;  // of a full batch; `data` is not set: the image is at the slot's start
  // By stage (Geometry::stages()); `image` has the largest. Unless image_sizes is kEqual, they are
  // the largest width and height, and `least` has the smallest.
  std::vector<Geometry::Extent> extents, least;
  ImageSizes image_sizes = ImageSizes::kEqual;
  std::size_t row_bytes = 0;  // of the slot, for each row of the image
  DeviceOps ops;
  std::vector<ImageField> further_images;  // views, then fields that lead others, then the rest
  std::vector<ArrayField> arrays;
  std::vector<VariableField> variables;
  JpegRoom jpeg;
  bool keeps_shown = false;  // the user's functions may ask what part of a picture is visible
  std::size_t bytes = 0;     // of a slot
};

// `target`: one more field, which the loader makes. Throws Error(kInvalidArgument) for options that
// do not fit the dataset.
SlotLayout MakeSlotLayout(const DatasetState& dataset, const LoaderOptions& options,
                          const FieldChoice& choice, const std::vector<ViewProgram>& views,
                          const std::optional<Field>& target);

}  // namespace sluice
