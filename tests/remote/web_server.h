// A small HTTP/1.1 server for tests. The test chooses each answer, and how it fails.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

struct WebRequest {
  std::string method;
  std::string target;                          // as it was sent
  std::string path;                            // decoded, without the query
  std::map<std::string, std::string> query;    // decoded
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::uint64_t number = 0;      // of the server's requests, from 0
  std::uint64_t connection = 0;  // of the server's connections, from 0
};

struct WebAnswer {
  static constexpr std::size_t kWhole = std::numeric_limits<std::size_t>::max();

  int status = 200;
  std::map<std::string, std::string> headers;  // Content-Length is set automatically
  std::string body;
  std::chrono::milliseconds delay{0};  // before the first byte
  // Closes the connection after so many bytes of the body; 0: sends no headers either.
  std::size_t cut_after = kWhole;
  // Sends so many bytes of the body, then nothing; 0: sends no headers either.
  std::size_t hang_after = kWhole;
  std::size_t chunk = kWhole;                // bytes sent at a time
  std::chrono::milliseconds chunk_delay{0};  // before each chunk
  bool bare = false;                         // no headers, only the body, as in HTTP/0.9
};

// Files of a certificate and its key, and of the authority that signed it.
struct Certificate {
  std::string file, key_file, authority_file;
};

class WebServer {
 public:
  using Handler = std::function<WebAnswer(const WebRequest&)>;

  // Listens on a free port of 127.0.0.1. A thread for each connection calls the handler. With a
  // certificate the server speaks TLS.
  explicit WebServer(Handler handler, const Certificate* certificate = nullptr);
  ~WebServer();
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  std::string origin() const;  // "http://127.0.0.1:12345"
  std::uint16_t port() const;
  std::vector<WebRequest> requests() const;  // so far
  std::uint64_t connections() const;         // so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Two ports that were free a moment ago. They differ, because both were in use at once.
inline std::pair<std::uint16_t, std::uint16_t> FreePorts() {
  const auto none = [](const WebRequest&) { return WebAnswer(); };
  const WebServer first(none);
  const WebServer second(none);
  return {first.port(), second.port()};
}

}  // namespace sluice::test
