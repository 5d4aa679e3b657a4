"""Checks the recipes of tools/packaging against the build that they describe: recipes.py ROOT

The version and the dependencies stand in version.h and CMakeLists.txt. tools/setup.sh and the recipes for Conan, vcpkg
and conda repeat them, each under its own names. It is an error if one of them lacks a library, adds one, states a
different minimum version, does not mention a kind of images, or mentions an option that does not exist.
"""

import json
import pathlib
import re
import sys

# For each library that CMakeLists.txt looks for, the names of its package in Debian, Conan, vcpkg and conda.
NAMES = {
    "CLI11": ("libcli11-dev", "cli11", "cli11", "cli11"),
    "nlohmann_json": ("nlohmann-json3-dev", "nlohmann_json", "nlohmann-json", "nlohmann_json"),
    "JPEG": ("$jpeg", "libjpeg-turbo", "libjpeg-turbo", "libjpeg-turbo"),
    "libturbojpeg": ("libturbojpeg0-dev", "libjpeg-turbo", "libjpeg-turbo", "libjpeg-turbo"),
    "libzstd": ("libzstd-dev", "zstd", "zstd", "zstd"),
    "libxxhash": ("libxxhash-dev", "xxhash", "xxhash", "xxhash"),
    "libspng": ("libspng-dev", "libspng", "libspng", "libspng"),
    "libexif": ("libexif-dev", "libexif", "libexif", "libexif"),
    "libutf8proc": ("libutf8proc-dev", "utf8proc", "utf8proc", "libutf8proc"),
    "expat": ("libexpat1-dev", "expat", "expat", "expat"),
    "Snappy": ("libsnappy-dev", "snappy", "snappy", "snappy"),
    "libwebp": ("libwebp-dev", "libwebp", "libwebp", "libwebp"),
    "libwebpdemux": ("libwebp-dev", "libwebp", "libwebp", "libwebp"),
    "GIF": ("libgif-dev", "giflib", "giflib", "giflib"),
    "libtiff-4": ("libtiff-dev", "libtiff", "tiff", "libtiff"),
    "libavif": ("libavif-dev", "libavif", "libavif", "libavif"),
    "libheif": ("libheif-dev", "libheif", "libheif", "libheif"),
    "libjxl": ("libjxl-dev", "libjxl", "libjxl", "libjxl"),
    "libopenjp2": ("libopenjp2-7-dev", "openjpeg", "openjpeg", "openjpeg"),
    "lcms2": ("liblcms2-dev", "lcms", "lcms", "lcms2"),
    "libcurl": ("libcurl4-openssl-dev", "libcurl", "curl", "libcurl"),
    "libcrypto": ("libssl-dev", "openssl", "openssl", "openssl"),
}
BUILD_ONLY = {"pip", "python", "scikit-build-core", "nanobind", "vcpkg-cmake", "vcpkg-cmake-config"}
NOT_PACKAGED = {"PkgConfig", "Threads", "Catch2", "PNG"}


def needs_of_build(cmake):
    """Returns the libraries that CMake looks for, each with the oldest version that CMake accepts, or ""."""
    needs = dict(re.findall(r"find_package\((\w+) ?([\d.]*)", cmake))
    for call, modules in re.findall(r"pkg_(check_modules|search_module)\(\w+ \w+ IMPORTED_TARGET ([^)]*)\)", cmake):
        for module in modules.split()[:1 if call == "search_module" else None]:
            name, _, oldest = module.partition(">=")
            needs[name] = oldest
    return {name: oldest for name, oldest in needs.items() if name not in NOT_PACKAGED}


def check(root):
    """Returns a list of complaints."""
    def read(path):
        return (root / path).read_text(encoding="utf-8")

    found = []

    def compare(file, has, wanted):
        found.extend(f"{file}: {name} is missing" for name in sorted(wanted.keys() - has.keys()))
        found.extend(f"{file}: the build does not need {name}" for name in sorted(has.keys() - wanted.keys()))
        found.extend(f"{file}: {name} is {has[name] or 'of any version'}, and not {wanted[name] or 'of any version'}"
                     for name in sorted(has.keys() & wanted.keys()) if has[name] != wanted[name])

    cmake = read("CMakeLists.txt")
    needs = needs_of_build(cmake + read("tools/cli/CMakeLists.txt"))
    compare("recipes.py", dict.fromkeys(NAMES, ""), dict.fromkeys(needs, ""))

    def packages(column, versions=True):
        wanted = {}
        for name, oldest in needs.items():
            if name in NAMES:
                wanted[NAMES[name][column]] = wanted.get(NAMES[name][column]) or (oldest if versions else "")
        return wanted

    setup = " ".join(re.findall(r'^libraries="([^"]*)"', read("tools/setup.sh"), re.M)).replace("$libraries", "")
    compare("setup.sh", dict.fromkeys(setup.split(), ""), packages(0, False))

    conan = read("tools/packaging/conan/conanfile.py")
    compare("conanfile.py", dict(re.findall(r'^    "([\w-]+)/\[(?:\*|>=([\d.]+))\]"', conan, re.M)), packages(1))

    port = json.loads(read("tools/packaging/vcpkg/vcpkg.json"))
    lists = [port["dependencies"]] + [feature["dependencies"] for feature in port["features"].values()]
    names = {each if isinstance(each, str) else each["name"] for entries in lists for each in entries}
    compare("vcpkg.json", dict.fromkeys(names - BUILD_ONLY, ""), packages(2, False))

    recipe = read("tools/packaging/conda/recipe.yaml")
    host = dict(re.findall(r"^    - ([\w-]+)(?: >=([\d.]+))?$", recipe.split("  host:")[1].split("  run:")[0], re.M))
    compare("recipe.yaml", {name: oldest for name, oldest in host.items() if name not in BUILD_ONLY}, packages(3))
    for name, oldest in re.findall(r'"(scikit-build-core|nanobind|numpy)>=([\d.]+)"', read("pyproject.toml")):
        if f"    - {name} >={oldest}\n" not in recipe:
            found.append(f"recipe.yaml: pyproject.toml needs {name} >={oldest}")

    version = re.search('kLibraryVersion = "(.*)"', read("format/include/sluice/version.h"))[1]
    compare("version", {"vcpkg.json": port["version"], "recipe.yaml": re.search('  version: "(.*)"', recipe)[1]},
            dict.fromkeys(("vcpkg.json", "recipe.yaml"), version))

    options = set(re.findall(r"(?:option|set)\((SLUICE_(?:BUILD|WITH)_\w+) ", cmake))
    kinds = {option for option in options if option.startswith("SLUICE_WITH_")}
    listed = re.search('KINDS = "(.*)"', conan)[1].split() + ["CUDA"]
    for file, named in (
            ("conanfile.py", {f"SLUICE_WITH_{kind}" for kind in listed}),
            ("portfile.cmake", set(re.findall(r"SLUICE_\w+", read("tools/packaging/vcpkg/portfile.cmake")))),
            ("recipe.yaml", set(re.findall(r"SLUICE_\w+", recipe)))):
        found += [f"{file}: {option} is not mentioned" for option in sorted(kinds - named)]
        found += [f"{file}: there is no option {option}" for option in sorted(named - options)]
    return found


if __name__ == "__main__":
    complaints = check(pathlib.Path(sys.argv[1]))
    print("\n".join(complaints))
    sys.exit(bool(complaints))
