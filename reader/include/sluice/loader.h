// The loader: epochs of batches from a dataset, decoded ahead by worker threads.
//
//   sluice::LoaderOptions options;
//   options.batch_size = 256;
//   options.transform = {sluice::RandomResizedCrop(224), sluice::HorizontalFlip()};
//   sluice::Loader loader(sluice::Dataset::Open("data/photos"), options);
//   for (int epoch = 0; epoch < 90; ++epoch)
//     for (const sluice::Batch& batch : loader.Epoch(epoch))
//       Train(batch.image().data, batch.Field<std::int32_t>("label"));
//
// Batches are a pure function of (dataset, options but for threads and prefetch, epoch), and come
// in order. One thread at a time consumes (see EpochIterator); Batch handles may be passed to and
// dropped by any thread. A Loader's memory is taken when it is made: see Loader::Memory().
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <sluice/batch.h>
#include <sluice/dataset.h>
#include <sluice/loader_memory.h>
#include <sluice/loader_stats.h>
#include <sluice/loader_trace.h>
#include <sluice/order.h>
#include <sluice/rank.h>
#include <sluice/resume.h>
#include <sluice/sample_list.h>
#include <sluice/transform.h>
#include <sluice/user_function.h>

namespace sluice {

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

// What becomes of the blocks behind the window, whose samples have all been decoded. A hint.
// Shuffle::kRandom has no window, and keeps.
enum class Behind {
  kKeep,   // they stay mapped; the kernel takes their pages back when it needs them
  kUnmap,  // they no longer count as this process's memory, but stay in the page cache
  kDrop,   // they leave the page cache, too: for datasets larger than memory, beside other work
};

// What is kept between epochs.
enum class Cache {
  kPageCache,  // what the kernel has room for
  // The whole dataset, read when the loader is made and locked in memory for as long as the Dataset
  // lives. Error(kLimit) where it does not fit.
  kLocked,
  // Decoded pictures, up to cache_bytes: those that come first stay, and later epochs decode only
  // the others. Where no step of the transform but a flip is random, what is kept is the row, and
  // batches are the same to the byte as without. Else it is the whole picture, from which each
  // epoch cuts its own part: all samples are then decoded whole, kept or not, and differ by
  // rounding from what they are without this. For compressed images; raw ones need no decoding.
  kDecoded,
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
// A sample that could not be read; or a shard that cannot be opened, with all of its samples.
struct SampleFault {
  std::uint64_t sample = 0;   // its number in the dataset; the shard's first
  std::uint64_t samples = 1;  // of the shard
  std::string shard;          // file, relative to the dataset's folder
  std::string key;            // empty where not even that can be read
  std::string reason;         // a sentence
  std::uint64_t epoch = 0;    // when it was met first
  std::uint64_t times = 0;    // how often it has been met; for a shard, one of its samples
};

struct LoaderOptions {
  std::size_t batch_size = 256;  // samples
  // Decoding threads. 0: one for each CPU this process may use, of which some rest where a trainer
  // leaves them idle for long.
  unsigned threads = 0;
  // Batches that are decoded ahead of the one the consumer holds. More evens out slow samples. 0:
  // 2, and more, up to 8, where the ring is seen to be too short; 4, where its memory is
  // page-locked, which is taken once.
  std::size_t prefetch = 2;
  // Bytes of blocks that are being read at a time, 1 MiB to 1 GiB. 0: 16 MiB, and more, up to 64,
  // where storage is seen to hold the training back. LoaderStats has what was chosen.
  std::uint64_t read_ahead_bytes = 0;
  // Further batches the consumer may hold at the same time; asking beyond is Error(kState).
  std::size_t hold = 1;
  // Batches lie in page-locked memory, from which a GPU copies asynchronously. Needs a build with
  // CUDA and a card: Error(kUnsupported) otherwise.
  bool pinned = false;
  // Where batches are delivered: their images and fixed-shape arrays. What crosses to a device is
  // uint8: Normalize and `layout` are done there, and give the same bytes as on the host. (Where a
  // step needs the numbers, which MixUp and the user's functions do, they are made on the host.)
  // Page-locked memory and the device's are taken when the loader is made, and never again.
  Device device;
  // On a device, steps that change pixels are done there, too; Describe() says which. Their random
  // numbers are drawn on the host, and the bytes are the same. It has room for 256 operations a
  // picture (a jitter has 4, a RandAugment 5 for each of its own, a blur up to 44): the steps
  // before the last that fit are done on the host; and all of them, where CutMix, MixUp or the
  // user's functions follow. A blur, AdjustSharpness and the augments take room for one or two
  // batches of pixels more. False: all steps on the host, for a device without time to spare.
  bool device_steps = true;

  Shuffle shuffle = Shuffle::kQuasiRandom;
  std::uint64_t seed = 0;
  // What an epoch is made of: a subset, or samples drawn by weight or class. Empty: each sample
  // once.
  SampleList samples;
  // kQuasiRandom: streams an epoch is interleaved from, and how much lies in the blocks open for
  // shuffling at once over all of them, in bytes or in samples of the dataset (one of the two);
  // with both 0, the larger of 64 MiB and two blocks a lane. At least one block a lane is open,
  // however little is asked for. All of them change the order.
  std::uint32_t lanes = 192;
  std::uint64_t window_bytes = 0;
  std::uint64_t window_samples = 0;
  Behind behind = Behind::kKeep;
  // Reads blocks past the page cache (O_DIRECT) into memory of the loader's own, which holds the
  // blocks that are open and nothing behind them: for data much larger than memory, which would
  // push everything else out of the page cache and never be found there again. By io_uring, where
  // this build and the kernel have it, else by eight threads. Batches are the same to the byte. On
  // a file system that refuses, the same reads go through the page cache and are dropped from it
  // (LoaderStats::refused_shards). Not for Shuffle::kRandom, which opens a block for each sample.
  bool direct = false;
  Cache cache = Cache::kPageCache;
  // kDecoded: how much is kept at most, and in which folder of a local disk; empty: in memory. The
  // file there has no name, and is gone when the loader is.
  std::uint64_t cache_bytes = 0;
  std::string cache_folder;
  // A folder on a fast local disk (empty: none) that shards are copied to as they are first read,
  // up to stage_bytes: this epoch's rest and later ones, loaders and processes read them from
  // there. Copies of other datasets make room if nobody uses them. A sample that its copy does not
  // give is read from the shard itself, and if that does, the copy is made anew.
  std::string stage;
  std::uint64_t stage_bytes = 0;
  LastBatch last_batch = LastBatch::kKeep;
  // Processes that train together, and which this one is, from 0. world_size 0 takes both from the
  // environment (Rank::FromEnvironment()), 1 is a process that trains alone. batch_size is that of
  // one rank. The sequence of global batches (batch_size x world_size samples) is the same for
  // every world size, but for what MixUp, CutMix and a batch_function do to a rank's own part;
  // quasi-random, a rank reads its own lanes' blocks and no others, but for an
  // epoch's tail, and world_size must divide `lanes`. All ranks get equally many batches, of equal
  // size: where samples do not go round, kKeep fills up as kPad does, by at most one for each rank.
  unsigned rank = 0;
  unsigned world_size = 0;
  // Deals whole shards to ranks, anew each epoch, for storage that is staged by the shard: each
  // rank orders its own. Gives up that batches are the same for every world size; ranks with fewer
  // samples fill up from their own start (kKeep, kPad), or what the others have more is left out
  // (kDrop).
  bool shards_per_rank = false;

  // Goes on where Loader::State() was taken. The dataset and the options of the order must be the
  // same (Error(kInvalidArgument) says which is not); threads, prefetch and transforms may differ,
  // and batch_size and world_size where the position is a multiple of their product. The state of
  // any rank serves all of them.
  std::optional<ResumePoint> resume_from;

  // The fields that batches hold; the others are not even read. Empty: all but images that neither
  // are the one `image` names nor follow it. A mask comes only with the image that it follows.
  std::vector<std::string> fields;
  // What Batch::image() is; empty: the first image field that is chosen and follows no other.
  std::string image;
  Pipeline transform;
  // What comes out may change in size with the epoch: the first one is for epoch 0 on. Empty: as
  // `transform` says. Batches lie in memory for the largest; see ProgressiveSizes().
  std::vector<OutputSize> sizes;
  // Further views of the same image, for contrastive learning: what Batch::image() is, is the
  // first. Masks, boxes and key points follow that one alone. Where decoding what all of them show
  // is cheaper than decoding each for itself, the picture is decoded once.
  std::vector<View> views;
  // The user's own steps, behind the others: see user_function.h. `made_fields` (arrays, variable
  // and bytes fields) are not in the dataset: batches hold what the functions put there, else zeros
  // and nothing. Batches are mixed, or given another shape, by a made field.
  SampleFunction sample_function;
  BatchFunction batch_function;
  std::vector<Field> made_fields;
  // Masks, boxes and key points follow their image (Field::follows) through its geometric steps.
  BoxRule boxes;
  // By mask field: the value, 0 to 255, or to 65535 in masks of 16 bits, of what lies outside of
  // the picture: beyond the edge of a crop with padding, in the corners of a rotation. 255 is what
  // losses of segmentation usually ignore. Masks that are not named have 0 there, a class like
  // others. (Border::kReflect mirrors masks, too. A mask that a sample lacks is zeros.)
  std::map<std::string, std::uint32_t> mask_fill;
  Layout layout = Layout::kNHWC;
  // 1 or 3: grey or RGB converted to that; 0: as stored, where all images agree. Raw images of two
  // or four channels come as they are stored, and go through geometric steps alone.
  unsigned channels = 0;
  Verify verify = Verify::kAuto;
  OnFault on_fault = OnFault::kError;

  // For measuring a training alone: the first batch is handed over again and again, at no cost, as
  // many times as epochs have batches; its epoch(), index() and size stay its own.
  bool repeat_first_batch = false;
  // Records what each thread does; null: nothing is recorded.
  std::shared_ptr<LoaderTrace> trace;
};

struct LoaderState;  // private

// Input iterator over the batches of an epoch. ++ lets go of its batch and waits for the next one;
// it throws the Error of a sample in it that cannot be read, and Error(kState) where the consumer
// holds every slot.
//
// After ++ has thrown, the iterator holds no batch, and is not at its end: ++ goes on. It gives the
// batch behind the one that could not be read (there may be none: then it is at its end); or, once
// some are dropped, the one that there was no slot for. * and -> throw Error(kState) where there is
// no batch. Where begin() itself has thrown, so it goes on when it is called again.
//
// All iterators of a range share its batches: each begin() and ++, of whichever of them, takes the
// next one, and none comes twice. One thread steps at a time. An iterator may move on to another
// thread; but begin() and ++ throw Error(kState), and take nothing, while another thread is in one
// of them, or in the middle of the range with an iterator of its own.
class EpochIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;
  using pointer = const Batch*;
  using reference = const Batch&;

  reference operator*() const {
    if (batch_.slot_ == nullptr) ThrowNoBatch();
    return batch_;
  }
  pointer operator->() const { return &**this; }
  EpochIterator& operator++();
  void operator++(int) { ++*this; }
  friend bool operator==(const EpochIterator& it, std::default_sentinel_t) { return it.done_; }

 private:
  friend class EpochRange;
  EpochIterator(std::shared_ptr<LoaderState> loader, std::uint64_t generation);
  [[noreturn]] void ThrowNoBatch() const;
  std::shared_ptr<LoaderState> loader_;
  std::uint64_t generation_;
  std::shared_ptr<const char> mark_;  // what copies of it share: one walk through the range
  Batch batch_;
  bool done_ = false;
};

class EpochRange {
 public:
  EpochIterator begin() const { return EpochIterator(loader_, generation_); }
  std::default_sentinel_t end() const { return {}; }

 private:
  friend class Loader;
  EpochRange(std::shared_ptr<LoaderState> loader, std::uint64_t generation)
      : loader_(std::move(loader)), generation_(generation) {}
  std::shared_ptr<LoaderState> loader_;
  std::uint64_t generation_;
};

class Loader {
 public:
  // Throws Error(kInvalidArgument) for options that do not fit the dataset, for instance images of
  // differing sizes without a transform that makes them equal; Error(kLimit) where memory or
  // threads do not suffice.
  explicit Loader(Dataset dataset, LoaderOptions options = {});
  ~Loader();  // stops the threads after the samples in hand
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;

  // Starts playing that epoch; a range begun earlier ends, for whoever waits for a batch of it,
  // too. Epochs asked for in a row (n, n + 1,
  // ...) flow into one another: the next one's first batches are decoded while the last ones are
  // used. After LoaderOptions::resume_from, the first call for its epoch plays what was left of it.
  EpochRange Epoch(std::uint64_t epoch);

  // Where the stream stands: after the batch that was handed over last, or at the beginning of the
  // epoch asked for since, or where it was resumed. A batch that came as an Error counts as not
  // played, until one after it is handed over. At the end of an epoch it is the next one's start.
  // Any thread.
  ResumePoint State() const;

  // What this rank gets in an epoch, as LastBatch makes it: the same in every one, but for
  // shards_per_rank.
  std::uint64_t batches_per_epoch(std::uint64_t epoch = 0) const;
  std::uint64_t samples_per_epoch(std::uint64_t epoch = 0) const;
  Rank rank() const noexcept;
  unsigned threads() const noexcept;
  // Of the slots: fixed when the loader is made. Variable-length and bytes fields lie beside it:
  // see Memory().
  std::size_t memory_bytes() const noexcept;
  // How each step of the transform runs (fused with decoding, in a pass of its own, over the whole
  // batch), and what comes out: lines of text for people.
  std::string Describe() const;
  LoaderMemory Memory() const;  // the bound of all that it takes
  // Since the first Epoch(). Any thread, at any time.
  LoaderStats Stats() const;
  // The samples that could not be read so far, by number; at most 10,000 of them are kept.
  std::vector<SampleFault> Faults() const;

 private:
  std::shared_ptr<LoaderState> state_;
};

}  // namespace sluice
