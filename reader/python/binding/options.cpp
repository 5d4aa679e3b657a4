// The groups of LoaderOptions, by keyword, with the names and defaults of loader_options.h.
#include "reader/python/binding/user_calls.h"

namespace sluice::python {

namespace {

// View's pipeline may come as text, so it is read when the Loader is made.
void BindPlaying(nb::module_& module) {
  nb::enum_<Shuffle>(module, "Shuffle", "The order of an epoch's samples")
      .value("QUASI_RANDOM", Shuffle::kQuasiRandom,
             "blocks in random order, samples mixed inside windows of open blocks")
      .value("RANDOM", Shuffle::kRandom, "one permutation of all samples")
      .value("SEQUENTIAL", Shuffle::kSequential, "as stored");
  nb::enum_<LastBatch>(module, "LastBatch", "What becomes of a short last batch")
      .value("KEEP", LastBatch::kKeep)
      .value("DROP", LastBatch::kDrop)
      .value("PAD", LastBatch::kPad, "filled up; Batch.valid says how many rows are no repeats");
  const OrderOptions order;
  nb::class_<PyOrder>(module, "OrderOptions", nb::type_slots(Collected<PyOrder>::slots),
                      "Which samples come, and in which order")
      .def(
          "__init__",
          [](PyOrder* self, Shuffle shuffle, SampleList samples, nb::object batches,
             std::uint32_t lanes, std::uint64_t window_bytes) {
            new (self)
                PyOrder{{shuffle, std::move(samples), {}, lanes, window_bytes}, std::move(batches)};
          },
          "shuffle"_a.noconvert() = order.shuffle, "samples"_a = SampleList(),
          "batches"_a = nb::none(), "lanes"_a = order.lanes, "window_bytes"_a = order.window_bytes)
      .def_rw("shuffle", &PyOrder::shuffle, NoNumber())
      .def_rw("samples", &PyOrder::samples)
      .def_ro("batches", &PyOrder::batches_function)
      .def_rw("lanes", &PyOrder::lanes)
      .def_rw("window_bytes", &PyOrder::window_bytes);
  nb::class_<RankOptions>(module, "RankOptions",
                          "The processes that train together; world_size 0: from the environment")
      .def(nb::init<unsigned, unsigned, LastBatch, bool>(), "rank"_a = 0, "world_size"_a = 0,
           "last_batch"_a.noconvert() = LastBatch::kKeep, "by_shards"_a = false)
      .def_rw("rank", &RankOptions::rank)
      .def_rw("world_size", &RankOptions::world_size)
      .def_rw("last_batch", &RankOptions::last_batch, NoNumber())
      .def_rw("by_shards", &RankOptions::by_shards);
  nb::class_<View>(module, "View", "One more picture of each sample's image, by its own transform")
      .def(
          "__init__",
          [](View* self, std::string name, nb::handle transform, std::vector<OutputSize> sizes,
             nb::handle schedule) {
            new (self) View{std::move(name), PipelineOf(transform), std::move(sizes),
                            ScheduleOf(schedule)};
          },
          "name"_a, "transform"_a, "sizes"_a = std::vector<OutputSize>(),
          "schedule"_a = nb::tuple())
      .def_ro("name", &View::name)
      .def_ro("sizes", &View::sizes);
}

void BindReading(nb::module_& module) {
  nb::enum_<Behind>(module, "Behind", "What happens to a mapped block once it is decoded")
      .value("KEEP", Behind::kKeep)
      .value("UNMAP", Behind::kUnmap)
      .value("DROP", Behind::kDrop);
  nb::class_<Mapped>(module, "Mapped", "Shards are read through the page cache")
      .def(nb::init<Behind, std::optional<std::uint64_t>>(), "behind"_a.noconvert() = Behind::kKeep,
           "read_ahead_bytes"_a = nb::none());
  nb::class_<Locked>(module, "Locked", "Mapped, and locked in memory when the Loader is made")
      .def(nb::init<>());
  nb::class_<Direct>(module, "Direct", "Past the page cache, for data much larger than memory")
      .def(nb::init<std::optional<std::uint64_t>>(), "read_ahead_bytes"_a = nb::none());
  nb::class_<DecodedPictures>(module, "DecodedPictures",
                              "Keeps decoded pictures between epochs, up to that many bytes")
      .def(nb::init<std::uint64_t, std::string, bool>(), "bytes"_a, "folder"_a = "",
           "function_is_deterministic"_a = false);
  nb::class_<Stage>(module, "Stage", "Copies shards to a fast local folder when first read")
      .def(nb::init<std::string, std::uint64_t>(), "folder"_a, "bytes"_a);
  nb::enum_<Verify>(module, "Verify", "When payloads are compared with their checksums")
      .value("AUTO", Verify::kAuto)
      .value("ALWAYS", Verify::kAlways)
      .value("FIRST_EPOCH", Verify::kFirstEpoch)
      .value("NEVER", Verify::kNever);
  nb::enum_<DecodeOn>(module, "DecodeOn", "Where JPEGs are decoded")
      .value("HOST", DecodeOn::kHost)
      .value("DEVICE", DecodeOn::kDevice);
  nb::enum_<OnFault>(module, "OnFault", "What happens to a sample that cannot be read")
      .value("ERROR", OnFault::kError)
      .value("SKIP", OnFault::kSkip)
      .value("SUBSTITUTE", OnFault::kSubstitute);
}

void BindResult(nb::module_& module) {
  nb::enum_<Layout>(module, "Layout", "The order of an image batch's dimensions")
      .value("NHWC", Layout::kNHWC)
      .value("NCHW", Layout::kNCHW);
  nb::class_<RingOptions>(module, "RingOptions", "The slots of memory that batches lie in")
      .def(nb::init<std::optional<std::size_t>, std::size_t, bool>(),
           "prefetch"_a.none() = RingOptions().prefetch, "hold"_a = kHold, "pinned"_a = false)
      .def_rw("prefetch", &RingOptions::prefetch)
      .def_rw("hold", &RingOptions::hold)
      .def_rw("pinned", &RingOptions::pinned);
  const BoxRule boxes;
  nb::class_<BoxRule>(module, "BoxRule", "Which boxes are dropped when an image is transformed")
      .def(nb::init<double, double>(), "min_side"_a = boxes.min_side,
           "min_visible"_a = boxes.min_visible)
      .def_rw("min_side", &BoxRule::min_side)
      .def_rw("min_visible", &BoxRule::min_visible);
  nb::enum_<ImageSizes>(module, "ImageSizes", "What becomes of images that differ in size")
      .value("EQUAL", ImageSizes::kEqual, "making the loader is an error")
      .value("PADDED", ImageSizes::kPadded, "padded to the batch's largest: see Batch.sizes()")
      .value("OWN", ImageSizes::kOwn, "each its own size: batch['image'] is a list");
  nb::class_<OutputOptions>(module, "OutputOptions", "The content of batches")
      .def(nb::init<std::vector<std::string>, std::string, Layout, ImageSizes, unsigned, BoxRule,
                    std::map<std::string, std::uint32_t>, std::vector<Field>>(),
           "fields"_a = std::vector<std::string>(), "image"_a = "",
           "layout"_a.noconvert() = Layout::kNHWC, "image_sizes"_a.noconvert() = ImageSizes::kEqual,
           "channels"_a = 0, "boxes"_a = boxes,
           "mask_fill"_a = std::map<std::string, std::uint32_t>(),
           "made_fields"_a = std::vector<Field>())
      .def_rw("fields", &OutputOptions::fields)
      .def_rw("image", &OutputOptions::image)
      .def_rw("layout", &OutputOptions::layout, NoNumber())
      .def_rw("image_sizes", &OutputOptions::image_sizes, NoNumber())
      .def_rw("channels", &OutputOptions::channels)
      .def_rw("boxes", &OutputOptions::boxes)
      .def_rw("mask_fill", &OutputOptions::mask_fill)
      .def_rw("made_fields", &OutputOptions::made_fields);
  nb::class_<IntegrityOptions>(module, "IntegrityOptions", "What is checked, and what then happens")
      .def(nb::init<Verify, OnFault>(), "verify"_a.noconvert() = Verify::kAuto,
           "on_fault"_a.noconvert() = OnFault::kError)
      .def_rw("verify", &IntegrityOptions::verify, NoNumber())
      .def_rw("on_fault", &IntegrityOptions::on_fault, NoNumber());
  nb::class_<OnDevice>(module, "OnDevice", "The work done on the device")
      .def(nb::init<bool, DecodeOn>(), "steps"_a = true, "decode"_a.noconvert() = DecodeOn::kHost);
  nb::class_<DiagnosticsOptions>(module, "DiagnosticsOptions", "For measurements")
      .def(nb::init<std::shared_ptr<LoaderTrace>, bool>(), "trace"_a.none() = nb::none(),
           "repeat_first_batch"_a = false);
}

}  // namespace

Device DeviceOf(nb::handle device) {
  const std::string name = nb::cast<std::string>(nb::str(device));
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
