// Shared by the parts of the Python module. Each Bind function adds one part to the module.
//
// The module stands on Sluice's public headers alone. Its names, defaults and errors are those of
// the C++ classes; reader/python/README.md describes what Python adds.
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <sluice/convert_source.h>
#include <sluice/sluice.h>

#include "reader/python/binding/gil.h"

namespace nanobind::detail {

template <>
struct dtype_traits<sluice::Float16> {
  static constexpr dlpack::dtype value{static_cast<std::uint8_t>(dlpack::dtype_code::Float), 16, 1};
  static constexpr auto name = const_name("float16");
};

// Whether the object is a truth value, or an array, scalar or tensor of them (arguments.cpp).
bool HoldsTruthValues(handle given) noexcept;

// Notes that `number` was refused, because it lies outside the range that the argument takes, from
// `low` to `high` (arguments.cpp).
void NoteRefused(handle number, long long low, unsigned long long high) noexcept;

// In Python, True is a number, too. But where this module takes numbers, it refuses truth values,
// because otherwise a mask would pass for the numbers 0 and 1.
template <class T>
struct NumberNotBool {
  // The type by which nanobind reads the number: T itself has this class as its caster.
  using Wide =
      std::conditional_t<std::is_floating_point_v<T>, long double,
                         std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>>;

  bool from_python(handle given, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    if (HoldsTruthValues(given)) return false;
    make_caster<Wide> wide;
    if (wide.from_python(given, flags, cleanup)) {
      value = static_cast<T>(wide.value);
      if (std::is_floating_point_v<T> || static_cast<Wide>(value) == wide.value) return true;
    }
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      NoteRefused(given, static_cast<long long>(Limits::min()), Limits::max());
    }
    return false;
  }
  static handle from_cpp(T number, rv_policy policy, cleanup_list* cleanup) noexcept {
    return make_caster<Wide>::from_cpp(static_cast<Wide>(number), policy, cleanup);
  }
  NB_TYPE_CASTER(T, const_name<std::is_integral_v<T>>("int", "float"))
};

template <>
struct type_caster<std::uint8_t> : NumberNotBool<std::uint8_t> {};
template <>
struct type_caster<std::uint32_t> : NumberNotBool<std::uint32_t> {};
template <>
struct type_caster<std::uint64_t> : NumberNotBool<std::uint64_t> {};
template <>
struct type_caster<std::int32_t> : NumberNotBool<std::int32_t> {};
template <>
struct type_caster<std::int64_t> : NumberNotBool<std::int64_t> {};
template <>
struct type_caster<float> : NumberNotBool<float> {};
template <>
struct type_caster<double> : NumberNotBool<double> {};

}  // namespace nanobind::detail

namespace sluice::python {

namespace nb = nanobind;
using namespace nb::literals;

void BindErrors(nb::module_& module);
void BindSchema(nb::module_& module);
void BindSteps(nb::module_& module);
void BindUserFunctions(nb::module_& module);
void BindLoaderOptions(nb::module_& module);
void BindBatch(nb::module_& module);
void BindMixture(nb::module_& module);
void BindLoader(nb::module_& module);
void BindPreprocess(nb::module_& module);
void BindStats(nb::module_& module);
void BindDataset(nb::module_& module);
void BindSource(nb::module_& module);
void BindConvert(nb::module_& module);
void BindWriter(nb::module_& module);

// Gives each constructor, and Dataset's __getitem__, an overload that names the wrong argument of a
// call. Call it last.
void AddRefusals(nb::module_& module);

// A message with the names that Python has for options, functions and enumerators.
std::string InPythonsWords(std::string text);
std::vector<std::string> InPythonsWords(std::vector<std::string> texts);
// Issues a ConvertWarning, at the caller that lies `stack_level` calls up.
void IssueWarning(const std::string& text, int stack_level);
// The Python exception for an Error.
nb::object ExceptionOf(const Error& error);

// Counts the forks that this process came from. Loaders and batches made before a fork belong to
// the parent: their threads are not here, and their locks may be held forever.
unsigned ForkGeneration() noexcept;

// An object with threads or locks behind it. In a forked child it is leaked instead of destroyed.
template <class T>
class Owned {
 public:
  explicit Owned(T value) : value_(new T(std::move(value))) {}
  Owned(Owned&& other) noexcept
      : value_(std::exchange(other.value_, nullptr)), generation_(other.generation_) {}
  Owned& operator=(Owned&&) = delete;
  ~Owned() {
    if (generation_ == ForkGeneration()) delete value_;
  }
  bool is_here() const noexcept { return generation_ == ForkGeneration(); }
  T& operator*() const {
    if (!is_here()) {
      throw Error(ErrorCode::kState,
                  "this object was made before the process forked, and its threads are in the "
                  "parent; make the Loader, and play its batches, in the child (or start processes "
                  "by spawn)");
    }
    return *value_;
  }
  T* operator->() const { return &**this; }

 private:
  T* value_;
  unsigned generation_ = ForkGeneration();
};

// The dataset's fields and those that the user's functions make, by name.
using FieldTypes = std::map<std::string, Field, std::less<>>;

// Types as the .pyi stub should print them.
using ShapeTuple = nb::typed<nb::tuple, int, nb::ellipsis>;
using NamedValues = nb::typed<nb::dict, nb::str, nb::any>;
using NamedNumbers = nb::typed<nb::dict, nb::str, nb::int_>;

template <std::size_t N>
struct TypeText {
  char text[N] = {};
  constexpr TypeText(const char (&of)[N]) {
    std::ranges::copy(of, text);
  }  // NOLINT: from a literal
};

// An argument of any type; the stub shows kText as its type. The function that takes the argument
// checks it, and can say more about a wrong one than nanobind.
template <TypeText kText>
class Stated : public nb::object {
  static bool Any(nb::handle) { return true; }

 public:
  NB_OBJECT_DEFAULT(Stated, nb::object, kText.text, Any)
};

template <class T>
nb::object ObjectOf(std::optional<T> given) {
  return given ? nb::object(std::move(*given)) : nb::none();
}

// Steps of a transform, or their text form. finish_stub.py defines names that begin with _.
using StatedSteps = Stated<"_Transform">;
using StatedSchedule = Stated<"str | collections.abc.Sequence[tuple[int, _Transform]]">;
using StatedDevice = Stated<"str | _TorchDevice">;

// Text of a dataset or the file system as Python has it: bytes that are not UTF-8 become lone
// surrogates.
inline nb::str TextOf(std::string_view text) {
  return nb::steal<nb::str>(
      PyUnicode_DecodeFSDefaultAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

// Text that Python has, for a message or a parser: a lone surrogate, which UTF-8 lacks, is escaped.
inline std::string Utf8Of(nb::handle text) {
  const auto bytes =
      nb::steal<nb::bytes>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
  if (!bytes.is_valid()) throw nb::python_error();
  return {bytes.c_str(), bytes.size()};
}

// A numpy array over memory that `owner` keeps.
nb::object ArrayOver(const void* data, DType type, std::vector<std::size_t> shape, nb::handle owner,
                     bool writable);
nb::object ArrayOver(const void* data, PixelType type, std::vector<std::size_t> shape,
                     nb::handle owner, bool writable);
nb::dlpack::dtype NumpyTypeOf(PixelType type);
nb::object ArrayOver(const ImageBatch& image, nb::handle owner, bool writable);
// A numpy array that owns its values.
template <class T, class Type>
nb::object OwnArray(std::vector<T> values, Type type, std::vector<std::size_t> shape) {
  auto* const kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(
      kept, [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
  return ArrayOver(kept->data(), type, std::move(shape), owner, true);
}
// Calls f with a value of the C++ type for `type`.
template <class F>
decltype(auto) WithType(DType type, F&& f) {
  switch (type) {
    case DType::kInt8: return f(std::int8_t{});
    case DType::kInt16: return f(std::int16_t{});
    case DType::kInt32: return f(std::int32_t{});
    case DType::kInt64: return f(std::int64_t{});
    case DType::kUint8: return f(std::uint8_t{});
    case DType::kUint16: return f(std::uint16_t{});
    case DType::kFloat32: return f(float{});
    case DType::kFloat16: return f(Float16());
    case DType::kFloat64: break;
  }
  return f(double{});
}

// The numbers of samples that a list, a range, an array or a tensor holds, or a slice with an end.
// `what`: for messages, such as "SampleList.of() takes sample numbers". Raises TypeError.
std::vector<std::uint64_t> SampleNumbersOf(nb::handle given, const std::string& what);
// Raises TypeError that says why `given` is not an index into a dataset.
[[noreturn]] void RefuseIndex(nb::handle given);

class BatchCopies;

// A batch as Python holds it.
struct PyBatch {
  PyBatch(Batch made, std::shared_ptr<const FieldTypes> fields);
  Owned<Batch> batch;
  std::shared_ptr<const FieldTypes> types;
  std::shared_ptr<BatchCopies> copies;
};

// The default of RingOptions::hold in Python: a loop's variable still holds the last batch while
// the next one is made, and one more may lie in a list.
inline constexpr std::size_t kHold = 2;

// A conversion's source as Python gives it.
using SourceOrFolder = std::variant<ConvertSource, std::filesystem::path>;
ConvertSource SourceOf(const SourceOrFolder& given);
// Whether reading the source waits for a server.
bool IsRemote(const ConvertSource& source);

// Dataset::Open(), with a warning if the dataset's file system cannot map files.
Dataset OpenDataset(const std::filesystem::path& path, const ReadLimits& limits = {});

// LoaderMemory's members by name.
NamedNumbers MemoryOf(const LoaderMemory& memory);

// A list of steps, or their text form.
Pipeline PipelineOf(nb::handle steps);
// A list of (epoch, transform), or its text form.
std::vector<ScheduledTransform> ScheduleOf(nb::handle schedule);
// "cpu", "cuda", "cuda:1" or an object whose str() is one of these, such as a torch.device;
// None: "cpu".
Device DeviceOf(nb::handle device);

}  // namespace sluice::python
