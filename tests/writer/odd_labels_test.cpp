// Label files in forms that the authors of COCO, VOC, YOLO and DOTA do not write, but other tools
// do.
#include <sluice/error.h>

#include "tests/format/error_of.h"
#include "tests/writer/labelled_images.h"
#include "writer/source/labels/annotations.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

std::string OwlText(const std::string& images, const std::string& annotations) {
  return "{\"images\":[" + images + "],\"annotations\":[" + annotations +
         "],\"categories\":[{\"id\":1,\"name\":\"owl\"}]}";
}

constexpr const char* kOwlImage = R"({"id":1,"file_name":"a.jpg"})";
constexpr const char* kOwlBox = R"({"image_id":1,"category_id":1,"bbox":[10,5,20,10]})";

}  // namespace

TEST_CASE(
    "a COCO file that lists an image twice gives one sample, and two images with one id are "
    "refused") {
  const LabelledImages folder;
  folder.Convert(folder.Coco(OwlText(std::string(kOwlImage) + "," + kOwlImage, kOwlBox)));
  CHECK(folder.Data().Keys() == Strings{"a.jpg"});
  const auto error = ErrorOf([&] {
    folder.Convert(
        folder.Coco(OwlText(std::string(kOwlImage) + R"(,{"id":1,"file_name":"b.jpg"})", kOwlBox)));
  });
  REQUIRE(error);
  CHECK_THAT(error->sentence(), ContainsSubstring("1 is a.jpg and b.jpg"));
}

TEST_CASE("COCO's categories with one id and two names are refused, repeated ones are not") {
  const LabelledImages folder;
  const auto text = [](const std::string& name) {
    return std::string("{\"images\":[") + kOwlImage + "],\"annotations\":[" + kOwlBox +
           "],\"categories\":[{\"id\":1,\"name\":\"owl\"},{\"id\":1,\"name\":\"" + name + "\"}]}";
  };
  CHECK(folder.Convert(folder.Coco(text("owl"))).samples == 1);
  const auto error = ErrorOf([&] { folder.Convert(folder.Coco(text("cat"))); });
  REQUIRE(error);
  CHECK_THAT(error->sentence(), ContainsSubstring("1 is owl and cat; give each category an id"));
}

TEST_CASE("a box that ends before it begins leaves its image out, both for COCO and for VOC") {
  const LabelledImages folder;
  WriteSource(
      folder.path() / "voc/a.xml",
      std::string("<annotation><object><name>owl</name><bndbox><xmin>30</xmin><ymin>1</ymin>"
                  "<xmax>10</xmax><ymax>40</ymax></bndbox></object></annotation>"));
  WriteSource(folder.path() / "voc/b.xml", std::string("<annotation></annotation>"));
  const bool coco = GENERATE(true, false);
  const ConvertSummary summary = folder.Convert(
      coco
          ? folder.Coco(OwlText(std::string(kOwlImage) + R"(,{"id":2,"file_name":"b.jpg"})",
                                R"({"id":3,"image_id":1,"category_id":1,"bbox":[10,5,-2,10]})"))
          : ConvertSource::Annotated(AnnotationFormat::kVoc, folder.path() / "voc", folder.images));
  CHECK(folder.Data().Keys() == Strings{"b.jpg"});
  REQUIRE(summary.skipped.size() == 1);
  CHECK_THAT(summary.skipped[0].reason, ContainsSubstring("ends before it begins"));
}

TEST_CASE("COCO's images are found by LVIS's URLs, and by paths from a parent folder or Windows") {
  const LabelledImages folder;
  const std::string image =
      GENERATE(R"("coco_url":"http://host/images/a.jpg")", R"("file_name":"images/a.jpg")",
               R"("file_name":"images/a")", R"("file_name":"images\\a.jpg")");
  CAPTURE(image);
  const std::string text = OwlText(R"({"id":1.0,)" + image + "}", kOwlBox);
  const ConvertSummary summary = folder.Convert(folder.Coco(text));
  CHECK(folder.Data().Keys() == Strings{"a.jpg"});
  CHECK(summary.warnings.size() == 1);
}

TEST_CASE("a missing box of a COCO annotation is drawn around its outlines or runs") {
  const LabelledImages folder;
  // Runs go down the columns of 40 pixels: the first run, of 43, ends before row 3 of column 1.
  folder.Convert(folder.Coco(
      OwlText(kOwlImage,
              R"({"image_id":1,"category_id":1,"segmentation":[[10,10,14,10,14,15],[2,3,4,5,6,20]]},
             {"image_id":1,"category_id":1,"bbox":[],
              "segmentation":{"size":[40,60],"counts":[43,2,38,3,2314]}},
             {"image_id":1,"category_id":1,"bbox":null,
              "segmentation":{"size":[40,60],"counts":[79,2,2319]}})")));
  CHECK(ValuesIn<float>(folder.Data(), "a.jpg", "boxes") ==
        Floats{2, 3, 14, 20, 1, 3, 3, 6, 1, 0, 3, 40});
}

TEST_CASE("images of a COCO file in panoptic form are left out, with that form as the reason") {
  const LabelledImages folder;
  const auto error = ErrorOf([&] {
    folder.Convert(folder.Coco(OwlText(kOwlImage, R"({"image_id":1,"segments_info":[]})")));
  });
  REQUIRE(error);
  CHECK_THAT(error->sentence(), ContainsSubstring("panoptic form"));
}

TEST_CASE(
    "Pascal VOC's class names are read from UTF-16, older encodings and character references") {
  const LabelledImages folder;
  // The beginning of the file up to <annotation>, the class name as the file has it, and the name.
  const auto [begin, inside, name] =
      GENERATE(Catch::Generators::table<std::string, std::string, std::string>({
          {"<?xml version='1.0' encoding='ISO-8859-1'?><annotation>", "caf\xe9", "café"},
          {"<?xml version=\"1.0\" encoding=\"gb2312\"?><annotation>", "\xc3\xa8", "猫"},
          // Says UTF-16, but is UTF-8.
          {"<?xml version=\"1.0\" encoding=\"utf-16\"?><annotation>", "caf\xc3\xa9", "café"},
          {"<annotation>", "caf&#233;&#x732B;&bogus;&amp;", "café猫&bogus;&"},
          // An empty line before the declaration, a document type, and an & that is not escaped.
          {"\n<?xml version='1.0'?>\n<!DOCTYPE annotation SYSTEM \"voc.dtd\"><annotation>", "R&D",
           "R&D"},
          {"<annotation>", "<![CDATA[&]]>", "&"},
          {"<annotation>", "caf\xe9", "caf\\xe9"},  // an older encoding that it does not name
          // A byte order mark, and UTF-16.
          {std::string("\xff\xfe<\0"
                       "a\0n\0n\0o\0t\0a\0t\0i\0o\0n\0>\0",
                       26),
           "\x2b\x73", "猫"},
      }));
  CAPTURE(name);
  const bool wide = begin[0] == '\xff';
  const auto as_written = [&](const std::string& plain) {
    std::string written;
    for (const char c : plain) {
      written += c;
      if (wide) written += '\0';
    }
    return written;
  };
  WriteSource(folder.path() / "voc/a.xml",
              begin + as_written("<object><name>") + inside +
                  as_written("</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax>"
                             "<ymax>2</ymax></bndbox></object></annotation>"));
  folder.Convert(
      ConvertSource::Annotated(AnnotationFormat::kVoc, folder.path() / "voc", folder.images));
  CHECK(ClassesOf(folder.Data(), "classes") == Strings{name});
}

TEST_CASE("a VOC file in an unsupported encoding, or not in the one it names, is left out") {
  const LabelledImages folder;
  const auto add = [&](const char* name, const std::string& encoding, const char* inside) {
    WriteSource(folder.path() / "voc" / name, "<?xml version=\"1.0\" encoding=\"" + encoding +
                                                  "\"?><annotation>" + inside + "</annotation>");
  };
  add("a.xml", "ISO-2022-CN", "");
  add("b.xml", "Shift_JIS", "\x81");
  add("deep/c.xml", "US-ASCII", "");
  const ConvertSummary summary = folder.Convert(
      ConvertSource::Annotated(AnnotationFormat::kVoc, folder.path() / "voc", folder.images));
  REQUIRE(summary.skipped.size() == 2);
  CHECK_THAT(summary.skipped[0].reason, ContainsSubstring("ISO-2022-CN, which is not read"));
  CHECK_THAT(summary.skipped[1].reason, ContainsSubstring("is not valid in this encoding"));
}

TEST_CASE(
    "YOLO's texts may begin with a byte order mark, and numbers that are not fractions are "
    "refused") {
  const LabelledImages folder;
  WriteSource(folder.path() / "labels/a.txt", std::string("\xef\xbb\xbf"
                                                          "0 0.5 0.5 0.5 1.005\r\n"));
  WriteSource(folder.path() / "labels/b.txt", std::string("0 30 20 10 10\n"));
  WriteSource(folder.path() / "labels/deep/c.txt", std::string(""));
  const ConvertSource source =
      ConvertSource::Annotated(AnnotationFormat::kYolo, folder.path() / "labels", folder.images);
  const ConvertSummary summary = folder.Convert(source);
  CHECK(ValuesIn<float>(folder.Data(), "a.jpg", "boxes") == Floats{15, 0, 45, 40});
  CHECK(ValuesIn<float>(folder.Data(), "deep/c.jpg", "boxes").empty());
  REQUIRE(summary.skipped.size() == 1);
  CHECK_THAT(summary.skipped[0].reason,
             ContainsSubstring("has the number 30.0, but YOLO's are fractions"));
}

TEST_CASE("DOTA's texts may begin with a byte order mark, and be images' neighbours") {
  const LabelledImages folder;
  WriteSource(folder.images / "a.txt", std::string("\xef\xbb\xbf"
                                                   "'gsd':null\r\n1 1 9 1 9 9 1 9 ship 0"));
  folder.Convert(ConvertSource::Annotated(AnnotationFormat::kDota, folder.images, folder.images));
  CHECK(ValuesIn<float>(folder.Data(), "a.jpg", "boxes") == Floats{1, 1, 9, 1, 9, 9, 1, 9});
}

TEST_CASE("texts of YOLO and DOTA may be in UTF-16, with a byte order mark or without one") {
  const auto wide = [](const std::string& text, bool big, bool mark) {
    std::string bytes = !mark ? "" : big ? "\xfe\xff" : "\xff\xfe";
    for (const char letter : text)
      bytes += big ? std::string{'\0', letter} : std::string{letter, '\0'};
    return bytes;
  };
  const auto [big, mark] = GENERATE(Catch::Generators::table<bool, bool>(
      {{false, true}, {true, true}, {false, false}, {true, false}}));
  const LabelledImages folder;
  WriteSource(folder.path() / "labels/a.txt", wide("1 0.5 0.5 0.5 1\r\n", big, mark));
  WriteSource(folder.path() / "labels/classes.txt", wide("cat\nowl\n", big, mark));
  WriteSource(folder.path() / "dota/a.txt", wide("gsd:1\n1 1 9 1 9 9 1 9 ship 0\n", big, mark));
  folder.Convert(
      ConvertSource::Annotated(AnnotationFormat::kYolo, folder.path() / "labels", folder.images));
  CHECK(ValuesIn<float>(folder.Data(), "a.jpg", "boxes") == Floats{15, 0, 45, 40});
  CHECK(ClassesOf(folder.Data(), "classes") == Strings{"cat", "owl"});
  std::filesystem::remove_all(folder.path() / "data");
  folder.Convert(
      ConvertSource::Annotated(AnnotationFormat::kDota, folder.path() / "dota", folder.images));
  CHECK(ValuesIn<float>(folder.Data(), "a.jpg", "boxes") == Floats{1, 1, 9, 1, 9, 9, 1, 9});
}

TEST_CASE("a NUL in a label file is shown, and does not end the message") {
  const LabelledImages folder;
  WriteSource(folder.path() / "labels/a.txt", std::string("1 1 9 1 9 9 1 \0009 ship 0\n", 22));
  WriteSource(folder.path() / "labels/b.txt", std::string("1 1 9 1 9 9 1 9 ship 0\n"));
  const ConvertSummary summary = folder.Convert(
      ConvertSource::Annotated(AnnotationFormat::kDota, folder.path() / "labels", folder.images));
  REQUIRE(summary.skipped.size() == 1);
  CHECK_THAT(summary.skipped[0].reason,
             ContainsSubstring("line 1: \"\\x009\" is not a number, and an object begins"));
}

TEST_CASE("YOLO's reader names the option for DOTA's label files") {
  const LabelledImages folder;
  const std::string line = GENERATE("imagesource:GoogleEarth", "gsd:0.15", "1 1 9 1 9 9 1 9 ship 0",
                                    "1 1 9 1 9 9 1 9 small-vehicle");
  WriteSource(folder.path() / "labels/a.txt", line + "\n");
  WriteSource(folder.path() / "labels/b.txt", std::string("0 0.5 0.5 0.5 1\n"));
  const ConvertSummary summary = folder.Convert(
      ConvertSource::Annotated(AnnotationFormat::kYolo, folder.path() / "labels", folder.images));
  REQUIRE(summary.skipped.size() == 1);
  CHECK_THAT(
      summary.skipped[0].reason,
      ContainsSubstring("line 1: it is a line of DOTA's labels; read them as such (--dota)"));
}

TEST_CASE("COCO's outlines of fewer than three corners are left out, with a warning") {
  const LabelledImages folder;
  ConvertSource source = folder.Coco(
      R"({"annotations":[
        {"id":5,"image_id":7,"category_id":1,"bbox":[1,2,9,9],"segmentation":[[1,2,9,9]]},
        {"id":6,"image_id":7,"category_id":1,"bbox":[1,2,9,9],"segmentation":[1,2]},
        {"id":8,"image_id":7,"category_id":1,"bbox":[1,2,9,9],
         "segmentation":[[1,2,9,2,9,8],[1,2,9,9]]},
        {"id":9,"image_id":7,"category_id":1,"bbox":[1,2,9,9],"segmentation":[[]]}],
        "images":[{"id":7,"file_name":"a.jpg"}],"categories":[{"id":1,"name":"owl"}]})");
  source.label_files.parts.instances = true;
  const ConvertSummary summary = folder.Convert(source);
  CHECK(summary.skipped.empty());
  CHECK(ValuesIn<float>(folder.Data(), "a.jpg", "boxes").size() == 16);
  const auto warns = [](const std::string& warning) {
    return warning.find(
               "3 of 4 objects, such as one of a.jpg, have outlines of fewer than three corners, "
               "which are left out (pycocotools takes") != std::string::npos;
  };
  CHECK(std::ranges::count_if(summary.warnings, warns) == 1);
}

TEST_CASE(
    "a YOLO .yaml whose class names cannot be read is refused, and the error names the file") {
  const LabelledImages folder;
  WriteSource(folder.path() / "labels/a.txt", std::string("0 0.5 0.5 0.5 0.5\n"));
  WriteSource(folder.path() / "labels/data.yaml", std::string("names: *cats\n"));
  const auto error = ErrorOf([&] {
    folder.Convert(
        ConvertSource::Annotated(AnnotationFormat::kYolo, folder.path() / "labels", folder.images));
  });
  REQUIRE(error);
  CHECK(error->file() == (folder.path() / "labels/data.yaml").string());
}

TEST_CASE("unmatched brackets in a YOLO .yaml do not harm its classes") {
  const auto read = [](const std::string& shape) {
    return ParseYoloYaml("kpt_shape: " + shape + "\nnames: [owl]\n");
  };
  for (const char* const shape : {"] 17, 3 [", "17, 3]", "", "]", "["}) {
    CAPTURE(shape);
    CHECK(read(shape).classes == Strings{"owl"});
    CHECK(read(shape).points == 0);
  }
  CHECK(read("[17, 3").classes == Strings{"owl"});  // whether its points are used does not matter
}

TEST_CASE("class names in a YOLO .yaml are read by YAML's rules, or refused") {
  CHECK(ParseYoloYaml("names: ['it''s', \"q\\\"x\", plain's, \"a, b\"]\n").classes ==
        std::vector<std::string>{"it's", "q\"x", "plain's", "a, b"});
  CHECK(ParseYoloYaml("names:\n  0: 'it''s'  # one\n  1: b # two\n").classes ==
        std::vector<std::string>{"it's", "b"});
  for (const char* const odd : {"names: &n [a, b]\n", "names: [\"\\u00e9\"]\n", "names: ['a]\n",
                                "names: [*n, b]\n", "names: ['a' b]\n"}) {
    CAPTURE(odd);
    CHECK(ErrorOf([&] { ParseYoloYaml(odd); }).has_value());
  }
}

TEST_CASE("a YOLO folder without a label for any image, or that does not exist, is refused") {
  const LabelledImages folder;
  WriteSource(folder.path() / "labels/train/a.txt", std::string("0 0.5 0.5 0.5 1\n"));
  const auto [place, reason] = GENERATE(Catch::Generators::table<const char*, const char*>({
      {"labels", "no label file for any image, such as a.txt for a.jpg"},
      {"labels/train/a.txt", "is not a folder"},
      {"nowhere", "is not there"},
  }));
  const auto error = ErrorOf([&, place = place] {
    folder.Convert(
        ConvertSource::Annotated(AnnotationFormat::kYolo, folder.path() / place, folder.images));
  });
  REQUIRE(error);
  CHECK_THAT(error->sentence(), ContainsSubstring(reason));
}

}  // namespace sluice::test
