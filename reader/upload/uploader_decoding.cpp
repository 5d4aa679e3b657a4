// The part of Uploader for pictures that the device decodes.
#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>

#include "reader/upload/uploader.h"

namespace sluice {

// Finds places in scratch memory, and with them the waves. Then puts the rows into the order in
// which the device takes them.
void Uploader::PlanDecoding(const Slot& slot, const DeviceSlot& place) {
  const PictureRoom& room = room_;
  waves_ = 0;
  for (std::size_t view = 0; view < room.views; ++view) {
    const ImageBatch& image = place.images[view];
    const Picture& made = pictures_[view];
    std::uint64_t scratch = room.scratch + 1;  // the first picture begins a wave
    for (std::size_t row = 0; row < slot.rows; ++row) {
      JpegPicture& picture = place.PictureOf(view, row);
      if (picture.components == 0) continue;
      const auto number = static_cast<std::uint32_t>(view * room.images + row);
      if (scratch + picture.scratch > room.scratch) {
        scratch = 0;
        JpegWave& wave = place.Waves()[waves_++];
        wave = {};
        wave.first_picture = number;
        wave.width = static_cast<std::uint32_t>(image.width);
        wave.height = static_cast<std::uint32_t>(image.height);
        wave.planar = !made.converts && image.layout == Layout::kNCHW;
        wave.to = reinterpret_cast<std::uint8_t*>(ImagesOf(place, made)) +
                  row * image.height * image.width * image.channels;
      }
      scratch += std::exchange(picture.scratch, static_cast<std::uint32_t>(scratch));
      JpegWave& wave = place.Waves()[waves_ - 1];
      wave.picture_count = number - wave.first_picture + 1;
      (picture.packed ? wave.packed_count : wave.row_count) += picture.rows;
    }
  }
  // Rows are written over as they were put there.
  const JpegRow* const first = place.PictureRows();
  rows_.assign(first, first + place.rows_put());
  row_count_ = 0;
  for (std::size_t w = 0; w < waves_; ++w) {
    JpegWave& wave = place.Waves()[w];
    wave.first_row = static_cast<std::uint32_t>(row_count_);
    SortRows(place, wave);
    row_count_ += std::size_t{wave.row_count} + wave.packed_count;
  }
  for (std::size_t w = waves_; w < room.views; ++w)  // the graph plays so many
    place.Waves()[w] = {};
}

// The wave's rows, from rows_ to their place in the slot. Of JPEGs, about the longest first, so
// that threads side by side have about as much to do: sorted by counting, by the upper bits of
// their lengths. Behind them those of packed pictures, as they come: a warp each, so order saves
// nothing.
void Uploader::SortRows(const DeviceSlot& place, const JpegWave& wave) {
  constexpr unsigned kClassBits = 8;
  const JpegPicture* const pictures = &place.PictureOf(0, 0) + wave.first_picture;
  const std::span<const JpegRow> put = rows_;
  const auto rows_of = [put](const JpegPicture& picture) {
    return put.subspan(picture.first_row, picture.rows);
  };
  const auto for_jpegs = [&](const auto& take) {
    for (std::uint32_t p = 0; p < wave.picture_count; ++p) {
      if (pictures[p].components == 0 || pictures[p].packed) continue;
      for (const JpegRow& row : rows_of(pictures[p]))
        take(row);
    }
  };
  std::uint32_t bits = 0;
  for_jpegs([&](const JpegRow& row) { bits |= row.bytes; });
  const unsigned shift = std::max<unsigned>(std::bit_width(bits), kClassBits) - kClassBits;
  std::array<std::uint32_t, 1 << kClassBits>
      next{};  // first how many, then where the next one goes
  for_jpegs([&](const JpegRow& row) { ++next[row.bytes >> shift]; });
  std::uint32_t begin = wave.first_row;
  for (auto of_class = next.rbegin(); of_class != next.rend(); ++of_class)
    begin += std::exchange(*of_class, begin);
  JpegRow* const to = place.PictureRows();
  for_jpegs([&](const JpegRow& row) { to[next[row.bytes >> shift]++] = row; });
  JpegRow* packed = to + begin;
  for (std::uint32_t p = 0; p < wave.picture_count; ++p) {
    if (pictures[p].components == 0 || !pictures[p].packed) continue;
    const std::span<const JpegRow> rows = rows_of(pictures[p]);
    packed = std::copy(rows.begin(), rows.end(), packed);
  }
}

JpegJob Uploader::JobOf(const DeviceSlot& place, const Lane& lane) const {
  const PictureRoom& room = room_;
  JpegJob job;
  job.wave = reinterpret_cast<const JpegWave*>(place.At(room.waves_at));
  job.pictures = reinterpret_cast<const JpegPicture*>(place.At(room.pictures_at));
  job.rows = reinterpret_cast<const JpegRow*>(place.At(room.rows_at));
  job.words = reinterpret_cast<const std::uint32_t*>(place.At(room.words_at));
  job.tables = reinterpret_cast<const JpegTables*>(table_.data() + jpeg_table_);
  job.scratch = lane.scratch.data();
  job.broken = reinterpret_cast<std::uint32_t*>(place.At(room.broken_at));
  job.channels = static_cast<std::uint32_t>(shipped_.picture().image.channels);
  job.most_pictures = static_cast<std::uint32_t>(room.images);
  job.most_rows = job.most_packed = static_cast<std::uint32_t>(room.rows);
  for (std::size_t view = 0; view < room.views; ++view) {
    const ImageBatch& image = pictures_[view].delivered;
    job.most_pixels = std::max<std::uint64_t>(job.most_pixels, image.height * image.width);
  }
  return job;
}

void Uploader::Decode(DeviceDriver::Stream stream, const Slot& slot, const DeviceSlot& place,
                      const Lane& lane, std::size_t waves) const {
  const PictureRoom& room = room_;
  JpegJob job = JobOf(place, lane);
  for (std::size_t w = 0; w < waves; ++w, ++job.wave)
    driver_->Decode(stream, job);
  driver_->CopyBack(stream, slot.memory.data() + room.broken_at, place.At(room.broken_at),
                    room.pictures() * sizeof(std::uint32_t));
}

void Uploader::StartDecoding(const Slot& slot, DeviceSlot& place) {
  const Lane& lane = lanes_[place.lane];
  DeviceDriver::Stream const stream = lane.decoding.get();
  driver_->Wait(stream, place.copied.get());
  driver_->Record(place.decoding_begins.get(), stream);
  if (waves_ <= room_.views) {
    driver_->Launch(stream, place.decoding[place.lane].get());
  } else {
    Decode(stream, slot, place, lane, waves_);
  }
  driver_->Record(place.decoded.get(), stream);
}

std::optional<Error> Uploader::AwaitDecoding(Slot& slot, std::vector<std::size_t>& refused) {
  const DriverRange range(driver_.get(), "Sluice: wait for a batch to be decoded");
  DeviceSlot& place = PlaceOf(slot);
  try {
    driver_->Synchronize(place.decoded.get());
    place.decode_seconds =
        driver_->SecondsBetween(place.decoding_begins.get(), place.decoded.get());
  } catch (const Error& error) {
    return Failed(slot, error);
  }
  for (std::size_t row = 0; row < slot.rows; ++row) {
    for (std::size_t view = 0; view < room_.views; ++view) {
      if (place.PictureOf(view, row).components == 0 || place.BrokenOf(view, row) == 0) continue;
      refused.push_back(row);
      break;
    }
  }
  return std::nullopt;
}

std::optional<Error> Uploader::FinishUpload(Slot& slot, std::span<const std::size_t> redone) {
  DeviceSlot& place = PlaceOf(slot);
  try {
    const MutexLock lock(mutex_);
    if (slot.left_out > 0) {  // rows have moved, and the host has decoded all of them
      Start(slot, place);
      return std::nullopt;
    }
    for (std::size_t view = 0; view < room_.views; ++view)
      for (std::size_t row = 0; row < slot.rows; ++row)
        decoded_pictures_ += place.PictureOf(view, row).components > 0 ? 1 : 0;
    if (!redone.empty()) {
      driver_->Record(place.copy_begins.get(), copy_stream_.get());
      for (std::size_t i = 0; i < pictures_.size(); ++i)
        for (const std::size_t row : redone)
          CopyRows(slot, place, i, row, row + 1);
      Copy(place.memory.data() + rest_there_, slot, rest_, room_.broken_at - rest_);
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
