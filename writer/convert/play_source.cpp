// A source that is played without a conversion: its plan is the plan of a conversion, and its
// samples are made by a conversion's code when they are asked for.
//
// PlaySource() makes the list of samples as Convert() does, and shares Convert()'s plan: so a
// sample has the number, shard and block that it would have in the dataset. What a manifest says of
// images must be known before the first batch (a loader makes room for the largest): the beginnings
// of all files tell their sizes (image_survey.h). The rest of a manifest follows from the list. All
// of this can be kept in an index (source_index.h).
#include <algorithm>

#include <sluice/cpu.h>
#include <sluice/error.h>
#include <sluice/play_source.h>

#include "format/disk/shard_build.h"
#include "writer/convert/conversion.h"
#include "writer/convert/image_survey.h"
#include "writer/convert/kept_values.h"
#include "writer/convert/options.h"
#include "writer/convert/played_source.h"
#include "writer/convert/report.h"
#include "writer/convert/source_compiler.h"
#include "writer/convert/source_index.h"
#include "writer/shard_writer.h"
#include "writer/source/check_source.h"
#include "writer/source/open_source.h"
#include "writer/text.h"

namespace sluice {

namespace {

ConvertOptions ConversionOf(const PlayOptions& options) {
  ConvertOptions convert;
  convert.geometry = options.geometry;
  convert.form = options.form;
  convert.shards = options.shards;
  convert.run.max_pixels = options.max_pixels;
  return convert;
}

void Warn(const SourceList& list, const PlayOptions& options) {
  if (!options.on_warning) return;
  if (!list.broken.empty()) {
    const LeftOut& first = list.broken.front();
    options.on_warning(std::to_string(list.broken.size()) +
                       (list.broken.size() == 1 ? " file cannot" : " files cannot") +
                       " be played, such as " + ToUtf8(first.path) + ": " + first.reason);
  }
  for (const std::string& warning : list.warnings)
    options.on_warning(warning);
}

}  // namespace

std::shared_ptr<SampleSupply> PlaySource(const ConvertSource& source, const PlayOptions& options,
                                         const std::stop_token& stop) {
  const ConvertOptions convert = ConversionOf(options);
  const bool second =
      std::any_of(source.rows.columns.begin(), source.rows.columns.end(),
                  [](const Column& column) { return column.type == ColumnType::kImage; });
  if (convert.form.pixels == PixelValues::kKeep || second) {
    throw Error(ErrorCode::kUnsupported,
                std::string(second ? "a column of second images" : "pixels keep") +
                    " needs a conversion; convert the source, and play the dataset");
  }
  CheckOptions(convert);
  CheckSource(source);
  if (!options.compile_to.empty()) SourceCompiler::CheckFolder(source, options.compile_to);
  std::error_code ignored;
  if (!options.index.empty() && std::filesystem::exists(options.index, ignored)) {
    IndexedSource found = ReadIndex(options.index, source, convert, stop);
    Warn(found.input.sources, options);
    return SupplyOf(std::move(found.input), std::move(found.images), source, options, stop);
  }
  const unsigned threads = options.threads != 0 ? options.threads : AvailableCpus();
  const nlohmann::json files =
      options.index.empty() ? nlohmann::json() : FilesOfSource(source, stop);
  ConvertHooks hooks;
  hooks.stop = stop;
  hooks.on_look = options.on_look;
  SourceList list = OpenSource(source, threads, hooks);
  FindForms(convert, stop, list);
  for (std::size_t i = 0; i < list.sources.size(); ++i) {
    const std::int64_t time = TimeOf(list, i);
    if (time != 0) list.sources[i].changed = time;
  }
  ConversionInput input(std::move(list), convert);
  const Probe probe = ProbeSizes(input, threads, stop);
  SettlePlan(convert, probe.mean_bytes, BuildShardHeader(input.schema, {}, 1).size(), input.plan);
  // The same warnings as a dry run of the conversion gives.
  ConvertSummary summary = BeginSummary(input.sources);
  SummarizeProbe(input, probe, summary);
  AddSuspicions(input.sources, convert, false, summary);
  input.sources.warnings = std::move(summary.warnings);
  std::vector<ImageFigures> images = SurveyImages(input, probe, threads, options, stop);
  if (!options.index.empty()) WriteIndex(options.index, source, files, input, images);
  Warn(input.sources, options);
  return SupplyOf(std::move(input), std::move(images), source, options, stop);
}

std::shared_ptr<SampleSupply> PlaySource(const std::filesystem::path& place,
                                         const PlayOptions& options, const std::stop_token& stop) {
  return PlaySource(SourceAt(place), options, stop);
}

}  // namespace sluice
