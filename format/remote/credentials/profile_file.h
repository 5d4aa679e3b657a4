// The files of profiles that Amazon's tools share: ~/.aws/credentials and ~/.aws/config.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace sluice {

// The settings of each section: {"profile dev": {"region": "eu-west-1"}}. Lines that are neither a
// section, nor a setting, nor empty, nor a comment are passed over, and so are settings of settings
// (indented lines), as Amazon's tools do.
using ProfileSections = std::map<std::string, std::map<std::string, std::string>>;
ProfileSections ParseProfiles(std::string_view text);

// The settings of one profile out of both files; those of the credentials file win.
std::map<std::string, std::string> SettingsOfProfile(const ProfileSections& credentials,
                                                     const ProfileSections& config,
                                                     const std::string& name);

}  // namespace sluice
