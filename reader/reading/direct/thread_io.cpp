// Reads of blocks by a few threads that call pread(), for systems without io_uring.
//
// A read goes from waiting_ to finished_ by pointer; its memory belongs to the caller. If the
// system refuses threads, fewer do the work. Without any, Submit() reads at once, and Wait() finds
// the result as usual. ReadNow() also serves the other sources of this folder, for reads on the
// calling thread.
#include <cerrno>
#include <deque>
#include <system_error>
#include <thread>
#include <vector>

#include <unistd.h>

#include "format/mutex.h"
#include "reader/reading/direct/block_io.h"

namespace sluice {

void ReadNow(BlockRead& read) noexcept {
  while (read.done < read.bytes) {
    const ssize_t got = pread(read.file, read.to + read.done, read.bytes - read.done,
                              static_cast<off_t>(read.offset + read.done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) read.error = errno;
    if (got <= 0) return;
    read.done += static_cast<std::size_t>(got);
  }
}

namespace {

class ThreadIo : public BlockIo {
 public:
  explicit ThreadIo(unsigned threads) {
    threads_.reserve(threads);
    try {
      for (unsigned t = 0; t < threads; ++t)
        threads_.emplace_back([this] { Run(); });
    } catch (const std::system_error&) {
      return;  // fewer threads are enough; without any, Submit() reads itself
    }
  }
  ~ThreadIo() override { Stop(); }

  void Submit(BlockRead& read) override {
    if (threads_.empty()) {
      ReadNow(read);
      const MutexLock lock(mutex_);
      finished_.push_back(&read);
      return;
    }
    {
      const MutexLock lock(mutex_);
      waiting_.push_back(&read);
    }
    work_.NotifyOne();
  }

  BlockRead& Wait() override {
    const MutexLock lock(mutex_);
    while (finished_.empty())
      finished_one_.Wait(mutex_);
    BlockRead& read = *finished_.front();
    finished_.pop_front();
    return read;
  }

 private:
  void Run() {
    const MutexLock lock(mutex_);
    for (;;) {
      while (!stopping_ && waiting_.empty())
        work_.Wait(mutex_);
      if (waiting_.empty()) return;
      BlockRead& read = *waiting_.front();
      waiting_.pop_front();
      {
        const MutexUnlock unlocked(mutex_);
        ReadNow(read);
      }
      finished_.push_back(&read);
      finished_one_.NotifyOne();
    }
  }

  void Stop() {
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
    }
    work_.NotifyAll();
    for (std::thread& thread : threads_)
      thread.join();
  }

  Mutex mutex_;
  Condition work_;
  Condition finished_one_;
  std::deque<BlockRead*> waiting_ GUARDED_BY(mutex_);
  std::deque<BlockRead*> finished_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<BlockIo> MakeThreadIo(unsigned threads) {
  return std::make_unique<ThreadIo>(threads);
}

}  // namespace sluice
