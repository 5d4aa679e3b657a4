// A conversion as a command runs it, and `sluice convert --part`, the middle one of its three
// steps.
#pragma once

#include <functional>
#include <string>

#include <sluice/convert_steps.h>

#include "tools/cli/terminal.h"

namespace sluice {

// Runs a conversion, or a step of one, with progress. Returns false if it was interrupted, after a
// message. If the disk is full or refuses, the Error says how to resume.
bool RunConversion(const cli::Interrupt& interrupt, const std::string& dataset, bool silent,
                   const std::string& activity, const std::string& title,
                   const std::function<void(ConvertHooks)>& step);

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
