// Reads ranges of objects, waits for them, and keeps their bytes or errors.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <sluice/error.h>

#include "format/remote/object_store.h"

namespace sluice::test {

// The outcome of one read: bytes, or an error.
class Reading {
 public:
  Reading() : state_(std::make_shared<State>()) {}

  // A read of the range. Its functions record what arrives.
  RangeRead Range(const std::string& object, std::uint64_t offset, std::uint64_t bytes,
                  const std::string& etag = "", std::uint64_t urgency = 0) const {
    RangeRead read{object, offset, bytes, etag, {}, urgency, {}, {}};
    read.take = [state = state_](Bytes more) {
      const std::lock_guard lock(state->mutex);
      state->content += AsText(more);
      state->changed.notify_all();
    };
    read.done = [state = state_](const Error* error) {
      const std::lock_guard lock(state->mutex);
      ++state->ends;
      if (error != nullptr) state->failure.emplace(*error);
      state->changed.notify_all();
    };
    return read;
  }
  // Waits until the read has ended. Throws the read's error.
  std::string Content() const {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->ends > 0; });
    if (state_->failure) state_->failure->Throw();
    return state_->content;
  }
  void AwaitBytes(std::size_t bytes) const {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->content.size() >= bytes; });
  }
  int ends() const {
    const std::lock_guard lock(state_->mutex);
    return state_->ends;
  }

  // A copy of an error, made of its parts: copies of an Error share a text, and the thread
  // sanitizer does not see libstdc++'s reference count.
  struct Failure {
    explicit Failure(const Error& error)
        : code(error.code()),
          file(error.file()),
          place(error.place()),
          sentence(error.sentence()) {}
    [[noreturn]] void Throw() const { throw Error(code, file, place, sentence); }
    ErrorCode code;
    std::string file, place, sentence;
  };

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::string content;
    int ends = 0;
    std::optional<Failure> failure;
  };
  std::shared_ptr<State> state_;
};

inline std::string ReadRange(ObjectStore& store, const std::string& object, std::uint64_t offset,
                             std::uint64_t bytes, const std::string& etag = "") {
  const Reading reading;
  store.Read(reading.Range(object, offset, bytes, etag));
  return reading.Content();
}

// Pseudo-random bytes, the same in each call.
inline std::string Pattern(std::size_t bytes) {
  std::string text(bytes, '\0');
  std::uint32_t state = 1;
  for (char& c : text) {
    state = state * 1664525 + 1013904223;
    c = static_cast<char>(state >> 24);
  }
  return text;
}

inline std::string TextOf(const std::vector<std::byte>& bytes) {
  return std::string(AsText(bytes));
}

}  // namespace sluice::test
