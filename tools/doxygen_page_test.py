#!/usr/bin/env python3
"""Shows what tools/doxygen_page.py makes of headings and links."""

import pathlib
import unittest

import doxygen_page

GUIDE = pathlib.PurePosixPath("docs/guide/locks.md")


class DoxygenPageTest(unittest.TestCase):
    def expect(self, given, made, page=GUIDE):
        self.assertEqual(doxygen_page.converted(page, given), made)

    def test_sections_get_labels_and_links_lead_to_them(self):
        self.expect("## `check()`, and more\n",
                    "## `check()`, and more {#docs-guide-locks-check-and-more}\n")
        self.expect("[a\nb](#mutex)", "[a\nb](@ref docs-guide-locks-mutex)")
        self.expect("[a](../internals/locks.md#limits)", "[a](@ref docs-internals-locks-limits)")
        self.expect("# Title\n[a](locks.md), [b](https://c/d#e)",
                    "# Title\n[a](locks.md), [b](https://c/d#e)")

    def test_of_links_to_no_page_the_text_is_left(self):
        self.expect("[a](../../bench/README.md), [b](../../examples)", "a, b")
        self.expect("[a](CONTRIBUTING.md) [b](CHANGELOG.md)", "a [b](CHANGELOG.md)",
                    pathlib.PurePosixPath("README.md"))

    def test_code_is_left_alone_but_for_what_would_become_a_link(self):
        code = "```cpp\n## [a](#b)\n```\n    [a](#b)\n"
        self.expect(code, code)
        self.expect("`::f(a<b>)` `x::y`", r"<code>\::f(a&lt;b&gt;)</code> `x::y`")
        self.expect("[`a::B`](locks.md)", r"[<code>a\::B</code>](locks.md)")


if __name__ == "__main__":
    unittest.main()
