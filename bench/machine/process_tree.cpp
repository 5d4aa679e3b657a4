#include "bench/machine/process_tree.h"

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace sluice::bench {
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
