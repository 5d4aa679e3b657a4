// Two small datasets whose contents are known without reading them back.
#pragma once

#include <filesystem>
#include <string>

#include "tests/format/built_shard.h"

namespace sluice::test {

struct ExampleDataset {
  Schema schema;
  std::vector<EncodedSample> samples;
  std::vector<BuiltShard> shards;
  Manifest manifest;
};

// The dataset of FORMAT.md's worked example: two samples, one block, one shard.
ExampleDataset WorkedExample();

// Several shards, blocks, kinds of fields, absent and empty values.
ExampleDataset VariedExample();

// The text that tests/format/read_from_spec.py must print for the dataset.
std::string ExpectedText(const ExampleDataset& dataset);

}  // namespace sluice::test
