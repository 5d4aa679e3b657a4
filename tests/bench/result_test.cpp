// Files of results: written whole, and shown as pages.
#include "bench/report/result.h"

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
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
  const std::string text = "1,630,000 images/s  (sluice: 10.34x)";
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

namespace {

// A result of `sluice-bench epoch` with long names, and the bars of a trace.
std::string EpochPage() {
  nlohmann::ordered_json result = ResultOf("epoch",
                                           {{"images_per_second", "1/s", true, {1900, 2000, 2100}},
                                            {"cold_images_per_second", "1/s", true, {1000}},
                                            {"anonymous_bytes", "B", false, {167'772'160}}},
                                           {});
  result["epochs"] = {{{"images", 2000}}};
  // 2 seconds of 4 threads for 2000 images: 4000 images a second.
  result["stages"] = {
      {{"name", "decode"},
       {"threads", 4},
       {"seconds", 2.0},
       {"parts",
        {{{"name", "blur"}, {"share", 0.75}},
         {{"name", "a part with a very long name indeed, and more"}, {"share", 0.25}}}}},
      {{"name", "read"}, {"threads", 1}, {"seconds", 0.1}, {"parts", nullptr}}};
  std::vector<double> percentiles(101, 0.0);
  for (std::size_t percent = 91; percent <= 100; ++percent)
    percentiles[percent] = 12'300;
  result["batch_wait_percentiles"] = percentiles;
  result["slot_bytes"] = 159'874'321;
  result["first_batch_seconds"] = 0.4213;
  result["seed"] = 1'000'000;
  return PageOf(result, {{"read ahead", "read ahead", 0, 0, 4, 0.01, 0.010001},
                         {"read ahead", "read ahead", 1, 0, 4, 0.05, 0.050001},
                         {"worker 1", "decode", 0, 0, 4, 0.02, 0.05},
                         {"consumer", "wait", 0, 0, 0, 0, 0.06},
                         {"consumer", "train", 0, 0, 0, 0.06, 0.08}});
}

}  // namespace

TEST_CASE("a page says below each plot what is good and what the plot shows") {
  const std::string page = EpochPage();
  for (const char* const said :
       {"Here the epochs differ by 10%, and with a cold cache the rate is 50% of the warm one.",
        "Here it is decode: 4 threads can do 4,000 images/s, and the largest part is blur, 75%.",
        "Here 90% of them came within 1 ms; the longest wait was 3 h 25 min.",
        "Here it waited for 75% of the time shown."})
    CHECK_THAT(page, ContainsSubstring(said));
}

TEST_CASE("a page has numbers that a person reads") {
  const std::string page = EpochPage();
  for (const char* const cell :
       {"<td>168 MB</td>", "<td>ring of batches</td><td class=\"text\">160 MB",
        "<td>first batch</td><td class=\"text\">0.42 s", ">2,000/s<",
        "<td>seed</td><td class=\"text\">1000000<"})
    CHECK_THAT(page, ContainsSubstring(cell));
}

TEST_CASE("no text of a plot is cut, on wide and on narrow screens") {
  constexpr double kLetter = 7;  // hardly any letter of 12 pixels is wider
  const std::string page = EpochPage();
  const std::regex text(
      R"x(<svg class="\w+" viewBox="0 0 (\d+) |<text x="([-\d.]+)" .*"(\w+)">([^<]*)<)x");
  double width = 0;
  std::set<double> widths;
  for (std::sregex_iterator found(page.begin(), page.end(), text), end; found != end; ++found) {
    if ((*found)[1].matched) {
      widths.insert(width = std::stod((*found)[1]));
      continue;
    }
    INFO((*found)[4] << " in " << width);
    const double length = kLetter * static_cast<double>((*found)[4].length());
    const std::string anchor = (*found)[3];
    const double begin = std::stod((*found)[2]) - (anchor == "end"      ? length
                                                   : anchor == "middle" ? length / 2
                                                                        : 0);
    CHECK(begin >= 0);
    CHECK(begin + length <= width);
  }
  CHECK(widths == std::set<double>{360, 760});
}

TEST_CASE("reading ahead is wide enough to be seen on the timeline, however short it was") {
  const std::string page = EpochPage();
  const std::regex bar(R"x(width="([\d.]+)" height="\d+" class="c\d"><title>read ahead)x");
  std::size_t bars = 0;
  for (std::sregex_iterator found(page.begin(), page.end(), bar), end; found != end;
       ++found, ++bars)
    CHECK(std::stod((*found)[1]) >= 2);
  CHECK(bars == 4);  // two, in both widths
}

}  // namespace sluice::bench
