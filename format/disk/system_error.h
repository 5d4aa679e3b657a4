// An Error of the operating system's, with its number: for those who have to tell them apart.
#pragma once

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

}  // namespace sluice
