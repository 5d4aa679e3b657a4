// .beton files: tables, fields, and payloads.
#include <sluice/error.h>

#include "tests/file_content.h"
#include "tests/fuzz/targets.h"
#include "writer/source/read_source.h"
#include "writer/source/records/records.h"

namespace sluice::fuzz {

void RunBeton(Bytes input) {
  const ScratchFile file(input);
  const ConvertSource source = ConvertSource::Archives({file.path()});
  SourceList list;
  try {
    list = ReadBeton(source, {});
  } catch (const Error&) {
    return;
  }
  list.MakeSchema().Validate();
  std::vector<std::byte> content;
  for (std::size_t i = 0; i < std::min<std::size_t>(list.sources.size(), 8); ++i) {
    ReadImageFile(list, i, content);
    Promise(content.size() == list.sources[i].bytes, "an image has the size it was listed with");
    for (std::size_t f = 1; f < list.fields.size(); ++f) {
      const Feed feed = list.fields[f].feed;
      if (feed != Feed::kElements && feed != Feed::kText) continue;
      if (!ReadStored(list, i, f, content)) continue;
      const Field& field = list.fields[f].field;
      Promise(field.kind != FieldKind::kArray ||
                  content.size() == field.elements() * SizeOf(field.dtype),
              "an array has the bytes of its shape");
    }
  }
}

std::vector<Input> BetonSeeds() {
  return {ToInput(test::ContentOf(std::filesystem::path(SLUICE_GOLDENS) / "small.beton"))};
}

}  // namespace sluice::fuzz
