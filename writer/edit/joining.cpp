// Datasets number their classes independently. ReconcileClasses() merges the names and gives each
// dataset's old numbers new ones; MapLabels() writes these into a sample. Samples are shared if
// they have the same key and, once labels are mapped, the same content. Contents are compared by
// the entries in the blocks' tables, which have the payloads' checksums, so payloads are rarely
// read.
#include "writer/edit/joining.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "format/disk/record_layout.h"
#include "format/disk/zstd.h"

namespace sluice {

namespace {

bool HasNumberedClasses(const Field& field) {
  return field.role == Role::kLabel && !field.classes.empty() &&
         (field.kind == FieldKind::kArray || field.kind == FieldKind::kVariable) &&
         IsInteger(field.dtype);
}

// One label field: its dataset's classes, the merged classes, and the map between them.
struct FieldMap {
  const Field& own;
  const Field& merged;
  const std::vector<std::int64_t>& map;  // empty: numbers stay as they are

  std::int64_t operator()(std::int64_t number) const {
    if (IsClass(own, number)) return map.empty() ? number : map[static_cast<std::size_t>(number)];
    if (!IsClass(merged, number)) return number;
    throw Error(ErrorCode::kCorrupt,
                "field \"" + own.name + "\" holds " + std::to_string(number) +
                    ", which is not one of its " + std::to_string(own.classes.size()) +
                    " classes and would become the merged class " + std::to_string(number) + " (" +
                    merged.classes[static_cast<std::size_t>(number)] +
                    "); mend the dataset's labels, or leave such samples out with `sluice subset`");
  }
};

void MapElements(const FieldMap& map, std::span<std::byte> elements) {
  if (!IsInteger(map.own.dtype)) return;  // only integers number classes
  WithElementType(map.own.dtype, [&](auto number) {
    for (std::size_t at = 0; at + sizeof number <= elements.size(); at += sizeof number) {
      const std::int64_t mapped = map(ClassNumber(map.own, elements.subspan(at, sizeof number)));
      number = static_cast<decltype(number)>(mapped);
      if (static_cast<std::int64_t>(number) != mapped) {
        throw Error(ErrorCode::kUnsupported, "the merged classes do not fit the label's type");
      }
      std::memcpy(elements.data() + at, &number, sizeof number);
    }
  });
}

bool BeginsWith(const std::vector<std::string>& list, const std::vector<std::string>& beginning) {
  return beginning.size() <= list.size() &&
         std::equal(beginning.begin(), beginning.end(), list.begin());
}

// How two lists of classes that are not equal differ.
std::string ClassDifference(const std::vector<std::string>& earlier,
                            const std::vector<std::string>& later) {
  const std::size_t common = std::min(earlier.size(), later.size());
  for (std::size_t c = 0; c < common; ++c) {
    if (earlier[c] == later[c]) continue;
    return "class " + std::to_string(c) + " is \"" + earlier[c] + "\" in those and \"" + later[c] +
           "\" in this one";
  }
  return "those have " + std::to_string(earlier.size()) + " classes, this one has " +
         std::to_string(later.size());
}

// The first name that stands twice in a list of classes; null if all names differ.
const std::string* RepeatedName(const std::vector<std::string>& classes) {
  std::unordered_set<std::string_view> names;
  for (const std::string& name : classes)
    if (!names.insert(name).second) return &name;
  return nullptr;
}

// The ids that a label file gives the categories of a field's classes (the attribute category_ids),
// by class; empty unless each class has one, and a name of its own.
std::map<std::string, std::string> CategoryIds(const Field& field) {
  std::map<std::string, std::string> by_class;
  const auto ids = field.attributes.find("category_ids");
  if (ids == field.attributes.end()) return by_class;
  std::string_view rest = ids->second;
  for (const std::string& name : field.classes) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    if (end == 0 || !by_class.emplace(name, rest.substr(0, end)).second) return {};
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return rest.empty() ? by_class : std::map<std::string, std::string>();
}

// Sets the attribute category_ids of a joined field: the ids of both fields, if each class has one
// and no class has two. Otherwise the joined field has none; then returns the reason.
std::string JoinCategoryIds(const Field& ours, const Field& theirs, Field& joined) {
  joined.attributes.erase("category_ids");
  if (!ours.attributes.contains("category_ids") && !theirs.attributes.contains("category_ids"))
    return {};
  if (ours.classes == theirs.classes && ours.attributes == theirs.attributes) {
    joined.attributes = ours.attributes;
    return {};
  }
  std::map<std::string, std::string> ids = CategoryIds(ours);
  for (const auto& [name, id] : CategoryIds(theirs)) {
    const auto [known, added] = ids.emplace(name, id);
    if (known->second != id) {
      return "class \"" + name + "\" has the id " + known->second + " in those and " + id +
             " in this one";
    }
  }
  std::string text;
  for (const std::string& name : joined.classes) {
    const auto id = ids.find(name);
    if (id == ids.end()) return "class \"" + name + "\" has no id in some of them";
    text += (text.empty() ? "" : ",") + id->second;
  }
  if (const std::string* const repeated = RepeatedName(joined.classes))
    return "several classes are called \"" + *repeated + "\"";
  joined.attributes["category_ids"] = text;
  return {};
}

[[noreturn]] void RefuseToMerge(const std::string& dataset, const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, dataset,
              "cannot be merged with the earlier datasets: " + what);
}

// Throws unless both have fields of the same names.
void RequireSameNames(const Schema& other, const std::string& dataset, const Schema& merged) {
  const auto require = [&dataset](const Schema& these, const Schema& those,
                                  const std::string& what) {
    for (const Field& field : these.fields) {
      if (those.Find(field.name) != Schema::kNone) continue;
      RefuseToMerge(dataset, what + " the field \"" + field.name +
                                 "\"; `sluice column drop` hides a field that only some have, and "
                                 "`sluice subset` then makes a dataset without it");
    }
  };
  require(merged, other, "it lacks");
  require(other, merged, "those lack");
}

// Adds their classes to ours, and returns the new numbers of theirs; empty if no number changes.
std::vector<std::int64_t> JoinClasses(const Field& theirs, const std::string& dataset,
                                      Field& ours) {
  // No number changes if one list begins with the other. This also keeps classes apart that have
  // the same name, such as the two "crane" of ImageNet.
  if (BeginsWith(ours.classes, theirs.classes)) return {};
  if (BeginsWith(theirs.classes, ours.classes)) {
    ours.classes = theirs.classes;
    return {};
  }
  // Otherwise classes are matched by name, which a name that stands twice does not allow.
  for (const auto* const classes : {&std::as_const(ours.classes), &theirs.classes}) {
    if (const std::string* const repeated = RepeatedName(*classes)) {
      RefuseToMerge(
          dataset, "field \"" + ours.name + "\": its classes differ (" +
                       ClassDifference(ours.classes, theirs.classes) + "), and the name \"" +
                       *repeated + "\" stands twice in " +
                       (classes == &theirs.classes ? "this list" : "those") +
                       ", so classes cannot be matched by name; give each class a name of its own");
    }
  }
  std::unordered_map<std::string, std::int64_t> numbers;
  for (std::size_t c = 0; c < ours.classes.size(); ++c)
    numbers.emplace(ours.classes[c], c);
  std::vector<std::int64_t> map;
  for (std::size_t c = 0; c < theirs.classes.size(); ++c) {
    const auto [found, is_new] = numbers.emplace(theirs.classes[c], ours.classes.size());
    if (is_new) ours.classes.push_back(theirs.classes[c]);
    map.push_back(found->second);
  }
  return map;
}

}  // namespace

LabelMaps ReconcileClasses(const Schema& other, const std::string& name, Schema& merged,
                           std::vector<std::string>& warnings) {
  if (other.fields.size() != merged.fields.size()) RequireSameNames(other, name, merged);
  LabelMaps maps(other.fields.size());
  merged.unknown = JoinMembers(merged.unknown, other.unknown);
  for (std::size_t f = 0; f < other.fields.size(); ++f) {
    const Field& theirs = other.fields[f];
    Field& ours = merged.fields[f];
    const Field before = ours;
    Field same = theirs;
    const bool mapped = HasNumberedClasses(theirs) && HasNumberedClasses(ours);
    if (mapped) same.classes = ours.classes;
    ours.attributes.erase("category_ids");
    same.attributes.erase("category_ids");
    if (same != ours) {
      same.classes = ours.classes;
      if (same == ours) {
        RefuseToMerge(
            name, "field \"" + ours.name +
                      "\": its classes differ: " + ClassDifference(ours.classes, theirs.classes) +
                      "; merging does not change the pixels of masks: convert one of the sources "
                      "again with the classes of the other (--classes-of), or all with one list of "
                      "classes (--classes)");
      }
      RefuseToMerge(name, "field " + std::to_string(f) + " (\"" + ours.name + "\" in those, \"" +
                              theirs.name + "\" in this one) differs");
    }
    ours.unknown = JoinMembers(ours.unknown, theirs.unknown);
    if (mapped) maps[f] = JoinClasses(theirs, name, ours);
    if (const std::string why = JoinCategoryIds(before, theirs, ours); !why.empty()) {
      warnings.push_back(name + ": field \"" + ours.name +
                         "\" loses its category_ids, since they do not fit those of the earlier "
                         "datasets: " +
                         why);
    }
  }
  return maps;
}

void InflateLabels(FieldValue& value) {
  if (value.codec == Codec::kAbsent || value.codec == Codec::kRaw) return;
  const std::optional<std::uint64_t> size = ZstdContentBytes(value.bytes);
  if (value.codec != Codec::kZstd || !size || *size > kMaxPayloadBytes) {
    throw Error(ErrorCode::kUnsupported, "labels are stored by a codec that cannot be mapped");
  }
  std::vector<std::byte> content(*size);
  if (!ZstdDecompress(value.bytes, content)) {
    throw Error(ErrorCode::kCorrupt, "the zstd frame of a label cannot be decompressed");
  }
  value.bytes = std::move(content);
  value.codec = Codec::kRaw;
}

void MapLabels(const Schema& own, const Schema& merged, const LabelMaps& maps,
               EncodedSample& sample) {
  for (std::size_t f = 0; f < maps.size(); ++f) {
    if (maps[f].empty() && own.fields[f] == merged.fields[f]) continue;
    const FieldMap map{own.fields[f], merged.fields[f], maps[f]};
    FieldValue& value = sample.fields[f];
    if (!map.map.empty()) {
      InflateLabels(value);
      MapElements(map, value.bytes);
    } else {  // checked only: the stored value stays as it is
      FieldValue copy = value;
      InflateLabels(copy);
      MapElements(map, copy.bytes);
    }
  }
}

bool IsIdentity(const LabelMaps& maps) noexcept {
  return std::all_of(maps.begin(), maps.end(), [](const auto& map) { return map.empty(); });
}

namespace {

// A sample's key. `at`: the sample's number, counted through all datasets in their order.
struct Entry {
  Id128 key;  // its hash
  std::uint64_t at = 0;
};

// A sample whose key several datasets have, with the hash of its content.
struct Candidate {
  Id128 key;
  Id128 content;
  std::uint64_t at = 0;
};

class Search {
 public:
  Search(const std::vector<StoredDataset>& datasets, const std::vector<LabelMaps>& maps,
         const Schema& schema, const std::stop_token& stop)
      : datasets_(datasets), maps_(maps), schema_(schema), layout_(schema), stop_(stop) {
    std::uint64_t end = 0;
    for (const StoredDataset& dataset : datasets)
      ends_.push_back(end += dataset.manifest.samples);
    mapped_.resize(schema.fields.size());
    for (std::size_t d = 0; d < maps.size(); ++d) {
      const Schema& own = datasets[d].manifest.schema;
      for (std::size_t f = 0; f < maps[d].size(); ++f)
        mapped_[f] = mapped_[f] || !maps[d][f].empty() || own.fields[f] != schema.fields[f];
    }
  }

  SharedSamples Run() {
    std::vector<Candidate> candidates;
    if (datasets_.size() > 1) candidates = WithSharedKeys();
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.at < b.at; });
    FillContents(candidates);
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return std::tie(a.key.bytes, a.content.bytes, a.at) <
             std::tie(b.key.bytes, b.content.bytes, b.at);
    });
    return Account(candidates);
  }

 private:
  std::size_t DatasetOf(std::uint64_t at) const {
    return static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), at) -
                                    ends_.begin());
  }
  std::uint64_t FirstOf(std::size_t dataset) const { return dataset == 0 ? 0 : ends_[dataset - 1]; }
  bool stopped() const { return stop_.stop_requested(); }

  // The candidates whose key several datasets have.
  std::vector<Candidate> WithSharedKeys() const {
    std::vector<Entry> entries;
    for (const StoredDataset& dataset : datasets_) {
      for (std::size_t s = 0; s < dataset.manifest.shards.size() && !stopped(); ++s) {
        const ShardFile shard = dataset.Open(s);
        KeyChunk keys;
        for (std::uint64_t i = 0; i < shard.samples(); ++i)
          entries.push_back({Hash128(AsBytes(KeyOf(shard, i, keys))), entries.size()});
      }
    }
    if (stopped()) return {};  // the list is incomplete
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.key.bytes, a.at) < std::tie(b.key.bytes, b.at);
    });
    std::vector<Candidate> candidates;
    for (auto begin = entries.begin(); begin != entries.end();) {
      const auto end = std::find_if(begin, entries.end(),
                                    [begin](const Entry& one) { return one.key != begin->key; });
      if (DatasetOf(begin->at) != DatasetOf((end - 1)->at)) {
        for (; begin != end; ++begin)
          candidates.push_back({begin->key, {}, begin->at});
      }
      begin = end;
    }
    return candidates;
  }

  // Sets the candidates' contents. Candidates must be sorted by `at`, so that each shard is opened
  // once.
  void FillContents(std::vector<Candidate>& candidates) const {
    auto next = candidates.begin();
    std::uint64_t first = 0;  // `at` of the shard's first sample
    for (std::size_t d = 0; d < datasets_.size(); ++d) {
      const std::vector<ManifestShard>& shards = datasets_[d].manifest.shards;
      for (std::size_t s = 0; s < shards.size() && !stopped(); ++s) {
        const std::uint64_t end = first + shards[s].samples;
        if (next != candidates.end() && next->at < end) {
          const ShardFile shard = datasets_[d].Open(s);
          for (; next != candidates.end() && next->at < end; ++next)
            next->content = ContentOf(shard, next->at - first, maps_[d]);
        }
        first = end;
      }
    }
  }

  Id128 ContentOf(const ShardFile& shard, std::uint64_t index, const LabelMaps& maps) const {
    const ReadGuard guard = shard.Guard();
    const BlockView block = shard.Block(static_cast<std::uint32_t>(index / shard.block_samples()));
    const auto row = static_cast<std::uint32_t>(index % shard.block_samples());
    EncodedSample sample;
    sample.fields.resize(schema_.fields.size());
    Defect defect = nullptr;
    try {
      for (std::size_t f = 0; f < schema_.fields.size() && defect == nullptr; ++f)
        defect = DescribeField(block, row, f, sample.fields[f]);
      if (defect == nullptr) MapLabels(shard.schema(), schema_, maps, sample);
    } catch (const Error& error) {
      if (!shard.Lost(shard.bytes())) throw AtSample(error, shard, index);
    }
    if (shard.Lost(shard.bytes())) throw shard.Unreadable(shard.Place(index));
    if (defect != nullptr) {
      throw Error(ErrorCode::kCorrupt, shard.name(), shard.Place(index), defect);
    }
    std::vector<std::byte> content;
    for (const FieldValue& value : sample.fields) {
      const std::uint64_t size = value.codec == Codec::kAbsent ? UINT64_MAX : value.bytes.size();
      const Bytes size_bytes = std::as_bytes(std::span(&size, 1));
      content.insert(content.end(), size_bytes.begin(), size_bytes.end());
      content.insert(content.end(), value.bytes.begin(), value.bytes.end());
    }
    return Hash128(content);
  }

  // Sets `value` to a field's elements, or to its payload's entry in the table; if the field is in
  // mapped_, to the payload itself.
  Defect DescribeField(const BlockView& block, std::uint32_t row, std::size_t f,
                       FieldValue& value) const {
    value.codec = Codec::kRaw;
    if (schema_.fields[f].kind == FieldKind::kArray) {
      value.SetBytes(block.Elements(layout_, row, f));
      return nullptr;
    }
    BlockView::Payload payload;
    if (const Defect defect = block.GetPayload(layout_, row, f, payload)) return defect;
    if (payload.entry.codec == static_cast<std::uint16_t>(Codec::kAbsent)) {
      value.codec = Codec::kAbsent;
      return nullptr;
    }
    if (mapped_[f]) {
      value.SetBytes(payload.bytes);
      value.codec = static_cast<Codec>(payload.entry.codec);
      InflateLabels(value);
      return nullptr;
    }
    payload.entry.offset = 0;
    const Bytes shape = block.Record(row).subspan(layout_.offset(f), layout_.entry_bytes(f));
    value.SetBytes(std::as_bytes(std::span(&payload.entry, 1)));
    value.bytes.insert(value.bytes.end(), shape.begin() + sizeof(PayloadEntry), shape.end());
    return nullptr;
  }

  // Of samples with one key and one content, those in later datasets than the first such sample are
  // `again`. The candidates are sorted by key, content and `at`; `same_key` walks through those
  // with one key, and `same` is the first that has the same content as the one at `same_key`.
  SharedSamples Account(const std::vector<Candidate>& candidates) const {
    SharedSamples shared;
    shared.again.resize(datasets_.size());
    std::uint64_t first_again = UINT64_MAX;
    for (auto same_key = candidates.begin(); same_key != candidates.end();) {
      const auto key_end =
          std::find_if(same_key, candidates.end(),
                       [same_key](const Candidate& one) { return one.key != same_key->key; });
      const std::uint64_t first =
          std::min_element(same_key, key_end, [](const Candidate& a, const Candidate& b) {
            return a.at < b.at;
          })->at;
      for (auto same = same_key; same_key != key_end; ++same_key) {
        if (same_key->content != same->content) same = same_key;
        const std::size_t dataset = DatasetOf(same_key->at);
        if (DatasetOf(same->at) != dataset) {
          shared.again[dataset].push_back(same_key->at - FirstOf(dataset));
          ++shared.count;
          first_again = std::min(first_again, same_key->at);
        } else if (DatasetOf(first) != dataset) {
          ++shared.same_keys;
        }
      }
    }
    for (std::vector<std::uint64_t>& again : shared.again)
      std::sort(again.begin(), again.end());
    if (shared.count > 0) {
      shared.dataset = DatasetOf(first_again);
      shared.key = KeyAt(shared.dataset, first_again - FirstOf(shared.dataset));
    }
    return shared;
  }

  std::string KeyAt(std::size_t dataset, std::uint64_t sample) const {
    std::size_t s = 0;
    for (; sample >= datasets_[dataset].manifest.shards[s].samples; ++s)
      sample -= datasets_[dataset].manifest.shards[s].samples;
    return datasets_[dataset].Open(s).Key(sample);
  }

  const std::vector<StoredDataset>& datasets_;
  const std::vector<LabelMaps>& maps_;
  const Schema& schema_;
  RecordLayout layout_;
  const std::stop_token& stop_;
  std::vector<std::uint64_t> ends_;  // where each dataset ends, as Entry::at counts
  // By field: whether its list of classes differs from the merged one in some dataset. Its values
  // are then compared by content, even if no number changes.
  std::vector<bool> mapped_;
};

}  // namespace

SharedSamples FindSharedSamples(const std::vector<StoredDataset>& datasets,
                                const std::vector<LabelMaps>& maps, const Schema& schema,
                                const std::stop_token& stop) {
  return Search(datasets, maps, schema, stop).Run();
}

}  // namespace sluice
