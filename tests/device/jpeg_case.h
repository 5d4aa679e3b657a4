// Decodes regions of pictures (JPEGs, packed and raw ones) on a device, and the same regions on the
// host.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "format/pixels/packed/pack.h"
#include "reader/device/device_driver.h"
#include "reader/device/jpeg_parcel.h"
#include "tests/catch.h"
#include "tests/device/simulated_device.h"
#include "tests/pictures.h"

namespace sluice::test {

inline const std::shared_ptr<DeviceDriver>& OneSimulatedDevice() {
  static const std::shared_ptr<DeviceDriver> device = std::make_shared<SimulatedDevice>();
  return device;
}

inline ImagePayload JpegPayloadOf(const std::vector<std::byte>& file, std::uint32_t width,
                                  std::uint32_t height, std::uint32_t channels = 3) {
  return {Codec::kJpeg, PixelType::kUint8, static_cast<std::uint8_t>(channels), width, height,
          file};
}

// The packed form of a JPEG.
inline std::vector<std::byte> PackedOf(Bytes jpeg) {
  packed::Coefficients coefficients;
  std::string why;
  if (packed::ReadCoefficients(jpeg, coefficients, why) != packed::Taken::kYes) FAIL(why);
  return packed::Pack(coefficients);
}
inline ImagePayload PackedPayloadOf(const std::vector<std::byte>& packed,
                                    const ImagePayload& payload) {
  return {Codec::kPacked, payload.pixel_type, payload.channels,
          payload.width,  payload.height,     packed};
}

inline std::vector<std::uint8_t> OnTheHost(const ImagePayload& payload, const Region& region,
                                           std::uint32_t channels, PixelOrder order) {
  std::vector<std::uint8_t> pixels(std::size_t{region.width()} * region.height() * channels);
  PayloadDecoder decoder;
  const Defect defect = decoder.Decode(payload, region, {pixels.data(), channels, order});
  INFO((defect == nullptr ? "" : defect));
  REQUIRE(defect == nullptr);
  return pixels;
}

// The part of a picture [left, left + width) x [top, top + height) as an image of that size.
inline Region Part(double left, double top, double width, double height, std::uint32_t out_width,
                   std::uint32_t out_height) {
  const auto span = [](double start, double length, std::uint32_t out) {
    const auto first = static_cast<std::uint32_t>(start);
    const auto end = static_cast<std::uint32_t>(std::ceil(start + length));
    return Span{start, length, first, end - first, out, 0, out};
  };
  Region region;
  region.x = span(left, width, out_width);
  region.y = span(top, height, out_height);
  return region;
}

// A job of pictures that all become images of one size. Each part of the job lies in device memory
// of its own and of the exact size, so that the address sanitizer sees wrong reads by the simulated
// device.
class JpegCase {
 public:
  JpegCase(std::shared_ptr<DeviceDriver> driver, std::uint32_t channels, PixelOrder order)
      : driver_(std::move(driver)), stream_(*driver_), channels_(channels), order_(order) {}

  // Returns false if the picture is left to the host; the job then has a picture without work.
  bool Add(const ImagePayload& payload, const Region& region) {
    return Append(parcel_.Make(payload, region, channels_), region);
  }
  // Adds a picture that is put into device memory first, as a whole.
  bool AddStored(const ImagePayload& payload, const Region& region) {
    StoredPicture stored;
    JpegParts parts;
    std::vector<CodedLine> rows;
    std::vector<std::uint32_t> words, line_bytes;
    if (payload.codec == Codec::kRaw) {
      const auto* const pixels = reinterpret_cast<const std::uint8_t*>(payload.bytes.data());
      stored_.push_back(ToDevice(std::vector<std::uint8_t>(pixels, pixels + payload.bytes.size())));
    } else {
      if (!parts.Parse(payload) || !parts.AppendLines(parts.AllLines(), words, rows))
        return Append(false, region);
      stored_.push_back(ToDevice(words));
      for (const CodedLine& row : rows)
        line_bytes.push_back(row.bytes);
      stored.form = &parts.form();
      stored.line_bytes = line_bytes.data();
    }
    stored.at = stored_.back().data();
    ImagePayload header = payload;
    header.bytes = {};  // not read
    return Append(parcel_.Make(stored, header, region, channels_), region);
  }

  // Runs the job, and fetches what it has written.
  void Run() {
    const std::vector<JpegTables> tables = {StandardJpegTables()};
    const std::vector<std::uint32_t> none_broken(pictures_.size());
    const std::vector<std::byte> unwritten(pictures_.size() * image_bytes(), std::byte{0x5A});
    std::vector<CodedLine> all = rows_;
    all.insert(all.end(), packed_rows_.begin(), packed_rows_.end());
    const DeviceBuffer pictures = ToDevice(pictures_), rows = ToDevice(all),
                       words = ToDevice(words_);
    const DeviceBuffer broken = ToDevice(none_broken), table = ToDevice(tables),
                       to = ToDevice(unwritten);
    const DeviceBuffer scratch(*driver_, 16 * scratch_ + 1);
    std::vector<JpegWave> waves(1);
    waves[0].picture_count = static_cast<std::uint32_t>(pictures_.size());
    waves[0].line_count = static_cast<std::uint32_t>(rows_.size());
    waves[0].packed_count = static_cast<std::uint32_t>(packed_rows_.size());
    waves[0].width = width_;
    waves[0].height = height_;
    waves[0].planar = order_ == PixelOrder::kPlanar;
    waves[0].to = reinterpret_cast<std::uint8_t*>(to.data());
    const DeviceBuffer wave = ToDevice(waves);
    JpegJob job;
    job.wave = reinterpret_cast<const JpegWave*>(wave.data());
    job.pictures = reinterpret_cast<const JpegPicture*>(pictures.data());
    job.lines = reinterpret_cast<const CodedLine*>(rows.data());
    job.words = reinterpret_cast<const std::uint32_t*>(words.data());
    job.tables = reinterpret_cast<const JpegTables*>(table.data());
    job.scratch = scratch.data();
    job.broken = reinterpret_cast<std::uint32_t*>(broken.data());
    job.channels = channels_;
    job.most_pictures = waves[0].picture_count;
    job.most_lines = waves[0].line_count;
    job.most_packed = waves[0].packed_count;
    job.most_pixels = std::uint64_t{width_} * height_;
    driver_->Decode(stream_.get(), job);
    broken_ = FromDevice<std::uint32_t>(broken, pictures_.size());
    pixels_ = FromDevice<std::uint8_t>(to, unwritten.size());
  }

  bool broken(std::size_t picture) const { return broken_.at(picture) != 0; }
  std::vector<std::uint8_t> pixels(std::size_t picture) const {
    const auto first = pixels_.begin() + static_cast<std::ptrdiff_t>(picture * image_bytes());
    return {first, first + static_cast<std::ptrdiff_t>(image_bytes())};
  }

 private:
  // Appends the parcel's picture to the job if it was taken, otherwise a picture without work.
  bool Append(bool taken, const Region& region) {
    JpegPicture picture;
    if (taken) {
      width_ = region.width();
      height_ = region.height();
      std::vector<CodedLine> rows(parcel_.lines().size());
      parcel_.CopyToJob(static_cast<std::uint32_t>(pictures_.size()),
                        static_cast<std::uint32_t>(words_.size()), picture, rows);
      picture.scratch = static_cast<std::uint32_t>(scratch_);
      scratch_ += parcel_.scratch();
      std::vector<CodedLine>& all = picture.packed ? packed_rows_ : rows_;
      all.insert(all.end(), rows.begin(), rows.end());
      words_.insert(words_.end(), parcel_.words().begin(), parcel_.words().end());
    }
    pictures_.push_back(picture);
    return taken;
  }

  std::size_t image_bytes() const { return std::size_t{width_} * height_ * channels_; }

  template <class Value>
  DeviceBuffer ToDevice(const std::vector<Value>& values) {
    const std::size_t bytes = std::max<std::size_t>(values.size() * sizeof(Value), 1);
    DeviceBuffer there(*driver_, bytes);
    std::byte* const pinned = driver_->AllocatePinned(bytes);
    if (!values.empty()) std::memcpy(pinned, values.data(), bytes);
    driver_->Copy(stream_.get(), there.data(), pinned, bytes);
    driver_->Drain(stream_.get());
    driver_->FreePinned(pinned);
    return there;
  }
  template <class Value>
  std::vector<Value> FromDevice(const DeviceBuffer& from, std::size_t count) {
    std::byte* const pinned = driver_->AllocatePinned(count * sizeof(Value));
    driver_->CopyBack(stream_.get(), pinned, from.data(), count * sizeof(Value));
    driver_->Drain(stream_.get());
    const auto* const first = reinterpret_cast<const Value*>(pinned);
    const std::vector<Value> values(first, first + count);
    driver_->FreePinned(pinned);
    return values;
  }

  const std::shared_ptr<DeviceDriver> driver_;
  const OwnStream stream_;
  const std::uint32_t channels_;
  const PixelOrder order_;
  JpegParcel parcel_;
  std::vector<DeviceBuffer> stored_;
  std::vector<JpegPicture> pictures_;
  std::vector<CodedLine> rows_, packed_rows_;
  std::vector<std::uint32_t> words_;
  std::uint64_t scratch_ = 0;
  std::uint32_t width_ = 0, height_ = 0;
  std::vector<std::uint32_t> broken_;
  std::vector<std::uint8_t> pixels_;
};

}  // namespace sluice::test
