// A small dataset that sluice-bench epoch plays.
#pragma once

#include <string>

#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

// 30 samples of 40x30 in three classes.
class Animals {
 public:
  explicit Animals(const Words& options = {}) {
    WriteClasses(folder_ / "source", 10, 40, 30);
    Words words = {"convert", (folder_ / "source").string(), data()};
    words.insert(words.end(), options.begin(), options.end());
    REQUIRE(Sluice(words).exit_code == 0);
  }
  std::string data() const { return (folder_ / "data").string(); }
  std::string source() const { return (folder_ / "source").string(); }

  Outcome Epoch(const Words& options) const {
    Words words = {"epoch", data()};
    words.insert(words.end(), options.begin(), options.end());
    return Bench(words);
  }
  nlohmann::json EpochJson(Words options) const {
    options.push_back("--json");
    const Outcome outcome = Epoch(options);
    CHECK(outcome.exit_code == 0);
    return JsonOf(outcome);
  }
  // The shape of the images that a transform gives, as "HEIGHTxWIDTHxCHANNELS".
  std::string ImageShape(const std::string& transform) const {
    const nlohmann::json image =
        EpochJson({"--transform", transform, "--epochs", "1", "--warm-up", "0"})["image"];
    return image["height"].dump() + "x" + image["width"].dump() + "x" + image["channels"].dump();
  }

 private:
  TemporaryFolder folder_;
};

// The bytes that all epochs read together. The figure of a single epoch varies: timing decides
// which epoch counts a payload that was decoded ahead.
inline std::uint64_t BytesRead(const nlohmann::json& answer) {
  std::uint64_t bytes = 0;
  for (const char* part : {"warm_up_epochs", "epochs"}) {
    for (const auto& epoch : answer[part])
      bytes += epoch["bytes_read"].get<std::uint64_t>();
  }
  return bytes;
}

}  // namespace sluice::test
