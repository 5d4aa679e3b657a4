"""Shows a folder as a network file system, by FUSE: network_disk.py FOLDER MOUNT SECONDS

Each read takes SECONDS. While the file FOLDER.stale exists, reads fail with ESTALE, as reads of a file that
an NFS server no longer knows.
"""

import errno
import os
import sys
import time

import fuse


class NetworkDisk(fuse.Operations):
    def __init__(self, folder, seconds):
        self.folder, self.seconds = folder, seconds

    def getattr(self, path, fh=None):
        try:
            found = os.lstat(self.folder + path)
        except OSError as error:
            raise fuse.FuseOSError(error.errno) from error
        return {name: getattr(found, name) for name in ("st_mode", "st_size", "st_mtime", "st_nlink", "st_ino")}

    def readdir(self, path, fh):
        return [".", "..", *os.listdir(self.folder + path)]

    def open(self, path, flags):
        return os.open(self.folder + path, os.O_RDONLY)

    def read(self, path, size, offset, fh):
        time.sleep(self.seconds)
        if os.path.exists(self.folder + ".stale"):
            raise fuse.FuseOSError(errno.ESTALE)
        return os.pread(fh, size, offset)

    def release(self, path, fh):
        os.close(fh)


if __name__ == "__main__":
    fuse.FUSE(NetworkDisk(sys.argv[1], float(sys.argv[3])), sys.argv[2], foreground=True, ro=True)
