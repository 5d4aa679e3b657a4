// A folder of a plain HTTP server, which is only read.
#pragma once

#include "format/remote/endpoint.h"
#include "format/remote/store_url.h"

namespace sluice {

class PlainEndpoint final : public Endpoint {
 public:
  explicit PlainEndpoint(StoreUrl url) : url_(std::move(url)) {}

  const std::string& url() const noexcept override { return url_.shown; }
  bool writable() const noexcept override { return false; }
  HttpRequest Form(const StoreCall& call, const Credentials& credentials) const override;
  Verdict Judge(const StoreCall& call, const Credentials& credentials,
                const HttpReply& reply) override;

 private:
  Verdict JudgeRedirect(const HttpReply& reply) const;

  const StoreUrl url_;
};

}  // namespace sluice
