// How this module gives up Python's lock (the GIL) and takes it again, also while the interpreter
// ends.
//
// When the interpreter ends while other threads run, CPython before 3.14 ends each thread that asks
// for the GIL by pthread_exit(), which unwinds its stack. C++ frames do not survive that: the first
// destructor or `catch (...)` on the way calls std::terminate(). So a thread that asks for the GIL
// and does not get it sleeps here forever, as it does in CPython from 3.14 on, and the process ends
// without waiting for it. nanobind's own guards are noexcept and would terminate, so nothing in
// this module uses them. If Python code that this module called loses the GIL, the first handler
// that the unwinding reaches puts the thread to sleep: the one in RunPython(), the translator of
// exceptions, or the one for std::terminate().
//
// Free-threaded Python has no GIL. A thread that runs Python code is then "attached", as are any
// number of others, and the same calls attach and detach it. A thread that waits for another must
// still detach, because the garbage collector stops all attached threads at points where they run
// Python code. What the GIL guards elsewhere, a mutex of nanobind's guards there (nb::ft_mutex,
// which does nothing if there is a GIL), or a critical section of the object.
//
// A little earlier, Python calls the functions that were registered with `atexit`, where the module
// closes all loaders. A thread that plays one then gets SystemExit, which `threading` ignores
// silently, instead of an error about a closed loader that the thread has not closed.
#pragma once

#include <chrono>
#include <filesystem>
#include <future>
#include <thread>
#include <type_traits>
#include <utility>

#include <cxxabi.h>
#include <nanobind/nanobind.h>

#include <sluice/shown_path.h>

namespace sluice::python {

// Gives up the GIL while the object lives.
class Released {
 public:
  Released() : state_(PyEval_SaveThread()) {}
  ~Released();
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* const state_;
};

// Holds the GIL while the object lives, on any thread.
class Acquired {
 public:
  Acquired();
  ~Acquired() { PyGILState_Release(state_); }
  Acquired(const Acquired&) = delete;
  Acquired& operator=(const Acquired&) = delete;

 private:
  PyGILState_STATE state_;
};

// Makes a new object belong to no thread. Without a GIL, an object that its thread shares is freed
// only when that thread runs Python code again, even if another thread dropped the last reference.
// So a batch would keep its slot while the thread that took it waits for something else.
inline nanobind::object OfNoThread(nanobind::object made) {
#ifdef Py_GIL_DISABLED
  const Py_ssize_t references = Py_REFCNT(made.ptr());
  made.ptr()->ob_tid = _Py_UNOWNED_TID;
  Py_SET_REFCNT(made.ptr(), references);  // counts all of them as references of other threads
#endif
  return made;
}

// Does the work without the GIL. All work that may read a file or wait for a server goes through
// here, so that Python's other threads can run.
template <class F>
auto WithoutGil(F&& work) {
  const Released released;
  return std::forward<F>(work)();
}

// Does the work without the GIL. If `remote`, the work may wait long for a server: then another
// thread does it, and an exception of a signal, such as KeyboardInterrupt, ends the wait at once.
// The work itself cannot be ended at once, so it continues by itself, and its result is dropped. So
// `work` must own all that it uses.
template <class F>
auto Interruptibly(bool remote, F work) {
  if (!remote) return WithoutGil(work);
  constexpr std::chrono::milliseconds kSignalPoll(50);
  std::packaged_task<std::invoke_result_t<F&>()> task(std::move(work));
  auto result = task.get_future();
  std::thread(std::move(task)).detach();
  while (WithoutGil([&] { return result.wait_for(kSignalPoll); }) != std::future_status::ready)
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
  return result.get();
}
inline bool IsRemote(const std::filesystem::path& dataset) {
  return IsStoreUrl(dataset.string());
}

[[noreturn]] void SleepForever() noexcept;

// Runs Python code from a thread of C++, with the GIL.
template <class F>
auto RunPython(F&& code) {
  try {
    return std::forward<F>(code)();
  } catch (const abi::__forced_unwind&) {
    SleepForever();  // the code lost the GIL, and the interpreter ended meanwhile
  }
}

// Called once, when the interpreter begins to end, by the thread that ends it.
void NoteEnd();
// Whether the interpreter has begun to end.
bool HasEnded();
// Raises SystemExit if the interpreter has begun to end and another thread ends it.
void LeaveIfEnded();

}  // namespace sluice::python
