// LoaderOptions as the loader uses them: ranges are checked, and options left open are filled in.
//
// A new option has its member in sluice/loader_options.h and its line in loader_option_list.h, from
// which its range and its keyword in Python come. It also goes into these files, where "lanes"
// shows how, among others:
//   reader/include/sluice/loader_options.h
//   reader/include/sluice/loader_option_list.h
//   tests/reader/drawn_options_test.cpp
//   tests/python/test_values.py
//   bench/epoch/run.h                     ForEachSetting(): its flag of `sluice-bench epoch`
//   bench/report/SCHEMA.md                with the flag
//   reader/loader/checked_options.cpp     which options go together
//   reader/loader/resume.cpp              if it changes the order
//
// If it takes memory, memory_bound.cpp counts that. If it changes what batches hold, search for
// "image_sizes": slot_layout.cpp, BatchRecipe, PlainCopy::Serves(), RowsAreFixed()
// (decoded_picture_use.cpp) and description.cpp handle that option, checked_options.cpp refuses
// what a decoding device cannot do, and tests/device/device_batch_test.cpp compares host and
// device. A new group or enumeration is bound in reader/python/binding/options.cpp.
// tests/python/test_options.py has the names of groups and the number of members of LoaderOptions.
// An option of storage has its flag in bench/epoch/storage_options.cpp.
#pragma once

#include <sluice/loader_options.h>

#include "reader/dataset/dataset_facts.h"
#include "reader/order/deal.h"

namespace sluice {

// Throws Error(kInvalidArgument) if the dataset cannot be read or kept as the options say.
void CheckStorage(const DatasetFacts& dataset, const LoaderOptions& options);

// Returns the options, with those left open filled in. `threads` gets the largest value that tuning
// may choose. `ring.prefetch` gets its value if the user or page-locked memory fixes it; otherwise
// BatchRecipe fills it in. If `ranks.world_size` is 0, it and `ranks.rank` come from the
// environment. Throws Error(kInvalidArgument or kLimit).
LoaderOptions CheckedOptions(const DatasetFacts& dataset, LoaderOptions options);

// Throws Error(kInvalidArgument) if the epoch has no batches, and says why and what to change.
// `options` must have been checked.
void CheckEpoch(const DatasetFacts& dataset, const LoaderOptions& options, std::uint64_t epoch,
                const EpochSize& size);

}  // namespace sluice
