// A program that runs in the background of a test.
#pragma once

#include <csignal>
#include <stdexcept>
#include <string>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace sluice::test {

class ChildProcess {
 public:
  // Starts the program. The destructor ends it and its process group with SIGTERM.
  explicit ChildProcess(const std::vector<std::string>& words) {
    std::vector<char*> arguments;
    for (const std::string& word : words)
      arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const int error =
        posix_spawnp(&process_, arguments[0], nullptr, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    if (error != 0) throw std::runtime_error("cannot start " + words[0]);
  }
  ~ChildProcess() {
    Signal(SIGTERM);
    if (!ended_) waitpid(process_, nullptr, 0);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void Signal(int number) const {
    if (!ended_) kill(-process_, number);
  }
  bool Ended() {
    ended_ = ended_ || waitpid(process_, nullptr, WNOHANG) == process_;
    return ended_;
  }

 private:
  pid_t process_ = 0;
  bool ended_ = false;
};

}  // namespace sluice::test
