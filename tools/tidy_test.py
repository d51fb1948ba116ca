#!/usr/bin/env python3
"""Shows that tools/tidy accepts a tree that keeps the rules, and that each rule can fail."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent

LAYERS = r"""
layer base
layer sync
layer machine
layer core
layer net stage
layer otp
public-only otp
sync-headers src/sync/
system-headers src/machine/ src/core/poller*
heavy-headers include/bulkhead/standard.hpp
conditionals src/machine/
needs-model ^\s*#\s*include\s*["<]sync/atomic\w*\.hpp[">]
"""

GOOD = {
    "tools/layers.txt": LAYERS,
    "tools/tidy_allow.txt": "# nothing\n",
    "tools/banned_words.txt": "all \\bplug[h]\\b\ncode \\bxyzz[y]\\b\n",
    "include/bulkhead/pid.hpp": "// A pid.\n#pragma once\n#include <cstdint>\n",
    "src/base/check.hpp": "#pragma once\n",
    "src/sync/atomic.hpp": "#pragma once\n#include <atomic>\n",
    "src/machine/cpus.cpp": '#include <unistd.h>\n#include "base/check.hpp"\n#if 1\n#endif\n',
    "src/core/slot.hpp": '#pragma once\n#include "sync/atomic.hpp"\n',
    "src/core/slot_model.cpp": '#include "core/slot.hpp"\n#include "explorer.hpp"\n',
    "src/core/slot_test.cpp": '#include <thread>\n#include <unistd.h>\n#include "core/slot.hpp"\n',
    "src/core/poller_epoll.cpp": "#include <sys/epoll.h>\n",
    "src/net/tcp.hpp": '#pragma once\n#include "core/slot.hpp"\n#include <bulkhead/pid.hpp>\n',
    "src/net/tcp_model.cpp": "",
    "src/stage/stage.hpp": "#pragma once\n",
    "src/otp/server.cpp": '#include "otp/server.hpp"\n#include <bulkhead/pid.hpp>\n',
    "src/otp/server.hpp": "#pragma once\n",
    "tests/model/explorer.hpp": '#pragma once\n#include "sync/atomic.hpp"\n',
    "tests/conformance/links_test.cpp": "// C12\n#include <bulkhead/pid.hpp>\n",
    "docs/coverage.md": "| C12 | tests/conformance/links_test.cpp | links |\n| C13 | - | |\n",
}


def body(lines):
    """A function of so many lines."""
    return "int f(int a) {\n" + "  ++a;\n" * (lines - 2) + "}\n"


class TidyTest(unittest.TestCase):
    def tidy(self, **changes):
        """Runs tidy on the good tree with these files written over; returns status and output."""
        return self.tidy_files(changes)

    def tidy_files(self, changes):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in {**GOOD, **changes}.items():
                if text is None:
                    continue
                file = root / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            result = subprocess.run(
                [sys.executable, str(HERE / "tidy"), "--root", folder],
                capture_output=True, text=True, check=False)
        return result.returncode, result.stdout + result.stderr

    def accepts(self, changes):
        status, output = self.tidy_files(changes)
        self.assertEqual(status, 0, output)

    def refuses(self, changes, *expected):
        """Each expected `path:line: rule` is reported, and nothing else."""
        status, output = self.tidy_files(changes)
        self.assertEqual(status, 1, output)
        reported = re.findall(r"^(\S+:\d+: [\w-]+): ", output, re.MULTILINE)
        self.assertEqual(sorted(reported), sorted(expected), output)

    def misconfigured(self, changes, message):
        status, output = self.tidy_files(changes)
        self.assertEqual(status, 2, output)
        self.assertIn(message, output)

    def test_a_tree_that_keeps_the_rules_is_accepted(self):
        self.accepts({})

    def test_a_layer_may_not_include_a_higher_one(self):
        self.refuses({"src/base/check.hpp": '#pragma once\n#include "core/slot.hpp"\n'},
                     "src/base/check.hpp:2: layer")

    def test_layers_of_one_rank_may_not_include_each_other(self):
        self.refuses({"src/stage/stage.hpp": '#pragma once\n#include "net/tcp.hpp"\n'},
                     "src/stage/stage.hpp:2: layer")

    def test_even_a_test_may_not_include_a_layer_of_its_own_rank(self):
        self.refuses({"src/stage/a_test.cpp": '#include "net/tcp.hpp"\n'},
                     "src/stage/a_test.cpp:1: layer")

    def test_a_test_may_include_a_higher_layer(self):
        self.accepts({"src/base/check_test.cpp": '#include "core/slot.hpp"\n'})

    def test_a_layer_on_the_public_headers_may_not_include_others(self):
        self.refuses({"src/otp/server.hpp": '#pragma once\n#include "base/check.hpp"\n'},
                     "src/otp/server.hpp:2: layer")

    def test_an_include_names_its_layer(self):
        self.refuses({"src/core/slot.cpp": '#include "slot.hpp"\n'}, "src/core/slot.cpp:1: layer")

    def test_an_include_of_a_layer_takes_quotes(self):
        self.refuses({"src/core/a.cpp": "#include <base/check.hpp>\n"}, "src/core/a.cpp:1: layer")

    def test_a_folder_without_rank_is_refused(self):
        self.refuses({"src/extra/a.cpp": "\n", "src/b.cpp": "\n"},
                     "src/extra/a.cpp:1: layer", "src/b.cpp:1: layer")

    def test_a_public_header_may_not_name_src(self):
        self.refuses({"include/bulkhead/a.hpp": '#pragma once\n#include "base/check.hpp"\n',
                      "include/bulkhead/b.hpp": '#pragma once\n#include "src/base/check.hpp"\n'},
                     "include/bulkhead/a.hpp:2: public-include",
                     "include/bulkhead/b.hpp:2: public-include")

    def test_tests_and_examples_see_the_public_headers_only(self):
        self.refuses({"tests/stress/a_test.cpp": '#include "base/check.hpp"\n',
                      "examples/a.cpp": "#include <base/check.hpp>\n"},
                     "tests/stress/a_test.cpp:1: public-include",
                     "examples/a.cpp:1: public-include")

    def test_an_include_may_not_climb(self):
        self.refuses({"examples/a.cpp": '#include "../support.hpp"\n'},
                     "examples/a.cpp:1: include-path")

    def test_only_sync_includes_its_headers(self):
        self.refuses({"src/core/a.cpp": "#include <atomic>\n#include <mutex>\n",
                      "include/bulkhead/a.hpp": "#pragma once\n#include <thread>\n"},
                     "src/core/a.cpp:1: sync-header", "src/core/a.cpp:2: sync-header",
                     "include/bulkhead/a.hpp:2: sync-header")

    def test_only_some_places_include_headers_of_the_system(self):
        self.refuses({"src/core/a.cpp": "#include <sys/mman.h>\n",
                      "src/net/a.cpp": "#  include <signal.h>\n",
                      "examples/a.cpp": "#include <unistd.h>\n"},
                     "src/core/a.cpp:1: system-header", "src/net/a.cpp:1: system-header",
                     "examples/a.cpp:1: system-header")

    def test_heavy_headers_have_their_place(self):
        heavy = "#pragma once\n#include <chrono>\n#include <functional>\n"
        self.accepts({"include/bulkhead/standard.hpp": heavy, "src/core/a.hpp": heavy})
        self.refuses({"include/bulkhead/a.hpp": heavy},
                     "include/bulkhead/a.hpp:2: heavy-header",
                     "include/bulkhead/a.hpp:3: heavy-header")

    def test_conditionals_have_their_places(self):
        self.refuses({"src/core/a.cpp": "#ifdef A\n#elif B\n#endif\n",
                      "tests/stress/a.cpp": "# if A\n#endif\n"},
                     "src/core/a.cpp:1: conditional", "src/core/a.cpp:2: conditional",
                     "tests/stress/a.cpp:1: conditional")

    def test_a_header_has_pragma_once(self):
        self.refuses({"src/core/a.hpp": "// #pragma once\n",
                      "src/core/b.hpp": "/*\n#pragma once\n*/"},
                     "src/core/a.hpp:1: pragma-once", "src/core/b.hpp:1: pragma-once")

    def test_a_file_has_at_most_500_lines(self):
        self.accepts({"src/core/a.cpp": "\n" * 500})
        self.refuses({"src/core/a.cpp": "\n" * 501}, "src/core/a.cpp:501: file-length")

    def test_a_line_has_at_most_100_columns(self):
        self.accepts({"src/core/a.cpp": "// " + "\u00e9" * 97, "docs/a.md": "a" * 101})
        self.refuses({"src/core/a.cpp": "\n// " + "a" * 98, "dev": "#" * 101,
                      "CMakeLists.txt": "#" * 101},
                     "src/core/a.cpp:2: line-length", "dev:1: line-length",
                     "CMakeLists.txt:1: line-length")

    def test_a_function_has_at_most_100_lines(self):
        self.accepts({"src/core/a.cpp": body(100)})
        self.refuses({"src/core/a.cpp": "\n" + body(101)}, "src/core/a.cpp:2: function-length")

    def test_functions_are_found_wherever_they_stand(self):
        for before, after in (
                ("namespace a::b {\nclass X final : public Y {\n public:\n", "};\n}\n"),
                ("template <class T>\n  requires (sizeof(T) > 1)\n", ""),
                ("class alignas(64) X {\n", "};\n"),
                ("X::X() : a_{1}, b_(2), c_{3} {}\n", ""),
                ("constexpr char kBrace = '{';\nconst char* kText = \"{\";\n", ""),
                ('const char* kRaw = R"x({ " {)x";\n', ""),
                ("// {\n/* { */\n#define A {\n", ""),
                ("int kMany = 1'000'000;\n", "")):
            line = before.count("\n") + 1
            with self.subTest(before=before):
                self.accepts({"src/core/a.cpp": before + body(100) + after})
                self.refuses({"src/core/a.cpp": before + body(101) + after},
                             f"src/core/a.cpp:{line}: function-length")

    def test_a_constructor_with_braced_initialisers_is_a_function(self):
        text = "X::X(int a)\n  : a_{a}, b_{2} {\n" + "  f();\n" * 99 + "}\n"
        self.refuses({"src/core/a.cpp": text}, "src/core/a.cpp:2: function-length")

    def test_a_long_class_is_no_function(self):
        method = "  int f() { return 1; }\n"
        self.accepts({"src/core/a.cpp": "struct X {\n" + method * 150 + "};\n"})

    def test_folders_are_named_after_concepts(self):
        self.refuses({"tests/util/a.cpp": "\n", "tests/util/b.cpp": "\n", "bench/impl/x/a.txt": ""},
                     "tests/util:1: folder-name", "bench/impl:1: folder-name")

    def test_banned_words_are_found_everywhere_but_in_their_list(self):
        word, other = "plu" + "gh", "xyz" + "zy"
        self.refuses({"src/core/a.cpp": f"\n// {word}\n", "docs/a.md": word, "dev": other,
                      "tools/banned_words.txt": f"all {word}\ncode {other}\n"},
                     "src/core/a.cpp:2: banned-word", "docs/a.md:1: banned-word",
                     "dev:1: banned-word")

    def test_some_words_are_banned_in_code_only(self):
        self.accepts({"docs/a.md": "xyz" + "zy"})

    def test_the_real_list_of_banned_words_finds_what_it_is_for(self):
        words = (HERE / "banned_words.txt").read_text(encoding="utf-8")
        samples = ("/wor" + "k/", "x/.libra" + "ry/", "far" + "m-x", "deb.deb" + "ian.org",
                   "registry.npm" + "js.org", "GTEST_SK" + "IP()", "TEST(A, DISABLED" + "_b)",
                   "EXPECT_TRUE(tr" + "ue)", "TODO(n" + "ow)", "Not implem" + "ented")
        for sample in samples:
            with self.subTest(sample=sample):
                self.refuses({"tools/banned_words.txt": words, "src/core/a.cpp": f"// {sample}\n"},
                             "src/core/a.cpp:1: banned-word")

    def test_a_file_with_modelled_atomics_has_a_model(self):
        self.refuses({"src/core/slot_model.cpp": None}, "src/core/slot.hpp:1: model-sibling")
        self.accepts({"src/core/a.cpp": '// #include "sync/atomic.hpp"\n'})

    def test_coverage_names_files_that_exist_and_name_the_requirement(self):
        self.refuses({"docs/coverage.md": "| C12 | tests/gone_test.cpp |\n"
                                          "| C1 | tests/conformance/links_test.cpp |\n"
                                          "| C2 | links_test.cpp |\n"
                                          "See src/base/gone.hpp.\n"},
                     "docs/coverage.md:1: coverage", "docs/coverage.md:2: coverage",
                     "docs/coverage.md:3: coverage", "docs/coverage.md:4: coverage")

    def test_coverage_names_tests_that_are_in_their_files(self):
        test = "TEST(A, one) {}\nTEST_P(A, two) {}\n"
        row = "| lines | tests/a.cpp: `one`, `two`; tests/b.cpp: `one` |\n"
        files = {"tests/a.cpp": test, "tests/b.cpp": test}
        self.accepts({**files, "docs/coverage.md": row})
        self.refuses({**files, "docs/coverage.md": row.replace("`two`", "`on`")},
                     "docs/coverage.md:1: coverage")

    def test_coverage_names_every_test_that_names_a_requirement_first(self):
        self.refuses({"tests/a.cpp": "// C12, C13: both\n"},
                     "tests/a.cpp:1: coverage", "tests/a.cpp:1: coverage")
        self.accepts({"tests/a.cpp": "// C12, the other way round: C13\n"})

    def test_links_lead_to_files_and_sections(self):
        page = "# A\n\n## `b()`, c\n\n```\n[code](no.md)\n```\n[d\ne](#b-c), [f](https://g)\n"
        self.accepts({"docs/a.md": page, "README.md": "[a](docs/a.md#b-c), [d](docs)\n"})
        self.refuses({"docs/a.md": page, "README.md": "\n[a](docs/b.md)\n[a\nb](docs/a.md#b)\n"},
                     "README.md:2: link", "README.md:3: link")
        self.refuses({"docs/a.md": page + "[x](#c)\n"}, "docs/a.md:10: link")

    def test_an_exception_excuses_its_rule_and_path_only(self):
        long_line = "// " + "a" * 98 + "\n"
        self.accepts({"src/core/a.cpp": long_line,
                      "tools/tidy_allow.txt": "line-length src/core/a.cpp a table\n"})
        self.refuses({"src/core/a.cpp": long_line, "src/core/b.cpp": long_line,
                      "tools/tidy_allow.txt": "line-length src/core/a* a table\n"},
                     "src/core/b.cpp:1: line-length")
        self.refuses({"src/core/a.cpp": long_line,
                      "tools/tidy_allow.txt": "file-length src/core/a.cpp a table\n"},
                     "src/core/a.cpp:1: line-length", "tools/tidy_allow.txt:1: allow-list")

    def test_an_exception_needs_a_known_rule_a_reason_and_a_use(self):
        self.refuses({"tools/tidy_allow.txt": "line-length src/core/a.cpp\n"
                                              "no-such-rule src/core/a.cpp why\n"
                                              "line-length src/core/a.cpp why\n"},
                     *(f"tools/tidy_allow.txt:{line}: allow-list" for line in (1, 2, 3)))

    def test_a_wrong_configuration_is_an_error(self):
        self.misconfigured({"tools/layers.txt": "layers base\n"}, "tools/layers.txt:1")
        self.misconfigured({"tools/layers.txt": "layer base\npublic-only otp\n"}, "otp")
        self.misconfigured({"tools/layers.txt": LAYERS + "needs-model (\n"}, "tools/layers.txt:14")
        self.misconfigured({"tools/banned_words.txt": "plu" + "gh\n"}, "tools/banned_words.txt:1")

    def test_every_rule_fails_in_some_test(self):
        listed = subprocess.run([sys.executable, str(HERE / "tidy"), "--list"],
                                capture_output=True, text=True, check=True).stdout
        rules = re.findall(r"^([\w-]+):", listed, re.MULTILINE)
        own_text = pathlib.Path(__file__).read_text(encoding="utf-8")
        for rule in rules:
            self.assertRegex(own_text, rf':[\d{{}}a-z]+: {rule}"', rule)


class ProjectFilesTest(unittest.TestCase):
    def test_what_git_ignores_is_not_looked_at(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in {**GOOD, ".gitignore": "/out/\n", "out/a.cpp": "#if 1\n",
                               "build/b.cpp": "\n" * 501}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
            command = [sys.executable, str(HERE / "tidy"), "--root", folder]
            subprocess.run(["git", "init", "-q", folder], check=True)
            result = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 1, result.stdout)
            self.assertIn("build/b.cpp:501: file-length", result.stdout)
            self.assertNotIn("out/a.cpp", result.stdout)


if __name__ == "__main__":
    unittest.main()
