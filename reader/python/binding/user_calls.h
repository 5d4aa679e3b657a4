// The Python objects that a loader keeps: the user's functions, which its threads call, and what
// they raised.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "reader/python/binding/binding.h"

namespace sluice::python {

// The Loader shows its objects to Python's garbage collector, so each object is referenced once
// here, and by no other C++ object. The GIL guards the members; without a GIL, mutex_ does. While
// it is locked, no Python code runs. Only threads that are attached to the interpreter change the
// members, and the collector stops these, so that it needs no lock.
class UserCalls : public std::enable_shared_from_this<UserCalls> {
 public:
  UserCalls() = default;
  ~UserCalls();  // any thread
  UserCalls(const UserCalls&) = delete;
  UserCalls& operator=(const UserCalls&) = delete;

  // Holds a null object once Clear() was called, unless it comes from KeepForNative().
  using Kept = std::shared_ptr<const nb::object>;
  // Keeps an object as long as a copy of the result lives, which any thread may drop.
  Kept Keep(nb::object object);
  // The objects that a compiled function needs: kept as long as the result lives, whatever Clear()
  // drops.
  Kept KeepForNative(nb::object object);
  // The object that is kept, or a null object.
  static nb::object Get(const Kept& kept);
  int Traverse(visitproc visit, void* arg) const;
  void Clear();

  // While the object lives, its thread is inside one of the functions.
  class Running {
   public:
    Running(UserCalls& calls, nb::handle function);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    friend class UserCalls;
    UserCalls& calls_;
    const nb::handle function_;
    const std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  };
  // Whether a thread is inside a function of any loader.
  static bool AnyRunning() noexcept { return all_running_ > 0; }
  // Whether there are functions that may be running.
  bool has_functions() const;
  // A function that was called at least that long ago and has not returned; a null object if all
  // functions have returned or were called later.
  nb::object StuckFor(std::chrono::milliseconds least) const;
  bool IsRunningHere() const noexcept;
  // Throws Error(kState) if this thread is inside one of the functions. For calls that wait for the
  // functions to end.
  void RequireOutside() const;

  // Calls a function. What it raises becomes a std::exception with a line of text, and is kept for
  // Play().
  template <class... Arguments>
  nb::object Call(const Kept& function, Arguments&&... arguments) {
    return With(function,
                [&](nb::handle called) { return called(std::forward<Arguments>(arguments)...); });
  }
  // The same, with `code`, which calls the function that it gets, and may use its result: a
  // function with `yield` runs only then.
  template <class Code>
  auto With(const Kept& function, Code code) {
    if (IsInterrupted()) {
      throw std::runtime_error("interrupted");  // Play() is about to raise it in this thread
    }
    // While there is this further reference, the garbage collector sees that the function is used.
    const nb::object called = Get(function);
    if (!called.is_valid()) throw std::runtime_error("the Loader is closed");
    const Running running(*this, called);
    try {
      return RunPython([&] { return code(called); });
    } catch (nb::python_error& error) {
      throw std::runtime_error(Note(error));
    }
  }
  // Does work that may call the functions, without the GIL. If a function raised something that is
  // not an Exception (KeyboardInterrupt, SystemExit), raises that as it is. If the work throws an
  // Error that comes from a function's exception, raises the Error with that exception as its
  // cause. If the interpreter has begun to end in the meantime, raises SystemExit. `remote`: as for
  // Interruptibly().
  template <class F>
  auto Play(F work, bool remote = false) {
    RequireOutside();
    NoteWaiting();
    try {
      auto result = Interruptibly(remote, std::move(work));
      RaiseInterrupt();
      return result;
    } catch (const Error& error) {
      RaiseInterrupt();
      RaiseWithCause(error);
    }
  }

 private:
  Kept KeepIn(std::list<nb::object>& objects, nb::object object);
  std::string Note(nb::python_error& error);
  void NoteWaiting();
  // Whether this thread entered Play() last, and has an exception to raise there.
  bool IsInterrupted() const;
  void RaiseInterrupt();
  [[noreturn]] void RaiseWithCause(const Error& error);

  static inline std::atomic<unsigned> all_running_{0};
  static inline nb::ft_mutex mutex_;  // one for all, because Get() does not know the owner
  std::list<nb::object> objects_, native_;
  // The latest exceptions that functions raised, each with its line of text (Note()).
  std::deque<std::pair<std::string, nb::object>> causes_;
  nb::object raised_;      // an exception that is not an Exception, until it is passed on
  std::thread::id waits_;  // the thread that entered Play() last
  std::vector<const Running*> running_;  // on any thread
};

using StatedSampleFunction =
    Stated<"collections.abc.Callable[[MutableSample], object] | NativeFunction">;
using StatedBatchFunction =
    Stated<"collections.abc.Callable[[MutableBatch], object] | NativeFunction">;
using StatedThreadSetup = Stated<"collections.abc.Callable[[int], object]">;
using StatedBatchSampler = Stated<
    "collections.abc.Callable[[int, int], "
    "collections.abc.Iterable[collections.abc.Iterable[typing.SupportsIndex]]]">;

// The functions of a Loader, from the objects that Python gives; empty for None.
SampleFunction SampleFunctionOf(nb::object function, const std::shared_ptr<UserCalls>& calls,
                                std::shared_ptr<const FieldTypes> types);
BatchFunction BatchFunctionOf(nb::object function, const std::shared_ptr<UserCalls>& calls,
                              std::shared_ptr<const FieldTypes> types);
ThreadSetup ThreadSetupOf(nb::object function, const std::shared_ptr<UserCalls>& calls);
// The result of a function that composes batches and gives each of them a size.
struct SizedBatches {
  nb::object batches;
  std::vector<std::uint32_t> sizes;
};
// A function of (seed, epoch) that returns lists of sample numbers, or SizedBatches.
BatchSampler BatchSamplerOf(nb::object function, const std::shared_ptr<UserCalls>& calls);

// Slots of a type by which the garbage collector follows the references that T::Traverse() visits,
// and breaks a cycle by T::Clear().
template <class T>
struct Collected {
  static int Traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<T>(self)->Traverse(visit, arg) : 0;
  }
  static int Clear(PyObject* self) {
    if (nb::inst_ready(self)) nb::inst_ptr<T>(self)->Clear();
    return 0;
  }
  static inline PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&Traverse)},
                                       {Py_tp_clear, reinterpret_cast<void*>(&Clear)},
                                       {0, nullptr}};
};

// OrderOptions with the function that Python gave: each Loader makes a BatchSampler of it.
struct PyOrder : OrderOptions {
  std::optional<StatedBatchSampler> batches_function = {};
  int Traverse(visitproc visit, void* arg) const {
    if (batches_function) Py_VISIT(batches_function->ptr());
    return 0;
  }
  void Clear() { batches_function.reset(); }
};

}  // namespace sluice::python
