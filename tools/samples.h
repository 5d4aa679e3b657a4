// Reading a dataset's samples in commands: all samples that can be read, one sample by its key or
// as JSON, and a field's numbers whatever their type.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <sluice/dataset.h>

namespace sluice {

// Calls take(T()) with the type T of the elements.
template <class Take>
void WithType(DType type, Take&& take) {
  switch (type) {
    case DType::kInt8: return take(std::int8_t());
    case DType::kInt16: return take(std::int16_t());
    case DType::kInt32: return take(std::int32_t());
    case DType::kInt64: return take(std::int64_t());
    case DType::kUint8: return take(std::uint8_t());
    case DType::kUint16: return take(std::uint16_t());
    case DType::kFloat32: return take(float());
    case DType::kFloat16: return take(Float16());
    case DType::kFloat64: return take(double());
  }
}

// Calls take(values) with the elements of an array or variable field, as a span of their own type.
template <class Take>
void WithElements(const Sample& sample, const Field& field, Take&& take) {
  WithType(field.dtype, [&](auto type) { take(sample.Array<decltype(type)>(field.name)); });
}

inline std::vector<double> NumbersOf(const Sample& sample, const Field& field) {
  std::vector<double> numbers;
  WithElements(sample, field, [&](auto values) { numbers.assign(values.begin(), values.end()); });
  return numbers;
}

// The field's values as integers. Empty for a field of floating-point numbers.
inline std::vector<std::int64_t> IntegersOf(const Sample& sample, const Field& field) {
  std::vector<std::int64_t> numbers;
  if (!IsInteger(field.dtype)) return numbers;
  WithElements(sample, field, [&](auto values) {
    for (const auto value : values)
      numbers.push_back(static_cast<std::int64_t>(value));
  });
  return numbers;
}

// The samples in the shards that can be opened, for commands that go through a whole dataset, and
// an account of the samples that could not be read.
//
// The constructor examines every shard first. A missing or truncated shard is one fault, whatever
// number of samples the manifest claims for it: its samples are counted without trying each. At
// most kMaxKept reasons are kept.
class ReadableSamples {
 public:
  static constexpr std::size_t kMaxKept = 100;

  // Throws Error(kState) if a stop was requested.
  ReadableSamples(const Dataset& dataset, const std::stop_token& stop);

  std::uint64_t size() const noexcept { return size_; }
  // The dataset's index of the i-th readable sample. O(log shards).
  std::uint64_t operator[](std::uint64_t i) const noexcept;

  // Counts one more sample that could not be read. Thread-safe.
  void LeaveOut(std::uint64_t sample, const std::string& why);

  // The number of samples left out, including those of missing shards. Call it once no thread calls
  // LeaveOut() any more.
  std::uint64_t left_out() const noexcept { return left_out_; }
  const std::vector<std::string>& reasons() const noexcept { return reasons_; }
  // One line for each reason, beginning with `what`, and one line for reasons that were not kept.
  std::string Text(const std::string& what) const;

 private:
  void AddRange(const Dataset& dataset, std::uint64_t first, std::uint64_t samples);
  // For each range of readable samples: its first i, and the dataset's index of that sample.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_;
  std::uint64_t size_ = 0;
  std::mutex mutex_;
  std::uint64_t left_out_ = 0;
  std::uint64_t not_kept_ = 0;  // the number of reasons not in reasons_
  std::vector<std::string> reasons_;
};

// The number of the sample with that key. Passes over shards that are missing or damaged, as long
// as another has the key. Throws Error(kNotFound).
std::uint64_t FindKey(const Dataset& dataset, const std::string& key);

// One sample as {"index", "key", "place", "fields": [{"name", "kind", and its content}, ...]}. A
// field without a value has "absent": true.
nlohmann::ordered_json SampleJson(const Dataset& dataset, std::uint64_t index);

// The elements of an array or variable field, in row-major order. A float32 becomes the shortest
// number that reads back as the same float32.
nlohmann::ordered_json ValuesJson(const Sample& sample, const Field& field);

// Returns the double that prints with the fewest digits that identify the float: the JSON library
// prints numbers as doubles, 0.8244330286979675 instead of 0.824433.
double Shortest(float value);

// Reads the numbers of samples in a file, one a line; at least one.
std::vector<std::uint64_t> ReadSampleNumbers(const std::string& file);

}  // namespace sluice
