"""header_filter.py HEADER: prints the header with its comments in a form that Doxygen reads.

Headers here have plain comments: a comment directly above a declaration, or at the end of its line, describes it;
the first comment of a file describes the file. Doxygen gets their text word for word (\\verbatim), so that it takes
nothing in it for a command or for HTML.
"""
import re
import sys

STAR_SLASH = "*\ue000/"  # would end Doxygen's comment
BEGIN = "\ue001"  # put before each line of a comment, because Doxygen removes some indentation
FORWARD = re.compile(r"\s*(friend )?(class|struct) \w+;\s*$")
SCOPE = re.compile(r"\b(class|struct|enum|namespace|union)\b")


def parts(line):
    """Splits a line into (code, comment or None); the comment has no slashes."""
    at, quote = 0, ""
    while at < len(line):
        letter = line[at]
        if quote:
            at += letter == "\\"
            quote = "" if letter == quote else quote
        elif letter == '"' or (letter == "'" and not (at > 0 and line[at - 1].isalnum())):
            quote = letter
        elif line.startswith("//", at):
            return line[:at], line[at + 2:].replace("*/", STAR_SLASH)
        at += 1
    return line, None


def filtered(text):
    lines = [parts(line) for line in text.splitlines()]
    out = []
    scopes = []  # for each open brace, whether it holds declarations
    statement = ""  # the text since the last ; { or }
    seen = None  # the file's own comment; printed last, so that line numbers stay the same
    number = 0
    while number < len(lines):
        code, comment = lines[number]
        declares = all(scopes)
        if comment is not None and not code.strip():
            first = number
            while number < len(lines) and lines[number][1] is not None and not lines[number][0].strip():
                number += 1
            block = [lines[at][1] for at in range(first, number)]
            marked = [BEGIN + line for line in block]
            follows = lines[number][0].strip() if number < len(lines) else ""
            ours = (declares and follows and follows[0] != "}" and follows not in ("public:", "private:")
                    and (follows[0] != "#" or follows.startswith("#if ")))
            if seen is None:
                seen = block
                out += ["//" + line for line in block]
            elif ours and not statement.strip():
                out += ["/*! \\verbatim " + marked[0]] + marked[1:]
                out[-1] += " \\endverbatim */"
            else:
                out += ["//" + line for line in block]
            continue
        # A trailing comment continues on lines that hold only a comment, in the same column.
        if comment is not None and declares and code.strip() != "}" and not FORWARD.match(code) and re.search(r"[;,}\w)]\s*$", code):
            words, column = [comment], len(code)
            while (number + 1 < len(lines) and lines[number + 1][1] is not None and not lines[number + 1][0].strip()
                   and len(lines[number + 1][0]) == column):
                number += 1
                words.append(lines[number][1])
            out.append(code + "/*!< \\verbatim " + "\n".join(BEGIN + line for line in words) + " \\endverbatim */")
        else:
            out.append(code + ("//" + comment if comment is not None else ""))
        for letter in re.sub(r'"(\\.|[^"\\])*"', '""', code):
            if letter == "{":
                scopes.append(bool(SCOPE.search(statement)) and "(" not in re.sub(r"\([^()]*\)", "", statement)
                              and not re.search(r"\)\s*(const|noexcept|override|\s)*$", statement))
                statement = ""
            elif letter == "}":
                if scopes:
                    scopes.pop()
                statement = ""
            elif letter == ";":
                statement = ""
            elif letter == "," and scopes and scopes[-1] and "(" not in statement and "<" not in statement:
                statement = ""  # the next enumerator
            else:
                statement += letter
        if code.startswith("#") or re.match(r"\s*(public|private|protected):", code):
            statement = ""
        number += 1
    return "\n".join(out + ["/*! \\file", "\\verbatim"] + [BEGIN + line for line in seen or []] + ["\\endverbatim */"]) + "\n"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as header:
        sys.stdout.write(filtered(header.read()))
