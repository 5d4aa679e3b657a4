#include "reader/batch/uploader.h"

#include <algorithm>
#include <cstring>

#include "format/disk/bytes.h"
#include "reader/batch/slot.h"
#include "reader/device/pixel_ops.h"

namespace sluice {

static_assert(PixelProgram::kMostDeviceOps <= PixelOpScratch::kMostOps);

namespace {

std::size_t ImageBytes(const ImageBatch& image, std::size_t row_bytes) {
  return AlignUp(row_bytes * image.samples, kPageBytes);
}
std::size_t ImageBytes(const ImageBatch& image) {
  return ImageBytes(image, image.sample_bytes());
}

// `picture`: an index into Uploader's pictures.
const ImageBatch& ShippedImage(const Slot& slot, std::size_t picture) {
  return picture == 0 ? slot.image : slot.further_images[picture - 1].image;
}

}  // namespace

ImageBatch DeliveredImage(const ImageBatch& shipped, const PixelProgram& program, Layout layout) {
  ImageBatch image = shipped;
  if (!program.goes_on()) return image;
  image.type = program.type();
  image.layout = layout;
  return image;
}

Uploader::Uploader(const Device& device, std::shared_ptr<DeviceDriver> driver,
                   const SlotLayout& shipped, std::span<const PixelProgram* const> programs,
                   Layout layout)
    : device_(device),
      driver_(std::move(driver)),
      shipped_(shipped),
      rest_(ImageBytes(shipped.image, shipped.row_bytes)),
      copy_stream_(*driver_) {
  AddPicture(shipped.image, shipped.row_bytes, 0, shipped.ops, programs[0], layout);
  for (const SlotLayout::ImageField& field : shipped.further_images) {
    AddPicture(field.image, field.row_bytes, field.offset, field.ops,
               field.view > 0 ? programs[field.view] : nullptr, layout);
    rest_ = field.offset + ImageBytes(field.image, field.row_bytes);
  }
  if (staging_bytes_ == 0) return;
  CopyTables(programs);
  if (spare_bytes_ > 0) spare_ = DeviceBuffer(*driver_, spare_bytes_);
  for (Staging& staging : staging_)
    staging = {DeviceBuffer(*driver_, staging_bytes_), OwnEvent(*driver_)};
  convert_stream_ = OwnPriorityStream(*driver_);
}

void Uploader::AddPicture(const ImageBatch& shipped, std::size_t row_bytes, std::size_t from,
                          const SlotLayout::DeviceOps& ops, const PixelProgram* program,
                          Layout layout) {
  Picture picture{from, rest_there_, shipped, false, {}, 0, 0, ops};
  std::size_t bytes = ImageBytes(shipped, row_bytes);
  if (program != nullptr && program->goes_on() && shipped.sample_bytes() > 0) {
    picture.delivered = DeliveredImage(shipped, *program, layout);
    picture.converts = true;
    picture.need = program->need();
    picture.staged = staging_bytes_;
    picture.table = table_bytes_;
    staging_bytes_ += ImageBytes(shipped);
    spare_bytes_ = std::max(spare_bytes_, ImageBytes(shipped) * picture.need.spare_bytes);
    table_bytes_ += program->numbers().size();
    bytes = ImageBytes(picture.delivered);
  }
  rest_there_ += bytes;
  pictures_.push_back(picture);
}

void Uploader::CopyTables(std::span<const PixelProgram* const> programs) {
  host_table_ = HostBuffer(table_bytes_, driver_);
  table_ = DeviceBuffer(*driver_, table_bytes_);
  std::size_t at = 0;
  for (std::size_t v = 0; v < programs.size(); ++v) {  // views are the first pictures
    if (!pictures_[v].converts) continue;
    const std::span<const std::byte> numbers = programs[v]->numbers();
    std::memcpy(host_table_.data() + at, numbers.data(), numbers.size());
    at += numbers.size();
  }
  driver_->Copy(copy_stream_.get(), table_.data(), host_table_.data(), table_bytes_);
}

std::unique_ptr<DeviceSlot> Uploader::NewSlot() {
  auto slot = std::make_unique<DeviceSlot>(device_, *driver_, slot_bytes(), staging_bytes_ > 0);
  slot->shift = rest_ - rest_there_;  // modulo 2^64, because converted images may be larger
  for (const Picture& picture : pictures_) {
    ImageBatch& image = slot->images.emplace_back(picture.delivered);
    image.data = reinterpret_cast<const std::uint8_t*>(slot->memory.data() + picture.to);
  }
  return slot;
}

std::optional<Error> Uploader::Upload(Slot& slot) {
  DeviceSlot& place = *slot.device;
  for (std::size_t i = 0; i < pictures_.size(); ++i) {
    const ImageBatch& image = ShippedImage(slot, i);
    place.images[i].samples = image.samples;
    place.images[i].height = image.height;
    place.images[i].width = image.width;
  }
  const DriverRange range(driver_.get(), "Sluice: start an upload");
  try {
    const MutexLock lock(mutex_);
    Start(slot, place);
  } catch (const Error& error) {
    // Some work may have been enqueued without an event to wait for, and its memory will be used
    // again.
    driver_->Drain(copy_stream_.get());
    if (staging_bytes_ > 0) driver_->Drain(convert_stream_.get());
    return Error(error.code(), "",
                 "epoch " + std::to_string(slot.epoch) + ", batch " + std::to_string(slot.index),
                 error.sentence());
  }
  return std::nullopt;
}

void Uploader::Start(const Slot& slot, DeviceSlot& place) {
  DeviceDriver::Stream const stream = copy_stream_.get();
  const bool converts = staging_bytes_ > 0;
  Staging& staging = staging_[turn_++ % 2];
  place.WaitForTrainer(stream);
  if (converts) {
    driver_->Wait(stream, staging.read.get());
    driver_->Wait(stream, place.converted.get());  // the conversion reads its operations from there
  }
  driver_->Record(place.copy_begins.get(), stream);
  std::uint64_t bytes = 0;
  const auto copy = [&](std::byte* to, std::size_t from, std::size_t count) {
    if (count == 0) return;
    driver_->Copy(stream, to, slot.memory.data() + from, count);
    bytes += count;
  };
  for (std::size_t i = 0; i < pictures_.size(); ++i) {
    const Picture& picture = pictures_[i];
    const ImageBatch& image = ShippedImage(slot, i);
    std::byte* const to = picture.converts ? staging.memory.data() + picture.staged
                                           : place.memory.data() + picture.to;
    if (shipped_.image_sizes == ImageSizes::kOwn) {
      for (std::size_t row = 0; row < image.samples; ++row) {
        const ImageBatch one = RowOf(slot, i, row);
        const auto offset = static_cast<std::size_t>(one.data - image.data);
        copy(to + offset, picture.from + offset, one.sample_bytes());
      }
    } else {
      copy(to, picture.from, image.samples * image.sample_bytes());
    }
  }
  copy(place.memory.data() + rest_there_, rest_, shipped_.bytes - rest_);
  driver_->Record(place.copied.get(), stream);
  place.under_way = true;
  uploaded_bytes_ += bytes;
  if (converts) StartConversions(place, staging);
}

void Uploader::StartConversions(DeviceSlot& place, Staging& staging) {
  DeviceDriver::Stream const stream = convert_stream_.get();
  driver_->Wait(stream, place.copied.get());
  for (std::size_t i = 0; i < pictures_.size(); ++i) {
    if (!pictures_[i].converts || place.images[i].samples == 0) continue;
    driver_->Convert(stream, ConversionOf(pictures_[i], place.images[i], place, staging));
  }
  driver_->Record(staging.read.get(), stream);
  driver_->Record(place.converted.get(), stream);
}

Conversion Uploader::ConversionOf(const Picture& picture, const ImageBatch& image,
                                  const DeviceSlot& place, const Staging& staging) const {
  Conversion job;
  job.from = reinterpret_cast<std::uint8_t*>(staging.memory.data() + picture.staged);
  job.to = place.memory.data() + picture.to;
  job.table = table_.data() + picture.table;
  job.samples = image.samples;
  job.pixels = image.height * image.width;
  job.channels = static_cast<std::uint32_t>(image.channels);
  job.number_bytes = static_cast<std::uint32_t>(SizeOf(image.type));
  job.planar = image.layout == Layout::kNCHW;
  if (picture.ops.each == 0) return job;
  job.ops = reinterpret_cast<const PixelOp*>(place.At(picture.ops.offset));
  job.ops_each = static_cast<std::uint32_t>(picture.ops.each);
  job.width = static_cast<std::uint32_t>(image.width);
  job.whole = picture.need.whole;
  if (picture.need.spare_bytes > 0) {
    job.spare = reinterpret_cast<std::uint8_t*>(spare_.data());
    job.spare_each = job.pixels * job.channels * picture.need.spare_bytes;
  }
  return job;
}

void Uploader::Finish() noexcept {
  convert_stream_ = OwnPriorityStream();
  copy_stream_ = OwnStream();
}

std::size_t Uploader::device_bytes() const noexcept {
  return table_.size() + spare_.size() + staging_[0].memory.size() + staging_[1].memory.size();
}

std::uint64_t Uploader::uploaded_bytes() const {
  const MutexLock lock(mutex_);
  return uploaded_bytes_;
}

}  // namespace sluice
