// `sluice stats`: mean and deviation of each channel, the distribution of image sizes, and the
// number of samples of each class; with --json, also what a stage of a pipeline needs to know of
// the other fields: ranges, means and vocabularies.
//
// The figures depend on the dataset alone. Sums over pixels are integers, because threads add to
// them in any order; sums over a field of floats are made by one thread, in the samples' order.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include <nlohmann/json.hpp>

#include <sluice/cpu.h>
#include <sluice/dataset.h>
#include <sluice/error.h>
#include <sluice/loader_option_list.h>
#include <sluice/shown_path.h>

#include "tools/cli/declared.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/commands.h"
#include "tools/edit_command.h"
#include "tools/samples.h"
#include "tools/wide_pictures.h"

namespace sluice {
namespace {

constexpr const char* kStatsDescription =
    "Computes what a training needs to know.\n\n"
    "Prints the mean and standard deviation of each channel (from 0 to 1, over all pixels of all "
    "images, decoded whole), the distribution of sizes, and the number of samples of each class. "
    "With --json, also prints the dataset's digest, the range of each channel and, for every other "
    "field, the number of samples that have it, its range, mean and deviation, and its vocabulary "
    "with counts.\n";

constexpr const char* kStatsExamples =
    "\nExamples:\n"
    "  sluice stats data/photos\n"
    "  sluice stats data/photos --json | jq .mean\n"
    "  sluice stats data/photos --json > data/photos.stats.json   # for the stages that follow\n\n";

struct StatsArguments {
  std::string dataset;
  unsigned threads = 0;
  EditOutput output;
  ReadLimits limits;
};

// Sums over the values of 8-bit pictures, as integers: the result is the same for any number of
// threads. The squares of 2^48 samples of 2^28 pixels need 128 bits.
struct Sums {
  __extension__ using Wide = unsigned __int128;
  std::uint64_t pixels = 0;
  std::uint64_t sum[4] = {};
  Wide squares[4] = {};
  std::uint64_t least[4] = {255, 255, 255, 255}, most[4] = {};

  void Add(const Sums& other) {
    pixels += other.pixels;
    for (int c = 0; c < 4; ++c) {
      sum[c] += other.sum[c];
      squares[c] += other.squares[c];
      least[c] = std::min(least[c], other.least[c]);
      most[c] = std::max(most[c], other.most[c]);
    }
  }
};

void AddPixels(const Image& image, Sums& sums) {
  const std::uint8_t* const values = image.pixels.data();
  const std::size_t pixels = std::size_t{image.width} * image.height;
  sums.pixels += pixels;
  for (std::uint8_t c = 0; c < image.channels; ++c) {
    std::uint64_t sum = 0;
    std::uint64_t squares = 0;  // does not overflow: at most 2^28 squares, each below 2^16
    std::uint8_t least = values[c], most = values[c];
    for (std::size_t i = 0; i < pixels; ++i) {
      const std::uint64_t value = values[i * image.channels + c];
      sum += value;
      squares += value * value;
      least = std::min(least, values[i * image.channels + c]);
      most = std::max(most, values[i * image.channels + c]);
    }
    sums.sum[c] += sum;
    sums.squares[c] += squares;
    sums.least[c] = std::min<std::uint64_t>(sums.least[c], least);
    sums.most[c] = std::max<std::uint64_t>(sums.most[c], most);
  }
}

using Json = nlohmann::ordered_json;

// How often values of a channel occur, by the upper 16 bits of a number that orders them; so each
// number stands for one value, except that of float32 it stands for a run of values. Empty: none.
using Histogram = std::vector<std::uint64_t>;

// The figures of one channel of wide images: of its finite values that are not no data.
struct WideChannel {
  std::uint64_t count = 0, not_counted = 0;
  double mean = 0, squares = 0;  // of the differences from the mean
  double least = std::numeric_limits<double>::infinity(), most = -least;
  // Adds the figures of other images, which come after these (Chan, Golub and LeVeque 1979).
  void Add(const WideChannel& other) {
    not_counted += other.not_counted;
    if (other.count == 0) return;
    const auto own = static_cast<double>(count), more = static_cast<double>(other.count);
    const double step = other.mean - mean;
    mean += step * more / (own + more);
    squares += other.squares + step * step * own * more / (own + more);
    count += other.count;
    least = std::min(least, other.least);
    most = std::max(most, other.most);
  }

  // Walks up from the least number until so many values lie below it.
  double Percentile(const Histogram& histogram, PixelType type, unsigned per_cent) const {
    std::uint64_t left = (count - 1) * per_cent / 100;
    std::uint32_t number = 0;
    while (number < 65'535 && left >= histogram[number])
      left -= histogram[number++];
    return NumberOfOrder(type, number);
  }

  // The bits of signed and floating-point numbers, changed so that greater values have greater
  // numbers.
  static std::uint32_t OrderOf(PixelType type, const std::uint8_t* at) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, at, SizeOf(type));
    switch (type) {
      case PixelType::kUint8:
      case PixelType::kUint16: return bits;
      case PixelType::kInt16: return bits ^ 0x8000U;
      case PixelType::kFloat32: bits >>= 16; break;
      case PixelType::kFloat16: break;
    }
    return (bits & 0x8000U) != 0 ? ~bits & 0xFFFFU : bits | 0x8000U;
  }
  static double NumberOfOrder(PixelType type, std::uint32_t number) {
    std::uint32_t bits = number;
    if (type == PixelType::kInt16) bits ^= 0x8000U;
    if (type == PixelType::kFloat16 || type == PixelType::kFloat32)
      bits = (number & 0x8000U) != 0 ? number & 0x7FFFU : ~number & 0xFFFFU;
    if (type == PixelType::kFloat32) bits <<= 16;
    std::uint8_t value[4];
    std::memcpy(value, &bits, sizeof bits);
    return NumberAt(type, value);
  }
};

// Also counts the image's values in a histogram for each channel.
std::vector<WideChannel> WideFiguresOf(const Image& image, std::optional<double> no_data,
                                       std::vector<Histogram>& histograms) {
  histograms.resize(std::max<std::size_t>(histograms.size(), image.channels));
  std::vector<WideChannel> channels(image.channels);
  const std::size_t pixels = std::size_t{image.width} * image.height;
  const std::size_t bytes = SizeOf(image.pixel_type);
  std::vector<double> values;
  for (std::size_t c = 0; c < image.channels; ++c) {
    WideChannel& channel = channels[c];
    histograms[c].resize(65'536);
    values.clear();
    for (std::size_t i = 0; i < pixels; ++i) {
      const std::uint8_t* const at = &image.pixels[(i * image.channels + c) * bytes];
      const double value = NumberAt(image.pixel_type, at);
      if (!std::isfinite(value) || value == no_data) {
        ++channel.not_counted;
        continue;
      }
      values.push_back(value);
      ++histograms[c][WideChannel::OrderOf(image.pixel_type, at)];
    }
    channel.count = values.size();
    for (const double value : values) {
      channel.mean += value / static_cast<double>(values.size());
      channel.least = std::min(channel.least, value);
      channel.most = std::max(channel.most, value);
    }
    for (const double value : values)
      channel.squares += (value - channel.mean) * (value - channel.mean);
  }
  return channels;
}

struct Found {
  // Instead of `sums`, if the images are not 8-bit pictures of up to four channels.
  bool wide = false;
  PixelType type = PixelType::kUint8;
  std::vector<WideChannel> wide_channels;
  std::vector<Histogram> histograms;  // by channel
  Sums sums;
  unsigned channels = 0;
  bool mixed = false;  // images differ in their number of channels, so they have no common mean
  std::vector<std::uint32_t> widths, heights;
  std::set<std::uint64_t> left_out;  // samples whose image cannot be read
  Json fields;                       // the member "fields" of --json
};

// Whether the error is the fault of one sample, so that the other samples can still be counted.
bool IsOfSample(const Error& error) {
  return error.code() == ErrorCode::kCorrupt || error.code() == ErrorCode::kUnsupported ||
         error.code() == ErrorCode::kLimit;
}

class Counting {
 public:
  Counting(const Dataset& dataset, unsigned threads, ReadableSamples& samples)
      : dataset_(dataset), samples_(samples) {
    threads_ = threads != 0 ? threads : AvailableCpus();
    const ImageSummary& images = dataset.images().at(0);
    found_.channels = images.max_channels;
    found_.mixed = images.min_channels != images.max_channels;
    const Field& field = dataset.schema().fields[dataset.schema().Find(images.field)];
    no_data_ = NoDataNumber(field, images.pixel_type);
    found_.type = images.pixel_type;
    found_.wide = IsWide(images.pixel_type, images.max_channels);
    found_.wide_channels.resize(found_.wide ? images.max_channels : 0);
    found_.histograms.resize(found_.wide_channels.size());
  }

  Found Run(const EditHooks& hooks) {
    std::atomic<std::uint64_t> next{0};
    std::atomic<bool> failed{false};
    std::exception_ptr error;
    const auto work = [&](bool reports) {
      Sums sums;
      std::vector<Histogram> histograms;
      try {
        for (std::uint64_t i = next++; i < samples_.size() && !failed; i = next++) {
          if (hooks.stop.stop_requested()) break;
          // A worker far ahead would leave its figures in memory until the slow ones before them
          // are added.
          if (found_.wide) WaitToBeNear(i);
          Look(samples_[i], sums, histograms);
          if (found_.wide) Fold(samples_[i]);
          if (reports) hooks.on_progress(i, samples_.size());
        }
      } catch (...) {
        failed = true;
        const std::lock_guard lock(mutex_);
        if (!error) error = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      found_.sums.Add(sums);
      for (std::size_t c = 0; c < std::min(histograms.size(), found_.histograms.size()); ++c) {
        found_.histograms[c].resize(65'536);
        for (std::size_t i = 0; i < histograms[c].size(); ++i)
          found_.histograms[c][i] += histograms[c][i];
      }
      ended_ = true;
      folded_.notify_all();
    };
    {
      std::vector<std::jthread> workers;
      workers.reserve(threads_);
      try {
        for (unsigned t = 1; t < threads_; ++t)
          workers.emplace_back([&work] { work(false); });
      } catch (const std::system_error&) {
        // The system has no more threads; fewer are enough.
      }
      work(true);
    }
    if (error) std::rethrow_exception(error);
    if (hooks.stop.stop_requested()) throw Error(ErrorCode::kState, "stopped");
    for (std::vector<std::uint32_t>* sides : {&found_.widths, &found_.heights})
      std::sort(sides->begin(), sides->end());
    return std::move(found_);
  }

 private:
  void Look(std::uint64_t i, Sums& sums, std::vector<Histogram>& histograms) {
    try {
      const Sample sample = dataset_[i];
      if (!sample.Has(dataset_.images()[0].field)) return;
      const Image image = sample.Decode();
      if (found_.wide) {
        std::vector<WideChannel> figures = WideFiguresOf(image, no_data_, histograms);
        const std::lock_guard lock(mutex_);
        found_.sums.pixels += std::uint64_t{image.width} * image.height;
        waiting_[i] = std::move(figures);
      } else {
        AddPixels(image, sums);
      }
      const std::lock_guard lock(mutex_);
      found_.widths.push_back(image.width);
      found_.heights.push_back(image.height);
    } catch (const Error& error) {
      if (!IsOfSample(error)) throw;
      samples_.LeaveOut(i, error.what());
      const std::lock_guard lock(mutex_);
      found_.left_out.insert(i);
    }
  }

  // Waits until the figures of a sample, by its place in `samples_`, need not wait for those of
  // many others. A worker that has ended may leave a sample that nobody adds: then nobody waits.
  void WaitToBeNear(std::uint64_t place) {
    constexpr std::uint64_t kMaxAhead = 1024;
    std::unique_lock lock(mutex_);
    folded_.wait(lock, [&] { return ended_ || place < next_ + kMaxAhead; });
  }

  // Adds the figures of images in their order, so that the sums do not depend on the threads.
  void Fold(std::uint64_t sample) {
    const std::lock_guard lock(mutex_);
    done_.insert(sample);
    for (; next_ < samples_.size() && done_.erase(samples_[next_]) > 0; ++next_) {
      const auto figures = waiting_.extract(samples_[next_]);
      if (figures.empty()) continue;
      for (std::size_t c = 0; c < figures.mapped().size() && c < found_.wide_channels.size(); ++c)
        found_.wide_channels[c].Add(figures.mapped()[c]);
    }
    folded_.notify_all();
  }

  const Dataset& dataset_;
  ReadableSamples& samples_;
  unsigned threads_;
  std::mutex mutex_;
  Found found_;
  std::optional<double> no_data_;
  // Of wide images: samples that are done, the figures of those that were not added yet, and the
  // place in `samples_` of the next to be added.
  std::set<std::uint64_t> done_;
  std::map<std::uint64_t, std::vector<WideChannel>> waiting_;
  std::uint64_t next_ = 0;
  std::condition_variable folded_;
  bool ended_ = false;  // a worker is done
};

// The figures of one field that is not an image, over all samples.
class FieldCounting {
 public:
  explicit FieldCounting(const Field& field)
      : field_(field),
        has_vocabulary_(field.kind == FieldKind::kBytes ? field.role == Role::kText
                                                        : IsInteger(field.dtype)) {}

  void Add(const Sample& sample) {
    if (!sample.Has(field_.name)) return;
    if (field_.kind == FieldKind::kBytes) {
      AddText(sample);
    } else {
      WithElements(sample, field_, [this](auto values) {
        for (const auto value : values)
          AddNumber(value);
      });
    }
    ++samples_;
  }

  Json ToJson() const {
    Json json{{"name", field_.name}, {"kind", NameOf(field_.kind)}, {"role", NameOf(field_.role)}};
    if (field_.kind != FieldKind::kBytes) {
      json["dtype"] = NameOf(field_.dtype);
      json["shape"] = field_.shape;
    }
    json["samples"] = samples_;
    if (field_.kind != FieldKind::kBytes) {
      json["values"] = values_;
      json["not_finite"] = not_finite_;
      const auto count = static_cast<long double>(values_);
      const long double mean = values_ > 0 ? sum_ / count : 0;  // minus first_
      const long double variance = values_ > 0 ? squares_ / count - mean * mean : 0;
      const bool any = values_ > 0;
      const bool integers = IsInteger(field_.dtype);
      json["min"] = !any ? Json() : integers ? Json(least_integer_) : Json(least_);
      json["max"] = !any ? Json() : integers ? Json(most_integer_) : Json(most_);
      json["mean"] = any ? Json(static_cast<double>(first_ + mean)) : Json();
      json["std"] = any ? Json(std::sqrt(static_cast<double>(std::max(variance, 0.0L)))) : Json();
    }
    json["vocabulary"] = Vocabulary();
    return json;
  }

 private:
  static constexpr std::size_t kMaxEntries = 10'000;  // of a vocabulary
  static constexpr std::size_t kMaxTextBytes = 1024;  // of an entry

  void AddText(const Sample& sample) {
    if (!has_vocabulary_) return;
    const std::string_view text = sample.Text(field_.name);
    has_vocabulary_ = text.size() <= kMaxTextBytes && Count(texts_, std::string(text));
  }
  template <class T>
  void AddNumber(T value) {
    const auto number = static_cast<double>(value);
    if (!std::isfinite(number)) {
      ++not_finite_;
      return;
    }
    // Adds differences from the first value: sums of large numbers that are close to each other,
    // such as times, would lose the digits in which these differ.
    if (values_++ == 0) first_ = static_cast<long double>(value);
    const long double difference = static_cast<long double>(value) - first_;
    sum_ += difference;
    squares_ += difference * difference;
    least_ = std::min(least_, number);
    most_ = std::max(most_, number);
    if constexpr (std::is_integral_v<T>) {
      const auto integer = static_cast<std::int64_t>(value);
      least_integer_ = std::min(least_integer_, integer);
      most_integer_ = std::max(most_integer_, integer);
      if (has_vocabulary_) has_vocabulary_ = Count(numbers_, integer);
    }
  }
  // Counts an entry. If there are too many different entries, drops all counts and returns false.
  template <class Entry>
  static bool Count(std::map<Entry, std::uint64_t>& counts, const Entry& entry) {
    ++counts[entry];
    if (counts.size() <= kMaxEntries) return true;
    counts.clear();
    return false;
  }

  // [{"value", "count"}, ...], the most frequent first; equally frequent ones in ascending order.
  // Classes are called by their names, and come in the order of their numbers. Null if the field
  // has no vocabulary.
  Json Vocabulary() const {
    if (!has_vocabulary_) return {};
    Json json = Json::array();
    if (!field_.classes.empty()) {
      for (std::size_t c = 0; c < field_.classes.size(); ++c) {
        const auto found = numbers_.find(static_cast<std::int64_t>(c));
        json.push_back(
            {{"value", field_.classes[c]}, {"count", found == numbers_.end() ? 0 : found->second}});
      }
      return json;
    }
    AddSorted(numbers_, json);
    AddSorted(texts_, json);
    return json;
  }
  template <class Entry>
  static void AddSorted(const std::map<Entry, std::uint64_t>& counts, Json& json) {
    std::vector<std::pair<Entry, std::uint64_t>> sorted(counts.begin(), counts.end());
    std::ranges::stable_sort(sorted, std::ranges::greater(),
                             [](const auto& one) { return one.second; });
    for (const auto& [entry, count] : sorted)
      json.push_back({{"value", entry}, {"count", count}});
  }

  const Field& field_;
  // Samples that have the field; its finite numbers, and its other numbers, in all of them.
  std::uint64_t samples_ = 0, values_ = 0, not_finite_ = 0;
  long double first_ = 0;              // the first value
  long double sum_ = 0, squares_ = 0;  // of the differences from first_
  double least_ = std::numeric_limits<double>::infinity(), most_ = -least_;
  std::int64_t least_integer_ = INT64_MAX, most_integer_ = INT64_MIN;  // of integers
  bool has_vocabulary_;
  // The vocabulary: how often each number or text occurs.
  std::map<std::int64_t, std::uint64_t> numbers_;
  std::map<std::string, std::uint64_t> texts_;
};

// Computes the figures of all fields besides images, on one thread. `left_out`: samples not to
// count.
Json FieldsJson(const Dataset& dataset, const std::set<std::uint64_t>& left_out,
                ReadableSamples& samples, const std::stop_token& stop) {
  std::vector<FieldCounting> fields;
  for (const Field& field : dataset.schema().fields)
    if (field.kind != FieldKind::kImage) fields.emplace_back(field);
  for (std::uint64_t i = 0; i < samples.size() && !fields.empty(); ++i) {
    if (stop.stop_requested()) throw Error(ErrorCode::kState, "stopped");
    // So that all figures are about the same samples.
    if (left_out.contains(samples[i])) continue;
    try {
      const Sample sample = dataset[samples[i]];
      for (FieldCounting& field : fields)
        field.Add(sample);
    } catch (const Error& error) {
      if (!IsOfSample(error)) throw;
      samples.LeaveOut(samples[i], error.what());
    }
  }
  Json json = Json::array();
  for (const FieldCounting& field : fields)
    json.push_back(field.ToJson());
  return json;
}

// The values at 0, 5, 25, 50, 75, 95 and 100 per cent of a sorted list.
Json Percentiles(const std::vector<std::uint32_t>& sorted) {
  Json json = Json::object();
  if (sorted.empty()) return json;
  for (const int per_cent : {0, 5, 25, 50, 75, 95, 100}) {
    const std::size_t at = (sorted.size() - 1) * static_cast<std::size_t>(per_cent) / 100;
    json[std::to_string(per_cent)] = sorted[at];
  }
  return json;
}

Json StatsJson(const Dataset& dataset, const Found& found, const ReadableSamples& samples) {
  Json json{{"sluice_stats", 1},
            {"dataset", dataset.path().string()},
            {"digest", dataset.id()},
            {"samples", dataset.size()},
            {"images", found.widths.size()},
            {"pixels", found.sums.pixels}};
  Json mean = Json::array();
  Json deviation = Json::array();
  Json least = Json::array(), most = Json::array(), low = Json::array(), high = Json::array();
  for (std::size_t c = 0; c < found.wide_channels.size() && !found.mixed; ++c) {
    const WideChannel& channel = found.wide_channels[c];
    const bool any = channel.count > 0;
    const auto add = [any](Json& list, double number) {
      list.push_back(any ? Json(number) : Json());
    };
    add(mean, channel.mean);
    add(deviation, std::sqrt(channel.squares /
                             static_cast<double>(std::max<std::uint64_t>(channel.count, 1))));
    add(least, channel.least);
    add(most, channel.most);
    add(low, any ? channel.Percentile(found.histograms[c], found.type, 2) : 0);
    add(high, any ? channel.Percentile(found.histograms[c], found.type, 98) : 0);
  }
  for (unsigned c = 0; c < found.channels && !found.wide && !found.mixed && found.sums.pixels > 0;
       ++c) {
    const auto count = static_cast<double>(found.sums.pixels);
    const double average = static_cast<double>(found.sums.sum[c]) / count;
    const double square = static_cast<double>(found.sums.squares[c]) / count;
    mean.push_back(average / 255);
    deviation.push_back(std::sqrt(std::max(0.0, square - average * average)) / 255);
    least.push_back(static_cast<double>(found.sums.least[c]) / 255);
    most.push_back(static_cast<double>(found.sums.most[c]) / 255);
  }
  json["mean"] = found.mixed ? Json() : mean;
  json["std"] = found.mixed ? Json() : deviation;
  json["min"] = found.mixed ? Json() : least;
  json["max"] = found.mixed ? Json() : most;
  if (found.wide) {
    json["percentile_2"] = found.mixed ? Json() : low;
    json["percentile_98"] = found.mixed ? Json() : high;
    std::uint64_t not_counted = 0;
    for (const WideChannel& channel : found.wide_channels)
      not_counted += channel.not_counted;
    json["values_not_counted"] = not_counted;
  }
  json["width"] = Percentiles(found.widths);
  json["height"] = Percentiles(found.heights);
  Json classes = Json::array();
  const std::size_t label = dataset.schema().ClassField();
  for (std::size_t c = 0; c < dataset.class_counts().size(); ++c) {
    classes.push_back({{"name", dataset.schema().fields[label].classes[c]},
                       {"samples", dataset.class_counts()[c]}});
  }
  json["classes"] = classes;
  json["fields"] = found.fields;
  json["damaged"] = samples.reasons();
  json["damaged_samples"] = samples.left_out();
  return json;
}

std::string Numbers(const Json& values) {
  std::string text;
  for (const Json& value : values)
    text += value.is_null() ? std::string(text.empty() ? "" : ", ") + "no data"
                            : cli::Format(value.get<double>() > 1 ? "%s%.6g" : "%s%.4f",
                                          text.empty() ? "" : ", ", value.get<double>());
  return text;
}

std::string StatsText(const Json& json, const ReadableSamples& samples) {
  std::string text = cli::Printable(json["dataset"].get<std::string>()) + ": " +
                     cli::CountText(json["samples"], "sample", "samples") + ", " +
                     cli::CountText(json["images"], "image", "images") + "\n";
  if (json["mean"].is_null()) {
    text += "  no mean: the images differ in their number of channels\n";
  } else if (!json["mean"].empty()) {
    text +=
        "  mean       " + Numbers(json["mean"]) + "\n  std        " + Numbers(json["std"]) + "\n";
    if (json.contains("percentile_2")) {
      text += "  min        " + Numbers(json["min"]) + "\n  2%         " +
              Numbers(json["percentile_2"]) + "\n  98%        " + Numbers(json["percentile_98"]) +
              "\n  max        " + Numbers(json["max"]) + "\n";
    }
  }
  for (const char* side : {"width", "height"}) {
    if (json[side].empty()) continue;
    text += cli::Format("  %-11s", side);
    for (const auto& [per_cent, pixels] : json[side].items())
      text += cli::Format("%s%s%%: %u", per_cent == "0" ? "" : ", ", per_cent.c_str(),
                          pixels.get<unsigned>());
    text += "\n";
  }
  for (const Json& one : json["classes"]) {
    text += cli::Format("  %10llu  %s\n",
                        static_cast<unsigned long long>(one["samples"].get<std::uint64_t>()),
                        cli::Printable(one["name"].get<std::string>()).c_str());
  }
  text += samples.Text("  damaged");
  if (samples.left_out() > 0) {
    text +=
        "  " + cli::CountText(samples.left_out(), "sample is", "samples are") + " not counted\n";
  }
  return text;
}

int RunStats(StatsArguments& arguments) {
  std::optional<Dataset> dataset;
  Found found;
  std::optional<ReadableSamples> samples;
  const auto count = [&](const EditHooks& hooks) {
    dataset = Dataset::Open(arguments.dataset, arguments.limits, hooks.stop);
    if (dataset->images().empty()) {
      throw Error(ErrorCode::kInvalidArgument, ShownPath(arguments.dataset), "has no image field");
    }
    samples.emplace(*dataset, hooks.stop);
    found = Counting(*dataset, arguments.threads, *samples).Run(hooks);
    if (arguments.output.json)
      found.fields = FieldsJson(*dataset, found.left_out, *samples, hooks.stop);
  };
  const bool done = RunEdit(arguments.output, "counting",
                            "counting " + cli::Printable(ShownPath(arguments.dataset)), count);
  if (!done) return cli::kInterrupted;
  const Json json = StatsJson(*dataset, found, *samples);
  if (arguments.output.json) {
    cli::PrintJson(json);
  } else {
    cli::PrintOut(StatsText(json, *samples));
  }
  return samples->left_out() == 0 ? cli::kDone : cli::kFailed;
}

}  // namespace

cli::Command AddStatsCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("stats", kStatsDescription);
  const auto arguments = std::make_shared<StatsArguments>();
  cli::AddArgument(*app, "DATASET", arguments->dataset, "folder of the dataset");
  cli::AddThreads(*app, arguments->threads);
  cli::AddDeclared(*app, arguments->limits, &ReadLimits::max_pixels);
  AddOutputOptions(*app, arguments->output);
  app->get_option("--quiet")->description("show no progress");
  app->footer(std::string(kStatsExamples) + cli::kExitCodeHelp);
  return {app, [arguments] { return RunStats(*arguments); }};
}

}  // namespace sluice
