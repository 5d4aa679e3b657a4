// A request over HTTP, what came of it, and what that means for the caller: the answer is good, or
// it may be asked for again, or it is an error.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/error.h>

#include "format/disk/bytes.h"
#include "format/remote/http/url.h"

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

// Why the answer is not whole.
enum class HttpFailure {
  kNone,
  kNoSuchHost,   // its name, or the proxy's, does not resolve
  kNotReached,   // connection refused, no route, or no answer to connecting
  kCertificate,  // the server's certificate is not accepted
  kTls,          // another failure of TLS
  kTimeout,      // no byte for too long
  kCut,          // the connection ended before the answer did
  kBadUrl,       // curl cannot read it
  kNotHttp,      // the reply is not HTTP/1, or its headers are too long
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

// For what StopCalls() ended.
Error GivenUpError(const std::string& object);

// The meaning of an answer, or of its absence, for the caller.
struct Verdict {
  enum class Kind {
    kGood,
    kAgain,      // may pass: ask again, a little later
    kBusy,       // the same, and the server asks for fewer requests
    kExpired,    // ask again with renewed credentials, once
    kElsewhere,  // ask again at once: at `target`, or if that is empty the endpoint knows better
                 // now
    kFinal,
  };
  Kind kind = Kind::kGood;
  // For all but kGood: what an Error would say.
  ErrorCode code = ErrorCode::kIo;
  int number = 0;  // of errno, for kIo: tells what may pass from data that is lost
  std::string sentence;
  bool no_contact = false;            // the server was not even reached
  std::chrono::milliseconds wait{0};  // at least, as the server asked
  std::string target;                 // URL

  // Throws, as an Error about that URL.
  [[noreturn]] void Throw(const std::string& shown_url) const;
};

// That it is an error and asking again does not help. `number` is errno's, for kIo.
Verdict FinalVerdict(ErrorCode code, int number, std::string sentence);

// Of a reply without a whole answer. `server` is what the user knows it by.
Verdict JudgeFailure(const HttpReply& reply, const std::string& server);

// Of statuses that mean the same everywhere: 408, 412, 416, 429 and those of 500 and more. kGood
// for others.
Verdict JudgeCommonStatus(const HttpReply& reply, const std::string& server);

struct WantedRange {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // above 0
  std::string_view etag;    // empty: any content
};

// kGood: the body is that range. Else what is wrong with it. For statuses 200 and 206.
Verdict JudgeRangeAnswer(const HttpReply& reply, const WantedRange& wanted);

// "bytes 0-99/1234", or nothing. `total` is empty where it says "*".
struct ContentRange {
  std::uint64_t first = 0, last = 0;
  std::optional<std::uint64_t> total;
};
std::optional<ContentRange> ParseContentRange(std::string_view text);

// Whether an ETag may stand in If-Match, which compares strongly.
inline bool IsStrongEtag(std::string_view etag) noexcept {
  return !etag.empty() && !etag.starts_with("W/");
}

// Sends the request to another URL. On another server it goes without its authorization.
inline void Redirect(HttpRequest& request, const std::string& target) {
  if (ParseHttpOrigin(request.url, "URL").origin != ParseHttpOrigin(target, "redirect").origin) {
    std::erase_if(request.headers,
                  [](const std::string& line) { return line.starts_with("authorization:"); });
  }
  request.url = target;
}

}  // namespace sluice
