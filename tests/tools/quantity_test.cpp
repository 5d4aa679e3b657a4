// Quantities as users type them and as commands print them, and text that is made safe to print.
#include "tools/cli/quantity.h"

#include "tests/catch.h"
#include "tools/cli/output.h"

namespace sluice::cli {

TEST_CASE("bytes are read in powers of 1000 and of 1024") {
  CHECK(ParseBytes("64000000") == 64'000'000);
  CHECK(ParseBytes("64MB") == 64'000'000);
  CHECK(ParseBytes("64mb") == 64'000'000);
  CHECK(ParseBytes("64 M") == 64'000'000);
  CHECK(ParseBytes("1.5GB") == 1'500'000'000);
  CHECK(ParseBytes("64MiB") == 64ULL * 1024 * 1024);
  CHECK(ParseBytes("0.5KiB") == 512);
  CHECK(ParseBytes("7B") == 7);
}

TEST_CASE("a text that is not a number of bytes is refused") {
  for (const char* text : {"", "MB", "-1MB", "1TBx", "1e6", "0x10", "1..5MB", "nan", "64 parsecs",
                           "99999999999999999999"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(ParseBytes(text), UsageError);
  }
}

TEST_CASE("counts take k, M and G") {
  CHECK(ParseCount("178M") == 178'000'000);
  CHECK(ParseCount("20k") == 20'000);
  CHECK(ParseCount("5") == 5);
  CHECK_THROWS_AS(ParseCount("5MB"), UsageError);
}

TEST_CASE("whole numbers stay within their range") {
  CHECK(ParseInteger("18446744073709551615", 0, UINT64_MAX) == UINT64_MAX);
  CHECK(ParseInteger("1", 1, 2) == 1);
  for (const char* text : {"0", "3", "+1", "-1", " 1", "1 ", "1.0", "", "one"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(ParseInteger(text, 1, 2), UsageError);
  }
  CHECK_THROWS_AS(ParseInteger("18446744073709551616", 0, UINT64_MAX), UsageError);
  CHECK_THROWS_WITH(ParseInteger("0", 1, UINT64_MAX), "\"0\" is not a whole number of at least 1");
}

TEST_CASE("sizes are squares or width x height") {
  CHECK(ParseSides("224").width == 224);
  CHECK(ParseSides("224").height == 224);
  CHECK(ParseSides("320x240").width == 320);
  CHECK(ParseSides("320x240").height == 240);
  for (const char* text : {"", "x", "320x", "x240", "0", "65536", "3x4x5", "3X4"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(ParseSides(text), UsageError);
  }
}

TEST_CASE("bytes, durations and rates are printed with about three figures") {
  CHECK(BytesText(999) == "999 B");
  CHECK(BytesText(1000) == "1.00 kB");
  CHECK(BytesText(999'499) == "999 kB");
  CHECK(BytesText(999'500) == "1.00 MB");
  CHECK(BytesText(9'960'000) == "9.96 MB");
  CHECK(BytesText(9'996'000) == "10.0 MB");
  CHECK(BytesText(11'340'000) == "11.3 MB");
  CHECK(BytesText(99'600'000) == "99.6 MB");
  CHECK(BytesText(99'960'000) == "100 MB");
  CHECK(BytesText(5'000'000'000'000'000) == "5000 TB");
  CHECK(SecondsText(0.4249) == "0.42 s");
  CHECK(SecondsText(9.999) == "10.0 s");
  CHECK(SecondsText(185) == "3 min 05 s");
  CHECK(SecondsText(7800) == "2 h 10 min");
  CHECK(ClockText(42) == "0:42");
  CHECK(ClockText(3725) == "1:02:05");
  CHECK(RateText(1234.5) == "1234");
  CHECK(RateText(12.34) == "12.3");
}

TEST_CASE("control characters are made visible") {
  CHECK(Printable("cats/\x1b[31m\n\t\x7f.jpg") == "cats/\\x1b[31m\\n\\t\\u007f.jpg");
  CHECK(Printable("\xc2\x9b"
                  "31m") == "\\u009b31m");  // CSI in one character
  CHECK(PrintableLines("a\tb\n\x1b") == "a\tb\n\\x1b");
}

TEST_CASE(
    "characters that reverse, hide or break text are made visible, and so are bytes that are not "
    "UTF-8") {
  CHECK(Printable("a\xe2\x80\xae"
                  "gpj.exe") == "a\\u202egpj.exe");
  CHECK(Printable("\xe2\x81\xa6\xe2\x81\xa9\xd8\x9c\xe2\x80\x8f") ==
        "\\u2066\\u2069\\u061c\\u200f");
  CHECK(Printable("a\xe2\x80\xa8"
                  "b\xe2\x80\x8b\xef\xbb\xbf") == "a\\u2028b\\u200b\\ufeff");
  CHECK(Printable("\xf3\xa0\x81\x81") == "\\udb40\\udc41");  // a tag, as JSON would write it
  CHECK(Printable("\x9b"
                  "31m \xc0\x8a \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x80") ==
        "\\x9b31m \\xc0\\x8a \\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80 \\xe2\\x80");
}

TEST_CASE("readable text is left as it is") {
  const std::string text =
      "k\xc3\xa4se, \xe5\x86\x99\xe7\x9c\x9f, \xd7\xaa\xd7\x9e\xd7\x95\xd7\xa0\xd7\x94, "
      "\xf0\x9f\x90\x88 \\ \xc2\xa0\xef\xbf\xbd";
  CHECK(Printable(text) == text);
}

TEST_CASE("long text with few characters to escape is escaped like short text") {
  std::string text, expected;
  for (int i = 0; i < 50; ++i) {
    text += std::string(static_cast<std::size_t>(i), ' ') + "~" + (i % 2 == 0 ? "\x7f" : "\xff\n");
    expected +=
        std::string(static_cast<std::size_t>(i), ' ') + "~" + (i % 2 == 0 ? "\\u007f" : "\\xff\n");
  }
  CHECK(PrintableLines(text) == expected);
}

TEST_CASE("text is wrapped at spaces, and a word that is too long has a line of its own") {
  CHECK(Wrapped("", 10).empty());
  CHECK(Wrapped("one two", 7) == "one two");
  CHECK(Wrapped("one two three", 7) == "one two\nthree");
  CHECK(Wrapped("a extraordinary b c", 5) == "a\nextraordinary\nb c");
}

}  // namespace sluice::cli
