// Errors of the operating system, with their errno, and the error for lack of memory. IsShortage()
// and SaysDataIsLost() tell whether the process, or the data, is at fault.
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

// The error for lack of memory. It is made when the program begins, and using it takes no memory,
// so it suits the outermost handler of a thread, which must not throw.
const Error& OutOfMemory() noexcept;

// Detects whether an allocation has failed in this thread since the watch was made, also inside a
// library that does not say why it failed. It watches errno: malloc() sets it when it fails, and
// calls that succeed do not reset it.
class AllocationWatch {
 public:
  AllocationWatch() noexcept : before_(std::exchange(errno, 0)) {}
  ~AllocationWatch() {
    // If a watch around this one has seen ENOMEM already, it must still find it in errno.
    if (!failed()) errno = before_;
  }
  AllocationWatch(const AllocationWatch&) = delete;
  AllocationWatch& operator=(const AllocationWatch&) = delete;
  bool failed() const noexcept { return errno == ENOMEM; }

 private:
  const int before_;
};

// Whether an Error says that this process lacks memory, mappings or descriptors, or that a call may
// be repeated (EAGAIN, EINTR). The file that could not be read may be whole.
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
