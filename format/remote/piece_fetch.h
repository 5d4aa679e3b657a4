// One request for neighbouring pieces of a shard (RemoteShards), filled by the store's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "format/remote/object_store.h"

namespace sluice {

struct PieceFetch {
  struct Part {
    std::uint64_t piece = 0;
    std::uint64_t offset = 0;  // in the data
    std::uint64_t bytes = 0;
    bool overlay = false;
  };
  std::uint32_t shard = 0;
  std::vector<Part> parts;
  std::uint64_t urgency = 0;
  std::string etag;
  std::shared_ptr<ObjectInfo> info = std::make_shared<ObjectInfo>();
  std::uint64_t ticket = 0;
  std::size_t at = 0;      // the part that is coming
  std::uint64_t done = 0;  // of its bytes
  bool unwritten = false;  // the disk has refused some of them
  std::uint64_t end() const noexcept { return parts.back().offset + parts.back().bytes; }
  std::uint64_t bytes() const noexcept { return end() - parts.front().offset; }
};

}  // namespace sluice
