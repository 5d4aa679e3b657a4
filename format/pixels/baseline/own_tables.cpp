#include "format/pixels/baseline/own_tables.h"

#include <algorithm>

namespace sluice::baseline {

// Of the tables that were made from these; count_ if there are none.
std::size_t OwnTables::NumberOf(const Codes& codes) const noexcept {
  const auto same = [&](const Source& source) {
    return source.dc_table == codes.dc.table && source.ac_table == codes.ac.table &&
           SameSpec(source.dc, *codes.dc.spec) && SameSpec(source.ac, *codes.ac.spec);
  };
  return static_cast<std::size_t>(std::find_if(source_, source_ + count_, same) - source_);
}

void OwnTables::Make(const Codes* codes, std::uint32_t components) {
  maker_.Begin(store_->values, kBits);
  count_ = 0;
  for (const Codes* of = codes; of != codes + components; ++of) {
    if (NumberOf(*of) != count_) continue;
    maker_.Make(of->dc, of->ac, true, store_->of[count_]);
    source_[count_++] = {*of->dc.spec, *of->ac.spec, of->dc.table, of->ac.table};
  }
}

void OwnTables::Find(const Codes* codes, std::uint32_t components, StrandTables* tables) {
  if (store_ == nullptr) store_ = std::make_unique<Store>();
  const auto is_missing = [this](const Codes& of) { return NumberOf(of) == count_; };
  if (std::any_of(codes, codes + components, is_missing)) Make(codes, components);
  for (std::uint32_t c = 0; c < components; ++c) {
    const BlockTables* const found = &store_->of[NumberOf(codes[c])];
    tables[c] = {found, found, kBits};
  }
}

}  // namespace sluice::baseline
