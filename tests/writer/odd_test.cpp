// Converts a collection of odd, broken and hostile files: the folder "odd" in the folder that
// SLUICE_TEST_DATA names, if there is one.
#include <cstdlib>
#include <iostream>

#include <sluice/convert.h>

#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/writer/stored.h"

namespace sluice::test {

TEST_CASE("every odd file becomes a sample, is left out with a reason, or is skipped") {
  const char* const root = std::getenv("SLUICE_TEST_DATA");
  const std::filesystem::path odd = std::filesystem::path(root == nullptr ? "" : root) / "odd";
  if (root == nullptr || !std::filesystem::is_directory(odd)) {
    std::cout << "skipped: SLUICE_TEST_DATA names no folder with a folder \"odd\"\n";
    return;
  }
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(odd)) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  const TemporaryFolder folder;
  for (const bool keep : {false, true}) {
    ConvertOptions options;
    options.form.keep = keep;
    const auto data = folder / (keep ? "keep" : "encode");
    const ConvertSummary summary = Convert(odd, data, options);
    CHECK(summary.samples + summary.skipped.size() + summary.passed_over.size() == files);
    for (const LeftOut& file : summary.skipped)
      CHECK_FALSE(file.reason.empty());
    // Every stored image decodes.
    for (const StoredSample& sample : ReadDataset(data).samples) {
      CHECK(sample.Pixels().width == sample.fields[0].width);
    }
  }
}

}  // namespace sluice::test
