"""places.py finds the faults that it should find: places_test.py"""

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


class Places(unittest.TestCase):
    def complaints(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {"writer/fruit.h": HEADER, "CONTRIBUTING.md": "`writer/fruit.h` *", **files}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return places.check(root)

    def test_files_that_have_the_word_are_right(self):
        self.assertEqual(self.complaints({"writer/fruit.cpp": "case kQuince:", "writer/README.md": "Quince"}), ([], 2))

    def test_a_missing_file_and_a_missing_word_are_found(self):
        found, looked_at = self.complaints({"writer/fruit.cpp": "case kPear:"})
        self.assertEqual(looked_at, 2)
        self.assertEqual(found, ['writer/fruit.h: writer/fruit.cpp does not have "quince|kQuince"',
                                 "writer/fruit.h: there is no writer/README.md"])

    def test_a_marked_file_without_a_list_is_found(self):
        found, _ = self.complaints({"writer/fruit.cpp": "quince", "writer/README.md": "quince",
                                    "CONTRIBUTING.md": "| fruit; jam | `writer/fruit.h` *; `sluice/jam.h` * |"})
        self.assertEqual(found, ["CONTRIBUTING.md: sluice/jam.h has no list of places"])


if __name__ == "__main__":
    unittest.main()
