#include "store.hpp"

#include <cstdio>
#include <stdexcept>

// --- the store ---

bulkhead::InitResult Store::init() {
  auto items = load_snapshot(file_);
  if (!items) return bulkhead::InitResult::stop(bulkhead::Exit::custom(items.error()));
  for (Item& item : *items) put(std::move(item));
  expire();
  std::printf("the store begins with %zu keys\n", keys_.size());
  std::fflush(stdout);
  return bulkhead::InitResult::ok();
}

bool Store::handle_call(Set set) {
  expire();
  if (keys_.size() >= most_ && !keys_.contains(set.key)) return false;
  std::optional<Instant> until;
  if (set.ttl) until = std::chrono::ceil<std::chrono::milliseconds>(Clock::now()) + *set.ttl;
  put({std::move(set.key), std::move(set.value), until});
  ++changes_;
  expire();
  return true;
}

std::optional<std::string> Store::handle_call(const Get& get) {
  expire();
  const auto found = keys_.find(get.key);
  if (found == keys_.end()) return std::nullopt;
  return found->second.value;
}

bool Store::handle_call(const Delete& call) {
  expire();
  const bool removed = remove(call.key);
  if (removed) ++changes_;
  return removed;
}

std::size_t Store::handle_call(Count) {
  expire();
  return keys_.size();
}

Contents Store::handle_call(Copy) {
  expire();
  Contents contents{changes_, {}};
  contents.items.reserve(keys_.size());
  for (const auto& [key, entry] : keys_) contents.items.push_back({key, entry.value, entry.until});
  return contents;
}

void Store::handle_cast(Crash) { throw std::runtime_error("a client has sent CRASH"); }

void Store::handle_info(Expire) {
  timer_for_.reset();
  expire();
}

void Store::put(Item item) {
  remove(item.key);
  if (item.until) deadlines_.emplace(*item.until, item.key);
  keys_.emplace(std::move(item.key), Entry{std::move(item.value), item.until});
}

bool Store::remove(const std::string& key) {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return false;
  if (const auto until = found->second.until) deadlines_.erase({*until, key});
  keys_.erase(found);
  return true;
}

// Forgets the keys whose time is over. The timer, one for all, frees their memory in time; that
// each handler does so first makes sure that nobody sees them, however busy the store is.
void Store::expire() {
  const auto now = Clock::now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    keys_.erase(deadlines_.begin()->second);
    deadlines_.erase(deadlines_.begin());
  }
  if (deadlines_.empty() || timer_for_ == deadlines_.begin()->first) return;
  bulkhead::cancel(timer_);
  timer_for_ = deadlines_.begin()->first;
  timer_ = bulkhead::send_after(*timer_for_ - now, bulkhead::server_address(this), Expire{});
}

bulkhead::ServerRef<Store> store() {
  return bulkhead::ServerRef<Store>(bulkhead::whereis("store"));
}

// --- the snapshotter ---

bulkhead::InitResult Snapshotter::init() {
  bulkhead::this_actor::trap_exits(true);  // or terminate could not wait for the store and the disk
  // Now, and not when there is something to lose: can it be written?
  if (auto saved = handle_call(Save{}); !saved) {
    return bulkhead::InitResult::stop(bulkhead::Exit::custom(std::move(saved.error())));
  }
  bulkhead::send_after(every_, bulkhead::server_address(this), Tick{});
  return bulkhead::InitResult::ok();
}

std::expected<std::size_t, std::string> Snapshotter::handle_call(Save) {
  const auto contents = store().call(Copy{}, bulkhead::kForever);
  if (!contents) return std::unexpected("the store: " + to_string(contents.error()));
  return write(*contents);
}

void Snapshotter::handle_info(Tick) {
  save_changes();
  bulkhead::send_after(every_, bulkhead::server_address(this), Tick{});
}

void Snapshotter::terminate(const bulkhead::Exit& exit) {
  if (exit.kind() == bulkhead::Exit::Kind::kShutdown && !save_changes()) *unsaved_ = true;
}

// Is everything on the disk? When the store has failed, that is what can be: the rest is lost.
bool Snapshotter::save_changes() {
  const auto changes = store().call(Changes{}, bulkhead::kForever);
  if (!changes || *changes == saved_) return true;
  const auto contents = store().call(Copy{}, bulkhead::kForever);
  if (!contents) return true;
  const auto written = write(*contents);
  if (!written) std::fprintf(stderr, "store: no snapshot: %s\n", written.error().c_str());
  return written.has_value();
}

std::expected<std::size_t, std::string> Snapshotter::write(const Contents& contents) {
  if (auto saved = save_snapshot(file_, contents.items); !saved) {
    return std::unexpected(std::move(saved.error()));
  }
  saved_ = contents.changes;
  return contents.items.size();
}

bulkhead::ServerRef<Snapshotter> snapshotter() {
  return bulkhead::ServerRef<Snapshotter>(bulkhead::whereis("snapshotter"));
}
