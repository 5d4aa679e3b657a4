// The index is one file: its head, a JSON text, says what the list was made of, and the list
// follows (planned_sources.h). It is valid as long as the source's members, the files that the
// whole list was made of, and the plan are the same. Images are not compared here, but when they
// are played.
#include "writer/convert/source_index.h"

#include <sluice/convert_option_list.h>
#include <sluice/error.h>
#include <sluice/shown_path.h>

#include "format/disk/checksum.h"
#include "format/disk/json.h"
#include "writer/convert/planned_sources.h"
#include "writer/source/labels/annotations.h"
#include "writer/source/list/dataset_classes.h"
#include "writer/source/list/paths.h"
#include "writer/source/list/store_files.h"
#include "writer/text.h"

namespace sluice {

namespace {

using nlohmann::json;

// The words for all members of a ConvertSource: a list of samples depends on these and the files.
template <class T>
json WordsOfSource(const T& value) {
  if constexpr (option_list::HasOptions<T>) {
    json words;
    option_list::ForEachMember<T>(
        [&](const auto& option) { words[option.name] = WordsOfSource(value.*option.member); });
    return words;
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return EscapeBytes(AbsolutePlace(value));
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    return EscapeBytes(value);
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<int>(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else if constexpr (requires { value.has_value(); }) {
    return value ? WordsOfSource(*value) : json();
  } else {
    json words = json::array();
    for (const auto& one : value)
      words.push_back(WordsOfSource(one));
    return words;
  }
}

std::string DigestOf(const json& words) {
  return ToHex(Hash128(AsBytes(words.dump())));
}

// Throws json::exception, and Error(kCorrupt) without a name.
std::vector<ImageFigures> ImagesFromJson(const json& in) {
  constexpr std::uint64_t kMaxPresent = UINT32_MAX;
  std::vector<ImageFigures> images;
  for (const json& one : in) {
    images.push_back(FiguresFromJson(one));
    if (images.back().present > kMaxPresent ||
        images.back().payload_bytes > kMaxPresent * kMaxSourceBytes) {
      throw Error(ErrorCode::kCorrupt, "has sizes of images that are out of range");
    }
  }
  return images;
}

}  // namespace

json FilesOfSource(const ConvertSource& source, const std::stop_token& stop) {
  json files = json::array();
  std::vector<std::filesystem::path> paths = source.archives;
  if (source.kind == ConvertSource::Kind::kTable) paths.push_back(source.table);
  if (source.kind == ConvertSource::Kind::kAnnotations) paths.push_back(source.label_files.path);
  for (const std::filesystem::path& path : paths)
    files.push_back({EscapeBytes(path.native()), StateOf(path).Words()});
  // A folder's own time does not tell that a file in it was written to.
  std::error_code ignored;
  if (source.kind == ConvertSource::Kind::kAnnotations &&
      std::filesystem::is_directory(source.label_files.path, ignored)) {
    files.push_back({"a label file or a file of class names of " +
                         EscapeBytes(source.label_files.path.native()),
                     DigestOfLabelFiles(source, stop)});
  }
  if (const std::filesystem::path& dataset = source.label.classes_of; !dataset.empty()) {
    const DatasetClasses classes = ClassesOfDataset(dataset, stop);
    files.push_back({"the classes of " + EscapeBytes(ShownPath(dataset.native())),
                     DigestOf({classes.label, classes.fields})});
  }
  return files;
}

IndexedSource ReadIndex(const std::filesystem::path& file, const ConvertSource& source,
                        const ConvertOptions& options, const std::stop_token& stop) {
  const std::string name = file.string();
  SourceIndex index = ReadSourceIndex(file);
  const auto refuse = [&name](ErrorCode code, const std::string& what) {
    throw Error(code, name, what + "; remove the index, and it is made anew");
  };
  const json head = json::parse(index.head, nullptr, false);
  try {
    if (head.at("source") != DigestOf(WordsOfSource(source)))
      refuse(ErrorCode::kExists, "is the index of another source, or was made with other options");
    const json now = FilesOfSource(source, stop);
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (head.at("files").at(i) != now[i]) {
        refuse(ErrorCode::kExists,
               "is older than " + now[i].at(0).get<std::string>() + ", which was changed since");
      }
    }
    index.list.SetRoot(index.list.root, stop);
    ConversionInput input(std::move(index.list), options);
    const std::string plan = head.at("plan").get<std::string>();
    const PlanOutline outline = OutlineOfPlan(plan, name);
    if (outline.digest != ToHex(input.plan.digest) || outline.plan.samples != input.plan.samples) {
      refuse(ErrorCode::kExists,
             "was made with other options, or by another version of Sluice or its libraries");
    }
    input.plan.shard_samples = outline.plan.shard_samples;
    input.plan.block_samples = outline.plan.block_samples;
    std::vector<ImageFigures> images = ImagesFromJson(head.at("images"));
    if (images.size() != NoTotals(input.schema).images.size())
      refuse(ErrorCode::kCorrupt, "lacks the sizes of a field's images");
    return {std::move(input), std::move(images)};
  } catch (const json::exception&) {
    refuse(ErrorCode::kCorrupt, "is damaged");
    throw;
  }
}

void WriteIndex(const std::filesystem::path& file, const ConvertSource& source, const json& files,
                const ConversionInput& input, const std::vector<ImageFigures>& images) {
  json figures = json::array();
  for (const ImageFigures& one : images)
    figures.push_back(FiguresToJson(one));
  const json head = {{"source", DigestOf(WordsOfSource(source))},
                     {"files", files},
                     {"plan", PlanToJson(input.plan)},
                     {"images", figures}};
  WriteSourceIndex(file, head.dump(), input.sources);
}

}  // namespace sluice
