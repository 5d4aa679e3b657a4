#!/bin/sh
# Writes the manual pages of a program and of each of its commands into FOLDER: manual.sh NAME FOLDER PROGRAM...
# PROGRAM... is the command line that starts the program. help2man makes the pages from --help.
set -eu
name=$1 folder=$2
shift 2
program="$*"
mkdir -p "$folder"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# help2man takes a page's name from the program that it runs and from what --version prints, and shows lines that
# begin with "$" as examples. So it runs a script that is named like the page and rewrites the program's output.
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
