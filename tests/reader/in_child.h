// Runs part of a test in a process of its own.
#pragma once

#include <functional>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/catch.h"

namespace sluice::test {

#if defined(__SANITIZE_THREAD__)
// The thread sanitizer ends a process that forks after making threads.
inline constexpr bool kForks = false;
#else
inline constexpr bool kForks = true;
#endif

// Runs the action in a child process. Returns 0 if the action returned true, 1 if it returned false
// or threw, and 256 + the signal if a signal ended the child.
inline int InChild(const std::function<bool()>& action) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    bool good = false;
    try {
      good = action();
    } catch (...) {
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

}  // namespace sluice::test
