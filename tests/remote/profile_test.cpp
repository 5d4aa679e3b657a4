// Profiles in the files of Amazon's tools, ~/.aws/config and ~/.aws/credentials.
#include <fstream>

#include "format/remote/credentials/chain.h"
#include "tests/catch.h"
#include "tests/remote/bucket_server.h"
#include "tests/temporary_folder.h"

namespace sluice::test {

TEST_CASE("Files of profiles are read as Amazon's tools read them") {
  const ProfileSections sections = ParseProfiles(
      "aws_access_key_id = before any section\n"
      "# a comment\r\n"
      "[default]\r\n"
      "region=us-west-2\r\n"
      "; another\n"
      "[profile  my dev]\n"
      "aws_access_key_id  =  A # not part of it\n"
      "aws_secret_access_key = a#b;c=d\n"
      "s3 =\n"
      "  region = nested\n"
      "no equals here\n"
      "[profile \"quoted\"]\n"
      "region = x\n"
      "[broken\n"
      "region = nowhere\n");
  CHECK(sections ==
        ProfileSections{
            {"default", {{"region", "us-west-2"}}},
            {"profile my dev",
             {{"aws_access_key_id", "A"}, {"aws_secret_access_key", "a#b;c=d"}, {"s3", ""}}},
            {"profile quoted", {{"region", "x"}}}});
}

TEST_CASE("A profile combines both files, the credentials file first") {
  const ProfileSections credentials =
      ParseProfiles("[dev]\na=1\n[default]\na=2\n[profile odd]\na=3\n");
  const ProfileSections config =
      ParseProfiles("[profile dev]\na=4\nb=5\n[dev]\nc=6\n[default]\nb=7\n");
  CHECK(SettingsOfProfile(credentials, config, "dev") ==
        std::map<std::string, std::string>{{"a", "1"}, {"b", "5"}});
  CHECK(SettingsOfProfile(credentials, config, "default") ==
        std::map<std::string, std::string>{{"a", "2"}, {"b", "7"}});
  CHECK(SettingsOfProfile(credentials, config, "odd").empty());
}

TEST_CASE("A profile's endpoint, region and keys are used, after those of the environment") {
  BucketServer server;
  server.Set("o", "content");
  const TemporaryFolder home;
  std::filesystem::create_directory(home / ".aws");
  std::ofstream(home / ".aws/config")
      << "[profile dev]\nendpoint_url = " << server.web().origin()
      << "\nregion = eu-north-7\naws_access_key_id = PROFILEKEY\naws_secret_access_key = S\n";
  const std::map<std::string, std::string> variables = {{"HOME", home.path().string()},
                                                        {"AWS_PROFILE", "dev"}};
  OpenStoreWith("s3://bkt", TestSettings(variables))->Get("o", 10);
  auto more = variables;
  more["AWS_REGION"] = "eu-north-8";
  OpenStoreWith("s3://bkt", TestSettings(more))->Get("o", 10);
  const auto requests = server.web().requests();
  CHECK(requests.at(0).headers.at("authorization").find("PROFILEKEY/") != std::string::npos);
  CHECK(requests.at(0).headers.at("authorization").find("/eu-north-7/s3/") != std::string::npos);
  CHECK(requests.at(1).headers.at("authorization").find("/eu-north-8/s3/") != std::string::npos);
}

}  // namespace sluice::test
