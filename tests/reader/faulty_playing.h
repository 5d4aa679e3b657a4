// Playing datasets in which something cannot be read.
#pragma once

#include <algorithm>
#include <fstream>
#include <optional>

#include "tests/file_content.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

namespace sluice::test {

// Damages a sample in a shard file that WriteRawDataset() made: finds the file's first picture of
// the sample's colour, and changes one of its values.
inline void DamageIn(const std::filesystem::path& file, std::uint64_t sample) {
  const std::string pixels(192, static_cast<char>(sample % 251));
  const std::size_t at = ContentOf(file).find(pixels);
  REQUIRE(at != std::string::npos);
  std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(static_cast<std::streamoff>(at + 7));
  out.put(static_cast<char>(~pixels[0]));
}

// Damages each of these samples. The dataset has one shard and at most 251 samples.
inline void Damage(const std::filesystem::path& path, const std::vector<int>& samples) {
  const std::filesystem::path file = path / Dataset::Open(path).shards().at(0).file;
  for (const int sample : samples)
    DamageIn(file, static_cast<std::uint64_t>(sample));
}

// Checks that the played samples equal the stored ones. Each picture of a WriteRawDataset has one
// colour.
inline void RequireRightPixels(const Batch& batch) {
  const auto labels = batch.Field<std::int32_t>("label");
  for (std::size_t row = 0; row < batch.size(); ++row) {
    const std::uint8_t* const pixels = batch.image().data + row * 192;
    const std::uint64_t sample = batch.samples()[row];
    REQUIRE(std::count(pixels, pixels + 192, static_cast<std::uint8_t>(sample % 251)) == 192);
    REQUIRE(labels[row] == static_cast<std::int32_t>(sample % 10));
  }
}

struct Played {
  std::vector<std::uint64_t> samples;
  std::vector<SampleFlag> flags;
  std::vector<std::size_t> sizes;
  std::vector<std::string> errors;
};

// Plays an epoch to its end, whatever exceptions it throws on the way.
inline Played PlayOn(Loader& loader, std::uint64_t epoch) {
  Played played;
  std::optional<EpochIterator> it;
  const EpochRange range = loader.Epoch(epoch);
  for (bool more = true; more;) {
    try {
      if (it) {
        ++*it;
      } else {
        it.emplace(range.begin());
      }
      more = !(*it == std::default_sentinel);
      if (!more) break;
      const Batch& batch = **it;
      RequireRightPixels(batch);
      REQUIRE(batch.flags().size() == batch.size());
      played.sizes.push_back(batch.size());
      played.samples.insert(played.samples.end(), batch.samples().begin(), batch.samples().end());
      played.flags.insert(played.flags.end(), batch.flags().begin(), batch.flags().end());
    } catch (const Error& error) {
      played.errors.emplace_back(error.what());
      REQUIRE((error.code() == ErrorCode::kIo || error.code() == ErrorCode::kCorrupt ||
               error.code() == ErrorCode::kNotFound));
      REQUIRE(played.errors.size() < 10'000);
    }
  }
  return played;
}

}  // namespace sluice::test
