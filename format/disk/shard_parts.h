// A shard whose bytes are not all there: one in an object store (format/remote).
//
// It is mapped like a local shard, but a part of it reads as zeros until it is brought, and again
// once nobody holds it. Thread-safe.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "format/disk/bytes.h"

namespace sluice {

class ShardParts {
 public:
  // The numbers of parts. Header and end are asked for before anything is known of the shard, so
  // each may turn out too short and has a rest.
  // A block has two: its header and table, up to a page's end, and the rest, its payloads.
  enum Number : std::uint64_t { kHeader, kHeaderRest, kSections, kEndRest, kEnd, kFirstBlock };
  static constexpr std::uint64_t PartsOf(std::uint64_t blocks) { return kFirstBlock + 2 * blocks; }
  struct Part {
    std::uint64_t number = 0;  // of block b: PartsOf(b), PartsOf(b) + 1
    std::uint64_t offset = 0;  // from the shard's start, whole pages
    std::uint64_t bytes = 0;
  };
  struct Block {
    std::array<Part, 2> parts;
    std::span<const Part> whole() const noexcept { return parts; }
    std::span<const Part> table() const noexcept { return {parts.data(), 1}; }
    std::uint64_t bytes(bool all) const noexcept {
      return parts[0].bytes + (all ? parts[1].bytes : 0);
    }
  };
  // Keeps a part while it lives.
  using Held = std::shared_ptr<const void>;

  virtual ~ShardParts() = default;

  virtual const std::string& name() const noexcept = 0;  // for messages
  virtual Bytes bytes() const noexcept = 0;              // the mapping, as long as the shard
  // Begins to bring parts, and returns at once. Throws Error.
  virtual Held Begin(std::span<const Part> parts) = 0;
  // Returns when they are there. Throws the Error for which one cannot be brought.
  virtual void Await(const Held& held) = 0;
  // For bytes of parts that are held and there, and that fail a check: fetches them once more. If
  // they pass it now, they take the place of the former ones; readers of other bytes notice
  // nothing. False if they do not, or cannot be fetched.
  virtual bool Mend(std::uint64_t offset, std::uint64_t bytes,
                    const std::function<bool(Bytes)>& passes) = 0;

  Held Bring(const Part& part) {
    Held held = Begin({&part, 1});
    Await(held);
    return held;
  }
};

}  // namespace sluice
