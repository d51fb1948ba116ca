%% The peer "Erlang": plain processes of the BEAM. peer_erlang.sh starts it with as many schedulers
%% as asked for; the protocol is described in bench/README.md, and also what is left out.
-module(peer_erlang).

-export([main/0]).
-compile({no_auto_import, [monitor/1, whereis/1]}).

-define(PRODUCERS, 8).
-define(BATCH, 1000).

%% ---- Command line and report ------------------------------------------------------------------

main() ->
    try
        run(init:get_plain_arguments()),
        halt(0)
    catch
        throw:{check_failed, What} ->
            complain("benchmark check failed: ~s~n", [What]),
            halt(1);
        throw:{bad_arguments, What} ->
            complain("peer_erlang: ~s~n", [What]),
            halt(2);
        Class:Reason:Stack ->
            complain("benchmark failed: ~p:~p~n~p~n", [Class, Reason, Stack]),
            halt(1)
    end.

complain(Format, Arguments) -> io:format(standard_error, Format, Arguments).

run(["--list"]) ->
    [io:format("~s~n", [Name]) || {Name, _} <- benchmarks()];
run(["--version"]) ->
    io:format("Erlang/OTP ~s, ERTS ~s~n",
              [erlang:system_info(otp_release), erlang:system_info(version)]);
run([Name, Size | Rest]) when length(Rest) =< 1 ->
    N = positive(Size),
    Cores = case Rest of [] -> 1; [Text] -> positive(Text) end,
    require_equal(erlang:system_info(schedulers_online), Cores, "number of schedulers"),
    case lists:keyfind(Name, 1, benchmarks()) of
        {_, Benchmark} ->
            {Operations, Nanoseconds, Extra} = Benchmark(N),
            report(Name, N, Operations, Nanoseconds, Extra);
        false ->
            throw({bad_arguments, ["no benchmark '", Name, "' here; --list names them"]})
    end;
run(_) ->
    throw({bad_arguments, "usage: peer_erlang BENCH N [CORES] | --list | --version"}).

positive(Text) ->
    case string:to_integer(Text) of
        {Value, []} when Value > 0 -> Value;
        _ -> throw({bad_arguments, "N and CORES must be positive whole numbers"})
    end.

benchmarks() ->
    [{"counting", fun counting/1},
     {"ping_pong", fun ping_pong/1},
     {"thread_ring", fun thread_ring/1},
     {"fork_join", fun fork_join/1},
     {"skynet", fun(N) -> skynet(N, 1) end},
     {"skynet_seq", fun(N) -> skynet(N, 1000) end},
     {"many_to_one", fun many_to_one/1},
     {"ask", fun ask/1},
     {"spawn_end", fun spawn_end/1},
     {"spawn_join", fun spawn_join/1},
     {"idle_memory", fun(N) -> idle_memory(N, fun sleeper/1) end},
     {"blocked_memory", fun(N) -> idle_memory(N, fun sleeper/1) end},
     {"idle_memory_hibernated", fun(N) -> idle_memory(N, fun hibernating_sleeper/1) end},
     {"idle_cpu", fun idle_cpu/1},
     {"timers", fun timers/1},
     {"yield", fun yield/1},
     {"restart", fun restart/1},
     {"monitor", fun monitor/1},
     {"link_storm", fun link_storm/1},
     {"whereis", fun whereis/1},
     {"server_call", fun server_call/1}].

report(Name, N, Operations, Nanoseconds, Extra) ->
    PerOperation = case Operations of 0 -> 0.0; _ -> Nanoseconds / Operations end,
    Pairs = [["\"", Key, "\":", number(Value)] || {Key, Value} <- Extra],
    io:format("{\"bench\":\"~s\",\"peer\":\"erlang\",\"n\":~w,\"ops\":~w,\"seconds\":~s,"
              "\"ns_per_op\":~s,"
              "\"extra\":{~s},\"ok\":true}~n",
              [Name, N, Operations, number(Nanoseconds / 1.0e9), number(PerOperation),
               lists:join(",", Pairs)]).

number(Value) -> float_to_list(float(Value), [{decimals, 9}, compact]).

require(true, _) -> ok;
require(false, What) -> throw({check_failed, What}).

require_equal(Same, Same, _) -> ok;
require_equal(Actual, Expected, What) ->
    throw({check_failed, io_lib:format("~s is ~w, expected ~w", [What, Actual, Expected])}).

%% A process that finds a mistake ends the whole program.
require_equal_in_process(Same, Same, _) -> ok;
require_equal_in_process(Actual, Expected, What) ->
    complain("benchmark check failed: ~s is ~w, expected ~w~n", [What, Actual, Expected]),
    halt(1).

now_ns() -> erlang:monotonic_time(nanosecond).

sum_below(N) -> N * (N - 1) div 2.

share(Total, Parts, Index) when Index < Total rem Parts -> Total div Parts + 1;
share(Total, Parts, _) -> Total div Parts.

resident_bytes() ->
    {ok, Text} = file:read_file("/proc/self/statm"),
    [_, Pages | _] = string:lexemes(Text, " \n"),
    binary_to_integer(Pages) * 4096.

peak_rss_mb() ->
    {ok, Text} = file:read_file("/proc/self/status"),
    {match, [KiB]} = re:run(Text, "VmHWM:\\s*(\\d+) kB", [{capture, all_but_first, list}]),
    list_to_integer(KiB) / 1024.

%% ---- Messages ---------------------------------------------------------------------------------

add_all(0, Sum) -> Sum;
add_all(Left, Sum) ->
    receive
        Value -> add_all(Left - 1, Sum + Value)
    end.

send_all(_, Value, _, End) when Value >= End -> ok;
send_all(To, Value, Step, End) ->
    To ! Value,
    send_all(To, Value + Step, Step, End).

counting(N) ->
    Main = self(),
    Receiver = spawn_link(fun() -> Main ! {sum, add_all(N, 0)} end),
    Producer = spawn_link(fun() ->
                                  receive go -> ok end,
                                  Main ! {began, now_ns()},
                                  send_all(Receiver, 0, 1, N)
                          end),
    Producer ! go,
    Sum = receive {sum, Got} -> Got end,
    Ended = now_ns(),
    Began = receive {began, At} -> At end,
    require_equal(Sum, sum_below(N), "sum of the messages"),
    {N, Ended - Began, []}.

ping_pong(N) ->
    Main = self(),
    Began = now_ns(),
    Pong = spawn_link(fun() -> pong(0, N) end),
    spawn_link(fun() -> ping(Pong, 0, N), Main ! done end),
    receive done -> ok end,
    {2 * N, now_ns() - Began, []}.

pong(End, End) -> ok;
pong(Expected, End) ->
    receive
        {From, Value} ->
            require_equal_in_process(Value, Expected, "ping"),
            From ! Value + 1
    end,
    pong(Expected + 1, End).

ping(_, End, End) -> ok;
ping(Pong, Value, End) ->
    Pong ! {self(), Value},
    receive
        Answer -> require_equal_in_process(Answer, Value + 1, "pong")
    end,
    ping(Pong, Value + 1, End).

thread_ring(Hops) ->
    Actors = 100,
    Main = self(),
    First = spawn_link(fun() -> receive {next, Next} -> ring_member(Next, Main, 0) end end),
    Second = lists:foldl(
               fun(Index, Next) -> spawn_link(fun() -> ring_member(Next, Main, Index) end) end,
               First, lists:seq(Actors - 1, 1, -1)),
    First ! {next, Second},
    Began = now_ns(),
    First ! Hops,
    Last = receive {finished, Index} -> Index end,
    Elapsed = now_ns() - Began,
    require_equal(Last, Hops rem Actors, "actor that got the last hop"),
    {Hops, Elapsed, []}.

ring_member(Next, Main, Index) ->
    receive
        0 -> Main ! {finished, Index};
        HopsLeft -> Next ! HopsLeft - 1
    end,
    ring_member(Next, Main, Index).

fork_join(N) ->
    Main = self(),
    Workers = [spawn_link(fun() -> Main ! {sum, add_all(share(N, 8, Index), 0)} end)
               || Index <- lists:seq(0, 7)],
    Began = now_ns(),
    deal(Workers, [], 0, N),
    Sum = lists:sum([receive {sum, One} -> One end || _ <- Workers]),
    Elapsed = now_ns() - Began,
    require_equal(Sum, sum_below(N), "sum of the messages"),
    {N, Elapsed, []}.

deal(_, _, End, End) -> ok;
deal([], Dealt, Value, End) -> deal(lists:reverse(Dealt), [], Value, End);
deal([Worker | Rest], Dealt, Value, End) ->
    Worker ! Value,
    deal(Rest, [Worker | Dealt], Value + 1, End).

many_to_one(N) ->
    Main = self(),
    Began = now_ns(),
    Consumer = spawn_link(fun() -> Main ! {sum, add_all(N, 0)} end),
    [spawn_link(fun() -> send_all(Consumer, First, ?PRODUCERS, N) end)
     || First <- lists:seq(0, ?PRODUCERS - 1)],
    Sum = receive {sum, Got} -> Got end,
    Elapsed = now_ns() - Began,
    require_equal(Sum, sum_below(N), "sum of the messages"),
    {N, Elapsed, []}.

%% The ask of this peer is gen_server:call, which monitors the server and has a time-out.
ask(N) ->
    {ok, Server} = gen_server:start_link(incrementer, [], []),
    Main = self(),
    spawn_link(fun() ->
                       Began = now_ns(),
                       ask_all(Server, 0, N),
                       Main ! {done, now_ns() - Began}
               end),
    Elapsed = receive {done, Time} -> Time end,
    {N, Elapsed, []}.

ask_all(_, End, End) -> ok;
ask_all(Server, Value, End) ->
    require_equal_in_process(gen_server:call(Server, Value), Value + 1, "reply"),
    ask_all(Server, Value + 1, End).

%% ---- Lives ------------------------------------------------------------------------------------

skynet(Leaves, Smallest) ->
    require(is_power_of_ten(Leaves), "n is a power of ten"),
    Main = self(),
    Began = now_ns(),
    spawn(fun() -> skynet_node(Main, 0, Leaves, Smallest) end),
    Sum = receive Got -> Got end,
    Elapsed = now_ns() - Began,
    require_equal(Sum, sum_below(Leaves), "sum of the leaves"),
    {skynet_nodes(Leaves, Smallest, 1), Elapsed, [{"peak_rss_mb", peak_rss_mb()}]}.

skynet_node(Parent, First, Leaves, Smallest) when Leaves =< Smallest ->
    Parent ! sequential_sum(First, First + Leaves, 0);
skynet_node(Parent, First, Leaves, Smallest) ->
    Self = self(),
    Part = Leaves div 10,
    [spawn(fun() -> skynet_node(Self, First + Child * Part, Part, Smallest) end)
     || Child <- lists:seq(0, 9)],
    Parent ! add_all(10, 0).

sequential_sum(End, End, Sum) -> Sum;
sequential_sum(Leaf, End, Sum) -> sequential_sum(Leaf + 1, End, Sum + Leaf).

skynet_nodes(Size, Smallest, _) when Size < Smallest -> 0;
skynet_nodes(Size, _, Level) when Size < 10 -> Level;
skynet_nodes(Size, Smallest, Level) -> Level + skynet_nodes(Size div 10, Smallest, Level * 10).

is_power_of_ten(1) -> true;
is_power_of_ten(N) when N rem 10 =:= 0, N > 0 -> is_power_of_ten(N div 10);
is_power_of_ten(_) -> false.

%% In batches, each of which is awaited.
spawn_end(N) ->
    Ran = counters:new(1, []),
    Began = now_ns(),
    spawn_batches(N, fun() -> counters:add(Ran, 1, 1) end),
    Elapsed = now_ns() - Began,
    require_equal(counters:get(Ran, 1), N, "processes that ran"),
    {N, Elapsed, [{"batch", ?BATCH}]}.

spawn_batches(0, _) -> ok;
spawn_batches(Left, Body) ->
    Size = min(Left, ?BATCH),
    spawn_monitored(Size, Body),
    await_downs(Size),
    spawn_batches(Left - Size, Body).

spawn_monitored(0, _) -> ok;
spawn_monitored(Left, Body) ->
    spawn_monitor(Body),
    spawn_monitored(Left - 1, Body).

await_downs(0) -> ok;
await_downs(Left) ->
    receive {'DOWN', _, process, _, normal} -> await_downs(Left - 1) end.

spawn_join(N) ->
    Ran = counters:new(1, []),
    Began = now_ns(),
    spawn_and_join(N, fun() -> counters:add(Ran, 1, 1) end),
    Elapsed = now_ns() - Began,
    require_equal(counters:get(Ran, 1), N, "processes that ran"),
    {N, Elapsed, []}.

spawn_and_join(0, _) -> ok;
spawn_and_join(Left, Body) ->
    {_, Monitor} = spawn_monitor(Body),
    receive {'DOWN', Monitor, process, _, normal} -> ok end,
    spawn_and_join(Left - 1, Body).

sleeper(Main) ->
    receive go -> Main ! awake end.

hibernating_sleeper(Main) ->
    erlang:hibernate(erlang, apply, [fun sleeper/1, [Main]]).

start_sleepers(N, Body) ->
    Main = self(),
    Sleepers = [spawn(fun() -> Main ! started, Body(Main) end) || _ <- lists:seq(1, N)],
    await_all(started, N),
    Sleepers.

%% Each must still be there to take its message.
wake_all(Sleepers) ->
    lists:foreach(fun(Sleeper) -> Sleeper ! go end, Sleepers),
    await_all(awake, length(Sleepers)).

await_all(_, 0) -> ok;
await_all(Message, Left) ->
    receive
        Message -> await_all(Message, Left - 1)
    after 120000 ->
            throw({check_failed, io_lib:format("~w processes are missing (~w)", [Left, Message])})
    end.

%% The list of the sleepers, 16 bytes for each, is counted in.
idle_memory(N, Body) ->
    erlang:garbage_collect(),
    Before = resident_bytes(),
    Began = now_ns(),
    Sleepers = start_sleepers(N, Body),
    Elapsed = now_ns() - Began,
    erlang:garbage_collect(),
    timer:sleep(200),
    After = resident_bytes(),
    wake_all(Sleepers),
    {N, Elapsed, [{"bytes_per_actor", (After - Before) / N}]}.

idle_cpu(N) ->
    Sleepers = start_sleepers(N, fun sleeper/1),
    Began = now_ns(),
    complain("ready~n", []),
    wait_for_end_of_input(),
    Elapsed = now_ns() - Began,
    wake_all(Sleepers),
    {0, Elapsed, []}.

wait_for_end_of_input() ->
    case io:get_line("") of
        eof -> ok;
        {error, _} -> ok;
        _ -> wait_for_end_of_input()
    end.

%% Starts N timers and cancels them all, then starts as many again and lets them fire.
timers(N) ->
    Main = self(),
    Began = now_ns(),
    Timers = start_timers(N, Main, []),
    Started = now_ns(),
    Cancelled = cancel_timers(Timers, 0),
    Ended = now_ns(),
    require_equal(Cancelled, N, "timers cancelled in time"),
    spawn_link(fun() ->
                       Main ! {late, fire(self(), N, N, [])}
               end),
    Late = receive {late, Samples} -> lists:sort(Samples) end,
    require(hd(Late) > -2.0e6, "no timer fires before it is due"),
    {N, Started - Began,
     [{"start_ns", (Started - Began) / N},
      {"cancel_ns", (Ended - Started) / N},
      {"late_p50_ms", lists:nth((N + 1) div 2, Late) / 1.0e6},
      {"late_max_ms", lists:last(Late) / 1.0e6}]}.

start_timers(0, _, Timers) -> Timers;
start_timers(Left, To, Timers) ->
    start_timers(Left - 1, To, [erlang:send_after(60000, To, too_late) | Timers]).

cancel_timers([], Cancelled) -> Cancelled;
cancel_timers([Timer | Rest], Cancelled) ->
    case erlang:cancel_timer(Timer) of
        false -> cancel_timers(Rest, Cancelled);
        _ -> cancel_timers(Rest, Cancelled + 1)
    end.

fire(_, 0, 0, Late) -> Late;
fire(Self, 0, Left, Late) ->
    receive
        Due -> fire(Self, 0, Left - 1, [now_ns() - Due | Late])
    end;
fire(Self, ToStart, Left, Late) ->
    erlang:send_after(1000, Self, now_ns() + 1000000000),
    fire(Self, ToStart - 1, Left, Late).

yield(N) ->
    Main = self(),
    Turns = counters:new(1, []),
    Began = now_ns(),
    [spawn_link(fun() ->
                        yield_times(share(N, 2, Index)),
                        counters:add(Turns, 1, share(N, 2, Index)),
                        Main ! done
                end) || Index <- [0, 1]],
    [receive done -> ok end || _ <- [0, 1]],
    Elapsed = now_ns() - Began,
    require_equal(counters:get(Turns, 1), N, "turns taken"),
    {N, Elapsed, []}.

yield_times(0) -> ok;
yield_times(Left) ->
    erlang:yield(),
    yield_times(Left - 1).

%% A one_for_one supervisor whose only child fails as soon as it has started, N times, and then
%% stays.
restart(N) ->
    Main = self(),
    Starts = counters:new(1, []),
    Child = fun() ->
                    counters:add(Starts, 1, 1),
                    case counters:get(Starts, 1) > N of
                        true -> Main ! settled, receive stop -> ok end;
                        false -> exit(failed)
                    end
            end,
    Began = now_ns(),
    {ok, Supervisor} = failing_child:start_supervisor(Child, N),
    receive settled -> ok end,
    Elapsed = now_ns() - Began,
    require_equal(counters:get(Starts, 1), N + 1, "times the child was started"),
    require(is_process_alive(Supervisor), "the supervisor is alive"),
    {N, Elapsed, []}.

%% ---- Links, names, servers --------------------------------------------------------------------

%% Runs Body(N) in a process that stays on the first scheduler, and reports how long it took.
in_a_process(N, Body) ->
    Main = self(),
    spawn_opt(fun() -> Main ! {took, Body(N)} end, [link, {scheduler, 1}]),
    {N, receive {took, Time} -> Time end, []}.

monitor(N) ->
    in_a_process(N, fun(Times) ->
                            Other = spawn_link(fun() -> receive stop -> ok end end),
                            Began = now_ns(),
                            monitor_and_demonitor(Other, Times),
                            now_ns() - Began
                    end).

monitor_and_demonitor(_, 0) -> ok;
monitor_and_demonitor(Other, Left) ->
    require_equal_in_process(erlang:demonitor(erlang:monitor(process, Other), [info]), true,
                             "monitor that was ended in time"),
    monitor_and_demonitor(Other, Left - 1).

%% The end of all shows in the number of processes that there are.
link_storm(N) ->
    Before = erlang:system_info(process_count),
    Main = self(),
    Hub = spawn(fun() ->
                        spawn_linked(N),
                        Main ! linked,
                        receive stop -> ok end
                end),
    receive linked -> ok end,
    require_equal(erlang:system_info(process_count), Before + N + 1, "number of processes"),
    Began = now_ns(),
    exit(Hub, storm),
    await_process_count(Before),
    {N, now_ns() - Began, []}.

spawn_linked(0) -> ok;
spawn_linked(Left) ->
    spawn_link(fun() -> receive stop -> ok end end),
    spawn_linked(Left - 1).

await_process_count(Count) ->
    case erlang:system_info(process_count) of
        Count -> ok;
        _ ->
            erlang:yield(),
            await_process_count(Count)
    end.

whereis(N) ->
    in_a_process(N, fun(Times) ->
                            Other = spawn_link(fun() -> receive stop -> ok end end),
                            register(session_registry, Other),
                            Began = now_ns(),
                            look_up(Other, Times),
                            now_ns() - Began
                    end).

look_up(_, 0) -> ok;
look_up(Other, Left) ->
    require_equal_in_process(erlang:whereis(session_registry), Other, "process of that name"),
    look_up(Other, Left - 1).

%% With two schedulers the server is on the other one.
server_call(N) ->
    Options = [{spawn_opt, [{scheduler, erlang:system_info(schedulers_online)}]}],
    in_a_process(N, fun(Times) ->
                            {ok, Server} = gen_server:start(incrementer, [], Options),
                            Began = now_ns(),
                            ask_all(Server, 0, Times),
                            now_ns() - Began
                    end).
