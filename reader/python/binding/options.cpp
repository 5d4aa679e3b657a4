// The groups of LoaderOptions, by keyword, as loader_option_list.h declares them. Most need only
// BindOptions(). The others have members that Python sees by another type: OrderOptions is bound as
// PyOrder, which holds the user's function as an object that the garbage collector can follow, and
// View takes steps and schedules in each of their forms. Enumerations are bound first, because
// their values are default arguments of the groups. Python's default of RingOptions.hold differs
// from C++'s (kHold).
#include <sluice/loader_option_list.h>

#include "reader/python/binding/keywords.h"
#include "reader/python/binding/user_calls.h"

namespace sluice::python {

namespace {

StatedSteps StepsOf(const Pipeline& steps) {
  return nb::borrow<StatedSteps>(nb::cast(steps));
}

StatedSchedule StepsOf(const std::vector<ScheduledTransform>& schedule) {
  nb::list shown;
  for (const ScheduledTransform& later : schedule)
    shown.append(nb::make_tuple(later.epoch, later.transform));
  return nb::borrow<StatedSchedule>(shown);
}

void BindOrder(nb::module_& module) {
  ByKeywords(nb::class_<SkippedBatches>(
                 module, "SkippedBatches",
                 "Batches of an epoch that are left out: `count` of them from number `first` on. "
                 "global_batch: the samples in each of them, over all ranks; 0: those of this "
                 "loader"),
             SkippedBatches(), Required(Member("epoch", &SkippedBatches::epoch)),
             Required(Member("first", &SkippedBatches::first)),
             Member("count", &SkippedBatches::count),
             Member("global_batch", &SkippedBatches::global_batch));
  const auto keyword = []<class V>(const option_list::Option<OrderOptions, V>& option) {
    if constexpr (std::is_same_v<V, BatchSampler>) {
      return Member(option.name, &PyOrder::batches_function, option.help);
    } else {
      return Member(option.name, static_cast<V PyOrder::*>(option.member), option.help);
    }
  };
  constexpr auto& kOrder = option_list::OptionsOf<OrderOptions>;
  std::apply(
      [&](const auto&... options) {
        ByKeywords(nb::class_<PyOrder>(module, kOrder.name,
                                       nb::type_slots(Collected<PyOrder>::slots), kOrder.help),
                   PyOrder(), keyword(options)...);
      },
      kOrder.options);
}

void BindView(nb::module_& module) {
  const auto steps =
      Keyword{"transform", [](const View& view) { return StepsOf(view.transform); },
              [](View& view, const StatedSteps& given) { view.transform = PipelineOf(given); }};
  const auto schedule =
      Keyword{"schedule", [](const View& view) { return StepsOf(view.schedule); },
              [](View& view, const StatedSchedule& given) { view.schedule = ScheduleOf(given); }};
  ByKeywords(nb::class_<View>(module, "View",
                              "One more picture of each sample's image, by its own transform"),
             View(), Required(Member("name", &View::name)), Required(steps),
             Member("sizes", &View::sizes), schedule);
}

}  // namespace

Device DeviceOf(nb::handle device) {
  if (device.is_none()) return {};
  const std::string name = Utf8Of(nb::str(device));
  if (name == "cpu" || name == "host") return {};
  if (name == "cuda") return Device::Cuda();
  if (name.starts_with("cuda:") && name.size() > 5 && name.size() < 10 &&
      name.find_first_not_of("0123456789", 5) == std::string::npos) {
    return Device::Cuda(std::stoi(name.substr(5)));
  }
  throw Error(ErrorCode::kInvalidArgument,
              "there is no device \"" + name + "\"; give \"cpu\", \"cuda\" or \"cuda:N\"");
}

void BindLoaderOptions(nb::module_& module) {
  BindWords<Shuffle>(module);
  BindWords<LastBatch>(module);
  BindWords<Layout>(module);
  BindWords<ImageSizes>(module);
  BindWords<Verify>(module);
  BindWords<OnFault>(module);
  BindWords<DeletedSamples>(module);
  BindWords<DecodeOn>(module);
  BindWords<ImagesIn>(module);
  BindOrder(module);
  BindView(module);
  BindOptions<RankOptions>(module);
  BindOptions<Mapped>(module);
  BindOptions<Locked>(module);
  BindOptions<Direct>(module);
  BindOptions<DecodedPictures, 1>(module);
  BindOptions<Stage, 2>(module);
  BindOptions<SharedRows, 1>(module);
  BindOptions<RingOptions>(module, {.hold = kHold});
  BindOptions<BoxRule>(module);
  BindOptions<OutputOptions>(module);
  BindOptions<IntegrityOptions>(module);
  BindOptions<OnDevice>(module);
  BindOptions<DiagnosticsOptions>(module);
}

}  // namespace sluice::python
