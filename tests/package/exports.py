"""Whether libwarploom.so exports what the public headers declare.

    exports.py <libwarploom.a> <libwarploom.so> <include/warploom>

The library is compiled with hidden visibility: a header that forgets `#pragma GCC visibility push(default)` would show only
in the program of whoever calls it. Looked for are functions of the archive that the shared library does not have, and
that a header declares: at its own namespace, or as a member of one of its classes.
"""

import pathlib
import re
import subprocess
import sys


def functions(*command):
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    found = set()
    for line in lines:
        match = re.match(r"[0-9a-f]+ T (warploom::[\w:~]+)", line)
        if match:
            found.add(match.group(1))
    return found


def declared(text):
    """What a header declares and does not define, with its namespace or class."""
    text = re.sub(r"//[^\n]*|^ *#.*", "", text, flags=re.M)
    spaces = re.findall(r"^namespace (warploom[\w:]*) \{", text, flags=re.M)
    names = set()
    for space in spaces:
        classes = re.findall(r"\b(?:struct|class)(?: \[\[\w+\]\])? (\w+)", text)
        for statement in re.split(r"[;{}]", text):
            statement = statement.strip()
            match = re.match(r"[\w:<>,&*\[\]\s]*?\b(~?\w+)\(.*\)\s*(?:const)?\s*(?:noexcept)?$", statement, flags=re.S)
            if match and not re.search(r"\b(WARPLOOM_\w+|constexpr|template|friend|return|using)\b", statement):
                names.add(f"{space}::{match.group(1)}")
                names.update(f"{space}::{owner}::{match.group(1)}" for owner in classes)
    return names


def main(archive, shared, include):
    exported = functions("nm", "--dynamic", "--defined-only", "--demangle", shared)
    hidden = functions("nm", "--defined-only", "--demangle", archive) - exported
    missing, seen = set(), set()
    for header in sorted(pathlib.Path(include).rglob("*.hpp")):
        names = declared(header.read_text(encoding="utf-8"))
        seen |= names & exported
        missing |= {f"{header}: {name}" for name in names & hidden}
    print(f"{len(seen)} functions of the headers are exported")
    for name in sorted(missing):
        print(f"not exported: {name}")
    return 1 if missing or len(seen) < 100 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
