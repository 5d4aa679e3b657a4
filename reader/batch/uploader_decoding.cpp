// The part of Uploader for pictures that the device decodes.
#include <algorithm>
#include <utility>

#include "reader/batch/slot.h"
#include "reader/batch/uploader.h"

namespace sluice {

// Finds places in scratch memory, and with them the waves.
void Uploader::PlanDecoding(const Slot& slot, const DeviceSlot& place) {
  const JpegRoom& room = shipped_.jpeg;
  waves_ = 0;
  rows_.clear();
  for (std::size_t view = 0; view < room.views; ++view) {
    const ImageBatch& image = place.images[view];
    const Picture& made = pictures_[view];
    std::uint64_t scratch = room.scratch + 1;  // the first picture begins a wave
    for (std::size_t row = 0; row < slot.rows; ++row) {
      JpegPicture& picture = JpegOf(slot, view, row);
      if (picture.components == 0) continue;
      const auto number = static_cast<std::uint32_t>(view * room.images + row);
      if (scratch + picture.scratch > room.scratch) {
        scratch = 0;
        JpegWave& wave = JpegWavesOf(slot)[waves_++];
        wave = {};
        wave.first_picture = number;
        wave.first_row = static_cast<std::uint32_t>(rows_.size());
        wave.width = static_cast<std::uint32_t>(image.width);
        wave.height = static_cast<std::uint32_t>(image.height);
        wave.planar = !made.converts && image.layout == Layout::kNCHW;
        wave.to = reinterpret_cast<std::uint8_t*>(ImagesOf(place, made)) +
                  row * image.height * image.width * image.channels;
      }
      const JpegRow* const rows = JpegRowsOf(slot) + picture.first_row;
      rows_.insert(rows_.end(), rows, rows + picture.rows);
      scratch += std::exchange(picture.scratch, static_cast<std::uint32_t>(scratch));
      JpegWave& wave = JpegWavesOf(slot)[waves_ - 1];
      wave.picture_count = number - wave.first_picture + 1;
      wave.row_count += picture.rows;
    }
  }
  for (std::size_t w = 0; w < waves_; ++w)
    SortRows(slot, JpegWavesOf(slot)[w]);
  std::copy(rows_.begin(), rows_.end(), JpegRowsOf(slot));
  for (std::size_t w = waves_; w < room.views; ++w)  // the graph plays so many
    JpegWavesOf(slot)[w] = {};
}

// Those of packed pictures last, and long ones first, so that threads side by side have about as
// much to do.
void Uploader::SortRows(const Slot& slot, JpegWave& wave) {
  const JpegPicture* const pictures = &JpegOf(slot, 0, 0);
  const auto longer = [](const JpegRow& a, const JpegRow& b) { return a.bytes > b.bytes; };
  const auto first = rows_.begin() + wave.first_row;
  const auto last = first + wave.row_count;
  const auto packed = std::partition(
      first, last, [&](const JpegRow& row) { return !pictures[row.picture].packed; });
  std::sort(first, packed, longer);
  std::sort(packed, last, longer);
  wave.packed_count = static_cast<std::uint32_t>(last - packed);
  wave.row_count -= wave.packed_count;
}

JpegJob Uploader::JobOf(const DeviceSlot& place) const {
  const JpegRoom& room = shipped_.jpeg;
  JpegJob job;
  job.wave = reinterpret_cast<const JpegWave*>(place.At(room.waves_at));
  job.pictures = reinterpret_cast<const JpegPicture*>(place.At(room.pictures_at));
  job.rows = reinterpret_cast<const JpegRow*>(place.At(room.rows_at));
  job.words = reinterpret_cast<const std::uint32_t*>(place.At(room.words_at));
  job.tables = reinterpret_cast<const JpegTables*>(table_.data() + jpeg_table_);
  job.scratch = scratch_.data();
  job.broken = reinterpret_cast<std::uint32_t*>(place.At(room.broken_at));
  job.channels = static_cast<std::uint32_t>(shipped_.image.channels);
  job.most_pictures = static_cast<std::uint32_t>(room.images);
  job.most_rows = job.most_packed = static_cast<std::uint32_t>(room.rows);
  for (std::size_t view = 0; view < room.views; ++view) {
    const ImageBatch& image = pictures_[view].delivered;
    job.most_pixels = std::max<std::uint64_t>(job.most_pixels, image.height * image.width);
  }
  return job;
}

void Uploader::Decode(DeviceDriver::Stream stream, const Slot& slot, const DeviceSlot& place,
                      std::size_t waves) const {
  const JpegRoom& room = shipped_.jpeg;
  JpegJob job = JobOf(place);
  for (std::size_t w = 0; w < waves; ++w, ++job.wave)
    driver_->Decode(stream, job);
  driver_->CopyBack(stream, slot.memory.data() + room.broken_at, place.At(room.broken_at),
                    room.pictures() * sizeof(std::uint32_t));
}

void Uploader::StartDecoding(const Slot& slot, DeviceSlot& place) {
  DeviceDriver::Stream const stream = decode_stream_.get();
  driver_->Wait(stream, place.copied.get());
  driver_->Record(place.decoding_begins.get(), stream);
  if (waves_ <= shipped_.jpeg.views) {
    driver_->Launch(stream, place.decoding.get());
  } else {
    Decode(stream, slot, place, waves_);
  }
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
