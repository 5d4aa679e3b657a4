// How much of memory's bandwidth decoding packed images takes.
//
// If decoding used much of it, more threads would not help. To show that, images must really come
// from memory: they are repeated over an arena several times as large as the last-level cache, and
// visited in random order. The same loop over a few images shows the rate from the cache, and plain
// copies show what the memory can deliver.
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <random>
#include <thread>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <sluice/error.h>

#include "bench/parts/decode.h"
#include "bench/report/statistics.h"
#include "format/pixels/kernels/kernels.h"
#include "format/pixels/packed/decoder.h"
#include "format/pixels/packed/layout.h"
#include "format/pixels/planar.h"
#include "tools/cli/quantity.h"

namespace sluice::bench {
namespace {

using Clock = std::chrono::steady_clock;
using cli::Format;

constexpr std::uint64_t kMinArena = std::uint64_t{256} << 20;
constexpr std::uint64_t kMaxArena = std::uint64_t{1} << 30;

// Four times the last-level cache, so that little of the data read is still in it.
std::uint64_t ArenaBytes() {
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return std::clamp<std::uint64_t>(cache > 0 ? 4 * static_cast<std::uint64_t>(cache) : 0, kMinArena,
                                   kMaxArena);
}

// Packed images, repeated until the arena is full, so that each is read from memory.
class Arena {
 public:
  Arena(const std::vector<const DecodeItem*>& items, std::uint64_t bytes) : bytes_(bytes) {
    std::size_t at = 0;
    for (std::size_t i = 0;; ++i) {
      const DecodeItem& item = *items[i % items.size()];
      const std::size_t size = item.packed.bytes.size();
      if (at + size > bytes_.size()) break;
      std::memcpy(&bytes_[at], item.packed.bytes.data(), size);
      Place place{item.packed, &item};
      place.payload.bytes = {&bytes_[at], size};
      places_.push_back(place);
      at += AlignUp(size, kPayloadAlignment);
    }
    std::mt19937_64 random(0);
    std::shuffle(places_.begin(), places_.end(), random);
  }

  struct Place {
    ImagePayload payload;
    const DecodeItem* item;
  };
  const std::vector<Place>& places() const noexcept { return places_; }

 private:
  std::vector<std::byte> bytes_;
  std::vector<Place> places_;
};

// Seconds from when all threads have started until all have done `work(thread)`.
double SecondsOf(unsigned threads, const std::function<void(unsigned)>& work) {
  std::vector<std::exception_ptr> failures(threads);
  Clock::time_point begin;
  std::barrier start(static_cast<std::ptrdiff_t>(threads),
                     [&begin]() noexcept { begin = Clock::now(); });
  {
    std::vector<std::jthread> workers;
    for (unsigned t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        start.arrive_and_wait();
        try {
          work(t);
        } catch (...) {
          failures[t] = std::current_exception();
        }
      });
    }
  }
  const std::chrono::duration<double> taken = Clock::now() - begin;
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return std::max(taken.count(), 1e-9);
}

// One thread's decoders and buffers.
struct Worker {
  packed::Decoder decoder{kernels::Chosen()};
  PlanarResampler planar{kernels::Chosen()};
  std::vector<std::uint8_t> rgb;

  void Decode(const ImagePayload& payload, const DecodeItem& item) {
    if (const Defect defect = decoder.Decode(payload, 3, item.region))
      throw Error(ErrorCode::kCorrupt, defect);
    rgb.resize(std::max(rgb.size(), std::size_t{item.region.x.target} * item.region.y.target * 3));
    planar.Run(decoder.planes(), decoder.components(), item.region,
               {rgb.data(), 3, PixelOrder::kInterleaved});
  }
};

// The bytes of a payload that decoding a region reads: the header, and the rows that the region
// touches.
double BytesTouched(const DecodeItem& item) {
  packed::Header header;
  if (packed::ParseHeader(item.packed.bytes, header) != nullptr) return 0;
  double bytes = static_cast<double>(header.rows_offset());
  const Span& y = item.region.y;
  for (std::uint32_t c = 0; c < header.components; ++c) {
    const packed::Component& component = header.component[c];
    const double scale = static_cast<double>(component.down) / item.packed.height;
    const auto top = static_cast<std::uint32_t>(scale * y.start);
    const auto bottom =
        std::min(component.down, static_cast<std::uint32_t>(scale * (y.start + y.length)) + 1);
    for (std::uint32_t row = top; row < bottom; ++row)
      bytes += double(RowOf(item.packed.bytes, header, component.first_row + row).size());
  }
  return bytes;
}

// One round with point.threads threads: plain copies, then images from memory, then from a cache.
void MeasureRound(const BandwidthOptions& options, const Arena& arena,
                  const std::vector<const DecodeItem*>& items, std::vector<Worker>& workers,
                  std::vector<std::vector<std::byte>>& copies, BandwidthPoint& point) {
  const double copying = SecondsOf(point.threads, [&](unsigned t) {
    const std::size_t piece = copies[t].size() / 2;
    for (std::uint64_t done = 0; done < options.copy_bytes; done += piece)
      std::memcpy(copies[t].data(), copies[t].data() + piece, piece);
  });
  point.copy.push_back(2.0 * static_cast<double>(options.copy_bytes) * point.threads / copying);
  const double images = static_cast<double>(options.images) * point.threads;
  const auto& places = arena.places();
  const double from_memory = SecondsOf(point.threads, [&](unsigned t) {
    const std::size_t first = places.size() * t / point.threads;
    for (std::size_t i = 0; i < options.images; ++i) {
      const Arena::Place& place = places[(first + i) % places.size()];
      workers[t].Decode(place.payload, *place.item);
    }
  });
  point.images.push_back(images / from_memory);
  const double from_cache = SecondsOf(point.threads, [&](unsigned t) {
    for (std::size_t i = 0; i < options.images; ++i) {
      const DecodeItem& item = *items[(t + i) % std::min<std::size_t>(items.size(), 8)];
      workers[t].Decode(item.packed, item);
    }
  });
  point.cached_images.push_back(images / from_cache);
}

}  // namespace

BandwidthFigures MeasureBandwidth(const std::vector<DecodeItem>& all,
                                  const BandwidthOptions& options, const std::stop_token& stop) {
  std::vector<const DecodeItem*> items;
  for (const DecodeItem& item : all) {
    if (item.packed.codec == Codec::kPacked) items.push_back(&item);
  }
  if (items.empty()) throw Error(ErrorCode::kUnsupported, "none of the pictures has a packed form");
  BandwidthFigures figures;
  for (const DecodeItem* const item : items) {
    const auto count = static_cast<double>(items.size());
    figures.read_bytes_per_image += BytesTouched(*item) / count;
    figures.written_bytes_per_image +=
        double(std::size_t{item->region.x.target} * item->region.y.target * 3) / count;
  }
  figures.arena_bytes = options.arena_bytes > 0 ? options.arena_bytes : ArenaBytes();
  const Arena arena(items, figures.arena_bytes);
  std::vector<Worker> workers(options.threads);
  std::vector<std::vector<std::byte>> copies(options.threads);
  for (std::vector<std::byte>& buffer : copies)
    buffer.assign(options.copy_bytes / 2, std::byte{1});
  figures.points.push_back({1, {}, {}, {}});
  if (options.threads > 1) figures.points.push_back({options.threads, {}, {}, {}});
  // The first round is not counted.
  for (std::uint64_t round = 0; round <= options.rounds; ++round) {
    for (BandwidthPoint& point : figures.points) {
      ThrowIfStopped(stop);
      MeasureRound(options, arena, items, workers, copies, point);
      if (round > 0) continue;
      point = {point.threads, {}, {}, {}};
    }
  }
  return figures;
}

double ShareOfCopy(const BandwidthFigures& figures, const BandwidthPoint& point) {
  const double copy = Median(point.copy);
  return copy > 0 ? Median(point.images) * figures.BytesPerImage() / copy : 0;
}

double ThreadsToLimit(const BandwidthFigures& figures) {
  const double one = Median(figures.points.front().images) * figures.BytesPerImage();
  return one > 0 ? Median(figures.points.back().copy) / one : 0;
}

void ReportBandwidth(const BandwidthFigures& figures, PartResult& part) {
  TextTable table({"threads", "copy MB/s", "packed MB/s", "images/s", "from cache", "of copy"});
  auto points = nlohmann::ordered_json::array();
  for (const BandwidthPoint& point : figures.points) {
    const double images = Median(point.images);
    table.Add({std::to_string(point.threads), Format("%.0f", 1e-6 * Median(point.copy)),
               Format("%.0f", 1e-6 * images * figures.BytesPerImage()), Format("%.0f", images),
               Format("%.0f", Median(point.cached_images)),
               Format("%.1f%%", 100 * ShareOfCopy(figures, point))});
    points.push_back({{"threads", point.threads},
                      {"copy_bytes_per_second", point.copy},
                      {"images_per_second", point.images},
                      {"cached_images_per_second", point.cached_images},
                      {"share_of_copy", ShareOfCopy(figures, point)}});
  }
  part.text += "\n" + table.Text();
  part.AddNote(Format(
      "MB/s counts reads and writes. For each image, a thread reads %.0f bytes of packed data and "
      "writes %.0f bytes of pixels; the images, %.0f MB of them, come in random order. About %.0f "
      "threads would use the whole bandwidth of the memory.",
      figures.read_bytes_per_image, figures.written_bytes_per_image,
      1e-6 * static_cast<double>(figures.arena_bytes), ThreadsToLimit(figures)));
  part.members["bandwidth"] = {{"read_bytes_per_image", figures.read_bytes_per_image},
                               {"written_bytes_per_image", figures.written_bytes_per_image},
                               {"arena_bytes", figures.arena_bytes},
                               {"points", std::move(points)},
                               {"threads_to_limit", ThreadsToLimit(figures)}};
}

}  // namespace sluice::bench
