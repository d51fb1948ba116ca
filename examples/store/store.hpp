// The two servers of the store: the one that holds the keys, and the one that writes the snapshots.
#pragma once

#include <bulkhead/otp.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "snapshot.hpp"

// --- the store ---

struct Set {
  std::string key;
  std::string value;
  std::optional<std::chrono::milliseconds> ttl;
};
struct Get {
  std::string key;
};
struct Delete {
  std::string key;
};
struct Count {};
struct Changes {};  // how many there have been
struct Copy {};     // of all
struct Contents {
  std::uint64_t changes;
  Items items;
};
struct Crash {};
struct Expire {};

class Store : public bulkhead::GenServer {
 public:
  // `most`: so many keys there may be.
  Store(std::string file, std::size_t most) : file_(std::move(file)), most_(most) {}

  bulkhead::InitResult init();  // reads the snapshot

  bool handle_call(Set set);  // false: it is full
  std::optional<std::string> handle_call(const Get& get);
  bool handle_call(const Delete& call);  // false: there was none
  std::size_t handle_call(Count);
  std::uint64_t handle_call(Changes) { return changes_; }
  Contents handle_call(Copy);
  void handle_cast(Crash);
  void handle_info(Expire);

  // Of the keys and values, which may be secret, nothing is to stand in a report.
  std::string format_status() const { return std::to_string(keys_.size()) + " keys"; }

 private:
  struct Entry {
    std::string value;
    std::optional<Instant> until;
  };

  void put(Item item);
  bool remove(const std::string& key);
  void expire();

  std::string file_;
  std::size_t most_;
  std::unordered_map<std::string, Entry> keys_;
  std::set<std::pair<Instant, std::string>> deadlines_;
  bulkhead::TimerRef timer_;
  std::optional<Instant> timer_for_;  // what the timer waits for
  std::uint64_t changes_ = 0;
};

// --- the snapshotter ---

struct Save {};
struct Tick {};

// Writes snapshots: when it starts, from time to time, when it is asked to, and when it ends in
// order. It does not start when it cannot write; later it tells of that, and goes on.
class Snapshotter : public bulkhead::GenServer {
 public:
  // `unsaved` becomes true when the last snapshot cannot be written.
  Snapshotter(std::string file, std::chrono::duration<double> every, std::atomic<bool>* unsaved)
      : file_(std::move(file)), every_(every), unsaved_(unsaved) {}

  bulkhead::InitResult init();
  std::expected<std::size_t, std::string> handle_call(Save);  // how many keys, or why not
  void handle_info(Tick);
  void terminate(const bulkhead::Exit& exit);

 private:
  bool save_changes();
  std::expected<std::size_t, std::string> write(const Contents& contents);

  std::string file_;
  std::chrono::duration<double> every_;
  std::atomic<bool>* unsaved_;
  std::uint64_t saved_ = 0;  // changes
};

// Each looked up by its name, so that it is the one that lives now.
bulkhead::ServerRef<Store> store();
bulkhead::ServerRef<Snapshotter> snapshotter();
