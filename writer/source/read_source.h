// Reads images, masks and values of a list's sources.
#pragma once

#include <atomic>
#include <vector>

#include "writer/source/list/source_list.h"

namespace sluice {

// Reads a source's image. Throws an Error whose sentence() says what is wrong, without a name.
// Waiting for a store ends with an Error soon after `give_up`, if it is not null, becomes true.
void ReadImageFile(const SourceList& list, std::size_t source, std::vector<std::byte>& content,
                   const std::atomic<bool>* give_up = nullptr);
// A page of an archive, unpacked: for reading many of its images one after another.
struct UnpackedPage {
  static constexpr std::uint64_t kNone = UINT64_MAX;
  std::uint64_t number = kNone;  // of SourceList::pages
  std::vector<std::byte> content;
};
// The first bytes of a source's image, `most` of them or all. Throws as ReadImageFile().
void ReadImageStart(const SourceList& list, std::size_t source, std::uint64_t most,
                    std::vector<std::byte>& content, UnpackedPage& page);
// Reads a file of a stack's other channels.
void ReadStackFile(const SourceList& list, const MaskFile& file, std::vector<std::byte>& content,
                   const std::atomic<bool>* give_up = nullptr);
// Reads a source's mask, or its second image. False if the source has none.
bool ReadMaskFile(const SourceList& list, std::size_t source, std::size_t field,
                  std::vector<std::byte>& content, const std::atomic<bool>* give_up = nullptr);
// Reads a value of kElements or kText. False if the source has none.
bool ReadStored(const SourceList& list, std::size_t source, std::size_t field,
                std::vector<std::byte>& content);

// Call it if a source cannot be read. Throws Error(kIo) if the place that holds the source is gone,
// unreadable or changed (an archive, or every one of a sample of files), so that a source is not
// left out for a fault that is not its own.
void RequirePlaces(const SourceList& list);

}  // namespace sluice
