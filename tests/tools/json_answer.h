// The output of a command with --json.
#pragma once

#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/tools/run.h"

namespace sluice::test {

// The single JSON object on standard output. Nothing else may be on standard output or standard
// error.
inline nlohmann::json JsonOf(const Outcome& outcome) {
  INFO("stdout: " << outcome.out << "\nstderr: " << outcome.err);
  nlohmann::json answer = nlohmann::json::parse(outcome.out, nullptr, false);
  REQUIRE(answer.is_object());
  REQUIRE(outcome.err.empty());
  return answer;
}

}  // namespace sluice::test
