// The limits of format version 1. format/FORMAT.md, "Limits", states them; writers and readers
// enforce them. (The limits of a shard's size are public: kMinShardBytes and kMaxShardBytes, in
// schema.h.)
#pragma once

#include <cstdint>

#include <sluice/schema.h>

namespace sluice {

inline constexpr std::uint64_t kMaxPayloadBytes = 120'000'000;
inline constexpr std::uint64_t kMaxInflatedBytes = 1'073'741'824;  // a zstd payload's content, 2^30
inline constexpr std::uint64_t kMaxImageBytes = 1'073'741'824;     // an image's values, 2^30
inline constexpr std::uint32_t kMaxBlockSamples = 65'536;
inline constexpr std::uint64_t kMaxShards = 1'000'000;
inline constexpr std::uint64_t kMaxSamples = std::uint64_t{1} << 48;
inline constexpr std::uint64_t kMaxDeletedRuns = std::uint64_t{1} << 20;
inline constexpr std::uint32_t kMaxFields = 256;
inline constexpr std::uint32_t kMaxDimensions = 8;
inline constexpr std::uint64_t kMaxRecordBytes = 65'536;      // one sample's row in a block's table
inline constexpr std::uint64_t kMaxHeaderBytes = 16'777'216;  // a shard's header, schema included
inline constexpr std::uint64_t kMaxKeyBytes = 65'535;
inline constexpr std::uint32_t kMaxKeyChunkSamples = 4'096;  // keys compressed together
inline constexpr std::uint64_t kMaxNameBytes = 255;
inline constexpr std::uint32_t kMaxImageSide = 65'535;
inline constexpr std::uint32_t kMaxImageChannels = 64;
inline constexpr std::uint32_t kMaxPixelType = 4;              // enum PixelType
inline constexpr std::uint64_t kMaxImagePixels = 268'435'456;  // width x height, 2^28
inline constexpr std::uint64_t kMaxManifestBytes = 1'073'741'824;
inline constexpr unsigned kMaxJsonDepth = 32;  // levels of objects and arrays inside each other

}  // namespace sluice
