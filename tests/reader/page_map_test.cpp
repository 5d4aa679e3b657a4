// Finding out which pages are in a process's page tables.
#include "reader/reading/page_map.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/catch.h"

using namespace sluice;

namespace {

constexpr std::size_t kPages = 700;  // more than PageMap reads at once

std::size_t PageBytes() {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Fresh anonymous pages. None is mapped before it is written to, and none is huge.
struct FreshPages {
  std::byte* data;

  FreshPages()
      : data(static_cast<std::byte*>(mmap(nullptr, kPages * PageBytes(), PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    REQUIRE(data != MAP_FAILED);
    madvise(data, kPages * PageBytes(), MADV_NOHUGEPAGE);
  }
  FreshPages(const FreshPages&) = delete;
  FreshPages& operator=(const FreshPages&) = delete;
  ~FreshPages() { munmap(data, kPages * PageBytes()); }

  void Touch(std::size_t begin, std::size_t end) const {
    for (std::size_t page = begin; page < end; ++page)
      data[page * PageBytes()] = std::byte{1};
  }
  Bytes Range(std::size_t begin, std::size_t end) const {
    return {data + begin * PageBytes(), (end - begin) * PageBytes()};
  }
};

}  // namespace

TEST_CASE("Pages that were touched are present, and a range with an untouched page is not") {
  const bool by_range = GENERATE(true, false);
  CAPTURE(by_range);
  PageMap map(by_range);
  const FreshPages pages;
  CHECK_FALSE(map.HasAll(pages.Range(0, kPages)));
  pages.Touch(0, kPages - 1);
  if (!map.HasAll(pages.Range(0, 1))) {
    WARN("skipped: the kernel does not say which pages are present, or has taken them back");
    return;
  }
  CHECK(map.HasAll(pages.Range(0, kPages - 1)));
  CHECK_FALSE(map.HasAll(pages.Range(0, kPages)));
  CHECK_FALSE(map.HasAll(pages.Range(kPages - 1, kPages)));
  // Part of a page counts as the page.
  const Bytes within = pages.Range(3, 5).subspan(PageBytes() - 1, 2);
  CHECK(map.HasAll(within));
  const Bytes across = pages.Range(kPages - 2, kPages).subspan(PageBytes() - 1, 2);
  CHECK_FALSE(map.HasAll(across));
  madvise(pages.data + 5 * PageBytes(), PageBytes(), MADV_DONTNEED);
  CHECK_FALSE(map.HasAll(pages.Range(0, 10)));
  CHECK(map.HasAll(pages.Range(6, 10)));
}
