// Makes small datasets for tests of the commands that edit datasets, and reads all samples of one.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <sluice/dataset.h>

#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

// The class name and the stored bytes of every sample, by its key. Also verifies the dataset.
inline std::map<std::string, std::pair<std::string, std::string>> SamplesOf(
    const std::string& path) {
  REQUIRE(Sluice({"verify", path, "--decode", "--quiet"}).exit_code == 0);
  const Dataset dataset = Dataset::Open(path);
  std::map<std::string, std::pair<std::string, std::string>> samples;
  for (std::uint64_t i = 0; i < dataset.size(); ++i) {
    const Sample sample = dataset[i];
    const auto bytes = sample.Payload().bytes;
    std::string name;
    if (dataset.schema().fields.size() > 1) {  // then the second field is the label
      name =
          dataset.schema().fields[1].classes.at(static_cast<std::size_t>(sample.Integer("label")));
    }
    samples[sample.key()] = {name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}};
  }
  return samples;
}

struct Datasets {
  TemporaryFolder folder;
  std::string At(const std::string& name) const { return (folder / name).string(); }
  // Writes `count` pictures of each class into the folder NAME.src, converts them to the dataset
  // NAME, and returns its path.
  std::string Make(const std::string& name, const std::vector<std::string>& classes, int count,
                   std::uint64_t seed) const {
    for (const std::string& one : classes) {
      for (int i = 0; i < count; ++i) {
        WriteJpeg(folder / (name + ".src") / one / (name + std::to_string(i) + ".jpg"),
                  MakePicture(30, 20, 3, ++seed));
      }
    }
    REQUIRE(Sluice({"convert", At(name + ".src"), At(name), "--quality", "70"}).exit_code == 0);
    return At(name);
  }
};

}  // namespace sluice::test
