// The public face of a loader: calls are passed on to LoaderState. The ranges and iterators by
// which C++ loops over epochs are here, too. An epoch is a range whose iterator holds at most one
// batch. A range knows its number, so that an iterator of an unfinished epoch notices that another
// epoch has begun. If memory or threads run out while a loader is made, the Error names the options
// to lower.
#include <new>
#include <system_error>

#include <sluice/error.h>
#include <sluice/loader.h>

#include "reader/dataset/dataset_state.h"
#include "reader/dataset/options_of.h"
#include "reader/dataset/rank_epoch.h"
#include "reader/loader/checked_options.h"
#include "reader/loader/loader_state.h"

namespace sluice {

namespace {

// Turns out-of-memory and out-of-threads into an Error that names the options to lower.
std::shared_ptr<LoaderState> MakeState(const Dataset& dataset, LoaderOptions options) {
  const std::string folder = dataset.path().string();
  try {
    return {new LoaderState(dataset, std::move(options)), [](const LoaderState* state) {
              // A forked child has copies of locks that threads of the parent may have held, so it
              // deletes nothing.
              if (state->InOwnProcess()) delete state;
            }};
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kLimit, folder,
                "there is not enough memory for a loader with these options; lower "
                "LoaderOptions::batch_size, ring.prefetch, ring.hold or threads");
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::kLimit, folder,
                "the loader's threads cannot be started: " + std::string(error.what()) +
                    " (no memory for them, or too many threads); lower LoaderOptions::threads, or "
                    "raise `ulimit -u` or `ulimit -v`");
  }
}

Dataset JoinedDataset(const Mixture& mixture, const LoaderOptions& options) {
  if (options.stage || ReadsDirectly(options)) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "Mixture: LoaderOptions::stage and storage = Direct do not work with a mixture yet; leave "
        "stage empty and storage as Mapped, or join the datasets with `sluice merge`");
  }
  return DatasetOf(DatasetState::Mix(mixture));
}

}  // namespace

Loader::Loader(const Mixture& mixture, LoaderOptions options)
    : Loader(JoinedDataset(mixture, options), std::move(options)) {}

Loader::Loader(Dataset dataset, LoaderOptions options)
    : state_(MakeState(dataset, std::move(options))) {}

Loader::~Loader() {
  if (state_) state_->Stop();
}

Loader::Loader(Loader&&) noexcept = default;

Loader& Loader::operator=(Loader&& other) noexcept {
  if (this != &other) {
    if (state_) state_->Stop();
    state_ = std::move(other.state_);
  }
  return *this;
}

EpochRange Loader::Epoch(std::uint64_t epoch) {
  return {state_, state_->StartEpoch(epoch)};
}

EpochRange Loader::Epoch(std::uint64_t epoch, EpochPart part) {
  return {state_, state_->StartEpoch(epoch, part)};
}

std::vector<PlayedRow> Loader::When(std::span<const std::uint64_t> samples,
                                    std::span<const std::uint64_t> epochs) const {
  return state_->When(samples, epochs);
}

std::vector<PlayedRow> Loader::When(const Dataset& dataset, LoaderOptions options,
                                    std::span<const std::uint64_t> samples,
                                    std::span<const std::uint64_t> epochs) {
  const DatasetFacts& facts = *dataset.state()->facts;
  // The checks that concern the order alone: a dataset that no loader could play has an order, too.
  options = CheckedOptions(facts, std::move(options));
  CheckStart(facts, options, Deal(facts.shape, DealOptionsOf(options)));
  RequireRoomForOrder(facts, options);
  return RowsOf(facts, options, samples, epochs);
}

Batch Loader::Row(std::uint64_t sample, std::uint64_t epoch) const {
  return state_->Row(sample, epoch);
}

std::string Loader::PipelineText(std::uint64_t epoch) const {
  return state_->PipelineText(epoch);
}

ResumePoint Loader::State() const {
  return state_->State();
}
std::uint64_t Loader::batches_per_epoch(std::uint64_t epoch, EpochPart part) const {
  return state_->BatchesIn(epoch, part);
}
std::uint64_t Loader::samples_per_epoch(std::uint64_t epoch) const {
  return state_->SizeOf(epoch).samples;
}
Rank Loader::rank() const noexcept {
  return state_->rank();
}
unsigned Loader::threads() const noexcept {
  return state_->threads();
}
std::size_t Loader::memory_bytes() const noexcept {
  return state_->memory_bytes();
}
std::string Loader::Describe() const {
  return state_->Describe();
}
LoaderMemory Loader::Memory() const {
  return state_->Memory();
}
LoaderStats Loader::Stats() const {
  return state_->Stats();
}

std::vector<SampleFault> Loader::Faults() const {
  return state_->Faults();
}

EpochIterator::EpochIterator(std::shared_ptr<LoaderState> loader, std::uint64_t range)
    : loader_(std::move(loader)), range_(range), mark_(std::make_shared<char>()) {
  ++*this;
}

EpochIterator& EpochIterator::operator++() {
  batch_ = Batch();  // dropped first, so that the loader can fill its slot while this waits
  batch_ = loader_->Next(range_, mark_);
  done_ = batch_.slot_ == nullptr;
  return *this;
}

std::optional<Batch> EpochRange::Next() const {
  Batch batch = loader_->Next(range_);
  if (batch.slot_ == nullptr) return std::nullopt;
  return batch;
}

bool EpochRange::WaitFor(std::chrono::milliseconds most) const {
  return loader_->WaitFor(range_, most);
}

void EpochIterator::ThrowNoBatch() const {
  throw Error(ErrorCode::kState,
              done_
                  ? "the epoch is over: there is no batch at its end"
                  : "the iterator holds no batch, because begin() or ++ threw; call ++ to resume");
}

}  // namespace sluice
