"""eio_fs.py FOLDER MOUNT FILE BEGIN END [DELAY] [direct_io]: shows FOLDER at MOUNT, where reading bytes BEGIN
to END - 1 of FILE fails with EIO, and each read takes DELAY seconds. With direct_io, the kernel keeps no pages of
its files, and refuses to map them as shared. Goes into the background once it is mounted. With --can alone, the exit
code says whether it could run."""
import errno
import os
import sys
import time

try:
    from fusepy import FUSE, FuseOSError, Operations
except ImportError:
    from fuse import FUSE, FuseOSError, Operations

if sys.argv[1] == "--can":
    ok = os.access("/dev/fuse", os.R_OK | os.W_OK) and os.path.exists("/usr/bin/fusermount3")
    sys.exit(0 if ok else 1)

folder, mount, name = sys.argv[1:4]
begin, end = int(sys.argv[4]), int(sys.argv[5])
delay = float(sys.argv[6]) if len(sys.argv) > 6 else 0


class Failing(Operations):
    def getattr(self, path, fh=None):
        try:
            info = os.lstat(folder + path)
        except OSError as error:
            raise FuseOSError(error.errno)
        return {key: getattr(info, key) for key in ("st_mode", "st_size", "st_nlink", "st_mtime")}

    def readdir(self, path, fh):
        return [".", ".."] + os.listdir(folder + path)

    def open(self, path, flags):
        return os.open(folder + path, os.O_RDONLY)

    def release(self, path, fh):
        os.close(fh)

    def read(self, path, size, offset, fh):
        time.sleep(delay)
        if path == "/" + name and offset < end and begin < offset + size:
            raise FuseOSError(errno.EIO)
        return os.pread(fh, size, offset)


options = {"direct_io": True} if "direct_io" in sys.argv else {}
FUSE(Failing(), mount, nothreads=True, ro=True, **options)
