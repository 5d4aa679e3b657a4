#include "reader/reading/stored_pictures.h"

#include <algorithm>
#include <cstring>

#include <sluice/error.h>

#include "format/disk/bytes.h"
#include "format/disk/checksum.h"
#include "reader/reading/available_memory.h"

namespace sluice {

namespace {

constexpr std::size_t kAlignment = 16;
constexpr std::size_t kStagingBytes = std::size_t{4} << 20;
constexpr std::size_t kNotedRows = 16384;  // at a time
// Pictures of one conversion have one form, or two with grey ones. Beyond this many the dataset is
// of JPEGs kept as they came, and only the first of their forms have room in the table.
constexpr std::size_t kMostForms = 4096;
constexpr std::uint64_t kMB = 1'000'000;

std::string Megabytes(std::uint64_t bytes) {
  return std::to_string((bytes + kMB - 1) / kMB) + " MB";
}

void RequireRoom(const Device& device, DeviceDriver& driver, ImagesIn where, std::uint64_t bytes) {
  const bool on_device = where == ImagesIn::kDevice;
  const std::uint64_t available = on_device ? driver.FreeDeviceBytes() : AvailableMemory();
  if (bytes <= available) return;
  throw Error(ErrorCode::kLimit,
              "the dataset's images take " + Megabytes(bytes) + ", and " +
                  (on_device ? device.name() : "this machine") + " has " + Megabytes(available) +
                  " of memory left; set LoaderOptions::on_device.images = kStorage" +
                  (on_device ? ", or ImagesIn::kPageLocked if the host has so much memory" : ""));
}

// Makes the table of a manifest that may claim any number of samples.
std::uint64_t ForTable(std::uint64_t samples, std::uint64_t entry_bytes) {
  const std::uint64_t available = AvailableMemory();
  if (samples <= available / entry_bytes) return samples;
  throw Error(ErrorCode::kLimit, "LoaderOptions::on_device.images needs " +
                                     std::to_string(entry_bytes) +
                                     " bytes of the host for each of " + std::to_string(samples) +
                                     " samples, and there are " + Megabytes(available) +
                                     " of memory left; set it to kStorage");
}

}  // namespace

std::uint64_t StoredPictures::BytesFor(const ImageSummary& field, std::uint64_t pictures) noexcept {
  // A JPEG without its headers and stuffed zeros is smaller than its file, even with its rows in
  // whole words, unless it is 5000 pixels high. Each picture is aligned.
  const std::uint64_t most =
      pictures >= field.present ? field.payload_bytes : pictures * field.max_payload_bytes;
  return std::min(field.payload_bytes, most) + kAlignment * std::min(pictures, field.present);
}

std::uint64_t StoredPictures::TableBytes(const ImageSummary& field,
                                         std::uint64_t samples) noexcept {
  // A packed picture has rows of each component.
  const std::uint64_t rows_each = 3 * ((std::uint64_t{field.max_height} + 7) / 8);
  return samples * sizeof(Entry) +
         (field.present * rows_each + kNotedRows) * sizeof(std::uint32_t) +
         kMostForms * (sizeof(JpegForm) + 4 * sizeof(void*));
}

StoredPictures::StoredPictures(const Device& device, std::shared_ptr<DeviceDriver> driver,
                               ImagesIn where, std::uint64_t samples, std::uint64_t bytes)
    : driver_(std::move(driver)),
      entries_(std::make_unique<Entry[]>(ForTable(samples, sizeof(Entry)))),
      size_(bytes) {
  RequireRoom(device, *driver_, where, bytes);
  if (where == ImagesIn::kPageLocked) {
    here_ = HostBuffer(bytes, driver_);
    begin_ = here_.data();
    return;
  }
  there_ = DeviceBuffer(*driver_, bytes);
  begin_ = there_.data();
  stream_ = OwnStream(*driver_);
  for (Staging& staging : staging_) {
    staging.memory = HostBuffer(kStagingBytes, driver_);
    staging.copied = OwnEvent(*driver_);
  }
}

StoredPictures::~StoredPictures() {
  if (stream_.get() != nullptr) driver_->Drain(stream_.get());  // it may still read staging memory
}

std::uint64_t StoredPictures::page_locked_bytes() const noexcept {
  return here_.size() + staging_[0].memory.size() + staging_[1].memory.size();
}

StoredPicture StoredPictures::Find(std::uint64_t sample) const noexcept {
  const Entry& entry = entries_[sample];
  const std::byte* const at = entry.at.load(std::memory_order_acquire);
  if (at == nullptr) return {};
  return {at, entry.form, entry.row_bytes};
}

std::size_t StoredPictures::FormHash::operator()(const JpegForm& form) const noexcept {
  return Hash64(std::as_bytes(std::span(&form, 1)));
}
bool StoredPictures::FormEqual::operator()(const JpegForm& a, const JpegForm& b) const noexcept {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

const JpegForm* StoredPictures::Known(const JpegForm& form) {
  const auto found = forms_.find(form);
  if (found != forms_.end()) return &*found;
  return forms_.size() < kMostForms ? &*forms_.insert(form).first : nullptr;
}

const std::uint32_t* StoredPictures::Noted(std::span<const JpegRow> rows) {
  if (rows.size() > rows_left_) {
    rows_left_ = std::max(kNotedRows, rows.size());
    rows_.push_back(std::make_unique<std::uint32_t[]>(rows_left_));
    rows_end_ = rows_.back().get() + rows_left_;
  }
  std::uint32_t* const noted = rows_end_ - rows_left_;
  for (std::size_t i = 0; i < rows.size(); ++i)
    noted[i] = rows[i].bytes;
  rows_left_ -= rows.size();
  return noted;
}

void StoredPictures::Put(std::uint64_t sample, const JpegForm& form, std::span<const JpegRow> rows,
                         std::span<const std::uint32_t> words) {
  if (size_ - used_ < words.size_bytes()) return;
  if (const JpegForm* const known = Known(form))
    Place(sample, {nullptr, known, Noted(rows)}, words.data(), words.size_bytes());
}

void StoredPictures::PutRaw(std::uint64_t sample, Bytes pixels) {
  Place(sample, {}, pixels.data(), pixels.size());
}

void StoredPictures::Place(std::uint64_t sample, StoredPicture picture, const void* data,
                           std::size_t bytes) {
  const std::size_t room = AlignUp(bytes, kAlignment);
  if (bytes == 0 || room > size_ - used_) return;
  picture.at = begin_ + used_;
  if (here_.size() > 0) {
    std::memcpy(here_.data() + used_, data, bytes);
    used_ += room;
    Publish(sample, picture);
    return;
  }
  std::byte* const staged = RoomInStaging(room);
  if (staged == nullptr) return;
  std::memcpy(staged, data, bytes);
  used_ += room;
  staging_[turn_].pictures.emplace_back(sample, picture);
}

// Null if a picture of that size never has room.
std::byte* StoredPictures::RoomInStaging(std::size_t bytes) {
  if (bytes > kStagingBytes) return nullptr;
  if (staging_[turn_].used + bytes > kStagingBytes) {
    Send();
    turn_ = 1 - turn_;
    Arrive(staging_[turn_]);
  }
  Staging& staging = staging_[turn_];
  std::byte* const at = staging.memory.data() + staging.used;
  staging.used += bytes;
  return at;
}

void StoredPictures::Send() {
  const Staging& staging = staging_[turn_];
  if (staging.used == 0) return;
  driver_->Copy(stream_.get(), begin_ + used_ - staging.used, staging.memory.data(), staging.used);
  driver_->Record(staging.copied.get(), stream_.get());
}

void StoredPictures::Arrive(Staging& staging) {
  if (staging.used == 0) return;
  driver_->Synchronize(staging.copied.get());
  for (const auto& [sample, picture] : staging.pictures)
    Publish(sample, picture);
  staging.pictures.clear();
  staging.used = 0;
}

void StoredPictures::Publish(std::uint64_t sample, const StoredPicture& picture) {
  Entry& entry = entries_[sample];
  entry.form = picture.form;
  entry.row_bytes = picture.row_bytes;
  entry.at.store(picture.at, std::memory_order_release);
  pictures_.fetch_add(1, std::memory_order_relaxed);
  bytes_.store(used_, std::memory_order_relaxed);
}

void StoredPictures::Finish() {
  if (here_.size() > 0) return;
  Send();
  for (std::size_t i = 0; i < 2; ++i) {
    turn_ = 1 - turn_;
    Arrive(staging_[turn_]);
  }
}

}  // namespace sluice
