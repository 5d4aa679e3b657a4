#include <sluice/error.h>

#include "reader/python/binding/binding.h"

namespace sluice::python {

namespace {

void Raise(PyObject* type, const Error& error) {
  // Paths are bytes; what is no UTF-8 among them is written out.
  const std::string text = error.what();
  const nb::object message = nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
  const nb::object raised = nb::handle(type)(message);
  raised.attr("code") = ErrorCodeName(error.code());
  raised.attr("file") = TextOf(error.file());
  raised.attr("place") = error.place();
  PyErr_SetObject(type, raised.ptr());
}

}  // namespace

void BindErrors(nb::module_& module) {
  static const nb::object type = nb::steal(PyErr_NewExceptionWithDoc(
      "sluice.Error",
      "Everything that a caller of Sluice can do something about. str() says what happened, to\n"
      "which file and sample, and what to do; code names the kind of error ('not found', "
      "'corrupt',\n"
      "...), file the file and place the position in it (both may be empty).",
      PyExc_RuntimeError, nullptr));
  module.attr("Error") = type;
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      try {
        Raise(type.ptr(), error);
      } catch (nb::python_error& raising) {
        raising.restore();
      }
    }
  });
}

}  // namespace sluice::python
