"""Tests that places.py finds the faults it should. Run as: places_test.py"""

import pathlib
import tempfile
import unittest

import places

HEADER = """// Kinds of fruit.
//
// A new kind also goes into these files, where
// "quince|kQuince" shows how:
//   writer/fruit.cpp   its colour
//   writer/README.md
#pragma once
"""
LISTED = {"writer/fruit.cpp": "case kQuince:", "writer/README.md": "Quince"}


class Places(unittest.TestCase):
    def complaints(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {"writer/fruit.h": HEADER, "CONTRIBUTING.md": "`writer/fruit.h` *", **files}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return places.check(root)

    def test_files_that_have_the_word_are_right(self):
        self.assertEqual(self.complaints({**LISTED, "tests/pear.cpp": "Pear"}), ([], [], 2))

    def test_a_missing_file_and_a_missing_word_are_found(self):
        found, _, looked_at = self.complaints({"writer/fruit.cpp": "case kPear:"})
        self.assertEqual(looked_at, 2)
        self.assertEqual(found, ['writer/fruit.h: writer/fruit.cpp does not have "quince|kQuince"',
                                 "writer/fruit.h: there is no writer/README.md"])

    def test_a_marked_file_without_a_list_is_found(self):
        found, *_ = self.complaints({**LISTED, "CONTRIBUTING.md": "| fruit; jam | `writer/fruit.h` *; `sluice/jam.h` * |"})
        self.assertEqual(found, ["CONTRIBUTING.md: sluice/jam.h has no list of places"])

    def test_a_file_that_the_list_lacks_is_found_unless_it_is_the_things_own(self):
        found, *_ = self.complaints({**LISTED, "tests/jam.cpp": "quinces", "writer/quince.cpp": "Quince"})
        self.assertEqual(found, ['writer/fruit.h: tests/jam.cpp has "quince|kQuince": list it, '
                                 'or a line "not tests/jam.cpp" with a reason'])

    def test_a_file_may_be_left_out_with_a_reason_as_long_as_it_has_the_word(self):
        left_out = HEADER.replace("#pragma", "//   not tests/    others eat it\n//   not tools/jam*\n#pragma")
        found, *_ = self.complaints({**LISTED, "writer/fruit.h": left_out, "tests/jam.cpp": "quince"})
        self.assertEqual(found, ['writer/fruit.h: "not tools/jam*" has no reason, or nothing there has "quince|kQuince"'])

    def test_other_files_with_a_common_word_are_only_printed(self):
        common = HEADER.replace("shows how:", "shows how, among\n// others:")
        found, remarks, _ = self.complaints({**LISTED, "writer/fruit.h": common, "tests/jam.cpp": "quince"})
        self.assertEqual(found, [])
        self.assertEqual(remarks, ['writer/fruit.h: 1 more files have "quince|kQuince": tests/jam.cpp'])


if __name__ == "__main__":
    unittest.main()
