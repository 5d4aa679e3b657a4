// Threads and slots on the NUMA nodes of a machine (CpuNodes). This machine may have only one node,
// so the tests describe two in a folder like the system's.
#include "reader/loader/cpu_nodes.h"

#include <fstream>
#include <set>
#include <string>
#include <thread>

#include <sched.h>

#include "reader/loader/loader_state.h"
#include "tests/catch.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

void Write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text << '\n';
}

// The CPUs on which the calling thread may run.
std::set<int> Mine() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::set<int> cpus;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &mask)) cpus.insert(cpu);
  return cpus;
}

// The number of threads of this process that may run on that CPU alone.
std::size_t ThreadsOn(int cpu) {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);)
      count += line == "Cpus_allowed_list:\t" + std::to_string(cpu) ? 1 : 0;
  }
  return count;
}

// Two nodes: the first CPU alone, and the others.
CpuNodes TwoNodes(const std::filesystem::path& folder, const std::set<int>& cpus) {
  Write(folder / "online", "0-1");
  Write(folder / "node0" / "cpulist", std::to_string(*cpus.begin()));
  Write(folder / "node1" / "cpulist",
        std::to_string(*std::next(cpus.begin())) + "-" + std::to_string(*cpus.rbegin()));
  return CpuNodes::Find(folder);
}

}  // namespace

TEST_CASE("Nodes are found only if the thread may run on several of them") {
  const TemporaryFolder folder;
  CHECK(CpuNodes::Find(folder / "nowhere").count() == 0);
  const std::set<int> cpus = Mine();
  const std::string all = std::to_string(*cpus.begin()) + "-" + std::to_string(*cpus.rbegin());
  Write(folder / "one" / "online", "0");
  Write(folder / "one" / "node0" / "cpulist", all);
  CHECK(CpuNodes::Find(folder / "one").count() == 0);
  // A node with memory only, one whose CPUs are not ours, and invalid lists.
  for (const std::string& other : {std::string(), std::string("900000"), std::string("x"),
                                   std::string("0-"), std::string("99999999999")}) {
    CAPTURE(other);
    Write(folder / "two" / "online", "0-1");
    Write(folder / "two" / "node0" / "cpulist", all);
    Write(folder / "two" / "node1" / "cpulist", other);
    CHECK(CpuNodes::Find(folder / "two").count() == 0);
  }
  if (cpus.size() < 2) return;
  CHECK(TwoNodes(folder / "both", cpus).count() == 2);
}

TEST_CASE("Threads are dealt to nodes by the CPUs that each has") {
  const TemporaryFolder folder;
  const std::set<int> cpus = Mine();
  if (cpus.size() < 2) return;
  const CpuNodes nodes = TwoNodes(folder / "nodes", cpus);
  std::size_t of_first = 0;
  for (std::size_t number = 0; number < 10 * cpus.size(); ++number)
    of_first += nodes.NodeOf(number) == 0 ? 1 : 0;
  CHECK(of_first == 10);
  CHECK(CpuNodes().NodeOf(7) == 0);
}

TEST_CASE("A thread stays on the CPUs of its node, and other threads stay as they were") {
  const TemporaryFolder folder;
  const std::set<int> cpus = Mine();
  if (cpus.size() < 2) return;
  const CpuNodes nodes = TwoNodes(folder / "nodes", cpus);
  std::set<int> on_first, on_second;
  std::size_t found = 0;
  std::thread([&] {
    nodes.KeepThreadOn(0);
    on_first = Mine();
    // A thread that is confined to one node has no choice.
    found = CpuNodes::Find(folder / "nodes").count();
    nodes.KeepThreadOn(1);
    on_second = Mine();
  }).join();
  CHECK(on_first == std::set<int>{*cpus.begin()});
  CHECK(found == 0);
  std::set<int> others = cpus;
  others.erase(*cpus.begin());
  CHECK(on_second == others);
  CpuNodes().KeepThreadOn(0);  // nothing to choose
  CHECK(Mine() == cpus);
}

TEST_CASE("Spread over nodes, a loader has threads on each, and the same batches") {
  const TemporaryFolder folder;
  const std::set<int> cpus = Mine();
  if (cpus.size() < 2) return;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 600));
  const CpuNodes nodes = TwoNodes(folder / "nodes", cpus);
  LoaderOptions options = OptionsFor(16, static_cast<unsigned>(2 * cpus.size()));
  Loader plain(dataset, options);
  const std::size_t before = ThreadsOn(*cpus.begin());
  const auto state = std::make_shared<LoaderState>(dataset, options, nodes);
  CHECK(ThreadsOn(*cpus.begin()) == before + 2);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    const std::vector<PlayedBatch> expected = PlayBatches(plain, epoch);
    const std::uint64_t range = state->StartEpoch(epoch);
    for (const PlayedBatch& batch : expected)
      REQUIRE(Keep(state->Next(range)) == batch);
  }
  state->Stop();
  // Threads are not spread if a user's function may start threads, or if there are fewer than two
  // threads for each node.
  options.sample_function = [](MutableSample&) {};
  const auto with_function = std::make_shared<LoaderState>(dataset, options, nodes);
  options.sample_function = {};
  options.threads = 3;
  const auto few = std::make_shared<LoaderState>(dataset, options, nodes);
  CHECK(ThreadsOn(*cpus.begin()) == before);
  with_function->Stop();
  few->Stop();
}
