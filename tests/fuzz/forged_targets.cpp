#include "tests/fuzz/forged_targets.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include <sluice/dataset_edit.h>
#include <sluice/error.h>
#include <sluice/loader.h>
#include <sluice/verify.h>

#include "format/disk/checksum.h"
#include "tests/fuzz/bounds.h"
#include "tests/fuzz/forged_folder.h"

namespace sluice::fuzz {

namespace {

constexpr std::uint64_t kSamplesRead = 24;  // of each dataset, which has 10 before changes

// Calls `ask`, which may throw an Error. The next question is asked all the same.
template <class Ask>
void AskFor(Ask ask) {
  try {
    ask();
  } catch (const Error& error) {
    PromiseSentence(error.what());
  }
}

void ReadField(const Sample& sample, const Field& field) {
  AskFor([&] { (void)sample.Has(field.name); });
  switch (field.kind) {
    case FieldKind::kImage:
      AskFor([&] { (void)sample.Shape(field.name); });
      AskFor([&] {
        const ImagePayload payload = sample.Payload(field.name);
        (void)Hash64(payload.bytes);
        (void)JpegFileOf(payload);
      });
      AskFor([&] {
        const Image image = sample.Decode(field.name);
        Promise(image.pixels.size() == std::size_t{image.width} * image.height * image.channels *
                                           SizeOf(image.pixel_type),
                "a decoded image has all of its pixels");
      });
      return;
    case FieldKind::kBytes: AskFor([&] { (void)Hash64(sample.Bytes(field.name)); }); return;
    default:
      AskFor([&] { (void)sample.Integer(field.name); });
      AskFor([&] { (void)Hash64(std::as_bytes(sample.Array<float>(field.name))); });
      AskFor([&] { (void)Hash64(std::as_bytes(sample.Array<std::int32_t>(field.name))); });
      return;
  }
}

void UseDataset(const ForgedFolder& folder) {
  const Dataset dataset = Dataset::Open(folder.dataset);
  for (std::uint64_t i = 0; i < std::min(dataset.size(), kSamplesRead); ++i) {
    // Takes a sample from the beginning and one from the end in turn.
    const std::uint64_t index = i % 2 == 0 ? i / 2 : dataset.size() - 1 - i / 2;
    AskFor([&] {
      const Sample sample = dataset[index];
      (void)sample.place();
      AskFor([&] { (void)sample.key(); });
      for (const Field& field : dataset.schema().fields)
        ReadField(sample, field);
    });
  }
}

LoaderOptions OptionsFor(std::uint16_t use) {
  LoaderOptions options;
  options.batch_size = 4;
  options.threads = 1 + use % 2;
  options.ranks.world_size = 1;
  options.order.lanes = 2;
  options.order.window_bytes = 1;
  options.order.shuffle = static_cast<Shuffle>(use / 2 % 3);
  options.integrity.on_fault = static_cast<OnFault>(use / 8 % 3);
  options.integrity.verify = static_cast<Verify>(use / 32 % 4);
  if (use / 128 % 4 == 1 && options.order.shuffle != Shuffle::kRandom) options.storage = Direct{};
  if (use / 128 % 4 == 2) {
    options.keep = DecodedPictures{1 << 20};
  }
  const unsigned steps = use / 512 % 8;
  if (steps < 5) options.transform = {RandomResizedCrop(16), HorizontalFlip()};
  if (steps == 1) options.transform.emplace_back(Normalize{{0.5F, 0.5F, 0.5F}, {1, 1, 1}});
  if (steps == 2) options.transform.emplace_back(OneHot{});
  if (steps == 3) options.transform.emplace_back(RandAugment{});
  if (steps == 5) options.transform = {RandomAffine(30)};
  if (use / 4096 % 2 == 1) options.output.channels = 3;
  if (use / 8192 % 4 == 1) options.output.fields = {"label", "caption"};
  options.output.flip_pairs = "0-1";  // without it, flips are refused
  return options;
}

// Checks that every byte of a batch can be read and that its values are possible.
void LookAt(const Batch& batch, const Dataset& dataset) {
  Promise(batch.size() <= 4 && batch.valid() <= batch.size(),
          "a batch is no larger than asked for");
  for (const std::uint64_t sample : batch.samples())
    Promise(sample < dataset.size(), "the samples of a batch are the dataset's");
  const ImageBatch& image = batch.image();
  Promise(image.samples == 0 || image.samples == batch.size(), "each row has an image or none");
  (void)Hash64(std::as_bytes(std::span(image.data, image.samples * image.sample_bytes())));
  const auto look_at = [&](const auto& values) {
    Promise(values.offsets.size() == batch.size() + 1 && values.offsets[0] == 0 &&
                std::is_sorted(values.offsets.begin(), values.offsets.end()) &&
                values.offsets.back() * values.entry == values.values.size(),
            "the values of a batch lie one after another");
    (void)Hash64(std::as_bytes(values.values));
  };
  AskFor([&] { look_at(batch.Variable<float>("boxes")); });
  AskFor([&] { look_at(batch.Variable<std::int32_t>("kinds")); });
  AskFor([&] { look_at(batch.Bytes("caption")); });
  AskFor([&] {
    const auto labels = batch.Field<std::int32_t>("label");
    Promise(labels.size() == batch.size(), "each row has a label");
  });
}

void PlayEpoch(Loader& loader, const Dataset& dataset, std::uint64_t epoch) {
  const EpochRange range = loader.Epoch(epoch);
  std::optional<EpochIterator> at;
  for (std::uint64_t step = 0; step < kSamplesRead; ++step) {
    AskFor([&] {
      if (at) {
        ++*at;
      } else {
        at.emplace(range.begin());
      }
      if (*at != range.end()) LookAt(**at, dataset);
    });
    if (at && *at == range.end()) return;
  }
}

void UseLoader(const ForgedFolder& folder) {
  const Dataset dataset = Dataset::Open(folder.dataset);
  Loader loader(dataset, OptionsFor(folder.use));
  (void)loader.Describe();
  // The loader's own memory, and 16 MiB for the test's pages and for memory that is freed only
  // later.
  const MemoryBound memory(loader.Memory().own() + (std::size_t{16} << 20));
  for (const std::uint64_t epoch : {0, 1})
    PlayEpoch(loader, dataset, epoch);
  for (const SampleFault& fault : loader.Faults())
    PromiseSentence(fault.reason);
}

VerifyReport Check(const std::filesystem::path& dataset, bool decode) {
  VerifyOptions options;
  options.decode = decode;
  options.threads = 1;
  const VerifyReport report = VerifyDataset(dataset, options);
  for (const Fault& fault : report.faults)
    PromiseSentence(fault.reason);
  return report;
}

void UseVerify(const ForgedFolder& folder) {
  Check(folder.dataset, folder.use % 2 == 0);
}

// Whether a repaired dataset may have that fault. Repair keeps a value whose checksum is right,
// even if the writer stored something that cannot be read.
bool IsOfWriter(const std::string& reason) {
  if (reason.ends_with(" classes")) return true;  // a label that is not a class
  for (const char* made : {"section 2 ", "codec is", "not a zstd frame", "1073741824", "1 GiB",
                           "whole number of entries", "than the table says", "16-bit", "channels"})
    if (reason.find(made) != reason.npos) return true;
  return false;
}

void UseRepair(const ForgedFolder& folder) {
  const bool in_place = folder.use % 4 == 0;
  const RepairReport report =
      RepairDataset(folder.dataset, in_place ? std::filesystem::path() : folder.out);
  for (const LostSample& lost : report.lost)
    PromiseSentence(lost.reason);
  const VerifyReport mended = Check(in_place ? folder.dataset : folder.out, false);
  for (const Fault& fault : mended.faults) {
    if (IsOfWriter(fault.reason)) continue;
    std::fprintf(stderr, "fault: %s: %s\n", fault.shard.c_str(), fault.reason.c_str());
    Promise(false, "a repaired dataset is without a fault");
  }
}

void UseSubset(const ForgedFolder& folder) {
  Selection selection;
  if (folder.use % 4 == 0) selection.classes = {"cat", "owl"};
  if (folder.use % 4 == 1) selection.count = 3;
  if (folder.use % 4 == 2) selection.per_class = 1;
  if (folder.use % 4 == 3) selection.samples = {0, 3, 8};
  SubsetDataset(folder.dataset, folder.out, selection);
}

void UseMerge(const ForgedFolder& folder) {
  const std::filesystem::path& other = folder.use % 4 == 0 ? folder.dataset : folder.sound;
  if (folder.use % 2 == 0) {
    MergeDatasets({folder.dataset, other}, folder.out);
  } else {
    MergeDatasets({other, folder.dataset}, folder.out);
  }
}

void UseTranscode(const ForgedFolder& folder) {
  TranscodeOptions options;
  options.image = static_cast<ImageCodec>(folder.use % 3);
  options.threads = 1;
  TranscodeDataset(folder.dataset, folder.out, options);
}

void UseAppend(const ForgedFolder& folder) {
  ConvertOptions options;
  options.run.threads = 1;
  AppendToDataset(folder.dataset, folder.source, options);
}

void UseRepack(const ForgedFolder& folder) {
  RepackDataset(folder.dataset, folder.use);
}

}  // namespace

std::span<const Target> ForgedTargets() {
  static constexpr Target kTargets[] = {
      OverForged<UseDataset>("dataset"),     OverForged<UseLoader>("loader"),
      OverForged<UseVerify>("verify"),       OverForged<UseRepair>("repair"),
      OverForged<UseSubset>("subset"),       OverForged<UseMerge>("merge"),
      OverForged<UseTranscode>("transcode"), OverForged<UseAppend>("append"),
      OverForged<UseRepack>("repack"),
  };
  return kTargets;
}

}  // namespace sluice::fuzz
