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
  std::string region;    // empty: found
  std::string endpoint;  // URL; empty: Amazon's own, of the region
};

class S3Endpoint final : public Endpoint {
 public:
  // Throws Error(kInvalidArgument) for an endpoint that is not a URL.
  S3Endpoint(StoreUrl url, const S3Settings& settings);

  const std::string& url() const noexcept override { return url_.shown; }
  HttpRequest Form(const StoreCall& call, const Credentials& credentials) const override;
  Verdict Judge(const StoreCall& call, const Credentials& credentials,
                const HttpReply& reply) override;

  // Google's has conditions of its own on writing.
  bool google() const noexcept { return url_.kind == StoreUrl::Kind::kGoogle; }
  // The prefix of all objects' keys, with a slash at its end unless it is empty.
  std::string key_prefix() const { return url_.prefix.empty() ? "" : url_.prefix + "/"; }

 private:
  // An answer's body, if it is an error of S3's.
  struct S3Error {
    std::string code, message, region;
  };
  struct Address {
    std::string scheme, host, path;  // path: decoded
  };
  Address AddressOf(const StoreCall& call) const;
  std::string Server() const;
  std::string region() const;
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

// A page has 1000 keys of 1024 bytes at most, each of which may be escaped three times as long.
inline constexpr std::uint64_t kMaxListingBytes = 8 << 20;

// A server may look through objects for a while and find none to list; a list of objects has no end
// that could be known before.
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
  std::string next;                  // where the next page begins; empty: this is the last
};

// Nothing if the text is not such a page.
std::optional<ListingPage> ParseListing(std::string_view xml);

}  // namespace sluice
