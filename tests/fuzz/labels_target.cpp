// Label files of objects: COCO's JSON, Pascal VOC's XML, YOLO's texts and the class names next to
// them, DOTA's texts.
#include <fstream>

#include <sluice/error.h>

#include "tests/fuzz/targets.h"
#include "tests/pictures.h"
#include "tests/temporary_folder.h"
#include "writer/convert/sample_encoder.h"
#include "writer/shard_writer.h"
#include "writer/source/labels/annotations.h"

namespace sluice::fuzz {

namespace {

constexpr std::size_t kMaxAnnotated = 4;  // images that are converted

void WriteLabels(const std::filesystem::path& path, Bytes content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(content.data()),
             static_cast<std::streamsize>(content.size()));
}

// A folder with images/, next to which labels are written.
const std::filesystem::path& LabelledFolder() {
  static const test::TemporaryFolder folder;
  static const bool filled = [] {
    const Input jpeg = test::MakeJpeg(test::MakePicture(16, 8));
    WriteLabels(folder / "images/a.jpg", jpeg);
    WriteLabels(folder / "images/b.jpg", jpeg);
    return true;
  }();
  static_cast<void>(filled);
  return folder.path();
}

void ReadAs(AnnotationFormat format, const std::filesystem::path& labels) {
  const ConvertSource source =
      ConvertSource::Annotated(format, labels, LabelledFolder() / "images");
  SourceList list;
  list.SetRoot(source.root, {});
  try {
    list = ReadAnnotations(source, std::move(list), 1, {});
  } catch (const Error&) {
    return;
  }
  const Schema schema = list.MakeSchema();
  schema.Validate();
  const ConvertOptions options;
  SampleEncoder encoder(list, options, schema, 4096, 4096);
  for (std::size_t i = 0; i < std::min(kMaxAnnotated, list.sources.size()); ++i) {
    const Outcome outcome = encoder.Encode(i);
    if (!outcome.reason.empty()) continue;
    Promise(outcome.sample.fields.size() == schema.fields.size(), "each field has a value");
    std::size_t entries = 0;
    for (std::size_t f = 0; f < schema.fields.size(); ++f) {
      const Field& field = schema.fields[f];
      if (field.follows.empty() || field.kind != FieldKind::kVariable) continue;
      const std::size_t entry = field.elements() * SizeOf(field.dtype);
      const std::size_t bytes = outcome.sample.fields[f].bytes.size();
      Promise(bytes % entry == 0, "a field has whole entries");
      if (field.role == Role::kBoxes) entries = bytes / entry;
      Promise(bytes / entry == entries, "a field that follows boxes has an entry for each box");
    }
  }
}

}  // namespace

// The first byte chooses the kind of file.
void RunLabels(Bytes input) {
  if (input.empty()) return;
  const auto choice = std::to_integer<unsigned>(input[0]) % 5;
  const Bytes text = input.subspan(1);
  const std::filesystem::path& folder = LabelledFolder();
  if (choice == 0) {
    WriteLabels(folder / "coco.json", text);
    ReadAs(AnnotationFormat::kCoco, folder / "coco.json");
  } else if (choice == 1) {
    WriteLabels(folder / "voc/a.xml", text);
    ReadAs(AnnotationFormat::kVoc, folder / "voc");
  } else if (choice == 4) {
    WriteLabels(folder / "dota/a.txt", text);
    ReadAs(AnnotationFormat::kDota, folder / "dota");
  } else {
    WriteLabels(folder / "yolo" / (choice == 2 ? "a.txt" : "data.yaml"), text);
    ReadAs(AnnotationFormat::kYolo, folder / "yolo");
    std::filesystem::remove_all(folder / "yolo");
  }
}

std::vector<Input> LabelsSeeds() {
  const auto seed = [](char choice, std::string_view text) {
    const std::string whole = choice + std::string(text);
    return Input(AsBytes(whole).begin(), AsBytes(whole).end());
  };
  return {
      seed('\0', R"({"images":[{"id":1,"file_name":"a.jpg","width":16,"height":8},
{"id":2,"file_name":"b"}],"categories":[{"id":3,"name":"x","keypoints":["left","right"]}],
"annotations":[{"image_id":1,"category_id":3,"bbox":[1,1,5,5],"area":9,"iscrowd":0,
"segmentation":[[1,1,6,1,6,6]],"keypoints":[1,2,2,3,4,1]},{"image_id":2,"category_id":3,
"bbox":[0,0,16,8],"segmentation":{"size":[8,16],"counts":[3,5,120]},"iscrowd":1},
{"image_id":2,"category_id":3,"bbox":[0,0,9,8],"segmentation":{"size":[8,16],"counts":"35h3"}},
{"image_id":1,"caption":"a tram"}]})"),
      seed('\0', R"({"images":[{"id":1.0,"coco_url":"http://host/images/a.jpg"},
{"id":"2","file_name":"images\\b"}],"categories":[{"id":3,"name":"x"}],"annotations":[
{"id":9,"image_id":1,"category_id":3,"segmentation":[1,1,6,1,6,6]},
{"image_id":"2","category_id":3,"bbox":[],"segmentation":{"size":[8,16],"counts":[3,5,120]}}]})"),
      seed('\1',
           "<?xml version='1.0'?><annotation><filename>a.jpg</filename><size><width>16</width>"
           "<height>8</height></size><object><name>x&amp;y</name><difficult>1</difficult><bndbox>"
           "<xmin>1</xmin><ymin>2</ymin><xmax>9</xmax><ymax>8</ymax></bndbox></object>"
           "<!-- c --><b a='1'/><![CDATA[x]]></annotation>"),
      seed('\1',
           "<?xml version='1.0' encoding='gbk'?><annotation><object><name>\xc3\xa8&#233;&#x732B;"
           "</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>9</xmax><ymax>8</ymax></bndbox>"
           "</object></annotation>"),
      seed('\2', "0 0.5 0.5 0.5 0.25\n1 0 0 1 0 1 1\n"),
      seed('\3', "path: x\nkpt_shape: [17, 3]\nnames:\n  0: a\n  1: 'b'\n"),
      seed('\3', "names: [a, \"b\",\n  c]\n"),
      seed('\4', "imagesource:x\ngsd:0.15\n0 0 9 0 9 5 0 5 ship 0\n3 3 7 1 9 4 5 6 plane 1\n"),
  };
}

}  // namespace sluice::fuzz
