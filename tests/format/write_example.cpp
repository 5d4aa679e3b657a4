// sluice_format_example worked|varied FOLDER: writes one of the example datasets, and
// expected.txt with the text that read_from_spec.py must print for it.
#include <cstdio>
#include <string_view>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/file.h"
#include "format/disk/manifest.h"
#include "tests/format/example.h"

namespace {

// The manifest as another writer may spell it: without default roles, and with members that
// FORMAT.md does not have. Shards still have our spelling of the schema.
std::string InOtherWords(const sluice::Manifest& manifest) {
  sluice::Id128 id;
  std::string text = sluice::ManifestToJson(manifest, id);
  const std::string role = ",\"role\":\"none\"";
  for (std::size_t at = text.find(role); at != std::string::npos; at = text.find(role, at))
    text.replace(at, role.size(), ",\"unit\":\"mm\"");
  constexpr std::size_t kId = 7,
                        kRest = 39;  // where the id's digits begin, and the text they are made from
  const std::string rest = text.substr(kRest);
  return text.substr(0, kId) + sluice::ToHex(sluice::Hash128(sluice::AsBytes(rest))) + rest;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: sluice_format_example worked|varied FOLDER\n", stderr);
    return 2;
  }
  try {
    const bool worked = std::string_view(argv[1]) == "worked";
    const sluice::test::ExampleDataset dataset =
        worked ? sluice::test::WorkedExample() : sluice::test::VariedExample();
    const std::filesystem::path folder = argv[2];
    std::filesystem::create_directories(folder);
    sluice::test::WriteDataset(folder, dataset.manifest, dataset.shards);
    if (!worked) {
      sluice::WriteFile(folder / sluice::kManifestName,
                        sluice::AsBytes(InOtherWords(dataset.manifest)));
    }
    sluice::WriteFile(folder / "expected.txt",
                      sluice::AsBytes(sluice::test::ExpectedText(dataset)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
