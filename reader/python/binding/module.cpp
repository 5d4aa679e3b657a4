#include <pthread.h>

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

NB_MODULE(_sluice, module) {
  using namespace sluice::python;
  pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  module.attr("__version__") = sluice::kLibraryVersion;
  BindErrors(module);
  BindSchema(module);
  BindSteps(module);
  BindUserFunctions(module);
  BindDataset(module);
  BindStats(module);
  BindOptions(module);
  BindBatch(module);
  BindMixture(module);
  BindLoader(module);
  BindWriter(module);
  BindSource(module);
  BindConvert(module);
  AddRefusals(module);
}
