// Fuzz targets: each gives any bytes to one reader of foreign data. The reader may report errors. A
// crash, a sanitizer's finding, another exception, or a broken promise is a failure; a broken
// promise ends the process with a message.
//
// They run in two ways: under libFuzzer (CMake option SLUICE_FUZZ), and as ordinary tests, over
// their seeds, the files in cases/TARGET/ and a fixed number of mutations.
#pragma once

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "format/disk/bytes.h"
#include "format/disk/file.h"
#include "format/random.h"

namespace sluice::fuzz {

using Input = std::vector<std::byte>;

struct Target {
  const char* name;
  void (*run)(Bytes input);
  std::vector<Input> (*seeds)();
  int mutations;  // of each seed in the ordinary tests
  // A mutator that knows the input's structure; `other` is a seed to take bytes from. Null:
  // Mutate().
  void (*mutate)(Input& input, const Input& other, RandomStream& random) = nullptr;
};

std::vector<Target> Targets();
// Ends the process if no target has that name.
const Target& TargetNamed(const char* name);

void RunManifest(Bytes input);
void RunReceipt(Bytes input);
void RunSchema(Bytes input);
void RunKeys(Bytes input);
void RunShard(Bytes input);
void RunPayload(Bytes input);
void RunJpeg(Bytes input);
void RunPacked(Bytes input);
void RunTiled(Bytes input);
void MutateTiled(Input& input, const Input& other, RandomStream& random);
void RunPlan(Bytes input);
void RunOrigin(Bytes input);
void RunSource(Bytes input);
void RunValues(Bytes input);
void RunPicture(Bytes input);
void RunTable(Bytes input);
void RunTar(Bytes input);

// The next three exist only in builds that open URLs.
void RunListing(Bytes input);
void RunCredentials(Bytes input);
void RunStoreUrl(Bytes input);

void RunLabels(Bytes input);
void RunInstances(Bytes input);
void RunParquet(Bytes input);
void RunBeton(Bytes input);
void RunRecords(Bytes input);

std::vector<Input> ManifestSeeds();
std::vector<Input> ReceiptSeeds();
std::vector<Input> SchemaSeeds();
std::vector<Input> KeysSeeds();
std::vector<Input> ShardSeeds();
std::vector<Input> PayloadSeeds();
std::vector<Input> JpegSeeds();
std::vector<Input> PackedSeeds();
std::vector<Input> TiledSeeds();
std::vector<Input> PlanSeeds();
std::vector<Input> OriginSeeds();
std::vector<Input> SourceSeeds();
std::vector<Input> ValuesSeeds();
std::vector<Input> PictureSeeds();
std::vector<Input> TableSeeds();
std::vector<Input> TarSeeds();
std::vector<Input> ListingSeeds();
std::vector<Input> CredentialsSeeds();
std::vector<Input> StoreUrlSeeds();
std::vector<Input> LabelsSeeds();
std::vector<Input> InstancesSeeds();
std::vector<Input> ParquetSeeds();
std::vector<Input> BetonSeeds();
std::vector<Input> RecordsSeeds();

// Returns whether the input was a valid packed image, so that it was compared with its JPEG.
bool ComparePacked(Bytes input);
// Rewrites a JPEG and checks the result (rewrite_target.cpp).
void CompareRewriting(Bytes input);
// Recodes a JPEG and checks the result (recode_target.cpp). `until_scan_end`: the same file up to
// the end of its first scan.
void CompareRecoding(Bytes input, Bytes until_scan_end);

// Unless the promise holds, ends the process with a message that quotes `promise`.
void Promise(bool holds, const char* promise);

inline Input ToInput(std::string_view text) {
  const Bytes bytes = AsBytes(text);
  return {bytes.begin(), bytes.end()};
}

// Reads values from an input, front to back. After the input's end, returns zeros.
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

// A file in memory with a path, for readers that take a path.
class ScratchFile {
 public:
  explicit ScratchFile(Bytes content);

  // The folder /proc/self/fd; name() is the file's name in it.
  static std::filesystem::path folder() { return "/proc/self/fd"; }
  std::string name() const { return std::to_string(file_.get()); }
  std::filesystem::path path() const { return folder() / name(); }

 private:
  FileHandle file_;
};

}  // namespace sluice::fuzz
