// Checks a dataset against all rules of format/FORMAT.md. The rules about the content of values are
// checked only with VerifyOptions::decode.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include <sluice/dataset.h>

namespace sluice {

// The options of VerifyDataset().
struct VerifyOptions {
  // Whether to check the content of values, too: every image is then decoded as a whole, every
  // compressed value is decompressed, and every text and JSON text is read.
  bool decode = false;
  unsigned threads = 0;  // 0: one for each CPU this process may use
  // With `decode`, an image of more pixels than this is a fault, and is not decoded.
  std::uint64_t max_pixels = ReadLimits().max_pixels;
  // Called from one thread at a time with (samples checked, samples in all); must not throw.
  std::function<void(std::uint64_t, std::uint64_t)> on_progress;
  std::stop_token stop;  // a request ends the check early; the report has the faults found so far
};

// Something that is wrong in a dataset.
struct Fault {
  std::string shard;         // file name, or "manifest.json"
  std::int64_t sample = -1;  // number in the dataset; -1: no single sample has the fault
  std::string key;           // empty if it cannot be read
  std::string reason;        // a sentence for people
};

// The result of VerifyDataset().
struct VerifyReport {
  std::uint64_t samples = 0;  // samples that were checked
  std::uint64_t bytes = 0;    // size of all shards' files, as the manifest says
  std::vector<Fault> faults;  // in the order of the dataset
  bool stopped = false;       // whether VerifyOptions::stop ended the check early
};

// Checks the dataset at that path. Anything wrong with it is a fault in the report. Throws Error
// only if the manifest itself cannot be read, or if this process lacks memory, mappings or file
// descriptors for the check.
VerifyReport VerifyDataset(const std::filesystem::path& path, const VerifyOptions& options = {});

}  // namespace sluice
