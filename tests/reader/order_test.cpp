// The order of an epoch's samples: a permutation, computed from the position, that opens few blocks
// at once.
#include "reader/order/order.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include <malloc.h>

#include "format/random.h"
#include "reader/dataset/rank_epoch.h"
#include "reader/loader/checked_options.h"
#include "reader/loader/loader_setup.h"
#include "tests/catch.h"
#include "tests/reader/process_memory.h"

using namespace sluice;
using namespace sluice::test;

namespace {

DatasetShape::Shard ShardOf(std::uint64_t samples, std::uint32_t block_samples) {
  return {samples, (samples + block_samples - 1) / block_samples, block_samples, samples * 1000};
}

DatasetShape Equal(std::uint64_t shards, std::uint64_t samples, std::uint32_t block_samples) {
  return DatasetShape(std::vector(shards, ShardOf(samples, block_samples)));
}

// Shards of 1 to 90 samples in blocks of 8; every seventh has blocks of 5.
DatasetShape Uneven() {
  std::vector<DatasetShape::Shard> shards;
  RandomStream random(3, static_cast<Purpose>(999), 0);
  for (int s = 0; s < 60; ++s) {
    const std::uint32_t block_samples = s % 7 == 0 ? 5 : 8;
    shards.push_back(ShardOf(1 + random.Below(90), block_samples));
  }
  return DatasetShape(shards);
}

std::vector<std::uint64_t> Play(const DatasetShape& shape, const OrderParameters& options,
                                std::uint64_t epoch) {
  EpochOrder order(shape, options, epoch);
  std::vector<std::uint64_t> opened;
  std::vector<std::uint64_t> samples;
  for (std::uint64_t p = 0; p < shape.samples(); ++p)
    samples.push_back(order.At(p, opened).index);
  return samples;
}

std::vector<DatasetShape> Shapes() {
  return {Equal(1, 1, 8),    Equal(1, 7, 8),    Equal(3, 64, 8), Equal(5, 1003, 8),
          Equal(40, 200, 8), Equal(2, 3000, 1), Uneven()};
}

}  // namespace

TEST_CASE(
    "A run of positions gives the samples, and opens the blocks, that its single positions give") {
  for (const DatasetShape& shape : Shapes()) {
    for (const Shuffle shuffle : {Shuffle::kQuasiRandom, Shuffle::kRandom, Shuffle::kSequential}) {
      for (const std::uint64_t stride : {1, 4, 12}) {
        // With 12 lanes, strides of 1, 4 and 12 visit all lanes, three lanes and one lane. A window
        // has ten blocks of 8 samples if the stride is 4, else one block.
        const std::uint64_t window = stride == 4 ? 10 * 8000 * 12 : 1;
        const OrderParameters options{shuffle, 5, 12, window};
        EpochOrder one(shape, options, 2);
        EpochOrder many(shape, options, 2);
        std::vector<std::uint64_t> opened_by_one;
        std::vector<std::uint64_t> opened_by_many;
        std::vector<SampleRef> run(37);
        for (std::uint64_t p = stride - 1; p < shape.samples(); p += run.size() * stride) {
          run.resize(std::min<std::uint64_t>(37, (shape.samples() - p + stride - 1) / stride));
          many.Run(p, stride, run, opened_by_many);
          for (std::size_t i = 0; i < run.size(); ++i) {
            const SampleRef sample = one.At(p + i * stride, opened_by_one);
            REQUIRE(run[i].index == sample.index);
            REQUIRE(run[i].shard == sample.shard);
            REQUIRE(run[i].block == sample.block);
            REQUIRE(run[i].record == sample.record);
          }
          REQUIRE(opened_by_many == opened_by_one);
        }
      }
    }
  }
}

TEST_CASE(
    "A rank's own rows come first in a batch, at equal distances, and the rest only fill it up") {
  const DatasetShape shape = Equal(3, 101, 8);
  for (const bool by_shards : {false, true}) {
    for (const unsigned rank : {0U, 2U}) {
      const Deal deal(shape, {10, rank, 3, LastBatch::kPad, by_shards, 4, std::nullopt});
      const EpochSize size = deal.SizeOf(1);
      for (std::uint64_t batch = 0; batch < size.batches; ++batch) {
        const Deal::OwnRows own = deal.OwnRowsOf(size, batch, 10);
        for (std::size_t row = 0; row < 10; ++row) {
          const Deal::Row dealt = deal.RowOf(size, batch, row);
          REQUIRE(dealt.fills_up == (row >= own.count));
          if (dealt.fills_up) continue;
          REQUIRE(dealt.position == own.position + row * own.stride);
          REQUIRE(dealt.draw_position == own.draw_position + row * own.draw_stride);
        }
      }
    }
  }
}

TEST_CASE("Every order plays every sample exactly once an epoch") {
  for (const DatasetShape& shape : Shapes()) {
    for (const Shuffle shuffle : {Shuffle::kQuasiRandom, Shuffle::kRandom, Shuffle::kSequential}) {
      for (const std::uint32_t lanes : {1U, 5U, 192U}) {
        for (const std::uint64_t window :
             {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{100'000}}) {
          std::vector<std::uint64_t> samples = Play(shape, {shuffle, 9, lanes, window}, 2);
          std::sort(samples.begin(), samples.end());
          for (std::uint64_t i = 0; i < samples.size(); ++i)
            REQUIRE(samples[i] == i);
        }
      }
    }
  }
}

TEST_CASE("Windows may be as large as numbers allow", "[no-tsan]") {
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
  for (const DatasetShape& shape : Shapes()) {
    for (const std::uint32_t lanes : {1U, 192U, 65'536U}) {
      const auto whole = Play(shape, {Shuffle::kQuasiRandom, 9, lanes, std::uint64_t{1} << 40}, 2);
      CHECK(Play(shape, {Shuffle::kQuasiRandom, 9, lanes, kLargest}, 2) == whole);
    }
  }
}

TEST_CASE("An order is a function of the position, in whatever sequence positions are asked for") {
  for (const DatasetShape& shape : Shapes()) {
    const OrderParameters options{Shuffle::kQuasiRandom, 5, 12, 50'000};
    const std::vector<std::uint64_t> in_order = Play(shape, options, 1);
    EpochOrder order(shape, options, 1);
    std::vector<std::uint64_t> opened;
    for (std::uint64_t i = 0; i < 2000; ++i) {
      const std::uint64_t p = (i * 7919 + 13) % shape.samples();
      REQUIRE(order.At(p, opened).index == in_order[p]);
    }
  }
}

TEST_CASE("Following blocks are announced before they are opened, and only once") {
  const ShardPart part{{0, 1, 3, 5, 8, 13, 21, 34}};
  for (const DatasetShape& shape : {Equal(40, 200, 8), Uneven()}) {
    for (const bool whole : {true, false}) {
      for (const std::uint64_t window : {std::uint64_t{1}, std::uint64_t{100'000}}) {
        std::uint64_t samples = 0;
        for (const std::uint32_t shard : part.shards)
          samples += shape.shards()[shard].samples;
        EpochOrder order(shape, {Shuffle::kQuasiRandom, 9, 5, window}, 2,
                         whole ? OrderPart{} : OrderPart{part});
        order.NoteFollowing();
        std::vector<std::uint64_t> opened, announced;
        std::vector<std::size_t> opened_before;  // blocks opened before each was announced
        for (std::uint64_t p = 0; p < (whole ? shape.samples() : samples); ++p) {
          order.At(p, opened);
          while (const auto block = order.TakeFollowing()) {
            announced.push_back(*block);
            opened_before.push_back(opened.size());
          }
        }
        // The first windows and the tail are not announced.
        REQUIRE(announced.size() > opened.size() / 2);
        REQUIRE(std::set(announced.begin(), announced.end()).size() == announced.size());
        for (std::size_t i = 0; i < announced.size(); ++i) {
          const auto at = std::find(opened.begin(), opened.end(), announced[i]);
          REQUIRE(at != opened.end());
          REQUIRE(std::size_t(at - opened.begin()) >= opened_before[i]);
        }
      }
    }
  }
}

TEST_CASE("Following blocks are announced in opening order, without those already open") {
  constexpr std::uint64_t kLanes = 12;
  for (const DatasetShape& shape : {Equal(40, 200, 8), Uneven()}) {
    for (const std::uint64_t begin : {0, 333, 1000}) {
      const OrderParameters options{Shuffle::kQuasiRandom, 9, kLanes, 50'000};
      EpochOrder order(shape, options, 2);
      order.NoteFollowing();
      std::vector<std::uint64_t> opened;
      std::uint64_t p = begin;
      for (; p < begin + 5 * kLanes; ++p)
        order.At(p, opened);  // some lanes have moved to their next windows
      const std::size_t open = opened.size();
      std::vector<std::uint64_t> announced;
      while (const auto block = order.TakeFollowing())
        announced.push_back(*block);
      REQUIRE(announced.size() >= kLanes);
      for (; p < shape.samples(); ++p)
        order.At(p, opened);
      std::size_t last = open;
      for (const std::uint64_t block : announced) {
        const auto at = std::find(opened.begin(), opened.end(), block);
        REQUIRE(at != opened.end());
        REQUIRE(std::size_t(at - opened.begin()) >= last);
        last = std::size_t(at - opened.begin());
      }
    }
  }
}

TEST_CASE("A repeated position opens the block of its sample, and no window") {
  const DatasetShape shape = Equal(40, 200, 8);
  const OrderParameters options{Shuffle::kQuasiRandom, 9, 12, 100'000};
  const std::vector<std::uint64_t> in_order = Play(shape, options, 2);
  EpochOrder order(shape, options, 2);
  order.NoteFollowing();
  std::vector<std::uint64_t> opened;
  for (std::uint64_t p = 0; p < shape.samples(); ++p)
    order.At(p, opened);
  while (order.TakeFollowing()) {
  }
  std::set<std::uint64_t> open;
  for (std::uint64_t p = 0; p < 60; ++p) {
    opened.clear();
    const SampleRef sample = order.At(p, opened, true);
    CHECK(sample.index == in_order[p]);
    const std::uint64_t block = shape.first_block(sample.shard) + sample.block;
    CHECK(opened.size() == (open.insert(block).second ? 1 : 0));
    for (const std::uint64_t one : opened)
      CHECK(one == block);
  }
  CHECK_FALSE(order.TakeFollowing());
}

TEST_CASE("Orders without windows announce no following blocks") {
  const DatasetShape shape = Equal(3, 64, 8);
  for (const Shuffle shuffle : {Shuffle::kRandom, Shuffle::kSequential}) {
    EpochOrder order(shape, {shuffle, 9}, 2);
    order.NoteFollowing();
    std::vector<std::uint64_t> opened;
    order.At(0, opened);
    CHECK_FALSE(order.TakeFollowing());
  }
}

TEST_CASE("An order over a thousand million samples needs no list of them") {
  const DatasetShape shape = Equal(1000, 1'000'000, 100);
  for (const Shuffle shuffle : {Shuffle::kQuasiRandom, Shuffle::kRandom, Shuffle::kSequential}) {
    const std::uint64_t before = AnonymousBytes();
    EpochOrder order(shape, {shuffle, 4}, 7);
    std::vector<std::uint64_t> opened;
    std::set<std::uint64_t> samples;
    const std::uint64_t places[] = {0, 123'456'789, 999'990'000};
    for (const std::uint64_t place : places) {
      for (std::uint64_t p = place; p < place + 10'000; ++p) {
        const SampleRef ref = order.At(p, opened);
        REQUIRE(ref.index < 1'000'000'000);
        REQUIRE(ref.index == ref.shard * std::uint64_t{1'000'000} + ref.block * 100 + ref.record);
        samples.insert(ref.index);
      }
    }
    CHECK(samples.size() == 30'000);
    // A list of the samples would take more than four billion bytes. The set `samples`, which is
    // counted, too, takes little.
    if (!kSanitized) CHECK(AnonymousBytes() < before + (16 << 20));
  }
}

TEST_CASE(
    "An order over blocks of different sizes stays under its memory bound, announcements "
    "included") {
  // The shape of a merge of two datasets.
  const DatasetShape shape({ShardOf(1'500'000, 3), ShardOf(2'000'000, 200)});
  const auto allocated = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  LoaderOptions options;
  const std::uint64_t window = 2 * 200 * std::uint64_t{options.order.lanes};
  const std::uint64_t bound = OrderBytes(shape, options, window);
  const std::size_t before = allocated();
  const EpochOrder order(shape, OrderParametersOf(options), 0);
  const std::size_t taken = allocated() - before;
  if (kSanitized) return;  // under a sanitizer, allocated() counts nothing
  CHECK(taken > 8'000'000);
  CHECK(taken <= bound);
}

TEST_CASE("Ranks read about 1/W each, also with blocks of several sizes") {
  // A merge of two datasets, and a list that takes few samples from most blocks and many from some.
  const DatasetShape merged({ShardOf(15'000, 3), ShardOf(20'000, 200)});
  std::vector<DatasetShape::Shard> blocks;
  for (std::uint64_t b = 0; b < 3000; ++b)
    blocks.push_back(ShardOf(b % 13 == 0 ? 40 : 1 + b % 3, b % 13 == 0 ? 40 : 1 + b % 3));
  for (const DatasetShape& shape : {merged, DatasetShape(blocks)}) {
    OrderParameters options;
    options.lanes = 24;
    options.window_bytes = 24 * 400 * 1000;
    const std::vector<std::uint64_t> played = Play(shape, options, 3);
    REQUIRE(std::set(played.begin(), played.end()).size() == shape.samples());
    for (const std::uint64_t world_size : {2U, 4U, 8U}) {
      for (std::uint64_t rank = 0; rank < world_size; ++rank) {
        std::set<std::uint64_t> read;
        for (std::uint64_t p = rank; p < played.size(); p += world_size) {
          const SampleRef ref = shape.Sample(played[p]);
          read.insert(shape.first_block(ref.shard) + ref.block);
        }
        std::uint64_t samples = 0;
        for (const std::uint64_t block : read)
          samples += shape.SamplesIn(block);
        // Lanes differ by less than a block; a rank may read all blocks of the tail.
        const std::uint64_t tail = 24 * shape.max_block_samples();
        CHECK(samples <= (shape.samples() - tail) / world_size + 2 * tail);
      }
    }
  }
}

TEST_CASE("A sample's shard, block and row are found from its number") {
  const DatasetShape shape = Uneven();
  EpochOrder order(shape, {Shuffle::kQuasiRandom, 5, 12, 0}, 1);
  std::vector<std::uint64_t> opened;
  for (std::uint64_t p = 0; p < shape.samples(); ++p) {
    const SampleRef ref = order.At(p, opened);
    const SampleRef same = shape.Sample(ref.index);
    REQUIRE((ref.shard == same.shard && ref.block == same.block && ref.record == same.record));
  }
}

TEST_CASE("Sequential order is the stored order, and seeds and epochs change the other orders") {
  const DatasetShape shape = Equal(4, 500, 8);
  const std::vector<std::uint64_t> sequential = Play(shape, {Shuffle::kSequential, 1, 192, 0}, 0);
  REQUIRE(std::is_sorted(sequential.begin(), sequential.end()));
  for (const Shuffle shuffle : {Shuffle::kQuasiRandom, Shuffle::kRandom}) {
    const auto base = Play(shape, {shuffle, 1, 16, 0}, 0);
    REQUIRE(base == Play(shape, {shuffle, 1, 16, 0}, 0));
    REQUIRE(base != Play(shape, {shuffle, 2, 16, 0}, 0));
    REQUIRE(base != Play(shape, {shuffle, 1, 16, 0}, 1));
  }
}

TEST_CASE("The quasi-random order depends on lanes and window") {
  const DatasetShape shape = Equal(20, 800, 8);
  const auto base = Play(shape, {Shuffle::kQuasiRandom, 1, 16, 300'000}, 0);
  REQUIRE(base != Play(shape, {Shuffle::kQuasiRandom, 1, 8, 300'000}, 0));
  REQUIRE(base != Play(shape, {Shuffle::kQuasiRandom, 1, 16, 900'000}, 0));
}

TEST_CASE("Each lane reads its own blocks, and has few of them open at once") {
  constexpr std::uint32_t kLanes = 8;
  const DatasetShape shape = Equal(20, 800, 8);
  const OrderParameters options{Shuffle::kQuasiRandom, 1, kLanes, 3 * kLanes * 8 * 1000};
  const std::uint64_t window = WindowBlocks(shape, options);
  REQUIRE(window == 3);
  LaneOrder order(shape, {1, kLanes, window}, 0);
  std::vector<std::uint64_t> opened;
  std::map<std::uint64_t, std::uint64_t> lane_of_block;
  std::map<std::uint64_t, std::set<std::uint64_t>> open;  // by lane: blocks begun and not finished
  std::map<std::uint64_t, std::uint64_t> played;
  for (std::uint64_t p = 0; p < order.body(); ++p) {
    const SampleRef ref = order.At(p, opened);
    const std::uint64_t block = shape.first_block(ref.shard) + ref.block;
    const std::uint64_t lane = p % kLanes;
    REQUIRE(lane_of_block.try_emplace(block, lane).first->second == lane);
    open[lane].insert(block);
    REQUIRE(open[lane].size() <= window);
    if (++played[block] == 8) open[lane].erase(block);
  }
  // The tail is what lanes have beyond the length of the shortest lane: here less than a block
  // each.
  REQUIRE(shape.samples() - order.body() <= kLanes * 8);
}

TEST_CASE(
    "In the first half of an epoch, blocks are opened before they are needed, and once each") {
  const DatasetShape shape = Equal(20, 800, 8);
  EpochOrder order(shape, {Shuffle::kQuasiRandom, 1, 16, 0}, 0);
  std::vector<std::uint64_t> opened;
  std::set<std::uint64_t> opened_so_far;
  for (std::uint64_t p = 0; p < shape.samples() / 2; ++p) {
    opened.clear();
    const SampleRef ref = order.At(p, opened);
    for (const std::uint64_t block : opened)
      REQUIRE(opened_so_far.insert(block).second);
    REQUIRE(opened_so_far.count(shape.first_block(ref.shard) + ref.block) == 1);
  }
}

TEST_CASE("A resumed epoch announces the rest, and how many samples of each block it needs") {
  std::vector<DatasetShape> shapes = Shapes();
  std::vector<OrderPart> parts(shapes.size());
  shapes.push_back(Uneven());
  parts.emplace_back(ShardPart{{1, 4, 5, 17, 30, 31, 58}});
  shapes.push_back(Equal(5, 1003, 8));
  ListPart list;
  for (std::uint64_t i = 0; i < 2000; ++i)
    list.samples.push_back(i * i % 5003);
  parts.emplace_back(list);
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    const OrderParameters options{Shuffle::kQuasiRandom, 5, 6, 6 * 40'000};
    std::uint64_t count = shapes[s].samples();
    if (std::holds_alternative<ListPart>(parts[s])) count = 2000;
    if (std::holds_alternative<ShardPart>(parts[s])) {
      count = 0;
      for (const std::uint32_t shard : std::get<ShardPart>(parts[s]).shards)
        count += shapes[s].shards()[shard].samples;
    }
    // Shapes of few blocks are played from their beginning only: if there are fewer blocks than
    // lanes (6), the whole epoch is tail.
    const std::uint64_t last = shapes[s].blocks() < 12 ? 1 : count / 2;
    for (std::uint64_t begin = 0; begin < last; begin += 1 + count / 23) {
      EpochOrder order(shapes[s], options, 1, parts[s]);
      std::vector<std::uint64_t> opened;
      std::map<std::uint64_t, std::uint64_t> left;
      for (std::uint64_t p = begin; p < count; ++p) {
        opened.clear();
        const SampleRef ref = order.At(p, opened);
        for (const std::uint64_t block : opened)
          REQUIRE(left.emplace(block, order.SamplesIn(block)).second);
        REQUIRE(left[shapes[s].first_block(ref.shard) + ref.block]-- > 0);
      }
      for (const auto& [block, samples] : left)
        REQUIRE(samples == 0);
    }
  }
}

TEST_CASE("A batch of a class-sorted dataset shows as many classes as the simulation") {
  // 1,281,167 samples in 1000 sorted classes, blocks of 8: independent draws show 641 distinct
  // classes in a batch of 1024; 192 lanes with windows of 4 blocks show 472, according to an
  // independent simulation.
  constexpr std::uint64_t kSamples = 1'281'167;
  std::vector<DatasetShape::Shard> shards;
  for (std::uint64_t left = kSamples; left > 0;) {
    const std::uint64_t samples = std::min<std::uint64_t>(left, 1280);
    shards.push_back({samples, (samples + 7) / 8, 8, samples * 50'000});
    left -= samples;
  }
  const DatasetShape shape(shards);
  const auto distinct = [&](LaneOrder& order) {
    std::vector<std::uint64_t> opened;
    double sum = 0;
    for (std::uint64_t b = 0; b < 40; ++b) {
      std::set<std::uint64_t> classes;
      for (std::uint64_t i = 0; i < 1024; ++i) {
        classes.insert(order.At((b * 30 + 3) * 1024 + i, opened).index * 1000 / kSamples);
      }
      sum += double(classes.size());
    }
    return sum / 40;
  };
  LaneOrder four(shape, {1, 192, 4}, 0);
  LaneOrder sixteen(shape, {1, 192, 16}, 0);
  REQUIRE(distinct(four) == Approx(472).epsilon(0.05));
  REQUIRE(distinct(sixteen) == Approx(597).epsilon(0.05));
}
