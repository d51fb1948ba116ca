#include "machine/stack.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/critical.hpp"
#include "machine/fiber.hpp"
#include "machine/pages.hpp"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

namespace bulkhead::machine {

namespace {

constexpr std::size_t kSlabBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxStacksPerSlab = 128;

std::size_t stride(std::uint8_t size_class) {
  return guard_bytes() + (kMinStackBytes << size_class);
}

Stack* record_of(std::byte* end) { return reinterpret_cast<Stack*>(end - sizeof(Stack)); }

// Some kernels and emulators answer 0 to advice that they do not know, so look at the effect: the
// kernel must refuse to read from a guarded page.
bool guards_by_advice() {
  const std::size_t page = page_bytes();
  void* memory = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  bool works = false;
  int ends[2];
  if (madvise(memory, page, MADV_GUARD_INSTALL) == 0 && pipe(ends) == 0) {
    works = write(ends[1], memory, 1) < 0 && errno == EFAULT;
    close(ends[0]);
    close(ends[1]);
  }
  munmap(memory, page);
  return works;
}

}  // namespace

std::size_t guard_bytes() noexcept { return std::size_t{64} * 1024 + page_bytes(); }

std::uint8_t stack_class(std::size_t bytes) noexcept {
  const std::size_t units = (bytes + kMinStackBytes - 1) / kMinStackBytes;
  return static_cast<std::uint8_t>(std::bit_width(units == 0 ? 0 : units - 1));
}

GuardKind supported_guard() {
  static const GuardKind kind = guards_by_advice() ? GuardKind::kMadvise : GuardKind::kMprotect;
  return kind;
}

std::size_t most_mappings() {
  std::size_t most = 0;
  if (std::FILE* file = std::fopen("/proc/sys/vm/max_map_count", "re"); file != nullptr) {
    if (std::fscanf(file, "%zu", &most) != 1) most = 0;
    std::fclose(file);
  }
  return most != 0 ? most : 65'530;
}

std::size_t touched_bytes(const Stack& stack) noexcept {
  const std::byte* end = stack.bottom + stack.size();
  unsigned char in_memory[256];
  const std::size_t page = page_bytes();
  const std::size_t step = sizeof in_memory * page;
  for (std::byte* at = stack.bottom; at < end; at += step) {
    const std::size_t bytes = std::min(step, static_cast<std::size_t>(end - at));
    if (mincore(at, bytes, in_memory) != 0) continue;
    for (std::size_t i = 0; i < bytes / page; ++i) {
      if ((in_memory[i] & 1) != 0) return static_cast<std::size_t>(end - at) - i * page;
    }
  }
  return 0;
}

void discard_below(const Stack& running, const void* frame) noexcept {
  // The calls on the way to the kernel have their frames in what is left out.
  const std::size_t page = page_bytes();
  const auto end = (reinterpret_cast<std::uintptr_t>(frame) - page) & ~(page - 1);
  const auto begin = reinterpret_cast<std::uintptr_t>(running.bottom);
  if (end > begin && end < begin + running.size()) {
    madvise(running.bottom, end - begin, MADV_DONTNEED);
  }
}

StackStore& StackStore::process() {
  // Never destroyed: stacks outlive main.
  static auto* store = new StackStore(supported_guard());
  return *store;
}

StackStore::~StackStore() {
  for (Slab* slab : slabs_) {
    while (slab != nullptr) {
      Slab* older = slab->older;
      munmap(slab->begin, static_cast<std::size_t>(slab->end - slab->begin));
      delete slab;
      slab = older;
    }
  }
}

Stack* StackStore::take(std::uint8_t size_class) {
  BULKHEAD_CHECK(size_class < kClasses, "a stack of this size does not exist");
  // Longer than the lock is held: the text of an error takes memory too.
  const base::Critical critical("who takes a stack must not block");
  std::byte* bottom = nullptr;
  {
    sync::Guard guard(lock_);
    std::vector<std::byte*>& free = free_[size_class];
    if (free.empty()) {
      bottom = carve(size_class);
    } else {
      bottom = free.back();
      free.pop_back();
    }
  }
  auto* stack = new (record_of(bottom + (kMinStackBytes << size_class))) Stack;
  stack->bottom = bottom;
  stack->size_class = size_class;
  return stack;
}

void StackStore::give(Stack* chain) noexcept {
  while (chain != nullptr) {
    Stack* next = chain->next;
    forget(chain);
    std::byte* bottom = chain->bottom;
    const std::uint8_t size_class = chain->size_class;
    madvise(bottom, chain->size(), MADV_DONTNEED);
    sync::Guard guard(lock_);
    free_[size_class].push_back(bottom);
    chain = next;
  }
}

std::size_t StackStore::reserved_bytes() const noexcept {
  sync::Guard guard(lock_);
  return reserved_;
}

std::byte* StackStore::carve(std::uint8_t size_class) {
  Slab* slab = slabs_[size_class];
  if (slab == nullptr || slab->fresh == slab->end) slab = reserve(size_class);
  std::vector<std::byte*>& free = free_[size_class];
  if (free.capacity() == carved_[size_class]) free.reserve(2 * carved_[size_class] + 64);
  std::byte* begin = slab->fresh;
  install_guard(begin);
  slab->fresh += stride(size_class);
  ++carved_[size_class];
  return begin + guard_bytes();
}

StackStore::Slab* StackStore::reserve(std::uint8_t size_class) {
  std::size_t count = kSlabBytes / stride(size_class);
  if (count == 0) count = 1;
  if (count > kMaxStacksPerSlab) count = kMaxStacksPerSlab;
  const std::size_t bytes = count * stride(size_class);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) refuse("mmap", errno);
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  auto* begin = static_cast<std::byte*>(memory);
  slabs_[size_class] = new Slab{slabs_[size_class], begin, begin, begin + bytes};
  reserved_ += bytes;
  return slabs_[size_class];
}

void StackStore::install_guard(std::byte* guard) {
  if (guard_ == GuardKind::kMadvise) {
    if (madvise(guard, guard_bytes(), MADV_GUARD_INSTALL) == 0) return;
    // A sandbox that was entered later, or another kernel after a migration.
    if (errno != EINVAL && errno != EPERM && errno != ENOSYS) refuse("guard region", errno);
    guard_ = GuardKind::kMprotect;
  }
  count_guard_mappings();
  if (mprotect(guard, guard_bytes(), PROT_NONE) != 0) refuse("guard region", errno);
  ++guards_;
}

void StackStore::count_guard_mappings() {
  const auto fits = [this] {
    return (guards_ + 1) * kMappingsPerGuard + kMappingsLeft <= most_mappings_;
  };
  if (fits()) return;
  most_mappings_ = limit_();  // it may have been raised
  if (!fits()) refuse("memory mappings", ENOMEM);
}

void StackStore::refuse(const char* step, int error) const {
  std::string text = "bulkhead: no memory for another stack: ";
  text += step;
  text += ": ";
  text += std::strerror(error);
  text += ". ";
  if (guards_ > 0) {
    const std::size_t needed = 1'000'000 * kMappingsPerGuard + 2 * kMappingsLeft;
    text += std::to_string(guards_);
    text +=
        " stacks are in use or kept, and on this kernel the guard of each takes two memory "
        "mappings (from Linux 6.13 on, none); vm.max_map_count, which limits them, is ";
    text += std::to_string(most_mappings_);
    text += ". For N actors that are blocked at once, set it to 2 N + ";
    text += std::to_string(2 * kMappingsLeft);
    text += " or more; for a million: sysctl -w vm.max_map_count=" + std::to_string(needed) + ". ";
  }
  text +=
      "Also look at the limit of the address space (ulimit -v), at vm.overcommit_memory, and at "
      "the container's memory.";
  throw std::runtime_error(text);
}

void StackPool::trim(std::uint32_t keep) noexcept {
  for (std::size_t size_class = 0; size_class < StackStore::kClasses; ++size_class) {
    Stack* surplus = nullptr;
    while (held_[size_class] > keep) {
      Stack* stack = free_[size_class];
      free_[size_class] = stack->next;
      --held_[size_class];
      stack->next = surplus;
      surplus = stack;
    }
    StackStore::process().give(surplus);
  }
}

}  // namespace bulkhead::machine
