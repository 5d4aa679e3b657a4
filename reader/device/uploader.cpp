#include "reader/device/uploader.h"

#include <cstring>

#include "format/disk/bytes.h"
#include "reader/pipeline/slot.h"

namespace sluice {

Uploader::Uploader(const Device& device, std::shared_ptr<DeviceDriver> driver,
                   const SlotLayout& shipped, const PixelProgram& program, Layout layout)
    : device_(device),
      driver_(std::move(driver)),
      shipped_(shipped),
      delivered_(shipped.image),
      rest_(AlignUp(shipped.image.sample_bytes() * shipped.batch_size, kPageBytes)),
      copy_stream_(*driver_) {
  const bool converts = program.numbers_type() && !program.output() && rest_ > 0;
  if (converts) {
    delivered_.type = ElementTypeOf(*program.numbers_type());
    delivered_.layout = layout;
    const std::span<const std::byte> numbers = program.numbers();
    host_table_ = HostBuffer(numbers.size(), driver_);
    std::memcpy(host_table_.data(), numbers.data(), numbers.size());
    table_ = DeviceBuffer(*driver_, numbers.size());
    driver_->Copy(copy_stream_.get(), table_.data(), host_table_.data(), numbers.size());
    for (Staging& staging : staging_)
      staging = {DeviceBuffer(*driver_, rest_), OwnEvent(*driver_)};
    convert_stream_ = OwnStream(*driver_);
  }
  image_bytes_ = AlignUp(delivered_.sample_bytes() * shipped.batch_size, kPageBytes);
}

std::unique_ptr<DeviceSlot> Uploader::NewSlot() {
  auto slot =
      std::make_unique<DeviceSlot>(device_, *driver_, slot_bytes(), table_.data() != nullptr);
  slot->shift = rest_ - image_bytes_;  // modulo 2^64: the image may grow
  slot->image = delivered_;
  slot->image.data = reinterpret_cast<const std::uint8_t*>(slot->memory.data());
  for (const SlotLayout::ImageField& further : shipped_.further_images) {
    ImageBatch& image = slot->further_images.emplace_back(further.image);
    image.data = reinterpret_cast<const std::uint8_t*>(slot->At(further.offset));
  }
  return slot;
}

std::optional<Error> Uploader::Upload(Slot& slot) {
  DeviceSlot& place = *slot.device;
  place.image.samples = slot.image.samples;
  for (std::size_t i = 0; i < slot.further_images.size(); ++i)
    place.further_images[i].samples = slot.further_images[i].image.samples;
  try {
    const std::lock_guard lock(mutex_);
    Start(slot, place);
  } catch (const Error& error) {
    // There may be a copy of which no event tells; the host memory is to be written again.
    driver_->Drain(copy_stream_.get());
    return Error(error.code(), "",
                 "epoch " + std::to_string(slot.epoch) + ", batch " + std::to_string(slot.index),
                 error.sentence());
  }
  return std::nullopt;
}

void Uploader::Start(const Slot& slot, DeviceSlot& place) {
  DeviceDriver::Stream const stream = copy_stream_.get();
  const bool converts = table_.data() != nullptr;
  Staging& staging = staging_[turn_++ % 2];
  place.WaitForTrainer(stream);
  if (converts) driver_->Wait(stream, staging.read.get());
  driver_->Record(place.copy_begins.get(), stream);
  const std::size_t image_bytes = slot.image.samples * shipped_.image.sample_bytes();
  if (image_bytes > 0) {
    driver_->Copy(stream, converts ? staging.memory.data() : place.memory.data(),
                  slot.memory.data(), image_bytes);
  }
  const std::size_t rest_bytes = shipped_.bytes - rest_;
  if (rest_bytes > 0) {
    driver_->Copy(stream, place.memory.data() + image_bytes_, slot.memory.data() + rest_,
                  rest_bytes);
  }
  driver_->Record(place.copied.get(), stream);
  place.under_way = true;
  uploaded_bytes_ += image_bytes + rest_bytes;
  if (converts) StartConversion(slot, place, staging);
}

void Uploader::StartConversion(const Slot& slot, DeviceSlot& place, Staging& staging) {
  DeviceDriver::Stream const stream = convert_stream_.get();
  Conversion job;
  job.from = reinterpret_cast<const std::uint8_t*>(staging.memory.data());
  job.to = place.memory.data();
  job.table = table_.data();
  job.samples = slot.image.samples;
  job.pixels = delivered_.height * delivered_.width;
  job.channels = static_cast<std::uint32_t>(delivered_.channels);
  job.number_bytes = static_cast<std::uint32_t>(SizeOf(delivered_.type));
  job.planar = delivered_.layout == Layout::kNCHW;
  driver_->Wait(stream, place.copied.get());
  if (job.samples > 0) driver_->Convert(stream, job);
  driver_->Record(staging.read.get(), stream);
  driver_->Record(place.converted.get(), stream);
}

void Uploader::Finish() noexcept {
  convert_stream_ = OwnStream();
  copy_stream_ = OwnStream();
}

std::size_t Uploader::device_bytes() const noexcept {
  return table_.size() + staging_[0].memory.size() + staging_[1].memory.size();
}

std::uint64_t Uploader::uploaded_bytes() const {
  const std::lock_guard lock(mutex_);
  return uploaded_bytes_;
}

}  // namespace sluice
