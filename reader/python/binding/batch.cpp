// Batches and their fields. A field is an Array, or a Ragged one if its samples differ in length,
// and stays valid by holding its batch.
//
// Another framework needs a function like torch() in Array and in Batch; a module next to
// ../sluice/torch.py if it has datasets of its own; a section in ../README.md; and a test_NAME.py
// in tests/python/, whose CMakeLists.txt lists the tests by name.
//
// Large values are handed over without a copy, and then keep the batch's slot for as long as they
// live. Small ones are copied once (BatchCopies): a label that a training loop keeps in a list
// would otherwise hold a slot, and the loader would soon have no free one.
#include <functional>
#include <numeric>

#include <sluice/dlpack.h>

#include "reader/python/binding/keywords.h"

namespace sluice::python {

// The structs of DLPack 1.0 and of the version before it (github.com/dmlc/dlpack, dlpack.h).
struct Tensor {
  void* data;
  std::int32_t device_type, device_id;
  std::int32_t dimensions;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
struct Versioned {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(Versioned*);
  std::uint64_t flags;
  Tensor tensor;
};
struct Unversioned {
  Tensor tensor;
  void* context;
  void (*deleter)(Unversioned*);
};

namespace {

constexpr int kLegacyDefaultStream = 1;  // as __cuda_array_interface__ numbers streams
constexpr const char* kVersioned = "dltensor_versioned";
constexpr const char* kUnversioned = "dltensor";
constexpr int kCpu = 1, kCuda = 2;

// Frees a capsule's tensor. A capsule owns its tensor unless somebody has taken the tensor over.
template <class T>
void Drop(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* const tensor = static_cast<T*>(PyCapsule_GetPointer(capsule, name));
  if (tensor->deleter != nullptr) tensor->deleter(tensor);
}

nb::object CapsuleOf(Versioned* tensor) {
  return nb::steal(PyCapsule_New(tensor, kVersioned,
                                 [](PyObject* capsule) { Drop<Versioned>(capsule, kVersioned); }));
}

nb::object OldCapsuleOf(Versioned* tensor) {
  // The older struct has no room for flags and version, so it owns the newer one and frees both.
  auto* const old = new Unversioned{tensor->tensor, tensor, [](Unversioned* self) {
                                      auto* const inner = static_cast<Versioned*>(self->context);
                                      inner->deleter(inner);
                                      delete self;
                                    }};
  return nb::steal(PyCapsule_New(
      old, kUnversioned, [](PyObject* capsule) { Drop<Unversioned>(capsule, kUnversioned); }));
}

// The stream, by the numbers of DLPack's protocol for CUDA: None and 1 are the legacy default
// stream, 2 the thread's; -1 asks for no waiting, so the batch is waited for here.
DeviceStream StreamOf(const Batch& batch, const nb::object& stream) {
  if (batch.device().is_host()) return {};
  if (stream.is_none()) return {};
  const auto number = nb::cast<std::intptr_t>(stream);
  if (number == -1) {
    const Released released;
    batch.Synchronize();
    return {};
  }
  return {reinterpret_cast<void*>(number)};
}

// (device type, ordinal), as __dlpack_device__() gives it.
std::pair<int, int> DlpackDevice(const Batch& batch, const std::string& field, bool offsets) {
  const bool host = batch.device().is_host() || offsets || batch.HoldsVariable(field);
  return host ? std::pair(kCpu, 0) : std::pair(kCuda, batch.device().ordinal());
}

// The keywords that __dlpack__() was called with.
struct DlpackRequest {
  nb::object stream, max_version, dl_device, copy;  // None: not given
};

// Throws a Python BufferError if a consumer asks for another device or for a copy.
void RequireAsItIs(const DlpackRequest& request, const std::pair<int, int>& device) {
  if (!request.dl_device.is_none() && nb::cast<std::pair<int, int>>(request.dl_device) != device) {
    throw nb::buffer_error("a Sluice batch stays on its device; move the tensor afterwards");
  }
  if (!request.copy.is_none() && nb::cast<bool>(request.copy)) {
    throw nb::buffer_error("a Sluice batch is handed over without a copy; clone the tensor");
  }
}

// Another tensor over the memory of a tensor, which it keeps.
Versioned* TensorOver(const std::shared_ptr<Versioned>& tensor) {
  using Kept = std::shared_ptr<Versioned>;
  auto* const made = new Versioned(*tensor);
  made->context = new Kept(tensor);
  made->deleter = [](Versioned* self) {
    delete static_cast<Kept*>(self->context);
    delete self;
  };
  return made;
}

}  // namespace

// The copies that a batch's small fields are given as, so that they do not keep the batch's slot.
// There is one copy of each, so that a value that is written to one array is seen in all of them.
class BatchCopies {
 public:
  // A field in host memory that is not an image and has at most kCopiedTensorBytes; or where the
  // samples of a variable-length field begin.
  std::shared_ptr<Versioned> Of(const Batch& batch, const std::string& field, bool offsets) {
    const nb::ft_lock_guard lock(mutex_);
    std::shared_ptr<Versioned>& copy = fields_[{field, offsets}];
    if (copy == nullptr) {
      copy.reset(reinterpret_cast<Versioned*>(offsets ? OffsetsToDlpack(batch, field)
                                                      : ToDlpack(batch, field)),
                 [](Versioned* tensor) { tensor->deleter(tensor); });
    }
    return copy;
  }
  nb::object Samples(const Batch& batch) { return Kept(samples_, batch.samples(), DType::kInt64); }
  nb::object Maps(const Batch& batch) {
    const std::span<const RowMap> maps = batch.maps();
    const std::size_t parts = batch.parts_of_row();
    return Kept(maps_, std::span(reinterpret_cast<const double*>(maps.data()), 9 * maps.size()),
                DType::kFloat64, {maps.size() / parts, parts, 3, 3});
  }
  nb::object Parts(const Batch& batch) {
    const std::size_t parts = batch.parts_of_row();
    return Kept(parts_, batch.parts(), DType::kInt64, {batch.parts().size() / parts, parts});
  }
  nb::object Flags(const Batch& batch) {
    const std::span<const SampleFlag> flags = batch.flags();
    return Kept(flags_,
                std::span(reinterpret_cast<const std::uint8_t*>(flags.data()), flags.size()),
                DType::kUint8);
  }

 private:
  template <class T>
  nb::object Kept(std::shared_ptr<std::vector<T>>& copy, std::span<const T> values, DType type,
                  std::vector<std::size_t> shape = {}) {
    if (shape.empty()) shape = {values.size()};
    using Owner = std::shared_ptr<std::vector<T>>;
    std::unique_ptr<Owner> owner;
    {
      const nb::ft_lock_guard lock(mutex_);
      if (copy == nullptr) copy = std::make_shared<std::vector<T>>(values.begin(), values.end());
      // Each array owns a reference to the copy. Made before the capsule, so that nothing leaks if
      // memory runs out in between.
      owner = std::make_unique<Owner>(copy);
    }
    const nb::capsule kept(owner.get(),
                           [](void* held) noexcept { delete static_cast<Owner*>(held); });
    return ArrayOver((*owner.release())->data(), type, shape, kept, true);
  }

  nb::ft_mutex mutex_;  // guards the other members if there is no GIL
  std::map<std::pair<std::string, bool>, std::shared_ptr<Versioned>> fields_;
  std::shared_ptr<std::vector<std::uint64_t>> samples_;
  std::shared_ptr<std::vector<std::uint8_t>> flags_;
  std::shared_ptr<std::vector<double>> maps_;
  std::shared_ptr<std::vector<std::uint64_t>> parts_;
};

PyBatch::PyBatch(Batch made, std::shared_ptr<const FieldTypes> fields)
    : batch(std::move(made)), types(std::move(fields)), copies(std::make_shared<BatchCopies>()) {}

namespace {

// One tensor of a batch, handed over without a copy by the protocols of DLPack and numpy.
class Array {
 public:
  // `offsets`: the array says where each sample of a variable-length field begins. `sample`: the
  // array is the image of that sample alone.
  Array(const PyBatch& of, std::string field, bool offsets = false,
        std::optional<std::size_t> sample = {})
      : field_(std::move(field)), offsets_(offsets), sample_(sample) {
    const Batch& batch = *of.batch;
    batch_.emplace(Batch(batch));
    shape_.reserve(4);
    const auto add = [this](auto... extents) {
      (shape_.push_back(static_cast<Py_ssize_t>(extents)), ...);
    };
    if (offsets || batch.HoldsVariable(field_)) {
      const VariableBatch values = batch.VariableArray(field_);
      Take(offsets ? reinterpret_cast<const std::byte*>(values.offsets.data()) : values.data,
           NameOf(offsets ? DType::kInt64 : values.type));
      add(offsets ? values.offsets.size() : values.offsets.back());
      if (!offsets) shape_.insert(shape_.end(), values.shape.begin(), values.shape.end());
    } else if (batch.HoldsImage(field_)) {
      const ImageBatch image = sample ? batch.image(field_, *sample) : batch.image(field_);
      Take(reinterpret_cast<const std::byte*>(image.data), NameOf(image.type));
      is_image_ = true;
      if (!sample) add(image.samples);
      if (image.layout == Layout::kNCHW) {
        add(image.channels, image.height, image.width);
      } else {
        add(image.height, image.width, image.channels);
      }
    } else {
      const ArrayBatch array = batch.DeviceArray(field_);
      Take(array.data, NameOf(array.type));
      add(array.samples);
      shape_.insert(shape_.end(), array.shape.begin(), array.shape.end());
    }
    strides_.resize(shape_.size());
    auto stride = static_cast<Py_ssize_t>(item_bytes());
    for (std::size_t i = shape_.size(); i-- > 0; stride *= shape_[i])
      strides_[i] = stride;
    if (!is_image_ && on_host() && bytes() <= kCopiedTensorBytes) {
      copy_ = of.copies->Of(batch, field_, offsets);
      data_ = static_cast<const std::byte*>(copy_->tensor.data);
      batch_.reset();
    }
  }

  std::string_view dtype() const noexcept { return dtype_; }
  ShapeTuple shape() const { return ShapeTuple(nb::tuple(nb::cast(shape_))); }
  std::string device() const {
    return on_host() ? "cpu" : "cuda:" + std::to_string(DeviceNumbers().second);
  }
  std::pair<int, int> DeviceNumbers() const {
    return batch_ ? DlpackDevice(**batch_, field_, offsets_) : std::pair(kCpu, 0);
  }
  const std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return static_cast<std::size_t>(shape_[0]); }

  nb::object Capsule(const DlpackRequest& request) const {
    RequireAsItIs(request, DeviceNumbers());
    auto* const tensor =
        !batch_    ? TensorOver(copy_)
        : offsets_ ? reinterpret_cast<Versioned*>(OffsetsToDlpack(**batch_, field_))
                   : reinterpret_cast<Versioned*>(
                         sample_ ? SampleToDlpack(**batch_, field_, *sample_,
                                                  StreamOf(**batch_, request.stream))
                                 : ToDlpack(**batch_, field_, StreamOf(**batch_, request.stream)));
    const bool versioned = !request.max_version.is_none() &&
                           nb::cast<std::pair<int, int>>(request.max_version).first >= 1;
    return versioned ? CapsuleOf(tensor) : OldCapsuleOf(tensor);
  }
  // numpy's and CUDA's protocols, which differ only in the stream.
  NamedValues Interface(bool host) const {
    if (host != on_host()) {
      throw nb::attribute_error(host ? "the array is on a device: it has __cuda_array_interface__"
                                     : "the array is in host memory: it has __array_interface__");
    }
    nb::dict made;
    made["shape"] = shape();
    made["typestr"] = TypeString();
    made["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(data_), false);
    made["strides"] = nb::none();
    made["version"] = 3;
    if (!host) {
      // Makes the legacy default stream wait for the batch. The batch's slot is reused only after
      // the work that is queued on that stream when the batch is dropped. By the protocol, the
      // consumer makes its own stream wait for the legacy default stream. Any other stream needs
      // Batch.wait_on().
      (*batch_)->WaitOn({});
      made["stream"] = kLegacyDefaultStream;
    }
    return NamedValues(made);
  }
  // Python's buffer protocol: numpy asks for it first, and needs fewer instructions for it than for
  // its own protocol (by callgrind, 9,500 for an image instead of 18,300). Returns false if the
  // memory is not the host's or numpy has no such type.
  bool Fill(Py_buffer& view, nb::handle self, int flags) const {
    if (dtype_ == "bfloat16" || !on_host()) return false;
    const auto asked = [flags](int what) { return (flags & what) == what; };
    view = {};
    view.buf = const_cast<std::byte*>(data_);
    view.itemsize = static_cast<Py_ssize_t>(item_bytes());
    view.len = static_cast<Py_ssize_t>(bytes());
    view.format = asked(PyBUF_FORMAT) ? const_cast<char*>(Format()) : nullptr;
    view.ndim = static_cast<int>(shape_.size());
    view.shape = asked(PyBUF_ND) ? const_cast<Py_ssize_t*>(shape_.data()) : nullptr;
    view.strides = asked(PyBUF_STRIDES) ? const_cast<Py_ssize_t*>(strides_.data()) : nullptr;
    view.obj = self.inc_ref().ptr();
    return true;
  }

 private:
  void Take(const std::byte* data, std::string_view dtype) {
    data_ = data;
    dtype_ = dtype;
  }
  std::size_t item_bytes() const {
    const char last = dtype_.back();  // the last digit of 8, 16, 32 or 64 bits
    return last == '8' ? 1 : last == '6' ? 2 : last == '2' ? 4 : 8;
  }
  std::size_t bytes() const {
    return std::accumulate(shape_.begin(), shape_.end(), item_bytes(), std::multiplies<>());
  }
  // The type's letter in Python's module `struct`.
  const char* Format() const {
    static const std::map<std::string_view, const char*> letters = {
        {"int8", "b"},   {"uint8", "B"}, {"int16", "h"},   {"uint16", "H"},  {"int32", "i"},
        {"uint32", "I"}, {"int64", "q"}, {"float16", "e"}, {"float32", "f"}, {"float64", "d"}};
    return letters.at(dtype_);
  }
  bool on_host() const { return DeviceNumbers().first == 1; }
  std::string TypeString() const {
    if (dtype_ == "bfloat16") {
      throw Error(ErrorCode::kUnsupported,
                  "field \"" + field_ +
                      "\" holds bfloat16, which numpy does not know; take it as "
                      "a tensor of torch or jax, or let Normalize make float32");
    }
    const char kind = dtype_[0] == 'u' ? 'u' : dtype_[0] == 'i' ? 'i' : 'f';
    return std::string(item_bytes() == 1 ? "|" : "<") + kind + std::to_string(item_bytes());
  }

  std::optional<Owned<Batch>> batch_;  // none if copy_ has the values
  std::shared_ptr<Versioned> copy_;
  std::string field_;
  bool offsets_;
  std::optional<std::size_t> sample_;
  const std::byte* data_ = nullptr;
  std::string_view dtype_;
  std::vector<Py_ssize_t> shape_, strides_;  // strides in bytes
  bool is_image_ = false;
};

int GetBuffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  view->obj = nullptr;
  try {
    if (nb::inst_ptr<Array>(self)->Fill(*view, self, flags)) return 0;
    PyErr_SetString(PyExc_BufferError, "no buffer in host memory of a type that Python knows");
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_BufferError, error.what());
  }
  return -1;
}

const Batch& In(const PyBatch& batch) {
  return *batch.batch;
}

struct Ragged {
  nb::object owner;  // a PyBatch
  std::string field;
  const PyBatch& of() const { return nb::cast<const PyBatch&>(owner); }
  const Batch& batch() const { return In(of()); }
};

nb::list Texts(const Batch& batch, const std::string& field, bool text) {
  nb::list list;
  const VariableValues<std::byte> values = batch.Bytes(field);
  for (std::size_t row = 0; row < batch.size(); ++row) {
    if (!batch.Has(field, row)) {
      list.append(nb::none());
      continue;
    }
    const auto* const first = reinterpret_cast<const char*>(values[row].data());
    const auto bytes = static_cast<Py_ssize_t>(values[row].size());
    list.append(text ? nb::steal(PyUnicode_DecodeUTF8(first, bytes, "replace"))
                     : nb::steal(PyBytes_FromStringAndSize(first, bytes)));
  }
  return list;
}

nb::object FieldOf(nb::handle self, const std::string& name) try {
  const auto& batch = nb::cast<const PyBatch&>(self);
  const auto type = batch.types->find(name);
  if (type != batch.types->end() && type->second.kind == FieldKind::kBytes) {
    const Role role = type->second.role;
    return Texts(In(batch), name, role == Role::kText || role == Role::kJson);
  }
  if (In(batch).HoldsVariable(name)) {
    return OfNoThread(nb::cast(Ragged{nb::borrow(self), name}));
  }
  if (In(batch).image_sizes() == ImageSizes::kOwn && In(batch).HoldsImage(name)) {
    nb::list images;
    for (std::size_t sample = 0; sample < In(batch).size(); ++sample)
      images.append(OfNoThread(nb::cast(Array(batch, name, false, sample))));
    return images;
  }
  return OfNoThread(nb::cast(Array(batch, name)));
} catch (const Error&) {
  const std::vector<std::string> fields = In(nb::cast<const PyBatch&>(self)).fields();
  if (std::ranges::find(fields, name) != fields.end()) throw;
  std::string names;
  for (const std::string& field : fields)
    names += (names.empty() ? "" : ", ") + field;
  throw nb::key_error(("no field \"" + name + "\"; the fields are " + names).c_str());
}

// Whether a field is a label of integers, which torch() converts to int64.
bool IsLabel(const PyBatch& batch, const std::string& name) {
  const auto type = batch.types->find(name);
  return type != batch.types->end() && type->second.role == Role::kLabel &&
         IsInteger(type->second.dtype);
}

constexpr char kNoPickling[] =
    "a batch lies in its Loader's memory and cannot be pickled; pickle copies, such as "
    "batch['label'].numpy().copy()";

// `==` and `!=` by element, as numpy and torch compare. Without them, Python would compare
// identities, and `predictions == batch["label"]` would be False for any values.
nb::object Compared(nb::handle self, nb::handle other, int operation) {
  nb::object own;
  if (nb::hasattr(other, "__torch_function__")) {  // a tensor, which does not compare with numpy's
    own = self.attr("torch")();
  } else if (nb::cast<const Array&>(self).DeviceNumbers().first != kCpu) {
    throw nb::type_error("an Array on a device is compared with tensors only; use .torch()");
  } else {
    own = nb::module_::import_("numpy").attr("asarray")(self);
  }
  PyObject* const result = PyObject_RichCompare(own.ptr(), other.ptr(), operation);
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

// An Array is a place in memory: it hashes by identity, as a tensor of torch does, and leaves
// indexing and iteration to numpy and torch.
void BindOperators(nb::class_<Array>& bound) {
  bound
      .def(
          "__eq__", [](nb::handle self, nb::handle other) { return Compared(self, other, Py_EQ); },
          nb::arg().none(), nb::sig("def __eq__(self, other: object, /) -> typing.Any"))
      .def(
          "__ne__", [](nb::handle self, nb::handle other) { return Compared(self, other, Py_NE); },
          nb::arg().none(), nb::sig("def __ne__(self, other: object, /) -> typing.Any"))
      .def(
          "__bool__",
          [](nb::handle) {
            throw nb::type_error("an Array has no truth value; use .numpy() or .torch()");
          },
          nb::sig("def __bool__(self) -> typing.NoReturn"))
      .def(
          "__getitem__",
          [](nb::handle, nb::handle) {
            throw nb::type_error("an Array has no index; use .numpy() or .torch()");
          },
          nb::arg().none(), nb::sig("def __getitem__(self, at: object, /) -> typing.NoReturn"))
      .def(
          "__iter__",
          [](nb::handle) {
            throw nb::type_error("an Array cannot be iterated over; use .numpy() or .torch()");
          },
          nb::sig("def __iter__(self) -> typing.NoReturn"));
}

void BindArray(nb::module_& module) {
  PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&GetBuffer)}, {0, nullptr}};
  nb::class_<Array> bound(
      module, "Array", nb::type_slots(slots),
      "A field of a batch: numpy, torch, jax and cupy take it without a copy "
      "(numpy.asarray(a), torch.from_dlpack(a)). An Array holds its batch while it lives; but a "
      "field in host memory of up to 64 KiB that is not an image is copied once for each batch, "
      "and its Arrays hold that copy alone. What is written to a field is seen wherever the batch "
      "gives it.");
  RefusePickling(bound, kNoPickling);
  BindOperators(bound);
  bound.def_prop_ro("dtype", &Array::dtype, "the type of its elements, such as 'uint8'")
      .def_prop_ro("shape", &Array::shape, "its extents")
      .def_prop_ro("device", &Array::device, "'cpu' or 'cuda:N'")
      .def("__len__", &Array::size)
      .def("__repr__",
           [](const Array& array) {
             return "Array(" + nb::cast<std::string>(nb::str(array.shape())) + ", " +
                    std::string(array.dtype()) + ", " + array.device() + ")";
           })
      .def(
          "numpy",
          [](nb::handle self) { return nb::module_::import_("numpy").attr("asarray")(self); },
          "As a numpy array. What is written to it is seen by all arrays and tensors of this field "
          "of the batch")
      .def(
          "torch",
          [](nb::handle self) { return nb::module_::import_("torch").attr("from_dlpack")(self); },
          "As a tensor of torch, on the batch's device, which shares its memory with numpy()")
      .def_prop_ro("__array_interface__", [](const Array& array) { return array.Interface(true); })
      .def_prop_ro("__cuda_array_interface__",
                   [](const Array& array) { return array.Interface(false); })
      .def("__dlpack_device__", &Array::DeviceNumbers)
      .def(
          "__dlpack__",
          [](const Array& array, nb::object stream, nb::object max_version, nb::object dl_device,
             nb::object copy) {
            return array.Capsule({stream, max_version, dl_device, copy});
          },
          nb::kw_only(), "stream"_a = nb::none(), "max_version"_a = nb::none(),
          "dl_device"_a = nb::none(), "copy"_a = nb::none());
}

// Two numpy arrays: the values, padded to a rectangle; and how many entries of each row are the
// sample's own.
using PaddedPair = nb::typed<nb::tuple, nb::any, nb::any>;  // as the stub names it

PaddedPair Padded(nb::handle self, nb::object fill, std::size_t at_least) {
  const Ragged& field = nb::cast<const Ragged&>(self);
  const VariableBatch values = field.batch().VariableArray(field.field);
  const std::size_t rows = field.batch().size();
  std::size_t longest = at_least;
  nb::list counts;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto own = static_cast<std::size_t>(values.offsets[row + 1] - values.offsets[row]);
    longest = std::max(longest, own);
    counts.append(own);
  }
  nb::list shape;
  shape.append(rows);
  shape.append(longest);
  for (const std::uint32_t extent : values.shape)
    shape.append(extent);
  const nb::object numpy = nb::module_::import_("numpy");
  const nb::str type(std::string(NameOf(values.type)).c_str());
  nb::object padded = numpy.attr("full")(nb::tuple(shape), fill, type);
  for (std::size_t row = 0; row < rows; ++row) {
    padded[nb::int_(row)][nb::slice(nb::int_(0), nb::int_(counts[row]), nb::int_(1))] =
        self[nb::int_(row)];
  }
  return PaddedPair(nb::make_tuple(padded, numpy.attr("array")(counts, "int64")));
}

[[noreturn]] void RefuseComparison() {
  throw nb::type_error(
      "a Ragged field cannot be compared as a whole; use r[i], or r.values with .numpy() or "
      ".torch()");
}

void BindRagged(nb::module_& module) {
  nb::class_<Ragged> bound(
      module, "Ragged",
      "A field with a different number of entries in each sample: r[i] is a numpy array of the "
      "entries of sample i. values has the entries of all samples, one after another; those of "
      "sample i begin at offsets[i] and end before offsets[i + 1].");
  RefusePickling(bound, kNoPickling);
  bound.def_prop_ro("values", [](const Ragged& field) { return Array(field.of(), field.field); })
      .def_prop_ro("offsets",
                   [](const Ragged& field) { return Array(field.of(), field.field, true); })
      .def("__len__", [](const Ragged& field) { return field.batch().size(); })
      .def("__getitem__",
           [](nb::handle self, std::int64_t row) {
             const Ragged& field = nb::cast<const Ragged&>(self);
             const VariableBatch values = field.batch().VariableArray(field.field);
             const auto rows = static_cast<std::int64_t>(field.batch().size());
             if (row < -rows || row >= rows) throw nb::index_error("no such sample in the batch");
             const auto at = static_cast<std::size_t>(row < 0 ? row + rows : row);
             std::vector<std::size_t> shape = {
                 static_cast<std::size_t>(values.offsets[at + 1] - values.offsets[at])};
             shape.insert(shape.end(), values.shape.begin(), values.shape.end());
             std::size_t entry = SizeOf(values.type);
             for (const std::uint32_t extent : values.shape)
               entry *= extent;
             const nb::object all = nb::cast(Array(field.of(), field.field));
             return ArrayOver(nb::cast<const Array&>(all).data() + values.offsets[at] * entry,
                              values.type, std::move(shape), all, true);
           })
      .def(
          "__eq__", [](nb::handle, nb::handle) { RefuseComparison(); }, nb::arg().none(),
          nb::sig("def __eq__(self, other: object, /) -> typing.NoReturn"))
      .def(
          "__ne__", [](nb::handle, nb::handle) { RefuseComparison(); }, nb::arg().none(),
          nb::sig("def __ne__(self, other: object, /) -> typing.NoReturn"))
      .def("padded", &Padded, "fill"_a = 0, "at_least"_a = 0,
           "(values, counts). values: a numpy array of samples x longest x entry, filled up after "
           "each sample's own entries. counts: how many entries each sample has of its own")
      .def("__repr__", [](const Ragged& field) {
        return "Ragged('" + field.field + "', " + std::to_string(field.batch().size()) +
               " samples)";
      });
}

// Calls `method` on the field, or on each array of a list of them; returns any other field as it
// is.
nb::object Taken(const nb::object& field, const char* method) {
  if (nb::isinstance<Array>(field)) return field.attr(method)();
  if (!nb::isinstance<nb::list>(field)) return field;
  nb::list taken;
  for (const nb::handle item : nb::cast<nb::list>(field)) {
    if (!nb::isinstance<Array>(item)) return field;  // texts
    taken.append(item.attr(method)());
  }
  return taken;
}

NamedValues ToNumpy(nb::handle self) {
  nb::dict made;
  for (const std::string& name : In(nb::cast<const PyBatch&>(self)).fields()) {
    made[name.c_str()] = Taken(FieldOf(self, name), "numpy");
  }
  return NamedValues(made);
}

NamedValues ToTorch(nb::handle self) {
  const PyBatch& batch = nb::cast<const PyBatch&>(self);
  nb::dict made;
  for (const std::string& name : In(batch).fields()) {
    nb::object field = Taken(FieldOf(self, name), "torch");
    if (IsLabel(batch, name) && nb::hasattr(field, "long")) field = field.attr("long")();
    made[name.c_str()] = field;
  }
  return NamedValues(made);
}

nb::object TargetsOf(nb::handle self, const std::string& form, std::optional<int> first_label) {
  const PyBatch& batch = nb::cast<const PyBatch&>(self);
  nb::dict fields, sizes;
  for (const std::string& name : In(batch).fields()) {
    const auto type = batch.types->find(name);
    if (type == batch.types->end()) continue;  // made by OneHot
    fields[name.c_str()] = nb::cast(type->second);
    if (type->second.kind != FieldKind::kImage) continue;
    nb::list of_rows;
    for (std::size_t row = 0; row < In(batch).size(); ++row) {
      const ImageBatch image = In(batch).image(name, row);
      const nb::object whole = nb::make_tuple(image.height, image.width);
      nb::object own = whole;
      if (In(batch).image_sizes() != ImageSizes::kEqual) {
        const ImageSize size = In(batch).sizes(name)[row];
        own = nb::make_tuple(size.height, size.width);
      }
      of_rows.append(nb::make_tuple(own, whole));
    }
    sizes[name.c_str()] = of_rows;
  }
  return nb::module_::import_("sluice._targets")
      .attr("make")(self, form, first_label, fields, sizes);
}

}  // namespace

void BindBatch(nb::module_& module) {
  BindArray(module);
  BindRagged(module);
  nb::enum_<SampleFlag> origin(module, "SampleFlag", "The origin of a row in a batch",
                               nb::is_arithmetic());
  ShowAsWritten(origin);
  origin.value("OWN", SampleFlag::kOwn)
      .value("SUBSTITUTE", SampleFlag::kSubstitute,
             "another sample, in place of a faulty or deleted one")
      .value("FILLS_UP", SampleFlag::kFillsUp, "a repeated sample that fills up the batch");
  nb::class_<PyBatch> bound(
      module, "Batch", nb::is_weak_referenceable(),
      "A batch: batch['image'] is a field, batch.torch() all of them as tensors. "
      "It lies in a slot of the loader's ring, which is used again when nothing "
      "holds the batch any more; RingOptions(hold=...) says how many may be held.");
  RefusePickling(bound, kNoPickling);
  bound.def("__len__", [](const PyBatch& batch) { return In(batch).size(); })
      .def("__getitem__", &FieldOf, "field"_a,
           nb::sig("def __getitem__(self, field: str) -> typing.Any"),
           "An Array or a Ragged field. A bytes field is a list of bytes, or of str if it is text, "
           "with None for a sample without a value. With ImageSizes.OWN, an image is a list of "
           "Arrays")
      .def(
          "__contains__",
          [](const PyBatch& batch, nb::handle field) {
            const std::vector<std::string> fields = In(batch).fields();
            return nb::isinstance<nb::str>(field) &&
                   std::ranges::find(fields, Utf8Of(field)) != fields.end();
          },
          nb::arg().none())
      .def(
          "__iter__",
          [](const PyBatch& batch) {
            std::string names;
            for (const std::string& field : In(batch).fields())
              names += (names.empty() ? "batch['" : ", batch['") + field + "']";
            throw nb::type_error(("a batch has no order to be unpacked or iterated in: take its "
                                  "fields by name, " +
                                  names + ", or all of them by batch.torch() or batch.numpy()")
                                     .c_str());
          },
          nb::sig("def __iter__(self) -> typing.NoReturn"))
      .def(
          "keys", [](const PyBatch& batch) { return In(batch).fields(); },
          "The names of the fields, images first")
      .def("numpy", &ToNumpy,
           "All fields by name: numpy arrays (with ImageSizes.OWN a list of those), Ragged fields, "
           "lists of str")
      .def("torch", &ToTorch,
           "All fields by name: tensors on the batch's device (labels as int64, as torch's losses "
           "want them, so these may be copies; with ImageSizes.OWN a list of tensors), Ragged "
           "fields, lists of str")
      .def(
          "targets", &TargetsOf, "form"_a, "first_label"_a.none() = nb::none(),
          nb::sig("def targets(self, form: str, first_label: int | None = None) -> typing.Any"),
          "Boxes, classes, key points, instances, crowd flags and ids as a detector takes them, in "
          "tensors on the host.\n"
          "form: \"torchvision\": a list of a dict for each row, with boxes (n x 4, float32, "
          "corners "
          "in pixels of the row's image), labels (int64), image_id, area, iscrowd, keypoints, "
          "masks "
          "(n x H x W, uint8).\n"
          "\"transformers\": likewise, with boxes as centre, width and height in shares of the "
          "image (where it is padded, of the padded one), class_labels, image_id, area, iscrowd, "
          "mask_labels (n x H x W, uint8), size and orig_size (height, width).\n"
          "\"ultralytics\": a dict of all rows' batch_idx, cls, bboxes (centre, width and height "
          "in "
          "shares; of oriented boxes, centre, longer and shorter side, and the longer one's angle) "
          "keypoints and masks (rows x H/4 x W/4, int32: 0 or the object's number, from 1), to "
          "which "
          "img and the like are added.\n"
          "first_label: the number of class 0. By default 1 for torchvision, where 0 is the "
          "background, otherwise 0.\n"
          "area is that of the box. Without a field image_id, the sample's number is taken; "
          "without "
          "source_size, orig_size is size. Boxes are shares of orig_size only where a row shows "
          "all "
          "of its image and nothing else, without a border or a padding; Batch.maps() leads back "
          "from any row. A sample without crowd flags has no crowds.\n"
          "ValueError: an unknown form; no boxes of any number; another number of classes than of "
          "boxes")
      .def(
          "has",
          [](const PyBatch& batch, const std::string& field, std::size_t row) {
            if (row >= In(batch).size()) throw nb::index_error("no such sample in the batch");
            return In(batch).Has(field, row);
          },
          "field"_a, "row"_a, "Whether that sample has a value in the field")
      .def(
          "has",
          [](const PyBatch& batch, const std::string& field) {
            const std::size_t rows = In(batch).size();
            nb::object has = nb::module_::import_("numpy").attr("empty")(rows, "bool");
            auto view = nb::cast<nb::ndarray<bool, nb::c_contig>>(has);
            for (std::size_t row = 0; row < rows; ++row)
              view.data()[row] = In(batch).Has(field, row);
            return has;
          },
          "field"_a, "By row, whether the sample has a value in the field (bool)")
      .def(
          "sizes",
          [](const PyBatch& batch, const std::string& field) {
            nb::list sizes;
            for (const ImageSize& size : In(batch).sizes(field))
              sizes.append(nb::make_tuple(size.height, size.width));
            return nb::typed<nb::list, nb::typed<nb::tuple, nb::int_, nb::int_>>(sizes);
          },
          "field"_a = "",
          "By row, (height, width) of the row's own image, which is at the upper left of the "
          "padded image")
      .def_prop_ro(
          "valid", [](const PyBatch& batch) { return In(batch).valid(); },
          "The number of rows, without the last ones that only fill up the batch")
      .def_prop_ro("epoch", [](const PyBatch& batch) { return In(batch).epoch(); })
      .def_prop_ro(
          "index", [](const PyBatch& batch) { return In(batch).index(); },
          "The number of this batch in its epoch, from 0")
      .def_prop_ro(
          "samples", [](const PyBatch& batch) { return batch.copies->Samples(In(batch)); },
          "By row, the sample's number in the dataset (int64)")
      .def_prop_ro(
          "flags", [](const PyBatch& batch) { return batch.copies->Flags(In(batch)); },
          "By row, its SampleFlag (uint8)")
      .def(
          "maps", [](const PyBatch& batch) { return batch.copies->Maps(In(batch)); },
          "The maps from stored pictures to the batch's rows: float64, rows x parts x 3 x 3, as "
          "parts(). maps()[i, 0] @ (x, y, 1) is (u, v, w), and the point (x, y) of the picture, in "
          "pixels, lies at (u / w, v / w) of the row. So numpy.linalg.inv(batch.maps()) takes "
          "boxes "
          "that a model has found back to the pictures.")
      .def(
          "parts", [](const PyBatch& batch) { return batch.copies->Parts(In(batch)); },
          "The numbers of the samples that each row shows, its own first: int64, rows x parts. "
          "There are 4 parts if a step is Mosaic, and -1 where a row of such a loader is no "
          "mosaic; otherwise 1.")
      .def(
          "wait_on",
          [](const PyBatch& batch, std::uintptr_t stream) {
            In(batch).WaitOn({reinterpret_cast<void*>(stream)});
          },
          "stream"_a,
          "Makes work submitted to a CUDA stream from now on wait for the batch. stream: its "
          "handle as a number, torch.cuda.current_stream().cuda_stream. After the batch is "
          "dropped, its memory is written again only once the stream's work has finished. DLPack "
          "(torch(), from_dlpack) calls it by itself for the stream that takes the tensor, and "
          "__cuda_array_interface__ for the default stream")
      .def(
          "synchronize", [](const PyBatch& batch) { In(batch).Synchronize(); },
          nb::call_guard<Released>(),
          "Waits until the batch is on the device. It does not replace wait_on(): without "
          "wait_on(), work that is queued on a stream may read the batch's memory too late, after "
          "the batch was dropped and its memory was written again")
      .def("__repr__", [](const PyBatch& batch) {
        std::string text = "Batch(" + std::to_string(In(batch).size()) + " samples:";
        for (const std::string& field : In(batch).fields())
          text += ' ' + field;
        return text + ")";
      });
}

}  // namespace sluice::python
