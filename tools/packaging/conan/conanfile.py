"""A Conan 2 package of this checkout: Sluice's libraries and the command sluice.

    conan create tools/packaging/conan -s compiler.cppstd=20 --build=missing

takes the libraries that it needs from Conan; with -o "sluice/*:system=True" it takes the system's, which tools/setup.sh
installs. A project that requires the package uses the generator CMakeDeps; then find_package(sluice) brings
sluice::reader and sluice::writer. tests/install/recipes.py compares the lists below with CMakeLists.txt.
"""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir
from conan.tools.gnu import PkgConfigDeps

# The packages that a build needs, by Conan's names: the libraries to link, and the layers that need them.
LIBRARIES = {
    "cli11/[*]": ("", ""),
    "nlohmann_json/[>=3.10]": ("", ""),
    "libjpeg-turbo/[*]": ("jpeg turbojpeg", "format writer"),
    "zstd/[*]": ("zstd", "format"),
    "xxhash/[*]": ("xxhash", "format"),
    "expat/[*]": ("expat", "format"),
    "libcurl/[>=7.85]": ("curl", "remote"),
    "openssl/[>=1.1.1]": ("crypto", "remote"),
    "libspng/[*]": ("spng", "writer"),
    "libexif/[*]": ("exif", "writer"),
    "utf8proc/[*]": ("utf8proc", "writer"),
    "snappy/[*]": ("snappy", "writer"),
    "libwebp/[*]": ("webpdemux webp", "writer"),
    "giflib/[>=5.1]": ("gif", "writer"),
    "libtiff/[>=4.5]": ("tiff", "writer"),
    "libavif/[>=0.11]": ("avif", "writer"),
    "libheif/[>=1.15]": ("heif", "writer"),
    "libjxl/[>=0.7]": ("jxl", "writer"),
    "openjpeg/[>=2.5]": ("openjp2", "writer"),
    "lcms/[*]": ("lcms2", "writer"),
}
KINDS = "WEBP GIF TIFF AVIF HEIF JXL JP2 LCMS REMOTE"
LAYERS = {"format": [], "remote": ["format"], "reader": ["remote"], "writer": ["remote"]}


class Sluice(ConanFile):
    name = "sluice"
    description = "Compiles folders of images into sharded datasets and streams them into training"
    license = "Apache-2.0"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "system": [True, False]}
    # libtiff's default is another libjpeg, which cannot be linked into the same program.
    default_options = {"shared": False, "fPIC": True, "system": False, "libtiff/*:jpeg": "libjpeg-turbo"}
    implements = ["auto_shared_fpic"]

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "../../../format/include/sluice/version.h"))
        self.version = re.search('kLibraryVersion = "(.*)"', header).group(1)

    def export_sources(self):
        checkout = os.path.join(self.recipe_folder, "../../..")
        for files in ("CMakeLists.txt", "LICENSE", "format/*", "reader/*", "tools/*", "writer/*"):
            copy(self, files, checkout, self.export_sources_folder)

    def layout(self):
        self.folders.root = "../../.."
        cmake_layout(self, build_folder="build/conan")

    def validate(self):
        check_min_cppstd(self, 20)

    def requirements(self):
        for package, (libraries, _) in LIBRARIES.items():
            if not self.options.system:
                self.requires(package, visible=bool(libraries))  # only the build needs header-only libraries

    def generate(self):
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False
        toolchain.cache_variables.update({f"SLUICE_BUILD_{part}": False for part in ("BENCH", "SAMPLES", "TESTS")})
        toolchain.cache_variables.update({f"SLUICE_WITH_{kind}": "ON" for kind in KINDS.split()})
        toolchain.cache_variables.update({"SLUICE_WITH_CUDA": "OFF", "CMAKE_UNITY_BUILD": True,
                                          "CMAKE_UNITY_BUILD_BATCH_SIZE": "40"})
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        for generated in ("cmake", "pkgconfig"):  # Conan generates its own
            rmdir(self, os.path.join(self.package_folder, "lib", generated))

    def package_info(self):
        for layer, below in LAYERS.items():
            component = self.cpp_info.components[layer]
            component.libs = [f"sluice_{layer}"]
            component.set_property("cmake_target_name", f"sluice::{layer}")
            component.set_property("pkg_config_name", f"sluice-{layer}")
            component.requires = list(below)
            component.system_libs = ["pthread"]
            for package, (libraries, layers) in LIBRARIES.items():
                if layer not in layers.split():
                    continue
                if self.options.system:
                    component.system_libs += libraries.split()
                else:
                    name = package.split("/")[0]
                    component.requires.append(f"{name}::{name}")
