// Odd datasets, and datasets made to break their readers. All their checksums are right.
#include <sluice/dataset.h>

#include "tests/format/built_shard.h"
#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

// Grey raw pictures of 20 x 10 pixels, with a label each. A field with the classes of boxes comes
// before the label.
struct Labelled {
  TemporaryFolder folder;
  std::string data = (folder / "data").string();
  Manifest manifest;

  explicit Labelled(const std::vector<std::int32_t>& labels,
                    const std::vector<std::string>& classes = {"cat", "dog", "owl"}) {
    Field boxes = Field::Variable("box classes", DType::kInt32, {});
    boxes.role = Role::kLabel;
    boxes.classes = {"wheel"};
    const Schema schema{{Field::Image(), boxes, Field::Label("label", classes)}};
    std::vector<EncodedSample> samples;
    for (const std::int32_t label : labels) {
      samples.push_back({"key-" + std::to_string(samples.size()),
                         {ImageValue(20, 10, 1, std::string(200, 'x')), FieldValue{},
                          ArrayValue<std::int32_t>({label})}});
    }
    const std::vector<BuiltShard> shards = {BuildShard(schema, IdOf(1), 4, samples)};
    manifest = ManifestOf("odd", schema, shards, samples);
    std::filesystem::create_directory(data);
    WriteDataset(data, manifest, shards);
  }
};

std::vector<std::int64_t> LabelsOf(const std::string& data) {
  const Dataset dataset = Dataset::Open(data);
  std::vector<std::int64_t> labels;
  for (std::uint64_t i = 0; i < dataset.size(); ++i)
    labels.push_back(dataset[i].Integer("label"));
  std::sort(labels.begin(), labels.end());
  return labels;
}

}  // namespace

TEST_CASE("class counts are those of the label, even if box classes come before it") {
  const Labelled labelled({0, 1, 1, 0, 1});
  const Outcome text = Sluice({"inspect", labelled.data});
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.out, ContainsSubstring("1           3  dog"));
  CHECK_THAT(text.out, ContainsSubstring("2           0  owl"));
  for (const char* command : {"inspect", "stats"}) {
    const nlohmann::json answer = JsonOf(Sluice({command, labelled.data, "--json"}));
    REQUIRE(answer["classes"].size() == 3);
    CHECK(answer["classes"][1]["name"] == "dog");
    CHECK(answer["classes"][1]["samples"] == 3);
  }
  const std::string page = (labelled.folder / "page.html").string();
  CHECK(Sluice({"preview", labelled.data, page}).exit_code == 0);
  const std::string html = ContentOf(page);
  CHECK_THAT(html, ContainsSubstring("owl"));
  CHECK_THAT(html, ContainsSubstring("<b>dog</b>"));
}

TEST_CASE("a manifest that counts classes its label does not have is refused by all commands") {
  Labelled labelled({0, 1});
  labelled.manifest.class_counts.push_back(0);
  WriteDataset(labelled.data, labelled.manifest, {});
  const std::string out = (labelled.folder / "out").string();
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"inspect", labelled.data},
                                             {"inspect", labelled.data, "--json"},
                                             {"preview", labelled.data, out + ".html"},
                                             {"stats", labelled.data},
                                             {"export", labelled.data, out},
                                             {"subset", labelled.data, out, "--count", "1"}}) {
    INFO(command[0]);
    const Outcome outcome = Sluice(command);
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.err, ContainsSubstring("manifest.json"));
    CHECK_THAT(outcome.err, ContainsSubstring("4 classes, and its label has 3"));
  }
}

TEST_CASE("verify names samples whose label is not a class, and edits keep them") {
  const Labelled labelled({0, 7, 1, -1, 1});
  const Outcome verified = Sluice({"verify", labelled.data});
  CHECK(verified.exit_code == 1);
  CHECK_THAT(verified.out, ContainsSubstring("key-1"));
  CHECK_THAT(verified.out, ContainsSubstring("key-3"));
  const auto made = [&](const std::string& name, std::vector<std::string> command) {
    const std::string out = (labelled.folder / name).string();
    command.insert(command.begin() + 2, out);
    const Outcome outcome = Sluice(command);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK(Dataset::Open(out).class_counts() == std::vector<std::uint64_t>{1, 2, 0});
    return LabelsOf(out);
  };
  const std::vector<std::int64_t> all = {-1, 0, 1, 1, 7};
  CHECK(made("subset", {"subset", labelled.data, "--count", "5"}) == all);
  CHECK(made("transcode", {"transcode", labelled.data, "--image", "jpeg"}) == all);
  CHECK(made("repair", {"repair", labelled.data}) == all);
  CHECK(made("merge", {"merge", labelled.data}) == all);
  CHECK(made("by class", {"subset", labelled.data, "--per-class", "5"}) ==
        std::vector<std::int64_t>{0, 1, 1});
}

TEST_CASE("merge refuses a label that only the merged classes contain, and names file and sample") {
  const std::vector<std::string> eight = {"cat", "dog", "owl", "bat", "cow", "eel", "fox", "gnu"};
  const Labelled few({0, 7, 1});
  const Labelled many({2, 2, 2}, eight);
  const Labelled same_keys({0, 7, 1}, eight);  // the samples of `few`, if 7 were a class there
  const std::string out = (few.folder / "out").string();
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"merge", few.data, many.data, out},
           {"merge", many.data, few.data, out},
           {"merge", same_keys.data, few.data, out, "--duplicates", "drop"}}) {
    const Outcome refused = Sluice(command);
    CHECK(refused.exit_code == 1);
    CHECK_THAT(refused.err, ContainsSubstring(few.data + "/shard-00000.sluice"));
    CHECK_THAT(refused.err, ContainsSubstring("\"key-1\""));
    CHECK_THAT(refused.err, ContainsSubstring("7, which is not one of its 3 classes"));
    CHECK_THAT(refused.err, ContainsSubstring("gnu"));
    CHECK_FALSE(std::filesystem::exists(out));
  }
}

TEST_CASE("merge keeps classes of one name apart if one dataset's list begins with the other's") {
  const Labelled one({0, 1, 2}, {"crane", "fox", "crane"});
  const std::string out = (one.folder / "out").string();
  const auto merged = [&](const std::vector<std::string>& classes) {
    const Labelled other({0, 1, 2}, classes);
    std::filesystem::remove_all(out);
    const Outcome outcome = Sluice({"merge", one.data, other.data, out, "--duplicates", "keep"});
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    return LabelsOf(out);
  };
  CHECK(merged({"crane", "fox", "crane"}) == std::vector<std::int64_t>{0, 0, 1, 1, 2, 2});
  CHECK(merged({"crane", "fox", "crane", "fox"}) == std::vector<std::int64_t>{0, 0, 1, 1, 2, 2});
  CHECK(Dataset::Open(out).class_counts() == std::vector<std::uint64_t>{2, 2, 2, 0});
}

TEST_CASE("merge refuses to match classes by name if a name stands twice") {
  const Labelled twice({0, 1, 2}, {"crane", "fox", "crane"});
  const Labelled once({0, 1, 2}, {"fox", "crane", "owl"});
  const std::string out = (once.folder / "out").string();
  for (const auto& [first, second] :
       {std::pair{twice.data, once.data}, std::pair{once.data, twice.data}}) {
    const Outcome refused = Sluice({"merge", first, second, out});
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.err, ContainsSubstring("the name \"crane\" stands twice"));
    CHECK_FALSE(std::filesystem::exists(out));
  }
}

TEST_CASE("merge says how the classes of masks differ") {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, std::vector<std::string> classes) {
    Field mask = Field::Mask("mask", "image");
    mask.classes = std::move(classes);
    const Schema schema{{Field::Image(), mask}};
    const std::vector<EncodedSample> samples = {
        {name, {ImageValue(2, 1, 1, "xx"), ImageValue(2, 1, 1, std::string(2, '\0'))}}};
    const std::vector<BuiltShard> shards = {BuildShard(schema, IdOf(1), 4, samples)};
    std::filesystem::create_directory(folder / name);
    WriteDataset(folder / name, ManifestOf("masks", schema, shards, samples), shards);
    return (folder / name).string();
  };
  const std::string road = write("a", {"sky", "road"});
  const auto error = [&](const std::string& other) {
    return Sluice({"merge", road, other, (folder / "out").string()}).err;
  };
  CHECK_THAT(error(write("b", {"sky", "tree"})),
             ContainsSubstring("field \"mask\": its classes differ: class 1 is \"road\" in those "
                               "and \"tree\" in this one"));
  CHECK_THAT(error(write("c", {"sky"})),
             ContainsSubstring("field \"mask\": its classes differ: those have 2 classes, this one "
                               "has 1"));
}

TEST_CASE("merge keeps a label that is a class neither before nor after the merge") {
  const Labelled few({0, 7, -1});
  const Labelled more({3}, {"cat", "dog", "owl", "bat"});
  const std::string out = (few.folder / "out").string();
  CHECK(Sluice({"merge", few.data, more.data, out}).exit_code == 0);
  CHECK(LabelsOf(out) == std::vector<std::int64_t>{-1, 0, 3, 7});
}

TEST_CASE("option --max-pixels leaves larger images undecoded, in every command that decodes") {
  const Labelled labelled({0, 1});
  const std::string out = (labelled.folder / "out").string();
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"stats", labelled.data},
           {"preview", labelled.data, out + ".html"},
           {"verify", labelled.data, "--decode"},
           {"export", labelled.data, out},
           {"transcode", labelled.data, out + "-jpeg", "--image", "jpeg"}}) {
    INFO(command[0]);
    std::vector<std::string> limited = command;
    limited.insert(limited.end(), {"--max-pixels", "199"});
    const Outcome refused = Sluice(limited);
    CHECK(refused.exit_code != 0);
    CHECK_THAT(refused.out + refused.err, ContainsSubstring("max_pixels"));
    std::filesystem::remove_all(out);
    std::filesystem::remove_all(out + "-jpeg");
    limited.back() = "200";
    CHECK(Sluice(limited).exit_code == 0);
  }
}

}  // namespace sluice::test
