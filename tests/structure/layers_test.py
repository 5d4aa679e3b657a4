"""Tests that layers.py finds the faults it should. Run as: layers_test.py"""

import pathlib
import tempfile
import unittest

import layers

GOOD = {
    "format/include/sluice/error.h": "",
    "reader/include/sluice/loader.h": "#include <sluice/error.h>\n",
    "reader/order/order.h": '#include "format/disk/shard.h"\n',
    "reader/loader/loader.cpp": '#include <sluice/loader.h>\n#include "reader/order/order.h"\n',
    "reader/python/binding/a.cpp": '#include <sluice/loader.h>\n#include "reader/python/binding/b.h"\n',
    "writer/source/labels/a.cpp": '#include "writer/source/list/look.h"\n',
    "tools/convert.cpp": '#include <sluice/loader.h>\n#include "tools/cli/program.h"\n#include <CLI/CLI.hpp>\n',
}
BAD = {
    "writer/a.cpp": '#include "reader/order/order.h"\n',
    "writer/b.cpp": "#include <sluice/loader.h>\n",
    "tools/c.cpp": '#include "format/disk/shard.h"\n',
    "samples/d.cpp": '#include "reader/order/order.h"\n',
    "reader/order/e.h": '#include "reader/loader/loader_state.h"\n',
    "reader/batch/f.cpp": "#  include <sluice/loader.h>\n",
    "reader/g.cpp": "",
    "bench/h.cpp": '#include "tests/catch.h"\n',
    "writer/source/images/n.cpp": '#include "writer/source/list/look.h"\n',
    "writer/source/files/o.cpp": "",
    "format/i.cpp": '#include "writer/a.h"\n',
    "format/disk/k.cpp": '#include "format/remote/object_store.h"\n',
    "reader/python/binding/l.cpp": '#include "reader/order/order.h"\n',
    "reader/order/m.cpp": '#include "reader/python/binding/b.h"\n',
    "samples/j.cpp": "#include <sluice/hidden.h>\n",
}


def complaints(files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        return layers.check(root)[0]


class Layers(unittest.TestCase):
    def test_a_tree_in_order_has_no_complaints(self):
        self.assertEqual(complaints(GOOD), [])

    def test_each_breach_is_found_alone(self):
        for path, text in BAD.items():
            with self.subTest(path):
                found = complaints(GOOD | {path: text})
                self.assertEqual(len(found), 1, found)
                self.assertTrue(found[0].startswith(path), found)


if __name__ == "__main__":
    unittest.main()
