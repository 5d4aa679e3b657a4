// Conversions of images with label files: COCO, Pascal VOC, YOLO, DOTA.
#include "writer/source/labels/annotations.h"

#include <sluice/convert.h>
#include <sluice/dataset_edit.h>
#include <sluice/error.h>

#include "format/disk/zstd.h"
#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/writer/labelled_images.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

constexpr const char* kImages =
    R"("images":[{"id":7,"file_name":"a.jpg","width":60,"height":40},{"id":3,"file_name":"b.jpg"}])";
constexpr const char* kCategories =
    R"("categories":[{"id":90,"name":"zebra"},{"id":2,"name":"owl"},{"id":18,"name":"dog"}])";

std::string CocoText(const std::string& annotations) {
  return std::string("{\"info\":{\"year\":[2017]},\"annotations\":[") + annotations + "]," +
         kImages + "," + kCategories + "}";
}

}  // namespace

TEST_CASE(
    "COCO's boxes and classes reach their images, with classes in the order of the categories") {
  const LabelledImages folder;
  const ConvertSummary summary = folder.Convert(folder.Coco(
      CocoText(R"({"id":1,"image_id":7,"category_id":18,"bbox":[10,5,20,10],"iscrowd":0},
                  {"id":2,"image_id":7,"category_id":2,"bbox":[0.5,0,10,40],"iscrowd":1},
                  {"id":3,"image_id":99,"category_id":2,"bbox":[0,0,1,1]})")));
  CHECK(summary.samples == 2);
  REQUIRE(summary.warnings.size() == 1);
  CHECK(summary.warnings[0] == "1 annotation is of an image that the file does not list");
  const StoredDataset data = folder.Data();
  CHECK(ClassesOf(data, "classes") == Strings{"owl", "dog", "zebra"});
  CHECK(ValuesIn<float>(data, "a.jpg", "boxes") == Floats{10, 5, 30, 15, 0.5, 0, 10.5, 40});
  CHECK(ValuesIn<std::int32_t>(data, "a.jpg", "classes") == Ints{1, 0});
  CHECK(ValuesIn<std::int32_t>(data, "a.jpg", "crowd") == Ints{0, 1});
  CHECK(ValuesIn<float>(data, "b.jpg", "boxes").empty());
  CHECK(data.manifest.schema.Find("mask") == Schema::kNone);
}

TEST_CASE("a COCO file without crowds or areas has the fields of one with some") {
  const LabelledImages folder;
  const auto convert = [&](const char* name, const std::string& annotations) {
    return sluice::Convert(folder.Coco(CocoText(annotations)), folder.path() / name);
  };
  convert("marked",
          R"({"image_id":7,"category_id":18,"bbox":[10,5,20,10],"iscrowd":1,"area":7.5})");
  const ConvertSummary plain =
      convert("plain", R"({"image_id":7,"category_id":18,"bbox":[1,2,3,4]})");
  CHECK(plain.warnings.empty());
  const StoredDataset data = ReadDataset(folder.path() / "plain");
  CHECK(ValuesIn<std::int32_t>(data, "a.jpg", "crowd") == Ints{0});
  CHECK(ValuesIn<float>(data, "a.jpg", "area") == Floats{12});
  CHECK(data.manifest.schema == ReadDataset(folder.path() / "marked").manifest.schema);
  const auto inputs = {folder.path() / "marked", folder.path() / "plain"};
  CHECK(MergeDatasets(inputs, folder.path() / "both", {Duplicates::kKeep}).made.samples == 4);
}

TEST_CASE("COCO's objects without an area get that of their shape or box, with a warning") {
  const LabelledImages folder;
  // A triangle of half of 8 x 6 pixels, and 9 pixels of runs.
  const ConvertSummary summary = folder.Convert(
      folder.Coco(CocoText(R"({"image_id":7,"category_id":2,"bbox":[0,0,9,9],"area":2.5},
                  {"image_id":7,"category_id":2,"bbox":[1,2,9,9],"segmentation":[[1,2,9,2,9,8]]},
                  {"image_id":7,"category_id":2,"bbox":[0,0,1,12],
                   "segmentation":{"size":[40,60],"counts":[3,9,2388]}},
                  {"image_id":7,"category_id":2,"bbox":[5,5,4,5]})")));
  CHECK(ValuesIn<float>(folder.Data(), "a.jpg", "area") == Floats{2.5, 24, 9, 20});
  REQUIRE(summary.warnings.size() == 1);
  CHECK_THAT(summary.warnings[0],
             ContainsSubstring("3 of 4 objects, such as one of a.jpg, have no area"));
}

TEST_CASE("merging keeps the ids of COCO's categories unless a class has two") {
  const LabelledImages folder;
  int sources = 0;
  const auto convert = [&](const std::string& categories) {
    const auto dataset = folder.path() / ("part" + std::to_string(++sources));
    sluice::Convert(
        folder.Coco(
            std::string(R"({"annotations":[{"image_id":7,"category_id":2,"bbox":[1,1,5,5]}],)") +
            kImages + R"(,"categories":[{"id":2,"name":"owl"})" + categories + "]}"),
        dataset);
    return dataset;
  };
  const auto dog = convert(R"(,{"id":18,"name":"dog"})"),
             cat = convert(R"(,{"id":7,"name":"cat"})");
  const auto other_dog = convert(R"(,{"id":19,"name":"dog"})");
  const auto merge = [&](const std::vector<std::filesystem::path>& inputs, const char* name) {
    return MergeDatasets(inputs, folder.path() / name, {Duplicates::kKeep}).made.warnings;
  };
  const auto attributes = [&](const char* name) {
    const Schema schema = ReadDataset(folder.path() / name).manifest.schema;
    return schema.fields.at(schema.Find("classes")).attributes;
  };
  const auto is_about_ids = [](const std::string& warning) {
    return warning.find("category_ids") != std::string::npos;
  };
  CHECK(std::ranges::count_if(merge({dog, cat}, "kept"), is_about_ids) == 0);
  CHECK(attributes("kept").at("category_ids") == "2,18,7");
  const std::vector<std::string> warnings = merge({dog, other_dog}, "lost");
  const auto found = std::ranges::find_if(warnings, is_about_ids);
  REQUIRE(found != warnings.end());
  CHECK_THAT(*found, ContainsSubstring(other_dog.string() + ": field \"classes\"") &&
                         ContainsSubstring("class \"dog\" has the id 18 in those and 19"));
  CHECK(attributes("lost").empty());
}

TEST_CASE("COCO's ids of images and categories and the sizes of sources stay known") {
  const LabelledImages folder;
  const auto convert = [&](const std::string& images) {
    folder.Convert(
        folder.Coco(R"({"annotations":[{"image_id":3,"category_id":18,"bbox":[0,0,9,9]}],)" +
                    images + "," + kCategories + "}"));
    return folder.Data();
  };
  const std::string sized = R"("images":[{"id":-7,"file_name":"a.jpg","width":60,"height":40},
                                         {"id":3,"file_name":"b.jpg","width":60,"height":40}])";
  const StoredDataset data = convert(sized);
  CHECK(ValuesIn<std::int64_t>(data, "a.jpg", "image_id") == std::vector<std::int64_t>{-7});
  CHECK(ValuesIn<std::int64_t>(data, "b.jpg", "image_id") == std::vector<std::int64_t>{3});
  CHECK(ValuesIn<std::int32_t>(data, "b.jpg", "source_size") == Ints{40, 60});
  const Schema& schema = data.manifest.schema;
  CHECK(schema.fields.at(schema.Find("classes")).attributes.at("category_ids") == "2,18,90");
}

TEST_CASE("COCO's texts as ids, and images without a size, make no such fields") {
  const LabelledImages folder;
  folder.Convert(folder.Coco(
      R"({"images":[{"id":"seven","file_name":"a.jpg"},{"id":"3","file_name":"b.jpg","width":60,"height":40}],
          "categories":[{"id":"x","name":"owl"}],
          "annotations":[{"image_id":"3","category_id":"x","bbox":[0,0,9,9]}]})"));
  const StoredDataset data = folder.Data();
  const Schema& schema = data.manifest.schema;
  CHECK(schema.Find("image_id") == Schema::kNone);
  CHECK(schema.Find("source_size") == Schema::kNone);
  CHECK(schema.fields.at(schema.Find("classes")).attributes.empty());
}

TEST_CASE("a mask can have 65535 classes and the background, and no more", "[no-asan]") {
  const LabelledImages folder;
  const auto coco = [&](int classes) {
    std::string text = R"({"images":[{"id":1,"file_name":"a.jpg"}],"categories":[)";
    for (int i = 0; i < classes; ++i)
      text += (i == 0 ? "" : ",") + ("{\"id\":" + std::to_string(i) + ",\"name\":\"c") +
              std::to_string(i) + "\"}";
    return folder.Coco(text + R"(],"annotations":[{"image_id":1,"category_id":)" +
                       std::to_string(classes - 1) +
                       R"(,"bbox":[0,0,60,40],"segmentation":[[0,0,60,0,60,40,0,40]]}]})");
  };
  const auto error = ErrorOf([&] { folder.Convert(coco(65'536)); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kLimit);
  folder.Convert(coco(65'535));
  CHECK(ClassesOf(folder.Data(), "mask").size() == 65'536);
}

TEST_CASE("COCO's outlines and runs become a mask of classes, with small objects over large ones") {
  const LabelledImages folder;
  // Runs go down the columns: 2 columns of 40 without an object, then 3 with one.
  folder.Convert(folder.Coco(CocoText(R"({"image_id":7,"category_id":2,"bbox":[10,10,4,4],"area":16,
                   "segmentation":[[10,10,14,10,14,14,10,14]]},
                  {"image_id":7,"category_id":90,"bbox":[0,0,60,40],"area":2400,
                   "segmentation":[[0,0,60,0,60,40,0,40]]},
                  {"image_id":3,"category_id":18,"bbox":[2,0,3,40],"area":120,"iscrowd":1,
                   "segmentation":{"size":[40,60],"counts":[80,120,2200]}})")));
  const StoredDataset data = folder.Data();
  CHECK(ClassesOf(data, "mask") == Strings{"background", "owl", "dog", "zebra"});
  const std::size_t at = data.manifest.schema.Find("mask");
  const auto pixel = [&](const char* key, std::size_t x, std::size_t y) {
    const StoredField& mask = data.Find(key).fields.at(at);
    REQUIRE(mask.width == 60);
    std::vector<std::byte> pixels(60 * 40);
    if (mask.codec == Codec::kRaw)
      pixels = mask.bytes;
    else
      REQUIRE(ZstdDecompress(mask.bytes, pixels));
    return std::to_integer<int>(pixels.at(y * 60 + x));
  };
  CHECK(pixel("a.jpg", 9, 10) == 3);
  CHECK(pixel("a.jpg", 10, 10) == 1);
  CHECK(pixel("a.jpg", 13, 13) == 1);
  CHECK(pixel("a.jpg", 14, 13) == 3);
  CHECK(pixel("b.jpg", 1, 39) == 0);
  CHECK(pixel("b.jpg", 2, 0) == 2);
  CHECK(pixel("b.jpg", 4, 39) == 2);
  CHECK(pixel("b.jpg", 5, 0) == 0);
}

TEST_CASE("COCO's key points are scaled with the image and dropped with their box") {
  const LabelledImages folder;
  const ConvertSource source = folder.Coco(
      R"({"images":[{"id":1,"file_name":"a.jpg"}],
          "categories":[{"id":1,"name":"person","keypoints":["nose","left_eye","right_eye"]}],
          "annotations":[
            {"image_id":1,"category_id":1,"bbox":[70,0,5,5],"keypoints":[71,1,2,0,0,0,72,1,2]},
            {"image_id":1,"category_id":1,"bbox":[0,0,60,40],"keypoints":[30,20,2,0,0,0,59,39,1]}
          ]})");
  ConvertOptions options;
  options.geometry.size = Size{30, 20};
  options.geometry.max_side.reset();
  const ConvertSummary summary = sluice::Convert(source, folder.path() / "data", options);
  CHECK(summary.boxes_dropped == 1);
  const StoredDataset data = folder.Data();
  CHECK(ValuesIn<float>(data, "a.jpg", "keypoints") == Floats{15, 10, 2, 0, 0, 0, 29.5, 19.5, 1});
  const Field& field = data.manifest.schema.fields.at(data.manifest.schema.Find("keypoints"));
  CHECK(field.role == Role::kKeypoints);
  CHECK(field.shape == std::vector<std::uint32_t>{3, 3});
  CHECK(field.attributes.at("flip_pairs") == "1-2");
}

TEST_CASE("COCO's captions are a list of texts, and parts that are not asked for are left out") {
  const LabelledImages folder;
  ConvertSource source = folder.Coco(CocoText(R"({"image_id":7,"caption":"a red tram"},
                              {"image_id":7,"caption":"trains"},
                              {"image_id":3,"category_id":2,"bbox":[1,1,2,2]})"));
  source.label_files.parts.boxes = false;
  folder.Convert(source);
  const StoredDataset data = folder.Data();
  REQUIRE(data.manifest.schema.fields.size() == 2);
  CHECK(AsText(data.Find("a.jpg").fields[1].bytes) == R"(["a red tram","trains"])");
  CHECK(AsText(data.Find("b.jpg").fields[1].bytes) == "[]");
}

TEST_CASE("an annotation of COCO's with a caption keeps its box and its mask") {
  const LabelledImages folder;
  folder.Convert(
      folder.Coco(CocoText(R"({"image_id":7,"category_id":18,"bbox":[10,5,20,10],"caption":"a dog",
                   "segmentation":[[10,5,30,5,30,15,10,15]]},
                  {"image_id":7,"category_id":null,"bbox":[],"caption":"a tram"})")));
  const StoredDataset data = folder.Data();
  CHECK(ValuesIn<float>(data, "a.jpg", "boxes") == Floats{10, 5, 30, 15});
  CHECK(ValuesIn<std::int32_t>(data, "a.jpg", "classes") == Ints{1});
  CHECK(data.manifest.schema.Find("mask") != Schema::kNone);
  const std::size_t captions = data.manifest.schema.Find("captions");
  REQUIRE(captions != Schema::kNone);
  CHECK(AsText(data.Find("a.jpg").fields[captions].bytes) == R"(["a dog","a tram"])");
}

TEST_CASE("NaN in a COCO file is null, and only an annotation that needs the number is damaged") {
  const LabelledImages folder;
  // The padding moves the words over the ends of the pieces in which the file is read.
  const std::string padding((1 << 16) - 120, ' ');
  for (std::size_t shift = 0; shift < 40; ++shift) {
    CAPTURE(shift);
    const ConvertSource source = folder.Coco(
        "{\"info\":{\"x\":NaN}," + padding + std::string(shift, ' ') +
        R"("annotations":[{"image_id":7,"category_id":2,"bbox":[1,2,3,4],"area":NaN,"score":-Infinity,
                          "iscrowd":Infinity},
                         {"image_id":7,"caption":"NaN \" NaN"},
                         {"id":55,"image_id":3,"category_id":18,"bbox":[NaN,2,3,4]}],)" +
        kImages + "," + kCategories + "}");
    const auto dataset = folder.path() / std::to_string(shift);
    const ConvertSummary summary = sluice::Convert(source, dataset);
    REQUIRE(summary.skipped.size() == 1);
    CHECK(summary.skipped[0].path == "b.jpg");
    CHECK_THAT(summary.skipped[0].reason,
               ContainsSubstring("coco.json: annotation 55: its bbox has NaN") &&
                   ContainsSubstring("remove the annotation"));
    const StoredDataset data = ReadDataset(dataset);
    CHECK(ValuesIn<float>(data, "a.jpg", "boxes") == Floats{1, 2, 4, 6});
    CHECK(ValuesIn<std::int32_t>(data, "a.jpg", "crowd") == Ints{0});
    CHECK(AsText(data.Find("a.jpg").fields[data.manifest.schema.Find("captions")].bytes) ==
          R"(["NaN \" NaN"])");
  }
}

TEST_CASE("an annotation of COCO's with NaN is named with its id and the member that has it") {
  for (const auto& [annotation, words] : std::initializer_list<std::pair<const char*, const char*>>{
           {R"("category_id":NaN,"bbox":[1,2,3,4])", "its category_id has NaN"},
           {R"("category_id":2,"segmentation":[[1,2,NaN,4,5,6]])", "its segmentation has NaN"},
           {R"("category_id":2,"bbox":[1,2,3,4],"keypoints":[1,-Infinity,2])",
            "its keypoints has NaN, Infinity"}}) {
    const LabelledImages folder;
    CAPTURE(words);
    const ConvertSummary summary = folder.Convert(
        folder.Coco(CocoText(R"({"id":7,"image_id":3,"category_id":2,"bbox":[1,2,3,4]},)"
                             R"({"id":41,"image_id":7,)" +
                             std::string(annotation) + "}")));
    REQUIRE(summary.skipped.size() == 1);
    CHECK_THAT(summary.skipped[0].reason,
               ContainsSubstring("annotation 41: ") && ContainsSubstring(words));
  }
  const LabelledImages folder;
  const auto error = ErrorOf([&] {
    folder.Convert(
        folder.Coco(CocoText(R"({"id":41,"image_id":NaN,"category_id":2,"bbox":[1,2,3,4]})")));
  });
  REQUIRE(error);
  CHECK_THAT(error->what(), ContainsSubstring("annotation 41: its image_id has NaN"));
}

TEST_CASE("a number of COCO's that no double holds is named as one") {
  const LabelledImages folder;
  const auto error =
      ErrorOf([&] { folder.Convert(folder.Coco(CocoText(R"({"id":41,"image_id":1e999})"))); });
  REQUIRE(error);
  CHECK_THAT(error->what(),
             ContainsSubstring("too large for 64 bits (1e999)") && ContainsSubstring("byte "));
}

TEST_CASE("a caption of COCO's that is null is a missing one") {
  const LabelledImages folder;
  const ConvertSummary summary = folder.Convert(
      folder.Coco(CocoText(R"({"image_id":7,"caption":null},{"image_id":3,"caption":"owls"})")));
  CHECK(summary.skipped.size() == 0);
  const StoredDataset data = folder.Data();
  CHECK(AsText(data.Find("a.jpg").fields[1].bytes) == "[]");
  CHECK(AsText(data.Find("b.jpg").fields[1].bytes) == R"(["owls"])");
}

TEST_CASE(
    "a warning names a category of COCO's that only groups others and is a class all the same") {
  const LabelledImages folder;
  const auto coco = [&](const std::string& categories, int used) {
    return folder.Coco(R"({"categories":[)" + categories + "]," + kImages +
                       R"(,"annotations":[{"image_id":7,"bbox":[1,2,3,4],"category_id":)" +
                       std::to_string(used) + "}]}");
  };
  // Roboflow's form.
  const std::string exported = R"({"id":0,"name":"farm","supercategory":"none"},
      {"id":1,"name":"cow","supercategory":"farm"},{"id":2,"name":"pig","supercategory":"farm"})";
  ConvertSource source = coco(exported, 2);
  const ConvertSummary summary = folder.Convert(source);
  CHECK(ClassesOf(folder.Data(), "classes") == Strings{"farm", "cow", "pig"});
  REQUIRE(summary.warnings.size() == 1);
  CHECK_THAT(summary.warnings[0], ContainsSubstring("\"farm\"") && ContainsSubstring("class 0") &&
                                      ContainsSubstring("class numbers count it"));

  source.label.classes = {"cow", "pig"};
  CHECK(sluice::Convert(source, folder.path() / "named").warnings.empty());
  CHECK(sluice::Convert(coco(exported, 0), folder.path() / "used").warnings.empty());
  // COCO's own form: a group is not a category, or is its own category.
  const auto own = coco(R"({"id":1,"name":"person","supercategory":"person"},
      {"id":2,"name":"cat","supercategory":"animal"})",
                        2);
  CHECK(sluice::Convert(own, folder.path() / "own").warnings.empty());
}

TEST_CASE("COCO's annotations without any place are the classes of whole images") {
  const LabelledImages folder;
  const ConvertSource one_each = folder.Coco(
      CocoText(R"({"id":1,"image_id":7,"category_id":90},{"id":2,"image_id":3,"category_id":2})"));
  const ConvertSummary summary = folder.Convert(one_each);
  CHECK(summary.samples == 2);
  CHECK(summary.class_counts == std::vector<std::uint64_t>{1, 0, 1});
  const StoredDataset data = folder.Data();
  CHECK(ClassesOf(data, "label") == Strings{"owl", "dog", "zebra"});
  CHECK(ValuesIn<std::int32_t>(data, "a.jpg", "label") == Ints{2});
  CHECK(ValuesIn<std::int32_t>(data, "b.jpg", "label") == Ints{0});
  CHECK(data.manifest.schema.Find("boxes") == Schema::kNone);

  const ConvertSource several = folder.Coco(CocoText(
      R"({"image_id":7,"category_id":90},{"image_id":7,"category_id":2},{"image_id":3,"category_id":2})"));
  const ConvertSummary other = sluice::Convert(several, folder.path() / "several");
  CHECK(other.samples == 1);
  REQUIRE(other.skipped.size() == 1);
  CHECK_THAT(other.skipped[0].reason, ContainsSubstring("it has 2 annotations"));
}

TEST_CASE("an image that COCO describes as larger than images can be is left out") {
  const LabelledImages folder;
  const ConvertSummary summary = folder.Convert(folder.Coco(
      R"({"images":[{"id":1,"file_name":"a.jpg","width":2147483648,"height":40},
                    {"id":2,"file_name":"b.jpg"}],
          "categories":[{"id":1,"name":"cat"}],
          "annotations":[{"image_id":2,"category_id":1,"bbox":[1,2,3,4]}]})"));
  REQUIRE(summary.skipped.size() == 1);
  CHECK_THAT(summary.skipped[0].reason, ContainsSubstring("2147483648x40 pixels"));
}

TEST_CASE(
    "a COCO file whose ids are texts in one list and numbers in another is refused in words") {
  const LabelledImages folder;
  const auto error = ErrorOf([&] {
    folder.Convert(folder.Coco(CocoText(R"({"image_id":"7","category_id":2,"bbox":[1,2,3,4]})")));
  });
  REQUIRE(error);
  CHECK_THAT(error->sentence(), ContainsSubstring("7 is a text in one of the two lists"));
}

TEST_CASE("images with unusable annotations are left out, with a reason") {
  const LabelledImages folder;
  const auto [annotation, reason] = GENERATE(Catch::Generators::table<const char*, const char*>({
      {R"({"image_id":7,"category_id":2,"bbox":[1,2,3]})", "a box has four numbers"},
      {R"({"image_id":7,"category_id":2,"keypoints":[1,1,2]})", "has no bbox"},
      {R"({"image_id":7,"category_id":2},{"image_id":3,"category_id":2,"bbox":[1,2,3,4]})",
       "has no bbox"},
      {R"({"image_id":7,"category_id":2,"caption":"x"},{"image_id":3,"category_id":2,"bbox":[1,2,3,4]})",
       "has no bbox"},
      {R"({"image_id":7,"bbox":[1,2,3,4],"caption":"x"})", "has no category_id"},
      {R"({"image_id":7,"category_id":"2","bbox":[1,2,3,4]})", "write both as numbers"},
      {R"({"image_id":7,"bbox":[1,2,3,4]})", "has no category_id"},
      {R"({"image_id":7,"category_id":5,"bbox":[1,2,3,4]})",
       "its category_id 5 is not the id of one of the categories"},
      {R"({"image_id":7,"category_id":2,"bbox":[1,2,3,4],"segmentation":[[1,2,3]]})",
       "half a corner"},
      {R"({"image_id":7,"category_id":2,"bbox":[1,2,3,4],"segmentation":{"size":[40,60],"counts":"!"}})",
       "runs of its mask are damaged"},
      {R"({"image_id":7,"category_id":2,"bbox":[1,2,3,4],"segmentation":{"size":[40,60],"counts":[9999]}})",
       "of 9999 pixels in all, but 60x40 are 2400"},
      {R"({"image_id":7,"category_id":2,"bbox":[1,2,3,4],"segmentation":{"size":[40,60],"counts":[5,5]}})",
       "of 10 pixels in all, but 60x40 are 2400"},
      {R"({"image_id":7,"category_id":2,"bbox":[1,2,3,4],"segmentation":{"size":[40,60],"counts":["2300","100"]}})",
       "a run that is not a whole number"},
      {R"({"image_id":7,"category_id":2,"bbox":[1,2,3,4],"segmentation":{"size":[41,60],"counts":[2460]}})",
       "are for 60x41 pixels"},
  }));
  CAPTURE(annotation);
  const ConvertSummary summary = folder.Convert(folder.Coco(CocoText(annotation)));
  CHECK(summary.samples == 1);
  REQUIRE(summary.skipped.size() == 1);
  CHECK(summary.skipped[0].path == "a.jpg");
  CHECK_THAT(summary.skipped[0].reason, ContainsSubstring(reason));
}

TEST_CASE("an image whose size differs from the one in its label file is left out") {
  const LabelledImages folder;
  WriteSource(folder.images / "a.jpg",
              WithOrientation(MakeJpeg(MakePicture(40, 60)), 6));  // upright 60x40
  const ConvertSource source =
      folder.Coco(CocoText(R"({"image_id":7,"category_id":2,"bbox":[1,2,3,4]})"));
  CHECK(folder.Convert(source).samples == 2);
  WriteSource(folder.images / "a.jpg", MakeJpeg(MakePicture(60, 41)));
  const ConvertSummary summary = sluice::Convert(source, folder.path() / "other");
  REQUIRE(summary.skipped.size() == 1);
  CHECK(summary.skipped[0].reason == "has 60x41 pixels, but its label file describes 60x40");
}

TEST_CASE("JSON that is not a COCO file is refused, and the error names the file") {
  const LabelledImages folder;
  const std::string deep(40, '[');
  for (const std::string text : {"[1]", "{\"images\":[", "", "7", "{}", "{\"images\":[{\"id\":1}]}",
                                 "{\"images\":[{\"file_name\":\"a.jpg\"}]}"}) {
    CAPTURE(text);
    const auto error = ErrorOf([&] { folder.Convert(folder.Coco(text)); });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kCorrupt);
    CHECK_THAT(error->file(), ContainsSubstring("coco.json"));
  }
  const auto error = ErrorOf([&] { folder.Convert(folder.Coco("{\"images\":" + deep)); });
  CHECK_THAT(error->sentence(), ContainsSubstring("nests too deeply"));
}

namespace {
bool IsAboutFirstPixels(const std::string& warning) {
  return warning.starts_with("1 of 2 objects, such as one of a.xml, have an xmin or ymin below 1");
}
}  // namespace

TEST_CASE("Pascal VOC's coordinates begin at 1, and an image is found by the name of its .xml") {
  const LabelledImages folder;
  const auto add = [&](const char* name, const std::string& inside) {
    WriteSource(folder.path() / "voc" / name,
                "<?xml version=\"1.0\"?><!-- made by hand -->\n<annotation verified=\"yes\">" +
                    inside + "</annotation>\n");
  };
  add("a.xml",
      "<filename>a.jpg</filename><size><width>60</width><height>40</height></size>"
      "<object><name>owl &amp; dog</name><difficult>1</difficult>"
      "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>60</xmax><ymax>40</ymax></bndbox>"
      "<part><name>head</name></part></object>"
      "<object><name>ant</name><bndbox><ymin> 3.5</ymin><xmin>11</xmin><xmax>20</xmax>"
      "<ymax>20</ymax></bndbox></object>");
  add("deep/c.xml", "<filename>IMG_000.JPEG</filename>");
  add("b.xml", "<filename>b.jpg</filename><object><name>ant</name></object>");
  WriteSource(folder.path() / "voc/d.xml", std::string("<annotation><object></annotation>"));
  const ConvertSummary summary = folder.Convert(
      ConvertSource::Annotated(AnnotationFormat::kVoc, folder.path() / "voc", folder.images));
  const StoredDataset data = folder.Data();
  CHECK(data.Keys() == Strings{"a.jpg", "deep/c.jpg"});
  CHECK(ValuesIn<float>(data, "a.jpg", "boxes") == Floats{0, 0, 60, 40, 10, 2.5, 20, 20});
  CHECK(ClassesOf(data, "classes") == Strings{"ant", "owl & dog"});
  CHECK(ValuesIn<std::int32_t>(data, "a.jpg", "classes") == Ints{1, 0});
  CHECK(ValuesIn<std::int32_t>(data, "a.jpg", "difficult") == Ints{1, 0});
  CHECK(std::ranges::count_if(summary.warnings, IsAboutFirstPixels) == 0);
  REQUIRE(summary.skipped.size() == 2);
  CHECK(summary.skipped[0].path == "b.xml");
  CHECK(summary.skipped[0].reason == "has object without bndbox");
  CHECK_THAT(summary.skipped[1].reason,
             ContainsSubstring("is not valid XML: mismatched tag, at line 1, byte 23"));
}

TEST_CASE(
    "a VOC file whose image does not exist is left out, and the reason names the missing file") {
  const LabelledImages folder;
  WriteSource(folder.path() / "voc/a.xml", std::string("<annotation></annotation>"));
  WriteSource(folder.path() / "voc/x.xml", std::string("<annotation></annotation>"));
  WriteSource(folder.path() / "voc/y.xml",
              std::string("<annotation><filename>IMG_1.jpg</filename></annotation>"));
  WriteSource(folder.images / "z.jpg", MakeJpeg(MakePicture(60, 40)));
  WriteSource(folder.images / "z.png", MakePng(MakePicture(60, 40)));
  WriteSource(folder.path() / "voc/z.xml", std::string("<annotation></annotation>"));
  const ConvertSummary summary = folder.Convert(
      ConvertSource::Annotated(AnnotationFormat::kVoc, folder.path() / "voc", folder.images));
  REQUIRE(summary.skipped.size() == 3);
  CHECK(summary.skipped[0].reason ==
        "x.xml: its image does not exist, and neither does an image with an ending added");
  CHECK(summary.skipped[1].reason ==
        "y.xml (whose <filename> IMG_1.jpg does not exist): its image does not exist, and neither "
        "does an image with an ending added");
  CHECK_THAT(summary.skipped[2].reason, ContainsSubstring("give the path with its ending"));
}

TEST_CASE("a warning counts VOC's boxes that begin at 0, since its pixels count from 1") {
  const LabelledImages folder;
  const std::string object = "<object><name>owl</name><bndbox><xmax>9</xmax><ymax>9</ymax><xmin>";
  WriteSource(folder.path() / "voc/a.xml",
              "<annotation>" + object + "0</xmin><ymin>3</ymin></bndbox></object>" + object +
                  "1</xmin><ymin>1</ymin></bndbox></object></annotation>");
  const ConvertSummary summary = folder.Convert(
      ConvertSource::Annotated(AnnotationFormat::kVoc, folder.path() / "voc", folder.images));
  CHECK(ValuesIn<float>(folder.Data(), "a.jpg", "boxes") == Floats{0, 2, 9, 9, 0, 0, 9, 9});
  CHECK(ValuesIn<std::int32_t>(folder.Data(), "a.jpg", "difficult") == Ints{0, 0});
  CHECK(std::ranges::count_if(summary.warnings, IsAboutFirstPixels) == 1);
}

TEST_CASE("a folder of VOC's labels that holds no .xml is refused") {
  const LabelledImages folder;
  const auto error = ErrorOf([&] {
    folder.Convert(ConvertSource::Annotated(AnnotationFormat::kVoc, folder.images, folder.images));
  });
  REQUIRE(error);
  CHECK(error->sentence() == "holds no .xml file");
}

TEST_CASE("VOC's classes named by whole numbers keep these numbers, and a \"?\" is then refused") {
  const LabelledImages folder;
  const auto convert = [&](const char* third) {
    std::string objects;
    for (const char* name : {"2", "10", third}) {
      objects += std::string("<object><name>") + name +
                 "</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox>"
                 "</object>";
    }
    WriteSource(folder.path() / "voc/a.xml", "<annotation>" + objects + "</annotation>");
    folder.Convert(
        ConvertSource::Annotated(AnnotationFormat::kVoc, folder.path() / "voc", folder.images));
  };
  convert("0");
  CHECK(ValuesIn<std::int32_t>(folder.Data(), "a.jpg", "classes") == Ints{2, 10, 0});
  const auto error = ErrorOf([&] { convert("?"); });
  REQUIRE(error);
  CHECK_THAT(error->sentence(), ContainsSubstring("the class \"?\" among whole numbers"));
}

TEST_CASE(
    "VOC's labels may lie next to their images or in Annotations/, but not twice for one image") {
  const LabelledImages folder;
  const auto label = [](const std::string& image) {
    return "<annotation><filename>" + image + "</filename></annotation>";
  };
  const auto add = [&](const std::string& place, const std::string& text) {
    WriteSource(folder.path() / place, text);
  };
  const auto convert = [&](const char* labels, const char* images) {
    std::filesystem::remove_all(folder.path() / "data");
    return folder.Convert(ConvertSource::Annotated(AnnotationFormat::kVoc, folder.path() / labels,
                                                   folder.path() / images));
  };
  const FileBytes jpeg = MakeJpeg(MakePicture(20, 20));
  for (const char* image : {"beside/a.jpg", "set/JPEGImages/a.jpg", "named/a.jpg", "named/b.jpg"})
    WriteSource(folder.path() / image, jpeg);
  add("beside/a.xml", label("a.jpg"));
  CHECK(convert("beside", "beside").skipped.empty());
  CHECK(folder.Data().Keys() == Strings{"a.jpg"});
  add("set/Annotations/a.xml", label("a.jpg"));
  add("set/ImageSets/Main/train.txt", "a\n");
  CHECK(convert("set", "set").skipped.empty());
  CHECK(folder.Data().Keys() == Strings{"JPEGImages/a.jpg"});
  add("names/a.xml", label("a.jpg"));
  add("names/b.xml", label("a.jpg"));  // as a copy of a.xml would be: it still names a.jpg
  const ConvertSummary summary = convert("names", "named");
  REQUIRE(summary.skipped.size() == 1);
  CHECK_THAT(summary.skipped[0].reason, ContainsSubstring("correct one of the two"));
  CHECK(folder.Data().Keys() == Strings{"a.jpg"});
}

TEST_CASE("YOLO's fractions become pixels, and the .yaml next to the labels names the classes") {
  const LabelledImages folder;
  WriteSource(folder.path() / "set/labels/a.txt",
              std::string("1 0.5 0.5 0.5 0.25\n\n0 0.1 0.1 0.2 0.2\r\n"));
  WriteSource(folder.path() / "set/labels/deep/c.txt", std::string("2 0 0 0.5 0 0.5 0.5\n"));
  WriteSource(folder.path() / "set/data.yaml",
              std::string("path: ../x\ntrain: images # here\nnames:\n  0: cat\n  1: 'big dog'\n"
                          "  2: owl  # at night\nnc: 3\n"));
  const ConvertSummary summary = folder.Convert(ConvertSource::Annotated(
      AnnotationFormat::kYolo, folder.path() / "set/labels", folder.images));
  REQUIRE(summary.warnings.size() == 1);
  CHECK(summary.warnings[0] == "1 image has no label file, and no box");
  const StoredDataset data = folder.Data();
  CHECK(ClassesOf(data, "classes") == Strings{"cat", "big dog", "owl"});
  CHECK(ValuesIn<float>(data, "a.jpg", "boxes") == Floats{15, 15, 45, 25, 0, 0, 12, 8});
  CHECK(ValuesIn<std::int32_t>(data, "a.jpg", "classes") == Ints{1, 0});
  CHECK(ValuesIn<float>(data, "deep/c.jpg", "boxes") == Floats{0, 0, 30, 20});
  CHECK(ValuesIn<float>(data, "b.jpg", "boxes").empty());
  CHECK(ClassesOf(data, "mask") == Strings{"background", "cat", "big dog", "owl"});
}

TEST_CASE("label.classes_of gives label files the class numbers of a dataset of boxes") {
  const LabelledImages folder;
  const auto coco = [&](const std::string& annotations) {
    return folder.Coco("{\"annotations\":[" + annotations + "]," + kImages +
                       R"(,"categories":[{"id":1,"name":"dog"},{"id":2,"name":"owl"}]})");
  };
  folder.Convert(folder.Coco(CocoText(R"({"image_id":7,"category_id":2,"bbox":[0,0,60,40],
                   "segmentation":[[0,0,60,0,60,40,0,40]]})")));  // owl, dog, zebra
  const std::filesystem::path train = folder.path() / "data", val = folder.path() / "val";
  const auto numbers = [&](ConvertSource source) {
    std::filesystem::remove_all(val);
    source.label.classes_of = train;
    Convert(source, val);
    const StoredDataset data = ReadDataset(val);
    CHECK(ClassesOf(data, "classes") == Strings{"owl", "dog", "zebra"});
    return ValuesIn<std::int32_t>(data, "a.jpg", "classes");
  };
  const char* const boxes = R"({"image_id":7,"category_id":2,"bbox":[0,0,6,4]},
                               {"image_id":7,"category_id":1,"bbox":[0,0,6,4]})";
  CHECK(numbers(coco(boxes)) == Ints{0, 1});

  // A class of a .yaml keeps its name, not its number there. Without names, numbers are the
  // dataset's.
  WriteSource(folder.path() / "yolo/a.txt", std::string("1 0.5 0.5 0.5 0.5\n0 0.5 0.5 0.5 0.5\n"));
  const ConvertSource yolo =
      ConvertSource::Annotated(AnnotationFormat::kYolo, folder.path() / "yolo", folder.images);
  CHECK(numbers(yolo) == Ints{1, 0});
  WriteSource(folder.path() / "yolo/data.yaml", std::string("names: [zebra, owl]\n"));
  ConvertSource given = yolo;  // as for the parts of a split, each with a .yaml of its own
  given.label.classes = {"owl", "zebra"};
  Convert(given, folder.path() / "given");
  CHECK(ValuesIn<std::int32_t>(ReadDataset(folder.path() / "given"), "a.jpg", "classes") ==
        Ints{0, 1});
  WriteSource(folder.path() / "yolo/data.yaml", std::string("names: [zebra, owl, cat]\n"));
  CHECK(numbers(yolo) == Ints{0, 2});
  WriteSource(folder.path() / "yolo/b.txt", std::string("2 0.5 0.5 0.5 0.5\n"));
  std::filesystem::remove_all(val);
  ConvertSource unknown = yolo;
  unknown.label.classes_of = train;
  const ConvertSummary summary = Convert(unknown, val);
  REQUIRE(summary.skipped.size() == 1);
  CHECK(summary.skipped[0].reason == "b.txt: its class \"cat\" is not one of the given classes");

  WriteSource(folder.path() / "voc/a.xml",
              std::string("<annotation><object><name>zebra</name><bndbox><xmin>1</xmin><ymin>1"
                          "</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></object></annotation>"));
  CHECK(numbers(ConvertSource::Annotated(AnnotationFormat::kVoc, folder.path() / "voc",
                                         folder.images)) == Ints{2});

  // A dataset that has only a mask gives its classes, too, and without the background.
  std::filesystem::remove_all(train);
  ConvertSource masks = coco(R"({"image_id":7,"category_id":2,"bbox":[0,0,60,40],
                                 "segmentation":[[0,0,60,0,60,40,0,40]]})");
  masks.label.classes = {"owl", "dog", "zebra"};
  masks.label_files.parts.boxes = false;
  folder.Convert(masks);
  CHECK(numbers(coco(boxes)) == Ints{0, 1});
}

TEST_CASE("boxes and masks that are appended get the class numbers of the dataset") {
  const LabelledImages folder;
  folder.Convert(folder.Coco(CocoText(R"({"image_id":7,"category_id":2,"bbox":[0,0,60,40],
                   "segmentation":[[0,0,60,0,60,40,0,40]]})")));
  WriteSource(folder.path() / "more/x.jpg", MakeJpeg(MakePicture(60, 40)));
  WriteSource(folder.path() / "more.json", std::string(R"({"images":[{"id":1,"file_name":"x.jpg"}],
                              "categories":[{"id":1,"name":"zebra"},{"id":2,"name":"owl"}],
                              "annotations":[{"image_id":1,"category_id":1,"bbox":[0,0,60,40],
                                "segmentation":[[0,0,60,0,60,40,0,40]]}]})"));
  AppendToDataset(folder.path() / "data",
                  ConvertSource::Annotated(AnnotationFormat::kCoco, folder.path() / "more.json",
                                           folder.path() / "more"));
  CHECK(ClassesOf(folder.Data(), "mask") == Strings{"background", "owl", "dog", "zebra"});
  CHECK(ValuesIn<std::int32_t>(folder.Data(), "x.jpg", "classes") == Ints{2});
  const StoredDataset data = folder.Data();
  const Schema& schema = data.manifest.schema;
  CHECK(schema.fields.at(schema.Find("classes")).attributes.at("category_ids") == "2,18,90");
}

TEST_CASE("the flip_idx of a .yaml gives the pairs of key points that change places in a flip") {
  // A point's number in the mirrored image, as Ultralytics writes it.
  for (const auto& [list, pairs] : std::vector<std::pair<std::string, std::string>>{
           {"flip_idx: [0, 2, 1, 4, 3]", "1-2,3-4"},
           {"flip_idx: [0, 2, 1, 3, 4]  # only the eyes", "1-2"},
           {"flip_idx:\n- 0\n- 2\n- 1\n- 4\n- 3", "1-2,3-4"},
           {"flip_idx: [0, 2, 1,\n  4, 3]", "1-2,3-4"},
           {"flip_idx: [0, 1, 2, 3, 4]", "none"},
           {"flip_idx: []", ""},
           {"", ""}}) {
    CAPTURE(list);
    const YoloNames names = ParseYoloYaml(list + "\nkpt_shape:\n  - 5\n  - 3\nnames: [person]\n");
    CHECK(names.points == 5);
    CHECK(names.flip_pairs == pairs);
  }
  for (const char* bad : {"[0, 1]", "[1, 2, 0, 3, 4]", "[0, 1, 2, 3, 5]", "left"}) {
    CAPTURE(bad);
    const std::string text = std::string("kpt_shape: [5, 3]\nflip_idx: ") + bad + "\n";
    CHECK_THAT(ErrorOf([&] { ParseYoloYaml(text); })->sentence(),
               ContainsSubstring("flip_idx does not exchange pairs"));
  }
  const LabelledImages folder;
  WriteSource(folder.path() / "set/labels/a.txt",
              std::string("0 .5 .5 .5 .5 .4 .4 2 .6 .4 2 .5 .5 0\n"));
  WriteSource(folder.path() / "set/data.yaml",
              std::string("kpt_shape: [3, 3]\nflip_idx: [1, 0, 2]\nnames: [face]\n"));
  folder.Convert(ConvertSource::Annotated(AnnotationFormat::kYolo, folder.path() / "set/labels",
                                          folder.images));
  const StoredDataset data = folder.Data();
  const Field& points = data.manifest.schema.fields.at(data.manifest.schema.Find("keypoints"));
  CHECK(points.attributes.at("flip_pairs") == "0-1");
}

TEST_CASE("YOLO's labels in which all objects have four corners are outlines only on request") {
  const LabelledImages folder;
  WriteSource(folder.path() / "labels/a.txt", std::string("0 0 0 .5 0 .5 .5 0 .5\n"));
  WriteSource(folder.path() / "labels/b.txt", std::string("0 .1 0 .5 .2 .4 .5 0 .4\n"));
  ConvertSource source =
      ConvertSource::Annotated(AnnotationFormat::kYolo, folder.path() / "labels", folder.images);
  const auto error = ErrorOf([&] { folder.Convert(source); });
  REQUIRE(error);
  CHECK_THAT(error->sentence(), ContainsSubstring("all 2 objects have four corners") &&
                                    ContainsSubstring("--outlines"));
  source.label_files.outlines = true;
  folder.Convert(source);
  CHECK(ValuesIn<float>(folder.Data(), "a.jpg", "boxes") == Floats{0, 0, 30, 20});
  CHECK(folder.Data().manifest.schema.Find("mask") != Schema::kNone);
  source.label_files.outlines = false;
  WriteSource(folder.path() / "labels/deep/c.txt", std::string("0 0 0 .5 0 .5 .5\n"));
  std::filesystem::remove_all(folder.path() / "data");
  CHECK_NOTHROW(folder.Convert(source));
}

TEST_CASE("YOLO's oriented boxes keep their corners, and their angle where a crop cuts them") {
  const LabelledImages folder;
  // A diamond around the middle of 60x40 pixels, one around its right edge, and one beyond the
  // crop.
  WriteSource(folder.path() / "labels/a.txt", std::string("1 .5 .25 .667 .5 .5 .75 .333 .5\n"
                                                          "0 1 .25 1 .25 1 .75 1 .75\n"));
  WriteSource(folder.path() / "labels/b.txt", std::string("0 0 0 .25 0 .25 .5 0 .5\n"));
  ConvertSource source =
      ConvertSource::Annotated(AnnotationFormat::kYolo, folder.path() / "labels", folder.images);
  source.label_files.oriented = true;
  const ConvertSummary summary = folder.Convert(source);
  const Schema& schema = folder.Data().manifest.schema;
  const Field& boxes = schema.fields.at(schema.Find("boxes"));
  CHECK(boxes.shape == std::vector<std::uint32_t>{8});
  CHECK(boxes.coordinates == "corners-pixels");
  CHECK(schema.Find("mask") == Schema::kNone);
  CHECK(summary.boxes_dropped == 1);  // the second has no area
  CHECK(ValuesIn<std::int32_t>(folder.Data(), "a.jpg", "classes") == Ints{1});
  const Floats whole = ValuesIn<float>(folder.Data(), "a.jpg", "boxes");
  const Floats expected = {30, 10, 40.02F, 20, 30, 30, 19.98F, 20};
  REQUIRE(whole.size() == 8);
  for (std::size_t i = 0; i < 8; ++i)
    CHECK(whole[i] == Approx(expected[i]).margin(0.01));

  // The middle 20x40 of 60x40, from 20 to 40: it cuts the square of b.jpg off whole, and nothing of
  // the diamond.
  std::filesystem::remove_all(folder.path() / "data");
  ConvertOptions options;
  options.geometry.max_side.reset();
  options.geometry.size = Size{10, 20};
  const ConvertSummary cut = sluice::Convert(source, folder.path() / "data", options);
  CHECK(cut.boxes_dropped == 2);
  CHECK(ValuesIn<float>(folder.Data(), "b.jpg", "boxes").empty());
  source.label_files.outlines = true;
  const auto error = ErrorOf([&] { folder.Convert(source); });
  REQUIRE(error);
  CHECK_THAT(error->sentence(), ContainsSubstring("not both"));
}

TEST_CASE("A line that is no oriented box names its numbers") {
  const LabelledImages folder;
  WriteSource(folder.path() / "labels/a.txt", std::string("0 .5 .5 .2 .2\n"));
  WriteSource(folder.path() / "labels/b.txt", std::string("0 0 0 .25 0 .25 .5 0 .5\n"));
  ConvertSource source =
      ConvertSource::Annotated(AnnotationFormat::kYolo, folder.path() / "labels", folder.images);
  source.label_files.oriented = true;
  const ConvertSummary summary = folder.Convert(source);
  REQUIRE(summary.skipped.size() == 1);
  CHECK_THAT(summary.skipped[0].reason, ContainsSubstring("4 numbers after the class"));
}

TEST_CASE(
    "DOTA's label files give oriented boxes in pixels, classes by name and which are difficult") {
  const LabelledImages folder;
  WriteSource(folder.path() / "set/labelTxt/a.txt",
              std::string("imagesource:GoogleEarth\r\ngsd:0.146343590398\r\n"
                          "30 10 40 20.5 30 30 20 20 small-vehicle 1\r\n"
                          "1.0\t2.0 11.0 2.0 11.0 8.0 1.0 8.0  plane\r\n"));
  WriteSource(folder.path() / "set/labelTxt/deep/c.txt",
              std::string("50 30 70 30 70 38 50 38 plane 0\n-9 0 -1 0 -1 5 -9 5 ship 2\n"));
  const ConvertSource source = ConvertSource::Annotated(
      AnnotationFormat::kDota, folder.path() / "set/labelTxt", folder.images);
  const ConvertSummary summary = folder.Convert(source);
  const Schema& schema = folder.Data().manifest.schema;
  CHECK(schema.fields.at(schema.Find("boxes")).coordinates == "corners-pixels");
  CHECK(ClassesOf(folder.Data(), "classes") == Strings{"plane", "ship", "small-vehicle"});
  CHECK(ValuesIn<float>(folder.Data(), "a.jpg", "boxes") ==
        Floats{30, 10, 40, 20.5F, 30, 30, 20, 20, 1, 2, 11, 2, 11, 8, 1, 8});
  CHECK(ValuesIn<std::int32_t>(folder.Data(), "a.jpg", "classes") == Ints{2, 0});
  CHECK(ValuesIn<std::int32_t>(folder.Data(), "a.jpg", "difficult") == Ints{1, 0});
  CHECK(ValuesIn<float>(folder.Data(), "b.jpg", "boxes").empty());  // has no label file
  // The picture's right edge, at 60, cuts one, and the other lies outside.
  CHECK(ValuesIn<float>(folder.Data(), "deep/c.jpg", "boxes") ==
        Floats{50, 30, 60, 30, 60, 38, 50, 38});
  CHECK(summary.boxes_dropped == 1);
}

TEST_CASE("DOTA's lines that are not an object leave their image out, with the line's number") {
  const LabelledImages folder;
  const auto [line, reason] = GENERATE(table<const char*, const char*>({
      {"0 .5 .5 .2 .2", "it has 5 words"},
      {"1 1 9 1 9 9 1 9 large vehicle 0", "it has 11 words"},
      {"1 1 9 1 9 9 1 nan ship 0", "\"nan\" is not a number"},
      {"1 1 9 1 9 9 1 9x ship 0", "\"9x\" is not a number"},
      {"1 1 9 1 9 9 1 9 ship no", "ends in \"no\""},
      {"ship 1 1 9 1 9 9 1 9", "\"ship\" is not a number"},
  }));
  WriteSource(folder.path() / "labels/a.txt", "gsd:1\n\n" + std::string(line) + "\n");
  WriteSource(folder.path() / "labels/b.txt", std::string("1 1 9 1 9 9 1 9 ship 0\ngsd:1\n"));
  WriteSource(folder.path() / "labels/deep/c.txt", std::string("1 1 9 1 9 9 1 9 ship 0\n"));
  const ConvertSummary summary = folder.Convert(
      ConvertSource::Annotated(AnnotationFormat::kDota, folder.path() / "labels", folder.images));
  CHECK(folder.Data().Keys() == Strings{"deep/c.jpg"});
  REQUIRE(summary.skipped.size() == 2);
  CHECK_THAT(summary.skipped[0].reason,
             ContainsSubstring("a.txt: line 3: ") && ContainsSubstring(reason));
  CHECK_THAT(summary.skipped[1].reason, ContainsSubstring("b.txt: line 2: \"gsd:1\" is not"));
}

TEST_CASE("DOTA's classes that are not among the given ones leave their image out") {
  const LabelledImages folder;
  WriteSource(folder.path() / "labels/a.txt", std::string("1 1 9 1 9 9 1 9 ship 0\n"));
  WriteSource(folder.path() / "labels/b.txt", std::string("1 1 9 1 9 9 1 9 harbor 0\n"));
  WriteSource(folder.path() / "labels/gone.txt", std::string("1 1 9 1 9 9 1 9 bridge 0\n"));
  ConvertSource source =
      ConvertSource::Annotated(AnnotationFormat::kDota, folder.path() / "labels", folder.images);
  source.label.classes = {"plane", "ship"};
  const ConvertSummary summary = folder.Convert(source);
  CHECK(ValuesIn<std::int32_t>(folder.Data(), "a.jpg", "classes") == Ints{1});
  REQUIRE(summary.skipped.size() == 1);
  CHECK_THAT(summary.skipped[0].reason, ContainsSubstring("\"harbor\" is not one of the given"));
  REQUIRE_FALSE(summary.passed_over.empty());
  CHECK(summary.passed_over[0].path == "gone.txt");
}

TEST_CASE("images of COCO and labels of YOLO are found if their names differ in case or ending") {
  const LabelledImages folder;
  ConvertSummary summary = folder.Convert(folder.Coco(
      R"({"images":[{"id":1,"file_name":"A.JPG"},{"id":2,"file_name":"deep/c.png"},)"
      R"({"id":3,"file_name":"b.jpg"}],"annotations":[{"id":1,"image_id":3,"category_id":1,)"
      R"("bbox":[1,2,3,4]}],"categories":[{"id":1,"name":"ant"}]})"));
  CHECK(folder.Data().Keys() == Strings{"a.jpg", "deep/c.jpg", "b.jpg"});
  CHECK_THAT(summary.warnings.at(0), ContainsSubstring("2 paths do not exist as written"));
  std::filesystem::remove_all(folder.path() / "data");
  for (const char* name : {"labels/A.txt", "labels/Deep/c.TXT"})
    WriteSource(folder.path() / name, std::string("0 0.5 0.5 0.5 0.25\n"));
  summary = folder.Convert(
      ConvertSource::Annotated(AnnotationFormat::kYolo, folder.path() / "labels", folder.images));
  CHECK(ValuesIn<float>(folder.Data(), "a.jpg", "boxes").size() == 4);
  CHECK(ValuesIn<float>(folder.Data(), "deep/c.jpg", "boxes").size() == 4);
  CHECK_THAT(summary.warnings.at(0),
             ContainsSubstring("2 paths do not exist as written, and were taken for others, such "
                               "as a.txt, which is A.txt"));
}

TEST_CASE("YOLO's labels of a.jpg are not taken for those of A.jpg") {
  const TemporaryFolder folder;
  for (const char* name : {"images/A.jpg", "images/a.jpg"})
    WriteSource(folder.path() / name, MakeJpeg(MakePicture(60, 40)));
  WriteSource(folder.path() / "labels/a.txt", std::string("0 0.5 0.5 0.5 0.25\n"));
  const TemporaryFolder out;
  const ConvertSummary summary =
      Convert(ConvertSource::Annotated(AnnotationFormat::kYolo, folder.path(), folder.path()),
              out.path() / "data");
  for (const std::string& warning : summary.warnings)
    CHECK_THAT(warning, !ContainsSubstring("taken for"));
  const StoredDataset data = ReadDataset(out.path() / "data");
  CHECK(ValuesIn<float>(data, "images/A.jpg", "boxes").empty());
  CHECK(ValuesIn<float>(data, "images/a.jpg", "boxes").size() == 4);
}

TEST_CASE("images without a description, and labels without an image, are skipped and reported") {
  const LabelledImages folder;
  WriteSource(folder.path() / "voc/a.xml",
              std::string("<annotation><filename>a.jpg</filename></annotation>"));
  const auto listed = [](const ConvertSummary& summary) {
    Strings text;
    for (const LeftOut& one : summary.passed_over)
      text.push_back(one.path + ": " + one.reason);
    return text;
  };
  ConvertSummary summary = folder.Convert(
      ConvertSource::Annotated(AnnotationFormat::kVoc, folder.path() / "voc", folder.images));
  CHECK(listed(summary) ==
        Strings{"b.jpg: an image without an .xml", "deep/c.jpg: an image without an .xml"});
  std::filesystem::remove_all(folder.path() / "data");
  summary = folder.Convert(
      folder.Coco(CocoText(R"({"id":1,"image_id":7,"category_id":18,"bbox":[10,5,20,10]})")));
  CHECK(listed(summary) == Strings{"deep/c.jpg: an image that the JSON does not list"});
  std::filesystem::remove_all(folder.path() / "data");
  WriteSource(folder.path() / "yolo/a.txt", std::string("0 0.5 0.5 0.5 0.5\n"));
  WriteSource(folder.path() / "yolo/deep/gone.txt", std::string("0 0.5 0.5 0.5 0.5\n"));
  WriteSource(folder.path() / "yolo/README.txt", std::string("made by hand\n"));
  WriteSource(folder.path() / "yolo/classes.txt", std::string("cat\n"));
  summary = folder.Convert(
      ConvertSource::Annotated(AnnotationFormat::kYolo, folder.path() / "yolo", folder.images));
  CHECK(listed(summary) == Strings{"deep/gone.txt: a label file without an image"});
}

TEST_CASE("a .yaml whose count of classes differs from its names gives a warning") {
  const LabelledImages folder;
  WriteSource(folder.path() / "labels/a.txt", std::string("0 0.5 0.5 0.5 0.5\n"));
  WriteSource(folder.path() / "labels/data.yaml", std::string("nc: 3\nnames: [cat, dog]\n"));
  const ConvertSummary summary = folder.Convert(
      ConvertSource::Annotated(AnnotationFormat::kYolo, folder.path() / "labels", folder.images));
  REQUIRE(summary.warnings.size() == 2);
  CHECK(summary.warnings[0] == "the .yaml names 2 classes, but says that there are 3 (nc)");
}

TEST_CASE("YOLO's key points have the shape that the .yaml states") {
  const LabelledImages folder;
  WriteSource(folder.path() / "labels/a.txt", std::string("0 0.5 0.5 1 1 0.25 0.5 0.75 1\n"));
  WriteSource(folder.path() / "labels/data.yaml",
              std::string("kpt_shape: [2, 2]\nnames: ['person', \"b, c\"]\n"));
  folder.Convert(
      ConvertSource::Annotated(AnnotationFormat::kYolo, folder.path() / "labels", folder.images));
  const StoredDataset data = folder.Data();
  CHECK(ClassesOf(data, "classes") == Strings{"person", "b, c"});
  CHECK(ValuesIn<float>(data, "a.jpg", "keypoints") == Floats{15, 20, 2, 45, 40, 2});
}

TEST_CASE("YOLO's lines that are not an object leave their image out") {
  const LabelledImages folder;
  const auto [line, reason] = GENERATE(Catch::Generators::table<const char*, const char*>({
      {"0 0.5 0.5 0.5", "no class and four numbers"},
      {"-1 0 0 1 1", "not a whole number"},
      {"0.5 0 0 1 1", "not a whole number"},
      {"0 0 0 1 nan", "not finite"},
      {"0 0.5 0.5 -0.005 0.5", "negative width"},
      {"0 0 0 1 x", "is not a number"},
      {"0 0 0 1 1 0.5", "make neither"},
      {"7 0 0 1 1", "beyond the 1 named"},
  }));
  CAPTURE(line);
  WriteSource(folder.path() / "labels/a.txt", std::string(line));
  WriteSource(folder.path() / "labels/classes.txt", std::string("cat\n"));
  const ConvertSummary summary = folder.Convert(
      ConvertSource::Annotated(AnnotationFormat::kYolo, folder.path() / "labels", folder.images));
  CHECK(summary.samples == 2);
  REQUIRE(summary.skipped.size() == 1);
  CHECK(summary.skipped[0].path == "a.jpg");
  CHECK_THAT(summary.skipped[0].reason, ContainsSubstring(reason));
}

}  // namespace sluice::test
