// Paths and URLs without their secrets, for messages.
#include <sluice/error.h>
#include <sluice/shown_path.h>
#include <sluice/shown_text.h>

#include "tests/catch.h"

namespace sluice {

TEST_CASE("a URL is shown without its user information and its query") {
  CHECK(ShownUrl("https://me:secret@host:81/a/b/?sig=secret#top") == "https://host:81/a/b");
  CHECK(ShownUrl("http://me:se/cret?@host/a") == "http://host/a");
  CHECK(ShownUrl("http://[::1]:81/a@2") == "http://[::1]:81/a@2");
  CHECK(ShownUrl("s3://bucket/a@b?c") == "s3://bucket/a@b?c");
  CHECK(ShownUrl("s3://bucket/a?X-Amz-Signature=secret") == "s3://bucket/a");
  CHECK(ShownUrl("s3://?X-Amz-Signature=secret") == "s3://");
  CHECK(ShownUrl("s3://no bucket?token=secret/a") == "s3://no bucket");
  CHECK(ShownUrl("s3://KEY:secret@bucket/a") == "s3://bucket/a");
  CHECK(ShownUrl("https:/me:secret@host/a?sig=secret") == "https:/host/a");
  CHECK(ShownPath("a?b@c") == "a?b@c");
}

TEST_CASE("a text is shown without the secrets of the URLs in it") {
  CHECK(ShownText("copy http://me:secret@host/a?sig=secret to 's3://bucket/b?c', please") ==
        "copy http://host/a to 's3://bucket/b?c', please");
  CHECK(ShownText("http://host/a?sig=secret: cannot be opened") ==
        "http://host/a: cannot be opened");
  CHECK(ShownText("/data/http:/me:secret@host/a?sig=secret") == "/data/http:/host/a");
  CHECK(ShownText("HTTP://me:secret@host ftp://me:secret@host") == "HTTP://host ftp://host");
  CHECK(ShownText("--option=https://me:secret@host/x") == "--option=https://host/x");
  CHECK(ShownText("http://h/Anna's?sig=secret") == "http://h/Anna's");
  CHECK(ShownText("'http://h/Anna's?sig=secret' is gone") == "'http://h/Anna's' is gone");
  CHECK(ShownText("'http://h/a?secret': 'http://me:secret@h','ftp://me:secret@h'") ==
        "'http://h/a': 'http://h','ftp://h'");
  CHECK(ShownText("['http://h/a?secret', {'http://h/b?secret'}]") ==
        "['http://h/a', {'http://h/b'}]");
  for (const char* const other :
       {"", ":", ":/", "a:/b?c", "what? no: why/not", "C:/data?x", "http:/", "http://", "://a@b"})
    CHECK(ShownText(other) == other);
}

TEST_CASE("an error reveals no secret of a URL, wherever the URL stands") {
  const Error error(ErrorCode::kIo, "http://me:secret@host/a b?sig=secret", "byte 1",
                    "instead of https://me:secret@host?secret");
  CHECK(error.file() == "http://host/a b");
  CHECK(std::string(error.what()) == "http://host/a b: byte 1: instead of https://host");
  CHECK(error.sentence() == "instead of https://host");
}

TEST_CASE("a NUL in the sentence of an error is shown, since what() would end at it") {
  const Error error(ErrorCode::kCorrupt, "file", std::string("\0 and \0\0!", 9));
  CHECK(std::string(error.what()) == "file: \\x00 and \\x00\\x00!");
  CHECK(error.sentence() == "\\x00 and \\x00\\x00!");
}

}  // namespace sluice
