#include "net/table.hpp"

#include <sys/epoll.h>

#include <new>

#include "base/critical.hpp"
#include "core/domain.hpp"
#include "core/inside.hpp"
#include "core/slab.hpp"
#include "core/watches.hpp"
#include "net/calls.hpp"

namespace bulkhead::net {

namespace {

constexpr unsigned kChunkBits = 10;
constexpr unsigned kChunkEntries = 1u << kChunkBits;
constexpr unsigned kChunks = 1u << 14;  // 16 million descriptors

struct Chunk {
  Entry entries[kChunkEntries];
};

// Written once each.
sync::RealSync::atomic<Chunk*> chunks[kChunks];

void ready(core::ReadySink* sink, std::uint32_t events) {
  using Bits = Readiness<sync::RealSync, Actors>;
  std::uint64_t bits = 0;
  if ((events & (EPOLLIN | EPOLLPRI)) != 0) bits |= Bits::kIn;
  if ((events & EPOLLOUT) != 0) bits |= Bits::kOut;
  if ((events & EPOLLRDHUP) != 0) bits |= Bits::kIn | Bits::kEnd;
  if ((events & (EPOLLHUP | EPOLLERR)) != 0) bits |= Bits::kIn | Bits::kEnd | Bits::kOut;
  Actors actors;
  static_cast<Entry*>(sink)->readiness.report(bits, actors);
}

// Whoever has a new descriptor must not be unwound here, with nobody to close it.
Chunk& make_chunk(unsigned place) {
  const base::Critical critical("who makes the table of descriptors must not block");
  auto* fresh = new Chunk;
  for (unsigned i = 0; i < kChunkEntries; ++i) {
    fresh->entries[i].ready = &ready;
    fresh->entries[i].fd = static_cast<int>(place * kChunkEntries + i);
  }
  Chunk* there = nullptr;
  if (chunks[place].compare_exchange_strong(there, fresh, std::memory_order_acq_rel,
                                            std::memory_order_acquire)) {
    return *fresh;
  }
  delete fresh;  // another thread was first
  return *there;
}

// Calls visit(poller) if the poller still is what it was; false if it is gone.
template <class Visit>
bool with_poller(PollerId id, Visit visit) noexcept {
  const core::Inside inside;
  core::Core* home = core::core_at(id.core);
  if (home == nullptr) return false;
  core::Domain* domain = home->domain.load(std::memory_order_acquire);
  if (domain == nullptr) return false;
  const auto visit_if_alive = [&] {
    if (home->poller.serial() != id.serial) return false;
    visit(home->poller);
    return true;
  };
  // The pollers of a domain last as long as its threads run.
  const core::Core* here = core::Core::current();
  if (here != nullptr && here->domain.load(std::memory_order_relaxed) == domain) {
    return visit_if_alive();
  }
  if (!domain->gate.enter()) return false;
  const bool alive = visit_if_alive();
  domain->gate.leave();
  return alive;
}

}  // namespace

bool Actors::claim(Waiter waiter) noexcept {
  return core::Slab::at(waiter.slot).wait.claim_lowest(waiter.epoch, kEpochBits);
}

void Actors::wake(Waiter waiter) noexcept { core::wake(core::Slab::at(waiter.slot)); }

bool Actors::claim(Watcher watcher) noexcept {
  return core::slot_of_watch(watcher.record).wait.claim_lowest(watcher.epoch, kEpochBits);
}

void Actors::wake(Watcher watcher) noexcept { core::wake(core::slot_of_watch(watcher.record)); }

int Entry::register_here(bool others_wait) noexcept {
  const core::Inside inside;
  core::Core* here = core::Core::current();
  const PollerId wanted{here->poller.serial(), here->index};
  const Claim claim = registration.claim(wanted, [&](PollerId old) {
    // Where the others are at home, it stays.
    return others_wait && with_poller(old, [](core::Poller&) {});
  });
  if (claim.claimed == Claimed::kThere) return 0;
  if (claim.from.serial != 0) {
    with_poller(claim.from, [this](core::Poller& poller) { poller.remove(fd); });
  }
  const int error = here->poller.add(fd, this);
  registration.settle(error == 0 ? wanted : PollerId{});
  return error;
}

void Entry::not_registered() noexcept {
  using Bits = Readiness<sync::RealSync, Actors>;
  Actors actors;
  readiness.report(Bits::kIn | Bits::kOut, actors);
}

// In this order: once it is closed, the number and the entry are anybody's.
void Entry::close_now() noexcept {
  const int number = fd;
  const PollerId poller = registration.reset();
  if (poller.serial != 0) {
    with_poller(poller, [number](core::Poller& watching) { watching.remove(number); });
  }
  readiness.vacate();
  call::close(number);
}

void Entry::close(std::uint64_t generation) noexcept {
  Actors actors;
  if (readiness.close(generation, actors) == Closed::kMustClose) close_now();
}

Entry& entry_for(int fd) {
  const auto place = static_cast<unsigned>(fd) >> kChunkBits;
  if (place >= kChunks) throw std::bad_alloc();
  Chunk* chunk = chunks[place].load(std::memory_order_acquire);
  if (chunk == nullptr) chunk = &make_chunk(place);
  return chunk->entries[static_cast<unsigned>(fd) & (kChunkEntries - 1)];
}

Entry& entry_at(int fd) noexcept {
  const auto place = static_cast<unsigned>(fd) >> kChunkBits;
  return chunks[place]
      .load(std::memory_order_acquire)
      ->entries[static_cast<unsigned>(fd) & (kChunkEntries - 1)];
}

}  // namespace bulkhead::net
