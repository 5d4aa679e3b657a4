#include "format/remote/verdict.h"

#include <cerrno>
#include <charconv>

#include "format/disk/system_error.h"

namespace sluice {

Error GivenUpError(const std::string& object) {
  return {ErrorCode::kState, object, "was given up, because a stop was asked for"};
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

// Retry-After in seconds; its other form, a date, is passed over.
std::chrono::milliseconds AskedWait(const std::string& retry_after) {
  constexpr unsigned kMostSeconds = 30;
  unsigned seconds = 0;
  std::from_chars(retry_after.data(), retry_after.data() + retry_after.size(), seconds);
  return std::chrono::seconds(std::min(seconds, kMostSeconds));
}

}  // namespace

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
              "); check that it runs, the port, and what firewalls or proxies are between",
          true);
    case HttpFailure::kCertificate:
      return MakeVerdict(
          Kind::kFinal, EPROTO,
          "the certificate of " + server + " is not accepted (" + reply.why +
              "); have it renewed if it has expired, or name the file of the authority that "
              "signed it by AWS_CA_BUNDLE or CURL_CA_BUNDLE");
    case HttpFailure::kTls:
      return MakeVerdict(Kind::kAgain, EPROTO,
                         "no encrypted connection to " + server + " came about (" + reply.why +
                             "); check that it speaks TLS on that port",
                         true);
    case HttpFailure::kTimeout:
      return MakeVerdict(Kind::kAgain, ETIMEDOUT,
                         "the server " + server + " does not answer (" + reply.why + ")");
    case HttpFailure::kCut:
      return MakeVerdict(
          Kind::kAgain, ECONNRESET,
          "the server " + server + " ended the connection in the middle (" + reply.why + ")");
    case HttpFailure::kBadUrl: {
      Verdict verdict =
          MakeVerdict(Kind::kFinal, EINVAL, "is no URL that can be asked for; check it");
      verdict.code = ErrorCode::kInvalidArgument;
      return verdict;
    }
    case HttpFailure::kNotHttp:
      return MakeVerdict(Kind::kFinal, EPROTO,
                         "the server " + server + " does not answer as HTTP/1.1 wants it (" +
                             reply.why + "); check the address and the port");
    case HttpFailure::kStopped:
      return MakeVerdict(Kind::kFinal, ECANCELED, "the store was closed meanwhile");
    default:
      return MakeVerdict(Kind::kAgain, EPROTO,
                         "the request to " + server + " failed (" + reply.why + ")");
  }
}

Verdict JudgeBusyServer(const HttpReply& reply, const std::string& server) {
  using Kind = Verdict::Kind;
  if (reply.status != 408 && reply.status != 429 && reply.status < 500) return {};
  const bool busy = reply.status == 503 || reply.status == 429;
  const bool never = reply.status == 501 || reply.status == 505;
  const std::string answer =
      "the server " + server + " answers with HTTP " + std::to_string(reply.status);
  Verdict verdict = MakeVerdict(busy    ? Kind::kBusy
                                : never ? Kind::kFinal
                                        : Kind::kAgain,
                                EAGAIN,
                                answer + (busy    ? ": it is asked for more than it can do"
                                          : never ? ": it does not know such requests"
                                                  : ": it has a fault of its own"));
  verdict.wait = AskedWait(reply.retry_after);
  return verdict;
}

}  // namespace sluice
