#include "reader/python/binding/gil.h"

#include <cstdlib>
#include <exception>
#include <optional>
#include <thread>

#include <unistd.h>

namespace sluice::python {

namespace {

// The thread that ends the interpreter. Written once, with the GIL, before the handler that reads
// it is installed.
std::optional<std::thread::id>& EndedBy() {
  static std::optional<std::thread::id> thread;
  return thread;
}

std::terminate_handler terminate_before = nullptr;

// Python code that nanobind called inside a noexcept function has lost the GIL (see gil.h): its
// thread sleeps. It is recognised by having no exception and by not being the ending thread. The
// same holds for a few defects (the destructor of a joinable thread, a pure virtual call); that
// they sleep too, while the process ends, is accepted.
[[noreturn]] void SleepOrTerminate() {
  if (std::current_exception() == nullptr && EndedBy() != std::this_thread::get_id())
    SleepForever();
  terminate_before();
  std::abort();
}

}  // namespace

void SleepForever() noexcept {
  for (;;)
    pause();
}

Released::~Released() {
  try {
    PyEval_RestoreThread(state_);
  } catch (const abi::__forced_unwind&) {
    SleepForever();
  }
}

Acquired::Acquired() {
  // Once the interpreter is gone, PyGILState_Ensure() would use what it has freed.
  if (Py_IsInitialized() == 0 && EndedBy() != std::this_thread::get_id()) SleepForever();
  try {
    state_ = PyGILState_Ensure();
  } catch (const abi::__forced_unwind&) {
    SleepForever();
  }
}

void NoteEnd() {
  EndedBy() = std::this_thread::get_id();
  terminate_before = std::set_terminate(&SleepOrTerminate);
}

bool HasEnded() {
  return EndedBy().has_value();
}

void LeaveIfEnded() {
  if (!HasEnded() || EndedBy() == std::this_thread::get_id()) return;
  PyErr_SetNone(PyExc_SystemExit);
  throw nanobind::python_error();
}

}  // namespace sluice::python
