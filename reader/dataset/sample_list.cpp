// The lists of samples that an epoch can be made of (SampleList): given by the user, balanced by
// class, drawn by weight, or the epoch of a mixture.
//
// A list is a draw (reader/order/sample_draw.h), worked out again for each epoch, and a digest of
// all that the draw depends on. The digest shows whether a loader that resumes has the list of the
// resume point. Lists made by Of() and by Where() have the same digest if they have the same
// samples in the same order.
#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include <sluice/error.h>
#include <sluice/sample_list.h>

#include "format/disk/checksum.h"
#include "format/disk/record_layout.h"
#include "reader/dataset/dataset_state.h"
#include "reader/dataset/sample_list_state.h"

namespace sluice {

namespace {

[[noreturn]] void RefuseList(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, what);
}

// Part of digests, so never to be changed.
enum ListKind : std::uint64_t { kFixedList = 1, kWeightedList, kBalancedList, kMixtureList };

// A digest of the kind of list, its numbers, and lists of numbers.
class ListDigest {
 public:
  // The first number is a ListKind.
  explicit ListDigest(std::initializer_list<std::uint64_t> numbers) { Add(std::vector(numbers)); }
  ListDigest& Add(const std::vector<std::uint64_t>& numbers) {
    words_.push_back(numbers.size());
    words_.insert(words_.end(), numbers.begin(), numbers.end());
    return *this;
  }
  std::string Text() const { return ToHex(Hash128(std::as_bytes(std::span(words_)))); }

 private:
  std::vector<std::uint64_t> words_;
};

std::shared_ptr<const SampleListState> SharedList(SampleListState state) {
  return std::make_shared<const SampleListState>(std::move(state));
}

// `fields`: names; empty: all that users see.
ListOrigin OriginOf(const DatasetFacts& dataset, std::vector<std::string> fields = {}) {
  if (fields.empty()) {
    for (const Field& field : dataset.manifest.schema.fields)
      fields.push_back(field.name);
  }
  ListOrigin origin{dataset.id, dataset.ShardsDigest(), {}};
  for (std::string& field : fields) {
    std::string source = dataset.SourceDigest(field);
    origin.fields.emplace_back(std::move(field), std::move(source));
  }
  return origin;
}

// Whether a sample has any number of classes: several labels, or the classes of its boxes.
bool HasSeveralClasses(const Field& field) noexcept {
  return field.kind == FieldKind::kVariable && field.role == Role::kLabel &&
         field.dtype == DType::kInt32 && field.shape.empty();
}

std::size_t LabelField(const DatasetState& dataset, const std::string& name) {
  const Schema& schema = dataset.facts->manifest.schema;
  std::size_t index = name.empty() ? schema.LabelField() : dataset.facts->FieldIndex(name);
  for (std::size_t f = 0; f < schema.fields.size() && index == Schema::kNone; ++f) {
    if (HasSeveralClasses(schema.fields[f])) index = f;
  }
  if (index == Schema::kNone) {
    throw Error(ErrorCode::kInvalidArgument, dataset.facts->folder.string(),
                "has no label field of integers");
  }
  const Field& field = schema.fields[index];
  if (HasSeveralClasses(field)) return index;
  if (field.kind != FieldKind::kArray || !field.shape.empty() || !IsInteger(field.dtype)) {
    throw Error(
        ErrorCode::kInvalidArgument, dataset.facts->folder.string(),
        "field \"" + field.name +
            "\" is neither an integer scalar nor a list of labels (int32), so it cannot be a class "
            "label");
  }
  return index;
}

// The field's value of every sample, from the shards' directories.
std::vector<std::int64_t> ValuesOf(const Dataset& dataset, const Field& field) {
  const std::vector<std::byte> bytes = dataset.Column(field.name);
  const std::size_t size = SizeOf(field.dtype);
  std::vector<std::int64_t> values;
  for (std::size_t at = 0; at < bytes.size(); at += size)
    values.push_back(ClassNumber(field, Bytes(bytes).subspan(at, size)));
  return values;
}

// Every sample's list of classes. The lists lie in blocks; a filter that keeps no sample serves as
// a parallel loop over them.
std::vector<std::vector<std::int32_t>> ClassListsOf(const Dataset& dataset,
                                                    const std::string& field) {
  std::vector<std::vector<std::int32_t>> lists(dataset.size());
  FilterOptions options;
  options.fields = {field};
  SampleList::Where(
      dataset,
      [&](const Sample& sample) {
        if (sample.Has(field)) {
          const std::span<const std::int32_t> numbers = sample.Array<std::int32_t>(field);
          lists[sample.index()].assign(numbers.begin(), numbers.end());
        }
        return false;
      },
      options);
  return lists;
}

}  // namespace

SampleList SampleList::Of(std::vector<std::uint64_t> samples) {
  // One more than the largest number. UINT64_MAX stays itself; no dataset has that many.
  const std::uint64_t largest = samples.empty() ? 0 : *std::ranges::max_element(samples);
  const std::uint64_t needs = samples.empty() ? 0 : std::max(largest + 1, largest);
  std::string digest = ListDigest({kFixedList}).Add(samples).Text();
  return SampleList(SharedList(
      {.draw = FixedDraw{std::move(samples)}, .digest = std::move(digest), .needs = needs}));
}

SampleList SampleList::Weighted(const std::vector<double>& weights, std::uint64_t count,
                                bool replacement) {
  std::uint64_t positive = 0;
  for (const double weight : weights) {
    if (!std::isfinite(weight) || weight < 0) {
      RefuseList("SampleList::Weighted needs finite weights that are not negative");
    }
    positive += weight > 0 ? 1 : 0;
  }
  if (positive < (replacement ? std::min<std::uint64_t>(count, 1) : count)) {
    RefuseList(
        "SampleList::Weighted cannot draw " + std::to_string(count) + " samples out of " +
        std::to_string(positive) + " with a weight above 0; " +
        (replacement ? "give some sample such a weight" : "draw fewer, or with replacement"));
  }
  WeightedDraw draw{WholeWeights(weights), count, replacement};
  const ListDigest digest =
      ListDigest({kWeightedList, count, replacement ? 1U : 0U}).Add(draw.weights);
  return SampleList(SharedList(
      {.draw = std::move(draw), .digest = digest.Text(), .needs_exactly = weights.size()}));
}

SampleList SampleList::ClassBalanced(const Dataset& dataset, std::uint64_t per_class,
                                     const std::string& field) {
  DatasetState& state = *dataset.state();
  const std::size_t index = LabelField(state, field);
  const Field& label = state.facts->manifest.schema.fields[index];
  std::map<std::int64_t, std::vector<std::uint64_t>> classes;
  const auto take = [&](std::uint64_t sample, std::int64_t number) {
    if (!label.classes.empty() && !IsClass(label, number)) return;
    if (dataset.IsDeleted(sample)) return;
    std::vector<std::uint64_t>& members = classes[number];
    if (members.empty() || members.back() != sample) members.push_back(sample);
  };
  if (HasSeveralClasses(label)) {
    const std::vector<std::vector<std::int32_t>> lists = ClassListsOf(dataset, label.name);
    for (std::uint64_t sample = 0; sample < lists.size(); ++sample) {
      for (const std::int32_t number : lists[sample])
        take(sample, number);
    }
  } else {
    const std::vector<std::int64_t> values = ValuesOf(dataset, label);
    for (std::uint64_t sample = 0; sample < values.size(); ++sample)
      take(sample, values[sample]);
  }
  BalancedDraw draw;
  draw.per_class = per_class;
  ListDigest digest({kBalancedList, per_class});
  for (auto& [number, members] : classes) {
    digest.Add(members);
    draw.classes.push_back(std::move(members));
  }
  return SampleList(SharedList({.draw = std::move(draw),
                                .digest = digest.Text(),
                                .needs_exactly = dataset.size(),
                                .origin = OriginOf(*state.facts, {label.name})}));
}

std::shared_ptr<const SampleListState> KeptList(const Dataset& dataset,
                                                std::vector<std::uint64_t> samples) {
  // The digest of the same list made by Of(), because both are played alike.
  std::string digest = ListDigest({kFixedList}).Add(samples).Text();
  return SharedList({.draw = FixedDraw{std::move(samples)},
                     .digest = std::move(digest),
                     .needs_exactly = dataset.size(),
                     .origin = OriginOf(*dataset.state()->facts)});
}

std::uint64_t SampleList::size() const noexcept {
  return state_ == nullptr ? 0 : CountOf(state_->draw);
}

std::string SampleList::digest() const {
  return state_ == nullptr ? std::string() : state_->digest;
}

std::string WhyEmpty(const SampleList& list) {
  const SampleListState& state = *list.state();
  if (const auto* weighted = std::get_if<WeightedDraw>(&state.draw)) {
    return "SampleList::Weighted was asked to draw " + std::to_string(weighted->count) + " samples";
  }
  if (const auto* balanced = std::get_if<BalancedDraw>(&state.draw)) {
    if (balanced->classes.empty()) {
      return "SampleList::ClassBalanced found no sample with a label that is a class";
    }
    return "SampleList::ClassBalanced was asked to draw " + std::to_string(balanced->per_class) +
           " samples of each class";
  }
  if (!state.origin) return "SampleList::Of was given no samples";
  return "the filter of SampleList::Where keeps none of " + std::to_string(state.needs_exactly) +
         " samples";
}

void CheckList(const SampleList& list, const DatasetFacts& dataset) {
  if (list.all()) return;
  const std::uint64_t samples = dataset.manifest.samples;
  constexpr std::uint64_t kMaxListed = std::uint64_t{1} << 40;
  const SampleListState& state = *list.state();
  if (list.size() > kMaxListed) {
    RefuseList("LoaderOptions::order.samples has " + std::to_string(list.size()) +
               " samples in an epoch; the limit is 2^40");
  }
  if (state.needs > samples) {
    RefuseList("LoaderOptions::order.samples has sample number " + std::to_string(state.needs - 1) +
               ", and the dataset has " + std::to_string(samples));
  }
  // A mask of integers is a list of valid numbers, and would play samples 0 and 1 over and over.
  const bool given = std::holds_alternative<FixedDraw>(state.draw) && !state.origin;
  if (given && samples > 2 && list.size() == samples && state.needs <= 2) {
    RefuseList(
        "LoaderOptions::order.samples has as many numbers as the dataset has samples, and all are "
        "0 or 1, as in a mask; SampleList::Of takes the numbers of the samples: those at which the "
        "mask is 1 (in Python numpy.flatnonzero(mask)). To play samples 0 and 1 this often, give a "
        "list of another length");
  }
  if (state.needs_exactly != 0 && state.needs_exactly != samples) {
    RefuseList("LoaderOptions::order.samples was made for a dataset of " +
               std::to_string(state.needs_exactly) + " samples, and this one has " +
               std::to_string(samples));
  }
  if (!state.origin || state.origin->dataset == dataset.id) return;
  if (state.origin->shards != dataset.ShardsDigest()) {
    RefuseList("LoaderOptions::order.samples was made from the dataset with id " +
               state.origin->dataset + ", but this one has id " + dataset.id +
               " and other samples; make the list from the dataset that you load");
  }
  for (const auto& [field, source] : state.origin->fields) {
    // Without the field, no value contradicts the list.
    if (dataset.manifest.schema.Find(field) == Schema::kNone ||
        source == dataset.SourceDigest(field))
      continue;
    RefuseList("LoaderOptions::order.samples was made from the version " + state.origin->dataset +
               " of the dataset, in which the field \"" + field +
               "\" had other values; make the list from the version that you load");
  }
}

SampleList ListOf(std::shared_ptr<const SampleListState> state) {
  return SampleList(std::move(state));
}

SampleList MixtureList(std::shared_ptr<const MixturePlan> plan,
                       const std::vector<std::uint64_t>& windows) {
  const MixtureParameters& of = plan->parameters();
  const bool in_batches = of.shares == MixtureShares::kOfEachBatch;
  ListDigest digest({kMixtureList, in_batches ? of.batch_size : 0, in_batches ? of.world_size : 0});
  digest.Add(windows);
  std::vector<std::uint64_t> draws;
  for (const MixturePlan::Part& part : plan->parts())
    draws.push_back(part.draws);
  digest.Add(draws);
  return ListOf(SharedList({.draw = MixtureDraw{std::move(plan)}, .digest = digest.Text()}));
}

}  // namespace sluice
