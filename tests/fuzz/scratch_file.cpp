#include "tests/fuzz/scratch_file.h"

#include <cstdio>
#include <cstdlib>

#include <sys/mman.h>
#include <unistd.h>

namespace sluice::fuzz {

ScratchFile::ScratchFile(Bytes content) : file_(memfd_create("fuzz", MFD_CLOEXEC)) {
  while (!content.empty()) {
    const ssize_t put = write(file_.get(), content.data(), content.size());
    if (put <= 0) {
      std::perror("no file in memory");
      std::exit(2);
    }
    content = content.subspan(static_cast<std::size_t>(put));
  }
}

}  // namespace sluice::fuzz
