#include "reader/batch/jpeg_room.h"

#include <algorithm>
#include <cstring>

#include <sluice/schema.h>

#include "format/disk/bytes.h"
#include "reader/batch/slot.h"
#include "reader/device/jpeg_parcel.h"

namespace sluice {

namespace {

// Takes `count` of a budget; returns false if there is not so much left.
bool Take(std::atomic<std::uint32_t>& taken, std::size_t count, std::size_t budget,
          std::uint32_t& at) {
  at = taken.load(std::memory_order_relaxed);
  do {
    if (count > budget - at) return false;
  } while (!taken.compare_exchange_weak(at, at + static_cast<std::uint32_t>(count),
                                        std::memory_order_relaxed));
  return true;
}

template <class Value>
Value* At(const Slot& slot, std::size_t offset) {
  return reinterpret_cast<Value*>(slot.memory.data() + offset);
}

std::size_t NumberOf(const Slot& slot, std::size_t view, std::size_t row) {
  return view * slot.layout->jpeg.images + row;
}

}  // namespace

JpegRoom JpegRoom::For(const ImageSummary& stored, bool raw, std::size_t images,
                       std::span<const std::size_t> view_sides, std::size_t& slot_bytes) {
  constexpr std::uint64_t kMostWords = std::uint64_t{1} << 28;  // 1 GiB
  constexpr std::uint64_t kRowsEach = 64;  // of a picture: 1024 lines if chroma is halved
  JpegRoom room;
  room.images = images;
  room.views = view_sides.size();
  const std::uint64_t pictures = std::uint64_t{room.views} * images;
  const std::uint64_t mean = stored.payload_bytes / std::max<std::uint64_t>(stored.present, 1);
  // For whole pictures a quarter larger than the mean, and their quantisation.
  const std::uint64_t bytes = pictures * ((raw ? 0 : mean + mean / 4) + 512);
  room.words = std::min(bytes / 4, kMostWords);
  // A packed picture has rows of each component.
  const std::uint64_t rows_each =
      3 * std::min<std::uint64_t>((std::uint64_t{stored.max_height} + 7) / 8, kRowsEach);
  if (!raw) room.rows = std::min<std::uint64_t>(pictures * rows_each, UINT32_MAX / sizeof(JpegRow));
  // Three components at full size, with coefficients of twice the size of the samples.
  const std::uint64_t planes = raw ? 0
                                   : 9 * (std::uint64_t{stored.max_width} + 32) *
                                         (std::uint64_t{stored.max_height} + 32) / 16;
  // And weights: for each column and each line of an image a first sample, and two for each sample
  // of the picture or for each output, whichever are more; of each component.
  std::uint64_t sides = std::uint64_t{stored.max_width} + stored.max_height;
  for (const std::size_t of_view : view_sides)
    sides = std::max<std::uint64_t>(sides, of_view);
  room.largest = planes + 2 * sides;
  // Half of that for each picture: chroma is mostly halved, and a crop smaller.
  room.scratch = std::max(room.largest, pictures * room.largest / 2);
  const auto place = [&slot_bytes](std::size_t of) {
    const std::size_t at = slot_bytes;
    slot_bytes += AlignUp(of, kPayloadAlignment);
    return at;
  };
  room.broken_at = place(pictures * sizeof(std::uint32_t));
  room.waves_at = place(pictures * sizeof(JpegWave));
  room.pictures_at = place(pictures * sizeof(JpegPicture));
  room.rows_at = place(room.rows * sizeof(JpegRow));
  room.words_at = place(room.words * sizeof(std::uint32_t));
  return room;
}

// While the device decodes the batches of half the ring's slots, the trainer has one, and the host
// fills the others.
void JpegRoom::DivideScratch(std::size_t slots, std::uint64_t free_device_bytes) noexcept {
  constexpr std::size_t kMostLanes = 8;
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  const std::uint64_t all =
      std::max(free_device_bytes / 32, std::min(256 * kMiB, free_device_bytes / 4)) / 16;
  lanes = std::clamp<std::size_t>(slots / 2, 2, kMostLanes);
  while (lanes > 1 && all / lanes < largest)
    --lanes;
  scratch = std::min({scratch, all / lanes, 1024 * kMiB / 16});
}

JpegPicture& JpegOf(const Slot& slot, std::size_t view, std::size_t row) {
  return At<JpegPicture>(slot, slot.layout->jpeg.pictures_at)[NumberOf(slot, view, row)];
}
std::uint32_t& BrokenOf(const Slot& slot, std::size_t view, std::size_t row) {
  return At<std::uint32_t>(slot, slot.layout->jpeg.broken_at)[NumberOf(slot, view, row)];
}
JpegRow* JpegRowsOf(const Slot& slot) {
  return At<JpegRow>(slot, slot.layout->jpeg.rows_at);
}
JpegWave* JpegWavesOf(const Slot& slot) {
  return At<JpegWave>(slot, slot.layout->jpeg.waves_at);
}

// The batch's part of what all batches up to it offer together, so that fractions add up.
bool IsOffered(const Slot& slot, std::size_t row) {
  const std::uint64_t size = slot.layout->batch_size;
  const auto offered_before = [&](std::uint64_t batch) {
    return batch * size * slot.device_parts / kShareParts;
  };
  return row >= size - (offered_before(slot.index + 1) - offered_before(slot.index));
}

bool HasJpeg(const Slot& slot, std::size_t row) {
  for (std::size_t view = 0; view < slot.layout->jpeg.views; ++view)
    if (JpegOf(slot, view, row).components > 0) return true;
  return false;
}

bool HasJpegs(const Slot& slot) {
  if (!slot.jpegs.any.load(std::memory_order_relaxed)) return false;
  for (std::size_t row = 0; row < slot.rows; ++row)
    if (HasJpeg(slot, row)) return true;
  return false;
}

void DropJpeg(Slot& slot, std::size_t row) {
  for (std::size_t view = 0; view < slot.layout->jpeg.views; ++view)
    JpegOf(slot, view, row).components = 0;
}

void DropJpegs(Slot& slot) {
  if (!slot.layout->jpeg) return;
  slot.jpegs.rows.store(0, std::memory_order_relaxed);
  slot.jpegs.words.store(0, std::memory_order_relaxed);
  slot.jpegs.any.store(false, std::memory_order_relaxed);
  for (std::size_t row = 0; row < slot.layout->batch_size; ++row)
    DropJpeg(slot, row);
}

bool PutJpeg(Slot& slot, std::size_t view, std::size_t row, const JpegParcel& parcel) {
  const JpegRoom& room = slot.layout->jpeg;
  const std::size_t count = parcel.rows().size();
  std::uint32_t first_row = 0, first_word = 0;
  if (parcel.scratch() > room.scratch ||
      !Take(slot.jpegs.words, parcel.words().size(), room.words, first_word) ||
      !Take(slot.jpegs.rows, count, room.rows, first_row)) {
    return false;
  }
  JpegPicture& picture = JpegOf(slot, view, row);
  parcel.Put(static_cast<std::uint32_t>(NumberOf(slot, view, row)), first_word, picture,
             {JpegRowsOf(slot) + first_row, count});
  picture.first_row = first_row;
  picture.rows = static_cast<std::uint32_t>(count);
  picture.scratch = static_cast<std::uint32_t>(parcel.scratch());
  BrokenOf(slot, view, row) = 0;
  slot.jpegs.any.store(true, std::memory_order_relaxed);
  if (parcel.words().empty()) return true;
  std::memcpy(slot.memory.data() + room.words_at + std::size_t{4} * first_word,
              parcel.words().data(), 4 * parcel.words().size());
  return true;
}

}  // namespace sluice
