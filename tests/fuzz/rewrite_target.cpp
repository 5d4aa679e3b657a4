// Rewriting baseline JPEGs against libjpeg's transcoding.
//
// Promises:
//   - Every set of kernels reads or refuses the same files, to the same coefficients.
//   - If a file is read, libjpeg reads it without making anything up. If its DC coefficients are
//     also possible for 8-bit samples, rewriting gives the bytes that libjpeg writes.
#include "format/disk/checksum.h"
#include "format/pixels/baseline/encoder.h"
#include "format/pixels/baseline/scan_decoder.h"
#include "format/random.h"
#include "tests/fuzz/targets.h"
#include "tests/libjpeg_rewrite.h"
#include "tests/pixels/kernel_sets.h"

namespace sluice::fuzz {

namespace {

struct Rewritten {
  bool read = false;
  bool has_codes = true;  // whether each DC coefficient is possible for 8-bit samples
  Id128 coefficients;
  Input file;
  friend bool operator==(const Rewritten&, const Rewritten&) = default;
};

Rewritten RewriteBy(baseline::BlockReader& reader, const kernels::Kernels& set, Bytes input,
                    std::uint32_t interval) {
  Rewritten rewritten;
  if (!reader.Begin(input)) return {};
  baseline::Header header = reader.header();
  header.restart_interval = interval;
  const std::size_t values = baseline::McuLine(header).values();
  baseline::FileWriter out(set, header);
  rewritten.read = reader.ReadLines([&](const std::int16_t* blocks) {
    const auto all = std::as_bytes(std::span(blocks, values));
    rewritten.coefficients = Hash128({std::as_bytes(std::span(rewritten.coefficients.bytes)), all});
    for (std::size_t at = 0; at < values; at += baseline::kCoefficients)
      rewritten.has_codes = rewritten.has_codes && blocks[at] >= -1024 && blocks[at] <= 1023;
    if (rewritten.has_codes) out.Add(blocks);
    return true;
  });
  if (!rewritten.read) return {};
  if (rewritten.has_codes) rewritten.file = out.Finish();
  return rewritten;
}

// The sampling factors of a single component mean nothing. libjpeg keeps them; a parsed header has
// 1 and 1 instead, and conversions do not rewrite files with other factors.
void ForgetLoneFactors(Input& file) {
  constexpr std::size_t kFrame = 89;  // the frame's marker: after SOI, JFIF, and one table of steps
  if (file.size() > kFrame + 11 && file[kFrame + 1] == std::byte{0xC0} &&
      file[kFrame + 9] == std::byte{1}) {
    file[kFrame + 11] = std::byte{0x11};
  }
}

}  // namespace

void CompareRewriting(Bytes input) {
  static thread_local std::vector<baseline::BlockReader> used = [] {
    std::vector<baseline::BlockReader> readers;
    for (const kernels::Kernels* set : test::DecodingSets())
      readers.emplace_back(*set);
    return readers;
  }();
  RandomStream random(Hash64(input), static_cast<Purpose>(0xF24), 0);
  const auto interval = static_cast<std::uint32_t>(random.Below(4));
  const std::vector<const kernels::Kernels*> sets = test::DecodingSets();
  const Rewritten ours = RewriteBy(used[0], *sets[0], input, interval);
  for (std::size_t i = 1; i < used.size(); ++i) {
    Promise(RewriteBy(used[i], *sets[i], input, interval) == ours,
            "every set of kernels rewrites a JPEG alike");
  }
  if (!ours.read || !ours.has_codes) return;
  Input expected = test::RewriteByLibjpeg(input, interval);
  Promise(!expected.empty(), "a JPEG that is rewritten is sound to libjpeg");
  ForgetLoneFactors(expected);
  Promise(expected == ours.file, "a rewritten JPEG has the bytes that libjpeg writes");
}

}  // namespace sluice::fuzz
