#include "reader/upload/device_layout.h"

#include <algorithm>

#include "format/disk/bytes.h"
#include "reader/dataset/options_of.h"
#include "reader/device/device_driver.h"

namespace sluice {

PictureRoom PictureRoom::For(const ImageSummary& stored, bool raw, std::size_t images,
                             std::span<const std::size_t> view_sides, std::size_t& slot_bytes) {
  constexpr std::uint64_t kMaxWords = std::uint64_t{1} << 28;  // 1 GiB
  constexpr std::uint64_t kRowsEach = 64;  // of a picture: 1024 lines if chroma is halved
  PictureRoom room;
  room.images = images;
  room.views = view_sides.size();
  const std::uint64_t pictures = std::uint64_t{room.views} * images;
  const std::uint64_t mean = stored.payload_bytes / std::max<std::uint64_t>(stored.present, 1);
  // For whole pictures a quarter larger than the mean, and their quantisation.
  const std::uint64_t bytes = pictures * ((raw ? 0 : mean + mean / 4) + 512);
  room.words = std::min(bytes / 4, kMaxWords);
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
void PictureRoom::DivideScratch(std::size_t slots, std::uint64_t free_device_bytes) noexcept {
  constexpr std::size_t kMaxLanes = 8;
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  const std::uint64_t all =
      std::max(free_device_bytes / 32, std::min(256 * kMiB, free_device_bytes / 4)) / 16;
  lanes = std::clamp<std::size_t>(slots / 2, 2, kMaxLanes);
  while (lanes > 1 && all / lanes < largest)
    --lanes;
  scratch = std::min({scratch, all / lanes, 1024 * kMiB / 16});
}

namespace {

PictureRoom RoomFor(const DatasetFacts& dataset, const LoaderOptions& options, SlotLayout& layout) {
  if (options.on_device.decode == DecodeOn::kHost || layout.images.empty()) return {};
  const SlotLayout::ImageField& picture = layout.picture();
  if (picture.nearest || picture.pixels != PixelType::kUint8) return {};
  const bool raw = dataset.RawImageBytes(picture.field) != 0;
  if (raw && options.on_device.images == ImagesIn::kStorage) return {};
  std::vector<std::size_t> sides;
  for (std::size_t v = 0; v < layout.views; ++v)
    sides.push_back(layout.images[v].image.width + layout.images[v].image.height);
  PictureRoom room = PictureRoom::For(dataset.ImagesOf(picture.field), raw, layout.batch_size,
                                      sides, layout.bytes);
  room.DivideScratch(SlotsOf(options), DeviceAccess::Open(options.device)->FreeDeviceBytes());
  return room;
}

}  // namespace

DeviceLayout DeviceLayout::AddTo(SlotLayout& layout, const DatasetFacts& dataset,
                                 const LoaderOptions& options,
                                 const std::vector<ViewProgram>& views) {
  DeviceLayout device;
  for (std::size_t v = 0; v < layout.views; ++v) {
    device.ops.push_back({views[v].pixels.device_ops(), layout.bytes});
    layout.bytes += AlignUp(device.ops[v].row_bytes() * layout.batch_size, kPayloadAlignment);
  }
  device.room = RoomFor(dataset, options, layout);
  return device;
}

}  // namespace sluice
