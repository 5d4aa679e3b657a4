#include "reader/python/binding/gil.h"

#include <atomic>
#include <cstdlib>
#include <exception>
#include <thread>

#include <unistd.h>

namespace sluice::python {

namespace {

// The thread that ends the interpreter; until then, no thread's id.
std::atomic<std::thread::id> ended_by;

bool EndsHere() noexcept {
  return ended_by == std::this_thread::get_id();
}

// Whether this thread has asked for the GIL in this module.
thread_local bool was_here = false;

std::terminate_handler terminate_before = nullptr;

// The handler for std::terminate(). A thread sleeps if it has lost the GIL in Python code that
// nanobind called inside a noexcept function (see gil.h). Such a thread has no exception, and is
// not the ending thread. A few defects (destroying a joinable thread, a pure virtual call) look the
// same; their threads sleep, too, which is acceptable while the process ends. A thread of another
// library terminates the process as it would without this module: if it slept, it might hold a lock
// that the ending thread waits for.
[[noreturn]] void SleepOrTerminate() {
  if (was_here && std::current_exception() == nullptr && !EndsHere()) SleepForever();
  terminate_before();
  std::abort();
}

// Once the interpreter is gone, PyGILState_Ensure() and PyEval_RestoreThread() would use memory
// that it has freed.
void SleepIfGone() noexcept {
  if (Py_IsInitialized() == 0 && HasEnded() && !EndsHere()) SleepForever();
}

}  // namespace

void SleepForever() noexcept {
  for (;;)
    pause();
}

Released::~Released() {
  was_here = true;
  SleepIfGone();
  try {
    PyEval_RestoreThread(state_);
  } catch (const abi::__forced_unwind&) {
    SleepForever();
  }
}

Acquired::Acquired() {
  was_here = true;
  SleepIfGone();
  try {
    state_ = PyGILState_Ensure();
  } catch (const abi::__forced_unwind&) {
    SleepForever();
  }
}

void NoteEnd() {
  ended_by = std::this_thread::get_id();
  terminate_before = std::set_terminate(&SleepOrTerminate);
}

bool HasEnded() {
  return ended_by.load() != std::thread::id();
}

void LeaveIfEnded() {
  if (!HasEnded() || EndsHere()) return;
  PyErr_SetNone(PyExc_SystemExit);
  throw nanobind::python_error();
}

}  // namespace sluice::python
