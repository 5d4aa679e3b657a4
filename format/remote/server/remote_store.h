// A store behind a URL: whole objects, ranges, listings and uploads, through the endpoint for its
// server.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string_view>

#include "format/remote/credentials/credentials.h"
#include "format/remote/http/environment.h"
#include "format/remote/http/http_loop.h"
#include "format/remote/http/link.h"
#include "format/remote/http/retry.h"
#include "format/remote/object_store.h"
#include "format/remote/server/endpoint.h"
#include "format/remote/server/range_reads.h"

namespace sluice {

// The settings of a store besides its URL.
struct StoreSettings {
  Environment environment = ProcessEnvironment;
  RetrySettings retries;
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds stall_timeout{20'000};
  // Used by PutLarge():
  std::uint64_t part_bytes = 16 << 20;
  unsigned parts_at_once = 4;
};

// OpenStore() with other settings, for tests.
std::shared_ptr<ObjectStore> OpenStoreWith(std::string_view url, const StoreSettings& settings);

class S3Endpoint;

class RemoteStore final : public ObjectStore {
 public:
  // Finds credentials. Called on any thread but the loop's; it may use the loop. Returns soon after
  // the loop has been stopped.
  using FindCredentials = std::function<Credentials(HttpLoop&)>;

  // Without `find`, requests are not signed.
  RemoteStore(std::unique_ptr<Endpoint> endpoint, FindCredentials find,
              const StoreSettings& settings);
  ~RemoteStore() override;

  const std::string& url() const noexcept override { return endpoint_->url(); }
  std::vector<std::byte> Get(std::string_view object, std::uint64_t limit,
                             ObjectInfo* info) override;
  ObjectInfo Head(std::string_view object) override;
  void StopCalls() override;
  std::uint64_t Read(RangeRead read) override;
  void Cancel(std::uint64_t ticket) override;
  std::uint64_t UsefulBytesInFlight() const noexcept override { return measures_.useful_bytes; }
  std::uint64_t BufferBytes() const noexcept override {
    return ConnectionCount::kMax * ConnectionCount::kConnectionBytes;
  }
  void Put(std::string_view object, Bytes content, bool only_new) override;
  void Replace(std::string_view object, Bytes content, const std::string& etag) override;
  bool ComparesEtags() override;
  void PutLarge(std::string_view object, std::uint64_t bytes, const Fill& fill) override;
  void Remove(std::string_view object) override;
  void List(std::string_view prefix, const Each& each) override;
  std::vector<std::string> ListFolder(std::string_view folder, const Each& each) override;
  Counts counts() const noexcept override;

 private:
  void ListPages(std::string_view prefix, const Each& each, std::vector<std::string>* folders);
  struct Sent {
    HttpReply reply;
    bool repeated = false;
  };
  // Sends the request until an answer is good or has a status in `also_good`. The answer's body has
  // at most `limit` bytes (larger: Error(kLimit)).
  Sent Send(const StoreCall& call, std::uint64_t limit, std::initializer_list<long> also_good = {});
  ObjectInfo HeadByRange(const std::string& object);
  bool HasContent(std::string_view object, Bytes content);
  // Returns *s3_. Throws Error(kUnsupported) for a plain HTTP server; `what` goes into its
  // sentence: what such a server does not do.
  S3Endpoint& RequireS3(const char* what) const;
  std::string BeginUpload(const std::string& object);
  std::string PutPart(const std::string& object, const std::string& upload, unsigned number,
                      Bytes content);
  void FinishUpload(const std::string& object, const std::string& upload,
                    const std::vector<std::string>& etags, std::uint64_t bytes);

  const StoreSettings settings_;
  const std::unique_ptr<Endpoint> endpoint_;
  S3Endpoint* const s3_;  // endpoint_, if it is an S3Endpoint; else null
  StoreMeasures measures_;
  std::atomic<std::uint64_t> last_ticket_{0};
  std::unique_ptr<RangeReads> reads_;
  std::unique_ptr<RenewedCredentials> credentials_;
  std::unique_ptr<HttpLoop> loop_;
};

}  // namespace sluice
