// The options of a Loader: those that most trainers set, then the rest in groups by concern.
//
//   sluice::LoaderOptions options;
//   options.batch_size = 256;
//   options.transform = {sluice::RandomResizedCrop(224), sluice::HorizontalFlip()};
//   options.storage = sluice::Direct{};
//   options.ranks = {.rank = 1, .world_size = 4};
//
// If an option changes which samples come, their order, or the content of a batch, its comment says
// so. All others change only speed and memory. reader/README.md advises on each.
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

// LoaderOptions::order. Every member changes the order.
struct OrderOptions {
  Shuffle shuffle = Shuffle::kQuasiRandom;  // how the samples of an epoch are mixed
  // The samples of an epoch: a subset, or drawn by weight or class. Empty: each sample once.
  SampleList samples = {};
  // Batches composed by a function of yours (for buckets, pairs or hard examples), instead of by
  // shuffle, samples, lanes and window_bytes. See batch_sampler.h. Cannot be combined with
  // ranks.by_shards, with last_batch other than kKeep, or with storage = Direct. Loader::Memory()
  // includes the lists of the longest epoch so far.
  BatchSampler batches = {};
  // kQuasiRandom: the number of lanes, the streams that an epoch is interleaved from; 1 to 65536. A
  // rank reads whole lanes, so `lanes` must be a multiple of the world size (except with
  // ranks.by_shards).
  std::uint32_t lanes = 192;
  // kQuasiRandom: the size in bytes of the window (the blocks open for shuffling at once, over all
  // lanes). 0: the larger of 64 MiB and two blocks a lane. At least one block a lane is always
  // open. The smaller the window, the less is read before the first batch.
  std::uint64_t window_bytes = 0;
};

// LoaderOptions::ranks. The sequence of global batches (batch_size x world_size samples) is the
// same for every world size, except that MixUp, CutMix and a batch_function see only a rank's own
// part.
struct RankOptions {
  // The number of this process among those that train together, from 0.
  unsigned rank = 0;
  // The number of processes that train together; 1 for a process that trains alone. 0: world_size
  // and `rank` come from the environment (Rank::FromEnvironment()).
  unsigned world_size = 0;
  // All ranks get the same number of batches, of the same sizes. If the samples cannot be dealt
  // evenly, some ranks have one sample less than others: their last batch gets one more row, which
  // repeats a sample from the epoch's start, even with kKeep.
  LastBatch last_batch = LastBatch::kKeep;
  // Deals whole shards to ranks, anew in each epoch. Each rank orders its own shards. This suits
  // shards that something else places on each machine. Batches then differ between world sizes.
  // Ranks with fewer samples fill up from the start of their own epoch (kKeep, kPad), or the other
  // ranks leave out their surplus (kDrop).
  bool by_shards = false;
};

// Shards are mapped, and read through the page cache, which keeps what the kernel has room for. (A
// dataset at a URL is always Mapped: its blocks are fetched into memory that is mapped like a file,
// and each is released once all of its samples are decoded.)
struct Mapped {
  // How many bytes of blocks are being read at any time, 1 MiB to 1 GiB. Empty: 16 MiB, which the
  // loader raises up to 64 MiB if the training waits for storage. For a dataset at a URL, the value
  // is an upper limit. If it is empty, the loader measures the link's rate and its delay (from a
  // request to the first byte). To keep the link busy, it requests as many bytes at a time as
  // arrive during one delay, at most 128 MiB.
  std::optional<std::uint64_t> read_ahead_bytes = {};
};
// Shards are mapped, as with Mapped; the loader's constructor also reads all of them and locks them
// in memory for as long as the Dataset lives. Error(kLimit) if they do not fit.
struct Locked {};
// Shards are read past the page cache (O_DIRECT), into the loader's own memory, which holds only
// the blocks that are open. For data much larger than memory: its pages would push everything else
// out of the page cache and still be gone before the next epoch. If the file system refuses
// O_DIRECT, the same reads go through the page cache and are dropped from it
// (LoaderStats::refused_shards). Not for Shuffle::kRandom, which opens a block for each sample.
struct Direct {
  std::optional<std::uint64_t> read_ahead_bytes = {};  // as Mapped's
};
// LoaderOptions::storage: how shards are read, in one of the three ways above. Batches are the same
// bytes with each of them.
using Storage = std::variant<Mapped, Locked, Direct>;

// LoaderOptions::keep: decoded pictures are kept between epochs. The first ones are kept until
// `bytes` is full; later epochs decode only the others. If each picture is cropped and resized in
// the same way in every epoch, and that comes before flips and turns, the loader keeps the rows
// that result, and batches are the same bytes as without this option. Otherwise (random crops,
// `views`, `schedule`, several `sizes`) it keeps whole pictures, and each epoch crops from them:
// then every sample is decoded whole, kept or not, and its pixels differ by rounding from those
// without this option. For compressed images; raw ones need no decoding.
//
// With `function_is_deterministic`, rows are kept as LoaderOptions::sample_function left them: the
// images and all fields. A kept sample is not read again, and the function is not called for it.
// No step of the transform may draw random numbers before the function is called (MixUp and CutMix
// run after it), `schedule` must be empty, and all images must have one size.
struct DecodedPictures {
  std::uint64_t bytes = 0;  // at most this much is kept; above 0
  // A folder on a local disk; empty: in memory. The file there has no name and goes away with the
  // loader.
  std::string folder = {};
  // Set it only with a sample_function whose effect on a sample depends on that sample alone: not
  // on draws(), epoch() or position(), nor on anything else that changes. The loader cannot check
  // that. With another function, later epochs repeat what the first one drew.
  bool function_is_deterministic = false;
};

// LoaderOptions::stage: keeps on a fast local disk the blocks that were read of a slow one, or were
// fetched of a dataset at a URL. Later epochs, and other loaders, ranks and processes on the
// machine, read them there, so each block is fetched once. To make room, the loader drops what
// other datasets have there if nobody uses it, and then the block that the order needs last. If the
// disk is full, blocks are fetched without being kept (LoaderStats::past_cache_bytes). A block that
// is damaged on the stage is fetched again. Blocks are read into memory, so `storage` must be
// Mapped.
struct Stage {
  std::string folder = {};  // of the blocks, on a fast local disk
  std::uint64_t bytes = 0;  // all blocks there take at most this much; above 0
};

// LoaderOptions::share: several trainings on one machine decode each row once. Loaders of one user
// share rows by a file in memory, named after everything that a row's content depends on: the
// dataset, its ReadLimits, and options such as the transform, the seed, `output` and
// integrity.verify. The loader that needs a row first makes it, and the others copy it; the bytes
// are the same as without `share`. Batch sizes, ranks and lists of samples may differ between the
// loaders, but only a sample that has the same position in each loader's epoch is shared.
//
// A row stays until a later row needs its place. So two trainings share rows as long as one is less
// than `bytes` of rows ahead of the other; after that, the slower one makes its rows itself. A
// training waits for another one only while the other is making a row that both need. Loaders may
// come, go and be killed at any time. The last one to leave removes the file; if it was killed, the
// next loader does.
//
// All images must have one size. Not for a source that is played without a conversion. Cannot be
// combined with `keep` or sample_function, and the host must do all decoding and steps: with a
// `device`, leave on_device.decode at kHost, and set on_device.steps = false if the transform has
// steps that change pixels.
struct SharedRows {
  std::uint64_t bytes = 0;  // of the file, which the first loader makes; above 0
  // A folder in memory, in which the file lies. In a container, /dev/shm may be small.
  std::string folder = "/dev/shm";
};

// LoaderOptions::ring: the slots of memory that batches lie in.
struct RingOptions {
  // Batches decoded ahead of the one the consumer holds, 1 to 1024. The more there are, the better
  // the ring evens out slow samples. Empty: the loader begins with 2 (with 8 for batches of up to 4
  // MiB that are copies of raw images). If the ring is too short to even out slow samples and
  // memory is left, the loader raises the number up to 8. It raises the number further, up to 32,
  // as long as these batches take at most 128 MiB, and if they use no memory outside of their
  // slots. (Variable-length and bytes fields, Direct and datasets at URLs use such memory.)
  // Page-locked memory is allocated once, so there the number is fixed: 4, or 6 if a device decodes
  // (OnDevice::decode). A device that decodes works on several batches at once: on half of the
  // slots (1 + prefetch + hold), at least 2 and at most 8.
  std::optional<std::size_t> prefetch = {};
  // Further batches that the consumer may hold at the same time, at most 1024. If the consumer
  // holds more, fewer are decoded ahead; asking for a batch while it holds all slots (1 + prefetch
  // + hold) throws Error(kState).
  std::size_t hold = 1;
  // Batches lie in page-locked (pinned) memory, from which a GPU can copy asynchronously. Without a
  // build with CUDA and a GPU: Error(kUnsupported).
  bool pinned = false;
};

// LoaderOptions::output: the content of batches.
struct OutputOptions {
  // The fields that batches hold; other fields are not read at all. If empty, batches hold all
  // fields that are not images, the image field that `image` chooses, and the image fields that
  // follow that one (Field::follows). A mask needs the image that it follows, unless the mask
  // itself is the batch's `image`.
  std::vector<std::string> fields = {};
  // The field that Batch::image() returns. Empty: the first chosen image field that follows no
  // other, or else the first chosen image field.
  std::string image = {};
  Layout layout = Layout::kNHWC;  // the order of an image batch's dimensions
  // Whether the images of a batch may differ in size, and how the batch then holds them (ImageSizes
  // in batch.h). With kPadded and kOwn, all images of a batch may differ in size; a mask has the
  // size of the image that it follows. Padding is added after all steps, to the right and below:
  // zeros, and for masks the value in `mask_fill`. Boxes and key points stay as they are. Each row
  // of a slot has room for the largest image that the manifest and the transform allow; with kOwn
  // and no geometric steps but flips and quarter turns, for at most ReadLimits::max_pixels. All
  // steps run on the host. kPadded and kOwn cannot be combined with MixUp, CutMix or
  // DecodedPictures::function_is_deterministic. With kPadded, the size of a batch depends on which
  // samples the rank has in it.
  ImageSizes image_sizes = ImageSizes::kEqual;
  // 1 or 3: images are converted to grey or RGB. 0: images keep the channels that they are stored
  // with, and all must have the same number. Raw images of two or four channels come as they are
  // stored, and only geometric steps may be applied to them.
  unsigned channels = 0;
  // Masks, boxes and key points follow their image (Field::follows) through its geometric steps;
  // this says which boxes are dropped.
  BoxRule boxes = {};
  // By mask field: the value of mask pixels outside the picture (a crop's padding, the corners of a
  // rotation); 0 to 255, or 0 to 65535 for 16-bit masks. 255 is the value that segmentation losses
  // usually ignore. Masks not named here get 0, which is usually a class. (Border::kReflect mirrors
  // masks, too.) If a sample lacks the mask, it gets one whose pixels all have that value. A
  // dataset in which samples lack the mask, or a mixture in which a dataset lacks the field, is
  // refused if the field is not named here. Of chosen samples (`order`), only such ones are.
  std::map<std::string, std::uint32_t> mask_fill = {};
  // Allows a dataset of a mixture to lack fields that the others have. In its samples, labels and
  // other arrays then hold this number (losses usually ignore -100), lists such as boxes have no
  // entries, and further images are black. Empty: a loader of such a mixture is refused, because a
  // training would take filled-in values for real ones. A mask that a dataset lacks needs
  // `mask_fill` instead; bytes and texts may always be missing. Batch::Has() tells these samples
  // from the others.
  std::optional<std::int64_t> absent = {};
  // The pairs of an object's key points that change places when a step mirrors the image, such as
  // the left and the right eye: "1-2,3-4", counted from 0; "none" if no points do. For fields of
  // key points without the attribute flip_pairs: if an object has several points there, they are
  // refused with flips unless this is set.
  std::string flip_pairs = {};
  // Array, variable-length and bytes fields that are not in the dataset. The user's functions fill
  // them; otherwise arrays are zeros and the others empty.
  std::vector<Field> made_fields = {};
};

// When a payload's checksum is compared.
enum class Verify {
  // Compressed payloads: as kAlways, because decoding them takes far longer than comparing. Raw
  // payloads, for which comparing takes as long as copying: until the checksum has matched once. If
  // this Loader's first epoch is played to its end, all of its raw payloads have then been
  // compared.
  kAuto,
  kAlways,  // each payload's checksum is compared before it is decoded
  kNever,   // headers and tables are still checked
};

// The loader's reaction to a sample that cannot be read: the sample is damaged, or its shard is
// cut short, unreadable or gone.
enum class OnFault {
  kError,  // the step that would deliver its batch throws
  // The batch is one sample shorter; no other sample moves. A batch may be empty. If all batches of
  // an epoch are empty, the step that would deliver the last one throws Error.
  kSkip,
  // The sample's row gets another sample from later in the epoch, chosen by the row's position
  // alone. If 64 such samples cannot be read either, the step throws.
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
  // On LoaderOptions::device, as far as it can: packed pictures, and JPEGs of the form that `sluice
  // convert` stores (baseline, the standard's Huffman tables, a restart marker at each row of
  // MCUs or at equal parts of it), if the transform adds no border and does not turn or rotate the
  // image. For these, the host only copies the compressed rows that an image needs. It decodes all
  // other pictures itself; both kinds may be in one batch. The bytes are the same.
  kDevice,
  // As kDevice, but the device is offered only a share of each batch's pictures, the last ones; the
  // host decodes the others. The share begins at one half. The loader measures which of the two
  // waits, and changes the share until neither does (LoaderStats::device_share).
  kAuto,
};

// Where LoaderOptions::device finds the pictures that it decodes. With kDevice, a thread of the
// loader puts all pictures into the device's memory once, while the first epoch is already being
// played. Pictures that have arrived there are no longer read from storage or sent with batches.
// JPEGs and packed pictures lie there compressed. Raw pictures lie there as they are stored, and
// the device crops, resizes, pads and mirrors them. The bytes of batches are the same. Each
// payload's checksum is compared when it is put there.
enum class ImagesIn {
  kStorage,  // in shards; pictures are sent to the device with each batch
  kDevice,   // in the device's memory, which must have room for all of them
};

// LoaderOptions::on_device: the work done on LoaderOptions::device, if that is not the host.
struct OnDevice {
  // True: the device also runs the steps that change pixels; Describe() says which. Their random
  // numbers are drawn on the host, and the bytes are the same. The device runs at most 256
  // operations a picture (a jitter counts 4, a RandAugment 5 for each of its operations, a blur up
  // to 44): it runs as many of the last steps as fit, and the host runs the earlier ones. With
  // CutMix, MixUp or the user's functions, which come after these steps, the host runs all steps. A
  // blur, AdjustSharpness and the augments need device memory for one or two more batches of
  // pixels. False: the host runs the steps that change pixels, for a device without time to spare.
  bool steps = true;
  // kDevice and kAuto cannot be combined with LoaderOptions::keep, MixUp, CutMix, the user's
  // functions, or image_sizes other than kEqual: these need the pixels on the host. If the device
  // finds that it cannot decode a row, the host decodes that row before the batch is delivered. If
  // a sample is left out (OnFault::kSkip), the host decodes its whole batch. For decoding, the
  // device needs at most 256 MiB of its memory, or 1/32 of its free memory if that is more. In
  // addition, each slot needs 1.25 times the compressed size of its pictures.
  DecodeOn decode = DecodeOn::kHost;
  // kDevice needs decode = kDevice, and cannot be combined with `stage`. If there is not enough
  // free memory, Error(kLimit) gives the sizes. LoaderStats::stored_pictures says how many pictures
  // have arrived.
  ImagesIn images = ImagesIn::kStorage;
};

// LoaderOptions::diagnostics: for measurements.
struct DiagnosticsOptions {
  // Records what each thread does; null: nothing is recorded.
  std::shared_ptr<LoaderTrace> trace = {};
  // Publishes LoaderStats for dashboards, in a file or at an address: see metrics.h. Several
  // loaders may share it. Labels: "dataset" (its path or URL), "loader" and "rank".
  std::shared_ptr<Metrics> metrics = {};
  // The label "loader". If two loaders that share `metrics` have the same name and dataset, the
  // later one gets NAME-2.
  std::string name = "loader";
};

// The options of a Loader. The everyday ones come first, the rest are in groups.
struct LoaderOptions {
  std::size_t batch_size = 256;  // samples, of one rank
  // Decoding threads, 1 to 1024. Empty: one for each CPU this process may use; some of them rest
  // while the trainer is too slow to need them. 0, for debugging: the thread that asks for a batch
  // decodes it, and nothing is decoded ahead, so that a debugger's stack leads from the training
  // to the user's function. Batches are the same.
  std::optional<unsigned> threads = {};
  Pipeline transform = {};  // the steps that images and labels go through, in order
  // Further views of the same image, for contrastive learning; Batch::image() is the first view.
  // Masks, boxes and key points follow the first view only. The picture is decoded once for all
  // views if that is cheaper than decoding the part each one shows.
  std::vector<View> views = {};
  // Output sizes that change with the epoch; the first must be for epoch 0. Empty: as `transform`
  // says. Slots are large enough for the largest. See ProgressiveSizes().
  std::vector<OutputSize> sizes = {};
  // Steps that change with the epoch: from ScheduledTransform::epoch on, that entry's steps replace
  // those of `transform` and of earlier entries. The first entry's epoch is at least 1, and each
  // entry's epoch is larger than that of the entry before. All entries are checked when the loader
  // is made. Normalize and OneHot must be the same in `transform` and all entries; MixUp and CutMix
  // may come and go. A step that stays draws the same numbers. See Ramp().
  std::vector<ScheduledTransform> schedule = {};
  std::uint64_t seed = 0;  // for the order and every random step
  // Continues from the point where Loader::State() was called. The dataset, the seed and the
  // options in `order` must be the same (Error(kInvalidArgument) says which is not). Threads, the
  // ring and transforms may differ; so may batch_size and the world size, if the position is a
  // multiple of their product. The state of any rank serves all ranks.
  std::optional<ResumePoint> resume_from = {};
  // Where a batch's images and fixed-shape arrays are delivered. Images are copied to a device as
  // uint8; Normalize and the layout are done there and give the same bytes as on the host. (If
  // MixUp or the user's functions are used, the host normalizes, because they need the normalized
  // numbers.) Page-locked and device memory is allocated when the loader is made, and never again.
  Device device = {};
  // The user's own step for each sample, after the steps of the transform (but before MixUp and
  // CutMix): see user_function.h.
  SampleFunction sample_function = {};
  BatchFunction batch_function = {};  // for each batch, after MixUp and CutMix
  // Each decoding thread calls this once. The two functions above get the returned object: state().
  ThreadSetup thread_setup = {};

  OrderOptions order = {};                   // which samples come, and in which order
  RankOptions ranks = {};                    // the processes that train together
  Storage storage = {};                      // how shards are read
  std::optional<DecodedPictures> keep = {};  // decoded pictures that stay between epochs
  std::optional<Stage> stage = {};           // blocks kept on a fast local disk
  std::optional<SharedRows> share = {};      // decoded rows shared with other trainings
  RingOptions ring = {};                     // the memory that batches lie in
  // The longest wait for a batch, after which the step that waits throws Error(kIo): for storage
  // that hangs, local or remote. The next step resumes waiting. Zero: no limit.
  std::chrono::milliseconds timeout = {};
  OutputOptions output = {};            // what batches hold
  IntegrityOptions integrity = {};      // what is checked, and what happens to faulty samples
  OnDevice on_device = {};              // the work that is done on `device`
  DiagnosticsOptions diagnostics = {};  // for measurements
};

}  // namespace sluice
