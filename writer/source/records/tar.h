// The members of a tar archive: POSIX ustar and pax, GNU's long names, and the old form before
// them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "format/disk/bytes.h"

namespace sluice {

inline constexpr std::size_t kTarBlock = 512;

struct TarMember {
  std::string name;
  bool regular = false;      // a file with content; otherwise a folder, a link or a device
  std::uint64_t offset = 0;  // of the content, in the archive
  std::uint64_t bytes = 0;
  // For a hard link: the name of an earlier member that has its content.
  std::string linked = {};
};

// How an archive ended.
struct TarEnd {
  bool marked = false;  // with a block of zeros; false: with the end of the file
  bool unread = false;  // after the zeros there is something that is not an archive
};

// Fills `to` with the bytes at `offset`, and returns how many; fewer only at the archive's end.
using TarRead = std::function<std::size_t(std::uint64_t offset, std::span<std::byte> to)>;

// Calls `visit` for each member, in the archive's order. If another archive follows the end of one,
// continues with it; anything else there is not read. Throws Error(kCorrupt), with the place in the
// archive, if it is damaged or cut short, and kUnsupported if it is compressed. `name` is for
// messages.
TarEnd ForEachTarMember(const std::string& name, const TarRead& read,
                        const std::function<void(const TarMember&)>& visit);

}  // namespace sluice
