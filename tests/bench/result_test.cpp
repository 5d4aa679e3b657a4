// Files of results: written whole, and shown as pages.
#include "bench/report/result.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/report/page.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace sluice::bench {

namespace {

std::string TextIn(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a written file is complete, and replaces an older one") {
  const test::TemporaryFolder folder;
  WriteTextFile(folder / "a", "long text");
  WriteTextFile(folder / "a", "short");
  CHECK(TextIn(folder / "a") == "short");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("writing a file leaves files with similar names alone") {
  const test::TemporaryFolder folder;
  for (const char* name : {"a.tmp", ".a.tmp", "a.part"})
    std::ofstream(folder / name) << "mine";
  WriteTextFile(folder / "a", "text");
  for (const char* name : {"a.tmp", ".a.tmp", "a.part"})
    CHECK(TextIn(folder / name) == "mine");
}

TEST_CASE("writing through a link writes the file that it leads to") {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "elsewhere");
  WriteTextFile(folder / "elsewhere/file", "old");
  std::filesystem::create_symlink("elsewhere/file", folder / "link");
  WriteTextFile(folder / "link", "new");
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(TextIn(folder / "elsewhere/file") == "new");
}

TEST_CASE("a result is written into a file that is not regular, and does not replace it") {
  const test::TemporaryFolder folder;
  const std::string pipe = (folder / "pipe").string();
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const int end = open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(end >= 0);
  WriteTextFile(pipe, "through it");
  char text[10] = {};
  CHECK(read(end, text, sizeof text) == 10);
  CHECK(std::string(text, 10) == "through it");
  close(end);
  CHECK(std::filesystem::is_fifo(pipe));
}

using Catch::Matchers::ContainsSubstring;

TEST_CASE("an axis has steps of 1, 2 or 5 times a power of ten") {
  CHECK(AxisStep(10, 5) == Approx(2));
  CHECK(AxisStep(7600, 5) == Approx(2000));
  CHECK(AxisStep(0.9, 10) == Approx(0.1));
  CHECK(AxisStep(30, 10) == Approx(5));
  CHECK(AxisStep(0, 10) == 1);
}

TEST_CASE("the text after a bar ends inside the picture") {
  const std::string plot =
      BarPlot("images/s", {{"loader", 1'630'000, 1'600'000, 1'700'000, "(sluice: 10.34x)", false},
                           {"other", 10, 10, 10, "", true}});
  const std::string text = "1630000 images/s  (sluice: 10.34x)";
  REQUIRE(plot.find(text) != std::string::npos);
  const std::size_t begin = plot.rfind("<text x=\"", plot.find(text)) + 9;
  // Letters 12 pixels high are hardly wider than 7, and the picture is 760 pixels wide.
  CHECK(std::stod(plot.substr(begin)) + 7 * static_cast<double>(text.size()) < 760);
  CHECK(std::stod(plot.substr(begin)) > 400);
}

TEST_CASE("a page shows names as text, never as markup, and loads nothing from outside") {
  nlohmann::ordered_json result = ResultOf(
      "compare", {{"images_per_second", "1/s", true, {10, 12, 11}}}, {"<b>loaded & slow</b>"});
  result["loaders"] = {{{"name", "sluice"}, {"images_per_second", {10, 12, 11}}},
                       {{"name", "<script>"}, {"missing", "not \"there\""}}};
  const std::string page = PageOf(result, {});
  CHECK(page.find("<script") == std::string::npos);
  CHECK(page.find("<b>") == std::string::npos);
  CHECK(page.find("http") == std::string::npos);
  CHECK_THAT(page, ContainsSubstring("&lt;b&gt;loaded &amp; slow&lt;/b&gt;"));
  CHECK_THAT(page, ContainsSubstring("not &quot;there&quot;"));
  CHECK_THAT(page, ContainsSubstring("11 images/s"));
}

}  // namespace sluice::bench
