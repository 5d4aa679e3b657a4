// Fuzz targets: each takes any bytes as what one reader of foreign data gets. Errors that the
// reader reports are as it should be; what must not happen is a crash, a sanitizer's finding,
// another exception, or a broken promise, which ends the process with a message.
//
// They run in two ways: under libFuzzer (CMake option SLUICE_FUZZ), and as ordinary tests, over
// their seeds, the kept cases and a fixed number of mutations.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "format/disk/bytes.h"
#include "format/random.h"

namespace sluice::fuzz {

using Input = std::vector<std::byte>;

struct Target {
  const char* name;
  void (*run)(Bytes input);
  std::vector<Input> (*seeds)();
  int mutations;  // of each seed in the ordinary tests
  // Mutations that keep to the input's structure, with another seed to take from; null: Mutate().
  void (*mutate)(Input& input, const Input& other, RandomStream& random) = nullptr;
};

std::vector<Target> Targets();
// Ends the process if there is none of that name.
const Target& TargetNamed(const char* name);

void RunManifest(Bytes input);
void RunSchema(Bytes input);
void RunKeys(Bytes input);
void RunShard(Bytes input);
void RunPayload(Bytes input);
void RunJpeg(Bytes input);
void RunPacked(Bytes input);
void RunPlan(Bytes input);
void RunOrigin(Bytes input);
void RunSource(Bytes input);
void RunTable(Bytes input);
void RunTar(Bytes input);

std::vector<Input> ManifestSeeds();
std::vector<Input> SchemaSeeds();
std::vector<Input> KeysSeeds();
std::vector<Input> ShardSeeds();
std::vector<Input> PayloadSeeds();
std::vector<Input> JpegSeeds();
std::vector<Input> PackedSeeds();
std::vector<Input> PlanSeeds();
std::vector<Input> OriginSeeds();
std::vector<Input> SourceSeeds();
std::vector<Input> TableSeeds();
std::vector<Input> TarSeeds();

// Whether the input was a packed image without a fault, and was held against its JPEG.
bool ComparePacked(Bytes input);

// Ends the process, naming the promise, unless it holds.
void Promise(bool holds, const char* promise);

inline Input ToInput(std::string_view text) {
  const Bytes bytes = AsBytes(text);
  return {bytes.begin(), bytes.end()};
}

// Takes an input apart, front to back. Beyond its end come zeros.
class InputReader {
 public:
  explicit InputReader(Bytes input) : input_(input) {}

  template <class T>
  T Take() {
    T value{};
    const std::size_t size = std::min(sizeof(T), input_.size());
    if (size > 0) std::memcpy(&value, input_.data(), size);
    input_ = input_.subspan(size);
    return value;
  }
  bool empty() const { return input_.empty(); }
  Bytes rest() const { return input_; }

 private:
  Bytes input_;
};

}  // namespace sluice::fuzz
