// The nodes of a machine on which memory is nearer to some CPUs than to others (NUMA): threads and
// slots are spread over them, and a thread first takes rows of the slots of its own node.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

namespace sluice {

class CpuNodes {
 public:
  CpuNodes() = default;
  // The nodes that have CPUs on which the calling thread may run, as `folder` lists them. None if
  // there is only one such node, or if the nodes are not known.
  static CpuNodes Find(const std::filesystem::path& folder = "/sys/devices/system/node");

  // The number of nodes; 0 if there is nothing to choose.
  std::size_t count() const noexcept { return nodes_.size(); }
  // The node of the thread or slot of that number. A node gets threads and slots in proportion to
  // its CPUs.
  std::size_t NodeOf(std::size_t number) const noexcept {
    return dealt_.empty() ? 0 : dealt_[number % dealt_.size()];
  }
  // From now on the calling thread runs on that node's CPUs.
  void KeepThreadOn(std::size_t node) const noexcept;
  // Pages of this memory that nobody has touched yet will come from that node, as long as the node
  // has free ones. `memory` must be a mapping of its own.
  void Place(std::size_t node, std::byte* memory, std::size_t bytes) const noexcept;

 private:
  struct Node {
    unsigned number = 0;  // the system's number of the node
    std::vector<unsigned> cpus;
  };
  void Deal();

  std::vector<Node> nodes_;
  std::vector<std::size_t> dealt_;  // NodeOf() of the first numbers, as many as there are CPUs
};

}  // namespace sluice
