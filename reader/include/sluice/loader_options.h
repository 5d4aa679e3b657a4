// What a Loader is told: what most trainers set, and behind it the rest, in groups by concern.
//
//   sluice::LoaderOptions options;
//   options.batch_size = 256;
//   options.transform = {sluice::RandomResizedCrop(224), sluice::HorizontalFlip()};
//   options.storage = sluice::Direct{};
//   options.ranks = {.rank = 1, .world_size = 4};
//
// Only what says so changes which samples come, in which order, or what is in a batch; the rest
// changes speed and memory alone. reader/README.md advises on each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <sluice/device.h>
#include <sluice/image.h>
#include <sluice/order.h>
#include <sluice/resume.h>
#include <sluice/sample_list.h>
#include <sluice/schema.h>
#include <sluice/transform.h>
#include <sluice/user_function.h>

namespace sluice {

class LoaderTrace;

// LoaderOptions::order. All of it changes the order.
struct OrderOptions {
  Shuffle shuffle = Shuffle::kQuasiRandom;
  // What an epoch is made of: a subset, or samples drawn by weight or class. Empty: each sample
  // once.
  SampleList samples = {};
  // kQuasiRandom: the streams an epoch is interleaved from, 1 to 65536. Fewer need less to be read
  // before the first batch; a rank reads whole lanes, so the world size must divide them.
  std::uint32_t lanes = 192;
  // kQuasiRandom: how much lies in the blocks open for shuffling at once, over all lanes. 0:
  // the larger of 64 MiB and two blocks a lane. At least one block a lane is open, however little
  // is asked for.
  std::uint64_t window_bytes = 0;
};

// LoaderOptions::ranks. The sequence of global batches (batch_size x world_size samples) is the
// same for every world size, but for what MixUp, CutMix and a batch_function do to a rank's own
// part.
struct RankOptions {
  // Processes that train together, and which this one is, from 0. world_size 0 takes both from the
  // environment (Rank::FromEnvironment()); 1 is a process that trains alone.
  unsigned rank = 0;
  unsigned world_size = 0;
  // All ranks get equally many batches, of equal size: where samples do not go round, kKeep fills
  // up as kPad does, by at most one for each rank.
  LastBatch last_batch = LastBatch::kKeep;
  // Deals whole shards to ranks, anew each epoch, for storage that is staged by the shard: each
  // rank orders its own. Gives up that batches are the same for every world size. Ranks with fewer
  // samples fill up from their own start (kKeep, kPad), or what the others have more is left out
  // (kDrop).
  bool by_shards = false;
};

// What becomes of the blocks behind the window, whose samples have all been decoded. A hint.
// Shuffle::kRandom has no window, and keeps.
enum class Behind {
  kKeep,   // they stay mapped; the kernel takes their pages back when it needs them
  kUnmap,  // they no longer count as this process's memory, but stay in the page cache
  kDrop,   // they leave the page cache, too: for datasets larger than memory, beside other work
};

// LoaderOptions::storage: how shards are read. Batches are the same to the byte.
//
// Mapped, through the page cache.
struct Mapped {
  Behind behind = Behind::kKeep;
  // Bytes of blocks that are being read at a time, 1 MiB to 1 GiB. Empty: 16 MiB, and more, up to
  // 64, if storage holds the training back.
  std::optional<std::uint64_t> read_ahead_bytes = {};
};
// Mapped, read when the loader is made, and locked in memory for as long as the Dataset lives.
// Error(kLimit) if it does not fit.
struct Locked {};
// Past the page cache (O_DIRECT) into memory of the loader's own, which holds the blocks that are
// open and nothing behind them: for data much larger than memory, which would push everything else
// out of the page cache and never be found there again. By io_uring, where this build and the
// kernel have it, else by eight threads. On a file system that refuses, the same reads go through
// the page cache and are dropped from it (LoaderStats::refused_shards). Not for Shuffle::kRandom,
// which opens a block for each sample.
struct Direct {
  std::optional<std::uint64_t> read_ahead_bytes = {};  // as Mapped's
};
using Storage = std::variant<Mapped, Locked, Direct>;

// LoaderOptions::keep: decoded pictures stay between epochs. Those that come first stay, and later
// epochs decode only the others. Where no step of the transform but a flip is random, what is kept
// is the row, and batches are the same to the byte as without. Else it is the whole picture, from
// which each epoch cuts its own part: all samples are then decoded whole, kept or not, and differ
// by rounding from what they are without this. For compressed images; raw ones need no decoding.
struct DecodedPictures {
  std::uint64_t bytes = 0;  // at most so much is kept; above 0
  // A folder of a local disk; empty: in memory. The file there has no name, and is gone when the
  // loader is.
  std::string folder = {};
};

// LoaderOptions::stage: shards are copied to a fast local disk as they are first read; this epoch's
// rest and later ones, loaders and processes read them from there. Copies of other datasets make
// room if nobody uses them. A sample that its copy does not give is read from the shard itself, and
// if that does, the copy is made anew.
struct Stage {
  std::string folder = {};
  std::uint64_t bytes = 0;  // at most so much lies there; above 0
};

// LoaderOptions::ring: the batches that memory is taken for.
struct RingOptions {
  // Batches that are decoded ahead of the one the consumer holds, 1 to 1024. More evens out slow
  // samples. Empty: 2, and more, up to 8, if the ring is seen to be too short; 4 in page-locked
  // memory, which is taken once.
  std::optional<std::size_t> prefetch = 2;
  // Further batches the consumer may hold at the same time, at most 1024; asking beyond is
  // Error(kState).
  std::size_t hold = 1;
  // Batches lie in page-locked memory, from which a GPU copies asynchronously. Needs a build with
  // CUDA and a card: Error(kUnsupported) otherwise.
  bool pinned = false;
};

// LoaderOptions::output: what batches hold.
struct OutputOptions {
  // The fields that batches hold; the others are not even read. Empty: all but images that neither
  // are the one `image` names nor follow it. A mask comes only with the image that it follows.
  std::vector<std::string> fields = {};
  // What Batch::image() is; empty: the first image field that is chosen and follows no other.
  std::string image = {};
  Layout layout = Layout::kNHWC;
  // 1 or 3: grey or RGB converted to that; 0: as stored, where all images agree. Raw images of two
  // or four channels come as they are stored, and go through geometric steps alone.
  unsigned channels = 0;
  // Masks, boxes and key points follow their image (Field::follows) through its geometric steps.
  BoxRule boxes = {};
  // By mask field: the value, 0 to 255, or to 65535 in masks of 16 bits, of what lies outside of
  // the picture: beyond the edge of a crop with padding, in the corners of a rotation. 255 is what
  // losses of segmentation usually ignore. Masks that are not named have 0 there, a class like
  // others. (Border::kReflect mirrors masks, too. A mask that a sample lacks is zeros.)
  std::map<std::string, std::uint32_t> mask_fill = {};
  // Arrays, variable and bytes fields that are not in the dataset: batches hold what the user's
  // functions put there, else zeros and nothing.
  std::vector<Field> made_fields = {};
};

enum class Verify {
  // kAlways for compressed payloads, where it is a small part of the work; kFirstEpoch for raw
  // ones, where it would take as long as copying them.
  kAuto,
  kAlways,  // each payload's checksum is compared before it is decoded
  // Until it has matched once: in the first epoch this Loader plays, where that is played whole,
  // and once more for a copy of its shard (LoaderOptions::stage).
  kFirstEpoch,
  kNever,  // headers and tables are still checked
};

// What becomes of a sample that cannot be read: damaged, or its shard cut short, unreadable or
// gone.
enum class OnFault {
  kError,  // the step that would deliver its batch throws
  // The batch is one shorter; no other sample moves. A batch may come out empty; where all of an
  // epoch's do, the last one is an Error instead.
  kSkip,
  // Its row gets a sample that comes later in the epoch, chosen by the row's position alone; an
  // error where 64 of those cannot be read, either.
  kSubstitute,
};

// LoaderOptions::integrity: what is checked, and what becomes of what fails. What a value may take
// at most is the Dataset's (ReadLimits).
struct IntegrityOptions {
  Verify verify = Verify::kAuto;
  OnFault on_fault = OnFault::kError;
};

// LoaderOptions::on_device: what is done on LoaderOptions::device, if that is not the host.
struct OnDevice {
  // Steps that change pixels are done there, too; Describe() says which. Their random numbers are
  // drawn on the host, and the bytes are the same. There is room for 256 operations a picture (a
  // jitter has 4, a RandAugment 5 for each of its own, a blur up to 44): the steps before the last
  // that fit are done on the host; and all of them, where CutMix, MixUp or the user's functions
  // follow. A blur, AdjustSharpness and the augments take room for one or two batches of pixels
  // more. False: all steps on the host, for a device without time to spare.
  bool steps = true;
};

// LoaderOptions::diagnostics: for measuring.
struct DiagnosticsOptions {
  // Records what each thread does; null: nothing is recorded.
  std::shared_ptr<LoaderTrace> trace = {};
  // For measuring a training alone: the first batch is handed over again and again, at no cost, as
  // many times as epochs have batches; its epoch(), index() and size stay its own.
  bool repeat_first_batch = false;
};

struct LoaderOptions {
  std::size_t batch_size = 256;  // samples; of one rank
  // Decoding threads, 1 to 1024. Empty: one for each CPU this process may use, of which some rest
  // while a trainer leaves them idle for long.
  std::optional<unsigned> threads = {};
  Pipeline transform = {};
  // Further views of the same image, for contrastive learning: what Batch::image() is, is the
  // first. Masks, boxes and key points follow that one alone. Where decoding what all of them show
  // is cheaper than decoding each for itself, the picture is decoded once.
  std::vector<View> views = {};
  // What comes out may change in size with the epoch: the first one is for epoch 0 on. Empty: as
  // `transform` says. Batches lie in memory for the largest; see ProgressiveSizes().
  std::vector<OutputSize> sizes = {};
  std::uint64_t seed = 0;  // of the order and of every random step
  // Goes on where Loader::State() was taken. The dataset and the options of the order must be the
  // same (Error(kInvalidArgument) says which is not); threads, the ring and transforms may differ,
  // and batch_size and the world size where the position is a multiple of their product. The state
  // of any rank serves all of them.
  std::optional<ResumePoint> resume_from = {};
  // Where batches are delivered: their images and fixed-shape arrays. What crosses to a device is
  // uint8: Normalize and the layout are done there, and give the same bytes as on the host. (Where
  // a step needs the numbers, which MixUp and the user's functions do, they are made on the host.)
  // Page-locked memory and the device's are taken when the loader is made, and never again.
  Device device = {};
  // The user's own steps, behind the others: see user_function.h.
  SampleFunction sample_function = {};
  BatchFunction batch_function = {};

  OrderOptions order = {};
  RankOptions ranks = {};
  Storage storage = {};
  std::optional<DecodedPictures> keep = {};
  std::optional<Stage> stage = {};
  RingOptions ring = {};
  OutputOptions output = {};
  IntegrityOptions integrity = {};
  OnDevice on_device = {};
  DiagnosticsOptions diagnostics = {};
};

}  // namespace sluice
