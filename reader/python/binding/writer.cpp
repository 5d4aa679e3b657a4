// Converting, and writing samples of one's own.
#include <sluice/convert.h>
#include <sluice/dataset_writer.h>

#include "reader/python/binding/binding.h"

namespace sluice::python {

namespace {

std::span<const std::byte> BytesOf(const nb::bytes& bytes) {
  return {static_cast<const std::byte*>(bytes.data()), bytes.size()};
}

using Pixels = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

struct PixelShape {
  std::uint32_t width, height;
  std::uint8_t channels;
  PixelType type;
  std::span<const std::byte> bytes;
};

PixelShape ShapeOf(const Pixels& pixels) {
  const bool bytes = pixels.dtype() == nb::dtype<std::uint8_t>();
  if ((pixels.ndim() != 2 && pixels.ndim() != 3) ||
      (!bytes && pixels.dtype() != nb::dtype<std::uint16_t>())) {
    throw Error(ErrorCode::kInvalidArgument,
                "pixels are an array of uint8 or uint16 with the shape height x width or height x "
                "width x channels");
  }
  const std::size_t channels = pixels.ndim() == 2 ? 1 : pixels.shape(2);
  if (pixels.shape(0) > 65535 || pixels.shape(1) > 65535 || channels > 4) {
    throw Error(ErrorCode::kInvalidArgument,
                "images have at most 65535 pixels a side and 4 channels; the array is height x "
                "width x channels");
  }
  return {static_cast<std::uint32_t>(pixels.shape(1)),
          static_cast<std::uint32_t>(pixels.shape(0)),
          static_cast<std::uint8_t>(channels),
          bytes ? PixelType::kUint8 : PixelType::kUint16,
          {static_cast<const std::byte*>(pixels.data()), pixels.nbytes()}};
}

void BindBuilder(nb::module_& module) {
  nb::class_<SampleBuilder>(module, "_SampleBuilder")
      .def(
          "set_jpeg",
          [](SampleBuilder& builder, const std::string& field, const nb::bytes& file, bool packed) {
            const nb::gil_scoped_release released;
            if (packed) {
              builder.SetPacked(field, BytesOf(file));
            } else {
              builder.SetJpeg(field, BytesOf(file));
            }
          })
      .def("set_pixels",
           [](SampleBuilder& builder, const std::string& field, const Pixels& pixels,
              bool compress) {
             const PixelShape shape = ShapeOf(pixels);
             const nb::gil_scoped_release released;
             builder.SetPixels(field, shape.width, shape.height, shape.channels, shape.type,
                               shape.bytes, compress);
           })
      .def("set_encoded",
           [](SampleBuilder& builder, const std::string& field, const Pixels& pixels, int quality,
              bool packed) {
             const PixelShape shape = ShapeOf(pixels);
             if (shape.type != PixelType::kUint8) {
               throw Error(ErrorCode::kInvalidArgument,
                           "field \"" + field + "\": a JPEG holds uint8; store uint16 as 'raw'");
             }
             const nb::gil_scoped_release released;
             builder.SetEncoded(field, shape.width, shape.height, shape.channels, shape.bytes,
                                quality, packed);
           })
      .def("set_array",
           [](SampleBuilder& builder, const std::string& field,
              const nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>& values, const Field& type) {
             WithType(type.dtype, [&](auto element) {
               using T = decltype(element);
               builder.SetArray<T>(
                   field, std::span<const T>(static_cast<const T*>(values.data()), values.size()));
             });
           })
      .def("set_bytes", [](SampleBuilder& builder, const std::string& field, const nb::bytes& bytes,
                           bool compress) { builder.SetBytes(field, BytesOf(bytes), compress); });
  nb::class_<DatasetWriter>(module, "_DatasetWriter")
      .def("__init__",
           [](DatasetWriter* self, const std::filesystem::path& dataset, std::vector<Field> fields,
              const std::string& name, std::uint64_t shard_bytes, std::uint32_t block_samples) {
             new (self) DatasetWriter(dataset, Schema{std::move(fields)},
                                      {name, shard_bytes, block_samples});
           })
      .def("new_sample",
           [](const DatasetWriter& writer, const nb::bytes& key) {
             return writer.NewSample({key.c_str(), key.size()});
           })
      .def("add", &DatasetWriter::Add, nb::call_guard<nb::gil_scoped_release>())
      .def("finish", &DatasetWriter::Finish, nb::call_guard<nb::gil_scoped_release>())
      .def("__len__", &DatasetWriter::samples);
}

void BindSource(nb::module_& module) {
  nb::class_<LeftOut>(module, "LeftOut", "A source that became no sample, and why")
      .def_prop_ro(
          "path",
          [](const LeftOut& one) { return nb::steal(PyUnicode_DecodeFSDefault(one.path.c_str())); })
      .def_ro("reason", &LeftOut::reason)
      .def("__repr__", [](const LeftOut& one) { return one.path + ": " + one.reason; });
  nb::class_<ConvertSummary>(module, "ConvertSummary", "What a conversion did")
      .def_ro("samples", &ConvertSummary::samples)
      .def_ro("classes", &ConvertSummary::classes)
      .def_ro("class_counts", &ConvertSummary::class_counts)
      .def_ro("shards", &ConvertSummary::shards)
      .def_ro("bytes_in", &ConvertSummary::bytes_in)
      .def_ro("bytes_out", &ConvertSummary::bytes_out)
      .def_ro("seconds", &ConvertSummary::seconds)
      .def_ro("skipped", &ConvertSummary::skipped, "broken or unsupported images")
      .def_ro("passed_over", &ConvertSummary::passed_over, "files that are no images")
      .def_ro("warnings", &ConvertSummary::warnings)
      .def("__repr__", [](const ConvertSummary& summary) {
        return "ConvertSummary(" + std::to_string(summary.samples) + " samples in " +
               std::to_string(summary.shards) + " shards, " +
               std::to_string(summary.skipped.size()) + " left out)";
      });
  nb::class_<ConvertSource>(module, "ConvertSource",
                            "What is converted: a folder (with one sub-folder for each class, or "
                            "images directly), a table, a list of paths or tar archives")
      .def(nb::init<std::filesystem::path>(), "folder"_a)
      .def_static("table", &ConvertSource::Table, "file"_a, "A .csv, .tsv or .jsonl file")
      .def_static("paths", &ConvertSource::Paths, "paths"_a, "root"_a)
      .def_static("archives", &ConvertSource::Archives, "files"_a, "Tar files, as WebDataset's")
      .def_rw("root", &ConvertSource::root)
      .def_rw("mask_folder", &ConvertSource::mask_folder)
      .def_rw("classes", &ConvertSource::classes)
      .def_rw("labels", &ConvertSource::labels)
      .def_rw("split_begin", &ConvertSource::split_begin)
      .def_rw("split_end", &ConvertSource::split_end)
      .def_rw("split_seed", &ConvertSource::split_seed);
  nb::implicitly_convertible<std::filesystem::path, ConvertSource>();
}

// Runs a conversion, tells `on_progress` (samples done, samples in all), and stops at Ctrl-C.
ConvertSummary Run(const ConvertSource& source, const std::filesystem::path& dataset,
                   const ConvertOptions& options, const nb::object& on_progress) {
  std::stop_source stop;
  std::optional<nb::python_error> raised;
  ConvertHooks hooks;
  hooks.stop = stop.get_token();
  hooks.on_progress = [&](const ConvertProgress& progress) {
    const nb::gil_scoped_acquire acquired;
    if (raised) return;
    try {
      if (!on_progress.is_none()) on_progress(progress.samples_done, progress.samples_total);
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    } catch (nb::python_error& error) {
      raised.emplace(std::move(error));
      stop.request_stop();
    }
  };
  try {
    const nb::gil_scoped_release released;
    return Convert(source, dataset, options, hooks);
  } catch (const Error&) {
    if (!raised) throw;
  }
  throw std::move(*raised);
}

}  // namespace

void BindWriter(nb::module_& module) {
  BindBuilder(module);
  BindSource(module);
  nb::enum_<ImageCodec>(module, "ImageCodec", "How convert stores images")
      .value("JPEG", ImageCodec::kJpeg)
      .value("RAW", ImageCodec::kRaw, "pixels")
      .value("PACKED", ImageCodec::kPacked,
             "a JPEG laid out for fast decoding, 1.4 times its bytes");
  nb::enum_<Fit>(module, "Fit", "What `size` does about another aspect ratio")
      .value("CROP", Fit::kCrop)
      .value("STRETCH", Fit::kStretch)
      .value("PAD", Fit::kPad);
  nb::enum_<Truncated>(module, "Truncated", "What becomes of images whose data end early")
      .value("REFUSE", Truncated::kRefuse)
      .value("WARN", Truncated::kWarn)
      .value("ACCEPT", Truncated::kAccept);
  const ConvertOptions d;
  module.def(
      "_convert",
      [](const ConvertSource& source, const std::filesystem::path& dataset,
         const nb::object& on_progress, std::optional<std::uint32_t> max_side,
         std::optional<std::uint32_t> short_side,
         std::optional<std::pair<std::uint32_t, std::uint32_t>> size, Fit fit, ImageCodec image,
         int quality, bool keep, unsigned channels, Truncated truncated, std::uint64_t shard_bytes,
         std::uint32_t block_samples, std::uint64_t seed, bool keep_order, unsigned threads,
         bool fail_on_error, std::uint64_t max_pixels, bool dry_run) {
        ConvertOptions options;
        options.max_side = max_side;
        options.short_side = short_side;
        if (size) options.size = Size{size->first, size->second};
        // Another size replaces the default, as on the command line.
        if (size || short_side) options.max_side.reset();
        options.fit = fit;
        options.image = image;
        options.quality = quality;
        options.keep = keep;
        options.channels = channels;
        options.truncated = truncated;
        options.shard_bytes = shard_bytes;
        options.block_samples = block_samples;
        options.seed = seed;
        options.keep_order = keep_order;
        options.threads = threads;
        options.on_error = fail_on_error ? OnError::kFail : OnError::kSkip;
        options.max_pixels = max_pixels;
        options.dry_run = dry_run;
        return Run(source, dataset, options, on_progress);
      },
      "source"_a, "dataset"_a, "on_progress"_a.none(), nb::kw_only(),
      "max_side"_a.none() = d.max_side, "short_side"_a = nb::none(), "size"_a = nb::none(),
      "fit"_a = d.fit, "image"_a = d.image, "quality"_a = d.quality, "keep"_a = d.keep,
      "channels"_a = d.channels, "truncated"_a = d.truncated, "shard_bytes"_a = d.shard_bytes,
      "block_samples"_a = d.block_samples, "seed"_a = d.seed, "keep_order"_a = d.keep_order,
      "threads"_a = d.threads, "fail_on_error"_a = false, "max_pixels"_a = d.max_pixels,
      "dry_run"_a = d.dry_run);
}

}  // namespace sluice::python
