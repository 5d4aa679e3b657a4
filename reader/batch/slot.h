// A slot of the ring: its memory, the batch in it, and the progress of that batch.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include <sluice/batch.h>
#include <sluice/error.h>
#include <sluice/loader_options.h>

#include "reader/batch/loader_device.h"
#include "reader/batch/slot_layout.h"
#include "reader/order/shape.h"
#include "reader/reading/direct/held_block.h"
#include "reader/transform/frame.h"

namespace sluice {

// Inside the loader only: a row that OnFault::kSkip leaves out.
inline constexpr SampleFlag kLeftOut{255};

// The rows of an image whose size differs from sample to sample
// (LoaderOptions::output.image_sizes).
//
// Each row has room for the largest image, so that threads fill rows in any order. With kOwn an
// image lies at the beginning of its room, and stays there. With kPadded it lies at the end of its
// room, and Close() moves all of a batch's images from there to where they belong, in the same
// memory.
struct SizedRows {
  std::vector<ImageSize> sizes;        // by row; empty with kEqual
  std::vector<std::uint64_t> offsets;  // by row: where it begins, in values from ImageBatch::data
};

// An image of the batch: the rows of SlotLayout::images at the same index.
struct SlotImage {
  ImageBatch image;
  std::vector<std::uint8_t> present;  // by row; always 1 for the picture and its views
  std::vector<VisiblePart> shown;     // by row; empty unless the user's functions may ask for it
  SizedRows sized;
};

// A batch's values of a field of variable length. Workers fill rows in any order, each in its own
// memory; once all are done, Close() joins them in `values`.
struct VariableRows {
  explicit VariableRows(std::size_t batch_size)
      : rows(batch_size), present(batch_size), offsets(batch_size + 1) {}

  std::vector<std::vector<std::byte>> rows;
  std::vector<std::uint8_t> present;

  std::vector<std::byte> values;
  std::vector<std::uint64_t> offsets;  // counted in entries
};

// A sample that a row shows beside its own, if the row is a mosaic.
struct RowPartner {
  SampleRef ref;
  std::uint64_t position = 0;              // where the epoch has it as a row of its own
  ShardUse file;                           // as Slot::files
  std::shared_ptr<const HeldBlock> block;  // as Slot::blocks
};

struct BatchRecipe;

// The matrix of a map, for Batch::maps().
inline RowMap RowMapOf(const Projection& map) noexcept {
  return {map.xx, map.xy, map.x0, map.yx, map.yy, map.y0, map.wx, map.wy, map.w0};
}

struct Slot {
  const SlotLayout* layout = nullptr;  // lives as long as the loader's state, which a Batch keeps
  HostBuffer memory;
  std::unique_ptr<DeviceBatch> device;  // null: the batch is delivered on the host

  // The batch. The planner writes which samples the rows have, and workers fill the rows. (A worker
  // also changes the sample and the flag of a row whose sample is faulty; the worker that closes
  // the batch also changes its size.) Once the batch is delivered, these members are only read.
  std::uint64_t epoch = 0;
  std::uint64_t index = 0;
  std::size_t rows = 0;  // rows planned; some may be left out
  std::size_t size = 0;  // rows delivered
  std::size_t valid = 0;
  std::vector<SlotImage> images;        // as SlotLayout::images
  std::vector<VariableRows> variables;  // as SlotLayout::variables
  std::vector<SampleRef> refs;
  std::vector<SampleFlag> flags;
  std::vector<std::uint64_t> positions;  // in the epoch, by row
  std::uint64_t first_position = 0;      // of the first row planned; set by Close()
  std::vector<std::uint64_t> samples;    // numbers in the dataset, by row
  // By row, and by part: of the first view; identity without a picture.
  std::vector<RowMap> maps;
  // The rows' partners are planned, and those of row r begin at r * (SlotLayout::parts - 1).
  bool has_partners = false;
  std::vector<std::uint8_t> part_counts;  // by row, if so: how many samples it shows
  std::vector<RowPartner> partners;
  std::vector<std::uint64_t> part_samples;  // Batch::parts(); set by Close() if rows have partners
  std::vector<ShardUse> files;              // the shard each row was read from, until it is done
  // LoaderOptions::storage = Direct: the block of each row until it is decoded.
  std::vector<std::shared_ptr<const HeldBlock>> blocks;
  std::vector<std::shared_ptr<const void>> column_blocks;  // holds those that were read ahead
  std::uint64_t draw_seed = 0;  // DrawSeed() of the epoch: for all draws but those of further views
  std::vector<std::uint64_t> view_seeds;  // by view: the seed of its own draws
  std::vector<std::size_t> stages;        // by view: Geometry::StageOf the batch

  std::size_t node = 0;  // the index in CpuNodes of the node on which the memory lies

  // Progress, guarded by BatchRing's mutex.
  std::size_t handed_out = 0;  // rows given to workers
  std::size_t done = 0;        // rows that workers have finished
  std::size_t in_hand = 0;     // busy workers; its upload counts as one more until that ends
  // Rows that count as done only once the slot is uploaded.
  std::size_t to_upload = 0;  // they wait for the upload to begin
  std::size_t uploading = 0;  // their upload has begun
  std::size_t left_out = 0;   // rows marked kLeftOut
  std::size_t error_row = 0;  // the first row that failed, which `error` is about
  std::optional<Error> error;

  // Set if the consumer has left this stream of batches; workers read it before each sample.
  std::atomic<bool> abandoned{false};
};

// --- The parts of a row: part 0 is its own sample, the others are partners.

// How many parts the row shows.
std::size_t PartsOf(const Slot& slot, std::size_t row) noexcept;
inline RowPartner& PartnerOf(Slot& slot, std::size_t row, std::size_t part) noexcept {
  return slot.partners[row * (slot.layout->parts - 1) + part - 1];
}
inline SampleRef& RefOf(Slot& slot, std::size_t row, std::size_t part) noexcept {
  return part == 0 ? slot.refs[row] : PartnerOf(slot, row, part).ref;
}
inline ShardUse& FileOf(Slot& slot, std::size_t row, std::size_t part) noexcept {
  return part == 0 ? slot.files[row] : PartnerOf(slot, row, part).file;
}
inline std::uint64_t PositionOf(Slot& slot, std::size_t row, std::size_t part) noexcept {
  return part == 0 ? slot.positions[row] : PartnerOf(slot, row, part).position;
}
inline RowMap& MapOf(Slot& slot, std::size_t row, std::size_t part) noexcept {
  return slot.maps[row * slot.layout->parts + part];
}

// Gives a slot new memory, of SlotLayout::bytes.
void RenewMemory(Slot& slot, HostBuffer memory);

// Gives each image the size that it has in the present stage of its view's transform. `stages`: the
// stage of each view.
void SetStages(Slot& slot, std::vector<std::size_t> stages);

// Prepares a slot of that layout, with its memory.
void Prepare(Slot& slot, const SlotLayout& layout, HostBuffer memory);

// Begins batch Slot::index of that epoch, of `rows` rows: sets the sizes of images, and the seeds
// for draws.
void BeginBatch(Slot& slot, const BatchRecipe& recipe, std::uint64_t epoch, std::size_t rows);

// Notes how many samples a row shows whose position is known.
void CountParts(const BatchRecipe& recipe, Slot& slot, std::size_t row);

// Resets the progress before another batch is planned into the slot.
void ResetProgress(Slot& slot);

// Sets the size of an image's row, which decides where the row lies. `image` is an index into
// Slot::images, here and below. Returns false if the batch's images do not have that size, or if
// the row has no room for it.
bool SetRowSize(Slot& slot, std::size_t image, std::size_t row, std::size_t width,
                std::size_t height);
// The row's image alone, before Close().
ImageBatch RowOf(const Slot& slot, std::size_t image, std::size_t row);
inline PixelOrder OrderOf(const ImageBatch& image) noexcept {
  return image.layout == Layout::kNHWC ? PixelOrder::kInterleaved : PixelOrder::kPlanar;
}
// Where the row's image is written.
inline std::uint8_t* PixelsOf(const Slot& slot, std::size_t image, std::size_t row) {
  return const_cast<std::uint8_t*>(RowOf(slot, image, row).data);
}

// Closes the gaps of rows left out. All rows must be done.
void CloseGaps(Slot& slot);

// Finishes the images of a batch whose rows are all done: closes the gaps of rows left out, and
// pads images.
void Close(Slot& slot);
// Joins the rows' values of variable fields, which have been in the rows' own memory until then.
void JoinFields(Slot& slot);

}  // namespace sluice
