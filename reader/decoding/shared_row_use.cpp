// A cache is named by a digest of ContentOf(). Every option is part of it, unless it is declared to
// change only speed or ChangesNoRow() names it. So a new option keeps loaders apart by default, and
// cannot make them share rows that differ.
//
// A thread that gets a claim must end it by Put() or GiveUpAll(), or other loaders wait for the row
// in vain.
#include "reader/decoding/shared_row_use.h"

#include <algorithm>
#include <thread>

#include <nlohmann/json.hpp>

#include <sluice/error.h>
#include <sluice/loader_option_list.h>
#include <sluice/version.h>

#include "format/disk/checksum.h"
#include "reader/decoding/row_bytes.h"
#include "reader/decoding/served_pipeline.h"

namespace sluice {

namespace {

using Json = nlohmann::ordered_json;

Json JsonOf(const Pipeline& steps) {
  return ServedPipeline{.steps = steps}.Text();
}
Json JsonOf(const std::vector<ScheduledTransform>& schedule) {
  Json json = Json::array();
  for (const ScheduledTransform& later : schedule)
    json.push_back({later.epoch, JsonOf(later.transform)});
  return json;
}
Json JsonOf(const std::vector<OutputSize>& sizes) {
  Json json = Json::array();
  for (const OutputSize& size : sizes)
    json.push_back({size.epoch, size.width, size.height, size.every});
  return json;
}
Json JsonOf(const std::vector<View>& views) {
  Json json = Json::array();
  for (const View& view : views) {
    json.push_back({view.name, JsonOf(view.transform), JsonOf(view.sizes), JsonOf(view.schedule)});
  }
  return json;
}
Json JsonOf(const std::vector<Field>& made) {
  Json json = Json::array();
  for (const Field& field : made)
    json.push_back(field.name);  // the layout has the rest
  return json;
}
template <class V>
Json JsonOf(const V& value) {
  if constexpr (option_list::HasWords<V>) {
    return option_list::WordOf(value);
  } else if constexpr (std::is_constructible_v<Json, V>) {
    return value;
  } else if constexpr (requires { JsonOf(*value); }) {
    return value ? JsonOf(*value) : Json();
  } else {
    throw Error(ErrorCode::kState, "LoaderOptions::share does not know what an option holds");
  }
}

// Whether the option changes no row's content. Such options decide which rows come, and when (a
// row's name has its epoch, position and sample); or they apply after the rows are made; or they
// cannot be set together with LoaderOptions::share; or the layout has what they choose.
bool ChangesNoRow(const std::string& path) {
  return path.starts_with("order.") || path.starts_with("ranks.") ||
         path.starts_with("integrity.") || path.starts_with("diagnostics.") ||
         path == "batch_size" || path == "resume_from" || path == "sample_function" ||
         path == "batch_function" || path == "output.fields";
}

// Everything that the bytes of a row depend on, apart from its name.
std::string ContentOf(const BatchRecipe& recipe) {
  const DatasetFacts& facts = *recipe.dataset.facts;
  const ReadLimits& limits = facts.limits.read_limits();
  Json content{{"sluice", kLibraryVersion},
               {"shards", facts.ShardsDigest()},
               // Loaders whose checks or limits differ do not share rows.
               {"verify", option_list::WordOf(recipe.options.integrity.verify)},
               {"max_pixels", limits.max_pixels},
               {"max_value_bytes", limits.max_value_bytes}};
  option_list::ForEachOption(
      recipe.options, [&](const auto& option, const auto& value, const std::string& path) {
        if (option.facts.changes == option_list::Changes::kSpeed || ChangesNoRow(path)) return;
        content[path] = JsonOf(value);
      });
  // A row may be mixed with the one before it, and deleted samples change which one that is.
  for (const DeletedRun& run : facts.manifest.deleted)
    content["deleted"].push_back({run.first, run.count});
  Json& layout = content["layout"];
  for (const SlotLayout::ImageField& image : recipe.layout.images) {
    layout.push_back({image.name, image.row_bytes, image.image.channels, image.image.layout,
                      image.image.type, image.fill, image.nearest});
  }
  for (const SlotLayout::ArrayField& array : recipe.layout.arrays)
    layout.push_back({array.name, array.dtype, array.shape, array.sample_bytes});
  for (const SlotLayout::VariableField& variable : recipe.layout.variables)
    layout.push_back({variable.name, variable.dtype, variable.entry_bytes});
  for (std::size_t f = 0; f < recipe.choice.chosen.size(); ++f) {
    const std::string& name = facts.manifest.schema.fields[f].name;
    if (recipe.choice.chosen[f]) content["sources"].push_back({name, facts.SourceDigest(name)});
  }
  return content.dump();
}

// The bytes of a row in the cache. Variable fields together get room for twice their usual
// size and kExtraBytes more.
std::uint64_t RowBytes(const BatchRecipe& recipe) {
  constexpr std::uint64_t kExtraBytes = 4096;
  std::uint64_t bytes = SharedRowCache::PartBytes(sizeof(RowMap));
  for (const SlotLayout::ImageField& image : recipe.layout.images) {
    bytes += SharedRowCache::PartBytes(image.row_bytes) + SharedRowCache::PartBytes(1) +
             SharedRowCache::PartBytes(sizeof(VisiblePart));
  }
  for (const SlotLayout::ArrayField& array : recipe.layout.arrays)
    bytes += SharedRowCache::PartBytes(array.sample_bytes);
  if (recipe.layout.variables.empty()) return bytes;
  return bytes + kExtraBytes + 2 * recipe.UsualVariableBytes() / recipe.options.batch_size;
}

}  // namespace

std::unique_ptr<SharedRowCache> SharedRowUse::Open(const BatchRecipe& recipe) {
  const std::optional<SharedRows>& share = recipe.options.share;
  if (!share) return nullptr;
  return std::make_unique<SharedRowCache>(share->folder, Hash128(AsBytes(ContentOf(recipe))),
                                          share->bytes, RowBytes(recipe),
                                          recipe.dataset.facts->shape.samples());
}

bool SharedRowUse::Take(Slot& slot, std::size_t row) {
  if (cache_ == nullptr) return false;
  const SharedRowCache::RowName name{slot.epoch, slot.positions[row], slot.refs[row].index};
  const auto read = [&](SharedRowCache::Reader& from) {
    GetRow(
        slot, row, [&from](std::byte* to, std::size_t bytes) { from.Get(to, bytes); },
        [&from] { return from.left(); });
  };
  constexpr double kLeastPatience = 0.002, kMostPatience = 0.1, kFirstPatience = 0.02;
  constexpr std::chrono::microseconds kBetweenLooks{50};
  const double patience = claims_.empty() && row_seconds_ == 0
                              ? kFirstPatience
                              : std::clamp(4 * row_seconds_, kLeastPatience, kMostPatience);
  const Clock::time_point begin = Clock::now();
  for (;;) {
    switch (cache_->Take(name, read)) {
      case SharedRowCache::Found::kRow: return true;
      case SharedRowCache::Found::kToMake: claims_.push_back({name, begin}); return false;
      case SharedRowCache::Found::kNotShared: return false;
      case SharedRowCache::Found::kBeingMade: break;
    }
    if (SecondsBetween(begin, Clock::now()) > patience ||
        slot.abandoned.load(std::memory_order_relaxed)) {
      return false;
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

void SharedRowUse::Put(Slot& slot, std::size_t row) {
  const auto claim = std::ranges::find_if(claims_, [&](const Claim& made) {
    return made.name.epoch == slot.epoch && made.name.position == slot.positions[row] &&
           made.name.sample == slot.refs[row].index;
  });
  if (claim == claims_.end()) return;
  cache_->Put(claim->name, [&](SharedRowCache::Writer& to) {
    PutRow(slot, row, [&to](const std::byte* from, std::size_t bytes) { to.Put(from, bytes); });
  });
  const double seconds = SecondsBetween(claim->since, Clock::now());
  row_seconds_ = row_seconds_ == 0 ? seconds : 0.9 * row_seconds_ + 0.1 * seconds;
  claims_.erase(claim);
}

void SharedRowUse::GiveUpAll() noexcept {
  for (const Claim& claim : claims_)
    cache_->GiveUp(claim.name);
  claims_.clear();
}

}  // namespace sluice
