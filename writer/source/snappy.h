// Snappy's raw format, which Parquet's pages use.
#pragma once

#include "format/disk/bytes.h"

namespace sluice {

// Decompresses into exactly `content`. False if the bytes are not that.
bool SnappyDecompress(Bytes compressed, std::span<std::byte> content) noexcept;

}  // namespace sluice
