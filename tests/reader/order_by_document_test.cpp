// The order of version 1 is the one in reader/ORDER.md: a script that implements that page alone
// (order_by_document.py) computed the expected values.
#include <algorithm>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "reader/order/deal.h"
#include "reader/order/mixture_order.h"
#include "reader/order/order.h"
#include "reader/order/sample_draw.h"
#include "tests/catch.h"

using namespace sluice;

namespace {

struct Documented {
  const char* name;
  std::size_t samples;
  std::uint64_t digest;  // FNV-1a, by words of 64 bits
  std::vector<std::uint64_t> first;
};

const std::vector<Documented>& AllDocumented() {
  static const std::vector<Documented> all = {
#include "tests/reader/order_by_document.inc"
  };
  return all;
}

void RequireDocumented(const std::string& name, const std::vector<std::uint64_t>& samples) {
  INFO(name);
  std::uint64_t digest = 14695981039346656037U;
  for (const std::uint64_t sample : samples)
    digest = (digest ^ sample) * 1099511628211U;
  for (const Documented& documented : AllDocumented()) {
    if (documented.name != name) continue;
    REQUIRE(samples.size() == documented.samples);
    for (std::size_t i = 0; i < documented.first.size(); ++i)
      CHECK(samples[i] == documented.first[i]);
    CHECK(digest == documented.digest);
    return;
  }
  FAIL("the script prints no epoch of this name");
}

DatasetShape::Shard DocumentedShard(std::uint64_t samples, std::uint32_t block_samples,
                                    std::uint64_t bytes) {
  return {samples, (samples + block_samples - 1) / block_samples, block_samples, bytes};
}

// The script has the same shapes.
DatasetShape DocumentedShape(const std::string& name) {
  std::vector<DatasetShape::Shard> shards;
  if (name == "even") shards.resize(5, DocumentedShard(1003, 8, 1003 * 1000));
  if (name == "whole") shards.resize(12, DocumentedShard(1024, 16, 1024 * 1000));
  if (name == "one") shards = {DocumentedShard(1, 8, 1000)};
  if (name == "tiny") shards = {DocumentedShard(7, 8, 7000)};
  if (name == "large") shards = {DocumentedShard(300'007, 4, 300'007 * 100)};
  for (std::uint64_t s = 0; s < 60 && (name == "many" || name == "merged"); ++s) {
    const std::uint64_t samples = 1 + s * 37 % 90;
    shards.push_back(name == "many" ? DocumentedShard(samples, 8, 2000 * samples)
                                    : DocumentedShard(samples, s % 7 == 0 ? 5 : 8, 500 * samples));
  }
  return DatasetShape(shards);
}

// Asks an order backwards: each of the dataset's samples has exactly the positions at which it was
// played.
void RequireBackwards(EpochOrder& order, std::uint64_t samples,
                      const std::vector<std::uint64_t>& played) {
  std::vector<std::vector<std::uint64_t>> positions(samples);
  for (std::uint64_t p = 0; p < played.size(); ++p)
    positions[played[p]].push_back(p);
  std::uint64_t wrong = 0;
  std::vector<std::uint64_t> asked;
  for (std::uint64_t sample = 0; sample < samples; ++sample) {
    asked.clear();
    order.AddPositionsOf(sample, asked);
    if (asked != positions[sample]) ++wrong;
  }
  CHECK(wrong == 0);
}

std::vector<std::uint64_t> EpochOf(const DatasetShape& shape, const OrderParameters& options,
                                   std::uint64_t epoch, OrderPart part = {}) {
  const auto* const list = std::get_if<ListPart>(&part);
  const std::uint64_t count = list != nullptr ? list->samples.size() : shape.samples();
  EpochOrder backwards(shape, options, epoch, part);
  EpochOrder order(shape, options, epoch, std::move(part));
  std::vector<std::uint64_t> opened;
  std::vector<std::uint64_t> samples;
  for (std::uint64_t p = 0; p < count; ++p)
    samples.push_back(order.At(p, opened).index);
  RequireBackwards(backwards, shape.samples(), samples);
  return samples;
}

}  // namespace

TEST_CASE("Quasi-random epochs are those of ORDER.md") {
  std::size_t compared = 0;
  for (const Documented& documented : AllDocumented()) {
    std::istringstream words(documented.name);
    std::string shape;
    OrderParameters options;
    std::uint64_t epoch = 0;
    if (!(words >> shape >> options.lanes >> options.window_bytes >> options.seed >> epoch))
      continue;
    RequireDocumented(documented.name, EpochOf(DocumentedShape(shape), options, epoch));
    ++compared;
  }
  CHECK(compared == 41);
}

TEST_CASE("Random epochs, and those of lists, are those of ORDER.md") {
  for (const std::string shape : {"even", "large"}) {
    RequireDocumented("random " + shape, EpochOf(DocumentedShape(shape), {Shuffle::kRandom, 7}, 3));
  }
  const DatasetShape even = DocumentedShape("even");
  ListPart list;
  for (std::uint64_t i = 0; i < 900; ++i)
    list.samples.push_back(i * i * 7 % even.samples());
  RequireDocumented("list", EpochOf(even, {Shuffle::kQuasiRandom, 5, 12, 200'000}, 1, list));
  // The script has no lists in these two ways; EpochOf() asks them backwards.
  EpochOf(even, {Shuffle::kRandom, 5}, 1, list);
  EpochOf(even, {Shuffle::kSequential}, 1, list);
}

TEST_CASE("Draws by weight and by class, and the deal of shards to ranks, are those of ORDER.md") {
  WeightedDraw weighted{{}, 800, true};
  for (std::uint64_t i = 0; i < 500; ++i)
    weighted.weights.push_back((i * 37 % 11) << 20);
  RequireDocumented("weighted with", Draw(weighted, 3, 6));
  const DatasetShape even = DocumentedShape("even");
  EpochOf(even, {Shuffle::kQuasiRandom, 3, 12}, 6, ListPart{Draw(weighted, 3, 6)});
  weighted.count = 300;
  weighted.replacement = false;
  RequireDocumented("weighted without", Draw(weighted, 3, 6));
  BalancedDraw balanced{{{0, 1, 2, 3, 4}, {5, 6}, {}}, 12};
  for (std::uint64_t i = 7; i < 107; ++i)
    balanced.classes[2].push_back(i);
  RequireDocumented("balanced", Draw(balanced, 3, 6));
  EpochOf(even, {Shuffle::kQuasiRandom, 3, 12}, 6, ListPart{Draw(balanced, 3, 6)});
  const DatasetShape merged = DocumentedShape("merged");
  std::vector<std::uint64_t> rank_of(merged.shards().size());
  DealOptions options;
  options.world_size = 7;
  options.by_shards = true;
  options.seed = 3;
  for (options.rank = 0; options.rank < 7; ++options.rank) {
    const ShardPart part{Deal(merged, options).ShardsOf(6)};
    std::uint64_t count = 0;
    for (const std::uint32_t shard : part.shards) {
      rank_of[shard] = options.rank;
      count += merged.shards()[shard].samples;
    }
    const OrderParameters lanes{Shuffle::kQuasiRandom, 3, 12, 200'000};
    EpochOrder order(merged, lanes, 6, part), backwards(merged, lanes, 6, part);
    std::vector<std::uint64_t> opened, samples;
    for (std::uint64_t p = 0; p < count; ++p)
      samples.push_back(order.At(p, opened).index);
    RequireBackwards(backwards, merged.samples(), samples);
  }
  RequireDocumented("dealt", rank_of);
}

namespace {

void RequireDocumentedMixture(const std::string& name, const std::vector<std::string>& shapes,
                              MixtureParameters parameters, std::uint64_t window_bytes,
                              std::uint64_t epoch) {
  std::vector<DatasetShape> parts;
  std::vector<DatasetShape::Shard> shards;
  for (const std::string& shape : shapes) {
    parts.push_back(DocumentedShape(shape));
    shards.insert(shards.end(), parts.back().shards().begin(), parts.back().shards().end());
  }
  const auto plan = std::make_shared<MixturePlan>(std::move(parts), parameters);
  const DatasetShape shape(shards);
  const OrderParameters options{Shuffle::kQuasiRandom, 8, parameters.lanes, window_bytes};
  EpochOrder order(shape, options, epoch, MixturePart{plan});
  std::vector<std::uint64_t> opened;
  std::vector<std::uint64_t> samples;
  for (std::uint64_t p = 0; p < plan->positions(); ++p)
    samples.push_back(order.At(p, opened).index);
  RequireDocumented(name, samples);
  EpochOrder backwards(shape, options, epoch, MixturePart{plan});
  RequireBackwards(backwards, shape.samples(), samples);
}

}  // namespace

TEST_CASE("Epochs of mixtures are those of ORDER.md") {
  const std::vector<std::string> shapes = {"even", "one", "many", "whole"};
  for (const std::uint64_t epoch : {0, 3}) {
    MixtureParameters parameters{{1, 0.25, 0.5, 1}};
    parameters.lanes = 12;
    const auto require = [&](const std::string& name) {
      RequireDocumentedMixture("mixture " + name + " " + std::to_string(epoch), shapes, parameters,
                               200'000, epoch);
    };
    require("first");
    parameters.length = MixtureLength::kShortest;
    require("shortest");
    parameters.length = MixtureLength::kSamples;
    parameters.samples = 7001;
    require("samples");
    parameters.length = MixtureLength::kFirst;
    parameters.shares = MixtureShares::kOfEachBatch;
    parameters.batch_size = 21;
    parameters.world_size = 3;
    require("batches");
  }
  MixtureParameters parameters{{8, 5}};
  parameters.length = MixtureLength::kSamples;
  parameters.samples = 700;
  RequireDocumentedMixture("mixture tail", {"many", "tiny"}, parameters, 0, 1);
}

TEST_CASE("Partners are those of ORDER.md") {
  std::size_t compared = 0;
  for (const Documented& documented : AllDocumented()) {
    std::istringstream words(documented.name);
    std::string kind, name;
    OrderParameters options;
    std::uint64_t epoch = 0;
    if (!(words >> kind >> name >> options.lanes >> options.window_bytes >> options.seed >> epoch))
      continue;
    const DatasetShape shape = DocumentedShape(name);
    options.uses = 4;
    EpochOrder order(shape, options, epoch);
    std::vector<std::uint64_t> found;
    for (std::uint64_t p = 0; p < shape.samples(); ++p)
      for (std::size_t j = 0; j < 3; ++j)
        found.push_back(order.PartnerOf(p, j));
    RequireDocumented(documented.name, found);
    ++compared;
  }
  CHECK(compared == 30);
  for (const std::uint64_t n : {1U, 2U, 3U, 4U, 5U, 100U, 5015U}) {
    Partners partners(7, 3);
    std::vector<std::uint64_t> found;
    for (std::uint64_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < 3; ++j)
        found.push_back(partners.InCycle(j, i, n));
    RequireDocumented("cycle " + std::to_string(n), found);
  }
}

// Plays the rest of an epoch from `begin` on, as one of `world` ranks does: each sample and then
// its partners. Each block must be opened before it is used, and as often as SamplesIn() says.
void RequireCounted(const DatasetShape& shape, const OrderParameters& options, std::uint64_t begin,
                    std::uint64_t world, std::uint64_t body) {
  EpochOrder order(shape, options, 2);
  std::vector<std::uint64_t> left(shape.blocks()), opened;
  const auto use = [&](std::uint64_t position) {
    opened.clear();
    const SampleRef ref = order.At(position, opened);
    for (const std::uint64_t block : opened)
      left[block] = order.SamplesIn(block);
    std::uint64_t& of_block = left[shape.first_block(ref.shard) + ref.block];
    REQUIRE(of_block > 0);
    --of_block;
  };
  for (std::uint64_t p = begin; p < body; p += world) {
    use(p);
    for (std::size_t j = 0; j < 3; ++j) {
      const std::uint64_t partner = order.PartnerOf(p, j);
      REQUIRE(partner % world == p % world);
      use(partner);
    }
  }
  // What is left is for the tail, whose rows other ranks play, too.
  std::uint64_t waiting = 0;
  for (const std::uint64_t uses : left)
    waiting += uses;
  CHECK(waiting <= 4 * (shape.samples() - body));
}

TEST_CASE("Every sample is shown four times, and blocks are used as often as announced") {
  for (const std::string name : {"even", "whole", "many", "merged"}) {
    const DatasetShape shape = DocumentedShape(name);
    OrderParameters options{Shuffle::kQuasiRandom, 3, 24, 60'000};
    options.uses = 4;
    EpochOrder order(shape, options, 2);
    std::vector<unsigned> shown(shape.samples());
    for (std::uint64_t p = 0; p < shape.samples(); ++p) {
      ++shown[p];
      for (std::size_t j = 0; j < 3; ++j)
        ++shown[order.PartnerOf(p, j)];
    }
    CHECK(std::ranges::count(shown, 4U) == static_cast<std::ptrdiff_t>(shape.samples()));
    const LaneOrder lanes(shape, {options.seed, options.lanes, WindowBlocks(shape, options)}, 2);
    for (const std::uint64_t world : {1U, 3U})
      for (const std::uint64_t begin : {0U, 1U, 23U, 24U, 100U, 500U, 1001U, 1500U})
        RequireCounted(shape, options, std::min<std::uint64_t>(begin, lanes.body()), world,
                       lanes.body());
  }
}
