// FillStep() makes all rows of a run and then checks their files, because a file may be cut while
// its rows are read. Only a row whose bytes are known to be right is kept or shared. If a checksum
// was compared, it is shared at once; otherwise after the check.
//
// A row that fails after its slot was abandoned is not a fault. A lack of memory fails the batch
// whatever on_fault says. Close() runs on the thread that finished the batch's last row.
// CloseDecoded() runs on the thread that ends the upload; it first makes the rows that the device
// refused, on the host.
#include "reader/decoding/slot_filler.h"

#include <algorithm>
#include <utility>

#include "format/random.h"
#include "reader/dataset/options_of.h"

namespace sluice {

namespace {

Error FunctionError(const char* which, ErrorCode code, const std::string& what) {
  return Error(code, "LoaderOptions::" + std::string(which) + "_function " + what);
}

}  // namespace

SlotFiller::SlotFiller(const BatchRecipe& recipe, const DecodingContext& context, FaultLog& faults)
    : dataset_(recipe.dataset),
      options_(recipe.options),
      program_(recipe.program),
      faults_(faults),
      reader_(recipe, context),
      substitutes_(dataset_, options_),
      cached_(KeepsFunctionRows(options_) ? context.decoded_pictures : nullptr),
      shared_(context.shared_rows) {
  if (context.holds_blocks || !PlainCopy::Serves(recipe)) return;
  plain_.emplace(recipe, options_.integrity.verify == Verify::kNever ? nullptr : context.compared);
}

SlotFiller::Outcome SlotFiller::Fill(Slot& slot, std::size_t begin, std::size_t end) {
  const PartClock clock(times_, "other");
  Outcome outcome;
  row_seconds_.clear();
  if (times_rows_) row_begun_ = Clock::now();
  const std::size_t step = plain_ ? PlainCopy::kMaxRows : end - begin;
  for (std::size_t row = begin; row < end; row += step)
    if (!FillStep(slot, row, std::min(row + step, end), outcome)) break;
  shared_.GiveUpAll();
  outcome.costs = std::exchange(costs_, {});
  return outcome;
}

bool SlotFiller::FillStep(Slot& slot, std::size_t begin, std::size_t end, Outcome& outcome) {
  if (slot.abandoned.load(std::memory_order_relaxed)) return false;
  if (plain_) {
    const PartClock clock(times_, "copy");
    plain_->Fill(slot, begin, end);
  }
  bool unverified = false;  // any of the rows
  for (std::size_t row = begin; row < end; ++row) {
    if (Copied(row)) continue;
    if (slot.flags[row] == kLeftOut) {  // the sample was deleted
      ++outcome.left_out;
      continue;
    }
    if (slot.abandoned.load(std::memory_order_relaxed)) return false;
    // Asks for the next sample's bytes while this one is decoded.
    if (row + 1 < end) reader_.Prefetch(slot, row + 1);
    const RowVerdict verdict = MakeRow(slot, row);
    if (times_rows_) {
      const Clock::time_point now = Clock::now();
      row_seconds_.push_back(SecondsBetween(std::exchange(row_begun_, now), now));
    }
    // A row that was given up is not a fault.
    if (verdict.failed() && slot.abandoned.load(std::memory_order_relaxed)) return false;
    if (!verdict.failed() && !verdict.unverified) shared_.Put(slot, row);
    if (verdict.failed() && !TreatFault(slot, row, verdict, outcome)) return false;
    unverified = unverified || verdict.unverified;
    DropBlocks(slot, row);  // frees memory for the next blocks
  }
  // Files are checked once the rows are made. If a file was cut in the middle of a page, the rest
  // of that page reads as zeros; where no checksum was compared, only this check notices that.
  files_.BeginRun();
  for (std::size_t row = begin; row < end; ++row) {
    if (Copied(row) || slot.flags[row] == kLeftOut) continue;
    const RowVerdict verdict = unverified ? CheckFile(slot, row) : RowVerdict();
    if (!verdict.failed()) {
      cached_.Keep(slot, row);
      shared_.Put(slot, row);
    } else if (!TreatFault(slot, row, verdict, outcome)) {
      return false;
    }
  }
  if (!dataset_.table.keeps_all()) {
    for (std::size_t row = begin; row < end; ++row)  // the rows are done
      for (std::size_t part = 0; part < PartsOf(slot, row); ++part)
        FileOf(slot, row, part).reset();  // its shard may be unmapped
  }
  return true;
}

RowVerdict SlotFiller::MakeRow(Slot& slot, std::size_t row) {
  // A row from a cache or another loader has been through the steps and checks.
  if (cached_.Restore(slot, row) || shared_.Take(slot, row)) return {};
  RowVerdict verdict = Read(slot, row);
  if (verdict.failed()) return verdict;
  if (program_.target() && !program_.SetTarget(slot, row)) {
    return Failure(slot, row, ErrorCode::kInvalidArgument,
                   "its label is not one of OneHot's classes");
  }
  if (options_.sample_function) {
    const PartClock clock(times_, "function");
    RandomStream stream(slot.draw_seed, Purpose::kSampleFunction, slot.positions[row]);
    bool memory_kept = false;
    const std::optional<Error> error =
        Call(options_.sample_function, "sample",
             MutableSample(dataset_, slot, row, Draws(stream), user_memory_), memory_kept);
    if (error) verdict = Failure(slot, row, error->code(), error->sentence());
    verdict.memory_kept = memory_kept;
    if (verdict.failed()) return verdict;
  }
  const std::string unfit = program_.UnfitToMix(slot, row);
  if (unfit.empty()) return verdict;
  RowVerdict failure = Failure(slot, row, ErrorCode::kInvalidArgument, unfit);
  failure.memory_kept = verdict.memory_kept;
  return failure;
}

template <class Rows>
std::optional<Error> SlotFiller::Call(const std::function<void(Rows&)>& function, const char* which,
                                      Rows&& rows, bool& memory_kept) {
  std::optional<Error> error;
  try {
    function(rows);
  } catch (const Error& thrown) {
    error = FunctionError(which, thrown.code(), std::string("threw: ") + thrown.what());
  } catch (const std::exception& thrown) {
    error = FunctionError(which, ErrorCode::kState, std::string("threw: ") + thrown.what());
  } catch (...) {
    error = FunctionError(which, ErrorCode::kState, "threw something that is not a std::exception");
  }
  memory_kept = rows.kept_;
  if (memory_kept && !error) error = FunctionError(which, ErrorCode::kState, "called Keep()");
  return error;
}

RowVerdict SlotFiller::Failure(const Slot& slot, std::size_t row, ErrorCode code,
                               const std::string& what) const {
  return RowVerdict::Of(
      Error(code, slot.files[row]->name(), reader_.PlaceOf(slot.refs[row]), what));
}

RowVerdict SlotFiller::Read(Slot& slot, std::size_t row) {
  if (options_.on_device.decode != DecodeOn::kAuto || slot.device == nullptr ||
      slot.device->host_only) {
    return reader_.Read(slot, row);
  }
  const Clock::time_point begin = Clock::now();
  RowVerdict verdict = reader_.Read(slot, row);
  // How long this thread took, with and without the offer to the device: the loader divides the
  // pictures by that.
  if (!verdict.failed())
    costs_.Add(slot.device->share.Offers(slot.index, slot.layout->batch_size, row),
               SecondsBetween(begin, Clock::now()));
  return verdict;
}

void SlotFiller::SetUp(unsigned thread) {
  if (!options_.thread_setup) return;
  const auto fail = [thread](const std::string& what) {
    throw Error(ErrorCode::kState,
                "LoaderOptions::thread_setup threw for thread " + std::to_string(thread) + what);
  };
  try {
    user_memory_.state = options_.thread_setup(thread);
  } catch (const std::exception& error) {
    fail(": " + std::string(error.what()));
  } catch (...) {
    fail(" something that is not a std::exception");
  }
}

RowVerdict SlotFiller::CheckFile(Slot& slot, std::size_t row) {
  if (slot.files[row] == nullptr) return {};  // the row came from the cache
  for (std::size_t part = 0; part < PartsOf(slot, row); ++part) {
    const SampleRef& ref = RefOf(slot, row, part);
    const ShardUse& file = FileOf(slot, row, part);
    if (files_.Holds(*file, ref)) continue;
    RowVerdict verdict = RowVerdict::Of(file->Unreadable(reader_.PlaceOf(ref)));
    verdict.part = part;
    return verdict;
  }
  return {};
}

void SlotFiller::DropBlocks(Slot& slot, std::size_t row) {
  if (slot.blocks.empty()) return;
  slot.blocks[row].reset();
  for (std::size_t part = 1; slot.has_partners && part < slot.layout->parts; ++part)
    PartnerOf(slot, row, part).block.reset();
}

std::optional<Error> SlotFiller::DecodeHere(Slot& slot, std::size_t row) {
  Outcome outcome;
  // FillStep() would give the picture to the device again.
  slot.device->host_only = true;
  FillStep(slot, row, row + 1, outcome);
  slot.left_out += outcome.left_out;
  return std::move(outcome.error);
}

std::optional<Error> SlotFiller::DecodeAllHere(Slot& slot) {
  for (std::size_t row = 0; row < slot.rows; ++row) {
    if (slot.flags[row] == kLeftOut || !slot.device->HasPicture(row)) continue;
    if (std::optional<Error> error = DecodeHere(slot, row)) return error;
  }
  slot.device->TakeBackAll();  // rows that were left out may still have some
  return std::nullopt;
}

std::optional<Error> SlotFiller::CloseDecoded(Slot& slot, std::span<const std::size_t> refused) {
  for (const std::size_t row : refused)
    if (std::optional<Error> error = DecodeHere(slot, row)) return error;
  if (slot.left_out == 0) return CloseHere(slot);
  if (std::optional<Error> error = DecodeAllHere(slot)) return error;
  return CloseHere(slot);
}

std::optional<Error> SlotFiller::Close(Slot& slot) {
  if (slot.device == nullptr || !slot.device->HasPictures()) return CloseHere(slot);
  if (slot.left_out == 0) return std::nullopt;
  if (std::optional<Error> error = DecodeAllHere(slot)) return error;
  return CloseHere(slot);
}

std::optional<Error> SlotFiller::CloseHere(Slot& slot) {
  const std::string place =
      "epoch " + std::to_string(slot.epoch) + ", batch " + std::to_string(slot.index);
  try {
    sluice::Close(slot);
    if (program_.mixes()) program_.Mix(slot, mix_scratch_);
    JoinFields(slot);
  } catch (const Error& error) {
    return Error(error.code(), "", place, error.sentence());
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::kMemory, "", place, "there is not enough memory for its fields");
  }
  if (!options_.batch_function || slot.size == 0) return std::nullopt;
  RandomStream stream(slot.draw_seed, Purpose::kBatchFunction, slot.first_position);
  bool memory_kept = false;
  const std::optional<Error> error =
      Call(options_.batch_function, "batch",
           MutableBatch(slot, 0, slot.size, Draws(stream), user_memory_), memory_kept);
  if (!error) return std::nullopt;
  return Error(error->code(), "", place, error->sentence());
}

bool SlotFiller::TreatFault(Slot& slot, std::size_t row, const RowVerdict& verdict,
                            Outcome& outcome) {
  const SampleRef& ref = RefOf(slot, row, verdict.part);
  const Error& error = *verdict.error;
  if (verdict.lacks_memory()) {  // which samples are played must not depend on free memory
    outcome.failed_row = row;
    outcome.error = error;
    return false;
  }
  if (verdict.of_shard && options_.integrity.on_fault == OnFault::kSkip &&
      faults_.MetAgain(ref.shard, slot.epoch)) {
    slot.flags[row] = kLeftOut;
    ++outcome.left_out;
    return true;
  }
  NoteFault(slot, ref, verdict);
  // A function that has kept the row's memory could still change it, whatever is put there.
  switch (verdict.memory_kept ? OnFault::kError : options_.integrity.on_fault) {
    case OnFault::kSkip:
      slot.flags[row] = kLeftOut;
      ++outcome.left_out;
      return true;
    case OnFault::kSubstitute:
      if (Substitute(slot, row, verdict.part)) return true;
      break;
    case OnFault::kError: break;
  }
  outcome.failed_row = row;
  outcome.error = error;
  return false;
}

void SlotFiller::NoteFault(const Slot& slot, const SampleRef& ref, const RowVerdict& verdict) {
  const Error& error = *verdict.error;
  const ShardSummary& shard = dataset_.facts->shards[ref.shard];
  if (verdict.of_shard) {
    const std::uint64_t first =
        dataset_.facts->shape.Record(dataset_.facts->shape.first_block(ref.shard), 0).index;
    faults_.AddShard(ref.shard,
                     {first, shard.samples, shard.file, {}, error.sentence(), slot.epoch, 0});
  } else {
    faults_.Add({ref.index, 1, FaultyShard(ref, error), reader_.KeyOf(ref), error.sentence(),
                 slot.epoch, 0});
  }
}

std::string SlotFiller::FaultyShard(const SampleRef& ref, const Error& error) const {
  const DatasetFacts& facts = *dataset_.facts;
  // The name of a column's shard is in the Error; a row's reference only leads to the image shard.
  const bool mixed = !facts.parts.empty();
  const DatasetFacts& own = mixed ? *facts.PartWith(ref.shard).dataset->facts : facts;
  const std::string name = std::filesystem::path(error.file()).filename().string();
  for (const ColumnFacts& column : own.columns)
    if (std::ranges::find(column.facts->shards, name, &ShardSummary::file) !=
        column.facts->shards.end())
      return mixed ? (own.folder / name).string() : name;
  return facts.shards[ref.shard].file;
}

bool SlotFiller::Substitute(Slot& slot, std::size_t row, std::size_t part) {
  std::vector<SampleRef> planned;
  for (std::size_t of = 0; of < PartsOf(slot, row); ++of)
    planned.push_back(RefOf(slot, row, of));
  // The candidates depend on the epoch and the position alone, so every run substitutes the same.
  for (unsigned attempt = 1; attempt <= Substitutes::kTries; ++attempt) {
    const SampleRef ref = substitutes_.At(slot.epoch, PositionOf(slot, row, part), attempt);
    if (ref.index == planned[part].index || dataset_.facts->Deleted(ref.index)) continue;
    RefOf(slot, row, part) = ref;
    if (part == 0) slot.samples[row] = ref.index;
    if (!slot.blocks.empty())
      (part == 0 ? slot.blocks[row] : PartnerOf(slot, row, part).block).reset();
    const RowVerdict verdict = MakeRow(slot, row);
    if (verdict.memory_kept) break;
    if (verdict.failed() && verdict.part > part) {  // this one is whole, but another one is not
      NoteFault(slot, RefOf(slot, row, verdict.part), verdict);
      if (Substitute(slot, row, verdict.part)) return true;
      break;
    }
    if (verdict.failed()) continue;
    files_.BeginRun();
    if (verdict.unverified && CheckFile(slot, row).failed()) continue;
    if (slot.flags[row] == SampleFlag::kOwn) slot.flags[row] = SampleFlag::kSubstitute;
    return true;
  }
  // The error names the sample that was planned, not the last candidate.
  for (std::size_t of = 0; of < planned.size(); ++of)
    RefOf(slot, row, of) = planned[of];
  slot.samples[row] = planned[0].index;
  return false;
}

std::uint64_t SlotFiller::MemoryBytes(const BatchRecipe& recipe) {
  constexpr std::uint64_t kThreadBytes = std::uint64_t{2} << 20;
  std::uint64_t bytes = kThreadBytes + SampleReader::MemoryBytes(recipe);
  if (recipe.program.mixes()) {  // one sample, which mixing a batch sets aside
    for (const SlotLayout::ImageField& image : recipe.layout.images)
      bytes += image.image.sample_bytes();
    if (recipe.program.MostJoined() > 1)
      bytes += recipe.MaxVariableBytes() / recipe.options.batch_size *
               (recipe.program.mixes_objects() ? 1 + MixedFields::kObjectCopies / 2 : 1);
    if (recipe.program.mixes_objects()) {  // which pixels are pasted
      const ImageBatch& picture = recipe.layout.picture().image;
      bytes += picture.width * picture.height;
    }
  }
  // If a cache is in use, a picture on its way there and one read from it count, too.
  return recipe.options.keep ? 2 * bytes : bytes;
}

}  // namespace sluice
