// The extension module's entry, which adds all parts to the module; and the count of forks.
#include <cstdlib>

#include <pthread.h>

#include <sluice/loader_memory.h>
#include <sluice/version.h>

#include "reader/python/binding/binding.h"

namespace sluice::python {

namespace {
std::atomic<unsigned> forks{0};
}

unsigned ForkGeneration() noexcept {
  return forks.load(std::memory_order_relaxed);
}

}  // namespace sluice::python

// Python imports the module by PyInit__sluice(), below, which calls the function that nanobind
// defines here: PyInit__sluice_of_nanobind().
NB_MODULE(_sluice_of_nanobind, module) {
  using namespace sluice::python;
  pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  // When the interpreter has ended, nanobind lists the objects that are left, as leaks of this
  // module. It cannot know that another library keeps them: C++ objects of torch hold a model,
  // which holds a Trainer and its loaders, in each process that Lightning's ddp_spawn starts. So
  // only the tests ask for the list.
  nb::set_leak_warnings(std::getenv("SLUICE_LEAK_WARNINGS") != nullptr);
  module.attr("__version__") = sluice::kLibraryVersion;
  module.def("_available_memory", &sluice::AvailableMemory);  // for _instances.py
  BindErrors(module);
  BindSchema(module);
  BindSteps(module);
  BindUserFunctions(module);
  BindDataset(module);
  BindStats(module);
  BindLoaderOptions(module);
  BindBatch(module);
  BindMixture(module);
  BindLoader(module);
  BindPreprocess(module);
  BindWriter(module);
  BindSource(module);
  BindConvert(module);
  AddRefusals(module);
}

// nanobind's types, and the threads that ask for the GIL, belong to the main interpreter alone.
extern "C" NB_EXPORT PyObject* PyInit__sluice() {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) return PyInit__sluice_of_nanobind();
  PyErr_SetString(PyExc_ImportError,
                  "sluice works in the main interpreter only, and this is a sub-interpreter; use "
                  "threads, or processes started by multiprocessing's \"spawn\"");
  return nullptr;
}
