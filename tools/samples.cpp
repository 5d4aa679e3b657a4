// ReadableSamples keeps a range for each shard that can be opened and not a list of samples, so it
// is small, and an index is found by binary search. A stop during the examination may look like
// faulty shards, so the constructor checks for one before it uses the faults. In a sample's JSON, a
// float32 is shown by its shortest text (Shortest), because the JSON library would print it with
// the digits of a double.
#include "tools/samples.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <nlohmann/json.hpp>

#include <sluice/error.h>

#include "tools/cli/output.h"
#include "tools/cli/quantity.h"

namespace sluice {

using Json = nlohmann::ordered_json;

ReadableSamples::ReadableSamples(const Dataset& dataset, const std::stop_token& stop) {
  ShardFaults faults = dataset.LookAtShards(stop);
  if (stop.stop_requested()) {  // the stop may have caused faults
    throw Error(ErrorCode::kState, dataset.path().string(), "stopped before a sample was read");
  }
  left_out_ = faults.samples;
  reasons_ = std::move(faults.reasons);
  reasons_.resize(std::min(reasons_.size(), kMaxKept));
  not_kept_ = faults.shards - reasons_.size();
  std::uint64_t first = 0;
  for (std::size_t s = 0; s < dataset.shards().size(); ++s) {
    const std::uint64_t samples = dataset.shards()[s].samples;
    if (!faults.faulty[s]) AddRange(dataset, first, samples);
    first += samples;
  }
}

// Deleted samples are passed over.
void ReadableSamples::AddRange(const Dataset& dataset, std::uint64_t first, std::uint64_t samples) {
  if (dataset.deleted() == 0) {
    ranges_.emplace_back(size_, first);
    size_ += samples;
    return;
  }
  bool begun = false;
  for (std::uint64_t sample = first; sample < first + samples; ++sample) {
    if (dataset.IsDeleted(sample)) {
      begun = false;
      continue;
    }
    if (!begun) ranges_.emplace_back(size_, sample);
    begun = true;
    ++size_;
  }
}

std::uint64_t ReadableSamples::operator[](std::uint64_t i) const noexcept {
  const auto after = std::partition_point(ranges_.begin(), ranges_.end(),
                                          [i](const auto& range) { return range.first <= i; });
  const auto& [begin, sample] = *std::prev(after);
  return sample + (i - begin);
}

void ReadableSamples::LeaveOut(std::uint64_t sample, const std::string& why) {
  const std::lock_guard lock(mutex_);
  ++left_out_;
  if (reasons_.size() < kMaxKept) {
    reasons_.push_back("sample " + std::to_string(sample) + ": " + why);
  } else {
    ++not_kept_;
  }
}

std::string ReadableSamples::Text(const std::string& what) const {
  std::string text;
  for (const std::string& reason : reasons_)
    text += what + ": " + cli::Printable(reason) + "\n";
  if (not_kept_ > 0) text += what + ": and " + std::to_string(not_kept_) + " more\n";
  return text;
}

std::uint64_t FindKey(const Dataset& dataset, const std::string& key) {
  if (const std::optional<std::uint64_t> found = dataset.Find(key)) return *found;
  throw Error(ErrorCode::kNotFound, dataset.path().string(),
              "has no sample with the key \"" + key +
                  "\"; a sample's key is its file's path, relative to the folder converted");
}

double Shortest(float value) {
  char text[32];
  const auto [end, error] = std::to_chars(std::begin(text), std::end(text), value);
  double number = value;
  if (error == std::errc()) std::from_chars(text, end, number);
  return number;
}

nlohmann::ordered_json ValuesJson(const Sample& sample, const Field& field) {
  auto json = Json::array();
  WithElements(sample, field, [&json]<class T>(std::span<const T> values) {
    for (const T value : values) {
      if constexpr (std::is_same_v<T, float> || std::is_same_v<T, Float16>)
        json.push_back(Shortest(value));
      else
        json.push_back(value);
    }
  });
  return json;
}

namespace {

void AddImage(const Sample& sample, const Field& field, Json& json) {
  const ImagePayload image = sample.Payload(field.name);
  json["codec"] = NameOf(image.codec);
  json["width"] = image.width;
  json["height"] = image.height;
  json["channels"] = image.channels;
  json["pixel_type"] = NameOf(image.pixel_type);
  json["bytes"] = image.bytes.size();
}

void AddArray(const Sample& sample, const Field& field, Json& json) {
  json["dtype"] = NameOf(field.dtype);
  Json values = ValuesJson(sample, field);
  auto shape = field.shape;
  if (field.kind == FieldKind::kVariable) {
    const std::uint64_t inner = field.elements();
    shape.insert(shape.begin(), inner == 0 ? 0 : static_cast<std::uint32_t>(values.size() / inner));
  }
  json["shape"] = shape;
  if (!shape.empty()) {
    json["values"] = std::move(values);
    return;
  }
  json["value"] = values.at(0);
  if (!field.classes.empty() && values.at(0).is_number_integer()) {
    const std::int64_t number = sample.Integer(field.name);
    if (number >= 0 && static_cast<std::uint64_t>(number) < field.classes.size()) {
      json["class"] = field.classes[static_cast<std::size_t>(number)];
    }
  }
}

void AddBytes(const Sample& sample, const Field& field, Json& json) {
  json["bytes"] = sample.Bytes(field.name).size();
  if (field.role == Role::kText || field.role == Role::kJson) {
    json["text"] = std::string(sample.Text(field.name));
  }
}

}  // namespace

nlohmann::ordered_json SampleJson(const Dataset& dataset, std::uint64_t index) {
  const Sample sample = dataset[index];
  Json fields = Json::array();
  for (const Field& field : dataset.schema().fields) {
    Json json{{"name", field.name}, {"kind", NameOf(field.kind)}};
    if (!sample.Has(field.name)) {
      json["absent"] = true;
    } else if (field.kind == FieldKind::kImage) {
      AddImage(sample, field, json);
    } else if (field.kind == FieldKind::kBytes) {
      AddBytes(sample, field, json);
    } else {
      AddArray(sample, field, json);
    }
    fields.push_back(std::move(json));
  }
  Json json{{"index", index}, {"key", sample.key()}, {"place", sample.place()}};
  json["fields"] = std::move(fields);  // may be large: no copy
  return json;
}

std::vector<std::uint64_t> ReadSampleNumbers(const std::string& file) {
  std::ifstream stream = cli::OpenToRead(file);
  std::vector<std::uint64_t> numbers;
  std::string line;
  for (std::size_t number = 1; std::getline(stream, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    try {
      numbers.push_back(cli::ParseInteger(line, 0, UINT64_MAX));
    } catch (const cli::UsageError&) {
      throw Error(ErrorCode::kCorrupt, file, "line " + std::to_string(number),
                  "is not the number of a sample");
    }
  }
  if (numbers.empty()) throw Error(ErrorCode::kCorrupt, file, "has no sample numbers");
  return numbers;
}

}  // namespace sluice
