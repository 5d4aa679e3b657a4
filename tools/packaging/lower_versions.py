"""Lets binaries run with an older glibc and libstdc++ than the one they were linked with: lower_versions.py FILE...

A binary names a version for each symbol that it takes from a library, and the loader refuses the binary if the
library lacks one of these versions. Some symbols got a new version although the former one still does all that is
needed here; FORMER lists them. In the table of needed versions (.gnu.version_r), this script replaces the name of the
new version by that of the former. It lowers a version only if every symbol that the binary takes in this version is
in the list.
"""

import struct
import sys

from elftools.elf.elffile import ELFFile

# {(new version, former version): symbols with the new version}. The comments say what the new version changed. OLDEST
# stands for the first version of glibc on the binary's kind of machine.
OLDEST = {"EM_X86_64": "GLIBC_2.2.5", "EM_AARCH64": "GLIBC_2.17"}
FORMER = {
    # No longer sets errno.
    ("GLIBC_2.35", "OLDEST"): {"hypot", "hypotf"},
    # May throw if its thread is cancelled.
    ("GLIBCXX_3.4.30", "GLIBCXX_3.4.11"): {"_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"},
}


def elf_hash(name: str) -> int:
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        value = (value ^ (value >> 24 & 0xF0)) & 0x0FFFFFFF
    return value


def lower(path: str) -> None:
    with open(path, "r+b") as file:
        elf = ELFFile(file)
        sections = {section.name: section for section in elf.iter_sections()}
        needed, numbers = sections.get(".gnu.version_r"), sections.get(".gnu.version")
        if needed is None or numbers is None:
            return
        texts = sections[".dynstr"].data()
        users: dict[int, set[str]] = {}  # the symbols of each version, by its number in this file
        for number, symbol in zip(numbers.iter_symbols(), sections[".dynsym"].iter_symbols()):
            if isinstance(number["ndx"], int):
                users.setdefault(number["ndx"], set()).add(symbol.name)
        changes = []
        data = needed.data()
        library = 0
        while True:
            _, count, _, first, next_library = struct.unpack_from("<HHIII", data, library)
            entry = library + first
            for _ in range(count):
                _, flags, number, name, next_entry = struct.unpack_from("<IHHII", data, entry)
                version = texts[name : texts.index(b"\0", name)].decode()
                for (new, former), symbols in FORMER.items():
                    former = OLDEST[elf["e_machine"]] if former == "OLDEST" else former
                    place = texts.find(b"\0" + former.encode() + b"\0") + 1
                    if version == new and place > 0 and users.get(number, set()) <= symbols:
                        changes.append((entry, struct.pack("<IHHI", elf_hash(former), flags, number, place)))
                        print(f"{path}: {', '.join(sorted(users[number]))}: {new} -> {former}")
                entry += next_entry
            if next_library == 0:
                break
            library += next_library
        for entry, values in changes:
            file.seek(needed["sh_offset"] + entry)
            file.write(values)


for name in sys.argv[1:]:
    lower(name)
