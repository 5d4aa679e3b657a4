// `sluice subset`: the samples that meet all conditions, in their order.
//
// Memory is in proportion to the selected samples, not to the dataset. Candidates are found by
// number and class; a random choice among them (DrawOf) is a Fisher-Yates shuffle that stores only
// the places it has changed.
//
// The classes of samples are those of their label, or else of their boxes: a sample then may have
// several, and is a candidate for each of them, but is taken once. Labels stand in the shards'
// directories; the classes of boxes lie in the blocks, which are read for each pass.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include <sluice/dataset_edit.h>
#include <sluice/error.h>
#include <sluice/nearest_name.h>

#include "format/disk/checksum.h"
#include "format/random.h"
#include "writer/convert/options.h"
#include "writer/edit/dataset_build.h"
#include "writer/edit/joining.h"

namespace sluice {

namespace {

// Draws `count` of the numbers below `size`, or all if there are no more; they come sorted. A
// Fisher-Yates shuffle that stores only the places it has changed. `stream`: the number of the
// random stream, so that draws with one seed are independent.
std::vector<std::uint64_t> DrawOf(std::uint64_t size, std::uint64_t count, std::uint64_t seed,
                                  std::uint64_t stream) {
  std::vector<std::uint64_t> drawn;
  if (size <= count) {
    drawn.resize(size);
    std::iota(drawn.begin(), drawn.end(), std::uint64_t{0});
    return drawn;
  }
  RandomStream random(seed, Purpose::kSubset, stream);
  std::unordered_map<std::uint64_t, std::uint64_t> moved;
  const auto at = [&moved](std::uint64_t place) {
    const auto found = moved.find(place);
    return found == moved.end() ? place : found->second;
  };
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t other = i + random.Below(size - i);
    drawn.push_back(at(other));
    moved[other] = at(i);
    moved.erase(i);  // never needed again
  }
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

// Whether a field holds any number of classes for each sample, such as those of its boxes.
bool IsListOfClasses(const Field& field) {
  return field.kind == FieldKind::kVariable && field.role == Role::kLabel &&
         IsInteger(field.dtype) && !field.classes.empty();
}

// The samples that match the selection's numbers and classes. Memory is in proportion to the
// samples selected, not to the dataset.
class Candidates {
 public:
  Candidates(const StoredDataset& dataset, const Selection& selection)
      : dataset_(dataset),
        labels_(dataset),
        living_(dataset.manifest),
        numbers_(selection.samples) {
    std::sort(numbers_.begin(), numbers_.end());
    numbers_.erase(std::unique(numbers_.begin(), numbers_.end()), numbers_.end());
    const std::uint64_t size = dataset.manifest.samples;
    if (!numbers_.empty() && numbers_.back() >= size) {
      Refuse("has " + std::to_string(size) + " samples, so there is no sample " +
             std::to_string(numbers_.back()));
    }
    for (const std::uint64_t sample : numbers_)
      if (IsDeleted(dataset.manifest.deleted, sample))
        Refuse("sample " + std::to_string(sample) + " was deleted");
    const VisibleFields visible = VisibleFields::Of(dataset.manifest);
    std::size_t label = visible.schema.ClassField();
    if (label == Schema::kNone) {
      const auto found = std::ranges::find_if(visible.schema.fields, IsListOfClasses);
      if (found != visible.schema.fields.end())
        label = static_cast<std::size_t>(found - visible.schema.fields.begin());
    }
    if (label != Schema::kNone && visible.sources[label] != 0)
      labels_ = dataset.Column(visible.sources[label] - 1);
    const Schema& schema = labels_.manifest.schema;
    by_class_ = !selection.classes.empty() || selection.per_class;
    if (!by_class_) return;
    if (label == Schema::kNone) {
      Refuse(
          "has no classes to choose by: no label, and no boxes with classes; list the samples to "
          "take (--samples)");
    }
    field_ = schema.Find(visible.schema.fields[label].name);
    const std::vector<std::size_t> columns = ColumnFields(schema);
    column_ = static_cast<std::size_t>(std::find(columns.begin(), columns.end(), field_) -
                                       columns.begin());
    const std::vector<std::string>& names = schema.fields[field_].classes;
    wanted_.resize(names.size(), selection.classes.empty());
    for (const std::string& name : selection.classes) {
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end())
        Refuse("has no class \"" + name + "\"" + NamesInstead(name, names, "its classes are"));
      wanted_[static_cast<std::size_t>(found - names.begin())] = true;
    }
  }

  std::size_t classes() const noexcept { return wanted_.size(); }
  bool by_class() const noexcept { return by_class_; }

  // The number of candidates, if the selection does not depend on classes.
  std::uint64_t size() const noexcept {
    return numbers_.empty() ? living_.size() : numbers_.size();
  }
  std::uint64_t operator[](std::uint64_t i) const noexcept {
    return numbers_.empty() ? living_[i] : numbers_[i];
  }

  // Calls visit(sample, its wanted classes, each once) for each sample that has some, in order.
  template <class Visit>
  void ForEachOfClasses(Visit&& visit) const {
    std::vector<std::size_t> classes;
    ForEachSample(
        labels_, size(), [this](std::uint64_t i) { return (*this)[i]; },
        [&](const ShardFile& shard, std::uint64_t index, const KeyChunk&, std::uint64_t i) {
          FindClasses(shard, index, classes);
          if (!classes.empty()) visit((*this)[i], classes);
        });
  }

 private:
  [[noreturn]] void Refuse(const std::string& sentence) const {
    throw Error(ErrorCode::kInvalidArgument, dataset_.folder.string(), sentence);
  }

  // The wanted classes of a sample, sorted.
  void FindClasses(const ShardFile& shard, std::uint64_t index,
                   std::vector<std::size_t>& classes) const {
    classes.clear();
    const Field& field = shard.schema().fields[field_];
    const std::size_t size = SizeOf(field.dtype);
    const auto add = [&](Bytes element) {
      const std::int64_t number = ClassNumber(field, element);
      if (number >= 0 && static_cast<std::size_t>(number) < wanted_.size() &&
          wanted_[static_cast<std::size_t>(number)]) {
        classes.push_back(static_cast<std::size_t>(number));
      }
    };
    if (field.kind == FieldKind::kArray) {
      const ReadGuard guard = shard.Guard();
      const Bytes element = shard.Column(column_).subspan(index * size, size);
      add(element);
      if (shard.Lost(element)) throw shard.Unreadable("directory");
      return;
    }
    const std::vector<std::byte> numbers = ListIn(shard, index);
    for (std::size_t at = 0; at + size <= numbers.size(); at += size)
      add(Bytes(numbers).subspan(at, size));
    std::ranges::sort(classes);
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  }

  // A sample's list of classes; empty if it has none.
  std::vector<std::byte> ListIn(const ShardFile& shard, std::uint64_t index) const {
    const ReadGuard guard = shard.Guard();
    const BlockView block = shard.Block(static_cast<std::uint32_t>(index / shard.block_samples()));
    const auto row = static_cast<std::uint32_t>(index % shard.block_samples());
    FieldValue value;
    BlockView::Payload payload;
    Defect defect = block.GetPayload(shard.layout(), row, field_, payload);
    if (defect == nullptr) {
      value.codec = static_cast<Codec>(payload.entry.codec);
      if (value.codec == Codec::kAbsent) return {};
      if (!block.Matches(payload.bytes, payload.entry.checksum))
        defect = "the payload's checksum does not match";
      else
        value.SetBytes(payload.bytes);
    }
    if (shard.Lost(shard.bytes())) throw shard.Unreadable(shard.Place(index));
    if (defect != nullptr)
      throw Error(ErrorCode::kCorrupt, shard.name(), shard.Place(index), defect);
    try {
      InflateLabels(value);
    } catch (const Error& error) {
      throw AtSample(error, shard, index);
    }
    return std::move(value.bytes);
  }

  const StoredDataset& dataset_;
  StoredDataset labels_;  // the dataset, or the column of its classes
  const LivingSamples living_;
  std::vector<std::uint64_t> numbers_;  // empty: all that were not deleted
  bool by_class_ = false;
  std::size_t field_ = Schema::kNone;  // the field of classes; set if by_class_ is
  std::size_t column_ = 0;             // of a label: its column in the shards' directories
  std::vector<bool> wanted_;           // for each class
};

void WarnIfFewer(std::uint64_t samples, std::uint64_t wanted, std::vector<std::string>& warnings) {
  if (samples >= wanted) return;
  warnings.push_back("only " + std::to_string(samples) + " samples are there to choose from, not " +
                     std::to_string(wanted) + "; all of them were taken");
}

// The samples of the wanted classes; at most `per_class` of each class, at random.
std::vector<std::uint64_t> SelectByClass(const Candidates& candidates, const Selection& selection,
                                         std::vector<std::string>& warnings) {
  using Classes = std::vector<std::size_t>;
  std::vector<std::uint64_t> samples;
  if (!selection.per_class && !selection.count) {
    candidates.ForEachOfClasses(
        [&](std::uint64_t sample, const Classes&) { samples.push_back(sample); });
    return samples;
  }
  // Draws places among the samples of a class or, without `per_class`, among all of them.
  std::vector<std::uint64_t> sizes(selection.per_class ? candidates.classes() : 1);
  const Classes all = {0};
  const auto groups = [&](const Classes& classes) -> const Classes& {
    return selection.per_class ? classes : all;
  };
  candidates.ForEachOfClasses([&](std::uint64_t, const Classes& classes) {
    for (const std::size_t g : groups(classes))
      ++sizes[g];
  });
  if (selection.per_class) {
    const auto few = std::ranges::count_if(
        sizes, [&](std::uint64_t size) { return size > 0 && size < *selection.per_class; });
    if (few > 0)
      warnings.push_back(std::to_string(few) + (few == 1 ? " class has" : " classes have") +
                         " fewer than " + std::to_string(*selection.per_class) +
                         " samples; all of these were taken");
  }
  std::vector<std::vector<std::uint64_t>> drawn;
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    drawn.push_back(selection.per_class
                        ? DrawOf(sizes[g], *selection.per_class, selection.seed, g + 1)
                        : DrawOf(sizes[g], *selection.count, selection.seed, 0));
  }
  std::vector<std::uint64_t> seen(sizes.size()), taken(sizes.size());
  candidates.ForEachOfClasses([&](std::uint64_t sample, const Classes& classes) {
    bool is_drawn = false;
    for (const std::size_t g : groups(classes)) {
      if (taken[g] < drawn[g].size() && drawn[g][taken[g]] == seen[g]) {
        is_drawn = true;
        ++taken[g];
      }
      ++seen[g];
    }
    if (is_drawn) samples.push_back(sample);
  });
  return samples;
}

// Fewer samples than requested are taken with a warning.
std::vector<std::uint64_t> Select(const StoredDataset& dataset, const Selection& selection,
                                  std::vector<std::string>& warnings) {
  const Candidates candidates(dataset, selection);
  if (!candidates.by_class()) {
    const std::uint64_t count = selection.count.value_or(candidates.size());
    WarnIfFewer(candidates.size(), count, warnings);
    std::vector<std::uint64_t> drawn = DrawOf(candidates.size(), count, selection.seed, 0);
    for (std::uint64_t& place : drawn)
      place = candidates[place];
    return drawn;
  }
  std::vector<std::uint64_t> samples = SelectByClass(candidates, selection, warnings);
  if (selection.count) WarnIfFewer(samples.size(), *selection.count, warnings);
  if (!selection.per_class || !selection.count) return samples;
  std::vector<std::uint64_t> drawn = DrawOf(samples.size(), *selection.count, selection.seed, 0);
  for (std::uint64_t& place : drawn)
    place = samples[place];
  return drawn;
}

}  // namespace

EditSummary SubsetDataset(const std::filesystem::path& dataset, const std::filesystem::path& out,
                          const Selection& selection, const EditHooks& hooks) {
  const StoredDataset stored(dataset, hooks.stop);
  RequireAllShards(stored, hooks.stop);
  std::vector<std::string> warnings;
  const std::vector<std::uint64_t> samples = Select(stored, selection, warnings);
  // Columns become fields of the new shards.
  VisibleRows rows(stored);
  DatasetBuild build(out, stored.manifest.name, rows.schema(), samples.size(), hooks);
  build.Keep(stored.manifest);
  const Id128 chosen = Hash128({std::as_bytes(std::span(stored.id.bytes)),
                                std::as_bytes(std::span<const std::uint64_t>(samples))});
  ForEachSample(
      stored, samples.size(), [&](std::uint64_t i) { return samples[i]; },
      [&](const ShardFile& shard, std::uint64_t index, KeyChunk& keys, std::uint64_t i) {
        EncodedSample sample = rows.Values(samples[i]);
        sample.key = KeyOf(shard, index, keys);
        build.Fill(chosen, shard.block_samples(), std::move(sample));
      });
  EditSummary summary =
      build.Finish(MadeByEdit("subset", {stored.id}, OptionsOfMade(stored.manifest.made)));
  summary.warnings.insert(summary.warnings.begin(), warnings.begin(), warnings.end());
  return summary;
}

}  // namespace sluice
