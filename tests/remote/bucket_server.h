// An HTTP server for tests, with one bucket, "bkt". It speaks the part of S3's protocol that Sluice
// uses, with buckets in paths ("/bkt/key"); plain GET requests read the same objects. It does not
// check signatures; the server in radosgw_test.cpp does.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "format/remote/server/remote_store.h"
#include "tests/remote/web_server.h"

namespace sluice::test {

class BucketServer {
 public:
  // Returns the answer to give instead of serving the request; nullopt: serve it. Called on the
  // server's threads.
  using Fault = std::function<std::optional<WebAnswer>(const WebRequest&)>;

  explicit BucketServer(Fault fault = nullptr, const Certificate* certificate = nullptr);

  // What the server does with If-Match in a request to write an object.
  enum class IfMatch { kCompared, kComparedBare, kIgnored };  // bare: without quotes, as radosgw
  void SetIfMatch(IfMatch if_match) { if_match_ = if_match; }

  void Set(const std::string& key, const std::string& content);
  std::optional<std::string> Content(const std::string& key) const;
  std::map<std::string, std::string> All() const;
  WebServer& web() { return web_; }
  std::string plain_url() const { return web_.origin() + "/bkt"; }
  // The answer that the server would give without faults.
  WebAnswer Serve(const WebRequest& request);

  // The environment variables of a store at this server, credentials included.
  std::map<std::string, std::string> Variables() const;
  std::size_t open_uploads() const;

 private:
  WebAnswer Get(const WebRequest& request, const std::string& key);
  WebAnswer Put(const WebRequest& request, const std::string& key);
  WebAnswer Post(const WebRequest& request, const std::string& key);
  WebAnswer List(const WebRequest& request) const;

  Fault fault_;
  std::atomic<IfMatch> if_match_ = IfMatch::kCompared;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> objects_;
  std::map<std::string, std::map<int, std::string>> uploads_;
  int next_upload_ = 0;
  WebServer web_;
};

std::string EtagOf(const std::string& content);
WebAnswer S3ErrorAnswer(int status, const std::string& code, const std::string& more = "");

// While it lives, this process's environment has the variables, so that s3:// URLs lead to a
// server.
class StoreEnvironment {
 public:
  explicit StoreEnvironment(std::map<std::string, std::string> variables);
  ~StoreEnvironment();
  StoreEnvironment(const StoreEnvironment&) = delete;
  StoreEnvironment& operator=(const StoreEnvironment&) = delete;

 private:
  std::map<std::string, std::string> variables_;
};

// Settings for tests: only these environment variables, and short waits.
StoreSettings TestSettings(std::map<std::string, std::string> variables);

}  // namespace sluice::test
