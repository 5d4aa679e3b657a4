// The transforms to 4 x 4, 2 x 2 and 1 x 1 samples, for coefficients of any size: every set against
// the same transforms in 64-bit arithmetic.
#include <algorithm>
#include <cstring>
#include <vector>

#include "format/pixels/baseline/strands.h"
#include "format/pixels/kernels/tables.h"
#include "format/random.h"
#include "tests/catch.h"
#include "tests/pixels/kernel_sets.h"

using namespace sluice;

namespace {

using NaturalBlock = std::vector<std::int16_t>;  // 64 coefficients

// The transform of 2^size_log2 values. Its results have 13 more bits of fraction than its input.
void ReferencePass(const std::int64_t* in, std::uint32_t size_log2, std::int64_t* out) {
  if (size_log2 == 0) {
    out[0] = in[0] * 8192;
  } else if (size_log2 == 1) {
    out[0] = (in[0] + in[1]) * 8192;
    out[1] = (in[0] - in[1]) * 8192;
  } else {
    const std::int64_t even = (in[0] + in[2]) * 8192, other_even = (in[0] - in[2]) * 8192;
    const std::int64_t odd = in[1] * 10703 + in[3] * 4433;
    const std::int64_t other_odd = in[1] * 4433 - in[3] * 10703;
    out[0] = even + odd;
    out[1] = other_even + other_odd;
    out[2] = other_even - other_odd;
    out[3] = even - odd;
  }
}

// The samples by columns.
std::vector<std::uint8_t> ReferenceSamples(const NaturalBlock& block, const NaturalBlock& quant,
                                           std::uint32_t size_log2) {
  const std::size_t side = std::size_t{1} << size_log2;
  std::int64_t across[4][4];
  for (std::size_t v = 0; v < side; ++v) {
    std::int64_t in[4];
    for (std::size_t u = 0; u < side; ++u)
      in[u] = static_cast<std::int16_t>(block[v * 8 + u] * quant[v * 8 + u]);
    ReferencePass(in, size_log2, across[v]);
  }
  std::vector<std::uint8_t> samples;
  for (std::size_t x = 0; x < side; ++x) {
    std::int64_t in[4], out[4];
    for (std::size_t v = 0; v < side; ++v)
      in[v] = across[v][x];
    ReferencePass(in, size_log2, out);
    for (std::size_t y = 0; y < side; ++y) {
      const std::int64_t value = ((out[y] + (std::int64_t{1} << 28)) >> 29) + 128;
      samples.push_back(static_cast<std::uint8_t>(std::clamp<std::int64_t>(value, 0, 255)));
    }
  }
  return samples;
}

// A block like those of photos, of small numbers (whose sums are often ties), of the largest
// numbers, or of any numbers.
NaturalBlock AnyBlock(RandomStream& random) {
  NaturalBlock block(64, 0);
  const std::uint64_t kind = random.Below(4);
  const std::int16_t extremes[] = {-32768, 32767, -32767, -1, 0, 1, 16384, -16384, 255, -256};
  for (std::size_t i = 0; i < block.size(); ++i) {
    const auto below = [&](std::uint64_t size) {
      return static_cast<std::int16_t>(random.Below(2 * size) - size);
    };
    const bool extreme = kind == 2 || (kind == 3 && random.Below(4) == 0);
    block[i] = extreme     ? extremes[random.Below(std::size(extremes))]
               : kind == 0 ? below(1 + 1024 / (1 + i / 8 * 4 + i % 8 * 4))
               : kind == 1 ? below(5)
                           : below(32768);
  }
  return block;
}

NaturalBlock AnySteps(RandomStream& random) {
  NaturalBlock steps(64, 1);
  const std::uint64_t most = random.Below(2) == 0 ? 3 : 255;
  for (std::int16_t& step : steps)
    step = static_cast<std::int16_t>(1 + random.Below(most));
  return steps;
}

// A component's blocks in a line of MCUs, and the samples of all of them.
struct RandomComponent {
  std::uint32_t across = 1, down = 1, size_log2 = 0;
  NaturalBlock quant;
  std::vector<NaturalBlock> blocks;  // in the order of coding
  std::vector<std::uint8_t> plane;
  std::size_t stride = 0;

  // The samples of block `i` by columns.
  std::vector<std::uint8_t> SamplesOf(std::size_t i) const {
    const std::size_t of_mcu = std::size_t{across} * down, in_mcu = i % of_mcu;
    const std::size_t column = i / of_mcu * across + in_mcu % across, row = in_mcu / across;
    const std::size_t side = std::size_t{1} << size_log2;
    std::vector<std::uint8_t> samples;
    for (std::size_t x = 0; x < side; ++x) {
      const std::uint8_t* const at = plane.data() + (column * side + x) * stride + row * side;
      samples.insert(samples.end(), at, at + side);
    }
    return samples;
  }
};

}  // namespace

TEST_CASE("Reduced transforms of a JPEG's blocks are exact for coefficients of any size") {
  RandomStream random(31, static_cast<Purpose>(999), 0);
  for (int round = 0; round < 300; ++round) {
    const auto mcus = static_cast<std::uint32_t>(1 + random.Below(baseline::kRunMcus));
    kernels::SegmentJob job;
    job.components = random.Below(3) == 0 ? 1 : 3;
    job.mcus_across = job.right = mcus;
    job.bottom = 1;
    RandomComponent component[3];
    for (std::uint32_t c = 0; c < job.components; ++c) {
      RandomComponent& of = component[c];
      of.across =
          c == 0 && job.components == 3 ? static_cast<std::uint32_t>(1 + random.Below(2)) : 1;
      of.down = c == 0 && job.components == 3 ? static_cast<std::uint32_t>(1 + random.Below(2)) : 1;
      // The blocks of a component at full size (8 x 8) lie between the others', and are not
      // compared.
      of.size_log2 = static_cast<std::uint32_t>(random.Below(random.Below(4) == 0 ? 4 : 3));
      of.quant = c == 2 ? component[1].quant : AnySteps(random);
      for (std::uint32_t i = 0; i < mcus * of.across * of.down; ++i)
        of.blocks.push_back(AnyBlock(random));
      of.stride = 16 + 8 * random.Below(2);  // kernels store eight samples at a time
      of.plane.resize((std::size_t{mcus} * of.across << of.size_log2) * of.stride +
                      kernels::kSlack);
      job.component[c].across = of.across;
      job.component[c].down = of.down;
      job.component[c].size_log2 = of.size_log2;
      job.component[c].stride = of.stride;
      job.component[c].quant = of.quant.data();
      job.component[c].plane = of.plane.data();
    }
    for (const kernels::Kernels* set : test::Sets()) {
      INFO("round " << round << ", " << set->name);
      alignas(baseline::kBlockBytes) std::int16_t coded[baseline::kRunBlocks + 1][64] = {};
      std::int16_t(*next)[64] = coded;
      std::uint32_t last_dc[3] = {};
      for (std::uint32_t m = 0; m < mcus; ++m) {
        for (std::uint32_t c = 0; c < job.components; ++c) {
          const std::size_t blocks = std::size_t{component[c].across} * component[c].down;
          for (std::size_t b = 0; b < blocks; ++b, ++next) {
            const NaturalBlock& block = component[c].blocks[m * blocks + b];
            for (std::size_t i = 0; i < 64; ++i)
              (*next)[i] = block[kernels::kZigzag.natural[i]];
            const auto dc = static_cast<std::uint32_t>(block[0]);
            (*next)[0] = static_cast<std::int16_t>(dc - last_dc[c]);
            last_dc[c] = dc;
          }
        }
      }
      std::uint32_t dc[3] = {};
      set->finish_blocks(job, {.blocks = coded[0], .mcus = mcus, .dc = dc});
      for (std::uint32_t c = 0; c < job.components; ++c) {
        const RandomComponent& of = component[c];
        if (of.size_log2 == 3) continue;
        for (std::size_t i = 0; i < of.blocks.size(); ++i) {
          INFO("component " << c << ", block " << i << ", size " << of.size_log2);
          REQUIRE(of.SamplesOf(i) == ReferenceSamples(of.blocks[i], of.quant, of.size_log2));
        }
      }
      REQUIRE(std::all_of(coded[0], coded[0] + sizeof(coded) / sizeof(coded[0][0]),
                          [](std::int16_t value) { return value == 0; }));
    }
  }
}

TEST_CASE("Reduced transforms of packed blocks are exact for coefficients of any size") {
  RandomStream random(32, static_cast<Purpose>(999), 0);
  for (int round = 0; round < 300; ++round) {
    RandomComponent component;
    component.size_log2 = static_cast<std::uint32_t>(random.Below(3));
    component.quant = AnySteps(random);
    const auto count = static_cast<std::uint32_t>(1 + random.Below(9));
    for (std::uint32_t x = 0; x < count; ++x) {
      component.blocks.push_back(AnyBlock(random));
      if (random.Below(3) == 0) continue;
      for (std::int16_t& value : component.blocks.back())
        value = static_cast<std::int16_t>(value % 120);  // no entry in the list of large ones
    }
    // FORMAT.md, "Packed".
    std::vector<std::uint8_t> rows, dc, masks, nibbles, bytes, large;
    const auto put16 = [](std::vector<std::uint8_t>& to, unsigned value) {
      to.push_back(static_cast<std::uint8_t>(value));
      to.push_back(static_cast<std::uint8_t>(value >> 8));
    };
    std::size_t values = 0;
    for (std::uint32_t x = 0; x < count; ++x) {
      const NaturalBlock& block = component.blocks[x];
      put16(dc, static_cast<std::uint16_t>(block[0]));
      rows.push_back(0);
      for (unsigned v = 0; v < 8; ++v) {
        unsigned mask = 0;
        for (unsigned u = 0; u < 8; ++u) {
          const std::int16_t value = block[v * 8 + u];
          if ((u == 0 && v == 0) || value == 0) continue;
          mask |= 1U << u;
          const auto low = static_cast<std::int8_t>(value);
          const bool fits = low >= -7 && low <= 7;
          if (values++ % 2 == 0) nibbles.push_back(0);
          nibbles.back() = static_cast<std::uint8_t>(
              nibbles.back() | (fits ? low & 15 : 8) << (values % 2 == 0 ? 4 : 0));
          if (!fits) bytes.push_back(static_cast<std::uint8_t>(low));
          if (value == low) continue;
          put16(large, x);
          large.push_back(static_cast<std::uint8_t>(v * 8 + u));
          large.push_back(static_cast<std::uint8_t>((value - low) / 256));
        }
        if (mask == 0) continue;
        rows.back() = static_cast<std::uint8_t>(rows.back() | 1U << v);
        masks.push_back(static_cast<std::uint8_t>(mask));
      }
    }
    std::vector<std::uint8_t> row;
    put16(row, static_cast<unsigned>(large.size() / 4));
    put16(row, 0);
    for (const auto& part : {rows, dc, masks, nibbles, bytes, large})
      row.insert(row.end(), part.begin(), part.end());
    const std::size_t size = row.size();
    row.resize(size + 16);

    component.stride = (std::size_t{1} << component.size_log2) + random.Below(3);
    component.plane.resize((std::size_t{count} << component.size_log2) * component.stride);
    std::vector<std::uint64_t> block_masks(count);
    std::vector<std::uint32_t> starts(count + 1);
    std::vector<std::uint8_t> unpacked(count * std::size_t{64} + kernels::kSlack);
    const auto left = static_cast<std::uint32_t>(random.Below(count));
    for (const kernels::Kernels* set : test::Sets()) {
      INFO("round " << round << ", " << set->name << ", size " << component.size_log2);
      std::ranges::fill(component.plane, std::uint8_t{0});
      const kernels::PackedLineJob job = {
          .bytes = row.data(),
          .size = size,
          .blocks = count,
          .left = left,
          .right = count,
          .quant = component.quant.data(),
          .plane = component.plane.data() + (left << component.size_log2) * component.stride,
          .stride = component.stride,
          .size_log2 = component.size_log2,
          .masks = block_masks.data(),
          .starts = starts.data(),
          .values = unpacked.data()};
      REQUIRE(set->unpack_line(job));
      for (std::size_t x = left; x < count; ++x) {
        INFO("block " << x);
        REQUIRE(component.SamplesOf(x) ==
                ReferenceSamples(component.blocks[x], component.quant, component.size_log2));
      }
    }
  }
}
