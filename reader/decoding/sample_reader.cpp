// MakeRow() reads arrays first, then the picture, then the other fields, which need the picture's
// frame. (If a step looks at boxes, the fields of variable length are read before the picture.)
// Verify::kAuto compares a raw payload with its checksum once, and any other payload each time it
// is decoded. A row made from a mapping without a comparison is reported as unverified; SlotFiller
// then checks the file.
//
// ReadFrom() judges a fault last. If bytes were lost, or the file is no longer the one that was
// opened, the file is unreadable, whatever the decoder said; only otherwise is the sample damaged.
// A lack of memory is never a fault of the sample.
#include "reader/decoding/sample_reader.h"

#include <algorithm>
#include <cstring>

#include "format/disk/block.h"
#include "format/pixels/kernels/kernels.h"
#include "reader/dataset/options_of.h"
#include "reader/reading/remote_blocks.h"
#include "reader/reading/supplied_blocks.h"

namespace sluice {

namespace {

Bytes BlockOf(const ShardFile& shard, const SampleRef& ref) {
  const BlockEntry& block = shard.block_entry(ref.block);
  return shard.bytes().subspan(block.offset, block.bytes);
}

}  // namespace

SampleReader::SampleReader(const BatchRecipe& recipe, const DecodingContext& context)
    : dataset_(recipe.dataset),
      layout_(recipe.layout),
      context_(context),
      // If rows are kept as the user's function left them, every payload is compared with its
      // checksum first, whatever `verify` says.
      verify_(context.decoded_pictures != nullptr && KeepsFunctionRows(recipe.options)
                  ? Verify::kAlways
              : dataset_.facts->supply != nullptr ? Verify::kNever  // checksums were just made
                                                  : recipe.options.integrity.verify),
      pictures_(KeepsFunctionRows(recipe.options) ? nullptr : context.decoded_pictures),
      raw_bytes_(recipe.options.on_device.images == ImagesIn::kStorage
                     ? dataset_.facts->RawImageBytes(layout_.picture_field())
                     : 0),
      painter_(recipe, pictures_, context.new_painter ? context.new_painter() : nullptr),
      fields_(recipe),
      sources_(recipe) {}

std::uint64_t SampleReader::MemoryBytes(const BatchRecipe& recipe) {
  // Bytes a pixel for a decoder that meets every kind of payload: components by our decoder and by
  // libjpeg (3 + 3), a progressive file's coefficients (6), rows in other colours (3), a zstd
  // payload inflated and converted (up to 8); and 1 as a margin for smaller buffers, such as single
  // lines.
  constexpr std::uint64_t kPixelBytes = 24;
  constexpr std::uint64_t kMargin = 32;  // whole MCUs on either side
  // Copies of a JPEG's coded data: one for a segment that is decoded alone, and one for each
  // strand, because as many segments are decoded side by side.
  constexpr std::uint64_t kSegmentCopies = 1 + kernels::kStrands;
  if (recipe.layout.images.empty()) return 0;
  const std::size_t field = recipe.layout.picture_field();
  const ImageSummary& images = recipe.dataset.facts->ImagesOf(field);
  const std::uint64_t pixels =
      recipe.dataset.facts->limits.pixels(field) +
      kMargin * (std::uint64_t{images.max_width} + images.max_height + kMargin);
  // The painter of wide images counts all that they take.
  const std::uint64_t pixel_bytes = recipe.layout.picture().wide ? 0 : kPixelBytes;
  return pixel_bytes * pixels + kSegmentCopies * images.max_payload_bytes +
         PicturePainter::MemoryBytes(recipe, pixels) + FieldReader::MemoryBytes(recipe);
}

void SampleReader::Prefetch(const Slot& slot, std::size_t row) const noexcept {
  constexpr std::size_t kLineBytes = 64;         // the bytes that a CPU fetches at a time
  constexpr std::size_t kFetchedBytes = 1024;    // of an image; then the CPU prefetches by itself
  constexpr std::size_t kMaxImageBytes = 16384;  // the largest image for which this pays
  if (raw_bytes_ == 0 || raw_bytes_ > kMaxImageBytes || context_.holds_blocks) return;
  if (!dataset_.table.keeps_all()) return;  // finding the shard would take a lock
  const SampleRef& ref = slot.refs[row];
  const ShardUse shard = dataset_.table.OpenShard(ref.shard);
  if (shard == nullptr) return;
  const BlockEntry& entry = shard->block_entry(ref.block);
  const std::byte* const block = shard->bytes().data() + entry.offset;
  const std::size_t record_bytes = dataset_.facts->LayoutOf(ref.shard).record_bytes();
  __builtin_prefetch(block + sizeof(BlockHeader) + ref.record * record_bytes);
  // Assumes that the image is the first payload field, as it mostly is; otherwise this fetches in
  // vain.
  const std::byte* const payload = block + PayloadStart(entry.count, record_bytes) +
                                   ref.record * AlignUp(raw_bytes_, kPayloadAlignment);
  for (std::size_t at = 0; at < std::min(raw_bytes_, kFetchedBytes); at += kLineBytes)
    __builtin_prefetch(payload + at);
}

RowVerdict SampleReader::Read(Slot& slot, std::size_t row) {
  RowVerdict verdict = ReadPart(slot, row, 0);
  for (std::size_t part = 1; part < PartsOf(slot, row) && !verdict.failed(); ++part) {
    const bool unverified = verdict.unverified;
    verdict = ReadPart(slot, row, part);
    verdict.unverified = verdict.unverified || unverified;
  }
  return verdict;
}

RowVerdict SampleReader::ReadPart(Slot& slot, std::size_t row, std::size_t part) {
  Sample sample;
  sample.ref = RefOf(slot, row, part);
  sample.part = part;
  const auto failed = [part](RowVerdict verdict) {
    verdict.part = part;
    return verdict;
  };
  try {
    if (const std::optional<RowVerdict> verdict = Open(slot, row, sample)) return failed(*verdict);
    std::optional<Error> error = ReadFrom(sample, slot, row);
    if (sample.needs_picture) {
      sample.held = ReadNow(sample, slot);
      error = ReadFrom(sample, slot, row);
    }
    if (error) return failed(RowVerdict::Of(*error));
    // Without a picture, no checksum covers the row. But if the row came from a block held in
    // memory, a later change of the file cannot matter.
    const bool unverified = sample.unverified || layout_.images.empty();
    return {.unverified = unverified && !context_.holds_blocks};
  } catch (const Error& error) {
    return failed(RowVerdict::Of(error));
  } catch (const std::bad_alloc&) {
    return failed(RowVerdict::Of(Error(ErrorCode::kMemory, "", PlaceOf(sample.ref),
                                       "there is not enough memory to read it")));
  }
}

std::optional<RowVerdict> SampleReader::Open(Slot& slot, std::size_t row, Sample& sample) {
  if (context_.holds_blocks)
    sample.held = sample.part == 0 ? slot.blocks[row] : PartnerOf(slot, row, sample.part).block;
  if (sample.held != nullptr && sample.held->read()) {
    sample.file = sample.held->shard();
    return std::nullopt;
  }
  RowVerdict verdict;
  sample.file = dataset_.table.Shard(sample.ref.shard, verdict.error);
  verdict.of_shard = true;
  if (sample.file == nullptr) return verdict;
  // The block was not read ahead: the row is a substitute, or the shard could not be opened then.
  if (context_.holds_blocks) sample.held = ReadNow(sample, slot);
  return std::nullopt;
}

std::shared_ptr<const HeldBlock> SampleReader::ReadNow(const Sample& sample, const Slot& slot) {
  const PartClock clock(times_, "files");
  const SampleRef& ref = sample.ref;
  const ShardUse& shard = sample.file;
  if (dataset_.facts->supply != nullptr) {
    const bool kept = !sample.needs_picture && pictures_ != nullptr && pictures_->Has(ref.index);
    return SuppliedBlocks::Make(*dataset_.facts->supply, ref, shard, kept, &slot.abandoned);
  }
  return context_.direct != nullptr ? context_.direct->Read(ref.shard, shard, ref.block)
                                    : RemoteBlocks::Fetch(dataset_, ref.shard, shard, ref.block);
}

std::optional<Error> SampleReader::ReadFrom(Sample& sample, Slot& slot, std::size_t row) {
  const ShardFile& shard = *sample.file;
  const SampleRef& ref = sample.ref;
  FileOf(slot, row, sample.part) = sample.file;
  sample.picture = {};
  sample.compared_before = ComparedBefore::kNotAsked;
  sample.unverified = sample.needs_picture = false;
  try {
    sources_.Find(ref);
    const ReadGuard guard(sources_.Mappings(shard));
    const BlockView block =
        sample.held != nullptr ? sample.held->View(shard, ref.block) : shard.Block(ref.block);
    sources_.Open(block, dataset_.facts->LayoutOf(ref.shard), ref.record);
    const ValueFault fault = MakeRow(block, sample, slot, row);
    const RowSources::ColumnRow* const of_column = sources_.ColumnOf(fields_.faulty());
    const ShardFile& at_fault = of_column == nullptr ? shard : *of_column->file;
    // Bytes that could not be read are zeros, which may even decode to a good picture.
    if (Lost(sample, block, bool(fault)) ||
        (fault && of_column == nullptr && !shard.StillTheSame()))
      return shard.Unreadable(PlaceOf(ref));
    if (std::optional<Error> lost = sources_.LostError(fields_.payloads())) return lost;
    if (fault && of_column != nullptr && !at_fault.StillTheSame())
      return at_fault.Unreadable(PlaceOf(ref, of_column->ref));
    if (fault) {
      return Error(fault.code, at_fault.name(),
                   of_column == nullptr ? PlaceOf(ref) : PlaceOf(ref, of_column->ref), fault.what);
    }
    if (sample.compared_before == ComparedBefore::kNo) context_.compared->Add(ref, shard);
    if (painter_.keeps() && (sample.held != nullptr || !shard.CutOff(sample.picture)))
      painter_.Keep(ref.index);
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::kMemory, shard.name(), PlaceOf(ref),
                 "there is not enough memory to decode it");
  }
}

ValueFault SampleReader::MakeRow(const BlockView& block, Sample& sample, Slot& slot,
                                 std::size_t row) {
  if (sample.part == 0) {
    const PartClock clock(times_, "fields");
    CopyArrays(slot, row);
  }
  fields_.BeginPart(slot, row, sample.part);
  const auto read_variables = [&] {
    return fields_.ReadVariables(sources_, slot, row, Verifies(sample, false));
  };
  if (fields_.precede_picture()) {
    if (const ValueFault fault = read_variables()) return fault;
  }
  if (!layout_.images.empty()) {
    if (const ValueFault fault = MakePicture(block, sample, slot, row)) return fault;
  }
  if (fields_.empty()) return {};
  const PartClock clock(times_, "fields");
  ValueFault fault;
  if (!fields_.precede_picture()) fault = read_variables();
  if (!fault) fault = fields_.ReadImagesAndMove(slot, row, decoder_, verify_ == Verify::kAlways);
  if (!fault && sample.part > 0) fault = fields_.JoinPart(slot, row);
  for (const Bytes payload : fields_.payloads())
    decoded_.bytes += payload.size();
  decoded_.left_out_objects = fields_.left_out_objects();
  return fault;
}

void SampleReader::CopyArrays(Slot& slot, std::size_t row) const {
  for (const SlotLayout::ArrayField& array : layout_.arrays) {
    std::byte* const target = slot.memory.data() + array.offset + row * array.sample_bytes;
    const RowSources::Place* const place =
        array.field == Schema::kNone ? nullptr : sources_.Of(array.field);
    if (place != nullptr) {
      const Bytes value = place->block.Elements(*place->layout, place->record, array.field);
      std::memcpy(target, value.data(), value.size());
    } else if (array.absent.empty()) {
      std::memset(target, 0, array.sample_bytes);
    } else {
      std::memcpy(target, array.absent.data(), array.sample_bytes);
    }
  }
}

ValueFault SampleReader::MakePicture(const BlockView& block, Sample& sample, Slot& slot,
                                     std::size_t row) {
  const SlotLayout::ImageField& field = layout_.picture();
  const SampleRef& ref = sample.ref;
  if (sample.part == 0) painter_.Clear(slot, row);
  ImagePayload payload;
  std::uint64_t checksum = 0;
  if (const Defect defect = block.GetImage(dataset_.facts->LayoutOf(ref.shard), ref.record,
                                           field.field, payload, checksum)) {
    return {defect};
  }
  sample.picture = payload.bytes;
  if (payload.codec == Codec::kAbsent) return {"the sample has no image in this field"};
  if (const ValueFault over = dataset_.facts->LimitsOf(ref.shard).CheckImage(field.field, payload))
    return over;
  if (payload.pixel_type != field.pixels)
    return {"the image's pixel type differs from that of the field's other images"};
  // The layout relies on the sizes in the manifest. If a shard differs, its rows must not be
  // written beyond their place.
  PictureBoxes* const boxes =
      fields_.FindBoxes(slot, row, field.field, {payload.width, payload.height});
  if (!painter_.FrameViews(payload, slot, row, sample.part, boxes))
    return {"the image's size is not the one in the manifest"};
  const PicturePainter::From from = painter_.Find(payload, slot, row);
  if (from == PicturePainter::From::kPayload) {
    if (sample.held != nullptr && sample.held->lacks_image()) {
      sample.needs_picture = true;  // the fault ends this attempt, and Read() tries again
      return {"its kept picture cannot be read"};
    }
    // The payload of a picture to be kept is always compared with its checksum.
    // A tiled image has checksums of its own, which the decoder compares for the tiles that it
    // reads: comparing the whole payload would take as long as decoding a crop.
    const bool by_tiles = payload.codec == Codec::kTiled && verify_ != Verify::kAlways;
    sample.unverified =
        !by_tiles && !Verifies(sample, payload.codec == Codec::kRaw) && !painter_.keeps();
    const PartClock clock(times_, "checksum");
    if (!by_tiles && !sample.unverified && !block.Matches(payload.bytes, checksum)) {
      return {
          "the image's checksum does not match: the shard is damaged. `sluice verify` lists all "
          "damage"};
    }
    decoded_.bytes += payload.bytes.size();
    decoded_.picture_pixels += std::uint64_t{payload.width} * payload.height;
    decoded_.shown_pixels += painter_.shown_pixels();
  } else {
    sample.picture = {};
    sample.unverified = true;  // the row's other values come from the file
  }
  if (!fields_.empty()) fields_.SetPicture(field.field, payload, painter_.first_frame());
  if (from == PicturePainter::From::kDevice) return {};
  const PartClock clock(times_, "decode");
  if (!field.nearest) return {painter_.Paint(payload, decoder_, slot, row)};
  if (payload.channels != field.image.channels)
    return {"the mask has another number of channels than the rest of the field"};
  return {fields_.DecodeMask(payload, painter_.first_frame(), field.fill, OrderOf(field.image),
                             PixelsOf(slot, 0, row), decoder_)};
}

bool SampleReader::Verifies(Sample& sample, bool raw) {
  if (verify_ == Verify::kNever) return false;
  if (verify_ == Verify::kAlways || !raw) return true;
  if (sample.compared_before == ComparedBefore::kNotAsked) {
    sample.compared_before = context_.compared->Has(sample.ref, *sample.file) ? ComparedBefore::kYes
                                                                              : ComparedBefore::kNo;
  }
  return sample.compared_before == ComparedBefore::kNo;
}

bool SampleReader::Lost(const Sample& sample, const BlockView& block, bool faulty) const {
  const auto any_lost = [&](const auto& source) {
    const std::vector<Bytes>& others = fields_.payloads();
    return source.Lost(block.Record(sample.ref.record)) || source.Lost(sample.picture) ||
           std::ranges::any_of(others,
                               [&source](const Bytes payload) { return source.Lost(payload); });
  };
  if (sample.held != nullptr) return any_lost(*sample.held);
  return any_lost(*sample.file) ||
         (faulty && sample.file->CutOff(BlockOf(*sample.file, sample.ref)));
}

std::string SampleReader::KeyOf(const SampleRef& ref) const {
  try {
    const ShardUse shard = dataset_.table.Shard(ref.shard);
    return dataset_.Key(*shard, std::uint64_t{ref.block} * shard->block_samples() + ref.record,
                        kMaxKeyChunkBytes);
  } catch (const Error&) {
    return {};
  }
}

std::string SampleReader::PlaceOf(const SampleRef& ref, const SampleRef& at) const {
  const std::string key = KeyOf(ref);
  return "sample " + std::to_string(ref.index) + " " +
         (key.empty() ? "(its key cannot be read)" : "\"" + key + "\"") + " (block " +
         std::to_string(at.block) + ", record " + std::to_string(at.record) + ")";
}

bool FileCheck::Holds(const ShardFile& file, const SampleRef& ref) {
  if (std::ranges::find(whole_, &file) != whole_.end()) return true;
  if (file.CutOff(file.bytes())) return !file.CutOff(BlockOf(file, ref));
  whole_.push_back(&file);
  return true;
}

}  // namespace sluice
