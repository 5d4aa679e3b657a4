#include "format/remote/credentials/chain.h"

#include <sluice/error.h>

namespace sluice {

std::optional<Credentials> CredentialsOfEnvironment(const Environment& environment) {
  Credentials credentials;
  credentials.key_id = environment("AWS_ACCESS_KEY_ID");
  credentials.secret = environment("AWS_SECRET_ACCESS_KEY");
  credentials.token = environment("AWS_SESSION_TOKEN");
  if (credentials.key_id.empty() && credentials.secret.empty()) return std::nullopt;
  if (credentials.key_id.empty() || credentials.secret.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set without the other; set "
                "both, or none");
  }
  return credentials;
}

Credentials FindCredentials(const CredentialSearch& search) {
  const Environment& environment = search.environment;
  if (SaysYes(environment("AWS_NO_SIGN_REQUEST"))) return {};
  if (auto found = CredentialsOfEnvironment(environment)) return *found;
  if (auto found = CredentialsOfWebIdentity(search, environment("AWS_WEB_IDENTITY_TOKEN_FILE"),
                                            environment("AWS_ROLE_ARN"),
                                            environment("AWS_ROLE_SESSION_NAME"))) {
    return *found;
  }
  if (auto found = CredentialsOfProfile(search, true)) return *found;
  if (auto found = CredentialsOfContainer(search)) return *found;
  if (auto found = CredentialsOfInstance(search)) return *found;
  return {};
}

Credentials FindStaticCredentials(const CredentialSearch& search) {
  if (SaysYes(search.environment("AWS_NO_SIGN_REQUEST"))) return {};
  if (auto found = CredentialsOfEnvironment(search.environment)) return *found;
  if (auto found = CredentialsOfProfile(search, false)) return *found;
  return {};
}

}  // namespace sluice
