/// The network: TCP, name look-up, and waiting for descriptors, in plain blocking style. An actor
/// that waits is parked, and its core runs the others meanwhile.
///
///     auto listener = net::Listener::listen(net::Endpoint::loopback(7777));
///     while (auto stream = listener->accept()) {
///       spawn<Connection>(*std::move(stream));
///     }
///
/// What waits is for actors only, and throws std::logic_error elsewhere, and inside NoPreempt. In
/// hooks, and in destructors of an actor that is to end, what would have to wait fails with
/// kStopped. Everything else that can go wrong is a value: see net::Error.
#pragma once

#include "bulkhead/net/endpoint.hpp"
#include "bulkhead/net/error.hpp"
#include "bulkhead/net/line_reader.hpp"
#include "bulkhead/net/listener.hpp"
#include "bulkhead/net/lookup.hpp"
#include "bulkhead/net/stream.hpp"
#include "bulkhead/net/wait.hpp"
#include "bulkhead/net/watch.hpp"
