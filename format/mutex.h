// A mutex that clang's -Wthread-safety knows: which fields it guards, and which functions need it
// held. For other compilers the annotations are nothing, and the rest is std::mutex.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define SLUICE_ANNOTATE(attribute) __attribute__((attribute))
#else
#define SLUICE_ANNOTATE(attribute)
#endif
// Of a field: touched only while the mutex is held.
#define GUARDED_BY(mutex) SLUICE_ANNOTATE(guarded_by(mutex))
// Of a function: called only while the mutex is held.
#define REQUIRES(mutex) SLUICE_ANNOTATE(requires_capability(mutex))

namespace sluice {

class SLUICE_ANNOTATE(capability("mutex")) Mutex {
 public:
  void Lock() SLUICE_ANNOTATE(acquire_capability()) { mutex_.lock(); }
  void Unlock() SLUICE_ANNOTATE(release_capability()) { mutex_.unlock(); }

 private:
  friend class Condition;
  std::mutex mutex_;
};

// Held for the scope.
class SLUICE_ANNOTATE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) SLUICE_ANNOTATE(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() SLUICE_ANNOTATE(release_capability()) { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// The reverse: not held for the scope, by a function that holds it.
class SLUICE_ANNOTATE(scoped_lockable) MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) SLUICE_ANNOTATE(release_capability(mutex)) : mutex_(mutex) {
    mutex_.Unlock();
  }
  // The analysis takes "release" for "end of the scope": it is locked again.
  ~MutexUnlock() SLUICE_ANNOTATE(release_capability()) { mutex_.Lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex& mutex_;
};

class Condition {
 public:
  // The mutex is held before and after, and not meanwhile. May return without being notified.
  void Wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // The same, and returns after that time at the latest.
  void WaitFor(Mutex& mutex, std::chrono::milliseconds most) REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait_for(lock, most);
    lock.release();
  }
  void NotifyOne() noexcept { condition_.notify_one(); }
  void NotifyAll() noexcept { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace sluice
