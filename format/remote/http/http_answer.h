// A request over HTTP, its reply, and what the reply means for the caller: it is good, or the
// request may be sent again, or it is an error.
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
  // Bypasses all proxies: for addresses of this machine, and for the cloud's link-local addresses,
  // which only this machine can reach (169.254.169.254).
  bool direct = false;
  // Opens a new connection, instead of using one that an earlier request has left open. If curl
  // finds such a connection closed, it sends the request again by itself, and the caller never
  // learns that the first one may have been served.
  bool fresh_connection = false;
  bool tidies_up = false;  // sent also after HttpLoop::StopCalls()
  // How long connecting may take, and how long less than 1 KiB a second may come; 0: as the loop's
  // Settings say.
  std::chrono::milliseconds connect_timeout{0};
  std::chrono::milliseconds stall_timeout{0};
};

// Why a reply is not complete.
enum class HttpFailure {
  kNone,
  kNoSuchHost,   // the server's or the proxy's name does not resolve
  kNotReached,   // connection refused, no route, or no answer to connecting
  kCertificate,  // the server's certificate is not accepted
  kTls,          // another failure of TLS
  kTimeout,      // less than 1 KiB a second for too long
  kCut,          // the connection ended before the answer did
  kBadUrl,       // curl cannot parse the URL
  kNotHttp,      // the reply is not HTTP/1, or its headers are too long
  kTooLong,      // the body exceeds the limit
  kRefusedByUs,  // the receiver refused the body
  kStopped,      // Stop() or StopCalls() has ended the call
  kOther,
};

struct HttpReply {
  std::string url;  // of the request; may carry secrets: not for messages
  long status = 0;  // 0: no answer
  HttpFailure failure = HttpFailure::kNone;
  std::string why;  // of a failure, in curl's words

  // Headers; empty if the reply lacks them.
  std::string etag, content_range, content_encoding, location, bucket_region, retry_after, date;
  std::optional<std::uint64_t> length;  // Content-Length
  std::int64_t changed = 0;             // Last-Modified, in seconds since 1970

  std::string body;                        // if it was collected
  std::chrono::nanoseconds first_byte{0};  // from the request to the answer's first byte

  bool whole() const noexcept { return failure == HttpFailure::kNone; }
  bool succeeded() const noexcept { return whole() && status >= 200 && status < 300; }
};

// Functions for a transfer, called on the loop's thread. `end` is called exactly once, as the last
// one, unless the transfer is aborted.
struct HttpReceiver {
  // Called after the headers, before the first byte of a body; not for a reply without a body. If
  // it returns true, `body` is called with the body; otherwise the body is collected in the reply,
  // up to `collect` bytes.
  std::function<bool(const HttpReply&)> head;
  std::function<bool(Bytes)> body;  // false ends the transfer with kRefusedByUs
  std::function<void(HttpReply&&)> end;
  std::size_t collect = 64 << 10;
};

// The error of calls that StopCalls() ended.
Error GivenUpError(const std::string& object);

// The meaning of a reply, or of its absence, for the caller.
struct Verdict {
  enum class Kind {
    kGood,
    kAgain,      // may be temporary: ask again, a little later
    kBusy,       // the same, and the server asks for fewer requests
    kExpired,    // ask again with renewed credentials, once
    kElsewhere,  // ask again at once, at `target`; empty: the endpoint knows where
    kFinal,
  };
  Kind kind = Kind::kGood;
  // The Error to throw; unused for kGood.
  ErrorCode code = ErrorCode::kIo;
  int number = 0;  // an errno, for kIo: distinguishes a temporary failure from lost data
  std::string sentence;
  bool no_contact = false;            // whether the server was not even reached
  std::chrono::milliseconds wait{0};  // the minimum, as the server asked
  std::string target;                 // URL

  // Throws an Error about that URL.
  [[noreturn]] void Throw(const std::string& shown_url) const;
};

// An error for which asking again does not help. `number`: an errno, for kIo.
Verdict FinalVerdict(ErrorCode code, int number, std::string sentence);

// Judges a reply that is not complete. `server` is the name by which the user knows the server.
Verdict JudgeFailure(const HttpReply& reply, const std::string& server);

// Judges statuses that mean the same for all servers: 408, 412, 416, 429, and 500 and above. kGood
// for all others.
Verdict JudgeCommonStatus(const HttpReply& reply, const std::string& server);

struct WantedRange {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  // above 0
  std::string_view etag;    // empty: any content
};

// Judges a reply with status 200 or 206. kGood: the body is the wanted range, or its beginning, as
// RFC 9110 allows (14.4). Otherwise says what is wrong.
Verdict JudgeRangeAnswer(const HttpReply& reply, const WantedRange& wanted);

// Judges a reply whose body is content. kFinal if the server has compressed it, although requests
// ask for plain bytes: its length and its ranges are then not the object's.
Verdict JudgeEncoding(const HttpReply& reply);

// Parses "bytes 0-99/1234"; nullopt for any other text. `total` is empty if the text says "*".
struct ContentRange {
  std::uint64_t first = 0, last = 0;
  std::optional<std::uint64_t> total;
  std::uint64_t bytes() const noexcept { return last - first + 1; }
};
std::optional<ContentRange> ParseContentRange(std::string_view text);

// Whether an ETag may be used in If-Match, which compares strongly.
inline bool IsStrongEtag(std::string_view etag) noexcept {
  return !etag.empty() && !etag.starts_with("W/");
}

// Changes the request's URL to `target`. If `target` is on another server, removes the
// authorization.
inline void Redirect(HttpRequest& request, const std::string& target) {
  if (ParseHttpOrigin(request.url, "URL").origin != ParseHttpOrigin(target, "redirect").origin) {
    std::erase_if(request.headers,
                  [](const std::string& line) { return line.starts_with("authorization:"); });
  }
  request.url = target;
}

}  // namespace sluice
