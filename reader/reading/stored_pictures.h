// A dataset's pictures in memory that a device reads: on the device, or page-locked on the host
// (OnDevice::images). JPEGs lie there taken apart (JpegParts), raw pictures as their pixels.
//
// Nothing is ever evicted. One thread puts pictures there, once; any thread finds them as soon as
// they have arrived.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include <sluice/dataset.h>
#include <sluice/loader_options.h>

#include "reader/device/device_driver.h"
#include "reader/device/host_buffer.h"
#include "reader/device/jpeg_parcel.h"
#include "reader/reading/decoded_cache.h"

namespace sluice {

class StoredPictures final : public PictureCache {
 public:
  // The memory for that many pictures of a field, at least.
  static std::uint64_t BytesFor(const ImageSummary& field, std::uint64_t pictures) noexcept;

  // For pictures of a dataset of so many samples. Takes all its memory at once. Throws
  // Error(kLimit), with the sizes, if there is not so much.
  StoredPictures(const Device& device, std::shared_ptr<DeviceDriver> driver, ImagesIn where,
                 std::uint64_t samples, std::uint64_t bytes);
  ~StoredPictures() override;

  bool Has(std::uint64_t sample) const noexcept override {
    return entries_[sample].at.load(std::memory_order_acquire) != nullptr;
  }
  // `at` is null if it is not there.
  StoredPicture Find(std::uint64_t sample) const noexcept;

  // For the thread that fills it. A picture for which there is no room is passed over. Throws what
  // the driver throws.
  void Put(std::uint64_t sample, const JpegForm& form, std::span<const JpegRow> rows,
           std::span<const std::uint32_t> words);
  void PutRaw(std::uint64_t sample, Bytes pixels);
  // Waits until all of them have arrived.
  void Finish();

  std::uint64_t pictures() const noexcept { return pictures_.load(std::memory_order_relaxed); }
  std::uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  std::uint64_t device_bytes() const noexcept { return there_.size(); }
  // Memory of the host: page-locked, and for the table of `samples` pictures of a field.
  std::uint64_t page_locked_bytes() const noexcept;
  static std::uint64_t TableBytes(const ImageSummary& field, std::uint64_t samples) noexcept;

 private:
  struct Entry {
    std::atomic<const std::byte*> at{nullptr};  // is written last
    const JpegForm* form = nullptr;
    const std::uint32_t* row_bytes = nullptr;
  };
  struct FormHash {
    std::size_t operator()(const JpegForm& form) const noexcept;
  };
  struct FormEqual {
    bool operator()(const JpegForm& a, const JpegForm& b) const noexcept;
  };
  // Pictures on their way to the device.
  struct Staging {
    HostBuffer memory;
    OwnEvent copied;
    std::size_t used = 0;
    std::vector<std::pair<std::uint64_t, StoredPicture>> pictures;
  };
  void Place(std::uint64_t sample, StoredPicture picture, const void* data, std::size_t bytes);
  std::byte* RoomInStaging(std::size_t bytes);
  void Send();
  void Arrive(Staging& staging);
  void Publish(std::uint64_t sample, const StoredPicture& picture);
  const JpegForm* Known(const JpegForm& form);
  const std::uint32_t* Noted(std::span<const JpegRow> rows);

  const std::shared_ptr<DeviceDriver> driver_;
  std::unique_ptr<Entry[]> entries_;
  DeviceBuffer there_;
  HostBuffer here_;             // or there
  std::byte* begin_ = nullptr;  // of either
  std::size_t size_ = 0, used_ = 0;
  Staging staging_[2];
  std::size_t turn_ = 0;
  OwnStream stream_;
  std::unordered_set<JpegForm, FormHash, FormEqual> forms_;
  std::vector<std::unique_ptr<std::uint32_t[]>> rows_;
  std::uint32_t* rows_end_ = nullptr;  // of the last of them,
  std::size_t rows_left_ = 0;          // and how many of it are not used
  std::atomic<std::uint64_t> pictures_{0}, bytes_{0};
};

}  // namespace sluice
