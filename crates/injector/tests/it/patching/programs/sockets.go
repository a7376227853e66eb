// Connections of many goroutines, programs that are run, and then a call that occurs nowhere else:
// at pidfd_getfd the hooks write their counts, when nothing else is running.
package main

import (
	"fmt"
	"io"
	"net"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	var all, servers sync.WaitGroup
	servers.Add(50)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer servers.Done()
				io.Copy(c, c)
			}()
		}
	}()
	var lock sync.Mutex
	total := 0
	for i := 0; i < 50; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				panic(err)
			}
			b := make([]byte, 5)
			for j := 0; j < 20; j++ {
				c.Write([]byte("hello"))
				n, _ := io.ReadFull(c, b)
				if j%7 == 0 {
					runtime.GC()
				}
				lock.Lock()
				total += n
				lock.Unlock()
			}
			c.Close()
		}()
	}
	all.Wait()
	servers.Wait()
	for i := 0; i < 5; i++ {
		out, err := exec.Command("/bin/sh", "-c", "echo child").Output()
		fmt.Printf("%s %v\n", out, err)
	}
	fmt.Println(total)
	syscall.Syscall(438, ^uintptr(0), 0, 0)
}
