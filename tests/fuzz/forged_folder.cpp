#include "tests/fuzz/forged_folder.h"

#include <cstdio>

#include <unistd.h>

#include <sluice/error.h>

#include "format/disk/file.h"
#include "tests/fuzz/bounds.h"
#include "tests/fuzz/forged_dataset.h"
#include "tests/pictures.h"
#include "tests/temporary_folder.h"

namespace sluice::fuzz {

namespace {

// Bounds of time and memory for one input. A reader may need 1 GiB for a single value: the format
// allows that size if the manifest states it.
constexpr unsigned kSeconds = 60;
constexpr std::size_t kBytes = std::size_t{1280} << 20;

std::size_t times_taken = 0;  // see TimesTaken()

// A folder in which syncing a file costs nothing.
std::filesystem::path MemoryFolder() {
  return access("/dev/shm", W_OK) == 0 ? std::filesystem::path("/dev/shm")
                                       : std::filesystem::temp_directory_path();
}

ForgedFolder MakeFolders(const std::filesystem::path& in) {
  ForgedFolder folders{in / "forged", in / "sound", in / "source", in / "out", 0};
  std::filesystem::create_directory(folders.sound);
  WriteSoundDataset(1, folders.sound);
  for (const char* name : {"cat", "dog"}) {
    std::filesystem::create_directories(folders.source / name);
    WriteFile(folders.source / name / "1.jpg", test::MakeJpeg(test::MakePicture(20, 12)));
  }
  return folders;
}

}  // namespace

void PromiseSentence(std::string_view message) {
  for (const char* word : {"std::", "vector::", "basic_string", "bad_alloc", "filesystem error",
                           "_M_", "stoi", "invalid_argument", "length_error", "json.exception"}) {
    if (message.find(word) == message.npos) continue;
    std::fprintf(stderr, "message: %.*s\n", static_cast<int>(message.size()), message.data());
    Promise(false, "no message of the standard library reaches a user");
  }
}

std::size_t TimesTaken() {
  return times_taken;
}

void OnForged(Bytes input, void (*use)(const ForgedFolder&)) {
  static const test::TemporaryFolder scratch(MemoryFolder());
  static ForgedFolder folders = MakeFolders(scratch.path());
  for (const char* name :
       {"forged", "forged.append", "forged.repack", "out", "out.html", "out.png"})
    std::filesystem::remove_all(scratch / name);
  std::filesystem::create_directory(folders.dataset);
  folders.use = ForgeDataset(input, folders.dataset);
  const TimeBound time(kSeconds);
  const MemoryBound memory(kBytes);
  try {
    use(folders);
    ++times_taken;
  } catch (const Error& error) {
    PromiseSentence(error.what());
  }
}

}  // namespace sluice::fuzz
