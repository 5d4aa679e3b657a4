// An Error of the operating system's, with its number: for those who have to tell them apart.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>

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

// Whether an Error of reading a file says that the file is gone or damaged. False of what goes away
// by itself or with a user's help: no memory, too many open files, no permission, a server that
// does not answer.
inline bool SaysDataIsLost(const Error& error) noexcept {
  if (error.code() == ErrorCode::kNotFound || error.code() == ErrorCode::kCorrupt ||
      error.code() == ErrorCode::kUnsupported) {
    return true;
  }
  if (error.code() != ErrorCode::kIo) return false;
  const auto* const system = dynamic_cast<const SystemError*>(&error);
  constexpr std::array kOfTheDisk = {EIO, EBADMSG, EUCLEAN, ELOOP, ENXIO};
  return system == nullptr ||
         std::find(kOfTheDisk.begin(), kOfTheDisk.end(), system->number()) != kOfTheDisk.end();
}

}  // namespace sluice
