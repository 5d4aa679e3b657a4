"""Slurm on this machine: a controller and four nodes."""

import getpass
import os
import socket
import subprocess
import sys

import cluster

cluster.need("munged", "slurmctld", "slurmd", "sbatch")

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/builtin
SlurmdTimeout=5
SlurmdParameters=config_overrides
{nodes}
PartitionName=all Nodes=n[1-4] Default=YES State=UP
"""


class Slurm:
    """Munge, a controller and four nodes, which end with the context."""

    def __init__(self, place):
        # `place` must have a short path without spaces: a socket's path has at most 107 bytes, and Slurm's files
        # cannot have spaces in paths.
        self.folder = place.folder / "slurm"
        self.daemons = {}

    def __enter__(self):
        for name in ["state"] + [f"spool.n{i}" for i in range(1, 5)]:
            (self.folder / name).mkdir(parents=True)
        ports = cluster.free_ports(5)
        host = socket.gethostname().split(".")[0]
        nodes = "\n".join(f"NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[i]} CPUs=1"
                          for i in range(1, 5))
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=host, ports=ports, user=getpass.getuser(), folder=self.folder, nodes=nodes))
        os.environ["SLURM_CONF"] = str(self.folder / "slurm.conf")
        key = self.folder / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        own = {word: self.folder / f"munge.{word}" for word in ["socket", "pid", "log", "seed"]}
        own["socket"] = self.folder / "munge.sock"
        for path in [self.folder.parent, self.folder]:
            path.chmod(0o755)
        self._start("munge", "munged", "-F", f"--key-file={key}", f"--socket={own['socket']}",
                    f"--pid-file={own['pid']}", f"--log-file={own['log']}", f"--seed-file={own['seed']}")
        cluster.wait_for("munge", own["socket"].exists)
        self._start("controller", "slurmctld", "-D")
        for i in range(1, 5):
            self._start(f"n{i}", "slurmd", "-D", "-N", f"n{i}")
        if not cluster.wait_for("Slurm's nodes", self._all_idle, 60):
            sys.exit(1)
        return self

    def _start(self, name, *words):
        log = (self.folder / f"{name}.out").open("wb")
        self.daemons[name] = subprocess.Popen(words, stdout=log, stderr=log)
        log.close()

    def _all_idle(self):
        if any(daemon.poll() is not None for daemon in self.daemons.values()):
            cluster.skip("Slurm's daemons do not run here as this user")
        return self.ask("sinfo", "-h", "-N", "-o", "%T").count("idle") == 4

    @staticmethod
    def ask(*words):
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout

    def lose_node(self, process):
        """Kills everything on the node on which this process of a job runs."""
        environment = open(f"/proc/{process}/environ", "rb").read().split(b"\0")
        node = next(word for word in environment if word.startswith(b"SLURMD_NODENAME="))
        step = cluster.parent_of(process)
        script = step
        while b"slurmstepd" not in open(f"/proc/{step}/cmdline", "rb").read():
            step = cluster.parent_of(step)
        for one in [self.daemons[node.split(b"=")[1].decode()].pid, step, script, process]:
            cluster.kill(one)

    def __exit__(self, *_):
        for daemon in reversed(self.daemons.values()):
            daemon.terminate()
        for daemon in self.daemons.values():
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
