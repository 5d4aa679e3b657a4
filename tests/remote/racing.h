// Two programs that change one dataset in a store at the same time.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <thread>

#include <sluice/dataset.h>
#include <sluice/dataset_edit.h>
#include <sluice/error.h>

#include "tests/catch.h"

namespace sluice::test {

// Two threads each delete a sample. Checks that the dataset lacks exactly the samples of the
// threads that were not refused. Returns how many were refused.
inline int RaceDeletions(const std::string& url) {
  std::array<std::optional<ErrorCode>, 2> refused;
  std::array<std::string, 2> sentences;
  std::array<std::thread, 2> threads;
  for (std::size_t t = 0; t < threads.size(); ++t) {
    threads[t] = std::thread([&, t] {
      try {
        DeleteSamples(url, {.samples = {t}, .keys = {}, .note = {}});
      } catch (const Error& error) {
        refused[t] = error.code();
        sentences[t] = error.what();
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  const Dataset dataset = Dataset::Open(url);
  int lost = 0;
  for (std::size_t t = 0; t < threads.size(); ++t) {
    CAPTURE(t, sentences[t]);
    CHECK(dataset.IsDeleted(t) != refused[t].has_value());
    if (refused[t]) CHECK(*refused[t] == ErrorCode::kState);
    lost += refused[t] ? 1 : 0;
  }
  CHECK(lost < 2);
  CHECK(ListVersions(url).size() == std::size_t(3 - lost));
  return lost;
}

}  // namespace sluice::test
