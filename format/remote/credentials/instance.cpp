// Credentials of the machine's own role, from the metadata service of EC2 (version 2: with a
// session token, so that a forged request from elsewhere gets nothing).
#include <sluice/error.h>

#include "format/remote/credentials/answers.h"
#include "format/remote/credentials/chain.h"
#include "format/remote/percent.h"
#include "format/remote/store_url.h"

namespace sluice {

namespace {

constexpr const char* kMetadata = "http://169.254.169.254";
constexpr const char* kRoles = "/latest/meta-data/iam/security-credentials/";

// Anywhere but on EC2 nobody answers: that must not take long.
HttpRequest MetadataRequest(const std::string& url) {
  HttpRequest request;
  request.url = url;
  request.direct = true;
  request.connect_timeout = std::chrono::seconds(1);
  request.stall_timeout = std::chrono::seconds(2);
  return request;
}

std::string FirstLine(const std::string& text) {
  return text.substr(0, text.find_first_of("\r\n"));
}

}  // namespace

std::optional<Credentials> CredentialsOfInstance(const CredentialSearch& search) {
  if (SaysYes(search.environment("AWS_EC2_METADATA_DISABLED"))) return std::nullopt;
  const std::string named = search.environment("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  const std::string service =
      named.empty() ? kMetadata
                    : ParseHttpOrigin(named, "AWS_EC2_METADATA_SERVICE_ENDPOINT").origin;

  HttpRequest begin = MetadataRequest(service + "/latest/api/token");
  begin.method = "PUT";
  begin.headers = {"x-aws-ec2-metadata-token-ttl-seconds: 21600"};
  const HttpReply token = search.send(begin);
  const std::string session = FirstLine(token.body);
  if (!token.succeeded() || session.empty()) return std::nullopt;  // not on EC2

  HttpRequest ask = MetadataRequest(service + kRoles);
  ask.headers = {"x-aws-ec2-metadata-token: " + session};
  const HttpReply roles = search.send(ask);
  const std::string role = FirstLine(roles.body);
  if (!roles.succeeded() || role.empty()) return std::nullopt;  // an instance without a role

  ask.url += PercentEncoded(role, false);
  const HttpReply answer = search.send(ask);
  auto credentials = answer.succeeded() ? CredentialsFromJson(answer.body) : std::nullopt;
  if (!credentials) {
    throw Error(ErrorCode::kInvalidArgument,
                "the instance's metadata service gives no credentials of its role (HTTP " +
                    std::to_string(answer.status) +
                    "); check the instance profile, or set AWS_EC2_METADATA_DISABLED=true");
  }
  return credentials;
}

}  // namespace sluice
