// Start() has an order that matters. The copy waits for the trainer, for the lane's staging memory,
// and for the slot's last conversion. Then come the images that the host has decoded, in runs of
// rows; then a JPEG batch's words; then all the rest in one copy. PlanDecoding() writes waves and
// sorted lines into the slot's host memory, so it must run before that last copy.
//
// After an error, work may still be under way on any stream, so Failed() waits for all of them.
// FinishUpload() copies refused rows again; if rows were left out, it starts the whole upload
// again.
#include "reader/upload/uploader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "format/disk/bytes.h"
#include "reader/device/jpeg_parcel.h"
#include "reader/device/pixel_ops.h"

namespace sluice {

static_assert(PixelProgram::kMaxDeviceOps <= PixelOpScratch::kMaxOps);

namespace {

std::size_t ImageBytes(const ImageBatch& image) {
  return AlignUp(image.sample_bytes() * image.samples, kPageBytes);
}

}  // namespace

ImageBatch DeliveredImage(const ImageBatch& shipped, const PixelProgram& program, Layout layout) {
  ImageBatch image = shipped;
  if (!program.continues_on_device()) return image;
  image.type = program.type();
  image.layout = layout;
  return image;
}

// Asks by both handles that Reclaim() may use, depending on its thread: the stream's own, and the
// one that other threads use for the stream.
bool PinnedSlots::IsCapturing(const TrainerStream& stream) {
  return driver_->IsCapturing(stream.stream) ||
         driver_->IsCapturing(driver_->ForOtherThreads(stream.stream));
}

Uploader::Uploader(const Device& device, std::shared_ptr<DeviceDriver> driver, const Work& work)
    : PinnedSlots(std::move(driver)),
      device_(device),
      shipped_(work.shipped),
      device_part_(work.device_part),
      room_(device_part_.room),
      // Without decoding, two: one batch's pixels are converted while the next batch's are copied
      // into the other lane's staging memory.
      lanes_(room_ ? room_.lanes : 2),
      copy_stream_(*driver_) {
  for (std::size_t i = 0; i < shipped_.images.size(); ++i)
    AddPicture(shipped_.images[i], i < shipped_.views ? work.programs[i] : nullptr, work.layout);
  if (!works()) return;
  CopyTables(work.programs);
  if (spare_bytes_ > 0) spare_ = DeviceBuffer(*driver_, spare_bytes_);
  lines_.reserve(room_.lines);
  for (Lane& lane : lanes_) {
    if (staging_bytes_ > 0) {
      lane.staging = DeviceBuffer(*driver_, staging_bytes_);
      lane.read = OwnEvent(*driver_);
    }
    if (!room_) continue;
    lane.scratch = DeviceBuffer(*driver_, 16 * room_.scratch);
    lane.decoding = OwnPriorityStream(*driver_);
  }
  convert_stream_ = OwnPriorityStream(*driver_);
}

void Uploader::AddPicture(const SlotLayout::ImageField& field, const PixelProgram* program,
                          Layout layout) {
  const ImageBatch& shipped = field.image;
  Picture picture{field.offset, rest_there_, shipped, false, {}, 0, 0};
  std::size_t bytes = AlignUp(field.row_bytes * shipped.samples, kPageBytes);
  rest_ = field.offset + bytes;
  if (program != nullptr && program->continues_on_device() && shipped.sample_bytes() > 0) {
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

// The tables stay the same for the loader's life, so they are copied once. The copy need not be
// waited for: it is the first work of the copy stream, and every other stream waits for a later
// copy.
void Uploader::CopyTables(const std::vector<const PixelProgram*>& programs) {
  jpeg_table_ = table_bytes_;
  if (room_) table_bytes_ += sizeof(JpegTables);
  host_table_ = PinnedBuffer(driver_, table_bytes_);
  table_ = DeviceBuffer(*driver_, table_bytes_);
  std::size_t at = 0;
  for (std::size_t v = 0; v < shipped_.views; ++v) {
    if (!pictures_[v].converts) continue;
    const std::span<const std::byte> numbers = programs[v]->numbers();
    std::memcpy(host_table_.data() + at, numbers.data(), numbers.size());
    at += numbers.size();
  }
  if (room_) {
    const JpegTables tables = StandardJpegTables();
    std::memcpy(host_table_.data() + jpeg_table_, &tables, sizeof tables);
  }
  driver_->Copy(copy_stream_.get(), table_.data(), host_table_.data(), table_bytes_);
}

std::unique_ptr<DeviceSlot> Uploader::NewSlot(const Slot& of) {
  auto slot =
      std::make_unique<DeviceSlot>(device_, *driver_, of, device_part_, slot_bytes(), works());
  slot->shift = rest_ - rest_there_;  // modulo 2^64, because converted images may be larger
  for (const Picture& picture : pictures_) {
    ImageBatch& image = slot->images.emplace_back(picture.delivered);
    image.data = reinterpret_cast<const std::uint8_t*>(slot->memory.data() + picture.to);
  }
  if (!room_) return slot;
  for (const Lane& lane : lanes_) {
    slot->decoding.emplace_back(*driver_, [&](DeviceDriver::Stream stream) {
      Decode(stream, of, *slot, lane, room_.views);
    });
  }
  return slot;
}

// Returns why the batch fails. First waits for all streams: some work may have been enqueued
// without an event to wait for, and the memory that it uses will be used again.
Error Uploader::Failed(const Slot& slot, const Error& error) {
  driver_->Drain(copy_stream_.get());
  if (works()) driver_->Drain(convert_stream_.get());
  for (const Lane& lane : lanes_)
    if (lane.decoding.get() != nullptr) driver_->Drain(lane.decoding.get());
  return Error(error.code(), "",
               "epoch " + std::to_string(slot.epoch) + ", batch " + std::to_string(slot.index),
               error.sentence());
}

void Uploader::AwaitTrainer(const Slot& slot) noexcept {
  const LoaderDeviceRange range(this, "Sluice: wait for the trainer");
  PlaceOf(slot).AwaitTrainer(slot.abandoned);
}

std::optional<Error> Uploader::Upload(Slot& slot) {
  const LoaderDeviceRange range(this, "Sluice: start an upload");
  try {
    const MutexLock lock(mutex_);
    DeviceSlot& place = PlaceOf(slot);
    place.lane = turn_;
    turn_ = (turn_ + 1) % lanes_.size();
    Start(slot, place);
    return std::nullopt;
  } catch (const Error& error) {
    return Failed(slot, error);
  }
}

void Uploader::Copy(std::byte* to, const Slot& slot, std::size_t from, std::size_t count) {
  if (count == 0) return;
  driver_->Copy(copy_stream_.get(), to, slot.memory.data() + from, count);
  uploaded_bytes_ += count;
}

std::byte* Uploader::ImagesOf(const DeviceSlot& place, const Picture& picture) const noexcept {
  return picture.converts ? lanes_[place.lane].staging.data() + picture.staged
                          : place.memory.data() + picture.to;
}

void Uploader::CopyRows(const Slot& slot, const DeviceSlot& place, std::size_t picture,
                        std::size_t begin, std::size_t end) {
  const std::size_t bytes = slot.images[picture].image.sample_bytes();
  Copy(ImagesOf(place, pictures_[picture]) + begin * bytes, slot,
       pictures_[picture].from + begin * bytes, (end - begin) * bytes);
}

void Uploader::CopyImages(const Slot& slot, const DeviceSlot& place, std::size_t picture) {
  const ImageBatch& image = slot.images[picture].image;
  if (shipped_.image_sizes == ImageSizes::kOwn) {
    for (std::size_t row = 0; row < image.samples; ++row) {
      const ImageBatch one = RowOf(slot, picture, row);
      const auto offset = static_cast<std::size_t>(one.data - image.data);
      Copy(ImagesOf(place, pictures_[picture]) + offset, slot, pictures_[picture].from + offset,
           one.sample_bytes());
    }
    return;
  }
  // Rows that the device decodes have no pixels in the slot. The others are copied in runs between
  // them.
  const bool decodes = place.decodes && picture < room_.views;
  std::size_t begin = 0;  // the first row that the host has decoded and that is not copied yet
  for (std::size_t row = 0; decodes && row < image.samples; ++row) {
    if (place.PictureOf(picture, row).components == 0) continue;
    CopyRows(slot, place, picture, begin, row);
    begin = row + 1;
  }
  CopyRows(slot, place, picture, begin, image.samples);
}

void Uploader::Start(Slot& slot, DeviceSlot& place) {
  DeviceDriver::Stream const stream = copy_stream_.get();
  const PictureRoom& room = room_;
  place.decodes = room && place.HasPictures();
  for (std::size_t i = 0; i < pictures_.size(); ++i) {
    const ImageBatch& image = slot.images[i].image;
    place.images[i].samples = image.samples;
    place.images[i].height = image.height;
    place.images[i].width = image.width;
  }
  place.WaitForTrainer(stream);
  if (staging_bytes_ > 0) driver_->Wait(stream, lanes_[place.lane].read.get());
  // Until `converted`, the device reads the previous batch's operations and JPEGs from this memory.
  if (works()) driver_->Wait(stream, place.converted.get());
  driver_->Record(place.copy_begins.get(), stream);
  for (std::size_t i = 0; i < pictures_.size(); ++i)
    CopyImages(slot, place, i);
  std::size_t end = room ? room.broken_at : shipped_.bytes;
  if (place.decodes) {
    PlanDecoding(slot, place);
    end = room.lines_at + line_count_ * sizeof(CodedLine);
    const std::size_t words = place.words_put();
    Copy(place.At(room.words_at), slot, room.words_at, words * sizeof(std::uint32_t));
  }
  Copy(place.memory.data() + rest_there_, slot, rest_, end - rest_);
  driver_->Record(place.copied.get(), stream);
  // From here on, Reclaim() waits for `copied` before the host memory is used again.
  place.under_way = true;
  if (place.decodes) {
    StartDecoding(slot, place);
  } else if (works()) {
    StartConversions(place);
  }
}

void Uploader::StartConversions(DeviceSlot& place) {
  DeviceDriver::Stream const stream = convert_stream_.get();
  driver_->Wait(stream, place.copied.get());
  if (place.decodes) driver_->Wait(stream, place.decoded.get());
  for (std::size_t i = 0; i < pictures_.size(); ++i) {
    if (!pictures_[i].converts || place.images[i].samples == 0) continue;
    driver_->Convert(stream, ConversionOf(i, place));
  }
  if (staging_bytes_ > 0) driver_->Record(lanes_[place.lane].read.get(), stream);
  driver_->Record(place.converted.get(), stream);
}

Conversion Uploader::ConversionOf(std::size_t number, const DeviceSlot& place) const {
  const Picture& picture = pictures_[number];
  const ImageBatch& image = place.images[number];
  const DeviceLayout::Ops& ops = device_part_.ops[number];
  Conversion job;
  job.from = reinterpret_cast<std::uint8_t*>(ImagesOf(place, picture));
  job.to = place.memory.data() + picture.to;
  job.table = table_.data() + picture.table;
  job.samples = image.samples;
  job.pixels = image.height * image.width;
  job.channels = static_cast<std::uint32_t>(image.channels);
  job.number_bytes = static_cast<std::uint32_t>(SizeOf(image.type));
  job.planar = image.layout == Layout::kNCHW;
  if (ops.each == 0) return job;
  job.ops = reinterpret_cast<const PixelOp*>(place.At(ops.offset));
  job.ops_each = static_cast<std::uint32_t>(ops.each);
  job.width = static_cast<std::uint32_t>(image.width);
  job.whole = picture.need.whole;
  if (picture.need.spare_bytes > 0) {
    job.spare = reinterpret_cast<std::uint8_t*>(spare_.data());
    job.spare_each = job.pixels * job.channels * picture.need.spare_bytes;
  }
  return job;
}

void Uploader::Finish() noexcept {
  for (Lane& lane : lanes_)
    lane.decoding = OwnPriorityStream();
  convert_stream_ = OwnPriorityStream();
  copy_stream_ = OwnStream();
}

std::size_t Uploader::device_bytes() const noexcept {
  std::size_t bytes = table_.size() + spare_.size();
  for (const Lane& lane : lanes_)
    bytes += lane.staging.size() + lane.scratch.size();
  return bytes;
}

std::uint64_t Uploader::uploaded_bytes() const {
  const MutexLock lock(mutex_);
  return uploaded_bytes_;
}

// The part of Uploader for pictures that the device decodes.

// Gives each picture a place in scratch memory; a picture that does not fit any more begins a new
// wave. Then puts the lines into the order in which the device takes them.
void Uploader::PlanDecoding(const Slot& slot, const DeviceSlot& place) {
  const PictureRoom& room = room_;
  waves_ = 0;
  for (std::size_t view = 0; view < room.views; ++view) {
    const ImageBatch& image = place.images[view];
    const Picture& made = pictures_[view];
    std::uint64_t scratch = room.scratch + 1;  // the first picture begins a wave
    for (std::size_t row = 0; row < slot.rows; ++row) {
      JpegPicture& picture = place.PictureOf(view, row);
      if (picture.components == 0) continue;
      const auto number = static_cast<std::uint32_t>(view * room.images + row);
      if (scratch + picture.scratch > room.scratch) {
        scratch = 0;
        JpegWave& wave = place.Waves()[waves_++];
        wave = {};
        wave.first_picture = number;
        wave.width = static_cast<std::uint32_t>(image.width);
        wave.height = static_cast<std::uint32_t>(image.height);
        wave.planar = !made.converts && image.layout == Layout::kNCHW;
        wave.to = reinterpret_cast<std::uint8_t*>(ImagesOf(place, made)) +
                  row * image.height * image.width * image.channels;
      }
      scratch += std::exchange(picture.scratch, static_cast<std::uint32_t>(scratch));
      JpegWave& wave = place.Waves()[waves_ - 1];
      wave.picture_count = number - wave.first_picture + 1;
      (picture.packed ? wave.packed_count : wave.line_count) += picture.lines;
    }
  }
  // SortLines() overwrites the lines that were put there, so they are copied first.
  const CodedLine* const first = place.PictureLines();
  lines_.assign(first, first + place.lines_put());
  line_count_ = 0;
  for (std::size_t w = 0; w < waves_; ++w) {
    JpegWave& wave = place.Waves()[w];
    wave.first_line = static_cast<std::uint32_t>(line_count_);
    SortLines(place, wave);
    line_count_ += std::size_t{wave.line_count} + wave.packed_count;
  }
  for (std::size_t w = waves_; w < room.views; ++w)  // the graph always runs room.views waves
    place.Waves()[w] = {};
}

// Copies the wave's lines from lines_ to their place in the slot. Lines of JPEGs come first,
// roughly from longest to shortest, so that neighbouring threads have similar amounts of work; a
// counting sort orders them by the upper bits of their lengths. Lines of packed pictures follow,
// unsorted: a warp decodes each of them, so their order saves nothing.
void Uploader::SortLines(const DeviceSlot& place, const JpegWave& wave) {
  constexpr unsigned kClassBits = 8;
  const JpegPicture* const pictures = &place.PictureOf(0, 0) + wave.first_picture;
  const std::span<const CodedLine> put = lines_;
  const auto lines_of = [put](const JpegPicture& picture) {
    return put.subspan(picture.first_line, picture.lines);
  };
  const auto for_jpegs = [&](const auto& take) {
    for (std::uint32_t p = 0; p < wave.picture_count; ++p) {
      if (pictures[p].components == 0 || pictures[p].packed) continue;
      for (const CodedLine& line : lines_of(pictures[p]))
        take(line);
    }
  };
  std::uint32_t bits = 0;
  for_jpegs([&](const CodedLine& line) { bits |= line.bytes; });
  // The longest line's upper bits decide the classes: all lengths must fall below 1 << kClassBits.
  const unsigned shift = std::max<unsigned>(std::bit_width(bits), kClassBits) - kClassBits;
  std::array<std::uint32_t, 1 << kClassBits>
      next{};  // by class of length: the number of lines, and then the place of the next line
  for_jpegs([&](const CodedLine& line) { ++next[line.bytes >> shift]; });
  std::uint32_t begin = wave.first_line;
  // From the class of the longest lines down: each count becomes the place of the class's first
  // line.
  for (auto of_class = next.rbegin(); of_class != next.rend(); ++of_class)
    begin += std::exchange(*of_class, begin);
  CodedLine* const to = place.PictureLines();
  for_jpegs([&](const CodedLine& line) { to[next[line.bytes >> shift]++] = line; });
  CodedLine* packed = to + begin;
  for (std::uint32_t p = 0; p < wave.picture_count; ++p) {
    if (pictures[p].components == 0 || !pictures[p].packed) continue;
    const std::span<const CodedLine> lines = lines_of(pictures[p]);
    packed = std::copy(lines.begin(), lines.end(), packed);
  }
}

JpegJob Uploader::JobOf(const DeviceSlot& place, const Lane& lane) const {
  const PictureRoom& room = room_;
  JpegJob job;
  job.wave = reinterpret_cast<const JpegWave*>(place.At(room.waves_at));
  job.pictures = reinterpret_cast<const JpegPicture*>(place.At(room.pictures_at));
  job.lines = reinterpret_cast<const CodedLine*>(place.At(room.lines_at));
  job.words = reinterpret_cast<const std::uint32_t*>(place.At(room.words_at));
  job.tables = reinterpret_cast<const JpegTables*>(table_.data() + jpeg_table_);
  job.scratch = lane.scratch.data();
  job.broken = reinterpret_cast<std::uint32_t*>(place.At(room.broken_at));
  job.channels = static_cast<std::uint32_t>(shipped_.picture().image.channels);
  job.most_pictures = static_cast<std::uint32_t>(room.images);
  job.most_lines = job.most_packed = static_cast<std::uint32_t>(room.lines);
  for (std::size_t view = 0; view < room.views; ++view) {
    const ImageBatch& image = pictures_[view].delivered;
    job.most_pixels = std::max<std::uint64_t>(job.most_pixels, image.height * image.width);
  }
  return job;
}

void Uploader::Decode(DeviceDriver::Stream stream, const Slot& slot, const DeviceSlot& place,
                      const Lane& lane, std::size_t waves) const {
  const PictureRoom& room = room_;
  JpegJob job = JobOf(place, lane);
  for (std::size_t w = 0; w < waves; ++w, ++job.wave)
    driver_->Decode(stream, job);
  driver_->CopyBack(stream, slot.memory.data() + room.broken_at, place.At(room.broken_at),
                    room.pictures() * sizeof(std::uint32_t));
}

void Uploader::StartDecoding(const Slot& slot, DeviceSlot& place) {
  const Lane& lane = lanes_[place.lane];
  DeviceDriver::Stream const stream = lane.decoding.get();
  driver_->Wait(stream, place.copied.get());
  driver_->Record(place.decoding_begins.get(), stream);
  // Usually, one launch of the lane's graph does it. But the graph has a fixed number of waves: a
  // batch of unusually large pictures takes more of them, and its kernels are launched one by one.
  if (waves_ <= room_.views) {
    driver_->Launch(stream, place.decoding[place.lane].get());
  } else {
    Decode(stream, slot, place, lane, waves_);
  }
  driver_->Record(place.decoded.get(), stream);
}

std::optional<Error> Uploader::AwaitDecoding(Slot& slot, std::vector<std::size_t>& refused) {
  const LoaderDeviceRange range(this, "Sluice: wait for a batch to be decoded");
  DeviceSlot& place = PlaceOf(slot);
  try {
    driver_->Synchronize(place.decoded.get());
    place.decode_seconds =
        driver_->SecondsBetween(place.decoding_begins.get(), place.decoded.get());
  } catch (const Error& error) {
    return Failed(slot, error);
  }
  for (std::size_t row = 0; row < slot.rows; ++row) {
    for (std::size_t view = 0; view < room_.views; ++view) {
      if (place.PictureOf(view, row).components == 0 || place.BrokenOf(view, row) == 0) continue;
      refused.push_back(row);
      break;
    }
  }
  return std::nullopt;
}

std::optional<Error> Uploader::FinishUpload(Slot& slot, std::span<const std::size_t> redone) {
  DeviceSlot& place = PlaceOf(slot);
  try {
    const MutexLock lock(mutex_);
    if (slot.left_out > 0) {  // rows have moved, and the host has decoded all of them
      Start(slot, place);
      return std::nullopt;
    }
    for (std::size_t view = 0; view < room_.views; ++view)
      for (std::size_t row = 0; row < slot.rows; ++row)
        decoded_pictures_ += place.PictureOf(view, row).components > 0 ? 1 : 0;
    if (!redone.empty()) {
      driver_->Record(place.copy_begins.get(), copy_stream_.get());
      for (std::size_t i = 0; i < pictures_.size(); ++i)
        for (const std::size_t row : redone)
          CopyRows(slot, place, i, row, row + 1);
      Copy(place.memory.data() + rest_there_, slot, rest_, room_.broken_at - rest_);
      driver_->Record(place.copied.get(), copy_stream_.get());
    }
    StartConversions(place);
    return std::nullopt;
  } catch (const Error& error) {
    return Failed(slot, error);
  }
}

std::uint64_t Uploader::decoded_pictures() const {
  const MutexLock lock(mutex_);
  return decoded_pictures_;
}

}  // namespace sluice
