// sluice.Error, and the translation of the library's Error to it.
#include <sluice/error.h>

#include "reader/python/binding/binding.h"

namespace sluice::python {

namespace {

// sluice.Error; lives as long as the process.
nb::object& ErrorType() {
  static auto* const type = new nb::object();
  return *type;
}

}  // namespace

nb::object ExceptionOf(const Error& error) {
  // A path may have bytes that are not UTF-8; they are escaped.
  const std::string whole = error.what();
  const std::string& sentence = error.sentence();
  const std::string text =
      whole.ends_with(sentence)
          ? whole.substr(0, whole.size() - sentence.size()) + InPythonsWords(sentence)
          : whole;
  const nb::object message = nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
  nb::object raised = ErrorType()(message);
  raised.attr("code") = ErrorCodeName(error.code());
  raised.attr("file") = TextOf(error.file());
  raised.attr("place") = error.place();
  return raised;
}

void BindErrors(nb::module_& module) {
  ErrorType() = nb::steal(PyErr_NewExceptionWithDoc(
      "sluice.Error",
      "An error that a caller of Sluice can do something about. str() says what happened, to\n"
      "which file and sample, and what to do. `code` is the kind of error ('not found', "
      "'corrupt',\n"
      "...), `file` the file, and `place` the position in the file; both may be empty.",
      PyExc_RuntimeError, nullptr));
  module.attr("Error") = ErrorType();
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    // `thrown` is null if the stack is unwound without an exception: the interpreter is shutting
    // down and ends this thread, because Python code that this module called could not get the GIL
    // back.
    if (thrown == nullptr) SleepForever();
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      try {
        PyErr_SetObject(ErrorType().ptr(), ExceptionOf(error).ptr());
      } catch (nb::python_error& raising) {
        raising.restore();
      }
    }
  });
}

}  // namespace sluice::python
