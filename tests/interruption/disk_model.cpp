#include "tests/interruption/disk_model.h"

#include <algorithm>
#include <stdexcept>

namespace sluice::test {

std::string DiskModel::NameIn(const std::string& path) const {
  if (!path.starts_with(folder_ + "/")) throw std::runtime_error("not in the folder: " + path);
  return path.substr(folder_.size() + 1);
}

DiskModel::Meanings& DiskModel::MeaningsOf(const std::string& name) {
  Meanings& meanings = names_[name];
  if (meanings.empty()) meanings.emplace_back();
  return meanings;
}

DiskModel::File& DiskModel::Now(const std::string& path) {
  const std::optional<std::size_t> file = MeaningsOf(NameIn(path)).back();
  if (!file) throw std::runtime_error("no such file: " + path);
  return files_[*file];
}

void DiskModel::Begin(const std::map<std::string, std::string>& content) {
  made_ = made_surely_ = true;
  for (const auto& [name, text] : content) {
    names_[name] = {files_.size()};
    files_.push_back({text, text});
  }
}

void DiskModel::Apply(const RecordedCall& call) {
  switch (call.call) {
    case FileCall::kCreate: {
      Meanings& meanings = MeaningsOf(NameIn(call.path));
      if (meanings.back()) {
        files_[*meanings.back()].written.clear();
      } else {
        meanings.emplace_back(files_.size());
        files_.emplace_back();
      }
      break;
    }
    case FileCall::kWrite: {
      std::string& written = Now(call.path).written;
      written.resize(std::max<std::size_t>(written.size(), call.offset + call.data.size()));
      written.replace(call.offset, call.data.size(), call.data);
      break;
    }
    case FileCall::kSync:
      if (call.path == folder_) {
        for (auto& [name, meanings] : names_)
          meanings = {meanings.back()};
      } else if (call.path.starts_with(folder_ + "/")) {
        Now(call.path).sure = Now(call.path).written;
      } else {
        made_surely_ = made_;  // a sync of the parent folder
      }
      break;
    case FileCall::kRename: {
      const std::optional<std::size_t> file = MeaningsOf(NameIn(call.path)).back();
      if (!file) throw std::runtime_error("nothing to rename: " + call.path);
      MeaningsOf(NameIn(call.to)).emplace_back(file);
      MeaningsOf(NameIn(call.path)).emplace_back();
      break;
    }
    case FileCall::kLink:
      MeaningsOf(NameIn(call.to)).emplace_back(files_.size());
      files_.push_back({call.data, call.data});
      break;
    case FileCall::kUnlink:
      if (call.path == folder_) {
        removed_ = true;
        break;
      }
      MeaningsOf(NameIn(call.path)).emplace_back();
      break;
    case FileCall::kMakeFolder: made_ = true; break;
    case FileCall::kClose: break;
  }
}

std::vector<std::string> DiskModel::ContentsOf(const File& file) {
  if (file.synced()) return {file.sure};
  std::vector<std::string> contents = {file.sure, file.written,
                                       file.written.substr(0, file.written.size() / 2),
                                       std::string(file.written.size(), '\0')};
  std::string holes = file.written;  // every other page did not reach the disk
  for (std::size_t at = 0; at < holes.size(); at += 8192)
    std::fill_n(holes.begin() + static_cast<std::ptrdiff_t>(at),
                std::min<std::size_t>(4096, holes.size() - at), '\0');
  contents.push_back(std::move(holes));
  return contents;
}

void DiskModel::ForEachState(const std::function<void(const DiskState&)>& visit) const {
  if (!made_surely_ || removed_) visit(std::nullopt);
  if (!made_) return;
  // For each name, its possible contents; nullopt: it does not exist.
  std::vector<std::pair<std::string, std::vector<std::optional<std::string>>>> choices;
  for (const auto& [name, meanings] : names_) {
    const std::set<std::optional<std::size_t>> distinct(meanings.begin(), meanings.end());
    std::vector<std::optional<std::string>> contents;
    for (const std::optional<std::size_t>& file : distinct) {
      if (!file) {
        contents.emplace_back();
      } else {
        for (std::string& content : ContentsOf(files_[*file]))
          contents.emplace_back(std::move(content));
      }
    }
    choices.emplace_back(name, std::move(contents));
  }
  std::vector<std::size_t> chosen(choices.size());
  for (;;) {
    DiskState state(std::in_place);
    for (std::size_t i = 0; i < choices.size(); ++i) {
      const std::optional<std::string>& content = choices[i].second[chosen[i]];
      if (content) (*state)[choices[i].first] = *content;
    }
    visit(state);
    std::size_t digit = 0;  // counts up, each digit in its own base
    while (digit < chosen.size() && ++chosen[digit] == choices[digit].second.size())
      chosen[digit++] = 0;
    if (digit == chosen.size()) return;
  }
}

}  // namespace sluice::test
