#include "bench/compare/side_by_side.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "bench/report/statistics.h"
#include "tools/cli/output.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {
namespace {

using cli::Format;

bool SeveralSources(const SideBySide& all) {
  return all.options.front().source != all.options.back().source;
}

// "photos, 2 threads or processes"
std::string TitleOf(const SideBySide& all, std::size_t i) {
  return cli::Printable(all.options[i].source.string()) + ", " +
         cli::CountText(all.comparisons[i].threads, "thread or process", "threads or processes");
}

// What a comparison's measurements are called beside others'.
std::string SuffixOf(const SideBySide& all, std::size_t i) {
  std::string suffix = Format(".threads=%u", all.comparisons[i].threads);
  if (!SeveralSources(all)) return suffix;
  std::size_t source = 1;
  for (std::size_t k = 1; k <= i; ++k)
    source += all.options[k].source != all.options[k - 1].source ? 1 : 0;
  return suffix + Format(".source=%zu", source);
}

const Compared* Find(const Comparison& comparison, const std::string& name) {
  for (const Compared& one : comparison.loaders) {
    if (one.contender.name == name && one.missing.empty()) return &one;
  }
  return nullptr;
}

// Every loader that played somewhere, in the order of the comparisons.
std::vector<std::string> NamesIn(const SideBySide& all) {
  std::vector<std::string> names;
  for (const Comparison& comparison : all.comparisons) {
    for (const Compared& one : comparison.loaders) {
      if (one.missing.empty() &&
          std::find(names.begin(), names.end(), one.contender.name) == names.end())
        names.push_back(one.contender.name);
    }
  }
  return names;
}

std::string RatesTable(const SideBySide& all) {
  std::string text = Format("%-18s", "images/s");
  for (std::size_t i = 0; i < all.comparisons.size(); ++i)
    text += Format(" %9s", Format("(%zu)", i + 1).c_str());
  text += "\n";
  for (const std::string& name : NamesIn(all)) {
    text += Format("%-18s", name.c_str());
    for (const Comparison& comparison : all.comparisons) {
      const Compared* const one = Find(comparison, name);
      text += one == nullptr ? Format(" %9s", "-") : Format(" %9.0f", Median(one->Rates()));
    }
    text += "\n";
  }
  for (std::size_t i = 0; i < all.comparisons.size(); ++i)
    text += Format("(%zu) ", i + 1) + TitleOf(all, i) + "\n";
  return text;
}

}  // namespace

SideBySide CompareSeveral(const CompareOptions& options,
                          const std::vector<std::filesystem::path>& sources,
                          const std::vector<unsigned>& threads, const CompareHooks& hooks) {
  SideBySide all;
  const std::size_t count = sources.size() * threads.size();
  for (std::size_t i = 0; i < count; ++i) {
    CompareOptions one = options;
    one.source = sources[i / threads.size()];
    one.threads = threads[i % threads.size()];
    if (i % threads.size() > 0) one.quality_images = 0;
    if (sources.size() > 1) one.work /= std::to_string(1 + i / threads.size());
    CompareHooks mine = hooks;
    if (count > 1 && hooks.on_step) {
      mine.on_step = [&](const std::string& activity, std::uint64_t done, std::uint64_t steps) {
        hooks.on_step(Format("%zu of %zu, ", i + 1, count) + activity, done, steps);
      };
    }
    all.comparisons.push_back(CompareLoaders(one, mine));
    all.options.push_back(std::move(one));
  }
  return all;
}

std::string TextOf(const SideBySide& all) {
  if (all.comparisons.size() == 1) return TextOf(all.comparisons.front(), all.options.front());
  std::string text;
  for (std::size_t i = 0; i < all.comparisons.size(); ++i) {
    text += Format("(%zu) ", i + 1) + TitleOf(all, i) + "\n\n" +
            TextOf(all.comparisons[i], all.options[i]) + "\n";
  }
  return text + RatesTable(all);
}

nlohmann::ordered_json JsonOf(const SideBySide& all) {
  const bool alone = all.comparisons.size() == 1;
  std::vector<Measurement> measurements;
  std::vector<std::string> warnings;
  auto comparisons = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < all.comparisons.size(); ++i) {
    const Comparison& one = all.comparisons[i];
    const auto measured = MeasurementsOf(one, alone ? "" : SuffixOf(all, i));
    measurements.insert(measurements.end(), measured.begin(), measured.end());
    for (const std::string& warning : one.warnings)
      warnings.push_back(alone ? warning : TitleOf(all, i) + ": " + warning);
    nlohmann::ordered_json json = SettingsJson(one, all.options[i]);
    json["loaders"] = LoadersJson(one);
    comparisons.push_back(std::move(json));
  }
  nlohmann::ordered_json json = ResultOf("compare", measurements, warnings);
  if (alone) {
    json.update(comparisons.front());
  } else {
    json["comparisons"] = std::move(comparisons);
  }
  return json;
}

}  // namespace sluice::bench
