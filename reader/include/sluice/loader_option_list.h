// Declares LoaderOptions, its groups and ReadLimits as lists of options: see option_list.h. The
// full description of each option is the comment at its member in loader_options.h and dataset.h.
#pragma once

#include <sluice/loader_options.h>
#include <sluice/option_list.h>

namespace sluice::option_list {

template <>
inline constexpr auto WordsOf<Shuffle> =
    Words("Shuffle", "The order of an epoch's samples",
          Word("quasi_random", Shuffle::kQuasiRandom,
               "blocks in random order, samples mixed inside windows of open blocks"),
          Word("random", Shuffle::kRandom, "one permutation of all samples"),
          Word("sequential", Shuffle::kSequential, "as stored"));

template <>
inline constexpr auto WordsOf<LastBatch> = Words(
    "LastBatch", "What happens to a short last batch", Word("keep", LastBatch::kKeep),
    Word("drop", LastBatch::kDrop),
    Word("pad", LastBatch::kPad, "filled up; Batch.valid says how many rows are not repeats"));

template <>
inline constexpr auto WordsOf<Layout> = Words("Layout", "The order of an image batch's dimensions",
                                              Word("nhwc", Layout::kNHWC),
                                              Word("nchw", Layout::kNCHW));

template <>
inline constexpr auto WordsOf<ImageSizes> =
    Words("ImageSizes", "What happens to images that differ in size",
          Word("equal", ImageSizes::kEqual, "making the loader is an error"),
          Word("padded", ImageSizes::kPadded, "to the batch's largest width and height"),
          Word("own", ImageSizes::kOwn, "each keeps its own size"));

template <>
inline constexpr auto WordsOf<Verify> =
    Words("Verify", "When payloads are compared with their checksums",
          Word("auto", Verify::kAuto, "raw ones in the first epoch, others always"),
          Word("always", Verify::kAlways), Word("never", Verify::kNever));

template <>
inline constexpr auto WordsOf<OnFault> =
    Words("OnFault", "What happens to a sample that cannot be read",
          Word("error", OnFault::kError, "the step that would deliver its batch fails"),
          Word("skip", OnFault::kSkip, "its batch is one sample shorter"),
          Word("substitute", OnFault::kSubstitute, "another sample takes its row"));

template <>
inline constexpr auto WordsOf<DeletedSamples> =
    Words("DeletedSamples", "What becomes of the rows of samples that were deleted",
          Word("leave_out", DeletedSamples::kLeaveOut, "their batches are shorter"),
          Word("substitute", DeletedSamples::kSubstitute, "other samples take their rows"));

template <>
inline constexpr auto WordsOf<DecodeOn> =
    Words("DecodeOn", "Where JPEGs and packed pictures are decoded", Word("host", DecodeOn::kHost),
          Word("device", DecodeOn::kDevice, "as far as it can"),
          Word("auto", DecodeOn::kAuto,
               "the loader divides them between host and device by what it measures"));

template <>
inline constexpr auto WordsOf<ImagesIn> =
    Words("ImagesIn", "Where the device finds the pictures that it decodes",
          Word("storage", ImagesIn::kStorage,
               "in shards; pictures are sent to the device with each batch"),
          Word("device", ImagesIn::kDevice, "in device memory, copied there once"));

template <>
inline constexpr auto OptionsOf<ReadLimits> = Options<ReadLimits>(
    "ReadLimits", "The largest values that are read from a dataset, which may come from a stranger",
    Option("max_pixels", &ReadLimits::max_pixels,
           "do not decode larger images; checked before memory is allocated",
           {.least = 1, .form = NumberForm::kCount}),
    Option("max_value_bytes", &ReadLimits::max_value_bytes,
           "do not read larger values of bytes and variable-length fields; checked before memory "
           "is allocated (default: what the manifest says, or 64 MiB if it says nothing)",
           {.form = NumberForm::kBytes, .value = "SIZE", .zero = ""}));

template <>
inline constexpr auto OptionsOf<OrderOptions> = Options<OrderOptions>(
    "OrderOptions", "Which samples come, and in which order",
    Option("shuffle", &OrderOptions::shuffle, "the order of an epoch's samples",
           {.changes = Changes::kOrder, .value = "HOW"}),
    Option("samples", &OrderOptions::samples,
           "the samples of an epoch: a subset, or drawn by weight", Changes::kOrder),
    Option("batches", &OrderOptions::batches,
           "a function of yours that says which samples each batch has", Changes::kOrder),
    Option("lanes", &OrderOptions::lanes,
           "parallel streams of the order; fewer streams read fewer blocks before the first batch",
           {.least = 1, .most = 65536, .changes = Changes::kOrder}),
    Option("window_bytes", &OrderOptions::window_bytes,
           "size of the blocks open for shuffling at once; 0: the larger of 64 MiB and two blocks "
           "a lane",
           {.form = NumberForm::kBytes, .changes = Changes::kOrder}),
    Option("skip", &OrderOptions::skip, "batches that are left out, as after a loss spike",
           Changes::kOrder),
    Option("deleted", &OrderOptions::deleted,
           "what becomes of the rows of samples that were deleted",
           {.changes = Changes::kContent}));

template <>
inline constexpr auto OptionsOf<RankOptions> = Options<RankOptions>(
    "RankOptions", "The processes that train together; world_size 0: from the environment",
    Option("rank", &RankOptions::rank, "the number of this process, from 0",
           {.most = 65535, .changes = Changes::kOrder}),
    Option("world_size", &RankOptions::world_size, "the number of processes that train together",
           {.most = 65536, .changes = Changes::kOrder}),
    Option("last_batch", &RankOptions::last_batch, "what happens to a short last batch",
           Changes::kOrder),
    Option("by_shards", &RankOptions::by_shards, "deals whole shards to ranks, anew each epoch",
           Changes::kOrder));

inline constexpr OptionFacts kReadAheadFacts = {
    .least = 1 << 20, .most = 1 << 30, .form = NumberForm::kBytes, .value = "BYTES"};
inline constexpr const char* kReadAheadHelp =
    "bytes of blocks being read at any time; the loader chooses if it is not set";

template <>
inline constexpr auto OptionsOf<Mapped> = Options<Mapped>(
    "Mapped", "Shards are read through the page cache",
    Option("read_ahead_bytes", &Mapped::read_ahead_bytes, kReadAheadHelp, kReadAheadFacts));

template <>
inline constexpr auto OptionsOf<Locked> =
    Options<Locked>("Locked", "Mapped, and locked in memory when the Loader is made");

template <>
inline constexpr auto OptionsOf<Direct> = Options<Direct>(
    "Direct", "Past the page cache, for data much larger than memory",
    Option("read_ahead_bytes", &Direct::read_ahead_bytes, kReadAheadHelp, kReadAheadFacts));

template <>
inline constexpr auto OptionsOf<DecodedPictures> = Options<DecodedPictures>(
    "DecodedPictures", "Keeps decoded pictures between epochs, up to a number of bytes",
    Option("bytes", &DecodedPictures::bytes, "keep at most this many bytes of pictures",
           {.least = 1, .form = NumberForm::kBytes}),
    Option("folder", &DecodedPictures::folder,
           "a folder on a local disk for the pictures; empty: they are kept in memory"),
    Option(
        "function_is_deterministic", &DecodedPictures::function_is_deterministic,
        "keeps rows as sample_function left them; the function must depend on its sample alone"));

template <>
inline constexpr auto OptionsOf<Stage> =
    Options<Stage>("Stage", "Keeps blocks in a fast local folder once they were read",
                   Option("folder", &Stage::folder, "the folder, on a fast local disk"),
                   Option("bytes", &Stage::bytes, "all blocks there take at most this many bytes",
                          {.form = NumberForm::kBytes}));

template <>
inline constexpr auto OptionsOf<SharedRows> = Options<SharedRows>(
    "SharedRows", "Rows that several trainings on one machine share, so that each is decoded once",
    Option("bytes", &SharedRows::bytes, "the rows take this many bytes of memory, once for all",
           {.least = 1, .form = NumberForm::kBytes}),
    Option("folder", &SharedRows::folder, "the folder in memory that has the file of rows"));

template <>
inline constexpr auto OptionsOf<RingOptions> = Options<RingOptions>(
    "RingOptions", "The slots of memory that batches lie in",
    Option("prefetch", &RingOptions::prefetch,
           "batches decoded ahead; the loader chooses if it is not set",
           {.least = 1, .most = 1024}),
    Option("hold", &RingOptions::hold, "further batches that may be held at the same time",
           {.most = 1024}),
    Option("pinned", &RingOptions::pinned, "batches lie in page-locked memory"));

template <>
inline constexpr auto OptionsOf<BoxRule> = Options<BoxRule>(
    "BoxRule", "Which boxes are dropped when an image is transformed",
    Option("min_side", &BoxRule::min_side, "pixels of width and height that must be left",
           {.least = 0, .most = 65535, .changes = Changes::kContent}),
    Option("min_visible", &BoxRule::min_visible, "the share of the box that must be left",
           {.least = 0, .most = 1, .changes = Changes::kContent}),
    Option("max_aspect", &BoxRule::max_aspect,
           "the longer side divided by the shorter one; not set: no limit",
           {.least = 1, .changes = Changes::kContent}),
    Option("min_mask", &BoxRule::min_mask,
           "pixels of the object's mask that the row must show; needs instances",
           Changes::kContent),
    Option("from_masks", &BoxRule::from_masks,
           "boxes are made anew from what the row shows of the objects' masks; needs instances",
           Changes::kContent),
    Option("most", &BoxRule::most,
           "boxes in a row: the largest are kept, LoaderStats.left_out_objects counts the others; "
           "not set: no limit",
           {.least = 1, .changes = Changes::kContent}));

template <>
inline constexpr auto OptionsOf<OutputOptions> = Options<OutputOptions>(
    "OutputOptions", "The content of batches",
    Option("fields", &OutputOptions::fields, "the fields that batches hold; empty: all",
           Changes::kContent),
    Option("image", &OutputOptions::image,
           "the field of the batch's first image; empty: the schema's first", Changes::kContent),
    Option("layout", &OutputOptions::layout, "the order of an image batch's dimensions",
           {.changes = Changes::kContent, .value = "L"}),
    Option("image_sizes", &OutputOptions::image_sizes, "what happens to images that differ in size",
           {.changes = Changes::kContent, .value = "HOW"}),
    Option("channels", &OutputOptions::channels, "1: grey, 3: RGB, 0: as stored",
           Changes::kContent),
    Option("bands", &OutputOptions::bands,
           "by image field, the names of the channels that batches hold, in their order",
           Changes::kContent),
    Option("boxes", &OutputOptions::boxes, "which boxes are dropped", Changes::kContent),
    Option("mask_fill", &OutputOptions::mask_fill,
           "by mask field, the value of pixels outside the picture", Changes::kContent),
    Option("absent", &OutputOptions::absent,
           "in a mixture, the value of labels and numbers in fields that a dataset lacks",
           Changes::kContent),
    Option("flip_pairs", &OutputOptions::flip_pairs,
           "the key points that change places in a flip, if the dataset does not say: \"1-2,3-4\", "
           "or \"none\"",
           Changes::kContent),
    Option("made_fields", &OutputOptions::made_fields, "fields that your functions fill",
           Changes::kContent));

template <>
inline constexpr auto OptionsOf<IntegrityOptions> = Options<IntegrityOptions>(
    "IntegrityOptions", "What is checked, and what then happens",
    Option("verify", &IntegrityOptions::verify, "when payloads are compared with their checksums",
           {.value = "WHEN"}),
    Option("on_fault", &IntegrityOptions::on_fault, "what happens to a sample that cannot be read",
           Changes::kContent));

template <>
inline constexpr auto OptionsOf<OnDevice> = Options<OnDevice>(
    "OnDevice", "The work done on the device",
    Option("steps", &OnDevice::steps, "the device runs the steps that change pixels, if it can",
           {.flag = "--device-steps", .value = "WHERE"}),
    Option("decode", &OnDevice::decode, "where JPEGs and packed pictures are decoded",
           {.flag = "--device-decode", .value = "WHERE"}),
    Option("images", &OnDevice::images, "where the device finds the pictures that it decodes",
           {.flag = "--device-images", .value = "WHERE"}));

template <>
inline constexpr auto OptionsOf<DiagnosticsOptions> = Options<DiagnosticsOptions>(
    "DiagnosticsOptions", "For measurements",
    Option("trace", &DiagnosticsOptions::trace, "records what each thread does"),
    Option("metrics", &DiagnosticsOptions::metrics,
           "publishes the loader's figures for dashboards"),
    Option("name", &DiagnosticsOptions::name, "the loader's name on dashboards"));

template <>
inline constexpr auto OptionsOf<LoaderOptions> = Options<LoaderOptions>(
    "LoaderOptions", "The options of a Loader",
    Option("batch_size", &LoaderOptions::batch_size, "samples in a batch",
           {.least = 1, .most = 1 << 24, .changes = Changes::kContent}),
    Option("threads", &LoaderOptions::threads,
           "decoding threads; 0: the thread that asks for batches decodes", {.most = 1024}),
    Option("transform", &LoaderOptions::transform, "the steps, in order", Changes::kContent),
    Option("views", &LoaderOptions::views, "further views of the same image", Changes::kContent),
    Option("sizes", &LoaderOptions::sizes, "output sizes that change with the epoch",
           Changes::kContent),
    Option("schedule", &LoaderOptions::schedule, "steps that change with the epoch",
           Changes::kContent),
    Option("seed", &LoaderOptions::seed, "seed of the order and of every random step",
           {.changes = Changes::kOrder, .comparable = true}),
    Option("resume_from", &LoaderOptions::resume_from,
           "the text of a loader's state, from which this loader continues", Changes::kOrder),
    Option("device", &LoaderOptions::device, "where a batch's images and arrays are delivered"),
    Option("sample_function", &LoaderOptions::sample_function, "your own step for each sample",
           Changes::kContent),
    Option("batch_function", &LoaderOptions::batch_function, "your own step for each batch",
           Changes::kContent),
    Option("thread_setup", &LoaderOptions::thread_setup, "called once by each decoding thread"),
    Option("order", &LoaderOptions::order, OptionsOf<OrderOptions>.help),
    Option("ranks", &LoaderOptions::ranks, OptionsOf<RankOptions>.help),
    Option("storage", &LoaderOptions::storage, "how shards are read"),
    Option("keep", &LoaderOptions::keep, "decoded pictures kept between epochs"),
    Option("stage", &LoaderOptions::stage,
           "a fast local disk that keeps the blocks that were read"),
    Option("share", &LoaderOptions::share, "decoded rows shared with other trainings"),
    Option("ring", &LoaderOptions::ring, OptionsOf<RingOptions>.help),
    Option("timeout", &LoaderOptions::timeout, "the longest wait for a batch; 0: no limit",
           {.least = 0}),
    Option("output", &LoaderOptions::output, OptionsOf<OutputOptions>.help),
    Option("integrity", &LoaderOptions::integrity, OptionsOf<IntegrityOptions>.help),
    Option("on_device", &LoaderOptions::on_device, OptionsOf<OnDevice>.help),
    Option("diagnostics", &LoaderOptions::diagnostics, OptionsOf<DiagnosticsOptions>.help));

}  // namespace sluice::option_list
