// What a store is opened with besides its URL.
#pragma once

#include "format/remote/environment.h"
#include "format/remote/http_loop.h"
#include "format/remote/retry.h"

namespace sluice {

struct StoreSettings {
  Environment environment = ProcessEnvironment;
  RetrySettings retries;
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds stall_timeout{20'000};
  // Of PutLarge().
  std::uint64_t part_bytes = 16 << 20;
  unsigned parts_at_once = 4;
};

}  // namespace sluice
