// Tests that need a process of their own.
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

// Runs the action in a child process. Returns the child's exit code: 0 if the action returned true.
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
