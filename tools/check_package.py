#!/usr/bin/env python3
"""Installs a build into a fresh folder, and builds programs against what was installed.

    tools/check_package.py BUILD_FOLDER [--cmake CMAKE] [--compiler COMPILER]

One program finds the library through CMake's find_package, and one through pkg-config; both
include every public header. The first is compiled for preemption, and relies on it; the second has
an operator new and delete of its own, but only the plain ones. The installed tree is moved before
it is used.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

CMAKE_LISTS = """\
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(bulkhead 0.1 REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE bulkhead::bulkhead)
if(NOT EXISTS "${BULKHEAD_GDB_SCRIPT}")
  message(FATAL_ERROR "BULKHEAD_GDB_SCRIPT is '${BULKHEAD_GDB_SCRIPT}', and there is no such file")
endif()
bulkhead_preemptible(consumer)
"""

# Two actors on one core: one loops until the other has run.
PREEMPTED = """\
#include <cstdlib>
int main() {
  bulkhead::Config config;
  config.cores = 1;
  config.time_slice = std::chrono::nanoseconds(0);
  bulkhead::Runtime runtime(config);
  runtime.start();
  volatile bool over = false;
  runtime.spawn([&] {
    bulkhead::spawn([&] { over = true; });
    while (!over) {
    }
  });
  if (!runtime.wait_for_idle(std::chrono::seconds(30))) std::_Exit(1);
  return 0;
}
"""

# What comes from its own operator new goes to its own operator delete, whatever form is used.
OWN_OPERATORS = """\
#include <cstdlib>
#include <new>
namespace {
struct Head {
  alignas(std::max_align_t) std::size_t size;
};
long taken = 0;
}  // namespace
// Clang before 19 does not declare these by itself.
void operator delete(void* memory, std::size_t size) noexcept;
void operator delete[](void* memory, std::size_t size) noexcept;
void* operator new(std::size_t size) {
  if (size > 1'000'000'000) throw std::bad_alloc();
  auto* head = static_cast<Head*>(std::malloc(sizeof(Head) + size));
  if (head == nullptr) throw std::bad_alloc();
  __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
  head->size = ~size;
  return head + 1;
}
void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  __atomic_fetch_sub(&taken, 1, __ATOMIC_RELAXED);
  std::free(static_cast<Head*>(memory) - 1);
}
int main() {
  const long before = taken;
  void* volatile memory = ::operator new(8);
  ::operator delete(memory, std::size_t{8});
  memory = ::operator new[](8);
  ::operator delete[](memory);
  memory = ::operator new[](8);
  ::operator delete[](memory, std::size_t{8});
  memory = ::operator new(8, std::nothrow);
  ::operator delete(memory, std::nothrow);
  memory = ::operator new[](8, std::nothrow);
  if (taken != before + 1) return 1;
  ::operator delete[](memory, std::nothrow);
  if (taken != before) return 2;
  if (::operator new(2'000'000'000, std::nothrow) != nullptr) return 3;
  return bulkhead::run([] {}) ? 0 : 4;
}
"""


def run(*command, env=None):
    """Runs a command and returns its output; ends with its messages when it fails."""
    result = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False, env=env)
    if result.returncode != 0:
        print("failed:", *command)
        print(result.stdout)
        sys.exit(1)
    return result.stdout


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--compiler", default="g++")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        run(options.cmake, "--install", options.build, "--prefix", top / "first")
        prefix = (top / "first").rename(top / "moved")

        source = top / "consumer"
        source.mkdir()
        headers = sorted((prefix / "include").rglob("*.hpp"))
        includes = [f"#include <{header.relative_to(prefix / 'include')}>" for header in headers]
        main_file = source / "main.cpp"
        main_file.write_text("\n".join([*includes, PREEMPTED]))
        (source / "CMakeLists.txt").write_text(CMAKE_LISTS)

        run(options.cmake, "-S", source, "-B", top / "build", "-G", "Ninja",
            f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={options.compiler}")
        run(options.cmake, "--build", top / "build")
        run(top / "build" / "consumer")

        main_file.write_text("\n".join([*includes, OWN_OPERATORS]))
        package = next(prefix.rglob("bulkhead.pc"))
        flags = run("pkg-config", "--cflags", "--libs",
                    package).split()
        if "clang" in run(options.compiler, "--version"):
            flags += run("pkg-config", "--variable=clang_cflags", package).split()
        run(options.compiler, "-std=c++2b", main_file, "-o", top / "by_pkg_config", *flags)
        run(top / "by_pkg_config")
    print(f"{len(headers)} headers installed; CMake package and pkg-config file work")
    return 0


if __name__ == "__main__":
    sys.exit(main())
