// Profiles: the files ~/.aws/credentials and ~/.aws/config that Amazon's tools share, and the
// credentials that a profile leads to.
//
// The two files name a profile differently: [NAME] in credentials, [profile NAME] in config; only
// "default" may stand alone in both. If both files have a setting, that of credentials counts. A
// line that begins with a space belongs to a nested setting, of which none is used here, and is
// skipped.
//
// A profile's credential_process is the user's own program, so everything that it may do wrong
// becomes an error that names the profile and says how to find out more.
#include <sluice/error.h>

#include "format/ascii.h"
#include "format/remote/credentials/chain.h"
#include "format/remote/credentials/process.h"

namespace sluice {

namespace {

// Makes "profile   dev" into "profile dev".
std::string SectionName(std::string_view inside) {
  const std::string_view name = Trimmed(inside);
  constexpr std::string_view kProfile = "profile";
  if (name.starts_with(kProfile) && name.size() > kProfile.size() &&
      (name[kProfile.size()] == ' ' || name[kProfile.size()] == '\t')) {
    std::string_view own = Trimmed(name.substr(kProfile.size()));
    if (own.size() >= 2 && own.front() == own.back() &&
        (own.front() == '"' || own.front() == '\'')) {
      own = own.substr(1, own.size() - 2);
    }
    return "profile " + std::string(own);
  }
  return std::string(name);
}

}  // namespace

ProfileSections ParseProfiles(std::string_view text) {
  ProfileSections sections;
  std::map<std::string, std::string>* section = nullptr;
  while (!text.empty()) {
    const std::string_view line = TakeLine(text);
    const std::string_view content = Trimmed(line);
    if (content.empty() || content.front() == '#' || content.front() == ';') continue;
    if (content.front() == '[') {
      const std::size_t close = content.find(']');
      section = close == std::string_view::npos
                    ? nullptr
                    : &sections[SectionName(content.substr(1, close - 1))];
      continue;
    }
    const std::size_t equals = content.find('=');
    if (section == nullptr || equals == std::string_view::npos || line.front() == ' ' ||
        line.front() == '\t')
      continue;
    std::string_view value = Trimmed(content.substr(equals + 1));
    // A comment at a line's end begins after a space or a tab.
    for (const std::string_view mark : {" #", " ;", "\t#", "\t;"})
      value = value.substr(0, value.find(mark));
    (*section)[std::string(Trimmed(content.substr(0, equals)))] = Trimmed(value);
  }
  return sections;
}

std::map<std::string, std::string> SettingsOfProfile(const ProfileSections& credentials,
                                                     const ProfileSections& config,
                                                     const std::string& name) {
  std::map<std::string, std::string> settings;
  if (const auto found = credentials.find(name); found != credentials.end())
    settings = found->second;
  // insert() keeps what is there already, so the settings of credentials win.
  if (const auto found = config.find("profile " + name); found != config.end()) {
    settings.insert(found->second.begin(), found->second.end());
  }
  if (const auto found = config.find(name); name == "default" && found != config.end()) {
    settings.insert(found->second.begin(), found->second.end());
  }
  return settings;
}

namespace {

constexpr std::chrono::seconds kMaxProcessTime{60};
constexpr std::size_t kMaxProfileBytes = 1 << 20;

std::string ProfileName(const Environment& environment) {
  for (const char* name : {"AWS_PROFILE", "AWS_DEFAULT_PROFILE"}) {
    if (std::string value = environment(name); !value.empty()) return value;
  }
  return "default";
}

// The sections of a file that an environment variable names, or that lies in ~/.aws. A missing file
// has no sections.
ProfileSections ReadProfiles(const Environment& environment, const char* variable,
                             const char* usual_name) {
  std::string path = environment(variable);
  if (path.empty()) {
    const std::string home = environment("HOME");
    if (home.empty()) return {};
    path = home + "/.aws/" + usual_name;
  } else if (path.starts_with("~/")) {
    path = environment("HOME") + path.substr(1);
  }
  const auto text = ReadSmallFile(path, kMaxProfileBytes);
  return text ? ParseProfiles(*text) : ProfileSections();
}

Credentials CredentialsOfCommand(const CredentialSearch& search, const std::string& profile,
                                 const std::string& command) {
  const auto refusal = [&](const std::string& why) {
    return Error(ErrorCode::kInvalidArgument,
                 "the credential_process of profile '" + profile + "' " + why);
  };
  const auto words = CommandWords(command);
  if (!words || words->empty())
    throw refusal("is not a command: it is empty, or a quote in it is not closed");
  const ProcessResult result =
      RunProcess(*words, kMaxCredentialBytes, kMaxProcessTime, search.stopped);
  using End = ProcessResult::End;
  switch (result.end) {
    case End::kNotStarted:
      throw refusal("cannot be started (error " + std::to_string(result.status) +
                    "); check its path");
    case End::kTooSlow:
      throw refusal(
          "did not finish within a minute and was killed; run it by hand to see what it waits for");
    case End::kTooLong: throw refusal("gives more than 64 KiB, which cannot be credentials");
    case End::kStopped: throw refusal("was killed because the store was closed");
    case End::kKilled: throw refusal("was killed by signal " + std::to_string(result.status));
    case End::kExited: break;
  }
  if (result.status != 0)
    throw refusal("failed with exit status " + std::to_string(result.status) +
                  "; run it by hand to see why");
  auto credentials = CredentialsFromJson(result.output);
  if (!credentials)
    throw refusal("did not print the expected JSON with AccessKeyId and SecretAccessKey");
  return *credentials;
}

}  // namespace

std::map<std::string, std::string> ChosenProfile(const Environment& environment) {
  const std::string name = ProfileName(environment);
  auto settings =
      SettingsOfProfile(ReadProfiles(environment, "AWS_SHARED_CREDENTIALS_FILE", "credentials"),
                        ReadProfiles(environment, "AWS_CONFIG_FILE", "config"), name);
  if (settings.empty() && name != "default") {
    throw Error(ErrorCode::kInvalidArgument,
                "there is no profile '" + name +
                    "' (AWS_PROFILE) in ~/.aws/credentials or ~/.aws/config, or the files "
                    "that AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE name");
  }
  return settings;
}

std::optional<Credentials> CredentialsOfProfile(const CredentialSearch& search, bool amazon) {
  const std::string name = ProfileName(search.environment);
  const auto settings = ChosenProfile(search.environment);
  const auto setting = [&](const char* key) {
    const auto found = settings.find(key);
    return found == settings.end() ? std::string() : found->second;
  };
  if (const std::string role = setting("role_arn"); !role.empty() && amazon) {
    const std::string token_file = setting("web_identity_token_file");
    if (token_file.empty()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "profile '" + name +
                      "' assumes a role through another profile, which Sluice does not support; "
                      "add a second profile with the line credential_process = aws configure "
                      "export-credentials --profile " +
                      name + " --format process, and name that profile in AWS_PROFILE");
    }
    return CredentialsOfWebIdentity(search, token_file, role, setting("role_session_name"));
  }
  Credentials credentials;
  credentials.key_id = setting("aws_access_key_id");
  credentials.secret = setting("aws_secret_access_key");
  credentials.token = setting("aws_session_token");
  if (!credentials.key_id.empty() && !credentials.secret.empty()) return credentials;
  if (const std::string command = setting("credential_process"); !command.empty()) {
    return CredentialsOfCommand(search, name, command);
  }
  if (!setting("sso_start_url").empty() || !setting("sso_session").empty()) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "profile '" + name +
            "' signs in by SSO, which Sluice does not do itself; run 'aws sso login', and use "
            "a profile with credential_process = aws configure export-credentials --profile " +
            name + " --format process");
  }
  return std::nullopt;
}

}  // namespace sluice
