// The snapshot of a store: a file that holds its keys, and survives the process.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// By the wall clock, since it must mean the same in the next process.
using Clock = std::chrono::system_clock;
using Instant = std::chrono::sys_time<std::chrono::milliseconds>;

// Keys and values are words: not empty, without blanks.
struct Item {
  std::string key;
  std::string value;
  std::optional<Instant> until;
};
using Items = std::vector<Item>;

std::vector<std::string_view> split(std::string_view text, char at);

// For actors, which wait; their core goes on. Errors are texts for whoever runs the service.

// Writes a snapshot in place of the one that is there. Whatever happens meanwhile, afterwards the
// file is the one or the other.
std::expected<void, std::string> save_snapshot(const std::string& path, const Items& items);

// No keys when there is no snapshot. One that is damaged is put aside, which is told on stderr: it
// is not written over, since somebody may want to repair it. An error: it cannot be read, or not be
// put aside.
std::expected<Items, std::string> load_snapshot(const std::string& path);
