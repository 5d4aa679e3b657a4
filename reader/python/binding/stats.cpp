// A loader's measurements of itself: figures, faults, memory, and the record of its threads.
// Figures and faults are snapshots that Python can only read; Metrics and LoaderTrace are made in
// Python and given to loaders. The figures of LoaderStats are listed one by one, so a new one needs
// a line here. The library's sentences (verdicts, reasons, errors) go through InPythonsWords(),
// since they name C++ options. Times of events are those of time.monotonic(), so that a program can
// compare them with its own.
#include <chrono>
#include <cstdio>

#include <sluice/metrics.h>

#include "reader/python/binding/keywords.h"

namespace sluice::python {

namespace {

void BindHistogram(nb::module_& module) {
  nb::class_<DurationHistogram>(module, "DurationHistogram", "A histogram of durations, in seconds")
      .def_ro("count", &DurationHistogram::count, "How many durations were counted")
      .def_ro("seconds", &DurationHistogram::seconds, "Their sum")
      .def_prop_ro("p50_seconds",
                   [](const DurationHistogram& histogram) { return histogram.p50_seconds(); })
      .def_prop_ro("p95_seconds",
                   [](const DurationHistogram& histogram) { return histogram.p95_seconds(); })
      .def_prop_ro("p99_seconds",
                   [](const DurationHistogram& histogram) { return histogram.p99_seconds(); })
      .def("quantile_seconds", &DurationHistogram::QuantileSeconds, "q"_a,
           "The q-quantile of the durations (0.95: 95% of them took no longer), accurate to a "
           "quarter; 0 if nothing was counted")
      .def(
          "buckets",
          [](const DurationHistogram& histogram) {
            std::vector<std::pair<double, std::uint64_t>> buckets;
            for (std::size_t i = 0; i < DurationHistogram::kBuckets; ++i)
              buckets.emplace_back(DurationHistogram::EndSeconds(i), histogram.counts[i]);
            return buckets;
          },
          "For each bucket, its end in seconds and how many it has")
      .def("__repr__", [](const DurationHistogram& histogram) {
        std::array<char, 128> text{};
        std::snprintf(text.data(), text.size(), "%llu: p50 %.3g s, p95 %.3g s, p99 %.3g s",
                      static_cast<unsigned long long>(histogram.count), histogram.p50_seconds(),
                      histogram.p95_seconds(), histogram.p99_seconds());
        return std::string(text.data());
      });
}

void BindMetrics(nb::module_& module) {
  nb::class_<Metrics>(
      module, "Metrics",
      "Publishes the figures of the loaders made with DiagnosticsOptions(metrics=) "
      "for dashboards: a thread of its own writes them into `file` (\"x.prom\", for "
      "node_exporter) every `every` seconds. Without a file, only text() gives them")
      .def(
          "__init__",
          [](Metrics* self, const std::filesystem::path& file, double every) {
            // Written so that NaN is refused, too.
            if (!(every >= 0.01 && every <= 86400)) {
              throw Error(ErrorCode::kInvalidArgument,
                          "every is a number of seconds, 0.01 to 86400");
            }
            const std::chrono::duration<double> seconds(every);
            new (self) Metrics(file.string(),
                               {.every = std::chrono::ceil<std::chrono::milliseconds>(seconds)});
          },
          "file"_a = "", nb::kw_only(), "every"_a = 10.0)
      .def(
          "text", [](const Metrics& metrics) { return metrics.Text(); }, nb::call_guard<Released>(),
          "The figures of all these loaders, as OpenMetrics text")
      .def_prop_ro(
          "last_error", [](const Metrics& metrics) { return InPythonsWords(metrics.last_error()); },
          "Why the file could not be written last time; empty if it was written");
}

void BindFigures(nb::module_& module) {
  Words<Bound>(module, "Bound", "The bottleneck of a training, as far as the loader can see")
      .value("TOO_EARLY", Bound::kTooEarly)
      .value("TRAINER", Bound::kTrainer)
      .value("DECODING", Bound::kDecoding)
      .value("STORAGE", Bound::kStorage)
      .value("UPLOAD", Bound::kUpload)
      .value("DEVICE", Bound::kDevice)
      .value("PREFETCH", Bound::kPrefetch);
  const auto verdict = [](const LoaderStats& stats) { return InPythonsWords(stats.Verdict()); };
  nb::class_<LoaderStats>(module, "LoaderStats",
                          "A loader's measurements of itself; str() says in words what they mean")
      .def_ro("seconds", &LoaderStats::seconds)
      .def_ro("samples", &LoaderStats::samples)
      .def_ro("batches", &LoaderStats::batches)
      .def_ro("faults", &LoaderStats::faults)
      .def_ro("payload_bytes", &LoaderStats::payload_bytes)
      .def_ro("picture_pixels", &LoaderStats::picture_pixels)
      .def_ro("shown_pixels", &LoaderStats::shown_pixels)
      .def_ro("left_out_objects", &LoaderStats::left_out_objects,
              "Objects that BoxRule(most=) left out of rows")
      .def_ro("read_ahead_bytes", &LoaderStats::read_ahead_bytes)
      .def_ro("kept_pictures", &LoaderStats::kept_pictures)
      .def_ro("kept_bytes", &LoaderStats::kept_bytes)
      .def_ro("taken_rows", &LoaderStats::taken_rows,
              "With `share`: rows that another loader had made")
      .def_ro("refused_shards", &LoaderStats::refused_shards)
      .def_ro("fetched_bytes", &LoaderStats::fetched_bytes,
              "Of a dataset at a URL: bytes of blocks from the server")
      .def_ro("cached_bytes", &LoaderStats::cached_bytes,
              "Of a dataset at a URL: bytes of blocks from the cache")
      .def_ro("past_cache_bytes", &LoaderStats::past_cache_bytes)
      .def_ro("requests", &LoaderStats::requests)
      .def_ro("repeated_requests", &LoaderStats::repeated_requests)
      .def_ro("read_seconds", &LoaderStats::read_seconds)
      .def_ro("read_wait_seconds", &LoaderStats::read_wait_seconds)
      .def_ro("decode_seconds", &LoaderStats::decode_seconds)
      .def_ro("decode_wait_seconds", &LoaderStats::decode_wait_seconds)
      .def_ro("decode_cpu_seconds", &LoaderStats::decode_cpu_seconds)
      .def_ro("file_read_seconds", &LoaderStats::file_read_seconds,
              "Of a Source: the part of decode_seconds spent reading its files")
      .def_ro("file_make_seconds", &LoaderStats::file_make_seconds,
              "Of a Source: the part of decode_seconds spent making samples of its files")
      .def_ro("compiled_samples", &LoaderStats::compiled_samples,
              "Of a Source with `compile_to`: samples read from the dataset compiled so far")
      .def_ro("decode_major_faults", &LoaderStats::decode_major_faults)
      .def_ro("upload_bytes", &LoaderStats::upload_bytes)
      .def_ro("device_pictures", &LoaderStats::device_pictures)
      .def_ro("device_decode_seconds", &LoaderStats::device_decode_seconds)
      .def_ro("stored_pictures", &LoaderStats::stored_pictures)
      .def_ro("stored_bytes", &LoaderStats::stored_bytes)
      .def_ro("upload_seconds", &LoaderStats::upload_seconds)
      .def_ro("upload_wait_seconds", &LoaderStats::upload_wait_seconds)
      .def_ro("consumer_wait_seconds", &LoaderStats::consumer_wait_seconds)
      .def_ro("first_wait_seconds", &LoaderStats::first_wait_seconds)
      .def_ro("consumer_seconds", &LoaderStats::consumer_seconds)
      .def_ro("ready_batches", &LoaderStats::ready_batches)
      .def_ro("batch_waits", &LoaderStats::batch_waits, "The consumer's wait for each batch")
      .def_ro("sample_decodes", &LoaderStats::sample_decodes,
              "Making each sample's row: checksum, decoding, steps, sample_function")
      .def_ro("block_reads", &LoaderStats::block_reads,
              "The planning thread's wait for each block to be in memory")
      .def_ro("prefetch", &LoaderStats::prefetch)
      .def_ro("threads", &LoaderStats::threads)
      .def_ro("device_share", &LoaderStats::device_share)
      .def_ro("read_ahead_depth_bytes", &LoaderStats::read_ahead_depth_bytes)
      .def_ro("changes", &LoaderStats::changes)
      .def_prop_ro(
          "rank",
          [](const LoaderStats& stats) {
            return std::pair(stats.rank.rank, stats.rank.world_size);
          },
          "(rank, world size)")
      .def_ro("epoch_samples", &LoaderStats::epoch_samples)
      .def_ro("epoch_samples_of_all", &LoaderStats::epoch_samples_of_all)
      .def("since", &LoaderStats::Since, "earlier"_a, "The difference to an earlier snapshot")
      .def(
          "open_metrics",
          [](const LoaderStats& stats, const MetricLabels& labels) {
            return OpenMetricsText(stats, labels);
          },
          "labels"_a = MetricLabels(),
          "These figures as OpenMetrics text, with labels by name; \"rank\" is added")
      .def_prop_ro("bound", [](const LoaderStats& stats) { return stats.bound(); })
      .def_prop_ro("verdict", verdict,
                   "What holds the training back, with figures and what to change")
      .def("__repr__", verdict);
}

void BindFaults(nb::module_& module) {
  nb::class_<SampleFault>(module, "SampleFault", "A sample, or a shard, that could not be read")
      .def_ro("sample", &SampleFault::sample)
      .def_ro("samples", &SampleFault::samples)
      .def_ro("shard", &SampleFault::shard)
      .def_prop_ro("key", [](const SampleFault& fault) { return TextOf(fault.key); })
      .def_prop_ro("reason", [](const SampleFault& fault) { return InPythonsWords(fault.reason); })
      .def_ro("epoch", &SampleFault::epoch)
      .def_ro("times", &SampleFault::times)
      .def("__repr__", [](const SampleFault& fault) {
        return "SampleFault(sample " + std::to_string(fault.sample) + ": " +
               InPythonsWords(fault.reason) + ")";
      });
}

// A moment as time.monotonic() returns it: on Linux, that reads the same clock.
double Seconds(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

void BindTrace(nb::module_& module) {
  nb::class_<TraceEvent> event(module, "TraceEvent",
                               "A piece of a thread's work; begin and end as time.monotonic()");
  Words<TraceEvent::Kind>(event, "Kind")
      .value("READ_AHEAD", TraceEvent::Kind::kReadAhead,
             "a batch was planned and its blocks were read; thread 0")
      .value("DECODE", TraceEvent::Kind::kDecode, "rows were decoded; threads from 1 on");
  event.def_ro("kind", &TraceEvent::kind)
      .def_ro("thread", &TraceEvent::thread)
      .def_ro("epoch", &TraceEvent::epoch)
      .def_ro("batch", &TraceEvent::batch)
      .def_ro("first_row", &TraceEvent::first_row)
      .def_ro("rows", &TraceEvent::rows)
      .def_prop_ro(
          "slot", [](const TraceEvent& one) { return reinterpret_cast<std::uintptr_t>(one.slot); },
          "The address of the batch's image, or of its other values if it has no image")
      .def_prop_ro("begin", [](const TraceEvent& one) { return Seconds(one.begin); })
      .def_prop_ro("end", [](const TraceEvent& one) { return Seconds(one.end); });
  nb::class_<LoaderTrace>(module, "LoaderTrace",
                          "A record of what each thread of a Loader did and when: "
                          "DiagnosticsOptions(trace=...)")
      .def(nb::init<std::size_t>(), "most"_a = 2'000'000)
      .def("take", &LoaderTrace::Take, "Returns and forgets the recorded events")
      .def_prop_ro("dropped", &LoaderTrace::dropped);
}

}  // namespace

NamedNumbers MemoryOf(const LoaderMemory& memory) {
  nb::dict made;
  made["own"] = memory.own();
  made["slots"] = memory.slots;
  made["variable"] = memory.variable;
  made["scratch"] = memory.scratch;
  made["bookkeeping"] = memory.bookkeeping;
  made["kept"] = memory.kept;
  made["shared"] = memory.shared;
  made["images"] = memory.images;
  made["blocks"] = memory.blocks;
  made["device"] = memory.device;
  made["window"] = memory.window;
  made["mapped"] = memory.mapped;
  return NamedNumbers(made);
}

void BindStats(nb::module_& module) {
  BindHistogram(module);
  BindMetrics(module);
  BindFigures(module);
  BindFaults(module);
  BindTrace(module);
}

}  // namespace sluice::python
