// Resume points: their text, and the check that a loader may start from one.
//
// The text is one line of words, "sluice-resume-1 name=value ... check=...", so that it survives
// log files and command lines. It is read strictly: every word in its place, and the check word
// last. A loader refuses a point whose order differs from its own in anything that changes which
// samples come: it would resume in the middle of another epoch.
//
// Another version of the dataset will do if the loader plays the same on it. For this, its manifest
// is looked for. Of a mixture, a point has the ids of all datasets ("ID+ID").
#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include <sluice/error.h>
#include <sluice/resume.h>
#include <sluice/shown_path.h>

#include "format/ascii.h"
#include "format/disk/checksum.h"
#include "format/remote/remote_manifest.h"
#include "reader/batch/batch_recipe.h"
#include "reader/dataset/field_choice.h"
#include "reader/dataset/rank_epoch.h"
#include "reader/loader/checked_options.h"
#include "reader/loader/loader_setup.h"
#include "reader/order/order.h"

namespace sluice {

namespace {

constexpr std::string_view kFirstWord = "sluice-resume-1";

[[noreturn]] void RefusePoint(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument,
              "this is not a resume point (" + what +
                  "); pass the whole line that ResumePoint::Text() gave");
}

// Notices a line that was cut or retyped. It does not protect against forgery.
std::string CheckOf(std::string_view text) {
  std::uint64_t hash = Hash64(std::as_bytes(std::span(text)));
  std::string check(16, '0');
  for (auto digit = check.rbegin(); digit != check.rend(); ++digit, hash >>= 4)
    *digit = kHexDigits[hash & 15];
  return check;
}

std::vector<std::string_view> WordsIn(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// The words after the first, taken in order.
class Reading {
 public:
  explicit Reading(std::string_view text) : words_(WordsIn(text)) {}

  std::string_view Value(std::string_view name) {
    if (next_ == words_.size()) RefusePoint("\"" + std::string(name) + "\" is missing");
    const std::string_view word = words_[next_++];
    if (word.substr(0, name.size()) != name || word.substr(name.size(), 1) != "=") {
      RefusePoint("\"" + std::string(name) + "\" is missing or out of order");
    }
    return word.substr(name.size() + 1);
  }
  std::uint64_t Number(std::string_view name) {
    const auto number = ParseNumber<std::uint64_t>(Value(name));
    if (!number) RefusePoint("\"" + std::string(name) + "\" is not a number");
    return *number;
  }
  // A version whose word is there only if it is not 1.
  std::uint32_t LaterVersion(std::string_view name) {
    if (AtEnd() || words_[next_].substr(0, words_[next_].find('=')) != name) return 1;
    const std::uint64_t version = Number(name);
    if (version < 2 || version > UINT32_MAX)
      RefusePoint("\"" + std::string(name) + "\" is out of range");
    return static_cast<std::uint32_t>(version);
  }
  bool AtEnd() const noexcept { return next_ == words_.size(); }

 private:
  std::vector<std::string_view> words_;
  std::size_t next_ = 1;
};

}  // namespace

std::string ResumePoint::Text() const {
  std::string text =
      std::string(kFirstWord) + " dataset=" + dataset + " order=" + std::to_string(order_version) +
      " shuffle=" + std::string(NameOf(shuffle)) + " seed=" + std::to_string(seed) +
      " lanes=" + std::to_string(lanes) + " window=" + std::to_string(window_blocks) +
      " shard_ranks=" + std::to_string(shard_ranks) + " list=" + (list.empty() ? "-" : list) +
      " epoch=" + std::to_string(epoch) + " position=" + std::to_string(position);
  // Left out for version 1, so that the text stays readable by versions before this word existed.
  if (draws_version != 1) text += " draws=" + std::to_string(draws_version);
  return text + " check=" + CheckOf(text);
}

ResumePoint ResumePoint::Parse(std::string_view text) {
  // A line read back from a file may still have its line end.
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
    text.remove_suffix(1);
  if (WordsIn(text)[0] != kFirstWord)
    RefusePoint("it does not begin with " + std::string(kFirstWord));
  const std::size_t check = text.rfind(" check=");
  if (check == std::string_view::npos || text.substr(check + 7) != CheckOf(text.substr(0, check))) {
    RefusePoint("its check value does not match: it was cut short or changed");
  }
  Reading words(text.substr(0, check));
  ResumePoint point;
  point.dataset = words.Value("dataset");
  const std::uint64_t version = words.Number("order");
  if (version > UINT32_MAX) RefusePoint("\"order\" is out of range");
  point.order_version = static_cast<std::uint32_t>(version);
  const std::optional<Shuffle> shuffle = ShuffleOf(words.Value("shuffle"));
  if (!shuffle) RefusePoint("\"shuffle\" is not known");
  point.shuffle = *shuffle;
  point.seed = words.Number("seed");
  point.lanes = words.Number("lanes");
  point.window_blocks = words.Number("window");
  point.shard_ranks = words.Number("shard_ranks");
  point.list = words.Value("list");
  if (point.list == "-") point.list.clear();
  point.epoch = words.Number("epoch");
  point.position = words.Number("position");
  point.draws_version = words.LaterVersion("draws");
  if (!words.AtEnd()) RefusePoint("there is text after its end");
  return point;
}

namespace {

[[noreturn]] void RefuseResume(const std::string& sentence) {
  throw Error(ErrorCode::kInvalidArgument, "LoaderOptions::resume_from " + sentence);
}

void RequireSame(const char* option, const std::string& saved, const std::string& here) {
  if (saved == here) return;
  RefuseResume("was saved with " + std::string(option) + " = " + saved + ", and this loader has " +
               here + "; set it to the saved value, or leave resume_from empty to start anew");
}

}  // namespace

ResumePoint StartOf(const DatasetFacts& dataset, const LoaderOptions& options) {
  const OrderParameters order = OrderParametersOf(options);
  ResumePoint start;
  for (const MixedDataset& part : dataset.parts)
    start.dataset += (start.dataset.empty() ? "" : "+") + part.dataset->facts->id;
  if (dataset.parts.empty()) start.dataset = dataset.id;
  start.shuffle = order.shuffle;
  start.seed = order.seed;
  if (order.shuffle == Shuffle::kQuasiRandom) {
    start.lanes = order.lanes;
    start.window_blocks = WindowBlocks(dataset.shape, order);
  }
  if (options.ranks.by_shards) start.shard_ranks = options.ranks.world_size;
  start.list = options.order.batches ? "batches" : options.order.samples.digest();
  start.draws_version = kDrawsVersion;
  return start;
}

void CheckResume(const ResumePoint& point, const ResumePoint& start, std::uint64_t global_batch,
                 std::uint64_t positions) {
  if (point.dataset != start.dataset) {
    RefuseResume("belongs to the dataset with id " + point.dataset + ", and this one has id " +
                 start.dataset +
                 "; open the dataset that the training began with, or leave resume_from empty to "
                 "start anew");
  }
  if (point.order_version != start.order_version) {
    RefuseResume("was saved by a version of Sluice with order version " +
                 std::to_string(point.order_version) + ", and this one has version " +
                 std::to_string(start.order_version) +
                 "; use that version of Sluice, or start the epoch anew");
  }
  if (point.draws_version != start.draws_version) {
    RefuseResume(
        "was saved by a version of Sluice whose transforms draw random numbers by version " +
        std::to_string(point.draws_version) + ", and this one draws them by version " +
        std::to_string(start.draws_version) +
        "; use that version of Sluice, or start the epoch anew");
  }
  RequireSame("shuffle", std::string(NameOf(point.shuffle)), std::string(NameOf(start.shuffle)));
  RequireSame("seed", std::to_string(point.seed), std::to_string(start.seed));
  RequireSame("lanes", std::to_string(point.lanes), std::to_string(start.lanes));
  RequireSame("window (in blocks of a lane)", std::to_string(point.window_blocks),
              std::to_string(start.window_blocks));
  RequireSame("world_size (0: ranks.by_shards is false)", std::to_string(point.shard_ranks),
              std::to_string(start.shard_ranks));
  if (point.list != start.list) {
    RefuseResume(
        "was saved with other samples: with another LoaderOptions::order.samples or order.batches, "
        "or with another mixture (its weights, length or shares; with shares of each batch, also "
        "batch_size and world_size must be the same). Use the same, or leave resume_from empty to "
        "start anew");
  }
  // A batch must not be played half before the interruption and half after it.
  if (point.position % global_batch != 0) {
    RefuseResume(
        "lies at sample " + std::to_string(point.position) +
        " of its epoch, which is not a multiple of the global batch (batch_size x world_size = " +
        std::to_string(global_batch) + "); choose batch_size and world_size so that it is");
  }
  if (point.position > 0 && point.position >= positions) {
    RefuseResume(std::string("lies at ") + (point.list == "batches" ? "batch " : "sample ") +
                 std::to_string(point.position) + " of an epoch of " + std::to_string(positions) +
                 "; use the value of Loader::State() unchanged");
  }
}

namespace {

// A version of a dataset by its id: its manifest, and what opens it.
struct Version {
  Manifest manifest;
  std::string path;
};

// The version of the dataset that has that id; nullopt if its manifest is not kept.
std::optional<Version> FindVersion(const DatasetFacts& dataset, const std::string& id) {
  Id128 wanted;
  if (!FromHex(id, wanted) || dataset.supply != nullptr) return std::nullopt;
  // The manifest in use comes last: its file name does not tell its id, so it has to be read.
  for (const std::string& name : {OldManifestName(wanted), std::string(kManifestName)}) {
    try {
      Id128 found;
      Manifest manifest = dataset.store != nullptr ? ReadManifest(*dataset.store, found, name)
                                                   : ReadManifest(dataset.folder / name, found);
      if (found == wanted) return Version{std::move(manifest), (dataset.folder / name).string()};
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kIo || error.code() == ErrorCode::kState) throw;
      continue;  // not there, or of no use
    }
  }
  return std::nullopt;
}

// Throws Error(kInvalidArgument) unless the loader plays on another version of the dataset what it
// would have played on this one: the same samples, and the fields in use from the same shards.
// Deleted samples do not matter, because they move no other sample. `fields`: names of those in
// use, some of which the dataset may lack in a mixture.
void RequireSamePlaying(const DatasetFacts& dataset, const std::vector<std::string>& fields,
                        const Version& other) {
  const std::string open = "; open " + ShownPath(other.path) +
                           ", the version that the training began with, or leave resume_from "
                           "empty to start anew";
  if (other.manifest.shards != dataset.manifest.shards)
    RefuseResume("belongs to a version of the dataset with other samples" + open);
  const VisibleFields before = VisibleFields::Of(other.manifest);
  const VisibleFields now{dataset.manifest.schema,
                          dataset.sources.empty()
                              ? std::vector<std::uint32_t>(dataset.manifest.schema.fields.size())
                              : dataset.sources};
  for (const std::string& field : fields) {
    const bool was_there = before.schema.Find(field) != Schema::kNone;
    const bool is_there = now.schema.Find(field) != Schema::kNone;
    if (is_there == was_there &&
        (!is_there || SameSource(dataset.manifest, now, other.manifest, before, field))) {
      continue;
    }
    RefuseResume("belongs to a version of the dataset in which the field \"" + field +
                 (was_there ? "\" had other values" : "\" did not exist") +
                 "; leave the field out by LoaderOptions::output.fields" + open);
  }
}

// Whether the loader plays what it played on the datasets with these ids ("ID+ID" of a mixture):
// each is this one, or another version of it. Throws the Error of RequireSamePlaying().
bool PlaysTheSame(const DatasetFacts& dataset, const LoaderOptions& options,
                  const std::string& ids) {
  std::vector<const DatasetFacts*> parts;
  for (const MixedDataset& part : dataset.parts)
    parts.push_back(part.dataset->facts.get());
  if (parts.empty()) parts.push_back(&dataset);
  const FieldChoice choice = FieldChoice::Of(dataset, options);
  std::vector<std::string> fields;
  for (std::size_t f = 0; f < choice.chosen.size(); ++f)
    if (choice.chosen[f]) fields.push_back(dataset.manifest.schema.fields[f].name);
  std::size_t at = 0;
  for (const DatasetFacts* const part : parts) {
    if (at > ids.size()) return false;
    const std::size_t end = std::min(ids.find('+', at), ids.size());
    const std::string id = ids.substr(at, end - at);
    at = end + 1;
    if (id == part->id) continue;
    const std::optional<Version> other = FindVersion(*part, id);
    if (!other) return false;
    RequireSamePlaying(*part, fields, *other);
  }
  return at > ids.size();
}

}  // namespace

void CheckStart(const DatasetFacts& dataset, const LoaderOptions& options, const Deal& deal) {
  const std::optional<ResumePoint>& point = options.resume_from;
  const std::uint64_t epoch = point ? point->epoch : 0;
  CheckEpoch(dataset, options, epoch, deal.SizeOf(epoch));
  if (!point) return;
  ResumePoint start = StartOf(dataset, options);
  if (point->dataset != start.dataset && PlaysTheSame(dataset, options, point->dataset))
    start.dataset = point->dataset;
  CheckResume(*point, start, GlobalBatchOf(options), deal.PositionsOf(epoch));
}

}  // namespace sluice
