// A shard whose bytes are not all there: one in an object store (format/remote).
//
// It is mapped like a local shard, but a part of it reads as zeros until it is brought, and again
// once nobody holds it. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "format/disk/bytes.h"

namespace sluice {

class ShardParts {
 public:
  // The numbers of parts. Header and end are asked for before anything is known of the shard, so
  // each may turn out too short and has a rest.
  enum Number : std::uint64_t { kHeader, kHeaderRest, kSections, kEndRest, kEnd, kFirstBlock };
  struct Part {
    std::uint64_t number = 0;  // kFirstBlock + b for block b
    std::uint64_t offset = 0;  // from the shard's start, whole pages
    std::uint64_t bytes = 0;
  };
  // Keeps a part while it lives.
  using Held = std::shared_ptr<const void>;

  virtual ~ShardParts() = default;

  virtual const std::string& name() const noexcept = 0;  // for messages
  virtual Bytes bytes() const noexcept = 0;              // the mapping, as long as the shard
  // Begins to bring a part, and returns at once. Throws Error.
  virtual Held Begin(const Part& part) = 0;
  // Returns when it is there. Throws the Error for which it cannot be brought.
  virtual void Await(const Held& held) = 0;

  Held Bring(const Part& part) {
    Held held = Begin(part);
    Await(held);
    return held;
  }
};

}  // namespace sluice
