%% What names cost in Erlang: the peer of src/actor/registry_bench.cpp. Run it by
%%     cd bench/peers/erlang && erlc registry_erlang.erl && erl -noshell -s registry_erlang main
%% Nanoseconds for each, of the best of many rounds; of several processes, for each of them.
-module(registry_erlang).
-export([main/0]).

-define(ROUNDS, 500).
-define(N, 10000).

main() ->
    Actor = spawn(fun idle/0),
    register(session_registry, Actor),
    Table = ets:new(names, [set, public, {read_concurrency, true}]),
    ets:insert(Table, {<<"session-registry">>, Actor}),
    tell("whereis", on(1, fun look_up/1)),
    tell("whereis, two processes", on(2, fun look_up/1)),
    tell("whereis of nobody", on(1, fun look_up_nobody/1)),
    tell("ets:lookup by a binary", on(1, fun(N) -> look_into(Table, N) end)),
    tell("ets:lookup, two processes", on(2, fun(N) -> look_into(Table, N) end)),
    tell("register and unregister", on(1, fun(N) -> come_and_go(spawn(fun idle/0), N) end)),
    {ok, _} = pg:start_link(),
    Self = self(),
    [pg:join(workers, spawn(fun idle/0)) || _ <- lists:seq(1, 10)],
    tell("pg:get_members of ten", on(1, fun members/1)),
    tell("pg:join and leave", on(1, fun(N) -> join_and_leave(Self, N) end, 200)),
    halt().

idle() -> receive stop -> ok end.

tell(What, Nanoseconds) -> io:format("~-28s ~8.1f ns~n", [What, Nanoseconds]).

on(Processes, Body) -> on(Processes, Body, ?N).
on(Processes, Body, N) ->
    lists:min([once(Processes, Body, N) || _ <- lists:seq(1, ?ROUNDS)]).

once(Processes, Body, N) ->
    Main = self(),
    Run = fun() ->
        Begun = erlang:monotonic_time(nanosecond),
        Body(N),
        Main ! {took, erlang:monotonic_time(nanosecond) - Begun}
    end,
    [spawn_opt(Run, [link, {scheduler, Index}]) || Index <- lists:seq(1, Processes)],
    Times = [receive {took, Time} -> Time end || _ <- lists:seq(1, Processes)],
    lists:sum(Times) / Processes / N.

look_up(0) -> ok;
look_up(N) -> _ = whereis(session_registry), look_up(N - 1).

look_up_nobody(0) -> ok;
look_up_nobody(N) -> _ = whereis(nobody_is_called_so), look_up_nobody(N - 1).

look_into(_, 0) -> ok;
look_into(Table, N) -> _ = ets:lookup(Table, <<"session-registry">>), look_into(Table, N - 1).

come_and_go(_, 0) -> ok;
come_and_go(Actor, N) ->
    register(comes_and_goes, Actor),
    unregister(comes_and_goes),
    come_and_go(Actor, N - 1).

members(0) -> ok;
members(N) -> _ = pg:get_members(workers), members(N - 1).

join_and_leave(_, 0) -> ok;
join_and_leave(Actor, N) ->
    pg:join(others, Actor),
    pg:leave(others, Actor),
    join_and_leave(Actor, N - 1).
