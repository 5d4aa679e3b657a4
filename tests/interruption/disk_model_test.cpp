// Compares the model of a power loss with states worked out by hand.
#include "tests/interruption/disk_model.h"

#include "tests/catch.h"

namespace sluice::test {

namespace {

std::set<DiskState> StatesAfter(const std::vector<RecordedCall>& calls) {
  DiskModel model("/d");
  for (const RecordedCall& call : calls)
    model.Apply(call);
  std::set<DiskState> states;
  model.ForEachState([&](const DiskState& state) { states.insert(state); });
  return states;
}

const RecordedCall kMake{FileCall::kMakeFolder, "/d", "", 0, ""};
const RecordedCall kSyncParent{FileCall::kSync, "/", "", 0, ""};
const RecordedCall kSyncFolder{FileCall::kSync, "/d", "", 0, ""};

RecordedCall Create(const std::string& path) {
  return {FileCall::kCreate, path, "", 0, ""};
}
RecordedCall Write(const std::string& path, const std::string& data) {
  return {FileCall::kWrite, path, "", 0, data};
}
RecordedCall Sync(const std::string& path) {
  return {FileCall::kSync, path, "", 0, ""};
}
RecordedCall Rename(const std::string& from, const std::string& to) {
  return {FileCall::kRename, from, to, 0, ""};
}

using Files = std::map<std::string, std::string>;

}  // namespace

TEST_CASE("a folder certainly exists once its parent was synced") {
  CHECK(StatesAfter({kMake}) == std::set<DiskState>{std::nullopt, Files{}});
  CHECK(StatesAfter({kMake, kSyncParent}) == std::set<DiskState>{Files{}});
}

TEST_CASE("a file that was not synced may hold any part of the written bytes") {
  const auto states =
      StatesAfter({kMake, kSyncParent, Create("/d/a"), kSyncFolder, Write("/d/a", "word")});
  CHECK(states.count(Files{{"a", ""}}) == 1);
  CHECK(states.count(Files{{"a", "wo"}}) == 1);
  CHECK(states.count(Files{{"a", "word"}}) == 1);
  CHECK(states.count(Files{{"a", std::string(4, '\0')}}) == 1);
  CHECK(states.count(Files{}) == 0);
}

TEST_CASE("a file renamed without a sync may be empty under its name") {
  const std::vector<RecordedCall> careless = {kMake, kSyncParent, Create("/d/a.tmp"),
                                              Write("/d/a.tmp", "word"),
                                              Rename("/d/a.tmp", "/d/a")};
  CHECK(StatesAfter(careless).count(Files{{"a", ""}}) == 1);
  const std::vector<RecordedCall> careful = {kMake,
                                             kSyncParent,
                                             Create("/d/a.tmp"),
                                             Write("/d/a.tmp", "word"),
                                             Sync("/d/a.tmp"),
                                             Rename("/d/a.tmp", "/d/a")};
  CHECK(StatesAfter(careful) == std::set<DiskState>{Files{}, Files{{"a", "word"}},
                                                    Files{{"a.tmp", "word"}},
                                                    Files{{"a", "word"}, {"a.tmp", "word"}}});
}

TEST_CASE("after its folder was synced a renamed file has its new name and no other") {
  CHECK(StatesAfter({kMake, kSyncParent, Create("/d/a.tmp"), Write("/d/a.tmp", "word"),
                     Sync("/d/a.tmp"), Rename("/d/a.tmp", "/d/a"), kSyncFolder}) ==
        std::set<DiskState>{Files{{"a", "word"}}});
}

}  // namespace sluice::test
