// Reads from nginx, if nginx is installed.
#include <atomic>
#include <fstream>
#include <iostream>
#include <optional>
#include <thread>

#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/remote/bucket_server.h"
#include "tests/remote/certificates.h"
#include "tests/remote/child_process.h"
#include "tests/remote/reading.h"
#include "tests/temporary_folder.h"

namespace sluice::test {

namespace {

std::string NginxProgram() {
  for (const char* path : {"/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/local/bin/nginx"}) {
    if (std::filesystem::exists(path)) return path;
  }
  return "";
}

// nginx serves a folder: plainly, over TLS, slowly, failing for 30% of the requests, and without
// ranges.
class Nginx {
 public:
  Nginx() : certificate_(MakeCertificate(folder_.path(), -1, 10)) {
    std::filesystem::create_directory(folder_ / "www");
    std::string temporary;
    for (const std::string name : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"})
      temporary += name + "_temp_path tmp_" + name + ";\n";
    const std::string root = (folder_ / "www").string() + "/";
    std::ofstream(folder_ / "nginx.conf")
        << "daemon off; master_process off; pid nginx.pid; error_log error.log;\n"
        << (geteuid() == 0 ? "user root;\n" : "") << "events { worker_connections 512; }\n"
        << "http { access_log off;\n"
        << temporary << "split_clients \"$request_id$msec\" $flaky { 30% 1; * 0; }\n"
        << "server { listen 127.0.0.1:" << ports_.first << ";\n"
        << "listen 127.0.0.1:" << ports_.second << " ssl; ssl_certificate " << certificate_.file
        << "; ssl_certificate_key " << certificate_.key_file << ";\n"
        << "location /files/ { alias " << root << "; }\n"
        << "location /flaky/ { if ($flaky) { return 503; } alias " << root << "; }\n"
        << "location /slow/ { alias " << root << "; limit_rate 400k; }\n"
        << "location /whole/ { alias " << root << "; max_ranges 0; } } }\n";
    Start();
  }

  void Start() {
    process_.emplace(std::vector<std::string>{NginxProgram(), "-p", folder_.path().string(), "-c",
                                              (folder_ / "nginx.conf").string(), "-e",
                                              "error.log"});
    StoreSettings settings = TestSettings({});
    settings.retries.first_contact = std::chrono::seconds(30);
    // Any answer shows that it runs.
    CodeOf([&] { OpenStoreWith(url("files"), settings)->Get("none", 1); });
  }
  void Kill() {
    process_->Signal(SIGKILL);
    while (!process_->Ended())
      std::this_thread::yield();
  }
  void Write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / ("www/" + name), std::ios::binary) << content;
  }
  std::string url(const std::string& location) const {
    return "http://127.0.0.1:" + std::to_string(ports_.first) + "/" + location;
  }
  std::string tls_url(const std::string& location) const {
    return "https://localhost:" + std::to_string(ports_.second) + "/" + location;
  }
  const Certificate& certificate() const { return certificate_; }
  ChildProcess& process() { return *process_; }

 private:
  TemporaryFolder folder_;
  Certificate certificate_;
  const std::pair<std::uint16_t, std::uint16_t> ports_ = FreePorts();
  std::optional<ChildProcess> process_;
};

bool HasNginx() {
  if (!NginxProgram().empty()) return true;
  std::cout << "skipped: nginx is not installed\n";
  return false;
}

// Reads a whole object by ranges, many at once.
std::string ByRanges(ObjectStore& store, const std::string& object, std::size_t bytes,
                     std::size_t range, const std::string& etag = "") {
  std::vector<Reading> readings((bytes + range - 1) / range);
  for (std::size_t i = 0; i < readings.size(); ++i)
    store.Read(readings[i].Range(object, i * range, std::min(range, bytes - i * range), etag));
  std::string whole;
  for (const Reading& reading : readings)
    whole += reading.Content();
  return whole;
}

}  // namespace

TEST_CASE("Files on nginx are read plainly, over TLS, and while many requests fail") {
  if (!HasNginx()) return;
  Nginx nginx;
  const std::string content = Pattern(3'000'000);
  nginx.Write("shard one", content);
  const auto settings = TestSettings({{"CURL_CA_BUNDLE", nginx.certificate().authority_file}});
  for (const std::string& url : {nginx.url("files"), nginx.tls_url("files"), nginx.url("flaky")}) {
    INFO(url);
    const auto store = OpenStoreWith(url, settings);
    const ObjectInfo info = store->Head("shard one");
    CHECK(info.bytes == content.size());
    CHECK(!info.etag.empty());
    CHECK(ByRanges(*store, "shard one", content.size(), 100'000, info.etag) == content);
    CHECK(TextOf(store->Get("shard one", content.size())) == content);
  }
  const auto whole = OpenStoreWith(nginx.url("whole"), settings);
  CHECK(ReadRange(*whole, "shard one", 0, content.size()) == content);
  CHECK(CodeOf([&] { ReadRange(*whole, "shard one", 1, 10); }) == ErrorCode::kUnsupported);
  CHECK(CodeOf([&] { whole->Get("none", 10); }) == ErrorCode::kNotFound);
}

TEST_CASE("A file replaced on nginx while it is read is an error") {
  if (!HasNginx()) return;
  Nginx nginx;
  nginx.Write("o", Pattern(1000));
  const auto store = OpenStoreWith(nginx.url("files"), TestSettings({}));
  const std::string etag = store->Head("o").etag;
  CHECK(ReadRange(*store, "o", 0, 10, etag).size() == 10);
  nginx.Write("o", Pattern(1001));
  const auto error = ErrorOf([&] { ReadRange(*store, "o", 0, 10, etag); });
  REQUIRE(error);
  CHECK_THAT(error->what(), Catch::Matchers::ContainsSubstring("was replaced"));
}

TEST_CASE("Reads continue when nginx is killed and started again") {
  if (!HasNginx()) return;
  Nginx nginx;
  const std::string content = Pattern(400'000);
  nginx.Write("o", content);
  const auto store = OpenStoreWith(nginx.url("slow"), TestSettings({}));
  const Reading reading;
  store->Read(reading.Range("o", 0, content.size()));
  reading.AwaitBytes(1);
  nginx.Kill();
  nginx.Start();
  CHECK(reading.Content() == content);
}

TEST_CASE("TLS on nginx's plain port, and the reverse, are errors that say so") {
  if (!HasNginx()) return;
  Nginx nginx;
  std::string url = nginx.url("files");
  url.insert(4, "s");
  auto error = ErrorOf([&] { OpenStoreWith(url, TestSettings({}))->Get("o", 1); });
  REQUIRE(error);
  CHECK_THAT(error->what(), Catch::Matchers::ContainsSubstring("speaks TLS"));
  url = nginx.tls_url("files");
  url.erase(4, 1);
  CHECK(CodeOf([&] { OpenStoreWith(url, TestSettings({}))->Get("o", 1); }) == ErrorCode::kIo);
}

}  // namespace sluice::test
