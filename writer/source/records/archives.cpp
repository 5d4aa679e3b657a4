// The first file's content says which kind of archive it is. All files must be of that kind: its
// reader refuses the others.
#include <array>

#include <sluice/error.h>

#include "format/disk/file.h"
#include "writer/source/images/sniff.h"
#include "writer/source/records/records.h"

namespace sluice {

SourceList ReadArchives(const ConvertSource& source, unsigned threads,
                        const std::stop_token& stop) {
  const FileHandle file = OpenForReading(source.archives.front());
  std::array<std::byte, kBetonStartBytes> start{};
  const Bytes begin = Bytes(start).first(ReadAt(file, source.archives.front(), 0, start));
  if (AsText(begin).starts_with("PAR1")) return ReadParquet(source, stop);
  if (IsTfRecord(begin)) return ReadTfRecords(source, stop);
  if (IsRecordIo(begin)) return ReadRecordIo(source, stop);
  if (IsBeton(begin)) return ReadBeton(source, stop);
  const std::string name = source.archives.front().string();
  if (begin.empty()) throw Error(ErrorCode::kCorrupt, name, "is empty");
  const ImageKind kind = Sniff(begin).kind;
  if (kind == ImageKind::kJpeg || kind == ImageKind::kPng) {
    throw Error(ErrorCode::kInvalidArgument, name,
                "is an image, and not a file that holds images; give its folder, or a list of "
                "images (--paths)");
  }
  if (!source.rows.columns.empty() || !source.rows.path_column.empty() ||
      !source.split.by.empty()) {
    throw Error(ErrorCode::kInvalidArgument, source.archives.front().string(),
                "is an archive without columns, so --field, --path-column and --split-by do not "
                "apply; the names of its members say what each member is");
  }
  return ReadTars(source, threads, stop);
}

}  // namespace sluice
