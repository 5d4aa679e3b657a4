#include "reader/transform/view_program.h"

#include <algorithm>

#include <sluice/error.h>

#include "reader/transform/step_kind.h"

namespace sluice {

std::vector<ViewProgram> ViewsOf(const LoaderOptions& options, bool numbers_later) {
  constexpr std::size_t kMostViews = 64;
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument, "LoaderOptions::views: " + what);
  };
  if (!options.device.is_host() && !(options.views.empty() && options.sizes.empty())) {
    throw Error(ErrorCode::kInvalidArgument,
                "LoaderOptions::device takes images of one size, one for each sample; leave views "
                "and sizes empty, or device at the host");
  }
  std::vector<ViewProgram> views;
  views.push_back({"", Geometry(options.transform, options.sizes),
                   PixelProgram(options.transform, numbers_later)});
  const auto mixes = [](const Transform& step) {
    return std::holds_alternative<MixUp>(step) || std::holds_alternative<CutMix>(step);
  };
  if (!options.views.empty() &&
      std::any_of(options.transform.begin(), options.transform.end(), mixes)) {
    refuse("MixUp and CutMix mix samples of one view");
  }
  if (options.views.size() > kMostViews) refuse("there are at most 64 of them");
  for (const View& view : options.views) {
    if (view.name.empty()) refuse("each needs a name, for Batch::image(name)");
    const auto same = [&view](const ViewProgram& other) { return other.name == view.name; };
    if (std::any_of(views.begin(), views.end(), same)) {
      refuse("two of them are called \"" + view.name + "\"");
    }
    if (std::any_of(view.transform.begin(), view.transform.end(), ConcernsBatch)) {
      refuse("OneHot, MixUp and CutMix are for the first view, LoaderOptions::transform");
    }
    views.push_back(
        {view.name, Geometry(view.transform, view.sizes), PixelProgram(view.transform)});
  }
  return views;
}

}  // namespace sluice
