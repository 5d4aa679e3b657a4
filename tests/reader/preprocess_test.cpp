// Preprocess: rows for a server, which must be the rows of Loader::Row(); and the pipeline's text.
#include <fstream>
#include <thread>

#include <nlohmann/json.hpp>

#include <sluice/image_file.h>
#include <sluice/parse_pipeline.h>
#include <sluice/preprocess.h>

#include "format/mutex.h"
#include "reader/decoding/served_pipeline.h"
#include "reader/transform/steps.h"
#include "tests/format/error_of.h"
#include "tests/reader/playing.h"
#include "tests/reader/sample_data.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Catch::Matchers::ContainsSubstring;

std::vector<std::byte> BytesOfRow(const Batch& row) {
  const auto* const data = reinterpret_cast<const std::byte*>(row.image().data);
  return {data, data + row.image().sample_bytes()};
}

std::vector<std::byte> RowOf(const Preprocess& preprocess, const ImagePayload& image) {
  std::vector<std::byte> row(preprocess.row_bytes(), std::byte{77});
  preprocess.Row(image, row);
  return row;
}

// Compares the rows of all samples with those of a loader with the same pipeline.
void CheckAllRows(const Dataset& dataset, const std::string& steps, Layout layout,
                  unsigned channels = 0) {
  INFO(dataset.name() << ", " << steps);
  LoaderOptions options = OptionsFor(1, 0);
  options.transform = ParsePipeline(steps);
  options.output.layout = layout;
  options.output.channels = channels;
  Loader loader(dataset, options);
  const Preprocess preprocess(loader.PipelineText());
  CHECK(preprocess.PipelineText() == loader.PipelineText());
  const Batch first = loader.Row(0, 0);
  const ImageBatch shape = preprocess.shape();
  REQUIRE(shape.sample_bytes() == first.image().sample_bytes());
  CHECK(shape.type == first.image().type);
  CHECK((shape.height == first.image().height && shape.width == first.image().width));
  CHECK(shape.channels == first.image().channels);
  CHECK(shape.layout == layout);
  for (std::uint64_t sample = 0; sample < dataset.size(); ++sample) {
    INFO("sample " << sample);
    REQUIRE(RowOf(preprocess, dataset[sample].Payload()) == BytesOfRow(loader.Row(sample, 0)));
  }
}

// Steps whose results are fixed, as in validation.
const char* const kValidations[] = {"short:48,center:32",
                                    "short:70:area,center:64x40,normalize",
                                    "crc:32,normalize:f16",
                                    "resize:40x24,invert,solarize:99,normalize:bf16",
                                    "center:120,autocontrast,equalize,posterize:3,gray:1",
                                    "resize:32,blur:5/0.7/0.7,sharpness:2,jitter:0/0/0/0,erase:0"};

ServedPipeline Parsed(const std::string& text) {
  return ServedPipeline::Parse(text);
}

// A JSON pipeline with one member changed.
std::string ChangedPipeline(const std::function<void(nlohmann::json&)>& change) {
  auto json = nlohmann::json::parse(Parsed("short:48,center:32,normalize").Text());
  change(json);
  return json.dump();
}

Preprocess ForFiles(const std::string& steps, unsigned threads = 0) {
  return Preprocess(steps, {.image_files = ImageFileReader, .threads = threads});
}

std::vector<std::vector<std::byte>> SomeFiles(int count) {
  std::vector<std::vector<std::byte>> files;
  for (int i = 0; i < count; ++i) {
    files.push_back(MakeJpeg(
        MakePicture(90 + static_cast<std::uint32_t>(i) % 7, 70, 3, static_cast<std::uint64_t>(i))));
  }
  return files;
}

std::vector<std::span<const std::byte>> SpansOf(const std::vector<std::vector<std::byte>>& files) {
  return {files.begin(), files.end()};
}

}  // namespace

TEST_CASE("A server's rows are those of Loader::Row for JPEG and raw images") {
  const TemporaryFolder folder;
  const Dataset jpegs = Dataset::Open(WriteJpegDataset(folder, 9, StoredForm()));
  const Dataset raw = Dataset::Open(WriteLargerDataset(folder, 5));
  for (const char* const steps : kValidations) {
    for (const Layout layout : {Layout::kNHWC, Layout::kNCHW}) {
      CheckAllRows(jpegs, steps, layout);
      CheckAllRows(raw, steps, layout);
    }
  }
  CheckAllRows(raw, "none", Layout::kNCHW);
  CheckAllRows(jpegs, "short:48,center:32", Layout::kNHWC, 1);
}

TEST_CASE("PipelineText() writes the steps of the requested epoch") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(1, 0);
  options.transform = {CenterCrop(16)};
  options.sizes = {{0, 16, 16}, {3, 24, 24}};
  options.schedule = {{5, {ResizeShortSide(30), CenterCrop(24)}}};
  const Loader loader(Dataset::Open(WriteLargerDataset(folder, 3)), options);
  CHECK(Preprocess(loader.PipelineText()).shape().width == 16);
  CHECK(Preprocess(loader.PipelineText(4)).shape().width == 24);
  CHECK_THAT(loader.PipelineText(5), ContainsSubstring("ResizeShortSide"));
  CHECK_THAT(loader.PipelineText(4), !ContainsSubstring("ResizeShortSide"));
}

TEST_CASE("Steps for labels and batches are left out of a pipeline's text") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(2, 0);
  options.transform = {CenterCrop(16), OneHot{}, MixUp(0.2)};
  const Loader loader(Dataset::Open(WriteLargerDataset(folder, 4)), options);
  CHECK(Parsed(loader.PipelineText()).steps.size() == 1);
}

TEST_CASE("A pipeline's text has the names of the classes, if there are any and they fit") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(1, 0);
  options.transform = {CenterCrop(16)};
  const auto classes_of = [&](const Field& label, const char* name) {
    DatasetWriter writer(folder / name, {{Field::Image(), label}});
    SampleBuilder sample = writer.NewSample("k");
    sample.SetPixels("image", 16, 16, 1, PixelType::kUint8, std::vector<std::byte>(256));
    sample.Set<std::int32_t>("label", 0);
    writer.Add(sample);
    writer.Finish();
    const Preprocess preprocess(Loader(Dataset::Open(folder / name), options).PipelineText());
    return Preprocess(preprocess.PipelineText()).classes();
  };
  CHECK(classes_of(Field::Label("label", {"owl \"a\"", "\xC3\xA4pfel"}), "some") ==
        std::vector<std::string>{"owl \"a\"", "\xC3\xA4pfel"});
  CHECK(classes_of(Field::Label("label"), "none").empty());
  std::vector<std::string> many(3000);
  for (std::size_t i = 0; i < many.size(); ++i)
    many[i] = std::to_string(i) + std::string(400, 'x');
  CHECK(classes_of(Field::Label("label", many), "many").empty());
}

TEST_CASE("Every step's parameters survive a pipeline's text") {
  ServedPipeline pipeline = Parsed("center:32");
  for (const char* const text : {"rrc:224x160/0.35/0.9:area",
                                 "crc:32",
                                 "short:100:area",
                                 "crop:32+4:reflect",
                                 "flip:0.25",
                                 "vflip:0.75",
                                 "turns:0.5",
                                 "translate:3",
                                 "affine:30/0.1",
                                 "affine:30/0.1/0.5/1.5/3+60x40",
                                 "letterbox:64x48:noscaleup:corner:area",
                                 "zoomout:1.5/3@0.7",
                                 "scalejitter:60x50/0.2/1.8",
                                 "fixedcrop:48x64",
                                 "shortest:48-56-64+90",
                                 "perspective:0.3@0.2",
                                 "ioucrop",
                                 "mosaic:32/0.75/1.25",
                                 "jitter:0.1/0.2/0.3/0.4@0.5",
                                 "gray:0.1",
                                 "blur:7/0.3/1.7",
                                 "solarize:77",
                                 "posterize:4",
                                 "equalize",
                                 "autocontrast",
                                 "invert",
                                 "sharpness:1.7",
                                 "erase:0.3",
                                 "randaug:3/7",
                                 "trivialaug:0.4",
                                 "normalize:bf16"}) {
    pipeline.steps.push_back(ParsePipeline(text).at(0));
  }
  RandomCrop filled(24, 2);
  filled.fill = {1, 2, 3};
  pipeline.steps.emplace_back(filled);
  pipeline.steps.emplace_back(RandomErasing().with_noise());
  pipeline.steps.emplace_back(RandAugment(3, 7, 21).with_bilinear().with_fill({9, 8, 7}));
  pipeline.steps.emplace_back(Normalize({0.1F}, {0.3F}, FloatType::kFloat16));
  nlohmann::json json = nlohmann::json::parse(pipeline.Text());
  // Geometry refuses these steps together, so each is read by itself.
  for (std::size_t s = 0; s < pipeline.steps.size(); ++s) {
    ServedPipeline one = pipeline;
    one.steps = {pipeline.steps[s]};
    nlohmann::json alone = json;
    alone["steps"] = {json["steps"][s]};
    if (const auto extent = Geometry(one.steps).FixedExtent()) {
      alone["width"] = extent->width;
      alone["height"] = extent->height;
    }
    INFO(alone.dump());
    const ServedPipeline read = Parsed(alone.dump());
    CHECK(StepText(read.steps.at(0)) == StepText(pipeline.steps[s]));
    CHECK(nlohmann::json::parse(read.Text()) == alone);
  }
}

TEST_CASE("A pipeline's text with anything that this version does not know is refused") {
  const auto refusal = [](const std::string& text) {
    return ErrorText([&] { Parsed(text); }, ErrorCode::kInvalidArgument);
  };
  CHECK_THAT(refusal(ChangedPipeline([](auto& j) { j["sluice_pipeline"] = 2; })),
             ContainsSubstring("has version 2"));
  CHECK_THAT(refusal(ChangedPipeline([](auto& j) { j["sluice_pipeline"] = 1.0; })),
             ContainsSubstring("has version 1.0"));
  CHECK_THAT(refusal(ChangedPipeline([](auto& j) { j["steps"][0]["choices"] = "triangle"; })),
             ContainsSubstring("\"triangle\""));
  CHECK_THAT(refusal(ChangedPipeline([](auto& j) { j["crop"] = 3; })),
             ContainsSubstring("{\"crop\":3}"));
  CHECK_THAT(refusal(ChangedPipeline([](auto& j) { j["classes"] = "owl"; })),
             ContainsSubstring("the value \"owl\" where it is not allowed"));
  CHECK_THAT(refusal(ChangedPipeline([](auto& j) {
               j["classes"] = {"owl", 3};
             })),
             ContainsSubstring("the value 3 where it is not allowed"));
  CHECK_THAT(refusal(ChangedPipeline([](auto& j) { j["steps"][0]["new"] = 1; })),
             ContainsSubstring("{\"new\":1}"));
  CHECK_THAT(refusal(ChangedPipeline([](auto& j) { j["steps"][0].erase("side"); })),
             ContainsSubstring("lacks \"side\""));
  CHECK_THAT(refusal(ChangedPipeline([](auto& j) { j["steps"][0]["side"] = 0; })),
             ContainsSubstring("has the value 0 where it is not allowed"));
  CHECK_THAT(refusal(ChangedPipeline([](auto& j) { j["steps"][0]["side"] = 1e300; })),
             ContainsSubstring("where it is not allowed"));
  CHECK_THAT(refusal(ChangedPipeline([](auto& j) { j["steps"][0]["choices"] = {"cubic"}; })),
             ContainsSubstring("\"cubic\""));
  CHECK_THAT(refusal(ChangedPipeline([](auto& j) {
               j["steps"][0]["choices"] = {"area", "area"};
             })),
             ContainsSubstring("where it is not allowed"));
  CHECK_THAT(refusal(ChangedPipeline([](auto& j) { j["steps"][0]["step"] = "Sharpen"; })),
             ContainsSubstring("\"Sharpen\""));
  CHECK_THAT(refusal(ChangedPipeline([](auto& j) { j["steps"][0]["step"] = "MixUp"; })),
             ContainsSubstring("\"MixUp\""));
  const std::string flat = ChangedPipeline([](auto& j) { j["steps"][2]["deviation"] = {0.0}; });
  CHECK_THAT(ErrorText([&] { Preprocess{flat}; }, ErrorCode::kInvalidArgument),
             ContainsSubstring("deviation"));
  CHECK_THAT(refusal(ChangedPipeline([](auto& j) { j["width"] = 31; })),
             ContainsSubstring("31x32 pixels, and its steps make 32x32"));
  CHECK_THAT(refusal(ChangedPipeline([](auto& j) { j["layout"] = "hwc"; })),
             ContainsSubstring("\"hwc\""));
  CHECK_THAT(refusal("{\"sluice_pipeline\": 1"), ContainsSubstring("is not JSON"));
  CHECK_THAT(refusal("{\"a\":" + std::string(50, '[')), ContainsSubstring("nests too deep"));
  CHECK_THAT(refusal("short:48"), ContainsSubstring("leaves the size of its rows open"));
}

TEST_CASE("A pipeline's text of more than 1 MB is refused before it is read") {
  for (const char first : {'[', '{'}) {
    const std::string text(1'000'001, first);
    const std::string error = ErrorText([&] { Preprocess{text}; }, ErrorCode::kInvalidArgument);
    CHECK_THAT(error, ContainsSubstring("1000001 bytes, and at most 1,000,000"));
  }
}

TEST_CASE("Rows of more than max_pixels are refused before memory is taken for them") {
  const auto error = ErrorOf([] { Preprocess("center:65535x65535"); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kLimit);
  CHECK_THAT(error->sentence(), ContainsSubstring("65535 x 65535 pixels are larger"));
}

TEST_CASE("Random steps are refused, and steps whose result is fixed are accepted") {
  const auto refusal = [](const std::string& steps) {
    return ErrorText([&] { Preprocess{steps}; }, ErrorCode::kInvalidArgument);
  };
  for (const char* const step :
       {"rrc:32", "crop:32", "center:32,flip", "center:32,invert:0.5", "center:32,jitter:0.1",
        "center:32,blur:5", "center:32,erase:1", "center:32,randaug", "center:32,translate:4"}) {
    CHECK_THAT(refusal(step), ContainsSubstring("which makes a different row each time"));
  }
  CHECK_NOTHROW(Preprocess("center:32,invert:1,equalize:0,blur:5/1/1,jitter:0"));
}

TEST_CASE("PipelineText() refuses a loader whose rows depend on more than text can hold") {
  const TemporaryFolder folder;
  const Dataset raw = Dataset::Open(WriteLargerDataset(folder, 3));
  const Dataset jpegs = Dataset::Open(WriteJpegDataset(folder, 3));
  const auto refusal = [](const Dataset& dataset, const std::function<void(LoaderOptions&)>& set) {
    LoaderOptions options = OptionsFor(1, 0);
    options.transform = {CenterCrop(16)};
    set(options);
    const Loader loader(dataset, options);
    return ErrorText([&] { (void)loader.PipelineText(); }, ErrorCode::kInvalidArgument);
  };
  CHECK_THAT(refusal(raw, [](auto& o) { o.sample_function = [](MutableSample&) {}; }),
             ContainsSubstring("a function of yours"));
  CHECK_THAT(refusal(raw,
                     [](auto& o) {
                       o.views = {{"small", {CenterCrop(8)}, {}}};
                     }),
             ContainsSubstring("several views"));
  CHECK_THAT(refusal(raw,
                     [](auto& o) {
                       o.output.fields = {"label"};
                       o.transform = {};
                     }),
             ContainsSubstring("no image"));
  CHECK_THAT(refusal(jpegs,
                     [](auto& o) {
                       o.transform = {ResizeShortSide(20)};
                       o.output.image_sizes = ImageSizes::kPadded;
                     }),
             ContainsSubstring("differ in size"));
  CHECK_THAT(refusal(jpegs,
                     [](auto& o) {
                       o.transform = {RandomResizedCrop(20)};
                       o.keep = DecodedPictures{1'000'000};
                     }),
             ContainsSubstring("LoaderOptions::keep"));
}

TEST_CASE("A row of a fixed picture has the same bytes on every CPU and in every version") {
  const Picture picture = MakePicture(61, 47);
  const ImagePayload image{
      Codec::kRaw, PixelType::kUint8, 3, 61, 47, std::as_bytes(std::span(picture.pixels))};
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const std::byte byte : RowOf(Preprocess("short:40,center:32,normalize"), image))
    hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  CHECK(hash == 0x092bdcc137270b12);
}

TEST_CASE("An image that cannot be served is an error that says why") {
  std::vector<std::byte> row(32 * 32 * 3);
  const Preprocess stored("center:32");
  const Picture picture = MakePicture(40, 30);
  ImagePayload image{
      Codec::kRaw, PixelType::kUint8, 3, 40, 30, std::as_bytes(std::span(picture.pixels))};
  CHECK_NOTHROW(stored.Row(image, row));
  CHECK_THAT(
      ErrorText([&] { stored.Row(image, std::span(row).first(5)); }, ErrorCode::kInvalidArgument),
      ContainsSubstring("1 row takes 3072 bytes, and there is room for 5"));
  image.width = 41;
  CHECK(ErrorText([&] { stored.Row(image, row); }, ErrorCode::kCorrupt) != "");
  const Preprocess resizing("short:48,center:32");
  for (const auto& [width, height] : {std::pair{0U, 30U}, {40U, 0U}}) {
    CHECK_THAT(ErrorText(
                   [&] {
                     resizing.Row({Codec::kRaw, PixelType::kUint8, 3, width, height, {}}, row);
                   },
                   ErrorCode::kCorrupt),
               ContainsSubstring("has no pixels"));
  }
  CHECK_THAT(ErrorText([&] { resizing.Row(ImagePayload{}, row); }, ErrorCode::kCorrupt),
             ContainsSubstring("has no pixels"));
  CHECK_THAT(ErrorText([&] { stored.Row(image.bytes, row); }, ErrorCode::kState),
             ContainsSubstring("image_files is empty"));
  const Preprocess files = ForFiles("center:32");
  CHECK_THAT(ErrorText([&] { files.Row(std::as_bytes(std::span("hello, world", 12)), row); },
                       ErrorCode::kUnsupported),
             ContainsSubstring("is not an image of a known kind"));
  const Preprocess throwing(
      "center:32", {.image_files = [](unsigned, std::uint64_t) -> ImageReader {
        return [](Bytes) -> ImagePayload { throw std::out_of_range("of the reader's own"); };
      }});
  CHECK_THAT(ErrorText([&] { throwing.Row(image.bytes, row); }, ErrorCode::kUnsupported),
             ContainsSubstring("of the reader's own"));
  const std::vector<std::byte> jpeg = MakeJpeg(picture);
  CHECK_THAT(ErrorText([&] { files.Row(std::span(jpeg).first(jpeg.size() / 2), row); },
                       ErrorCode::kCorrupt),
             ContainsSubstring("cut short"));
  const Preprocess bounded("center:32", {.image_files = ImageFileReader, .max_pixels = 1000});
  CHECK_THAT(ErrorText([&] { bounded.Row(jpeg, row); }, ErrorCode::kLimit),
             ContainsSubstring("40x30"));
  const Preprocess uniform(
      R"({"sluice_pipeline":1,"width":32,"height":32,"channels":3,"layout":"nhwc","steps":[]})",
      {.image_files = ImageFileReader});
  CHECK_THAT(ErrorText([&] { uniform.Row(jpeg, row); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("40x30 pixels, and the pipeline, which does not resize, is for"));
}

TEST_CASE("Rows() makes the rows that Row() makes of each file, for any number of threads") {
  const auto files = SomeFiles(40);
  for (const unsigned threads : {1U, 3U}) {
    const Preprocess preprocess = ForFiles("short:48,center:32", threads);
    const std::size_t bytes = preprocess.row_bytes();
    std::vector<std::byte> rows(files.size() * bytes), one(bytes);
    CHECK(preprocess.Rows(SpansOf(files), rows).empty());
    for (std::size_t i = 0; i < files.size(); ++i) {
      preprocess.Row(files[i], one);
      REQUIRE(std::equal(one.begin(), one.end(),
                         rows.begin() + static_cast<std::ptrdiff_t>(i * bytes)));
    }
  }
}

TEST_CASE("Faulty files are named by row, their rows are zeros, and the others are made") {
  auto files = SomeFiles(12);
  files[3].resize(100);
  files[7].clear();
  const Preprocess preprocess = ForFiles("short:48,center:32", 2);
  const std::size_t bytes = preprocess.row_bytes();
  std::vector<std::byte> rows(files.size() * bytes, std::byte{1});
  const std::vector<RowFault> faults = preprocess.Rows(SpansOf(files), rows);
  REQUIRE(faults.size() == 2);
  CHECK((faults[0].row == 3 && faults[1].row == 7));
  CHECK((!faults[0].late && !faults[1].late));
  CHECK(std::all_of(rows.begin() + static_cast<std::ptrdiff_t>(3 * bytes),
                    rows.begin() + static_cast<std::ptrdiff_t>(4 * bytes),
                    [](std::byte b) { return b == std::byte{0}; }));
  std::vector<std::byte> one(bytes);
  preprocess.Row(files[11], one);
  CHECK(std::equal(one.begin(), one.end(), rows.begin() + static_cast<std::ptrdiff_t>(11 * bytes)));
}

TEST_CASE("No image is begun after the deadline, and each is a late fault") {
  const auto files = SomeFiles(6);
  const Preprocess preprocess = ForFiles("center:32", 2);
  std::vector<std::byte> rows(files.size() * preprocess.row_bytes(), std::byte{1});
  const auto late = preprocess.Rows(SpansOf(files), rows, std::chrono::microseconds(0));
  REQUIRE(late.size() == files.size());
  for (std::size_t i = 0; i < late.size(); ++i)
    CHECK((late[i].row == i && late[i].late && late[i].error.code() == ErrorCode::kState));
  CHECK(rows[0] == std::byte{0});
  CHECK(preprocess.Rows(SpansOf(files), rows, std::chrono::hours(1)).empty());
}

TEST_CASE("Several threads may use one Preprocess at once") {
  const auto files = SomeFiles(16);
  const Preprocess preprocess = ForFiles("short:48,center:32,normalize", 3);
  std::vector<std::byte> wanted(files.size() * preprocess.row_bytes());
  REQUIRE(preprocess.Rows(SpansOf(files), wanted).empty());
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&, c] {
      std::vector<std::byte> rows(wanted.size());
      for (int i = 0; i < 10; ++i) {
        std::fill(rows.begin(), rows.end(), std::byte{1});
        if (c % 2 == 0) {
          if (!preprocess.Rows(SpansOf(files), rows).empty()) ++wrong;
        } else {
          for (std::size_t f = 0; f < files.size(); ++f) {
            preprocess.Row(files[f], std::span(rows).subspan(f * preprocess.row_bytes(),
                                                             preprocess.row_bytes()));
          }
        }
        if (rows != wanted) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers)
    caller.join();
  CHECK(wrong == 0);
}

TEST_CASE("Several threads make the rows of one call") {
  // Each image waits until another thread has one, too.
  Mutex mutex;
  Condition second;
  int under_way = 0;
  const auto picture = MakePicture(40, 30);
  const ImagePayload image{
      Codec::kRaw, PixelType::kUint8, 3, 40, 30, std::as_bytes(std::span(picture.pixels))};
  const Preprocess preprocess("center:32",
                              {.image_files = [&](unsigned, std::uint64_t) -> ImageReader {
                                 return [&](Bytes) {
                                   const MutexLock lock(mutex);
                                   if (++under_way == 2) second.NotifyAll();
                                   while (under_way < 2)
                                     second.Wait(mutex);
                                   return image;
                                 };
                               },
                               .threads = 2});
  std::vector<std::byte> rows(2 * preprocess.row_bytes());
  const std::vector<std::span<const std::byte>> files(2, image.bytes.first(1));
  CHECK(preprocess.Rows(files, rows).empty());
  CHECK(under_way == 2);
}

TEST_CASE("Serving allocates no memory after its first calls") {
  const TemporaryFolder folder;
  std::string names;
  const auto files = SomeFiles(5);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::filesystem::path path = folder / (std::to_string(i) + ".jpg");
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(files[i].data()),
               static_cast<std::streamsize>(files[i].size()));
    names += " '" + path.string() + "'";
  }
  const std::filesystem::path out = folder / "out";
  REQUIRE(std::system((SLUICE_SERVE_BOUNDED + names + " > '" + out.string() + "'").c_str()) == 0);
  std::ifstream answer(out);
  std::string line;
  std::getline(answer, line);
  CHECK(line == "0 times, for 5 files with 0 faults");
}
