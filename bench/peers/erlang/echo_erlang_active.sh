#!/bin/sh
# Starts the echo server in mode active:  echo_erlang_active --port N [--cores N]
cores=$(nproc)
[ "$3" = --cores ] && cores=$4
exec erl -noshell +S "$cores:$cores" -kernel logger_level none \
    -pa "$(dirname "$0")/erlang" -s echo_erlang main -extra active "$@"
