#include "tools/verify_report.h"

#include <nlohmann/json.hpp>

#include "tools/cli/output.h"
#include "tools/cli/quantity.h"

namespace sluice {

using cli::CountText;
using cli::Printable;

void PrintVerifyText(const std::string& dataset, const VerifyReport& report, double seconds,
                     bool quiet) {
  std::string text;
  for (const Fault& fault : report.faults) {
    text += Printable(fault.shard);
    if (fault.sample >= 0) text += ", sample " + std::to_string(fault.sample);
    if (!fault.key.empty()) text += " (" + Printable(fault.key) + ")";
    text += ": " + Printable(fault.reason) + "\n";
  }
  if (!quiet) {
    text += Printable(dataset) + ": ";
    text +=
        report.faults.empty() ? "no faults" : CountText(report.faults.size(), "fault", "faults");
    text += std::string(report.stopped ? " until interrupted" : "") + ", " +
            CountText(report.samples, "sample", "samples") + ", " + cli::BytesText(report.bytes) +
            " in " + cli::SecondsText(seconds) + "\n";
  }
  cli::PrintOut(text);
}

void PrintVerifyJson(const VerifyReport& report, double seconds) {
  auto faults = nlohmann::ordered_json::array();
  for (const Fault& fault : report.faults) {
    nlohmann::ordered_json one{
        {"shard", fault.shard}, {"sample", nullptr}, {"key", nullptr}, {"reason", fault.reason}};
    if (fault.sample >= 0) one["sample"] = fault.sample;
    if (!fault.key.empty()) one["key"] = fault.key;
    faults.push_back(std::move(one));
  }
  cli::PrintJson({{"samples", report.samples},
                  {"bytes", report.bytes},
                  {"seconds", seconds},
                  {"stopped", report.stopped},
                  {"faults", faults}});
}

}  // namespace sluice
