// A dataset's pictures in the memory of a device (OnDevice::images). JPEGs lie there taken apart
// (JpegParts), raw pictures as their pixels.
//
// Nothing is ever evicted. A thread of its own fills the cache once, with the pictures in the order
// in which they are stored, while the loader plays already; any thread finds them as soon as they
// have arrived. A picture that a device cannot decode, or that cannot be read, is skipped: the host
// decodes it, or finds its fault, when it is played.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <thread>
#include <unordered_set>
#include <vector>

#include <sluice/dataset.h>
#include <sluice/loader_options.h>
#include <sluice/sample_list.h>

#include "reader/dataset/dataset_state.h"
#include "reader/device/device_driver.h"
#include "reader/device/jpeg_parcel.h"
#include "reader/reading/decoded_picture_cache.h"
#include "reader/reading/direct/direct_blocks.h"

namespace sluice {

class DevicePictureCache final : public PictureCache {
 public:
  // An upper bound on the memory for that many pictures of a field.
  static std::uint64_t BytesFor(const ImageSummary& field, std::uint64_t pictures) noexcept;

  // Makes a cache for a dataset of `samples` samples, and allocates `bytes` bytes for pictures now.
  // Throws Error(kLimit), with the sizes, if that much memory is not free.
  DevicePictureCache(const Device& device, std::shared_ptr<DeviceDriver> driver,
                     std::uint64_t samples, std::uint64_t bytes);
  ~DevicePictureCache() override;

  bool Has(std::uint64_t sample) const noexcept override {
    return entries_[sample].at.load(std::memory_order_acquire) != nullptr;
  }
  // StoredPicture::at is null if the picture has not arrived.
  StoredPicture Find(std::uint64_t sample) const noexcept;

  // Put() and PutRaw() are for the thread that fills the cache. They skip a picture that does not
  // fit. They throw what the driver throws.
  void Put(std::uint64_t sample, const JpegForm& form, std::span<const CodedLine> lines,
           std::span<const std::uint32_t> words);
  void PutRaw(std::uint64_t sample, Bytes pixels);
  // Waits until all pictures put there have arrived.
  void Finish();

  std::uint64_t pictures() const noexcept { return pictures_.load(std::memory_order_relaxed); }
  std::uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  std::uint64_t device_bytes() const noexcept { return device_memory_.size(); }
  // Host memory: page_locked_bytes() is page-locked, and the table of `samples` pictures of a field
  // takes TableBytes().
  std::uint64_t page_locked_bytes() const noexcept;
  static std::uint64_t TableBytes(const ImageSummary& field, std::uint64_t samples) noexcept;

 private:
  struct Entry {
    std::atomic<const std::byte*> at{nullptr};  // written last
    const JpegForm* form = nullptr;
    const std::uint32_t* line_bytes = nullptr;
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
  // Returns the one copy of the form that all pictures of the form share; null if there are too
  // many forms.
  const JpegForm* InternForm(const JpegForm& form);
  const std::uint32_t* StoreLineBytes(std::span<const CodedLine> lines);

  const std::shared_ptr<DeviceDriver> driver_;
  std::unique_ptr<Entry[]> entries_;
  DeviceBuffer device_memory_;
  std::size_t size_ = 0, used_ = 0;
  Staging staging_[2];
  std::size_t turn_ = 0;  // the staging memory that is being filled
  OwnStream stream_;
  std::unordered_set<JpegForm, FormHash, FormEqual> forms_;
  std::vector<std::unique_ptr<std::uint32_t[]>>
      lines_;                           // arrays of lines' sizes, by StoreLineBytes()
  std::uint32_t* lines_end_ = nullptr;  // the end of the last array of lines_
  std::size_t lines_left_ = 0;          // how many numbers of that array are still free
  std::atomic<std::uint64_t> pictures_{0}, bytes_{0};
};

// The thread that fills the cache.
class DevicePictureFiller {
 public:
  // All arguments must outlive the filler. `direct` is null unless shards are read with O_DIRECT.
  // `samples` are the samples that the loader plays.
  DevicePictureFiller(DatasetState& dataset, std::size_t field, const SampleList& samples,
                      DirectFiles* direct, DevicePictureCache& cache);
  ~DevicePictureFiller() { Stop(); }

  void Start();
  // Returns once the thread has ended; the thread first finishes the block that it is reading.
  void Stop();

  // The number of distinct samples that the list can play. If the list may differ from epoch to
  // epoch, this is the number of samples of the dataset.
  static std::uint64_t CountOf(const DatasetState& dataset, const SampleList& samples);

 private:
  void Run();
  void Fill(std::uint64_t block);
  bool Wants(std::uint64_t block) const;
  void Put(std::uint64_t sample, const ImagePayload& payload);

  DatasetState& dataset_;
  const std::size_t field_;
  DirectFiles* const direct_;
  DevicePictureCache& cache_;
  std::vector<bool> wanted_;  // empty: all
  JpegParts parts_;
  std::vector<CodedLine> lines_;
  std::vector<std::uint32_t> words_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace sluice
