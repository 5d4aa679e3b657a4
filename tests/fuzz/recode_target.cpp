// JPEGs recoded by their coefficients.
//
// Promises:
//   - Every set of kernels recodes or refuses the same files, to the same bytes and blocks.
//   - If a file is recoded, libjpeg reads it without making anything up, and the coefficients of
//   components that keep their size are the nearest that the new steps allow.
#include "format/disk/checksum.h"
#include "tests/fuzz/jpeg_content.h"
#include "tests/fuzz/targets.h"
#include "tests/pixels/kernel_sets.h"
#include "tests/recoding.h"

namespace sluice::fuzz {

namespace {

void PromiseNearest(JpegContent& from, JpegContent& to, std::size_t c,
                    const baseline::Component& sizes) {
  for (std::uint32_t y = 0; 8 * y < sizes.height; ++y) {
    for (std::uint32_t x = 0; 8 * x < sizes.width; ++x) {
      const std::int16_t* const old = from.components[c].Block(x, y);
      const std::int16_t* const made = to.components[c].Block(x, y);
      for (std::size_t i = 0; i < kBlockSize; ++i) {
        Promise(made[i] == test::NearestSteps(old[i], from.components[c].quant[i],
                                              to.components[c].quant[i]),
                "a coefficient is the nearest that the new steps allow");
      }
    }
  }
}

}  // namespace

void CompareRecoding(Bytes input, Bytes until_scan_end) {
  static thread_local std::vector<baseline::Recoder> used = [] {
    std::vector<baseline::Recoder> recoders;
    for (const kernels::Kernels* set : test::DecodingSets())
      recoders.emplace_back(*set);
    return recoders;
  }();
  baseline::Header header;
  Promise(baseline::ParseHeader(input, header), "a header that was read can be read again");
  RandomStream random(Hash64(input), static_cast<Purpose>(0xF25), 0);
  const int luma = random.Below(4) != 0 ? 2 : 1;
  const auto interval = static_cast<std::uint32_t>(random.Below(4));
  const int quality = static_cast<int>(1 + random.Below(100));
  const baseline::Header target = test::HeaderFor(
      {header.width, header.height, header.components, luma, luma, quality, interval});
  const std::vector<const kernels::Kernels*> sets = test::DecodingSets();
  const std::optional<Input> made = test::RecodeFile(used[0], *sets[0], input, target);
  const std::optional<test::RecodedBlocks> blocks = test::RecodeBlocks(used[0], input, target);
  Promise(blocks.has_value() == made.has_value(), "blocks in either order are recoded");
  for (std::size_t i = 1; i < used.size(); ++i) {
    Promise(test::RecodeFile(used[i], *sets[i], input, target) == made,
            "every set of kernels recodes a JPEG alike");
    Promise(test::RecodeBlocks(used[i], input, target) == blocks,
            "every set of kernels recodes a JPEG's blocks alike");
  }
  if (!made) return;
  JpegContent from, to;
  Promise(ReadContent(until_scan_end, from), "a JPEG that is recoded is sound to libjpeg");
  Promise(ReadContent(*made, to), "a recoded JPEG is sound to libjpeg");
  for (std::size_t c = 0; c < header.components; ++c) {
    const baseline::Component& sizes = target.component[c];
    if (header.max_h * sizes.h == target.max_h * header.component[c].h &&
        header.max_v * sizes.v == target.max_v * header.component[c].v) {
      PromiseNearest(from, to, c, sizes);
    }
  }
}

}  // namespace sluice::fuzz
