// An HTTP server that responds "hello, world", until its input ends.
//
// usage: hello
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("port", listener.Addr().(*net.TCPAddr).Port)
	go http.Serve(listener, http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		io.WriteString(answer, "hello, world\n")
	}))
	io.Copy(io.Discard, os.Stdin)
}
