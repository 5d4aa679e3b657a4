// The S3 protocol: the address and signature of a request, listings, and the meaning of errors.
//
// For Amazon, the bucket is part of the host's name if it is valid there. For all other services,
// Google's included, it is part of the path, since their certificates rarely cover a host name that
// begins with a bucket's name. The region is part of the signature: if it is wrong, the server
// names the right one, which is used from then on. Errors come as XML; the messages that are made
// from them name the setting that the user has to change.
#include "format/remote/server/s3_endpoint.h"

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "format/ascii.h"
#include "format/remote/http/url.h"
#include "format/remote/server/sigv4.h"
#include "format/xml.h"

namespace sluice {

namespace {

// Decodes a key that is escaped as in a form: a plus is a space.
std::optional<std::string> DecodedKey(std::string text) {
  for (char& c : text) {
    if (c == '+') c = ' ';
  }
  return PercentDecoded(text);
}

}  // namespace

std::optional<ListingPage> ParseListing(std::string_view xml) {
  constexpr std::string_view kRoot = "ListBucketResult";
  constexpr std::string_view kObject = "ListBucketResult/Contents/";
  ListingPage page;
  ListedObject object;
  bool sound = true, escaped = false, truncated = false, is_listing = false, has_size = false;
  const bool read = ReadXml(xml, [&](std::string_view path, std::string&& text) {
    if (path == kRoot) is_listing = true;
    if (path == "ListBucketResult/EncodingType") escaped = text == "url";
    if (path == "ListBucketResult/IsTruncated") truncated = text == "true";
    if (path == "ListBucketResult/NextContinuationToken") page.next = std::move(text);
    if (path == "ListBucketResult/Contents") {
      sound = sound && has_size && !object.key.empty();
      page.objects.push_back(std::move(object));
      object = {};
      has_size = false;
    }
    if (path == "ListBucketResult/CommonPrefixes/Prefix") {
      sound = sound && !text.empty();
      page.folders.push_back(std::move(text));
    }
    if (!path.starts_with(kObject)) return;
    path.remove_prefix(kObject.size());
    if (path == "Key") object.key = std::move(text);
    if (path == "ETag") object.info.etag = std::move(text);
    if (path == "Size") {
      const auto bytes = ParseNumber<std::uint64_t>(text);
      has_size = bytes.has_value();
      object.info.bytes = bytes.value_or(0);
    }
  });
  if (!read || !sound || !is_listing || (truncated && page.next.empty())) return std::nullopt;
  if (!truncated) page.next.clear();
  // Keys are decoded only now: EncodingType may come after them, since its position among the other
  // elements is not specified.
  if (escaped) {
    for (ListedObject& listed : page.objects) {
      auto key = DecodedKey(std::move(listed.key));
      if (!key || key->empty()) return std::nullopt;
      listed.key = std::move(*key);
    }
    for (std::string& folder : page.folders) {
      auto decoded = DecodedKey(std::move(folder));
      if (!decoded || decoded->empty()) return std::nullopt;
      folder = std::move(*decoded);
    }
  }
  return page;
}

namespace {

constexpr const char* kGoogleEndpoint = "https://storage.googleapis.com";

// The permission that a request needs.
const char* PermissionFor(const StoreCall& call) {
  if (call.method == "DELETE") return "s3:DeleteObject";
  if (call.method == "PUT" || call.method == "POST") return "s3:PutObject";
  return call.whole_bucket ? "s3:ListBucket" : "s3:GetObject";
}

bool LooksLikeRegion(const std::string& text) {
  return !text.empty() && text.size() <= 40 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

// Says by how many minutes this machine's clock differs from the server's.
std::string ClockSkew(const std::string& date) {
  std::tm time{};
  if (strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &time) == nullptr) return "";
  const auto minutes = static_cast<long>((std::time(nullptr) - timegm(&time)) / 60);
  return " by " + std::to_string(std::abs(minutes)) + " minutes (it is " +
         (minutes > 0 ? "ahead)" : "behind)");
}

}  // namespace

S3Endpoint::S3Endpoint(StoreUrl url, const S3Settings& settings)
    : url_(std::move(url)), region_(settings.region) {
  if (google()) {
    custom_ = ParseHttpOrigin(settings.endpoint.empty() ? kGoogleEndpoint : settings.endpoint,
                              "endpoint");
    region_ = "auto";
  } else if (!settings.endpoint.empty()) {
    custom_ = ParseHttpOrigin(settings.endpoint, "AWS_ENDPOINT_URL");
  }
  if (region_.empty()) region_ = "us-east-1";
  if (!LooksLikeRegion(region_)) {
    throw Error(ErrorCode::kInvalidArgument,
                "'" + region_ + "' is not a region; set AWS_REGION to one such as us-east-1");
  }
}

std::string S3Endpoint::region() const {
  const MutexLock lock(mutex_);
  return region_;
}

S3Endpoint::Address S3Endpoint::AddressOf(const StoreCall& call) const {
  const std::string key = call.whole_bucket ? "" : key_prefix() + call.object;
  if (!custom_.origin.empty()) {
    std::string base =
        PercentDecoded(custom_.rest.substr(0, custom_.rest.find_first_of("?#"))).value_or("");
    while (base.ends_with('/'))
      base.pop_back();
    return {custom_.origin.starts_with("https") ? "https://" : "http://", custom_.host,
            base + "/" + url_.bucket + (call.whole_bucket ? "" : "/" + key)};
  }
  const std::string in = region();
  const std::string host = "s3." + in + ".amazonaws.com" + (in.starts_with("cn-") ? ".cn" : "");
  // A certificate for *.s3... covers one label, and a name with capitals or _ is not a host name.
  const bool as_host = std::all_of(url_.bucket.begin(), url_.bucket.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  if (as_host) return {"https://", url_.bucket + "." + host, "/" + key};
  return {"https://", host, "/" + url_.bucket + (call.whole_bucket ? "" : "/" + key)};
}

std::string S3Endpoint::Server() const {
  if (!custom_.origin.empty()) return custom_.origin;
  return AddressOf({.whole_bucket = true}).host;
}

HttpRequest S3Endpoint::Form(const StoreCall& call, const Credentials& credentials) const {
  const Address address = AddressOf(call);
  SignedRequest to_sign{call.method, address.path, call.query, call.headers, ""};
  HttpRequest request;
  request.method = call.method;
  request.body = call.body;
  request.url = address.scheme + address.host + PercentEncoded(address.path, true);
  if (!call.query.empty()) request.url += "?" + CanonicalQuery(call.query);
  if (!credentials.anonymous()) {
    const std::string now = AmzDate(std::time(nullptr));
    to_sign.payload_sha256 = HexOf(Sha256(call.body));
    to_sign.headers["host"] = address.host;
    to_sign.headers["x-amz-date"] = now;
    to_sign.headers["x-amz-content-sha256"] = to_sign.payload_sha256;
    if (!credentials.token.empty()) to_sign.headers["x-amz-security-token"] = credentials.token;
    const std::string authorization = Authorization(to_sign, credentials, region(), "s3", now);
    to_sign.headers["authorization"] = authorization;
    to_sign.headers.erase("host");  // the URL sets it
  }
  for (const auto& [name, value] : to_sign.headers)
    request.headers.push_back(name + ": " + value);
  return request;
}

S3Endpoint::S3Error S3Endpoint::ReadError(const HttpReply& reply) {
  S3Error error;
  const bool read = ReadXml(reply.body, [&](std::string_view path, std::string&& text) {
    if (path == "Error/Code") error.code = std::move(text);
    if (path == "Error/Message") error.message = std::move(text);
    if (path == "Error/Region") error.region = std::move(text);
  });
  return read ? error : S3Error{};
}

bool S3Endpoint::MoveTo(const std::string& region) {
  const MutexLock lock(mutex_);
  if (!LooksLikeRegion(region) || region == region_ || google()) return false;
  region_ = region;
  return true;
}

Verdict S3Endpoint::Judge(const StoreCall& call, const Credentials& credentials,
                          const HttpReply& reply) {
  if (!reply.whole() && reply.failure != HttpFailure::kTooLong)
    return JudgeFailure(reply, Server());
  if (reply.succeeded()) return {};
  const S3Error error = ReadError(reply);
  const bool redirected = reply.status >= 300 && reply.status < 400 && reply.status != 304;
  if (redirected || reply.status == 400 || reply.status == 403) {
    const std::string before = region();
    const std::string told = error.region.empty() ? reply.bucket_region : error.region;
    if (MoveTo(told)) {
      Verdict verdict = FinalVerdict(
          ErrorCode::kIo, EXDEV,
          "the bucket is in region " + told + ", not in " + before + "; set AWS_REGION=" + told);
      verdict.kind = Verdict::Kind::kElsewhere;
      return verdict;
    }
    if (redirected) {
      return FinalVerdict(
          ErrorCode::kIo, EXDEV,
          "the server " + Server() + " sends requests elsewhere (HTTP " +
              std::to_string(reply.status) + " to '" + ShownUrl(reply.location) +
              "'), which Sluice does not follow with a signed "
              "request; set AWS_ENDPOINT_URL to the right server, and AWS_REGION to "
              "the bucket's region");
    }
  }
  return JudgeAnswer(call, credentials, reply, error);
}

Verdict S3Endpoint::JudgeAnswer(const StoreCall& call, const Credentials& credentials,
                                const HttpReply& reply, const S3Error& error) const {
  const std::string status = "HTTP " + std::to_string(reply.status);
  const std::string said =
      error.code.empty()
          ? status
          : WithoutSecrets(error.code + (error.message.empty() ? "" : ": " + error.message),
                           credentials);
  if (error.code == "SlowDown" || error.code == "RequestTimeout" ||
      error.code == "OperationAborted" || error.code == "ConditionalRequestConflict" ||
      reply.status == 409) {
    Verdict verdict = FinalVerdict(ErrorCode::kIo, EAGAIN,
                                   "the server " + Server() + " asks to wait (" + said + ")");
    verdict.kind = error.code == "SlowDown" ? Verdict::Kind::kBusy : Verdict::Kind::kAgain;
    return verdict;
  }
  if (Verdict usual = JudgeCommonStatus(reply, Server()); usual.kind != Verdict::Kind::kGood)
    return usual;
  if (error.code == "InvalidObjectState") {
    return FinalVerdict(ErrorCode::kUnsupported, 0,
                        "lies in an archive (a storage class such as GLACIER), from which it must "
                        "be restored before it can be read (" +
                            said + ")");
  }
  const bool expired = error.code == "ExpiredToken" || error.code == "ExpiredTokenException" ||
                       error.code == "TokenRefreshRequired" || error.code == "InvalidToken" ||
                       // An answer to HEAD has no body that could name the error.
                       (call.method == "HEAD" && !credentials.token.empty() && reply.status != 404);
  if (expired || reply.status == 403 || reply.status == 401)
    return JudgeDenied(call, credentials, reply, error);
  switch (reply.status) {
    case 404:
      if (error.code == "NoSuchBucket") {
        return FinalVerdict(ErrorCode::kNotFound, 0,
                            "there is no bucket '" + url_.bucket + "' at " + Server() +
                                "; check its name" +
                                (custom_.origin.empty() ? "" : " and the endpoint"));
      }
      if (error.code == "NoSuchUpload") {
        return FinalVerdict(ErrorCode::kIo, 0,
                            "the server no longer has this multipart upload: another program or a "
                            "lifecycle rule aborted it; start the upload again");
      }
      if (error.code.empty() && !reply.body.empty()) {
        return FinalVerdict(ErrorCode::kIo, EPROTO,
                            "the server " + Server() + " does not answer as S3 does (" + status +
                                " without S3's error); check AWS_ENDPOINT_URL");
      }
      return FinalVerdict(ErrorCode::kNotFound, 0,
                          error.code.empty() ? "there is no such object, or no such bucket"
                                             : "there is no such object");
    default:
      return FinalVerdict(
          ErrorCode::kIo, EPROTO,
          "the server " + Server() + " refuses the request (" + said + ")" +
              (error.code.empty() ? "; check that AWS_ENDPOINT_URL names an S3 service" : ""));
  }
}

Verdict S3Endpoint::JudgeDenied(const StoreCall& call, const Credentials& credentials,
                                const HttpReply& reply, const S3Error& error) const {
  const std::string& code = error.code;
  const std::string said = "HTTP " + std::to_string(reply.status) +
                           (code.empty() ? "" : " " + WithoutSecrets(code, credentials));
  const auto final_verdict = [&](const std::string& sentence) {
    return FinalVerdict(ErrorCode::kIo, EACCES, sentence + " (" + said + ")");
  };
  if (code == "RequestTimeTooSkewed" || code == "RequestExpired") {
    return final_verdict("the server refuses the signature, since this machine's clock is off" +
                         ClockSkew(reply.date) + "; set the clock");
  }
  if (code == "InvalidAccessKeyId") {
    return final_verdict(
        "the server " + Server() +
        " does not know the access key; check AWS_ACCESS_KEY_ID or the profile, and that they "
        "are for this endpoint");
  }
  if (code == "SignatureDoesNotMatch") {
    return final_verdict(
        "the server does not accept the signature: the secret key does not belong to the access "
        "key; check AWS_SECRET_ACCESS_KEY or the profile");
  }
  if (code == "ExpiredToken" || code == "ExpiredTokenException" || code == "TokenRefreshRequired" ||
      code == "InvalidToken") {
    Verdict verdict = final_verdict(
        "the credentials have expired; renew them (AWS_SESSION_TOKEN, or the profile)");
    verdict.kind = Verdict::Kind::kExpired;
    return verdict;
  }
  const std::string name =
      call.whole_bucket ? url_.bucket : url_.bucket + "/" + key_prefix() + call.object;
  Verdict verdict =
      credentials.anonymous()
          ? final_verdict(
                "does not allow this to everybody, and no credentials were found; set "
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")
          : final_verdict("the credentials do not allow this: they need " +
                          std::string(PermissionFor(call)) + " on '" + name + "'" +
                          (call.whole_bucket
                               ? ""
                               : "; without permission to list the bucket, the server answers the "
                                 "same for an object that does not exist"));
  if (code.empty() && !credentials.token.empty()) verdict.kind = Verdict::Kind::kExpired;
  return verdict;
}

}  // namespace sluice
