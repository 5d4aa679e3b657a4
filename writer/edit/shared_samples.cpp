#include "writer/edit/shared_samples.h"

#include <algorithm>
#include <tuple>

#include <sluice/error.h>

#include "format/disk/checksum.h"

namespace sluice {

namespace {

// A sample of one of the datasets; `at` counts through all of them.
struct Entry {
  Id128 key;
  std::uint64_t at = 0;
};

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

  // Those whose key several datasets have.
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

  // Candidates are in the datasets' order.
  void FillContents(std::vector<Candidate>& candidates) const {
    auto next = candidates.begin();
    std::uint64_t first = 0;  // of the shard, in all datasets
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

  // Sets `value` to a field's elements, or to its payload's entry in the table; for labels that
  // must be mapped, to the payload itself.
  Defect DescribeField(const BlockView& block, std::uint32_t row, std::size_t f,
                       FieldValue& value) const {
    value.codec = Codec::kRaw;
    if (schema_.fields[f].kind == FieldKind::kArray) {
      const Bytes elements = block.Elements(layout_, row, f);
      value.bytes.assign(elements.begin(), elements.end());
      return nullptr;
    }
    BlockView::Payload payload;
    if (const Defect defect = block.GetPayload(layout_, row, f, payload)) return defect;
    if (payload.entry.codec == static_cast<std::uint16_t>(Codec::kAbsent)) {
      value.codec = Codec::kAbsent;
      return nullptr;
    }
    if (mapped_[f]) {
      value.bytes.assign(payload.bytes.begin(), payload.bytes.end());
      value.codec = static_cast<Codec>(payload.entry.codec);
      InflateLabels(value);
      return nullptr;
    }
    payload.entry.offset = 0;
    const Bytes entry = std::as_bytes(std::span(&payload.entry, 1));
    const Bytes shape = block.Row(row).subspan(layout_.offset(f), layout_.entry_bytes(f));
    value.bytes.assign(entry.begin(), entry.end());
    value.bytes.insert(value.bytes.end(), shape.begin() + sizeof(PayloadEntry), shape.end());
    return nullptr;
  }

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
  RowLayout layout_;
  const std::stop_token& stop_;
  std::vector<std::uint64_t> ends_;  // of the datasets
  std::vector<bool> mapped_;         // fields whose class numbers change in some dataset
};

}  // namespace

SharedSamples FindSharedSamples(const std::vector<StoredDataset>& datasets,
                                const std::vector<LabelMaps>& maps, const Schema& schema,
                                const std::stop_token& stop) {
  return Search(datasets, maps, schema, stop).Run();
}

}  // namespace sluice
