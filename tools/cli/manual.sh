#!/bin/sh
# Writes the manual pages of a program and of each of its commands. help2man makes them from --help:
# manual.sh NAME FOLDER PROGRAM (or the words that start it).
set -eu
name=$1 folder=$2
shift 2
program="$*"
mkdir -p "$folder"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# help2man names a page after the program that it runs and after --version, and takes lines that begin with "$"
# for examples.
page() {
  title=$name${1:+-$1}
  cat >"$scratch/$title" <<END
#!/bin/sh
[ "\$1" = --version ] || set -- $1 "\$@"
$program "\$@" | sed -e 's/^$name \([0-9]\)/$title \1/' -e '/^Examples:/,/^\$/ s/^  /  $ /' \\
  -e 's/^Positionals:/Arguments:/' -e 's/^Exit codes: /Exit status:\n  /' -e 's/^            \(3 done\)/  \1/'
END
  chmod +x "$scratch/$title"
  what=$("$scratch/$title" --help | sed 1q)
  help2man --no-info --name "${what%.}" --output "$folder/$title.1" "$scratch/$title"
}

page ''
for command in $("$@" --help | sed -n '/^Subcommands:/,/^$/ s/^  \([a-z]*\) .*/\1/p'); do
  page "$command"
done
