/// The OTP layer: supervisors, servers and what belongs to them.
#pragma once

#include "bulkhead/bulkhead.hpp"
#include "bulkhead/otp/application.hpp"
#include "bulkhead/otp/child.hpp"
#include "bulkhead/otp/event_manager.hpp"
#include "bulkhead/otp/gen_server.hpp"
#include "bulkhead/otp/gen_state_machine.hpp"
#include "bulkhead/otp/groups.hpp"
#include "bulkhead/otp/named_server.hpp"
#include "bulkhead/otp/supervisor.hpp"
#include "bulkhead/otp/sys.hpp"
