// The files of a sample are those with its name, in one folder. A name may end in several channels'
// names (x_a_b, with the channels b and a_b): the longest counts.
#include "writer/source/stack_files.h"

#include <algorithm>
#include <map>

#include "writer/source/list/list_checks.h"
#include "writer/text.h"

namespace sluice {

namespace {

// The number of the channel that the file belongs to, and the sample's name; the number is
// channels.size() if it belongs to none.
std::pair<std::size_t, std::string> ChannelOf(const std::string& key,
                                              const std::vector<std::string>& channels) {
  const std::size_t folder = key.rfind('/') + 1;  // 0 without a slash
  const std::size_t dot = key.rfind('.');
  std::string stem = dot == std::string::npos || dot <= folder ? key : key.substr(0, dot);
  std::size_t best = channels.size(), longest = 0;
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const bool fits =
        stem.ends_with("_" + channels[c]) && stem.size() > folder + channels[c].size() + 1;
    if (!fits || channels[c].size() < longest) continue;
    best = c;
    longest = channels[c].size();
  }
  if (best < channels.size()) stem.resize(stem.size() - longest - 1);
  return {best, stem};
}

}  // namespace

void StackFiles(const std::vector<std::string>& channels, SourceList& list) {
  constexpr std::size_t kNone = SIZE_MAX;
  std::map<std::string, std::vector<std::size_t>> samples;  // by name: the source of each channel
  for (std::size_t i = 0; i < list.sources.size(); ++i) {
    const std::string& key = list.sources[i].key;
    const auto [channel, name] = ChannelOf(key, channels);
    if (channel == channels.size()) {
      list.passed_over.push_back({key, "its name ends with none of the channels of --stack"});
      continue;
    }
    auto& files = samples.try_emplace(name, channels.size(), kNone).first->second;
    if (files[channel] == kNone) {
      files[channel] = i;
    } else {
      list.broken.push_back({key, "is a second file for the channel " + channels[channel] + " of " +
                                      ToUtf8(name) + ", after " +
                                      ToUtf8(list.sources[files[channel]].key)});
    }
  }
  std::vector<Source> sources;
  SourceValues values;
  for (const auto& [name, files] : samples) {
    const auto missing = std::find(files.begin(), files.end(), kNone);
    if (missing != files.end()) {
      const std::string& channel = channels[static_cast<std::size_t>(missing - files.begin())];
      list.broken.push_back({name, "has no file for the channel " + channel + ": " + ToUtf8(name) +
                                       "_" + channel + " with the ending of an image"});
      continue;
    }
    Source one = list.sources[files[0]];
    std::vector<std::byte> others;
    for (std::size_t c = 1; c < files.size(); ++c) {
      const Source& other = list.sources[files[c]];
      const std::vector<std::byte> value = MaskValue(other.bytes, other.key);
      others.insert(others.end(), value.begin(), value.end());
      others.push_back(std::byte{0});
      one.changed = std::max(one.changed, other.changed);
    }
    one.sample_key = name;
    values.Add(others);
    for (std::size_t f = 1; f < list.fields.size(); ++f)
      values.Add(list.Value(files[0], f));
    sources.push_back(std::move(one));
  }
  list.sources = std::move(sources);
  list.values = std::move(values);
  std::ranges::sort(list.broken, {}, &LeftOut::path);
  std::ranges::sort(list.passed_over, {}, &LeftOut::path);
  RequireImages(list.root, list);
}

}  // namespace sluice
