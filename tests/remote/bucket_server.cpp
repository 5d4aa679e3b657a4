#include "tests/remote/bucket_server.h"

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "format/remote/http/http_answer.h"
#include "format/remote/http/url.h"
#include "format/remote/server/sigv4.h"
#include "format/xml.h"

namespace sluice::test {

std::string EtagOf(const std::string& content) {
  return "\"" + HexOf(Sha256(AsBytes(content))).substr(0, 32) + "\"";
}

WebAnswer S3ErrorAnswer(int status, const std::string& code, const std::string& more) {
  WebAnswer answer;
  answer.status = status;
  answer.headers["Content-Type"] = "application/xml";
  answer.body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>" + code +
                "</Code><Message>said by the test</Message>" + more + "</Error>";
  return answer;
}

StoreSettings TestSettings(std::map<std::string, std::string> variables) {
  StoreSettings settings;
  variables.try_emplace("AWS_EC2_METADATA_DISABLED", "true");
  settings.environment = [variables = std::move(variables)](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
  settings.retries.first_wait = std::chrono::milliseconds(2);
  settings.retries.longest_wait = std::chrono::milliseconds(50);
  settings.retries.first_contact = std::chrono::milliseconds(300);
  settings.stall_timeout = std::chrono::seconds(60);
  return settings;
}

StoreEnvironment::StoreEnvironment(std::map<std::string, std::string> variables)
    : variables_(std::move(variables)) {
  variables_.try_emplace("AWS_EC2_METADATA_DISABLED", "true");
  for (const auto& [name, value] : variables_)
    setenv(name.c_str(), value.c_str(), 1);
}

StoreEnvironment::~StoreEnvironment() {
  for (const auto& entry : variables_)
    unsetenv(entry.first.c_str());
}

BucketServer::BucketServer(Fault fault, const Certificate* certificate)
    : fault_(std::move(fault)),
      web_(
          [this](const WebRequest& request) {
            if (fault_) {
              if (auto answer = fault_(request)) return *answer;
            }
            return Serve(request);
          },
          certificate) {}

void BucketServer::Set(const std::string& key, const std::string& content) {
  const std::lock_guard lock(mutex_);
  objects_[key] = content;
}

std::map<std::string, std::string> BucketServer::All() const {
  const std::lock_guard lock(mutex_);
  return objects_;
}

std::optional<std::string> BucketServer::Content(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(key);
  return found == objects_.end() ? std::nullopt : std::optional(found->second);
}

std::size_t BucketServer::open_uploads() const {
  const std::lock_guard lock(mutex_);
  return uploads_.size();
}

std::map<std::string, std::string> BucketServer::Variables() const {
  return {{"AWS_ENDPOINT_URL", web_.origin()},
          {"AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"},
          {"AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}};
}

WebAnswer BucketServer::Serve(const WebRequest& request) {
  constexpr std::string_view kBucket = "/bkt";
  if (request.path != kBucket && !request.path.starts_with("/bkt/"))
    return S3ErrorAnswer(404, "NoSuchBucket");
  const std::string key = request.path.substr(std::min(request.path.size(), kBucket.size() + 1));
  const std::lock_guard lock(mutex_);
  if (request.query.contains("list-type")) return List(request);
  if (request.method == "GET" || request.method == "HEAD") return Get(request, key);
  if (request.method == "PUT") return Put(request, key);
  if (request.method == "POST") return Post(request, key);
  if (request.method != "DELETE") return S3ErrorAnswer(405, "MethodNotAllowed");
  if (request.query.contains("uploadId")) {
    uploads_.erase(request.query.at("uploadId"));
  } else {
    objects_.erase(key);
  }
  WebAnswer answer;
  answer.status = 204;
  return answer;
}

WebAnswer BucketServer::Get(const WebRequest& request, const std::string& key) {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return S3ErrorAnswer(404, "NoSuchKey");
  const std::string& content = found->second;
  const auto match = request.headers.find("if-match");
  if (match != request.headers.end() && match->second != EtagOf(content))
    return S3ErrorAnswer(412, "PreconditionFailed");
  WebAnswer answer;
  answer.headers["ETag"] = EtagOf(content);
  answer.headers["Accept-Ranges"] = "bytes";
  answer.body = content;
  const auto range = request.headers.find("range");
  if (request.method == "HEAD" || range == request.headers.end()) return answer;
  unsigned long first = 0, last = 0;
  if (std::sscanf(range->second.c_str(), "bytes=%lu-%lu", &first, &last) != 2 ||
      first >= content.size()) {
    return S3ErrorAnswer(416, "InvalidRange");
  }
  last = std::min<unsigned long>(last, content.size() - 1);
  answer.status = 206;
  answer.headers["Content-Range"] = "bytes " + std::to_string(first) + "-" + std::to_string(last) +
                                    "/" + std::to_string(content.size());
  answer.body = content.substr(first, last - first + 1);
  return answer;
}

WebAnswer BucketServer::Put(const WebRequest& request, const std::string& key) {
  WebAnswer answer;
  answer.headers["ETag"] = EtagOf(request.body);
  if (request.query.contains("uploadId")) {
    const auto upload = uploads_.find(request.query.at("uploadId"));
    if (upload == uploads_.end()) return S3ErrorAnswer(404, "NoSuchUpload");
    upload->second[std::stoi(request.query.at("partNumber"))] = request.body;
    return answer;
  }
  const auto condition = request.headers.find("if-none-match");
  if (condition != request.headers.end() && objects_.contains(key))
    return S3ErrorAnswer(412, "PreconditionFailed");
  const auto match = request.headers.find("if-match");
  if (match != request.headers.end() && if_match_ != IfMatch::kIgnored) {
    const auto found = objects_.find(key);
    std::string etag = found == objects_.end() ? "" : EtagOf(found->second);
    if (if_match_ == IfMatch::kComparedBare) std::erase(etag, '"');
    if (etag.empty()) return S3ErrorAnswer(404, "NoSuchKey");
    if (match->second != etag) return S3ErrorAnswer(412, "PreconditionFailed");
  }
  objects_[key] = request.body;
  return answer;
}

WebAnswer BucketServer::Post(const WebRequest& request, const std::string& key) {
  WebAnswer answer;
  if (request.query.contains("uploads")) {
    const std::string id = "upload/+" + std::to_string(next_upload_++);
    uploads_[id];
    answer.body = "<InitiateMultipartUploadResult><Bucket>bkt</Bucket><UploadId>" + id +
                  "</UploadId></InitiateMultipartUploadResult>";
    return answer;
  }
  const auto upload = uploads_.find(request.query.at("uploadId"));
  if (upload == uploads_.end()) return S3ErrorAnswer(404, "NoSuchUpload");
  std::string whole;
  for (const auto& [number, part] : upload->second) {
    std::string etag;  // escaped for XML
    for (const char c : EtagOf(part))
      etag += c == '"' ? "&quot;" : std::string(1, c);
    const std::string listed = "<Part><PartNumber>" + std::to_string(number) +
                               "</PartNumber><ETag>" + etag + "</ETag></Part>";
    if (request.body.find(listed) == std::string::npos) return S3ErrorAnswer(400, "InvalidPart");
    whole += part;
  }
  objects_[key] = whole;
  uploads_.erase(upload);
  answer.body = "<CompleteMultipartUploadResult><Key>k</Key></CompleteMultipartUploadResult>";
  return answer;
}

// A page has at most two entries, so that short lists take several pages.
WebAnswer BucketServer::List(const WebRequest& request) const {
  const auto value = [&](const char* name) {
    const auto found = request.query.find(name);
    return found == request.query.end() ? std::string() : found->second;
  };
  const std::string prefix = value("prefix"), after = value("continuation-token");
  const std::string delimiter = value("delimiter");
  std::string contents, last;
  int listed = 0;
  bool truncated = false;
  for (const auto& [key, content] : objects_) {
    if (!key.starts_with(prefix) || (!after.empty() && "after " + key <= after)) continue;
    const std::size_t cut =
        delimiter.empty() ? std::string::npos : key.find(delimiter, prefix.size());
    const std::string folder = cut == std::string::npos ? "" : key.substr(0, cut + 1);
    if (!folder.empty() && last.starts_with(folder)) {
      last = key;
      continue;
    }
    if (!folder.empty() && !after.empty() && after.substr(6).starts_with(folder)) continue;
    if (listed == 2) {
      truncated = true;
      break;
    }
    ++listed;
    last = key;
    if (!folder.empty()) {
      contents +=
          "<CommonPrefixes><Prefix>" + PercentEncoded(folder, true) + "</Prefix></CommonPrefixes>";
      continue;
    }
    contents += "<Contents><Key>" + PercentEncoded(key, true) +
                "</Key><ETag>&quot;x&quot;</ETag><Size>" + std::to_string(content.size()) +
                "</Size></Contents>";
  }
  WebAnswer answer;
  answer.body =
      "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
      "<Name>bkt</Name><EncodingType>url</EncodingType><IsTruncated>" +
      std::string(truncated ? "true" : "false") + "</IsTruncated>" + contents +
      (truncated
           ? "<NextContinuationToken>" + XmlEscaped("after " + last) + "</NextContinuationToken>"
           : "") +
      "</ListBucketResult>";
  return answer;
}

}  // namespace sluice::test
