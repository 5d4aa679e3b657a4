#include "tests/fuzz/jpeg_on_device.h"

#include <cstring>
#include <memory>

#include "reader/device/axis_weights.h"
#include "reader/device/jpeg_blocks.h"
#include "reader/device/jpeg_entropy.h"
#include "reader/device/jpeg_parcel.h"
#include "reader/device/jpeg_pixels.h"
#include "reader/device/packed_lines.h"

namespace sluice::fuzz {

namespace {

constexpr std::uint64_t kMaxImagePixels = 1 << 14;  // more pixels only take longer

template <class Value>
std::unique_ptr<Value[]> ExactCopy(const Value* values, std::size_t count) {
  auto copy = std::make_unique<Value[]>(count);
  std::copy(values, values + count, copy.get());
  return copy;
}

void PlacePacked(const ImagePayload& payload, const Region& region, std::uint32_t component,
                 DevicePlane& plane) {
  packed::Header header;
  packed::ParseHeader(payload.bytes, header);
  const packed::BlockWindow window = packed::WindowOf(header, component, region, DecodePolicy());
  plane.left = window.left << window.size_log2;
  plane.top = window.top << window.size_log2;
}

}  // namespace

std::optional<std::vector<DevicePlane>> DecodeOnDevice(const ImagePayload& payload,
                                                       const Region& region) {
  static const JpegTables tables = StandardJpegTables();
  static thread_local JpegParcel parcel;
  if (!parcel.Make(payload, region, 3)) return std::nullopt;
  const auto words = ExactCopy(parcel.words().data(), parcel.words().size());
  std::vector<CodedLine> rows(parcel.lines().size());
  JpegPicture picture;
  parcel.CopyToJob(0, 0, picture, rows);
  struct alignas(16) Sixteen {
    std::byte at[16];
  };
  const auto scratch = std::make_unique<Sixteen[]>(parcel.scratch());
  std::memset(scratch.get(), 0xDB, 16 * parcel.scratch());
  std::uint32_t broken = 0;
  JpegJob job;
  job.pictures = &picture;
  job.words = words.get();
  job.scratch = scratch.get()->at;
  job.broken = &broken;
  ClearCoefficientsShare(job, picture, 0, 1);
  MakeWeightsShare(job, picture, 0, 1);
  JpegMcu<1> mcu;
  for (const CodedLine& row : rows) {
    const bool whole = picture.packed ? UnpackPackedLine(OneThread(), job, row)
                                      : DecodeCodedLine(job, tables, row, mcu, 0);
    broken += whole ? 0 : 1;
  }
  TransformJpegShare(job, picture, 0, 1);
  JpegWave wave;
  wave.width = region.width();
  wave.height = region.height();
  const std::uint64_t pixels = std::uint64_t{wave.width} * wave.height;
  if (pixels <= kMaxImagePixels) {
    const auto image = std::make_unique<std::uint8_t[]>(3 * pixels);
    wave.to = image.get();
    JpegColumn<1> column;
    MakeJpegPixels(job, wave, 0, 0, 1, column, 0);
  }
  std::vector<DevicePlane> planes;
  for (std::uint32_t c = 0; c < picture.components && broken == 0; ++c) {
    const JpegComponent& component = picture.component[c];
    DevicePlane& plane = planes.emplace_back();
    plane.width = BlocksAcross(picture, component) << component.size_log2;
    plane.left = picture.left * (component.across << component.size_log2);
    plane.top = picture.top * (component.down << component.size_log2);
    if (picture.packed) PlacePacked(payload, region, c, plane);
    const std::size_t lines = BlocksDown(picture, component) << component.size_log2;
    const std::uint8_t* const first = SamplesOf(job, picture, component);
    plane.samples.assign(first, first + plane.width * lines);
  }
  return planes;
}

}  // namespace sluice::fuzz
