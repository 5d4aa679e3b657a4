// The kernel sends SIGBUS to a thread that touches a page of a mapped file which cannot be read:
// the file became shorter, or the disk failed. A guard replaces such a page by zeros and notes that
// it is lost, so that the program continues and reports a damaged sample.
//
// Each thread has a list of its guards, the innermost first. The signal handler runs on the thread
// that touched the page: it looks the address up in that list, then in the table of LastingGuards,
// and replaces the page with a raw mmap call. The page is noted as lost before the zeros appear, so
// that any thread that reads them finds it listed. Any other SIGBUS goes to the handler that was
// installed before.
#include "format/disk/read_guard.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <mutex>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sluice {

namespace {

// The innermost guard of this thread. A thread that has a guard has used this variable before, so
// that the signal handler never has to create it.
thread_local const ReadGuard* innermost = nullptr;

// Written once, before the handler is installed.
struct sigaction previous_handler {};
std::uintptr_t page_bytes = 4096;

// A LastingGuard's mapping. The signal handler may look at it while another thread writes it.
struct LastingPlace {
  std::atomic<bool> taken{false};
  std::atomic<std::uintptr_t> begin{0};
  // Written after the other members, so that they are valid once it is set; 0: no mapping.
  std::atomic<std::uintptr_t> end{0};
  std::atomic<LostPages*> lost{nullptr};
};
constexpr std::size_t kLastingPlaces = 64;
LastingPlace lasting[kLastingPlaces];

// Notes the page as lost and puts zeros in its place.
bool Replace(std::uintptr_t address, LostPages& lost, int protection) noexcept {
  const std::uintptr_t page = address & ~(page_bytes - 1);
  // Noted before the zeros appear, so that any thread that reads them finds the page listed.
  lost.Add(page);
  // The raw system call: a wrapper does not belong in a signal handler. (A sanitizer's mmap would
  // also report a race with the threads that read the page.)
  const long zeros = syscall(SYS_mmap, page, page_bytes, protection,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  return zeros == static_cast<long>(page);
}

bool ReplaceLasting(std::uintptr_t address) noexcept {
  for (const LastingPlace& place : lasting) {
    const std::uintptr_t end = place.end.load(std::memory_order_acquire);
    if (address >= end || address < place.begin.load(std::memory_order_relaxed)) continue;
    return Replace(address, *place.lost.load(std::memory_order_relaxed), PROT_READ | PROT_WRITE);
  }
  return false;
}

void CallPreviousHandler(int signal, siginfo_t* info, void* context) noexcept {
  if ((previous_handler.sa_flags & SA_SIGINFO) != 0) {
    previous_handler.sa_sigaction(signal, info, context);
  } else if (previous_handler.sa_handler != SIG_DFL && previous_handler.sa_handler != SIG_IGN) {
    previous_handler.sa_handler(signal);
  } else {
    // Restores the default action. A fault happens again when this returns; a signal that another
    // process sent is sent again.
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
    if (info->si_code <= 0) raise(signal);
  }
}

}  // namespace

struct GuardedFault {
  static void Handle(int signal, siginfo_t* info, void* context) noexcept {
    const int saved_errno = errno;
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    bool replaced = false;
    for (const ReadGuard* guard = info->si_code > 0 ? innermost : nullptr; guard != nullptr;
         guard = guard->outer_) {
      const GuardedMapping* const mapping = guard->MappingOf(address);
      if (mapping == nullptr) continue;
      replaced = Replace(address, *mapping->lost, PROT_READ);
      break;
    }
    if (!replaced && info->si_code > 0) replaced = ReplaceLasting(address);
    if (!replaced) CallPreviousHandler(signal, info, context);
    errno = saved_errno;
  }
};

namespace {

void InstallHandler() noexcept {
  static std::once_flag once;
  std::call_once(once, [] {
    page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    sigaction(SIGBUS, nullptr, &previous_handler);
    struct sigaction ours {};
    ours.sa_sigaction = &GuardedFault::Handle;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigemptyset(&ours.sa_mask);
    sigaction(SIGBUS, &ours, nullptr);
  });
}

// Unblocks SIGBUS in this thread. If a thread blocks it, as in programs with a thread for signals,
// a fault kills the process. Unblocking takes no signal from another thread: a fault's signal goes
// to the thread that caused it.
void LetFaultsThrough() noexcept {
  thread_local bool done = false;
  if (done) return;
  done = true;
  sigset_t faults;
  sigemptyset(&faults);
  sigaddset(&faults, SIGBUS);
  pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
}

}  // namespace

bool LostPages::Touch(Bytes range) const noexcept {
  // The fence keeps the caller's reads of the mapping before the reads of count_ and pages_ below.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const std::uint32_t count = count_.load(std::memory_order_acquire);
  if (count == 0 || range.empty()) return false;
  if (count > kCapacity) return true;
  const auto begin = reinterpret_cast<std::uintptr_t>(range.data()) & ~(page_bytes - 1);
  const auto end = reinterpret_cast<std::uintptr_t>(range.data() + range.size());
  // A counted but still empty entry belongs to a page that is not replaced yet.
  return std::any_of(pages_.begin(), pages_.begin() + count, [&](const auto& lost) {
    const std::uintptr_t page = lost.load(std::memory_order_acquire);
    return page >= begin && page < end;
  });
}

void LostPages::Add(std::uintptr_t page) noexcept {
  const std::uint32_t place = count_.fetch_add(1, std::memory_order_seq_cst);
  if (place < kCapacity) pages_[place].store(page, std::memory_order_seq_cst);
}

ReadGuard::ReadGuard(Bytes mapping, LostPages& lost) noexcept
    : own_{mapping, &lost}, mappings_(&own_, 1), outer_(innermost) {
  Arm();
}

ReadGuard::ReadGuard(std::span<const GuardedMapping> mappings) noexcept
    : mappings_(mappings), outer_(innermost) {
  Arm();
}

// Keeps the compiler from moving a read of the mapping out of the guard's lifetime.
void ReadGuard::Arm() noexcept {
  InstallHandler();
  LetFaultsThrough();
  innermost = this;
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

const GuardedMapping* ReadGuard::MappingOf(std::uintptr_t address) const noexcept {
  for (const GuardedMapping& mapping : mappings_) {
    const auto begin = reinterpret_cast<std::uintptr_t>(mapping.bytes.data());
    if (address >= begin && address - begin < mapping.bytes.size()) return &mapping;
  }
  return nullptr;
}

ReadGuard::~ReadGuard() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  innermost = outer_;
}

LastingGuard::LastingGuard(Bytes mapping, LostPages& lost) noexcept : place_(0) {
  InstallHandler();
  while (place_ < kLastingPlaces && lasting[place_].taken.exchange(true))
    ++place_;
  if (place_ == kLastingPlaces) return;
  LastingPlace& place = lasting[place_];
  const auto begin = reinterpret_cast<std::uintptr_t>(mapping.data());
  place.lost.store(&lost, std::memory_order_relaxed);
  place.begin.store(begin, std::memory_order_relaxed);
  place.end.store(begin + mapping.size(), std::memory_order_release);
}

LastingGuard::~LastingGuard() {
  if (place_ == kLastingPlaces) return;
  lasting[place_].end.store(0, std::memory_order_release);
  lasting[place_].taken.store(false);
}

}  // namespace sluice
