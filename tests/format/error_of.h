// Returns the Error that a call throws, as a value to examine.
#pragma once

#include <optional>

#include <sluice/error.h>

namespace sluice::test {

template <class Call>
std::optional<Error> ErrorOf(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

// The code of the error that the call throws; nullopt if it does not throw.
template <class Call>
std::optional<ErrorCode> CodeOf(Call&& call) {
  const std::optional<Error> error = ErrorOf(call);
  return error ? std::optional(error->code()) : std::nullopt;
}

}  // namespace sluice::test
