// The errors for calls with wrong arguments. nanobind's own errors list whole signatures;
// sluice/_arguments.py says which argument is wrong, and what it takes. It wraps functions and
// methods. nanobind calls constructors directly, so each of them gets a last overload here, which
// is reached if no other fits.
#include "reader/python/binding/binding.h"

namespace sluice::python {

namespace {

// nanobind tries all overloads without conversions, then all with them. An argument of this type
// fits only in the second round.
struct OnSecondTry {
  nb::handle value;
};

// The number that was refused last in this thread because the parameter's type does not hold it,
// and the range of that type. The pointer is only compared: the object may be gone.
struct Refused {
  const PyObject* number = nullptr;
  long long low = 0;
  unsigned long long high = 0;
};
thread_local Refused refused;

}  // namespace

}  // namespace sluice::python

void nanobind::detail::NoteRefused(handle number, long long low, unsigned long long high) noexcept {
  sluice::python::refused = {number.ptr(), low, high};
}

bool nanobind::detail::HoldsTruthValues(handle given) noexcept {
  if (PyBool_Check(given.ptr())) return true;
  if (PyLong_Check(given.ptr()) || PyFloat_Check(given.ptr())) return false;
  try {
    const object type = given.attr("dtype");
    const std::string name = sluice::python::Utf8Of(str(type));
    return name == "bool" || name.ends_with(".bool");
  } catch (const std::exception&) {  // it has no dtype
    return false;
  }
}

template <>
struct nanobind::detail::type_caster<sluice::python::OnSecondTry> {
  NB_TYPE_CASTER(sluice::python::OnSecondTry, const_name("object"))
  template <class Flags>
  bool from_python(handle given, Flags flags, cleanup_list*) noexcept {
    value.value = given;
    return (flags & static_cast<Flags>(cast_flags::convert)) != 0;
  }
};

namespace sluice::python {

namespace {

// Throws the error for a call. `first` is an ellipsis if nothing is given without a keyword.
[[noreturn]] void Refuse(const std::string& name, const nb::object& signature, nb::handle first,
                         const nb::args& more, const nb::kwargs& named) {
  nb::list given;
  if (!first.is(nb::ellipsis())) given.append(first);
  for (const nb::handle one : more)
    given.append(one);
  const nb::object text = nb::module_::import_("sluice._arguments")
                              .attr("refusal")(name, signature, nb::tuple(given), named);
  throw nb::type_error(Utf8Of(text).c_str());
}

void AddToConstructor(nb::handle type, const std::string& name) {
  const nb::object stated = type.attr("__init__").attr("__nb_signature__");
  nb::cpp_function_def(
      [name, signature = nb::object(stated[nb::int_(0)][nb::int_(0)])](
          nb::handle, OnSecondTry first, const nb::args& more, const nb::kwargs& named) {
        Refuse(name, signature, first.value, more, named);
      },
      nb::scope(type), nb::name("__init__"), nb::is_method(), nb::arg().none() = nb::ellipsis(),
      "args"_a, "kwargs"_a);
}

}  // namespace

void AddRefusals(nb::module_& module) {
  module.def("_refused", [] {
    return nb::make_tuple(reinterpret_cast<std::uintptr_t>(refused.number), refused.low,
                          refused.high);
  });
  module.def("_in_pythons_words",
             [](std::string text) { return InPythonsWords(std::move(text)); });  // for tests
  // The stub is made from the extension module alone, and must not list these overloads.
  if (nb::cast<std::string>(module.attr("__name__")) == "_sluice") return;
  for (const auto [key, value] : nb::dict(module.attr("__dict__"))) {
    if (nb::isinstance<nb::type_object>(value) &&
        nb::hasattr(value.attr("__init__"), "__nb_signature__"))
      AddToConstructor(value, nb::cast<std::string>(key));
  }
  nb::cpp_function_def([](nb::handle, OnSecondTry index) { RefuseIndex(index.value); },
                       nb::scope(module.attr("Dataset")), nb::name("__getitem__"), nb::is_method(),
                       "index"_a);
  const auto refuse_index = [&](const char* type, const char* words) {
    nb::cpp_function_def(
        [words](nb::handle, OnSecondTry index) {
          throw nb::type_error(
              (std::string(words) + ", not by " + Utf8Of(nb::repr(index.value))).c_str());
        },
        nb::scope(module.attr(type)), nb::name("__getitem__"), nb::is_method(), nb::arg().none());
  };
  refuse_index(
      "Batch",
      "take a batch's fields by name, such as batch[\"image\"], and its rows from a field, "
      "such as batch[\"image\"].numpy()[0]");
  refuse_index("Sample", "take a sample's fields by name, such as sample[\"image\"]");
  refuse_index("Ragged",
               "take the entries of one sample by its row, r[0], and those of all samples by "
               "r.values, which begin at r.offsets, or by r.padded()");
}

}  // namespace sluice::python
