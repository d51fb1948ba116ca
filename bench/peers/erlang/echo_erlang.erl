%% TCP echo in Erlang, one process per connection. Mode active: the socket delivers what it reads as
%% messages ({active, true}). Mode passive: the process calls gen_tcp:recv. A connection whose first
%% byte is X is closed.
-module(echo_erlang).

-export([main/0]).

main() ->
    case init:get_plain_arguments() of
        [Mode, "--port", Port | Rest] when Mode =:= "active"; Mode =:= "passive" ->
            _ = Rest,  % The number of schedulers, which the script has dealt with.
            listen(list_to_atom(Mode), list_to_integer(Port));
        _ ->
            io:format(standard_error,
                      "usage: echo_erlang_active|echo_erlang_passive --port N [--cores N]~n", []),
            halt(2)
    end.

listen(Mode, Port) ->
    Options = [binary, {ip, {127, 0, 0, 1}}, {active, false}, {reuseaddr, true}, {nodelay, true},
               {backlog, 1024}],
    case gen_tcp:listen(Port, Options) of
        {ok, Listener} ->
            {ok, Actual} = inet:port(Listener),
            io:format("listening on 127.0.0.1:~w~n", [Actual]),
            accept(Mode, Listener);
        {error, Reason} ->
            io:format(standard_error, "echo_erlang: cannot listen on 127.0.0.1:~w: ~s~n",
                      [Port, inet:format_error(Reason)]),
            halt(1)
    end.

accept(Mode, Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    Worker = spawn(fun() -> receive go -> first(Mode, Socket) end end),
    ok = gen_tcp:controlling_process(Socket, Worker),
    Worker ! go,
    accept(Mode, Listener).

first(Mode, Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, <<"X", _/binary>>} -> gen_tcp:close(Socket);
        {ok, Bytes} ->
            ok = gen_tcp:send(Socket, Bytes),
            serve(Mode, Socket);
        {error, _} -> ok
    end.

serve(passive, Socket) -> passive(Socket);
serve(active, Socket) ->
    inet:setopts(Socket, [{active, true}]),
    active(Socket).

passive(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, Bytes} ->
            case gen_tcp:send(Socket, Bytes) of
                ok -> passive(Socket);
                {error, _} -> gen_tcp:close(Socket)
            end;
        {error, _} -> ok
    end.

active(Socket) ->
    receive
        {tcp, Socket, Bytes} ->
            case gen_tcp:send(Socket, Bytes) of
                ok -> active(Socket);
                {error, _} -> gen_tcp:close(Socket)
            end;
        {tcp_closed, Socket} -> ok;
        {tcp_error, Socket, _} -> ok
    end.
