// Systems that forbid io_uring, as many containers do: reads past the page cache then use threads.
#include <cerrno>
#include <cstddef>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "reader/reading/direct/block_io.h"
#include "tests/reader/in_child.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

// The numbers of the system calls io_uring_setup and io_uring_enter, the same on every
// architecture.
constexpr std::uint32_t kMakeRing = 425;
constexpr std::uint32_t kEnterRing = 426;

// Forbids a system call to this process and its children, for good. Returns false if the system has
// no filters for system calls (seccomp).
bool Forbid(std::uint32_t call) {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof rules / sizeof rules[0], rules};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

}  // namespace

TEST_CASE("Where making or using rings is forbidden, threads read past the page cache") {
  if (!kForks) {
    WARN("skipped under the thread sanitizer");
    return;
  }
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 600));
  for (const std::uint32_t call : {kMakeRing, kEnterRing}) {
    const int result = InChild([&] {
      if (!Forbid(call)) return true;
      if (MakeUringIo() != nullptr) return false;
      LoaderOptions options = OptionsFor(50, 2);
      options.storage = Direct{};
      Loader loader(dataset, options);
      return SamplesOf(PlayBatches(loader, 0)).size() == 600;
    });
    CHECK(result == 0);
  }
}
