// How the answer to a request for a range is judged: good, to be requested again, or an error.
#include "format/remote/http/http_answer.h"
#include "tests/catch.h"

namespace sluice {

TEST_CASE("A Content-Range is parsed as RFC 9110 defines it, and nothing else is accepted") {
  const auto range = ParseContentRange("bytes 42-1233/1234");
  REQUIRE(range);
  CHECK(range->first == 42);
  CHECK(range->last == 1233);
  CHECK(range->total == 1234);
  CHECK_FALSE(ParseContentRange("bytes 42-1233/*")->total);
  for (const char* bad : {"", "bytes", "bytes */1234", "bytes 5-4/10", "bytes 0-10/10",
                          "bytes 0-9/10x", "bytes -9/10", "bytes 0-9",
                          "bytes 0-99999999999999999999/*", "items 0-9/10", "bytes 0 - 9/10"}) {
    INFO(bad);
    CHECK_FALSE(ParseContentRange(bad));
  }
}

TEST_CASE("An answer is the range if it says so, or if it is the whole requested object") {
  using Kind = Verdict::Kind;
  HttpReply reply;
  reply.status = 206;
  reply.content_range = "bytes 10-19/100";
  reply.length = 10;
  CHECK(JudgeRangeAnswer(reply, {10, 10, ""}).kind == Kind::kGood);
  CHECK(JudgeRangeAnswer(reply, {10, 9, ""}).kind == Kind::kAgain);
  CHECK(JudgeRangeAnswer(reply, {9, 10, ""}).kind == Kind::kAgain);
  CHECK(JudgeRangeAnswer(reply, {95, 10, ""}).kind == Kind::kFinal);
  CHECK(JudgeRangeAnswer(reply, {10, 90, ""}).kind == Kind::kGood);  // its beginning
  reply.length = 11;
  CHECK(JudgeRangeAnswer(reply, {10, 10, ""}).kind == Kind::kAgain);
  CHECK(JudgeRangeAnswer(reply, {10, 11, ""}).kind == Kind::kAgain);
  reply.length.reset();
  reply.etag = "\"a\"";
  CHECK(JudgeRangeAnswer(reply, {10, 10, "\"a\""}).kind == Kind::kGood);
  CHECK(JudgeRangeAnswer(reply, {10, 10, "\"b\""}).kind == Kind::kFinal);
  reply.content_range.clear();
  CHECK(JudgeRangeAnswer(reply, {10, 10, ""}).kind == Kind::kAgain);

  reply = {};
  reply.status = 200;
  reply.length = 10;
  CHECK(JudgeRangeAnswer(reply, {0, 10, ""}).kind == Kind::kGood);
  CHECK(JudgeRangeAnswer(reply, {0, 11, ""}).code == ErrorCode::kCorrupt);
  CHECK(JudgeRangeAnswer(reply, {1, 9, ""}).code == ErrorCode::kUnsupported);
  reply.length.reset();
  CHECK(JudgeRangeAnswer(reply, {0, 10, ""}).code == ErrorCode::kUnsupported);
}

TEST_CASE("A compressed body is refused, and labels that say nothing of bytes are not") {
  HttpReply reply;
  for (const char* encoding : {"gzip", "X-GZIP", "deflate", "br", "zstd", "aws-chunked, gzip"}) {
    INFO(encoding);
    reply.content_encoding = encoding;
    CHECK(JudgeEncoding(reply).code == ErrorCode::kUnsupported);
    CHECK(JudgeEncoding(reply).kind == Verdict::Kind::kFinal);
  }
  for (const char* encoding : {"", "identity", "aws-chunked", "utf-8", "binary"}) {
    INFO(encoding);
    reply.content_encoding = encoding;
    CHECK(JudgeEncoding(reply).kind == Verdict::Kind::kGood);
  }
}

}  // namespace sluice
