// Fields in batches: choosing them, fields of every kind, and fields that follow their image.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

#include "reader/dataset/dataset_state.h"
#include "reader/reading/direct/held_block.h"
#include "reader/reading/mapped_blocks.h"
#include "tests/file_content.h"
#include "tests/format/built_shard.h"
#include "tests/reader/playing.h"
#include "tests/reader/street_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

template <class T>
std::vector<T> ToVector(std::span<const T> values) {
  return {values.begin(), values.end()};
}

// A sample's caption, boxes, classes and mask as text, with which tests compare epochs.
std::string SampleText(const Batch& batch, std::size_t row) {
  std::string text = std::string(batch.Text("caption", row)) + "|";
  for (const float v : batch.Variable<float>("boxes")[row])
    text += std::to_string(v) + " ";
  for (const std::int32_t c : batch.Variable<std::int32_t>("classes")[row])
    text += std::to_string(c) + " ";
  const ImageBatch& mask = batch.image("mask");
  text.append(reinterpret_cast<const char*>(mask.data + row * mask.sample_bytes()),
              mask.sample_bytes());
  return text;
}

std::vector<std::string> PlayTexts(Loader& loader, std::uint64_t epoch,
                                   std::size_t limit = SIZE_MAX) {
  std::vector<std::string> texts;
  std::size_t batches = 0;
  for (const Batch& batch : loader.Epoch(epoch)) {
    for (std::size_t row = 0; row < batch.size(); ++row)
      texts.push_back(std::to_string(batch.samples()[row]) + ":" + SampleText(batch, row));
    if (++batches == limit) break;
  }
  return texts;
}

// Changes a byte of the first shard, where it first has `count` bytes of value `byte` in a row.
void DamageRun(const std::filesystem::path& path, char byte, std::size_t count) {
  const std::filesystem::path file = path / Dataset::Open(path).shards().at(0).file;
  const std::string bytes = ContentOf(file);
  const std::size_t at = bytes.find(std::string(count, byte));
  REQUIRE(at != std::string::npos);
  std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(static_cast<std::streamoff>(at + 1));
  out.put(static_cast<char>(~byte));
}

}  // namespace

TEST_CASE("Fields of every kind reach the batch as they were stored") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteStreet(folder, 50));
  LoaderOptions options = OptionsFor(8, 3);
  options.output.mask_fill = {{"mask", 0}};
  Loader loader(dataset, options);
  std::size_t seen = 0;
  for (const Batch& batch : loader.Epoch(0)) {
    const auto boxes = batch.Variable<float>("boxes");
    const auto classes = batch.Variable<std::int32_t>("classes");
    const auto blobs = batch.Bytes("blob");
    const auto pose = batch.Field<float>("pose");
    REQUIRE(boxes.offsets.size() == batch.size() + 1);
    REQUIRE(boxes.entry == 4);
    REQUIRE(boxes.values.size() == boxes.offsets.back() * 4);
    for (std::size_t row = 0; row < batch.size(); ++row, ++seen) {
      const std::uint64_t i = batch.samples()[row];
      REQUIRE(batch.Has("caption", row) == (i % 3 != 0));
      REQUIRE(batch.Text("caption", row) == (i % 3 != 0 ? CaptionOf(i) : ""));
      REQUIRE(boxes[row].size() == i % 4 * 4);
      REQUIRE(classes[row].size() == i % 4);
      for (std::size_t b = 0; b < i % 4; ++b) {
        REQUIRE(boxes[row][b * 4] == float(b) * 4);
        REQUIRE(classes[row][b] == static_cast<std::int32_t>(100 * i + b));
      }
      REQUIRE(blobs[row].size() == i * 40);
      for (const std::byte value : blobs[row])
        REQUIRE(value == std::byte{static_cast<unsigned char>(i)});
      REQUIRE(pose[row * 6] == float(i));
      REQUIRE(pose[row * 6 + 5] == 5);
      const ImageBatch& mask = batch.image("mask");
      REQUIRE((mask.samples == batch.size() && mask.channels == 1 && mask.width == 16));
      REQUIRE(batch.Has("mask", row) == (i % 11 != 10));
      REQUIRE(mask.data[row * 192 + 5 * 16 + 7] == (i % 11 != 10 ? PixelAt(i, 7, 5) : 0));
    }
  }
  REQUIRE(seen == 50);
}

TEST_CASE("Only the chosen fields are in the batch, and the others may even be damaged") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteStreet(folder, 50);
  DamageRun(path, 33, 33 * 40);  // a blob
  LoaderOptions options = OptionsFor(8, 2);
  options.output.fields = {"label", "caption"};
  Loader loader(Dataset::Open(path), options);
  for (const Batch& batch : loader.Epoch(0)) {
    REQUIRE(batch.image().samples == 0);
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::uint64_t i = batch.samples()[row];
      REQUIRE(batch.Field<std::int32_t>("label")[row] == static_cast<std::int32_t>(i));
      REQUIRE(batch.Text("caption", row) == (i % 3 != 0 ? CaptionOf(i) : ""));
    }
    CHECK_THAT(ErrorText([&] { batch.Bytes("blob"); }, ErrorCode::kInvalidArgument),
               ContainsSubstring("LoaderOptions::output.fields") &&
                   ContainsSubstring("; the batch has: label, caption"));
    CHECK_THAT(ErrorText([&] { batch.Text("capton", 0); }, ErrorCode::kInvalidArgument),
               ContainsSubstring("; did you mean \"caption\"?"));
    CHECK_THROWS_AS(batch.Field<float>("pose"), Error);
    CHECK_THROWS_AS(batch.image("mask"), Error);
    CHECK_THROWS_AS(batch.Has("mask", 0), Error);
  }
  REQUIRE(loader.Faults().empty());
  options.output.fields = {"captions"};
  CHECK_THAT(ErrorText([&] { Loader(Dataset::Open(path), options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("has no field \"captions\"; did you mean \"caption\"?"));
  options.output.fields = {};
  options.output.mask_fill = {{"mask", 0}};
  Loader all(Dataset::Open(path), options);
  CHECK_THAT(ErrorText(
                 [&] {
                   for (const Batch& batch : all.Epoch(0))
                     REQUIRE(batch.size() > 0);
                 },
                 ErrorCode::kCorrupt),
             ContainsSubstring("key-33") && ContainsSubstring("\"blob\""));
}

TEST_CASE("Only the chosen fields' parts of a block are read ahead") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteStreet(folder, 8));
  DatasetState& state = *dataset.state();
  const BlockView block = state.table.Shard(0)->Block(0);
  const auto bytes_of = [&](const std::vector<std::string>& fields) {
    LoaderOptions options;
    options.output.fields = fields;
    std::size_t bytes = 0;
    for (const ByteRange& range : RangesOf(block, state.facts->layout, state.facts->manifest.schema,
                                           FieldChoice::Of(state, options)))
      bytes += range.bytes;
    return bytes;
  };
  CHECK(bytes_of({"label"}) == 0);
  CHECK(bytes_of({"image"}) == 8 * 576);  // 576 is a multiple of 64, so there is no padding
  // The blob of sample i has 40 i bytes. Those of samples 1 to 6 are padded to 1, 2, 2, 3, 4 and 4
  // times 64 bytes; that of sample 7, the last, is not padded.
  CHECK(bytes_of({"blob"}) == (1 + 2 + 2 + 3 + 4 + 4) * 64 + 7 * 40);
  // Neighbours are one range.
  LoaderOptions options;
  options.output.fields = {"image", "mask"};
  CHECK(RangesOf(block, state.facts->layout, state.facts->manifest.schema,
                 FieldChoice::Of(state, options))
            .size() == 1);
  const std::atomic<bool> give_up{false};
  const FieldChoice choice = FieldChoice::Of(state, options);
  MappedBlocks reading({state, choice, nullptr, give_up});
  reading.Open(0, 0);
  reading.EndBatch();
  reading.Await(1);
  const std::uint64_t read = reading.bytes_read();
  CHECK(read > 8 * 576);
  CHECK(read < 8 * (576 + 192 + 64) + 8 * 512);  // and the table
}

TEST_CASE("Masks, boxes and their classes follow the image through crop and flip") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteStreet(folder, 40));
  LoaderOptions options = OptionsFor(8, 2);
  options.output.mask_fill = {{"mask", 0}};
  // From (4, 2) on, 8 x 8, mirrored: x' = 8 - (x - 4).
  options.transform = {CenterCrop(8), HorizontalFlip{1}};
  Loader loader(dataset, options);
  for (const Batch& batch : loader.Epoch(0)) {
    const auto boxes = batch.Variable<float>("boxes");
    const auto classes = batch.Variable<std::int32_t>("classes");
    const auto points = batch.Variable<double>("points");
    const ImageBatch& mask = batch.image("mask");
    REQUIRE((mask.width == 8 && mask.height == 8));
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::uint64_t i = batch.samples()[row];
      for (std::uint32_t y = 0; y < 8; ++y) {
        for (std::uint32_t x = 0; x < 8; ++x) {
          const std::uint8_t expected = PixelAt(i, 4 + 7 - x, 2 + y);
          REQUIRE(batch.image().data[(row * 64 + y * 8 + x) * 3] == expected);
          REQUIRE(mask.data[row * 64 + y * 8 + x] == (i % 11 != 10 ? expected : 0));
        }
      }
      // Box 0 (x 0 to 4) lies left of the crop; 1 is x 4 to 8, y 1 to 7; 2 is x 8 to 12, y 2 to 8.
      std::vector<float> expected;
      std::vector<std::int32_t> left;
      if (i % 4 >= 2) {
        expected.insert(expected.end(), {4, 0, 8, 5});
        left.push_back(static_cast<std::int32_t>(100 * i + 1));
      }
      if (i % 4 == 3) {
        expected.insert(expected.end(), {0, 0, 4, 6});
        left.push_back(static_cast<std::int32_t>(100 * i + 2));
      }
      REQUIRE(ToVector(boxes[row]) == expected);
      REQUIRE(ToVector(classes[row]) == left);
      // Each key point is an entry of its field. Points are moved, too, but never dropped: point 0,
      // at (0, 1), is now outside of the crop.
      REQUIRE(points[row].size() == i % 4 * 2);
      if (i % 4 > 0) REQUIRE((points[row][0] == 12 && points[row][1] == -1));
    }
  }
}

TEST_CASE("Variable fields are the same for any number of threads, any rank, and after a resume") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteStreet(folder, 60));
  LoaderOptions options = OptionsFor(12, 1);
  options.output.mask_fill = {{"mask", 0}};
  options.order.lanes = 12;
  options.transform = {RandomResizedCrop(8), HorizontalFlip()};
  options.ranks.last_batch = LastBatch::kPad;
  Loader alone(dataset, options);
  const std::vector<std::string> whole = PlayTexts(alone, 3);
  REQUIRE(whole.size() == 60);
  options.threads = 4;
  Loader many(dataset, options);
  CHECK(PlayTexts(many, 3) == whole);
  CHECK(PlayTexts(many, 3, 2) == std::vector<std::string>(whole.begin(), whole.begin() + 24));
  options.resume_from = many.State();
  Loader resumed(dataset, options);
  CHECK(PlayTexts(resumed, 3) == std::vector<std::string>(whole.begin() + 24, whole.end()));
  options.resume_from.reset();
  options.ranks.world_size = 2;
  options.batch_size = 6;
  options.ranks.rank = 1;
  Loader half(dataset, options);
  std::vector<std::string> odd;
  for (std::size_t i = 1; i < 60; i += 2)
    odd.push_back(whole[i]);
  CHECK(PlayTexts(half, 3) == odd);
}

TEST_CASE("Faulty samples are skipped or substituted with all of their fields") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteStreet(folder, 40);
  LoaderOptions options = OptionsFor(8, 2);
  options.output.mask_fill = {{"mask", 0}};
  std::map<std::string, int> good;
  {
    Loader loader(Dataset::Open(path), options);
    for (const std::string& text : PlayTexts(loader, 0))
      ++good[text];
  }
  DamageRun(path, 21, 21 * 40);  // a blob
  for (const OnFault on_fault : {OnFault::kSkip, OnFault::kSubstitute}) {
    options.integrity.on_fault = on_fault;
    Loader loader(Dataset::Open(path), options);
    const std::vector<std::string> played = PlayTexts(loader, 0);
    CHECK(played.size() == (on_fault == OnFault::kSkip ? 39 : 40));
    for (const std::string& text : played) {
      CHECK(good.count(text) == 1);
      CHECK(text.substr(0, 3) != "21:");
    }
    REQUIRE(loader.Faults().size() == 1);
    CHECK(loader.Faults()[0].key == "key-21");
  }
}

TEST_CASE("An image that does not follow the batch's main image comes only if it is named") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteStreet(folder, 10));
  LoaderOptions options = OptionsFor(5, 2);
  options.output.fields = {"image", "depth"};
  options.transform = {Resize(8)};
  options.output.layout = Layout::kNCHW;
  Loader loader(dataset, options);
  for (const Batch& batch : loader.Epoch(0)) {
    CHECK((batch.image("image").data == batch.image().data && batch.image().channels == 3));
    CHECK((batch.image("depth").width == 8 && batch.image("depth").channels == 1));
  }
  options.output.image = "mask";  // masks alone, which are resized to the nearest pixel
  options.output.fields = {"mask"};
  options.integrity.on_fault = OnFault::kSkip;  // leaves out samples without a mask
  Loader masks(dataset, options);
  for (const Batch& batch : masks.Epoch(0)) {
    for (std::size_t row = 0; row < batch.size(); ++row)
      CHECK(batch.image().data[row * 64 + 1] == PixelAt(batch.samples()[row], 3, 0));
  }
}

TEST_CASE("Masks and 16-bit images are never converted to other channels") {
  const TemporaryFolder folder;
  const std::vector<std::uint8_t> bytes(16 * 16 * 3 * 2, 7);
  const auto write = [&](const char* name, std::uint8_t channels, PixelType type) {
    DatasetWriter writer(folder / name, {{Field::Image(), Field::Mask("mask", "image")}});
    for (int i = 0; i < 4; ++i) {
      SampleBuilder sample = writer.NewSample(std::to_string(i));
      const std::size_t size = std::size_t{16} * 16 * channels;
      sample.SetPixels("image", 16, 16, channels, type,
                       std::as_bytes(std::span(bytes)).first(size * SizeOf(type)));
      sample.SetPixels("mask", 16, 16, channels, PixelType::kUint8,
                       std::as_bytes(std::span(bytes)).first(size));
      writer.Add(sample);
    }
    writer.Finish();
    return Dataset::Open(folder / name);
  };
  LoaderOptions options = OptionsFor(2, 1);
  const auto refusal = [&](const Dataset& dataset) {
    return ErrorText([&] { Loader loader(dataset, options); }, ErrorCode::kInvalidArgument);
  };
  const Dataset colour = write("colour", 3, PixelType::kUint8);
  const Dataset grey = write("grey", 1, PixelType::kUint16);
  options.output.fields = {"mask"};
  options.output.channels = 1;  // a third of the room that three channels take
  CHECK_THAT(refusal(colour), ContainsSubstring("\"mask\"") && ContainsSubstring("at 0"));
  options.output.channels = 3;
  CHECK_THAT(refusal(grey), ContainsSubstring("\"mask\""));
  Loader masks(colour, options);
  for (const Batch& batch : masks.Epoch(0))
    CHECK((batch.image().channels == 3 && batch.image().data[2 * 768 - 1] == 7));
  options.output.fields = {"image"};
  CHECK_THAT(refusal(grey), ContainsSubstring("not an 8-bit picture"));
  options.output.channels = 1;
  Loader wide(grey, options);
  for (const Batch& batch : wide.Epoch(0))
    CHECK(batch.image().type == ElementType::kUint16);
}

TEST_CASE("A mask that no sample has comes as one channel of zeros") {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "d", {{Field::Image(), Field::Mask("mask", "image")}});
  SampleBuilder sample = writer.NewSample("a");
  const std::vector<std::uint8_t> pixels(48, 9);
  sample.SetPixels("image", 4, 4, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
  writer.Add(sample);
  writer.Finish();
  LoaderOptions options = OptionsFor(1, 1);
  options.output.mask_fill = {{"mask", 0}};
  options.transform = {Resize(6)};
  Loader loader(Dataset::Open(folder / "d"), options);
  for (const Batch& batch : loader.Epoch(0)) {
    const ImageBatch& mask = batch.image("mask");
    CHECK((mask.width == 6 && mask.channels == 1 && !batch.Has("mask", 0)));
    CHECK(std::count(mask.data, mask.data + 36, 0) == 36);
  }
}

TEST_CASE("Describe() names the fields that move with an image") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(2, 1);
  options.transform = {Resize(8)};
  options.output.boxes.min_visible = 0.25;
  Loader loader(Dataset::Open(WriteStreet(folder, 4)), options);
  CHECK_THAT(loader.Describe(),
             ContainsSubstring("mask: 8x8, 1 channel of uint8, NHWC; the geometric steps, by the "
                               "nearest pixel\n") &&
                 ContainsSubstring("boxes: boxes, moved and cut off with their image; dropped if a "
                                   "side is less than 1 px or less than 0.25 of the box is "
                                   "visible, and with them their entries in classes\n") &&
                 ContainsSubstring("points: key points, moved with their image\n"));
}

TEST_CASE("Describe() names instances, with steps that move them and without") {
  const TemporaryFolder folder;
  const Field boxes = BoxesField();
  Field instances = Field::Bytes("shapes", Role::kInstances);
  instances.follows = "image";
  DatasetWriter writer(folder / "d", {{Field::Image(), boxes, instances}});
  SampleBuilder sample = writer.NewSample("a");
  const std::vector<std::uint8_t> pixels(4 * 4 * 3);
  sample.SetPixels("image", 4, 4, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
  writer.Add(sample);
  writer.Finish();
  LoaderOptions options = OptionsFor(1, 1);
  const std::string text =
      "shapes: instances of boxes, as runs of the pixels that the row shows of each\n";
  const Dataset dataset = Dataset::Open(folder / "d");
  const std::string unmoved = Loader(dataset, options).Describe();
  CHECK_THAT(unmoved, ContainsSubstring(text));
  CHECK_THAT(unmoved, !ContainsSubstring("boxes: boxes, moved"));
  options.transform = {CenterCrop(2)};
  CHECK_THAT(Loader(dataset, options).Describe(),
             ContainsSubstring(text) && ContainsSubstring("boxes: boxes, moved and cut off"));
}

TEST_CASE("Describe() says which labels stay when boxes are dropped") {
  const TemporaryFolder folder;
  Field loose = Field::Variable("tags", DType::kInt32, {});
  loose.role = Role::kLabel;
  const Field boxes = BoxesField();
  DatasetWriter writer(folder / "d", {{Field::Image(), boxes, loose}});
  SampleBuilder sample = writer.NewSample("a");
  const std::vector<std::uint8_t> pixels(4 * 4 * 3);
  sample.SetPixels("image", 4, 4, 3, PixelType::kUint8, std::as_bytes(std::span(pixels)));
  writer.Add(sample);
  writer.Finish();
  LoaderOptions options = OptionsFor(1, 1);
  options.transform = {CenterCrop(2)};
  CHECK_THAT(Loader(Dataset::Open(folder / "d"), options).Describe(),
             ContainsSubstring("tags: follows no image, so keeps all entries when boxes are "
                               "dropped"));
}

TEST_CASE("An impossible rule for boxes is refused") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteStreet(folder, 4));
  LoaderOptions options = OptionsFor(2, 1);
  for (const BoxRule rule : {BoxRule{std::nan(""), 0}, BoxRule{-1, 0}, BoxRule{1, 1.5},
                             BoxRule{1, std::nan("")}, BoxRule{HUGE_VAL, 0}}) {
    options.output.boxes = rule;
    CHECK_THAT(ErrorText([&] { Loader loader(dataset, options); }, ErrorCode::kInvalidArgument),
               ContainsSubstring("LoaderOptions::output.boxes.min_"));
  }
  for (const double aspect : {std::nan(""), 0.99, -1.0}) {
    options.output.boxes = {};
    options.output.boxes.max_aspect = aspect;
    CHECK_THAT(ErrorText([&] { Loader loader(dataset, options); }, ErrorCode::kInvalidArgument),
               ContainsSubstring("LoaderOptions::output.boxes.max_aspect must be at least 1"));
  }
  options.output.boxes = {.min_mask = 1};
  CHECK_THAT(ErrorText([&] { Loader loader(dataset, options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("LoaderOptions::output.boxes.min_mask looks at the masks of boxes"));
}

TEST_CASE("The largest boxes of a row are kept with their classes, also where no step moves them") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteStreet(folder, 12));
  LoaderOptions options = OptionsFor(4, 0);
  options.output.fields = {"image", "boxes", "classes"};
  const auto boxes_of = [&](std::uint64_t& left_out) {
    std::map<std::uint64_t, std::pair<std::vector<float>, std::vector<std::int32_t>>> found;
    Loader loader(dataset, options);
    for (const Batch& batch : loader.Epoch(0)) {
      const auto boxes = batch.Variable<float>("boxes");
      const auto classes = batch.Variable<std::int32_t>("classes");
      for (std::size_t row = 0; row < batch.size(); ++row) {
        found[batch.samples()[row]] = {{boxes[row].begin(), boxes[row].end()},
                                       {classes[row].begin(), classes[row].end()}};
      }
    }
    left_out = loader.Stats().left_out_objects;
    return found;
  };
  std::uint64_t left_out = 0, expected = 0;
  const auto all = boxes_of(left_out);
  CHECK(left_out == 0);
  options.output.boxes = {.min_side = 0, .most = 1};
  for (const auto& [sample, kept] : boxes_of(left_out)) {
    const auto& [boxes, classes] = all.at(sample);
    std::size_t largest = 0;
    const auto area = [&](std::size_t b) {
      return (boxes[4 * b + 2] - boxes[4 * b]) * (boxes[4 * b + 3] - boxes[4 * b + 1]);
    };
    for (std::size_t b = 1; b < classes.size(); ++b)
      if (area(b) > area(largest)) largest = b;
    if (!classes.empty()) expected += classes.size() - 1;
    REQUIRE(kept.second.size() == std::min<std::size_t>(classes.size(), 1));
    if (!classes.empty()) CHECK(kept.second[0] == classes[largest]);
  }
  CHECK((left_out == expected && expected > 0));
}

TEST_CASE("Invalid choices of fields are refused with advice") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteStreet(folder, 10));
  const auto refusal = [&](const LoaderOptions& options) {
    return ErrorText([&] { Loader loader(dataset, options); }, ErrorCode::kInvalidArgument);
  };
  LoaderOptions options = OptionsFor(4, 1);
  options.output.fields = {"lable"};
  CHECK_THAT(refusal(options), ContainsSubstring("no field \"lable\""));
  options.output.fields = {"mask", "depth"};
  CHECK_THAT(refusal(options), ContainsSubstring("transformed together with image \"image\""));
  options.output.fields = {"label"};
  options.transform = {Resize(4)};
  CHECK_THAT(refusal(options), ContainsSubstring("chooses no image"));
  options.output.fields = {"boxes"};
  CHECK_THAT(refusal(options), ContainsSubstring("transformed together with image \"image\""));
  options.output.fields = {"label"};
  options.transform = {};
  options.output.image = "image";
  CHECK_THAT(refusal(options), ContainsSubstring("leaves out"));
}

TEST_CASE("Mixing samples is refused if a mask or points would no longer fit") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteStreet(folder, 10));
  const auto refusal = [&](std::vector<std::string> fields, const Pipeline& steps) {
    LoaderOptions options = OptionsFor(4, 1);
    options.output.fields = std::move(fields);
    options.transform = steps;
    return ErrorText([&] { Loader loader(dataset, options); }, ErrorCode::kInvalidArgument);
  };
  const Pipeline mix = {Resize(8), OneHot{10, 0, "label", "target"}, MixUp{}};
  CHECK_THAT(refusal({"image", "label", "mask"}, mix), ContainsSubstring("field \"mask\""));
  CHECK_THAT(refusal({"image", "label"}, {MixUp{}, OneHot{10, 0, "label", "target"}}),
             ContainsSubstring("put OneHot before"));
  LoaderOptions options = OptionsFor(4, 1);
  options.output.fields = {"image", "label"};
  options.transform = mix;
  Loader loader(dataset, options);
  CHECK((*loader.Epoch(0).begin()).size() == 4);
}

TEST_CASE("A sample that lacks the classes of its boxes is a fault where boxes are mixed") {
  const TemporaryFolder folder;
  const Schema street = StreetSchema();
  DatasetWriter writer(folder / "data",
                       {{Field::Image(), street.fields[2], street.fields[3]}});  // boxes, classes
  for (int i = 0; i < 26; ++i) {
    SampleBuilder sample = writer.NewSample("key-" + std::to_string(i));
    sample.SetPixels("image", 10, 4, 3, PixelType::kUint8, std::vector<std::byte>(10 * 4 * 3));
    sample.SetArray<float>("boxes", std::vector<float>{1, 1, 2, 2, 3, 1, 5, 3});
    if (i != 7) sample.SetArray<std::int32_t>("classes", std::vector<std::int32_t>{i, i});
    writer.Add(sample);
  }
  writer.Finish();
  LoaderOptions options = OptionsFor(13, 2);
  options.transform = {MixUp(32)};
  const auto played = [&] {
    Loader loader(Dataset::Open(folder / "data"), options);
    std::size_t rows = 0;
    for (const Batch& batch : loader.Epoch(0)) {
      const auto classes = batch.Variable<std::int32_t>("classes");
      for (std::size_t row = 0; row < batch.size(); ++row)
        CHECK(classes[row].size() == 4);
      rows += batch.size();
    }
    const auto faults = loader.Faults();
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].key == "key-7");
    return rows;
  };
  options.integrity.on_fault = OnFault::kSkip;
  CHECK(played() == 25);
  options.integrity.on_fault = OnFault::kSubstitute;
  CHECK(played() == 26);
  options.integrity.on_fault = OnFault::kError;
  CHECK_THAT(ErrorText([&] { played(); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("sample 7 \"key-7\"") &&
                 ContainsSubstring("field \"classes\" has 0 entries for 2 boxes") &&
                 ContainsSubstring("LoaderOptions::output.fields"));
}

TEST_CASE("One box of a sample cannot hold those of two, so it is refused with MixUp and CutMix") {
  const TemporaryFolder folder;
  Field box = Field::Array("box", DType::kFloat32, {4});
  box.role = Role::kBoxes;
  box.follows = "image";
  DatasetWriter writer(folder / "data", {{Field::Image(), box}});
  SampleBuilder sample = writer.NewSample("a");
  sample.SetPixels("image", 10, 4, 3, PixelType::kUint8, std::vector<std::byte>(10 * 4 * 3));
  sample.SetArray<float>("box", std::vector<float>{1, 2, 3, 4});
  writer.Add(sample);
  writer.Finish();
  LoaderOptions options = OptionsFor(1, 1);
  for (const Transform& mix : Pipeline{MixUp{}, CutMix{}}) {
    options.transform = {mix};
    CHECK_THAT(ErrorText([&] { Loader loader(Dataset::Open(folder / "data"), options); },
                         ErrorCode::kInvalidArgument),
               ContainsSubstring("field \"box\"") &&
                   ContainsSubstring("no room for the boxes of two samples"));
  }
}

TEST_CASE("Several key points are refused with a flip unless somebody says which change places") {
  const TemporaryFolder folder;
  Field points = Field::Variable("points", DType::kFloat32, {3, 2});
  points.role = Role::kKeypoints;
  points.follows = "image";
  const auto write = [&](const char* name) {
    DatasetWriter writer(folder / name, {{Field::Image(), points}});
    SampleBuilder sample = writer.NewSample("a");
    const std::vector<std::byte> pixels(10 * 4 * 3);
    sample.SetPixels("image", 10, 4, 3, PixelType::kUint8, pixels);
    sample.SetArray<float>("points", std::vector<float>{1, 2, 3, 2, 5, 2});
    writer.Add(sample);
    writer.Finish();
    return Dataset::Open(folder / name);
  };
  const Dataset dataset = write("silent");
  LoaderOptions options = OptionsFor(1, 1);
  const auto refusal = [&] {
    return ErrorText([&] { Loader loader(dataset, options); }, ErrorCode::kInvalidArgument);
  };
  const auto played = [&](const Dataset& from) {
    Loader loader(from, options);
    std::vector<float> values;
    for (const Batch& batch : loader.Epoch(0))
      values = ToVector(batch.Variable<float>("points")[0]);
    return values;
  };
  for (const Transform& flip : Pipeline{HorizontalFlip{1}, VerticalFlip{1}}) {
    options.transform = {flip};
    CHECK_THAT(refusal(), ContainsSubstring("field \"points\" has 3 key points") &&
                              ContainsSubstring("LoaderOptions::output.flip_pairs") &&
                              ContainsSubstring("\"none\""));
  }
  options.transform = {};
  options.schedule = {{3, {HorizontalFlip{1}}}};
  CHECK_THAT(refusal(), ContainsSubstring("flip_pairs"));
  options.schedule = {};
  options.transform = {HorizontalFlip{0}, VerticalFlip{0}};
  CHECK_NOTHROW(Loader(dataset, options));  // nothing mirrors
  options.transform = {HorizontalFlip{1}};
  options.output.flip_pairs = "0-3";
  CHECK_THAT(refusal(), ContainsSubstring("\"0-3\", does not give pairs"));
  options.output.flip_pairs = "0-2";
  CHECK(played(dataset) == std::vector<float>{5, 2, 7, 2, 9, 2});
  options.output.flip_pairs = "none";
  CHECK(played(dataset) == std::vector<float>{9, 2, 7, 2, 5, 2});
  points.attributes["flip_pairs"] = "0-1";  // the dataset's own count
  CHECK(played(write("pairs")) == std::vector<float>{7, 2, 9, 2, 5, 2});
  points.attributes["flip_pairs"] = "none";
  options.output.flip_pairs.clear();
  CHECK(played(write("none")) == std::vector<float>{9, 2, 7, 2, 5, 2});
}

TEST_CASE(
    "A dataset in which samples lack their mask is refused unless the mask's value is given") {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "d", {{Field::Image(), Field::Mask("mask", "image")}});
  const std::vector<std::byte> pixels(4 * 4 * 3), mask(4 * 4, std::byte{3});
  for (int i = 0; i < 4; ++i) {
    SampleBuilder sample = writer.NewSample(std::to_string(i));
    sample.SetPixels("image", 4, 4, 3, PixelType::kUint8, pixels);
    if (i != 2) sample.SetPixels("mask", 4, 4, 1, PixelType::kUint8, mask);
    writer.Add(sample);
  }
  writer.Finish();
  const Dataset dataset = Dataset::Open(folder / "d");
  LoaderOptions options = OptionsFor(4, 1);
  options.order.shuffle = Shuffle::kSequential;
  CHECK_THAT(ErrorText([&] { Loader loader(dataset, options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("1 of 4 pictures have no mask in field \"mask\"") &&
                 ContainsSubstring("LoaderOptions::output.mask_fill"));
  options.output.fields = {"image"};
  CHECK_NOTHROW(Loader(dataset, options));
  options.output.fields = {};
  options.output.mask_fill = {{"mask", 255}};
  Loader loader(dataset, options);
  for (const Batch& batch : loader.Epoch(0))
    CHECK(batch.image("mask").data[2 * 16] == 255);
}

TEST_CASE("Fields that cannot follow steps are refused with steps, and come as stored without") {
  const TemporaryFolder folder;
  Field boxes = Field::Variable("boxes", DType::kInt32, {4});
  boxes.role = Role::kBoxes;
  boxes.follows = "image";
  Field odd = Field::Variable("odd", DType::kFloat32, {4});
  odd.role = Role::kBoxes;
  odd.follows = "image";
  odd.coordinates = "zigzag";
  Field stray = Field::Variable("stray", DType::kFloat32, {4});
  stray.role = Role::kBoxes;
  Field points = Field::Array("points", DType::kFloat32, {3, 2});
  points.role = Role::kKeypoints;
  // DatasetWriter refuses such fields.
  const Schema schema{{Field::Image(), boxes, odd, stray, points}};
  FieldValue absent;
  absent.codec = Codec::kAbsent;
  FieldValue box = ArrayValue<std::int32_t>({-5, 0, 1, 9});
  box.codec = Codec::kRaw;
  const std::vector<EncodedSample> samples = {
      {"a",
       {ImageValue(2, 2, 3, std::string(12, '\0')), box, absent, absent,
        ArrayValue<float>({0, 0, 0, 0, 0, 0})}}};
  const std::vector<BuiltShard> shards = {BuildShard(schema, IdOf(1), 4, samples)};
  std::filesystem::create_directory(folder / "d");
  WriteDataset(folder / "d", ManifestOf("d", schema, shards, samples), shards);
  const Dataset dataset = Dataset::Open(folder / "d");
  LoaderOptions options = OptionsFor(1, 1);
  Loader stored(dataset, options);
  for (const Batch& batch : stored.Epoch(0))
    CHECK(ToVector(batch.Variable<std::int32_t>("boxes")[0]) ==
          std::vector<std::int32_t>{-5, 0, 1, 9});
  options.transform = {HorizontalFlip()};
  options.output.fields = {"image", "boxes"};
  CHECK_THAT(ErrorText([&] { Loader loader(dataset, options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("not float32"));
  options.output.fields = {"image", "odd"};
  CHECK_THAT(ErrorText([&] { Loader loader(dataset, options); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("zigzag"));
  for (const char* const name : {"stray", "points"}) {
    options.output.fields = {"image", name};
    options.transform = {HorizontalFlip()};
    CHECK_THAT(ErrorText([&] { Loader loader(dataset, options); }, ErrorCode::kInvalidArgument),
               ContainsSubstring(std::string("field \"") + name + "\"") &&
                   ContainsSubstring("follows no image") && ContainsSubstring("follows=\"image\""));
    options.transform = {};
    CHECK_NOTHROW(Loader(dataset, options));
  }
}
