// Objects in parts: RemoteStore::PutLarge().
#include <algorithm>
#include <exception>
#include <thread>

#include "format/mutex.h"
#include "format/remote/remote_store.h"
#include "format/remote/s3_endpoint.h"
#include "format/remote/xml.h"

namespace sluice {

namespace {

constexpr std::uint64_t kMostUploadAnswer = 64 << 10;
constexpr std::uint64_t kMostParts = 10'000;  // of S3's

// Parts of a size that keeps their number within bounds.
std::uint64_t PartBytes(std::uint64_t bytes, std::uint64_t usual) {
  constexpr std::uint64_t kMegabyte = 1 << 20;
  const std::uint64_t least = (bytes + kMostParts - 1) / kMostParts;
  return least <= usual ? usual : AlignUp(least, kMegabyte);
}

// Hands out the numbers of parts to several threads, until one fails.
class PartQueue {
 public:
  explicit PartQueue(std::uint64_t parts) : parts_(parts) {}

  // False if there are no more.
  bool Next(std::uint64_t& part) {
    const MutexLock lock(mutex_);
    if (failure_ || next_ == parts_) return false;
    part = next_++;
    return true;
  }
  void Fail(std::exception_ptr failure) {
    const MutexLock lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
  }
  std::exception_ptr failure() {
    const MutexLock lock(mutex_);
    return failure_;
  }

 private:
  const std::uint64_t parts_;
  Mutex mutex_;
  std::uint64_t next_ GUARDED_BY(mutex_) = 0;
  std::exception_ptr failure_ GUARDED_BY(mutex_);
};

}  // namespace

std::string RemoteStore::BeginUpload(const StoreCall& object) {
  StoreCall call = object;
  call.method = "POST";
  call.query = {{"uploads", ""}};
  call.headers["content-type"] = "application/octet-stream";
  const HttpReply reply = Send(call, kMostUploadAnswer).reply;
  std::string upload;
  const bool read = ReadXml(reply.body, [&](std::string_view path, std::string&& text) {
    if (path == "InitiateMultipartUploadResult/UploadId") upload = std::move(text);
  });
  if (!read || upload.empty()) {
    throw Error(
        ErrorCode::kUnsupported, endpoint_->Shown(object.object),
        "the server's answer to a begun upload in parts is not S3's; check AWS_ENDPOINT_URL");
  }
  return upload;
}

// The signature covers the content's SHA-256, which the server compares.
std::string RemoteStore::PutPart(const StoreCall& object, const std::string& upload,
                                 unsigned number, Bytes content) {
  StoreCall call = object;
  call.method = "PUT";
  call.query = {{"partNumber", std::to_string(number)}, {"uploadId", upload}};
  call.body = content;
  std::string etag = Send(call, kMostUploadAnswer).reply.etag;
  if (etag.empty()) {
    throw Error(ErrorCode::kUnsupported, endpoint_->Shown(object.object),
                "the server names no ETag of an uploaded part");
  }
  return etag;
}

void RemoteStore::FinishUpload(const StoreCall& object, const std::string& upload,
                               const std::vector<std::string>& etags, std::uint64_t bytes) {
  std::string list = "<CompleteMultipartUpload>";
  for (std::size_t i = 0; i < etags.size(); ++i) {
    list += "<Part><PartNumber>" + std::to_string(i + 1) + "</PartNumber><ETag>" +
            XmlEscaped(etags[i]) + "</ETag></Part>";
  }
  list += "</CompleteMultipartUpload>";
  StoreCall call = object;
  call.method = "POST";
  call.query = {{"uploadId", upload}};
  call.body = AsBytes(list);
  call.headers["content-type"] = "application/xml";
  call.only_once = true;
  for (int tries = 0;; ++tries) {
    constexpr int kMostTries = 5;
    const Sent sent = Send(call, kMostUploadAnswer, {404});
    // An earlier try may have finished it before its answer was lost.
    if (sent.reply.status == 404) {
      if ((sent.repeated || tries > 0) && Head(object.object).bytes == bytes) return;
      throw Error(ErrorCode::kIo, endpoint_->Shown(object.object),
                  "the upload in parts is gone from the server, ended by another or by a rule of "
                  "the bucket; begin it again");
    }
    // A server may begin to answer with 200, and have an error in the end.
    std::string code;
    const bool read = ReadXml(sent.reply.body, [&](std::string_view path, std::string&& text) {
      if (path == "Error/Code") code = std::move(text);
      if (path == "CompleteMultipartUploadResult") code.clear();
    });
    if (read && code.empty()) return;
    if (loop_->CallsStopped()) throw GivenUpError(endpoint_->Shown(object.object));
    if (tries + 1 == kMostTries || !loop_->Sleep(settings_.retries.first_wait * (1 << tries))) {
      throw Error(ErrorCode::kIo, endpoint_->Shown(object.object),
                  "the server could not put the uploaded parts together (" +
                      WithoutSecrets(code, {}) + "); try again");
    }
  }
}

void RemoteStore::PutLarge(std::string_view object, std::uint64_t bytes, const Fill& fill) {
  Writable("is not written to");
  const std::uint64_t part_bytes = PartBytes(bytes, settings_.part_bytes);
  if (bytes <= part_bytes) {
    std::vector<std::byte> content(bytes);
    if (bytes > 0) fill(0, content);
    return Put(object, content, false);
  }
  StoreCall target;
  target.object = object;
  const std::string upload = BeginUpload(target);
  const std::uint64_t parts = (bytes + part_bytes - 1) / part_bytes;
  std::vector<std::string> etags(parts);
  PartQueue queue(parts);
  const auto work = [&] {
    try {
      std::vector<std::byte> buffer(part_bytes);
      for (std::uint64_t part = 0; queue.Next(part);) {
        const std::uint64_t offset = part * part_bytes;
        const std::span<std::byte> content(buffer.data(), std::min(part_bytes, bytes - offset));
        fill(offset, content);
        etags[part] = PutPart(target, upload, static_cast<unsigned>(part + 1), content);
      }
    } catch (...) {
      queue.Fail(std::current_exception());
    }
  };
  std::vector<std::jthread> threads;
  const std::uint64_t more = std::min<std::uint64_t>(settings_.parts_at_once, parts) - 1;
  threads.reserve(more);
  try {
    for (std::uint64_t i = 0; i < more; ++i)
      threads.emplace_back(work);
  } catch (const std::system_error&) {
    // With fewer threads it takes longer.
  }
  work();
  threads.clear();  // joins them
  try {
    if (const std::exception_ptr failure = queue.failure()) std::rethrow_exception(failure);
    FinishUpload(target, upload, etags, bytes);
  } catch (...) {
    // Parts that nobody finishes cost money.
    StoreCall abort = target;
    abort.method = "DELETE";
    abort.query = {{"uploadId", upload}};
    try {
      Send(abort, kMostUploadAnswer, {404});
    } catch (const Error&) {
      // What went wrong first is what to tell.
    }
    throw;
  }
}

}  // namespace sluice
