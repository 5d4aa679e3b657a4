// A role taken by a token that the platform writes into a file (Kubernetes, CI services).
#include <sluice/error.h>

#include "format/remote/credentials/answers.h"
#include "format/remote/credentials/chain.h"
#include "format/remote/credentials/small_file.h"
#include "format/remote/percent.h"
#include "format/remote/store_url.h"

namespace sluice {

namespace {

// The service that gives out credentials of roles, in the region if one is set.
std::string StsEndpoint(const CredentialSearch& search) {
  for (const char* name : {"AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"}) {
    if (const std::string url = search.environment(name); !url.empty()) {
      return ParseHttpOrigin(url, name).origin;
    }
  }
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    const std::string region = search.environment(name);
    if (region.empty() ||
        region.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos)
      continue;
    return "https://sts." + region + ".amazonaws.com" + (region.starts_with("cn-") ? ".cn" : "");
  }
  return "https://sts.amazonaws.com";
}

}  // namespace

std::optional<Credentials> CredentialsOfWebIdentity(const CredentialSearch& search,
                                                    const std::string& token_file,
                                                    const std::string& role,
                                                    const std::string& session) {
  constexpr std::size_t kMostTokenBytes = 20'000;  // AssumeRoleWithWebIdentity's own limit
  constexpr int kTries = 3;
  if (token_file.empty() || role.empty()) return std::nullopt;
  auto token = ReadSmallFile(token_file, kMostTokenBytes);
  while (token && !token->empty() && (token->back() == '\n' || token->back() == '\r'))
    token->pop_back();
  if (!token || token->empty()) {
    throw Error(ErrorCode::kInvalidArgument, token_file,
                "the token of AWS_WEB_IDENTITY_TOKEN_FILE cannot be read, or is empty or too long");
  }
  const std::string form =
      "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=" + PercentEncoded(role, false) +
      "&RoleSessionName=" + PercentEncoded(session.empty() ? "sluice" : session, false) +
      "&WebIdentityToken=" + PercentEncoded(*token, false);
  HttpRequest request;
  request.method = "POST";
  request.url = StsEndpoint(search) + "/";
  request.headers = {"content-type: application/x-www-form-urlencoded"};
  request.body = AsBytes(form);
  HttpReply reply;
  for (int i = 0; i < kTries && !search.stopped(); ++i) {
    reply = search.send(request);
    if (reply.whole() && reply.status < 500) break;
  }
  if (reply.succeeded()) {
    if (auto credentials = CredentialsFromSts(reply.body)) return credentials;
  }
  throw Error(ErrorCode::kInvalidArgument,
              "the role of AWS_ROLE_ARN could not be taken with the token of "
              "AWS_WEB_IDENTITY_TOKEN_FILE (" +
                  (reply.status == 0 ? reply.why : "HTTP " + std::to_string(reply.status)) +
                  " from " + StsEndpoint(search) +
                  "); check the role's trust policy, and that the token is not too old");
}

}  // namespace sluice
