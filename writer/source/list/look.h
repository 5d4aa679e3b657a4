// A first look at files: their size and kind.
#pragma once

#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "writer/source/images/sniff.h"
#include "writer/source/list/folder_walk.h"
#include "writer/source/list/source_list.h"

namespace sluice {

struct Look {
  Sniffed sniffed;
  std::uint64_t bytes = 0;
  std::int64_t changed = 0;  // when an object in a store changed, in seconds since 1970; 0: unknown
  std::string trouble;       // why it cannot be read
};

// Reads the beginning of the file. Throws Error(kIo) if the process has no room for another open
// file.
Look LookInto(const std::filesystem::path& path);
// The same for a file below the list's root, which may be in a store: then kIo also means that the
// store does not answer. If the list takes images as values, files of numbers are images, too.
// `bytes`: the object's size, if it is known.
Look LookInto(const SourceList& list, const std::string& key, std::uint64_t bytes = kUnknownBytes);
// Calls look(i), which looks into one of the list's files, for each i below `count`. Uses `threads`
// threads, or for a store more, since most threads then wait. Throws what `look` throws, and
// ThrowStopped()'s Error after a stop request.
void LookIntoAll(const SourceList& list, unsigned threads, std::size_t count,
                 const ConvertHooks& hooks, const std::function<void(std::size_t)>& look);

// Whether files of images have this ending, such as "jpg" or "JPG".
bool IsImageEnding(std::string_view ending);
// Whether the path's file is called like an image.
bool IsImageName(std::string_view path);

// Whether a file with this look can be converted. If so, adds its kind to list.kinds. If not, adds
// the file with the reason to list.passed_over if it can be read and neither its content nor its
// name is an image's, otherwise to list.broken.
bool TakeOrLeave(const Look& look, const std::string& name, SourceList& list);

}  // namespace sluice
