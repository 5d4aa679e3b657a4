#include "bench/machine/process_usage.h"

#include <ctime>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

#include <sluice/error.h>

#include "tools/cli/quantity.h"

namespace sluice::bench {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double UsedBy(decltype(RUSAGE_SELF) who) {
  rusage usage{};
  getrusage(who, &usage);
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

// The 22nd field of /proc/self/stat: clock ticks from the machine's start to this process's. The
// 2nd field is the program's name in parentheses and may hold anything, so counting begins after
// the last ')'.
double StartTicks() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t end = line.rfind(')');
  if (end != std::string::npos) {
    std::istringstream fields(line.substr(end + 1));
    std::string skipped;
    for (int field = 3; field < 22; ++field)
      fields >> skipped;
    double ticks = 0;
    if (fields >> ticks) return ticks;
  }
  throw Error(ErrorCode::kIo, "/proc/self/stat", "does not give the start time of this process");
}

}  // namespace

double CpuSeconds() {
  return UsedBy(RUSAGE_SELF);
}

double CpuSecondsWithChildren() {
  return UsedBy(RUSAGE_SELF) + UsedBy(RUSAGE_CHILDREN);
}

double ThreadCpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::string CpusText(double busy, unsigned cpus) {
  return cli::Format("%.3g of %u busy (%.0f%%)", busy, cpus, cpus > 0 ? 100 * busy / cpus : 0.0);
}

MemoryUse CurrentMemory() {
  MemoryUse use;
  std::ifstream file("/proc/self/status");
  std::string name;
  std::uint64_t kilobytes = 0;
  while (file >> name) {
    if (name == "VmHWM:" && file >> kilobytes) use.peak_bytes = kilobytes * 1024;
    if (name == "RssAnon:" && file >> kilobytes) use.anonymous_bytes = kilobytes * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return use;
}

double SecondsSinceStart() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);  // the clock of /proc/self/stat
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 -
         StartTicks() / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace sluice::bench
