// One transfer of an HttpLoop: a request as curl is told of it, and its reply as curl tells it.
// Only for http_loop.cpp, which has curl's header.
#pragma once

#include <array>
#include <memory>

#include <curl/curl.h>

#include "format/remote/http_loop.h"

namespace sluice {

struct CurlDeleter {
  void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using CurlHandle = std::unique_ptr<CURL, CurlDeleter>;

class HttpTransfer {
 public:
  // Takes a used handle, or makes one from null.
  HttpTransfer(CurlHandle handle, const HttpRequest& request, HttpReceiver receiver,
               const HttpLoop::Settings& settings, HttpLoop::Ticket ticket);

  CURL* handle() const noexcept { return handle_.get(); }
  CurlHandle TakeHandle() noexcept { return std::move(handle_); }
  HttpLoop::Ticket ticket() const noexcept { return ticket_; }
  bool linked() const noexcept { return linked_; }
  void MarkLinked() noexcept { linked_ = true; }
  // Its receiver is not called any more, and the transfer ends at the next byte.
  void Mute() noexcept { muted_ = true; }
  void Finish(CURLcode result);

 private:
  static std::size_t OnHeader(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t OnBody(char* data, std::size_t size, std::size_t count, void* self);
  void SetRequest(const HttpRequest& request);
  void SetConnection(const HttpRequest& request, const HttpLoop::Settings& settings);
  void Header(std::string_view line);
  bool Body(Bytes bytes);
  std::size_t NoMemory() noexcept;
  bool Connected() const;
  void ReadTimes();

  CurlHandle handle_;
  std::unique_ptr<curl_slist, CurlDeleter> headers_;
  HttpReceiver receiver_;
  const HttpLoop::Ticket ticket_;
  const std::string url_;
  HttpReply reply_;
  bool linked_ = false;
  bool muted_ = false;
  std::size_t header_bytes_ = 0;  // received
  bool head_told_ = false;
  bool streamed_ = false;
  bool too_long_ = false;
  bool no_memory_ = false;
  std::array<char, CURL_ERROR_SIZE> why_{};
};

}  // namespace sluice
