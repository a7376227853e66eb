// A server and its clients in one program, with all activity of Go's runtime: continuous garbage
// collection, growing stacks, ending threads, executed children. It prints how many bytes all
// sockets read and wrote, and how many each client's goroutine wrote, which main began.
//
// usage: goroutines CONNECTIONS SECONDS [until-input-ends|profiled]
// With the first word it ends earlier if its input does; with the other one a profile of its
// processor time takes 1000 samples per second, and a collection is forced each millisecond.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

func deep(n int) int { var a [64]int; a[n%64] = n; if n == 0 { return a[0] }; return deep(n-1) + a[n%64] }

// The number of the calling goroutine.
func number() string { b := make([]byte, 64); return strings.Fields(string(b[:runtime.Stack(b, false)]))[1] }

func main() {
	conns, _ := strconv.Atoi(os.Args[1])
	seconds, _ := strconv.Atoi(os.Args[2])
	debug.SetGCPercent(20)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil { panic(err) }
	// A thread without system calls for its goroutines, as main keeps the first one.
	runtime.LockOSThread()
	pair := make(chan string)
	go func() { other := make(chan string); go func() { other <- number() }(); pair <- number() + " started " + <-other }()
	fmt.Println("goroutine", <-pair)
	runtime.UnlockOSThread()
	var read, written, execs int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil { return }
			go func() { b := make([]byte, 4096); for { n, err := c.Read(b); if err != nil { c.Close(); return }; atomic.AddInt64(&read, int64(n)); deep(50); w, _ := c.Write(b[:n]); atomic.AddInt64(&written, int64(w)); _ = make([]byte, 10000) } }()
		}
	}()
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	var ended atomic.Bool
	runs := func() bool { return !ended.Load() && time.Now().Before(end) }
	if len(os.Args) > 3 && os.Args[3] == "until-input-ends" {
		go func() { io.Copy(io.Discard, os.Stdin); ended.Store(true) }()
	}
	if len(os.Args) > 3 && os.Args[3] == "profiled" {
		runtime.SetCPUProfileRate(1000)
		pprof.StartCPUProfile(io.Discard)
		defer pprof.StopCPUProfile()
		go func() { for runs() { runtime.GC(); time.Sleep(time.Millisecond) } }()
	}
	var g sync.WaitGroup
	for i := 0; i < conns; i++ {
		g.Add(1)
		go func(i int) {
			defer g.Done()
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil { panic(err) }
			b := make([]byte, 1+i*7)
			own := 0
			for runs() {
				w, err := c.Write(b); if err != nil { panic(err) }
				atomic.AddInt64(&written, int64(w))
				own += w
				n, err := io.ReadFull(c, b); if err != nil { panic(err) }
				atomic.AddInt64(&read, int64(n))
				if i == 0 { runtime.GC() }
			}
			c.Close()
			fmt.Println("goroutine", number(), "sent", own)
		}(i)
	}
	g.Add(1)
	go func() { defer g.Done(); for runs() { o, err := exec.Command("/bin/echo", "hi").Output(); if err != nil || string(o) != "hi\n" { panic(fmt.Sprint(err, string(o))) }; execs++ } }()
	go func() { for runs() { runtime.LockOSThread(); time.Sleep(time.Millisecond) ; go func() { runtime.LockOSThread() ; deep(1000) }() } }()
	g.Wait()
	time.Sleep(100 * time.Millisecond)
	fmt.Println("read", atomic.LoadInt64(&read), "written", atomic.LoadInt64(&written), "execs", execs)
}
