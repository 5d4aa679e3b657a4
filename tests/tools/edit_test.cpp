// sluice subset, and the behaviour that all commands that edit datasets share.
#include <set>

#include <sluice/dataset.h>
#include <sluice/dataset_writer.h>
#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "tests/file_content.h"
#include "tests/tools/dataset_commands.h"
#include "tests/tools/edited_datasets.h"
#include "tests/tools/json_answer.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("subset selects by class, number and count, in the dataset's order") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"ant", "cat", "dog"}, 4, 100);
  const auto all = SamplesOf(a);
  const auto taken = [&](const Words& words) {
    const std::string out = folders.At("out");
    std::filesystem::remove_all(out);
    Words command = {"subset", a, out};
    command.insert(command.end(), words.begin(), words.end());
    const Outcome outcome = Sluice(command);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    auto samples = SamplesOf(out);
    for (const auto& [key, sample] : samples)
      CHECK(all.at(key) == sample);
    CHECK(Dataset::Open(out).schema() == Dataset::Open(a).schema());
    return samples;
  };
  const auto pets = taken({"--class", "cat", "--class", "dog"});
  CHECK(pets.size() == 8);
  for (const auto& [key, sample] : pets)
    CHECK(sample.first != "ant");
  CHECK(taken({"--count", "5"}).size() == 5);
  CHECK(taken({"--count", "5"}) == taken({"--count", "5"}));
  CHECK(taken({"--count", "5"}) != taken({"--count", "5", "--seed", "1"}));
  CHECK(taken({"--count", "50"}) == all);
  const auto each = taken({"--per-class", "2"});
  CHECK(each.size() == 6);
  CHECK(Dataset::Open(folders.At("out")).class_counts() == std::vector<std::uint64_t>{2, 2, 2});
  WriteBytes(folders.folder / "ids", "7\n2\n7\n");
  taken({"--samples", folders.At("ids")});
  CHECK(Dataset::Open(folders.At("out"))[0].key() == Dataset::Open(a)[2].key());
  CHECK(Dataset::Open(folders.At("out"))[1].key() == Dataset::Open(a)[7].key());
  WriteBytes(folders.folder / "ids", "12\n");
  CHECK(Sluice({"subset", a, folders.At("z"), "--samples", folders.At("ids")}).exit_code == 2);
  const Outcome unknown = Sluice({"subset", a, folders.At("z"), "--class", "emu"});
  CHECK(unknown.exit_code == 2);
  CHECK_THAT(unknown.err, ContainsSubstring("no class \"emu\"; its classes are: ant, cat, dog"));
  CHECK_THAT(Sluice({"subset", a, folders.At("z"), "--class", "Dog"}).err,
             ContainsSubstring("no class \"Dog\"; did you mean \"dog\"?"));
}

TEST_CASE("subset takes all samples with a warning if there are fewer than requested") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"ant", "cat"}, 4, 100);
  const auto warned = [&](const Words& words) {
    Words command = {"subset", a, folders.At("out")};
    command.insert(command.end(), words.begin(), words.end());
    std::filesystem::remove_all(folders.At("out"));
    const Outcome outcome = Sluice(command);
    CHECK(outcome.exit_code == 0);
    return outcome.err;
  };
  CHECK_THAT(warned({"--count", "9"}), ContainsSubstring("only 8 samples"));
  CHECK_THAT(warned({"--class", "ant", "--count", "5"}), ContainsSubstring("only 4 samples"));
  CHECK_THAT(warned({"--per-class", "5"}), ContainsSubstring("2 classes have fewer than 5"));
  CHECK_THAT(warned({"--count", "8"}), !ContainsSubstring("warning"));
  CHECK_THAT(warned({"--class", "ant", "--per-class", "4"}), !ContainsSubstring("warning"));
}

TEST_CASE("a dataset without samples is accepted by every command that makes another one") {
  const Datasets folders;
  folders.Make("more", {"cat", "dog"}, 2, 900);
  folders.Make("full", {"cat", "dog"}, 2, 100);
  WriteBytes(folders.folder / "names", "cat\ndog\nemu\n");
  const std::string wide = folders.At("wide");
  REQUIRE(Sluice({"convert", folders.At("full.src"), wide, "--classes", folders.At("names")})
              .exit_code == 0);
  const std::string empty = folders.At("empty");
  REQUIRE(Sluice({"subset", wide, empty, "--class", "emu"}).exit_code == 0);
  CHECK(Dataset::Open(empty).size() == 0);
  for (const Words& command :
       {Words{"append", "--repack", empty}, Words{"verify", empty}, Words{"inspect", empty},
        Words{"stats", empty}, Words{"repair", empty, folders.At("repaired")},
        Words{"export", empty, folders.At("exported")},
        Words{"transcode", empty, folders.At("raw"), "--image", "raw"},
        Words{"merge", empty, wide, folders.At("merged")},
        Words{"append", folders.At("more.src"), empty}}) {
    const Outcome outcome = Sluice(command);
    INFO(command[0] << ": " << outcome.err);
    CHECK(outcome.exit_code == 0);
  }
  CHECK(Dataset::Open(folders.At("merged")).size() == 4);
  CHECK(Dataset::Open(empty).size() == 4);
}

namespace {

// Rewrites the dataset's manifest after `change` has changed its JSON, with the id that belongs to
// it.
template <class Change>
void ChangeManifest(const std::string& dataset, Change change) {
  const std::string path = dataset + "/manifest.json";
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(ContentOf(path));
  change(json);
  json.erase("id");
  const std::string rest = "\"," + json.dump().substr(1);
  WriteBytes(path, "{\"id\":\"" + ToHex(Hash128(AsBytes(rest))) + rest);
}

// Replaces a text in the dataset's manifest.
void ReplaceInManifest(const std::string& dataset, const std::string& from, const std::string& to) {
  constexpr std::size_t kIdEnd = 39;  // after {"id":" and 32 digits
  const std::string path = dataset + "/manifest.json";
  std::string rest = ContentOf(path).substr(kIdEnd);
  REQUIRE(rest.find(from) != std::string::npos);
  rest.replace(rest.find(from), from.size(), to);
  WriteBytes(path, "{\"id\":\"" + ToHex(Hash128(AsBytes(rest))) + rest);
}

nlohmann::json ManifestOf(const std::string& dataset) {
  return nlohmann::json::parse(ContentOf(dataset + "/manifest.json"));
}

}  // namespace

TEST_CASE("every edit keeps the members of a manifest that this version does not know") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
  const std::string b = folders.Make("b", {"cat", "dog"}, 2, 200);
  folders.Make("more", {"cat"}, 2, 900);
  ChangeManifest(a, [](nlohmann::ordered_json& manifest) {
    manifest["statistics"] = {{"mean", {1, 2.5}}};
    manifest["schema"]["unit"] = "pixels";
    manifest["schema"]["fields"][0]["camera"] = {{"lens", "35 mm"}};
    manifest["shards"][0]["host"] = "disk-7";
  });
  ChangeManifest(b, [](nlohmann::ordered_json& manifest) {
    manifest["statistics"] = "of the second";
    manifest["contact"] = "b";
  });
  const auto samples = SamplesOf(a);
  struct Edit {
    Words words;
    bool links;  // keeps the first input's first shard
  };
  for (const auto& [words, links] :
       {Edit{{"repair", a, folders.At("repaired")}, true},
        Edit{{"merge", a, b, folders.At("merged")}, true},
        Edit{{"subset", a, folders.At("some"), "--count", "4"}, false},
        Edit{{"transcode", a, folders.At("packed"), "--image", "packed"}, false},
        Edit{{"copy", a, folders.At("copied")}, true},
        Edit{{"append", folders.At("more.src"), a}, true},
        Edit{{"append", "--repack", a}, false}}) {
    INFO(words[0]);
    const Outcome outcome = Sluice(words);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    const std::string made = words[0] == "append" ? a : words[words[0] == "merge" ? 3 : 2];
    CHECK(Sluice({"verify", made}).exit_code == 0);
    const nlohmann::json manifest = ManifestOf(made);
    CHECK(manifest["statistics"] == nlohmann::json{{"mean", {1, 2.5}}});
    CHECK(manifest["schema"]["unit"] == "pixels");
    CHECK(manifest["schema"]["fields"][0]["camera"]["lens"] == "35 mm");
    CHECK((manifest["shards"][0].value("host", "") == "disk-7") == links);
    CHECK(manifest.value("contact", "") == (words[0] == "merge" ? "b" : ""));
  }
  // The schema in a shard that was written again has these members, too.
  std::filesystem::remove(folders.At("some") + "/manifest.json");
  REQUIRE(Sluice({"repair", folders.At("some")}).exit_code == 0);
  CHECK(ManifestOf(folders.At("some"))["schema"]["unit"] == "pixels");
}

TEST_CASE("edits that keep the schema keep its text as another writer wrote it") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
  const std::string b = folders.Make("b", {"cat", "dog"}, 2, 200);
  const std::string wider = folders.Make("wider", {"cat", "dog", "emu"}, 2, 300);
  folders.Make("more", {"cat"}, 2, 900);
  // The same schema with its members in another order, and other spaces and spellings.
  const nlohmann::json fields = ManifestOf(a)["schema"]["fields"];
  const std::string usual = nlohmann::json{{"fields", fields}}.dump();
  const std::string other =
      R"({ "fields" :
 [ {"role":"image","name":"im\u0061ge","kind":"image"}, )" +
      fields[1].dump() + "]\t}";
  ReplaceInManifest(a, "\"schema\":" + usual, "\"schema\" : " + other);
  REQUIRE(Sluice({"verify", a}).exit_code == 0);
  for (const Words& words :
       {Words{"repair", a, folders.At("repaired")}, Words{"merge", a, b, folders.At("merged")},
        Words{"subset", a, folders.At("some"), "--count", "4"},
        Words{"append", folders.At("more.src"), a}, Words{"append", "--repack", a}}) {
    INFO(words[0]);
    REQUIRE(Sluice(words).exit_code == 0);
    const std::string made = words[0] == "append" ? a : words[words[0] == "merge" ? 3 : 2];
    CHECK(Sluice({"verify", made}).exit_code == 0);
    CHECK_THAT(ContentOf(made + "/manifest.json"),
               ContainsSubstring("\n\"schema\":" + other + ",\n"));
  }
  // Another schema has a text of its own.
  REQUIRE(Sluice({"merge", a, wider, folders.At("both")}).exit_code == 0);
  CHECK(Sluice({"verify", folders.At("both")}).exit_code == 0);
  CHECK(ContentOf(folders.At("both") + "/manifest.json").find("im\\u0061ge") == std::string::npos);
  CHECK(ManifestOf(folders.At("both"))["schema"]["fields"][1]["classes"].size() == 3);
}

TEST_CASE("a dataset shows the metadata that --meta gave it, and edits keep or change them") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat"}, 3, 100);
  const std::string named = folders.At("named");
  const Words convert = {"convert",
                         folders.At("a.src"),
                         named,
                         "--meta",
                         "license=CC-BY-4.0",
                         "--meta",
                         "source=https://example.org/?a=b"};
  REQUIRE(Sluice(convert).exit_code == 0);
  REQUIRE(Sluice(convert).exit_code == 0);  // finds it finished
  using Meta = std::map<std::string, std::string>;
  const Meta given = {{"license", "CC-BY-4.0"}, {"source", "https://example.org/?a=b"}};
  CHECK(Dataset::Open(named).meta() == given);
  CHECK(JsonOf(Sluice({"inspect", named, "--json"}))["meta"] == nlohmann::json(given));
  CHECK_THAT(Sluice({"inspect", named}).out,
             ContainsSubstring("metadata\n  license                  CC-BY-4.0\n"));
  CHECK(JsonOf(Sluice({"inspect", a, "--json"}))["meta"] == nlohmann::json::object());
  CHECK_FALSE(ManifestOf(named)["made"]["options"].contains("meta"));

  const std::string out = folders.At("out");
  for (const Words& words : {Words{"repair", named, out}, Words{"merge", named, a, out},
                             Words{"subset", named, out, "--count", "2"},
                             Words{"transcode", named, out, "--image", "raw"}}) {
    INFO(words[0]);
    Words command = words;
    if (words[0] == "merge") command.insert(command.end(), {"--duplicates", "keep"});
    std::filesystem::remove_all(out);
    REQUIRE(Sluice(command).exit_code == 0);
    CHECK(Dataset::Open(out).meta() == given);
    std::filesystem::remove_all(out);
    command.insert(command.end(), {"--meta", "license=MIT", "--meta", "source=", "--meta", "x=y"});
    REQUIRE(Sluice(command).exit_code == 0);
    CHECK(Dataset::Open(out).meta() == Meta{{"license", "MIT"}, {"x", "y"}});
  }
  folders.Make("more", {"cat"}, 1, 900);
  REQUIRE(Sluice({"append", folders.At("more.src"), named, "--meta", "version=2"}).exit_code == 0);
  CHECK(Dataset::Open(named).size() == 4);
  CHECK(Dataset::Open(named).meta().at("version") == "2");
  REQUIRE(Sluice({"append", "--repack", named, "--meta", "version="}).exit_code == 0);
  CHECK(Dataset::Open(named).meta() == given);

  const std::string other = folders.At("other");
  REQUIRE(Sluice({"convert", folders.At("more.src"), other, "--meta", "license=GPL"}).exit_code ==
          0);
  std::filesystem::remove_all(out);
  CHECK_THAT(Sluice({"merge", named, other, out, "--duplicates", "keep"}).err,
             ContainsSubstring("different metadata \"license\"; that of the first dataset that has "
                               "it, \"CC-BY-4.0\", was kept"));
  std::filesystem::remove_all(out);
  CHECK_THAT(
      Sluice({"merge", named, other, out, "--duplicates", "keep", "--meta", "license=both"}).err,
      !ContainsSubstring("metadata"));
}

TEST_CASE("option --meta needs a name, an equals sign and text in UTF-8") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat"}, 1, 100);
  for (const char* const wrong : {"license", "=MIT", "name=\xff"}) {
    const Outcome outcome = Sluice({"subset", a, folders.At("x"), "--meta", wrong});
    INFO(outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK(Sluice({"convert", folders.At("a.src"), folders.At("x"), "--meta", wrong}).exit_code ==
          2);
    CHECK_FALSE(std::filesystem::exists(folders.At("x")));
  }
  CHECK(Sluice({"subset", a, folders.At("x"), "--meta", "a=1", "--meta", "a=2"}).exit_code == 2);
}

TEST_CASE("every command opens an older manifest by its path, and none changes it") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat", "dog"}, 3, 100);
  folders.Make("more", {"cat"}, 2, 900);
  const std::string whole = folders.Make("whole", {"cat", "dog"}, 1, 500);
  const std::string id = Dataset::Open(a).id();
  const std::string key = Dataset::Open(a)[0].key();
  const auto samples = SamplesOf(a);
  REQUIRE(Sluice({"append", folders.At("more.src"), a}).exit_code == 0);
  REQUIRE(Sluice({"append", "--repack", a}).exit_code == 0);
  const std::string old = a + "/manifest-" + id + ".json";
  const Dataset dataset = Dataset::Open(old);
  CHECK(dataset.id() == id);
  CHECK(dataset.size() == 6);
  CHECK(Dataset::Open(dataset.path()).id() == id);
  CHECK(SamplesOf(old) == samples);
  CHECK(Dataset::Open(a + "/manifest.json").size() == 8);
  for (const DatasetCommand& command : DatasetCommands()) {
    Words words = command.With({old, whole, folders.At("more.src"), folders.At("out")});
    for (std::string& word : words)
      if (word == "dog/3.jpg") word = key;
    INFO(command.words[0]);
    std::filesystem::remove_all(folders.At("out"));
    if (command.words[0] == "advise") std::filesystem::create_directory(folders.At("out"));
    const Outcome outcome = Run(command.program, words);
    INFO(outcome.err);
    // compare takes the path of a folder only, and upload takes no dataset.
    if (command.words[0] == "compare" ||
        outcome.err.find("is one argument more") != std::string::npos)
      continue;
    if (command.words[0] != "append") {
      CHECK(outcome.exit_code == 0);
      continue;
    }
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, ContainsSubstring("is an older manifest, which is never changed"));
  }
  REQUIRE(Sluice({"copy", old, folders.At("copied")}).exit_code == 0);
  CHECK(Dataset::Open(folders.At("copied")).id() == id);
  CHECK(
      Sluice({"convert", folders.At("more.src"), folders.At("x"), "--classes-of", old}).exit_code ==
      0);
  const Outcome none = Sluice({"inspect", a + "/manifest-" + std::string(32, '0') + ".json"});
  CHECK(none.exit_code == 1);
  CHECK_THAT(none.err, ContainsSubstring("is not there; give the dataset's folder"));
}

TEST_CASE("convert does not overwrite the shards of a dataset that was edited since") {
  const Datasets folders;
  for (int i = 0; i < 30; ++i) {
    WriteJpeg(folders.folder / "source/cat" / (std::to_string(i) + ".jpg"),
              MakePicture(60, 40, 3, static_cast<std::uint64_t>(i)));
  }
  WriteJpeg(folders.folder / "more/cat/x.jpg", MakePicture(60, 40, 3, 900));
  const std::string data = folders.At("data");
  const Words convert = {"convert", folders.At("source"), data, "--image", "raw", "--size",
                         "200x160", "--shard-bytes",      "1MB"};
  REQUIRE(Sluice(convert).exit_code == 0);
  const std::size_t planned = Dataset::Open(data).shards().size();
  REQUIRE(planned >= 3);
  REQUIRE(Sluice({"append", "--repack", data}).exit_code == 0);
  // The user removes the shards of the old order, so that their names become free.
  std::set<std::string> used = {"manifest.json", "plan.json", "skipped.tsv"};
  const Dataset repacked = Dataset::Open(data);
  for (const ShardSummary& shard : repacked.shards())
    used.insert(shard.file);
  for (const auto& entry : std::filesystem::directory_iterator(data)) {
    if (used.count(entry.path().filename().string()) == 0) std::filesystem::remove(entry.path());
  }
  REQUIRE(Sluice({"append", folders.At("more"), data}).exit_code == 0);
  const auto before = SamplesOf(data);
  CHECK(before.size() == 31);
  const Outcome outcome = Sluice(convert);
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring("was changed since"));
  CHECK(SamplesOf(data) == before);
}

TEST_CASE("two commands cannot write into one new folder at the same time") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat"}, 2, 100);
  const DatasetWriter writer(folders.folder / "new", Schema{{Field::Image()}});
  for (const Words& command :
       {Words{"merge", a, folders.At("new")}, Words{"subset", a, folders.At("new"), "--count", "1"},
        Words{"transcode", a, folders.At("new"), "--image", "raw"}}) {
    const Outcome outcome = Sluice(command);
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.err, ContainsSubstring("another command is writing into this folder"));
  }
  CHECK_THROWS_AS(DatasetWriter(folders.folder / "new", Schema{{Field::Image()}}), Error);
  for (const auto& entry : std::filesystem::directory_iterator(folders.folder / "new"))
    CHECK(entry.path().filename() == "sluice-work.txt");
}

TEST_CASE("no command removes a user's files from a folder that has a mark") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat"}, 2, 100);
  // The mark of a command that was killed.
  std::string mark;
  {
    const DatasetWriter killed(folders.folder / "killed", Schema{{Field::Image()}});
    mark = ContentOf(folders.folder / "killed/sluice-work.txt");
  }
  const std::string out = folders.At("out");
  std::filesystem::create_directories(out + "/sub");
  const std::vector<Words> commands = {{"export", a, out},
                                       {"subset", a, out, "--count", "1"},
                                       {"merge", a, out},
                                       {"transcode", a, out, "--image", "raw"},
                                       {"repair", a, out}};
  for (const std::string& text : {std::string(), std::string("my own notes"), mark}) {
    INFO(text);
    WriteBytes(out + "/sluice-work.txt", text);
    WriteBytes(out + "/thesis.txt", "years");
    WriteBytes(out + "/sub/x", "y");
    for (const Words& command : commands) {
      INFO(command[0]);
      const Outcome outcome = Sluice(command);
      CHECK(outcome.exit_code == 1);
      CHECK_THAT(outcome.err, ContainsSubstring("is not empty"));
      // Only a folder with our mark was left by a command.
      if (text == mark)
        CHECK_THAT(outcome.err, ContainsSubstring("a command that was stopped has left it") &&
                                    ContainsSubstring("\"sub\""));
    }
    CHECK_THROWS_AS(DatasetWriter(out, Schema{{Field::Image()}}), Error);
    CHECK(ContentOf(out + "/thesis.txt") == "years");
    CHECK(ContentOf(out + "/sub/x") == "y");
    CHECK(ContentOf(out + "/sluice-work.txt") == text);
  }
  // These do not need an empty folder.
  for (Words command : {Words{"convert", folders.At("a.src")}, Words{"plan", folders.At("a.src")},
                        Words{"copy", a}}) {
    INFO(command[0]);
    const std::string shared = folders.At("shared by " + command[0]);
    WriteBytes(shared + "/sluice-work.txt", mark);
    WriteBytes(shared + "/thesis.txt", "years");
    WriteBytes(shared + "/shard-00000.sluice.txt", "my own");
    command.push_back(shared);
    Sluice(command);
    CHECK(ContentOf(shared + "/thesis.txt") == "years");
    CHECK(ContentOf(shared + "/shard-00000.sluice.txt") == "my own");
    const std::string whole = folders.At("whole for " + command[0]);
    std::filesystem::copy(a, whole);
    command.back() = whole;
    WriteBytes(whole + "/sluice-work.txt", mark);
    Sluice(command);
    CHECK(Dataset::Open(whole).id() == Dataset::Open(a).id());
    CHECK(std::filesystem::exists(whole + "/sluice-work.txt") == (command[0] != "copy"));
  }
  // A finished dataset stays whole, whatever mark is in it.
  const auto samples = SamplesOf(a);
  std::filesystem::copy(a, folders.At("whole"));
  for (Words command : commands) {
    INFO(command[0]);
    WriteBytes(folders.At("whole/sluice-work.txt"), mark);
    command[2] = folders.At("whole");
    CHECK(Sluice(command).exit_code == 1);
    CHECK(SamplesOf(folders.At("whole")) == samples);
  }
}

TEST_CASE("copy takes over the folder of a command that was killed, and leaves nothing of it") {
  const Datasets folders;
  const std::string a = folders.Make("a", {"cat"}, 2, 100);
  const std::string to = folders.At("to");
  {
    DatasetWriter killed(folders.folder / "killed", Schema{{Field::Image()}});
    std::filesystem::copy(folders.folder / "killed", to);
  }
  WriteBytes(to + "/shard-00000.sluice", "half");
  WriteBytes(to + "/.shard-00001.sluice.tmp", "of another dataset");
  REQUIRE(Sluice({"copy", a, to}).exit_code == 0);
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(to))
    names.insert(entry.path().filename());
  CHECK(names == std::set<std::string>{"manifest.json", "shard-00000.sluice"});
  CHECK(SamplesOf(to) == SamplesOf(a));
  // Another command is at work there.
  const DatasetWriter busy(folders.folder / "busy", Schema{{Field::Image()}});
  const Outcome outcome = Sluice({"copy", a, folders.At("busy")});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring("another command is"));
}

}  // namespace sluice::test
