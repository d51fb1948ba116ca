#!/usr/bin/env python3
"""Prints a page of the documentation as Doxygen reads it.

    tools/doxygen_page.py PAGE

Pages are written for people who read them in the repository: a section is linked to by its heading,
and links lead to any file. Doxygen before 1.9.8 knows no such anchors, and no version knows files
that are none of its pages. So each section gets a label of its own here, links to sections lead to
those, and of links to what is no page only the text is left.
"""

import html
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
PAGES_AT_TOP = ("README.md", "ARCHITECTURE.md", "CHANGELOG.md")
CODE = re.compile(r"^```.*?^```$|^    [^\n]*$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(##+) +(.*?) *$", re.MULTILINE)
LINK = re.compile(r"\[([^\[\]]+)\]\(([^()\s]+)\)")
# Code that is the text of a link, or begins with ::, which would be taken for a link of its own.
UNLINKED = re.compile(r"`([^`\n]*)`(?=\])|`(::[^`\n]*)`")


def anchor_of(heading):
    """What a heading is linked to by."""
    plain = re.sub(r"[^\w\- ]", "", LINK.sub(r"\1", heading).lower())
    return plain.replace(" ", "-")


def label_of(page, anchor):
    return "-".join((*page.with_suffix("").parts, anchor))


def is_page(path):
    return path.suffix == ".md" and (path.parts[0] == "docs" or str(path) in PAGES_AT_TOP)


def link_in(page, text, target):
    if re.match(r"\w+:", target):
        return f"[{text}]({target})"
    path, _, anchor = target.partition("#")
    there = (TOP / page.parent / path).resolve().relative_to(TOP) if path else page
    if not is_page(there):
        return text
    return f"[{text}](@ref {label_of(there, anchor)})" if anchor else f"[{text}]({target})"


def unlinked(match):
    return "<code>" + html.escape(match[1] or match[2]).replace("::", r"\::") + "</code>"


def prose_in(page, text):
    text = LINK.sub(lambda match: link_in(page, match[1], match[2]), text)
    text = UNLINKED.sub(unlinked, text)
    return HEADING.sub(
        lambda match: f"{match[0]} {{#{label_of(page, anchor_of(match[2]))}}}", text)


def converted(page, text):
    """`page` is a path from the top."""
    parts = []
    at = 0
    for code in CODE.finditer(text):
        parts += [prose_in(page, text[at:code.start()]), code[0]]
        at = code.end()
    return "".join([*parts, prose_in(page, text[at:])])


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: tools/doxygen_page.py PAGE")
    page = pathlib.Path(sys.argv[1]).resolve()
    sys.stdout.write(converted(page.relative_to(TOP), page.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
