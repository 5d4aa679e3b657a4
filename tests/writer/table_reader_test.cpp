// Tables as text: RFC 4180's rules, and JSON with an object per line.
#include <sluice/convert_source.h>
#include <sluice/error.h>

#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "writer/source/records/table.h"

namespace sluice::test {

namespace {

using Rows = std::vector<std::vector<std::string>>;

std::vector<std::byte> ToBytes(const std::string& text) {
  const Bytes bytes = AsBytes(text);
  return {bytes.begin(), bytes.end()};
}

// The cells of all rows under the table's headings; an empty text for a missing cell.
Rows RowsOf(const std::string& text, const char* ending = ".csv") {
  TableReader reader("t", ending, ToBytes(text));
  Rows rows;
  while (reader.Next()) {
    rows.emplace_back();
    for (const std::string& heading : reader.headings()) {
      const nlohmann::json cell = reader.Get(heading);
      rows.back().push_back(cell.is_string() ? cell.get<std::string>()
                            : cell.is_null() ? ""
                                             : cell.dump());
    }
  }
  return rows;
}

std::string FaultOf(const std::string& text, const char* ending = ".csv") {
  const auto error = ErrorOf([&] { RowsOf(text, ending); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kCorrupt);
  return error->place() + ": " + error->sentence();
}

}  // namespace

TEST_CASE("cells stand between separators, and lines end with or without a carriage return") {
  CHECK(RowsOf("a,b\n1,2\r\n3,4") == Rows{{"1", "2"}, {"3", "4"}});
  CHECK(RowsOf("a\tb\n1,5\t2\n", ".tsv") == Rows{{"1,5", "2"}});
  CHECK(RowsOf("a,b\n,\n\n1,\n") == Rows{{"", ""}, {"1", ""}});
  CHECK(RowsOf("\xef\xbb\xbfpath,b\nx,y\n") == Rows{{"x", "y"}});
}

TEST_CASE("tables from spreadsheets are read: semicolons or tabs without any comma, and UTF-16") {
  CHECK(RowsOf("a;b\n1,5;\"x;y\"\n") == Rows{{"1,5", "x;y"}});
  CHECK(RowsOf("a\tb\n1;5\t2\n") == Rows{{"1;5", "2"}});
  CHECK(RowsOf("a;x,b\n1;5,2\n") == Rows{{"1;5", "2"}});
  CHECK(RowsOf(std::string("\xff\xfe"
                           "a\0;\0b\0\n\0"
                           "1\0;\0\xe9\0\n\0",
                           18)) == Rows{{"1", "é"}});
  TableReader padded("t", ".csv", ToBytes("path, label\na, b\n"));
  CHECK(padded.headings() == std::vector<std::string>{"path", "label"});
  CHECK_THAT(FaultOf("a,b\r1,2\r"), Catch::Matchers::ContainsSubstring("CR alone"));
}

TEST_CASE("200,000 headings are read, and each cell is found by its heading") {
  std::string headings;
  std::string cells;
  for (int i = 0; i < 200'000; ++i) {
    headings += (i == 0 ? "c" : ",c") + std::to_string(i);
    cells += (i == 0 ? "" : ",") + std::to_string(i * 7);
  }
  const Rows rows = RowsOf(headings + "\n" + cells + "\n");
  REQUIRE(rows.size() == 1);
  REQUIRE(rows[0].size() == 200'000);
  CHECK(rows[0][123'456] == std::to_string(123'456 * 7));
  CHECK(FaultOf(headings + ",c77\n").find("\"c77\" comes twice") != std::string::npos);
}

TEST_CASE("a stop request ends the reading of a table, also before its first row") {
  for (const auto& [ending, text] :
       {std::pair(".csv", "a,b\n1,2\n3,4\n"), {".jsonl", "{\"a\":1}\n{\"a\":2}\n"}}) {
    std::stop_source later;
    TableReader reader("t", ending, ToBytes(text), later.get_token());
    REQUIRE(reader.Next());
    later.request_stop();
    const auto error = ErrorOf([&] { reader.Next(); });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kState);
    CHECK(ErrorOf([&] { TableReader("t", ending, ToBytes(text), later.get_token()); }));
  }
}

TEST_CASE("quoted cells may hold separators, line ends and doubled quotes") {
  CHECK(RowsOf("a,b\n\"1,2\",\"say \"\"hi\"\"\"\n\"two\nlines\",\"\"\n") ==
        Rows{{"1,2", "say \"hi\""}, {"two\nlines", ""}});
}

TEST_CASE("the line number of a row counts line ends inside cells") {
  TableReader reader("t", ".csv", ToBytes("a\n\"x\ny\"\n\nlast\n"));
  REQUIRE(reader.Next());
  CHECK(reader.line() == 2);
  REQUIRE(reader.Next());
  CHECK(reader.line() == 5);
  CHECK(reader.Place() == "t, line 5");
}

TEST_CASE("a damaged table is an error with its line") {
  CHECK(FaultOf("a,b\n1,2\n3\n") == "line 3: the row has 1 cell, but there are 2 headings");
  CHECK(FaultOf("a,b\n1,\"2\n").starts_with("line 2: a quotation mark is opened"));
  CHECK(FaultOf("a\n\"1\"2\n").starts_with("line 2: there is text after"));
  CHECK(FaultOf("a,a\n").starts_with("line 1: the heading \"a\" comes twice"));
  CHECK(FaultOf("").starts_with("line 1: the table is empty"));
  CHECK(FaultOf("{\"a\":1}\n[1]\n", ".jsonl") == "line 2: is not a JSON object");
  CHECK(FaultOf("{\"a\":1}\n\n{\"a\":\n", ".jsonl") == "line 3: is not JSON from byte 6 on");
  CHECK(FaultOf("{\"a\":" + std::string(40, '[') + std::string(40, ']') + "}\n", ".jsonl") ==
        "line 1: nests too deeply");
}

TEST_CASE("JSON lines give values of any kind, and members may be missing") {
  CHECK(RowsOf("{\"a\":\"x\",\"b\":[1,2]}\n{\"b\":null}\n{\"a\":7}\n", ".jsonl") ==
        Rows{{"x", "[1,2]"}, {"", ""}, {"7", ""}});
  CHECK(RowsOf("{}\n{\"a\":1}\n{\"b\":2,\"a\":3}\n", ".jsonl") ==
        Rows{{"", ""}, {"1", ""}, {"3", "2"}});
}

TEST_CASE("a table's kind follows from its ending") {
  for (const char* const name : {"a/b.csv", "b.tsv", "b.c.jsonl"})
    CHECK(IsTableName(name));
  for (const char* const name : {"b.xlsx", "csv", "b.csv/c", "b.CSV", ""})
    CHECK_FALSE(IsTableName(name));
  CHECK(CodeOf([] { RowsOf("a\n", ".xlsx"); }) == ErrorCode::kInvalidArgument);
}

}  // namespace sluice::test
