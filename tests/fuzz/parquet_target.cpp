// Parquet files: their footers, pages and values, and their images.
#include <sluice/error.h>

#include "tests/file_content.h"
#include "tests/fuzz/targets.h"
#include "writer/source/read_source.h"
#include "writer/source/records/records.h"

namespace sluice::fuzz {

void RunParquet(Bytes input) {
  const ScratchFile file(input);
  SourceList list;
  try {
    list = ReadParquet(ConvertSource::Archives({file.path()}), {});
  } catch (const Error&) {
    return;
  }
  list.MakeSchema().Validate();
  std::vector<std::byte> content;
  for (std::size_t i = 0; i < std::min<std::size_t>(list.sources.size(), 8); ++i) {
    try {
      ReadImageFile(list, i, content);
      Promise(content.size() == list.sources[i].bytes, "an image has the size it was listed with");
    } catch (const Error&) {
      Promise(false, "an image that was indexed can be read");
    }
  }
}

// The files that pyarrow wrote for the writer's tests.
std::vector<Input> ParquetSeeds() {
  std::vector<Input> seeds;
  for (const char* name : {"plain", "dictionary", "zstd2", "snappy", "bare"}) {
    const std::string text =
        test::ContentOf(std::filesystem::path(SLUICE_GOLDENS) / (name + std::string(".parquet")));
    const Bytes bytes = AsBytes(text);
    seeds.emplace_back(bytes.begin(), bytes.end());
  }
  return seeds;
}

}  // namespace sluice::fuzz
