// The name that a file has until it is whole.
//
// It begins with a dot, "data/.shard-00000.sluice.tmp", and a manifest's names do not: so no shard
// can have such a name, and what has one was left by a process that was killed.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace sluice {

// `own`: as for AtomicFile.
std::filesystem::path TemporaryName(const std::filesystem::path& path, const std::string& own = {});

// "shard-00000.sluice", perhaps with `own` after a dot. Without folders. Empty for other names.
std::string_view NameOfTemporary(std::string_view name) noexcept;

}  // namespace sluice
