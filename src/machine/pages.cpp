#include "machine/pages.hpp"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <new>

#include "machine/stack.hpp"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

namespace bulkhead::machine {

NoAddressSpace::NoAddressSpace(std::size_t bytes) noexcept {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  const unsigned long mib = bytes >> 20;
  if (limit.rlim_cur == RLIM_INFINITY) {
    std::snprintf(text_, sizeof text_, "bulkhead: cannot reserve %lu MiB of address space", mib);
  } else {
    std::snprintf(text_, sizeof text_,
                  "bulkhead: cannot reserve %lu MiB of address space: ulimit -v is %llu KiB", mib,
                  static_cast<unsigned long long>(limit.rlim_cur >> 10));
  }
}

void* reserve_aligned(std::size_t bytes, std::size_t alignment) {
  const std::size_t total = bytes + alignment;
  void* memory =
      mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw NoAddressSpace(total);
  auto* begin = static_cast<std::byte*>(memory);
  const std::size_t skipped = -reinterpret_cast<std::uintptr_t>(begin) & (alignment - 1);
  if (skipped > 0) munmap(begin, skipped);
  munmap(begin + skipped + bytes, total - skipped - bytes);
  // Debuggers that write core files would fill gigabytes with zeros.
  madvise(begin + skipped, bytes, MADV_DONTDUMP);
  return begin + skipped;
}

bool reserving_takes_time() noexcept { return getauxval(AT_SYSINFO_EHDR) == 0; }

void commit(void* begin, std::size_t bytes) {
  if (mprotect(begin, bytes, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  madvise(begin, bytes, MADV_DODUMP);
}

void prefer_huge_pages(void* begin, std::size_t bytes) noexcept {
  madvise(begin, bytes, MADV_HUGEPAGE);
}

void avoid_huge_pages(void* begin, std::size_t bytes) noexcept {
  madvise(begin, bytes, MADV_NOHUGEPAGE);
}

bool guard(void* begin, std::size_t bytes) noexcept {
  return supported_guard() == GuardKind::kMadvise && madvise(begin, bytes, MADV_GUARD_INSTALL) == 0;
}

std::size_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

void discard(void* begin, std::size_t bytes) noexcept { madvise(begin, bytes, MADV_DONTNEED); }

void release(void* begin, std::size_t bytes) noexcept { munmap(begin, bytes); }

std::size_t memory_bytes() noexcept {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace bulkhead::machine
