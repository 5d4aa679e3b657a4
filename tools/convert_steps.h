// `sluice convert --part`, the middle one of a conversion's three steps.
#pragma once

#include <string>

#include <sluice/convert_steps.h>

namespace sluice {

// "3/10"; throws UsageError.
PlanPart ParsePart(const std::string& text);

struct PartArguments {
  std::string dataset;
  PlanPart part;
  PartOptions options;
  bool json = false;
  bool quiet = false;
};

// The exit code.
int RunPart(const PartArguments& arguments);

}  // namespace sluice
