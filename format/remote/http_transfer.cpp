#include "format/remote/http_transfer.h"

#include <algorithm>
#include <charconv>

#include <sluice/error.h>

#include "format/remote/connection_count.h"

namespace sluice {

namespace {

// A peer that sends less than this per second stalls.
constexpr long kStallBytesPerSecond = 1024;
constexpr std::size_t kLongestHeaderValue = 4096;
constexpr std::size_t kMostHeaderBytes = 200'000;  // curl takes 300 KB

std::string_view TrimmedHeader(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() &&
         (text.back() == ' ' || text.back() == '\t' || text.back() == '\r' || text.back() == '\n'))
    text.remove_suffix(1);
  return text;
}

bool SameHeaderName(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x - 'A' + 'a' : x) == y; });
}

HttpFailure FailureOf(CURLcode code) {
  switch (code) {
    case CURLE_OK: return HttpFailure::kNone;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY: return HttpFailure::kNoSuchHost;
    case CURLE_COULDNT_CONNECT: return HttpFailure::kNotReached;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR: return HttpFailure::kCertificate;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER: return HttpFailure::kTls;
    case CURLE_OPERATION_TIMEDOUT: return HttpFailure::kTimeout;
    case CURLE_URL_MALFORMAT: return HttpFailure::kBadUrl;
    // Of what is asked for, HTTP/0.9 alone is such a protocol. And curl calls it out of memory if
    // one header has more than 100 KB.
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_OUT_OF_MEMORY:
    case CURLE_WEIRD_SERVER_REPLY: return HttpFailure::kNotHttp;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR: return HttpFailure::kCut;
    default: return HttpFailure::kOther;
  }
}

// The loop's callers may not throw into curl, so neither may the making of a request run out of
// memory half-way.
template <class Value>
void SetOption(CURL* handle, CURLoption option, Value value) {
  const CURLcode result = curl_easy_setopt(handle, option, value);
  if (result == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
}

}  // namespace

HttpTransfer::HttpTransfer(CurlHandle handle, const HttpRequest& request, HttpReceiver receiver,
                           const HttpLoop::Settings& settings, HttpLoop::Ticket ticket)
    : handle_(std::move(handle)),
      receiver_(std::move(receiver)),
      ticket_(ticket),
      url_(request.url) {
  if (handle_) {
    curl_easy_reset(handle_.get());  // keeps its connection
  } else {
    handle_.reset(curl_easy_init());
    if (!handle_) throw std::bad_alloc();
  }
  reply_.url = url_;
  SetRequest(request);
  SetConnection(request, settings);
}

void HttpTransfer::SetRequest(const HttpRequest& request) {
  CURL* const h = handle_.get();
  SetOption(h, CURLOPT_PRIVATE, static_cast<void*>(this));
  SetOption(h, CURLOPT_URL, request.url.c_str());
  SetOption(h, CURLOPT_PATH_AS_IS, 1L);  // names like a/../b are names
  if (request.method == "HEAD") {
    SetOption(h, CURLOPT_NOBODY, 1L);
  } else if (request.method != "GET") {
    if (!request.body.empty() || request.method != "DELETE") {
      SetOption(h, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      SetOption(h, CURLOPT_POSTFIELDS,
                request.body.empty() ? "" : reinterpret_cast<const char*>(request.body.data()));
    }
    SetOption(h, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  const auto add = [&](const char* line) {
    curl_slist* const longer = curl_slist_append(headers_.get(), line);
    if (longer == nullptr) throw std::bad_alloc();
    static_cast<void>(headers_.release());
    headers_.reset(longer);
  };
  bool has_type = false;
  for (const std::string& line : request.headers) {
    has_type = has_type || line.starts_with("content-type:");
    add(line.c_str());
  }
  if (!has_type) add("Content-Type:");  // curl would call every body a form
  add("Expect:");                       // no round trip before a body
  SetOption(h, CURLOPT_HTTPHEADER, headers_.get());
  SetOption(h, CURLOPT_HEADERFUNCTION, &HttpTransfer::OnHeader);
  SetOption(h, CURLOPT_HEADERDATA, static_cast<void*>(this));
  SetOption(h, CURLOPT_WRITEFUNCTION, &HttpTransfer::OnBody);
  SetOption(h, CURLOPT_WRITEDATA, static_cast<void*>(this));
  SetOption(h, CURLOPT_ERRORBUFFER, why_.data());
}

void HttpTransfer::SetConnection(const HttpRequest& request, const HttpLoop::Settings& settings) {
  CURL* const h = handle_.get();
  const auto or_default = [](std::chrono::milliseconds own, std::chrono::milliseconds general) {
    return own.count() > 0 ? own : general;
  };
  const auto stall = or_default(request.stall_timeout, settings.stall_timeout);
  SetOption(h, CURLOPT_NOSIGNAL, 1L);
  SetOption(h, CURLOPT_PROTOCOLS_STR, "http,https");
  SetOption(h, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  SetOption(h, CURLOPT_USERAGENT, "sluice/" SLUICE_VERSION);
  SetOption(h, CURLOPT_BUFFERSIZE, static_cast<long>(ConnectionCount::kReceiveBuffer));
  SetOption(h, CURLOPT_TCP_KEEPALIVE, 1L);
  SetOption(
      h, CURLOPT_CONNECTTIMEOUT_MS,
      static_cast<long>(or_default(request.connect_timeout, settings.connect_timeout).count()));
  SetOption(h, CURLOPT_LOW_SPEED_LIMIT, kStallBytesPerSecond);
  SetOption(h, CURLOPT_LOW_SPEED_TIME,
            static_cast<long>(std::chrono::ceil<std::chrono::seconds>(stall).count()));
  if (request.fresh_connection) SetOption(h, CURLOPT_FRESH_CONNECT, 1L);
  if (request.direct) SetOption(h, CURLOPT_NOPROXY, "*");
  if (!settings.ca_file.empty()) SetOption(h, CURLOPT_CAINFO, settings.ca_file.c_str());
  if (!settings.ca_folder.empty()) SetOption(h, CURLOPT_CAPATH, settings.ca_folder.c_str());
}

std::size_t HttpTransfer::OnHeader(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<HttpTransfer*>(self);
  if (transfer.muted_) return 0;
  try {
    transfer.header_bytes_ += size * count;
    transfer.Header({data, size * count});
  } catch (const std::bad_alloc&) {
    return transfer.NoMemory();
  }
  return size * count;
}

std::size_t HttpTransfer::OnBody(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<HttpTransfer*>(self);
  bool wanted = false;
  try {
    wanted = !transfer.muted_ && transfer.Body(std::as_bytes(std::span(data, size * count)));
  } catch (const std::bad_alloc&) {
    return transfer.NoMemory();
  }
  // A count of none would pass for success where there are no bytes; there always are.
  return wanted ? size * count : 0;
}

// Ends the transfer: nothing may be thrown through curl.
std::size_t HttpTransfer::NoMemory() noexcept {
  no_memory_ = true;
  return 0;
}

void HttpTransfer::Header(std::string_view line) {
  if (line.starts_with(
          "HTTP/")) {  // of an answer that another may have gone before (100, a proxy's)
    reply_ = {};
    reply_.url = url_;
    const std::size_t space = std::min(line.find(' '), line.size() - 1);
    std::from_chars(line.data() + space + 1, line.data() + line.size(), reply_.status);
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = line.substr(0, colon),
                         value = TrimmedHeader(line.substr(colon + 1));
  if (value.size() > kLongestHeaderValue) return;
  if (SameHeaderName(name, "content-length")) {
    std::uint64_t length = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
    if (error == std::errc() && end == value.data() + value.size()) reply_.length = length;
    return;
  }
  if (SameHeaderName(name, "last-modified")) {
    reply_.changed = std::max<std::int64_t>(curl_getdate(std::string(value).c_str(), nullptr), 0);
    return;
  }
  const std::pair<std::string_view, std::string*> kept[] = {
      {"etag", &reply_.etag},         {"content-range", &reply_.content_range},
      {"location", &reply_.location}, {"x-amz-bucket-region", &reply_.bucket_region},
      {"date", &reply_.date},         {"retry-after", &reply_.retry_after}};
  for (const auto& [kept_name, kept_value] : kept) {
    if (SameHeaderName(name, kept_name)) *kept_value = value;
  }
}

bool HttpTransfer::Body(Bytes bytes) {
  if (!head_told_) {
    head_told_ = true;
    ReadTimes();
    streamed_ = receiver_.head && receiver_.head(reply_);
    if (muted_) return false;
  }
  if (streamed_) return receiver_.body(bytes);
  if (reply_.body.size() + bytes.size() > receiver_.collect) {
    too_long_ = true;
    return false;
  }
  reply_.body += AsText(bytes);
  return true;
}

// Whether the request could be sent at all: its first byte waits for the connection, TLS included.
bool HttpTransfer::Connected() const {
  curl_off_t sent = 0;
  curl_easy_getinfo(handle_.get(), CURLINFO_PRETRANSFER_TIME_T, &sent);
  return sent > 0;
}

void HttpTransfer::ReadTimes() {
  curl_off_t first_byte = 0;
  curl_easy_getinfo(handle_.get(), CURLINFO_STARTTRANSFER_TIME_T, &first_byte);
  reply_.first_byte = std::chrono::microseconds(first_byte);
}

void HttpTransfer::Finish(CURLcode result) {
  if (!head_told_) ReadTimes();
  reply_.failure = FailureOf(result);
  if (reply_.failure == HttpFailure::kTimeout && !Connected())
    reply_.failure = HttpFailure::kNotReached;
  // Too many headers are an error of receiving to this version of curl.
  if (result == CURLE_RECV_ERROR && header_bytes_ > kMostHeaderBytes)
    reply_.failure = HttpFailure::kNotHttp;
  if (result == CURLE_WRITE_ERROR) {
    reply_.failure = too_long_ ? HttpFailure::kTooLong : HttpFailure::kRefusedByUs;
  }
  if (no_memory_) {
    reply_.failure = HttpFailure::kOther;
    reply_.why = "no memory is left";
  } else if (result != CURLE_OK) {
    reply_.why = why_.front() != '\0' ? why_.data() : curl_easy_strerror(result);
  }
  if (receiver_.end && !muted_) receiver_.end(std::move(reply_));
}

}  // namespace sluice
