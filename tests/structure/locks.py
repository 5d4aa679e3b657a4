"""Lets clang find accesses to guarded data without the mutex. Run as: locks.py CLANG ROOT

Compiles every source of reader/ and format/remote/ that includes format/mutex.h, itself or through a header, with
-Wthread-safety as an error (except the source of CUDA). Before that, a class that breaks the rule shows that the check
works.
"""
import pathlib
import re
import subprocess
import sys

clang, root = sys.argv[1], pathlib.Path(sys.argv[2])
command = [clang, "-std=c++20", "-fsyntax-only", "-Wthread-safety", "-Werror=thread-safety",
           '-DSLUICE_VERSION=""', f"-I{root}",
           *(f"-I{root / part / 'include'}" for part in ("format", "reader")), "-x", "c++", "-"]

BROKEN = """
#include "format/mutex.h"
struct Broken {
  void Good() { const sluice::MutexLock lock(mutex); ++count; }
  void Bad() { ++count; }
  sluice::Mutex mutex;
  int count GUARDED_BY(mutex) = 0;
};
"""
found = subprocess.run(command, input=BROKEN, text=True, capture_output=True)
complaints = re.findall(r"error: .*", found.stderr)
if len(complaints) != 1 or "count" not in complaints[0]:
    sys.exit(f"{clang} does not find the one broken rule:\n{found.stderr}")


def sees_mutex(path, seen):
    """Whether a source includes format/mutex.h, itself or through a header of the project."""
    if path in seen or not path.is_file():
        return False
    seen.add(path)
    names = re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE)
    return "format/mutex.h" in names or any(sees_mutex(root / name, seen) for name in names)


folders = (root / "reader", root / "format" / "remote")
sources = [source for folder in folders for source in sorted(folder.rglob("*.cpp"))
           if sees_mutex(source, set()) and source.name != "cuda_driver.cpp"]
print(len(sources), "sources")
unit = "".join(f'#include "{source}"\n' for source in sources)
sys.exit(subprocess.run(command, input=unit, text=True).returncode)
