// One sample into its row of a slot: what the worker threads do. Each has one of these.
#pragma once

#include <optional>

#include "format/pixels/decode.h"
#include "reader/pipeline/slot.h"

namespace sluice {

class SampleDecoder {
 public:
  // All arguments must outlive the decoder.
  SampleDecoder(DatasetState& dataset, const Geometry& geometry, const SlotLayout& layout);

  // Fills row `row` of the slot. False if the sample cannot be had; error() then says why.
  bool Decode(Slot& slot, std::size_t row);

  const Error& error() const { return *error_; }
  std::uint64_t payload_bytes() const noexcept { return payload_bytes_; }  // decoded so far

 private:
  Defect DecodeImage(const BlockView& block, Slot& slot, std::size_t row);
  Error Describe(const SampleRef& ref, const char* defect) const;

  DatasetState& dataset_;
  const Geometry& geometry_;
  const SlotLayout& layout_;
  PayloadDecoder decoder_;
  std::optional<Error> error_;
  std::uint64_t payload_bytes_ = 0;
};

}  // namespace sluice
