package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

func skynetNode(parent chan<- uint64, first, leaves, sequentialUpTo uint64) {
	if leaves <= sequentialUpTo {
		parent <- sequentialSum(first, leaves)
		return
	}
	sums := make(chan uint64)
	for child := uint64(0); child < 10; child++ {
		go skynetNode(sums, first+child*(leaves/10), leaves/10, sequentialUpTo)
	}
	var total uint64
	for child := 0; child < 10; child++ {
		total += <-sums
	}
	parent <- total
}

func runSkynet(asked request, smallest uint64) result {
	requirePowerOfTen(asked.n)
	began := time.Now()
	root := make(chan uint64)
	go skynetNode(root, 0, asked.n, smallest)
	sum := <-root
	elapsed := time.Since(began)
	requireEqual(sum, sumBelow(asked.n), "sum of the leaves")
	return result{skynetNodes(asked.n, smallest), elapsed, extra{"peak_rss_mb": peakRSSMB()}}
}

func skynet(asked request) result           { return runSkynet(asked, 1) }
func skynetSequential(asked request) result { return runSkynet(asked, 1000) }

// spawnEnd starts goroutines in batches, and waits for the end of each batch.
func spawnEnd(asked request) result {
	const batch = 1000
	var ran atomic.Uint64
	var alive sync.WaitGroup
	began := time.Now()
	for left := asked.n; left != 0; {
		size := uint64(batch)
		if left < size {
			size = left
		}
		alive.Add(int(size))
		for i := uint64(0); i < size; i++ {
			go func() {
				ran.Add(1)
				alive.Done()
			}()
		}
		alive.Wait()
		left -= size
	}
	elapsed := time.Since(began)
	requireEqual(ran.Load(), asked.n, "goroutines that ran")
	return result{asked.n, elapsed, extra{"batch": batch}}
}

func spawnJoin(asked request) result {
	var ran uint64
	ended := make(chan struct{})
	began := time.Now()
	for i := uint64(0); i < asked.n; i++ {
		go func() {
			ran++
			ended <- struct{}{}
		}()
		<-ended
	}
	elapsed := time.Since(began)
	requireEqual(ran, asked.n, "goroutines that ran")
	return result{asked.n, elapsed, nil}
}

// sleepers are many goroutines that wait for one message each.
type sleepers struct {
	mailboxes []chan uint64
	answers   chan uint64
}

func newSleepers(count uint64) *sleepers {
	all := &sleepers{make([]chan uint64, count), make(chan uint64, bound)}
	var started sync.WaitGroup
	started.Add(int(count))
	for i := range all.mailboxes {
		mailbox := make(chan uint64)
		all.mailboxes[i] = mailbox
		go func() {
			started.Done()
			all.answers <- <-mailbox
		}()
	}
	started.Wait()
	return all
}

// wakeAll counts the answers: each goroutine must still be there to take its message.
func (all *sleepers) wakeAll() uint64 {
	go func() {
		for _, mailbox := range all.mailboxes {
			mailbox <- 1
		}
	}()
	var answered uint64
	for range all.mailboxes {
		answered += <-all.answers
	}
	return answered
}

func idleMemory(asked request) result {
	debug.FreeOSMemory()
	before := residentBytes()
	began := time.Now()
	all := newSleepers(asked.n)
	elapsed := time.Since(began)
	debug.FreeOSMemory()
	after := residentBytes()
	requireEqual(all.wakeAll(), asked.n, "goroutines that were alive")
	perActor := (float64(after) - float64(before)) / float64(asked.n)
	return result{asked.n, elapsed, extra{"bytes_per_actor": perActor}}
}

func idleCPU(asked request) result {
	all := newSleepers(asked.n)
	began := time.Now()
	fmt.Fprintln(os.Stderr, "ready")
	_, err := io.Copy(io.Discard, os.Stdin)
	require(err == nil, "stdin can be read")
	elapsed := time.Since(began)
	requireEqual(all.wakeAll(), asked.n, "goroutines that were alive")
	return result{0, elapsed, nil}
}

// timers starts asked.n timers and stops them all, then starts as many again and lets them fire.
func timers(asked request) result {
	var fired atomic.Uint64
	all := make([]*time.Timer, asked.n)
	began := time.Now()
	for i := range all {
		all[i] = time.AfterFunc(time.Minute, func() { fired.Add(1) })
	}
	start := time.Since(began)
	began = time.Now()
	var stopped uint64
	for _, one := range all {
		if one.Stop() {
			stopped++
		}
	}
	cancel := time.Since(began)
	requireEqual(stopped, asked.n, "timers stopped in time")
	requireEqual(fired.Load(), 0, "stopped timers that fired")

	late := make([]float64, asked.n)
	var pending sync.WaitGroup
	pending.Add(len(late))
	for i := range late {
		index := i
		due := time.Now().Add(time.Second)
		time.AfterFunc(time.Second, func() {
			late[index] = float64(time.Since(due).Nanoseconds()) / 1e6
			pending.Done()
		})
	}
	pending.Wait()
	require(percentile(late, 0) > -2, "no timer fires before it is due")
	return result{asked.n, start, extra{
		"start_ns":    float64(start.Nanoseconds()) / float64(asked.n),
		"cancel_ns":   float64(cancel.Nanoseconds()) / float64(asked.n),
		"late_p50_ms": percentile(late, 0.5),
		"late_max_ms": percentile(late, 1),
	}}
}

func runLock(asked request, workers uint64) result {
	var mutex sync.Mutex
	var counter uint64
	var pending sync.WaitGroup
	pending.Add(int(workers))
	began := time.Now()
	for worker := uint64(0); worker < workers; worker++ {
		go func(times uint64) {
			for ; times != 0; times-- {
				mutex.Lock()
				counter++
				mutex.Unlock()
			}
			pending.Done()
		}(share(asked.n, workers, worker))
	}
	pending.Wait()
	elapsed := time.Since(began)
	requireEqual(counter, asked.n, "count under the lock")
	return result{asked.n, elapsed, nil}
}

func lock(asked request) result          { return runLock(asked, 1) }
func lockContended(asked request) result { return runLock(asked, 8) }

func yield(asked request) result {
	var turns [2]uint64
	var pending sync.WaitGroup
	pending.Add(len(turns))
	began := time.Now()
	for i := range turns {
		go func(self uint64) {
			for left := share(asked.n, 2, self); left != 0; left-- {
				turns[self]++
				runtime.Gosched()
			}
			pending.Done()
		}(uint64(i))
	}
	pending.Wait()
	elapsed := time.Since(began)
	requireEqual(turns[0]+turns[1], asked.n, "turns taken")
	return result{asked.n, elapsed, nil}
}
