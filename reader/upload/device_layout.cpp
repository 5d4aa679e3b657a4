// Sizes the room for pictures in a slot, and the scratch memory of a device, from what the manifest
// says of the field's images.
//
// Three units meet here. Rows are counted in CodedLine; the pictures' bytes in words of 32 bits;
// and scratch memory in units of 16 bytes, as in JpegPicture and its parts. Rows and words have
// budgets for usual pictures, since the host decodes pictures that exceed them. If scratch memory
// cannot hold the largest picture, the host decodes that one, too.
#include "reader/upload/device_layout.h"

#include <algorithm>

#include "format/disk/bytes.h"
#include "reader/dataset/options_of.h"
#include "reader/device/device_driver.h"
#include "reader/device/jpeg_parcel.h"

namespace sluice {

namespace {

constexpr std::uint64_t kScratchUnit = 16;  // bytes

}  // namespace

PictureRoom PictureRoom::For(const ImageSummary& stored, bool raw, std::size_t images,
                             std::span<const std::size_t> view_sides, std::size_t& slot_bytes) {
  constexpr std::uint64_t kMaxWords = std::uint64_t{1} << 28;  // 1 GiB
  constexpr std::uint64_t kQuantBytes = 512;  // the most that a picture's quantisation takes
  // A JPEG has a line of MCUs for every 16 lines if chroma is halved, and else for every 8. A
  // packed picture has a line of blocks for every 8 lines of each of its components. So this is
  // enough for JPEGs of 3072 or 1536 lines, and for packed pictures of 768 or 512. In photos of
  // quality 90, the parts of wide lines have 1.3 kB and more each.
  constexpr std::uint64_t kMaxLinesEach = 192, kPartBytes = 1024;
  // Scratch memory: for each pixel of three components at full size, rounded up to whole MCUs, a
  // sample and a coefficient; and for each column and each line the weights of three components:
  // each has the number of its first sample and two weights, in 16 bits each.
  constexpr std::uint64_t kPixelBytes = 3 * (1 + sizeof(std::int16_t));
  constexpr std::uint64_t kMargin = 32;
  constexpr std::uint64_t kSideUnits =
      (3 * 3 * sizeof(std::uint16_t) + kScratchUnit - 1) / kScratchUnit;
  PictureRoom room;
  room.images = images;
  room.views = view_sides.size();
  const std::uint64_t pictures = room.pictures();
  // There is room for whole pictures that are a quarter larger than the mean.
  const std::uint64_t mean = stored.payload_bytes / std::max<std::uint64_t>(stored.present, 1);
  const std::uint64_t bytes = pictures * ((raw ? 0 : mean + mean / 4) + kQuantBytes);
  room.words = std::min(bytes / sizeof(std::uint32_t), kMaxWords);
  const std::uint64_t lines_each =
      std::min(MostCodedLines(stored.max_height, 0), kMaxLinesEach) + mean / kPartBytes;
  if (!raw)
    room.lines = std::min<std::uint64_t>(pictures * lines_each, UINT32_MAX / sizeof(CodedLine));
  const std::uint64_t planes = raw ? 0
                                   : kPixelBytes * (stored.max_width + kMargin) *
                                         (stored.max_height + kMargin) / kScratchUnit;
  // The sides of the picture or of an image, whichever are longer.
  std::uint64_t sides = std::uint64_t{stored.max_width} + stored.max_height;
  for (const std::size_t of_view : view_sides)
    sides = std::max<std::uint64_t>(sides, of_view);
  room.largest = planes + kSideUnits * sides;
  // For each picture, half of what the largest needs: chroma is mostly halved, and crops need less.
  room.scratch = std::max(room.largest, pictures * room.largest / 2);
  const auto reserve = [&slot_bytes](std::size_t size) {
    const std::size_t at = slot_bytes;
    slot_bytes += AlignUp(size, kPayloadAlignment);
    return at;
  };
  room.broken_at = reserve(pictures * sizeof(std::uint32_t));
  room.waves_at = reserve(pictures * sizeof(JpegWave));
  room.pictures_at = reserve(pictures * sizeof(JpegPicture));
  room.lines_at = reserve(room.lines * sizeof(CodedLine));
  room.words_at = reserve(room.words * sizeof(std::uint32_t));
  return room;
}

void PictureRoom::DivideScratch(std::size_t slots, std::uint64_t free_device_bytes) noexcept {
  constexpr std::size_t kMaxLanes = 8;
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  const std::uint64_t all =
      std::max(free_device_bytes / 32, std::min(256 * kMiB, free_device_bytes / 4)) / kScratchUnit;
  // While the device decodes the batches of half the ring's slots, the trainer has one, and the
  // host fills the others.
  lanes = std::clamp<std::size_t>(slots / 2, 2, kMaxLanes);
  while (lanes > 1 && all / lanes < largest)
    --lanes;
  scratch = std::min({scratch, all / lanes, 1024 * kMiB / kScratchUnit});
}

namespace {

PictureRoom RoomFor(const DatasetFacts& dataset, const LoaderOptions& options, SlotLayout& layout) {
  if (options.on_device.decode == DecodeOn::kHost || layout.images.empty()) return {};
  const SlotLayout::ImageField& picture = layout.picture();
  if (picture.nearest || picture.wide) return {};
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
                                 LoaderOptions& options, const std::vector<ViewProgram>& views) {
  DeviceLayout device;
  for (std::size_t v = 0; v < layout.views; ++v) {
    device.ops.push_back({views[v].pixels.device_ops(), layout.bytes});
    layout.bytes += AlignUp(device.ops[v].row_bytes() * layout.batch_size, kPayloadAlignment);
  }
  device.room = RoomFor(dataset, options, layout);
  if (!device.room) options.on_device.decode = DecodeOn::kHost;
  return device;
}

}  // namespace sluice
