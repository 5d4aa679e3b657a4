#include "writer/convert/skipped.h"

#include <algorithm>
#include <vector>

#include "writer/text.h"

namespace sluice {

std::string SkippedTable(const ConvertSummary& summary, const ConvertOptions& options) {
  struct Row {
    const LeftOut* file;
    const char* kind;
  };
  std::vector<Row> rows;
  const auto add = [&rows](const std::vector<LeftOut>& files, const char* kind) {
    for (const LeftOut& file : files)
      rows.push_back({&file, kind});
  };
  add(summary.skipped, "broken");
  add(summary.passed_over, "passed over");
  if (options.form.truncated == Truncated::kWarn) add(summary.truncated, "truncated");
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
