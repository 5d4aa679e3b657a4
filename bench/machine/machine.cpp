// All figures come from /proc and from a few system calls. A figure that the machine does not give
// becomes 0, "unknown" or an empty list, because no measurement should fail for it; only
// SecondsSinceStart() throws. The kernel adds a child's CPU time to its parent's only once the
// child has ended and was waited for. So UseOfTree() sums, over the root and its living
// descendants, each process's own time and that of its ended children. A process may end while
// /proc is read; its files are then empty, and it is left out.
#include "bench/machine/machine.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <sluice/cpu.h>
#include <sluice/error.h>

#include "format/pixels/kernels/kernels.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {

namespace {

// The CPU's name: "model name     : AMD EPYC ..." on x86-64. On 64-bit Arm the kernel gives only
// numbers.
std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string ProcStat() {
  std::ifstream file("/proc/stat");
  std::string line;
  std::getline(file, line);
  return line;
}

double BusyNow() {
  return BusySeconds(ProcStat(), static_cast<double>(sysconf(_SC_CLK_TCK)));
}

}  // namespace

Machine ThisMachine() {
  Machine machine;
  machine.cpu = CpuName();
  machine.cpus = AvailableCpus();
  machine.memory_bytes = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  utsname names{};
  if (uname(&names) == 0) {
    machine.system =
        std::string(names.sysname) + " " + names.release + " " + std::string(names.machine);
  }
  machine.isa = kernels::Chosen().name;
#ifdef __clang__
  machine.compiler = std::string("clang ") + __clang_version__;
#else
  machine.compiler = std::string("g++ ") + __VERSION__;
#endif
  return machine;
}

std::vector<std::string> GpuNames(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& card : std::filesystem::directory_iterator(folder, error)) {
    std::ifstream file(card.path() / "information");
    std::string line, name = "unknown";
    while (std::getline(file, line)) {
      if (!line.starts_with("Model:")) continue;
      const std::size_t begin = line.find_first_not_of(" \t", 6);
      if (begin != std::string::npos) name = line.substr(begin);
    }
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

double BusySeconds(const std::string& proc_stat, double ticks_per_second) {
  // The first line's fields: cpu user nice system idle iowait irq softirq steal guest guest_nice.
  // Guest time is included in user.
  std::istringstream fields(proc_stat);
  std::string name;
  fields >> name;
  double busy = 0;
  double ticks = 0;
  for (int field = 1; field <= 8 && fields >> ticks; ++field) {
    if (field != 4 && field != 5) busy += ticks;
  }
  return busy / ticks_per_second;
}

LoadWatch::LoadWatch()
    : busy_(BusyNow()), own_(CpuSecondsWithChildren()), begin_(std::chrono::steady_clock::now()) {}

double LoadWatch::OtherCpus() const {
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
  // The kernel counts in ticks of 10 ms, so a time shorter than this many seconds gives no useful
  // figure.
  constexpr double kLongEnough = 0.2;
  if (passed.count() < kLongEnough) return 0;
  const double others = BusyNow() - busy_ - (CpuSecondsWithChildren() - own_);
  const auto most = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));
  return std::clamp(others / passed.count(), 0.0, most);
}

namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double UsedBy(decltype(RUSAGE_SELF) who) {
  rusage usage{};
  getrusage(who, &usage);
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

// The fields of /proc/PID/stat from the third on. Empty if the file cannot be read because the
// process has ended meanwhile. The second field is the program's name in parentheses and may
// contain anything, so counting begins after the last ')'.
std::vector<std::string> StatFields(const std::filesystem::path& folder) {
  std::ifstream file(folder / "stat");
  std::string line;
  std::getline(file, line);
  const std::size_t end = line.rfind(')');
  if (end == std::string::npos) return {};
  std::istringstream fields(line.substr(end + 1));
  return {std::istream_iterator<std::string>(fields), {}};
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
  const std::vector<std::string> fields = StatFields("/proc/self");
  if (fields.size() < 20)
    throw Error(ErrorCode::kIo, "/proc/self/stat", "does not give the start time of this process");
  timespec now{};
  // The 22nd field is the start, in ticks of this clock.
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 -
         std::atof(fields[19].c_str()) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

namespace {

struct Process {
  pid_t parent = 0;
  double cpu_ticks = 0;
};

std::map<pid_t, Process> AllProcesses() {
  std::map<pid_t, Process> processes;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), none; entry != none;
       entry.increment(error)) {
    if (error) break;
    const std::string name = entry->path().filename().string();
    if (std::isdigit(static_cast<unsigned char>(name.front())) == 0) continue;
    const std::vector<std::string> fields = StatFields(entry->path());
    if (fields.size() < 15) continue;
    Process process{static_cast<pid_t>(std::atol(fields[1].c_str())), 0};
    for (int field = 14; field <= 17; ++field)  // CPU times
      process.cpu_ticks += std::atof(fields[static_cast<std::size_t>(field - 3)].c_str());
    processes.emplace(static_cast<pid_t>(std::atol(name.c_str())), process);
  }
  return processes;
}

// The process's share of the memory that it maps: "Pss: 1234 kB".
std::uint64_t ProportionalBytes(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/smaps_rollup");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("Pss:")) return std::strtoull(line.c_str() + 4, nullptr, 10) * 1024;
  }
  return 0;
}

}  // namespace

TreeUse UseOfTree(pid_t root, bool memory) {
  const std::map<pid_t, Process> processes = AllProcesses();
  std::vector<pid_t> tree;
  for (const auto& [pid, process] : processes) {
    pid_t ancestor = pid;
    for (auto at = processes.find(ancestor); ancestor != root && at != processes.end();
         at = processes.find(ancestor)) {
      ancestor = at->second.parent;
    }
    if (ancestor == root) tree.push_back(pid);
  }
  TreeUse use;
  for (const pid_t pid : tree) {
    use.cpu_seconds += processes.at(pid).cpu_ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
    if (memory) use.resident_bytes += ProportionalBytes(pid);
  }
  return use;
}

}  // namespace sluice::bench
