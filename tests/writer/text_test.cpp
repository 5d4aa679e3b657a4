// Names and cells as text: ToUtf8() and ToTsvCell().
#include "writer/text.h"

#include "tests/catch.h"

namespace sluice::test {

TEST_CASE("valid UTF-8 stays as it is") {
  for (const char* text : {"plain", "Käfer", "写真", "\U0001F426", ""})
    CHECK(ToUtf8(text) == text);
}

TEST_CASE("bytes that are not UTF-8 are escaped") {
  CHECK(ToUtf8("a\xff"
               "b") == "a\\xffb");
  CHECK(ToUtf8("\xc3") == "\\xc3");                             // cut short
  CHECK(ToUtf8("\xc0\xaf") == "\\xc0\\xaf");                    // overlong
  CHECK(ToUtf8("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(ToUtf8("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
}

TEST_CASE("a table's cell holds no tab, newline or lone backslash") {
  CHECK(ToTsvCell("a\tb\nc\rd\\e") == "a\\tb\\nc\\rd\\\\e");
  CHECK(ToTsvCell("K\xff") == "K\xff");
}

}  // namespace sluice::test
