// Signals, input and progress.
//
// SIGINT and SIGTERM are blocked in all threads and read from a descriptor by one thread, so that
// no code runs in a signal handler. That thread requests a stop; other threads check for the
// request. A thread that reads standard input waits at most a tenth of a second at a time, so that
// it can check, too.
#include "tools/cli/terminal.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <sluice/error.h>

#include "tools/cli/output.h"
#include "tools/cli/quantity.h"

namespace sluice::cli {

namespace {

bool Ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// Ends the process with `signal`, so that the parent process sees the cause.
void EndBySignal(int signal) {
  std::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  raise(signal);
}

}  // namespace

Interrupt::Interrupt() {
  sigset_t caught;
  sigemptyset(&caught);
  for (const int signal : {SIGINT, SIGTERM}) {
    if (!Ignored(signal)) sigaddset(&caught, signal);
  }
  pthread_sigmask(SIG_BLOCK, &caught, &previous_);
  signals_ = signalfd(-1, &caught, SFD_CLOEXEC);
  finished_ = eventfd(0, EFD_CLOEXEC);
  if (signals_ < 0 || finished_ < 0) {
    if (signals_ >= 0) close(signals_);
    if (finished_ >= 0) close(finished_);
    pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
    throw Error(ErrorCode::kIo,
                "this process has no file descriptor left, and needs one to wait for signals; "
                "raise `ulimit -n`");
  }
  thread_ = std::thread([this] { Wait(signals_, finished_); });
}

Interrupt::~Interrupt() {
  const std::uint64_t one = 1;
  // An eventfd accepts all eight bytes unless its counter is at the maximum; here the counter is 0.
  while (write(finished_, &one, sizeof one) < 0 && errno == EINTR) {
  }
  thread_.join();
  close(finished_);
  close(signals_);
  pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

void Interrupt::Wait(int signals, int finished) {
  for (;;) {
    pollfd events[] = {{signals, POLLIN, 0}, {finished, POLLIN, 0}};
    if (poll(events, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (events[0].revents != 0) {
      signalfd_siginfo info{};
      if (read(signals, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return;
      if (stop_.stop_requested()) EndBySignal(static_cast<int>(info.ssi_signo));
      stop_.request_stop();
    } else {
      return;
    }
  }
}

namespace {
constexpr std::size_t kPieceBytes = 1 << 20;
constexpr int kStopPollMilliseconds = 100;  // between two checks for a stop while no input comes

// Waits for input and reads it. Returns the number of bytes read; 0 at the end of the input.
std::size_t ReadPiece(const std::stop_token& stop, std::span<char> piece) {
  for (;;) {
    if (stop.stop_requested()) {
      throw Error(ErrorCode::kState, "standard input", "could not be read to its end");
    }
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = poll(&input, 1, kStopPollMilliseconds);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t got = read(STDIN_FILENO, piece.data(), piece.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == EINTR) continue;
    throw Error(ErrorCode::kIo, "standard input",
                std::string("cannot be read: ") + std::strerror(errno));
  }
}
}  // namespace

void ReadStandardInput(const std::stop_token& stop,
                       const std::function<void(std::string_view piece)>& take) {
  std::vector<char> piece(kPieceBytes);
  while (const std::size_t got = ReadPiece(stop, piece))
    take({piece.data(), got});
}

bool CanAsk() {
  return isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
}

bool Ask(const std::string& question, const std::stop_token& stop) {
  std::fprintf(stderr, "%s [y/N] ", Printable(question).c_str());
  std::fflush(stderr);
  std::array<char, 256> line{};  // a terminal hands over whole lines
  const std::size_t got = ReadPiece(stop, line);
  std::string answer(line.data(), got);
  answer.resize(std::min(answer.find_last_not_of(" \t\r\n") + 1, answer.size()));
  return answer == "y" || answer == "Y" || answer == "yes";
}

namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);  // between two drawings on a terminal
constexpr auto kLogLine = std::chrono::minutes(1);        // between two lines of a log
constexpr std::size_t kMaxBar = 30;                       // columns of the bar, at most
constexpr std::size_t kMinBar = 5;                        // with fewer columns, the bar is left out

std::size_t TerminalColumns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

double Share(const ProgressFigures& figures) {
  if (figures.total == 0) return 0;
  return std::min(1.0, static_cast<double>(figures.done) / static_cast<double>(figures.total));
}

std::string TimeLeft(const ProgressFigures& figures) {
  if (figures.per_second <= 0 || figures.done >= figures.total) return "";
  return ClockText(static_cast<double>(figures.total - figures.done) / figures.per_second) +
         " left";
}

std::string Bar(double share, std::size_t width) {
  const auto full = static_cast<std::size_t>(share * static_cast<double>(width));
  return Format("[%s%s] ", std::string(full, '#').c_str(), std::string(width - full, '.').c_str());
}

}  // namespace

std::string ProgressLine(const ProgressFigures& figures, std::size_t columns) {
  const std::string front = figures.activity + " ";
  std::string back;
  if (figures.total == 0) {
    back = std::to_string(figures.done);
  } else {
    // Percentages round down, so that 100% means everything is done.
    back = Format("%3d%%  %llu/%llu", static_cast<int>(Share(figures) * 100),
                  static_cast<unsigned long long>(figures.done),
                  static_cast<unsigned long long>(figures.total));
  }
  if (figures.per_second > 0) back += "  " + RateText(figures.per_second) + " images/s";
  if (figures.bytes > 0) back += "  " + BytesText(figures.bytes);
  const std::string left = TimeLeft(figures);
  if (!left.empty()) back += "  " + left;

  const std::size_t used = front.size() + back.size() + 3;  // brackets and a blank
  std::string line = front;
  if (figures.total > 0 && used + kMinBar <= columns) {
    line += Bar(Share(figures), std::min(kMaxBar, columns - used));
  }
  line += back;
  if (line.size() > columns) line.resize(columns);
  return line;
}

std::string ProgressSentence(const ProgressFigures& figures) {
  std::string text = figures.activity + ": " + std::to_string(figures.done);
  if (figures.total > 0) text += " of " + std::to_string(figures.total);
  text += " images";
  if (figures.total > 0) text += Format(" (%d%%)", static_cast<int>(Share(figures) * 100));
  if (figures.per_second > 0) text += ", " + RateText(figures.per_second) + " images/s";
  if (figures.bytes > 0) text += ", " + BytesText(figures.bytes);
  const std::string left = TimeLeft(figures);
  if (!left.empty()) text += ", " + left;
  return text;
}

ProgressStyle ProgressStyleFor(bool silent) {
  if (silent) return ProgressStyle::kSilent;
  return isatty(STDERR_FILENO) == 1 ? ProgressStyle::kTerminal : ProgressStyle::kLog;
}

Progress::Progress(ProgressStyle style, std::string activity, const std::string& title)
    : style_(style) {
  figures_.activity = std::move(activity);
  if (style_ == ProgressStyle::kLog) std::fprintf(stderr, "%s\n", Printable(title).c_str());
}

void Progress::SetActivity(const std::string& activity) {
  if (figures_.activity == activity) return;
  figures_.activity = activity;
  begun_ = false;
}

void Progress::Update(std::uint64_t done, std::uint64_t total, std::uint64_t bytes) {
  if (style_ == ProgressStyle::kSilent) return;
  const Clock::time_point now = Clock::now();
  if (!begun_) {
    begun_ = true;
    first_done_ = done;
    first_ = now;
    if (last_drawn_ == Clock::time_point() && style_ == ProgressStyle::kLog) last_drawn_ = now;
  }
  const auto interval = style_ == ProgressStyle::kTerminal ? Clock::duration(kRedraw) : kLogLine;
  const bool last = style_ == ProgressStyle::kTerminal && total > 0 && done == total;
  if (!last && last_drawn_ != Clock::time_point() && now - last_drawn_ < interval) return;
  last_drawn_ = now;

  figures_.done = done;
  figures_.total = total;
  figures_.bytes = bytes;
  // In the first second the rate says little, and the time left would jump about.
  const double seconds = std::chrono::duration<double>(now - first_).count();
  figures_.per_second = seconds < 1 ? 0 : static_cast<double>(done - first_done_) / seconds;
  if (style_ == ProgressStyle::kTerminal) {
    // The last column stays empty: writing there makes some terminals wrap.
    std::fprintf(stderr, "\r\033[K%s", ProgressLine(figures_, TerminalColumns() - 1).c_str());
    on_screen_ = true;
  } else {
    std::fprintf(stderr, "%s\n", ProgressSentence(figures_).c_str());
  }
}

void Progress::Erase() {
  if (!on_screen_) return;
  std::fputs("\r\033[K", stderr);
  on_screen_ = false;
  last_drawn_ = Clock::time_point();
}

}  // namespace sluice::cli
