// The user's functions: from Python, which take the GIL, and compiled ones, which do not. A Python
// function writes to the rows themselves, by arrays without a copy, so nothing may refer to the
// rows once it has returned. All arrays over the rows have the Seen object as their owner; if it
// has further references after the call, the function has kept something. That is an error, and the
// memory is then kept for as long as the array. A value that moves when it is set (VariableOf) is
// given as a copy. The C++ functions hold Kept objects and not nb::object, because any thread may
// drop them.
#include <climits>

#include "reader/python/binding/user_calls.h"

namespace sluice::python {

namespace {

void RequireCallable(const char* option, const nb::object& function) {
  if (PyCallable_Check(function.ptr()) != 0) return;
  throw nb::type_error(
      (std::string(option) + " is a function or None, not " + Utf8Of(nb::repr(function))).c_str());
}

// The rows that a Python function sees, while it runs. Arrays over the rows keep this object alive,
// so Call() can tell whether the function kept an array. If it did, this object also keeps the
// memory that the array points to. All functions of the bound class lock the Python object, because
// without a GIL another thread that has it may call them when the function returns.
template <class Rows>
struct Seen {
  Rows* rows;
  std::shared_ptr<const FieldTypes> types;
  std::shared_ptr<const void> memory = {};

  Rows& operator*() const {
    if (rows == nullptr) {
      throw Error(ErrorCode::kState,
                  "the sample or batch of a user's function is valid until the function returns");
    }
    return *rows;
  }
  Rows* operator->() const { return &**this; }
  const Field& TypeOf(const std::string& name) const {
    const auto type = types->find(name);
    if (type == types->end()) {
      std::string names;
      for (const auto& [known, field] : *types)
        names += (names.empty() ? "" : ", ") + known;
      throw Error(ErrorCode::kInvalidArgument,
                  "no field \"" + name + "\"; the fields are " + names);
    }
    return type->second;
  }
};
using SeenSample = Seen<MutableSample>;
using SeenBatch = Seen<MutableBatch>;

template <class Rows>
nb::object ImageOf(nb::handle self, const std::string& field) {
  const Seen<Rows>& seen = nb::cast<const Seen<Rows>&>(self);
  ImageBatch image = seen->shape(field);
  const std::span<std::byte> bytes = seen->ImageBytes(field);
  image.data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const bool one = std::is_same_v<Rows, MutableSample>;
  image.samples = one ? 1 : bytes.size() / std::max<std::size_t>(1, image.sample_bytes());
  nb::object array = ArrayOver(image, self, true);
  return one ? array[nb::int_(0)] : array;
}

template <class Rows>
nb::object ArrayField(nb::handle self, const std::string& name) {
  const Seen<Rows>& seen = nb::cast<const Seen<Rows>&>(self);
  const Field& type = seen.TypeOf(name);
  return WithType(type.dtype, [&](auto value) {
    const auto span = seen->template Field<decltype(value)>(name);
    std::vector<std::size_t> shape(type.shape.begin(), type.shape.end());
    if constexpr (std::is_same_v<Rows, MutableBatch>) {
      shape.insert(shape.begin(), span.size() / static_cast<std::size_t>(type.elements()));
      // A number in a sample becomes an array of one element: a Python number could not be written
      // to.
    } else if (shape.empty()) {
      shape.push_back(1);
    }
    return ArrayOver(span.data(), type.dtype, std::move(shape), self, true);
  });
}

template <class Rows>
nb::object Border(nb::handle self, const std::string& field) {
  const Seen<Rows>& seen = nb::cast<const Seen<Rows>&>(self);
  const ImageBatch shape = seen->shape(field);
  const bool one = std::is_same_v<Rows, MutableSample>;
  const std::size_t rows =
      one ? 1 : seen->ImageBytes(field).size() / std::max<std::size_t>(1, shape.sample_bytes());
  nb::object map = nb::module_::import_("numpy").attr("zeros")(
      nb::make_tuple(rows, shape.height, shape.width), "uint8");
  auto view = nb::cast<nb::ndarray<std::uint8_t, nb::c_contig>>(map);
  seen->WriteBorder({view.data(), view.size()}, field);
  return one ? map[nb::int_(0)] : map;
}

// `read` gives the values as a span of the argument's type.
template <class Read>
nb::object ValueCopy(const Field& type, const Read& read) {
  if (type.kind == FieldKind::kBytes) {
    const std::span<const std::byte> bytes = read(std::byte());
    return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return WithType(type.dtype, [&](auto value) {
    const std::span<const decltype(value)> span = read(value);
    std::vector<std::size_t> shape(type.shape.begin(), type.shape.end());
    shape.insert(shape.begin(), span.size() / static_cast<std::size_t>(type.elements()));
    // The array is a copy, because the values move when the field is set.
    return nb::object(
        ArrayOver(span.data(), type.dtype, std::move(shape), nb::none(), false).attr("copy")());
  });
}

// `write` takes a span of values.
template <class Write>
void SetValue(const std::string& name, const Field& type, nb::object value, const Write& write) {
  if (type.kind == FieldKind::kBytes) {
    // Text fields are bytes here, so str is taken, too.
    if (nb::isinstance<nb::str>(value)) value = value.attr("encode")("utf-8");
    nb::bytes bytes;
    if (!nb::try_cast(value, bytes)) {
      throw nb::type_error(
          ("field \"" + name + "\" takes bytes or str, not " + Utf8Of(nb::repr(value))).c_str());
    }
    const auto* const first = static_cast<const std::byte*>(bytes.data());
    return write(std::span(first, bytes.size()));
  }
  const nb::object array = nb::module_::import_("numpy").attr("ascontiguousarray")(
      value, nb::str(std::string(NameOf(type.dtype)).c_str()));
  WithType(type.dtype, [&](auto element) {
    using T = decltype(element);
    const auto view = nb::cast<nb::ndarray<const T, nb::c_contig>>(array);
    // Six numbers in each of two lines are not three boxes.
    const std::size_t inner = type.shape.size();
    for (std::size_t i = 0; view.ndim() > inner && i < inner; ++i) {
      if (view.shape(view.ndim() - inner + i) == type.shape[i]) continue;
      throw nb::value_error(("field \"" + name +
                             "\" has entries of another shape than the last "
                             "extents of the array that it is given")
                                .c_str());
    }
    write(std::span<const T>(view.data(), view.size()));
  });
}

nb::object VariableOf(const SeenSample& seen, const std::string& name) {
  return ValueCopy(seen.TypeOf(name),
                   [&](auto zero) { return seen->Variable<decltype(zero)>(name); });
}

// A numpy array of its own, with these values.
nb::object CopyOf(const void* values, DType type, const std::vector<std::size_t>& shape) {
  return ArrayOver(values, type, shape, nb::none(), false).attr("copy")();
}

nb::object VariableOfRow(const SeenBatch& seen, const std::string& name, std::size_t row) {
  if (row >= seen->size())
    throw nb::index_error(("the batch has " + std::to_string(seen->size()) + " rows").c_str());
  return ValueCopy(seen.TypeOf(name),
                   [&](auto zero) { return seen->Variable<decltype(zero)>(name)[row]; });
}

void SetVariable(const SeenSample& seen, const std::string& name, nb::object value) {
  SetValue(name, seen.TypeOf(name), std::move(value),
           [&]<class T>(std::span<const T> values) { seen->SetVariable<T>(name, values); });
}

void SetVariableOfRow(const SeenBatch& seen, const std::string& name, std::size_t row,
                      nb::object value) {
  SetValue(name, seen.TypeOf(name), std::move(value),
           [&]<class T>(std::span<const T> values) { seen->SetVariable<T>(name, row, values); });
}

template <class Rows>
nb::class_<Seen<Rows>> BindRows(nb::module_& module, const char* name, const char* doc) {
  return nb::class_<Seen<Rows>>(module, name, doc)
      .def_prop_ro(
          "epoch", [](const Seen<Rows>& seen) { return seen->epoch(); }, nb::lock_self())
      .def_prop_ro(
          "index", [](const Seen<Rows>& seen) { return seen->index(); }, nb::lock_self())
      .def_prop_ro(
          "state",
          [](const Seen<Rows>& seen) {
            return UserCalls::Get(seen->template state<UserCalls::Kept>());
          },
          nb::lock_self(), nb::sig("def state(self) -> typing.Any"),
          "The object that Loader(thread_setup=...) returned for this thread")
      .def(
          "__contains__",
          [](const Seen<Rows>& seen, const std::string& field) {
            try {
              if constexpr (std::is_same_v<Rows, MutableSample>) {
                seen->Has(field);
              } else {
                seen->Has(field, 0);
              }
              return true;
            } catch (const Error& error) {
              if (error.code() == ErrorCode::kInvalidArgument) return false;
              throw;
            }
          },
          nb::lock_self())
      .def("image", &ImageOf<Rows>, "field"_a = "", nb::lock_self(),
           "The finished values, as a numpy array to write to, valid until the function returns. "
           "They are uint8, or floats after Normalize. A sample's array is height x width x "
           "channels, or channels x height x width with layout nchw; a batch's array has one more "
           "axis in front, its rows")
      .def("field", &ArrayField<Rows>, "name"_a, nb::lock_self(),
           "A fixed-shape array field, to write to")
      .def("border", &Border<Rows>, "field"_a = "", nb::lock_self(),
           "uint8 height x width: 1 where the image lies outside its picture")
      .def(
          "uniform", [](const Seen<Rows>& seen) { return seen->draws().Uniform(); },
          nb::lock_self(),
          "A random number in [0, 1) that depends on seed, epoch and position alone")
      .def(
          "below",
          [](const Seen<Rows>& seen, std::uint64_t n) {
            if (n == 0) throw nb::value_error("below() needs a number above 0");
            return seen->draws().Below(n);
          },
          "n"_a, nb::lock_self(), "A random whole number in [0, n)");
}

// Runs a Python function on rows.
template <class Rows>
void Call(UserCalls& calls, const UserCalls::Kept& function, Rows& rows,
          const std::shared_ptr<const FieldTypes>& types) {
  const Acquired acquired;
  const nb::object seen = nb::cast(Seen<Rows>{&rows, types});
  // Ends the access to the rows. Returns whether the function has kept its argument or an array of
  // it.
  const auto end = [&] {
    const nb::ft_object_guard guard(seen);
    auto& ended = nb::cast<Seen<Rows>&>(seen);
    // Code that has kept the object gets an Error from now on, and not the next batch's rows.
    ended.rows = nullptr;
    // One reference is this function's own; any other is an array's, or the function has kept its
    // argument.
    if (Py_REFCNT(seen.ptr()) > 1) ended.memory = rows.Keep();
    return ended.memory != nullptr;
  };
  nb::object result;
  try {
    result = calls.Call(function, seen);
  } catch (...) {
    end();
    throw;
  }
  const bool kept = end();
  // Checked before `kept`: a function that returns an array of its argument has both faults, and
  // this message is the one that helps.
  if (!result.is_none()) {
    throw std::runtime_error("the function returned a value (" +
                             nb::cast<std::string>(nb::inst_name(result)) +
                             "), which is not used; a function must change its argument in place, "
                             "as by sample.image()[...] = ..., and return None");
  }
  if (kept) {
    throw std::runtime_error(
        "the function kept its argument or an array of it, which is valid until the function "
        "returns; keep a copy()");
  }
}

// Compiled functions. They return 0, or another number for a fault. `random` has 64 random bits.
using NativeSample = int (*)(void* values, std::int64_t height, std::int64_t width,
                             std::int64_t channels, std::uint64_t sample, std::uint64_t epoch,
                             std::uint64_t random);
using NativeBatch = int (*)(void* values, std::int64_t samples, std::int64_t height,
                            std::int64_t width, std::int64_t channels, std::uint64_t index,
                            std::uint64_t epoch, std::uint64_t random);

struct NativeFunction {
  std::uintptr_t address;
  nb::object keep;  // keeps the function alive
  int Traverse(visitproc visit, void* arg) const {
    Py_VISIT(keep.ptr());
    return 0;
  }
  void Clear() { keep = nb::none(); }
};

void RequireDone(int result) {
  if (result == 0) return;
  throw std::runtime_error("the compiled function returned " + std::to_string(result));
}

std::uint64_t RandomWord(Draws& draws) {
  const std::uint64_t high = draws.Word();
  return high << 32 | draws.Word();
}

}  // namespace

SampleFunction SampleFunctionOf(nb::object function, const std::shared_ptr<UserCalls>& calls,
                                std::shared_ptr<const FieldTypes> types) {
  if (function.is_none()) return {};
  if (nb::isinstance<NativeFunction>(function)) {
    const auto call = reinterpret_cast<NativeSample>(nb::cast<NativeFunction&>(function).address);
    return [call, kept = calls->KeepForNative(function)](MutableSample& sample) {
      const ImageBatch shape = sample.shape();
      RequireDone(call(sample.ImageBytes().data(), static_cast<std::int64_t>(shape.height),
                       static_cast<std::int64_t>(shape.width),
                       static_cast<std::int64_t>(shape.channels), sample.index(), sample.epoch(),
                       RandomWord(sample.draws())));
    };
  }
  RequireCallable("sample_function", function);
  return [calls, kept = calls->Keep(std::move(function)), types](MutableSample& sample) {
    Call(*calls, kept, sample, types);
  };
}

BatchSampler BatchSamplerOf(nb::object function, const std::shared_ptr<UserCalls>& calls) {
  if (function.is_none()) return {};
  RequireCallable("OrderOptions(batches=)", function);
  if (nb::isinstance<AspectBuckets>(function)) return nb::cast<AspectBuckets>(function);
  return [calls, kept = calls->Keep(std::move(function))](std::uint64_t seed, std::uint64_t epoch) {
    const Acquired acquired;
    return calls->With(kept, [&](nb::handle compose) {
      BatchSampler::Lists lists;
      const nb::object composed = compose(seed, epoch);
      if (nb::isinstance<SizedBatches>(composed))
        lists.sizes = nb::cast<SizedBatches>(composed).sizes;
      const nb::object batches = nb::isinstance<SizedBatches>(composed)
                                     ? nb::cast<SizedBatches>(composed).batches
                                     : composed;
      for (const nb::handle list : nb::iter(batches))
        lists.push_back(SampleNumbersOf(list, "a batch of OrderOptions(batches=)"));
      return lists;
    });
  };
}

ThreadSetup ThreadSetupOf(nb::object function, const std::shared_ptr<UserCalls>& calls) {
  if (function.is_none()) return {};
  RequireCallable("thread_setup", function);
  return [calls, kept = calls->Keep(std::move(function))](unsigned thread) {
    const Acquired acquired;
    return std::any(calls->Keep(calls->Call(kept, thread)));
  };
}

BatchFunction BatchFunctionOf(nb::object function, const std::shared_ptr<UserCalls>& calls,
                              std::shared_ptr<const FieldTypes> types) {
  if (function.is_none()) return {};
  if (nb::isinstance<NativeFunction>(function)) {
    const auto call = reinterpret_cast<NativeBatch>(nb::cast<NativeFunction&>(function).address);
    return [call, kept = calls->KeepForNative(function)](MutableBatch& batch) {
      const ImageBatch shape = batch.shape();
      RequireDone(call(batch.ImageBytes().data(), static_cast<std::int64_t>(batch.size()),
                       static_cast<std::int64_t>(shape.height),
                       static_cast<std::int64_t>(shape.width),
                       static_cast<std::int64_t>(shape.channels), batch.index(), batch.epoch(),
                       RandomWord(batch.draws())));
    };
  }
  RequireCallable("batch_function", function);
  return [calls, kept = calls->Keep(std::move(function)), types](MutableBatch& batch) {
    Call(*calls, kept, batch, types);
  };
}

void BindUserFunctions(nb::module_& module) {
  BindRows<MutableSample>(
      module, "MutableSample",
      "The argument of a sample_function: one row of a batch, after the transform")
      .def_prop_ro(
          "position", [](const SeenSample& seen) { return seen->position(); }, nb::lock_self(),
          "The sample's position in the epoch")
      .def(
          "key", [](const SeenSample& seen) { return TextOf(seen->key()); }, nb::lock_self(),
          "The sample's key, as Sample.key. Slow: nearly every call decompresses the keys of some "
          "thousands of samples, in one thread at a time; a table by index needs none of that")
      .def(
          "has", [](const SeenSample& seen, const std::string& field) { return seen->Has(field); },
          "field"_a, nb::lock_self(), "Whether the sample has a value in that field")
      .def("variable", &VariableOf, "name"_a, nb::lock_self(),
           "A variable-length field as a numpy array, a bytes field as bytes; a copy")
      .def("set_variable", &SetVariable, "name"_a, "value"_a, nb::lock_self(),
           "Replaces a variable-length field by any number of whole entries, or a bytes field");
  BindRows<MutableBatch>(module, "MutableBatch",
                         "The argument of a batch_function: all rows of a batch")
      .def(
          "__len__", [](const SeenBatch& seen) { return seen->size(); }, nb::lock_self())
      .def_prop_ro(
          "samples",
          [](const SeenBatch& seen) {
            nb::object copy = CopyOf(seen->samples().data(), DType::kInt64, {seen->size()});
            copy.attr("flags").attr("writeable") = false;
            return copy;
          },
          nb::lock_self(), "By row, the sample's number in the dataset (int64, read-only)")
      .def(
          "parts",
          [](const SeenBatch& seen) {
            const std::size_t parts = seen->parts_of_row();
            return CopyOf(seen->parts().data(), DType::kInt64, {seen->size(), parts});
          },
          nb::lock_self(), "As Batch.parts(), a copy")
      .def(
          "maps",
          [](const SeenBatch& seen) {
            const std::size_t parts = seen->parts_of_row();
            return CopyOf(seen->maps().data(), DType::kFloat64, {seen->size(), parts, 3, 3});
          },
          nb::lock_self(), "As Batch.maps(), a copy")
      .def(
          "has",
          [](const SeenBatch& seen, const std::string& field, std::size_t row) {
            return seen->Has(field, row);
          },
          "field"_a, "row"_a, nb::lock_self())
      .def("variable", &VariableOfRow, "name"_a, "row"_a, nb::lock_self(),
           "A row's value of a variable-length field as a numpy array, or of a bytes field as "
           "bytes; a copy. IndexError: there is no such row")
      .def(
          "set_variable", &SetVariableOfRow, "name"_a, "row"_a, "value"_a, nb::lock_self(),
          "Replaces a row's value of a variable-length field by any number of whole entries, or of "
          "a bytes field. ValueError: there is no such row")
      .def(
          "image_of",
          [](nb::handle self, std::size_t row, const std::string& field) {
            const SeenBatch& seen = nb::cast<const SeenBatch&>(self);
            const nb::object array = ArrayOver(seen->shape(field, row), self, true);
            return nb::object(array[nb::int_(0)]);
          },
          "row"_a, "field"_a = "", nb::lock_self(),
          "The image of one row, to write to. With ImageSizes.OWN, image() cannot return the "
          "images of all rows, because their sizes differ");
  nb::class_<NativeFunction>(
      module, "NativeFunction", nb::type_slots(Collected<NativeFunction>::slots),
      "A compiled function, by its address, as sample_function or batch_function: runs without the "
      "GIL on all decoding threads. Signatures (the result is 0 for success):\n"
      "int sample(void* values, int64 height, int64 width, int64 channels, uint64 sample, uint64 "
      "epoch, uint64 random)\n"
      "int batch(void* values, int64 samples, int64 height, int64 width, int64 channels, uint64 "
      "index, uint64 epoch, uint64 random)\n"
      "For numba: NativeFunction(f.address, f), with f made by numba.cfunc. keep: an object that "
      "keeps the function alive.")
      .def(
          "__init__",
          [](NativeFunction* self, std::uintptr_t address, nb::object keep) {
            if (address == 0) throw nb::value_error("a function's address is not 0");
            new (self) NativeFunction{address, std::move(keep)};
          },
          "address"_a, "keep"_a = nb::none());
}

}  // namespace sluice::python
