// ConvertSource and its groups, as convert_option_list.h declares them. A source is not made by
// keywords, unlike the groups: a folder is made by the constructor, every other kind by a static
// function, and the rest is set by attributes. The functions table(), paths() and archives() have
// the names of three members, which are therefore not attributes; the kind is read-only. Two
// sources are equal if all their members are equal in Python.
#include <sluice/convert_option_list.h>

#include "reader/python/binding/gil.h"
#include "reader/python/binding/keywords.h"

namespace sluice::python {

bool IsRemote(const ConvertSource& source) {
  return IsRemote(source.root) || IsRemote(source.label.classes_of);
}

ConvertSource SourceOf(const SourceOrFolder& given) {
  return std::visit([](const auto& one) { return ConvertSource(one); }, given);
}

void BindSource(nb::module_& module) {
  BindWords<ColumnType>(module);
  BindWords<BoxFormat>(module);
  BindWords<AnnotationFormat>(module);
  BindWords<FolderLabels>(module);
  BindOptions<Column, 1>(module);
  BindOptions<RowOptions>(module);
  BindOptions<AnnotationParts>(module);
  BindOptions<LabelFiles>(module);
  BindOptions<LabelOptions>(module);
  BindOptions<SplitPart>(module);
  nb::class_<ConvertSource> bound(module, option_list::OptionsOf<ConvertSource>.name,
                                  option_list::OptionsOf<ConvertSource>.help);
  Words<ConvertSource::Kind>(bound, "Kind")
      .value("FOLDER", ConvertSource::Kind::kFolder)
      .value("TABLE", ConvertSource::Kind::kTable)
      .value("PATHS", ConvertSource::Kind::kPaths)
      .value("ARCHIVES", ConvertSource::Kind::kArchives)
      .value("ANNOTATIONS", ConvertSource::Kind::kAnnotations);
  bound.def(nb::init<std::filesystem::path>(), "folder"_a)
      .def_static("table", &ConvertSource::Table, "file"_a, "A .csv, .tsv or .jsonl file")
      .def_static("paths", &ConvertSource::Paths, "paths"_a, "root"_a)
      .def_static("archives", &ConvertSource::Archives, "files"_a,
                  "Tar files in WebDataset's naming; or Parquet, TFRecord, RecordIO or .beton "
                  "files with images inside, whose values are columns")
      .def_static(
          "annotated", &ConvertSource::Annotated, "format"_a, "annotations"_a, "root"_a,
          "The images below root with the boxes, outlines, key points and captions of label "
          "files");
  option_list::ForEachMember<ConvertSource>([&](const auto& option) {
    const std::string_view name = option.name;
    if (name == "kind") {
      bound.def_ro(option.name, option.member, option.help);
      // The static functions above have these three names.
    } else if (name != "table" && name != "paths" && name != "archives") {
      AddAttribute(bound, KeywordOf(option));
    }
  });
  CompareByValue(bound, [](const ConvertSource& self, const ConvertSource& other) {
    bool same = true;
    option_list::ForEachMember<ConvertSource>([&](const auto& option) {
      same = same && nb::cast(self.*option.member).equal(nb::cast(other.*option.member));
    });
    return same;
  });
  module.def(
      "find_classes",
      [](const SourceOrFolder& given, unsigned threads) {
        const ConvertSource source = SourceOf(given);
        return Interruptibly(IsRemote(source),
                             [source, threads] { return FindClasses(source, threads); });
      },
      "source"_a, "threads"_a = 0,
      "The classes that the source's samples have, in the order of their numbers");
  module.def(
      "find_split_folders",
      [](const std::filesystem::path& root, bool of_any_name, bool follow_links) {
        return FindSplitFolders(root, {of_any_name, follow_links}).names;
      },
      "root"_a, "of_any_name"_a = false, "follow_links"_a = false, nb::call_guard<Released>(),
      "The folders directly below root that hold images, if they look like the parts of a split "
      "(train, val) and not like classes; each is then a source of its own. follow_links: also "
      "folders that links out of root lead to");
}

}  // namespace sluice::python
