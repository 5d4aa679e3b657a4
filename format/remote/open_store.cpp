#include "format/remote/credentials/chain.h"
#include "format/remote/server/endpoint.h"
#include "format/remote/server/remote_store.h"
#include "format/remote/server/s3_endpoint.h"

namespace sluice {

namespace {

// The value of the first of these variables that is set; otherwise the profile's setting.
std::string Setting(const Environment& environment, std::initializer_list<const char*> variables,
                    const std::map<std::string, std::string>& profile, const char* in_profile) {
  for (const char* name : variables) {
    if (std::string value = environment(name); !value.empty()) return value;
  }
  const auto found = profile.find(in_profile);
  return found == profile.end() ? "" : found->second;
}

S3Settings SettingsOfS3(const Environment& environment) {
  const auto profile = ChosenProfile(environment);
  S3Settings settings;
  settings.region = Setting(environment, {"AWS_REGION", "AWS_DEFAULT_REGION"}, profile, "region");
  if (!SaysYes(environment("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"))) {
    settings.endpoint =
        Setting(environment, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}, profile, "endpoint_url");
  }
  return settings;
}

}  // namespace

std::shared_ptr<ObjectStore> OpenStoreWith(std::string_view url, const StoreSettings& settings) {
  StoreUrl parsed = ParseStoreUrl(url);
  if (parsed.kind == StoreUrl::Kind::kPlain) {
    return std::make_shared<RemoteStore>(std::make_unique<PlainEndpoint>(std::move(parsed)),
                                         nullptr, settings);
  }
  const bool amazon = parsed.kind == StoreUrl::Kind::kS3;
  S3Settings s3;
  if (amazon) s3 = SettingsOfS3(settings.environment);
  const auto find = [environment = settings.environment, amazon](HttpLoop& loop) {
    CredentialSearch search;
    search.environment = environment;
    search.send = [&loop](const HttpRequest& request) {
      constexpr std::size_t kMaxBytes = 64 << 10;
      return loop.Call(request, kMaxBytes);
    };
    search.stopped = [&loop] { return loop.Stopped() || loop.CallsStopped(); };
    return amazon ? FindCredentials(search) : FindStaticCredentials(search);
  };
  return std::make_shared<RemoteStore>(std::make_unique<S3Endpoint>(std::move(parsed), s3), find,
                                       settings);
}

std::shared_ptr<ObjectStore> OpenStore(std::string_view url) {
  return OpenStoreWith(url, {});
}

}  // namespace sluice
