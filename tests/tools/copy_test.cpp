// sluice copy and sluice cache, and commands that refuse URLs.
#include <fstream>

#include <sluice/dataset.h>
#include <sluice/verify.h>

#include "tests/file_content.h"
#include "tests/tools/edited_datasets.h"
#include "tests/tools/json_answer.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

// Changes a bit in the middle of a sample's image in the first shard.
void FlipPayload(const std::string& dataset, std::uint64_t sample) {
  const Dataset opened = Dataset::Open(dataset);
  const auto bytes = opened[sample].Payload().bytes;
  const std::string payload(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::filesystem::path file = dataset + "/shard-00000.sluice";
  std::string shard = ContentOf(file);
  const std::size_t at = shard.find(payload);
  REQUIRE(at != std::string::npos);
  shard[at + payload.size() / 2] = static_cast<char>(shard[at + payload.size() / 2] ^ 1);
  WriteBytes(file, shard);
}

}  // namespace

TEST_CASE("copy makes the same dataset, file by file") {
  const Datasets folders;
  const std::string from = folders.Make("a", {"cat", "dog"}, 3, 100);
  const std::string to = folders.At("deep/inside/b");
  const Outcome outcome = Sluice({"copy", from, to});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("6 samples in 1 shard"));
  for (const char* const file : {"manifest.json", "shard-00000.sluice"})
    CHECK(ContentOf(to + "/" + file) == ContentOf(from + "/" + file));
  CHECK(VerifyDataset(to).faults.empty());
}

TEST_CASE("copy resumes where it was interrupted, and repairs wrong files") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
  const std::string b = folders.Make("b", {"cat", "dog"}, 2, 200);
  const std::string from = folders.At("all");
  REQUIRE(Sluice({"merge", a, b, from}).exit_code == 0);
  const std::string to = folders.At("to");
  std::filesystem::create_directory(to);
  std::filesystem::copy_file(from + "/shard-00000.sluice", to + "/shard-00000.sluice");
  // A file of the shard's size with other content.
  std::ofstream(to + "/shard-00001.sluice")
      << std::string(std::filesystem::file_size(from + "/shard-00001.sluice"), 'x');
  const nlohmann::json answer = JsonOf(Sluice({"copy", from, to, "--json"}));
  CHECK(answer["shards"] == 2);
  CHECK(answer["shards_already_there"] == 1);
  CHECK(VerifyDataset(to).faults.empty());
  CHECK(JsonOf(Sluice({"copy", from, to, "--json"}))["shards_already_there"] == 2);
  // A file that a finished copy has lost is copied again.
  std::filesystem::remove(to + "/shard-00000.sluice");
  CHECK(JsonOf(Sluice({"copy", from, to, "--json"}))["shards_already_there"] == 1);
  CHECK(VerifyDataset(to).faults.empty());
}

TEST_CASE("neither copy nor merge passes on a damaged payload, and copy repairs a damaged copy") {
  const Datasets folders;
  const std::string good = folders.Make("good", {"cat", "dog"}, 3, 100);
  const std::string other = folders.Make("other", {"cat", "dog"}, 2, 500);
  const std::string bad = folders.At("bad");
  std::filesystem::copy(good, bad);
  FlipPayload(bad, 2);
  const Dataset opened = Dataset::Open(good);
  const std::string key(opened[2].key());
  REQUIRE(Sluice({"verify", bad}).exit_code == 1);
  for (const Words& words :
       {Words{"copy", bad, folders.At("out")}, Words{"merge", bad, folders.At("out")},
        Words{"merge", other, bad, folders.At("out")}}) {
    CAPTURE(words);
    const Outcome outcome = Sluice(words);
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.err, ContainsSubstring("shard-00000.sluice") && ContainsSubstring(key) &&
                                ContainsSubstring("checksum does not match"));
    CHECK_FALSE(std::filesystem::exists(folders.At("out") + "/manifest.json"));
    std::filesystem::remove_all(folders.At("out"));
  }
  // `bad` is now taken as a copy that was damaged later. Its shard still has the right size,
  // directory and tail.
  const nlohmann::json answer = JsonOf(Sluice({"copy", good, bad, "--json"}));
  CHECK(answer["shards_already_there"] == 0);
  CHECK(VerifyDataset(bad).faults.empty());
  CHECK(JsonOf(Sluice({"copy", good, bad, "--json"}))["shards_already_there"] == 1);
}

TEST_CASE("copy refuses a target that holds another dataset, and a damaged source") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat"}, 3, 100);
  const std::string b = folders.Make("b", {"dog"}, 2, 200);
  const Outcome exists = Sluice({"copy", a, b});
  CHECK(exists.exit_code == 1);
  CHECK_THAT(exists.err, ContainsSubstring("holds another dataset already"));
  std::fstream(a + "/shard-00000.sluice").seekp(4096 + 70).put('!');  // in a block's table
  const Outcome damaged = Sluice({"copy", a, folders.At("c")});
  CHECK(damaged.exit_code == 1);
  CHECK_THAT(damaged.err, ContainsSubstring("block 0"));
  CHECK(!std::filesystem::exists(folders.At("c") + "/manifest.json"));
}

TEST_CASE("commands that change datasets refuse URLs, and say what to do") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat"}, 2, 100);
  for (const Words& words :
       {Words{"subset", a, "s3://bucket/x", "--count", "1"}, Words{"merge", a, "s3://bucket/x"},
        Words{"append", a, "s3://bucket/x"}, Words{"repair", "s3://bucket/x"}}) {
    const Outcome outcome = Sluice(words);
    INFO(words[0]);
    CHECK(outcome.exit_code != 0);
    CHECK_THAT(outcome.err, ContainsSubstring("use `sluice copy`"));
    CHECK(!std::filesystem::exists("s3:"));
  }
}

TEST_CASE("commands that write files refuse URLs, and make no folder of that name") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat"}, 2, 100);
  for (const Words& words :
       {Words{"export", a, "s3://bucket/x"}, Words{"preview", a, "s3://bucket/x.html"}}) {
    const Outcome outcome = Sluice(words);
    INFO(words[0]);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, ContainsSubstring("local disk"));
    CHECK(!std::filesystem::exists("s3:"));
  }
}

TEST_CASE("cache says that a folder is missing or empty") {
  const Datasets folders;
  const Outcome missing = Sluice({"cache", folders.At("none")});
  CHECK(missing.exit_code == 1);
  CHECK_THAT(missing.err, ContainsSubstring("cannot be opened: No such file"));
  std::filesystem::create_directory(folders.At("empty"));
  CHECK_THAT(Sluice({"cache", folders.At("empty")}).out, ContainsSubstring("no datasets"));
  CHECK(JsonOf(Sluice({"cache", folders.At("empty"), "--clear", "--json"}))["freed_bytes"] == 0);
}

}  // namespace sluice::test
