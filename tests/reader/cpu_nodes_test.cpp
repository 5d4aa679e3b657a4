// Threads and slots on the nodes of a machine (CpuNodes). This machine may have one node alone: the
// tests describe it as two, in a folder like the system's.
#include "reader/loader/cpu_nodes.h"

#include <chrono>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
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
  REQUIRE(sched_getaffinity(0, sizeof mask, &mask) == 0);
  std::set<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &mask)) cpus.insert(cpu);
  return cpus;
}

// Two nodes: the first CPU alone, and the others.
CpuNodes TwoNodes(const std::filesystem::path& folder, const std::set<int>& cpus) {
  const std::string rest = std::to_string(*std::next(cpus.begin())) + "-" +
                           std::to_string(std::max(*cpus.rbegin(), *std::next(cpus.begin())));
  Write(folder / "online", "0-1");
  Write(folder / "node0" / "cpulist", std::to_string(*cpus.begin()));
  Write(folder / "node1" / "cpulist", rest);
  return CpuNodes::Find(folder);
}

}  // namespace

TEST_CASE("Nodes count if the process may run on several of them") {
  const TemporaryFolder folder;
  CHECK(CpuNodes::Find(folder / "nowhere").count() == 0);
  const std::set<int> cpus = Mine();
  const std::string all = std::to_string(*cpus.begin()) + "-" + std::to_string(*cpus.rbegin());
  Write(folder / "one" / "online", "0");
  Write(folder / "one" / "node0" / "cpulist", all);
  CHECK(CpuNodes::Find(folder / "one").count() == 0);
  // A node of memory alone, one whose CPUs are not ours, and lists that make no sense.
  for (const std::string& other : {std::string(), std::string("900000"), std::string("x"),
                                   std::string("7-"), std::string("99999999999")}) {
    CAPTURE(other);
    Write(folder / "two" / "online", "0-1");
    Write(folder / "two" / "node0" / "cpulist", all);
    Write(folder / "two" / "node1" / "cpulist", other);
    CHECK(CpuNodes::Find(folder / "two").count() <= 2);
    if (other != "7-") CHECK(CpuNodes::Find(folder / "two").count() == 0);
  }
  if (cpus.size() < 2) return;
  const CpuNodes two = TwoNodes(folder / "both", cpus);
  CHECK(two.count() == 2);
  CHECK(two.NodeOf(4) == 0);
  CHECK(two.NodeOf(7) == 1);
}

TEST_CASE("A thread stays on the CPUs of its node, and others go on as they were") {
  const TemporaryFolder folder;
  const std::set<int> cpus = Mine();
  if (cpus.size() < 2) return;
  const CpuNodes nodes = TwoNodes(folder / "nodes", cpus);
  std::thread([&] {
    nodes.KeepThreadOn(0);
    CHECK(Mine() == std::set<int>{*cpus.begin()});
    nodes.KeepThreadOn(1);
    CHECK(Mine().count(*cpus.begin()) == 0);
    const CpuNodes::Preferring preferring(nodes, 0);
    std::vector<std::byte> memory(std::size_t{1} << 20);
    preferring.Place(memory.data(), memory.size());  // refused or not, it may be used
    memory.back() = std::byte{1};
  }).join();
  CpuNodes().KeepThreadOn(0);  // nothing to choose
  CHECK(Mine() == cpus);
}

TEST_CASE("Spread over nodes, a loader's batches are the same, and all its threads are used") {
  const TemporaryFolder folder;
  const std::set<int> cpus = Mine();
  if (cpus.size() < 2) return;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 600));
  LoaderOptions options = OptionsFor(16, 4);
  Loader plain(dataset, options);
  std::mutex mutex;
  std::map<std::thread::id, std::set<int>> ran;
  options.sample_function = [&](MutableSample&) {
    const std::set<int> mine = Mine();
    std::this_thread::sleep_for(std::chrono::microseconds(50));  // so that each has its turn
    const std::lock_guard lock(mutex);
    ran[std::this_thread::get_id()] = mine;
  };
  const auto state =
      std::make_shared<LoaderState>(dataset, options, TwoNodes(folder / "nodes", cpus));
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    const std::vector<PlayedBatch> expected = PlayBatches(plain, epoch);
    const std::uint64_t range = state->StartEpoch(epoch);
    for (const PlayedBatch& batch : expected)
      REQUIRE(Keep(state->Next(range)) == batch);
  }
  state->Stop();
  std::set<std::set<int>> places;
  for (const auto& [thread, mine] : ran)
    places.insert(mine);
  CHECK(places.size() == 2);
  CHECK(places.count(std::set<int>{*cpus.begin()}) == 1);
}
