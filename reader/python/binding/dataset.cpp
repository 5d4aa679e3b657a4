// Dataset and Sample, to look at samples; and SampleList, to choose samples for a loader. Every
// call that may read a shard goes through Interruptibly(): without the GIL and, for a dataset at a
// URL, in a thread that continues after Ctrl-C. So the work captures copies of datasets and samples
// and no references. Parts that need other packages (Pillow, pandas) are written in Python, in
// sluice/_pictures.py. Sample numbers may come from many types; truth values are refused in all of
// them, because a mask would otherwise mean samples 0 and 1.
#include <algorithm>

#include "reader/python/binding/keywords.h"
#include "reader/python/binding/user_calls.h"

namespace sluice::python {

namespace {

using nb::detail::HoldsTruthValues;

// The module with the parts of Dataset and Sample that are written in Python, since they call other
// packages (Pillow, pandas).
nb::module_ Pictures() {
  return nb::module_::import_("sluice._pictures");
}

const Field& FieldNamed(const Schema& schema, const std::string& name) {
  const std::size_t index = schema.Find(name);
  if (index != Schema::kNone) return schema.fields[index];
  std::string names;
  for (const Field& field : schema.fields)
    names += (names.empty() ? "" : ", ") + field.name;
  throw nb::key_error(("no field \"" + name + "\"; the fields are " + names).c_str());
}

// Decoded pixels: height x width x channels, or height x width.
// One channel gets no axis of its own, as users of PIL and numpy expect of grey pictures.
nb::object PixelsOf(Image image) {
  std::vector<std::size_t> shape = {image.height, image.width, image.channels};
  if (image.channels == 1) shape.pop_back();
  return OwnArray(std::move(image.pixels), image.pixel_type, std::move(shape));
}

// A sample and its dataset, which has its schema.
struct PySample {
  Sample sample;
  Dataset dataset;

  // Calls `read` without the GIL, on a copy of the sample, because one thread at a time may use a
  // Sample.
  template <class Read>
  auto Reading(Read read) const {
    return Interruptibly(IsRemote(dataset.path()),
                         [own = sample, read = std::move(read)] { return read(own); });
  }

  nb::object Array(const std::string& name) const {
    const Field& field = FieldNamed(dataset.schema(), name);
    if (field.kind == FieldKind::kImage) {
      return PixelsOf(Reading([name](const Sample& own) { return own.Decode(name); }));
    }
    if (field.kind == FieldKind::kBytes) {
      throw Error(
          ErrorCode::kInvalidArgument,
          "field \"" + name + "\" is not an array but bytes; take sample[\"" + name + "\"]");
    }
    std::vector<std::byte> values = Reading([name](const Sample& own) { return own.Copy(name); });
    std::vector<std::size_t> shape(field.shape.begin(), field.shape.end());
    if (field.kind == FieldKind::kVariable) {
      const std::size_t entry = static_cast<std::size_t>(field.elements()) * SizeOf(field.dtype);
      shape.insert(shape.begin(), values.size() / entry);
    }
    return OwnArray(std::move(values), field.dtype, std::move(shape));
  }

  // A value as a person wants to see it: a PIL image, a number, a numpy array, str or bytes; None
  // if absent.
  nb::object Value(const std::string& name) const {
    const Field& field = FieldNamed(dataset.schema(), name);
    if (!Reading([name](const Sample& own) { return own.Has(name); })) return nb::none();
    if (field.kind == FieldKind::kImage) {
      return Pictures().attr("picture_of")(Array(name));
    }
    if (field.kind == FieldKind::kBytes) {
      const auto bytes = Reading([name](const Sample& own) { return own.Copy(name); });
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
    const std::vector<std::byte> file = Reading([name](const Sample& own) {
      // Shape() and Copy() instead of Payload(): the bytes must be a copy, since they outlive this
      // call.
      ImagePayload payload = own.Shape(name);
      std::vector<std::byte> bytes = own.Copy(name);
      if (payload.codec != Codec::kPacked) return bytes;
      payload.bytes = bytes;
      return JpegFileOf(payload);
    });
    return nb::bytes(file.data(), file.size());
  }
};

nb::module_ Columns() {
  return nb::module_::import_("sluice._columns");
}

// The values of a scalar field over all samples.
nb::object ColumnOf(const Dataset& dataset, const std::string& name) {
  const DType type = FieldNamed(dataset.schema(), name).dtype;
  return OwnArray(
      Interruptibly(IsRemote(dataset.path()), [dataset, name] { return dataset.Column(name); }),
      type, {dataset.size()});
}

[[noreturn]] void RefuseNumbers(const std::string& text) {
  throw nb::type_error(text.c_str());
}

std::string ShownAs(PyObject* (*how)(PyObject*), const nb::object& object) {
  const nb::object text = nb::steal(how(object.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  return Utf8Of(text);
}

// Takes all that has __index__, such as numpy's integers, and refuses floats, which do not have it.
std::uint64_t SampleNumberOf(nb::handle given, const std::string& what) {
  if (HoldsTruthValues(given)) {
    RefuseNumbers(what +
                  ", and these are truth values; for a mask, "
                  "give numpy.flatnonzero(mask)");
  }
  std::uint64_t number = 0;
  const nb::object index =
      PyIndex_Check(given.ptr()) != 0 ? nb::steal(PyNumber_Index(given.ptr())) : nb::object();
  if (index.is_valid() && nb::try_cast(index, number)) return number;
  PyErr_Clear();
  RefuseNumbers(what + ", from 0 on, not " + ShownAs(&PyObject_Repr, nb::borrow(given)));
}

std::vector<std::uint64_t> NumbersInArray(nb::handle given, const std::string& what) {
  // An array is converted as a whole; casting each of a million elements would be slow.
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object array = numpy.attr("asarray")(given);
  const nb::object type = array.attr("dtype");
  const std::string kind = ShownAs(&PyObject_Str, type.attr("kind"));
  if (kind != "i" && kind != "u") {
    RefuseNumbers(what + ", and this is an array of " + ShownAs(&PyObject_Str, type));
  }
  const auto numbers = nb::cast<nb::ndarray<const std::int64_t, nb::c_contig>>(
      numpy.attr("ascontiguousarray")(array, "int64"));
  if (numbers.ndim() != 1) {
    RefuseNumbers(what + ", in one row, and this array has " + std::to_string(numbers.ndim()) +
                  " dimensions");
  }
  const std::int64_t* const first = numbers.data();
  const std::int64_t* const end = first + numbers.size();
  const std::int64_t* const below =
      std::find_if(first, end, [](auto number) { return number < 0; });
  if (below != end) SampleNumberOf(nb::int_(*below), what);
  return {first, end};
}

nb::object RangeOf(nb::handle slice, const std::string& what) {
  const nb::object start = slice.attr("start"), stop = slice.attr("stop"),
                   step = slice.attr("step");
  if (stop.is_none()) RefuseNumbers(what + "; give a slice with an end, or range(len(dataset))");
  return nb::module_::import_("builtins")
      .attr("range")(start.is_none() ? nb::object(nb::int_(0)) : start, stop,
                     step.is_none() ? nb::object(nb::int_(1)) : step);
}

}  // namespace

std::vector<std::uint64_t> SampleNumbersOf(nb::handle given, const std::string& what) {
  const bool array = nb::hasattr(given, "dtype") && nb::hasattr(given, "shape");
  if (array && !HoldsTruthValues(given)) return NumbersInArray(given, what);
  nb::object numbers = nb::borrow(given);
  // A slice without an end cannot be resolved here, where the dataset's size is not known.
  if (PySlice_Check(given.ptr())) numbers = RangeOf(given, what);
  if (array || nb::isinstance<nb::str>(given) || !nb::hasattr(numbers, "__iter__"))
    RefuseNumbers(what + ", several of them, such as [" +
                  std::to_string(SampleNumberOf(given, what)) + "]");
  std::vector<std::uint64_t> made;
  for (const nb::handle number : nb::iter(numbers))
    made.push_back(SampleNumberOf(number, what));
  return made;
}

void RefuseIndex(nb::handle given) {
  const std::string name = ShownAs(&PyObject_Repr, nb::borrow(given));
  if (nb::isinstance<nb::str>(given)) {
    RefuseNumbers("index a dataset by sample number: dataset[0][" + name +
                  "] is that field of the first sample, and dataset.column(" + name +
                  ") has it for all samples, if it is one number each");
  }
  if (HoldsTruthValues(given) || nb::isinstance<nb::sequence>(given) ||
      nb::hasattr(given, "shape")) {
    RefuseNumbers(
        "index a dataset by sample number, or by a slice; for a list of numbers, write "
        "[dataset[i] for i in numbers]; for a mask, first take numbers = numpy.flatnonzero(mask)");
  }
  RefuseNumbers("index a dataset by sample number, or by a slice, not by " + name);
}

Dataset OpenDataset(const std::filesystem::path& path, const ReadLimits& limits) {
  Dataset dataset = Interruptibly(IsRemote(path), [=] { return Dataset::Open(path, limits); });
  if (const std::string note = UnmappedNote(path); !note.empty())
    nb::module_::import_("warnings").attr("warn")(TextOf(note), nb::none(), 2);
  return dataset;
}

namespace {

void BindBuckets(nb::module_& module) {
  nb::class_<SizedBatches>(
      module, "SizedBatches",
      "What the function of OrderOptions(batches=...) may return: batches, a list of sample "
      "numbers "
      "for each batch, and sizes, for each batch the number of its size among those that "
      "Loader(sizes=...) has for the epoch, from 0.")
      .def(nb::init<nb::object, std::vector<std::uint32_t>>(), "batches"_a, "sizes"_a)
      .def_ro("batches", &SizedBatches::batches)
      .def_ro("sizes", &SizedBatches::sizes);
  nb::class_<AspectBuckets>(
      module, "AspectBuckets",
      "Batches of images of similar shape, each with a size of that shape, for "
      "OrderOptions(batches=buckets) and Loader(sizes=buckets.sizes). Each image goes to the size "
      "whose ratio of width to height is nearest to its own; batches are drawn anew each epoch, "
      "and the last one of a bucket may be short. sizes: (height, width) each, in pixels. "
      "batch_size: of all ranks together. image: the field; the first one if empty. Reads no "
      "pixels. Error: no sizes, a size of 0, batch_size=0.")
      .def(
          "__init__",
          [](AspectBuckets* made, const Dataset& dataset,
             const std::vector<std::pair<std::uint32_t, std::uint32_t>>& sizes,
             std::uint64_t batch_size, const std::string& image) {
            std::vector<OutputSize> of;
            for (const auto& [height, width] : sizes)
              of.push_back({0, width, height});
            new (made) AspectBuckets(Interruptibly(IsRemote(dataset.path()), [&] {
              return AspectBuckets(dataset, of, batch_size, image);
            }));
          },
          "dataset"_a, "sizes"_a, "batch_size"_a, "image"_a = "")
      .def_prop_ro("sizes", &AspectBuckets::sizes, "For Loader(sizes=...)")
      .def_prop_ro("buckets", &AspectBuckets::buckets, "The numbers of each size's samples")
      .def(
          "__call__",
          [](const AspectBuckets& buckets, std::uint64_t seed, std::uint64_t epoch) {
            const BatchSampler::Lists lists = buckets(seed, epoch);
            nb::list batches;
            for (const std::vector<std::uint64_t>& list : lists)
              batches.append(nb::cast(list));
            return SizedBatches{std::move(batches), lists.sizes};
          },
          "seed"_a, "epoch"_a, "The batches of an epoch");
}

void BindSampleList(nb::module_& module) {
  nb::class_<SampleList>(
      module, "SampleList",
      "The samples that an epoch plays, for OrderOptions(samples=...); SampleList() is each "
      "sample once")
      .def(nb::init<>())
      .def_static(
          "of",
          [](nb::handle samples) {
            return SampleList::Of(SampleNumbersOf(samples, "SampleList.of() takes sample numbers"));
          },
          "samples"_a.none(),
          nb::sig("def of(samples: collections.abc.Iterable[typing.SupportsIndex] | slice) -> "
                  "SampleList"),
          "These samples, by number: a list, a range, a slice with an end, an array or a tensor. A "
          "number given n times comes n times an epoch")
      .def_static("weighted", &SampleList::Weighted, "weights"_a, "count"_a, "replacement"_a,
                  "count samples drawn in proportion to weights, anew each epoch")
      .def_static(
          "class_balanced",
          [](const Dataset& dataset, std::uint64_t per_class, const std::string& field) {
            return Interruptibly(IsRemote(dataset.path()), [=] {
              return SampleList::ClassBalanced(dataset, per_class, field);
            });
          },
          "dataset"_a, "per_class"_a, "field"_a = "",
          "per_class samples of each class, drawn anew each epoch")
      .def("__len__", &SampleList::size)
      .def(
          "__eq__",
          [](const SampleList& list, const SampleList& other) {
            return list.digest() == other.digest();
          },
          nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__",
           [](const SampleList& list) { return std::hash<std::string>()(list.digest()); })
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
      .def(
          "__contains__",
          [](const PySample& self, nb::handle field) {
            return nb::isinstance<nb::str>(field) &&
                   self.dataset.schema().Find(Utf8Of(field)) != Schema::kNone;
          },
          nb::arg().none())
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
           "The stored bytes of an image: a JPEG file, or raw pixels (compressed by zstd if they "
           "are stored so). A packed image is returned as a JPEG file")
      .def_prop_ro("index", [](const PySample& self) { return self.sample.index(); })
      .def_prop_ro(
          "key",
          [](const PySample& self) {
            return TextOf(self.Reading([](const Sample& own) { return own.key(); }));
          },
          "The source's path below its folder, or what the writer gave")
      .def_prop_ro("place", [](const PySample& self) { return self.sample.place(); })
      .def(
          "keys",
          [](const PySample& self) {
            std::vector<std::string> names;
            for (const Field& field : self.dataset.schema().fields)
              names.push_back(field.name);
            return names;
          },
          "The names of the sample's fields, in order, also of fields without a value");
  nb::class_<Dataset>(module, "Dataset",
                      "A dataset, opened for looking at its samples: ds[i]['image']. Opening reads "
                      "only the manifest.")
      .def(
          "__init__",
          [](Dataset* self, const std::filesystem::path& path, std::uint64_t max_pixels,
             std::uint64_t max_value_bytes) {
            new (self) Dataset(OpenDataset(path, {max_pixels, max_value_bytes}));
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
             return PySample{Interruptibly(IsRemote(dataset.path()), [=] { return dataset[at]; }),
                             dataset};
           })
      .def(
          "__getitem__",
          [](nb::handle self, const nb::slice& slice) {
            nb::list samples;
            const auto range = slice.attr("indices")(nb::len(self));
            for (const nb::handle at : nb::module_::import_("builtins").attr("range")(*range))
              samples.append(self[at]);
            return nb::typed<nb::list, PySample>(samples);
          },
          "The samples of a slice, as a list")
      .def(
          "__iter__",
          [](nb::handle self) -> nb::object {
            const Dataset dataset = nb::cast<const Dataset&>(self);
            // Python's own iteration calls dataset[0], dataset[1] and so on until IndexError. It
            // would stop with an Error at the first deleted sample.
            if (dataset.deleted() == 0) return nb::steal(PySeqIter_New(self.ptr()));
            const nb::module_ builtins = nb::module_::import_("builtins");
            const nb::object there = nb::cpp_function(
                [dataset](std::uint64_t sample) { return !dataset.IsDeleted(sample); });
            return builtins.attr("map")(
                self.attr("__getitem__"),
                builtins.attr("filter")(there, builtins.attr("range")(dataset.size())));
          },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[Sample]"),
          "All samples in order, except those that were deleted")
      .def(
          "find",
          [](const Dataset& dataset, const nb::object& key) {
            if (!nb::isinstance<nb::str>(key) && !nb::isinstance<nb::bytes>(key) &&
                !nb::hasattr(key, "__fspath__")) {
              throw nb::type_error(
                  ("Dataset.find() takes a sample's key, a str, not " + Utf8Of(nb::repr(key)))
                      .c_str());
            }
            // Keys are bytes: a file name that is not UTF-8 comes back to its bytes in the way in
            // which Python made a str of it.
            const nb::object bytes = nb::module_::import_("os").attr("fsencode")(key);
            const auto held = nb::cast<nb::bytes>(bytes);
            const std::string text(held.c_str(), held.size());
            return Interruptibly(IsRemote(dataset.path()),
                                 [dataset, text] { return dataset.Find(text); });
          },
          "key"_a, "The number of the sample with that key, or None")
      .def("column", &ColumnOf, "field"_a, nb::sig("def column(self, field: str) -> typing.Any"),
           "A field of one number for each sample, as a numpy array; 0 for deleted samples")
      .def_prop_ro(
          "fields", [](const Dataset& dataset) { return dataset.schema().fields; },
          "the fields of its samples, in order")
      .def_prop_ro(
          "classes",
          [](const Dataset& dataset) {
            const std::size_t label = dataset.schema().ClassField();
            return label == Schema::kNone ? std::vector<std::string>()
                                          : dataset.schema().fields[label].classes;
          },
          "The names of the label's classes, by number; if there are several labels, of the first")
      .def(
          "__eq__",
          [](const Dataset& dataset, const Dataset& other) {
            return dataset.id() == other.id() && dataset.path() == other.path() &&
                   dataset.limits() == other.limits();
          },
          nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__",
           [](const Dataset& dataset) { return std::hash<std::string>()(dataset.id()); })
      .def_prop_ro("id", &Dataset::id)
      .def_prop_ro("name", &Dataset::name)
      .def_prop_ro("path", [](const Dataset& dataset) { return TextOf(dataset.path().string()); })
      .def_prop_ro("class_counts", &Dataset::class_counts,
                   "Samples of each class, by number; deleted samples are counted, too")
      .def_prop_ro(
          "deleted",
          [](const Dataset& dataset) {
            std::vector<std::uint64_t> deleted;
            if (dataset.deleted() == 0) return deleted;
            for (std::uint64_t i = 0; i < dataset.size(); ++i)
              if (dataset.IsDeleted(i)) deleted.push_back(i);
            return deleted;
          },
          "The numbers of the samples that were deleted. len(dataset) counts them; dataset[i] "
          "raises "
          "an Error for them")
      .def(
          "add_column",
          [](nb::handle self, const std::string& name, nb::handle array, nb::handle samples,
             std::optional<double> missing, const std::string& role,
             const std::vector<std::string>& classes, const std::string& note) {
            return Columns().attr("write")(self, name, array, samples, missing, role, classes, note,
                                           false);
          },
          "name"_a, "array"_a, "samples"_a = nb::none(), nb::kw_only(), "missing"_a = nb::none(),
          "role"_a = "none", "classes"_a = std::vector<std::string>(), "note"_a = "",
          nb::sig(
              "def add_column(self, name: str, array: typing.Any, samples: "
              "collections.abc.Iterable[int] | None = None, *, missing: float | None = None, "
              "role: str = 'none', classes: collections.abc.Sequence[str] = (), note: str = '') "
              "-> Dataset"),
          "Adds a field to the dataset's folder, as a new version, and returns that. No picture is "
          "read or written. array: a row for each sample, or for each of `samples`, in this order. "
          "missing: the value of samples without a row. classes: for labels, the names")
      .def(
          "replace_column",
          [](nb::handle self, const std::string& name, nb::handle array, nb::handle samples,
             std::optional<double> missing, const std::string& role,
             const std::vector<std::string>& classes, const std::string& note) {
            return Columns().attr("write")(self, name, array, samples, missing, role, classes, note,
                                           true);
          },
          "name"_a, "array"_a, "samples"_a = nb::none(), nb::kw_only(), "missing"_a = nb::none(),
          "role"_a = "none", "classes"_a = std::vector<std::string>(), "note"_a = "",
          nb::sig(
              "def replace_column(self, name: str, array: typing.Any, samples: "
              "collections.abc.Iterable[int] | None = None, *, missing: float | None = None, "
              "role: str = 'none', classes: collections.abc.Sequence[str] = (), note: str = '') "
              "-> Dataset"),
          "Like add_column(), in the place of the field of that name. A label keeps its classes")
      .def(
          "drop_fields",
          [](nb::handle self, nb::handle names, const std::string& note) {
            return Columns().attr("drop")(self, names, note);
          },
          "names"_a, nb::kw_only(), "note"_a = "",
          nb::sig(
              "def drop_fields(self, names: str | collections.abc.Sequence[str], *, note: str = "
              "'') -> Dataset"),
          "Hides fields, in a new version of the dataset's folder, and returns that")
      .def_prop_ro("made_with", &Dataset::made_with, "How it was made, as JSON text")
      .def_prop_ro("meta", &Dataset::meta,
                   "What its maker says about it, such as its license: names with values")
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
          "Pickling stores its path and limits; unpickling opens it again")
      .def("_repr_html_",
           [](nb::handle self) { return nb::str(Pictures().attr("contact_sheet")(self)); })
      .def(
          "to_pandas", [](nb::handle self) { return Pictures().attr("table_of")(self); },
          nb::sig("def to_pandas(self) -> typing.Any"),
          "A pandas.DataFrame: a row for each sample, a column for each field of one number");
  BindSampleList(module);
  BindBuckets(module);
}

}  // namespace sluice::python
