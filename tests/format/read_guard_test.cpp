// Reading mapped files that shrink meanwhile: lost pages read as zeros and are recorded, and no
// SIGBUS ends the process.
#include "format/disk/read_guard.h"

#include <csignal>
#include <fstream>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/disk/file.h"
#include "format/disk/read_guard.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace sluice;

namespace {

// Three pages of 'x'.
std::filesystem::path WritePages(const test::TemporaryFolder& folder) {
  const std::filesystem::path path = folder / "pages";
  std::ofstream(path, std::ios::binary) << std::string(3 * 4096, 'x');
  return path;
}

int Sum(Bytes bytes) {
  int sum = 0;
  for (const std::byte value : bytes)
    sum += static_cast<int>(value);
  return sum;
}

}  // namespace

TEST_CASE("Under a guard, a page that the file has lost reads as zeros, and counts as lost") {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = WritePages(folder);
  const MappedFile file(path);
  REQUIRE(truncate(path.c_str(), 4096) == 0);
  {
    const ReadGuard guard = file.Guard();
    REQUIRE(Sum(file.bytes().first(4096)) == 4096 * 'x');
    REQUIRE_FALSE(file.Lost(file.bytes()));
    REQUIRE(Sum(file.bytes().subspan(5000, 10)) == 0);
  }
  REQUIRE(file.Lost(file.bytes()));
  REQUIRE(file.Lost(file.bytes().subspan(4096, 1)));
  REQUIRE(file.Lost(file.bytes().subspan(4000, 200)));
  REQUIRE_FALSE(file.Lost(file.bytes().first(4096)));
  REQUIRE_FALSE(file.Lost(file.bytes().subspan(8192, 10)));  // lost, too, but not read yet
  REQUIRE(file.BytesLeft() == 4096);
}

TEST_CASE(
    "Under a lasting guard, lost pages of a truncated file are zeros that can be overwritten") {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = WritePages(folder);
  const FileHandle file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  auto* const memory = static_cast<std::byte*>(
      mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0));
  REQUIRE(memory != MAP_FAILED);
  const Bytes mapping(memory, 3 * 4096);
  {
    LostPages lost;
    const LastingGuard guard(mapping, lost);
    REQUIRE(truncate(path.c_str(), 4096) == 0);
    std::thread([&] {
      REQUIRE(Sum(mapping.first(4096)) == 4096 * 'x');
      REQUIRE_FALSE(lost.Any());
      REQUIRE(Sum(mapping.subspan(4096, 4096)) == 0);
      memory[5000] = std::byte{7};
      memory[9000] = std::byte{9};
    }).join();
    REQUIRE(Sum(mapping.subspan(4096)) == 16);
    REQUIRE(lost.Touch(mapping.subspan(5000, 1)));
    REQUIRE_FALSE(lost.Touch(mapping.first(4096)));
  }
  munmap(memory, 3 * 4096);
}

TEST_CASE("A thread that blocks every signal is guarded like any other") {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = WritePages(folder);
  const MappedFile file(path);
  REQUIRE(truncate(path.c_str(), 4096) == 0);
  int sum = -1;
  std::thread([&] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    const ReadGuard guard = file.Guard();
    sum = Sum(file.bytes().subspan(5000, 10));
  }).join();
  CHECK(sum == 0);
  CHECK(file.Lost(file.bytes()));
}

TEST_CASE("One guard covers several files, and each records the pages that it lost") {
  const test::TemporaryFolder folders[3];
  std::vector<MappedFile> files;
  std::vector<GuardedMapping> mappings;
  for (const test::TemporaryFolder& folder : folders)
    files.emplace_back(WritePages(folder));
  for (const MappedFile& file : files)
    mappings.push_back(file.guarded());
  REQUIRE(truncate((folders[1] / "pages").c_str(), 4096) == 0);
  const ReadGuard guard{std::span<const GuardedMapping>(mappings)};
  for (const MappedFile& file : files)
    CHECK(Sum(file.bytes()) > 0);
  CHECK_FALSE(files[0].LostAny());
  CHECK(files[1].Lost(files[1].bytes().subspan(4096)));
  CHECK_FALSE(files[1].Lost(files[1].bytes().first(4096)));
  CHECK_FALSE(files[2].LostAny());
}

TEST_CASE("Guards nest, and each covers its own file") {
  const test::TemporaryFolder folder;
  const test::TemporaryFolder other_folder;
  const MappedFile outer(WritePages(folder));
  const MappedFile inner(WritePages(other_folder));
  REQUIRE(truncate((folder / "pages").c_str(), 0) == 0);
  REQUIRE(truncate((other_folder / "pages").c_str(), 0) == 0);
  const ReadGuard outer_guard = outer.Guard();
  {
    const ReadGuard inner_guard = inner.Guard();
    REQUIRE(Sum(outer.bytes().first(10)) == 0);
    REQUIRE(Sum(inner.bytes().subspan(8192)) == 0);
  }
  REQUIRE((outer.Lost(outer.bytes().first(1)) && !outer.Lost(outer.bytes().subspan(8192))));
  REQUIRE((inner.Lost(inner.bytes().subspan(8192)) && !inner.Lost(inner.bytes().first(1))));
  REQUIRE(Sum(outer.bytes().subspan(4096)) == 0);
}

TEST_CASE("If more pages are lost than can be recorded, all pages count as lost") {
  LostPages lost;
  alignas(4096) static std::byte memory[4096 * 2];
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  for (int i = 0; i < 256; ++i)  // LostPages::kCapacity
    lost.Add(first);
  REQUIRE((lost.Touch(Bytes(memory).first(1)) && !lost.Touch(Bytes(memory).subspan(4096))));
  lost.Add(first);
  REQUIRE(lost.Touch(Bytes(memory).subspan(4096)));
}

TEST_CASE("Without a guard, a SIGBUS goes to the handler installed before ours") {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = WritePages(folder);
  // Our handler has SA_SIGINFO. An earlier test of this process may have installed it already.
  struct sigaction now {};
  sigaction(SIGBUS, nullptr, &now);
  const bool ours_is_new = (now.sa_flags & SA_SIGINFO) == 0;
  for (const bool with_handler : {false, true}) {
    if (with_handler && !ours_is_new)
      continue;  // our handler was installed earlier, and does not call this one
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      if (with_handler) {
        std::signal(SIGBUS, [](int) { _exit(42); });
      } else if (ours_is_new) {
        std::signal(SIGBUS, SIG_DFL);
      }
      const MappedFile file(path);
      { const ReadGuard guard = file.Guard(); }
      if (truncate(path.c_str(), 0) != 0) _exit(1);
      _exit(Sum(file.bytes()) == 0 ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    if (with_handler) {
      REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 42));
    } else if (ours_is_new) {
      REQUIRE((WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS));
    } else {
      REQUIRE_FALSE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    }
    std::ofstream(path, std::ios::binary) << std::string(3 * 4096, 'x');
  }
}
