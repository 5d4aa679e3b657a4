// The part of a slot's host memory that is for a device alone. It lies at the slot's end, and
// crosses to the device with the batch. It has, for each view, the operations that the device runs
// on each row (PixelProgram::DrawOps()); and if the device decodes, room for pictures
// (reader/device/jpeg_job.h).
//
// The room holds, in this order: for each image of each view, whether the device found a row of its
// picture broken; the waves in which pictures are decoded; the pictures; the lines of all pictures;
// and the words of all lines. Lines and words have a budget; the host decodes pictures that exceed
// it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reader/batch/slot_layout.h"
#include "reader/device/jpeg_job.h"

namespace sluice {

struct PictureRoom {
  std::size_t images = 0;  // of a view; 0: the host decodes everything
  std::size_t views = 0;
  std::size_t lines = 0;      // the budget of lines
  std::size_t words = 0;      // the budget of words
  std::uint64_t scratch = 0;  // a lane's scratch memory, in units of 16 bytes
  std::uint64_t largest = 0;  // scratch memory that the largest picture needs, in the same unit
  std::size_t lanes = 1;      // batches that the device decodes at once (Uploader)
  // In a slot's memory.
  std::size_t broken_at = 0, waves_at = 0, pictures_at = 0, lines_at = 0, words_at = 0;

  // For batches of that many images. `view_sides` has the sum of an image's width and height, by
  // view. `raw` says that all pictures are raw, so none crosses with a batch. The room begins at
  // `slot_bytes`, which grows by the room's size. There is one lane, with as much scratch memory as
  // a batch may need.
  static PictureRoom For(const ImageSummary& stored, bool raw, std::size_t images,
                         std::span<const std::size_t> view_sides, std::size_t& slot_bytes);
  // Chooses the number of lanes for a ring of that many slots, and limits their scratch memory. All
  // lanes together get 1/32 of the device's free memory, but at least 256 MiB, or a quarter of the
  // free memory if that is less. A lane gets at most 1 GiB.
  void DivideScratch(std::size_t slots, std::uint64_t free_device_bytes) noexcept;
  explicit operator bool() const noexcept { return images > 0; }
  // The pictures of all views. There are at most as many waves, since each has a picture.
  std::size_t pictures() const noexcept { return images * views; }
};

struct DeviceLayout {
  struct Ops {
    std::size_t each = 0;    // operations for each row; may be 0
    std::size_t offset = 0;  // where they begin in a slot's host memory
    std::size_t row_bytes() const noexcept { return each * sizeof(PixelOp); }
  };
  std::vector<Ops> ops;  // by view
  PictureRoom room;

  // Whether the device makes pixels, or changes them.
  bool paints() const noexcept {
    return room || std::ranges::any_of(ops, [](const Ops& view) { return view.each > 0; });
  }
  // Adds the device's part to the layout of a slot. Sets options.on_device.decode to kHost if there
  // is nothing that the device could decode.
  static DeviceLayout AddTo(SlotLayout& layout, const DatasetFacts& dataset, LoaderOptions& options,
                            const std::vector<ViewProgram>& views);
};

}  // namespace sluice
