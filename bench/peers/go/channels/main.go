// What channels cost in Go, on one thread: the same programs as src/wait/channel_bench.cpp.
// Prints one line for each: its name, and nanoseconds of CPU time per operation.
package main

import (
	"fmt"
	"runtime"
	"syscall"
	"time"
)

func sendAndReceive(n int) {
	c := make(chan uint64, 1024)
	var number uint64
	for i := 0; i < n; i++ {
		c <- number
		number += <-c
	}
}

func foundEmpty(n int) {
	c := make(chan uint64, 1024)
	for i := 0; i < n; i++ {
		select {
		case <-c:
		default:
		}
	}
}

func roundTrip(capacity int) func(n int) {
	return func(n int) {
		there := make(chan uint64, capacity)
		back := make(chan uint64, capacity)
		go func() {
			for number := range there {
				back <- number + 1
			}
		}()
		var number uint64
		for i := 0; i < n; i++ {
			there <- number
			number = <-back
		}
		close(there)
	}
}

func manyToOne(n int) {
	c := make(chan uint64, 1024)
	done := make(chan struct{})
	for i := 0; i < 8; i++ {
		share := n / 8
		if i == 0 {
			share += n % 8
		}
		go func() {
			for number := 0; number < share; number++ {
				c <- uint64(number)
			}
		}()
	}
	go func() {
		for i := 0; i < n; i++ {
			<-c
		}
		close(done)
	}()
	<-done
}

func oneOfEightReady(n int) {
	var c [8]chan uint64
	for i := range c {
		c[i] = make(chan uint64, 1)
	}
	var sum uint64
	for i := 0; i < n; i++ {
		c[7] <- 1
		sum += waitAmong(&c)
	}
}

func selectRoundTrip(n int) {
	var pings, pongs [8]chan uint64
	for i := range pings {
		pings[i] = make(chan uint64)
		pongs[i] = make(chan uint64)
	}
	go func() {
		for number := waitAmong(&pings); number != 0; number = waitAmong(&pings) {
			pongs[7] <- number
		}
	}()
	for i := 0; i < n; i++ {
		pings[7] <- 1
		waitAmong(&pongs)
	}
	close(pings[7])
}

func waitAmong(c *[8]chan uint64) uint64 {
	var number uint64
	select {
	case number = <-c[0]:
	case number = <-c[1]:
	case number = <-c[2]:
	case number = <-c[3]:
	case number = <-c[4]:
	case number = <-c[5]:
	case number = <-c[6]:
	case number = <-c[7]:
	}
	return number
}

// CPU time of the process: the machine may be shared.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func main() {
	runtime.GOMAXPROCS(1)
	const n = 2_000_000
	for _, program := range []struct {
		name string
		run  func(n int)
	}{
		{"channel_send_and_receive", sendAndReceive},
		{"channel_found_empty", foundEmpty},
		{"channel_round_trip/0", roundTrip(0)},
		{"channel_round_trip/1", roundTrip(1)},
		{"channel_many_to_one", manyToOne},
		{"select_one_of_eight_ready", oneOfEightReady},
		{"select_round_trip", selectRoundTrip},
	} {
		began := cpuTime()
		program.run(n)
		fmt.Printf("%s %.1f\n", program.name, float64((cpuTime()-began).Nanoseconds())/n)
	}
}
