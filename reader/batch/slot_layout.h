// The layout of a batch in host memory, worked out once from the dataset and the options: images,
// then arrays, then what a device needs in addition (reader/upload/device_layout.h).
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/loader_options.h>

#include "reader/dataset/dataset_facts.h"
#include "reader/dataset/field_choice.h"
#include "reader/transform/frame.h"
#include "reader/transform/pixel_program.h"

namespace sluice {

struct SlotLayout {
  struct ArrayField {
    std::size_t field = 0;  // in the schema; Schema::kNone: OneHot or the user's functions make it
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
    // The value in the row of a sample in `lacking`; empty if every dataset has the field.
    std::vector<std::byte> absent = {};
  };

  // One image of the batch: a view of the picture, or another image field.
  struct ImageField {
    std::size_t field = 0;
    std::size_t view = 0;  // the view whose steps it goes through; 0 for another image field
    std::string name;
    std::size_t leader = Schema::kNone;  // the image that it follows; `field` if it follows none
    bool nearest = false;                // a mask: its pixels are never mixed
    // The bits of the value in a border of one colour, and of pixels that a sample lacks. Not 0
    // only for masks and wide images.
    std::uint32_t fill = 0;
    bool required = false;  // a mask that each sample with a picture must have
    bool moves = false;  // RandAugment or TrivialAugmentWide moves pixels, so its border is unknown
    PixelType pixels = PixelType::kUint8;  // as stored
    bool wide = false;  // not an 8-bit picture of up to four channels; the rest is for such images
    std::uint8_t stored_channels = 0;
    std::vector<std::uint32_t> channels;  // the stored channel of each channel in the batch
    std::optional<double> no_data;        // the stored number that stands for no data
    ImageBatch image;                     // a full batch of the largest size; `data` is null
    // One for each stage (Geometry::stages()). Unless image_sizes is kEqual, `extents` are the
    // largest width and height of a row, and `least` the smallest.
    std::vector<Geometry::Extent> extents, least;
    std::size_t row_bytes = 0;  // the room of each row in the slot
    std::size_t offset = 0;     // of the first row, from the slot's start
  };
  // A variable field, or a bytes field, where each byte is an entry.
  struct VariableField {
    std::size_t field = 0;  // in the schema; Schema::kNone: the user's functions make it
    std::string name;
    bool bytes = false;
    bool instances = false;  // of that role
    DType dtype = DType::kUint8;
    std::size_t entry = 1;  // elements in an entry
    std::size_t entry_bytes = 1;
    std::vector<std::uint32_t> shape;  // shape of an entry
  };

  std::size_t batch_size = 0;
  // The views of the picture (the field that LoaderOptions::output.image names), then image fields
  // that follow no image, then those that follow one. Empty if batches have no image.
  std::vector<ImageField> images;
  std::size_t views = 0;  // how many of `images`, from the first on, are views of the picture
  ImageSizes image_sizes = ImageSizes::kEqual;
  std::vector<ArrayField> arrays;
  std::vector<VariableField> variables;
  std::size_t parts = 1;     // the most samples that a row shows
  bool keeps_shown = false;  // the user's functions may ask what part of a picture is visible
  std::size_t bytes = 0;     // size of a slot

  // Bytes that a slot takes besides `bytes` and its variable fields. Of the 80 a row, Slot's
  // vectors from `refs` to `blocks` take 73. An image has a size and an offset a row (SizedRows),
  // and whether it is present.
  std::uint64_t bookkeeping_bytes() const noexcept {
    const std::uint64_t an_image = sizeof(ImageSize) + sizeof(std::uint64_t) + 1;
    const std::uint64_t shown = keeps_shown ? sizeof(VisiblePart) : 0;
    const std::uint64_t partners = (parts - 1) * 160;  // RowPartner, a map, and the sample's number
    return (80 + partners + (an_image + shown) * images.size()) * batch_size;
  }

  // The picture's first view; there must be one.
  const ImageField& picture() const noexcept { return images.front(); }
  // The picture's field in the schema; Schema::kNone if batches have no image.
  std::size_t picture_field() const noexcept {
    return images.empty() ? Schema::kNone : images.front().field;
  }
  // Returns `field`, the name that a caller gave, or the picture's name if `field` is empty and
  // there is a picture.
  std::string_view NameFor(std::string_view field) const noexcept {
    return field.empty() && !images.empty() ? std::string_view(picture().name) : field;
  }
};

// The field's index among the layout's fields of one kind; Schema::kNone if it is not one of them.
template <class FieldOfLayout>
std::size_t FindIn(const std::vector<FieldOfLayout>& fields, std::string_view name) noexcept {
  const auto at = std::ranges::find(fields, name, &FieldOfLayout::name);
  return at == fields.end() ? Schema::kNone : static_cast<std::size_t>(at - fields.begin());
}

// Throws the Error for a field that is not of the kind asked for, such as "fixed-shape array"; it
// says how to ask for the field. `of_bytes` names the functions that read a bytes field.
[[noreturn]] void RefuseKind(const SlotLayout& layout, std::string_view name, const char* kind,
                             const char* of_bytes = "Bytes() or Text()");

// Adds to the layout, before its size is final, what a device needs in addition. Changes the
// options that ask the device for something that it cannot do with these fields.
using ExtendLayout = std::function<void(SlotLayout&, const DatasetFacts&, LoaderOptions&,
                                        const std::vector<ViewProgram>&)>;

// `target`: one more field, which the loader makes. Throws Error(kInvalidArgument) for options that
// do not fit the dataset.
SlotLayout MakeSlotLayout(const DatasetFacts& dataset, LoaderOptions& options,
                          const FieldChoice& choice, const std::vector<ViewProgram>& views,
                          const std::optional<Field>& target, const ExtendLayout& extend);

}  // namespace sluice
