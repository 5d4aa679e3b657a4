// One page of S3's ListObjectsV2.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/remote/object_store.h"

namespace sluice {

// A page has 1000 keys of 1024 bytes at most, each of which may be escaped three times as long.
inline constexpr std::uint64_t kMostListingBytes = 8 << 20;

// A server may look through objects for a while and find none to list; a list of objects has no end
// that could be known before.
inline constexpr unsigned kMostEmptyPages = 1000;
inline constexpr std::uint64_t kMostPages = 100'000;
inline constexpr std::size_t kMostObjectName = 1024;  // S3's

struct ListedObject {
  std::string key;
  ObjectInfo info;
};
struct ListingPage {
  std::vector<ListedObject> objects;
  std::vector<std::string> folders;  // common prefixes up to the delimiter, if one was asked for
  std::string next;                  // where the next page goes on; empty: this is the last
};

// Nothing if it is no such page.
std::optional<ListingPage> ParseListing(std::string_view xml);

}  // namespace sluice
