// Locks of open files, among processes. A lock belongs to the open file: it ends once the file's
// last descriptor is closed, also because the process dies. Nothing here waits for another process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "format/disk/file.h"

namespace sluice {

enum class FileHold { kNone, kShared, kExclusive };

// Locks the whole file, changes its lock, or releases it. False, with errno, if that fails:
// EWOULDBLOCK if the lock of another open file excludes this one.
bool LockFile(const FileHandle& file, FileHold hold) noexcept;

// " (process 17, python3)" for a process that has locked the whole file or folder; empty if the
// system does not name one. A program that only reads can hold such a lock, too.
std::string LockHolder(const FileHandle& file);

// As LockFile(), for one byte of the file. The byte need not be there, and files' locks do not
// exclude bytes' locks.
bool LockByte(const FileHandle& file, std::uint64_t byte, FileHold hold) noexcept;

// The lock of another open file that excludes `hold` of that byte; kNone if no lock does. nullopt
// if the system does not say.
std::optional<FileHold> OtherHold(const FileHandle& file, std::uint64_t byte,
                                  FileHold hold) noexcept;

}  // namespace sluice
