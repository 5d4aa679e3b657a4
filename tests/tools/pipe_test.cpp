// sluice convert - and sluice append -: a tar archive on standard input.
#include <chrono>
#include <csignal>
#include <cstdlib>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sluice/dataset.h>
#include <sluice/work_folder.h>

#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

namespace {

// A tar archive of `count` pictures with their classes, and a file z.jpg that is not an image.
struct Archive {
  TemporaryFolder folder;
  std::string At(const std::string& name) const { return (folder / name).string(); }

  explicit Archive(int count, std::uint64_t seed = 1) {
    for (int i = 0; i < count; ++i) {
      const std::string key = "s" + std::to_string(100 * seed + static_cast<std::uint64_t>(i));
      WriteJpeg(folder / "files" / (key + ".jpg"),
                MakePicture(40, 30, 3, seed + static_cast<std::uint64_t>(i)));
      WriteBytes(folder / "files" / (key + ".cls"), i % 2 == 0 ? "even" : "odd");
    }
    WriteBytes(folder / "files" / "z.jpg", "no image");
    const std::string command =
        "tar -C '" + At("files") + "' --sort=name -cf '" + At("in.tar") + "' .";
    REQUIRE(std::system(command.c_str()) == 0);
  }
};

RunOptions From(const std::filesystem::path& file) {
  RunOptions options;
  options.in_file = file;
  return options;
}

}  // namespace

TEST_CASE("an error in an archive from standard input names standard input") {
  const TemporaryFolder folder;
  WriteBytes(folder / "cut.tar", "no archive");
  const Outcome outcome =
      Sluice({"convert", "-", (folder / "data").string()}, From(folder / "cut.tar"));
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, Catch::Matchers::ContainsSubstring("sluice: standard input: byte 0: "));
  CHECK_FALSE(std::filesystem::exists(folder / "data.spool"));
}

TEST_CASE("an error of append in an archive from standard input names standard input") {
  const TemporaryFolder folder;
  const std::string data = (folder / "data").string();
  WriteClasses(folder / "source", 1);
  REQUIRE(Sluice({"convert", (folder / "source").string(), data}).exit_code == 0);
  WriteBytes(folder / "cut.tar", "no archive");
  const Outcome outcome = Sluice({"append", "-", data}, From(folder / "cut.tar"));
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, Catch::Matchers::ContainsSubstring("sluice: standard input: byte 0: "));
}

TEST_CASE("an interrupt ends the wait for standard input") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "source");
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const int writer =
      open((folder / "pipe").c_str(), O_RDWR | O_CLOEXEC);  // keeps the pipe open, and never writes
  REQUIRE(writer >= 0);
  const std::string source = (folder / "source").string();
  const std::string data = (folder / "data").string();
  for (const Words& command :
       {Words{"convert", "--paths", "-", source, data},
        Words{"convert", source, data, "--classes", "-"}, Words{"convert", "-", data}}) {
    Running running(SLUICE_COMMAND, command, From(folder / "pipe"));
    const Outcome outcome = running.Interrupt();
    INFO(outcome.err);
    CHECK(outcome.exit_code == 130);
    CHECK_THAT(outcome.err, Catch::Matchers::ContainsSubstring("nothing was done"));
    CHECK_FALSE(std::filesystem::exists(data));
    CHECK_FALSE(std::filesystem::exists(data + ".spool"));
  }
  close(writer);
}

TEST_CASE("a URL that cannot be written is refused before standard input is read") {
  const TemporaryFolder folder;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const int writer =
      open((folder / "pipe").c_str(), O_RDWR | O_CLOEXEC);  // keeps the pipe open, and never writes
  REQUIRE(writer >= 0);
  for (const Words& command : {Words{"convert", "-", "az://b/data"}, Words{"convert", "-", "s3://"},
                               Words{"append", "-", "s3://bkt/data"}}) {
    Running running(SLUICE_COMMAND, command, From(folder / "pipe"));
    const auto begin = std::chrono::steady_clock::now();
    const Outcome outcome = running.Wait([&](const Outcome&) {
      if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(10))
        running.Signal(SIGKILL);
    });
    CAPTURE(command, outcome.err);
    CHECK(outcome.exit_code == 2);
  }
  close(writer);
}

TEST_CASE("an archive from standard input gives the same bytes as a file") {
  const Archive archive(9);
  const Outcome file = Sluice({"convert", archive.At("in.tar"), archive.At("file"), "--json"});
  const Outcome pipe =
      Sluice({"convert", "-", archive.At("pipe"), "--json"}, From(archive.At("in.tar")));
  CHECK(file.exit_code == 3);
  CHECK(pipe.exit_code == 3);
  CHECK(JsonOf(pipe)["samples"] == 9);
  for (const char* name : {"shard-00000.sluice", "manifest.json", "plan.json"}) {
    CHECK(ContentOf(archive.folder / "file" / name) == ContentOf(archive.folder / "pipe" / name));
  }
  CHECK(ContentOf(archive.folder / "pipe" / "skipped.tsv").find("standard-input.tar: z") !=
        std::string::npos);
  CHECK_FALSE(std::filesystem::exists(archive.folder / "pipe.spool"));
  // If the archive is given again, its samples are compared, and nothing is left to do.
  const Outcome again =
      Sluice({"convert", "-", archive.At("pipe"), "--json"}, From(archive.At("in.tar")));
  CHECK(JsonOf(again)["found_done"] == 9);
  // Another step of quantisation changes the first picture, and its file stays as large.
  std::string changed = ContentOf(archive.At("in.tar"));
  ++changed[changed.find(std::string("\xFF\xDB\0\x43", 4)) + 5];
  WriteBytes(archive.At("changed.tar"), changed);
  const Outcome refused =
      Sluice({"convert", "-", archive.At("pipe")}, From(archive.At("changed.tar")));
  CHECK(refused.exit_code == 1);
  CHECK_THAT(refused.err, Catch::Matchers::ContainsSubstring("1 source changed"));
}

TEST_CASE("a conversion of standard input leaves a user's folder named DATASET.spool alone") {
  const Archive archive(2);
  const std::string data = archive.At("data"), spool = data + ".spool";
  WriteBytes(spool + "/thesis.txt", "precious");
  WriteBytes(archive.At("victim"), "precious");
  std::filesystem::create_symlink(archive.At("victim"), spool + "/standard-input.tar");
  const Outcome refused = Sluice({"convert", "-", data}, From(archive.At("in.tar")));
  CHECK(refused.exit_code == 1);
  CHECK_THAT(refused.err, Catch::Matchers::ContainsSubstring(spool) &&
                              Catch::Matchers::ContainsSubstring("move or rename it"));
  CHECK(ContentOf(spool + "/thesis.txt") == "precious");
  CHECK(ContentOf(archive.At("victim")) == "precious");
  // The remains of a killed command are removed, but not the target of a link in them.
  std::filesystem::remove(spool + "/thesis.txt");
  std::filesystem::remove(spool + "/standard-input.tar");
  WorkFolder(spool).Keep();
  std::filesystem::create_symlink(archive.At("victim"), spool + "/standard-input.tar");
  CHECK(Sluice({"convert", "-", data}, From(archive.At("in.tar"))).exit_code == 3);
  CHECK_FALSE(std::filesystem::exists(spool));
  CHECK(ContentOf(archive.At("victim")) == "precious");
}

TEST_CASE("append reads an archive from standard input") {
  const Archive first(4);
  const Archive second(6, 7);
  const std::string data = first.At("data");
  REQUIRE(Sluice({"convert", first.At("in.tar"), data, "--quiet"}).exit_code == 3);
  const Outcome outcome = Sluice({"append", "-", data, "--json"}, From(second.At("in.tar")));
  CHECK(outcome.exit_code == 3);
  CHECK(JsonOf(outcome)["samples"] == 10);
  CHECK(Dataset::Open(data).size() == 10);
  CHECK_FALSE(std::filesystem::exists(data + ".spool"));
}

TEST_CASE("standard input that is not an archive leaves nothing behind") {
  const TemporaryFolder folder;
  WriteBytes(folder / "text", std::string(5000, 'x'));
  const std::string data = (folder / "data").string();
  const Outcome outcome = Sluice({"convert", "-", data}, From(folder / "text"));
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.err.find("not a tar archive") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(data + ".spool"));
  CHECK_FALSE(std::filesystem::exists(data));
  CHECK(Sluice({"convert", "-", "x.tar", data}, From(folder / "text")).exit_code == 2);
  const Outcome nowhere =
      Sluice({"convert", "-", (folder / "text" / "data").string()}, From(folder / "text"));
  CHECK(nowhere.exit_code == 1);
  CHECK(nowhere.err.find("cannot be created") != std::string::npos);
}

}  // namespace sluice::test
