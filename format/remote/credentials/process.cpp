// Runs the program of a profile's credential_process, without a shell. The program may hang, print
// without end or leave descendants, so it has a process group of its own, and its time and output
// are limited.
// The order at the end matters: the whole group is killed before the child is waited for, because a
// child that was waited for no longer reserves its number, and the signal could meet other
// processes.
#include "format/remote/credentials/process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/disk/file.h"

extern char** environ;

namespace sluice {

namespace {

using ProcessClock = std::chrono::steady_clock;
// How long a stop request, or the end of the time, may go unnoticed while the program prints
// nothing.
constexpr std::chrono::milliseconds kStopPoll{20};

struct SpawnSettings {
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

// Starts the program. Returns errno, or 0. The child leads a process group of its own, so that it
// can be killed with all its descendants. It begins with default signal handling.
int Spawn(const std::vector<std::string>& words, int output, pid_t& child) {
  SpawnSettings settings;
  posix_spawn_file_actions_addopen(&settings.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&settings.actions, output, STDOUT_FILENO);
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  for (const int signal : {SIGPIPE, SIGCHLD, SIGINT, SIGTERM})
    sigaddset(&usual, signal);
  posix_spawnattr_setsigmask(&settings.attributes, &none);
  posix_spawnattr_setsigdefault(&settings.attributes, &usual);
  posix_spawnattr_setpgroup(&settings.attributes, 0);
  posix_spawnattr_setflags(&settings.attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> arguments;
  for (const std::string& word : words)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  return posix_spawnp(&child, arguments[0], &settings.actions, &settings.attributes,
                      arguments.data(), environ);
}

// Reads to the end of the output, or up to one of the limits. Returns false if the program must be
// killed.
bool ReadOutput(int pipe, std::size_t limit, ProcessClock::time_point until,
                const std::function<bool()>& stopped, ProcessResult& result) {
  std::array<char, 4096> buffer{};
  for (;;) {
    if (stopped()) {
      result.end = ProcessResult::End::kStopped;
      return false;
    }
    if (ProcessClock::now() >= until) {
      result.end = ProcessResult::End::kTooSlow;
      return false;
    }
    pollfd look{pipe, POLLIN, 0};
    if (poll(&look, 1, static_cast<int>(kStopPoll.count())) <= 0) continue;
    const ssize_t size = read(pipe, buffer.data(), buffer.size());
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (size <= 0) return true;
    if (result.output.size() + static_cast<std::size_t>(size) > limit) {
      result.end = ProcessResult::End::kTooLong;
      return false;
    }
    result.output.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace

std::optional<std::vector<std::string>> CommandWords(std::string_view command) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    const bool more = i + 1 < command.size();
    if (quote == '\'') {
      if (c == '\'')
        quote = 0;
      else
        word += c;
    } else if (quote == '"') {
      if (c == '"')
        quote = 0;
      else if (c == '\\' && more && (command[i + 1] == '"' || command[i + 1] == '\\'))
        word += command[++i];
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t') {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      if (c == '\\' && !more) return std::nullopt;
      word += c == '\\' ? command[++i] : c;
      in_word = true;
    }
  }
  if (quote != 0) return std::nullopt;
  if (in_word) words.push_back(std::move(word));
  return words;
}

ProcessResult RunProcess(const std::vector<std::string>& words, std::size_t limit,
                         std::chrono::milliseconds most, const std::function<bool()>& stopped) {
  using End = ProcessResult::End;
  ProcessResult result;
  std::array<int, 2> ends{};
  // O_CLOEXEC: a process that another thread starts at the same time must not inherit the pipe,
  // which would then have no end. The program gets a copy of the writing end without that flag
  // (Spawn()).
  if (words.empty() || pipe2(ends.data(), O_CLOEXEC) != 0) {
    result.status = words.empty() ? EINVAL : errno;
    return result;
  }
  const FileHandle from(ends[0]);
  FileHandle to(ends[1]);
  pid_t child = 0;
  result.status = Spawn(words, to.get(), child);
  if (result.status != 0) return result;
  // While this process holds a writing end, the program's output never ends.
  to = FileHandle();
  const auto until = ProcessClock::now() + most;
  bool good = ReadOutput(from.get(), limit, until, stopped, result);
  // A program that has closed its output may still run.
  int status = 0;
  pid_t ended = 0;
  while (good && (ended = waitpid(child, &status, WNOHANG)) == 0) {
    good = !stopped() && ProcessClock::now() < until;
    if (!good) result.end = stopped() ? End::kStopped : End::kTooSlow;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (!good) {
    // The minus sign addresses the process group, with all descendants of the program.
    kill(-child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return result;
  }
  // A process that ignores SIGCHLD gets no status of its children (ECHILD): then the output
  // decides.
  const bool killed = ended == child && WIFSIGNALED(status);
  result.end = killed ? End::kKilled : End::kExited;
  result.status = killed ? WTERMSIG(status) : ended == child ? WEXITSTATUS(status) : 0;
  return result;
}

}  // namespace sluice
