# shellcheck shell=sh
# Sourced by the recipes: takes what stands before "--" away from "$@" and puts it, quoted, into $own.
own=''
quote() { printf " '%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")"; }
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
