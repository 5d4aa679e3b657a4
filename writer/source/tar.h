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
  bool regular = false;      // a file with content; else a folder, a link, a device
  std::uint64_t offset = 0;  // of the content, in the archive
  std::uint64_t bytes = 0;
  // Of a hard link: the name of the member, somewhere before it, whose content it has.
  std::string linked = {};
};

// How an archive ended.
struct TarEnd {
  bool marked = false;  // by a block of zeros; else the file was over
  bool unread = false;  // behind the zeros lies something that is no archive
};

// Reads `size` bytes at `offset` into `to`; fewer only where the archive ends.
using TarRead = std::function<std::size_t(std::uint64_t offset, std::span<std::byte> to)>;

// Calls `visit` for each member, in the archive's order. Archives that were put one behind the
// other are read on, and what follows an archive's end and is none is left unread. Throws
// Error(kCorrupt), with the place in the archive, for one that is damaged or cut short;
// kUnsupported for one that is compressed. `name` is for messages.
TarEnd ForEachTarMember(const std::string& name, const TarRead& read,
                        const std::function<void(const TarMember&)>& visit);

}  // namespace sluice
