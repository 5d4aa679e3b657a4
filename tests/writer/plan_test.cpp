// The plan of a conversion. A conversion gives the same bytes on any number of threads, and when it
// resumes after interruptions. A folder with a different plan is refused.
#include <fcntl.h>
#include <malloc.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <sluice/convert_steps.h>
#include <sluice/dataset_writer.h>
#include <sluice/version.h>

#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/sanitized.h"
#include "tests/temporary_folder.h"
#include "tests/writer/source_files.h"
#include "tests/writer/stored.h"

namespace sluice::test {

namespace {

// Writes 93 images and three broken ones. With SmallShards(), they fill several shards.
void WriteMixed(const std::filesystem::path& folder) {
  WriteClasses(folder, 31);
  const FileBytes whole = MakeJpeg(MakePicture(100, 100));
  for (const char* name : {"ant/broken", "bee/broken", "cow/broken"}) {
    WriteSource(folder / name, Truncated(whole, whole.size() / 2));
  }
  WriteSource(folder / "ant" / "note.txt", std::string("x"));
}

ConvertOptions SmallShards() {
  ConvertOptions options;
  options.geometry.max_side.reset();
  options.geometry.size = Size{200, 160};  // 96,000 bytes each
  options.form.image = ImageCodec::kRaw;
  options.shards.shard_bytes = 1'000'000;
  return options;
}

// 64 tiny pictures, from which one shard is planned, followed by large ones of 31 MB as raw pixels.
void WriteTinyThenLarge(const std::filesystem::path& folder, int large) {
  for (int i = 0; i < 64; ++i) {
    WriteSource(folder / (std::string("a").append(std::to_string(i))), MakePng(MakePicture(8, 8)));
  }
  Picture grey{4000, 2600, 3, {}};
  grey.pixels.assign(std::size_t{grey.width} * grey.height * 3, 128);
  const FileBytes file = MakePng(grey);
  for (int i = 0; i < large; ++i)
    WriteSource(folder / (std::string("b").append(std::to_string(i))), file);
}

ConvertOptions RawInOrder() {
  ConvertOptions options;
  options.geometry.max_side.reset();
  options.form.image = ImageCodec::kRaw;
  options.shards.keep_order = true;
  return options;
}

// Stops a conversion once `samples` are done. Returns its error.
std::optional<Error> RunUntil(const std::filesystem::path& source,
                              const std::filesystem::path& data, const ConvertOptions& options,
                              std::uint64_t samples) {
  std::stop_source stop;
  ConvertHooks hooks;
  hooks.stop = stop.get_token();
  hooks.on_progress = [&](const ConvertProgress& progress) {
    if (progress.samples_done >= samples) stop.request_stop();
  };
  return ErrorOf([&] { Convert(source, data, options, hooks); });
}

}  // namespace

TEST_CASE("the bytes are the same for 1, 2 and 7 threads") {
  const TemporaryFolder folder;
  WriteMixed(folder / "source");
  ConvertOptions options = SmallShards();
  std::map<std::string, std::string> first;
  for (const unsigned threads : {1U, 2U, 7U}) {
    options.run.threads = threads;
    const auto data = folder / std::to_string(threads);
    const ConvertSummary summary = Convert(folder / "source", data, options);
    CHECK(summary.samples == 93);
    CHECK(summary.shards > 5);
    CHECK(summary.skipped.size() == 3);
    if (first.empty()) first = ContentsOf(data);
    CHECK(ContentsOf(data) == first);
  }
  std::uint64_t bytes = 0;
  for (const auto& [name, content] : first)
    bytes += content.size();
  CHECK(Convert(folder / "source", folder / "1", options).bytes_out == bytes);
}

TEST_CASE("sources and dataset may lie anywhere", "[no-tsan]") {
  const TemporaryFolder folder;
  WriteMixed(folder / "source");
  Convert(folder / "source", folder / "data", SmallShards());
  const auto contents = ContentsOf(folder / "data");
  std::filesystem::create_directories(folder / "deep/er");
  std::filesystem::rename(folder / "source", folder / "deep/er/moved");
  Convert(folder / "deep/er/moved", folder / "deep/other", SmallShards());
  CHECK(ContentsOf(folder / "deep/other") == contents);
  for (const auto& [name, content] : contents) {
    CHECK(content.find(folder.path().string()) == std::string::npos);
  }
}

TEST_CASE("a broken source leaves no gap: later samples of the shard move up") {
  const TemporaryFolder folder;
  const FileBytes whole = MakeJpeg(MakePicture(80, 80));
  for (int i = 10; i < 34; ++i) {
    WriteSource(folder / "source" / std::to_string(i),
                i == 12 ? Truncated(whole, 900) : MakePng(MakePicture(20, 20)));
  }
  ConvertOptions options = SmallShards();
  options.shards.keep_order = true;
  const ConvertSummary summary = Convert(folder / "source", folder / "data", options);
  const StoredDataset data = ReadDataset(folder / "data");
  CHECK(data.samples[2].key == "13");
  REQUIRE(data.manifest.shards.size() >= 2);
  CHECK(data.manifest.shards[0].samples == summary.shard_samples - 1);
  CHECK(data.manifest.shards[1].samples <= summary.shard_samples);
  CHECK(data.samples[data.manifest.shards[0].samples].key ==
        std::to_string(10 + summary.shard_samples));
}

TEST_CASE("an interrupted conversion resumes and ends with the same bytes") {
  const TemporaryFolder folder;
  WriteMixed(folder / "source");
  ConvertOptions options = SmallShards();
  options.run.threads = 3;
  const ConvertSummary whole = Convert(folder / "source", folder / "whole", options);
  const std::vector<std::uint64_t> stops =
      kSanitized ? std::vector<std::uint64_t>{30} : std::vector<std::uint64_t>{1, 30, 80};
  for (const std::uint64_t samples : stops) {
    INFO("stopped after " << samples);
    const auto data = folder / ("stopped" + std::to_string(samples));
    const auto error = RunUntil(folder / "source", data, options, samples);
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kState);
    CHECK_FALSE(std::filesystem::exists(data / "manifest.json"));
    options.run.threads = 2;
    const ConvertSummary rest = Convert(folder / "source", data, options);
    CHECK(ContentsOf(data) == ContentsOf(folder / "whole"));
    CHECK(rest.samples == whole.samples);
    CHECK(rest.bytes_in == whole.bytes_in);
    CHECK(rest.bytes_out == whole.bytes_out);
    CHECK(rest.class_counts == whole.class_counts);
    CHECK(rest.skipped.size() == whole.skipped.size());
  }
}

TEST_CASE("finished shards are kept and not made again") {
  const TemporaryFolder folder;
  WriteMixed(folder / "source");
  const ConvertOptions options = SmallShards();
  REQUIRE(RunUntil(folder / "source", folder / "data", options, 60));
  const auto before = std::filesystem::last_write_time(folder / "data" / "shard-00000.sluice");
  const auto plan = std::filesystem::last_write_time(folder / "data" / "plan.json");
  std::uint64_t first_report = 0;
  ConvertHooks hooks;
  hooks.on_progress = [&](const ConvertProgress& progress) {
    if (first_report == 0) first_report = progress.samples_done;
  };
  Convert(folder / "source", folder / "data", options, hooks);
  CHECK(first_report > 0);
  CHECK(std::filesystem::last_write_time(folder / "data" / "shard-00000.sluice") == before);
  CHECK(std::filesystem::last_write_time(folder / "data" / "plan.json") == plan);
}

TEST_CASE("files that a crash left unfinished are removed, and damaged shards are made again") {
  const TemporaryFolder folder;
  WriteMixed(folder / "source");
  Convert(folder / "source", folder / "data", SmallShards());
  const auto contents = ContentsOf(folder / "data");
  std::filesystem::remove(folder / "data" / "manifest.json");
  std::filesystem::remove(folder / "data" / "shard-00001.sluice");
  std::filesystem::resize_file(folder / "data" / "shard-00002.sluice", 4096);
  WriteSource(folder / "data" / ".shard-00001.sluice.tmp", std::string("half"));
  WriteSource(folder / "data" / ".manifest.json.tmp", std::string("half"));
  Convert(folder / "source", folder / "data", SmallShards());
  CHECK(ContentsOf(folder / "data") == contents);
}

TEST_CASE("a finished dataset of the same plan is left as it is and summed up again") {
  const TemporaryFolder folder;
  WriteMixed(folder / "source");
  const ConvertSummary first = Convert(folder / "source", folder / "data", SmallShards());
  std::map<std::string, std::filesystem::file_time_type> times;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "data")) {
    times[entry.path()] = entry.last_write_time();
  }
  const ConvertSummary second = Convert(folder / "source", folder / "data", SmallShards());
  for (const auto& [path, time] : times)
    CHECK(std::filesystem::last_write_time(path) == time);
  CHECK(second.samples == first.samples);
  CHECK(second.bytes_in == first.bytes_in);
  CHECK(second.bytes_out == first.bytes_out);
  CHECK(second.shards == first.shards);
  CHECK(second.skipped.size() == first.skipped.size());
}

TEST_CASE(
    "a dataset whose shard has the name of one of convert's other files is refused and kept") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 2);
  Convert(folder / "source", folder / "data", {});
  Id128 id;
  Manifest manifest = ReadManifest(folder / "data", id);
  for (const char* const name : {"skipped.tsv", "duplicates.tsv", "plan-sources.bin",
                                 "shard-00000.empty.json", "manifest-1.json"}) {
    CAPTURE(name);
    std::filesystem::rename(folder / "data" / manifest.shards[0].file, folder / "data" / name);
    manifest.shards[0].file = name;
    WriteSource(folder / "data/manifest.json", ManifestToJson(manifest, id));
    const auto contents = ContentsOf(folder / "data");
    ConvertOptions options;
    options.run.find_duplicates = true;
    for (const auto& convert : std::vector<std::function<void()>>{
             [&] { Convert(folder / "source", folder / "data", options); },
             [&] { ConvertPlanned(folder / "data", {}); },
             [&] { FinishConversion(folder / "data"); }}) {
      const auto error = ErrorOf(convert);
      REQUIRE(error);
      CHECK(error->code() == ErrorCode::kExists);
      CHECK_THAT(error->sentence(), Catch::Matchers::ContainsSubstring(name));
      CHECK(ContentsOf(folder / "data") == contents);
    }
  }
}

TEST_CASE("another plan is refused, naming the differences") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 3);
  Convert(folder / "source", folder / "data", {});
  const auto contents = ContentsOf(folder / "data");
  const auto difference = [&](auto&& change) {
    ConvertOptions options;
    change(options);
    const auto error = ErrorOf([&] { Convert(folder / "source", folder / "data", options); });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kExists);
    return error->sentence();
  };
  const auto names = [&](const char* name, auto&& change) {
    CHECK_THAT(difference(change), Catch::Matchers::ContainsSubstring(name));
  };
  names("quality was 90 then and is 80 now", [](ConvertOptions& o) { o.form.quality = 80; });
  names("max_side", [](ConvertOptions& o) { o.geometry.max_side = 300; });
  names("seed", [](ConvertOptions& o) { o.shards.seed = 1; });
  names("keep_order", [](ConvertOptions& o) { o.shards.keep_order = true; });
  names("keep", [](ConvertOptions& o) { o.form.keep = true; });
  names("image", [](ConvertOptions& o) { o.form.image = ImageCodec::kRaw; });
  names("restart_markers", [](ConvertOptions& o) { o.form.restart_markers = false; });
  names("subsampling", [](ConvertOptions& o) { o.form.subsampling = Subsampling::k444; });
  names("channels", [](ConvertOptions& o) { o.form.channels = 1; });
  names("shard_bytes", [](ConvertOptions& o) { o.shards.shard_bytes = 1'000'000; });
  names("block_samples", [](ConvertOptions& o) { o.shards.block_samples = 3; });
  names("max_pixels", [](ConvertOptions& o) { o.run.max_pixels = 100'000; });
  // Options that do not change the bytes do not change the plan.
  ConvertOptions same;
  same.run.threads = 2;
  same.run.on_error = OnError::kFail;
  Convert(folder / "source", folder / "data", same);
  // A further source changes the plan.
  WriteSource(folder / "source" / "ant" / "new.jpg", MakeJpeg(MakePicture(9, 9)));
  names("sources: ", [](ConvertOptions&) {});
  CHECK(ContentsOf(folder / "data") == contents);
}

TEST_CASE("short_side, size and fit belong to the plan") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 2);
  ConvertOptions options;
  options.geometry.max_side.reset();
  options.geometry.short_side = 40;
  Convert(folder / "source", folder / "short", options);
  options.geometry.short_side = 41;
  CHECK(CodeOf([&] { Convert(folder / "source", folder / "short", options); }) ==
        ErrorCode::kExists);
  options.geometry.short_side.reset();
  options.geometry.size = Size{32, 32};
  Convert(folder / "source", folder / "data", options);
  options.geometry.fit = Fit::kPad;
  CHECK(CodeOf([&] { Convert(folder / "source", folder / "data", options); }) ==
        ErrorCode::kExists);
  options.geometry.fit = Fit::kCrop;
  options.geometry.size = Size{32, 33};
  CHECK(CodeOf([&] { Convert(folder / "source", folder / "data", options); }) ==
        ErrorCode::kExists);
}

TEST_CASE("a folder with other content is refused and left alone") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 1);
  WriteSource(folder / "data" / "thesis.txt", std::string("years of work"));
  const auto code = [&] {
    return CodeOf([&] { Convert(folder / "source", folder / "data", {}); });
  };
  CHECK(code() == ErrorCode::kExists);
  CHECK(ContentsOf(folder / "data").size() == 1);
  std::filesystem::remove(folder / "data" / "thesis.txt");
  WriteSource(folder / "data" / "plan.json", std::string("no plan of ours"));
  CHECK(code() == ErrorCode::kCorrupt);
  CHECK(ContentsOf(folder / "data").size() == 1);
}

TEST_CASE("a dataset that no conversion wrote is refused") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 1);
  DatasetWriter writer(folder / "data", {{Field::Bytes("x")}});
  writer.Finish();
  CHECK(CodeOf([&] { Convert(folder / "source", folder / "data", {}); }) == ErrorCode::kExists);
}

TEST_CASE("two conversions into one folder exclude each other") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 1);
  std::filesystem::create_directory(folder / "data");
  const int fd = open((folder / "data").c_str(), O_RDONLY | O_DIRECTORY);
  REQUIRE(flock(fd, LOCK_EX) == 0);
  CHECK(CodeOf([&] { Convert(folder / "source", folder / "data", {}); }) == ErrorCode::kState);
  close(fd);
  Convert(folder / "source", folder / "data", {});
}

TEST_CASE("a source that changes or disappears after planning is left out, and only that source") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 30);
  // These come after the first 64 sources, which are read to plan the shards.
  const auto victim = folder / "source" / "cow" / "7.jpg";
  const auto gone = folder / "source" / "cow" / "9.jpg";
  ConvertOptions options;
  options.shards.keep_order = true;
  ConvertHooks hooks;
  hooks.on_progress = [&](const ConvertProgress& progress) {
    // The first report comes between planning and making.
    if (progress.samples_done != 0 || !std::filesystem::exists(gone)) return;
    WriteSource(victim, std::string("\xff\xd8\xff of another size"));
    std::filesystem::remove(gone);
  };
  const ConvertSummary summary = Convert(folder / "source", folder / "data", options, hooks);
  CHECK(summary.samples == 88);
  REQUIRE(summary.skipped.size() == 2);
  CHECK(summary.skipped[0].path == "cow/7.jpg");
  CHECK(summary.skipped[0].reason.find("changed its size") != std::string::npos);
  CHECK(summary.skipped[1].path == "cow/9.jpg");
}

TEST_CASE("a source that becomes an image of a kind that is not converted is reported as such") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 30);
  const auto victim = folder / "source" / "cow" / "7.jpg";  // not one of the first 64
  ConvertOptions options;
  options.shards.keep_order = true;
  ConvertHooks hooks;
  hooks.on_progress = [&](const ConvertProgress& progress) {
    if (progress.samples_done != 0) return;
    std::string icon("\0\0\1\0\1\0\x10\x10\0\0\1\0\x20\0\x68\4\0\0\x16\0\0\0", 22);
    icon.resize(std::filesystem::file_size(victim));
    WriteSource(victim, icon);
  };
  const ConvertSummary summary = Convert(folder / "source", folder / "data", options, hooks);
  REQUIRE(summary.skipped.size() == 1);
  CHECK_THAT(summary.skipped[0].reason,
             Catch::Matchers::ContainsSubstring("unsupported: an ICO image"));
}

TEST_CASE(
    "if the source folder disappears the conversion ends, and it resumes once the folder is back") {
  const TemporaryFolder folder;
  for (std::uint64_t i = 0; i < 80; ++i) {  // the first 64 are read to plan the shards
    WriteSource(folder / "source" / (std::to_string(i) + ".png"),
                MakePng(MakePicture(200, 160, 3, i)));
  }
  ConvertOptions options;
  options.geometry.max_side.reset();
  options.form.image = ImageCodec::kRaw;
  options.shards.shard_bytes = 1'000'000;
  options.run.threads = 1;
  Convert(folder / "source", folder / "expected", options);
  ConvertHooks hooks;
  hooks.on_progress = [&](const ConvertProgress& progress) {
    if (progress.samples_done == 0 || std::filesystem::exists(folder / "elsewhere")) return;
    std::filesystem::rename(folder / "source", folder / "elsewhere");
    // An unmounted disk leaves an empty folder behind.
    std::filesystem::create_directory(folder / "source");
  };
  const auto error = ErrorOf([&] { Convert(folder / "source", folder / "data", options, hooks); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kIo);
  CHECK(error->file() == (folder / "source").string());
  CHECK_FALSE(std::filesystem::exists(folder / "data" / "manifest.json"));
  std::filesystem::remove(folder / "source");
  std::filesystem::rename(folder / "elsewhere", folder / "source");
  CHECK(Convert(folder / "source", folder / "data", options).skipped.empty());
  CHECK(ContentsOf(folder / "data") == ContentsOf(folder / "expected"));
}

TEST_CASE("a planned shard that turns out too large is split", "[no-tsan]") {
  const TemporaryFolder folder;
  WriteTinyThenLarge(folder / "source", 5);
  const ConvertSummary summary = Convert(folder / "source", folder / "data", RawInOrder());
  CHECK(summary.samples == 69);
  const StoredDataset data = ReadDataset(folder / "data");
  REQUIRE(data.manifest.shards.size() == 2);  // four in a part: 125 MB
  CHECK(data.manifest.shards[0].file == "shard-00000.sluice");
  CHECK(data.manifest.shards[1].file == "shard-00000.1.sluice");
  for (const ManifestShard& shard : data.manifest.shards)
    CHECK(shard.bytes <= 128'000'000);
  CHECK(data.samples.back().key == "b4");
}

TEST_CASE("a planned shard is split the same way for any threads and after an interruption",
          "[slow]") {
  const TemporaryFolder folder;
  WriteTinyThenLarge(folder / "source", 9);
  ConvertOptions options = RawInOrder();
  options.run.threads = 1;
  CHECK(Convert(folder / "source", folder / "one", options).shards == 3);
  options.run.threads = 3;
  Convert(folder / "source", folder / "three", options);
  CHECK(ContentsOf(folder / "three") == ContentsOf(folder / "one"));
  // A run also resumes if only some parts of the split shard are there.
  std::filesystem::remove(folder / "three" / "shard-00000.2.sluice");
  std::filesystem::remove(folder / "three" / "manifest.json");
  Convert(folder / "source", folder / "three", options);
  CHECK(ContentsOf(folder / "three") == ContentsOf(folder / "one"));
}

TEST_CASE("too many open files do not leave a source out") {
  if (kSanitized) {
    WARN("skipped: sanitizers open files of their own to look at memory");
    return;
  }
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 30);  // the first 64 are read before a shard is open
  ConvertOptions options;
  options.run.threads = 1;
  const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);  // the number that the next file gets
  REQUIRE(next >= 0);
  close(next);
  rlimit whole{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &whole) == 0);
  rlimit tight = whole;
  tight.rlim_cur = static_cast<rlim_t>(next) + 2;  // the folder's lock, and the shard or a source
  REQUIRE(setrlimit(RLIMIT_NOFILE, &tight) == 0);
  const auto error = ErrorOf([&] { Convert(folder / "source", folder / "data", options); });
  REQUIRE(setrlimit(RLIMIT_NOFILE, &whole) == 0);
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kIo);
  CHECK(error->sentence().find("Too many open files") != std::string::npos);
  CHECK(Convert(folder / "source", folder / "data", options).samples == 90);
}

TEST_CASE("a planned shard with only broken sources has no file") {
  const TemporaryFolder folder;
  const FileBytes whole = MakeJpeg(MakePicture(80, 80));
  for (int i = 100; i < 140; ++i) {
    WriteSource(folder / "source" / std::to_string(i),
                i >= 110 && i < 125 ? Truncated(whole, 900) : MakePng(MakePicture(20, 20)));
  }
  ConvertOptions options = SmallShards();
  options.shards.block_samples = 5;
  options.shards.keep_order = true;
  const ConvertSummary summary = Convert(folder / "source", folder / "data", options);
  CHECK(summary.shard_samples == 10);
  CHECK(summary.samples == 25);
  CHECK(summary.skipped.size() == 15);
  CHECK_FALSE(std::filesystem::exists(folder / "data" / "shard-00001.sluice"));
  CHECK(ReadDataset(folder / "data").samples.size() == 25);
  CHECK(Convert(folder / "source", folder / "data", options).skipped.size() == 15);
}

TEST_CASE("finished shards take no memory for the classes that they do not have") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 100);
  ConvertSource source(folder / "source");
  constexpr std::size_t kClasses = kSanitized ? 400 : 40'000;
  source.label.classes = {"ant", "bee", "cow"};
  while (source.label.classes.size() < kClasses)
    source.label.classes.push_back("n" + std::to_string(source.label.classes.size()));
  ConvertOptions options = SmallShards();
  // The bytes that are allocated at the last report of progress.
  std::size_t allocated = 0;
  ConvertHooks hooks;
  hooks.on_progress = [&](const ConvertProgress&) {
    const struct mallinfo2 info = mallinfo2();
    allocated = info.uordblks + info.hblkhd;
  };
  const ConvertSummary summary = Convert(source, folder / "data", options, hooks);
  const std::size_t of_many = allocated;
  REQUIRE(summary.shards >= 30);
  CHECK(summary.class_counts.size() == kClasses);
  CHECK(summary.class_counts[1] == 100);
  CHECK(summary.class_counts[3] == 0);
  CHECK(Convert(source, folder / "data", options).class_counts == summary.class_counts);
  options.shards.shard_bytes = 128'000'000;
  CHECK(Convert(source, folder / "one", options, hooks).shards == 1);
  if (kSanitized) return;  // mallinfo2() does not count a sanitizer's allocations
  // A number for each class and shard would take 9.6 MB.
  CHECK(of_many < allocated + 4'000'000);
}

TEST_CASE("progress counts up to all samples and never decreases") {
  const TemporaryFolder folder;
  WriteMixed(folder / "source");
  ConvertProgress last;
  bool monotonic = true;
  ConvertHooks hooks;
  hooks.on_progress = [&](const ConvertProgress& progress) {
    monotonic = monotonic && progress.samples_done >= last.samples_done &&
                progress.bytes_in >= last.bytes_in && progress.bytes_out >= last.bytes_out;
    last = progress;
  };
  Convert(folder / "source", folder / "data", SmallShards(), hooks);
  CHECK(monotonic);
  CHECK(last.samples_done == 96);
  CHECK(last.samples_total == 96);
  CHECK(last.bytes_out > 8'000'000);
}

TEST_CASE("the plan is written first and records options, sources and libraries") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 2);
  REQUIRE(RunUntil(folder / "source", folder / "data", {}, 0));
  const auto contents = ContentsOf(folder / "data");
  REQUIRE(contents.count("plan.json") == 1);
  const auto plan = nlohmann::json::parse(contents.at("plan.json"));
  CHECK(plan.at("options").at("quality") == 90);
  CHECK(plan.at("sources").at("count") == 6);
  CHECK(plan.at("libraries").contains("libjpeg-turbo"));
  CHECK(plan.at("digest").get<std::string>().size() == 32);
  Convert(folder / "source", folder / "data", {});
  const StoredDataset data = ReadDataset(folder / "data");
  auto made = nlohmann::json::parse(data.manifest.made);
  CHECK(made.at("plan") == plan.at("digest"));
  CHECK(made.at("options") == plan.at("options"));
  CHECK(made.at("libraries").at("sluice") == kLibraryVersion);
  made["libraries"].erase("sluice");  // other versions make the same shards
  CHECK(made.at("libraries") == plan.at("libraries"));
  Id128 id;
  Manifest manifest = ReadManifest(folder / "data", id);
  made["libraries"]["sluice"] = "0.1.9";
  manifest.made = made.dump();
  WriteFile(folder / "data/manifest.json", AsBytes(ManifestToJson(manifest, id)));
  CHECK(Convert(folder / "source", folder / "data", {}).samples == 6);
  CHECK(ReadDataset(folder / "data").manifest.made == manifest.made);
}

}  // namespace sluice::test
