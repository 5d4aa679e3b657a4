#include "tests/fuzz/targets.h"

#include <cstdio>
#include <cstdlib>

#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/forged_targets.h"
#include "tests/fuzz/jpeg_mutate.h"
#include "tests/fuzz/mutate.h"

namespace sluice::fuzz {

std::vector<Target> Targets() {
  std::vector<Target> targets = {
      {"manifest", RunManifest, ManifestSeeds, 600},
      {"receipt", RunReceipt, ReceiptSeeds, 600},
      {"schema", RunSchema, SchemaSeeds, 600},
      {"keys", RunKeys, KeysSeeds, 400},
      {"shard", RunShard, ShardSeeds, 400},
      {"payload", RunPayload, PayloadSeeds, 150, MutatePayload},
      {"jpeg", RunJpeg, JpegSeeds, 50, MutateJpeg},
      {"packed", RunPacked, PackedSeeds, 150},
      {"tiled", RunTiled, TiledSeeds, 400, MutateTiled},
      {"plan", RunPlan, PlanSeeds, 1000},
      {"origin", RunOrigin, OriginSeeds, 1000},
      {"source", RunSource, SourceSeeds, 80},
      {"values", RunValues, ValuesSeeds, 80},
      {"picture", RunPicture, PictureSeeds, 40, MutateBoxes},
      {"table", RunTable, TableSeeds, 150},
      {"tar", RunTar, TarSeeds, 400},
#ifdef SLUICE_HAS_REMOTE
      {"listing", RunListing, ListingSeeds, 2000},
      {"credentials", RunCredentials, CredentialsSeeds, 2000},
      {"url", RunStoreUrl, StoreUrlSeeds, 2000},
#endif
      {"labels", RunLabels, LabelsSeeds, 150},
      {"instances", RunInstances, InstancesSeeds, 2000},
      {"parquet", RunParquet, ParquetSeeds, 400},
      {"beton", RunBeton, BetonSeeds, 400},
      {"records", RunRecords, RecordsSeeds, 400},
  };
  for (const std::span<const Target> forged : {ForgedTargets(), CommandTargets()})
    targets.insert(targets.end(), forged.begin(), forged.end());
  return targets;
}

const Target& TargetNamed(const char* name) {
  static const std::vector<Target> targets = Targets();
  for (const Target& target : targets) {
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

ScratchFile::ScratchFile(Bytes content) : file_(memfd_create("fuzz", MFD_CLOEXEC)) {
  while (!content.empty()) {
    const ssize_t put = write(file_.get(), content.data(), content.size());
    if (put <= 0) {
      std::perror("no file in memory");
      std::exit(2);
    }
    content = content.subspan(static_cast<std::size_t>(put));
  }
}

}  // namespace sluice::fuzz
