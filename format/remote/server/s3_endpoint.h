// A bucket of a service that speaks the S3 protocol.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/mutex.h"
#include "format/remote/http/environment.h"
#include "format/remote/http/url.h"
#include "format/remote/object_store.h"
#include "format/remote/server/endpoint.h"

namespace sluice {

struct S3Settings {
  std::string region;    // empty: found out from the server
  std::string endpoint;  // URL; empty: Amazon's own for the region
};

class S3Endpoint final : public Endpoint {
 public:
  // Throws Error(kInvalidArgument) if the endpoint is not a URL.
  S3Endpoint(StoreUrl url, const S3Settings& settings);

  const std::string& url() const noexcept override { return url_.shown; }
  HttpRequest Form(const StoreCall& call, const Credentials& credentials) const override;
  Verdict Judge(const StoreCall& call, const Credentials& credentials,
                const HttpReply& reply) override;

  // Whether this is Google's service, whose conditions on writing differ.
  bool google() const noexcept { return url_.kind == StoreUrl::Kind::kGoogle; }
  // The prefix of all objects' keys; ends with a slash unless it is empty.
  std::string key_prefix() const { return url_.prefix.empty() ? "" : url_.prefix + "/"; }

 private:
  // The body of an answer that is an S3 error.
  struct S3Error {
    std::string code, message, region;
  };
  struct Address {
    std::string scheme, host, path;  // path: decoded
  };
  Address AddressOf(const StoreCall& call) const;
  std::string Server() const;
  std::string region() const;
  // Uses this region from now on. False if it is in use already, cannot be the name of a region, or
  // the service is Google's.
  bool MoveTo(const std::string& region);
  Verdict JudgeAnswer(const StoreCall& call, const Credentials& credentials, const HttpReply& reply,
                      const S3Error& error) const;
  Verdict JudgeDenied(const StoreCall& call, const Credentials& credentials, const HttpReply& reply,
                      const S3Error& error) const;
  static S3Error ReadError(const HttpReply& reply);

  const StoreUrl url_;
  HttpOrigin custom_;  // empty: Amazon's own
  mutable Mutex mutex_;
  std::string region_ GUARDED_BY(mutex_);
};

// A page has at most 1000 keys of 1024 bytes. Escaping may make each key three times as long:
// 3 MB, and the XML around the keys.
inline constexpr std::uint64_t kMaxListingBytes = 8 << 20;

// Limits on listings, whose length is not known in advance. A server may search for a while without
// an object to list, so empty pages are allowed.
inline constexpr unsigned kMaxEmptyPages = 1000;
inline constexpr std::uint64_t kMaxPages = 100'000;
inline constexpr std::size_t kMaxObjectName = 1024;  // S3's

struct ListedObject {
  std::string key;
  ObjectInfo info;
};
struct ListingPage {
  std::vector<ListedObject> objects;
  std::vector<std::string> folders;  // common prefixes up to the delimiter, if one was asked for
  std::string next;                  // where the next page begins; empty: this is the last page
};

// Parses a page; nullopt for any other text.
std::optional<ListingPage> ParseListing(std::string_view xml);

}  // namespace sluice
