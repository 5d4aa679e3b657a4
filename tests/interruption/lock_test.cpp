// Two conversions into the same folder.
#include <csignal>

#include <unistd.h>

#include "tests/catch.h"
#include "tests/interruption/conversion.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("a second conversion into a folder is refused until the first is dead") {
  const Conversion conversion(2);
  const auto data = conversion.folder() / "data";
  // Stopped in the middle: the process lives and does nothing.
  Running first(SLUICE_COMMAND, conversion.Command(data), Conversion::WithSeam(data, "stop:12"));
  bool refused = false;
  const Outcome ended = first.Wait([&](const Outcome&) {
    if (refused || !first.Stopped()) return;
    const Contents before = ContentsIfAny(data);
    const Outcome second = conversion.Run(data);
    CHECK(second.exit_code == 1);
    CHECK_THAT(second.err, ContainsSubstring("another command is writing into this folder"));
    CHECK_THAT(second.err, ContainsSubstring(data.string()));
    CHECK(ContentsIfAny(data) == before);
    refused = true;
    first.Signal(SIGKILL);
  });
  REQUIRE(refused);
  CHECK(ended.signal == SIGKILL);
  conversion.CheckResumes(data);
}

}  // namespace sluice::test
