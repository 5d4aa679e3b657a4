// A conversion's warnings about sources that are probably not what the user meant.
#include <sluice/convert.h>

#include "tests/catch.h"
#include "tests/temporary_folder.h"
#include "tests/writer/source_files.h"
#include "tests/writer/stored.h"
#include "writer/convert/report.h"

namespace sluice::test {

namespace {

using Paths = std::vector<std::vector<std::string>>;

Paths PathsOf(const ConvertSummary& summary) {
  Paths paths;
  for (const std::vector<Duplicate>& group : summary.duplicates) {
    paths.emplace_back();
    for (const Duplicate& file : group)
      paths.back().push_back(file.path);
  }
  return paths;
}

bool Warns(const ConvertSummary& summary, const std::string& text) {
  for (const std::string& warning : summary.warnings) {
    if (warning.find(text) != std::string::npos) return true;
  }
  return false;
}

// `count` small pictures, all different.
void WriteClass(const std::filesystem::path& folder, int count, std::uint64_t seed) {
  for (int i = 0; i < count; ++i) {
    WriteSource(folder / (std::to_string(i) + ".png"),
                MakePng(MakePicture(9, 8, 3, seed + static_cast<std::uint64_t>(i))));
  }
}

}  // namespace

TEST_CASE("a dataset larger than its sources gives a warning that names a smaller form") {
  ConvertSummary summary;
  summary.bytes_in = 2'000'000;
  summary.bytes_out = 3'000'000;
  // A million bytes more give no warning, since pages and directories may take as much; nor does a
  // tenth more, since restart markers may.
  AddGrowth({}, summary);
  CHECK(summary.warnings.empty());
  summary.bytes_out = 3'199'999;
  AddGrowth({}, summary);
  CHECK(summary.warnings.empty());
  summary.bytes_out = 5'000'000;
  AddGrowth({}, summary);
  ConvertOptions other;
  other.form.image = ImageCodec::kPacked;
  AddGrowth(other, summary);
  other.form.image = ImageCodec::kRaw;
  AddGrowth(other, summary);
  CHECK(
      summary.warnings ==
      std::vector<std::string>{
          "the dataset takes 250% of the bytes of its sources; to make it smaller, use a --quality "
          "below 90, --quality keep where sources are JPEGs of the right size, or fewer pixels "
          "(--max-side, --short-side)",
          "the dataset takes 250% of the bytes of its sources; to make it smaller, use --image "
          "jpeg, "
          "which takes 0.7 of packed, or fewer pixels (--max-side, --short-side)",
          "the dataset takes 250% of the bytes of its sources; to make it smaller, use --image "
          "jpeg or "
          "packed, or fewer pixels (--max-side, --short-side)"});
}

TEST_CASE("find_duplicates lists sources with the same bytes and leaves none out") {
  const TemporaryFolder folder;
  // Uncompressed files of one size, so that only their contents differ.
  std::string bmp("BM\x3A\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\1\0\0\0\1\0\0\0\1\0\x18\0", 30);
  bmp.resize(54);
  const auto picture = [&bmp](const char* colour) { return bmp + std::string(colour, 3) + '\0'; };
  WriteSource(folder / "source" / "ant" / "1.bmp", picture("aaa"));
  WriteSource(folder / "source" / "ant" / "2.bmp", picture("bbb"));
  WriteSource(folder / "source" / "ant" / "3.bmp", picture("ccc"));
  WriteSource(folder / "source" / "bee" / "1.bmp", picture("bbb"));
  WriteSource(folder / "source" / "bee" / "2.bmp", picture("ddd"));
  WriteSource(folder / "source" / "bee" / "3.bmp", picture("ddd"));
  WriteSource(folder / "source" / "bee" / "4.bmp", picture("ddd"));
  WriteSource(folder / "source" / "bee" / "other.png", MakePng(MakePicture(5, 5)));
  ConvertOptions options;
  CHECK(Convert(folder / "source", folder / "plain", options).duplicates.empty());
  CHECK_FALSE(std::filesystem::exists(folder / "plain" / "duplicates.tsv"));

  options.run.find_duplicates = true;
  const Paths expected = {{"ant/2.bmp", "bee/1.bmp"}, {"bee/2.bmp", "bee/3.bmp", "bee/4.bmp"}};
  options.run.dry_run = true;
  CHECK(PathsOf(Convert(folder / "source", folder / "dry", options)) == expected);
  options.run.dry_run = false;
  const ConvertSummary summary = Convert(folder / "source", folder / "data", options);
  CHECK(PathsOf(summary) == expected);
  CHECK(summary.samples == 8);
  CHECK(Warns(summary, "1 image is in more than one class"));
  CHECK(ContentOf(folder / "data" / "duplicates.tsv") ==
        "group\tpath\tclass\n0\tant/2.bmp\tant\n0\tbee/1.bmp\tbee\n1\tbee/2.bmp\tbee\n"
        "1\tbee/3.bmp\tbee\n1\tbee/4.bmp\tbee\n");
  // Searching changes no byte of the dataset, and can be done afterwards.
  CHECK(ContentOf(folder / "data" / "manifest.json") ==
        ContentOf(folder / "plain" / "manifest.json"));
  CHECK(PathsOf(Convert(folder / "source", folder / "plain", options)) == expected);
  CHECK(std::filesystem::exists(folder / "plain" / "duplicates.tsv"));
}

TEST_CASE("classes that differ tenfold in size give a warning") {
  const TemporaryFolder folder;
  WriteClass(folder / "source" / "few", 1, 1);
  WriteClass(folder / "source" / "many", 9, 100);
  CHECK_FALSE(Warns(Convert(folder / "source", folder / "nine"), "uneven"));
  WriteClass(folder / "source" / "many", 10, 100);
  CHECK(Warns(Convert(folder / "source", folder / "ten"),
              "very uneven: class 0 (few) has 1 sample, class 1 (many) 10"));
}

TEST_CASE("a few empty classes are named, and many are only counted") {
  const TemporaryFolder folder;
  WriteClass(folder / "source" / "a", 1, 1);
  ConvertSource source(folder / "source");
  source.label.classes = {"a", "b"};
  CHECK(Warns(Convert(source, folder / "few"), "class 1 (b) has no samples; it keeps its number"));
  for (int i = 0; i < 500; ++i)
    source.label.classes.push_back("x" + std::to_string(i));
  const ConvertSummary many = Convert(source, folder / "many");
  CHECK(many.warnings.size() == 1);
  CHECK(Warns(many, "501 classes have no samples, such as class 1 (b); they keep their numbers"));
}

TEST_CASE("images smaller than the requested size are counted, with a warning") {
  const TemporaryFolder folder;
  for (const auto& [name, width, height] : {std::tuple{"a", 60, 40}, std::tuple{"b", 40, 60},
                                            std::tuple{"c", 30, 80}, std::tuple{"d", 80, 70}}) {
    WriteSource(folder / "source" / name, MakePng(MakePicture(static_cast<std::uint32_t>(width),
                                                              static_cast<std::uint32_t>(height))));
  }
  const auto smaller = [&](const char* data, const ConvertOptions& options, const char* text) {
    const ConvertSummary summary = Convert(folder / "source", folder / data, options);
    CHECK(Warns(summary, text) == (summary.smaller > 0));
    // A run that finds the dataset finished counts the same images.
    CHECK(Convert(folder / "source", folder / data, options).smaller == summary.smaller);
    return summary.smaller;
  };
  ConvertOptions options;
  CHECK(smaller("side", options, "smaller") == 0);
  options.geometry.max_side.reset();
  options.geometry.short_side = 41;
  CHECK(smaller("short", options, "smaller than 41 pixels on the shorter side and stay so") == 3);
  options.geometry.short_side = 30;
  CHECK(smaller("shorter", options, "smaller") == 0);
  options.geometry.short_side.reset();
  options.geometry.size = Size{40, 40};
  CHECK(smaller("crop", options, "1 image is smaller than 40x40 and was enlarged") == 1);
  options.geometry.fit = Fit::kPad;
  CHECK(smaller("pad", options, "smaller") == 0);
  options.geometry.size = Size{70, 75};
  CHECK(smaller("padded", options, "2 images are smaller than 70x75 and were enlarged") == 2);
}

}  // namespace sluice::test
