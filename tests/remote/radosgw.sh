#!/bin/sh
# An S3 service that checks signatures, for tests: radosgw.sh FOLDER PORT MON_PORT
#
# Runs Ceph's gateway over one store in memory. All files are in FOLDER, all ports on 127.0.0.1. Prints "ready" when
# the gateway is about to answer. When its standard input ends, the script ends and stops all that it started. The
# access key is "testkey", its secret "testsecret".
#
# radosgw.sh --can: exits with 0 if the needed programs are installed, else with 1.
set -eu

if [ "${1:-}" = --can ]; then
  for program in radosgw radosgw-admin ceph ceph-mon ceph-osd ceph-authtool monmaptool; do
    command -v "$program" >/dev/null || exit 1
  done
  exit 0
fi
folder=$1 port=$2 mon_port=$3
mkdir -p "$folder/mon" "$folder/osd" "$folder/rgw" "$folder/run" "$folder/log"
uuid() { cat /proc/sys/kernel/random/uuid; }
fsid=$(uuid)
cat >"$folder/ceph.conf" <<CONF
[global]
fsid = $fsid
mon host = [v2:127.0.0.1:$mon_port]
public network = 127.0.0.0/8
keyring = $folder/keyring
run dir = $folder/run
admin socket = $folder/run/\$name.asok
pid file = $folder/run/\$name.pid
log file = $folder/log/\$name.log
mon cluster log file = $folder/log/cluster.log
crash dir = $folder/run
osd pool default size = 1
osd pool default min size = 1
mon allow pool size one = true
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon max pg per osd = 1000
mon data avail crit = 1
paxos propose interval = 0.05
paxos min wait = 0.01
[mon]
mon data = $folder/mon
[osd]
osd data = $folder/osd
keyring = $folder/osd/keyring
osd objectstore = memstore
memstore device bytes = 2147483648
[client.rgw]
rgw data = $folder/rgw
rgw frontends = beast endpoint=127.0.0.1:$port tcp_nodelay=1
rgw thread pool size = 64
CONF
export CEPH_CONF="$folder/ceph.conf"
pids=
stop() {
  # shellcheck disable=SC2086  # a list
  kill -9 $pids 2>/dev/null || :
}
trap stop EXIT INT TERM

key() { ceph-authtool "$@" >/dev/null; }
key -C "$folder/mon.keyring" --gen-key -n mon. --cap mon 'allow *'
key -C "$folder/keyring" --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *'
key "$folder/keyring" --gen-key -n client.rgw --cap mon 'allow rwx' --cap osd 'allow rwx' --cap mgr 'allow rw'
key -C "$folder/osd/keyring" --gen-key -n osd.0 --cap mon 'allow profile osd' --cap osd 'allow *' \
  --cap mgr 'allow profile osd'
for ring in "$folder/keyring" "$folder/osd/keyring"; do
  key "$folder/mon.keyring" --import-keyring "$ring"
done
monmaptool --create --fsid "$fsid" --addv a "[v2:127.0.0.1:$mon_port]" "$folder/monmap" >/dev/null
ceph-mon --mkfs -i a --monmap "$folder/monmap" --keyring "$folder/mon.keyring"
ceph-mon -i a -f >"$folder/log/mon.out" 2>&1 &
pids="$pids $!"
osd=$(uuid)
timeout 60 ceph osd create "$osd" 0 >/dev/null
ceph-osd -i 0 --mkfs --osd-uuid "$osd" >"$folder/log/osd.mkfs" 2>&1
ceph-osd -i 0 -f >"$folder/log/osd.out" 2>&1 &
pids="$pids $!"
tries=0
until ceph osd stat 2>/dev/null | grep -q '1 up'; do
  tries=$((tries + 1))
  [ "$tries" -lt 150 ]
  sleep 0.2
done
radosgw -n client.rgw -f >"$folder/log/rgw.out" 2>&1 &
pids="$pids $!"
timeout 120 radosgw-admin user create --uid=t --display-name=t --access-key=testkey --secret=testsecret >/dev/null
echo ready
cat >/dev/null
