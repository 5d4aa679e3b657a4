#include <set>

#include <sluice/parse_pipeline.h>

#include "bench/parts/transforms.h"
#include "tests/catch.h"

namespace sluice::bench::test {

TEST_CASE("sluice-bench transforms measures each step except OneHot, which changes only labels") {
  std::set<std::size_t> measured;
  for (const std::string& text : EveryStep(224)) {
    for (const Transform& step : ParsePipeline(text))
      measured.insert(step.index());
  }
  for (const std::string& form : PipelineSteps()) {
    INFO(form);
    // Every step accepts a 3 for the numbers that it requires.
    const std::string name = form.substr(0, form.find_first_of(":["));
    const std::string whole = form.substr(0, form.find('['));
    const Transform step =
        ParsePipeline(name + (whole.find(':') == std::string::npos ? "" : ":3"))[0];
    CHECK(measured.contains(step.index()) == !std::holds_alternative<OneHot>(step));
  }
}

}  // namespace sluice::bench::test
