// A shop of two programs with Go's standard library only.
//
// The front calls the stock over HTTP, on persistent connections of its client, and then passes a
// job through a channel to one of a few workers, which notes the order in Redis. The stock itself
// calls Redis, over a connection from a pool.
//
// usage: go_shop front|stock; PORT, STOCK_PORT and REDIS_PORT are in the environment
package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

const workers = 3

// A connection to Redis, for one command at a time.
type redis struct {
	net.Conn
	*bufio.Reader
}

func dial() *redis {
	conn, err := net.Dial("tcp", "127.0.0.1:"+os.Getenv("REDIS_PORT"))
	if err != nil {
		log.Fatal(err)
	}
	return &redis{conn, bufio.NewReader(conn)}
}

// Sends a command, and returns the first line of the response.
func (to *redis) do(words ...string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&text, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(to.Conn, text.String()); err != nil {
		log.Fatal(err)
	}
	line, err := to.ReadString('\n')
	if err != nil {
		log.Fatal(err)
	}
	return line
}

// An order that a worker notes.
type job struct {
	id   string
	done chan string
}

func front() http.Handler {
	jobs := make(chan job)
	for range workers {
		go func() {
			to := dial()
			for order := range jobs {
				answer := to.do("SET", "order:"+order.id, "1")
				order.done <- answer
			}
		}()
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	stock := "http://127.0.0.1:" + os.Getenv("STOCK_PORT") + "/stock/"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		answer, err := client.Get(stock + id)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		order := job{id, make(chan string, 1)}
		jobs <- order
		fmt.Fprintf(w, "%s: %s", id, <-order.done)
	})
}

func stock() http.Handler {
	pool := make(chan *redis, workers)
	for range workers {
		pool <- dial()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := <-pool
		answer := to.do("GET", "stock:"+r.URL.Path[len("/stock/"):])
		pool <- to
		time.Sleep(time.Millisecond)
		fmt.Fprint(w, answer)
	})
}

func main() {
	handler := map[string]func() http.Handler{"front": front, "stock": stock}[os.Args[1]]()
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), handler))
}
