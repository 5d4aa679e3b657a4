// Runs the set-up of each decoder thread on that thread, and lets the thread that starts them wait
// until all are through.
#pragma once

#include <memory>
#include <new>
#include <optional>

#include <sluice/error.h>

#include "format/disk/system_error.h"
#include "format/mutex.h"

namespace sluice {

class ThreadSetups {
 public:
  class Gate {
   public:
    explicit Gate(unsigned threads) : left_(threads) {}
    // False: it threw, and the thread has nothing to do.
    template <class SetUp>
    bool Run(const SetUp& set_up) {
      std::optional<Error> error;
      try {
        set_up();
      } catch (const Error& thrown) {
        error = thrown;
      } catch (const std::bad_alloc&) {
        error = OutOfMemory();
      }
      const bool done = !error;
      const MutexLock lock(mutex_);
      if (error && !error_) error_ = std::move(error);
      if (--left_ == 0) through_.NotifyAll();
      return done;
    }

   private:
    friend class ThreadSetups;
    Mutex mutex_;
    Condition through_;
    unsigned left_ GUARDED_BY(mutex_);
    std::optional<Error> error_ GUARDED_BY(mutex_);
  };

  explicit ThreadSetups(unsigned threads) : gate_(std::make_shared<Gate>(threads)) {}
  const std::shared_ptr<Gate>& gate() const noexcept { return gate_; }
  // Throws the first Error of a set-up, once all are through.
  void Await() {
    const MutexLock lock(gate_->mutex_);
    while (gate_->left_ > 0)
      gate_->through_.Wait(gate_->mutex_);
    if (gate_->error_) throw *gate_->error_;
  }

 private:
  const std::shared_ptr<Gate> gate_;  // the threads have it, too
};

}  // namespace sluice
