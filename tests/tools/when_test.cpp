// sluice when: what it says of samples and keys, and what it refuses.
#include <sluice/loader.h>

#include "tests/temporary_folder.h"
#include "tests/tools/json_answer.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

struct ThreeClasses {
  TemporaryFolder folder;
  std::string data = (folder / "data").string();
  ThreeClasses() {
    WriteClasses(folder / "source", 4);
    REQUIRE(Sluice({"convert", (folder / "source").string(), data}).exit_code == 0);
  }
};

}  // namespace

TEST_CASE("the batches that when names are those that a loader plays") {
  const ThreeClasses made;
  const nlohmann::json answer =
      JsonOf(Sluice({"when", made.data, "--sample", "7", "--batch-size", "2", "--seed", "3",
                     "--lanes", "4", "--world-size", "2", "--epochs", "4", "--json"}));
  REQUIRE(answer["rows"].size() == 4);
  for (unsigned rank = 0; rank < 2; ++rank) {
    LoaderOptions options;
    options.batch_size = 2;
    options.seed = 3;
    options.order.lanes = 4;
    options.ranks = {.rank = rank, .world_size = 2};
    Loader loader(Dataset::Open(made.data), options);
    for (std::uint64_t e = 0; e < 4; ++e) {
      const auto& row = answer["rows"][e];
      CHECK(row["sample"] == 7);
      CHECK(row["epoch"] == e);
      for (const Batch& batch : loader.Epoch(e))
        for (std::size_t r = 0; r < batch.size(); ++r)
          CHECK((batch.samples()[r] == 7) ==
                (row["rank"] == rank && row["batch"] == batch.index() && row["row"] == r));
    }
  }
}

TEST_CASE("when takes keys, and prints a line for each row") {
  const ThreeClasses made;
  const Dataset dataset = Dataset::Open(made.data);
  const Words asked = {"when",           made.data,      "--key", dataset[9].key(), "--key",
                       dataset[5].key(), "--batch-size", "4",     "--shuffle",      "sequential"};
  const Outcome rows = Sluice(asked);
  CHECK(rows.exit_code == 0);
  CHECK(rows.out ==
        "sample\tepoch\tbatch\trank\trow\tposition\n"
        "5\t0\t1\t0\t1\t5\n"
        "9\t0\t2\t0\t1\t9\n");
  const Outcome none = Sluice({"when", made.data, "--sample", "11", "--batch-size", "8",
                               "--shuffle", "sequential", "--last-batch", "drop"});
  CHECK(none.out == "no batch of these epochs has them\n");
}

TEST_CASE("when says what is wrong with a question, in one sentence") {
  const ThreeClasses made;
  const auto refused = [&](Words options, int code, const std::string& why) {
    Words words = {"when", made.data};
    words.insert(words.end(), options.begin(), options.end());
    const Outcome outcome = Sluice(words);
    CAPTURE(outcome.err);
    CHECK(outcome.exit_code == code);
    CHECK_THAT(outcome.err, ContainsSubstring(why));
  };
  refused({}, 2, "give --sample or --key");
  refused({"--sample", "12"}, 2, "there is no sample 12: the dataset has 12");
  refused({"--key", "owl/none.jpg"}, 1, "has no sample with the key \"owl/none.jpg\"");
  refused({"--sample", "1", "--epochs", "0"}, 2, "--epochs");
  const Loader loader(Dataset::Open(made.data));
  ResumePoint state = loader.State();
  refused({"--sample", "1", "--seed", "5", "--resume-from", state.Text()}, 2,
          "was saved with seed = 0, and this loader has 5");
  state.list = "batches";
  refused({"--sample", "1", "--resume-from", state.Text()}, 2,
          "a function composes (order.batches), which a command does not have");
}

}  // namespace sluice::test
