// A loader's figures in the text formats of Prometheus.
//
// Both formats are lists of families: lines that describe a family, and then a line for each of its
// values, with labels. The names keep Prometheus' conventions: base units, "_total" at the end of
// what counts up. OpenMetrics names a counter's family without that ending, and ends with a line of
// its own. Figures that count up are never those of an interval, because Prometheus subtracts.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <variant>

#include <sluice/error.h>
#include <sluice/metrics.h>

#include "format/utf8.h"

namespace sluice {

namespace {

enum class Kind { kCounter, kGauge };

using Member =
    std::variant<std::uint64_t LoaderStats::*, unsigned LoaderStats::*, double LoaderStats::*>;

// A family with one value for each loader. If the values have a unit, the family's name ends in it.
struct Family {
  const char* name;
  Kind kind;
  Member member;
  const char* help;
};

constexpr Family Counter(const char* name, Member member, const char* help) {
  return {name, Kind::kCounter, member, help};
}
constexpr Family Gauge(const char* name, Member member, const char* help) {
  return {name, Kind::kGauge, member, help};
}

using S = LoaderStats;
constexpr std::array kFamilies = {
    Counter("samples", &S::samples, "Samples handed to the consumer"),
    Counter("batches", &S::batches, "Batches handed to the consumer"),
    Counter("faults", &S::faults, "Samples that could not be read"),
    Counter("elapsed_seconds", &S::seconds, "Time since the first epoch began"),
    Counter("consumer_seconds", &S::consumer_seconds, "Time in which the consumer had its batch"),
    Counter("consumer_wait_seconds", &S::consumer_wait_seconds,
            "Time in which the consumer waited for a batch"),
    Counter("decode_seconds", &S::decode_seconds, "Decoding threads at work, summed over them"),
    Counter("decode_wait_seconds", &S::decode_wait_seconds,
            "Decoding threads waiting, summed over them"),
    Counter("decode_cpu_seconds", &S::decode_cpu_seconds,
            "The part of decode_seconds spent on a CPU, sampled"),
    Counter("file_read_seconds", &S::file_read_seconds,
            "Of a played source: the part of decode_seconds spent reading files"),
    Counter("file_make_seconds", &S::file_make_seconds,
            "Of a played source: the part of decode_seconds spent making samples of its files"),
    Counter("compiled_samples", &S::compiled_samples,
            "Samples of a played source that were read from the dataset compiled of it"),
    Counter("decode_major_faults", &S::decode_major_faults,
            "Page faults in which decoding threads waited for storage, sampled"),
    Counter("payload_bytes", &S::payload_bytes, "Size of the decoded payloads"),
    Counter("picture_pixels", &S::picture_pixels, "Stored pixels of the decoded pictures"),
    Counter("shown_pixels", &S::shown_pixels, "Pixels of the images made of these pictures"),
    Counter("left_out_objects", &S::left_out_objects,
            "Objects left out of rows, because rows may have no more"),
    Counter("read_seconds", &S::read_seconds, "Ordering and reading ahead, in the planning thread"),
    Counter("read_wait_seconds", &S::read_wait_seconds,
            "Time in which the planning thread waited for a free batch"),
    Counter("read_ahead_bytes", &S::read_ahead_bytes, "Blocks made resident ahead of decoding"),
    Counter("fetched_bytes", &S::fetched_bytes, "Blocks fetched from a URL, or into a stage"),
    Counter("cached_bytes", &S::cached_bytes, "Blocks found on the stage"),
    Counter("past_cache_bytes", &S::past_cache_bytes, "Fetched blocks that the cache did not keep"),
    Counter("taken_rows", &S::taken_rows, "Rows that another loader of this machine had made"),
    Counter("requests", &S::requests, "Requests to an object store, with those repeated"),
    Counter("repeated_requests", &S::repeated_requests,
            "Requests repeated because an earlier one failed or was slow"),
    Counter("upload_bytes", &S::upload_bytes, "Bytes copied to the device"),
    Counter("upload_seconds", &S::upload_seconds, "Time of these copies, by the device's clock"),
    Counter("upload_wait_seconds", &S::upload_wait_seconds,
            "Time in which the planning thread waited for a copy to finish"),
    Counter("device_pictures", &S::device_pictures, "Pictures that the device decoded"),
    Counter("device_decode_seconds", &S::device_decode_seconds,
            "Time of decoding them, by the device's clock"),
    Counter("changes", &S::changes, "Changes of the settings that the loader chooses"),
    Gauge("first_wait_seconds", &S::first_wait_seconds,
          "The consumer's wait for the first batch of all"),
    Gauge("epoch_samples", &S::epoch_samples, "Samples of this rank in the latest epoch"),
    Gauge("epoch_samples_of_all", &S::epoch_samples_of_all, "Samples of that epoch, of all ranks"),
    Gauge("ready_batches", &S::ready_batches, "Batches ready when one was asked for, mean"),
    Gauge("prefetch_batches", &S::prefetch, "Batches decoded ahead, as set or chosen"),
    Gauge("threads", &S::threads, "Decoding threads, as set or chosen"),
    Gauge("read_ahead_depth_bytes", &S::read_ahead_depth_bytes,
          "Bytes of blocks being read at any time, as set or chosen"),
    Gauge("device_share_ratio", &S::device_share,
          "The part of the pictures that the device is offered to decode"),
    Gauge("kept_pictures", &S::kept_pictures, "Pictures kept decoded"),
    Gauge("kept_bytes", &S::kept_bytes, "Size of the pictures kept decoded"),
    Gauge("stored_pictures", &S::stored_pictures, "Pictures where the device reads them"),
    Gauge("stored_bytes", &S::stored_bytes, "Size of the pictures that lie there"),
    Gauge("refused_shards", &S::refused_shards, "Shards that cannot be read by O_DIRECT")};

struct HistogramFamily {
  const char* name;
  DurationHistogram LoaderStats::*member;
  const char* help;
};

constexpr std::array kHistograms = {
    HistogramFamily{"batch_wait_seconds", &S::batch_waits, "The consumer's wait for each batch"},
    HistogramFamily{"sample_decode_seconds", &S::sample_decodes,
                    "Making each sample's row: checksum, decoding, steps, sample_function"},
    HistogramFamily{
        "block_read_seconds", &S::block_reads,
        "The planning thread's wait for each block to be in memory; for a played source, reading "
        "each file, in any thread"}};

std::string NumberText(double number) {
  if (std::isinf(number)) return "+Inf";
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}
std::string NumberText(std::uint64_t number) {
  return std::to_string(number);
}
std::string NumberText(unsigned number) {
  return std::to_string(number);
}

void CheckName(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const bool right = !name.empty() && std::ranges::all_of(name, fits) &&
                     !(name[0] >= '0' && name[0] <= '9') && !name.starts_with("__") && name != "le";
  if (right) return;
  throw Error(ErrorCode::kInvalidArgument,
              "\"" + name +
                  "\" cannot be the name of a label of metrics: use letters, digits and _, without "
                  "a digit or __ at the beginning, and not \"le\"");
}

std::string Escaped(std::string_view value) {
  std::string text;
  while (!value.empty()) {
    const std::size_t length = Utf8SequenceLength(value);
    // A label of bytes that are not UTF-8 would make the whole text invalid.
    if (length == 0) {
      text += '?';
    } else if (value[0] == '\\' || value[0] == '"') {
      text += {'\\', value[0]};
    } else if (value[0] == '\n') {
      text += "\\n";
    } else {
      text += value.substr(0, length);
    }
    value.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text;
}

// dataset="data/photos",loader="train",rank="0"
std::string LabelText(const LabelledStats& loader) {
  MetricLabels labels = loader.labels;
  labels.emplace("rank", std::to_string(loader.stats.rank.rank));
  std::string text;
  for (const auto& [name, value] : labels) {
    CheckName(name);
    if (!text.empty()) text += ',';
    text += name + "=\"" + Escaped(value) + '"';
  }
  return text;
}

class Text {
 public:
  Text(std::span<const LabelledStats> loaders, MetricsFormat format)
      : loaders_(loaders), open_(format == MetricsFormat::kOpenMetrics) {
    for (const LabelledStats& loader : loaders)
      labels_.push_back(LabelText(loader));
  }

  void Add(const Family& family) {
    const bool counts = family.kind == Kind::kCounter;
    const std::string name = NameOf(family.name);
    const std::string value_name = counts ? name + "_total" : name;
    Describe(open_ ? name : value_name, counts ? "counter" : "gauge", family.help);
    for (std::size_t i = 0; i < loaders_.size(); ++i) {
      const auto value = [&](auto member) { return NumberText(loaders_[i].stats.*member); };
      Line(value_name, labels_[i], std::visit(value, family.member));
    }
  }

  // Writes only those of the histogram's buckets that end an octave. The finer ones are for the
  // quantiles that DurationHistogram gives.
  void Add(const HistogramFamily& family) {
    const std::string name = NameOf(family.name);
    Describe(name, "histogram", family.help);
    for (std::size_t i = 0; i < loaders_.size(); ++i) {
      const DurationHistogram& histogram = loaders_[i].stats.*family.member;
      std::uint64_t below = 0;
      for (std::size_t b = 0; b < DurationHistogram::kBuckets; ++b) {
        below += histogram.counts[b];
        const bool last = b + 1 == DurationHistogram::kBuckets;
        if (b % DurationHistogram::kPerOctave != 0 && !last) continue;
        const std::string end = NumberText(DurationHistogram::EndSeconds(b));
        Line(name + "_bucket", labels_[i] + ",le=\"" + end + '"', NumberText(below));
      }
      Line(name + "_sum", labels_[i], NumberText(histogram.seconds));
      Line(name + "_count", labels_[i], NumberText(histogram.count));
    }
  }

  std::string Finish() && {
    if (open_) text_ += "# EOF\n";
    return std::move(text_);
  }

 private:
  static std::string NameOf(const char* name) { return std::string("sluice_loader_") + name; }

  void Describe(const std::string& name, const char* type, const char* help) {
    text_ += "# HELP " + name + ' ' + help + "\n# TYPE " + name + ' ' + type + '\n';
    for (const char* const unit : {"seconds", "bytes", "ratio"})
      if (open_ && name.ends_with(unit)) text_ += "# UNIT " + name + ' ' + unit + '\n';
  }
  void Line(const std::string& name, const std::string& labels, const std::string& value) {
    text_ += name + '{' + labels + "} " + value + '\n';
  }

  const std::span<const LabelledStats> loaders_;
  const bool open_;
  std::vector<std::string> labels_;  // of each loader
  std::string text_;
};

}  // namespace

std::string MetricsText(std::span<const LabelledStats> loaders, MetricsFormat format) {
  Text text(loaders, format);
  if (!loaders.empty()) {
    for (const Family& family : kFamilies)
      text.Add(family);
    for (const HistogramFamily& family : kHistograms)
      text.Add(family);
  }
  return std::move(text).Finish();
}

std::string OpenMetricsText(const LoaderStats& stats, const MetricLabels& labels) {
  const LabelledStats loader{stats, labels};
  return MetricsText(std::span(&loader, 1));
}

}  // namespace sluice
