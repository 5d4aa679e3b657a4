// The facts that `sluice-bench advise` collects before it measures.
#include <filesystem>
#include <fstream>

#include <sluice/error.h>

#include "bench/advise/advice.h"
#include "bench/advise/source_facts.h"
#include "bench/advise/trial.h"
#include "bench/machine/disk.h"
#include "bench/machine/machine.h"
#include "tests/catch.h"
#include "tests/pictures.h"
#include "tests/temporary_folder.h"

namespace sluice::bench {
namespace {

using Catch::Matchers::ContainsSubstring;
using test::TemporaryFolder;

void WriteFile(const std::filesystem::path& path, const std::string& content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

void WriteJpeg(const std::filesystem::path& path, std::uint32_t width, std::uint32_t height) {
  const std::vector<std::byte> jpeg = test::MakeJpeg(test::MakePicture(width, height));
  WriteFile(path, {reinterpret_cast<const char*>(jpeg.data()), jpeg.size()});
}

SourceFacts FactsOf(std::uint32_t width, std::uint32_t height) {
  SourceFacts facts;
  facts.least_width = facts.median_width = facts.most_width = width;
  facts.least_height = facts.median_height = facts.most_height = height;
  facts.kinds = {{"JPEG", 10}};
  return facts;
}

std::vector<std::string> NamesOf(const std::vector<Form>& forms) {
  std::vector<std::string> names;
  for (const Form& form : forms)
    names.push_back(form.name);
  return names;
}

}  // namespace

TEST_CASE("a folder's images are counted by content, and hidden ones skipped") {
  const TemporaryFolder folder;
  WriteJpeg(folder / "cats/a.jpg", 40, 30);
  WriteJpeg(folder / "cats/b.bin", 20, 10);
  WriteJpeg(folder / "dogs/c.jpg", 64, 48);
  WriteJpeg(folder / "dogs/.d.jpg", 500, 500);
  WriteJpeg(folder / ".hidden/e.jpg", 500, 500);
  WriteJpeg(folder / "@eaDir/f.jpg", 500, 500);
  WriteFile(folder / "dogs/notes.jpg", "no picture at all");
  const SourceFacts facts = LookAtSource(folder.path(), {}, 0, {});
  CHECK_FALSE(facts.dataset);
  CHECK(facts.files == 4);
  CHECK(facts.images == 3);
  CHECK(facts.classes == 2);
  CHECK(facts.looked_at == 4);
  CHECK(facts.kinds == std::map<std::string, std::uint64_t>{{"JPEG", 3}, {"no image", 1}});
  CHECK(facts.least_width == 20);
  CHECK(facts.median_width == 40);
  CHECK(facts.most_height == 48);
  std::uint64_t bytes = 0;
  for (const char* const name : {"cats/a.jpg", "cats/b.bin", "dogs/c.jpg"})
    bytes += std::filesystem::file_size(folder / name);
  CHECK(facts.bytes == bytes);
  CHECK(facts.paths.size() == 3);
}

TEST_CASE("a BMP is recognised in a folder, with its size") {
  const TemporaryFolder folder;
  // 5x3 pixels of 24 bits: a file header of 14 bytes, an info header of 40, and rows of 16.
  std::string bmp = "BM";
  const auto add = [&bmp](std::uint32_t value, int bytes) {
    for (; bytes > 0; --bytes, value >>= 8)
      bmp += static_cast<char>(value & 255);
  };
  for (const std::uint32_t value : {54U + 48U, 0U, 54U, 40U, 5U, 3U})
    add(value, 4);
  add(1, 2);
  add(24, 2);
  for (const std::uint32_t value : {0U, 48U, 0U, 0U, 0U, 0U})
    add(value, 4);
  WriteFile(folder / "a.bmp", bmp + std::string(48, '\x40'));
  const SourceFacts facts = LookAtSource(folder.path(), {}, 0, {});
  CHECK(facts.images == 1);
  CHECK(facts.kinds == std::map<std::string, std::uint64_t>{{"BMP", 1}});
  CHECK(facts.median_width == 5);
  CHECK(facts.median_height == 3);
}

TEST_CASE("advise follows links out of the folder only on request, as a conversion does") {
  const TemporaryFolder folder;
  WriteJpeg(folder / "in/a/1.jpg", 16, 16);
  WriteJpeg(folder / "out/2.jpg", 16, 16);
  std::filesystem::create_symlink(folder / "out", folder / "in/b");
  std::filesystem::create_symlink("..", folder / "in/a/up");
  const SourceFacts inside = LookAtSource(folder / "in", {}, 0, {});
  CHECK(inside.files == 1);
  CHECK(inside.warnings.size() == 2);
  CHECK(LookAtSource(folder / "in", {.follow_links = true}, 0, {}).files == 2);
}

TEST_CASE("a large folder is searched within bounds, and the rest is reported as not listed") {
  const TemporaryFolder folder;
  for (int i = 0; i < 12; ++i)
    WriteJpeg(folder / (std::to_string(i) + ".jpg"), 16, 16);
  LookLimits limits;
  limits.files = 8;
  limits.look_at = 5;
  const SourceFacts facts = LookAtSource(folder.path(), limits, 0, {});
  CHECK_FALSE(facts.listed_all);
  CHECK(facts.images == 8);
  CHECK(facts.looked_at == 5);
  CHECK(facts.paths.size() == 5);
  CHECK(facts.classes == 0);
}

TEST_CASE("a folder without pictures is an error") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(LookAtSource(folder.path(), {}, 0, {}), Error);
  WriteFile(folder / "a.txt", "text");
  CHECK_THROWS_AS(LookAtSource(folder.path(), {}, 0, {}), Error);
  CHECK_THROWS_AS(LookAtSource(folder / "none", {}, 0, {}), Error);
}

TEST_CASE("forms for large photos are the two usual sizes and the sources' own") {
  const std::vector<Form> forms = FormsFor(FactsOf(1000, 800), 224, {90});
  CHECK(NamesOf(forms) == std::vector<std::string>{"jpeg 500 q90", "packed 500 q90", "raw 500",
                                                   "jpeg short 256 q90", "packed short 256 q90",
                                                   "raw short 256", "jpeg own size keep",
                                                   "packed own size keep"});
  CHECK(forms[1].options == "--image packed --max-side 500 --quality 90");
  CHECK(forms[0].preference < forms[3].preference);
  CHECK(forms[3].preference < forms[6].preference);
  // For crops of half the side, pictures of half the side are enough.
  CHECK(FormsFor(FactsOf(1000, 800), 112, {90}).front().name == "jpeg 250 q90");
}

TEST_CASE(
    "forms for pictures that nothing shrinks keep their size, and their own JPEGs come first") {
  const std::vector<Form> forms = FormsFor(FactsOf(32, 32), 32, {95, 80});
  CHECK(NamesOf(forms) == std::vector<std::string>{"jpeg own size q95", "packed own size q95",
                                                   "jpeg own size q80", "packed own size q80",
                                                   "raw own size", "jpeg own size keep",
                                                   "packed own size keep"});
  CHECK(forms[5].preference == 0);
  CHECK(forms[2].preference == 1);
  CHECK(forms[4].preference == 0);
}

TEST_CASE("the forms for a dataset are its own and those it can be transcoded into") {
  SourceFacts facts = FactsOf(500, 375);
  facts.dataset = true;
  facts.kinds = {{"jpeg", 2}, {"packed", 300}};
  const std::vector<Form> forms = FormsFor(facts, 224, {90});
  CHECK(NamesOf(forms) == std::vector<std::string>{"packed, as it is", "jpeg", "raw"});
  CHECK(forms[0].as_it_is);
  CHECK(forms[2].options == "--image raw");
}

TEST_CASE("a dataset of large pictures is also tried at the size that crops need") {
  SourceFacts facts = FactsOf(4000, 3000);
  facts.dataset = true;
  for (const char* const kind : {"jpeg", "packed", "raw", "zstd"}) {
    CAPTURE(kind);
    facts.kinds = {{kind, 300}};
    const std::vector<Form> forms = FormsFor(facts, 224, {80, 90});
    const std::string word = std::string(kind) == "zstd" ? "jpeg" : kind;
    const bool raw = word == "raw";
    CHECK(forms.back().name == word + " 500" + (raw ? "" : " q80"));
    CHECK(forms.back().options ==
          "--image " + word + " --max-side 500" + (raw ? "" : " --quality 80"));
    CHECK(forms.back().convert.geometry.max_side == 500U);
    for (std::size_t i = 0; i + 1 < forms.size(); ++i) {
      CHECK_FALSE(forms[i].convert.geometry.max_side);
      CHECK(forms[i].preference < forms.back().preference);
    }
  }
  // Crops of 1792 pixels need the pictures' full 4000.
  CHECK_FALSE(FormsFor(facts, 1792, {90}).back().convert.geometry.max_side);
}

TEST_CASE("advice on a dataset of large pictures says what smaller ones save") {
  Advice advice;
  advice.source = "data/large";
  advice.facts = FactsOf(4000, 3000);
  advice.facts.dataset = true;
  advice.facts.images = 10'000;
  advice.facts.kinds = {{"jpeg", 300}};
  advice.resources.threads = 4;
  advice.resources.memory_bytes = 1'000'000'000'000;
  advice.resources.disk_free_bytes = 1'000'000'000'000;
  advice.resources.disk_bytes_per_second = 1e12;
  // Measured constants: the form of smaller pictures takes 50 kB per image and gives 4000 images
  // per second on all threads, the others 4 MB and 200.
  for (const Form& form : FormsFor(advice.facts, 224, {90})) {
    Trial trial;
    trial.form = form;
    const bool small = form.convert.geometry.max_side.has_value();
    trial.constants = {small ? 50'000.0 : 4'000'000.0, small ? 1000.0 : 50.0,
                       small ? 4000.0 : 200.0, 100, form.preference};
    advice.trials.forms.push_back(trial);
  }
  Decide(advice);
  CHECK(advice.trials.forms[advice.chosen].form.as_it_is);
  const auto sentence = [&advice] { return SentencesOf(advice).back(); };
  CHECK_THAT(sentence(),
             ContainsSubstring("median 4000x3000") &&
                 ContainsSubstring("--max-side 500 they take 500 MB instead of 40.0 GB") &&
                 ContainsSubstring("an epoch 2.50 s instead of 50.0 s") &&
                 ContainsSubstring("4000 images/s instead of 200") &&
                 ContainsSubstring("sluice convert PICTURES DATASET --image jpeg "
                                   "--max-side 500 --quality 90 ") &&
                 ContainsSubstring("sluice export data/large PICTURES"));
  // If only smaller pictures come fast enough for the trainer, they are the advice, and no sentence
  // repeats it.
  advice.need = {1.0, 3000, 1};
  Decide(advice);
  CHECK(advice.trials.forms[advice.chosen].form.convert.geometry.max_side == 500U);
  CHECK_THAT(SentencesOf(advice).front(), ContainsSubstring("sluice convert PICTURES DATASET"));
  CHECK_THAT(sentence(), !ContainsSubstring("--max-side"));
  // A gain of a tenth is not worth a sentence.
  advice.need = {};
  advice.trials.forms.back().constants = {3'600'000, 55, 220, 100, 1};
  Decide(advice);
  CHECK_THAT(sentence(), !ContainsSubstring("--max-side"));
}

TEST_CASE("a disk's rate is measured over all the files' bytes if there is time") {
  const TemporaryFolder folder;
  WriteFile(folder / "a", std::string(2'500'000, 'a'));
  WriteFile(folder / "b", std::string(10'000, 'b'));
  const DiskRate rate = MeasureDiskRate({folder / "a", folder / "b"}, 3600, {});
  CHECK(rate.bytes == 2'510'000);
  CHECK(rate.bytes_per_second > 0);
}

TEST_CASE("measuring a disk's rate in a folder leaves nothing there") {
  const TemporaryFolder folder;
  const DiskRate rate = MeasureDiskRateIn(folder.path(), 3600, {});
  CHECK(rate.bytes == 64U << 20);
  CHECK(rate.bytes_per_second > 0);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("names of GPUs are read from the driver's files") {
  const TemporaryFolder folder;
  WriteFile(folder / "0000:01:00.0/information", "Model: \t\t NVIDIA H100\nIRQ: 16\n");
  WriteFile(folder / "0000:02:00.0/information", "IRQ: 17\n");
  CHECK(GpuNames(folder.path()) == std::vector<std::string>{"NVIDIA H100", "unknown"});
  CHECK(GpuNames(folder / "none").empty());
}

}  // namespace sluice::bench
