/// What the tests of select share.
#pragma once

#include <bulkhead/bulkhead.hpp>

#include <expected>
#include <optional>
#include <utility>

namespace {

using Received = std::expected<int, bulkhead::ChannelError>;
using Sent = std::expected<void, bulkhead::ChannelError>;

constexpr auto kIgnore = [](const auto&...) {};

/// Keeps what an arm was given.
template <class T>
auto keep(std::optional<T>& where) {
  return [&where](T result) { where = std::move(result); };
}

}  // namespace
