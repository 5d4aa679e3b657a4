// The steps that `sluice-bench transforms` measures, and their costs.
#include <set>

#include <sluice/parse_pipeline.h>

#include "bench/parts/transforms.h"
#include "tests/catch.h"

namespace sluice::bench::test {

TEST_CASE("sluice-bench transforms measures each step that touches pixels") {
  std::set<std::size_t> measured;
  for (const std::string& text : EveryStep(224)) {
    for (const Transform& step : ParsePipeline(text))
      measured.insert(step.index());
  }
  for (const std::string& form : PipelineSteps()) {
    INFO(form);
    if (form.starts_with("choice")) continue;  // costs what its lists cost
    // A step that requires numbers accepts a single 3.
    const std::string name = form.substr(0, form.find_first_of(":["));
    const std::string required = form.substr(0, form.find('['));
    const Transform step =
        ParsePipeline(name + (required.find(':') == std::string::npos ? "" : ":3"))[0];
    CHECK(measured.contains(step.index()) == !std::holds_alternative<OneHot>(step));
  }
}

TEST_CASE("the cost of a step says how many pixels the step's output has") {
  const std::vector<StepCost> costs = MeasureSteps({"none", "rrc:96"}, 224, 1, 0, {});
  CHECK(costs[0].pixels_out == 224 * 224);
  CHECK(costs[1].pixels_out == 96 * 96);
}

}  // namespace sluice::bench::test
