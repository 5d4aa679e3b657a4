#include "bench/machine/machine.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
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

// "model name     : AMD EPYC ..." on x86-64; on 64-bit Arm the kernel gives only numbers.
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
  // cpu user nice system idle iowait irq softirq steal guest guest_nice; guest time is included in
  // user.
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
  // The kernel counts in ticks of 10 ms.
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

namespace {

struct Process {
  pid_t parent = 0;
  double cpu_ticks = 0;
};

// Fields 4 (parent) and 14 to 17 (times) of /proc/PID/stat. The 2nd field is the program's name in
// parentheses and may hold anything, so counting begins after the last ')'.
bool ReadProcess(const std::filesystem::path& folder, Process& process) {
  std::ifstream file(folder / "stat");
  std::string line;
  if (!std::getline(file, line)) return false;  // it has ended in the meantime
  const std::size_t end = line.rfind(')');
  if (end == std::string::npos) return false;
  std::istringstream fields(line.substr(end + 1));
  std::string text;
  for (int field = 3; field <= 17 && fields >> text; ++field) {
    if (field == 4) process.parent = static_cast<pid_t>(std::atol(text.c_str()));
    if (field >= 14) process.cpu_ticks += std::atof(text.c_str());
  }
  return true;
}

std::map<pid_t, Process> AllProcesses() {
  std::map<pid_t, Process> processes;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), none; entry != none;
       entry.increment(error)) {
    if (error) break;
    const std::string name = entry->path().filename().string();
    if (std::isdigit(static_cast<unsigned char>(name.front())) == 0) continue;
    Process process;
    if (ReadProcess(entry->path(), process))
      processes.emplace(static_cast<pid_t>(std::atol(name.c_str())), process);
  }
  return processes;
}

// Each process's share of what it maps: "Pss: 1234 kB".
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
