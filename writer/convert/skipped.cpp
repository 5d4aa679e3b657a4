#include "writer/convert/skipped.h"

#include <algorithm>

#include "writer/text.h"

namespace sluice {

std::string SkippedTable(const std::vector<LeftOut>& broken,
                         const std::vector<LeftOut>& passed_over) {
  struct Row {
    const LeftOut* file;
    const char* kind;
  };
  std::vector<Row> rows;
  rows.reserve(broken.size() + passed_over.size());
  for (const LeftOut& file : broken)
    rows.push_back({&file, "broken"});
  for (const LeftOut& file : passed_over)
    rows.push_back({&file, "passed over"});
  std::sort(rows.begin(), rows.end(),
            [](const Row& a, const Row& b) { return a.file->path < b.file->path; });
  std::string table = "path\treason\tkind\n";
  for (const Row& row : rows) {
    table +=
        ToTsvCell(row.file->path) + '\t' + ToTsvCell(row.file->reason) + '\t' + row.kind + '\n';
  }
  return table;
}

}  // namespace sluice
