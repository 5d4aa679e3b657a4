#include "bench/convert/stages.h"

#include <algorithm>

#include <sluice/cpu.h>

#include "bench/machine/process_usage.h"
#include "writer/convert/sample_encoder.h"
#include "writer/source/open_source.h"

namespace sluice::bench {

ConvertStages MeasureStages(const ConvertSource& source, const ConvertOptions& options,
                            std::uint64_t most, const std::stop_token& stop) {
  const SourceList sources = OpenSource(source, AvailableCpus(), {.on_progress = {}, .stop = stop});
  const Schema schema = sources.MakeSchema();
  const std::uint64_t count = std::min<std::uint64_t>(most, sources.sources.size());
  ConvertStages all, one;
  double last = 0;
  SampleEncoder encoder(sources, options, schema, 0, 0);
  encoder.on_step = [&](EncodeStep step) {
    const double now = 1e3 * ThreadCpuSeconds();
    (step == EncodeStep::kRead      ? one.read
     : step == EncodeStep::kDecoded ? one.decode
                                    : one.encode) += now - last;
    last = now;
  };
  for (std::uint64_t i = 0; i < count && !stop.stop_requested(); ++i) {
    one = {};
    last = 1e3 * ThreadCpuSeconds();
    const Outcome outcome = encoder.Encode(i * sources.sources.size() / count);
    if (!outcome.reason.empty()) continue;  // the conversion itself reports what is wrong with it
    ++all.images;
    all.read += one.read;
    all.decode += one.decode;
    all.encode += one.encode;
  }
  for (double* const part : {&all.read, &all.decode, &all.encode})
    *part /= static_cast<double>(std::max<std::uint64_t>(all.images, 1));
  return all;
}

}  // namespace sluice::bench
