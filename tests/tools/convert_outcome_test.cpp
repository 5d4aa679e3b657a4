// sluice convert: what it leaves out, what it reports about that, and how it ends.
#include <csignal>

#include <sluice/dataset.h>
#include <sluice/error.h>

#include "tests/sanitized.h"
#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

// A source and a dataset made from it; at first, neither exists.
struct Folders {
  TemporaryFolder folder;
  std::string source = (folder / "source").string();
  std::string data = (folder / "data").string();

  Outcome Convert(Words options = {}) const {
    Words words = {"convert", source, data};
    words.insert(words.end(), options.begin(), options.end());
    return Sluice(words);
  }
  // A path in the source.
  std::filesystem::path operator/(const std::string& name) const {
    return folder / ("source/" + name);
  }
};

}  // namespace

TEST_CASE("with --json, a failing command also reports the error on standard output") {
  const Folders folders;
  const Outcome gone = folders.Convert({"--json"});
  CHECK(gone.exit_code == 1);
  const nlohmann::json answer = nlohmann::json::parse(gone.out)["error"];
  CHECK(answer["code"] == "not found");
  CHECK(answer["file"] == folders.source);
  CHECK_THAT(gone.err, ContainsSubstring(answer["message"].get<std::string>()));
  const Outcome wrong = folders.Convert({"--json", "--split", "train=2"});
  CHECK(wrong.exit_code == 2);
  CHECK(nlohmann::json::parse(wrong.out)["error"]["code"] == "invalid argument");
}

TEST_CASE("convert --json prints its result as one object and nothing else") {
  const Folders folders;
  WriteClasses(folders.source, 5);
  const Outcome outcome = folders.Convert({"--json"});
  CHECK(outcome.exit_code == 0);
  const nlohmann::json answer = JsonOf(outcome);
  CHECK(answer["samples"] == 15);
  CHECK(answer["classes"] == 3);
  CHECK(answer["skipped"] == 0);
  CHECK(answer["passed_over"] == 0);
  CHECK(answer["shards"] == 1);
  CHECK(answer["seconds"].get<double>() > 0);
  CHECK(answer["class_list"][1] == nlohmann::json{{"name", "dog"}, {"samples", 5}});
  std::uintmax_t bytes_in = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folders.source)) {
    if (file.is_regular_file()) bytes_in += file.file_size();
  }
  CHECK(answer["bytes_in"] == bytes_in);
  std::uintmax_t bytes_out = 0;
  for (const auto& file : std::filesystem::directory_iterator(folders.data)) {
    bytes_out += file.file_size();
  }
  CHECK(answer["bytes_out"] == bytes_out);
}

TEST_CASE("convert's summary for people gives counts, sizes and time") {
  const Folders folders;
  WriteClasses(folders.source, 5);
  const Outcome outcome = folders.Convert();
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("15 samples of 3 classes in 1 shard\n"
                                            "  classes    0 cat, 1 dog, 2 owl\n"));
  CHECK_THAT(outcome.out, ContainsSubstring("images/s"));
  CHECK_THAT(outcome.out, ContainsSubstring("kB"));
}

TEST_CASE("the summary shows the numbers of the first classes, and counts the others") {
  const Folders folders;
  for (int c = 10; c < 60; ++c)
    WriteJpeg(folders / ("class" + std::to_string(c) + "/1.jpg"), MakePicture(16, 16));
  const Outcome outcome = folders.Convert();
  // 9 bytes for the first class and 11 or 12 for each of the others, commas included.
  // At most 140 bytes are shown, so 12 classes.
  CHECK_THAT(outcome.out, ContainsSubstring("  classes    0 class10, 1 class11, 2 class12, "));
  CHECK_THAT(outcome.out, ContainsSubstring("11 class21 and 38 more\n"));
}

TEST_CASE("a log gets a line at the start and no carriage returns") {
  const Folders folders;
  WriteClasses(folders.source, 5);
  const Outcome outcome = folders.Convert();
  // If the command takes longer than a minute, there is a line for each minute, too.
  CHECK(outcome.err.starts_with("converting " + folders.source + " into " + folders.data + "\n"));
  CHECK((outcome.out + outcome.err).find('\r') == std::string::npos);
}

TEST_CASE("option --quiet prints nothing if everything is fine") {
  const Folders folders;
  WriteClasses(folders.source, 2);
  const Outcome outcome = folders.Convert({"--quiet"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.empty());
}

TEST_CASE("a flat folder becomes a dataset without labels") {
  const Folders folders;
  WriteJpeg(folders / "a.jpg", MakePicture(30, 30));
  WriteJpeg(folders / "b.jpg", MakePicture(30, 30));
  const Outcome outcome = folders.Convert();
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("2 samples without labels"));
  CHECK(Dataset::Open(folders.data).class_counts().empty());
}

TEST_CASE("a broken source is left out, named and listed, and the exit code is 3") {
  const Folders folders;
  WriteClasses(folders.source, 3);
  WriteBytes(folders / "dog/broken.jpg", TruncatedJpeg());
  const Outcome outcome = folders.Convert();
  CHECK(outcome.exit_code == 3);
  CHECK_THAT(outcome.out, ContainsSubstring("dog/broken.jpg"));
  CHECK_THAT(outcome.out, ContainsSubstring("skipped.tsv"));
  CHECK_THAT(ContentOf(folders.data + "/skipped.tsv"), ContainsSubstring("dog/broken.jpg\t"));
  CHECK(Dataset::Open(folders.data).size() == 9);
}

TEST_CASE("convert --json counts and lists the broken sources") {
  const Folders folders;
  WriteClasses(folders.source, 3);
  WriteBytes(folders / "dog/broken.jpg", TruncatedJpeg());
  const Outcome outcome = folders.Convert({"--json"});
  CHECK(outcome.exit_code == 3);
  const nlohmann::json answer = JsonOf(outcome);
  CHECK(answer["skipped"] == 1);
  CHECK(answer["skipped_list"][0]["path"] == "dog/broken.jpg");
  CHECK(answer["skipped_list"][0]["reason"].get<std::string>().size() > 5);
}

TEST_CASE("files that are not images are skipped and do not change the exit code") {
  const Folders folders;
  WriteClasses(folders.source, 3);
  WriteBytes(folders / "dog/notes.txt", "not an image");
  WriteBytes(folders / "dog/.hidden.jpg", TruncatedJpeg());
  const Outcome outcome = folders.Convert({"--json"});
  CHECK(outcome.exit_code == 0);
  CHECK(JsonOf(outcome)["passed_over"] == 2);
  CHECK(JsonOf(outcome)["skipped"] == 0);
}

TEST_CASE("option --on-error fail stops at a broken source and names it") {
  const Folders folders;
  WriteClasses(folders.source, 3);
  WriteBytes(folders / "dog/broken.jpg", TruncatedJpeg());
  const Outcome failed = folders.Convert({"--on-error", "fail"});
  CHECK(failed.exit_code == 1);
  CHECK_THAT(failed.err, ContainsSubstring("sluice: "));
  CHECK_THAT(failed.err, ContainsSubstring("dog/broken.jpg"));
  CHECK_THROWS_AS(Dataset::Open(folders.data), Error);
}

TEST_CASE("option --on-error skip, the default, is accepted") {
  const Folders folders;
  WriteClasses(folders.source, 3);
  WriteBytes(folders / "dog/broken.jpg", TruncatedJpeg());
  CHECK(folders.Convert({"--on-error", "skip"}).exit_code == 3);
}

TEST_CASE("option --truncated sets how to treat an image that ends early") {
  const Folders folders;
  WriteClasses(folders.source, 3);
  WriteBytes(folders / "dog/early.jpg", TruncatedJpeg());
  const auto convert = [&](const char* what) {
    std::filesystem::remove_all(folders.data);
    return folders.Convert({"--truncated", what, "--json"});
  };
  const Outcome refused = convert("refuse");
  CHECK(refused.exit_code == 3);
  CHECK_THAT(JsonOf(refused)["skipped_list"][0]["reason"].get<std::string>(),
             ContainsSubstring("cut short"));
  const Outcome accepted = convert("accept");
  CHECK(accepted.exit_code == 0);
  CHECK(JsonOf(accepted)["samples"] == 10);
  CHECK(JsonOf(accepted)["truncated"] == 1);
  CHECK(JsonOf(accepted)["truncated_list"][0]["path"] == "dog/early.jpg");
  CHECK_THAT(ContentOf(folders.data + "/skipped.tsv"), !ContainsSubstring("early.jpg"));
  std::filesystem::remove_all(folders.data);
  const Outcome warned = folders.Convert({"--truncated", "warn"});
  CHECK(warned.exit_code == 0);
  CHECK_THAT(warned.err, ContainsSubstring("warning: an image ends early"));
  CHECK_THAT(warned.err, ContainsSubstring("dog/early.jpg"));
  CHECK_THAT(ContentOf(folders.data + "/skipped.tsv"), ContainsSubstring("dog/early.jpg\t"));
}

TEST_CASE("option --max-pixels leaves larger images out") {
  const Folders folders;
  WriteJpeg(folders / "small.jpg", MakePicture(40, 40));  // 1600 pixels
  WriteJpeg(folders / "large.jpg", MakePicture(60, 40));  // 2400
  const Outcome outcome = folders.Convert({"--max-pixels", "2k", "--json"});
  CHECK(outcome.exit_code == 3);
  CHECK(JsonOf(outcome)["skipped_list"][0]["path"] == "large.jpg");
  CHECK(JsonOf(outcome)["samples"] == 1);
}

TEST_CASE("option --dry-run counts and writes nothing") {
  const Folders folders;
  WriteClasses(folders.source, 3);
  const Outcome outcome = folders.Convert({"--dry-run", "--json"});
  CHECK(outcome.exit_code == 0);
  CHECK(JsonOf(outcome)["samples"] == 9);
  CHECK(JsonOf(outcome)["dry_run"] == true);
  CHECK_FALSE(std::filesystem::exists(folders.data));
  const Outcome text = folders.Convert({"--dry-run"});
  CHECK_THAT(text.out, ContainsSubstring("nothing was written"));
  CHECK_THAT(text.out, ContainsSubstring("about "));
}

TEST_CASE("an empty class gives a warning and keeps its number") {
  const Folders folders;
  WriteClasses(folders.source, 2);
  std::filesystem::create_directories(folders / "cow");
  const Outcome outcome = folders.Convert();
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.err, ContainsSubstring("sluice: warning: "));
  CHECK_THAT(outcome.err, ContainsSubstring("cow"));
  CHECK(Dataset::Open(folders.data).class_counts() == std::vector<std::uint64_t>{2, 0, 2, 2});
}

TEST_CASE("a dataset made with other options is not overwritten") {
  const Folders folders;
  WriteClasses(folders.source, 2);
  CHECK(folders.Convert().exit_code == 0);
  const std::string before = ContentOf(folders.data + "/manifest.json");
  const Outcome outcome = folders.Convert({"--quality", "50"});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring(folders.data));
  CHECK(ContentOf(folders.data + "/manifest.json") == before);
  CHECK(folders.Convert().exit_code == 0);
}

TEST_CASE("a finished conversion is left as it is, with a message that says so") {
  const Folders folders;
  WriteClasses(folders.source, 2);
  CHECK(JsonOf(folders.Convert({"--json"}))["found_done"] == 0);
  const auto time = std::filesystem::last_write_time(folders.data + "/shard-00000.sluice");
  CHECK(JsonOf(folders.Convert({"--json"}))["found_done"] == 6);
  CHECK_THAT(folders.Convert().out, ContainsSubstring("6 sources were done already"));
  CHECK(std::filesystem::last_write_time(folders.data + "/shard-00000.sluice") == time);
}

TEST_CASE("images of known but unsupported kinds are left out and counted by kind") {
  const Folders folders;
  WriteClasses(folders.source, 2);
  const std::string icon("\0\0\1\0\1\0\x10\x10\0\0\1\0\x20\0\x68\4\0\0\x16\0\0\0", 22);
  WriteBytes(folders / "cat/1.dds", std::string("DDS \x7c\0\0\0\x07\x10\0\0", 12));
  WriteBytes(folders / "cat/2.dds", std::string("DDS \x7c\0\0\0\x07\x10\0\0", 12));
  WriteBytes(folders / "dog/favicon.png", icon);
  WriteBytes(folders / "dog/notes.txt", "DDS is a kind of picture");
  const Outcome text = folders.Convert({"--dry-run"});
  CHECK(text.exit_code == 3);
  CHECK_THAT(text.out, ContainsSubstring("LEFT OUT   3 sources"));
  CHECK_THAT(text.out, ContainsSubstring("       2  unsupported: a DDS image"));
  CHECK_THAT(text.out, ContainsSubstring("       1  unsupported: an ICO image"));
  CHECK_THAT(text.out, ContainsSubstring("ignored    1 file:"));
  const Outcome outcome = folders.Convert({"--json"});
  CHECK(outcome.exit_code == 3);
  CHECK(JsonOf(outcome)["skipped"] == 3);
  CHECK_THAT(ContentOf(folders.data + "/skipped.tsv"),
             ContainsSubstring("dog/favicon.png\tunsupported: an ICO image"));
  const Outcome fails =
      Sluice({"convert", folders.source, folders.data + "2", "--on-error", "fail"});
  CHECK(fails.exit_code == 1);
  CHECK_THAT(fails.err, ContainsSubstring("cat/1.dds: unsupported: a DDS image"));
}

TEST_CASE(
    "option --no-labels accepts pictures next to folders, and append can extend the dataset") {
  const Folders folders;
  WriteClasses(folders.source, 2);
  std::filesystem::copy(folders / "cat/0.jpg", folders / "stray.jpg");
  const Outcome refused = folders.Convert();
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("--labels top"));
  const Outcome outcome = folders.Convert({"--no-labels"});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("7 samples without labels"));
  const std::string more = (folders.folder / "more").string();
  WriteClasses(more, 3, 20, 16);  // the same keys, but other pictures
  const Outcome labelled = Sluice({"append", more, folders.data});
  CHECK(labelled.exit_code == 2);
  std::filesystem::remove_all(folders.data + ".append");
  const Outcome added = Sluice({"append", more, folders.data, "--no-labels"});
  INFO(added.err);
  CHECK(added.exit_code == 0);
  CHECK(Dataset::Open(folders.data).size() == 16);
  const Outcome both = Sluice({"convert", folders.source, folders.data + "2", "--no-labels",
                               "--classes", folders.source + "/stray.jpg"});
  CHECK(both.exit_code == 2);
}

TEST_CASE("a dataset is created together with its parent folders") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 2);
  const auto at = [&](const char* name) { return (folder / name).string(); };
  CHECK(Sluice({"convert", at("source"), at("data/new/set")}).exit_code == 0);
  CHECK(Sluice({"subset", at("data/new/set"), at("some/other"), "--count", "2"}).exit_code == 0);
  CHECK(Sluice({"convert", at("source"), at("parts/of/it"), "--split", "a=0.5,b=0.5"}).exit_code ==
        0);
  for (const char* made : {"data/new/set", "some/other", "parts/of/it/a"})
    CHECK(std::filesystem::exists(folder / made / "manifest.json"));
}

TEST_CASE("a missing source is an error with its name") {
  const Folders folders;
  const Outcome outcome = folders.Convert();
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring(folders.source));
  CHECK(outcome.out.empty());
}

TEST_CASE("unwritable standard output is an error") {
  const Folders folders;
  WriteClasses(folders.source, 2);
  const Outcome outcome =
      Sluice({"convert", folders.source, folders.data}, {.out_file = "/dev/full"});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring("standard output"));
}

TEST_CASE("an interrupted conversion ends with 130 and the same command finishes it") {
  const int signal = GENERATE(SIGINT, SIGTERM);
  // If this process is held up, the work may be done before the signal comes: then the test tries
  // again with twice the work.
  for (int pictures = kSanitized ? 20 : 40;; pictures *= 2) {
    const Folders folders;
    WriteJpeg(folders / "0.jpg", kSanitized ? MakePicture(90, 90) : MakePicture(450, 450));
    for (int i = 1; i < pictures; ++i)
      std::filesystem::create_hard_link(folders / "0.jpg", folders / (std::to_string(i) + ".jpg"));
    const Words words = {"convert", folders.source, folders.data, "--threads",     "1",  "--image",
                         "raw",     "--size",       "300",        "--shard-bytes", "1MB"};
    Running running(SLUICE_COMMAND, words);
    bool sent = false;
    const Outcome interrupted = running.Wait([&](const Outcome&) {
      // The first of several shards is finished.
      if (sent || !std::filesystem::exists(folders.data + "/shard-00000.sluice")) return;
      running.Signal(signal);
      sent = true;
    });
    if (interrupted.exit_code == 0 && pictures < 2000) continue;
    REQUIRE(sent);
    CHECK(interrupted.exit_code == 130);
    CHECK_THAT(interrupted.err, ContainsSubstring("run the same command again to resume"));
    CHECK_THROWS_AS(Dataset::Open(folders.data), Error);

    const Outcome resumed = Sluice(words);
    CHECK(resumed.exit_code == 0);
    CHECK_THAT(resumed.out, ContainsSubstring("done already by an earlier run"));
    const std::string other = (folders.folder / "uninterrupted").string();
    Words again = words;
    again[2] = other;
    CHECK(Sluice(again).exit_code == 0);
    const Dataset dataset = Dataset::Open(folders.data);
    CHECK(dataset.size() == static_cast<std::uint64_t>(pictures));
    CHECK(ContentOf(folders.data + "/manifest.json") == ContentOf(other + "/manifest.json"));
    for (const ShardSummary& shard : dataset.shards()) {
      CHECK(ContentOf(folders.data + "/" + shard.file) == ContentOf(other + "/" + shard.file));
    }
    return;
  }
}

TEST_CASE("a second interrupt ends a conversion at once") {
  const Folders folders;
  // The command finishes a picture before it checks for a stop, so each picture must take long: it
  // has many pixels, but no detail.
  const std::uint32_t side = kSanitized ? 1500 : 3000;
  Picture grey{side, side, 1, {}};
  grey.pixels.assign(std::size_t{grey.width} * grey.height, 128);
  WriteJpeg(folders / "0.jpg", grey);
  for (int i = 1; i < 6; ++i)
    std::filesystem::create_hard_link(folders / "0.jpg", folders / (std::to_string(i) + ".jpg"));
  Outcome outcome;
  // Tries again if this process was held up between two signals for longer than a picture takes.
  for (int attempt = 0; attempt < 30 && outcome.signal == 0; ++attempt) {
    const std::string data = folders.data + std::to_string(attempt);
    Running running(SLUICE_COMMAND, {"convert", folders.source, data, "--threads", "1", "--image",
                                     "raw", "--size", std::to_string(2 * side)});
    bool sent = false;
    outcome = running.Wait([&](const Outcome&) {
      if (!sent && !std::filesystem::exists(data + "/plan.json")) return;
      running.Signal(SIGINT);  // again and again
      sent = true;
    });
  }
  CHECK(outcome.signal == SIGINT);
}

}  // namespace sluice::test
