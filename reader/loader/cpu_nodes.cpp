// Nearness is a wish, not a promise: if /sys lists no nodes, or a sandbox refuses a call, threads
// and memory stay where the system puts them, and nothing fails. A node without a CPU for this
// process does not count, so a process that is bound to one node has nothing to choose.
//
// dealt_ has one entry for each CPU. Threads and slots are numbered separately, but both look up
// their node there, so a node's threads find slots on their own node.
#include "reader/loader/cpu_nodes.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/ascii.h"

namespace sluice {

namespace {

constexpr unsigned kMaxCpus = 1U << 20;
constexpr unsigned kMaxNodes = 1024;  // the most that Linux knows

struct FreeCpuSet {
  void operator()(cpu_set_t* set) const noexcept { CPU_FREE(set); }
};
using CpuSet = std::unique_ptr<cpu_set_t, FreeCpuSet>;

// The CPUs on which the calling thread may run.
std::vector<unsigned> AllowedCpus() {
  for (unsigned cpus = 1024; cpus <= kMaxCpus; cpus *= 4) {  // the kernel refuses too small a set
    const CpuSet set(CPU_ALLOC(cpus));
    const std::size_t bytes = CPU_ALLOC_SIZE(cpus);
    if (set == nullptr || sched_getaffinity(0, bytes, set.get()) != 0) continue;
    std::vector<unsigned> allowed;
    for (unsigned cpu = 0; cpu < cpus; ++cpu)
      if (CPU_ISSET_S(cpu, bytes, set.get())) allowed.push_back(cpu);
    return allowed;
  }
  return {};
}

// The numbers of a list as Linux writes it ("0-3,8"), up to the first place that makes no sense.
std::vector<unsigned> NumbersOf(std::string_view text) {
  std::vector<unsigned> numbers;
  while (const auto first = TakeNumber<unsigned>(text)) {
    auto last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      last = TakeNumber<unsigned>(text);
    }
    if (!last || *first >= kMaxCpus || *last >= kMaxCpus) break;
    for (unsigned number = *first; number <= *last; ++number)
      numbers.push_back(number);
    if (!text.starts_with(',')) break;
    text.remove_prefix(1);
  }
  return numbers;
}

std::vector<unsigned> ListIn(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return NumbersOf(line);
}

}  // namespace

CpuNodes CpuNodes::Find(const std::filesystem::path& folder) {
  const std::vector<unsigned> allowed = AllowedCpus();
  CpuNodes found;
  for (const unsigned number : ListIn(folder / "online")) {
    if (number >= kMaxNodes) break;
    Node node{number, {}};
    for (const unsigned cpu : ListIn(folder / ("node" + std::to_string(number)) / "cpulist"))
      if (std::ranges::binary_search(allowed, cpu)) node.cpus.push_back(cpu);
    if (!node.cpus.empty()) found.nodes_.push_back(std::move(node));
  }
  if (found.nodes_.size() < 2) return {};
  found.Deal();
  return found;
}

// Deals numbers to nodes in proportion to their CPUs, alternating between nodes, so that even the
// first few numbers are spread in proportion.
void CpuNodes::Deal() {
  std::size_t all = 0;
  for (const Node& node : nodes_)
    all += node.cpus.size();
  std::vector<std::size_t> given(nodes_.size());
  for (std::size_t number = 1; number <= all; ++number) {
    // How many numbers the node lacks for its share, multiplied by `all` to avoid a division.
    const auto missing = [&](std::size_t node) {
      return double(nodes_[node].cpus.size() * number) - double(given[node] * all);
    };
    std::size_t next = 0;
    for (std::size_t node = 1; node < nodes_.size(); ++node)
      if (missing(node) > missing(next)) next = node;
    ++given[next];
    dealt_.push_back(next);
  }
}

void CpuNodes::KeepThreadOn(std::size_t node) const noexcept {
  if (nodes_.empty()) return;
  const std::vector<unsigned>& cpus = nodes_[node].cpus;
  const unsigned most = *std::ranges::max_element(cpus) + 1;
  const CpuSet set(CPU_ALLOC(most));
  if (set == nullptr) return;
  const std::size_t bytes = CPU_ALLOC_SIZE(most);
  CPU_ZERO_S(bytes, set.get());
  for (const unsigned cpu : cpus)
    CPU_SET_S(cpu, bytes, set.get());
  sched_setaffinity(0, bytes, set.get());  // if a sandbox refuses this, the thread runs anywhere
}

void CpuNodes::Place(std::size_t node, std::byte* memory, std::size_t bytes) const noexcept {
  if (nodes_.empty() || bytes == 0) return;
  constexpr unsigned kBits = 8 * sizeof(unsigned long);
  const unsigned number = nodes_[node].number;
  unsigned long mask[kMaxNodes / kBits] = {};
  mask[number / kBits] = 1UL << number % kBits;
  // Linux subtracts one from the number of bits. If the system refuses the call, each page comes
  // from the node of the thread that touches it first.
  syscall(SYS_mbind, memory, bytes, MPOL_PREFERRED, mask, kMaxNodes + 1, 0UL);
}

}  // namespace sluice
