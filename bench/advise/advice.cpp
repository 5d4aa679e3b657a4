// The arithmetic comes first (ForecastOf, ChooseForm), then the sentences that explain its result.
// A forecast settles the number of machines before all other figures: each machine reads only its
// own part of the dataset, so with more machines a part may fit into memory, or into the cache of
// the link. The first epoch reads every byte, so its rate is that of the disk or the link even if
// later epochs are played from memory. The number of machines and of threads allows for kMargin; an
// epoch's time and its bound do not. Forms whose trial failed have an empty forecast and take no
// part in the choice, so Decide() translates the index of the chosen form.
#include "bench/advise/advice.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include <sluice/error.h>

#include "bench/report/statistics.h"
#include "reader/order/shape.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {

namespace {

constexpr std::uint64_t kMaxMachines = 4096;  // a forecast names no more than this many

// The share of a machine's part of the dataset that each later epoch fetches again because the
// cache cannot hold it. (The cache keeps the blocks that are needed soonest. No other choice of
// blocks would fetch less.)
double MissingShare(std::uint64_t bytes, const StoreLink& link, std::uint64_t machines) {
  const double part = static_cast<double>(bytes) / static_cast<double>(machines);
  return part > 0 ? std::max(0.0, 1 - static_cast<double>(link.cache_bytes) / part) : 0;
}

// The images per second that one machine can deliver over the link if it must fetch `share` of the
// bytes of its images.
double LinkRate(const FormConstants& form, const StoreLink& link, double share) {
  const double bytes = form.bytes_per_image * share;
  return bytes > 0 ? std::min(form.all_threads_per_second, link.bytes_per_second / bytes)
                   : form.all_threads_per_second;
}

// The images per second that one machine can deliver without an object store. `in_memory`: its part
// of the dataset is in memory; otherwise its disk is read.
double SteadyRate(const FormConstants& form, const Resources& resources, bool in_memory) {
  const double decoding = form.all_threads_per_second;
  if (in_memory || form.bytes_per_image <= 0) return decoding;
  return std::min(decoding, resources.disk_bytes_per_second / form.bytes_per_image);
}

// With several machines, each reads only its own part (in quasi-random order), so only that part
// must fit.
bool FitsMemory(std::uint64_t bytes, const Resources& resources, std::uint64_t machines) {
  return static_cast<double>(bytes) / static_cast<double>(machines) <=
         kMemoryShare * static_cast<double>(resources.memory_bytes);
}

unsigned ThreadsFor(const FormConstants& form, unsigned measured, double wanted) {
  for (unsigned threads = 1; threads < measured; ++threads) {
    if (RateOnThreads(form, measured, threads) >= wanted) return threads;
  }
  return measured;
}

void CountRequests(Forecast& forecast, const StoreLink& link) {
  const auto blocks = static_cast<double>(CeilDiv(forecast.dataset_bytes, kUsualBlockBytes));
  const std::uint64_t shards = CeilDiv(forecast.dataset_bytes, kDefaultShardBytes);
  const double missing = MissingShare(forecast.dataset_bytes, link, forecast.machines);
  forecast.first_requests = static_cast<std::uint64_t>(blocks) + 2 * shards * forecast.machines;
  forecast.requests = static_cast<std::uint64_t>(std::ceil(missing * blocks));
  const std::uint64_t opened = std::min(forecast.dataset_bytes, kUsualLanes * kUsualBlockBytes);
  // Manifest, directories and blocks are fetched one after the other.
  forecast.first_batch_seconds =
      3 * link.delay_seconds +
      static_cast<double>(opened) / link.bytes_per_second / static_cast<double>(forecast.machines);
}

}  // namespace

const char* NameOf(Bound bound) noexcept {
  switch (bound) {
    case Bound::kDecoding: return "decoding";
    case Bound::kDisk: return "the disk";
    case Bound::kLink: return "the link";
    case Bound::kTrainer: return "the trainer";
  }
  return "";
}

double RateOnThreads(const FormConstants& form, unsigned measured_threads, double threads) {
  if (measured_threads <= 1) return form.all_threads_per_second * threads;
  const SerialShare fit = FitSerialShare({1, static_cast<double>(measured_threads)},
                                         {form.one_thread_per_second, form.all_threads_per_second});
  return fit.one_thread / (fit.serial + (1 - fit.serial) / threads);
}

Forecast ForecastOf(const FormConstants& form, std::uint64_t images, const Resources& resources,
                    const Need& need) {
  Forecast forecast;
  const auto count = static_cast<double>(images);
  forecast.dataset_bytes = static_cast<std::uint64_t>(std::llround(form.bytes_per_image * count));
  forecast.fits_disk = forecast.dataset_bytes <= resources.disk_free_bytes;
  if (form.converted_per_second > 0) forecast.convert_seconds = count / form.converted_per_second;

  const double wanted = need.ImagesPerSecond();
  const std::optional<StoreLink>& link = resources.link;
  // The rate of one of several machines, in later epochs and in the first one.
  const auto later_rate = [&](std::uint64_t machines) {
    if (link) return LinkRate(form, *link, MissingShare(forecast.dataset_bytes, *link, machines));
    return SteadyRate(form, resources, FitsMemory(forecast.dataset_bytes, resources, machines));
  };
  const double first_rate = link ? LinkRate(form, *link, 1) : SteadyRate(form, resources, false);
  if (wanted > 0) {
    const auto fed = [&](std::uint64_t machines) {
      return static_cast<double>(machines) * later_rate(machines);
    };
    while (forecast.machines < kMaxMachines && fed(forecast.machines) < kMargin * wanted)
      ++forecast.machines;
  }
  const auto machines = static_cast<double>(forecast.machines);
  forecast.in_memory = !link && FitsMemory(forecast.dataset_bytes, resources, forecast.machines);
  forecast.images_per_second = later_rate(forecast.machines);
  const double loader = machines * forecast.images_per_second;
  const double limit = wanted > 0 ? wanted : std::numeric_limits<double>::infinity();
  const double steady = std::min(loader, limit);
  const double first = std::min(machines * first_rate, limit);
  if (steady > 0) forecast.epoch_seconds = count / steady;
  if (first > 0) forecast.first_epoch_seconds = count / first;
  if (wanted > 0 && loader >= wanted) {
    forecast.bound = Bound::kTrainer;
  } else if (loader < machines * form.all_threads_per_second) {
    forecast.bound = link ? Bound::kLink : Bound::kDisk;
  }
  if (link) {
    forecast.fits_disk = true;  // the store holds the dataset, not this machine's disk
    CountRequests(forecast, *link);
  }
  forecast.threads = resources.threads;
  if (wanted > 0)
    forecast.threads = ThreadsFor(form, resources.threads, kMargin * wanted / machines);
  return forecast;
}

std::size_t ChooseForm(const std::vector<FormConstants>& forms,
                       const std::vector<Forecast>& forecasts, const Need& need) {
  const bool any_fits = std::any_of(forecasts.begin(), forecasts.end(),
                                    [](const Forecast& f) { return f.fits_disk; });
  const auto allowed = [&](std::size_t i) { return forecasts[i].fits_disk || !any_fits; };
  // Finds the best of the allowed forms that `takes` accepts. `better(a, b)`: whether form a is
  // better than form b. Returns forms.size() if `takes` accepts none.
  const auto best = [&](const auto& takes, const auto& better) {
    std::size_t found = forms.size();
    for (std::size_t i = 0; i < forms.size(); ++i) {
      if (allowed(i) && takes(i) && (found == forms.size() || better(i, found))) found = i;
    }
    return found;
  };
  const auto rate = [&](std::size_t i) { return forecasts[i].images_per_second; };
  const auto faster = [&](std::size_t a, std::size_t b) { return rate(a) > rate(b); };
  const auto smaller = [&](std::size_t a, std::size_t b) {
    return forms[a].bytes_per_image < forms[b].bytes_per_image;
  };
  if (need.ImagesPerSecond() > 0) {
    const std::size_t fed = best([&](std::size_t i) { return forecasts[i].machines == 1; },
                                 [&](std::size_t a, std::size_t b) {
                                   return forms[a].preference != forms[b].preference
                                              ? forms[a].preference < forms[b].preference
                                              : smaller(a, b);
                                 });
    if (fed < forms.size()) return fed;
    return best([](std::size_t) { return true; },
                [&](std::size_t a, std::size_t b) {
                  return forecasts[a].machines != forecasts[b].machines
                             ? forecasts[a].machines < forecasts[b].machines
                             : smaller(a, b);
                });
  }
  const std::size_t preferred =
      best([](std::size_t) { return true; },
           [&](std::size_t a, std::size_t b) { return forms[a].preference < forms[b].preference; });
  const auto of_its_kind = [&](std::size_t i) {
    return forms[i].preference == forms[preferred].preference;
  };
  const std::size_t fastest = best(of_its_kind, faster);
  return best(
      [&](std::size_t i) { return of_its_kind(i) && rate(i) >= kNearlyAsFast * rate(fastest); },
      smaller);
}

namespace {

using cli::BytesText;
using cli::Format;
using cli::RateText;
using cli::SecondsText;

// Quotes a word so that a shell reads it as one word.
std::string Quoted(const std::string& word) {
  constexpr const char* kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=:,.%@/";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char letter : word)
    quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + "'";
}

// The command that makes a dataset of smaller pictures. It converts files, since `sluice transcode`
// does not resize.
std::string SmallerCommand(const Advice& advice, const Form& form) {
  return Format(
      "sluice convert PICTURES DATASET %s (PICTURES: those that the dataset was made of, "
      "or those that `sluice export %s PICTURES` writes)",
      form.options.c_str(), Quoted(advice.source).c_str());
}

std::string MakingSentence(const Advice& advice, const Form& form, const Forecast& forecast) {
  if (form.as_it_is)
    return "Leave the dataset as it is: " + form.name.substr(0, form.name.find(','));
  const std::string costs = Format("   (%s, about %s)", BytesText(forecast.dataset_bytes).c_str(),
                                   SecondsText(forecast.convert_seconds).c_str());
  if (advice.facts.dataset && form.convert.geometry.max_side)
    return SmallerCommand(advice, form) + costs;
  const char* const verb = advice.facts.dataset ? "transcode" : "convert";
  return Format("sluice %s %s DATASET %s", verb, Quoted(advice.source).c_str(),
                form.options.c_str()) +
         costs;
}

// If the chosen form keeps pictures that are large for the transform, says what smaller pictures
// would save.
std::optional<std::string> SmallerSentence(const Advice& advice) {
  const std::vector<Trial>& trials = advice.trials.forms;
  const auto smaller = std::ranges::find_if(trials, [](const Trial& trial) {
    return trial.failed.empty() && trial.form.convert.geometry.max_side;
  });
  if (!advice.facts.dataset || smaller == trials.end() ||
      trials[advice.chosen].form.convert.geometry.max_side)
    return std::nullopt;
  const Forecast& now = advice.forecasts[advice.chosen];
  const Forecast& then = advice.forecasts[static_cast<std::size_t>(smaller - trials.begin())];
  const auto saves = [](double before, double after) { return after < kNearlyAsFast * before; };
  if (!saves(double(now.dataset_bytes), double(then.dataset_bytes)) &&
      !saves(now.epoch_seconds, then.epoch_seconds))
    return std::nullopt;
  return Format(
             "Its pictures are large for this transform (median %ux%u). Shrunk to --max-side %u "
             "they take %s instead of %s, and an epoch %s instead of %s (one machine gives %s "
             "images/s instead of %s): ",
             advice.facts.median_width, advice.facts.median_height,
             *smaller->form.convert.geometry.max_side, BytesText(then.dataset_bytes).c_str(),
             BytesText(now.dataset_bytes).c_str(), SecondsText(then.epoch_seconds).c_str(),
             SecondsText(now.epoch_seconds).c_str(), RateText(then.images_per_second).c_str(),
             RateText(now.images_per_second).c_str()) +
         SmallerCommand(advice, smaller->form);
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
      "(each rank reads its own part). If decoding is the limit, one machine with %.1f times the "
      "CPUs feeds it, too.",
      rate.c_str(), wanted.c_str(), static_cast<unsigned long long>(forecast.machines),
      kMargin * need / std::max(forecast.images_per_second, 1e-9));
}

std::string PriceText(const StoreLink& link, std::uint64_t requests) {
  if (link.price_of_1000 <= 0) return "";
  return Format(" (%.4g)", link.price_of_1000 * static_cast<double>(requests) / 1000);
}

// The costs of a dataset in an object store: requests, a slow start, a slow epoch.
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
      ". The first batch comes %s after the start: the time for three answers, and for a block of "
      "each of %llu lanes. With a smaller window, it comes sooner. ",
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
           "the disk is fast enough for that (storage = Direct leaves memory to other programs).";
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
    // An existing dataset needs no further room.
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
  if (std::optional<std::string> smaller = SmallerSentence(advice))
    sentences.push_back(*std::move(smaller));
  if (!forecast.fits_disk) {
    sentences.push_back(Format("The disk has only %s free: this form does not fit.",
                               BytesText(advice.resources.disk_free_bytes).c_str()));
  }
  return sentences;
}

}  // namespace sluice::bench
