// Whether the head of an answer to a range request is one that the range can be taken from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "format/remote/verdict.h"

namespace sluice {

struct WantedRange {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // above 0
  std::string_view etag;    // empty: any content
};

// kGood: the body is that range. Else what is wrong with it. For statuses 200 and 206.
Verdict JudgeRangeAnswer(const HttpReply& reply, const WantedRange& wanted);

// "bytes 0-99/1234", or nothing. `total` is empty where it says "*".
struct ContentRange {
  std::uint64_t first = 0, last = 0;
  std::optional<std::uint64_t> total;
};
std::optional<ContentRange> ParseContentRange(std::string_view text);

// Whether an ETag may stand in If-Match, which compares strongly.
inline bool IsStrongEtag(std::string_view etag) noexcept {
  return !etag.empty() && !etag.starts_with("W/");
}

}  // namespace sluice
