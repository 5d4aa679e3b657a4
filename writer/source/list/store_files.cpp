// The store calls take() and done() on its own thread, maybe after this object is gone: so they own
// the Fetch and Shared. A fetch's content belongs to that thread until `done` is set under the
// mutex. BeginExpected() and TakeExpected() are called with the mutex held; Begin() may be, since
// the store calls back only on its own thread.
// Fetches ahead are limited in bytes and in number, and only a reader makes room for more: an
// object that is expected and never read would keep its room, hence Unexpect().
// Await() sorts errors: an object that is gone, damaged or archived gives an Error, all else a
// StoreFault.
#include "writer/source/list/store_files.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "format/disk/system_error.h"
#include "format/parallel.h"
#include "writer/source/list/source_list.h"

namespace sluice {

namespace {

constexpr std::size_t kMaxFetches = 256;  // objects fetched ahead
constexpr unsigned kListing = 16;         // folders at a time

}  // namespace

StoreFiles::StoreFiles(std::shared_ptr<ObjectStore> store, std::stop_token stop)
    : stop_(std::move(stop)),
      store_(std::move(store)),
      on_stop_(stop_, [this] { store_->StopCalls(); }) {}

FolderTree StoreFiles::List(std::uint64_t max_bytes) const {
  std::vector<std::string> folders = {""};
  std::vector<std::vector<WalkedFile>> listed(1);
  std::atomic<std::uint64_t> bytes{0};
  const auto into = [this, &bytes, max_bytes](std::vector<WalkedFile>& files) {
    return [this, &bytes, max_bytes, &files](std::string_view object, const ObjectInfo& info) {
      if (stop_.stop_requested()) ThrowStopped();
      if ((bytes += sizeof(WalkedFile) + object.size()) > max_bytes) {
        throw Error(ErrorCode::kLimit, store_->url(),
                    "holds so many objects that their list takes more than " +
                        std::to_string(max_bytes >> 20) +
                        " MiB of memory; convert its folders one by one, give a table of its "
                        "pictures (--table), or store them in archives");
      }
      files.push_back({std::string(object), info.bytes});
    };
  };
  // A server lists a folder's pages one after another, so several folders are listed at a time. To
  // find several, first goes down while there is a single sub-folder and nothing next to it.
  while (folders.size() == 1 && (folders[0].empty() || listed[0].empty()))
    folders = store_->ListFolder(std::string(folders[0]), into(listed[0]));
  listed.resize(1 + folders.size());
  ParallelFor(kListing, folders.size(), stop_,
              [&](unsigned, std::size_t i) { store_->List(folders[i], into(listed[1 + i])); });
  if (stop_.stop_requested()) ThrowStopped();
  FolderTree tree;
  IgnoredFiles ignored;
  for (std::vector<WalkedFile>& files : listed) {
    for (WalkedFile& file : files) {
      if (ignored.Take(file.key, tree.passed_over)) continue;
      AddFoldersOf(file.key, tree.folders);
      if (file.key.ends_with('/')) continue;  // some tools make such an object for a folder
      tree.files.push_back(std::move(file));
    }
    files = {};
  }
  std::ranges::sort(tree.files, {}, &WalkedFile::key);
  if (tree.files.empty() && tree.passed_over.empty()) {
    throw Error(ErrorCode::kNotFound, store_->url(),
                "no object's name begins with this; look at the bucket's and the folder's name");
  }
  return tree;
}

Look StoreFiles::LookInto(const std::string& key, std::uint64_t bytes) {
  if (stop_.stop_requested()) ThrowStopped();
  Look look;
  try {
    look.bytes = bytes == kUnknownBytes ? store_->Head(key).bytes : bytes;
    const std::uint64_t start = std::min<std::uint64_t>(look.bytes, kSniffBytes);
    if (start == 0) return look;
    const std::shared_ptr<Fetch> fetch = Begin(key, start);
    Await(*fetch);
    look.sniffed = Sniff(fetch->content);
    look.changed = fetch->info->changed;
  } catch (const StoreFault&) {
    throw;
  } catch (const Error& error) {
    if (!SaysDataIsLost(error)) throw;
    look.trouble = error.sentence();
  }
  return look;
}

StoreFiles::Ahead::Ahead(const SourceList& list, std::uint64_t count, Wanted wanted)
    : files_(list.store.get()) {
  if (files_ == nullptr) return;
  const std::unique_lock lock(files_->shared_->mutex);
  files_->wanted_ = std::move(wanted);
  files_->next_ = 0;
  files_->count_ = count;
  files_->BeginExpected();
}

StoreFiles::Ahead::~Ahead() {
  if (files_ == nullptr) return;
  const std::unique_lock lock(files_->shared_->mutex);
  files_->wanted_ = nullptr;
  files_->next_ = files_->count_ = 0;
  files_->ahead_.clear();  // fetches under way end by themselves
  files_->ahead_bytes_ = 0;
}

void StoreFiles::Read(const std::string& key, std::uint64_t bytes, std::vector<std::byte>& content,
                      const std::atomic<bool>* give_up) {
  content.clear();
  if (bytes == 0) return;
  std::shared_ptr<Fetch> fetch;
  {
    const std::unique_lock lock(shared_->mutex);
    fetch = TakeExpected(key, bytes);
    if (fetch == nullptr) fetch = Begin(key, bytes);
    BeginExpected();
  }
  Await(*fetch, give_up);
  // 0: the server does not say. The range was answered in full, so at least these bytes are there.
  if (fetch->info->bytes != bytes && fetch->info->bytes != 0) {
    throw Error(ErrorCode::kIo, "changed its size from " + std::to_string(bytes) + " to " +
                                    std::to_string(fetch->info->bytes) +
                                    " bytes since the conversion was planned");
  }
  content = std::move(fetch->content);
}

void StoreFiles::ReadStart(const std::string& key, std::uint64_t bytes,
                           std::vector<std::byte>& content) {
  const std::shared_ptr<Fetch> fetch = Begin(key, bytes);
  Await(*fetch);
  content = std::move(fetch->content);
}

void StoreFiles::Expect(const std::string& key, std::uint64_t bytes) {
  const std::unique_lock lock(shared_->mutex);
  expected_.emplace_back(key, bytes);
  ++expected_of_[key];
  BeginExpected();
}

void StoreFiles::Unexpect(const std::string& key, std::uint64_t bytes) {
  const std::unique_lock lock(shared_->mutex);
  TakeExpected(key, bytes);
  BeginExpected();
}

std::shared_ptr<StoreFiles::Fetch> StoreFiles::TakeExpected(const std::string& key,
                                                            std::uint64_t bytes) {
  const auto found = ahead_.find(key);
  if (found != ahead_.end() && found->second->bytes == bytes) {
    std::shared_ptr<Fetch> fetch = std::move(found->second);
    ahead_.erase(found);
    ahead_bytes_ -= bytes;
    return fetch;
  }
  const auto expected = expected_of_.find(key);
  if (expected != expected_of_.end() && --expected->second == 0) expected_of_.erase(expected);
  return nullptr;
}

void StoreFiles::ForgetExpected() {
  const std::unique_lock lock(shared_->mutex);
  expected_.clear();
  expected_of_.clear();
  ahead_.clear();  // fetches under way end by themselves
  ahead_bytes_ = 0;
}

std::shared_ptr<StoreFiles::Fetch> StoreFiles::Begin(const std::string& key, std::uint64_t bytes) {
  auto fetch = std::make_shared<Fetch>();
  fetch->bytes = bytes;
  fetch->content.reserve(std::min(bytes, kMaxAhead));  // a listing may claim more than comes
  RangeRead read;
  read.object = key;
  read.bytes = bytes;
  read.info = fetch->info;
  read.take = [fetch](Bytes more) {
    fetch->content.insert(fetch->content.end(), more.begin(), more.end());
  };
  read.done = [fetch, shared = shared_](const Error* error) {
    {
      const std::unique_lock lock(shared->mutex);
      if (error != nullptr) fetch->error = *error;
      fetch->lost = error != nullptr && SaysDataIsLost(*error);
      fetch->done = true;
    }
    shared->changed.notify_all();
  };
  store_->Read(std::move(read));
  return fetch;
}

void StoreFiles::BeginExpected() {
  while (next_ < count_ && ahead_.size() < kMaxFetches) {
    const Source* const wanted = wanted_(next_);
    const std::uint64_t bytes = wanted != nullptr ? wanted->bytes : 0;
    // One object is fetched ahead whatever its size: it would be read next in any case.
    if (!ahead_.empty() && ahead_bytes_ + bytes > kMaxAhead) return;
    ++next_;
    if (bytes == 0 || bytes > kMaxSourceBytes) continue;
    ahead_.emplace(wanted->key, Begin(wanted->key, bytes));
    ahead_bytes_ += bytes;
  }
  while (!expected_.empty() && ahead_.size() < kMaxFetches) {
    const auto& [key, bytes] = expected_.front();
    if (!ahead_.empty() && ahead_bytes_ + bytes > kMaxAhead) return;
    const auto expected = expected_of_.find(key);
    // An object that was read before its turn came is not expected any more.
    if (expected != expected_of_.end() && bytes > 0 && bytes <= kMaxSourceBytes) {
      if (--expected->second == 0) expected_of_.erase(expected);
      ahead_.emplace(key, Begin(key, bytes));
      ahead_bytes_ += bytes;
    }
    expected_.pop_front();
  }
}

void StoreFiles::Await(const Fetch& fetch, const std::atomic<bool>* give_up) const {
  const std::stop_callback on_stop(stop_, [this] {
    {
      const std::unique_lock lock(shared_->mutex);
    }  // Once the mutex was free, no thread is between its check and its wait.
    shared_->changed.notify_all();
  });
  std::unique_lock lock(shared_->mutex);
  const auto gives_up = [&] { return give_up != nullptr && give_up->load(); };
  const auto ended = [&] { return fetch.done || stop_.stop_requested() || gives_up(); };
  if (give_up == nullptr) {
    shared_->changed.wait(lock, ended);
  } else {
    // Setting the flag does not wake this thread, so it looks again and again.
    constexpr std::chrono::milliseconds kLookAgain(20);
    while (!shared_->changed.wait_for(lock, kLookAgain, ended))
      continue;
  }
  if (!fetch.done) throw StoreFault(StoppedError());
  if (!fetch.error) return;
  if (fetch.error->code() == ErrorCode::kNotFound) {
    throw Error(ErrorCode::kNotFound, "was removed after the sources were listed");
  }
  // An archived object says nothing of the others.
  if (fetch.lost || fetch.error->code() == ErrorCode::kUnsupported)
    throw Error(ErrorCode::kIo, fetch.error->sentence());
  throw StoreFault(*fetch.error);
}

}  // namespace sluice
