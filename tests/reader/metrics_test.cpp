// How long things took, counted in histograms, and a loader's figures for dashboards: the text and
// the file. tests/python/test_metrics.py has the text parsed by Prometheus' own parsers.
#include <atomic>
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include <sluice/metrics.h>

#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

std::string FileText(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

LoaderStats Samples(std::uint64_t samples) {
  LoaderStats stats;
  stats.samples = samples;
  return stats;
}

}  // namespace

TEST_CASE("A histogram's buckets include their ends, and each is at most a quarter longer") {
  for (std::size_t bucket = 0; bucket + 1 < DurationHistogram::kBuckets; ++bucket) {
    const double end = DurationHistogram::EndSeconds(bucket);
    DurationHistogram histogram;
    histogram.Add(end);
    histogram.Add(end + 1e-9);
    CHECK(histogram.counts[bucket] == 1);
    CHECK(histogram.counts[bucket + 1] == 1);
    if (bucket > 0) CHECK(end / DurationHistogram::EndSeconds(bucket - 1) < 1.2500001);
  }
  CHECK(DurationHistogram::EndSeconds(0) == 1e-6);
  CHECK(DurationHistogram::EndSeconds(4) == 2e-6);
  CHECK(DurationHistogram::EndSeconds(DurationHistogram::kBuckets - 2) ==
        Approx(std::ldexp(1e-6, 27)));
  DurationHistogram histogram;
  for (const double odd : {0.0, -1e-9, 1e-12})
    histogram.Add(odd);
  CHECK(histogram.counts[0] == 3);
  for (const double odd : {200.0, 1e9, 1e300, HUGE_VAL})
    histogram.Add(odd);
  CHECK(histogram.counts[DurationHistogram::kBuckets - 1] == 4);
}

TEST_CASE("A histogram's quantiles are those of the durations, within a quarter") {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> draw(std::log(300e-6), 1.5);
  std::vector<double> durations(20'000);
  DurationHistogram histogram;
  for (double& duration : durations)
    histogram.Add(duration = draw(random));
  std::ranges::sort(durations);
  for (const double q : {0.01, 0.5, 0.95, 0.99, 1.0}) {
    const double exact = durations[static_cast<std::size_t>(q * 19'999)];
    CHECK(histogram.QuantileSeconds(q) == Approx(exact).epsilon(0.25));
  }
  CHECK(histogram.p50_seconds() == histogram.QuantileSeconds(0.5));
  CHECK(histogram.p99_seconds() > histogram.p95_seconds());
  CHECK(DurationHistogram().p99_seconds() == 0);
  DurationHistogram twice = histogram;
  twice += histogram;
  CHECK(twice.count == 40'000);
  CHECK(twice.p95_seconds() == Approx(histogram.p95_seconds()));
  twice -= histogram;
  CHECK(twice.counts == histogram.counts);
  CHECK(twice.seconds == Approx(histogram.seconds));
}

TEST_CASE("A loader counts each batch's wait and each sample's decoding") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(10, 1);
  constexpr auto kUsual = std::chrono::milliseconds(1);
  constexpr auto kSlow = std::chrono::milliseconds(30);
  options.sample_function = [&](MutableSample& sample) {
    std::this_thread::sleep_for(sample.index() % 10 == 0 ? kSlow : kUsual);
  };
  Loader loader(Dataset::Open(WriteRawDataset(folder, 100)), options);
  PlayBatches(loader, 0);
  const LoaderStats stats = loader.Stats();
  const auto longer_than = [](const DurationHistogram& histogram, double seconds) {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < DurationHistogram::kBuckets; ++i)
      if (DurationHistogram::EndSeconds(i) > seconds) count += histogram.counts[i];
    return count;
  };
  CHECK(stats.batch_waits.count == 10);
  CHECK(stats.batch_waits.seconds == Approx(stats.consumer_wait_seconds));
  // Some rows of the next epoch may be there, too.
  CHECK(stats.sample_decodes.count >= 100);
  CHECK(stats.sample_decodes.seconds <= stats.decode_seconds);
  CHECK(longer_than(stats.sample_decodes, 1e-3) == stats.sample_decodes.count);
  CHECK(longer_than(stats.sample_decodes, 30e-3) >= 9);  // the first run of rows is timed whole
}

TEST_CASE("A loader counts the read of each block, however it reads") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 200));
  std::uint64_t blocks = 0;
  for (const ShardSummary& shard : dataset.shards())
    blocks += shard.blocks;
  LoaderOptions options = OptionsFor(10, 1);
  options.order.shuffle = Shuffle::kSequential;
  for (const Storage& storage : {Storage(Mapped{}), Storage(Direct{})}) {
    options.storage = storage;
    Loader loader(dataset, options);
    PlayBatches(loader, 0);
    const LoaderStats stats = loader.Stats();
    CHECK(stats.block_reads.count >= blocks);
    CHECK(stats.block_reads.seconds <= stats.read_seconds);
    CHECK(stats.Since(stats).block_reads.count == 0);
  }
}

TEST_CASE("The text of metrics has each figure with labels, and escapes what they hold") {
  LoaderStats stats = Samples(12);
  stats.consumer_wait_seconds = 0.25;
  stats.threads = 3;
  stats.rank = {2, 4};
  stats.batch_waits.Add(3e-6, 5);
  stats.batch_waits.Add(1000);
  const std::string text =
      OpenMetricsText(stats, {{"dataset", "a \"b\"\\c\nd \xC3\xA4 \xFF"}, {"loader", "train"}});
  const std::string labels = R"(dataset="a \"b\"\\c\nd ä ?",loader="train",rank="2")";
  CHECK_THAT(text, ContainsSubstring("# TYPE sluice_loader_samples counter\n"
                                     "sluice_loader_samples_total{" +
                                     labels + "} 12\n"));
  CHECK_THAT(text, ContainsSubstring("# TYPE sluice_loader_consumer_wait_seconds counter\n"
                                     "# UNIT sluice_loader_consumer_wait_seconds seconds\n"
                                     "sluice_loader_consumer_wait_seconds_total{" +
                                     labels + "} 0.25\n"));
  CHECK_THAT(text, ContainsSubstring("# TYPE sluice_loader_threads gauge\nsluice_loader_threads{" +
                                     labels + "} 3\n"));
  const std::string bucket = "sluice_loader_batch_wait_seconds_bucket{" + labels + ",le=";
  CHECK_THAT(text, ContainsSubstring(bucket + "\"2e-06\"} 0\n" + bucket + "\"4e-06\"} 5\n"));
  CHECK_THAT(text, ContainsSubstring(bucket + "\"134.217728\"} 5\n" + bucket + "\"+Inf\"} 6\n"));
  CHECK_THAT(text, ContainsSubstring("sluice_loader_batch_wait_seconds_count{" + labels + "} 6\n"));
  CHECK(text.ends_with("# EOF\n"));

  const LabelledStats loader{stats, {{"rank", "7"}}};
  const std::string older = MetricsText(std::span(&loader, 1), MetricsFormat::kPrometheus);
  CHECK_THAT(older, ContainsSubstring("# TYPE sluice_loader_samples_total counter\n"
                                      "sluice_loader_samples_total{rank=\"7\"} 12\n"));
  CHECK_THAT(older, !ContainsSubstring("# UNIT") && !ContainsSubstring("# EOF"));
  CHECK(MetricsText({}) == "# EOF\n");
  for (const char* const name : {"", "le", "__name", "2nd", "a-b", "ä"}) {
    CHECK_THAT(ErrorText(
                   [&] {
                     OpenMetricsText(stats, {{name, "x"}});
                   },
                   ErrorCode::kInvalidArgument),
               ContainsSubstring("cannot be the name of a label"));
  }
}

TEST_CASE("Loaders that share a Metrics are told apart, and leave it when they end") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 20));
  LoaderOptions options = OptionsFor(10, 1);
  options.diagnostics.metrics = std::make_shared<Metrics>();
  options.diagnostics.name = "train";
  const auto samples = [&](const std::string& name, int count) {
    return "sluice_loader_samples_total{dataset=\"" + dataset.path().string() + "\",loader=\"" +
           name + "\",rank=\"0\"} " + std::to_string(count) + "\n";
  };
  Loader first(dataset, options);
  PlayBatches(first, 0);
  {
    const Loader second(dataset, options);
    const std::string text = options.diagnostics.metrics->Text();
    CHECK_THAT(text, ContainsSubstring(samples("train", 20) + samples("train-2", 0)));
  }
  const std::string text = options.diagnostics.metrics->Text();
  CHECK_THAT(text, ContainsSubstring(samples("train", 20)) && !ContainsSubstring("train-2"));

  options.diagnostics.name.clear();
  const Loader unnamed(dataset, options), another(dataset, options);
  CHECK_THAT(options.diagnostics.metrics->Text(),
             ContainsSubstring(samples("", 0) + samples("-2", 0)));
}

TEST_CASE("Metrics are read while loaders begin, play and end") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteRawDataset(folder, 100));
  const std::filesystem::path file = folder / "sluice.prom";
  LoaderOptions options = OptionsFor(10, 2);
  options.diagnostics.metrics = std::make_shared<Metrics>(
      file.string(), MetricsOptions{.every = std::chrono::milliseconds(10)});
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done)
      static_cast<void>(options.diagnostics.metrics->Text());
  });
  for (int i = 0; i < 10; ++i) {
    Loader loader(dataset, options);
    PlayBatches(loader, 0);
  }
  done = true;
  other.join();
  CHECK(options.diagnostics.metrics->Text() == "# EOF\n");
  CHECK(options.diagnostics.metrics->last_error().empty());
}

TEST_CASE("A file of metrics is there at once, and has a loader's last figures at its end") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "sluice.prom";
  auto metrics = std::make_shared<Metrics>(file.string(),
                                           MetricsOptions{.every = std::chrono::milliseconds(10)});
  CHECK(FileText(file).empty());
  std::shared_ptr<void> figures = metrics->Add({{"loader", "a"}}, [] { return Samples(5); });
  while (FileText(file).find("{loader=\"a\",rank=\"0\"} 5\n") == std::string::npos)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(metrics->last_error().empty());
  // A folder takes its place, so that no file can be put there.
  for (std::error_code ignored; !std::filesystem::create_directory(file, ignored);)
    std::filesystem::remove(file);
  while (metrics->last_error().empty())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK_THAT(metrics->last_error(), ContainsSubstring("sluice.prom"));
  std::filesystem::remove(file);
  figures.reset();
  CHECK(metrics->last_error().empty());
  metrics.reset();  // it writes no more
  CHECK_THAT(ErrorText([&] { Metrics((folder / "no" / "x.prom").string()); }, ErrorCode::kNotFound),
             ContainsSubstring("x.prom"));

  LoaderOptions options = OptionsFor(10, 1);
  const std::filesystem::path last = folder / "last.prom";
  options.diagnostics.metrics =
      std::make_shared<Metrics>(last.string(), MetricsOptions{.every = std::chrono::hours(1)});
  {
    Loader loader(Dataset::Open(WriteRawDataset(folder, 34)), options);
    PlayBatches(loader, 0);
    CHECK(FileText(last).empty());  // the next time to write is in an hour
  }
  CHECK_THAT(FileText(last), ContainsSubstring("sluice_loader_samples_total") &&
                                 ContainsSubstring("rank=\"0\"} 34\n"));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    CHECK_THAT(entry.path().string(), !ContainsSubstring(".tmp"));
}

TEST_CASE("Metrics refuse addresses, URLs and impossible times") {
  const auto refused = [](const std::string& file, MetricsOptions options = {}) {
    return ErrorText([&] { Metrics metrics(file, options); }, ErrorCode::kInvalidArgument);
  };
  for (const char* const file : {"localhost:9464", "unix:socket", "http://localhost:9464/x",
                                 "localhost", "127.0.0.1", "9464"})
    CHECK_THAT(refused(file), ContainsSubstring(file) && ContainsSubstring("path of a file"));
  CHECK_THAT(refused("x.prom", {.every = std::chrono::milliseconds(9)}),
             ContainsSubstring("from 10 ms to a day"));
}
