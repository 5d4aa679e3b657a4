// The machine of a measurement: busy CPU time, name, memory, and the use of a tree of processes.
#include "bench/machine/machine.h"

#include <sys/wait.h>
#include <unistd.h>

#include "tests/catch.h"

namespace sluice::bench {

TEST_CASE("busy CPU seconds leave out idle time and waits for disks, and count guests once") {
  // cpu user nice system idle iowait irq softirq steal guest guest_nice
  CHECK(BusySeconds("cpu  100 20 30 9000 500 4 6 40 70 8", 100) == Approx(2.0));
  CHECK(BusySeconds("", 100) == 0);
}

TEST_CASE("this machine has a name, CPUs and memory") {
  const Machine machine = ThisMachine();
  CHECK_FALSE(machine.cpu.empty());
  CHECK(machine.cpus >= 1);
  CHECK(machine.memory_bytes > 100'000'000);
  CHECK(machine.system.find("Linux") == 0);
  CHECK_FALSE(machine.isa.empty());
  CHECK_FALSE(machine.compiler.empty());
}

TEST_CASE("other processes' load is never negative, nor more than the machine has") {
  const LoadWatch watch;
  volatile double work = 1;
  for (int i = 0; i < 1'000'000; ++i)
    work = work * 1.0000001;
  CHECK(watch.OtherCpus() >= 0);
  CHECK(watch.OtherCpus() <= static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)));
}

TEST_CASE("UseOfTree() counts the memory of a process and of its children") {
  int ready[2], go[2];
  REQUIRE(pipe(ready) == 0);
  REQUIRE(pipe(go) == 0);
  const pid_t child = fork();
  if (child == 0) {
    // The child takes 30 MB, and the grandchild another 30 MB.
    const pid_t grandchild = fork();  // both processes run what follows
    constexpr std::size_t kBytes = 30'000'000;
    char* const memory = static_cast<char*>(malloc(kBytes));
    for (std::size_t i = 0; i < kBytes; i += 1000)
      memory[i] = 1;
    char byte = 1;
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    close(go[1]);
    if (read(go[0], &byte, 1) != 0) _exit(1);  // until the test closes its end
    if (grandchild > 0) waitpid(grandchild, nullptr, 0);
    _exit(0);
  }
  close(go[0]);
  char bytes[2];
  REQUIRE(read(ready[0], bytes, 1) == 1);
  REQUIRE(read(ready[0], bytes, 1) == 1);
  const TreeUse use = UseOfTree(child, true);
  CHECK(use.resident_bytes >= 60'000'000);
  CHECK(use.cpu_seconds >= 0);
  CHECK(UseOfTree(child, false).resident_bytes == 0);
  close(go[1]);
  waitpid(child, nullptr, 0);
  CHECK(UseOfTree(child, true).resident_bytes == 0);
}

}  // namespace sluice::bench
