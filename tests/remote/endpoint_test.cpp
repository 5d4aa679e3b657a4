// The URLs of requests, as Amazon's and Google's documents state them; and proxies.
#include <cstdlib>

#include "format/remote/server/s3_endpoint.h"
#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/remote/bucket_server.h"
#include "tests/remote/reading.h"

namespace sluice::test {

namespace {

std::string UrlFor(const std::string& store, const S3Settings& settings,
                   const std::string& object) {
  StoreCall call;
  call.object = object;
  return S3Endpoint(ParseStoreUrl(store), settings).Form(call, {}).url;
}

}  // namespace

TEST_CASE("Amazon's buckets are host names, or paths if they have dots or capitals") {
  CHECK(UrlFor("s3://photos/a b", {"eu-west-1", ""}, "c+d") ==
        "https://photos.s3.eu-west-1.amazonaws.com/a%20b/c%2Bd");
  CHECK(UrlFor("s3://photos", {"", ""}, "o") == "https://photos.s3.us-east-1.amazonaws.com/o");
  CHECK(UrlFor("s3://photos.old", {"eu-west-1", ""}, "o") ==
        "https://s3.eu-west-1.amazonaws.com/photos.old/o");
  CHECK(UrlFor("s3://Photos", {"us-east-1", ""}, "o") ==
        "https://s3.us-east-1.amazonaws.com/Photos/o");
  CHECK(UrlFor("s3://photos", {"cn-north-1", ""}, "o") ==
        "https://photos.s3.cn-north-1.amazonaws.com.cn/o");
}

TEST_CASE("Buckets of other services are paths") {
  CHECK(UrlFor("s3://photos/x", {"", "http://localhost:9000/"}, "o") ==
        "http://localhost:9000/photos/x/o");
  CHECK(UrlFor("s3://photos", {"", "https://h/base%20path/"}, "o") ==
        "https://h/base%20path/photos/o");
  CHECK(UrlFor("gs://photos/x", {}, "o") == "https://storage.googleapis.com/photos/x/o");
}

TEST_CASE("An answer that names the bucket's region redirects requests there") {
  S3Endpoint endpoint(ParseStoreUrl("s3://photos"), {});
  HttpReply reply;
  reply.status = 301;
  reply.bucket_region = "ap-south-1";
  StoreCall call;
  call.object = "o";
  CHECK(endpoint.Judge(call, {}, reply).kind == Verdict::Kind::kElsewhere);
  CHECK(endpoint.Form(call, {}).url == "https://photos.s3.ap-south-1.amazonaws.com/o");
  // The same answer again is final, or it would loop forever. An invalid region is not used.
  CHECK(endpoint.Judge(call, {}, reply).kind == Verdict::Kind::kFinal);
  reply.bucket_region = "evil.example/";
  CHECK(endpoint.Judge(call, {}, reply).kind == Verdict::Kind::kFinal);
}

TEST_CASE("Proxies of the environment are used, except for hosts that are excluded") {
  WebServer proxy([](const WebRequest& request) {
    WebAnswer answer;
    answer.body = request.target;
    return answer;
  });
  BucketServer server;
  server.Set("a", "direct");
  setenv("http_proxy", proxy.origin().c_str(), 1);
  setenv("no_proxy", "127.0.0.1", 1);
  const auto by_proxy =
      TextOf(OpenStoreWith("http://example.invalid/d", TestSettings({}))->Get("a", 100));
  const auto direct = TextOf(OpenStoreWith(server.plain_url(), TestSettings({}))->Get("a", 100));
  unsetenv("http_proxy");
  unsetenv("no_proxy");
  CHECK(by_proxy == "http://example.invalid/d/a");
  CHECK(direct == "direct");
}

}  // namespace sluice::test
