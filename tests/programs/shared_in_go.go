// A library that talks to itself over TCP, for programs that load it: built with
// -buildmode=c-shared.
package main

import "C"

import "net"

// Talk sends five bytes to itself, and returns how many arrived.
//
//export Talk
func Talk() C.int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return -1
	}
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return -2
	}
	defer client.Close()
	server, err := listener.Accept()
	if err != nil {
		return -3
	}
	defer server.Close()
	client.Write([]byte("hello"))
	got := make([]byte, 5)
	count, _ := server.Read(got)
	return C.int(count)
}

func main() {}
