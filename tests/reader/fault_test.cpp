// Damaged, missing and truncated shards while a dataset plays: errors, skipped samples and
// substitutes.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sluice/verify.h>

#include "format/disk/file.h"
#include "tests/reader/faulty_playing.h"
#include "tests/reader/in_child.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"
#include "tests/reader/slow_disk.h"
#include "tests/sanitized.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

const std::vector<int> kDamaged = {3, 40, 41, 42, 43, 199};

bool IsDamaged(std::uint64_t sample) {
  return std::find(kDamaged.begin(), kDamaged.end(), static_cast<int>(sample)) != kDamaged.end();
}

}  // namespace

TEST_CASE("Skipping makes batches shorter and moves no other sample") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 200);
  for (const unsigned threads : {1U, 3U}) {
    LoaderOptions options = OptionsFor(16, threads);
    options.order.lanes = 4;
    options.integrity.on_fault = OnFault::kSkip;
    Loader before(Dataset::Open(path), options);
    const Played whole = PlayOn(before, 1);
    REQUIRE(whole.samples.size() == 200);
    const TemporaryFolder copy;
    std::filesystem::copy(path, copy / "d");
    Damage(copy / "d", kDamaged);
    Loader loader(Dataset::Open(copy / "d"), options);
    const Played played = PlayOn(loader, 1);
    std::vector<std::uint64_t> expected;
    std::vector<std::size_t> sizes(13, 0);
    for (std::size_t i = 0; i < 200; ++i) {
      if (IsDamaged(whole.samples[i])) continue;
      expected.push_back(whole.samples[i]);
      ++sizes[i / 16];
    }
    REQUIRE(played.errors.empty());
    REQUIRE(played.samples == expected);
    REQUIRE(played.sizes == sizes);
    REQUIRE(std::count(played.flags.begin(), played.flags.end(), SampleFlag::kOwn) == 194);
  }
}

TEST_CASE(
    "Substitutes are marked, move no other sample, and are the same for all threads and ranks") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 200);
  LoaderOptions options = OptionsFor(24, 1);
  options.order.lanes = 12;
  options.integrity.on_fault = OnFault::kSubstitute;
  std::vector<std::uint64_t> whole;
  {
    Loader loader(Dataset::Open(path), options);
    whole = PlayOn(loader, 5).samples;
  }
  Damage(path, kDamaged);
  const Dataset dataset = Dataset::Open(path);
  Loader loader(dataset, options);
  const Played alone = PlayOn(loader, 5);
  REQUIRE(alone.errors.empty());
  REQUIRE(alone.samples.size() == 200);
  for (std::size_t i = 0; i < 200; ++i) {
    const bool damaged = IsDamaged(whole[i]);
    REQUIRE(alone.flags[i] == (damaged ? SampleFlag::kSubstitute : SampleFlag::kOwn));
    REQUIRE((alone.samples[i] == whole[i]) == !damaged);
    REQUIRE_FALSE(IsDamaged(alone.samples[i]));
  }
  options.threads = 4;
  Loader many(dataset, options);
  REQUIRE(PlayOn(many, 5).samples == alone.samples);
  options.ranks.world_size = 4;
  options.batch_size = 6;
  for (options.ranks.rank = 0; options.ranks.rank < 4; ++options.ranks.rank) {
    Loader share(dataset, options);
    const Played played = PlayOn(share, 5);
    REQUIRE(played.samples.size() == 50);
    for (std::size_t i = 0; i < 50; ++i)
      REQUIRE(played.samples[i] == alone.samples[4 * i + options.ranks.rank]);
  }
}

TEST_CASE("Damage is a fault in every epoch, with each setting that compares checksums") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 200);
  Damage(path, kDamaged);
  for (const Verify verify : {Verify::kAuto, Verify::kAlways}) {
    for (const OnFault policy : {OnFault::kSkip, OnFault::kSubstitute, OnFault::kError}) {
      LoaderOptions options = OptionsFor(16, 2);
      options.integrity.verify = verify;
      options.integrity.on_fault = policy;
      if (policy == OnFault::kSkip) options.storage = Direct{};
      Loader loader(Dataset::Open(path), options);
      PlayBatches(loader, 5, policy == OnFault::kError ? 0 : 3);  // and leaves it
      for (const std::uint64_t epoch : {1, 2, 3}) {
        const Played played = PlayOn(loader, epoch);
        REQUIRE(std::none_of(played.samples.begin(), played.samples.end(), IsDamaged));
        CHECK(played.errors.empty() == (policy != OnFault::kError));
        if (policy == OnFault::kSkip) CHECK(played.samples.size() == 194);
        if (policy == OnFault::kSubstitute) CHECK(played.samples.size() == 200);
      }
    }
  }
}

TEST_CASE("Faults are listed with shard, sample, key and reason, and counted") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 200);
  Damage(path, kDamaged);
  const Dataset dataset = Dataset::Open(path);
  LoaderOptions options = OptionsFor(10, 2);
  options.integrity.on_fault = OnFault::kSkip;
  options.integrity.verify = Verify::kAlways;
  Loader loader(dataset, options);
  REQUIRE(loader.Faults().empty());
  PlayOn(loader, 0);
  PlayOn(loader, 1);
  const std::vector<SampleFault> faults = loader.Faults();
  REQUIRE(faults.size() == kDamaged.size());
  for (std::size_t i = 0; i < faults.size(); ++i) {
    CHECK(faults[i].sample == static_cast<std::uint64_t>(kDamaged[i]));
    CHECK(faults[i].key == "key-" + std::to_string(kDamaged[i]));
    CHECK(faults[i].shard == dataset.shards()[0].file);
    CHECK_THAT(faults[i].reason, ContainsSubstring("checksum"));
    CHECK(faults[i].epoch == 0);
    CHECK(faults[i].times >= 2);  // 3 if the next epoch was begun ahead
  }
  // Faults that were met while reading ahead into the next epoch count once that epoch begins.
  CHECK(loader.Stats().faults == 2 * kDamaged.size());
}

TEST_CASE("Row() of another epoch does not change which faults of the running epoch count") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 200);
  Damage(path, kDamaged);
  LoaderOptions options = OptionsFor(10, 1);
  options.integrity.on_fault = OnFault::kSkip;
  options.ring.prefetch = 1;
  Loader loader(Dataset::Open(path), options);
  REQUIRE_FALSE(IsDamaged(1));
  for (const Batch& batch : loader.Epoch(0))
    REQUIRE(loader.Row(1, 5).size() <= batch.size());
  CHECK(loader.Stats().faults == kDamaged.size());
}

TEST_CASE(
    "Where nothing can be read, an epoch ends in an error, when skipping and when substituting") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 50);
  const Dataset dataset = Dataset::Open(path);
  std::filesystem::remove(path / dataset.shards()[0].file);
  LoaderOptions options = OptionsFor(20, 2);
  options.integrity.on_fault = OnFault::kSkip;
  Loader skipping(dataset, options);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    const Played skipped = PlayOn(skipping, epoch);
    REQUIRE(skipped.sizes == std::vector<std::size_t>{0, 0});
    REQUIRE(skipped.errors.size() == 1);
    REQUIRE_THAT(skipped.errors[0], ContainsSubstring("no sample of the epoch could be read"));
    REQUIRE_THAT(skipped.errors[0], ContainsSubstring("sluice verify"));
  }
  options.integrity.on_fault = OnFault::kSubstitute;
  Loader substituting(dataset, options);
  const Played played = PlayOn(substituting, 0);
  REQUIRE(played.sizes.empty());
  REQUIRE(played.errors.size() == 3);
  REQUIRE_THAT(played.errors[0], ContainsSubstring(dataset.shards()[0].file));
}

TEST_CASE("Empty batches are not an error if the epoch has others") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 200);
  Damage(path, kDamaged);
  LoaderOptions options = OptionsFor(1, 2);
  options.order.shuffle = Shuffle::kSequential;
  options.integrity.on_fault = OnFault::kSkip;
  options.integrity.verify = Verify::kAlways;
  Loader loader(Dataset::Open(path), options);
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    const Played played = PlayOn(loader, epoch);
    CHECK(played.errors.empty());
    CHECK(played.sizes.size() == 200);  // the last one is empty, too
    CHECK(std::count(played.sizes.begin(), played.sizes.end(), 0U) == 6);
  }
}

TEST_CASE("A missing shard costs only its own samples") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 12'000);
  const Dataset dataset = Dataset::Open(path);
  REQUIRE(dataset.shards().size() >= 3);
  std::filesystem::remove(path / dataset.shards()[1].file);
  LoaderOptions options = OptionsFor(250, 2);
  if (GENERATE(false, true)) options.storage = Direct{};
  options.integrity.on_fault = OnFault::kSkip;
  Loader loader(dataset, options);
  REQUIRE(PlayOn(loader, 0).samples.size() == 12'000 - dataset.shards()[1].samples);
  REQUIRE_THAT(loader.Faults().at(0).reason, ContainsSubstring("No such file"));
  options.integrity.on_fault = OnFault::kSubstitute;
  Loader full(dataset, options);
  REQUIRE(PlayOn(full, 0).samples.size() == 12'000);
}

TEST_CASE(
    "A shard cut short while it is open is an error with its name, and no wrong pixel comes") {
  const bool direct = GENERATE(false, true);
  for (const Verify verify : {Verify::kAuto, Verify::kAlways, Verify::kNever}) {
    if (direct && verify == Verify::kAuto) continue;  // which acts like kAlways or like kNever
    for (const int cut : {0, 2, 1, 3}) {
      if (kSanitized && cut == 1) break;
      const TemporaryFolder folder;
      const std::filesystem::path path = WriteRawDataset(folder, kSanitized ? 1000 : 3000);
      const Dataset dataset = Dataset::Open(path);
      const std::filesystem::path file = path / dataset.shards()[0].file;
      const auto bytes = static_cast<off_t>(dataset.shards()[0].bytes);
      LoaderOptions options = OptionsFor(50, 2);
      options.integrity.verify = verify;
      if (direct) options.storage = Direct{};
      Loader loader(dataset, options);
      REQUIRE(PlayOn(loader, 0).samples.size() == dataset.size());
      // Cut to nothing, to whole pages, within a page, and within a picture.
      const off_t left[] = {0, bytes / 8192 * 4096, bytes / 8192 * 4096 + 100, bytes / 3 | 1};
      REQUIRE(truncate(file.c_str(), left[cut]) == 0);
      loader.Epoch(7);  // drops what was decoded ahead of epoch 1
      const Played played = PlayOn(loader, 1);
      REQUIRE_FALSE(played.errors.empty());
      for (const std::string& error : played.errors) {
        REQUIRE_THAT(error, ContainsSubstring(dataset.shards()[0].file));
        REQUIRE_THAT(error, ContainsSubstring("cut short while it was open"));
      }
      options.integrity.on_fault = OnFault::kSkip;
      Loader skipping(dataset, options);
      const Played rest = PlayOn(skipping, 2);
      REQUIRE(rest.errors.size() == (rest.samples.empty() ? 1 : 0));  // there is one shard
      const std::size_t other = dataset.size() - dataset.shards()[0].samples;
      REQUIRE(rest.samples.size() >= other);
      REQUIRE(rest.samples.size() < dataset.size());
      // A loader made now cannot open the shard past the page cache at all.
      if (cut == 0 || direct) REQUIRE(rest.samples.size() == other);
    }
  }
}

TEST_CASE("A shard that is deleted or replaced by rename while it is open is read as it was") {
  const TemporaryFolder folder;
  const TemporaryFolder other_folder;
  const std::filesystem::path path = WriteRawDataset(folder, 3000);
  const Dataset dataset = Dataset::Open(path);
  const std::filesystem::path file = path / dataset.shards()[0].file;
  LoaderOptions options = OptionsFor(50, 2);
  options.integrity.verify = Verify::kNever;
  if (GENERATE(false, true)) options.storage = Direct{};
  Loader loader(dataset, options);
  PlayOn(loader, 0);
  std::ofstream(folder / "other") << "something else";
  std::filesystem::rename(folder / "other", file);
  REQUIRE(PlayOn(loader, 1).samples.size() == dataset.size());
  std::filesystem::remove(file);
  const Played played = PlayOn(loader, 2);
  REQUIRE(played.samples.size() == dataset.size());
  REQUIRE(played.errors.empty());
}

TEST_CASE("Decoding single samples of a truncated shard is an error, too") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 200);
  const Dataset dataset = Dataset::Open(path);
  REQUIRE(dataset[150].Decode().pixels[0] == 150);
  REQUIRE(dataset[150].Integer("label") == 150 % 10);
  REQUIRE(dataset.Column("label").size() == 4 * dataset.size());
  REQUIRE(truncate((path / dataset.shards()[0].file).c_str(), 4096) == 0);
  const std::vector<std::function<void()>> readings = {
      [&] { dataset[150].Decode(); },         [&] { dataset[150].Payload(); },
      [&] { dataset[150].Shape(); },          [&] { dataset[150].Has("image"); },
      [&] { dataset[150].Integer("label"); }, [&] { dataset[150].Copy("label"); },
      [&] { dataset[150].Copy("image"); },    [&] { dataset.Column("label"); }};
  for (const auto& read : readings)
    CHECK(ErrorText(read, ErrorCode::kIo).find("was cut short") != std::string::npos);
}

TEST_CASE("A disk that cannot read part of a shard costs only the samples there, with the reason") {
  if (!MayMountDisks()) {
    WARN("skipped: FUSE or its Python module (fuse3, python3-fusepy) is not here");
    return;
  }
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 3000);
  const std::string file = Dataset::Open(path).shards()[0].file;
  // Bytes 200,000 to 239,999 of the first shard cannot be read.
  const MountedDisk disk(path, "'" + file + "' 200000 240000");
  {
    const Dataset dataset = Dataset::Open(disk.path());
    for (const auto& [verify, direct] :
         {std::pair{Verify::kAlways, false}, {Verify::kNever, false}, {Verify::kNever, true}}) {
      LoaderOptions options = OptionsFor(50, 2);
      options.integrity.verify = verify;
      if (direct) options.storage = Direct{};
      Loader failing(dataset, options);
      const Played failed = PlayOn(failing, 0);
      CHECK_FALSE(failed.errors.empty());
      for (const std::string& error : failed.errors) {
        CHECK_THAT(error, ContainsSubstring(file));
        CHECK_THAT(error, ContainsSubstring("cannot be read"));
      }
      options.integrity.on_fault = OnFault::kSkip;
      Loader skipping(dataset, options);
      const Played played = PlayOn(skipping, 0);
      CHECK(played.errors.empty());
      // 40,000 bytes hold some 170 samples; pages around them may be read with them.
      CHECK(played.samples.size() < 2900);
      CHECK(played.samples.size() > 1500);
    }
  }
  // The mappings are gone with the dataset.
  CHECK(ContentOf("/proc/self/maps").find(disk.path().string()) == std::string::npos);
}

TEST_CASE("A disk that keeps no pages of its files is played and verified as any other") {
  if (!MayMountDisks()) {
    WARN("skipped: needs FUSE and its Python module");
    return;
  }
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 2000);
  LoaderOptions options = OptionsFor(16, 2);
  Loader local(Dataset::Open(path), options);
  const std::vector<PlayedBatch> expected = PlayBatches(local, 0);
  const MountedDisk disk(path, "none 0 0 0 direct_io");
  if (GENERATE(false, true)) options.storage = Direct{};
  Loader loader(Dataset::Open(disk.path()), options);
  CHECK(PlayBatches(loader, 0) == expected);
  CHECK(VerifyDataset(disk.path()).faults.empty());
}

namespace {

// Makes this process unable to map files read-only from now on, as on a file system that does not
// allow it. Returns false if the system has no filters for system calls (seccomp).
bool RefuseToMapFiles() {
  constexpr auto kArgument = [](std::uint32_t number) {
    return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + 8 * number);
  };
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mmap, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kArgument(2)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_READ, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kArgument(4)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xFFFFFFFF, 1, 0),  // no file
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENODEV),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {std::size(filter), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

TEST_CASE("If no file can be mapped, the loader reads the dataset into memory and says so") {
  if (!kForks) return;
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteRawDataset(folder, 2000);
  std::vector<PlayedBatch> expected;
  // In a child, because this process must have no threads when it forks again.
  CHECK(InChild([&] {
          Loader local(Dataset::Open(path), OptionsFor(16, 2));
          expected = PlayBatches(local, 0);
          if (!RefuseToMapFiles()) return true;
          const Dataset dataset = Dataset::Open(path);
          Loader loader(dataset, OptionsFor(16, 2));
          return loader.Describe().find("cannot map files") != std::string::npos &&
                 PlayBatches(loader, 0) == expected && VerifyDataset(path).faults.empty() &&
                 MappedFile(path / "manifest.json").bytes().size() ==
                     ContentOf(path / "manifest.json").size() &&
                 dataset[1999].key() == "key-1999";
        }) == 0);
}
