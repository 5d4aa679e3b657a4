// A plain HTTP server has URLs and nothing else. A request is the URL that the user gave, with the
// object's name before its query; a name and password in the URL become Basic authorization.
// Judge() looks for a failed transfer first, then for success, then at statuses that mean the same
// for every server, and then at its own. A redirect is not followed here: the verdict carries its
// target, unless that is not a complete URL or would give up encryption. Messages name the origin
// alone, or the URL as ShownUrl() gives it, because URLs may hold secrets.
#include <cerrno>

#include <openssl/evp.h>

#include "format/remote/http/url.h"
#include "format/remote/server/endpoint.h"

namespace sluice {

namespace {

std::string Base64(std::string_view text) {
  std::string encoded((text.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  encoded.resize(static_cast<std::size_t>(size));
  return encoded;
}

}  // namespace

HttpRequest PlainEndpoint::Form(const StoreCall& call, const Credentials&) const {
  HttpRequest request;
  request.method = call.method;
  request.body = call.body;
  request.url = url_.origin;
  if (!url_.prefix.empty()) request.url += "/" + url_.prefix;
  request.url += "/" + PercentEncoded(call.object, true);
  if (!url_.query.empty()) request.url += "?" + url_.query;
  for (const auto& [name, value] : call.headers)
    request.headers.push_back(name + ": " + value);
  if (!url_.user.empty()) request.headers.push_back("authorization: Basic " + Base64(url_.user));
  return request;
}

Verdict PlainEndpoint::JudgeRedirect(const HttpReply& reply) const {
  const std::string from = ParseHttpOrigin(reply.url, "redirect").origin;
  std::string target = reply.location;
  if (target.starts_with("//")) {
    target = (from.starts_with("https") ? "https:" : "http:") + target;
  } else if (target.starts_with("/")) {
    target = from + target;
  }
  const std::string says = "the server " + from + " sends requests on (HTTP " +
                           std::to_string(reply.status) + " to '" + ShownUrl(target) + "')";
  if (!target.starts_with("http://") && !target.starts_with("https://")) {
    return FinalVerdict(ErrorCode::kIo, EXDEV,
                        says +
                            ", and Sluice follows redirects to complete http:// and https:// URLs "
                            "only; use such a URL of that target");
  }
  if (from.starts_with("https") && !target.starts_with("https")) {
    return FinalVerdict(
        ErrorCode::kIo, EXDEV,
        says + ", without encryption; if you accept that, use the redirect's target as the URL");
  }
  try {
    ParseHttpOrigin(target, "the address");
  } catch (const Error& error) {
    return FinalVerdict(ErrorCode::kIo, EXDEV,
                        says + ", and Sluice does not follow it: " + error.sentence());
  }
  Verdict verdict = FinalVerdict(ErrorCode::kIo, ELOOP, says + ", in a loop");
  verdict.kind = Verdict::Kind::kElsewhere;
  verdict.target = std::move(target);
  return verdict;
}

Verdict PlainEndpoint::Judge(const StoreCall&, const Credentials&, const HttpReply& reply) {
  if (!reply.whole() && reply.failure != HttpFailure::kTooLong)
    return JudgeFailure(
        reply, reply.url.empty() ? url_.origin : ParseHttpOrigin(reply.url, "redirect").origin);
  if (reply.succeeded()) return {};
  if (Verdict usual = JudgeCommonStatus(reply, url_.origin); usual.kind != Verdict::Kind::kGood)
    return usual;
  const std::string status = "HTTP " + std::to_string(reply.status);
  switch (reply.status) {
    case 301:
    case 302:
    case 303:
    case 307:
    case 308: return JudgeRedirect(reply);
    case 401:
      return FinalVerdict(
          ErrorCode::kIo, EACCES,
          std::string(url_.user.empty() ? "the server wants a name and a password"
                                        : "the server does not accept the name and password") +
              " (" + status + "); give them as https://name:password@host/path");
    case 403:
      return FinalVerdict(
          ErrorCode::kIo, EACCES,
          "the server does not let it be read (" + status +
              "); check its permissions there, or that the URL's signature has not expired");
    case 404:
    case 410:
      return FinalVerdict(ErrorCode::kNotFound, 0,
                          "there is no such file on the server (" + status + ")");
    default:
      return FinalVerdict(ErrorCode::kIo, EPROTO,
                          "the server " + url_.origin + " refuses the request (" + status + ")");
  }
}

}  // namespace sluice
