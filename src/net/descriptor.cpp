#include "bulkhead/net/descriptor.hpp"

#include <new>

#include "core/belongings.hpp"
#include "net/calls.hpp"
#include "net/table.hpp"

namespace bulkhead::net {

namespace {

// Of an isolated actor: closed when it traps.
constexpr core::Belonging::Ops kOpenDescriptor = {
    [](const core::Belonging& each) noexcept {
      return !entry_at(static_cast<int>(each.what[0])).readiness.is_open(each.what[1]);
    },
    [](const core::Belonging& each) noexcept {
      entry_at(static_cast<int>(each.what[0])).close(each.what[1]);
    }};

void belongs_to_caller(int fd, std::uint64_t generation) {
  core::belongs_to_caller({&kOpenDescriptor, {static_cast<std::uint64_t>(fd), generation, 0}});
}

}  // namespace

void expect() { core::expect_belonging(); }

void hand_over(int fd, std::uint64_t generation) noexcept {
  Actors actors;
  if (entry_at(fd).readiness.hand_over(generation, actors)) {
    belongs_to_caller(fd, generation + 1);
  } else {
    entry_at(fd).close(generation);  // whoever gets it finds it closed
  }
}

Descriptor adopt(int fd) {
  Entry* entry = nullptr;
  try {
    entry = &entry_for(fd);
  } catch (const std::bad_alloc&) {
    call::close(fd);
    throw;
  }
  Actors actors;
  const Opened opened = entry->readiness.open(actors);
  // Its registration went when the kernel closed it.
  if (opened.taken_over) static_cast<void>(entry->registration.reset());
  Descriptor descriptor(fd, opened.generation);
  belongs_to_caller(fd, opened.generation);
  return descriptor;
}

void Descriptor::close() noexcept {
  if (fd_ >= 0) entry_at(fd_).close(generation_);
}

bool Descriptor::is_open() const noexcept {
  return fd_ >= 0 && entry_at(fd_).readiness.is_open(generation_);
}

std::expected<Descriptor, int> adopted(int result) {
  if (result < 0) return std::unexpected(result);
  try {
    return adopt(result);
  } catch (const std::bad_alloc&) {
    return std::unexpected(-ENOMEM);
  }
}

Hold::Hold(int fd, std::uint64_t generation) noexcept : generation_(generation) {
  if (fd < 0) return;
  Entry& entry = entry_at(fd);
  Access access = entry.readiness.hold(generation_);
  while (access == Access::kBusy) {
    sync::RealSync::spin_hint();  // another thread is within a system call that does not wait
    access = entry.readiness.hold(generation_);
  }
  if (access == Access::kOpen) entry_ = &entry;
}

Hold::~Hold() {
  if (entry_ != nullptr && entry_->readiness.release(generation_) == Left::kMustClose) {
    entry_->close_now();
  }
}

}  // namespace bulkhead::net
