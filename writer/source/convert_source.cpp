// Makes ConvertSources: each kind of source, and the kind that a path alone stands for.
#include <sluice/convert_source.h>

namespace sluice {

bool HasClasses(ColumnType type) noexcept {
  return type == ColumnType::kClass || type == ColumnType::kClasses ||
         type == ColumnType::kBoxClasses;
}

ConvertSource ConvertSource::Table(std::filesystem::path file) {
  ConvertSource source{std::filesystem::path()};
  source.kind = Kind::kTable;
  source.table = std::move(file);
  return source;
}

ConvertSource ConvertSource::Paths(std::vector<std::string> paths, std::filesystem::path root) {
  ConvertSource source(std::move(root));
  source.kind = Kind::kPaths;
  source.paths = std::move(paths);
  return source;
}

ConvertSource ConvertSource::Archives(std::vector<std::filesystem::path> files) {
  ConvertSource source{std::filesystem::path()};
  source.kind = Kind::kArchives;
  source.archives = std::move(files);
  return source;
}

ConvertSource ConvertSource::Annotated(AnnotationFormat format, std::filesystem::path annotations,
                                       std::filesystem::path root) {
  ConvertSource source(std::move(root));
  source.kind = Kind::kAnnotations;
  source.label_files.format = format;
  source.label_files.path = std::move(annotations);
  return source;
}

ConvertSource SourceAt(const std::filesystem::path& place) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(place, ignored)) return {place};
  return IsTableName(place) ? ConvertSource::Table(place) : ConvertSource::Archives({place});
}

}  // namespace sluice
