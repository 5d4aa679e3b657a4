// Bytes from a store may be damaged on their way. So the manifest, and the end of each shard, are
// read once more before they count as damaged.
// LookAtShards() compares only the last bytes of each shard: they hold the shard's id and a
// checksum of themselves, so a shard that is missing, cut short or another one is found with one
// small request. The requests are under way many at a time, because each of them mostly waits for
// the store.
#include "format/remote/remote_manifest.h"

#include <array>
#include <cstring>
#include <utility>

#include "format/disk/checksum.h"
#include "format/disk/limits.h"
#include "format/disk/shard.h"
#include "format/mutex.h"

namespace sluice {

namespace {

// Bounds the store's connections: each request that is under way has one of its own.
constexpr std::size_t kMaxInFlight = 64;

// The last bytes of a shard, filled as they arrive.
struct ShardEnd {
  std::array<std::byte, sizeof(ShardTail)> bytes{};
  std::size_t filled = 0;
  std::optional<Error> error;
};

std::optional<Error> Compare(const ShardEnd& end, const std::string& url,
                             const ManifestShard& shard) {
  if (end.error) return ShardError(*end.error);
  const ShardTail tail = LoadAt<ShardTail>(end.bytes, 0);
  const Bytes hashed = Bytes(end.bytes).first(offsetof(ShardTail, tail_checksum));
  if (std::memcmp(tail.magic, ShardTail{}.magic, sizeof(tail.magic)) != 0 ||
      tail.tail_checksum != Hash64(hashed) || tail.shard_id != shard.id) {
    return Error(ErrorCode::kCorrupt, url,
                 "is not the shard that the manifest names, or was cut short: restore it or "
                 "convert again");
  }
  return std::nullopt;
}

// Reads the ends of up to kMaxInFlight shards at a time, with one request each.
class ShardEndReader {
 public:
  ShardEndReader(ObjectStore& store, const Manifest& manifest)
      : store_(store), manifest_(manifest), ends_(manifest.shards.size()) {}
  // A read that is still under way would write to `ends_` and call back into this object.
  ~ShardEndReader() {
    for (const std::uint64_t ticket : tickets_)
      store_.Cancel(ticket);
  }

  // Waits if kMaxInFlight requests are in flight, but not for the bytes.
  void Start(std::size_t shard) {
    const ManifestShard& entry = manifest_.shards[shard];
    ShardEnd& end = ends_[shard];
    // The size comes from the manifest. Checked first, because the offset of the read is computed
    // from it.
    if (entry.bytes < end.bytes.size()) {
      end.error = Error(ErrorCode::kCorrupt, entry.file, "the manifest's sizes are out of range");
      return;
    }
    {
      const MutexLock lock(mutex_);
      while (in_flight_ == kMaxInFlight)
        changed_.Wait(mutex_);
      ++in_flight_;
    }
    RangeRead read;
    read.object = entry.file;
    read.offset = entry.bytes - end.bytes.size();
    read.bytes = end.bytes.size();
    read.take = [&end](Bytes bytes) {
      std::memcpy(end.bytes.data() + end.filled, bytes.data(), bytes.size());
      end.filled += bytes.size();
    };
    read.done = [this, &end](const Error* error) {
      if (error != nullptr)
        end.error = Error(error->code(), error->file(), error->place(), error->sentence());
      const MutexLock lock(mutex_);
      --in_flight_;
      changed_.NotifyAll();
    };
    tickets_.push_back(store_.Read(std::move(read)));
  }

  // Waits for all reads that were started.
  std::vector<ShardEnd>& Wait() {
    const MutexLock lock(mutex_);
    while (in_flight_ > 0)
      changed_.Wait(mutex_);
    return ends_;
  }

 private:
  ObjectStore& store_;
  const Manifest& manifest_;
  std::vector<ShardEnd> ends_;  // the store writes to one until its read is done
  std::vector<std::uint64_t> tickets_;
  Mutex mutex_;
  Condition changed_;
  std::size_t in_flight_ GUARDED_BY(mutex_) = 0;
};

}  // namespace

Manifest ReadManifest(ObjectStore& store, Id128& id, const std::string& name) {
  const std::string url = store.url() + "/" + name;
  const auto read = [&] {
    std::vector<std::byte> content;
    try {
      content = store.Get(name, kMaxManifestBytes);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kNotFound) throw;
      throw Error(ErrorCode::kNotFound, store.url(),
                  "there is no dataset here: it has no " + name + " (" + error.sentence() + ")");
    }
    return ManifestFromJson(AsText(content), url, id);
  };
  try {
    return read();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kCorrupt) throw;
  }
  return read();  // the manifest may have been damaged on its way
}

Error ShardError(const Error& error) {
  std::string sentence = error.sentence();
  if (error.code() == ErrorCode::kNotFound)
    sentence +=
        "; the dataset's manifest names it: bring it back from a copy of the dataset or convert "
        "again";
  return Error(error.code(), error.file(), error.place(), sentence);
}

ShardsLook LookAtShards(ObjectStore& store, const Manifest& manifest, const std::stop_token& stop) {
  const std::vector<ManifestShard>& shards = manifest.shards;
  ShardsLook look;
  look.faulty.resize(shards.size());
  ShardEndReader reader(store, manifest);
  std::size_t started = 0;
  for (; started < shards.size() && !stop.stop_requested(); ++started)
    reader.Start(started);
  std::vector<ShardEnd>& ends = reader.Wait();
  for (std::size_t s = 0; s < started && !stop.stop_requested(); ++s) {
    // Only an end that arrived, but is wrong, is read again: an error stays one, because the store
    // has already repeated the request as often as that helps.
    if (ends[s].error || !Compare(ends[s], {}, shards[s])) continue;
    ends[s] = {};  // the bytes may have been damaged on their way
    reader.Start(s);
  }
  reader.Wait();
  for (std::size_t s = 0; s < started; ++s) {
    std::optional<Error> error = Compare(ends[s], store.url() + "/" + shards[s].file, shards[s]);
    if (!error) continue;
    look.faulty[s] = true;
    ++look.shards;
    look.samples += shards[s].samples;
    if (look.errors.size() < ShardsLook::kMaxKept) look.errors.push_back(std::move(*error));
  }
  return look;
}

}  // namespace sluice
