// Bulkhead's own benchmark program; see README.md. The works are in the headers beside it.

#include "bulkhead_blocked.hpp"
#include "bulkhead_isolated.hpp"
#include "bulkhead_lives.hpp"
#include "bulkhead_messages.hpp"
#include "bulkhead_otp.hpp"
#include "bulkhead_run_queues.hpp"
#include "bulkhead_threads.hpp"
#include "bulkhead_timing.hpp"
#include "program.hpp"

int main(int argc, char** argv) {
  return bench::run_program("bulkhead", "Bulkhead",
                            {
                                {"counting", bench::counting},
                                {"ping_pong", bench::ping_pong},
                                {"thread_ring", bench::thread_ring},
                                {"fork_join", bench::fork_join},
                                {"skynet", bench::skynet},
                                {"skynet_seq", bench::skynet_seq},
                                {"many_to_one", bench::many_to_one},
                                {"bounded_many_to_one", bench::bounded_many_to_one},
                                {"ask", bench::ask},
                                {"spawn_end", bench::spawn_end},
                                {"spawn_end_stack", bench::spawn_end_stack},
                                {"spawn_join", bench::spawn_join},
                                {"idle_memory", bench::idle_memory},
                                {"blocked_memory", bench::blocked_memory},
                                {"idle_cpu", bench::idle_cpu},
                                {"idle_round_trip", bench::idle_round_trip},
                                {"timers", bench::timers},
                                {"yield", bench::yield},
                                {"channel", bench::channel},
                                {"select", bench::select_eight},
                                {"lock", bench::lock},
                                {"lock_contended", bench::lock_contended},
                                {"pairs_partitioned", bench::pairs_partitioned},
                                {"pairs_mutex", bench::pairs_mutex},
                                {"pairs_ring", bench::pairs_ring},
                                {"pairs_striped", bench::pairs_striped},
                                {"monitor", bench::monitor},
                                {"link_storm", bench::link_storm},
                                {"restart", bench::restart},
                                {"whereis", bench::whereis},
                                {"server_call", bench::server_call},
                                {"trap", bench::trap},
                                {"trap_restart", bench::trap_restart},
                                {"isolated_three", bench::isolated_three},
                                {"isolated_string", bench::isolated_string},
                                {"isolated_memory", bench::isolated_memory},
                                {"stage_ping_pong", bench::stage_ping_pong},
                            },
                            argc, argv);
}
