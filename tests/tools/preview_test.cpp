// sluice preview: pictures of plain colours must appear in the right places.
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <set>

#include <sys/resource.h>

#include <sluice/dataset.h>
#include <sluice/dataset_writer.h>
#include <sluice/instances.h>

#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

namespace {

using Rgb = std::array<std::uint8_t, 3>;
constexpr std::array<Rgb, 3> kColours = {{{200, 0, 0}, {0, 200, 0}, {0, 0, 200}}};

// `count` pictures as raw pixels. Picture i is of class i % 3 and has only that class's colour.
void WriteDataset(const std::filesystem::path& path, int count, std::uint32_t width,
                  std::uint32_t height) {
  DatasetWriter writer(
      path, {{Field::Image(), Field::Label("label", {"a<b>", "owl & co", "\xC3\xA4pfel"})}});
  for (int i = 0; i < count; ++i) {
    SampleBuilder sample = writer.NewSample("k<" + std::to_string(i) + ">");
    std::vector<std::byte> pixels;
    for (std::uint32_t p = 0; p < width * height; ++p) {
      for (const std::uint8_t value : kColours[static_cast<std::size_t>(i) % 3])
        pixels.push_back(std::byte{value});
    }
    sample.SetPixels("image", width, height, 3, PixelType::kUint8, pixels);
    sample.Set<std::int32_t>("label", i % 3);
    writer.Add(sample);
  }
  writer.Finish();
}

std::size_t CountOf(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

std::vector<std::byte> FromBase64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::byte> bytes;
  unsigned bits = 0;
  int count = 0;
  for (const char letter : text) {
    if (letter == '=') break;
    bits = bits << 6 | static_cast<unsigned>(digits.find(letter));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<std::byte>(bits >> count));
  }
  return bytes;
}

// Previews FOLDER/data at 20 pixels a side, one picture below the other, and returns the sheet.
Image SheetOf(const TemporaryFolder& folder, const Words& more = {}, std::string* json = nullptr) {
  std::filesystem::create_directory(folder / "sheets");
  Words words = {"preview",
                 (folder / "data").string(),
                 (folder / "sheets/sheet.png").string(),
                 "--side",
                 "20",
                 "--columns",
                 "1",
                 "--json"};
  words.insert(words.end(), more.begin(), more.end());
  const Outcome outcome = Sluice(words);
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  if (json != nullptr) *json = outcome.out;
  REQUIRE(Sluice({"convert", (folder / "sheets").string(), (folder / "seen").string(), "--image",
                  "raw", "--no-resize"})
              .exit_code == 0);
  const Image image = Dataset::Open(folder / "seen")[0].Decode();
  REQUIRE(image.width == 24);
  return image;
}

// A function that gives the pixels of one picture of that sheet, from its upper left corner on.
auto PictureAt(const Image& sheet, std::uint32_t picture = 0) {
  return [sheet, picture](std::uint32_t x, std::uint32_t y) {
    const auto* pixel =
        &sheet.pixels[(std::size_t{y + 2 + picture * 22} * sheet.width + x + 2) * 3];
    return Rgb{pixel[0], pixel[1], pixel[2]};
  };
}

}  // namespace

TEST_CASE("preview makes a sheet of pictures, one of each class in turn") {
  const TemporaryFolder folder;
  const std::string data = (folder / "data").string();
  WriteDataset(data, 6, 16, 8);
  const std::string sheet = (folder / "sheets" / "sheet.png").string();
  std::filesystem::create_directory(folder / "sheets");
  const nlohmann::json answer = JsonOf(
      Sluice({"preview", data, sheet, "--side", "16", "--columns", "3", "--count", "5", "--json"}));
  CHECK(answer["pictures"] == 5);
  CHECK(answer["samples"] == 6);
  // Classes 0, 1, 2, and below them 0 and 1: cells of 16 with a margin of 2.
  REQUIRE(Sluice({"convert", (folder / "sheets").string(), (folder / "seen").string(), "--image",
                  "raw", "--no-resize"})
              .exit_code == 0);
  const Image image = Dataset::Open(folder / "seen")[0].Decode();
  REQUIRE(image.width == 3 * 18 + 2);
  REQUIRE(image.height == 2 * 18 + 2);
  const auto at = [&image](std::uint32_t x, std::uint32_t y) {
    const auto* pixel = reinterpret_cast<const std::uint8_t*>(
        &image.pixels[(std::size_t{y} * image.width + x) * 3]);
    return Rgb{pixel[0], pixel[1], pixel[2]};
  };
  CHECK(at(10, 10) == kColours[0]);
  CHECK(at(28, 10) == kColours[1]);
  CHECK(at(46, 10) == kColours[2]);
  CHECK(at(10, 28) == kColours[0]);
  CHECK(at(28, 28) == kColours[1]);
  // A picture of 16x8 keeps its shape, in the middle of its cell: this point lies above the
  // picture.
  CHECK(at(10, 4) == Rgb{24, 24, 24});
  CHECK(at(46, 28) == Rgb{24, 24, 24});  // there is no sixth picture
}

TEST_CASE("preview draws masks, boxes and key points on the right picture") {
  const TemporaryFolder folder;
  Schema schema{{Field::Mask("first", "image"), Field::Image(), Field::Image("other"),
                 Field::Variable("corners", DType::kFloat32, {4}),
                 Field::Variable("kinds", DType::kInt32, {}),
                 Field::Variable("centres", DType::kFloat64, {4}),
                 Field::Array("points", DType::kFloat32, {2, 3}),
                 Field::Variable("elsewhere", DType::kFloat32, {4})}};
  for (const std::size_t f : {3, 5, 7})
    schema.fields[f].role = Role::kBoxes;
  schema.fields[3].follows = schema.fields[4].follows = "image";
  schema.fields[4].role = Role::kLabel;
  schema.fields[5].follows = schema.fields[6].follows = "image";
  schema.fields[5].coordinates = "cxcywh-relative";
  schema.fields[6].role = Role::kKeypoints;
  schema.fields[7].follows = "other";
  DatasetWriter writer(folder / "data", schema);
  SampleBuilder sample = writer.NewSample("k");
  const std::vector<std::byte> black(40 * 40 * 3);
  std::vector<std::byte> mask(40 * 40);
  for (std::size_t p = 0; p < 40 * 4; ++p)
    mask[p] = std::byte{1};  // its four upper rows
  sample.SetPixels("first", 40, 40, 1, PixelType::kUint8, mask, true);
  for (const char* name : {"image", "other"})
    sample.SetPixels(name, 40, 40, 3, PixelType::kUint8, black);
  sample.SetArray<float>("corners", std::vector<float>{4, 8, 20, 16, -1e30F, 36, 1e30F, 38});
  sample.SetArray<std::int32_t>("kinds", std::vector<std::int32_t>{1, 0});
  sample.SetArray<double>("centres", std::vector<double>{0.75, 0.5, 0.25, 0.25});
  sample.SetArray<float>("points", std::vector<float>{10, 28, 2, 30, 28, 0});
  sample.SetArray<float>("elsewhere", std::vector<float>{0, 0, 40, 40});
  writer.Add(sample);
  writer.Finish();
  const auto at = PictureAt(SheetOf(folder));
  const Rgb kNone = {0, 0, 0};
  CHECK(at(0, 0) != kNone);
  CHECK(at(19, 1) == at(0, 0));
  CHECK(at(0, 2) == kNone);
  // The box from 4,8 to 20,16: a line of one pixel inside it.
  const Rgb line = at(2, 4);
  CHECK(line != kNone);
  for (const auto& [x, y] : {std::pair{9U, 4U}, {2U, 7U}, {9U, 7U}, {5U, 4U}, {2U, 5U}})
    CHECK(at(x, y) == line);
  for (const auto& [x, y] : {std::pair{1U, 4U}, {10U, 4U}, {3U, 5U}, {2U, 3U}, {2U, 8U}})
    CHECK(at(x, y) == kNone);
  // The other box extends beyond the picture on both sides, and has another class.
  CHECK(at(10, 18) != kNone);
  CHECK(at(10, 18) != line);
  CHECK(at(0, 17) == kNone);
  // The box around 15,10, with sides of 5.
  CHECK(at(12, 7) != kNone);
  CHECK(at(16, 11) != kNone);
  CHECK(at(14, 9) == kNone);
  // A visible point and an invisible one.
  CHECK(at(5, 14) != kNone);
  CHECK(at(6, 15) == at(5, 14));
  CHECK(at(7, 14) == kNone);
  CHECK(at(15, 14) == kNone);
}

TEST_CASE("preview tints each instance in the colour of its box") {
  const TemporaryFolder folder;
  Schema schema{{Field::Image(), Field::Variable("boxes", DType::kFloat32, {4}),
                 Field::Variable("kinds", DType::kInt32, {}),
                 Field::Bytes("instances", Role::kInstances)}};
  schema.fields[1].role = Role::kBoxes;
  schema.fields[2].role = Role::kLabel;
  for (std::size_t f = 1; f < 4; ++f)
    schema.fields[f].follows = "image";
  DatasetWriter writer(folder / "data", schema);
  SampleBuilder sample = writer.NewSample("k");
  sample.SetPixels("image", 40, 40, 3, PixelType::kUint8, std::vector<std::byte>(40 * 40 * 3));
  sample.SetArray<float>("boxes", std::vector<float>{2, 2, 24, 24, 0, 30, 40, 40});
  sample.SetArray<std::int32_t>("kinds", std::vector<std::int32_t>{1, 4});
  InstancesBuilder builder;
  builder.BeginObject();
  builder.AddOutline(std::array<float, 8>{8, 8, 16, 8, 16, 20, 8, 20});
  builder.BeginObject();
  // The lower 4 pixels of the columns 10 and 11.
  builder.AddRuns(std::array<std::uint32_t, 5>{10 * 40 + 36, 4, 36, 4, 1600 - 12 * 40});
  std::vector<std::byte> value;
  builder.Finish(value);
  sample.SetBytes("instances", value, true);
  writer.Add(sample);
  writer.Finish();
  const auto at = PictureAt(SheetOf(folder));
  const auto half = [](const Rgb& line) {
    Rgb tinted = line;
    for (auto& channel : tinted)
      channel /= 2;
    return tinted;
  };
  for (const auto& [x, y] : {std::pair{4U, 4U}, {7U, 4U}, {4U, 9U}, {7U, 9U}})
    CHECK(at(x, y) == half(at(1, 1)));
  for (const auto& [x, y] :
       {std::pair{3U, 4U}, {8U, 4U}, {4U, 3U}, {4U, 10U}, {5U, 17U}, {6U, 18U}})
    CHECK(at(x, y) == Rgb{0, 0, 0});
  CHECK(at(5, 18) == half(at(0, 15)));
}

TEST_CASE("preview with steps shows all annotations where the row has them") {
  const TemporaryFolder folder;
  Schema schema{
      {Field::Image(), Field::Mask("mask", "image"), Field::Variable("boxes", DType::kFloat32, {4}),
       Field::Variable("turned", DType::kFloat32, {8}),
       Field::Variable("points", DType::kFloat64, {1, 3}),
       Field::Variable("kinds", DType::kInt32, {}), Field::Bytes("instances", Role::kInstances)}};
  for (std::size_t f = 2; f < 7; ++f)
    schema.fields[f].follows = "image";
  schema.fields[2].role = schema.fields[3].role = Role::kBoxes;
  schema.fields[3].coordinates = "corners-pixels";
  schema.fields[4].role = Role::kKeypoints;
  schema.fields[5].role = Role::kLabel;
  DatasetWriter writer(folder / "data", schema);
  SampleBuilder sample = writer.NewSample("k");
  // A crop to the middle shows the columns 10 to 29, and the flip then takes column x to 29 - x.
  std::vector<std::byte> mask(40 * 20);
  for (std::size_t y = 0; y < 3; ++y) {
    for (std::size_t x = 10; x < 15; ++x)
      mask[y * 40 + x] = std::byte{1};
  }
  sample.SetPixels("image", 40, 20, 3, PixelType::kUint8, std::vector<std::byte>(40 * 20 * 3));
  sample.SetPixels("mask", 40, 20, 1, PixelType::kUint8, mask, true);
  sample.SetArray<float>("boxes", std::vector<float>{12, 4, 20, 14, 32, 4, 38, 14});
  sample.SetArray<std::int32_t>("kinds", std::vector<std::int32_t>{1, 2});
  sample.SetArray<float>("turned", std::vector<float>{22, 14, 24, 16, 22, 18, 20, 16});
  sample.SetArray<double>("points", std::vector<double>{25.5, 17.5, 2, 35.5, 17.5, 2});
  InstancesBuilder builder;
  builder.BeginObject();
  builder.AddOutline(std::array<float, 8>{14, 6, 17, 6, 17, 10, 14, 10});
  builder.BeginObject();
  std::vector<std::byte> value;
  builder.Finish(value);
  sample.SetBytes("instances", value, true);
  writer.Add(sample);
  writer.Finish();
  const auto at = PictureAt(SheetOf(folder, {"--transform", "center:20,flip:1,normalize"}));
  const Rgb kNone = {0, 0, 0};
  const auto half = [](Rgb colour) {
    for (auto& channel : colour)
      channel /= 2;
    return colour;
  };
  // The mask's columns 10 to 14 are 15 to 19 of the row.
  CHECK(at(15, 0) != kNone);
  CHECK(at(19, 2) == at(15, 0));
  CHECK(at(14, 0) == kNone);
  CHECK(at(15, 3) == kNone);
  // The box from 12 to 20 goes from 10 to 18; the other one is outside of the row.
  const Rgb line = at(10, 4);
  CHECK(line != kNone);
  for (const auto& [x, y] : {std::pair{17U, 4U}, {10U, 13U}, {17U, 13U}, {17U, 8U}})
    CHECK(at(x, y) == line);
  for (const auto& [x, y] : {std::pair{9U, 4U}, {18U, 4U}, {11U, 5U}, {10U, 14U}, {0U, 8U}})
    CHECK(at(x, y) == kNone);
  // The object's columns 14 to 16 are 13 to 15, in the colour of its box.
  CHECK(at(13, 6) == half(line));
  CHECK(at(15, 9) == half(line));
  CHECK(at(12, 6) == kNone);
  CHECK(at(16, 6) == kNone);
  CHECK(at(13, 10) == kNone);
  // The square on its corner, around 22, 16, lies around 8, 16.
  for (const auto& [x, y] : {std::pair{8U, 14U}, {6U, 16U}, {8U, 18U}, {10U, 16U}, {7U, 15U}})
    CHECK(at(x, y) != kNone);
  CHECK(at(8, 16) == kNone);
  // The key point at 25.5 is at 4.5.
  CHECK(at(4, 17) != kNone);
  CHECK(at(2, 17) == kNone);
}

TEST_CASE("a preview of mosaics shows the four samples that it names") {
  const TemporaryFolder folder;
  Schema schema{{Field::Image(), Field::Variable("boxes", DType::kFloat32, {4})}};
  schema.fields[1].role = Role::kBoxes;
  schema.fields[1].follows = "image";
  // Sample i has one colour of its own, and a box from 3 to 7.
  constexpr int kSamples = 24;
  const auto colour_of = [](std::uint64_t i) {
    return Rgb{static_cast<std::uint8_t>(10 * i), 0, static_cast<std::uint8_t>(100 + i)};
  };
  {
    DatasetWriter writer(folder / "data", schema);
    for (int i = 0; i < kSamples; ++i) {
      SampleBuilder sample = writer.NewSample("k" + std::to_string(i));
      std::vector<std::byte> pixels;
      for (int p = 0; p < 100; ++p) {
        for (const std::uint8_t channel : colour_of(static_cast<std::uint64_t>(i)))
          pixels.push_back(std::byte{channel});
      }
      sample.SetPixels("image", 10, 10, 3, PixelType::kUint8, pixels);
      sample.SetArray<float>("boxes", std::vector<float>{3, 3, 7, 7});
      writer.Add(sample);
    }
    writer.Finish();
  }
  std::string json;
  const Image sheet =
      SheetOf(folder, {"--transform", "mosaic:10", "--seed", "5", "--epoch", "2"}, &json);
  const auto shown = nlohmann::json::parse(json)["shown"];
  REQUIRE(shown.size() == kSamples);
  std::set<std::uint64_t> first;
  for (std::uint32_t picture = 0; picture < kSamples; ++picture) {
    INFO("picture " << picture);
    const auto at = PictureAt(sheet, picture);
    const auto parts = shown[picture].get<std::vector<std::uint64_t>>();
    REQUIRE(parts.size() == 4);
    first.insert(parts[0]);
    // The centre, around which the four samples lie: left and right, above and below.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> centres;
    for (std::uint32_t y = 1; y < 20; ++y) {
      for (std::uint32_t x = 1; x < 20; ++x) {
        if (at(x - 1, y - 1) == colour_of(parts[0]) && at(x, y - 1) == colour_of(parts[1]) &&
            at(x - 1, y) == colour_of(parts[2]) && at(x, y) == colour_of(parts[3])) {
          centres.emplace_back(x, y);
        }
      }
    }
    REQUIRE(centres.size() == 1);
    const auto [x, y] = centres[0];
    // Each box reaches from 3 to 6 pixels before the centre, or from 3 to 6 pixels after it.
    for (const auto& [u, v] :
         {std::pair{x - 4, y - 4}, {x + 3, y - 4}, {x - 4, y + 3}, {x + 3, y + 3}}) {
      CHECK(at(u, v)[1] != 0);  // the corner next to the centre
      CHECK(at(u < x ? u + 1 : u - 1, v)[1] == 0);
    }
  }
  CHECK(first.size() == kSamples);  // each picture has its own sample first
  const std::string page = (folder / "page.html").string();
  REQUIRE(Sluice({"preview", (folder / "data").string(), page, "--transform", "mosaic:10", "--seed",
                  "5", "--epoch", "2"})
              .exit_code == 0);
  const auto one = shown[0].get<std::vector<std::uint64_t>>();
  std::string caption = "10x10 as 20x20<br>samples ";
  for (std::size_t i = 0; i < 4; ++i)
    caption += (i == 0 ? "" : ", ") + std::to_string(one[i]);
  CHECK(CountOf(ContentOf(page), caption + "</figcaption>") == 1);
  CHECK(CountOf(ContentOf(page), "Rows of epoch 2, seed 5, by the steps mosaic:10<") == 1);
}

TEST_CASE("a preview shows the fields that are named, and refuses what rows cannot show") {
  const TemporaryFolder folder;
  const std::string data = (folder / "data").string();
  Schema schema{{Field::Image(), Field::Variable("boxes", DType::kFloat32, {4}),
                 Field::Mask("mask", "image")}};
  schema.fields[1].role = Role::kBoxes;
  schema.fields[1].follows = "image";
  DatasetWriter writer(folder / "data", schema);
  SampleBuilder sample = writer.NewSample("k");
  sample.SetPixels("image", 20, 20, 3, PixelType::kUint8, std::vector<std::byte>(1200));
  sample.SetPixels("mask", 20, 20, 1, PixelType::kUint8, std::vector<std::byte>(400, std::byte{1}),
                   true);
  sample.SetArray<float>("boxes", std::vector<float>{0, 0, 20, 20});
  writer.Add(sample);
  writer.Finish();
  const auto at = PictureAt(SheetOf(folder, {"--fields", "boxes"}));
  CHECK(at(0, 0) != Rgb{0, 0, 0});
  CHECK(at(10, 10) == Rgb{0, 0, 0});
  const auto refusal = [&](const Words& more) {
    Words words = {"preview", data, (folder / "a.html").string()};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = Sluice(words);
    CHECK(outcome.exit_code == 2);
    CHECK_FALSE(std::filesystem::exists(folder / "a.html"));
    return outcome.err;
  };
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(refusal({"--fields", "bokses"}),
             ContainsSubstring("field \"bokses\" is not an annotation of \"image\"; did you mean "
                               "\"boxes\"?"));
  CHECK_THAT(refusal({"--transform", "flip,mixup:1"}),
             ContainsSubstring("--transform: mixup mixes the rows of a batch"));
  CHECK_THAT(refusal({"--seed", "1"}), ContainsSubstring("--transform"));
  CHECK_THAT(refusal({"--transform", "turn"}), ContainsSubstring("--transform"));
  CHECK_THAT(refusal({"--transform", "mosaic:20", "--shuffle", "sequential"}),
             ContainsSubstring("Mosaic"));
  CHECK_THAT(refusal({"--transform", "randaug:2/9"}), ContainsSubstring("field \"mask\""));
}

TEST_CASE("a preview keeps the end of a long path, and has no bar for a class without samples") {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "data",
                       {{Field::Image(), Field::Label("label", {"some", "none"})}});
  const std::string end = "der/the-very-file.jpeg";
  SampleBuilder sample = writer.NewSample("a/long/way/down/from/the/fol" + end);
  sample.SetPixels("image", 1, 1, 1, PixelType::kUint8, std::vector<std::byte>(1));
  sample.Set<std::int32_t>("label", 0);
  writer.Add(sample);
  writer.Finish();
  const std::string file = (folder / "page.html").string();
  REQUIRE(Sluice({"preview", (folder / "data").string(), file}).exit_code == 0);
  const std::string page = ContentOf(file);
  CHECK(CountOf(page, "<br>\xE2\x80\xA6" + end + "<br>") == 1);
  CHECK(CountOf(page, "<td>some</td><td class=n>1</td><td><i") == 1);
  CHECK(CountOf(page, "<td>none</td><td class=n>0</td></tr>") == 1);
}

TEST_CASE("preview makes one self-contained page with pictures, labels and counts") {
  const TemporaryFolder folder;
  const std::string data = (folder / "data").string();
  WriteDataset(data, 7, 40, 20);
  const std::string file = (folder / "page.html").string();
  const Outcome outcome = Sluice({"preview", data, file, "--side", "20"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out.find("7 pictures of 7 samples") != std::string::npos);
  const std::string page = ContentOf(file);
  CHECK(CountOf(page, "<figure") == 7);
  CHECK(CountOf(page, "src=\"data:image/jpeg;base64,") == 7);
  CHECK(CountOf(page, "src=") == 7);
  CHECK(CountOf(page, "href") == 0);
  CHECK(CountOf(page, "url(") == 0);
  CHECK(CountOf(page, "<script") == 0);
  CHECK(CountOf(page, "http") == 0);
  CHECK(CountOf(page, "<b>a&lt;b&gt;</b>") == 3);
  CHECK(CountOf(page, "<b>owl &amp; co</b>") == 2);
  CHECK(CountOf(page, "<b>\xC3\xA4pfel</b>") == 2);
  CHECK(CountOf(page, "k&lt;6&gt;") == 2);  // caption and title
  CHECK(CountOf(page, "<td>a&lt;b&gt;</td><td class=n>3</td>") == 1);
  CHECK(CountOf(page, "<td>32 to 63</td><td class=n>7</td>") == 1);        // the longer side
  CHECK(CountOf(page, "<td>wider than 2:1</td><td class=n>7</td>") == 1);  // 2:1 itself included
  // Counts, sizes and shapes come before the pictures.
  CHECK(page.find("<td>wider than 2:1</td>") < page.find("<figure"));
  CHECK(page.find("<td>a&lt;b&gt;</td>") < page.find("<figure"));
  // The third picture is of the third class, half as large as it is stored.
  const std::string mark = "src=\"data:image/jpeg;base64,";
  std::size_t begin = 0;
  for (int picture = 0; picture < 3; ++picture)
    begin = page.find(mark, begin) + mark.size();
  const Picture picture = DecodeJpeg(FromBase64(page.substr(begin, page.find('"', begin) - begin)));
  CHECK(picture.width == 20);
  CHECK(picture.height == 10);
  CHECK(picture.at(10, 5)[2] > 190);
  CHECK(picture.at(10, 5)[0] < 10);
}

TEST_CASE("a preview of many samples reads some of them and shows every class") {
  const TemporaryFolder folder;
  const std::string data = (folder / "data").string();
  WriteDataset(data, 5000, 1, 1);
  const std::string file = (folder / "page.html").string();
  const nlohmann::json answer =
      JsonOf(Sluice({"preview", data, file, "--count", "9", "--side", "16", "--json"}));
  CHECK(answer["probed"] == 4096);
  CHECK(answer["pictures"] == 9);
  const std::string page = ContentOf(file);
  CHECK(CountOf(page, "<b>a&lt;b&gt;</b>") == 3);
  CHECK(CountOf(page, "<b>owl &amp; co</b>") == 3);
  CHECK(CountOf(page, "<td>1 to 1</td><td class=n>4096</td>") == 1);
  CHECK(page.find("those of 4096 samples") != std::string::npos);
}

TEST_CASE("a preview with fewer pictures than classes shows classes from all over the list") {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "data",
                       {{Field::Image(), Field::Label("label", {"A", "B", "C", "D", "E", "F"})}});
  for (int i = 0; i < 12; ++i) {
    SampleBuilder sample = writer.NewSample("k" + std::to_string(i));
    sample.SetPixels("image", 1, 1, 1, PixelType::kUint8, std::vector<std::byte>(1));
    sample.Set<std::int32_t>("label", i / 2);
    writer.Add(sample);
  }
  writer.Finish();
  const std::string file = (folder / "page.html").string();
  REQUIRE(Sluice({"preview", (folder / "data").string(), file, "--count", "3"}).exit_code == 0);
  const std::string page = ContentOf(file);
  CHECK(CountOf(page, "<figure") == 3);
  for (const char* const shown : {"<b>A</b>", "<b>C</b>", "<b>E</b>"})
    CHECK(CountOf(page, shown) == 1);
}

TEST_CASE("a preview says which pictures are damaged and shows the others") {
  const TemporaryFolder folder;
  const std::string data = (folder / "data").string();
  WriteDataset(data, 4, 50, 50);
  // Changes a pixel of the first sample, which is red: its bytes are 200, 0, 0 again and again.
  const std::filesystem::path shard = folder / "data" / "shard-00000.sluice";
  {
    std::fstream stream(shard, std::ios::binary | std::ios::in | std::ios::out);
    std::string bytes(ContentOf(shard));
    const std::size_t at = bytes.find(std::string("\0\xC8\0\0\xC8\0\0\xC8\0", 9));
    REQUIRE(at != std::string::npos);
    stream.seekp(static_cast<std::streamoff>(at + 300));
    stream.put('x');
  }
  const std::string file = (folder / "page.html").string();
  Words words = {"preview", data, file, "--json"};
  if (GENERATE(false, true)) words.insert(words.end(), {"--transform", "flip"});
  const Outcome outcome = Sluice(words);
  CHECK(outcome.exit_code == 1);
  const nlohmann::json answer = JsonOf(outcome);
  CHECK(answer["damaged"].size() == 1);
  CHECK(answer["damaged"][0].get<std::string>().find("shard-00000.sluice") != std::string::npos);
  CHECK(CountOf(ContentOf(file), "<img") == 3);
  CHECK(CountOf(ContentOf(file), "class=bad") == 1);
}

TEST_CASE("wrong usage of preview ends with 2 and writes nothing") {
  const TemporaryFolder folder;
  const std::string data = (folder / "data").string();
  WriteDataset(data, 1, 1, 1);
  const auto code = [&](const char* out, const Words& more) {
    Words words = {"preview", data, (folder / out).string()};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = Sluice(words);
    CHECK_FALSE(std::filesystem::exists(folder / out));
    return outcome.exit_code;
  };
  CHECK(code("a.gif", {}) == 2);
  CHECK(code("a.html", {"--columns", "3"}) == 2);
  CHECK(code("a.png", {"--count", "10000", "--side", "1024"}) == 2);
  CHECK(code("a.png", {"--side", "8"}) == 2);
  CHECK(code("nowhere/a.png", {}) == 1);
}

TEST_CASE(
    "a page that does not fit on the disk is an error with its reason, and the old page stays") {
  const TemporaryFolder folder;
  WriteDataset(folder / "data", 60, 90, 60);
  WriteBytes(folder / "page.html", "the old page");
  // Limits the length of files; the command inherits the limit.
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit little = before;
  little.rlim_cur = 512;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &little) == 0);
  const Outcome outcome =
      Sluice({"preview", (folder / "data").string(), (folder / "page.html").string()});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, Catch::Matchers::ContainsSubstring("page.html: cannot be written: " +
                                                             std::string(std::strerror(EFBIG))));
  CHECK(ContentOf(folder / "page.html") == "the old page");
  CHECK_FALSE(std::filesystem::exists(folder / "page.html.part"));
}

}  // namespace sluice::test
