// Objects below one URL: the interface between code that needs bytes of a remote dataset and code
// that fetches them.
//
// An object is named by its path below the URL ("manifest.json"). Implementations: an S3-compatible
// service or a plain HTTP server (only in builds with libcurl), and a local folder (local_store.h
// says when). A dataset's objects never change while it is used: a shard that was replaced is
// an Error, never a mixture of two.
//
// A new member of Counts also goes into these files, where "\.repeated\b" shows how:
//   format/remote/server/remote_store.cpp
//   format/remote/server/range_reads.cpp
//   bench/epoch/slow_store.cpp
//   reader/loader/loader_state.cpp
//   bench/parts/io.cpp                    if `io` is to print it
//   not tests/remote/                     need no change: they test what is counted
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/error.h>
#include <sluice/shown_path.h>  // IsStoreUrl

#include "format/disk/bytes.h"

namespace sluice {

struct ObjectInfo {
  std::uint64_t bytes = 0;  // from Read(): 0 if the server does not say
  std::string etag;         // identifies this content; empty if the server gives no etag
  // When the object was written, in seconds since 1970; 0 if the server does not say or was not
  // asked. Head(), Get() and Read() ask.
  std::int64_t changed = 0;
};

// A range of an object to read.
struct RangeRead {
  std::string object;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // above 0; an object that ends before offset + bytes is an Error
  // If not empty, and the object has another etag, the read fails with Error(kIo).
  std::string etag;
  // If not null, receives what the answer says about the object, before the first take().
  std::shared_ptr<ObjectInfo> info;
  // Reads with a smaller number begin first; reads with the same number begin in the order of
  // Read().
  std::uint64_t urgency = 0;
  // Receives the bytes of the range as they arrive: in order, each exactly once. Called on the
  // store's own thread, so it must not block for long; it may not throw.
  std::function<void(Bytes)> take;
  // Called exactly once unless the read is cancelled, on the store's own thread, after the last
  // take() or instead of any: with null if the whole range was delivered, otherwise with the
  // reason. It may call Read(); it may not throw.
  std::function<void(const Error*)> done;
};

// Thread-safe. Errors name the object's URL, and never contain a secret. Temporary failures
// (timeouts, truncated bodies, busy servers) are retried inside, up to the store's own deadline. A
// network's Error(kIo) is a SystemError (format/disk/system_error.h), by which SaysDataIsLost()
// distinguishes it from lost data; code that copies an Error by value loses that information. A
// range past an object's end is Error(kCorrupt); in a local folder, it is Error(kIo).
class ObjectStore {
 public:
  // Cancels all reads without calling their functions. Must not be called from a read's own
  // functions.
  virtual ~ObjectStore() = default;

  // The URL as the user wrote it, without user information, query and trailing slash.
  virtual const std::string& url() const noexcept = 0;

  // Reads a whole object of at most `limit` bytes (larger: Error(kLimit)). Throws Error(kNotFound)
  // if it is missing.
  virtual std::vector<std::byte> Get(std::string_view object, std::uint64_t limit,
                                     ObjectInfo* info = nullptr) = 0;
  // Throws Error(kNotFound) if it is missing.
  virtual ObjectInfo Head(std::string_view object) = 0;

  // Any thread: soon ends the calls and reads of all threads, and all later ones, with
  // Error(kState). Requests that clean up (removing the parts of an upload, Remove()) are still
  // sent once, with a short timeout. For a process that must stop while a server does not answer.
  virtual void StopCalls() {}

  // Begins to read a range, and returns at once. The ticket is for Cancel().
  virtual std::uint64_t Read(RangeRead read) = 0;
  // Once this returns, the read's functions are not running and will not be called any more. No-op
  // if the read is done. Must not be called from the read's own functions.
  virtual void Cancel(std::uint64_t ticket) = 0;
  // An upper bound for the bytes worth having in flight now, from the measured rate and time to the
  // first byte: bandwidth times delay, and some more. Changes with the link.
  virtual std::uint64_t UsefulBytesInFlight() const noexcept = 0;

  // The most memory that the connections take, besides the requested bytes.
  virtual std::uint64_t BufferBytes() const noexcept { return 0; }

  // The functions from Put() to ListFolder() throw Error(kUnsupported) for a plain HTTP server.

  // Writes an object from memory. With `only_new`, Error(kExists) if there is one of that name.
  virtual void Put(std::string_view object, Bytes content, bool only_new = false) = 0;
  // Replaces an object that has the etag `etag`, as Get() gave it, and no other one. Throws
  // Error(kExists) if the object has another content now; after other errors, the object may have
  // been replaced. Error(kUnsupported) without an etag.
  virtual void Replace(std::string_view object, Bytes content, const std::string& etag);
  // Whether the server compares etags, as Replace() needs. Some servers ignore them, and would
  // overwrite what another program has written. Sends a request for an object of a name of its own.
  virtual bool ComparesEtags();
  // Writes an object of `bytes` bytes. `fill` fills the buffer with the bytes at an offset, piece
  // by piece. It may be called by several threads, and again for the same offset (a retry). Throws
  // what `fill` throws.
  using Fill = std::function<void(std::uint64_t offset, std::span<std::byte> buffer)>;
  virtual void PutLarge(std::string_view object, std::uint64_t bytes, const Fill& fill) = 0;
  // Removes an object; no-op if it is missing.
  virtual void Remove(std::string_view object) = 0;
  // Calls `each` for every object whose name begins with `prefix`, in byte order of the names.
  using Each = std::function<void(std::string_view object, const ObjectInfo&)>;
  virtual void List(std::string_view prefix, const Each& each) = 0;
  // Like List(), for the objects directly in a folder ("" or "a/b/"). Returns the folders directly
  // in it ("a/b/c/"), in byte order.
  virtual std::vector<std::string> ListFolder(std::string_view folder, const Each& each) = 0;

  // Totals since construction, for measurements.
  struct Counts {
    std::uint64_t requests = 0;  // requests sent, including repeated ones
    std::uint64_t repeated = 0;  // sent again because an earlier request failed or was slow
    std::uint64_t bytes = 0;     // size of the bodies received
  };
  virtual Counts counts() const noexcept = 0;
};

// Opens the store at the URL, with credentials and settings from the environment, as other tools
// for object storage find them. Sends nothing yet. Throws Error(kInvalidArgument) for an
// invalid URL, Error(kUnsupported) in a build without libcurl.
std::shared_ptr<ObjectStore> OpenStore(std::string_view url);

}  // namespace sluice
