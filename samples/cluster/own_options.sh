# shellcheck shell=sh
# Sourced by the recipes. Removes the words before "--" from "$@" and stores them, quoted, in $own.
# `everywhere DATASET` prints the name by which all machines know a dataset: a full path, or an unchanged URL.
own=''
quote() { printf " '%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")"; }
everywhere() { case $1 in *://*) printf '%s\n' "$1" ;; *) (CDPATH='' cd -- "$1" && pwd) ;; esac; }
usage() { sed -n '2s/.*: /usage: /p' "$0" >&2; exit 2; }
separated=no
for word in "$@"; do
  if [ "$word" = -- ]; then separated=yes; fi
done
if [ $separated = yes ]; then
  while [ "$1" != -- ]; do
    own=$own$(quote "$1")
    shift
  done
  shift
fi
