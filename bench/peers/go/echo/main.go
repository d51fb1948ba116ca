// TCP echo in Go: one goroutine per connection. A connection whose first byte is X is closed.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"runtime"
)

func serve(connection net.Conn) {
	defer connection.Close()
	buffer := make([]byte, 16*1024)
	for first := true; ; first = false {
		length, err := connection.Read(buffer)
		if err != nil || (first && buffer[0] == 'X') {
			return
		}
		if _, err = connection.Write(buffer[:length]); err != nil {
			return
		}
	}
}

func main() {
	port := flag.Uint("port", 0, "TCP port on 127.0.0.1; 0 takes a free one")
	cores := flag.Int("cores", runtime.NumCPU(), "scheduler threads")
	flag.Parse()
	runtime.GOMAXPROCS(*cores)
	listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		fmt.Fprintln(os.Stderr, "echo_go:", err)
		os.Exit(1)
	}
	fmt.Println("listening on", listener.Addr())
	for {
		connection, err := listener.Accept()
		if err != nil {
			fmt.Fprintln(os.Stderr, "echo_go:", err)
			os.Exit(1)
		}
		go serve(connection)
	}
}
