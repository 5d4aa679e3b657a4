#include "tests/tools/run.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::test {
namespace {

// Turns the forked process into the program. Between fork and exec, only some calls are safe.
[[noreturn]] void Execute(char* const* words, char* const* environment, int in, int out, int err) {
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execve(words[0], words, environment);
  _exit(127);
}

// Appends to `text` what can be read now. Returns false at the end.
bool ReadSome(int fd, std::string& text) {
  char buffer[65536];
  const ssize_t size = read(fd, buffer, sizeof buffer);
  if (size > 0) text.append(buffer, static_cast<std::size_t>(size));
  return size > 0 || (size < 0 && (errno == EINTR || errno == EAGAIN));
}

// The words that start an emulator, if programs are built for another kind of machine.
Words Emulator() {
  Words words;
  std::istringstream list(SLUICE_EMULATOR);
  for (std::string word; std::getline(list, word, ':');)
    words.push_back(word);
  return words;
}

void Check(bool good, const char* what) {
  if (!good) throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

Running::Running(const std::string& program, const Words& arguments, const RunOptions& options) {
  int out[2] = {-1, -1};
  int err[2] = {-1, -1};
  if (options.out_file.empty()) {
    Check(pipe2(out, O_CLOEXEC) == 0, "pipe");
  } else {
    out[1] = open(options.out_file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    Check(out[1] >= 0, "open");
  }
  if (options.terminal_columns > 0) {
    winsize size{24, options.terminal_columns, 0, 0};
    const bool opened = openpty(&err[0], &err[1], nullptr, nullptr, &size) == 0;
    if (!opened) std::puts("skipped: there is no terminal (/dev/pts)");  // ctest looks for this
    Check(opened, "openpty");
    fcntl(err[0], F_SETFD, FD_CLOEXEC);
  } else {
    Check(pipe2(err, O_CLOEXEC) == 0, "pipe");
  }
  std::vector<char*> words;
  const Words emulator = Emulator();
  for (const std::string& word : emulator)
    words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(const_cast<char*>(program.c_str()));
  for (const std::string& word : arguments)
    words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  // The variables of the options come first: if a name occurs twice, getenv() returns the first.
  std::vector<char*> environment;
  for (const std::string& variable : options.environment)
    environment.push_back(const_cast<char*>(variable.c_str()));
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.push_back(*variable);
  environment.push_back(nullptr);
  int in = err[1];
  if (options.typed.empty()) {
    in =
        open(options.in_file.empty() ? "/dev/null" : options.in_file.c_str(), O_RDONLY | O_CLOEXEC);
  } else {
    const auto size = static_cast<ssize_t>(options.typed.size());
    Check(write(err[0], options.typed.data(), options.typed.size()) == size, "write");
  }
  pid_ = fork();
  Check(pid_ >= 0, "fork");
  if (pid_ == 0) Execute(words.data(), environment.data(), in, out[1], err[1]);
  if (in >= 0 && in != err[1]) close(in);
  close(out[1]);
  close(err[1]);
  out_ = out[0];
  err_ = err[0];
}

Running::~Running() {
  if (out_ >= 0) close(out_);
  if (err_ >= 0) close(err_);
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
}

void Running::Signal(int signal) const {
  if (pid_ > 0) kill(pid_, signal);
}

bool Running::Ended() const {
  siginfo_t info{};
  return pid_ < 0 ||
         (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          info.si_pid != 0);
}

bool Running::Stopped() const {
  siginfo_t info{};
  return pid_ > 0 &&
         waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid != 0;
}

std::size_t Running::Threads() const {
  std::error_code gone;
  std::size_t threads = 0;
  const std::filesystem::path folder = "/proc/" + std::to_string(pid_) + "/task";
  for (std::filesystem::directory_iterator it(folder, gone), end; !gone && it != end;
       it.increment(gone)) {
    ++threads;
  }
  // An emulator has a thread of its own in addition to the program's.
  return threads > 0 && !Emulator().empty() ? threads - 1 : threads;
}

Outcome Running::Interrupt() {
  bool sent = false;
  Outcome outcome = Wait([&](const Outcome&) {
    if (sent || !WaitsForInterrupts()) return;
    Signal(SIGINT);
    sent = true;
  });
  if (!sent)
    throw std::runtime_error("the program ended before it could be interrupted: " + outcome.err);
  return outcome;
}

bool Running::WaitsForInterrupts() const {
  if (!Emulator().empty()) return Threads() >= 2;  // its signal mask is not the program's
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("SigBlk:")) continue;
    const std::uint64_t blocked = std::stoull(line.substr(7), nullptr, 16);
    const auto blocks = [blocked](int signal) { return (blocked >> (signal - 1) & 1) != 0; };
    // While a thread is created, all signals may be blocked for a moment: that does not count.
    return blocks(SIGINT) && !blocks(SIGHUP);
  }
  return false;
}

Outcome Running::Wait(const std::function<void(const Outcome&)>& meanwhile) {
  Outcome outcome;
  while (out_ >= 0 || err_ >= 0) {
    pollfd events[] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
    poll(events, 2, meanwhile ? 2 : -1);
    for (auto [event, fd, text] : {std::tuple{&events[0], &out_, &outcome.out},
                                   std::tuple{&events[1], &err_, &outcome.err}}) {
      if (event->revents != 0 && !ReadSome(*fd, *text)) {
        close(*fd);
        *fd = -1;
      }
    }
    if (meanwhile) meanwhile(outcome);
  }
  int status = 0;
  Check(waitpid(pid_, &status, 0) == pid_, "waitpid");
  pid_ = -1;
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
}

Outcome Run(const std::string& program, const Words& arguments, const RunOptions& options) {
  return Running(program, arguments, options).Wait();
}

Outcome Sluice(const Words& arguments, const RunOptions& options) {
  return Run(SLUICE_COMMAND, arguments, options);
}

Outcome Bench(const Words& arguments, const RunOptions& options) {
  return Run(SLUICE_BENCH_COMMAND, arguments, options);
}

}  // namespace sluice::test
