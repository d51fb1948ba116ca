// The peer "Go": an actor is a goroutine, its mailbox a channel. This file holds the command line,
// the one line of JSON and the checks; the benchmarks are beside it. The protocol is described in
// bench/README.md.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"time"
)

type request struct {
	n     uint64
	cores int
}

type extra map[string]any

type result struct {
	ops     uint64
	elapsed time.Duration
	extra   extra
}

type entry struct {
	name string
	run  func(request) result
}

var entries = []entry{
	{"counting", counting},
	{"ping_pong", pingPong},
	{"thread_ring", threadRing},
	{"fork_join", forkJoin},
	{"skynet", skynet},
	{"skynet_seq", skynetSequential},
	{"many_to_one", manyToOne},
	{"bounded_many_to_one", manyToOne},
	{"ask", ask},
	{"spawn_end", spawnEnd},
	{"spawn_end_stack", spawnEnd},
	{"spawn_join", spawnJoin},
	{"idle_memory", idleMemory},
	{"blocked_memory", idleMemory},
	{"idle_cpu", idleCPU},
	{"idle_round_trip", idleRoundTrip},
	{"timers", timers},
	{"channel", channel},
	{"select", selectEight},
	{"lock", lock},
	{"lock_contended", lockContended},
	{"yield", yield},
}

// require ends the process with status 1 unless holds.
func require(holds bool, what string) {
	if !holds {
		fmt.Fprintln(os.Stderr, "benchmark check failed:", what)
		os.Exit(1)
	}
}

func requireEqual(actual, expected uint64, what string) {
	if actual != expected {
		fmt.Fprintf(os.Stderr, "benchmark check failed: %s is %d, expected %d\n", what, actual, expected)
		os.Exit(1)
	}
}

func sumBelow(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	return n * (n - 1) / 2
}

// share is how many of total messages the producer index of producers sends.
func share(total, producers, index uint64) uint64 {
	if index < total%producers {
		return total/producers + 1
	}
	return total / producers
}

// sequentialSum is the sequential work of skynet_seq: it adds the leaves one by one.
//
//go:noinline
func sequentialSum(first, leaves uint64) uint64 {
	var sum uint64
	for leaf := first; leaf != first+leaves; leaf++ {
		sum += leaf
	}
	return sum
}

// skynetNodes counts the nodes of a 10-ary tree over leaves whose smallest nodes have smallest
// leaves.
func skynetNodes(leaves, smallest uint64) uint64 {
	var nodes uint64
	level := uint64(1)
	for size := leaves; size >= smallest; size /= 10 {
		nodes += level
		level *= 10
		if size < 10 {
			break
		}
	}
	return nodes
}

func requirePowerOfTen(n uint64) {
	for n >= 10 && n%10 == 0 {
		n /= 10
	}
	require(n == 1, "n is a power of ten")
}

func residentBytes() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	require(err == nil, "/proc/self/statm can be read")
	var total, resident uint64
	_, err = fmt.Sscan(string(text), &total, &resident)
	require(err == nil, "/proc/self/statm makes sense")
	return resident * uint64(os.Getpagesize())
}

// The most that was resident at once. (Not Maxrss, which a program inherits from who starts it.)
func peakRSSMB() float64 {
	text, err := os.ReadFile("/proc/self/status")
	require(err == nil, "/proc/self/status can be read")
	_, rest, found := strings.Cut(string(text), "VmHWM:")
	require(found, "/proc/self/status says VmHWM")
	var kib float64
	_, err = fmt.Sscan(rest, &kib)
	require(err == nil, "/proc/self/status makes sense")
	return kib / 1024
}

// percentile sorts samples.
func percentile(samples []float64, fraction float64) float64 {
	require(len(samples) != 0, "there are samples")
	sort.Float64s(samples)
	return samples[int(fraction*float64(len(samples)-1)+0.5)]
}

func (r result) print(bench string, n uint64) {
	perOp := 0.0
	if r.ops != 0 {
		perOp = float64(r.elapsed.Nanoseconds()) / float64(r.ops)
	}
	more := r.extra
	if more == nil {
		more = extra{}
	}
	line, err := json.Marshal(struct {
		Bench   string  `json:"bench"`
		Peer    string  `json:"peer"`
		N       uint64  `json:"n"`
		Ops     uint64  `json:"ops"`
		Seconds float64 `json:"seconds"`
		NsPerOp float64 `json:"ns_per_op"`
		Extra   extra   `json:"extra"`
		OK      bool    `json:"ok"`
	}{bench, "go", n, r.ops, r.elapsed.Seconds(), perOp, more, true})
	require(err == nil, "the result can be written as JSON")
	fmt.Println(string(line))
}

func usage() {
	fmt.Fprintf(os.Stderr, "usage: %s BENCH N [CORES] | --list | --version\n", os.Args[0])
	os.Exit(2)
}

func positive(text string) uint64 {
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil || value == 0 {
		fmt.Fprintf(os.Stderr, "%s: N and CORES must be positive whole numbers\n", os.Args[0])
		os.Exit(2)
	}
	return value
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--list" {
		for _, one := range entries {
			fmt.Println(one.name)
		}
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("Go", runtime.Version()[2:])
		return
	}
	if len(os.Args) != 3 && len(os.Args) != 4 {
		usage()
	}
	asked := request{n: positive(os.Args[2]), cores: 1}
	if len(os.Args) == 4 {
		asked.cores = int(positive(os.Args[3]))
	}
	runtime.GOMAXPROCS(asked.cores)
	for _, one := range entries {
		if one.name == os.Args[1] {
			one.run(asked).print(one.name, asked.n)
			return
		}
	}
	fmt.Fprintf(os.Stderr, "%s: no benchmark '%s' here; --list names them\n", os.Args[0], os.Args[1])
	os.Exit(2)
}
