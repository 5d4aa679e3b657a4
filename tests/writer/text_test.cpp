// Names and cells as text: ToUtf8(), ToTsvCell() and AlikeForm().
#include "writer/text.h"

#include "tests/catch.h"
#include "writer/source/list/alike.h"

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

TEST_CASE("names are alike if Unicode folds their case and decomposes their letters to the same") {
  // Each row's forms are equal in The Unicode Standard 3.13, D145 (canonical caseless matching).
  const std::vector<std::vector<std::string>> rows = {
      {"Photo.JPG", "photo.jpg"},
      {"Stra\u00dfe", "STRASSE", "stra\u1e9ee"},
      {"\u00c4", "\u00e4", "A\u0308", "a\u0308"},
      {"q\u0307\u0323", "Q\u0323\u0307"},      // two marks in either order
      {"\ud55c", "\u1112\u1161\u11ab"},        // a syllable of Hangul
      {"\u0958", "\u0915\u093c"},              // Devanagari
      {"\u03a3", "\u03c3", "\u03c2"},          // sigma also ends words
      {"\U0001d15e", "\U0001d157\U0001d165"},  // letters of four bytes
      {"\xff"
       "A\u0308",
       "\xff"
       "a\u0308"},  // not UTF-8: only ASCII is folded
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    INFO(i);
    for (const std::string& name : rows[i])
      CHECK(AlikeForm(name) == AlikeForm(rows[i][0]));
  }
  CHECK(AlikeForm("\xff\u00c4") != AlikeForm("\xff\u00e4"));
  CHECK(AlikeForm("a\u0308") != AlikeForm("a"));
  CHECK(Decomposed("\u00c4\u00df") == "A\u0308\u00df");
}

}  // namespace sluice::test
