// sluice_format_example worked|varied FOLDER: writes one of the example datasets, and expected.txt
// with what a reader must find in it.
#include <cstdio>
#include <string_view>

#include <sluice/error.h>

#include "format/disk/file.h"
#include "tests/format/example.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: sluice_format_example worked|varied FOLDER\n", stderr);
    return 2;
  }
  try {
    const sluice::test::ExampleDataset dataset = std::string_view(argv[1]) == "worked"
                                                     ? sluice::test::WorkedExample()
                                                     : sluice::test::VariedExample();
    const std::filesystem::path folder = argv[2];
    std::filesystem::create_directories(folder);
    sluice::test::WriteDataset(folder, dataset.manifest, dataset.shards);
    sluice::WriteFile(folder / "expected.txt",
                      sluice::AsBytes(sluice::test::ExpectedText(dataset)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
