// The options of a Loader: LoaderOptions, which has the everyday options, and its groups of further
// options.
//
//   sluice::LoaderOptions options;
//   options.batch_size = 256;
//   options.transform = {sluice::RandomResizedCrop(224), sluice::HorizontalFlip()};
//   options.storage = sluice::Direct{};
//   options.ranks = {.rank = 1, .world_size = 4};
//
// If an option changes which samples come, their order, or the content of batches, its comment says
// so. All other options change only speed and memory. reader/README.md names the page of each.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <sluice/batch_sampler.h>
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
class Metrics;

// The rows of samples that were deleted (`sluice delete`). Neither way moves any other sample.
enum class DeletedSamples {
  // The batch is that many samples shorter. It may be empty, as with OnFault::kSkip.
  kLeaveOut,
  // The row gets another sample, as with OnFault::kSubstitute: batches keep their sizes, and some
  // samples come twice in an epoch. Not for validation. A row for which none is found is left out.
  kSubstitute,
};

// LoaderOptions::order: which samples an epoch has, and in which order. Every member changes the
// order.
struct OrderOptions {
  Shuffle shuffle = Shuffle::kQuasiRandom;  // how the samples of an epoch are mixed
  // The samples of an epoch: a subset, or drawn by weight or class. Empty: each sample once.
  SampleList samples = {};
  // A function of yours that composes the batches, for instance into buckets, pairs or hard
  // examples: see batch_sampler.h. `shuffle`, `lanes` and `window_bytes` then have no effect.
  // Cannot be combined with `samples`, ranks.by_shards, storage = Direct, or a ranks.last_batch
  // other than kKeep. Loader::Memory() includes the lists of the longest epoch so far.
  BatchSampler batches = {};
  // kQuasiRandom: the number of lanes, 1 to 65536. An epoch takes its samples from these streams in
  // turn. A rank reads whole lanes, so `lanes` must be a multiple of the world size (except with
  // ranks.by_shards).
  std::uint32_t lanes = 192;
  // kQuasiRandom: the size of the window in bytes. The window is the blocks that are open for
  // shuffling at once, over all lanes. At least one block a lane is always open. 0: the larger of
  // 64 MiB and two blocks a lane. With a smaller window, less is read before the first batch.
  std::uint64_t window_bytes = 0;
  // Batches that are left out, for instance those before a loss spike. All other batches stay as
  // they are, with their numbers, positions and random draws. A state does not contain `skip`, so
  // one that was saved without it can be resumed with it. Ranges that overlap are refused, and so
  // are ranges beyond the epoch's end. If the training has changed its batch_size or world size
  // since a range was counted, set the range's global_batch: the range is refused if it is then not
  // a whole number of this loader's batches.
  std::vector<SkippedBatches> skip = {};
  DeletedSamples deleted = DeletedSamples::kLeaveOut;  // what becomes of the rows of such samples
};

// LoaderOptions::ranks: the processes that train together. For every world size, the sequence of
// global batches (batch_size x world_size samples) is the same, except that MixUp, CutMix,
// CopyPaste and a batch_function see only a rank's own part.
struct RankOptions {
  // The number of this process among those that train together, from 0.
  unsigned rank = 0;
  // The number of processes that train together.
  // 1: this process trains alone.
  // 0: world_size and `rank` come from the environment (Rank::FromEnvironment()).
  unsigned world_size = 0;
  // How to treat a short last batch. All ranks get the same number of batches, of the same sizes.
  // If the samples cannot be dealt evenly, some ranks have one sample less than others. With kKeep
  // and kPad, the last batch of these ranks then gets one more row, which repeats a sample from the
  // epoch's start.
  LastBatch last_batch = LastBatch::kKeep;
  // Deals whole shards to ranks, anew in each epoch; each rank orders its own shards. This is for
  // shards that something else places on each machine. Batches then depend on the world size. If
  // ranks have different numbers of samples:
  //
  //   kKeep, kPad   ranks with fewer samples repeat samples from the start of their own epoch
  //   kDrop         ranks with more samples leave out their surplus
  bool by_shards = false;
};

// Shards are mapped, and read through the page cache, which keeps what the kernel has room for. (A
// dataset at a URL is always Mapped: its blocks are fetched into memory that is mapped like a file.
// Each block is released once all of its samples are decoded.)
struct Mapped {
  // How many bytes of blocks are being read at any time, 1 MiB to 1 GiB. For a dataset at a URL,
  // this is an upper limit.
  //
  // Empty: the loader chooses. For files, it begins with 16 MiB, and raises that up to 64 MiB if
  // the training waits for storage. For a dataset at a URL, it measures the link's rate and its
  // delay (from a request to the first byte). It then keeps as many bytes requested as arrive
  // during one delay, at most 128 MiB, so that the link is always busy.
  std::optional<std::uint64_t> read_ahead_bytes = {};
};
// Shards are mapped, as with Mapped. The loader's constructor also reads all shards and locks them
// in memory, for as long as the Dataset lives. Throws Error(kLimit) if they do not fit.
struct Locked {};
// Shards are read past the page cache (O_DIRECT), into the loader's own memory, which holds only
// the blocks that are open. This is for data much larger than memory: in the page cache, the data
// would push out everything else, and would still be gone before the next epoch.
//
// If the file system refuses O_DIRECT, the loader reads through the page cache, and drops what it
// has read from there (LoaderStats::refused_shards). Cannot be combined with Shuffle::kRandom,
// which opens a block for each sample.
struct Direct {
  std::optional<std::uint64_t> read_ahead_bytes = {};  // as Mapped's
};
// LoaderOptions::storage: how shards are read, in one of the three ways above. Batches have the
// same bytes with each of them.
using Storage = std::variant<Mapped, Locked, Direct>;

// LoaderOptions::keep: keeps decoded pictures between epochs, so that later epochs need not decode
// them again. The pictures that come first are kept, until `bytes` is full. This is for compressed
// images; raw images need no decoding.
//
// Finished rows are kept if each picture is cropped and resized in the same way in every epoch, and
// flips and turns come only after that. Batches are then the same bytes as without this option.
//
// Otherwise (random crops, `views`, `schedule`, several `sizes`), whole pictures are kept, and each
// epoch crops from them. Then every sample is decoded whole, kept or not, and its pixels differ by
// rounding from those without this option.
//
// With `function_is_deterministic`, the loader keeps rows as LoaderOptions::sample_function left
// them: the images and all fields. It neither reads a kept sample again nor calls the function for
// it. This needs images of one size, an empty `schedule`, and no step that draws random numbers
// before the function is called. (Steps that mix a batch come after it.)
struct DecodedPictures {
  std::uint64_t bytes = 0;  // at most this much is kept; above 0
  // A folder on a local disk for the pictures; empty: they are kept in memory. The file in the
  // folder has no name, and goes away with the loader.
  std::string folder = {};
  // Set this only if the effect of the sample_function on a sample depends on that sample alone:
  // not on draws(), epoch() or position(), nor on anything else that changes. The loader cannot
  // check this. With any other function, later epochs repeat what the function drew in the first.
  bool function_is_deterministic = false;
};

// LoaderOptions::stage: a folder on a fast local disk that keeps blocks which were read from a slow
// disk, or fetched from a URL. Later epochs read the blocks there, and so do other loaders, ranks
// and processes of the machine. So each block is fetched once.
//
// To make room, the loader first removes datasets from the folder that no process uses. Then it
// removes the block of its own dataset whose next use is furthest away. If the disk is full, the
// loader fetches blocks without keeping them (LoaderStats::past_cache_bytes). It fetches a block
// again if the block is damaged on the stage. Blocks are read into memory, so `storage` must be
// Mapped.
struct Stage {
  std::string folder = {};  // of the blocks, on a fast local disk
  std::uint64_t bytes = 0;  // all blocks there take at most this much; above 0
};

// LoaderOptions::share: several trainings on one machine decode each row once. Loaders of one user
// share rows by a file in memory. The file is named after everything that the content of a row
// depends on: the dataset, its ReadLimits, and options such as the transform, the seed, `output`
// and integrity.verify. The first loader to need a row makes it; the others copy it. The bytes
// are the same as without `share`. Batch sizes, ranks and lists of samples may differ between
// the loaders, but a row is shared only if its sample has the same position in each loader's epoch.
//
// A row stays until a later row needs its place in the file. So two trainings share rows as long as
// one is less than `bytes` of rows ahead of the other; after that, the slower one makes its rows
// itself. A training waits for another one only while that one is making a row that both need.
// Loaders may come, go and be killed at any time. The last loader to leave removes the file; if it
// was killed, the next loader does.
//
// The restrictions:
//
//   All images must have one size.
//   The dataset must have been converted: a source of PlaySource() cannot be shared.
//   `keep` and sample_function cannot be set.
//   The host must do all decoding and all steps. With a `device`, leave on_device.decode at kHost;
//   if the transform has steps that change pixels, set on_device.steps = false.
struct SharedRows {
  std::uint64_t bytes = 0;  // of the file, which the first loader makes; above 0
  // The folder in memory that has the file. In a container, /dev/shm may be small.
  std::string folder = "/dev/shm";
};

// LoaderOptions::ring: the slots of memory that batches lie in.
struct RingOptions {
  // Batches decoded ahead of the one that the consumer holds, 1 to 1024. The more there are, the
  // better the ring evens out slow samples.
  //
  // Empty: the loader chooses. It begins with 2 (with 8 for batches of up to 4 MiB that are copies
  // of raw images). While the ring is too short to even out slow samples, and memory is left, the
  // loader raises the number up to 8, or up to 32 if the batches take at most 128 MiB. It stops at
  // 8 in any case if batches also use memory outside of their slots: with variable-length or bytes
  // fields, with Direct or `stage`, or for a dataset at a URL.
  //
  // Page-locked memory is allocated only once, so there the number is fixed: 4, or 6 if a device
  // decodes (OnDevice::decode).
  //
  // A device that decodes works on several batches at once: on half of the slots (1 + prefetch +
  // hold), at least 2 and at most 8; on fewer if the device has too little memory.
  std::optional<std::size_t> prefetch = {};
  // Further batches that the consumer may hold at the same time, at most 1024. If the consumer
  // holds even more, fewer are decoded ahead. If it asks for a batch while it holds all slots (1 +
  // prefetch + hold), it gets Error(kState).
  std::size_t hold = 1;
  // Batches lie in page-locked (pinned) memory, from which a GPU can copy asynchronously.
  // Error(kUnsupported) in a build without CUDA, or if there is no GPU.
  bool pinned = false;
};

// LoaderOptions::output: the content of batches.
struct OutputOptions {
  // The fields that batches hold. Other fields are not read at all. A mask needs the image that it
  // follows, unless the mask itself is the batch's `image`.
  // Empty: batches hold all fields that are not images, the image field that `image` chooses, and
  // the image fields that follow that one (Field::follows).
  std::vector<std::string> fields = {};
  // The field that Batch::image() returns. Empty: the first chosen image field that follows no
  // other, or else the first chosen image field.
  std::string image = {};
  Layout layout = Layout::kNHWC;  // the order of an image batch's dimensions
  // Whether the images of a batch may differ in size, and how the batch then holds them: see
  // ImageSizes in batch.h. A mask has the size of the image that it follows.
  //
  // With kPadded and kOwn, all steps run on the host. MixUp, CutMix and
  // DecodedPictures::function_is_deterministic cannot be used. Each row of a slot has room for the
  // largest image that the manifest and the transform allow. With kOwn and no geometric steps
  // except flips and quarter turns, this room is for at most ReadLimits::max_pixels.
  //
  // With kPadded, padding is added after all steps, to the right and below: zeros, and for masks
  // the value in `mask_fill`. Boxes and key points stay as they are. The size of a padded batch
  // depends on which samples the rank has in it.
  ImageSizes image_sizes = ImageSizes::kEqual;
  // The channels of images:
  //
  //   1, 3   images are converted to grey or RGB
  //   0      images keep the channels that they are stored with; all must have the same number
  //
  // Raw images with two or four channels always come as they are stored, and only geometric steps
  // may be applied to them. Images of other types than uint8, or with more than four channels,
  // are never converted; see `bands`.
  unsigned channels = 0;
  // By image field, which channels batches hold, and in what order:
  // {{"image", {"B04", "B03", "B02"}}}. The names are those of the field's attribute `channels`.
  // Only these channels (and a tile that one of them is stored as a difference from) are decoded; a
  // mask is decoded whole. For images of other types than uint8, or with more than four
  // channels. Fields not named here have all their channels.
  std::map<std::string, std::vector<std::string>> bands = {};
  // Which boxes are dropped when an image is transformed. (Masks, boxes and key points follow their
  // image, Field::follows, through its geometric steps.)
  BoxRule boxes = {};
  // By mask field: the value of mask pixels outside the picture (a crop's padding, the corners of a
  // rotation). If a sample has no mask, every pixel of its mask in the batch has this value. It may
  // be any whole number that the mask's type has, such as 0 to 255, or 0 to 65535 for masks of
  // uint16. Segmentation losses usually ignore 255. Masks not named here get 0, which is usually a
  // class. (Border::kReflect mirrors masks, too.)
  //
  // If a mask is not named here, a dataset in which samples lack the mask is refused. So is a
  // mixture in which a dataset lacks the field. If samples are chosen (OrderOptions::samples or
  // batches), the dataset is not refused; each chosen sample without the mask is a fault.
  std::map<std::string, std::uint32_t> mask_fill = {};
  // Allows a dataset of a mixture to lack fields that other datasets have. In the samples of that
  // dataset, labels and other arrays then hold this number; losses usually ignore -100. Other
  // fields are empty or black, whatever the number: see mixture.h. For a mask that a dataset lacks,
  // set `mask_fill` instead. Batch::Has() tells these samples from the others.
  //
  // Empty: a loader of such a mixture is refused, because a training would take filled-in values
  // for real ones. (A bytes field may be lacking: an empty one is not taken for a value.)
  std::optional<std::int64_t> absent = {};
  // The pairs of an object's key points that change places when a step mirrors the image, such as
  // the left and the right eye: "1-2,3-4", counted from 0, or "none" if no points do. This is for
  // fields of key points that lack the attribute flip_pairs. If such a field has several points for
  // each object, a transform with flips is refused unless this is set.
  std::string flip_pairs = {};
  // Fields that the user's functions fill, and that are not in the dataset: arrays, variable-length
  // and bytes fields. Until a function fills them, arrays are zeros, and other fields are empty.
  std::vector<Field> made_fields = {};
};

// When a payload's checksum is compared.
enum class Verify {
  // Compressed payloads: as kAlways, because comparing takes far less time than decoding.
  // Raw payloads: until the checksum has matched once, because comparing takes as long as copying.
  // So once this Loader's first epoch has been played to its end, all raw payloads of that epoch
  // have been compared.
  kAuto,
  kAlways,  // each payload's checksum is compared before it is decoded
  kNever,   // headers and tables are still checked
};

// The loader's reaction to a sample that cannot be read: the sample is damaged, or its shard is cut
// short, unreadable or gone.
enum class OnFault {
  kError,  // the ++ or Next() that would deliver the sample's batch throws
  // The batch is one sample shorter; no other sample moves. A batch may be empty. If all batches of
  // an epoch are empty, the ++ or Next() that would deliver the last one throws Error.
  kSkip,
  // The sample's row gets another sample of the epoch. Which one depends only on the epoch and on
  // the row's position in it (reader/ORDER.md). If 64 such samples cannot be read either, the ++ or
  // Next() that would deliver the batch throws.
  kSubstitute,
};

// LoaderOptions::integrity: what is checked, and what happens to samples that fail. Limits on sizes
// belong to the Dataset (ReadLimits).
struct IntegrityOptions {
  Verify verify = Verify::kAuto;       // when checksums are compared
  OnFault on_fault = OnFault::kError;  // what happens to a sample that cannot be read
};

// Where JPEGs and packed pictures are decoded.
enum class DecodeOn {
  kHost,  // by the decoding threads
  // By LoaderOptions::device, as far as the device can. It decodes packed pictures, and JPEGs of
  // the form that `sluice convert` stores: baseline, with the standard's Huffman tables, and with a
  // restart marker at each line of MCUs or at equal parts of it. For these pictures, the host only
  // copies the compressed lines that the cropped region needs. The host decodes all other pictures;
  // both kinds may be in one batch. The bytes are the same.
  //
  // The host also decodes JPEGs and packed pictures to which the transform adds a border, or that
  // it turns or rotates.
  kDevice,
  // As kDevice, but the device is offered only a share of each batch's pictures, the last ones. The
  // host decodes the others. The share begins at one half. The loader changes it until neither
  // device nor host waits for the other (LoaderStats::device_share).
  kAuto,
};

// Where LoaderOptions::device finds the pictures that it decodes. The bytes of batches are the
// same.
enum class ImagesIn {
  kStorage,  // in shards; pictures are sent to the device with each batch
  // In the device's memory, which must have room for all of them. A thread of the loader copies
  // each picture there once, while the first epoch is already being played, and compares its
  // checksum. Pictures that have arrived there are no longer read from storage or sent with
  // batches. JPEGs and packed pictures lie there compressed. Raw pictures lie there as they are
  // stored, and the device crops, resizes, pads and mirrors them.
  kDevice,
};

// LoaderOptions::on_device: the work done on LoaderOptions::device, if that is not the host.
struct OnDevice {
  // True: the device also runs the steps that change pixels; Describe() says which. Their random
  // numbers are drawn on the host, and the bytes are the same.
  // False: the host runs these steps, for a device without time to spare.
  //
  // The device runs at most 256 operations a picture: as many of the last steps as fit. The host
  // runs the steps before those. (A jitter counts 4 operations, a RandAugment 5 for each of its
  // operations, a blur up to 44.) CutMix, CopyPaste, MixUp and the user's functions come after the
  // steps that change pixels; with any of them, the host runs all steps. A blur, AdjustSharpness
  // and the augments need device memory for one or two more batches of pixels.
  bool steps = true;
  // Where JPEGs and packed pictures are decoded. kDevice and kAuto cannot be combined with
  // LoaderOptions::keep, MixUp, CutMix, the user's functions, or image_sizes other than kEqual:
  // these need the pixels on the host.
  //
  // If the device finds that it cannot decode a row, the host decodes that row before the batch is
  // delivered. If a sample is left out (OnFault::kSkip), the host decodes its whole batch.
  //
  // For decoding, the device needs at most 256 MiB of its memory, or 1/32 of its free memory if
  // that is more. In addition, each slot needs 1.25 times the compressed size of its pictures.
  DecodeOn decode = DecodeOn::kHost;
  // Where the device finds the pictures. kDevice needs decode = kDevice, and cannot be combined
  // with `stage`. If the device does not have enough free memory, Error(kLimit) gives the sizes.
  // LoaderStats::stored_pictures says how many pictures have arrived.
  ImagesIn images = ImagesIn::kStorage;
};

// LoaderOptions::diagnostics: for measurements.
struct DiagnosticsOptions {
  // Records what each thread does; null: nothing is recorded.
  std::shared_ptr<LoaderTrace> trace = {};
  // Publishes LoaderStats for dashboards, in a file: see metrics.h. Several loaders may share it.
  // Labels: "dataset" (its path or URL), "loader" and "rank".
  std::shared_ptr<Metrics> metrics = {};
  // The label "loader". If two loaders that share `metrics` have the same name and dataset, the
  // later one gets NAME-2.
  std::string name = "loader";
};

// The options of a Loader. The everyday options come first, the others are in groups.
struct LoaderOptions {
  std::size_t batch_size = 256;  // samples, of one rank
  // Decoding threads, 1 to 1024. Batches are the same for any number.
  // Empty: one for each CPU that this process may use. Some of them rest while the trainer is too
  // slow to need them.
  // 0, for debugging: the thread that asks for a batch decodes it, and nothing is decoded ahead. So
  // a debugger's stack leads from the training to the user's function.
  std::optional<unsigned> threads = {};
  Pipeline transform = {};  // the steps that images and labels go through, in order
  // Further views of the same image, for contrastive learning; Batch::image() is the first view.
  // Masks, boxes and key points follow the first view only. The picture is decoded once for all
  // views, if that is cheaper than decoding the part that each view shows.
  std::vector<View> views = {};
  // Output sizes that change with the epoch, or are drawn for each few batches; the first must be
  // for epoch 0. Slots have room for the largest. See ProgressiveSizes() and SizesByBatch(). Empty:
  // the size is as `transform` says.
  std::vector<OutputSize> sizes = {};
  // Steps that change with the epoch. From ScheduledTransform::epoch on, the steps of that entry
  // replace those of `transform` and of earlier entries. The first entry's epoch is at least 1, and
  // the epochs of the entries increase. All entries are checked when the loader is made. Normalize
  // and OneHot must be the same in `transform` and in all entries; MixUp, CutMix and CopyPaste may
  // come and go. A step that stays draws the same numbers. See Ramp().
  std::vector<ScheduledTransform> schedule = {};
  std::uint64_t seed = 0;  // for the order and every random step
  // Continues from a point that Loader::State() of any rank has returned. The dataset, the seed and
  // the options in `order` must be the same (Error(kInvalidArgument) says which is not). Threads,
  // the ring and transforms may differ. So may batch_size and the world size, if the position is a
  // multiple of their product.
  std::optional<ResumePoint> resume_from = {};
  // Where a batch's images and fixed-shape arrays are delivered. Images are copied to a device as
  // uint8. Normalize and the layout are done there, and give the same bytes as on the host. (With
  // MixUp or the user's functions, the host normalizes, because they need the normalized numbers.)
  // Page-locked and device memory is allocated when the loader is made, and never again.
  Device device = {};
  // The user's own step for each sample, after the steps of the transform, but before MixUp and
  // CutMix: see user_function.h.
  SampleFunction sample_function = {};
  BatchFunction batch_function = {};  // for each batch, after steps that mix it
  // Each decoding thread calls this once. The two functions above get the object that it returns,
  // as state().
  ThreadSetup thread_setup = {};

  OrderOptions order = {};                   // which samples come, and in which order
  RankOptions ranks = {};                    // the processes that train together
  Storage storage = {};                      // how shards are read
  std::optional<DecodedPictures> keep = {};  // decoded pictures that stay between epochs
  std::optional<Stage> stage = {};           // blocks kept on a fast local disk
  std::optional<SharedRows> share = {};      // decoded rows shared with other trainings
  RingOptions ring = {};                     // the memory that batches lie in
  // The longest wait for a batch, for storage that hangs, local or remote, and for a function that
  // does not return. After that time, the ++ or Next() that waits throws Error(kIo); the next call
  // resumes waiting. It also bounds each wait for order.batches: with a timeout, that function runs
  // on a thread of its own. Zero: no limit.
  std::chrono::milliseconds timeout = {};
  OutputOptions output = {};            // what batches hold
  IntegrityOptions integrity = {};      // what is checked, and what happens to faulty samples
  OnDevice on_device = {};              // the work that is done on `device`
  DiagnosticsOptions diagnostics = {};  // for measurements
};

}  // namespace sluice
