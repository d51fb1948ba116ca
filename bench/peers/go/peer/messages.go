package main

import (
	"runtime"
	"time"
)

// Go's channels have a bound: the mailbox of an actor that receives many messages holds this many.
const bound = 1024

const producers = 8

func counting(asked request) result {
	mailbox := make(chan uint64, bound)
	handled := make(chan uint64)
	go func() {
		var sum uint64
		for i := uint64(0); i < asked.n; i++ {
			sum += <-mailbox
		}
		handled <- sum
	}()
	began := time.Now()
	go func() {
		for i := uint64(0); i < asked.n; i++ {
			mailbox <- i
		}
	}()
	sum := <-handled
	elapsed := time.Since(began)
	requireEqual(sum, sumBelow(asked.n), "sum of the messages")
	return result{asked.n, elapsed, extra{"queue_bound": bound}}
}

// exchange sends numbers there and back asked.n times, through channels that hold size messages.
func exchange(asked request, size int) time.Duration {
	began := time.Now()
	toPing := make(chan uint64, size)
	toPong := make(chan uint64, size)
	done := make(chan struct{})
	go func() {
		for i := uint64(0); i < asked.n; i++ {
			got := <-toPong
			requireEqual(got, i, "ping")
			toPing <- got + 1
		}
	}()
	go func() {
		for i := uint64(0); i < asked.n; i++ {
			toPong <- i
			requireEqual(<-toPing, i+1, "pong")
		}
		close(done)
	}()
	<-done
	return time.Since(began)
}

func pingPong(asked request) result {
	return result{2 * asked.n, exchange(asked, 1), extra{"queue_bound": 1}}
}

func channel(asked request) result {
	return result{asked.n, exchange(asked, 0), nil}
}

func threadRing(asked request) result {
	const actors = 100
	var ring [actors]chan uint64
	for i := range ring {
		ring[i] = make(chan uint64, 1)
	}
	finished := make(chan uint64)
	for i := range ring {
		go func(self int) {
			next := ring[(self+1)%actors]
			for hopsLeft := range ring[self] {
				if hopsLeft == 0 {
					finished <- uint64(self)
				} else {
					next <- hopsLeft - 1
				}
			}
		}(i)
	}
	began := time.Now()
	ring[0] <- asked.n
	last := <-finished
	elapsed := time.Since(began)
	requireEqual(last, asked.n%actors, "actor that got the last hop")
	return result{asked.n, elapsed, extra{"queue_bound": 1}}
}

func forkJoin(asked request) result {
	const workers = 8
	type total struct{ sum, count uint64 }
	var mailboxes [workers]chan uint64
	totals := make(chan total)
	for i := range mailboxes {
		mailboxes[i] = make(chan uint64, bound)
		go func(mailbox chan uint64) {
			var mine total
			for value := range mailbox {
				mine.sum += value
				mine.count++
			}
			totals <- mine
		}(mailboxes[i])
	}
	began := time.Now()
	for i := uint64(0); i < asked.n; i++ {
		mailboxes[i%workers] <- i
	}
	var all total
	for _, mailbox := range mailboxes {
		close(mailbox)
	}
	for range mailboxes {
		mine := <-totals
		all.sum += mine.sum
		all.count += mine.count
	}
	elapsed := time.Since(began)
	requireEqual(all.count, asked.n, "messages handled")
	requireEqual(all.sum, sumBelow(asked.n), "sum of the messages")
	return result{asked.n, elapsed, extra{"queue_bound": bound}}
}

func manyToOne(asked request) result {
	mailbox := make(chan uint64, bound)
	handled := make(chan uint64)
	began := time.Now()
	for i := uint64(0); i < producers; i++ {
		go func(first uint64) {
			for value := first; value < asked.n; value += producers {
				mailbox <- value
			}
		}(i)
	}
	go func() {
		var sum uint64
		for i := uint64(0); i < asked.n; i++ {
			sum += <-mailbox
		}
		handled <- sum
	}()
	sum := <-handled
	elapsed := time.Since(began)
	requireEqual(sum, sumBelow(asked.n), "sum of the messages")
	return result{asked.n, elapsed, extra{"queue_bound": bound}}
}

type question struct {
	value uint64
	reply chan uint64
}

func incrementer(questions chan question) {
	for asked := range questions {
		asked.reply <- asked.value + 1
	}
}

// ask has one asker that uses its reply channel again, as a program that cares would.
func ask(asked request) result {
	questions := make(chan question, 1)
	go incrementer(questions)
	done := make(chan time.Duration)
	go func() {
		reply := make(chan uint64, 1)
		began := time.Now()
		for i := uint64(0); i < asked.n; i++ {
			questions <- question{i, reply}
			requireEqual(<-reply, i+1, "reply")
		}
		done <- time.Since(began)
	}()
	return result{asked.n, <-done, nil}
}

// idleRoundTrip asks from a goroutine that is bound to a thread of its own, which is as near as Go
// comes to a thread outside.
func idleRoundTrip(asked request) result {
	runtime.LockOSThread()
	questions := make(chan question, 1)
	go incrementer(questions)
	reply := make(chan uint64, 1)
	var samples []float64
	var total time.Duration
	for i := uint64(0); i < asked.n; i++ {
		time.Sleep(20 * time.Millisecond)
		began := time.Now()
		questions <- question{i, reply}
		requireEqual(<-reply, i+1, "reply")
		elapsed := time.Since(began)
		total += elapsed
		samples = append(samples, float64(elapsed.Nanoseconds())/1e3)
	}
	return result{asked.n, total, extra{
		"p50_us": percentile(samples, 0.5),
		"p99_us": percentile(samples, 0.99),
	}}
}

// selectEight has eight producers with a channel each, and one consumer that selects over all.
func selectEight(asked request) result {
	const size = 128
	var channels [producers]chan uint64
	for i := range channels {
		channels[i] = make(chan uint64, size)
	}
	done := make(chan uint64)
	began := time.Now()
	for i := range channels {
		go func(first uint64, to chan uint64) {
			for value := first; value < asked.n; value += producers {
				to <- value
			}
		}(uint64(i), channels[i])
	}
	go func() {
		var sum, value uint64
		for i := uint64(0); i < asked.n; i++ {
			select {
			case value = <-channels[0]:
			case value = <-channels[1]:
			case value = <-channels[2]:
			case value = <-channels[3]:
			case value = <-channels[4]:
			case value = <-channels[5]:
			case value = <-channels[6]:
			case value = <-channels[7]:
			}
			sum += value
		}
		done <- sum
	}()
	sum := <-done
	elapsed := time.Since(began)
	requireEqual(sum, sumBelow(asked.n), "sum of the messages")
	return result{asked.n, elapsed, extra{"queue_bound": size}}
}
