// A store as its callers see it: calls that wait for an answer (Get, Head, Put, List, Remove),
// reads of ranges in the background (RangeReads), and uploads in parts.
//
// All calls go through Send(): it sends the request, lets the endpoint judge the answer, and sends
// the request again as Retries allows. An upload in parts is begun, filled by several threads, and
// finished; if a part fails, the server is asked to remove the parts. After StopCalls(), only
// requests that remove something (DELETE) are still sent, once and with a short timeout.
//
// An answer can be lost although the server did what it was asked to do. So if Put() has repeated a
// conditional PUT and finds the object there, it compares the object's content; Replace() does so
// whenever its request was not answered well; and if FinishUpload() has repeated its request, it
// checks the object's size.
#include "format/remote/server/remote_store.h"

#include <algorithm>
#include <cerrno>

#include "format/disk/system_error.h"
#include "format/mutex.h"
#include "format/parallel.h"
#include "format/remote/http/http_answer.h"
#include "format/remote/server/s3_endpoint.h"
#include "format/xml.h"

namespace sluice {

namespace {

// The largest body of an answer that should have none: an error in XML.
constexpr std::uint64_t kMaxAnswerBytes = 64 << 10;
constexpr std::chrono::milliseconds kTidyingTime(2000);  // after StopCalls()

HttpLoop::Settings LoopSettings(const StoreSettings& settings) {
  HttpLoop::Settings loop = HttpLoop::SettingsFrom(settings.environment);
  loop.connect_timeout = settings.connect_timeout;
  loop.stall_timeout = settings.stall_timeout;
  return loop;
}

// Runs a task on the loop's thread and waits for its end.
void RunOnLoop(HttpLoop& loop, const std::function<void()>& task) {
  struct Done {
    Mutex mutex;
    Condition changed;
    bool done GUARDED_BY(mutex) = false;
  };
  const auto shared = std::make_shared<Done>();  // the loop may still use it when this returns
  loop.Post([&task, shared] {
    task();
    const MutexLock lock(shared->mutex);
    shared->done = true;
    shared->changed.NotifyAll();
  });
  const MutexLock lock(shared->mutex);
  while (!shared->done)
    shared->changed.Wait(shared->mutex);
}

}  // namespace

RemoteStore::RemoteStore(std::unique_ptr<Endpoint> endpoint, FindCredentials find,
                         const StoreSettings& settings)
    : settings_(settings),
      endpoint_(std::move(endpoint)),
      s3_(dynamic_cast<S3Endpoint*>(endpoint_.get())) {
  loop_ = std::make_unique<HttpLoop>(LoopSettings(settings));
  if (find) {
    credentials_ = std::make_unique<RenewedCredentials>(
        [find = std::move(find), loop = loop_.get()] { return find(*loop); });
  }
  reads_ = std::make_unique<RangeReads>(*loop_, *endpoint_, credentials_.get(), settings.retries,
                                        measures_);
}

RemoteStore::~RemoteStore() {
  if (!loop_->InOwnProcess()) {
    // After fork(), the threads that the members need do not exist in this process.
    static_cast<void>(reads_.release());
    static_cast<void>(credentials_.release());
    return;
  }
  RunOnLoop(*loop_, [this] { reads_->Close(); });
  loop_->Stop();
  credentials_.reset();
  loop_.reset();
}

void RemoteStore::StopCalls() {
  if (!loop_->InOwnProcess()) return;
  loop_->StopCalls();
  loop_->Post([this] { reads_->GiveUp(); });
}

RemoteStore::Sent RemoteStore::Send(const StoreCall& call, std::uint64_t limit,
                                    std::initializer_list<long> also_good) {
  Retries retries(settings_.retries, measures_.outage);
  std::string redirected;
  Sent sent;
  for (;;) {
    const Credentials credentials = credentials_ ? credentials_->Get() : Credentials{};
    HttpRequest request = endpoint_->Form(call, credentials);
    request.fresh_connection = call.only_once;
    if (measures_.outage.Lasts())
      request.connect_timeout = request.stall_timeout = settings_.retries.first_contact;
    if (loop_->CallsStopped()) {
      request.tidies_up = call.method == "DELETE";
      request.connect_timeout = request.stall_timeout = kTidyingTime;
    }
    if (!redirected.empty()) Redirect(request, redirected);
    measures_.requests += 1;
    HttpReply& reply = sent.reply;
    reply = loop_->Call(request, std::max(limit, kMaxAnswerBytes));
    measures_.bytes += reply.body.size();
    std::atomic<bool>& answered = measures_.answered_at(!redirected.empty());
    if (reply.status != 0) answered = true;
    const bool good_status = reply.status >= 200 && reply.status < 300;
    // The head of an answer to a range request tells the size of the object, however long it is.
    if (good_status && reply.failure == HttpFailure::kTooLong && call.headers.contains("range")) {
      measures_.outage.End();
      return sent;
    }
    if (good_status &&
        (reply.failure == HttpFailure::kTooLong || (reply.whole() && reply.body.size() > limit))) {
      throw Error(ErrorCode::kLimit, endpoint_->Shown(call.object),
                  "has more than " + std::to_string(limit) + " bytes");
    }
    if (reply.whole() &&
        std::find(also_good.begin(), also_good.end(), reply.status) != also_good.end()) {
      measures_.outage.End();
      return sent;
    }
    if (!reply.whole() && loop_->CallsStopped()) {
      if (call.method == "DELETE" && !request.tidies_up) continue;  // removal is sent once more
      throw GivenUpError(endpoint_->Shown(call.object));
    }
    Verdict verdict = endpoint_->Judge(call, credentials, reply);
    if (verdict.kind == Verdict::Kind::kGood && call.method == "GET")
      verdict = JudgeEncoding(reply);
    if (verdict.kind == Verdict::Kind::kGood) {
      measures_.outage.End();
      return sent;
    }
    if (verdict.kind == Verdict::Kind::kExpired && credentials_) credentials_->Expired(credentials);
    if (verdict.kind == Verdict::Kind::kElsewhere) redirected = verdict.target;
    const auto wait = retries.Wait(verdict, answered);
    if (!wait) verdict.Throw(endpoint_->Shown(call.object));
    if (!loop_->Sleep(*wait)) {
      if (!loop_->CallsStopped()) verdict.Throw(endpoint_->Shown(call.object));
      if (call.method != "DELETE" || request.tidies_up)
        throw GivenUpError(endpoint_->Shown(call.object));
    }
    measures_.repeated += 1;
    sent.repeated = true;
  }
}

std::vector<std::byte> RemoteStore::Get(std::string_view object, std::uint64_t limit,
                                        ObjectInfo* info) {
  const HttpReply reply = Send({.object = std::string(object)}, limit).reply;
  if (info != nullptr) *info = {reply.body.size(), reply.etag, reply.changed};
  const Bytes bytes = AsBytes(reply.body);
  return {bytes.begin(), bytes.end()};
}

ObjectInfo RemoteStore::Head(std::string_view object) {
  const StoreCall call{.method = "HEAD", .object = std::string(object)};
  // Servers without HEAD, or whose HEAD omits the length or tells that of a compressed body, give
  // the length with a range. So do those whose signed URLs are for GET alone (403).
  const HttpReply reply = Send(call, 0, {403, 405, 501}).reply;
  if (reply.succeeded() && reply.length && JudgeEncoding(reply).kind == Verdict::Kind::kGood)
    return {*reply.length, reply.etag, reply.changed};
  return HeadByRange(call.object);
}

ObjectInfo RemoteStore::HeadByRange(const std::string& object) {
  const StoreCall first_byte{.object = object, .headers = {{"range", "bytes=0-0"}}};
  const HttpReply reply = Send(first_byte, kMaxAnswerBytes, {416}).reply;
  const Verdict encoding = JudgeEncoding(reply);
  if (encoding.kind != Verdict::Kind::kGood) encoding.Throw(endpoint_->Shown(object));
  const auto range = ParseContentRange(reply.content_range);
  if (reply.status == 206 && range && range->total)
    return {*range->total, reply.etag, reply.changed};
  if (reply.status == 416 && reply.content_range == "bytes */0")
    return {0, reply.etag, reply.changed};
  if (reply.status == 200 && (reply.length || reply.whole()))
    return {reply.length.value_or(reply.body.size()), reply.etag, reply.changed};
  throw Error(ErrorCode::kUnsupported, endpoint_->Shown(object),
              "the server does not report this file's size: neither by Content-Length in its "
              "answer to HEAD, nor by Content-Range in its answer to a range request; change the "
              "server so that it does, or download the file");
}

std::uint64_t RemoteStore::Read(RangeRead read) {
  if (read.bytes == 0 || read.offset + read.bytes < read.offset) {
    throw Error(ErrorCode::kInvalidArgument, endpoint_->Shown(read.object),
                "the range to read is empty, or ends above 2^64");
  }
  const std::uint64_t ticket = ++last_ticket_;
  const auto shared = std::make_shared<RangeRead>(std::move(read));
  loop_->Post([this, ticket, shared] { reads_->Add(ticket, std::move(*shared)); });
  return ticket;
}

void RemoteStore::Cancel(std::uint64_t ticket) {
  RunOnLoop(*loop_, [this, ticket] { reads_->Cancel(ticket); });
}

S3Endpoint& RemoteStore::RequireS3(const char* what) const {
  if (s3_ == nullptr) {
    throw Error(ErrorCode::kUnsupported, url(),
                std::string("a plain HTTP server ") + what +
                    "; use s3:// or gs://, with AWS_ENDPOINT_URL for a "
                    "service that is not Amazon's");
  }
  return *s3_;
}

// Whether the object exists with exactly these bytes.
bool RemoteStore::HasContent(std::string_view object, Bytes content) {
  try {
    return std::ranges::equal(Get(object, content.size(), nullptr), content);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kNotFound || error.code() == ErrorCode::kLimit) return false;
    throw;
  }
}

void RemoteStore::Put(std::string_view object, Bytes content, bool only_new) {
  const S3Endpoint& s3 = RequireS3("is read-only");
  const auto exists = [&] {
    return Error(ErrorCode::kExists, endpoint_->Shown(object),
                 "there is an object of that name already");
  };
  // Google's service has no If-None-Match for writing, so the object is looked for beforehand.
  if (only_new && s3.google()) {
    const StoreCall look{.method = "HEAD", .object = std::string(object)};
    if (Send(look, 0, {404}).reply.status != 404) throw exists();
  }
  StoreCall call{.method = "PUT",
                 .object = std::string(object),
                 .headers = {{"content-type", "application/octet-stream"}},
                 .only_once = only_new,
                 .body = content};
  if (only_new && !s3.google()) call.headers["if-none-match"] = "*";
  const Sent sent = Send(call, kMaxAnswerBytes, {412});
  if (sent.reply.status != 412) return;
  // An earlier attempt may have written the object although its answer was lost.
  if (sent.repeated && HasContent(object, content)) return;
  throw exists();
}

namespace {

StoreCall CallToReplace(std::string_view object, Bytes content, const std::string& etag) {
  return {.method = "PUT",
          .object = std::string(object),
          .headers = {{"content-type", "application/octet-stream"}, {"if-match", etag}},
          .only_once = true,
          .body = content};
}

}  // namespace

void RemoteStore::Replace(std::string_view object, Bytes content, const std::string& etag) {
  RequireS3("is read-only");
  if (!IsStrongEtag(etag)) {
    throw Error(ErrorCode::kUnsupported, endpoint_->Shown(object),
                "the server gives no ETag of this object, so it cannot be replaced safely");
  }
  // radosgw compares the ETag without its quotes, against RFC 9110.
  std::string bare = etag;
  std::erase(bare, '"');
  constexpr int kMaxTries = 6;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    if (tries > 1 && !loop_->Sleep(settings_.retries.first_wait * (1 << tries)))
      throw GivenUpError(endpoint_->Shown(object));
    try {
      const StoreCall call = CallToReplace(object, content, tries % 2 == 0 ? etag : bare);
      if (Send(call, kMaxAnswerBytes, {412}).reply.status != 412) return;
    } catch (const Error&) {
      if (!loop_->CallsStopped() && HasContent(object, content)) return;
      throw;
    }
    // An earlier attempt may have written the object although its answer was lost.
    ObjectInfo now;
    const std::vector<std::byte> there = Get(object, UINT32_MAX, &now);
    if (std::ranges::equal(there, content)) return;
    if (now.etag != etag) {
      throw Error(ErrorCode::kExists, endpoint_->Shown(object),
                  "another program has replaced the object");
    }
  }
  throw Error(ErrorCode::kIo, endpoint_->Shown(object),
              "the server does not replace the object, although it has the ETag that the request "
              "names; try again");
}

bool RemoteStore::ComparesEtags() {
  RequireS3("is read-only");
  constexpr const char* kName = "sluice-probe.txt";
  const std::string_view content = "Sluice has asked whether this server compares ETags.";
  const StoreCall call = CallToReplace(kName, AsBytes(content), "\"0123456789abcdef\"");
  const long status = Send(call, kMaxAnswerBytes, {404, 412, 501}).reply.status;
  if (status == 404 || status == 412) return true;
  Remove(kName);
  return false;
}

void RemoteStore::Remove(std::string_view object) {
  RequireS3("is read-only");
  try {
    Send({.method = "DELETE", .object = std::string(object)}, kMaxAnswerBytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
  }
}

void RemoteStore::List(std::string_view prefix, const Each& each) {
  ListPages(prefix, each, nullptr);
}

std::vector<std::string> RemoteStore::ListFolder(std::string_view folder, const Each& each) {
  std::vector<std::string> folders;
  ListPages(folder, each, &folders);
  return folders;
}

// Lists all objects below the prefix. With `folders`, lists only the objects directly below it, and
// adds the folders there.
void RemoteStore::ListPages(std::string_view prefix, const Each& each,
                            std::vector<std::string>* folders) {
  const S3Endpoint& s3 = RequireS3("does not list its files");
  StoreCall call{.whole_bucket = true, .query = {{"list-type", "2"}, {"encoding-type", "url"}}};
  const std::string own = s3.key_prefix();
  if (const std::string whole = own + std::string(prefix); !whole.empty())
    call.query["prefix"] = whole;
  if (folders != nullptr) call.query["delimiter"] = "/";
  const auto endless = [&](const char* how) {
    throw SystemError(ErrorCode::kIo, url(),
                      std::string("the server's list of objects does not end: ") + how, EPROTO);
  };
  if (own.size() + prefix.size() > kMaxObjectName) endless("folders lie in folders without end");
  unsigned empty = 0;  // empty pages in a row
  for (std::uint64_t pages = 1;; ++pages) {
    const HttpReply reply = Send(call, kMaxListingBytes).reply;
    const std::optional<ListingPage> page = ParseListing(reply.body);
    if (!page) {
      throw SystemError(
          ErrorCode::kIo, url(),
          "the answer is not a list of S3's; check that AWS_ENDPOINT_URL names an S3 service",
          EPROTO);
    }
    for (const ListedObject& object : page->objects) {
      if (object.key.starts_with(own))
        each(std::string_view(object.key).substr(own.size()), object.info);
    }
    for (const std::string& folder : page->folders) {
      if (folders != nullptr && folder.starts_with(own) &&
          folder.size() > own.size() + prefix.size()) {
        folders->push_back(folder.substr(own.size()));
      }
    }
    if (page->next.empty()) return;
    if (page->next == call.query["continuation-token"]) endless("a page names itself as the next");
    empty = page->objects.empty() && page->folders.empty() ? empty + 1 : 0;
    if (empty > kMaxEmptyPages) endless("its pages are empty");
    if (pages == kMaxPages) endless("it has more pages than a bucket of 100 million objects");
    call.query["continuation-token"] = page->next;
  }
}

ObjectStore::Counts RemoteStore::counts() const noexcept {
  return {measures_.requests, measures_.repeated, measures_.bytes};
}

namespace {

constexpr std::uint64_t kMaxUploadAnswer = 64 << 10;
constexpr std::uint64_t kMaxUploadParts = 10'000;  // S3's limit

// The size of a part, large enough to keep the number of parts within the limit.
std::uint64_t PartBytes(std::uint64_t bytes, std::uint64_t usual) {
  constexpr std::uint64_t kMegabyte = 1 << 20;
  const std::uint64_t least = (bytes + kMaxUploadParts - 1) / kMaxUploadParts;
  return least <= usual ? usual : AlignUp(least, kMegabyte);
}

}  // namespace

std::string RemoteStore::BeginUpload(const std::string& object) {
  const StoreCall call{.method = "POST",
                       .object = object,
                       .query = {{"uploads", ""}},
                       .headers = {{"content-type", "application/octet-stream"}}};
  const HttpReply reply = Send(call, kMaxUploadAnswer).reply;
  std::string upload;
  const bool read = ReadXml(reply.body, [&](std::string_view path, std::string&& text) {
    if (path == "InitiateMultipartUploadResult/UploadId") upload = std::move(text);
  });
  if (!read || upload.empty()) {
    throw Error(ErrorCode::kUnsupported, endpoint_->Shown(object),
                "the server does not start a multipart upload as S3 does; check AWS_ENDPOINT_URL");
  }
  return upload;
}

// The signature covers the content's SHA-256, which the server verifies.
std::string RemoteStore::PutPart(const std::string& object, const std::string& upload,
                                 unsigned number, Bytes content) {
  const StoreCall call{.method = "PUT",
                       .object = object,
                       .query = {{"partNumber", std::to_string(number)}, {"uploadId", upload}},
                       .body = content};
  std::string etag = Send(call, kMaxUploadAnswer).reply.etag;
  if (etag.empty()) {
    throw Error(ErrorCode::kUnsupported, endpoint_->Shown(object),
                "the server names no ETag of an uploaded part");
  }
  return etag;
}

void RemoteStore::FinishUpload(const std::string& object, const std::string& upload,
                               const std::vector<std::string>& etags, std::uint64_t bytes) {
  std::string list = "<CompleteMultipartUpload>";
  for (std::size_t i = 0; i < etags.size(); ++i) {
    list += "<Part><PartNumber>" + std::to_string(i + 1) + "</PartNumber><ETag>" +
            XmlEscaped(etags[i]) + "</ETag></Part>";
  }
  list += "</CompleteMultipartUpload>";
  const StoreCall call{.method = "POST",
                       .object = object,
                       .query = {{"uploadId", upload}},
                       .headers = {{"content-type", "application/xml"}},
                       .only_once = true,
                       .body = AsBytes(list)};
  for (int tries = 0;; ++tries) {
    constexpr int kMaxTries = 5;
    const Sent sent = Send(call, kMaxUploadAnswer, {404});
    // An earlier attempt may have finished the upload although its answer was lost.
    if (sent.reply.status == 404) {
      if ((sent.repeated || tries > 0) && Head(object).bytes == bytes) return;
      throw Error(ErrorCode::kIo, endpoint_->Shown(object),
                  "the server no longer has this multipart upload: another program or a lifecycle "
                  "rule aborted it; start the upload again");
    }
    // A server may begin its answer with 200, and report an error at the end of the body.
    std::string code;
    const bool read = ReadXml(sent.reply.body, [&](std::string_view path, std::string&& text) {
      if (path == "Error/Code") code = std::move(text);
      if (path == "CompleteMultipartUploadResult") code.clear();
    });
    if (read && code.empty()) return;
    if (loop_->CallsStopped()) throw GivenUpError(endpoint_->Shown(object));
    if (tries + 1 == kMaxTries || !loop_->Sleep(settings_.retries.first_wait * (1 << tries))) {
      throw Error(ErrorCode::kIo, endpoint_->Shown(object),
                  "the server could not put the uploaded parts together (" +
                      WithoutSecrets(code, {}) + "); try again");
    }
  }
}

void RemoteStore::PutLarge(std::string_view object, std::uint64_t bytes, const Fill& fill) {
  RequireS3("is read-only");
  const std::uint64_t part_bytes = PartBytes(bytes, settings_.part_bytes);
  if (bytes <= part_bytes) {
    std::vector<std::byte> content(bytes);
    if (bytes > 0) fill(0, content);
    return Put(object, content, false);
  }
  const std::string target(object);
  const std::string upload = BeginUpload(target);
  const std::uint64_t parts = (bytes + part_bytes - 1) / part_bytes;
  std::vector<std::string> etags(parts);
  try {
    {
      std::vector<std::vector<std::byte>> buffers(settings_.parts_at_once);
      ParallelFor(settings_.parts_at_once, parts, {}, [&](unsigned thread, std::size_t part) {
        const std::uint64_t offset = part * part_bytes;
        std::vector<std::byte>& content = buffers[thread];
        content.resize(std::min(part_bytes, bytes - offset));
        fill(offset, content);
        etags[part] = PutPart(target, upload, static_cast<unsigned>(part + 1), content);
      });
    }
    FinishUpload(target, upload, etags, bytes);
  } catch (...) {
    // Unfinished parts cost money.
    try {
      Send({.method = "DELETE", .object = target, .query = {{"uploadId", upload}}},
           kMaxUploadAnswer, {404});
    } catch (const Error&) {
      // The first error is the one to report.
    }
    throw;
  }
}

}  // namespace sluice
