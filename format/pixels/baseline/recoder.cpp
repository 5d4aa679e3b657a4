// Most of the work happens while the scan is decoded: the kernel requantises the coefficients of a
// component that has `steps`. Chroma that is halved has none: it becomes samples of half the size
// in the planes of `job_`, of which TransformHalved() then makes coefficients.
// Such a plane lies column by column, so the transform reads it by columns (`by_columns`). Chroma
// is halved in both of its components or in neither; Y never is.
#include "format/pixels/baseline/recoder.h"

#include <algorithm>
#include <cstring>

#include "format/pixels/baseline/encoder.h"
#include "format/pixels/kept_memory.h"
#include "format/pixels/kernels/tables.h"

namespace sluice::baseline {

namespace {

// Sets `most` to the largest magnitude that stays within two limits: the kernel computes |value| *
// 8 * old + 4 * step, which must be below 2^14; and baseline has no codes above 1023.
void MakeNewSteps(const std::int16_t* old, const std::int16_t* quant,
                  kernels::NewSteps& steps) noexcept {
  constexpr std::uint32_t kMax = 1023, kExact = (1U << 14) - 1;
  const kernels::ForwardSteps forward = MakeForwardSteps(quant);
  for (std::size_t i = 0; i < kCoefficients; ++i) {
    const std::size_t from = kernels::kZigzag.natural[i];
    const auto step = static_cast<std::uint32_t>(quant[from]);
    const auto eightfold = static_cast<std::uint32_t>(old[from]) * 8;
    const std::uint32_t most = std::min((kMax + 1) * step * 8 - 1, kExact) - step * 4;
    steps.most[i] = static_cast<std::int16_t>(most / std::max(eightfold, 1U));
    steps.step[i] = static_cast<std::int16_t>(eightfold);
    steps.half[i] = static_cast<std::int16_t>(forward.half[from]);
    steps.reciprocal[i] = static_cast<std::int16_t>(forward.reciprocal[from]);
    steps.scale[i] = static_cast<std::int16_t>(forward.scale[from]);
  }
}

}  // namespace

bool Recoder::Begin(Bytes file, const Header& target) {
  if (!scan_.Begin(file)) return false;
  const Header& header = scan_.header();
  if (header.width != target.width || header.height != target.height ||
      header.components != target.components) {
    return false;
  }
  target_ = &target;
  recoding_ = {};
  bool halved[3] = {};
  for (std::uint32_t c = 0; c < header.components; ++c) {
    const Component& from = header.component[c];
    const Component& to = target.component[c];
    halved[c] = from.h * target.max_h != to.h * header.max_h ||
                from.v * target.max_v != to.v * header.max_v;
    if (!halved[c]) {
      MakeNewSteps(header.quant[from.quant], target.quant[to.quant], steps_[c]);
      recoding_.component[c].steps = &steps_[c];
    } else if (header.max_h != 1 || header.max_v != 1 || target.max_h != 2 || target.max_v != 2) {
      return false;
    }
  }
  recoding_.halves_chroma = halved[1];
  return halved[1] == halved[2];
}

// Makes room for the samples of a component that is halved.
void Recoder::MakePlane(std::uint32_t c) {
  const Header& header = scan_.header();
  kernels::ComponentJob& job = job_.component[c];
  job.stride = AlignUp(std::size_t{header.mcus_down} * 4, 8);
  // The last block is filled, and one more is read.
  const std::size_t columns = AlignUp(std::size_t{header.mcus_across} * 4, 8) + 8;
  MakeRoom(job.stride * columns + kernels::kSlack, samples_[c]);
  job.plane = samples_[c].data();
}

// Transforms a component that was halved. Samples outside the picture repeat its last ones.
void Recoder::TransformHalved(std::uint32_t c, const kernels::BlockPlaces& places, bool natural) {
  const Component& component = target_->component[c];
  std::uint8_t* const plane = samples_[c].data();
  const std::size_t stride = job_.component[c].stride;
  const std::size_t rows = std::size_t{places.down} * 8;
  for (std::uint32_t x = 0; x < component.width; ++x) {
    std::uint8_t* const end = plane + x * stride + component.height;
    std::memset(end, end[-1], rows - component.height);
  }
  const std::uint8_t* const last = plane + (component.width - 1) * stride;
  for (std::uint32_t x = component.width; x < places.across * 8; ++x)
    std::memcpy(plane + x * stride, last, rows);
  const kernels::ForwardSteps steps = MakeForwardSteps(target_->quant[component.quant]);
  for (std::uint32_t y = 0; y < places.down; ++y) {
    set_.transform_line({.samples = plane + std::size_t{y} * 8,
                         .stride = stride,
                         .by_columns = true,
                         .blocks = places.across,
                         .steps = &steps,
                         .out = places.first + y * places.row,
                         .mcu_stride = places.mcu,
                         .across = 1,
                         .natural = natural});
  }
}

bool Recoder::Recode(const kernels::BlockPlaces* places, bool natural) {
  const Header& header = scan_.header();
  recoding_.width = header.width;
  recoding_.height = header.height;
  recoding_.natural = natural;
  job_ = {};
  job_.recoding = &recoding_;
  scan_.Describe(job_);
  for (std::uint32_t c = 0; c < header.components; ++c) {
    recoding_.component[c].to = places[c];
    if (recoding_.component[c].steps == nullptr) MakePlane(c);
  }
  const bool taken = scan_.Decode(true, job_) && !recoding_.beyond;
  for (std::uint32_t c = 1; recoding_.halves_chroma && c < 3; ++c) {
    if (taken) TransformHalved(c, places[c], natural);
    FreeLarge(samples_[c]);
  }
  return taken;
}

}  // namespace sluice::baseline
