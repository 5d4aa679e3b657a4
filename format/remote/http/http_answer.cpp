// Decides, in one place, what an answer means. A Verdict says whether, when and where to ask again,
// and has the text of the error if there is one.
//
// This file has the verdicts that all servers share: no answer at all, a busy server, and the
// answer to a range request, which must be the requested range of the same object as before.
// Endpoints judge the rest.
#include "format/remote/http/http_answer.h"

#include <cerrno>

#include "format/ascii.h"
#include "format/disk/system_error.h"

namespace sluice {

Error GivenUpError(const std::string& object) {
  return {ErrorCode::kState, object, "was given up after a stop request"};
}

namespace {

Verdict MakeVerdict(Verdict::Kind kind, int number, std::string sentence, bool no_contact = false) {
  Verdict verdict;
  verdict.kind = kind;
  verdict.number = number;
  verdict.sentence = std::move(sentence);
  verdict.no_contact = no_contact;
  return verdict;
}

// Reads Retry-After in seconds. Its other form, a date, is ignored.
std::chrono::milliseconds AskedWait(const std::string& retry_after) {
  constexpr unsigned kMaxSeconds = 30;
  std::string_view text = retry_after;
  return std::chrono::seconds(std::min(TakeNumber<unsigned>(text).value_or(0), kMaxSeconds));
}

Verdict ReplacedVerdict() {
  return FinalVerdict(
      ErrorCode::kIo, ESTALE,
      "was replaced since it was opened; open the dataset again, and do not write over one in use");
}

Verdict TooShortVerdict(std::uint64_t bytes, std::uint64_t end) {
  return FinalVerdict(ErrorCode::kCorrupt, 0,
                      "has " + std::to_string(bytes) + " bytes, but bytes up to " +
                          std::to_string(end) + " are wanted; it was cut short or replaced");
}

}  // namespace

Verdict FinalVerdict(ErrorCode code, int number, std::string sentence) {
  Verdict verdict = MakeVerdict(Verdict::Kind::kFinal, number, std::move(sentence));
  verdict.code = code;
  return verdict;
}

void Verdict::Throw(const std::string& shown_url) const {
  if (code == ErrorCode::kIo) throw SystemError(code, shown_url, sentence, number);
  throw Error(code, shown_url, sentence);
}

Verdict JudgeFailure(const HttpReply& reply, const std::string& server) {
  using Kind = Verdict::Kind;
  switch (reply.failure) {
    case HttpFailure::kNoSuchHost:
      return MakeVerdict(
          Kind::kAgain, EHOSTUNREACH,
          "the name of the server " + server + " does not resolve (" + reply.why +
              "); check its spelling, and that this machine has a network and a name server",
          true);
    case HttpFailure::kNotReached:
      return MakeVerdict(
          Kind::kAgain, ECONNREFUSED,
          "the server " + server + " cannot be reached (" + reply.why +
              "); check that the server runs, its port, and firewalls or proxies on the way",
          true);
    case HttpFailure::kCertificate:
      return MakeVerdict(
          Kind::kFinal, EPROTO,
          "the certificate of " + server + " is not accepted (" + reply.why +
              "); have it renewed if it has expired, or name the file of the authority that "
              "signed it by AWS_CA_BUNDLE or CURL_CA_BUNDLE");
    case HttpFailure::kTls:
      return MakeVerdict(Kind::kAgain, EPROTO,
                         "cannot set up an encrypted connection to " + server + " (" + reply.why +
                             "); check that it speaks TLS on that port",
                         true);
    case HttpFailure::kTimeout:
      return MakeVerdict(Kind::kAgain, ETIMEDOUT,
                         "the server " + server + " does not answer (" + reply.why + ")");
    case HttpFailure::kCut:
      return MakeVerdict(
          Kind::kAgain, ECONNRESET,
          "the server " + server + " ended the connection in the middle (" + reply.why + ")");
    case HttpFailure::kBadUrl:
      return FinalVerdict(ErrorCode::kInvalidArgument, EINVAL,
                          "is not a URL that can be requested; check its spelling");
    case HttpFailure::kNotHttp:
      return MakeVerdict(Kind::kFinal, EPROTO,
                         "the server " + server + " does not answer in HTTP/1.1 (" + reply.why +
                             "); check the address and the port");
    case HttpFailure::kStopped:
      return MakeVerdict(Kind::kFinal, ECANCELED, "the store was closed meanwhile");
    default:
      return MakeVerdict(Kind::kAgain, EPROTO,
                         "the request to " + server + " failed (" + reply.why + ")");
  }
}

Verdict JudgeCommonStatus(const HttpReply& reply, const std::string& server) {
  using Kind = Verdict::Kind;
  if (reply.status == 412) return ReplacedVerdict();
  if (reply.status == 416) {
    return FinalVerdict(ErrorCode::kCorrupt, 0,
                        "is shorter than expected; it was cut short or replaced");
  }
  if (reply.status != 408 && reply.status != 429 && reply.status < 500) return {};
  const bool busy = reply.status == 503 || reply.status == 429;
  const bool never = reply.status == 501 || reply.status == 505;
  const std::string answer =
      "the server " + server + " answers with HTTP " + std::to_string(reply.status);
  Verdict verdict = MakeVerdict(busy    ? Kind::kBusy
                                : never ? Kind::kFinal
                                        : Kind::kAgain,
                                EAGAIN,
                                answer + (busy    ? ": it has too many requests"
                                          : never ? ": it does not support such requests"
                                                  : ": it has an internal error"));
  verdict.wait = AskedWait(reply.retry_after);
  return verdict;
}

std::optional<ContentRange> ParseContentRange(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  if (!text.starts_with(kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  ContentRange range;
  const auto first = TakeNumber<std::uint64_t>(text);
  if (!first || !text.starts_with('-')) return std::nullopt;
  text.remove_prefix(1);
  const auto last = TakeNumber<std::uint64_t>(text);
  if (!last || !text.starts_with('/') || *last < *first) return std::nullopt;
  text.remove_prefix(1);
  range.first = *first;
  range.last = *last;
  if (text == "*") return range;
  range.total = TakeNumber<std::uint64_t>(text);
  if (!range.total || !text.empty() || *range.total <= *last) return std::nullopt;
  return range;
}

Verdict JudgeEncoding(const HttpReply& reply) {
  // Others (aws-chunked, utf-8) are labels that uploads leave behind on plain bytes.
  const std::string encoding = LowerCase(reply.content_encoding);
  const auto named = [&](const char* name) { return encoding.find(name) != std::string::npos; };
  if (!named("gzip") && !named("compress") && !named("deflate") && !named("zstd") && !named("br"))
    return {};
  return FinalVerdict(
      ErrorCode::kUnsupported, 0,
      "the server sends it compressed (Content-Encoding: " + encoding +
          "), although Sluice asked for the file's own bytes; turn compression off for it on the "
          "server, or remove that header from the object's metadata if its bytes are plain");
}

Verdict JudgeRangeAnswer(const HttpReply& reply, const WantedRange& wanted) {
  using Kind = Verdict::Kind;
  if (Verdict encoding = JudgeEncoding(reply); encoding.kind != Kind::kGood) return encoding;
  if (!wanted.etag.empty() && !reply.etag.empty() && reply.etag != wanted.etag) {
    return ReplacedVerdict();
  }
  const std::uint64_t end = wanted.offset + wanted.bytes;
  if (reply.status == 200) {
    // The whole object: correct if the wanted range is the whole object.
    if (wanted.offset == 0 && reply.length == wanted.bytes) return {};
    if (reply.length && *reply.length < end) return TooShortVerdict(*reply.length, end);
    return FinalVerdict(ErrorCode::kUnsupported, 0,
                        "the server sends the whole file when Sluice asks for a part; a dataset "
                        "needs a server that "
                        "supports range requests (nginx and object stores do)");
  }
  const auto range = ParseContentRange(reply.content_range);
  if (!range) {
    return MakeVerdict(
        Kind::kAgain, EPROTO,
        "the answer does not say which bytes it has (Content-Range is missing or wrong)");
  }
  if (range->total && *range->total < end) return TooShortVerdict(*range->total, end);
  if (range->first != wanted.offset || range->last >= end ||
      (reply.length && *reply.length != range->bytes())) {
    return MakeVerdict(Kind::kAgain, EPROTO,
                       "the server sent bytes of a range that was not requested");
  }
  return {};
}

}  // namespace sluice
