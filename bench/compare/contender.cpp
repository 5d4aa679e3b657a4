// Runs another loader as a child process: starts it, reads its lines, and measures it from outside.
//
// A contender's own clock starts too late to time its start, and its own memory figures leave out
// its worker processes. So times begin when the process is started here, and CPU time and memory
// are taken of its whole process tree while it runs. A contender may hang, fail, or leave children
// behind; none of that may hold up the comparison.
#include "bench/compare/contender.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sluice/error.h>

#include "bench/machine/machine.h"

namespace sluice::bench {
namespace {

using Clock = std::chrono::steady_clock;

// A child process in a process group of its own, so that all of its children can be ended with it.
class Child {
 public:
  Child(const std::vector<std::string>& words, const std::filesystem::path& log) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error(ErrorCode::kIo, "cannot create a pipe");
    const int errors = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    std::vector<char*> arguments;
    for (const std::string& word : words)
      arguments.push_back(const_cast<char*>(word.c_str()));  // execvp does not change the words
    arguments.push_back(nullptr);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
      // The child must not outlive this process, which reads its output.
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(127);
      setpgid(0, 0);
      sigset_t none;
      sigemptyset(&none);
      sigprocmask(SIG_SETMASK, &none, nullptr);  // undoes the blocking of signals by cli::Interrupt
      dup2(nothing, STDIN_FILENO);
      dup2(ends[1], STDOUT_FILENO);
      if (errors >= 0) dup2(errors, STDERR_FILENO);
      execvp(arguments[0], arguments.data());
      _exit(127);
    }
    close(ends[1]);
    if (errors >= 0) close(errors);
    if (nothing >= 0) close(nothing);
    out_ = ends[0];
    if (pid_ < 0) {
      close(out_);
      throw Error(ErrorCode::kIo, words.front(), "cannot be started");
    }
    setpgid(pid_, pid_);  // parent and child both call it, since either may come first
  }
  ~Child() {
    End();
    close(out_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const noexcept { return pid_; }

  // Waits up to 50 ms for output, and appends it to `text`. Returns false once the output has
  // ended.
  bool Read(std::string& text) const {
    pollfd poll_out{out_, POLLIN, 0};
    if (poll(&poll_out, 1, 50) <= 0) return true;
    char buffer[4096];
    const ssize_t got = read(out_, buffer, sizeof buffer);
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
  }

  // Waits for the child, and kills what is left of its process group. With `kill_first`, kills the
  // child, too, instead of waiting until it ends by itself. Returns the child's exit code or, if a
  // signal ended it, the signal's number, negative.
  int End(bool kill_first = true) {
    if (waited_) return code_;
    if (kill_first) kill(-pid_, SIGKILL);
    int status = 0;
    waitpid(pid_, &status, 0);
    if (!kill_first) kill(-pid_, SIGKILL);  // the child's own children may have outlived it
    waited_ = true;
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return code_;
  }

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  bool waited_ = false;
  int code_ = 0;
};

// The last non-empty line of the log; at most 200 bytes of it.
std::string LastLine(const std::filesystem::path& log) {
  std::ifstream file(log);
  std::string line, last;
  while (std::getline(file, line)) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  return last.substr(0, 200);
}

}  // namespace

void ContenderLines::Take(const std::string& line, double seconds_since_start, double cpu_seconds) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return;  // libraries print other lines as well
  const std::string event = json.value("event", "");
  if (event == "about") run_.about = json.value("text", "");
  if (event == "missing") run_.missing = json.value("why", "");
  if (event == "first") run_.first_batch_seconds = seconds_since_start;
  if (event == "packed") run_.packed_seconds = json.value("seconds", 0.0);
  if (event == "begin") {
    begun_ = true;
    cpu_begin_ = cpu_seconds;
  }
  if (event == "epoch") {
    run_.images = json.value("images", std::uint64_t{0});
    images_ += run_.images;
    seconds_ += json.value("seconds", 0.0);
  }
  if (event == "end") {
    ended_ = true;
    cpu_end_ = cpu_seconds;
    run_.distinct = json.value("distinct", std::uint64_t{0});
  }
}

ContenderRun ContenderLines::Result() const {
  ContenderRun run = run_;
  if (images_ > 0 && seconds_ > 0) {
    run.images_per_second = static_cast<double>(images_) / seconds_;
    run.cpu_seconds_per_1000 = 1000 * (cpu_end_ - cpu_begin_) / static_cast<double>(images_);
  }
  return run;
}

ContenderRun RunContender(const Contender& contender, const std::vector<std::string>& arguments,
                          const std::filesystem::path& log, std::chrono::seconds limit,
                          const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kBetweenLooks{200};  // reading memory costs kernel time
  std::vector<std::string> words = contender.command;
  words.insert(words.end(), arguments.begin(), arguments.end());
  const Clock::time_point start = Clock::now();
  Child child(words, log);
  ContenderLines lines;
  std::uint64_t peak = 0;
  std::string text;
  Clock::time_point looked;
  bool in_time = true;
  while (child.Read(text) && in_time && !stop.stop_requested()) {
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      const std::chrono::duration<double> since = Clock::now() - start;
      lines.Take(text.substr(0, end), since.count(), UseOfTree(child.pid(), false).cpu_seconds);
      text.erase(0, end + 1);
    }
    if (Clock::now() - looked >= kBetweenLooks) {
      peak = std::max(peak, UseOfTree(child.pid(), true).resident_bytes);
      looked = Clock::now();
    }
    in_time = Clock::now() - start < limit;
  }
  const int code = child.End(!in_time || stop.stop_requested());
  ContenderRun run = lines.Result();
  run.peak_bytes = peak;
  if (!in_time) {
    run.error = "took longer than " + std::to_string(limit.count()) + " s";
  } else if (code != 0) {
    run.error = LastLine(log);
    if (run.error.empty()) run.error = "ended with " + std::to_string(code);
  }
  return run;
}

}  // namespace sluice::bench
