#include "bench/machine/folders.h"

#include <sluice/error.h>
#include <sluice/shown_path.h>
#include <sluice/shown_text.h>

#include "bench/report/result.h"

namespace sluice::bench {

void ClaimWorkFolder(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  const fs::path mark = folder / "sluice-bench.txt";
  if (fs::exists(mark)) return;
  if (fs::exists(folder) && !(fs::is_directory(folder) && fs::is_empty(folder))) {
    throw Error(ErrorCode::kState, folder.string(),
                "is not empty, and sluice-bench did not make it; give another folder with --work, "
                "because its content is overwritten");
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(ErrorCode::kIo, folder.string(), "cannot be created: " + error.message());
  WriteTextFile(mark, "Made by sluice-bench, which writes over what is in this folder.\n");
}

std::string CheckWorkFolder(const std::string& folder) {
  return IsStoreUrl(folder) ? ShownText(folder) + " is a URL; give a folder of this machine" : "";
}

}  // namespace sluice::bench
