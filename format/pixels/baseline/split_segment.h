// Decodes a long segment from three places at once in one thread (kernels/strands.inc.h says why),
// to the same samples as from its beginning, and with the same verdict on a broken one.
//
// Nothing says where an MCU begins, so the second and third strand begin anywhere. A decoder that
// does soon falls in step with the codes: within one or two MCUs of a photo. What it finds from
// there on counts once the strand before it comes to the same bit at the beginning of an MCU; only
// then is known which MCUs these are, and until then their coefficients wait.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "format/pixels/baseline/strand_run.h"
#include "format/pixels/baseline/strand_table.h"
#include "format/pixels/kernels/kernels.h"

namespace sluice::baseline {

// Keeps its memory from picture to picture; one thread at a time.
class SplitSegment {
 public:
  // Whether a segment of so many bytes is long enough. Shorter ones take microseconds anyhow.
  static bool Pays(std::size_t size) noexcept { return size >= 4096; }

  // Decodes the job's segment, every MCU of which must be wanted. `tables`: those of each
  // component. False if it is broken.
  bool Decode(const kernels::Kernels& set, const kernels::SegmentJob& job,
              const StrandTables* tables);

 private:
  static constexpr std::uint32_t kPartBlocks = 384;        // of a part, about
  static constexpr std::uint32_t kRoom = 2 * kPartBlocks;  // blocks that may wait of a part
  // The first MCUs of a part, each of which is noted: the strand is likely to be in step behind
  // them.
  static constexpr std::size_t kFirstMcus = 8;

  // Where an MCU begins, and how many of its part's lie before it.
  struct Mark {
    std::uint64_t position = 0;  // in bits
    std::uint32_t mcus = 0;
  };
  struct Part {
    std::uint64_t end = 0;  // in bits: where the next one began
    std::uint32_t mcus = 0;
    std::uint32_t run = 0;   // MCUs under way
    std::uint64_t step = 0;  // bits to the next guess; doubled, so that guesses are few
    std::int16_t* blocks = nullptr;
    std::vector<Mark> marks;           // the first one is where the part began
    std::optional<std::uint32_t> met;  // the MCUs before that mark of the next part it came to
  };
  struct Blocks {
    alignas(kBlockBytes) std::int16_t first[kRunBlocks + 1][64] = {};
    alignas(kBlockBytes) std::int16_t waiting[kernels::kStrands - 1][kRoom + 1][64] = {};
  };

  void Begin(std::size_t part, std::uint64_t position);
  std::size_t Divide();
  void StartRun(std::size_t i);
  bool FinishRun(std::size_t i);
  bool EndsPart(std::size_t i, std::size_t parts);
  bool StartAgain(std::size_t i);
  bool RunParts(std::size_t parts);
  void Join(std::size_t parts);
  void Finish(std::int16_t* blocks, std::uint32_t mcus);
  std::int16_t* BlocksOf(const Part& part, std::uint32_t mcu) const noexcept;
  void Drop(const Part& part, std::uint32_t begin, std::uint32_t end) noexcept;
  bool DecodeAll();

  const kernels::Kernels* set_ = nullptr;
  const kernels::SegmentJob* job_ = nullptr;
  std::unique_ptr<Blocks> blocks_;  // zeros but for what waits
  RunTables tables_;
  Part part_[kernels::kStrands];
  kernels::Strand strand_[kernels::kStrands];  // those that are running come first
  std::size_t place_[kernels::kStrands] = {};  // of each strand's part
  std::uint64_t position_ = 0;                 // in bits: all before it is decoded
  std::uint32_t mcu_ = 0;
  std::uint32_t dc_[3] = {};
  std::uint64_t mcu_bits_ = 0;  // of late
};

}  // namespace sluice::baseline
