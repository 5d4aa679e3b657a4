#include "tests/fuzz/targets.h"

#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/jpeg_mutate.h"

namespace sluice::fuzz {

std::span<const Target> Targets() {
  static constexpr Target kTargets[] = {
      {"manifest", RunManifest, ManifestSeeds, 600},
      {"schema", RunSchema, SchemaSeeds, 600},
      {"keys", RunKeys, KeysSeeds, 400},
      {"shard", RunShard, ShardSeeds, 400},
      {"payload", RunPayload, PayloadSeeds, 150, MutatePayload},
      {"jpeg", RunJpeg, JpegSeeds, 50, MutateJpeg},
      {"packed", RunPacked, PackedSeeds, 150},
      {"plan", RunPlan, PlanSeeds, 1000},
      {"origin", RunOrigin, OriginSeeds, 1000},
      {"source", RunSource, SourceSeeds, 80},
      {"table", RunTable, TableSeeds, 150},
      {"tar", RunTar, TarSeeds, 400},
  };
  return kTargets;
}

const Target& TargetNamed(const char* name) {
  for (const Target& target : Targets()) {
    if (std::string_view(target.name) == name) return target;
  }
  std::fprintf(stderr, "there is no fuzz target \"%s\"\n", name);
  std::exit(2);
}

void Promise(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

}  // namespace sluice::fuzz
