// Pictures go to the device through two page-locked buffers: one is filled while the other is
// copied. Device memory is filled from front to back in the same order, so a buffer is a single
// copy. Place() therefore takes room in a buffer before it advances used_: Send() computes from
// used_ where the buffer goes.
//
// Only the filler's thread puts pictures. Others see one when its Entry::at is stored, which
// happens last and only after the copy has ended (Arrive()). Hence Finish() must run at the end.
// The filler compares checksums itself, so that damaged or lost bytes are never cached.
#include "reader/upload/device_picture_cache.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <sluice/error.h>

#include "format/disk/bytes.h"
#include "format/disk/checksum.h"
#include "reader/dataset/sample_list_state.h"
#include "reader/reading/memory.h"
#include "reader/reading/remote_blocks.h"

namespace sluice {

namespace {

constexpr std::size_t kPictureAlignment = 16;
constexpr std::size_t kStagingBytes = std::size_t{4} << 20;
constexpr std::size_t kStoredLines = 16384;  // row lengths allocated at a time
// Pictures that one conversion encoded have one form, or two if some are grey, for each number of
// parts that a row is cut into. Only a dataset that keeps its sources' JPEGs, which may all differ,
// can have more than kMaxForms forms. A picture of a form that no longer fits into the table is not
// cached.
constexpr std::size_t kMaxForms = 4096;
constexpr std::uint64_t kBytesPerMB = 1'000'000;

std::string CacheMegabytes(std::uint64_t bytes) {
  return std::to_string((bytes + kBytesPerMB - 1) / kBytesPerMB) + " MB";
}

void RequireCacheRoom(const Device& device, DeviceDriver& driver, std::uint64_t bytes) {
  const std::uint64_t available = driver.FreeDeviceBytes();
  if (bytes <= available) return;
  throw Error(ErrorCode::kLimit,
              "the dataset's images take " + CacheMegabytes(bytes) + ", and " + device.name() +
                  " has " + CacheMegabytes(available) +
                  " of memory left; set LoaderOptions::on_device.images = kStorage");
}

// Returns `samples` if there is memory for a table of that many entries, and else throws: a
// manifest may claim any number of samples.
std::uint64_t ForCacheTable(std::uint64_t samples, std::uint64_t entry_bytes) {
  const std::uint64_t available = AvailableMemory();
  if (samples <= available / entry_bytes) return samples;
  throw Error(ErrorCode::kLimit, "LoaderOptions::on_device.images needs " +
                                     std::to_string(entry_bytes) +
                                     " bytes of the host for each of " + std::to_string(samples) +
                                     " samples, and there are " + CacheMegabytes(available) +
                                     " of memory left; set it to kStorage");
}

// The samples of a list that is the same in each epoch; null: any sample may come.
const std::vector<std::uint64_t>* FixedSamples(const SampleList& samples) {
  if (samples.all()) return nullptr;
  const auto* const fixed = std::get_if<FixedDraw>(&samples.state()->draw);
  return fixed == nullptr ? nullptr : &fixed->samples;
}

std::vector<bool> WantedSamples(const DatasetState& dataset, const SampleList& samples) {
  const std::vector<std::uint64_t>* const fixed = FixedSamples(samples);
  if (fixed == nullptr) return {};
  std::vector<bool> wanted(dataset.facts->shape.samples());
  for (const std::uint64_t sample : *fixed)
    wanted[sample] = true;
  return wanted;
}

}  // namespace

std::uint64_t DevicePictureCache::BytesFor(const ImageSummary& field,
                                           std::uint64_t pictures) noexcept {
  // A cached JPEG lacks the headers, stuffed zeros and restart markers, but each part of a row is
  // padded to whole words. In the mean it is smaller than its file. Each picture is aligned.
  const std::uint64_t most =
      pictures >= field.present ? field.payload_bytes : pictures * field.max_payload_bytes;
  return std::min(field.payload_bytes, most) +
         kPictureAlignment * std::min(pictures, field.present);
}

std::uint64_t DevicePictureCache::TableBytes(const ImageSummary& field,
                                             std::uint64_t samples) noexcept {
  const std::uint64_t lines =
      field.present * MostCodedLines(field.max_height, 0) + MostCodedLines(0, field.payload_bytes);
  return samples * sizeof(Entry) + (lines + kStoredLines) * sizeof(std::uint32_t) +
         kMaxForms * (sizeof(JpegForm) + 4 * sizeof(void*));
}

DevicePictureCache::DevicePictureCache(const Device& device, std::shared_ptr<DeviceDriver> driver,
                                       std::uint64_t samples, std::uint64_t bytes)
    : driver_(std::move(driver)),
      entries_(std::make_unique<Entry[]>(ForCacheTable(samples, sizeof(Entry)))),
      size_(bytes) {
  RequireCacheRoom(device, *driver_, bytes);
  device_memory_ = DeviceBuffer(*driver_, bytes);
  stream_ = OwnStream(*driver_);
  for (Staging& staging : staging_) {
    staging.memory = PinnedBuffer(driver_, kStagingBytes);
    staging.copied = OwnEvent(*driver_);
  }
}

DevicePictureCache::~DevicePictureCache() {
  if (stream_.get() != nullptr)
    driver_->Drain(stream_.get());  // a copy may still read staging memory
}

std::uint64_t DevicePictureCache::page_locked_bytes() const noexcept {
  return staging_[0].memory.size() + staging_[1].memory.size();
}

StoredPicture DevicePictureCache::Find(std::uint64_t sample) const noexcept {
  const Entry& entry = entries_[sample];
  const std::byte* const at = entry.at.load(std::memory_order_acquire);
  if (at == nullptr) return {};
  return {at, entry.form, entry.line_bytes};
}

std::size_t DevicePictureCache::FormHash::operator()(const JpegForm& form) const noexcept {
  return Hash64(std::as_bytes(std::span(&form, 1)));
}
bool DevicePictureCache::FormEqual::operator()(const JpegForm& a,
                                               const JpegForm& b) const noexcept {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

const JpegForm* DevicePictureCache::InternForm(const JpegForm& form) {
  const auto found = forms_.find(form);
  if (found != forms_.end()) return &*found;
  return forms_.size() < kMaxForms ? &*forms_.insert(form).first : nullptr;
}

const std::uint32_t* DevicePictureCache::StoreLineBytes(std::span<const CodedLine> lines) {
  if (lines.size() > lines_left_) {
    lines_left_ = std::max(kStoredLines, lines.size());
    lines_.push_back(std::make_unique<std::uint32_t[]>(lines_left_));
    lines_end_ = lines_.back().get() + lines_left_;
  }
  std::uint32_t* const stored = lines_end_ - lines_left_;
  for (std::size_t i = 0; i < lines.size(); ++i)
    stored[i] = lines[i].bytes;
  lines_left_ -= lines.size();
  return stored;
}

void DevicePictureCache::Put(std::uint64_t sample, const JpegForm& form,
                             std::span<const CodedLine> lines,
                             std::span<const std::uint32_t> words) {
  if (size_ - used_ < words.size_bytes()) return;
  if (const JpegForm* const known = InternForm(form))
    Place(sample, {nullptr, known, StoreLineBytes(lines)}, words.data(), words.size_bytes());
}

void DevicePictureCache::PutRaw(std::uint64_t sample, Bytes pixels) {
  Place(sample, {}, pixels.data(), pixels.size());
}

void DevicePictureCache::Place(std::uint64_t sample, StoredPicture picture, const void* data,
                               std::size_t bytes) {
  const std::size_t room = AlignUp(bytes, kPictureAlignment);
  // The cache is full, or nearly so: a smaller picture may still fit later, so nothing ends here.
  if (bytes == 0 || room > size_ - used_) return;
  picture.at = device_memory_.data() + used_;
  std::byte* const staged = RoomInStaging(room);
  if (staged == nullptr) return;
  std::memcpy(staged, data, bytes);
  used_ += room;
  staging_[turn_].pictures.emplace_back(sample, picture);
}

// Null if a picture of that size never has room.
std::byte* DevicePictureCache::RoomInStaging(std::size_t bytes) {
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

void DevicePictureCache::Send() {
  const Staging& staging = staging_[turn_];
  if (staging.used == 0) return;
  driver_->Copy(stream_.get(), device_memory_.data() + used_ - staging.used, staging.memory.data(),
                staging.used);
  driver_->Record(staging.copied.get(), stream_.get());
}

void DevicePictureCache::Arrive(Staging& staging) {
  if (staging.used == 0) return;
  // Only now may other threads read the pictures on the device, and this one fill the buffer again.
  driver_->Synchronize(staging.copied.get());
  for (const auto& [sample, picture] : staging.pictures)
    Publish(sample, picture);
  staging.pictures.clear();
  staging.used = 0;
}

void DevicePictureCache::Publish(std::uint64_t sample, const StoredPicture& picture) {
  Entry& entry = entries_[sample];
  // Plain members: Find() reads them only after it has seen `at`, which is stored last, with
  // release.
  entry.form = picture.form;
  entry.line_bytes = picture.line_bytes;
  entry.at.store(picture.at, std::memory_order_release);
  pictures_.fetch_add(1, std::memory_order_relaxed);
  bytes_.store(used_, std::memory_order_relaxed);
}

void DevicePictureCache::Finish() {
  Send();
  // Both buffers, the older one first: its copy was started first.
  for (std::size_t i = 0; i < 2; ++i) {
    turn_ = 1 - turn_;
    Arrive(staging_[turn_]);
  }
}

std::uint64_t DevicePictureFiller::CountOf(const DatasetState& dataset, const SampleList& samples) {
  const std::vector<bool> wanted = WantedSamples(dataset, samples);
  return wanted.empty() ? dataset.facts->shape.samples()
                        : static_cast<std::uint64_t>(std::ranges::count(wanted, true));
}

DevicePictureFiller::DevicePictureFiller(DatasetState& dataset, std::size_t field,
                                         const SampleList& samples, DirectFiles* direct,
                                         DevicePictureCache& cache)
    : dataset_(dataset),
      field_(field),
      direct_(direct),
      cache_(cache),
      wanted_(WantedSamples(dataset, samples)) {}

void DevicePictureFiller::Start() {
  thread_ = std::thread([this] { Run(); });
}

void DevicePictureFiller::Stop() {
  stop_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

// Ignores failures: a failure happens again, with the sample's name, when the sample is played or
// the device is used.
void DevicePictureFiller::Run() {
  for (std::uint64_t block = 0; block < dataset_.facts->shape.blocks(); ++block) {
    if (stop_.load(std::memory_order_relaxed)) return;
    try {
      if (Wants(block)) Fill(block);
    } catch (const Error&) {
      continue;
    } catch (const std::bad_alloc&) {
      break;
    }
  }
  try {
    cache_.Finish();
  } catch (const std::exception&) {
    return;
  }
}

bool DevicePictureFiller::Wants(std::uint64_t block) const {
  if (wanted_.empty()) return true;
  const auto first =
      wanted_.begin() + static_cast<std::ptrdiff_t>(dataset_.facts->shape.Record(block, 0).index);
  const auto end = first + static_cast<std::ptrdiff_t>(dataset_.facts->shape.SamplesIn(block));
  return std::find(first, end, true) != end;
}

void DevicePictureFiller::Fill(std::uint64_t block) {
  const SampleRef first = dataset_.facts->shape.Record(block, 0);
  const ShardUse shard = dataset_.table.Shard(first.shard);
  std::shared_ptr<const HeldBlock> held;
  if (dataset_.table.remote != nullptr) {
    held = RemoteBlocks::Fetch(dataset_, first.shard, shard, first.block);
  } else if (direct_ != nullptr) {
    held = direct_->Read(first.shard, shard, first.block);
  }
  const ReadGuard guard = shard->Guard();
  const BlockView view =
      held != nullptr ? held->View(*shard, first.block) : shard->Block(first.block);
  const RecordLayout& layout = dataset_.facts->LayoutOf(first.shard);
  const std::uint64_t count = dataset_.facts->shape.SamplesIn(block);
  for (std::uint32_t row = 0; row < count; ++row) {
    const std::uint64_t sample = first.index + row;
    if (!wanted_.empty() && !wanted_[sample]) continue;
    ImagePayload payload;
    std::uint64_t checksum = 0;
    if (view.GetImage(layout, row, field_, payload, checksum) != nullptr) continue;
    // Bytes that cannot be read are zeros, and do not match.
    if (payload.codec == Codec::kAbsent || !view.Matches(payload.bytes, checksum)) continue;
    Put(sample, payload);
  }
}

void DevicePictureFiller::Put(std::uint64_t sample, const ImagePayload& payload) {
  if (payload.codec == Codec::kRaw && payload.pixel_type == PixelType::kUint8) {
    const std::uint64_t size = std::uint64_t{payload.width} * payload.height * payload.channels;
    if (payload.bytes.size() == size) cache_.PutRaw(sample, payload.bytes);
    return;
  }
  words_.clear();
  lines_.clear();
  if (parts_.Parse(payload) && parts_.AppendLines(parts_.AllLines(), words_, lines_))
    cache_.Put(sample, parts_.form(), lines_, words_);
}

}  // namespace sluice
