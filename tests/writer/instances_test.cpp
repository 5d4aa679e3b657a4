// Outlines and runs stored by object. Expected runs are those of pycocotools 2.0.
#include <sluice/convert.h>
#include <sluice/error.h>
#include <sluice/instances.h>

#include "format/disk/zstd.h"
#include "format/pixels/outline.h"
#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/writer/labelled_images.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

// "outline 1 2 3 4; runs 5 6" for each object, as Python would see the numbers.
std::vector<std::string> ObjectsOf(Bytes value) {
  Instances instances;
  const char* const defect = instances.Open(value, 60, 40);
  REQUIRE((defect == nullptr ? std::string() : std::string(defect)) == "");
  std::vector<std::string> objects(instances.size());
  for (std::size_t i = 0; i < instances.size(); ++i) {
    instances.ForEachShape(i, [&](const InstanceShape& shape) {
      objects[i] += shape.runs ? "r" : "o";
      for (std::size_t k = 0; k < shape.count(); ++k)
        objects[i] +=
            " " + std::to_string(shape.runs ? LoadAt<std::uint32_t>(shape.numbers, 4 * k)
                                            : std::uint32_t(LoadAt<float>(shape.numbers, 4 * k)));
      objects[i] += ";";
    });
  }
  return objects;
}

std::vector<std::byte> InstancesOf(const StoredDataset& data, const char* key) {
  const StoredField& field = data.Find(key).fields.at(data.manifest.schema.Find("instances"));
  if (field.codec == Codec::kRaw) return field.bytes;
  std::vector<std::byte> value(ZstdContentBytes(field.bytes).value());
  REQUIRE(ZstdDecompress(field.bytes, value));
  return value;
}

std::vector<std::byte> WordBytes(const std::vector<std::uint32_t>& words) {
  const Bytes bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

const char* Opened(const std::vector<std::byte>& value) {
  Instances instances;
  const char* const defect = instances.Open(value, 2, 2);
  return defect == nullptr ? "" : defect;
}

}  // namespace

TEST_CASE("joined outlines have the runs that pycocotools gives them") {
  const std::vector<double> first = {2.3, 1.2, 14.9, 3.4, 12.0, 10.7, 4.4, 9.1};
  const std::vector<double> second = {0, 6, 5, 6, 5, 11.5, 0, 11.5};
  std::vector<PixelRun> runs;
  REQUIRE(AppendRuns(first, 16, 12, runs));
  REQUIRE(AppendRuns(second, 16, 12, runs));
  JoinRuns(runs);
  // mask.merge(mask.frPyObjects([first, second], 12, 16))
  CHECK(RunLengths(runs, 192) == std::vector<std::uint32_t>{6,  6, 6, 6, 6, 6, 1, 4, 1, 6, 2,
                                                            10, 2, 7, 5, 8, 4, 8, 4, 8, 4, 8,
                                                            5,  7, 5, 8, 4, 6, 6, 4, 8, 2, 19});
}

TEST_CASE("COCO's outlines, runs and crowds are stored by object, if they are asked for") {
  const LabelledImages folder;
  ConvertSource source = folder.Coco(
      R"({"annotations":[
        {"image_id":7,"category_id":1,"bbox":[1,2,9,9],"segmentation":[[1,2,9,2,9,8],[20,2,29,2,29,8]]},
        {"image_id":7,"category_id":1,"bbox":[0,0,9,9]},
        {"image_id":7,"category_id":1,"bbox":[90,90,9,9],"segmentation":[[90,90,99,90,99,99]]},
        {"image_id":7,"category_id":1,"bbox":[0,0,1,9],"iscrowd":1,
         "segmentation":{"size":[40,60],"counts":[3,9,2388]}}],
        "images":[{"id":7,"file_name":"a.jpg"},{"id":3,"file_name":"b.jpg"}],
        "categories":[{"id":1,"name":"owl"}]})");
  SECTION("with the boxes that are kept") {
    source.label_files.parts.instances = true;
    const ConvertSummary summary = folder.Convert(source);
    REQUIRE(summary.warnings.size() == 1);
    CHECK_THAT(summary.warnings[0],
               ContainsSubstring("1 of 4 objects, such as one of a.jpg, have no outline or runs: "
                                 "their masks are empty"));
    const StoredDataset data = folder.Data();
    CHECK(data.manifest.schema.fields.at(data.manifest.schema.Find("instances")).follows ==
          "image");
    CHECK(ObjectsOf(InstancesOf(data, "a.jpg")) ==
          Strings{"o 1 2 9 2 9 8;o 20 2 29 2 29 8;", "", "r 3 9 2388;"});
    CHECK(ObjectsOf(InstancesOf(data, "b.jpg")).empty());
  }
  SECTION("not by default") {
    CHECK(folder.Convert(source).warnings.empty());
    CHECK(folder.Data().manifest.schema.Find("instances") == Schema::kNone);
  }
  SECTION("not from files that have none") {
    source = folder.Coco(
        R"({"annotations":[{"image_id":7,"category_id":1,"bbox":[1,2,9,9]}],
            "images":[{"id":7,"file_name":"a.jpg"}],"categories":[{"id":1,"name":"owl"}]})");
    source.label_files.parts.instances = true;
    const auto error = ErrorOf([&] { folder.Convert(source); });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kNotFound);
    CHECK_THAT(error->what(), ContainsSubstring("no outlines or runs"));
  }
  SECTION("not from files whose images are all left out, which is then said") {
    source = folder.Coco(
        R"({"annotations":[{"id":4,"image_id":7,"category_id":1,"bbox":[1,2,9,9],
            "segmentation":[[1,2,9,2,9]]}],
            "images":[{"id":7,"file_name":"a.jpg"}],"categories":[{"id":1,"name":"owl"}]})");
    source.label_files.parts.instances = true;
    const auto error = ErrorOf([&] { folder.Convert(source); });
    REQUIRE(error);
    CHECK_THAT(error->what(),
               ContainsSubstring("1 image is left out, such as a.jpg (") &&
                   ContainsSubstring("annotation 4: an outline has half a corner); correct it, or "
                                     "leave them out (--take boxes)"));
  }
  SECTION("not without boxes") {
    source.label_files.parts.instances = true;
    source.label_files.parts.boxes = false;
    const auto error = ErrorOf([&] { folder.Convert(source); });
    REQUIRE(error);
    CHECK_THAT(error->what(), ContainsSubstring("instances belong to boxes"));
  }
}

TEST_CASE("values of instances that lie are refused") {
  using Words = std::vector<std::uint32_t>;
  const std::vector<std::pair<Words, const char*>> values = {
      {Words{}, "too short"},
      {Words{4'000'000'000U}, "more objects"},
      {Words{2, 8, 4, 0, 0}, "do not ascend"},
      {Words{1, 400, 0}, "beyond its end"},
      {Words{1, 0, 0}, "after its last object"},
      {Words{1, 4, 2U << 1}, "more numbers"},
      {Words{1, 4, 0xffffffffU}, "more numbers"},
      {Words{1, 8, 1U << 1, 0}, "half a corner"},
      {Words{1, 12, 2U << 1, 0, 0x7fc00000U}, "not finite"},
      {Words{1, 12, (2U << 1) | 1, 1, 4}, "do not cover"},
      {Words{1, 12, (2U << 1) | 1, 0xffffffffU, 5}, "do not cover"},
      {Words{1, 12, (2U << 1) | 1, 1, 3}, ""},
      {Words{0}, ""},
  };
  for (const auto& [words, fault] : values) {
    CAPTURE(fault);
    const std::string found = Opened(WordBytes(words));
    CHECK(found.empty() == std::string(fault).empty());
    CHECK_THAT(found, ContainsSubstring(fault));
  }
}

TEST_CASE("an object's runs are those of all its shapes") {
  InstancesBuilder builder;
  builder.BeginObject();
  builder.AddOutline(std::array<float, 8>{2.3F, 1.2F, 14.9F, 3.4F, 12.0F, 10.7F, 4.4F, 9.1F});
  builder.AddOutline(std::array<float, 8>{0, 6, 5, 6, 5, 11.5F, 0, 11.5F});
  builder.BeginObject();
  builder.AddRuns(std::array<std::uint32_t, 3>{3, 9, 180});
  builder.AddRuns(std::array<std::uint32_t, 3>{8, 6, 178});
  builder.BeginObject();
  std::vector<std::byte> value;
  builder.Finish(value);
  Instances instances;
  REQUIRE(instances.Open(value, 16, 12) == nullptr);
  // As above, by pycocotools, which has the decimals and not their float32.
  CHECK(instances.Runs(0, 16, 12) == std::vector<std::uint32_t>{6,  6, 6, 6, 6, 6, 1, 4, 1, 6, 2,
                                                                10, 2, 7, 5, 8, 4, 8, 4, 8, 4, 8,
                                                                5,  7, 5, 8, 4, 6, 6, 4, 8, 2, 19});
  CHECK(instances.Runs(1, 16, 12) == std::vector<std::uint32_t>{3, 11, 178});
  CHECK(instances.Runs(2, 16, 12) == std::vector<std::uint32_t>{192});
}

TEST_CASE("values cut off at any byte are refused") {
  InstancesBuilder builder;
  builder.BeginObject();
  builder.AddOutline(std::array<float, 6>{0, 0, 2, 0, 2, 2});
  builder.BeginObject();
  builder.AddRuns(std::array<std::uint32_t, 2>{1, 3});
  std::vector<std::byte> value;
  builder.Finish(value);
  CHECK(std::string(Opened(value)).empty());
  for (std::size_t bytes = 0; bytes < value.size(); ++bytes)
    CHECK(!std::string(Opened({value.begin(), value.begin() + std::ptrdiff_t(bytes)})).empty());
}

}  // namespace sluice::test
