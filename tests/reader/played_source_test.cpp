// Sources that are played without a conversion: the batches are those of the dataset that a
// conversion with `keep` and without resizing makes of the same files.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>

#include <sluice/convert.h>
#include <sluice/loader.h>
#include <sluice/mixture.h>
#include <sluice/play_source.h>

#include "format/disk/bytes.h"
#include "tests/file_content.h"
#include "tests/pictures.h"
#include "tests/reader/playing.h"
#include "tests/temporary_folder.h"

using namespace sluice;
using namespace sluice::test;
namespace fs = std::filesystem;

namespace {

using Catch::Matchers::ContainsSubstring;

void WriteAt(const fs::path& file, Bytes content) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(content.data()),
             static_cast<std::streamsize>(content.size()));
}

// A PPM file of the picture, which a conversion has to encode.
std::vector<std::byte> MakePpm(const Picture& picture) {
  const std::string head =
      "P6\n" + std::to_string(picture.width) + " " + std::to_string(picture.height) + "\n255\n";
  std::vector<std::byte> file(AsBytes(head).begin(), AsBytes(head).end());
  const Bytes pixels = std::as_bytes(std::span(picture.pixels));
  file.insert(file.end(), pixels.begin(), pixels.end());
  return file;
}

// The JPEG with an Exif segment that says that it is stored turned by 90 degrees.
std::vector<std::byte> Turned(const std::vector<std::byte>& jpeg) {
  static const char kExif[] =
      "\xFF\xE1\x00\x22"
      "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0";
  std::vector<std::byte> file(jpeg.begin(), jpeg.begin() + 2);
  const Bytes exif = std::as_bytes(std::span(kExif, 36));
  file.insert(file.end(), exif.begin(), exif.end());
  file.insert(file.end(), jpeg.begin() + 2, jpeg.end());
  return file;
}

std::vector<std::byte> FileOf(int i) {
  const auto number = static_cast<std::uint32_t>(i);
  const std::uint32_t width = 70 + number % 17;
  const std::uint32_t height = 60 + number % 23;
  const Picture picture = MakePicture(width, height, 3, number);
  switch (i % 7) {
    case 1: return MakeJpeg(picture, {.progressive = true});
    case 2: return MakeJpeg(MakePicture(width, height, 1, number));  // grey
    case 3: return MakePpm(picture);
    case 4: return Turned(MakeJpeg(picture));
    case 5: return MakeJpeg(picture, {.subsample = false, .optimise = true});
    case 6: return MakeJpeg(picture, {.in = JCS_RGB, .stored = JCS_RGB});
    default: return MakeJpeg(picture);
  }
}

// `count` pictures of three classes, of all kinds that are treated differently.
fs::path WritePhotos(const TemporaryFolder& folder, int count) {
  const char* const classes[] = {"ant", "bee", "cow"};
  for (int i = 0; i < count; ++i)
    WriteAt(folder / "photos" / classes[i % 3] / (std::to_string(i) + ".img"), FileOf(i));
  return folder / "photos";
}

ConvertOptions Keeping() {
  ConvertOptions options;
  options.form.keep = true;
  options.geometry.max_side.reset();
  options.shards.block_samples = 4;
  return options;
}

PlayOptions Playing() {
  PlayOptions options;
  options.shards.block_samples = 4;
  return options;
}

Dataset Converted(const ConvertSource& source, const TemporaryFolder& folder) {
  Convert(source, folder / "converted", Keeping());
  return Dataset::Open(folder / "converted");
}

Dataset InPlace(const ConvertSource& source, const PlayOptions& options = Playing()) {
  return Dataset::Open(PlaySource(source, options));
}

LoaderOptions Crops(std::size_t batch_size, unsigned threads) {
  LoaderOptions options = OptionsFor(batch_size, threads);
  options.transform = {RandomResizedCrop(32), HorizontalFlip()};
  options.seed = 7;
  return options;
}

// Batches of two epochs.
std::vector<PlayedBatch> TwoEpochs(const Dataset& dataset, const LoaderOptions& options) {
  Loader loader(dataset, options);
  std::vector<PlayedBatch> played = PlayBatches(loader, 0);
  for (PlayedBatch& batch : PlayBatches(loader, 1))
    played.push_back(std::move(batch));
  return played;
}

// The number of the sample with that key.
std::uint64_t NumberOf(const Dataset& dataset, const std::string& key) {
  const std::optional<std::uint64_t> number = dataset.Find(key);
  REQUIRE(number.has_value());
  return *number;
}

// Moves the time at which the file was last written.
void SetTime(const fs::path& file, int seconds) {
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(seconds));
}

}  // namespace

TEST_CASE("A folder that is played has the samples of its conversion") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder, 60);
  const Dataset stored = Converted(photos, folder);
  const Dataset played = InPlace(photos);
  REQUIRE(played.size() == 60);
  CHECK(played.schema() == stored.schema());
  CHECK(played.class_counts() == stored.class_counts());
  CHECK(played.Column("label") == stored.Column("label"));
  CHECK(played.path() == photos);
  const ImageSummary& images = played.images().at(0);
  CHECK(images.min_width == stored.images().at(0).min_width);
  CHECK(images.max_width == stored.images().at(0).max_width);
  CHECK(images.min_height == stored.images().at(0).min_height);
  CHECK(images.max_height == stored.images().at(0).max_height);
  CHECK(images.min_channels == 3);
  CHECK(images.max_channels == 3);
  for (std::uint64_t i = 0; i < stored.size(); ++i) {
    const Sample a = played[i];
    const Sample b = stored[i];
    INFO(b.key());
    REQUIRE(a.key() == b.key());
    CHECK(a.Integer("label") == b.Integer("label"));
    CHECK(a.Decode().pixels == b.Decode().pixels);
    CHECK(NumberOf(played, b.key()) == i);
  }
}

TEST_CASE("A folder that is played gives the batches of its conversion in every order") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder, 61);
  const Dataset stored = Converted(photos, folder);
  const Dataset played = InPlace(photos);
  for (const Shuffle shuffle : {Shuffle::kQuasiRandom, Shuffle::kRandom, Shuffle::kSequential}) {
    for (const unsigned threads : {0U, 1U, 3U}) {
      LoaderOptions options = Crops(8, threads);
      options.order.shuffle = shuffle;
      options.order.lanes = 3;
      REQUIRE(TwoEpochs(played, options) == TwoEpochs(stored, options));
    }
  }
}

TEST_CASE("Ranks that play a folder get the batches of its conversion") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder, 50);
  const Dataset stored = Converted(photos, folder);
  const Dataset played = InPlace(photos);
  for (const unsigned rank : {0U, 1U, 2U}) {
    LoaderOptions options = Crops(4, 2);
    options.ranks.world_size = 3;
    options.ranks.rank = rank;
    REQUIRE(TwoEpochs(played, options) == TwoEpochs(stored, options));
  }
}

TEST_CASE("Pictures of a played folder may keep their sizes in batches") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder, 20);
  const Dataset stored = Converted(photos, folder);
  const Dataset played = InPlace(photos);
  LoaderOptions options = OptionsFor(4, 2);
  options.output.image_sizes = ImageSizes::kPadded;
  REQUIRE(TwoEpochs(played, options) == TwoEpochs(stored, options));
}

TEST_CASE("Pictures of one size play without a transform, and raw if the options say so") {
  const TemporaryFolder folder;
  std::vector<Picture> pictures;
  for (std::uint32_t i = 0; i < 12; ++i) {
    pictures.push_back(MakePicture(20, 10, 3, i));
    WriteAt(folder / "flat" / (std::to_string(10 + i) + ".ppm"), MakePpm(pictures.back()));
  }
  PlayOptions options = Playing();
  options.form = {.image = ImageCodec::kRaw};
  options.shards.keep_order = true;
  const Dataset played = InPlace(folder / "flat", options);
  CHECK(played.images().at(0).uniform());
  LoaderOptions in_order = OptionsFor(4, 2);
  in_order.order.shuffle = Shuffle::kSequential;
  Loader loader(played, in_order);
  std::vector<std::uint8_t> pixels, expected;
  for (const PlayedBatch& batch : PlayBatches(loader, 0))
    pixels.insert(pixels.end(), batch.pixels.begin(), batch.pixels.end());
  for (const Picture& picture : pictures)
    expected.insert(expected.end(), picture.pixels.begin(), picture.pixels.end());
  CHECK(pixels == expected);
}

TEST_CASE("A single row of a played folder is the row of its epoch") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder, 24);
  const Dataset stored = Converted(photos, folder);
  const Dataset played = InPlace(photos);
  Loader of_stored(stored, Crops(4, 1));
  Loader of_played(played, Crops(4, 1));
  for (std::uint64_t sample = 0; sample < 24; ++sample)
    REQUIRE(Keep(of_played.Row(sample, 3)) == Keep(of_stored.Row(sample, 3)));
}

TEST_CASE("A list of samples that a filter chose plays from a folder") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder, 30);
  const Dataset played = InPlace(photos);
  const SampleList wide = SampleList::Where(
      played, [](const Sample& sample) { return sample.Shape().width > sample.Shape().height; });
  LoaderOptions options = Crops(4, 2);
  options.order.samples = wide;
  std::uint64_t count = 0;
  Loader loader(played, options);
  for (const std::uint64_t sample : SamplesOf(PlayBatches(loader, 0))) {
    CHECK(played[sample].Shape().width > played[sample].Shape().height);
    ++count;
  }
  CHECK(count == wide.size());
  CHECK(count > 0);
}

TEST_CASE(
    "A training that plays a folder resumes to the byte, and is refused if files were added") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder, 40);
  LoaderOptions options = Crops(4, 2);
  Loader whole(InPlace(photos), options);
  const std::vector<PlayedBatch> all = PlayBatches(whole, 2);
  Loader begun(InPlace(photos), options);
  PlayBatches(begun, 2, 3);
  LoaderOptions resuming = options;
  resuming.resume_from = ResumePoint::Parse(begun.State().Text());
  Loader resumed(InPlace(photos), resuming);
  std::vector<PlayedBatch> rest = PlayBatches(resumed, 2);
  CHECK(rest == std::vector<PlayedBatch>(all.begin() + 3, all.end()));
  WriteAt(photos / "ant" / "new.jpg", MakeJpeg(MakePicture(50, 50)));
  CHECK_THAT(ErrorText([&] { Loader(InPlace(photos), resuming); }, ErrorCode::kInvalidArgument),
             ContainsSubstring("belongs to the dataset with id"));
}

TEST_CASE("A picture of a played folder that cannot be read is a fault that names its file") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder, 30);
  std::vector<std::byte> cut = FileOf(7);
  cut.resize(cut.size() / 2);
  WriteAt(photos / "bee" / "7.img", cut);  // baseline: the loader's decoder finds the damage
  cut = FileOf(8);
  cut.resize(cut.size() / 2);
  WriteAt(photos / "cow" / "8.img", cut);  // progressive: making a sample of it finds the damage
  const Dataset played = InPlace(photos);
  REQUIRE(played.size() == 30);
  fs::remove(photos / "ant" / "0.img");
  std::vector<std::byte> longer = FileOf(3);
  longer.push_back(std::byte{0});
  WriteAt(photos / "ant" / "3.img", longer);
  SetTime(photos / "ant" / "6.img", -5);
  // By key: what the error must contain, as a regular expression.
  const std::map<std::string, std::string> why = {
      {"bee/7.img", "bee/7.img"},
      {"cow/8.img", "cut short"},
      {"ant/0.img", "gone|cannot be opened"},
      {"ant/3.img", "changed"},
      {"ant/6.img", "changed"},
  };
  std::vector<std::uint64_t> faulty;
  Loader loader(played, Crops(4, 1));
  for (const auto& [key, part] : why) {
    const std::uint64_t number = NumberOf(played, key);
    faulty.push_back(number);
    try {
      loader.Row(number, 0);
      FAIL("no error");
    } catch (const Error& error) {
      INFO(error.what());
      CHECK(std::string(error.what()).find(key) != std::string::npos);
      CHECK_THAT(error.what(), Catch::Matchers::Matches(".*(" + part + ").*"));
    }
  }
  LoaderOptions skipping = Crops(4, 3);
  skipping.integrity.on_fault = OnFault::kSkip;
  Loader skips(played, skipping);
  const std::vector<std::uint64_t> samples = SamplesOf(PlayBatches(skips, 0));
  CHECK(samples.size() == 25);
  for (const std::uint64_t number : faulty)
    CHECK(std::count(samples.begin(), samples.end(), number) == 0);
  CHECK(skips.Stats().faults == 5);
  LoaderOptions substituting = Crops(4, 2);
  substituting.integrity.on_fault = OnFault::kSubstitute;
  Loader substitutes(played, substituting);
  CHECK(SamplesOf(PlayBatches(substitutes, 0)).size() == 30);
  LoaderOptions of_faulty = skipping;
  of_faulty.order.samples = SampleList::Of(faulty);
  Loader none(played, of_faulty);
  const std::string error = ErrorText([&] { PlayBatches(none, 0); }, ErrorCode::kIo);
  CHECK_THAT(error, Catch::Matchers::ContainsSubstring("no sample of the epoch could be read"));
  CHECK_THAT(error,
             Catch::Matchers::ContainsSubstring("whether the source's files are still there") &&
                 !Catch::Matchers::ContainsSubstring("sluice verify"));
}

TEST_CASE("An index that exists is used as the list of samples until the index is removed") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder, 30);
  PlayOptions options = Playing();
  options.index = folder / "photos.index";
  int listed = 0;
  options.on_look = [&listed](std::uint64_t, std::uint64_t) { ++listed; };
  const Dataset first = InPlace(photos, options);
  REQUIRE(fs::exists(options.index));
  const std::string content = ContentOf(options.index);
  WriteAt(photos / "ant" / "new.jpg", MakeJpeg(MakePicture(50, 50)));
  const Dataset again = InPlace(photos, options);
  CHECK(ContentOf(options.index) == content);
  CHECK(again.size() == 30);
  CHECK(again.id() == first.id());
  CHECK(TwoEpochs(again, Crops(4, 2)) == TwoEpochs(first, Crops(4, 2)));
  CHECK(again.images().at(0).max_width == first.images().at(0).max_width);
  SetTime(photos / "bee" / "1.img", 5);
  CHECK_THAT(ErrorText([&] { Loader(again, Crops(4, 1)).Row(NumberOf(again, "bee/1.img"), 0); },
                       ErrorCode::kIo),
             ContainsSubstring("changed since the source was listed"));
  fs::remove(options.index);
  CHECK(InPlace(photos, options).size() == 31);
}

TEST_CASE("A played source warns of what its conversion warns of, with and without an index") {
  const TemporaryFolder folder;
  const std::string dim = "P2 2 1 4095 0 1023\n";
  for (const char* name : {"a.pgm", "b.pgm"})
    WriteAt(folder / "scans" / name, AsBytes(dim));
  ConvertOptions dry;
  dry.run.dry_run = true;
  const std::vector<std::string> expected =
      Convert(folder / "scans", folder / "data", dry).warnings;
  REQUIRE(expected.size() == 1);
  CHECK_THAT(expected[0], ContainsSubstring("less than a quarter of the range"));
  std::vector<std::string> warnings;
  PlayOptions options = Playing();
  options.index = folder / "index";
  options.on_warning = [&](const std::string& text) { warnings.push_back(text); };
  for (int start = 0; start < 2; ++start) {
    warnings.clear();
    InPlace(folder / "scans", options);
    CHECK(warnings == expected);
  }
}

TEST_CASE("An index of another source, of other options or with damage is refused") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder, 12);
  PlayOptions options = Playing();
  options.index = folder / "photos.index";
  InPlace(photos, options);
  const auto refusal = [&](const ConvertSource& source, const PlayOptions& with, ErrorCode code) {
    return ErrorText([&] { PlaySource(source, with); }, code);
  };
  CHECK_THAT(refusal(photos / "ant", options, ErrorCode::kExists),
             ContainsSubstring("another source"));
  ConvertSource unlabelled = photos;
  unlabelled.label.store = false;
  CHECK_THAT(refusal(unlabelled, options, ErrorCode::kExists),
             ContainsSubstring("remove the index"));
  PlayOptions grey = options;
  grey.form.channels = 1;
  CHECK_THAT(refusal(photos, grey, ErrorCode::kExists), ContainsSubstring("other options"));
  const std::string content = ContentOf(options.index);
  std::string damaged = content;
  damaged[damaged.size() / 2] ^= 1;
  for (const std::string& bad :
       {damaged, content.substr(0, content.size() / 2), std::string("{}")}) {
    WriteAt(options.index, AsBytes(bad));
    CHECK_THAT(refusal(photos, options, ErrorCode::kCorrupt), ContainsSubstring("photos.index"));
  }
}

TEST_CASE("A table plays, and an index finds that the table or the split was changed") {
  const TemporaryFolder folder;
  WritePhotos(folder, 9);
  const std::string rows =
      "path,label,score,caption\nphotos/ant/0.img,x,1.5,one\nphotos/bee/1.img,y,2.5,\"two, "
      "three\"\n"
      "photos/cow/2.img,x,3.5,four\n";
  WriteAt(folder / "table.csv", AsBytes(rows));
  ConvertSource source = ConvertSource::Table(folder / "table.csv");
  source.rows.columns = {
      {"label", ColumnType::kClass}, {"score", ColumnType::kFloat}, {"caption", ColumnType::kText}};
  const Dataset stored = Converted(source, folder);
  PlayOptions options = Playing();
  options.index = folder / "table.index";
  for (const Dataset& played : {InPlace(source, options), InPlace(source, options)}) {
    REQUIRE(played.size() == 3);
    CHECK(played.Column("score") == stored.Column("score"));
    CHECK(played.class_counts() == stored.class_counts());
    for (std::uint64_t i = 0; i < 3; ++i) {
      CHECK(played[i].key() == stored[i].key());
      CHECK(played[i].Text("caption") == stored[i].Text("caption"));
      CHECK(played[i].Copy("score") == stored[i].Copy("score"));
    }
  }
  ConvertSource part = source;
  part.split = {.end = 0.5, .by = "caption"};
  CHECK_THAT(ErrorText([&] { PlaySource(part, options); }, ErrorCode::kExists),
             ContainsSubstring("table.index"));
  WriteAt(folder / "table.csv", AsBytes(rows + "photos/ant/3.img,y,0,five\n"));
  CHECK_THAT(ErrorText([&] { PlaySource(source, options); }, ErrorCode::kExists),
             ContainsSubstring("table.csv"));
}

TEST_CASE("An index finds that a label file or a file of class names was changed") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder, 9);
  const fs::path labels = folder / "labels";
  const AnnotationFormat format =
      GENERATE(AnnotationFormat::kYolo, AnnotationFormat::kDota, AnnotationFormat::kVoc);
  const bool yolo = format == AnnotationFormat::kYolo;
  const std::string ending = format == AnnotationFormat::kVoc ? ".xml" : ".txt";
  const auto label = [&](int x) -> std::string {
    const std::string number = std::to_string(x);
    if (yolo) return "0 0.5 0.5 0.2 0." + number + "\n";
    if (format == AnnotationFormat::kDota) return "0 0 " + number + " 0 9 9 0 9 ant 0\n";
    return "<annotation><object><name>ant</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>" +
           number + "</xmax><ymax>9</ymax></bndbox></object></annotation>";
  };
  // A label file deep in the folder, and an image without one.
  WriteAt(labels / ("ant/0" + ending), AsBytes(label(2)));
  WriteAt(labels / ("bee/1" + ending), AsBytes(label(2)));
  if (yolo) WriteAt(folder / "data.yaml", AsBytes("names: [ant, bee]\n"));
  const ConvertSource source = ConvertSource::Annotated(format, labels, photos);
  PlayOptions options = Playing();
  options.index = folder / "labels.index";
  const auto refused = [&] {
    CHECK_THAT(ErrorText([&] { PlaySource(source, options); }, ErrorCode::kExists),
               ContainsSubstring("labels.index") && ContainsSubstring("remove the index"));
    fs::remove(options.index);
    InPlace(source, options);
    InPlace(source, options);
  };
  InPlace(source, options);
  InPlace(source, options);
  const fs::path deep = labels / ("ant/0" + ending);
  WriteAt(deep, AsBytes(label(3)));  // the same size
  SetTime(deep, 5);
  refused();
  fs::copy_file(deep, folder / "other");  // another file of the same size and time
  fs::last_write_time(folder / "other", fs::last_write_time(deep));
  fs::rename(folder / "other", deep);
  refused();
  WriteAt(labels / ("cow/2" + ending), AsBytes(label(4)));
  refused();
  WriteAt(labels / ("cow/5" + ending), AsBytes(label(4)));
  refused();
  if (!yolo) return;
  WriteAt(folder / "data.yaml", AsBytes("names: [bee, ant]\n"));
  SetTime(folder / "data.yaml", 5);
  refused();
  WriteAt(labels / "classes.txt", AsBytes("cow\nant\n"));
  refused();
}

TEST_CASE("An index finds that the dataset of classes_of has other classes") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder, 9);
  ConvertSource source(photos);
  source.label.classes = {"ant", "bee", "cow"};
  Convert(source, folder / "train", Keeping());
  source.label.classes.clear();
  source.label.classes_of = folder / "train";
  PlayOptions options = Playing();
  options.index = folder / "photos.index";
  InPlace(source, options);
  InPlace(source, options);
  ConvertSource more(photos);
  more.label.classes = {"bee", "ant", "cow"};
  fs::remove_all(folder / "train");
  Convert(more, folder / "train", Keeping());
  CHECK_THAT(ErrorText([&] { PlaySource(source, options); }, ErrorCode::kExists),
             ContainsSubstring("photos.index") && ContainsSubstring("the classes of"));
}

TEST_CASE("A played source of boxes gets the class numbers of the dataset of classes_of") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder, 9);
  const auto labels = [&](const std::string& name, const std::string& classes) {
    WriteAt(folder / name / "ant/0.txt", AsBytes("0 0.5 0.5 0.5 0.5\n"));
    WriteAt(folder / name / "classes.txt", AsBytes(classes));
    return ConvertSource::Annotated(AnnotationFormat::kYolo, folder / name, photos);
  };
  Convert(labels("train", "bee\nant\ncow\n"), folder / "data", Keeping());
  ConvertSource val = labels("val", "cow\nbee\n");
  val.label.classes_of = folder / "data";
  const Dataset played = InPlace(val);
  CHECK(played.schema().fields.at(2).classes == std::vector<std::string>{"bee", "ant", "cow"});
  CHECK(played[*played.Find("ant/0.img")].Array<std::int32_t>("classes")[0] == 2);
}

TEST_CASE("An archive that is changed or replaced while it is played is a fault that names it") {
  const TemporaryFolder folder;
  WritePhotos(folder, 9);
  const fs::path archive = folder / "photos.tar";
  const std::string command =
      "tar -C '" + folder.path().string() + "' -cf '" + archive.string() + "' photos";
  REQUIRE(std::system(command.c_str()) == 0);
  Loader loader(InPlace(ConvertSource::Archives({archive})), Crops(4, 1));
  loader.Row(0, 0);
  SECTION("replaced by a file of the same size and time") {
    fs::copy_file(archive, folder / "other.tar");
    fs::last_write_time(folder / "other.tar", fs::last_write_time(archive));
    fs::rename(folder / "other.tar", archive);
  }
  SECTION("written to") {
    SetTime(archive, 5);
  }
  try {
    loader.Row(1, 0);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK_THAT(error.what(),
               ContainsSubstring("photos.tar") && ContainsSubstring("changed or replaced"));
  }
}

TEST_CASE("A loader of a played folder states the memory that making samples takes") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder, 12);
  Loader loader(InPlace(photos), Crops(4, 2));
  PlayBatches(loader, 0);
  // Two threads with the largest file, and 24 bytes for each pixel of the largest picture.
  CHECK(loader.Memory().blocks >= 2 * 24 * 80 * 80);
  CHECK(loader.Memory().mapped == 0);
  CHECK(loader.Memory().window == 0);  // no block of the files stays open
}

TEST_CASE("Options that need a dataset's shards are refused for a played folder, as are mixtures") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder, 12);
  const Dataset played = InPlace(photos);
  const auto refused = [&](const auto& change) {
    LoaderOptions options = Crops(4, 1);
    change(options);
    return ErrorText([&] { Loader(played, options); }, ErrorCode::kInvalidArgument);
  };
  const char* const why = "played without a conversion";
  CHECK_THAT(refused([](LoaderOptions& o) { o.storage = Direct(); }), ContainsSubstring(why));
  CHECK_THAT(refused([](LoaderOptions& o) { o.storage = Locked(); }), ContainsSubstring(why));
  CHECK_THAT(refused([&](LoaderOptions& o) {
               o.stage = Stage{folder / "stage", 1 << 20};
             }),
             ContainsSubstring(why));
  CHECK_THAT(ErrorText(
                 [&] {
                   Loader(Mixture{{played}, {played}}, Crops(4, 1));
                 },
                 ErrorCode::kInvalidArgument),
             ContainsSubstring(why));
}

TEST_CASE("Two loaders and many threads play one folder at the same time") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder, 40);
  const Dataset played = InPlace(photos);
  const std::vector<PlayedBatch> expected = TwoEpochs(played, Crops(4, 1));
  Loader other(played, Crops(4, 4));
  EpochRange range = other.Epoch(5);
  EpochIterator left_early = range.begin();
  CHECK((*left_early).size() == 4);
  CHECK(TwoEpochs(played, Crops(4, 4)) == expected);
}

TEST_CASE("Pictures of a played folder that are kept decoded need no file any more") {
  const TemporaryFolder folder;
  const fs::path photos = WritePhotos(folder, 20);
  const Dataset stored = Converted(photos, folder);
  const Dataset played = InPlace(photos);
  LoaderOptions options = Crops(4, 2);
  options.keep = DecodedPictures{.bytes = 10 << 20};
  Loader loader(played, options);
  Loader expected(stored, options);
  CHECK(PlayBatches(loader, 0) == PlayBatches(expected, 0));
  CHECK(loader.Stats().kept_pictures == 20);
  fs::remove_all(photos);
  CHECK(PlayBatches(loader, 1) == PlayBatches(expected, 1));
}
