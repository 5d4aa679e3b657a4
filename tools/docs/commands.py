"""Makes the reference of a program's commands from their --help."""
import re
import subprocess

INDENT = 24  # the column where an option's text begins


def help_of(program, command=None):
    words = [program] + ([command] if command else []) + ["--help"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def commands_of(program):
    """Returns (name, first line of its description) for each command."""
    text = help_of(program)
    part = text[text.index("Subcommands:\n"):]
    part = part[:part.index("\n\n")]
    return re.findall(r"^  (\w[\w-]*) +(.+)$", part, flags=re.M)


def escape(text):
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", text)


def linked(text):
    """Marks the options and commands in prose as code."""
    parts = re.split(r"(`[^`]+`|(?<![\w-])--[a-z][a-z-]*[a-z])", text)
    return "".join(f"`{part.strip('`')}`" if at % 2 else escape(part) for at, part in enumerate(parts))


def begun(text):
    """The text with a capital letter at its start, if it begins with a word."""
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+[ ,:;.]", text) else text


def entries(lines):
    """Parses a section's lines into (option or argument with its value, its text)."""
    found = []
    for line in lines:
        head, text = line[:INDENT].strip(), line[INDENT:].strip()
        if len(line) > INDENT and line[:INDENT].strip() and line[INDENT - 1] != " ":
            head, text = line.strip(), ""  # the option is longer than the column, so its text begins on the next line
        if re.match(r"^ {2}\S", line):
            found.append([head, text])
        elif found:
            found[-1][1] += (" " if found[-1][1] else "") + line.strip()
    return found


def page(program, name, command, found):
    """The page of a command. `name`: the program's, "sluice". The search finds an option on one page only: not on this
    one if it is in `found`, to which the page's options are added."""
    text = help_of(program, command).rstrip("\n")
    usage = text.index("\nUsage: ")
    intro, rest = text[:usage].strip(), text[usage + 1:]
    paragraphs = [linked(" ".join(part.split())) for part in intro.split("\n\n")]
    out = [f"# {name} {command}", "", *[p + "\n" for p in paragraphs]]
    for section in re.split(r"\n\n(?=\S)", rest):
        lines = section.splitlines()
        title = lines[0]
        if title.startswith("Usage: "):
            usage = title[len("Usage: "):].replace(f"{name} [OPTIONS]", f"{name} {command} [OPTIONS]")
            usage = usage.replace(f"{name} {command} {command}", f"{name} {command}")
            out += ["```text", usage, "```", ""]
        elif title.startswith("Exit codes:"):
            out += ["Exit codes: see [exit codes](../exit-codes.md).", ""]
        elif title == "Examples:":
            out += ["## Examples", "", "```sh"] + [line[2:] for line in lines[1:]] + ["```", ""]
        else:
            out += [f"## {'Arguments' if title == 'Positionals:' else title.rstrip(':')}", ""]
            for head, words in entries(lines[1:]):
                flag = re.search(r"--[a-z][a-z-]*", head)
                if not flag:
                    out += [f"`{head}`", f":   {linked(begun(words))}", ""]
                    continue
                # Options are headings, with anchors such as #--quality, which the search finds one by one.
                hidden = ' data-search-exclude="yes"' if flag[0] in found else ""
                out += [f"#### `{head}` {{: #{flag[0]}{hidden} }}", "", linked(begun(words)), ""]
                found.add(flag[0])
    return "\n".join(out) + "\n"


def summary(program, name):
    """The page that lists a program's commands."""
    text = help_of(program)
    out = [f"# {name}", "", linked(" ".join(text[:text.index("Usage:")].split())), "",
           "| command | |", "| --- | --- |"]
    out += [f"| [`{name} {command}`]({command}.md) | {linked(first)} |" for command, first in commands_of(program)]
    out += ["", "`--help` after a command prints what its page here says. `--version` prints the version.", ""]
    return "\n".join(out)


def flags_of(program, command):
    """The options that a command takes."""
    return set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", help_of(program, command), flags=re.M))


def exit_codes(program):
    """{code: meaning}, from the end of --help."""
    text = help_of(program)
    text = " ".join(text[text.index("Exit codes:") + len("Exit codes:"):].split()).rstrip(".")
    return dict(part.strip().split(" ", 1) for part in text.split(";"))
