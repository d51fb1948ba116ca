%% The supervisor of the benchmark "restart".
-module(failing_child).
-behaviour(supervisor).

-export([start_supervisor/2, start_child/1, init/1]).

start_supervisor(Child, Restarts) -> supervisor:start_link(?MODULE, {Child, Restarts}).

init({Child, Restarts}) ->
    {ok, {#{strategy => one_for_one, intensity => Restarts, period => 3600},
          [#{id => child, start => {?MODULE, start_child, [Child]}}]}}.

start_child(Child) -> {ok, spawn_link(Child)}.
