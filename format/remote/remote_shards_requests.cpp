// RemoteShards: how pieces are asked for, and what is done as their bytes come.
#include <algorithm>
#include <cstring>
#include <future>
#include <new>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/system_error.h"
#include "format/remote/remote_manifest.h"
#include "format/remote/remote_shards.h"

namespace sluice {

namespace {

// Neighbours are joined to requests of this size. (A larger block is one request.)
constexpr std::uint64_t kMostJoined = std::uint64_t{8} << 20;

// A decoding thread waits for what is fetched once more; no longer than this if the server hangs.
constexpr std::chrono::seconds kMostForAgain{30};

}  // namespace

std::vector<std::shared_ptr<PieceFetch>> RemoteShards::TakeToRead() {
  std::vector<std::shared_ptr<PieceFetch>> fetches;
  for (const std::uint64_t piece : to_read_) {
    const Live& live = live_.at(piece);
    PieceFetch* const last = fetches.empty() ? nullptr : fetches.back().get();
    const bool joins = last != nullptr && last->shard == live.shard && last->end() == live.offset &&
                       last->bytes() + live.bytes <= kMostJoined;
    if (!joins) {
      fetches.push_back(std::make_shared<PieceFetch>());
      fetches.back()->shard = live.shard;
      fetches.back()->urgency = live.urgency;
      fetches.back()->etag = etags_[live.shard];
    }
    fetches.back()->parts.push_back({piece, live.offset, live.bytes, live.overlay});
  }
  to_read_.clear();
  fetches_.insert(fetches_.end(), fetches.begin(), fetches.end());
  return fetches;
}

void RemoteShards::Flush() {
  std::vector<std::shared_ptr<PieceFetch>> fetches;
  {
    const MutexLock lock(mutex_);
    fetches = TakeToRead();
  }
  // The store's thread may answer at once, and needs the mutex for it.
  for (const std::shared_ptr<PieceFetch>& fetch : fetches) {
    try {
      Send(fetch);
    } catch (const Error& error) {  // else whoever waits for its pieces would wait for ever
      Finish(*fetch, &error);
    } catch (const std::bad_alloc&) {
      Finish(*fetch, &OutOfMemory());
    }
  }
}

void RemoteShards::Send(const std::shared_ptr<PieceFetch>& fetch) {
  RangeRead read;
  read.object = objects_[fetch->shard];
  read.offset = fetch->parts.front().offset - bases_[fetch->shard];
  read.bytes = fetch->bytes();
  read.etag = fetch->etag;
  read.info = fetch->info;
  read.urgency = fetch->urgency;
  read.take = [this, fetch](Bytes bytes) { Take(*fetch, bytes); };
  read.done = [this, fetch](const Error* error) { Finish(*fetch, error); };
  for (const PieceFetch::Part& part : fetch->parts)
    data_->Prepare(part.offset, part.bytes);
  {
    const MutexLock lock(mutex_);
    LimitSpare();
  }
  fetch->ticket = store_->Read(std::move(read));
}

void RemoteShards::Take(PieceFetch& fetch, Bytes bytes) {
  while (!bytes.empty()) {
    const PieceFetch::Part& part = fetch.parts[fetch.at];
    const std::size_t count = std::min<std::uint64_t>(bytes.size(), part.bytes - fetch.done);
    if (part.overlay) {
      std::memcpy(data_->overlay(part.offset) + fetch.done, bytes.data(), count);
    } else if (!fetch.unwritten) {
      try {
        data_->Write(part.offset + fetch.done, bytes.first(count));
      } catch (const SystemError&) {
        fetch.unwritten = true;
      }
    }
    bytes = bytes.subspan(count);
    fetch.done += count;
    if (fetch.done < part.bytes) continue;
    std::uint64_t hash = 0;
    if (room_ && !part.overlay && !fetch.unwritten) {
      const ReadGuard guard(data_->bytes(), lost_);
      hash = Hash64(data_->bytes().subspan(part.offset, part.bytes));
    }
    {
      const MutexLock lock(mutex_);
      Arrived(part.piece, fetch.unwritten, hash);
    }
    ++fetch.at;
    fetch.done = 0;
    fetch.unwritten = false;
  }
}

void RemoteShards::Arrived(std::uint64_t piece, bool unwritten, std::uint64_t hash) {
  const auto found = live_.find(piece);
  Live& live = found->second;
  if (unwritten) {
    ReadPastDisk(piece, live);
    return;
  }
  live.state = Live::State::kThere;
  counts_.in_flight_bytes -= live.bytes;
  counts_.fetched_bytes += live.bytes;
  ++counts_.fetched;
  if (!live.overlay) {
    data_->Note(piece, {live.offset, live.bytes, hash});
    if (room_) {
      room_->See(piece, hash);
      data_->Lock(piece, SparseData::Hold::kShared);
    }
  }
  if (live.holders == 0) {
    const Live last = std::move(live);
    Forget(piece);
    LetGo(piece, last);
  }
  changed_.NotifyAll();
}

// The disk, or memory, has refused the bytes that came.
void RemoteShards::ReadPastDisk(std::uint64_t piece, Live& live) {
  if (room_ && data_->Overlay(live.offset, live.bytes)) {
    live.overlay = true;
    room_->GiveBack(live.bytes);
    data_->Free(live.offset, live.bytes);
    data_->Lock(piece, SparseData::Hold::kNone);
  }
  if (live.overlay && live.holders > 0) {
    counts_.past_cache_bytes += live.bytes;
    to_read_.push_back(piece);  // a thread that waits for it will send it
    changed_.NotifyAll();
    return;
  }
  Fail(piece,
       Error(ErrorCode::kMemory, UrlOf(live.shard), "there is not enough memory for a block"));
}

void RemoteShards::Fail(std::uint64_t piece, const Error& error) {
  const auto found = live_.find(piece);
  Live& live = found->second;
  counts_.in_flight_bytes -= live.bytes;
  if (live.overlay) {
    data_->EndOverlay(live.offset, live.bytes);
    data_->next_use(piece).store(0, std::memory_order_relaxed);
    live.overlay = false;
  } else {
    data_->Free(live.offset, live.bytes);
    data_->next_use(piece).store(0, std::memory_order_relaxed);
    if (room_) room_->GiveBack(live.bytes);
    data_->Lock(piece, SparseData::Hold::kNone);
  }
  live.state = Live::State::kFailed;
  live.error = std::make_shared<const Error>(ShardError(error));
  if (live.holders == 0) Forget(piece);
  changed_.NotifyAll();
}

// What came damaged stays where it is: others may be reading its good parts. The range that fails
// its check is fetched by itself, and written over the old one only if it passes. Nobody relies on
// those bytes yet, and all others stay the same to the bit.
bool RemoteShards::Mend(std::uint32_t shard, std::uint64_t offset, std::uint64_t bytes,
                        const std::function<bool(Bytes)>& passes) {
  const std::uint64_t at = bases_[shard] + offset;
  {
    const MutexLock lock(mutex_);
    if (damaged_.count({shard, offset}) > 0) return false;
  }
  // Another thread may have mended it.
  const Bytes there = data_->bytes().subspan(at, bytes);
  const std::vector<std::byte> before(there.begin(), there.end());
  if (passes(before)) return true;
  const std::vector<std::byte> again = ReadAgain(shard, offset, bytes);
  if (again.empty()) return false;
  const bool good = passes(again);
  const MutexLock lock(mutex_);
  if (!good && again == before) damaged_.insert({shard, offset});
  if (!good) return false;
  try {
    std::uint64_t replaced = 0;
    for (auto& [piece, live] : live_) {
      const std::uint64_t begin = std::max(at, live.offset);
      const std::uint64_t end = std::min(at + bytes, live.offset + live.bytes);
      if (live.state != Live::State::kThere || begin >= end) continue;
      Replace(piece, live, begin, Bytes(again).subspan(begin - at, end - begin));
      replaced += end - begin;
    }
    return replaced == bytes;
  } catch (const SystemError&) {  // the disk or memory refuses it
    return false;
  }
}

// Puts these bytes in the place of those that a piece has there. Throws SystemError.
void RemoteShards::Replace(std::uint64_t piece, Live& live, std::uint64_t offset, Bytes bytes) {
  const bool in_cache = room_ && !live.overlay;
  if (!in_cache || !data_->writable()) {
    if (!data_->OverlayCopy(live.offset, live.bytes, offset, bytes))
      throw SystemError(ErrorCode::kMemory, UrlOf(live.shard), "there is not enough memory",
                        ENOMEM);
    if (!in_cache) return;
    live.overlay = true;
    data_->Lock(piece, SparseData::Hold::kNone);
    return;
  }
  data_->Write(offset, bytes);
  const ReadGuard guard(data_->bytes(), lost_);
  const std::uint64_t hash = Hash64(data_->bytes().subspan(live.offset, live.bytes));
  data_->Note(piece, {live.offset, live.bytes, hash});
  room_->See(piece, hash);
}

// Empty if the range cannot be had.
std::vector<std::byte> RemoteShards::ReadAgain(std::uint32_t shard, std::uint64_t offset,
                                               std::uint64_t bytes) {
  struct Answer {
    std::vector<std::byte> bytes;
    std::promise<bool> whole;
  };
  const auto answer = std::make_shared<Answer>();
  std::future<bool> whole = answer->whole.get_future();
  RangeRead read;
  read.object = objects_[shard];
  read.offset = offset;
  read.bytes = bytes;
  {
    const MutexLock lock(mutex_);
    read.etag = etags_[shard];
  }
  answer->bytes.reserve(bytes);
  read.take = [answer](Bytes part) {
    answer->bytes.insert(answer->bytes.end(), part.begin(), part.end());
  };
  read.done = [answer](const Error* error) { answer->whole.set_value(error == nullptr); };
  try {
    const std::uint64_t ticket = store_->Read(std::move(read));
    if (whole.wait_for(kMostForAgain) != std::future_status::ready) {
      store_->Cancel(ticket);
      return {};
    }
  } catch (const Error&) {
    return {};
  }
  return whole.get() && answer->bytes.size() == bytes ? std::move(answer->bytes)
                                                      : std::vector<std::byte>();
}

void RemoteShards::Finish(PieceFetch& fetch, const Error* error) {
  const MutexLock lock(mutex_);
  if (error == nullptr && etags_[fetch.shard].empty()) etags_[fetch.shard] = fetch.info->etag;
  for (; error != nullptr && fetch.at < fetch.parts.size(); ++fetch.at)
    Fail(fetch.parts[fetch.at].piece, *error);
  fetches_.remove_if([&fetch](const auto& one) { return one.get() == &fetch; });
}

}  // namespace sluice
