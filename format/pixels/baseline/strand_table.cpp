#include "format/pixels/baseline/strand_table.h"

#include "format/pixels/baseline/strand_table_maker.h"

namespace sluice::baseline {

namespace {

struct StandardTables {
  HuffmanTable dc[kStandardTables], ac[kStandardTables];
  BlockTables wanted[kStandardTables], skipped[kStandardTables];
  StrandValues values[1 << 11];  // behind the tables

  StandardTables() {
    static_assert(sizeof(wanted) + sizeof(skipped) + sizeof(values) <=
                  std::size_t{UINT16_MAX} * kValuesUnit);
    StrandTableMaker maker;
    maker.Begin(values, kStrandBits);
    for (std::size_t i = 0; i < kStandardTables; ++i) {
      const HuffmanCodes dc_codes = {&StandardSpec(i, false), &dc[i]};
      const HuffmanCodes ac_codes = {&StandardSpec(i, true), &ac[i]};
      BuildCodes(*dc_codes.spec, false, dc[i]);
      BuildCodes(*ac_codes.spec, true, ac[i]);
      maker.Make(dc_codes, ac_codes, true, wanted[i]);
      maker.Make(dc_codes, ac_codes, false, skipped[i]);
    }
  }
};

}  // namespace

StrandTables StandardStrandTables(std::size_t number) {
  static const StandardTables tables;
  return {&tables.wanted[number], &tables.skipped[number]};
}

const StrandTable& StrandHalt() noexcept {
  static StrandTable halt;  // not const: zeros that take no room in the program's file
  return halt;
}

}  // namespace sluice::baseline
