// The output of `sluice-bench advise`, as text and as JSON. Both show the same Advice and take
// their sentences from SentencesOf(), so that they cannot differ. In the table, "loading" was
// measured while the sample was played from memory, whereas "epochs" is the forecast for the whole
// dataset, which also counts the disk or the link. "error" compares the measured rate with that of
// pictures that were held out. A form whose trial failed keeps its row, with the reason, but gives
// no measurement.
#include <nlohmann/json.hpp>

#include "bench/advise/advice.h"
#include "bench/report/result.h"
#include "tools/cli/output.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {
namespace {

using cli::BytesText;
using cli::Format;
using Json = nlohmann::ordered_json;

constexpr std::size_t kColumns = 100;

std::string SidesText(const SourceFacts& facts) {
  if (facts.uniform()) return Format("all %ux%u", facts.median_width, facts.median_height);
  return Format("median %ux%u, sides %u to %u", facts.median_width, facts.median_height,
                std::min(facts.least_width, facts.least_height),
                std::max(facts.most_width, facts.most_height));
}

std::string SourceText(const Advice& advice) {
  const SourceFacts& facts = advice.facts;
  std::string text =
      facts.listed_all
          ? Format("%llu images", static_cast<unsigned long long>(facts.images))
          : Format("more than %llu images", static_cast<unsigned long long>(facts.images));
  if (facts.classes > 0)
    text += Format(" in %llu classes", static_cast<unsigned long long>(facts.classes));
  text += ", " + BytesText(facts.bytes) + "; of " +
          Format("%llu looked at", static_cast<unsigned long long>(facts.looked_at));
  const char* separator = ": ";
  for (const auto& [kind, count] : facts.kinds) {
    text += separator + Format("%llu ", static_cast<unsigned long long>(count)) + kind;
    separator = ", ";
  }
  text += "; " + SidesText(facts);
  for (const std::string& warning : facts.warnings)
    text += "; " + warning;
  return text;
}

std::string MachineText(const Advice& advice) {
  const Resources& resources = advice.resources;
  std::string text = Format(
      "%u %s, %s of memory free, disk %s/s (%s) with %s free, ", resources.threads,
      resources.threads == 1 ? "thread" : "threads", BytesText(resources.memory_bytes).c_str(),
      BytesText(static_cast<std::uint64_t>(resources.disk_bytes_per_second)).c_str(),
      advice.disk.direct ? "read past the page cache" : "as its file system reads",
      BytesText(resources.disk_free_bytes).c_str());
  if (advice.small_files) {
    text +=
        Format("the source's small files %s/s, ",
               BytesText(static_cast<std::uint64_t>(advice.small_files->bytes_per_second)).c_str());
  }
  if (resources.link) {
    text += Format("a link of %s/s to an object store, ",
                   BytesText(static_cast<std::uint64_t>(resources.link->bytes_per_second)).c_str());
  }
  if (advice.gpus.empty()) return text + "no GPU";
  return text + Format("%zu x ", advice.gpus.size()) + advice.gpus.front();
}

std::string NeedText(const Advice& advice) {
  const Need& need = advice.need;
  if (need.ImagesPerSecond() <= 0) return "as many images a second as possible (no --step-ms)";
  return Format("%.0f images/s: %llu x batches of %llu in %g ms", need.ImagesPerSecond(),
                static_cast<unsigned long long>(need.accelerators),
                static_cast<unsigned long long>(need.batch_size), 1e3 * need.step_seconds);
}

const char* PlayedFrom(const Advice& advice, const Forecast& forecast) {
  if (!advice.resources.link) return forecast.in_memory ? "memory" : "disk";
  return forecast.requests == 0 ? "cache" : "link";
}

void AddRow(const Advice& advice, std::size_t i, TextTable& table) {
  const Trial& trial = advice.trials.forms[i];
  const std::string name = (i == advice.chosen ? "* " : "  ") + trial.form.name;
  if (!trial.failed.empty()) return table.Add({name, cli::Printable(trial.failed).substr(0, 76)});
  const Forecast& forecast = advice.forecasts[i];
  const std::string quality = !trial.decibels         ? "-"
                              : *trial.decibels >= 99 ? "same"
                                                      : Format("%.1f", *trial.decibels);
  table.Add({name, Format("%.0f", trial.constants.bytes_per_image),
             BytesText(forecast.dataset_bytes),
             Format("%.0f", trial.constants.all_threads_per_second),
             Format("%+.1f%%", 100 * ErrorOf(trial).images_per_second),
             Format("%.0f", forecast.images_per_second), PlayedFrom(advice, forecast),
             trial.constants.converted_per_second > 0
                 ? Format("%.0f", trial.constants.converted_per_second)
                 : "-",
             quality});
}

Json FactsJson(const SourceFacts& facts) {
  Json kinds = Json::object();
  for (const auto& [kind, count] : facts.kinds)
    kinds[kind] = count;
  return {{"dataset", facts.dataset},
          {"images", facts.images},
          {"listed_all", facts.listed_all},
          {"bytes", facts.bytes},
          {"classes", facts.classes},
          {"looked_at", facts.looked_at},
          {"kinds", kinds},
          {"width", {facts.least_width, facts.median_width, facts.most_width}},
          {"height", {facts.least_height, facts.median_height, facts.most_height}}};
}

Json FormJson(const Trial& trial, const Forecast& forecast) {
  if (!trial.failed.empty()) return {{"form", trial.form.name}, {"failed", trial.failed}};
  const HeldOutError error = ErrorOf(trial);
  Json json{{"form", trial.form.name},
            {"options", trial.form.options},
            {"bytes_per_image", trial.constants.bytes_per_image},
            {"images_per_second_one_thread", trial.constants.one_thread_per_second},
            {"images_per_second", trial.constants.all_threads_per_second},
            {"converted_per_second", trial.constants.converted_per_second},
            {"held_out_bytes_per_image", trial.held_bytes_per_image},
            {"held_out_images_per_second", trial.held_images_per_second},
            {"error_of_bytes", error.bytes},
            {"error_of_images_per_second", error.images_per_second}};
  if (trial.decibels) json["psnr_db"] = *trial.decibels;
  json["forecast"] = {{"dataset_bytes", forecast.dataset_bytes},
                      {"fits_disk", forecast.fits_disk},
                      {"in_memory", forecast.in_memory},
                      {"images_per_second", forecast.images_per_second},
                      {"epoch_seconds", forecast.epoch_seconds},
                      {"first_epoch_seconds", forecast.first_epoch_seconds},
                      {"convert_seconds", forecast.convert_seconds},
                      {"bound", NameOf(forecast.bound)},
                      {"threads", forecast.threads},
                      {"machines", forecast.machines}};
  if (forecast.first_requests > 0) {
    json["forecast"].update({{"first_requests", forecast.first_requests},
                             {"requests", forecast.requests},
                             {"first_batch_seconds", forecast.first_batch_seconds}});
  }
  return json;
}

}  // namespace

std::string TextOf(const Advice& advice) {
  std::string text;
  const auto about = [&](const char* name, const std::string& what) {
    const std::string lines = cli::Wrapped(what, kColumns - 9);
    const char* head = name;
    for (std::size_t begin = 0; begin < lines.size(); head = "") {
      const std::size_t end = std::min(lines.find('\n', begin), lines.size());
      text += Format("%-9s", head) + lines.substr(begin, end - begin) + "\n";
      begin = end + 1;
    }
  };
  about("source", cli::Printable(advice.source) + ": " + SourceText(advice));
  about("machine", MachineText(advice));
  about("needed", NeedText(advice));
  TextTable table(
      {"  form", "bytes", "dataset", "loading", "error", "epochs", "played", "making", "PSNR"});
  table.Add({"", "an image", "", "images/s", "", "images/s", "from", "images/s", "dB"});
  for (std::size_t i = 0; i < advice.trials.forms.size(); ++i)
    AddRow(advice, i, table);
  text += "\n" + table.Text() + "\n";
  const char* head = "advice";
  for (const std::string& sentence : SentencesOf(advice)) {
    about(head, cli::Printable(sentence));
    head = "";
  }
  const Trial& chosen = advice.trials.forms[advice.chosen];
  const HeldOutError error = ErrorOf(chosen);
  about("check", Format("Measured on %llu pictures; for %llu others, this predicts bytes with an "
                        "error of %+.1f%% and images/s with %+.1f%%. The transform was %s, and the "
                        "forms were played from memory; only the disk's rate includes reading.",
                        static_cast<unsigned long long>(advice.trials.fitted),
                        static_cast<unsigned long long>(advice.trials.held_out), 100 * error.bytes,
                        100 * error.images_per_second, advice.transform.c_str()));
  return text + WarningsText(advice.warnings);
}

Json JsonOf(const Advice& advice) {
  std::vector<Measurement> measurements;
  Json forms = Json::array();
  for (std::size_t i = 0; i < advice.trials.forms.size(); ++i) {
    const Trial& trial = advice.trials.forms[i];
    forms.push_back(FormJson(trial, advice.forecasts[i]));
    if (!trial.failed.empty()) continue;
    measurements.push_back({"images_per_second." + trial.form.name,
                            "1/s",
                            true,
                            {trial.constants.all_threads_per_second}});
  }
  Json result = ResultOf("advise", measurements, advice.warnings);
  const Resources& resources = advice.resources;
  result.update({{"source", advice.source},
                 {"facts", FactsJson(advice.facts)},
                 {"threads", resources.threads},
                 {"memory_free_bytes", resources.memory_bytes},
                 {"disk_free_bytes", resources.disk_free_bytes},
                 {"disk_bytes_per_second", resources.disk_bytes_per_second},
                 {"disk_direct", advice.disk.direct},
                 {"small_files_bytes_per_second",
                  advice.small_files ? Json(advice.small_files->bytes_per_second) : Json()},
                 {"gpus", advice.gpus},
                 {"needed_images_per_second", advice.need.ImagesPerSecond()},
                 {"transform", advice.transform},
                 {"fitted", advice.trials.fitted},
                 {"held_out", advice.trials.held_out},
                 {"forms", std::move(forms)},
                 {"chosen", advice.trials.forms[advice.chosen].form.name},
                 {"advice", SentencesOf(advice)}});
  if (resources.link) {
    result["link"] = {{"bytes_per_second", resources.link->bytes_per_second},
                      {"delay_seconds", resources.link->delay_seconds},
                      {"cache_bytes", resources.link->cache_bytes},
                      {"price_of_1000_requests", resources.link->price_of_1000}};
  }
  return result;
}

}  // namespace sluice::bench
