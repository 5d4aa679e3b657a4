#include "reader/reading/picture_filler.h"

#include <algorithm>
#include <new>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "reader/dataset/sample_list_state.h"
#include "reader/reading/remote_blocks.h"

namespace sluice {

namespace {

// The samples of a list that is the same in each epoch; null: any sample may come.
const std::vector<std::uint64_t>* FixedSamples(const SampleList& samples) {
  if (samples.all()) return nullptr;
  const auto* const fixed = std::get_if<FixedDraw>(&samples.state()->draw);
  return fixed == nullptr ? nullptr : &fixed->samples;
}

std::vector<bool> WantedOf(const DatasetState& dataset, const SampleList& samples) {
  const std::vector<std::uint64_t>* const fixed = FixedSamples(samples);
  if (fixed == nullptr) return {};
  std::vector<bool> wanted(dataset.shape.samples());
  for (const std::uint64_t sample : *fixed)
    wanted[sample] = true;
  return wanted;
}

}  // namespace

std::uint64_t PictureFiller::CountOf(const DatasetState& dataset, const SampleList& samples) {
  const std::vector<bool> wanted = WantedOf(dataset, samples);
  return wanted.empty()
             ? dataset.shape.samples()
             : static_cast<std::uint64_t>(std::count(wanted.begin(), wanted.end(), true));
}

PictureFiller::PictureFiller(DatasetState& dataset, std::size_t field, const SampleList& samples,
                             DirectFiles* direct, StoredPictures& stored)
    : dataset_(dataset),
      field_(field),
      direct_(direct),
      stored_(stored),
      wanted_(WantedOf(dataset, samples)) {}

void PictureFiller::Start() {
  thread_ = std::thread([this] { Run(); });
}

void PictureFiller::Stop() {
  stop_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

// What fails here fails again, with its name, when the sample is played or the device is used.
void PictureFiller::Run() {
  for (std::uint64_t block = 0; block < dataset_.shape.blocks(); ++block) {
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
    stored_.Finish();
  } catch (const std::exception&) {
    return;
  }
}

bool PictureFiller::Wants(std::uint64_t block) const {
  if (wanted_.empty()) return true;
  const auto first =
      wanted_.begin() + static_cast<std::ptrdiff_t>(dataset_.shape.Row(block, 0).index);
  const auto end = first + static_cast<std::ptrdiff_t>(dataset_.shape.SamplesIn(block));
  return std::find(first, end, true) != end;
}

void PictureFiller::Fill(std::uint64_t block) {
  const SampleRef first = dataset_.shape.Row(block, 0);
  const ShardUse shard = dataset_.Shard(first.shard);
  std::shared_ptr<const HeldBlock> held;
  if (dataset_.remote != nullptr) {
    held = RemoteBlocks::Fetch(dataset_, first.shard, shard, first.block);
  } else if (direct_ != nullptr) {
    held = direct_->Read(first.shard, shard, first.block);
  }
  const ReadGuard guard = shard->Guard();
  const BlockView view =
      held != nullptr ? held->View(*shard, first.block) : shard->Block(first.block);
  const RowLayout& layout = dataset_.LayoutOf(first.shard);
  const std::uint64_t count = dataset_.shape.SamplesIn(block);
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

void PictureFiller::Put(std::uint64_t sample, const ImagePayload& payload) {
  if (payload.codec == Codec::kRaw && payload.pixel_type == PixelType::kUint8) {
    const std::uint64_t size = std::uint64_t{payload.width} * payload.height * payload.channels;
    if (payload.bytes.size() == size) stored_.PutRaw(sample, payload.bytes);
    return;
  }
  words_.clear();
  rows_.clear();
  if (parts_.Take(payload) && parts_.AppendRows(0, parts_.rows(), words_, rows_))
    stored_.Put(sample, parts_.form(), rows_, words_);
}

}  // namespace sluice
