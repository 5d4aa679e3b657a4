// Where a store's objects are, and how to speak to its server: the differences between S3 and a
// plain HTTP server. Thread-safe.
//
// A new protocol is a new Endpoint, which open_store.cpp makes, with its credentials in
// credentials/. Today all writing and listing needs an S3Endpoint (remote_store.cpp). The protocol
// also goes into these files, where "gs://|google\b[^-]" shows how:
//   format/remote/http/url.h
//   format/remote/http/url.cpp
//   format/shown_path.cpp                 otherwise its URLs pass for paths
//   format/include/sluice/shown_path.h
//   format/include/sluice/shown_text.h
//   format/remote/open_store_none.cpp
//   format/remote/server/remote_store.cpp  what plain servers cannot do
//   format/remote/README.md
//   reader/include/sluice/dataset.h
//   writer/include/sluice/copy.h
//   reader/MEMORY.md
//   writer/README.md
//   samples/guides/object-stores.md
//   samples/guides/living-data.md         which stores a dataset can be changed in
//   samples/guides/README.md
//   tools/copy.cpp
//   tools/ENVIRONMENT.md                  its variables, which a test compares
//   tests/remote/url_test.cpp
//   tests/remote/endpoint_test.cpp
//   tests/remote/convert_test.cpp
//   not tests/python/test_limits.py       only repeats how a limit of a guide begins
//   not format/remote/server/s3_endpoint.*  needs no change: Google's protocol is S3's
//
// Its sources go into format/remote/CMakeLists.txt. Its credentials are tested in
// tests/remote/credentials_test.cpp, its URLs in tests/format/shown_path_test.cpp and
// tests/fuzz/remote_targets.cpp. If the new scheme is Azure's az://, replace it as the example of a
// refused scheme in format/remote/README.md, sluice/shown_path.h, tests/remote/url_test.cpp,
// tests/tools/url_test.cpp, tests/tools/pipe_test.cpp and tests/writer/dataset_writer_test.cpp. The
// server of the tests (tests/remote/bucket_server.*) speaks S3 alone.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "format/remote/credentials/credentials.h"
#include "format/remote/http/http_answer.h"
#include "format/remote/http/url.h"

namespace sluice {

// One request, before it has an address and a signature.
struct StoreCall {
  std::string method = "GET";
  std::string object = {};                          // below the store's URL
  bool whole_bucket = false;                        // not about one object
  std::map<std::string, std::string> query = {};    // decoded
  std::map<std::string, std::string> headers = {};  // names in lower case
  bool only_once = false;  // serving it twice has a different result from serving it once
  Bytes body = {};         // must live until the request ends
};

class Endpoint {
 public:
  virtual ~Endpoint() = default;

  virtual const std::string& url() const noexcept = 0;
  // The object's URL as the user would write it, for messages.
  std::string Shown(std::string_view object) const {
    return object.empty() ? url() : url() + "/" + std::string(object);
  }

  // Makes the HTTP request for a call, with its address and authorization.
  virtual HttpRequest Form(const StoreCall& call, const Credentials& credentials) const = 0;
  // Judges any reply. If a reply names the bucket's region, later requests use that region.
  virtual Verdict Judge(const StoreCall& call, const Credentials& credentials,
                        const HttpReply& reply) = 0;
};

// A folder of a plain HTTP server; read-only.
class PlainEndpoint final : public Endpoint {
 public:
  explicit PlainEndpoint(StoreUrl url) : url_(std::move(url)) {}

  const std::string& url() const noexcept override { return url_.shown; }
  HttpRequest Form(const StoreCall& call, const Credentials& credentials) const override;
  Verdict Judge(const StoreCall& call, const Credentials& credentials,
                const HttpReply& reply) override;

 private:
  Verdict JudgeRedirect(const HttpReply& reply) const;

  const StoreUrl url_;
};

}  // namespace sluice
