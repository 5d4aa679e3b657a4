#include <sluice/error.h>
#include <sluice/loader.h>

#include "reader/pipeline/loader_state.h"

namespace sluice {

Loader::Loader(Dataset dataset, LoaderOptions options)
    : state_(std::make_shared<LoaderState>(std::move(dataset), std::move(options))) {}

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

ResumePoint Loader::State() const {
  return state_->State();
}
std::uint64_t Loader::batches_per_epoch(std::uint64_t epoch) const {
  return state_->SizeOf(epoch).batches;
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
LoaderStats Loader::Stats() const {
  return state_->Stats();
}

std::vector<SampleFault> Loader::Faults() const {
  return state_->Faults();
}

EpochIterator::EpochIterator(std::shared_ptr<LoaderState> loader, std::uint64_t generation)
    : loader_(std::move(loader)), generation_(generation) {
  ++*this;
}

EpochIterator& EpochIterator::operator++() {
  batch_ = Batch();  // given back first, so that it can be filled while this waits
  batch_ = loader_->Next(generation_);
  done_ = batch_.slot_ == nullptr;
  return *this;
}

std::size_t Batch::size() const noexcept {
  return slot_->size;
}
std::size_t Batch::valid() const noexcept {
  return slot_->valid;
}
std::uint64_t Batch::epoch() const noexcept {
  return slot_->epoch;
}
std::uint64_t Batch::index() const noexcept {
  return slot_->index;
}
const ImageBatch& Batch::image() const noexcept {
  return slot_->image;
}
std::span<const SampleFlag> Batch::flags() const noexcept {
  return std::span(slot_->flags).first(slot_->size);
}
std::span<const std::uint64_t> Batch::samples() const noexcept {
  return {slot_->samples.data(), slot_->size};
}

std::span<const std::byte> Batch::FieldBytes(std::string_view name, DType type) const {
  for (const SlotLayout::ArrayField& array : slot_->layout->arrays) {
    if (array.name != name) continue;
    if (array.dtype != type) {
      throw Error(ErrorCode::kInvalidArgument, "field \"" + array.name + "\" holds " +
                                                   std::string(NameOf(array.dtype)) + ", not " +
                                                   std::string(NameOf(type)));
    }
    return {slot_->memory.data() + array.offset, slot_->size * array.sample_bytes};
  }
  throw Error(ErrorCode::kInvalidArgument,
              "the dataset has no fixed-shape array field \"" + std::string(name) + "\"");
}

template <class T>
std::span<const T> Batch::Field(std::string_view name) const {
  const std::span<const std::byte> bytes = FieldBytes(name, DTypeOf<T>());
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

template std::span<const std::int8_t> Batch::Field<std::int8_t>(std::string_view) const;
template std::span<const std::int16_t> Batch::Field<std::int16_t>(std::string_view) const;
template std::span<const std::int32_t> Batch::Field<std::int32_t>(std::string_view) const;
template std::span<const std::int64_t> Batch::Field<std::int64_t>(std::string_view) const;
template std::span<const std::uint8_t> Batch::Field<std::uint8_t>(std::string_view) const;
template std::span<const std::uint16_t> Batch::Field<std::uint16_t>(std::string_view) const;
template std::span<const float> Batch::Field<float>(std::string_view) const;
template std::span<const double> Batch::Field<double>(std::string_view) const;

}  // namespace sluice
