/// Bulkhead: actors that crash alone. Everything but the network (bulkhead/net.hpp).
#pragma once

#include "bulkhead/address.hpp"
#include "bulkhead/config.hpp"
#include "bulkhead/delivery.hpp"
#include "bulkhead/duration.hpp"
#include "bulkhead/exit.hpp"
#include "bulkhead/join.hpp"
#include "bulkhead/mailbox.hpp"
#include "bulkhead/message.hpp"
#include "bulkhead/panic.hpp"
#include "bulkhead/pid.hpp"
#include "bulkhead/runtime.hpp"
#include "bulkhead/spawn.hpp"
#include "bulkhead/stats.hpp"
#include "bulkhead/this_actor.hpp"
#include "bulkhead/timer.hpp"
