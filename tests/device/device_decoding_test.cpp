// Loaders whose device decodes JPEGs (OnDevice::decode): their batches equal the host's.
#include "tests/device/device_decoding.h"

#include <chrono>
#include <fstream>
#include <set>
#include <thread>

#include "reader/upload/device_layout.h"
#include "tests/file_content.h"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("A device decodes every picture of the stored form, and batches equal the host's") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 46, StoredForm()));
  Trainer trainer;
  for (const unsigned threads : {0U, 1U, 2U, 4U}) {
    LoaderOptions options = DecodingOptions(trainer, 6, threads);
    if (threads == 4) options.storage = Direct{};
    options.transform = {RandomResizedCrop(24), HorizontalFlip()};
    CHECK(CheckSame(dataset, options) >= 2 * 46);
    options.output.layout = Layout::kNCHW;
    CHECK(CheckSame(dataset, options) >= 2 * 46);
    options.transform.push_back(ColorJitter{.4, .4, .4, .1});
    options.transform.push_back(GaussianBlur{3});
    options.transform.push_back(Normalize{kMeans, kDeviations, FloatType::kFloat16});
    CHECK(CheckSame(dataset, options) >= 2 * 46);
    options.output.layout = Layout::kNHWC;
    options.output.channels = 1;
    options.transform = {Resize(31, 20), VerticalFlip(), Normalize{{0.5F}, {0.25F}}};
    CHECK(CheckSame(dataset, options) >= 2 * 46);
  }
}

TEST_CASE("A device decodes wide pictures whose rows have restart markers in them") {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "wide", {{Field::Image(), Field::Label("label")}},
                       {"wide", 1'000'000, 4});
  JpegOptions form;
  form.quality = 90;
  form.restart_interval = 16;  // of 64 MCUs
  for (std::uint32_t i = 0; i < 12; ++i) {
    SampleBuilder sample = writer.NewSample(std::to_string(i));
    sample.SetJpeg("image", MakeJpeg(MakePicture(1024, 80 + 16 * i, 3, i), form));
    sample.Set<std::int32_t>("label", static_cast<std::int32_t>(i));
    writer.Add(sample);
  }
  writer.Finish();
  const Dataset dataset = Dataset::Open(folder / "wide");
  Trainer trainer;
  LoaderOptions options = DecodingOptions(trainer);
  options.transform = {RandomResizedCrop(24), HorizontalFlip()};
  CHECK(CheckSame(dataset, options) >= 2 * 12);
  options.transform = {Resize(40, 30)};  // every part of every row
  CHECK(CheckSame(dataset, options) >= 2 * 12);
}

TEST_CASE("The host decodes pictures that the device does not support, in the same batch") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteForms(folder, 40, [](int i) {
    JpegOptions options = StoredForm();
    options.progressive = i % 4 == 1;
    options.optimise = i % 8 == 2;
    if (i % 8 == 3) options.restart_rows = 0;
    return options;
  }));
  Trainer trainer;
  LoaderOptions options = DecodingOptions(trainer);
  options.transform = {RandomResizedCrop(24), HorizontalFlip(),
                       Normalize{kMeans, kDeviations, FloatType::kBFloat16}};
  CHECK(IsAbout(CheckSame(dataset, options), 2 * 20));
  // The host decodes if a picture gets a border or is turned, or if pixel steps must run there.
  options.transform = {RandomCrop(70, 70), Normalize{kMeans, kDeviations}};
  CheckSame(dataset, options);
  options.transform = {Resize(20, 20), RandomQuarterTurns(), RandomAffine(20)};
  CHECK(CheckSame(dataset, options) == 0);
  options.transform = {Resize(20, 20), ColorJitter{.4}};
  options.on_device.steps = false;
  CHECK(CheckSame(dataset, options) == 0);
}

TEST_CASE("A device decodes each view by itself, at the sizes of each epoch") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 22, StoredForm()));
  Trainer trainer;
  LoaderOptions options = DecodingOptions(trainer, 5);
  options.transform = {RandomResizedCrop(16), Normalize{kMeans, kDeviations, FloatType::kFloat16}};
  options.views = {{"plain", {CenterCrop(12)}, {}},
                   {"steps", {RandomResizedCrop(8), Solarize{}}, {{0, 9, 7}, {1, 14, 6}}}};
  options.sizes = {{0, 8, 8}, {1, 21, 9}};
  CheckSame(dataset, options, {"image", "plain", "steps"}, {0, 1, 2, 0});
  // Version 1 of the views (picture_painter.h) decodes such a picture once for both views, on the
  // host.
  options.views = {{"small", {CenterCrop(3)}, {}}};
  options.sizes = {};
  options.transform = {CenterCrop(2)};
  CHECK(CheckSame(dataset, options, {"image", "small"}) >= 2 * 22);
}

TEST_CASE("A device also decodes after a resume, and in epochs that are left early") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 46, StoredForm()));
  Trainer trainer;
  LoaderOptions options = DecodingOptions(trainer);
  options.transform = {RandomResizedCrop(24), Normalize{kMeans, kDeviations}};
  Loader whole(dataset, options);
  const std::vector<Seen> expected = Play(whole, 3, {"image"});
  Loader first(dataset, options);
  REQUIRE(Play(first, 3, {"image"}, 4) ==
          std::vector<Seen>(expected.begin(), expected.begin() + 4));
  options.resume_from = first.State();
  Loader second(dataset, options);
  REQUIRE(Play(second, 3, {"image"}) == std::vector<Seen>(expected.begin() + 4, expected.end()));
  for (std::size_t batches = 1; batches < 6; ++batches) {
    Play(second, 5 + batches, {"image"}, batches);  // the rest of the epoch is dropped
    REQUIRE(Play(second, 3, {"image"}) == expected);
  }
}

TEST_CASE("Loader::Row(), which the host makes, equals the row of the device's batch") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 14, StoredForm()));
  Trainer trainer;
  LoaderOptions options = DecodingOptions(trainer);
  options.transform = {RandomResizedCrop(24), Normalize{kMeans, kDeviations}};
  Loader loader(dataset, options);
  std::size_t rows = 0;
  for (const Seen& seen : Play(loader, 2, {"image"})) {
    const std::size_t bytes = seen.images[0].size() / seen.samples.size();
    for (std::size_t row = 0; row < seen.samples.size(); ++row, ++rows) {
      const Batch one = loader.Row(seen.samples[row], 2);
      REQUIRE(std::equal(one.image().data, one.image().data + bytes,
                         seen.images[0].begin() + static_cast<std::ptrdiff_t>(row * bytes)));
    }
  }
  CHECK(rows == 14);
}

TEST_CASE("Slow copies and decodings change nothing that a trainer reads") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 46, StoredForm()));
  std::atomic<unsigned> work = 0;
  Trainer trainer([&work](SimulatedDevice::Work) {
    std::this_thread::sleep_for(std::chrono::microseconds(work++ % 7 * 300));
  });
  LoaderOptions options = DecodingOptions(trainer, 4, 3);
  options.transform = {RandomResizedCrop(24)};
  if (GENERATE(false, true)) options.transform.push_back(Normalize{kMeans, kDeviations});
  // With these four lengths of the ring, two, two, four and eight batches are decoded at once.
  options.ring.prefetch = GENERATE(1U, 3U, 6U, 14U);
  options.ring.hold = *options.ring.prefetch == 1 ? 0 : 1;
  CAPTURE(options.transform.size(), *options.ring.prefetch);
  Loader host(dataset, OptionsOnHost(options));
  Loader loader(dataset, options);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    const std::vector<Seen> expected = Play(host, epoch, {"image"});
    for (const Batch& batch : loader.Epoch(epoch))
      trainer.Read(batch);  // the read comes later, when the batch is long dropped
    trainer.Finish();
    std::size_t b = trainer.seen().size() - expected.size();
    for (const Seen& seen : expected) {
      REQUIRE(trainer.seen()[b].samples == seen.samples);
      REQUIRE(trainer.seen()[b].pixels == seen.images[0]);
      REQUIRE(trainer.seen()[b++].labels == seen.labels);
    }
  }
}

namespace {

// Breaks a picture of the first shard, by its number there. Its checksum then does not match.
void Damage(const std::filesystem::path& dataset, std::size_t picture) {
  const std::filesystem::path shard = dataset / "shard-00000.sluice";
  std::string bytes = ContentOf(shard);
  const std::string begin = "\xFF\xD8\xFF\xE0";
  std::size_t at = bytes.find(begin);
  for (std::size_t i = 0; i < picture; ++i)
    at = bytes.find(begin, at + 1);
  // After the headers of some 620 bytes. The picture is then broken: no code consists of that many
  // ones.
  bytes.replace(at + 800, 8, std::string("\xFF\x00\xFF\x00\xFF\x00\xFF\x00", 8));
  std::ofstream(shard, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace

TEST_CASE(
    "The host decodes a picture again that the device refuses, and reports a fault only if that "
    "fails") {
  const TemporaryFolder folder;
  const std::filesystem::path path = WriteJpegDataset(folder, 26, StoredForm());
  for (const std::size_t picture : {3U, 4U, 17U})
    Damage(path, picture);
  const Dataset dataset = Dataset::Open(path);
  Trainer trainer;
  LoaderOptions options = DecodingOptions(trainer);
  options.transform = {Resize(24, 24), Normalize{kMeans, kDeviations}};
  const bool checks = GENERATE(false, true);
  CAPTURE(checks);
  options.integrity.verify = checks ? Verify::kAlways : Verify::kNever;
  for (const OnFault on_fault : {OnFault::kSkip, OnFault::kSubstitute}) {
    options.integrity.on_fault = on_fault;
    CHECK(CheckSame(dataset, options) > 0);
    Loader loader(dataset, options);
    Play(loader, 0, {"image"});
    // libjpeg, which the host tries last, refuses them, too.
    std::set<std::uint64_t> faulty;
    for (const SampleFault& fault : loader.Faults())
      faulty.insert(fault.sample);
    CHECK(faulty == std::set<std::uint64_t>{3, 4, 17});
  }
  options.integrity.on_fault = OnFault::kError;
  Loader loader(dataset, options);
  CHECK_THAT(ErrorText([&] { Play(loader, 0, {"image"}); }, ErrorCode::kCorrupt),
             Catch::Matchers::ContainsSubstring("photo-"));
}

TEST_CASE("The host decodes pictures that break a rule which libjpeg forgives") {
  // Surplus bytes after a row of MCUs: our decoders refuse the row, and libjpeg skips the bytes.
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "forgiven";
  DatasetWriter writer(path, {{Field::Image(), Field::Label("label")}}, {"forgiven", 1'000'000, 4});
  for (int i = 0; i < 9; ++i) {
    SampleBuilder sample = writer.NewSample("photo-" + std::to_string(i));
    std::vector<std::byte> file =
        MakeJpeg(MakePicture(64, 48, 3, static_cast<std::uint64_t>(i)), StoredForm());
    const std::vector<std::byte> marker = {std::byte{0xFF}, std::byte{0xD1}};
    const auto at = std::search(file.begin(), file.end(), marker.begin(), marker.end());
    REQUIRE(at != file.end());
    if (i % 3 == 1) file.insert(at, 3, std::byte{0x55});
    sample.SetJpeg("image", file);
    sample.Set<std::int32_t>("label", i);
    writer.Add(sample);
  }
  writer.Finish();
  Trainer trainer;
  LoaderOptions options = DecodingOptions(trainer, 4);
  options.transform = {Resize(24, 24), Normalize{kMeans, kDeviations}};
  options.integrity.on_fault = OnFault::kSkip;
  CHECK(CheckSame(Dataset::Open(path), options) > 0);
}

TEST_CASE("Masks, raw pictures and boxes may share a batch with pictures that a device decodes") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "mixed";
  Field boxes = Field::Variable("boxes", DType::kFloat32, {4});
  boxes.role = Role::kBoxes;
  boxes.follows = "image";
  boxes.coordinates = "xyxy-pixels";
  DatasetWriter writer(
      path, {{Field::Image(), Field::Mask("mask", "image"), Field::Label("label"), boxes}},
      {"mixed", 1'000'000, 4});
  for (int i = 0; i < 21; ++i) {
    SampleBuilder sample = writer.NewSample("key-" + std::to_string(i));
    const Picture picture = MakePicture(48, 40, 3, static_cast<std::uint64_t>(i));
    if (i % 3 == 0) {
      sample.SetPixels("image", 48, 40, 3, PixelType::kUint8,
                       std::as_bytes(std::span(picture.pixels)));
    } else {
      sample.SetJpeg("image", MakeJpeg(picture, StoredForm()));
    }
    const std::vector<std::uint8_t> mask(48 * 40, static_cast<std::uint8_t>(100 + i));
    sample.SetPixels("mask", 48, 40, 1, PixelType::kUint8, std::as_bytes(std::span(mask)));
    sample.Set<std::int32_t>("label", i);
    std::vector<float> corners;
    for (int b = 0; b < i % 4; ++b)
      corners.insert(corners.end(), {float(b), float(i), float(b) + 20, 40});
    sample.SetArray<float>("boxes", corners);
    writer.Add(sample);
  }
  writer.Finish();
  const Dataset dataset = Dataset::Open(path);
  Trainer trainer;
  LoaderOptions options = DecodingOptions(trainer, 5);
  options.transform = {RandomResizedCrop(20), HorizontalFlip(), Normalize{kMeans, kDeviations}};
  CHECK(IsAbout(CheckSame(dataset, options, {"image", "mask"}), 2 * 14));
}

TEST_CASE("A row left out after the device got its picture does not affect other rows") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "masks";
  DatasetWriter writer(path,
                       {{Field::Image(), Field::Mask("mask", "image"), Field::Label("label")}},
                       {"masks", 1'000'000, 4});
  for (int i = 0; i < 13; ++i) {
    SampleBuilder sample = writer.NewSample("key-" + std::to_string(i));
    const Picture picture = MakePicture(48, 40, 3, static_cast<std::uint64_t>(i));
    sample.SetJpeg("image", MakeJpeg(picture, StoredForm()));
    const std::vector<std::uint8_t> mask(48 * 40, static_cast<std::uint8_t>(i));
    sample.SetPixels("mask", 48, 40, 1, PixelType::kUint8, std::as_bytes(std::span(mask)));
    sample.Set<std::int32_t>("label", i);
    writer.Add(sample);
  }
  writer.Finish();
  const std::filesystem::path shard = path / "shard-00000.sluice";
  std::string bytes = ContentOf(shard);
  for (const char value : {5, 9})
    bytes[bytes.find(std::string(48 * 40, value)) + 7] ^= 1;
  std::ofstream(shard, std::ios::binary | std::ios::trunc) << bytes;
  Trainer trainer;
  LoaderOptions options = DecodingOptions(trainer, 4);
  options.transform = {RandomResizedCrop(20), Normalize{kMeans, kDeviations}};
  options.integrity.verify = Verify::kAlways;
  for (const OnFault on_fault : {OnFault::kSkip, OnFault::kSubstitute}) {
    options.integrity.on_fault = on_fault;
    CHECK(CheckSame(Dataset::Open(path), options, {"image", "mask"}) > 0);
  }
}

TEST_CASE("A batch that needs more scratch memory than exists comes in several waves") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteForms(folder, 30, [](int) {
    JpegOptions form = StoredForm();
    form.subsample = false;
    return form;
  }));
  std::atomic<std::size_t> decodings = 0;
  Trainer trainer([&decodings](SimulatedDevice::Work work) {
    if (work == SimulatedDevice::Work::kDecode) ++decodings;
  });
  LoaderOptions options = DecodingOptions(trainer, 10);
  options.transform = {Resize(110, 90)};
  options.views = {{"second", {Resize(100, 95)}, {}}};
  // Which pictures still fit into a slot depends on which come first.
  CHECK(CheckSame(dataset, options, {"image", "second"}) >= 100);
  options.views = {};
  const std::uint64_t decoded = CheckSame(dataset, options);
  CHECK(decoded >= 50);
  CHECK(decodings * 10 > decoded + 20);
}

TEST_CASE("Pictures beyond a slot's budget for compressed rows are decoded by the host") {
  const TemporaryFolder folder;
  // A few pictures are far larger than average, and come in one batch.
  const Dataset dataset = Dataset::Open(WriteForms(folder, 40, [](int i) {
    JpegOptions options = StoredForm();
    options.quality = i / 4 % 5 == 0 ? 100 : 5;
    return options;
  }));
  Trainer trainer;
  // With threads, pictures of batches ahead would be counted, too.
  LoaderOptions options = DecodingOptions(trainer, 4, 0);
  options.order.shuffle = Shuffle::kSequential;
  options.transform = {Resize(64, 48)};
  const std::uint64_t decoded = CheckSame(dataset, options);
  CHECK(decoded < 80);
  CHECK(decoded >= 64);
}

TEST_CASE("Half the ring's slots are decoded at once, and batches come in order") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 60, StoredForm()));
  Gate gate;
  std::atomic<std::size_t> decoding = 0;
  Trainer trainer([&](SimulatedDevice::Work work) {
    if (work != SimulatedDevice::Work::kDecode) return;
    ++decoding;
    gate.Pass();
  });
  const GateOpener opener{gate};
  LoaderOptions options = DecodingOptions(trainer, 6, 2);
  options.transform = {RandomResizedCrop(24), Normalize{kMeans, kDeviations}};
  const auto [prefetch, expected] =
      GENERATE(std::pair<std::optional<std::size_t>, std::size_t>{std::nullopt, 4},
               std::pair<std::optional<std::size_t>, std::size_t>{2, 2},
               std::pair<std::optional<std::size_t>, std::size_t>{4, 3});
  options.ring.prefetch = prefetch;
  Loader host(dataset, OptionsOnHost(options));
  Loader loader(dataset, options);
  auto epoch = loader.Epoch(0);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (decoding < expected && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(decoding == expected);
  CHECK(loader.Stats().device_pictures == 0);  // no batch is done
  gate.Open();
  REQUIRE(Play(loader, 0, {"image"}) == Play(host, 0, {"image"}));
  CHECK(loader.Stats().device_decode_seconds <= loader.Stats().seconds);
}

TEST_CASE("A loader may end, or begin a new epoch, while its batches are being decoded") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 60, StoredForm()));
  Trainer trainer([](SimulatedDevice::Work work) {
    if (work == SimulatedDevice::Work::kDecode)
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
  });
  LoaderOptions options = DecodingOptions(trainer, 4, 2);
  options.transform = {RandomResizedCrop(24), Normalize{kMeans, kDeviations}};
  const std::size_t before = trainer.device->Alive();
  for (std::size_t batches = 1; batches < 6; ++batches) {
    Loader loader(dataset, options);
    Play(loader, 0, {"image"}, batches);
    Play(loader, 7, {"image"}, batches);
  }
  CHECK(trainer.device->Alive() == before);
}

TEST_CASE("Decoding takes a part of a device's memory, in lanes that hold the largest picture") {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20, kGiB = 1024 * kMiB;
  const auto lanes_of = [](std::uint64_t batch, std::uint64_t picture, std::size_t slots,
                           std::uint64_t free) {
    PictureRoom room;
    room.scratch = batch / 16;
    room.largest = picture / 16;
    room.DivideScratch(slots, free);
    return std::pair(room.lanes, 16 * room.scratch);
  };
  using Lanes = std::pair<std::size_t, std::uint64_t>;  // how many, and the scratch memory of each
  CHECK(lanes_of(300 * kMiB, 2 * kMiB, 8, 80 * kGiB) == Lanes(4, 300 * kMiB));
  CHECK(lanes_of(300 * kMiB, 2 * kMiB, 32, 80 * kGiB) == Lanes(8, 300 * kMiB));
  CHECK(lanes_of(300 * kMiB, 2 * kMiB, 2, 80 * kGiB) == Lanes(2, 300 * kMiB));
  CHECK(lanes_of(900 * kMiB, 2 * kMiB, 8, 80 * kGiB) == Lanes(4, 640 * kMiB));
  CHECK(lanes_of(9 * kGiB, 2 * kMiB, 8, 640 * kGiB) == Lanes(4, kGiB));
  CHECK(lanes_of(300 * kMiB, 2 * kMiB, 8, 4 * kGiB) == Lanes(4, 64 * kMiB));  // 256 MiB in all
  CHECK(lanes_of(300 * kMiB, 100 * kMiB, 8, 4 * kGiB) == Lanes(2, 128 * kMiB));
  CHECK(lanes_of(300 * kMiB, 100 * kMiB, 8, 256 * kMiB) == Lanes(1, 64 * kMiB));
}

TEST_CASE("On a device with little memory batches come in more waves, and equal the host's") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 30, StoredForm()));
  std::atomic<std::size_t> decodings = 0;
  Trainer trainer([&decodings](SimulatedDevice::Work work) {
    if (work == SimulatedDevice::Work::kDecode) ++decodings;
  });
  LoaderOptions options = DecodingOptions(trainer, 10);
  options.transform = {Resize(50, 40)};
  const std::size_t before = trainer.device->DeviceBytes();
  trainer.device->SetMemory(before + (std::uint64_t{2} << 20));  // a quarter for scratch memory
  const std::uint64_t decoded = CheckSame(dataset, options);
  CHECK(decoded >= 60);
  CHECK(decodings * 8 > decoded);
  Loader loader(dataset, options);
  CHECK(loader.Memory().device == trainer.device->DeviceBytes() - before);
}

TEST_CASE("A device that decodes uses the stated memory, and describes what it decodes") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 40, StoredForm()));
  Trainer trainer;
  const std::size_t before = trainer.device->DeviceBytes();
  LoaderOptions options = DecodingOptions(trainer);
  options.transform = {RandomResizedCrop(24), Normalize{kMeans, kDeviations}};
  Loader loader(dataset, options);
  CHECK(loader.Memory().device == trainer.device->DeviceBytes() - before);
  Play(loader, 0, {"image"});
  CHECK(loader.Memory().device == trainer.device->DeviceBytes() - before);
  CHECK_THAT(loader.Describe(), Catch::Matchers::ContainsSubstring("decoded on the device"));
}

TEST_CASE("Decoding on a device is refused where pixels are needed on the host") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 8, StoredForm()));
  Trainer trainer;
  const auto refuses = [&](const LoaderOptions& options, const char* what) {
    CHECK_THAT(ErrorText([&] { Loader(dataset, options); }, ErrorCode::kInvalidArgument),
               Catch::Matchers::ContainsSubstring(what));
  };
  LoaderOptions options = DecodingOptions(trainer);
  options.transform = {Resize(24, 24)};
  LoaderOptions other = options;
  other.device = Device();
  refuses(other, "set LoaderOptions::device");
  other = options;
  other.keep = DecodedPictures{1'000'000};
  refuses(other, "LoaderOptions::keep");
  other = options;
  other.sample_function = [](MutableSample&) {};
  refuses(other, "your functions");
  other = options;
  other.transform.push_back(OneHot{50, 0, {}, "target"});
  other.transform.push_back(CutMix{});
  refuses(other, "CutMix");
  other = options;
  other.output.image_sizes = ImageSizes::kPadded;
  refuses(other, "image_sizes");
}
