#include "format/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace sluice {

void ParallelFor(unsigned threads, std::size_t count, const std::stop_token& stop,
                 const std::function<void(unsigned worker, std::size_t index)>& body) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  std::mutex mutex;
  std::exception_ptr first_error;
  const auto work = [&](unsigned worker) {
    while (!failed && !stop.stop_requested()) {
      const std::size_t index = next++;
      if (index >= count) return;
      try {
        body(worker, index);
      } catch (...) {
        failed = true;
        const std::lock_guard lock(mutex);
        if (!first_error) first_error = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> workers;
    const auto all = std::min<std::size_t>(threads, count);
    workers.reserve(all);
    try {
      for (std::size_t worker = 1; worker < all; ++worker)
        workers.emplace_back([&work, worker] { work(static_cast<unsigned>(worker)); });
    } catch (const std::system_error&) {
      // The calling thread does the work of the threads that could not be started.
    }
    work(0);
  }
  if (first_error) std::rethrow_exception(first_error);
}

}  // namespace sluice
