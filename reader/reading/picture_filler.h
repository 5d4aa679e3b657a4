// Fills StoredPictures with a dataset's pictures, in the order in which they are stored, while the
// loader plays already. A picture that is not of a form which a device decodes, or that cannot be
// read, is passed over: the host decodes it, or finds its fault, when it is played.
#pragma once

#include <atomic>
#include <thread>

#include <sluice/sample_list.h>

#include "reader/dataset/dataset_state.h"
#include "reader/reading/direct/direct_files.h"
#include "reader/reading/stored_pictures.h"

namespace sluice {

class PictureFiller {
 public:
  // All must outlive it. `direct` is null unless shards are read directly; `samples`: those that
  // are played.
  PictureFiller(DatasetState& dataset, std::size_t field, const SampleList& samples,
                DirectFiles* direct, StoredPictures& stored);
  ~PictureFiller() { Stop(); }

  void Start();
  // Returns once the thread has ended, which it does after the block that it reads.
  void Stop();

  // How many of a dataset's samples such a list has.
  static std::uint64_t CountOf(const DatasetState& dataset, const SampleList& samples);

 private:
  void Run();
  void Fill(std::uint64_t block);
  bool Wants(std::uint64_t block) const;
  void Put(std::uint64_t sample, const ImagePayload& payload);

  DatasetState& dataset_;
  const std::size_t field_;
  DirectFiles* const direct_;
  StoredPictures& stored_;
  std::vector<bool> wanted_;  // empty: all
  JpegParts parts_;
  std::vector<JpegRow> rows_;
  std::vector<std::uint32_t> words_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace sluice
