// The forecasts that `sluice-bench advise` makes from its measurements.
#include "bench/advise/advice.h"
#include "tests/catch.h"

namespace sluice::bench {
namespace {

Resources SomeMachine() {
  Resources resources;
  resources.threads = 4;
  resources.memory_bytes = 100'000'000;
  resources.disk_free_bytes = 1'000'000'000;
  resources.disk_bytes_per_second = 10'000'000;
  return resources;
}

FormConstants FormOf(double bytes, double per_second, std::uint32_t preference = 0) {
  FormConstants form;
  form.bytes_per_image = bytes;
  form.one_thread_per_second = per_second / 4;
  form.all_threads_per_second = per_second;
  form.converted_per_second = 100;
  form.preference = preference;
  return form;
}

Need NeedOf(double images_per_second) {
  return {1.0, static_cast<std::uint64_t>(images_per_second), 1};
}

std::size_t Chosen(const std::vector<FormConstants>& forms, std::uint64_t images,
                   const Need& need) {
  std::vector<Forecast> forecasts;
  for (const FormConstants& form : forms)
    forecasts.push_back(ForecastOf(form, images, SomeMachine(), need));
  return ChooseForm(forms, forecasts, need);
}

}  // namespace

TEST_CASE(
    "a forecast for data that fits memory is bound by decoding, and its first epoch by the disk") {
  // 1000 images of 50 kB are 50 MB, less than the 80 MB (80% of memory) that the page cache may
  // take. The disk gives 200 images a second, decoding 500.
  const Forecast forecast = ForecastOf(FormOf(50'000, 500), 1000, SomeMachine(), {});
  CHECK(forecast.dataset_bytes == 50'000'000);
  CHECK(forecast.fits_disk);
  CHECK(forecast.in_memory);
  CHECK(forecast.images_per_second == Approx(500));
  CHECK(forecast.epoch_seconds == Approx(2));
  CHECK(forecast.first_epoch_seconds == Approx(5));
  CHECK(forecast.convert_seconds == Approx(10));
  CHECK(forecast.bound == Bound::kDecoding);
  CHECK(forecast.machines == 1);
  CHECK(forecast.threads == 4);
}

TEST_CASE("a forecast for data larger than memory is bound by the slower of disk and decoding") {
  const Forecast disk = ForecastOf(FormOf(50'000, 500), 10'000, SomeMachine(), {});
  CHECK_FALSE(disk.in_memory);
  CHECK(disk.images_per_second == Approx(200));
  CHECK(disk.epoch_seconds == Approx(50));
  CHECK(disk.bound == Bound::kDisk);
  const Forecast decoding = ForecastOf(FormOf(50'000, 150), 10'000, SomeMachine(), {});
  CHECK(decoding.images_per_second == Approx(150));
  CHECK(decoding.bound == Bound::kDecoding);
  CHECK_FALSE(ForecastOf(FormOf(50'000, 500), 20'001, SomeMachine(), {}).fits_disk);
}

TEST_CASE(
    "a forecast for a fed trainer takes the trainer's pace, and no more threads than needed") {
  // Each of the 4 threads decodes 125 images a second. 200 images and a margin of 15% need two
  // threads.
  const Forecast forecast = ForecastOf(FormOf(50'000, 500), 1000, SomeMachine(), NeedOf(200));
  CHECK(forecast.bound == Bound::kTrainer);
  CHECK(forecast.epoch_seconds == Approx(5));
  CHECK(forecast.machines == 1);
  CHECK(forecast.threads == 2);
}

TEST_CASE(
    "a forecast gives the number of machines that feed the trainer, each keeping its own part") {
  // Decoding needs 1000 x 1.15 / 500 machines, rounded up.
  const Forecast small = ForecastOf(FormOf(50'000, 500), 1000, SomeMachine(), NeedOf(1000));
  CHECK(small.machines == 3);
  CHECK(small.bound == Bound::kTrainer);
  CHECK(small.epoch_seconds == Approx(1));
  // The dataset has 250 MB. If one, two or three machines share it, no machine's part fits its 80
  // MB, and each reads 200 images a second from the disk: too few. Each of four machines keeps its
  // 63 MB and decodes 500 images a second.
  const Forecast large = ForecastOf(FormOf(50'000, 500), 5000, SomeMachine(), NeedOf(1000));
  CHECK(large.machines == 4);
  CHECK(large.in_memory);
  CHECK(large.images_per_second == Approx(500));
}

TEST_CASE(
    "a forecast for a dataset at a URL gives requests, the time to the first batch, and the "
    "cache's effect") {
  // 2000 blocks of 512 KiB in 17 shards. Decoding gives 500 images a second, and the link 400.
  Resources resources = SomeMachine();
  resources.link = StoreLink{52'428'800, 0.05, 0, 0.0004};
  constexpr std::uint64_t kImages = 8000;
  const FormConstants form = FormOf(131'072, 500);
  const Forecast none = ForecastOf(form, kImages, resources, {});
  CHECK(none.bound == Bound::kLink);
  CHECK(none.fits_disk);  // it takes no space on the local disk
  CHECK_FALSE(none.in_memory);
  CHECK(none.images_per_second == Approx(400));
  CHECK(none.first_requests == 2000 + 2 * 17);
  CHECK(none.requests == 2000);
  // The delays of three requests one after another (for the manifest, the directories, the blocks),
  // then the transfer of 192 blocks.
  CHECK(none.first_batch_seconds == Approx(3 * 0.05 + 192 * 524'288 / 52'428'800.0));
  // A cache of half the dataset: half of the blocks come over the link.
  resources.link->cache_bytes = kImages * 131'072 / 2;
  const Forecast half = ForecastOf(form, kImages, resources, {});
  CHECK(half.bound == Bound::kDecoding);
  CHECK(half.requests == 1000);
  CHECK(half.epoch_seconds == Approx(16));
  CHECK(half.first_epoch_seconds == Approx(20));
  // Two machines have a link and a cache each. Together, the caches hold the whole dataset.
  const Forecast two = ForecastOf(form, kImages, resources, NeedOf(800));
  CHECK(two.machines == 2);
  CHECK(two.requests == 0);
  CHECK(two.bound == Bound::kTrainer);
}

TEST_CASE("rates for other counts of threads follow Amdahl's law through the two measured ones") {
  FormConstants form;
  form.one_thread_per_second = 100;
  form.all_threads_per_second = 250;  // 4 threads: a fifth of the time is serial
  CHECK(RateOnThreads(form, 4, 1) == Approx(100));
  CHECK(RateOnThreads(form, 4, 2) == Approx(100 / (0.2 + 0.8 / 2)));
  CHECK(RateOnThreads(form, 4, 4) == Approx(250));
  // If the machine has one thread, the rate on all threads counts.
  CHECK(RateOnThreads(form, 1, 1) == Approx(250));
}

// The last form is the smallest and fastest, but its size is less preferred than the others'.
TEST_CASE("without a need, the smallest form that is nearly as fast as the fastest is chosen") {
  const std::vector<FormConstants> forms = {FormOf(100, 400), FormOf(150, 900), FormOf(900, 1000),
                                            FormOf(50, 5000, 1)};
  CHECK(Chosen(forms, 1000, {}) == 1);
}

TEST_CASE("with a need, the smallest form that meets it at the most preferred size is chosen") {
  const std::vector<FormConstants> forms = {FormOf(100, 400), FormOf(150, 900), FormOf(900, 1000),
                                            FormOf(50, 5000, 1)};
  CHECK(Chosen(forms, 1000, NeedOf(300)) == 0);
  CHECK(Chosen(forms, 1000, NeedOf(500)) == 1);
  CHECK(Chosen(forms, 1000, NeedOf(860)) == 2);
  CHECK(Chosen(forms, 1000, NeedOf(2000)) == 3);
  CHECK(Chosen(forms, 1000, NeedOf(50'000)) ==
        3);  // no form meets this need on one machine: the one with the fewest machines is chosen
}

TEST_CASE("a form that does not fit the disk is chosen only if no other fits") {
  const std::vector<FormConstants> forms = {FormOf(2'000'000, 1000), FormOf(1000, 100)};
  CHECK(Chosen(forms, 1000, {}) == 1);
  CHECK(Chosen({forms[0]}, 1000, {}) == 0);
}

}  // namespace sluice::bench
