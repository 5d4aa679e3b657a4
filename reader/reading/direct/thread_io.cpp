#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <unistd.h>

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
    try {
      for (unsigned t = 0; t < threads; ++t)
        threads_.emplace_back([this] { Run(); });
    } catch (const std::system_error&) {
      return;  // fewer do; with none, whoever submits a read carries it out
    }
  }
  ~ThreadIo() override { Stop(); }

  void Submit(BlockRead& read) override {
    if (threads_.empty()) {
      ReadNow(read);
      finished_.push_back(&read);
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(&read);
    }
    work_.notify_one();
  }

  BlockRead& Wait() override {
    std::unique_lock lock(mutex_);
    finished_one_.wait(lock, [this] { return !finished_.empty(); });
    BlockRead& read = *finished_.front();
    finished_.pop_front();
    return read;
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      BlockRead& read = *waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      ReadNow(read);
      lock.lock();
      finished_.push_back(&read);
      finished_one_.notify_one();
    }
  }

  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_.notify_all();
    for (std::thread& thread : threads_)
      thread.join();
  }

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable finished_one_;
  std::deque<BlockRead*> waiting_;
  std::deque<BlockRead*> finished_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<BlockIo> MakeThreadIo(unsigned threads) {
  return std::make_unique<ThreadIo>(threads);
}

}  // namespace sluice
