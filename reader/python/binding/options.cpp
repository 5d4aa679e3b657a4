// The groups of LoaderOptions, by keyword, with the names and defaults of loader_options.h.
#include "reader/python/binding/keywords.h"
#include "reader/python/binding/user_calls.h"

namespace sluice::python {

namespace {

// As the stub names it: steps or a schedule, or their text form.
class Steps : public nb::object {
  static bool Any(nb::handle) { return true; }

 public:
  NB_OBJECT_DEFAULT(Steps, nb::object, "object", Any)
};

Steps StepsOf(const Pipeline& steps) {
  return nb::borrow<Steps>(nb::cast(steps));
}

Steps StepsOf(const std::vector<ScheduledTransform>& schedule) {
  nb::list shown;
  for (const ScheduledTransform& later : schedule)
    shown.append(nb::make_tuple(later.epoch, later.transform));
  return nb::borrow<Steps>(shown);
}

void BindPlaying(nb::module_& module) {
  Words<Shuffle>(module, "Shuffle", "The order of an epoch's samples")
      .value("QUASI_RANDOM", Shuffle::kQuasiRandom,
             "blocks in random order, samples mixed inside windows of open blocks")
      .value("RANDOM", Shuffle::kRandom, "one permutation of all samples")
      .value("SEQUENTIAL", Shuffle::kSequential, "as stored");
  Words<LastBatch>(module, "LastBatch", "What becomes of a short last batch")
      .value("KEEP", LastBatch::kKeep)
      .value("DROP", LastBatch::kDrop)
      .value("PAD", LastBatch::kPad, "filled up; Batch.valid says how many rows are no repeats");
  using Order = PyOrder;
  ByKeywords(nb::class_<Order>(module, "OrderOptions", nb::type_slots(Collected<Order>::slots),
                               "Which samples come, and in which order"),
             Order(), Member("shuffle", &Order::shuffle), Member("samples", &Order::samples),
             Member("batches", &Order::batches_function), Member("lanes", &Order::lanes),
             Member("window_bytes", &Order::window_bytes));
  ByKeywords(nb::class_<RankOptions>(
                 module, "RankOptions",
                 "The processes that train together; world_size 0: from the environment"),
             RankOptions(), Member("rank", &RankOptions::rank),
             Member("world_size", &RankOptions::world_size),
             Member("last_batch", &RankOptions::last_batch),
             Member("by_shards", &RankOptions::by_shards));
  const auto steps =
      Keyword{"transform", [](const View& view) { return StepsOf(view.transform); },
              [](View& view, const Steps& given) { view.transform = PipelineOf(given); }};
  const auto schedule =
      Keyword{"schedule", [](const View& view) { return StepsOf(view.schedule); },
              [](View& view, const Steps& given) { view.schedule = ScheduleOf(given); }};
  ByKeywords(nb::class_<View>(module, "View",
                              "One more picture of each sample's image, by its own transform"),
             View(), Required(Member("name", &View::name)), Required(steps),
             Member("sizes", &View::sizes), schedule);
}

void BindReading(nb::module_& module) {
  Words<Behind>(module, "Behind", "What happens to a mapped block once it is decoded")
      .value("KEEP", Behind::kKeep)
      .value("UNMAP", Behind::kUnmap)
      .value("DROP", Behind::kDrop);
  ByKeywords(nb::class_<Mapped>(module, "Mapped", "Shards are read through the page cache"),
             Mapped(), Member("behind", &Mapped::behind),
             Member("read_ahead_bytes", &Mapped::read_ahead_bytes));
  ByKeywords(
      nb::class_<Locked>(module, "Locked", "Mapped, and locked in memory when the Loader is made"),
      Locked());
  ByKeywords(
      nb::class_<Direct>(module, "Direct", "Past the page cache, for data much larger than memory"),
      Direct(), Member("read_ahead_bytes", &Direct::read_ahead_bytes));
  using Keep = DecodedPictures;
  ByKeywords(nb::class_<Keep>(module, "DecodedPictures",
                              "Keeps decoded pictures between epochs, up to that many bytes"),
             Keep(), Required(Member("bytes", &Keep::bytes)), Member("folder", &Keep::folder),
             Member("function_is_deterministic", &Keep::function_is_deterministic));
  ByKeywords(
      nb::class_<Stage>(module, "Stage", "Copies shards to a fast local folder when first read"),
      Stage(), Required(Member("folder", &Stage::folder)),
      Required(Member("bytes", &Stage::bytes)));
  Words<Verify>(module, "Verify", "When payloads are compared with their checksums")
      .value("AUTO", Verify::kAuto)
      .value("ALWAYS", Verify::kAlways)
      .value("FIRST_EPOCH", Verify::kFirstEpoch)
      .value("NEVER", Verify::kNever);
  Words<DecodeOn>(module, "DecodeOn", "Where JPEGs and packed pictures are decoded")
      .value("HOST", DecodeOn::kHost)
      .value("DEVICE", DecodeOn::kDevice)
      .value("AUTO", DecodeOn::kAuto, "shared by what is measured");
  Words<ImagesIn>(module, "ImagesIn", "Where the device finds the pictures that it decodes")
      .value("STORAGE", ImagesIn::kStorage, "in shards; each batch brings its own")
      .value("DEVICE", ImagesIn::kDevice, "in its own memory, put there once")
      .value("PAGE_LOCKED", ImagesIn::kPageLocked, "in page-locked memory of the host");
  Words<OnFault>(module, "OnFault", "What happens to a sample that cannot be read")
      .value("ERROR", OnFault::kError)
      .value("SKIP", OnFault::kSkip)
      .value("SUBSTITUTE", OnFault::kSubstitute);
}

void BindResult(nb::module_& module) {
  Words<Layout>(module, "Layout", "The order of an image batch's dimensions")
      .value("NHWC", Layout::kNHWC)
      .value("NCHW", Layout::kNCHW);
  using Ring = RingOptions;
  ByKeywords(nb::class_<Ring>(module, "RingOptions", "The slots of memory that batches lie in"),
             Ring{.hold = kHold}, Member("prefetch", &Ring::prefetch), Member("hold", &Ring::hold),
             Member("pinned", &Ring::pinned));
  ByKeywords(nb::class_<BoxRule>(module, "BoxRule",
                                 "Which boxes are dropped when an image is transformed"),
             BoxRule(), Member("min_side", &BoxRule::min_side),
             Member("min_visible", &BoxRule::min_visible));
  Words<ImageSizes>(module, "ImageSizes", "What becomes of images that differ in size")
      .value("EQUAL", ImageSizes::kEqual, "making the loader is an error")
      .value("PADDED", ImageSizes::kPadded, "padded to the batch's largest: see Batch.sizes()")
      .value("OWN", ImageSizes::kOwn, "each its own size: batch['image'] is a list");
  using Output = OutputOptions;
  ByKeywords(nb::class_<Output>(module, "OutputOptions", "The content of batches"), Output(),
             Member("fields", &Output::fields), Member("image", &Output::image),
             Member("layout", &Output::layout), Member("image_sizes", &Output::image_sizes),
             Member("channels", &Output::channels), Member("boxes", &Output::boxes),
             Member("mask_fill", &Output::mask_fill), Member("absent", &Output::absent),
             Member("made_fields", &Output::made_fields));
  using Integrity = IntegrityOptions;
  ByKeywords(
      nb::class_<Integrity>(module, "IntegrityOptions", "What is checked, and what then happens"),
      Integrity(), Member("verify", &Integrity::verify), Member("on_fault", &Integrity::on_fault));
  ByKeywords(nb::class_<OnDevice>(module, "OnDevice", "The work done on the device"), OnDevice(),
             Member("steps", &OnDevice::steps), Member("decode", &OnDevice::decode),
             Member("images", &OnDevice::images));
  using Diagnostics = DiagnosticsOptions;
  ByKeywords(nb::class_<Diagnostics>(module, "DiagnosticsOptions", "For measurements"),
             Diagnostics(), Member("trace", &Diagnostics::trace),
             Member("repeat_first_batch", &Diagnostics::repeat_first_batch));
}

}  // namespace

Device DeviceOf(nb::handle device) {
  if (device.is_none()) return {};
  const std::string name = Utf8Of(nb::str(device));
  if (name == "cpu" || name == "host") return {};
  if (name == "cuda") return Device::Cuda();
  if (name.starts_with("cuda:") && name.size() > 5 && name.size() < 10 &&
      name.find_first_not_of("0123456789", 5) == std::string::npos) {
    return Device::Cuda(std::stoi(name.substr(5)));
  }
  throw Error(ErrorCode::kInvalidArgument,
              "there is no device \"" + name + "\"; give \"cpu\", \"cuda\" or \"cuda:N\"");
}

void BindOptions(nb::module_& module) {
  BindPlaying(module);
  BindReading(module);
  BindResult(module);
}

}  // namespace sluice::python
