#include "bench/machine/machine.h"

#include <unistd.h>

#include "tests/catch.h"

namespace sluice::bench {

TEST_CASE("busy CPU seconds leave idle and waiting for disks out, and count guests once") {
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

TEST_CASE("others' load is never negative, nor more than the machine has") {
  const LoadWatch watch;
  volatile double work = 1;
  for (int i = 0; i < 1'000'000; ++i)
    work = work * 1.0000001;
  CHECK(watch.OtherCpus() >= 0);
  CHECK(watch.OtherCpus() <= static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)));
}

}  // namespace sluice::bench
