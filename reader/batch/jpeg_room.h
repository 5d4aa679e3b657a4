// The part of a slot for JPEGs that a device decodes (reader/device/jpeg_job.h). It lies at the
// slot's end: for each image of each view whether a row of it was found broken; the waves in which
// they are decoded; the pictures; then the rows and the words of all of them, as they come. Rows
// and words have a budget; what passes it is decoded by the host.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "reader/device/jpeg_job.h"

namespace sluice {

class JpegParcel;
struct ImageSummary;
struct Slot;

struct JpegRoom {
  std::size_t images = 0;  // of a view; 0: the host decodes everything
  std::size_t views = 0;
  std::size_t rows = 0;       // budgets: of rows,
  std::size_t words = 0;      // of words,
  std::uint64_t scratch = 0;  // and of a lane's scratch memory, in 16 bytes
  std::uint64_t largest = 0;  // the scratch memory that the largest picture needs
  std::size_t lanes = 1;      // batches that the device decodes at once (Uploader)
  // In a slot's memory.
  std::size_t broken_at = 0, waves_at = 0, pictures_at = 0, rows_at = 0, words_at = 0;

  // For batches of so many images; `view_sides`: the sum of an image's width and height, by view;
  // `raw`: all pictures are, and none crosses with a batch. Begins at `slot_bytes`, which grows by
  // it. There is one lane, with as much scratch memory as a batch may need.
  static JpegRoom For(const ImageSummary& stored, bool raw, std::size_t images,
                      std::span<const std::size_t> view_sides, std::size_t& slot_bytes);
  // Chooses the number of lanes for a ring of so many slots, and cuts their scratch memory down to
  // what a device with that much free memory should give for it: a 32nd, or 256 MiB if that is more
  // and at most a quarter; and no lane has more than 1 GiB.
  void DivideScratch(std::size_t slots, std::uint64_t free_device_bytes) noexcept;
  explicit operator bool() const noexcept { return images > 0; }
  // Of all views; a wave has one at least.
  std::size_t pictures() const noexcept { return images * views; }
};

// What has been taken of a slot's budgets.
struct JpegFill {
  std::atomic<std::uint32_t> rows = 0, words = 0;
  std::atomic<bool> any = false;  // a picture was put there
};

// Of a view of a row. The slot has room for it.
JpegPicture& JpegOf(const Slot& slot, std::size_t view, std::size_t row);
std::uint32_t& BrokenOf(const Slot& slot, std::size_t view, std::size_t row);
JpegRow* JpegRowsOf(const Slot& slot);
JpegWave* JpegWavesOf(const Slot& slot);

// DecodeOn::kAuto: of the rows of a batch the device is offered a share, in this many parts: the
// last rows, so that those before them, which the host decodes, cross in one copy, and that threads
// begin with what takes longest. Whether the row belongs to it.
inline constexpr unsigned kShareParts = 64;
bool IsOffered(const Slot& slot, std::size_t row);

// Whether a device is to decode a view of the row; any row.
bool HasJpeg(const Slot& slot, std::size_t row);
bool HasJpegs(const Slot& slot);

// Leaves the row, or all rows, to the host. Before a batch, call the latter.
void DropJpeg(Slot& slot, std::size_t row);
void DropJpegs(Slot& slot);

// Leaves the view of the row to the device. False: there is no more room, so the host must decode
// it. Threads may put pictures of different rows at the same time. Until the batch is uploaded,
// JpegPicture::scratch says how much the picture needs.
bool PutJpeg(Slot& slot, std::size_t view, std::size_t row, const JpegParcel& parcel);

}  // namespace sluice
