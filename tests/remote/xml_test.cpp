// The XML parser of S3's answers.
#include "format/xml.h"

#include <vector>

#include "tests/catch.h"

namespace sluice {

namespace {

using Leaves = std::vector<std::pair<std::string, std::string>>;

Leaves Read(std::string_view xml) {
  Leaves leaves;
  REQUIRE(ReadXml(xml, [&](std::string_view path, std::string&& text) {
    leaves.emplace_back(path, std::move(text));
  }));
  return leaves;
}

}  // namespace

TEST_CASE("XML's elements are reported as they end, with their paths and texts") {
  CHECK(Read("<?xml version=\"1.0\"?>\n<!-- a > b --><a x='>' y=\"/a>\"><b>1</b> <c/>t<b >2</b "
             "></a>\n") == Leaves{{"a/b", "1"}, {"a/c", ""}, {"a/b", "2"}, {"a", " t"}});
}

TEST_CASE("XML's entities and CDATA sections are decoded") {
  CHECK(Read("<a>&lt;&gt;&amp;&quot;&apos;&#65;&#x42;&#xe9;&#x65E5;&#x1F600;<![CDATA[<&b]]></a>") ==
        Leaves{{"a", "<>&\"'AB\xC3\xA9\xE6\x97\xA5\xF0\x9F\x98\x80<&b"}});
}

TEST_CASE("XML that is malformed, nests deeply or defines entities is refused") {
  std::string deep;
  for (int i = 0; i < 17; ++i)
    deep += "<a>";
  for (int i = 0; i < 17; ++i)
    deep += "</a>";
  for (const std::string& bad : {std::string(),
                                 std::string("text"),
                                 std::string("<a>"),
                                 std::string("</a>"),
                                 std::string("<a></b>"),
                                 std::string("<a><b></a></b>"),
                                 std::string("<a/><b/>"),
                                 std::string("<a/>text"),
                                 std::string("<a>&x;</a>"),
                                 std::string("<a>&</a>"),
                                 std::string("<a>&#0;</a>"),
                                 std::string("<a>&#xD800;</a>"),
                                 std::string("<a>&#x110000;</a>"),
                                 std::string("<a>&#12a;</a>"),
                                 std::string("<a x='></a>"),
                                 std::string("<>"),
                                 std::string("<a"),
                                 std::string("<!-- -->"),
                                 std::string("<a><![CDATA[</a>"),
                                 std::string("<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>"),
                                 std::string("<a>\x01</a>"),
                                 std::string("<a>\xff</a>"),
                                 std::string("<!DOCTYPE a SYSTEM \"a.dtd\"><a>&b;</a>"),
                                 "<" + std::string(101, 'a') + "/>",
                                 deep}) {
    INFO(bad);
    CHECK_FALSE(ReadXml(bad, [](std::string_view, std::string&&) {}));
  }
}

TEST_CASE("XML may have a document type only if the rules say so and it declares nothing") {
  const XmlRules with_type{.document_type = true};
  const auto ignored = [](std::string_view, std::string&&) {};
  CHECK(ReadXml("<!DOCTYPE a SYSTEM \"a.dtd\"><a/>", ignored, with_type));
  for (const char* bad :
       {"<!DOCTYPE a [<!ENTITY b \"c\">]><a/>", "<!DOCTYPE a [<!ATTLIST a b CDATA \"c\">]><a/>",
        "<!DOCTYPE a SYSTEM \"a.dtd\"><a>&b;</a>"}) {
    INFO(bad);
    CHECK_FALSE(ReadXml(bad, ignored, with_type));
  }
}

TEST_CASE("what XML's reader calls may throw, and a fault has its place") {
  CHECK_THROWS_AS(ReadXml("<a/>", [](std::string_view, std::string&&) { throw 1; }), int);
  std::string fault;
  CHECK_FALSE(ReadXml(
      "<a>\n <b></a>", [](std::string_view, std::string&&) {}, {}, &fault));
  CHECK(fault == "mismatched tag, at line 2, byte 7");
}

}  // namespace sluice
