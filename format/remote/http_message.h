// A request over HTTP and what came of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "format/disk/bytes.h"

namespace sluice {

struct HttpRequest {
  std::string method = "GET";
  std::string url;                   // may carry secrets in its query: not for messages
  std::vector<std::string> headers;  // "name: value"
  Bytes body;                        // must live until the request ends
  bool direct = false;               // past every proxy: for addresses of this machine alone
  // Not on a kept connection: if one of those turns out to be closed, curl sends the request again
  // by itself, and nobody knows that the first may have been served.
  bool fresh_connection = false;
  bool tidies_up = false;  // sent also after HttpLoop::StopCalls()
  // How long connecting may take, and how long no byte may come; 0 for the loop's own.
  std::chrono::milliseconds connect_timeout{0};
  std::chrono::milliseconds stall_timeout{0};
};

// Why there is no whole answer.
enum class HttpFailure {
  kNone,
  kNoSuchHost,   // its name, or the proxy's, does not resolve
  kNotReached,   // connection refused, no route, or no answer to connecting
  kCertificate,  // the server's certificate is not accepted
  kTls,          // another failure of TLS
  kTimeout,      // no byte for too long
  kCut,          // the connection ended before the answer did
  kBadUrl,       // curl cannot read it
  kNotHttp,      // what came is no answer over HTTP/1, or its headers are too long
  kTooLong,      // a body longer than was allowed for
  kRefusedByUs,  // its receiver did not want the body
  kStopped,      // the store is being closed
  kOther,
};

struct HttpReply {
  std::string url;  // of the request; not for messages, as there
  long status = 0;  // 0: no answer
  HttpFailure failure = HttpFailure::kNone;
  std::string why;  // of a failure, in curl's words

  // Headers, empty if they are not there.
  std::string etag, content_range, location, bucket_region, retry_after, date;
  std::optional<std::uint64_t> length;  // Content-Length
  std::int64_t changed = 0;             // Last-Modified, in seconds since 1970

  std::string body;                        // if it was collected
  std::chrono::nanoseconds first_byte{0};  // from the request to the answer's first byte

  bool whole() const noexcept { return failure == HttpFailure::kNone; }
  bool succeeded() const noexcept { return whole() && status >= 200 && status < 300; }
};

// Called on the loop's thread. `end` is called exactly once and last, unless the transfer is
// aborted.
struct HttpReceiver {
  // After the headers, before the first byte of the body: true if `body` is to be called with the
  // body; else it is collected in the reply, up to `collect` bytes.
  std::function<bool(const HttpReply&)> head;
  std::function<bool(Bytes)> body;  // false ends the transfer with kRefusedByUs
  std::function<void(HttpReply&&)> end;
  std::size_t collect = 64 << 10;
};

}  // namespace sluice
