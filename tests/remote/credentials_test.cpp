// Where credentials are looked for, in which order, and the errors of each source.
#include <fstream>

#include "format/remote/credentials/chain.h"
#include "format/remote/credentials/process.h"
#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/remote/bucket_server.h"
#include "tests/temporary_folder.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

constexpr const char* kJson =
    R"({"Code":"Success","AccessKeyId":"AKID","SecretAccessKey":"SEC","Token":"TOK","Expiration":"2100-01-02T03:04:05Z"})";

// A search for credentials, with an HttpLoop for its requests.
class Search {
 public:
  explicit Search(std::map<std::string, std::string> variables) : loop_(HttpLoop::Settings{}) {
    variables.try_emplace("AWS_EC2_METADATA_DISABLED", "true");
    search_.environment = TestSettings(std::move(variables)).environment;
    search_.send = [this](const HttpRequest& request) { return loop_.Call(request, 64 << 10); };
    search_.stopped = [] { return false; };
  }
  const CredentialSearch& get() const { return search_; }
  Credentials Find() const { return FindCredentials(search_); }

 private:
  HttpLoop loop_;
  CredentialSearch search_;
};

void WriteText(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

WebAnswer TextAnswer(const std::string& text, int status = 200) {
  WebAnswer answer;
  answer.status = status;
  answer.body = text;
  return answer;
}

}  // namespace

TEST_CASE("Without any source, requests are not signed") {
  CHECK(Search({}).Find().anonymous());
}

TEST_CASE("Credentials in the environment come before all others") {
  const Credentials found = Search({{"AWS_ACCESS_KEY_ID", "A"},
                                    {"AWS_SECRET_ACCESS_KEY", "S"},
                                    {"AWS_SESSION_TOKEN", "T"},
                                    {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/x"}})
                                .Find();
  CHECK(found == Credentials{"A", "S", "T", std::nullopt});
}

TEST_CASE("A profile has keys, or a program that prints them") {
  const TemporaryFolder folder;
  WriteText(folder / "credentials",
            "[default]\naws_access_key_id = A1\naws_secret_access_key=S1\n");
  WriteText(folder / "config",
            "[profile tool]\ncredential_process = /bin/sh -c \"echo "
            "'{\\\"Version\\\":1,\\\"AccessKeyId\\\":"
            "\\\"A2\\\",\\\"SecretAccessKey\\\":\\\"S2\\\",\\\"SessionToken\\\":\\\"T2\\\"}'\"\n"
            "[profile bad]\ncredential_process = /bin/sh -c 'echo secret-thing; exit 3'\n"
            "[profile sso]\nsso_start_url = https://x\n[profile role]\nrole_arn = "
            "r\nsource_profile = tool\n");
  const auto search = [&](const std::string& profile) {
    return Search({{"AWS_SHARED_CREDENTIALS_FILE", folder / "credentials"},
                   {"AWS_CONFIG_FILE", folder / "config"},
                   {"AWS_PROFILE", profile}})
        .Find();
  };
  CHECK(search("") == Credentials{"A1", "S1", "", std::nullopt});
  CHECK(search("tool") == Credentials{"A2", "S2", "T2", std::nullopt});
  const auto bad = ErrorOf([&] { search("bad"); });
  REQUIRE(bad);
  CHECK_THAT(bad->what(), ContainsSubstring("profile 'bad'") &&
                              ContainsSubstring("exit status 3") &&
                              !ContainsSubstring("secret-thing"));
  CHECK_THAT(ErrorOf([&] { search("sso"); })->what(), ContainsSubstring("export-credentials"));
  CHECK_THAT(ErrorOf([&] { search("role"); })->what(), ContainsSubstring("export-credentials"));
}

TEST_CASE("A program is killed if it takes too long, prints too much, or its caller is stopped") {
  using End = ProcessResult::End;
  const auto run = [](const std::string& script, std::chrono::milliseconds most,
                      bool stopped = false) {
    return RunProcess({"/bin/sh", "-c", script}, 100, most, [stopped] { return stopped; });
  };
  CHECK(run("printf hello", std::chrono::minutes(1)).output == "hello");
  CHECK(run("cat", std::chrono::minutes(1)).end == End::kExited);  // its input is empty
  CHECK(run("sleep 1000", std::chrono::milliseconds(50)).end == End::kTooSlow);
  CHECK(run("exec >&-; sleep 1000", std::chrono::milliseconds(50)).end == End::kTooSlow);
  CHECK(run("while :; do echo more and more; done", std::chrono::minutes(1)).end == End::kTooLong);
  CHECK(run("sleep 1000", std::chrono::minutes(1), true).end == End::kStopped);
  CHECK(run("kill -9 $$", std::chrono::minutes(1)).end == End::kKilled);
  CHECK(run("exit 7", std::chrono::minutes(1)).status == 7);
  CHECK(RunProcess({"/nowhere/at/all"}, 100, std::chrono::minutes(1), [] { return false; }).end ==
        End::kNotStarted);
}

TEST_CASE("A command line is split as in a shell, and nothing in it is expanded") {
  using Words = std::vector<std::string>;
  CHECK(CommandWords("a  b\tc").value() == Words{"a", "b", "c"});
  CHECK(CommandWords("a 'b c' \"d \\\" $e `f`\" g\\ h '' x\"y\"'z'").value() ==
        Words{"a", "b c", "d \" $e `f`", "g h", "", "xyz"});
  CHECK(CommandWords("a; b | c $(d)").value() == Words{"a;", "b", "|", "c", "$(d)"});
  CHECK(CommandWords("").value().empty());
  CHECK_FALSE(CommandWords("a 'b"));
  CHECK_FALSE(CommandWords("a \"b"));
  CHECK_FALSE(CommandWords("a\\"));
}

TEST_CASE("A role is assumed by web identity") {
  const TemporaryFolder folder;
  WriteText(folder / "token", "to+ken/=\n");
  std::string body;
  WebServer sts([&](const WebRequest& request) {
    body = request.method + " " + request.body;
    return TextAnswer(
        "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
        "<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>A</"
        "AccessKeyId><SecretAccessKey>S"
        "</SecretAccessKey><SessionToken>T</SessionToken><Expiration>2100-01-02T03:04:05Z</"
        "Expiration>"
        "</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>");
  });
  const Credentials found = Search({{"AWS_ENDPOINT_URL_STS", sts.origin()},
                                    {"AWS_WEB_IDENTITY_TOKEN_FILE", folder / "token"},
                                    {"AWS_ROLE_ARN", "arn:aws:iam::1:role/r"}})
                                .Find();
  CHECK(found.key_id == "A");
  CHECK(found.token == "T");
  CHECK(found.expiry == ParseTime("2100-01-02T03:04:05Z"));
  CHECK(body ==
        "POST "
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%"
        "2Fr"
        "&RoleSessionName=sluice&WebIdentityToken=to%2Bken%2F%3D");
}

TEST_CASE("The error for a refused role does not show the token") {
  const TemporaryFolder folder;
  WriteText(folder / "token", "to-ken");
  WebServer sts(
      [&](const WebRequest&) { return TextAnswer("<ErrorResponse>to-ken</ErrorResponse>", 403); });
  const auto error = ErrorOf([&] {
    Search({{"AWS_ENDPOINT_URL_STS", sts.origin()},
            {"AWS_WEB_IDENTITY_TOKEN_FILE", folder / "token"},
            {"AWS_ROLE_ARN", "r"}})
        .Find();
  });
  REQUIRE(error);
  CHECK_THAT(error->what(), ContainsSubstring("HTTP 403") && ContainsSubstring("trust policy") &&
                                !ContainsSubstring("to-ken"));
}

TEST_CASE("A container's credentials are fetched with its token, and only from its host") {
  const TemporaryFolder folder;
  WriteText(folder / "token", "container-token");
  WebServer host([&](const WebRequest& request) {
    const auto token = request.headers.find("authorization");
    if (request.target != "/role?x=1" || token == request.headers.end() ||
        token->second != "container-token")
      return TextAnswer("", 403);
    return TextAnswer(kJson);
  });
  std::map<std::string, std::string> variables = {
      {"AWS_CONTAINER_CREDENTIALS_FULL_URI", host.origin() + "/role?x=1"},
      {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", folder / "token"},
      {"http_proxy", "http://127.0.0.1:1"}};
  CHECK(Search(variables).Find().key_id == "AKID");
  variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = "";
  CHECK_THAT(ErrorOf([&] { Search(variables).Find(); })->what(), ContainsSubstring("HTTP 403"));
  for (const char* url :
       {"http://example.invalid/x", "http://127.0.0.1.example.invalid/x", "http://10.0.0.1/x"}) {
    variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url;
    CHECK_THAT(ErrorOf([&] { Search(variables).Find(); })->what(),
               ContainsSubstring("not sent anywhere else"));
  }
}

TEST_CASE("An instance's credentials come from a session of its metadata service") {
  WebServer metadata([&](const WebRequest& request) {
    if (request.method == "PUT" && request.path == "/latest/api/token" &&
        request.headers.contains("x-aws-ec2-metadata-token-ttl-seconds"))
      return TextAnswer("session");
    const auto token = request.headers.find("x-aws-ec2-metadata-token");
    if (token == request.headers.end() || token->second != "session") return TextAnswer("", 401);
    if (request.path == "/latest/meta-data/iam/security-credentials/") return TextAnswer("my-role");
    if (request.path == "/latest/meta-data/iam/security-credentials/my-role")
      return TextAnswer(kJson);
    return TextAnswer("", 404);
  });
  std::map<std::string, std::string> variables = {
      {"AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.origin()},
      {"AWS_EC2_METADATA_DISABLED", "false"}};
  CHECK(Search(variables).Find().secret == "SEC");
  variables["AWS_EC2_METADATA_DISABLED"] = "true";
  CHECK(Search(variables).Find().anonymous());
}

TEST_CASE("A machine without metadata, or without a role, has no credentials") {
  for (const bool session : {false, true}) {
    WebServer metadata([&](const WebRequest& request) {
      return session && request.method == "PUT" ? TextAnswer("session") : TextAnswer("", 404);
    });
    CHECK(Search({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.origin()},
                  {"AWS_EC2_METADATA_DISABLED", "false"}})
              .Find()
              .anonymous());
  }
}

TEST_CASE("For services other than Amazon's, only variables and profiles are searched") {
  std::map<std::string, std::string> variables = {
      {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/x"},
      {"AWS_WEB_IDENTITY_TOKEN_FILE", "/nowhere"},
      {"AWS_ROLE_ARN", "r"}};
  const Search search(variables);
  CHECK(FindStaticCredentials(search.get()).anonymous());
}

TEST_CASE("JSON with credentials is parsed, and invalid JSON is refused") {
  CHECK(CredentialsFromJson(kJson)->token == "TOK");
  for (const char* bad : {"", "null", "[]", "{}", R"({"AccessKeyId":"A"})",
                          R"({"AccessKeyId":"A","SecretAccessKey":7})",
                          R"({"AccessKeyId":"A\r\nX: y","SecretAccessKey":"S"})",
                          R"({"AccessKeyId":"A","SecretAccessKey":"S","Expiration":"soon"})"}) {
    INFO(bad);
    CHECK_FALSE(CredentialsFromJson(bad));
  }
  CHECK_FALSE(CredentialsFromJson(std::string(100'000, '[')));
}

TEST_CASE("Times are parsed by RFC 3339") {
  using std::chrono::system_clock;
  CHECK(ParseTime("1970-01-01T00:00:10Z") == system_clock::from_time_t(10));
  CHECK(ParseTime("2015-08-30T12:36:00.123Z") == system_clock::from_time_t(1440938160));
  CHECK(ParseTime("2015-08-30T14:36:00+02:00") == system_clock::from_time_t(1440938160));
  CHECK(ParseTime("2015-08-30T12:06:00-00:30") == system_clock::from_time_t(1440938160));
  CHECK(ParseTime("9999-12-31T23:59:59Z").value() > system_clock::now());
  for (const char* bad :
       {"", "2015-08-30", "2015-08-30T12:36:00", "2015-13-30T12:36:00Z", "2015-08-30T12:36:00X",
        "2015-08-30T12:36:00+0200", "15-08-30T12:36:00Z  ", "2015-08-30T12:36:0 Z"})
    CHECK_FALSE(ParseTime(bad));
}

}  // namespace sluice::test
