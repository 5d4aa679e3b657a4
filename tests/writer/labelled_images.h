// Three images to convert with label files, and functions that read values of the dataset.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include <sluice/convert.h>

#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/writer/converted.h"
#include "tests/writer/source_files.h"
#include "tests/writer/stored.h"

namespace sluice::test {

using Strings = std::vector<std::string>;
using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;

struct LabelledImages : TemporaryFolder {
  const std::filesystem::path images = path() / "images";
  LabelledImages() {
    for (const char* name : {"a.jpg", "b.jpg", "deep/c.jpg"})
      WriteSource(images / name, MakeJpeg(MakePicture(60, 40)));
  }
  ConvertSource Coco(const std::string& json) const {
    WriteSource(path() / "coco.json", json);
    return ConvertSource::Annotated(AnnotationFormat::kCoco, path() / "coco.json", images);
  }
  ConvertSummary Convert(const ConvertSource& source) const {
    ConvertOptions options;
    options.shards.keep_order = true;
    return ConvertBothWays(source, path() / "data", options);
  }
  StoredDataset Data() const { return ReadDataset(path() / "data"); }
};

template <class T>
std::vector<T> ValuesIn(const StoredDataset& data, const std::string& key, const char* field) {
  const std::size_t at = data.manifest.schema.Find(field);
  REQUIRE(at != Schema::kNone);
  const std::vector<std::byte>& bytes = data.Find(key).fields.at(at).bytes;
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

inline Strings ClassesOf(const StoredDataset& data, const char* field) {
  return data.manifest.schema.fields.at(data.manifest.schema.Find(field)).classes;
}

}  // namespace sluice::test
