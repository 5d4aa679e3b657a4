// Errors of the operating system, with errno, and of memory: they say nothing about the data.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <sluice/error.h>

namespace sluice {

class SystemError : public Error {
 public:
  SystemError(ErrorCode code, std::string file, const std::string& sentence, int number)
      : Error(code, std::move(file), sentence), number_(number) {}

  int number() const noexcept { return number_; }  // errno

 private:
  int number_;
};

// "There is not enough memory". The error is made when the program begins, so that using it takes
// no memory: for the outermost handler of a thread, which cannot throw.
const Error& OutOfMemory() noexcept;

// Detects that an allocation has failed in this thread since the watch was made, also inside a
// library that only reports a failure: malloc() then sets errno, and calls that succeed do not
// reset it.
class AllocationWatch {
 public:
  AllocationWatch() noexcept : before_(std::exchange(errno, 0)) {}
  ~AllocationWatch() {
    if (!failed()) errno = before_;  // for a watch around this one
  }
  AllocationWatch(const AllocationWatch&) = delete;
  AllocationWatch& operator=(const AllocationWatch&) = delete;
  bool failed() const noexcept { return errno == ENOMEM; }

 private:
  const int before_;
};

// Whether an Error says that this process lacks memory, mappings or descriptors. The file that
// could not be read may be whole.
bool IsShortage(const Error& error) noexcept;

// Whether an Error of reading a file says that the file is gone or damaged. False for faults that
// go away by themselves or that a user can remove: no memory, too many open files, no permission, a
// server that does not answer.
inline bool SaysDataIsLost(const Error& error) noexcept {
  switch (error.code()) {
    case ErrorCode::kNotFound:
    case ErrorCode::kCorrupt:
    case ErrorCode::kUnsupported: return true;
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kUnfinished:
    case ErrorCode::kExists:
    case ErrorCode::kLimit:
    case ErrorCode::kState:
    case ErrorCode::kMemory: return false;
    case ErrorCode::kIo: break;
  }
  const auto* const system = dynamic_cast<const SystemError*>(&error);
  constexpr std::array kOfTheDisk = {EIO, EBADMSG, EUCLEAN, ELOOP, ENXIO};
  return system == nullptr ||
         std::find(kOfTheDisk.begin(), kOfTheDisk.end(), system->number()) != kOfTheDisk.end();
}

}  // namespace sluice
