#include "tests/remote/web_server.h"

#include <algorithm>
#include <cctype>
#include <condition_variable>
#include <csignal>
#include <list>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "format/remote/http/url.h"

namespace sluice::test {

namespace {

// A connection, plain or over TLS.
class Wire {
 public:
  Wire(int socket, SSL_CTX* tls) : socket_(socket) {
    if (tls == nullptr) return;
    ssl_ = SSL_new(tls);
    SSL_set_fd(ssl_, socket);
    open_ = SSL_accept(ssl_) == 1;
  }
  ~Wire() { SSL_free(ssl_); }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  bool open() const { return open_; }
  // Appends the bytes that come next. Returns false once the client has closed the connection.
  bool ReadMore(std::string& into) {
    char buffer[16384];
    const auto size = ssl_ != nullptr ? SSL_read(ssl_, buffer, sizeof buffer)
                                      : static_cast<int>(recv(socket_, buffer, sizeof buffer, 0));
    if (size > 0) into.append(buffer, static_cast<std::size_t>(size));
    return size > 0;
  }
  bool Write(const char* data, std::size_t size) {
    while (size > 0) {
      const int part = static_cast<int>(std::min<std::size_t>(size, 1 << 20));
      const auto sent =
          ssl_ != nullptr
              ? SSL_write(ssl_, data, part)
              : static_cast<int>(send(socket_, data, static_cast<std::size_t>(part), MSG_NOSIGNAL));
      if (sent <= 0) return false;
      data += sent;
      size -= static_cast<std::size_t>(sent);
    }
    return true;
  }

 private:
  const int socket_;
  SSL* ssl_ = nullptr;
  bool open_ = true;
};

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

void ParseTarget(WebRequest& request) {
  const std::size_t question = request.target.find('?');
  request.path = PercentDecoded(request.target.substr(0, question)).value_or("");
  if (question == std::string::npos) return;
  std::string rest = request.target.substr(question + 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string pair = rest.substr(0, end);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    request.query[PercentDecoded(pair.substr(0, equals)).value_or("")] =
        equals < pair.size() ? PercentDecoded(pair.substr(equals + 1)).value_or("") : "";
    rest.erase(0, end + 1);
  }
}

// Reads the next request. `pending` keeps bytes that arrive after it. Returns false if the
// connection ends or the client does not speak HTTP.
bool ReadRequest(Wire& wire, std::string& pending, WebRequest& request) {
  std::size_t end = 0;
  while ((end = pending.find("\r\n\r\n")) == std::string::npos) {
    if (!wire.ReadMore(pending)) return false;
    if (std::isalpha(static_cast<unsigned char>(pending[0])) == 0) return false;  // not HTTP
  }
  std::string head = pending.substr(0, end + 2);
  pending.erase(0, end + 4);
  std::size_t line_end = head.find("\r\n");
  const std::string first = head.substr(0, line_end);
  const std::size_t space = first.find(' '), space2 = first.rfind(' ');
  request.method = first.substr(0, space);
  request.target = first.substr(space + 1, space2 - space - 1);
  ParseTarget(request);
  for (std::size_t at = line_end + 2; at < head.size(); at = line_end + 2) {
    line_end = head.find("\r\n", at);
    const std::string line = head.substr(at, line_end - at);
    const std::size_t colon = std::min(line.find(':'), line.size());
    const std::size_t value = line.find_first_not_of(' ', colon + 1);
    request.headers[Lower(line.substr(0, colon))] =
        value == std::string::npos ? "" : line.substr(value);
  }
  std::size_t length = 0;
  if (request.headers.contains("content-length"))
    length = std::stoul(request.headers["content-length"]);
  while (pending.size() < length) {
    if (!wire.ReadMore(pending)) return false;
  }
  request.body = pending.substr(0, length);
  pending.erase(0, length);
  return true;
}

SSL_CTX* TlsOf(const Certificate& certificate) {
  SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
  if (SSL_CTX_use_certificate_file(context, certificate.file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_use_PrivateKey_file(context, certificate.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    throw std::runtime_error("cannot load the test's certificate or its key");
  }
  return context;
}

}  // namespace

struct WebServer::State {
  void Accept();
  void Serve(int socket, std::uint64_t connection);
  bool Answer(Wire& wire, const WebRequest& request);
  // Returns false if the server is destroyed meanwhile.
  bool Wait(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex);
    return !changed.wait_for(lock, time, [&] { return stopping; });
  }

  Handler handler;
  SSL_CTX* tls = nullptr;
  int listener = -1;
  std::uint16_t port = 0;
  std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;
  std::list<std::thread> threads;
  std::vector<int> sockets;
  std::vector<WebRequest> requests;
  std::uint64_t connections = 0;
  std::thread acceptor;
};

WebServer::WebServer(Handler handler, const Certificate* certificate)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL may write to a closed socket
  state.handler = std::move(handler);
  if (certificate != nullptr) state.tls = TlsOf(*certificate);
  state.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(state.listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(state.listener, 512) != 0 ||
      getsockname(state.listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("the test's server cannot listen on 127.0.0.1");
  }
  state.port = ntohs(address.sin_port);
  state.acceptor = std::thread([&state] { state.Accept(); });
}

WebServer::~WebServer() {
  State& state = *state_;
  {
    const std::lock_guard lock(state.mutex);
    state.stopping = true;
    shutdown(state.listener, SHUT_RDWR);
    for (const int socket : state.sockets)
      shutdown(socket, SHUT_RDWR);
  }
  state.changed.notify_all();
  state.acceptor.join();
  for (std::thread& thread : state.threads)
    thread.join();
  for (const int socket : state.sockets)
    close(socket);
  close(state.listener);
  SSL_CTX_free(state.tls);
}

std::string WebServer::origin() const {
  return (state_->tls != nullptr ? "https://127.0.0.1:" : "http://127.0.0.1:") +
         std::to_string(state_->port);
}

std::uint16_t WebServer::port() const {
  return state_->port;
}

std::vector<WebRequest> WebServer::requests() const {
  const std::lock_guard lock(state_->mutex);
  return state_->requests;
}

std::uint64_t WebServer::connections() const {
  const std::lock_guard lock(state_->mutex);
  return state_->connections;
}

void WebServer::State::Accept() {
  for (;;) {
    const int socket = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const std::lock_guard lock(mutex);
    if (stopping) {
      close(socket);
      return;
    }
    sockets.push_back(socket);
    threads.emplace_back([this, socket, connection = connections++] { Serve(socket, connection); });
  }
}

void WebServer::State::Serve(int socket, std::uint64_t connection) {
  {
    Wire wire(socket, tls);
    std::string pending;
    for (bool open = wire.open(); open;) {
      WebRequest request;
      if (!ReadRequest(wire, pending, request)) break;
      request.connection = connection;
      {
        const std::lock_guard lock(mutex);
        request.number = requests.size();
        requests.push_back(request);
      }
      open = Answer(wire, request);
    }
  }
  // ~WebServer() closes the socket, so that no other socket gets its number meanwhile.
  shutdown(socket, SHUT_RDWR);
}

bool WebServer::State::Answer(Wire& wire, const WebRequest& request) {
  const WebAnswer answer = handler(request);
  if (answer.delay.count() > 0 && !Wait(answer.delay)) return false;
  std::string head = "HTTP/1.1 " + std::to_string(answer.status) + " Said\r\n";
  for (const auto& [name, value] : answer.headers)
    head += name + ": " + value + "\r\n";
  if (!answer.headers.contains("Content-Length")) {
    head += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n";
  }
  head += "\r\n";
  if (answer.hang_after == 0 || answer.cut_after == 0 || answer.bare) head.clear();
  if (!wire.Write(head.data(), head.size())) return false;
  const std::size_t size = request.method == "HEAD" ? 0 : answer.body.size();
  const std::size_t until = std::min({size, answer.cut_after, answer.hang_after});
  for (std::size_t at = 0; at < until;) {
    const std::size_t part = std::min(answer.chunk, until - at);
    if (answer.chunk_delay.count() > 0 && !Wait(answer.chunk_delay)) return false;
    if (!wire.Write(answer.body.data() + at, part)) return false;
    at += part;
  }
  if (answer.hang_after != WebAnswer::kWhole) {
    while (Wait(std::chrono::seconds(10))) {
    }
    return false;
  }
  return answer.cut_after == WebAnswer::kWhole && !answer.bare;
}

}  // namespace sluice::test
