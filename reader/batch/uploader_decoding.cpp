// The part of Uploader for pictures that the device decodes.
#include <algorithm>

#include "reader/batch/slot.h"
#include "reader/batch/uploader.h"

namespace sluice {

// Finds places in scratch memory, and puts each wave's rows in order: those of packed pictures
// last, and long ones first, so that threads side by side have about as much to do.
void Uploader::PlanDecoding(Slot& slot) {
  const JpegRoom& room = shipped_.jpeg;
  JpegRow* const rows = JpegRowsOf(slot);
  waves_.clear();
  rows_.clear();
  for (std::size_t view = 0; view < room.views; ++view) {
    std::uint64_t scratch = room.scratch + 1;  // the first picture begins a wave
    for (std::size_t row = 0; row < slot.rows; ++row) {
      JpegPicture& picture = JpegOf(slot, view, row);
      if (picture.components == 0) continue;
      const std::uint64_t needed = picture.scratch;
      const auto number = static_cast<std::uint32_t>(row);
      if (scratch + needed > room.scratch) {
        scratch = 0;
        waves_.push_back({view, number, 0, static_cast<std::uint32_t>(rows_.size()), 0});
      }
      picture.scratch = static_cast<std::uint32_t>(scratch);
      scratch += needed;
      rows_.insert(rows_.end(), rows + picture.first_row, rows + picture.first_row + picture.rows);
      Wave& wave = waves_.back();
      wave.picture_count = number - wave.first_picture + 1;
      wave.row_count += picture.rows;
    }
  }
  const auto longer = [](const JpegRow& a, const JpegRow& b) { return a.bytes > b.bytes; };
  for (Wave& wave : waves_) {
    const auto first = rows_.begin() + wave.first_row;
    const auto last = first + wave.row_count;
    const auto packed = std::partition(first, last, [&](const JpegRow& row) {
      return !JpegOf(slot, wave.view, row.picture).packed;
    });
    std::sort(first, packed, longer);
    std::sort(packed, last, longer);
    wave.packed_count = static_cast<std::uint32_t>(last - packed);
    wave.row_count -= wave.packed_count;
  }
  std::copy(rows_.begin(), rows_.end(), rows);
}

void Uploader::StartDecoding(const Slot& slot, DeviceSlot& place) {
  DeviceDriver::Stream const stream = decode_stream_.get();
  const JpegRoom& room = shipped_.jpeg;
  driver_->Wait(stream, place.copied.get());
  driver_->Record(place.decoding_begins.get(), stream);
  for (const Wave& wave : waves_) {
    const ImageBatch& image = place.images[wave.view];
    const std::size_t before = wave.view * room.images;
    JpegJob job;
    job.pictures = reinterpret_cast<const JpegPicture*>(place.At(room.pictures_at)) + before;
    job.first_picture = wave.first_picture;
    job.picture_count = wave.picture_count;
    job.rows = reinterpret_cast<const JpegRow*>(place.At(room.rows_at)) + wave.first_row;
    job.row_count = wave.row_count;
    job.packed_count = wave.packed_count;
    job.words = reinterpret_cast<const std::uint32_t*>(place.At(room.words_at));
    job.tables = reinterpret_cast<const JpegTables*>(table_.data() + jpeg_table_);
    job.scratch = scratch_.data();
    job.broken = reinterpret_cast<std::uint32_t*>(place.At(room.broken_at)) + before;
    job.to = reinterpret_cast<std::uint8_t*>(ImagesOf(place, pictures_[wave.view]));
    job.width = static_cast<std::uint32_t>(image.width);
    job.height = static_cast<std::uint32_t>(image.height);
    job.channels = static_cast<std::uint32_t>(image.channels);
    job.planar = !pictures_[wave.view].converts && image.layout == Layout::kNCHW;
    driver_->Decode(stream, job);
  }
  driver_->CopyBack(stream, slot.memory.data() + room.broken_at, place.At(room.broken_at),
                    room.images * room.views * sizeof(std::uint32_t));
  driver_->Record(place.decoded.get(), stream);
}

std::optional<Error> Uploader::AwaitDecoding(Slot& slot, std::vector<std::size_t>& refused) {
  const DriverRange range(driver_.get(), "Sluice: wait for a batch to be decoded");
  try {
    DeviceSlot& place = *slot.device;
    driver_->Synchronize(place.decoded.get());
    place.decode_seconds =
        driver_->SecondsBetween(place.decoding_begins.get(), place.decoded.get());
  } catch (const Error& error) {
    return Failed(slot, error);
  }
  for (std::size_t row = 0; row < slot.rows; ++row) {
    for (std::size_t view = 0; view < shipped_.jpeg.views; ++view) {
      if (JpegOf(slot, view, row).components == 0 || BrokenOf(slot, view, row) == 0) continue;
      refused.push_back(row);
      break;
    }
  }
  return std::nullopt;
}

std::optional<Error> Uploader::FinishUpload(Slot& slot, std::span<const std::size_t> redone) {
  DeviceSlot& place = *slot.device;
  try {
    const MutexLock lock(mutex_);
    if (slot.left_out > 0) {  // rows have moved, and the host has decoded all of them
      Start(slot, place);
      return std::nullopt;
    }
    for (std::size_t view = 0; view < shipped_.jpeg.views; ++view)
      for (std::size_t row = 0; row < slot.rows; ++row)
        decoded_pictures_ += JpegOf(slot, view, row).components > 0 ? 1 : 0;
    if (!redone.empty()) {
      driver_->Record(place.copy_begins.get(), copy_stream_.get());
      for (std::size_t i = 0; i < pictures_.size(); ++i)
        for (const std::size_t row : redone)
          CopyRows(slot, place, i, row, row + 1);
      Copy(place.memory.data() + rest_there_, slot, rest_, shipped_.jpeg.broken_at - rest_);
      driver_->Record(place.copied.get(), copy_stream_.get());
    }
    StartConversions(place);
    return std::nullopt;
  } catch (const Error& error) {
    return Failed(slot, error);
  }
}

std::uint64_t Uploader::decoded_pictures() const {
  const MutexLock lock(mutex_);
  return decoded_pictures_;
}

}  // namespace sluice
