#include "format/remote/credentials/profile_file.h"

namespace sluice {

namespace {

std::string_view TrimmedLine(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// "profile   dev" is "profile dev".
std::string SectionName(std::string_view inside) {
  const std::string_view name = TrimmedLine(inside);
  constexpr std::string_view kProfile = "profile";
  if (name.starts_with(kProfile) && name.size() > kProfile.size() &&
      (name[kProfile.size()] == ' ' || name[kProfile.size()] == '\t')) {
    std::string_view own = TrimmedLine(name.substr(kProfile.size()));
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
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string_view content = TrimmedLine(line);
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
    std::string_view value = TrimmedLine(content.substr(equals + 1));
    // A comment at a line's end is one behind a space.
    for (const std::string_view mark : {" #", " ;", "\t#", "\t;"})
      value = value.substr(0, value.find(mark));
    (*section)[std::string(TrimmedLine(content.substr(0, equals)))] = TrimmedLine(value);
  }
  return sections;
}

std::map<std::string, std::string> SettingsOfProfile(const ProfileSections& credentials,
                                                     const ProfileSections& config,
                                                     const std::string& name) {
  std::map<std::string, std::string> settings;
  if (const auto found = credentials.find(name); found != credentials.end())
    settings = found->second;
  if (const auto found = config.find("profile " + name); found != config.end()) {
    settings.insert(found->second.begin(), found->second.end());
  }
  if (const auto found = config.find(name); name == "default" && found != config.end()) {
    settings.insert(found->second.begin(), found->second.end());
  }
  return settings;
}

}  // namespace sluice
