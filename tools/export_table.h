// labels.csv, the table of an export, filled by several threads.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "tools/export_files.h"

namespace sluice {

// The result of one sample.
struct ExportedSample {
  std::string row;          // without its line's end
  std::string trouble;      // why it is left out; then there is no row
  std::uint64_t bytes = 0;  // of its files
};

// Rows come in any order and are written in that of the samples. Those that wait for one before
// them hold at most 16 MiB: beyond that, only the next in order is let in. All is thread-safe.
class ExportTable {
 public:
  // `on_written`: called for each sample, in order and one at a time, once its row is written.
  // Throws Error(kIo) if the file cannot be written, and so does everything below. Without Close()
  // there is no file in the end.
  ExportTable(const std::filesystem::path& file, const std::string& headings,
              std::function<void(std::uint64_t index, const ExportedSample& sample)> on_written);

  // Adds the result of sample `index`, counted from 0. Waits for room; does nothing after End().
  void Put(std::uint64_t index, ExportedSample sample);

  // Wakes all threads that wait, and lets none wait again.
  void End();

  // After the last row.
  void Close();

 private:
  void Write(const std::string& row);

  const std::function<void(std::uint64_t, const ExportedSample&)> on_written_;
  std::mutex mutex_;
  std::condition_variable room_;
  NewFile file_;
  std::string buffer_;                               // rows to be written next
  std::map<std::uint64_t, ExportedSample> waiting_;  // by index
  std::uint64_t waiting_bytes_ = 0;
  std::uint64_t next_ = 0;  // to be written
  bool ended_ = false;
};

}  // namespace sluice
