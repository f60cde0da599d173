#!/usr/bin/env python3
"""Lists the identifiers of the original system's API pages, as JSON: what docs/seed_table.md must have a row for.

A page is the text of one struct's documentation page. Of each the script takes names only: parameters of the struct,
fields, comptime members, methods, which of them have a usage example, and the types that occur in signatures. Origins
(lifetimes) and the language's own types are left out.

    tools/seed_api.py PAGE... >tests/data/seed_api.json
"""
import json
import pathlib
import re
import sys

LANGUAGE = {"AddressSpace", "Int", "Int32", "Pointer", "SHARED", "Self", "UInt16", "UInt32", "UnsafePointer"}
EXAMPLE = re.compile(r"^(?:Example usage|Example|Usage):", re.M)


def bracketed(text, start):
    """What is between the bracket at `start` and its partner."""
    depth = 0
    for i in range(start, len(text)):
        depth += {"[": 1, "]": -1}.get(text[i], 0)
        if depth == 0:
            return text[start + 1:i]
    raise ValueError("unbalanced brackets")


def parameters(brackets):
    pairs = [part.split(":") for part in brackets.split(",")]
    return [name.strip() for name, kind in pairs if "Origin" not in kind]


def types_in(signature):
    found = set(re.findall(r"(?<!\.)\b_?[A-Z]\w*", signature))
    return {name for name in found - LANGUAGE if not name.endswith("Origin")}


def read_page(text):
    head = re.search(r"^struct (\w+)\[", text, re.M)
    name = head.group(1)
    lines = [line.strip() for line in text[head.start():].splitlines() if line.strip()]
    body = "\n".join(lines)
    signatures = [lines[0]]

    fields_text = body[body.index("\nFields\n"):body.index("\nImplemented traits\n")]
    signatures.append(fields_text.replace("\nFields\n", ""))
    fields = re.findall(r"(?:•|-)\s+(\w+) \(", fields_text)

    members, methods, examples = [], [], []
    owner = name  # whose prose we are in
    for i, line in enumerate(lines):
        following = lines[i + 1] if i + 1 < len(lines) else ""
        if re.fullmatch(r"\w+", line) and following.startswith(f"comptime {line} ="):
            members.append(line)
            signatures.append(following)
        elif re.fullmatch(r"\w+", line) and re.match(rf"(?:static )?(?:def )?{line}[\[(]", following):
            methods.append(line)
            signatures.append(following)
            owner = f"{name}.{line}"
        elif EXAMPLE.match(line):
            examples.append(owner)

    # A method's own type parameters are not types of the system; nor are this page's members, which have rows.
    own = set(members)
    for signature in signatures:
        own.update(re.findall(r"\b([A-Z]\w*): ", signature))
    types = set().union(*map(types_in, signatures)) - own - {name}
    return name, {
        "parameters": parameters(bracketed(text, head.end() - 1)),
        "fields": fields,
        "members": members,
        "methods": methods,
        "examples": examples,
        "signature_types": sorted(types),
    }


def main():
    pages = dict(read_page(pathlib.Path(path).read_text()) for path in sys.argv[1:])
    if not pages:
        sys.exit(__doc__)
    print(json.dumps(dict(sorted(pages.items())), indent=1))


if __name__ == "__main__":
    main()
