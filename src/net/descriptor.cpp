#include "bulkhead/net/descriptor.hpp"

#include <new>

#include "net/calls.hpp"
#include "net/table.hpp"

namespace bulkhead::net {

Descriptor adopt(int fd) {
  try {
    Entry& entry = entry_for(fd);
    Actors actors;
    const Opened opened = entry.readiness.open(actors);
    // Its registration went when the kernel closed it.
    if (opened.taken_over) static_cast<void>(entry.registration.reset());
    return Descriptor(fd, opened.generation);
  } catch (const std::bad_alloc&) {
    call::close(fd);
    throw;
  }
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

Hold::Hold(const Descriptor& descriptor) noexcept : generation_(descriptor.generation()) {
  if (descriptor.number() < 0) return;
  Entry& entry = entry_at(descriptor.number());
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
