// The number of CPUs of the machine says little about how many a process may use. Three limits are
// read, and the smallest counts: the affinity mask, and the quotas of control groups of version 2
// and of version 1.
// A group's parents limit it, too, so the quotas of all groups from the process's own up to the
// root are compared. A file that is missing or cannot be read sets no limit: therefore both
// versions are tried on every machine.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include <sched.h>

#include <sluice/cpu.h>

namespace sluice {

namespace {

unsigned AffinityCpus() noexcept {
  // Machines with more than 1024 CPUs refuse the small mask, so it grows until it is accepted.
  for (std::size_t cpus = 1024; cpus <= (std::size_t{1} << 20); cpus *= 4) {
    cpu_set_t* const mask = CPU_ALLOC(cpus);
    if (mask == nullptr) return 1;
    const std::size_t bytes = CPU_ALLOC_SIZE(cpus);
    CPU_ZERO_S(bytes, mask);
    const bool known = sched_getaffinity(0, bytes, mask) == 0;
    const int count = known ? CPU_COUNT_S(bytes, mask) : 0;
    CPU_FREE(mask);
    if (known) return static_cast<unsigned>(std::max(count, 1));
  }
  return 1;
}

// The CPUs of a quota of CPU time in each period (both in microseconds), rounded up; 0: no limit.
unsigned CpusOfQuota(double quota, double period) noexcept {
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<unsigned>(std::clamp((quota + period - 1) / period, 1.0, 65536.0));
}

// Whether a comma-separated list names the controller.
bool Names(std::string_view list, std::string_view controller) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == controller) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

// The process's path in a hierarchy of control groups, from the line "N:controllers:path" of
// /proc/self/cgroup: in version 1, the hierarchy of that controller; if `controller` is empty, the
// one of version 2.
std::string GroupPath(const std::string& controller) {
  std::ifstream groups("/proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const bool version2 = line.compare(0, 3, "0::") == 0;
    const std::string_view controllers(line.data() + first + 1, second - first - 1);
    if (controller.empty() ? version2 : Names(controllers, controller)) {
      return line.substr(second + 1);
    }
  }
  return "/";
}

unsigned QuotaVersion2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max") return 0;
  return CpusOfQuota(std::strtod(quota.c_str(), nullptr), period);
}

unsigned QuotaVersion1(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us");
  std::ifstream period_file(folder + "/cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  if (!(quota_file >> quota) || !(period_file >> period)) return 0;
  return CpusOfQuota(quota, period);
}

// The smallest quota of the process's group and of its parents up to the root.
template <class Quota>
unsigned TightestQuota(const std::string& root, std::string path, Quota quota) {
  unsigned least = 0;
  for (;;) {
    const unsigned cpus = quota(root + path);
    if (cpus != 0 && (least == 0 || cpus < least)) least = cpus;
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos || path.empty()) return least;
    path.erase(slash);
  }
}

}  // namespace

unsigned AvailableCpus() noexcept {
  unsigned cpus = AffinityCpus();
  try {
    const unsigned version2 = TightestQuota("/sys/fs/cgroup", GroupPath(""), QuotaVersion2);
    const unsigned version1 = TightestQuota("/sys/fs/cgroup/cpu", GroupPath("cpu"), QuotaVersion1);
    if (version2 != 0) cpus = std::min(cpus, version2);
    if (version1 != 0) cpus = std::min(cpus, version1);
  } catch (...) {
    // Memory is too short for a path, so only the affinity mask is used.
  }
  return cpus;
}

}  // namespace sluice
