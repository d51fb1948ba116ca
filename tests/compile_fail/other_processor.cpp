// Elsewhere than on x86-64 and AArch64 Linux nothing works by halves: it does not build (B20).
// expect: bulkhead runs on Linux on x86-64 and AArch64 only
#undef __x86_64__
#undef __aarch64__
#include <bulkhead/standard.hpp>
