// Where a store's objects are, and how to speak to its server: the differences between S3 and a
// plain HTTP server. Thread-safe.
//
// Another protocol is an endpoint of its own, made in open_store.cpp, with its credentials in
// credentials/. Today all writing and listing needs an S3Endpoint (remote_store.cpp). It also goes
// into these files, where "gs://|google" shows how:
//   format/remote/http/url.h
//   format/remote/http/url.cpp
//   format/shown_path.cpp                 otherwise its URLs pass for paths
//   format/include/sluice/shown_path.h
//   format/remote/open_store_none.cpp
//   format/remote/server/remote_store.cpp  what plain servers cannot do
//   format/remote/README.md
//   tests/remote/url_test.cpp
//   tools/copy.cpp
//   format/include/sluice/shown_text.h
//   samples/guides/object-stores.md
//   reader/include/sluice/dataset.h
//   writer/include/sluice/copy.h
//   reader/README.md
//   writer/README.md
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
  bool only_once = false;  // serving it twice has another result than serving it once
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

  virtual HttpRequest Form(const StoreCall& call, const Credentials& credentials) const = 0;
  // Judges any reply. What it learns from one reply (the bucket's region), it uses from then on.
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
