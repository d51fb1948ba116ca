%% The server that the benchmark "ask" asks.
-module(incrementer).
-behaviour(gen_server).

-export([init/1, handle_call/3, handle_cast/2]).

init([]) -> {ok, none}.
handle_call(Value, _, State) -> {reply, Value + 1, State}.
handle_cast(_, State) -> {noreply, State}.
