// Shards written past the page cache.
#include <algorithm>
#include <memory>
#include <optional>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sluice/convert.h>
#include <sluice/dataset_edit.h>

#include "format/disk/file.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/writer/source_files.h"
#include "tests/writer/stored.h"

namespace sluice::test {

namespace {

// Forty samples of 96 kB, in shards of a megabyte.
void WriteRawSources(const std::filesystem::path& folder) {
  for (std::uint64_t i = 0; i < 40; ++i)
    WriteSource(folder / (std::to_string(i) + ".png"), MakePng(MakePicture(200, 160, 3, i)));
}

ConvertOptions RawShards(bool direct) {
  ConvertOptions options;
  options.geometry.max_side.reset();
  options.form.image = ImageCodec::kRaw;
  options.shards.shard_bytes = 1'000'000;
  options.run.threads = 2;
  options.run.direct = direct;
  return options;
}

// How many of the file's pages are in the page cache.
std::size_t CachedPages(const std::filesystem::path& path) {
  const FileHandle file = OpenForReading(path);
  const std::size_t size = std::filesystem::file_size(path);
  void* const memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  REQUIRE(memory != MAP_FAILED);
  std::vector<unsigned char> pages((size + 4095) / 4096);
  const int asked = mincore(memory, size, pages.data());
  munmap(memory, size);
  REQUIRE(asked == 0);
  return static_cast<std::size_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1; }));
}

std::size_t CachedPagesOfShards(const std::filesystem::path& dataset) {
  std::size_t pages = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dataset)) {
    if (entry.path().extension() == ".sluice") pages += CachedPages(entry.path());
  }
  return pages;
}

// Returns whether a file written here by the test itself stays out of the page cache.
bool StaysOutOfTheCache(const std::filesystem::path& path) {
  const DirectBuffer memory;
  std::fill(memory.memory().begin(), memory.memory().end(), std::byte{7});
  const FileHandle file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_DIRECT, 0666));
  if (!file) return false;
  for (const std::size_t size : {DirectBuffer::kBytes, DirectBuffer::kAlignment}) {
    if (write(file.get(), memory.memory().data(), size) != static_cast<ssize_t>(size)) return false;
  }
  return fsync(file.get()) == 0 && CachedPages(path) == 0;
}

}  // namespace

TEST_CASE("`direct` changes no byte, and a conversion that began without it can continue with it") {
  const TemporaryFolder folder;
  WriteRawSources(folder / "source");
  const ConvertSummary plain = Convert(folder / "source", folder / "plain", RawShards(false));
  REQUIRE(plain.shards > 3);
  Convert(folder / "source", folder / "direct", RawShards(true));
  const auto expected = ContentsOf(folder / "plain");
  CHECK(ContentsOf(folder / "direct") == expected);
  std::filesystem::remove(folder / "plain" / "manifest.json");
  std::filesystem::remove(folder / "plain" / "shard-00001.sluice");
  Convert(folder / "source", folder / "plain", RawShards(true));
  CHECK(ContentsOf(folder / "plain") == expected);
}

TEST_CASE("shards written directly are not in the page cache") {
  const TemporaryFolder folder;
  if (!StaysOutOfTheCache(folder / "probe")) {
    WARN("skipped: this file system writes nothing past the page cache");
    return;
  }
  WriteRawSources(folder / "source");
  const ConvertSummary summary = Convert(folder / "source", folder / "direct", RawShards(true));
  CHECK_FALSE(summary.direct_refused);
  CHECK(CachedPagesOfShards(folder / "direct") == 0);
  // Shards written without the option are in the page cache, unless memory is scarce.
  Convert(folder / "source", folder / "plain", RawShards(false));
  if (CachedPagesOfShards(folder / "plain") == 0) WARN("nothing stays in the page cache here");
  // An edit with the option leaves no shards in the page cache either.
  EditHooks hooks;
  hooks.direct = true;
  Selection selection;
  selection.count = 30;
  SubsetDataset(folder / "direct", folder / "subset", selection, hooks);
  CHECK(CachedPagesOfShards(folder / "subset") == 0);
}

}  // namespace sluice::test
