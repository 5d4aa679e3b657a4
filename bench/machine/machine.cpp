#include "bench/machine/machine.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <sys/utsname.h>
#include <unistd.h>

#include <sluice/cpu.h>

#include "bench/machine/process_usage.h"
#include "format/pixels/kernels/kernels.h"

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

}  // namespace sluice::bench
