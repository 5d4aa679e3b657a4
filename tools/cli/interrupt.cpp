#include "tools/cli/interrupt.h"

#include <cerrno>
#include <cstdint>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <sluice/error.h>

namespace sluice::cli {
namespace {

bool Ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// Ends the process by `signal`, so that the parent process sees the cause.
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
  // An eventfd takes eight bytes or, at its maximum, none; the counter is 0 here.
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

}  // namespace sluice::cli
