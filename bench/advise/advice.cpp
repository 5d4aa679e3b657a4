#include "bench/advise/advice.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include <sluice/error.h>

#include "tools/cli/quantity.h"

namespace sluice::bench {
namespace {

using cli::BytesText;
using cli::Format;
using cli::RateText;
using cli::SecondsText;

// Quoted so that a shell takes it for one word.
std::string Quoted(const std::string& word) {
  constexpr const char* kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=:,.%@/";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char letter : word)
    quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

std::string MakingSentence(const Advice& advice, const Form& form, const Forecast& forecast) {
  if (form.as_it_is)
    return "Leave the dataset as it is: " + form.name.substr(0, form.name.find(','));
  const char* const verb = advice.facts.dataset ? "transcode" : "convert";
  return Format("sluice %s %s DATASET %s   (%s, about %s)", verb, Quoted(advice.source).c_str(),
                form.options.c_str(), BytesText(forecast.dataset_bytes).c_str(),
                SecondsText(forecast.convert_seconds).c_str());
}

std::string EpochSentence(const Advice& advice, const Forecast& forecast) {
  std::string text = Format("An epoch of %llu images takes %s",
                            static_cast<unsigned long long>(advice.facts.images),
                            SecondsText(forecast.epoch_seconds).c_str());
  if (forecast.machines > 1)
    text += Format(" on %llu machines", static_cast<unsigned long long>(forecast.machines));
  if (forecast.first_epoch_seconds > 1.02 * forecast.epoch_seconds)
    text += ", the first " + SecondsText(forecast.first_epoch_seconds);
  return text + Format("; it is bound by %s.", NameOf(forecast.bound));
}

std::string FeedSentence(const Advice& advice, const Forecast& forecast) {
  const double need = advice.need.ImagesPerSecond();
  const std::string rate = RateText(forecast.images_per_second);
  if (need <= 0)
    return "One machine gives " + rate + " images/s; --step-ms says whether that is enough.";
  const std::string wanted = RateText(need);
  if (forecast.machines == 1) {
    return Format("One machine is enough, with threads = %u: %s images/s of the %s needed.",
                  forecast.threads, rate.c_str(), wanted.c_str());
  }
  return Format(
      "One machine gives %s of the %s images/s needed. %llu machines like it feed the trainer "
      "(each rank reads its own part); if it is bound by decoding, so does one with %.1f times the "
      "CPUs.",
      rate.c_str(), wanted.c_str(), static_cast<unsigned long long>(forecast.machines),
      kMargin * need / std::max(forecast.images_per_second, 1e-9));
}

std::string PriceText(const StoreLink& link, std::uint64_t requests) {
  if (link.price_of_1000 <= 0) return "";
  return Format(" (%.4g)", link.price_of_1000 * static_cast<double>(requests) / 1000);
}

// What a dataset in an object store costs: requests, a slow start, a slow epoch.
std::string StoreSentence(const StoreLink& link, const FormConstants& constants,
                          const Forecast& forecast) {
  std::string text =
      Format("Store: the first epoch takes about %llu requests%s, a later one %llu%s",
             static_cast<unsigned long long>(forecast.first_requests),
             PriceText(link, forecast.first_requests).c_str(),
             static_cast<unsigned long long>(forecast.requests),
             PriceText(link, forecast.requests).c_str());
  if (link.price_of_1000 <= 0) text += "; --request-price adds what they cost";
  text += Format(
      ". The first batch comes %s after the start: three answers, and a block of each of "
      "%llu lanes; with a smaller window, sooner. ",
      SecondsText(forecast.first_batch_seconds).c_str(),
      static_cast<unsigned long long>(kUsualLanes));
  if (forecast.bound != Bound::kLink) return text + "After that the link is fast enough.";
  const double wanted = constants.all_threads_per_second * constants.bytes_per_image;
  text += Format("Decoding could use %s/s, but the link gives %s/s. ",
                 BytesText(static_cast<std::uint64_t>(wanted)).c_str(),
                 BytesText(static_cast<std::uint64_t>(link.bytes_per_second)).c_str());
  return text + (link.cache_bytes < forecast.dataset_bytes / forecast.machines
                     ? "A cache on a local disk (stage, --link-cache) or a smaller form helps."
                     : "A smaller form helps.");
}

std::string MemorySentence(const Advice& advice, const FormConstants& constants,
                           const Forecast& forecast) {
  const std::string free = BytesText(advice.resources.memory_bytes);
  const std::string bytes = BytesText(forecast.dataset_bytes);
  if (forecast.in_memory) {
    return "Memory: the dataset (" + bytes + ") fits the " + free +
           " that are free, so the page cache keeps it and later epochs read nothing. Set storage "
           "= Locked only if other programs need much memory.";
  }
  const double reads = constants.all_threads_per_second * constants.bytes_per_image;
  std::string text = "Memory: the dataset (" + bytes + ") does not fit the " + free +
                     " that are free, so every epoch reads it: ";
  if (reads <= advice.resources.disk_bytes_per_second) {
    return text +
           "the disk is fast enough for that (behind = kDrop leaves memory to other programs).";
  }
  return text +
         Format(
             "decoding could use %s/s, but the disk gives %s/s. More memory, a faster disk (stage) "
             "or a smaller form helps.",
             BytesText(static_cast<std::uint64_t>(reads)).c_str(),
             BytesText(static_cast<std::uint64_t>(advice.resources.disk_bytes_per_second)).c_str());
}

}  // namespace

void Decide(Advice& advice) {
  std::vector<FormConstants> constants;
  std::vector<Forecast> forecasts;
  std::vector<std::size_t> places;
  advice.forecasts.clear();
  for (std::size_t i = 0; i < advice.trials.forms.size(); ++i) {
    const Trial& trial = advice.trials.forms[i];
    advice.forecasts.push_back(
        trial.failed.empty()
            ? ForecastOf(trial.constants, advice.facts.images, advice.resources, advice.need)
            : Forecast());
    if (!trial.failed.empty()) continue;
    // A dataset that is there already needs no more room.
    if (trial.form.as_it_is) advice.forecasts.back().fits_disk = true;
    constants.push_back(trial.constants);
    forecasts.push_back(advice.forecasts.back());
    places.push_back(i);
  }
  if (constants.empty()) {
    const std::string why =
        advice.trials.forms.empty() ? "" : ": " + advice.trials.forms.front().failed;
    throw Error(ErrorCode::kUnsupported, advice.source,
                "the sample could not be converted to any of the forms" + why);
  }
  advice.chosen = places[ChooseForm(constants, forecasts, advice.need)];
}

HeldOutError ErrorOf(const Trial& trial) {
  const auto share = [](double predicted, double measured) {
    return measured > 0 ? predicted / measured - 1 : 0;
  };
  return {share(trial.constants.bytes_per_image, trial.held_bytes_per_image),
          share(trial.constants.all_threads_per_second, trial.held_images_per_second)};
}

std::vector<std::string> SentencesOf(const Advice& advice) {
  const Trial& trial = advice.trials.forms[advice.chosen];
  const Forecast& forecast = advice.forecasts[advice.chosen];
  std::vector<std::string> sentences = {
      MakingSentence(advice, trial.form, forecast), EpochSentence(advice, forecast),
      FeedSentence(advice, forecast),
      advice.resources.link ? StoreSentence(*advice.resources.link, trial.constants, forecast)
                            : MemorySentence(advice, trial.constants, forecast)};
  if (!forecast.fits_disk) {
    sentences.push_back(Format("The disk has only %s free: this form does not fit.",
                               BytesText(advice.resources.disk_free_bytes).c_str()));
  }
  return sentences;
}

}  // namespace sluice::bench
