#include "reader/decoding/sample_decoder.h"

#include <algorithm>
#include <cstring>

#include "format/disk/payload_start.h"
#include "reader/decoding/read_later.h"
#include "reader/reading/remote_blocks.h"

namespace sluice {

namespace {

// The bytes of the sample's block.
Bytes BytesOf(const ShardFile& shard, const SampleRef& ref) {
  const BlockEntry& block = shard.block_entry(ref.block);
  return shard.bytes().subspan(block.offset, block.bytes);
}

// The bytes that a CPU fetches at a time; the bytes of an image that are worth prefetching (after
// them, the CPU prefetches by itself); and the largest image for which that is worth it.
constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kFetchedBytes = 1024;
constexpr std::size_t kFetchedImages = 16384;

PixelOrder OrderOf(const ImageBatch& image) {
  return image.layout == Layout::kNHWC ? PixelOrder::kInterleaved : PixelOrder::kPlanar;
}

}  // namespace

SampleDecoder::SampleDecoder(const BatchRecipe& recipe, const ReadingAids& aids)
    : dataset_(recipe.dataset),
      views_(recipe.views),
      layout_(recipe.layout),
      direct_(aids.direct),
      holds_blocks_(aids.holds_blocks),
      stage_(aids.stage),
      compared_(aids.compared),
      // What is kept has been compared.
      verify_(aids.rows != nullptr ? Verify::kAlways : recipe.options.integrity.verify),
      pictures_(aids.store, recipe.options),
      stored_(aids.stored),
      fields_(recipe),
      raw_bytes_(dataset_.RawImageBytes(layout_.picture_field())),
      read_later_(ReadLater(recipe)) {}

void SampleDecoder::Prefetch(const Slot& slot, std::size_t row) const noexcept {
  if (stored_ != nullptr || raw_bytes_ == 0 || raw_bytes_ > kFetchedImages || holds_blocks_) return;
  if (!dataset_.keeps_all()) return;  // finding the shard would take a lock
  const SampleRef& ref = slot.refs[row];
  const ShardUse shard = dataset_.OpenShard(ref.shard);
  if (shard == nullptr) return;
  const BlockEntry& entry = shard->block_entry(ref.block);
  const std::byte* const block = shard->bytes().data() + entry.offset;
  const std::size_t row_bytes = dataset_.LayoutOf(ref.shard).row_bytes();
  __builtin_prefetch(block + sizeof(BlockHeader) + ref.row * row_bytes);
  // Assumes that the image is the first payload field, as it mostly is; otherwise this fetches in
  // vain.
  const std::byte* const payload = block + PayloadStart(entry.count, row_bytes) +
                                   ref.row * AlignUp(raw_bytes_, kPayloadAlignment);
  for (std::size_t at = 0; at < std::min(raw_bytes_, kFetchedBytes); at += kLineBytes)
    __builtin_prefetch(payload + at);
}

bool SampleDecoder::Decode(Slot& slot, std::size_t row) {
  const SampleRef& ref = slot.refs[row];
  shard_fault_.reset();
  try {
    ShardUse file;
    std::shared_ptr<const HeldBlock> held;
    if (holds_blocks_) held = slot.blocks[row];
    if (held != nullptr && held->read()) {
      file = held->shard();
    } else {
      file = dataset_.Shard(ref.shard, shard_fault_);
      if (file == nullptr) return false;
      // The block was not read ahead: the row is a substitute, or the shard could not be opened
      // then.
      if (holds_blocks_) held = ReadNow(ref, file);
    }
    if (DecodeFrom(file, held.get(), slot, row)) return true;
    if (needs_image_) {
      held = ReadNow(ref, file);
      if (DecodeFrom(file, held.get(), slot, row)) return true;
    }
    const bool damaged = error_->code() == ErrorCode::kCorrupt || error_->code() == ErrorCode::kIo;
    return damaged && stage_ != nullptr && dataset_.IsCopy(ref.shard, *file) &&
           DecodeFromOriginal(file, slot, row);
  } catch (const Error& error) {
    error_ = error;
  } catch (const std::bad_alloc&) {
    error_ = Error(ErrorCode::kMemory, "", PlaceOf(ref), "there is not enough memory to read it");
  }
  return false;
}

std::shared_ptr<const HeldBlock> SampleDecoder::ReadNow(const SampleRef& ref,
                                                        const ShardUse& shard) {
  return direct_ != nullptr ? direct_->Read(ref.shard, shard, ref.block)
                            : RemoteBlocks::Fetch(dataset_, ref.shard, shard, ref.block);
}

bool SampleDecoder::DecodeFrom(const ShardUse& shard, const HeldBlock* held, Slot& slot,
                               std::size_t row) {
  const SampleRef& ref = slot.refs[row];
  file_ = shard.get();
  slot.files[row] = shard;
  needs_image_ = false;
  try {
    const ReadGuard guard = shard->Guard();
    const Defect defect = Read(*shard, held, slot, row);
    if (defect == nullptr) return true;
    error_ = Describe(ref, code_, defect);
  } catch (const Error& error) {
    error_ = error;
  } catch (const std::bad_alloc&) {
    error_ = Describe(ref, ErrorCode::kMemory, "there is not enough memory to decode it");
  }
  return false;
}

bool SampleDecoder::DecodeFromOriginal(const ShardUse& copy, Slot& slot, std::size_t row) {
  const SampleRef& ref = slot.refs[row];
  const std::string of_copy = error_->sentence();
  try {
    const ShardUse original = dataset_.Original(ref.shard);
    std::shared_ptr<const HeldBlock> held;
    if (direct_ != nullptr) held = direct_->Read(ref.shard, original, ref.block);
    if (DecodeFrom(original, held.get(), slot, row)) {
      stage_->Reject(ref.shard, copy);
      return true;
    }
  } catch (const Error& error) {
    error_ = error;
  }
  error_ = Error(error_->code(), error_->file(), error_->place(),
                 error_->sentence() + "; its copy (LoaderOptions::stage) cannot be read either: " +
                     copy->name() + ": " + of_copy);
  return false;
}

bool SampleDecoder::LeaveCopy(const Slot& slot, std::size_t row) {
  const std::uint32_t shard = slot.refs[row].shard;
  if (stage_ == nullptr || !dataset_.IsCopy(shard, *slot.files[row])) return false;
  stage_->Reject(shard, slot.files[row]);
  return true;
}

Defect SampleDecoder::Read(const ShardFile& shard, const HeldBlock* held, Slot& slot,
                           std::size_t row) {
  const SampleRef& ref = slot.refs[row];
  const BlockView block = held != nullptr ? held->View(shard, ref.block) : shard.Block(ref.block);
  const RowLayout& stored = dataset_.LayoutOf(ref.shard);
  for (const SlotLayout::ArrayField& array : layout_.arrays) {
    std::byte* const target = slot.memory.data() + array.offset + row * array.sample_bytes;
    if (array.field == Schema::kNone || !stored.has(array.field)) {
      if (array.absent.empty()) {
        std::memset(target, 0, array.sample_bytes);
      } else {
        std::memcpy(target, array.absent.data(), array.sample_bytes);
      }
      continue;
    }
    const Bytes value = block.Elements(stored, ref.row, array.field);
    std::memcpy(target, value.data(), value.size());
  }
  payload_ = {};
  code_ = ErrorCode::kCorrupt;
  lacks_image_ = held != nullptr && held->lacks_image();
  compared_before_.reset();
  fields_.Clear();
  Defect defect = nullptr;
  if (!layout_.images.empty()) defect = DecodeImage(block, slot, row);
  if (defect == nullptr && !fields_.empty()) {
    defect = fields_.Read(block, slot, row, decoder_, Verifies(ref, false));
    code_ = fields_.code();
    for (const Bytes payload : fields_.payloads())
      payload_bytes_ += payload.size();
  }
  // Bytes that could not be read are zeros, which may even decode to a good image.
  const bool lost = held != nullptr
                        ? Lost(*held, block, ref.row)
                        : Lost(shard, block, ref.row) ||
                              (defect != nullptr && shard.CutBefore(BytesOf(shard, ref)));
  if (lost || (defect != nullptr && !shard.StillTheSame())) throw shard.Unreadable(PlaceOf(ref));
  if (defect == nullptr && compared_before_ == false) compared_->Add(ref, shard);
  if (defect == nullptr && pictures_.pending() && (held != nullptr || !shard.CutBefore(payload_))) {
    pictures_.Keep(ref.index);
  }
  return defect;
}

bool SampleDecoder::Verifies(const SampleRef& ref, bool raw) {
  if (verify_ == Verify::kAlways || (verify_ == Verify::kAuto && !raw)) return true;
  if (verify_ == Verify::kNever) return false;
  if (!compared_before_) compared_before_ = compared_->Has(ref, *file_);
  return !*compared_before_;
}

template <class Source>
bool SampleDecoder::Lost(const Source& source, const BlockView& block, std::uint32_t row) const {
  const std::vector<Bytes>& others = fields_.payloads();
  return source.Lost(block.Row(row)) || source.Lost(payload_) ||
         std::any_of(others.begin(), others.end(),
                     [&source](const Bytes payload) { return source.Lost(payload); });
}

bool SampleDecoder::StillThere(const Slot& slot, std::size_t row) {
  if (holds_blocks_) return true;  // bytes in memory, or in an object store, cannot change
  if (!unverified_ && !layout_.images.empty()) return true;
  const SampleRef& ref = slot.refs[row];
  const ShardFile& shard = *slot.files[row];
  if (std::find(looked_at_.begin(), looked_at_.end(), &shard) != looked_at_.end()) return true;
  if (!shard.CutBefore(shard.bytes())) {
    looked_at_.push_back(&shard);
    return true;
  }
  if (!shard.CutBefore(BytesOf(shard, ref))) return true;
  shard_fault_.reset();  // it is about another row
  error_ = shard.Unreadable(PlaceOf(ref));
  return false;
}

Defect SampleDecoder::DecodeImage(const BlockView& block, Slot& slot, std::size_t row) {
  const SampleRef& ref = slot.refs[row];
  const SlotLayout::ImageField& picture = layout_.picture();
  DropJpeg(slot, row);
  ImagePayload payload;
  std::uint64_t checksum = 0;
  if (const Defect defect =
          block.GetImage(dataset_.LayoutOf(ref.shard), ref.row, picture.field, payload, checksum)) {
    return defect;
  }
  payload_ = payload.bytes;
  if (payload.codec == Codec::kAbsent) return "the sample has no image in this field";
  if (const OverLimit over = dataset_.LimitsOf(ref.shard).CheckImage(picture.field, payload)) {
    code_ = over.code;
    return over.what;
  }
  if (payload.pixel_type != picture.pixels) {
    return "the image has another pixel type than the rest of the field";
  }
  frames_.clear();
  for (std::size_t v = 0; v < views_.size(); ++v) {
    frames_.push_back(views_[v].geometry.FrameFor(payload.width, payload.height, slot.view_seeds[v],
                                                  slot.positions[row], slot.stages[v]));
    // The layout relies on the sizes in the manifest. If a shard differs, its rows must not be
    // written beyond their place.
    if (!SetRowSize(slot, v, row, frames_[v].region.width(), frames_[v].region.height()))
      return "the image's size is not the one in the manifest";
    std::vector<VisiblePart>& shown = slot.images[v].shown;
    if (!shown.empty()) shown[row] = VisiblePart(frames_[v]);
  }
  if (stored_ != nullptr && ShipStored(payload, slot, row)) {
    unverified_ = true;  // the row's other values come from the file
    payload_ = {};
    if (!fields_.empty()) fields_.SetPicture(picture.field, payload, frames_[0]);
    return nullptr;
  }
  const auto channels = static_cast<std::uint32_t>(layout_.picture().image.channels);
  const bool kept = pictures_.Find(ref.index, payload, frames_[0].region, channels);
  if (!kept && lacks_image_) {
    needs_image_ = true;
    return "its kept picture cannot be read";
  }
  const bool verify = !kept && (Verifies(ref, payload.codec == Codec::kRaw) || pictures_.pending());
  // A kept picture is not verified here, either: the row's other values come from the file.
  unverified_ = unverified_ || !verify;
  if (verify && !block.Matches(payload.bytes, checksum)) {
    return "the image's checksum does not match: the shard is damaged. `sluice verify` lists all "
           "damage";
  }
  if (kept) {
    payload_ = {};
  } else {
    payload_bytes_ += payload.bytes.size();
  }
  if (!fields_.empty()) fields_.SetPicture(picture.field, payload, frames_[0]);
  if (picture.nearest) {
    if (payload.channels != channels)
      return "the mask has another number of channels than the rest of the field";
    return fields_.DecodeMask(payload, frames_[0], picture.fill, OrderOf(picture.image),
                              PixelsOf(slot, 0, row), decoder_);
  }
  if (picture.pixels == PixelType::kUint16) {
    return decoder_.Decode(payload, frames_[0].region,
                           {PixelsOf(slot, 0, row), channels, OrderOf(picture.image)});
  }
  return WriteViews(payload, slot, row, kept);
}

std::span<PixelOp> SampleDecoder::OpsOf(Slot& slot, std::size_t view, std::size_t row) const {
  const SlotLayout::DeviceOps& ops = layout_.images[view].ops;
  auto* const first = reinterpret_cast<PixelOp*>(slot.memory.data() + ops.offset);
  return std::span(first + row * ops.each, ops.each);
}

bool SampleDecoder::Ship(const StoredPicture& stored, const ImagePayload& payload, Slot& slot,
                         std::size_t view, std::size_t row) {
  if (!layout_.jpeg || slot.all_here || !IsOffered(slot, row)) return false;
  if (frames_[view].warped || !views_[view].pixels.idle(slot.stages[view])) return false;
  const auto channels = static_cast<std::uint32_t>(layout_.picture().image.channels);
  const Region& region = frames_[view].region;
  const bool made = stored.at != nullptr ? parcel_.Make(stored, payload, region, channels)
                                         : parcel_.Make(payload, region, channels);
  return made && PutJpeg(slot, view, row, parcel_);
}

bool SampleDecoder::ShipStored(const ImagePayload& payload, Slot& slot, std::size_t row) {
  const StoredPicture stored = stored_->Find(slot.refs[row].index);
  if (stored.at == nullptr || SharedPart::Cheaper(payload, frames_)) return false;
  for (std::size_t v = 0; v < views_.size(); ++v) {
    if (Ship(stored, payload, slot, v, row)) continue;
    DropJpeg(slot, row);
    return false;
  }
  for (std::size_t v = 0; v < views_.size(); ++v)
    DrawOps(slot, v, row);
  return true;
}

// Draws what a device is to do with a view of the row.
void SampleDecoder::DrawOps(Slot& slot, std::size_t view, std::size_t row) const {
  const std::span<PixelOp> ops = OpsOf(slot, view, row);
  if (ops.empty()) return;
  const Region& region = frames_[view].region;
  views_[view].pixels.DrawOps({nullptr, region.width(), region.height(),
                               static_cast<std::uint32_t>(layout_.picture().image.channels)},
                              slot.view_seeds[view], slot.positions[row], ops, slot.stages[view]);
}

Defect SampleDecoder::WriteViews(const ImagePayload& payload, Slot& slot, std::size_t row,
                                 bool kept) {
  const auto channels = static_cast<std::uint32_t>(layout_.picture().image.channels);
  const bool shared = !kept && !pictures_.whole(payload) && SharedPart::Cheaper(payload, frames_);
  if (shared) {
    if (const Defect defect = shared_.Decode(decoder_, payload, frames_, channels)) return defect;
  }
  for (std::size_t v = 0; v < views_.size(); ++v) {
    const auto decode = [&](const Region& region, const PixelTarget& target) {
      return shared ? shared_.Take(decoder_, region, target)
                    : pictures_.Decode(decoder_, payload, region, target);
    };
    if (!shared && !kept && Ship({}, payload, slot, v, row)) {
      // The device writes its pixels.
    } else if (const Defect defect =
                   writer_.Write(decode, frames_[v], views_[v].pixels,
                                 {slot.view_seeds[v], slot.positions[row], slot.stages[v]},
                                 {PixelsOf(slot, v, row), channels, OrderOf(slot.images[v].image),
                                  read_later_})) {
      return defect;
    }
    DrawOps(slot, v, row);
  }
  return nullptr;
}

std::string SampleDecoder::KeyOf(const SampleRef& ref) const {
  try {
    const ShardUse shard = dataset_.Shard(ref.shard);
    return dataset_.Key(*shard, std::uint64_t{ref.block} * shard->block_samples() + ref.row,
                        kMostKeyBytes);
  } catch (const Error&) {
    return {};
  }
}

std::string SampleDecoder::PlaceOf(const SampleRef& ref) const {
  const std::string key = KeyOf(ref);
  return "sample " + std::to_string(ref.index) + " " +
         (key.empty() ? "(its key cannot be read)" : "\"" + key + "\"") + " (block " +
         std::to_string(ref.block) + ", row " + std::to_string(ref.row) + ")";
}

Error SampleDecoder::Describe(const SampleRef& ref, ErrorCode code, const std::string& what) const {
  return Error(code, file_->name(), PlaceOf(ref), what);
}

}  // namespace sluice
