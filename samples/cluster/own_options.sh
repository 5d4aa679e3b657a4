# shellcheck shell=sh
# Sourced by the recipes: takes what stands before "--" away from "$@" and puts it, quoted, into $own.
# `everywhere DATASET` prints the name by which all machines know a dataset: a full path, or a URL as it is.
own=''
quote() { printf " '%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")"; }
everywhere() { case $1 in *://*) printf '%s\n' "$1" ;; *) (cd "$1" && pwd) ;; esac; }
usage() { sed -n '2s/.*: /usage: /p' "$0" >&2; exit 2; }
case " $* " in
  *' -- '*)
    while [ "$1" != -- ]; do
      own=$own$(quote "$1")
      shift
    done
    shift
    ;;
esac
