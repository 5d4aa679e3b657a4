#include "format/pixels/baseline/standard_tables.h"

#include <algorithm>
#include <iterator>
#include <new>

#include "format/pixels/libjpeg.h"

namespace sluice::baseline {

namespace {

HuffmanSpec SpecOf(const JHUFF_TBL& from) {
  HuffmanSpec spec;
  std::copy_n(from.bits + 1, std::size(spec.counts), spec.counts);
  for (const std::uint8_t count : spec.counts)
    spec.symbol_count += count;
  std::copy_n(from.huffval, spec.symbol_count, spec.symbols);
  return spec;
}

constexpr int kUnscaled = 50;  // the quality at which libjpeg's rule leaves the steps alone

// libjpeg has the standard's tables, and gives them to each picture that it is to write.
struct Standard {
  HuffmanSpec spec[2][kStandardTables];  // [0] DC, [1] AC
  std::int32_t steps[kStandardTables][64];

  Standard() {
    jpeg_compress_struct object{};
    libjpeg::ErrorTrap trap{};
    object.err = libjpeg::Set(trap);
    if (setjmp(trap.jump) != 0) {  // the tables need memory, and nothing else that may be missing
      jpeg_destroy_compress(&object);
      throw std::bad_alloc();
    }
    jpeg_create_compress(&object);
    object.input_components = 3;
    object.in_color_space = JCS_YCbCr;
    jpeg_set_defaults(&object);
    jpeg_set_quality(&object, kUnscaled, TRUE);
    for (std::size_t i = 0; i < kStandardTables; ++i) {
      spec[0][i] = SpecOf(*object.dc_huff_tbl_ptrs[i]);
      spec[1][i] = SpecOf(*object.ac_huff_tbl_ptrs[i]);
      std::copy_n(object.quant_tbl_ptrs[i]->quantval, 64, steps[i]);
    }
    jpeg_destroy_compress(&object);
  }
};

const Standard& TheStandard() {
  static const Standard standard;
  return standard;
}

}  // namespace

const HuffmanSpec& StandardSpec(std::size_t number, bool ac) {
  return TheStandard().spec[ac ? 1 : 0][number];
}

std::size_t StandardNumber(const HuffmanSpec& spec, bool ac) {
  std::size_t number = 0;
  while (number < kStandardTables && !SameSpec(spec, StandardSpec(number, ac)))
    ++number;
  return number;
}

void StandardSteps(std::size_t number, int quality, std::int16_t* steps) {
  const int percent = quality < kUnscaled ? 5000 / quality : 200 - 2 * quality;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::int32_t step = (TheStandard().steps[number][i] * percent + 50) / 100;
    steps[i] = static_cast<std::int16_t>(std::clamp(step, 1, 255));
  }
}

}  // namespace sluice::baseline
