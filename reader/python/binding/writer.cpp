// Writing samples of one's own: what sluice/_writing.py stands on. It lets one thread at a time use
// a writer or a builder, so these classes have no locks.
//
// Their names begin with an underscore: users have the classes of _writing.py, which choose the
// right setter for a value and turn Python's values into arrays. What arrives here has its final
// type; this file only checks what would otherwise be lost in a conversion to a smaller integer.
//
// Functions that decode, encode or write release the GIL. The arrays and bytes that they read are
// kept alive by the call itself.
#include <sluice/dataset_edit.h>
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

std::optional<PixelType> PixelTypeOf(nb::dlpack::dtype type) {
  for (unsigned number = 0; !NameOf(static_cast<PixelType>(number)).empty(); ++number) {
    const auto pixel_type = static_cast<PixelType>(number);
    if (type == NumpyTypeOf(pixel_type)) return pixel_type;
  }
  return std::nullopt;
}

PixelShape ShapeOf(const Pixels& pixels) {
  const std::optional<PixelType> type = PixelTypeOf(pixels.dtype());
  if ((pixels.ndim() != 2 && pixels.ndim() != 3) || !type) {
    throw Error(ErrorCode::kInvalidArgument,
                "pixels are an array of uint8, uint16, int16, float16 or float32 with the shape "
                "height x width or height x width x channels");
  }
  const std::size_t channels = pixels.ndim() == 2 ? 1 : pixels.shape(2);
  // Checked here, because the casts below would make a valid size of a number that is too large.
  if (pixels.shape(0) > 65535 || pixels.shape(1) > 65535 || channels > 64) {
    throw Error(ErrorCode::kInvalidArgument,
                "images have at most 65535 pixels a side and 64 channels; the array is height x "
                "width x channels");
  }
  return {static_cast<std::uint32_t>(pixels.shape(1)),
          static_cast<std::uint32_t>(pixels.shape(0)),
          static_cast<std::uint8_t>(channels),
          *type,
          {static_cast<const std::byte*>(pixels.data()), pixels.nbytes()}};
}

void BindBuilder(nb::module_& module) {
  nb::class_<SampleBuilder>(module, "_SampleBuilder")
      .def(
          "set_jpeg",
          [](SampleBuilder& builder, const std::string& field, const nb::bytes& file, bool packed) {
            const Released released;
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
             const Released released;
             builder.SetPixels(field, shape.width, shape.height, shape.channels, shape.type,
                               shape.bytes, compress);
           })
      .def("set_encoded",
           [](SampleBuilder& builder, const std::string& field, const Pixels& pixels, int quality,
              bool packed) {
             const PixelShape shape = ShapeOf(pixels);
             if (shape.type != PixelType::kUint8) {
               throw Error(ErrorCode::kInvalidArgument,
                           "field \"" + field + "\": a JPEG holds uint8; store " +
                               std::string(NameOf(shape.type)) + " as 'raw'");
             }
             const Released released;
             builder.SetEncoded(field, shape.width, shape.height, shape.channels, shape.bytes,
                                quality, packed);
           })
      // _writing.py has converted the values to the field's type, so the pointer's type follows
      // from it.
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
      .def(
          "__init__",
          [](DatasetWriter* self, const std::filesystem::path& dataset, std::vector<Field> fields,
             const std::string& name, std::uint64_t shard_bytes, std::uint32_t block_samples,
             bool upright, const std::map<std::string, std::string>& meta) {
            new (self) DatasetWriter(dataset, Schema{std::move(fields)},
                                     {name, shard_bytes, block_samples, upright, meta});
          },
          "dataset"_a, "fields"_a, "name"_a, "shard_bytes"_a, "block_samples"_a, "upright"_a,
          "meta"_a)
      .def("new_sample",
           [](const DatasetWriter& writer, const nb::bytes& key) {
             return writer.NewSample({key.c_str(), key.size()});
           })
      .def("add", &DatasetWriter::Add, nb::call_guard<Released>())
      .def("finish", &DatasetWriter::Finish, nb::call_guard<Released>())
      .def("__len__", &DatasetWriter::samples);
}

}  // namespace

void BindWriter(nb::module_& module) {
  BindBuilder(module);
  module.def(
      "_write_column",
      [](const std::filesystem::path& dataset, Field field, std::vector<std::string> classes,
         const nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>& values,
         const std::optional<std::vector<std::uint64_t>>& samples, std::optional<double> missing,
         const std::string& note, bool replace) {
        field.classes = std::move(classes);
        ColumnValues column{field, {static_cast<const std::byte*>(values.data()), values.nbytes()}};
        if (samples) column.samples.emplace(*samples);
        ColumnOptions options;
        options.missing = missing;
        options.note = note;
        const Released released;
        (replace ? ReplaceColumn : AddColumn)(dataset, column, options, {});
      },
      "dataset"_a, "field"_a, "classes"_a, "values"_a, "samples"_a.none(), "missing"_a.none(),
      "note"_a, "replace"_a);
  module.def(
      "_drop_fields",
      [](const std::filesystem::path& dataset, const std::vector<std::string>& names,
         const std::string& note) {
        const Released released;
        DropFields(dataset, names, note);
      },
      "dataset"_a, "names"_a, "note"_a);
}

}  // namespace sluice::python
