// How this module gives up Python's lock (the GIL) and takes it again, also while the interpreter
// ends.
//
// When the interpreter ends while other threads run, CPython before 3.14 ends each thread that asks
// for the GIL by pthread_exit(), which unwinds its stack. C++ frames do not survive that: the first
// destructor or `catch (...)` on the way calls std::terminate(). So a thread that asks in vain
// sleeps here for ever, as CPython lets it do from 3.14 on, and the process ends without it.
// nanobind's own guards are noexcept and would terminate, so nothing in this module uses them.
// Where Python code that this module called loses the GIL, the first handler that is met puts the
// thread to sleep: that of RunPython(), the translator of exceptions, or the one for
// std::terminate().
//
// A little earlier Python calls what was registered with `atexit`, and the module closes all
// loaders there. A thread that plays one gets SystemExit then, which `threading` passes over in
// silence, instead of an error about a closed loader that the thread has not closed.
#pragma once

#include <condition_variable>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <cxxabi.h>
#include <nanobind/nanobind.h>

#include <sluice/shown_path.h>

namespace sluice::python {

// Gives up the GIL while it lives.
class Released {
 public:
  Released() : state_(PyEval_SaveThread()) {}
  ~Released();
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* const state_;
};

// Holds the GIL while it lives, on any thread.
class Acquired {
 public:
  Acquired();
  ~Acquired() { PyGILState_Release(state_); }
  Acquired(const Acquired&) = delete;
  Acquired& operator=(const Acquired&) = delete;

 private:
  PyGILState_STATE state_;
};

// Whatever may read a file or wait for a server lets Python's other threads run.
template <class F>
auto WithoutGil(F&& work) {
  const Released released;
  return std::forward<F>(work)();
}

// Work that another thread does; see Interruptibly().
class Handed {
 public:
  virtual ~Handed() = default;

 protected:
  // Starts a thread that calls Work(), and waits until it has, or Python raises an exception of a
  // signal, such as KeyboardInterrupt. The thread then continues alone with its copy of the
  // pointer.
  static void Run(const std::shared_ptr<Handed>& handed);

 private:
  virtual void Work() = 0;  // throws nothing
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
};

template <class F>
class HandedCall final : public Handed {
 public:
  explicit HandedCall(F work) : work_(std::move(work)) {}
  static auto Result(F work) {
    const auto handed = std::make_shared<HandedCall>(std::move(work));
    Run(handed);
    if (handed->raised_) std::rethrow_exception(handed->raised_);
    return std::move(*handed->result_);
  }

 private:
  void Work() override {
    try {
      result_.emplace(work_());
    } catch (...) {
      raised_ = std::current_exception();
    }
  }
  F work_;
  std::optional<std::invoke_result_t<F&>> result_;
  std::exception_ptr raised_;
};

// The same for what may wait long for a server, if `remote`: Ctrl-C ends the wait at once. The work
// itself cannot be ended at once, so it continues by itself, and its result is dropped. It must own
// all that it uses.
template <class F>
auto Interruptibly(bool remote, F work) {
  return remote ? HandedCall<F>::Result(std::move(work)) : WithoutGil(work);
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
bool HasEnded();
// Raises SystemExit if the interpreter has begun to end and another thread ends it.
void LeaveIfEnded();

}  // namespace sluice::python
