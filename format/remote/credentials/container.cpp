// Credentials that a container's host hands out (ECS, EKS Pod Identity).
#include <sluice/error.h>

#include "format/remote/credentials/answers.h"
#include "format/remote/credentials/chain.h"
#include "format/remote/credentials/small_file.h"
#include "format/remote/store_url.h"

namespace sluice {

namespace {

constexpr const char* kRelativeTo = "http://169.254.170.2";

// Without encryption only the addresses of this machine and of its host.
bool MayBeAsked(const std::string& url) {
  if (url.starts_with("https://")) return true;
  std::string host = ParseHttpOrigin(url, "AWS_CONTAINER_CREDENTIALS_FULL_URI").host;
  const std::size_t bracket = host.rfind(']');
  host = host.substr(0, host.find(':', bracket == std::string::npos ? 0 : bracket));
  const bool loopback =
      host == "localhost" || host == "[::1]" ||
      (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos);
  return loopback || host == "169.254.170.2" || host == "169.254.170.23" ||
         host == "[fd00:ec2::23]";
}

std::string ContainerToken(const Environment& environment) {
  constexpr std::size_t kMostBytes = 16 << 10;
  std::string token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string file = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
      !file.empty()) {
    const auto text = ReadSmallFile(file, kMostBytes);
    if (!text) {
      throw Error(ErrorCode::kInvalidArgument, file,
                  "the token of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE cannot be read");
    }
    token = *text;
  }
  if (token.find_first_of("\r\n") != std::string::npos) {
    throw Error(ErrorCode::kInvalidArgument,
                "the container's authorization token has a line break in it");
  }
  return token;
}

}  // namespace

std::optional<Credentials> CredentialsOfContainer(const CredentialSearch& search) {
  constexpr int kTries = 3;
  const std::string relative = search.environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string full = search.environment("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (relative.empty() && full.empty()) return std::nullopt;
  HttpRequest request;
  request.url = relative.empty() ? full : kRelativeTo + relative;
  if ((!relative.empty() && !relative.starts_with('/')) || !MayBeAsked(request.url)) {
    throw Error(ErrorCode::kInvalidArgument,
                "AWS_CONTAINER_CREDENTIALS_FULL_URI names neither an https:// URL nor an address "
                "of this machine's "
                "host; a token is not sent anywhere else");
  }
  request.direct = !request.url.starts_with("https://");
  request.connect_timeout = std::chrono::seconds(2);
  request.stall_timeout = std::chrono::seconds(5);
  if (const std::string token = ContainerToken(search.environment); !token.empty()) {
    request.headers.push_back("authorization: " + token);
  }
  HttpReply reply;
  for (int i = 0; i < kTries && !search.stopped(); ++i) {
    reply = search.send(request);
    if (reply.succeeded()) {
      if (auto credentials = CredentialsFromJson(reply.body)) return credentials;
    }
    if (reply.whole() && reply.status < 500) break;
  }
  throw Error(
      ErrorCode::kInvalidArgument,
      "the service of AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI gives no credentials (" +
          (reply.status == 0 ? reply.why : "HTTP " + std::to_string(reply.status)) +
          "); check the task's role");
}

}  // namespace sluice
