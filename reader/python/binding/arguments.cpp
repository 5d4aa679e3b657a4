// The errors for calls with wrong arguments. nanobind lists whole signatures; here, each function
// gets a last overload, which is reached if no other fits and says which argument is wrong.
#include "reader/python/binding/binding.h"

namespace sluice::python {

namespace {

// nanobind tries all overloads without conversions, then all with them. An argument of this type
// fits only in the second round.
struct OnSecondTry {
  nb::handle value;
};

}  // namespace

}  // namespace sluice::python

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

nb::object SignatureOf(nb::handle function) {
  return function.attr("__nb_signature__")[nb::int_(0)][nb::int_(0)];
}

void AddToFunction(nb::handle scope, const std::string& name) {
  nb::cpp_function_def(
      [name, signature = SignatureOf(scope.attr(name.c_str()))](
          OnSecondTry first, const nb::args& more, const nb::kwargs& named) {
        Refuse(name, signature, first.value, more, named);
      },
      nb::scope(scope), nb::name(name.c_str()), nb::arg().none() = nb::ellipsis(), "args"_a,
      "kwargs"_a);
}

void AddToMethod(nb::handle type, const std::string& method, const std::string& shown) {
  nb::cpp_function_def(
      [shown, signature = SignatureOf(type.attr(method.c_str()))](
          nb::handle, OnSecondTry first, const nb::args& more, const nb::kwargs& named) {
        Refuse(shown, signature, first.value, more, named);
      },
      nb::scope(type), nb::name(method.c_str()), nb::is_method(), nb::arg().none() = nb::ellipsis(),
      "args"_a, "kwargs"_a);
}

}  // namespace

void AddRefusals(nb::module_& module) {
  // The stub is made from the extension module alone, and must not list these overloads.
  if (nb::cast<std::string>(module.attr("__name__")) == "_sluice") return;
  const auto is_ours = [](nb::handle function) {
    return nb::hasattr(function, "__nb_signature__");
  };
  for (const auto [key, value] : nb::dict(module.attr("__dict__"))) {
    const std::string name = nb::cast<std::string>(key);
    if (nb::isinstance<nb::type_object>(value)) {
      if (is_ours(value.attr("__init__"))) AddToMethod(value, "__init__", name);
    } else if (is_ours(value)) {
      AddToFunction(module, name);
    }
  }
  AddToFunction(module.attr("ConvertSource"), "annotated");
  AddToFunction(module.attr("SampleList"), "weighted");
  nb::cpp_function_def([](nb::handle, OnSecondTry index) { RefuseIndex(index.value); },
                       nb::scope(module.attr("Dataset")), nb::name("__getitem__"), nb::is_method(),
                       "index"_a);
  for (const char* const method : {"epoch", "set_epoch", "row"})
    AddToMethod(module.attr("Loader"), method, std::string("Loader.") + method);
}

}  // namespace sluice::python
