// Datasets for looking at, and lists of samples for a loader.
#include "reader/python/binding/keywords.h"

namespace sluice::python {

namespace {

// What is written in Python, since it calls other packages.
nb::module_ Pictures() {
  return nb::module_::import_("sluice._pictures");
}

const Field& FieldNamed(const Schema& schema, const std::string& name) {
  const std::size_t index = schema.Find(name);
  if (index != Schema::kNone) return schema.fields[index];
  std::string names;
  for (const Field& field : schema.fields)
    names += (names.empty() ? "" : ", ") + field.name;
  throw nb::key_error(("no field \"" + name + "\"; there are " + names).c_str());
}

// A numpy array of its own over decoded pixels: height x width x channels, or height x width.
nb::object PixelsOf(Image image) {
  auto* const kept = new std::vector<std::uint8_t>(std::move(image.pixels));
  const nb::capsule owner(
      kept, [](void* memory) noexcept { delete static_cast<std::vector<std::uint8_t>*>(memory); });
  std::vector<std::size_t> shape = {image.height, image.width, image.channels};
  if (image.channels == 1) shape.pop_back();
  return ArrayOver(kept->data(),
                   image.pixel_type == PixelType::kUint8 ? DType::kUint8 : DType::kUint16,
                   std::move(shape), owner, true);
}

// A sample and the schema of its dataset.
struct PySample {
  Sample sample;  // copied for each use: a Sample is for one thread, and the GIL is released
  Dataset dataset;

  nb::object Array(const std::string& name) const {
    const Sample own = sample;
    const Field& field = FieldNamed(dataset.schema(), name);
    if (field.kind == FieldKind::kImage) {
      return PixelsOf(WithoutGil([&] { return own.Decode(name); }));
    }
    return WithType(field.dtype, [&](auto value) {
      const auto span = WithoutGil([&] { return own.Array<decltype(value)>(name); });
      std::vector<std::size_t> shape(field.shape.begin(), field.shape.end());
      if (field.kind == FieldKind::kVariable) {
        shape.insert(shape.begin(), span.size() / static_cast<std::size_t>(field.elements()));
      }
      return nb::object(
          ArrayOver(span.data(), field.dtype, std::move(shape), nb::none(), false).attr("copy")());
    });
  }

  // What a person wants to see: a PIL image, a number, a numpy array, str or bytes; None if absent.
  nb::object Value(const std::string& name) const {
    const Field& field = FieldNamed(dataset.schema(), name);
    const Sample own = sample;
    if (!WithoutGil([&] { return own.Has(name); })) return nb::none();
    if (field.kind == FieldKind::kImage) {
      return Pictures().attr("picture_of")(Array(name));
    }
    if (field.kind == FieldKind::kBytes) {
      const auto bytes = WithoutGil([&] { return own.Bytes(name); });
      const auto* const first = reinterpret_cast<const char*>(bytes.data());
      const auto count = static_cast<Py_ssize_t>(bytes.size());
      const bool text = field.role == Role::kText || field.role == Role::kJson;
      return text ? nb::steal(PyUnicode_DecodeUTF8(first, count, "replace"))
                  : nb::steal(PyBytes_FromStringAndSize(first, count));
    }
    const nb::object array = Array(name);
    const bool scalar = field.kind == FieldKind::kArray && field.shape.empty();
    return scalar ? array.attr("item")() : array;
  }

  nb::bytes Payload(const std::string& name) const {
    const Sample own = sample;
    const ImagePayload payload = WithoutGil([&] { return own.Payload(name); });
    const bool jpeg = payload.codec == Codec::kPacked;
    const std::vector<std::byte> file =
        jpeg ? WithoutGil([&] { return JpegFileOf(payload); }) : std::vector<std::byte>();
    const std::span<const std::byte> bytes =
        jpeg ? std::span<const std::byte>(file) : payload.bytes;
    return nb::bytes(bytes.data(), bytes.size());
  }
};

// The values of a scalar field over all samples.
nb::object Column(const Dataset& dataset, const std::string& name) {
  const Field& field = FieldNamed(dataset.schema(), name);
  if (field.kind != FieldKind::kArray || !field.shape.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "field \"" + name + "\" is not one number for each sample");
  }
  return WithType(field.dtype, [&](auto element) {
    using T = decltype(element);
    auto* const values = new std::vector<T>(dataset.size());
    const nb::capsule owner(
        values, [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
    {
      const nb::gil_scoped_release released;
      for (std::uint64_t i = 0; i < values->size(); ++i)
        (*values)[i] = dataset[i].template Array<T>(name)[0];
    }
    return ArrayOver(values->data(), field.dtype, {values->size()}, owner, true);
  });
}

void BindSampleList(nb::module_& module) {
  nb::class_<SampleList>(
      module, "SampleList",
      "The samples of an epoch, if it is not each once: OrderOptions(samples=...)")
      .def(nb::init<>())
      .def_static("of", &SampleList::Of, "samples"_a,
                  "These samples, by number; a number given n times comes n times an epoch")
      .def_static("weighted", &SampleList::Weighted, "weights"_a, "count"_a, "replacement"_a,
                  "count samples drawn in proportion to weights, anew each epoch")
      .def_static("class_balanced", &SampleList::ClassBalanced, "dataset"_a, "per_class"_a,
                  "field"_a = "", nb::call_guard<nb::gil_scoped_release>(),
                  "per_class samples of each class, drawn anew each epoch")
      .def("__len__", &SampleList::size)
      .def("__repr__",
           [](const SampleList& list) {
             return list.all() ? "sluice.SampleList()"
                               : "SampleList of " + std::to_string(list.size()) + " samples";
           })
      .def(
          "__reduce__",
          [](nb::handle self) {
            if (nb::cast<const SampleList&>(self).all()) return Reduced(self, nb::dict());
            throw nb::type_error(
                "a SampleList that chooses samples cannot be pickled; pickle what it is made of, "
                "such as the numbers of its samples");
          },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));
}

}  // namespace

void BindDataset(nb::module_& module) {
  nb::class_<PySample>(module, "Sample",
                       "One sample: s['image'] is a PIL image, s['label'] a number")
      .def("__getitem__", &PySample::Value, "field"_a,
           nb::sig("def __getitem__(self, field: str) -> typing.Any"),
           "A PIL image, a number, a numpy array, str or bytes; None for an absent value")
      .def("__contains__",
           [](const PySample& self, const std::string& field) {
             return self.dataset.schema().Find(field) != Schema::kNone;
           })
      .def("__repr__",
           [](const PySample& self) {
             std::string fields;
             for (const Field& field : self.dataset.schema().fields)
               fields += ' ' + field.name;
             return "Sample(" + std::to_string(self.sample.index()) + ":" + fields + ")";
           })
      .def("array", &PySample::Array, "field"_a,
           nb::sig("def array(self, field: str) -> typing.Any"),
           "A field as a numpy array; an image as height x width x channels")
      .def("payload", &PySample::Payload, "field"_a = "",
           "The stored bytes of an image: a JPEG file, or raw pixels")
      .def_prop_ro("index", [](const PySample& self) { return self.sample.index(); })
      .def_prop_ro(
          "key",
          [](const PySample& self) {
            return TextOf(WithoutGil([own = self.sample] { return own.key(); }));
          },
          "The source's path below its folder, or what the writer gave")
      .def_prop_ro("place", [](const PySample& self) { return self.sample.place(); })
      .def("keys", [](const PySample& self) {
        std::vector<std::string> names;
        for (const Field& field : self.dataset.schema().fields)
          names.push_back(field.name);
        return names;
      });
  nb::class_<Dataset>(module, "Dataset",
                      "A dataset, opened for looking at its samples: ds[i]['image']. Opening reads "
                      "the manifest alone.")
      .def(
          "__init__",
          [](Dataset* self, const std::filesystem::path& path, std::uint64_t max_pixels,
             std::uint64_t max_value_bytes) {
            const nb::gil_scoped_release released;
            new (self) Dataset(Dataset::Open(path, {max_pixels, max_value_bytes}));
          },
          "path"_a, nb::kw_only(), "max_pixels"_a = ReadLimits().max_pixels,
          "max_value_bytes"_a = 0)
      .def("__len__", &Dataset::size)
      .def("__getitem__",
           [](const Dataset& dataset, std::int64_t index) {
             const auto size = static_cast<std::int64_t>(dataset.size());
             if (index < -size || index >= size) {
               throw nb::index_error(
                   ("the dataset has " + std::to_string(size) + " samples").c_str());
             }
             const auto at = static_cast<std::uint64_t>(index < 0 ? index + size : index);
             return PySample{WithoutGil([&] { return dataset[at]; }), dataset};
           })
      .def(
          "__iter__", [](nb::handle self) { return nb::steal(PySeqIter_New(self.ptr())); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[Sample]"))
      .def(
          "find",
          [](const Dataset& dataset, const nb::object& key) {
            const nb::object bytes = nb::module_::import_("os").attr("fsencode")(key);
            const auto text = nb::cast<nb::bytes>(bytes);
            const nb::gil_scoped_release released;
            return dataset.Find({text.c_str(), text.size()});
          },
          "key"_a, "The number of the sample with that key, or None")
      .def("column", &Column, "field"_a, nb::sig("def column(self, field: str) -> typing.Any"),
           "A field of one number for each sample, as a numpy array")
      .def_prop_ro("fields", [](const Dataset& dataset) { return dataset.schema().fields; })
      .def_prop_ro(
          "classes",
          [](const Dataset& dataset) {
            const std::size_t label = dataset.schema().ClassField();
            return label == Schema::kNone ? std::vector<std::string>()
                                          : dataset.schema().fields[label].classes;
          },
          "The names of the label's classes, by number; of several labels, those of the first")
      .def_prop_ro("id", &Dataset::id)
      .def_prop_ro("name", &Dataset::name)
      .def_prop_ro("path", [](const Dataset& dataset) { return TextOf(dataset.path().string()); })
      .def_prop_ro("class_counts", &Dataset::class_counts, "Samples of each class, by number")
      .def_prop_ro("made_with", &Dataset::made_with, "How it was made, as JSON text")
      .def("__repr__", [](nb::handle self) { return nb::str(Pictures().attr("line_of")(self)); })
      .def(
          "__reduce__",
          [](nb::handle self) {
            const auto& dataset = nb::cast<const Dataset&>(self);
            nb::dict given;
            given["path"] = TextOf(dataset.path().string());
            given["max_pixels"] = dataset.limits().max_pixels;
            given["max_value_bytes"] = dataset.limits().max_value_bytes;
            return Reduced(self, given);
          },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"),
          "Pickled, it is its path and limits, and is opened again where it is loaded")
      .def("_repr_html_",
           [](nb::handle self) { return nb::str(Pictures().attr("contact_sheet")(self)); })
      .def(
          "to_pandas", [](nb::handle self) { return Pictures().attr("table_of")(self); },
          nb::sig("def to_pandas(self) -> typing.Any"),
          "A pandas.DataFrame: a row for each sample, a column for each field of one number");
  BindSampleList(module);
}

}  // namespace sluice::python
