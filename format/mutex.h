// A mutex with annotations for clang's -Wthread-safety, which checks that the mutex is held
// wherever a guarded field is used or a function that requires the mutex is called. Other compilers
// see a std::mutex without annotations.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define SLUICE_ANNOTATE(attribute) __attribute__((attribute))
#else
#define SLUICE_ANNOTATE(attribute)
#endif
// Marks a field that is touched only while the mutex is held.
#define GUARDED_BY(mutex) SLUICE_ANNOTATE(guarded_by(mutex))
// Marks a function that is called only while the mutex is held.
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

// Holds the mutex for the scope.
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

// Releases a held mutex for the scope.
class SLUICE_ANNOTATE(scoped_lockable) MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) SLUICE_ANNOTATE(release_capability(mutex)) : mutex_(mutex) {
    mutex_.Unlock();
  }
  // The analysis reads "release" as "end of the scope"; here the mutex is locked again.
  ~MutexUnlock() SLUICE_ANNOTATE(release_capability()) { mutex_.Lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex& mutex_;
};

class Condition {
 public:
  // Call it with the mutex held. It releases the mutex while it waits, and holds the mutex again
  // when it returns, which may be without a notification.
  void Wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // Like Wait(), but returns after `most` at the latest.
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
