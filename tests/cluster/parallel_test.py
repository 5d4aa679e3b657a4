"""samples/cluster/parallel.sh, where a part is killed in the middle: over ssh to a server that the test starts if sshd
is installed, otherwise with local jobs."""

import getpass
import os
import shutil
import socket
import subprocess
import sys

import cluster

cluster.need("parallel")


class Hosts:
    """Options of parallel that name this machine twice, for ssh to a server that this starts; without sshd, options for
    local jobs."""

    def __init__(self, place):
        self.folder = place.folder / "ssh"
        self.server = None
        self.options = ["-j", "2"]

    def __enter__(self):
        server = shutil.which("sshd") or shutil.which("/usr/sbin/sshd")
        if server is None or shutil.which("ssh-keygen") is None:
            print("sshd is not installed: jobs are local")
            return self
        self.folder.mkdir(mode=0o700)
        for name in ["host", "user"]:
            subprocess.run(["ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", self.folder / name], check=True)
        shutil.copy(self.folder / "user.pub", self.folder / "authorized")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (self.folder / "config").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host\nPidFile none\n"
            f"AuthorizedKeysFile {self.folder}/authorized\nStrictModes no\nPermitRootLogin yes\nUsePAM no\n"
            f"SetEnv PATH={os.environ['PATH']}\n")
        os.makedirs("/run/sshd", exist_ok=True) if os.geteuid() == 0 else None
        self.server = subprocess.Popen([server, "-D", "-e", "-f", self.folder / "config"],
                                       stderr=subprocess.DEVNULL)
        ssh = (f"ssh -p {port} -i {self.folder}/user -o StrictHostKeyChecking=no -o LogLevel=ERROR "
               f"-o UserKnownHostsFile=/dev/null -o IdentitiesOnly=yes")

        def answers():
            if self.server.poll() is not None:
                cluster.skip("sshd does not run here as this user")
            return subprocess.run([*ssh.split(), "127.0.0.1", "true"], stderr=subprocess.DEVNULL,
                                  check=False).returncode == 0

        cluster.wait_for("sshd", answers, 60)
        user = getpass.getuser()
        self.options = ["--ssh", ssh, "-S", f"1/{user}@127.0.0.1,1/{user}@localhost"]
        return self

    def __exit__(self, *_):
        if self.server is not None:
            self.server.terminate()
            self.server.wait()


with cluster.Workplace(sys.argv, "kill") as place, Hosts(place) as hosts:
    os.environ["PARALLEL_HOME"] = str(place.folder / "parallel")
    (place.folder / "parallel").mkdir()
    (place.folder / "parallel/will-cite").touch()
    place.run("sh", place.recipe("parallel.sh"), *hosts.options, "--", "6", place.source, place.data,
              "--labels", "none", *cluster.OPTIONS)
    place.check()
