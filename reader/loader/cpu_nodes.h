// The nodes of a machine on which memory is nearer to some CPUs than to others (NUMA): threads and
// slots are spread over them, and a thread first takes rows of the slots of its own node.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <vector>

namespace sluice {

class CpuNodes {
 public:
  static constexpr std::size_t kMostNodes = 1024;  // Linux knows no more

  CpuNodes() = default;
  // Those that have CPUs on which the process may run, as the system's folder of nodes says. None
  // if that is one node alone, or not known.
  static CpuNodes Find(const std::filesystem::path& folder = "/sys/devices/system/node");

  // 0: there is nothing to choose.
  std::size_t count() const noexcept { return nodes_.size(); }
  // The node of the slot or thread of that number.
  std::size_t NodeOf(std::size_t number) const noexcept {
    return nodes_.empty() ? 0 : number % nodes_.size();
  }
  // From now on the calling thread runs on that node's CPUs.
  void KeepThreadOn(std::size_t node) const noexcept;

  // While it lives, the pages that the calling thread is given come from that node, as long as it
  // has some.
  class Preferring {
   public:
    Preferring(const CpuNodes& nodes, std::size_t node) noexcept;
    Preferring(const Preferring&) = delete;
    Preferring& operator=(const Preferring&) = delete;
    ~Preferring();
    // So do those of this memory, whoever touches them first.
    void Place(std::byte* memory, std::size_t bytes) const noexcept;

   private:
    using Mask = std::array<unsigned long, kMostNodes / (8 * sizeof(unsigned long)) + 1>;
    const bool some_;
    Mask mask_ = {}, before_ = {};  // the node's bit, and the thread's nodes before,
    int mode_ = 0;                  // with how they were meant
    bool changed_ = false;
  };

 private:
  struct Node {
    unsigned number = 0;  // the system's
    std::vector<unsigned> cpus;
  };
  std::vector<Node> nodes_;
};

}  // namespace sluice
