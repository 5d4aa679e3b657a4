// A place in the ring of batches: its memory, the batch in it, and how far that is done.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include <sluice/error.h>
#include <sluice/loader_options.h>

#include "reader/batch/device_slot.h"
#include "reader/batch/slot_layout.h"
#include "reader/batch/variable_rows.h"
#include "reader/device/host_buffer.h"
#include "reader/order/shape.h"
#include "reader/reading/direct/held_block.h"
#include "reader/transform/visible_part.h"

namespace sluice {

// Inside the loader only: a row that OnFault::kSkip leaves out.
inline constexpr SampleFlag kLeftOut{255};

// Another image field than the first.
struct FurtherImage {
  ImageBatch image;
  std::vector<std::uint8_t> present;  // by row
  std::vector<VisiblePart> shown;     // as in Slot
};

struct Slot {
  const SlotLayout* layout = nullptr;  // lives as long as the loader's state, which a Batch keeps
  HostBuffer memory;
  std::unique_ptr<DeviceSlot> device;  // where the batch is delivered, if not here

  // The batch. Written by the planner; then, for faulty samples, by the workers, each its rows;
  // after that only read.
  std::uint64_t epoch = 0;
  std::uint64_t index = 0;
  std::size_t rows = 0;  // planned; some may be left out
  std::size_t size = 0;  // in the end
  std::size_t valid = 0;
  ImageBatch image;
  std::vector<VisiblePart> shown;  // by row, of the image; empty where nobody can ask
  std::vector<FurtherImage> further_images;
  std::vector<VariableRows> variables;
  std::vector<SampleRef> refs;
  std::vector<SampleFlag> flags;
  std::vector<std::uint64_t> positions;  // in the epoch, by row
  std::vector<std::uint64_t> samples;    // numbers in the dataset, by row
  std::vector<ShardUse> files;           // what each row was read from, until it is done
  // LoaderOptions::storage = Direct: the block of each row until it is decoded.
  std::vector<std::shared_ptr<const HeldBlock>> blocks;
  std::uint64_t draw_seed = 0;
  std::vector<std::uint64_t> view_seeds;  // of the further views' own draws
  std::vector<std::size_t> stages;        // by view: Geometry::StageOf the epoch

  // Progress, guarded by BatchRing's mutex.
  std::size_t handed_out = 0;  // rows given to workers
  std::size_t done = 0;        // rows they have finished
  std::size_t in_hand = 0;     // workers busy with it
  // On its way to a device: the rows that count as done when it is there; 0: not yet, or no longer.
  std::size_t to_upload = 0;
  std::size_t left_out = 0;   // rows marked kLeftOut
  std::size_t error_row = 0;  // of `error`: the smallest that failed
  std::optional<Error> error;

  // Set when the consumer has gone on to something else; workers look at it before each sample.
  std::atomic<bool> abandoned{false};
};

// Gives the images the size that views have in that stage each.
void SetStages(Slot& slot, std::vector<std::size_t> stages);

// Makes the memory of a slot of that layout, page-locked where a driver is given.
void Prepare(Slot& slot, const SlotLayout& layout, std::shared_ptr<DeviceDriver> pinned);

// Before another batch is planned into it: nothing of it is done.
void ResetProgress(Slot& slot);

// Moves the rows together where some are left out; all of them are done.
void CloseGaps(Slot& slot);

// Once all rows of a batch are done: moves them together if some are left out, and joins the values
// of variable fields.
void Close(Slot& slot);

}  // namespace sluice
