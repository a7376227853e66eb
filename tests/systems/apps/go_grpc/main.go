// A shop of three programs: a front over HTTP, prices and stock over gRPC, each over one
// connection.
//
// In an HTTP/2 server one goroutine reads from a connection, another one writes to it, and each
// call is handled by a separate goroutine that does neither. The stock calls Redis over connections
// from a pool.
//
// usage: go_grpc front|prices|stock; PORT, PRICES_PORT, STOCK_PORT and REDIS_PORT are in the
// environment
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/golang/protobuf/ptypes/wrappers"
	"google.golang.org/grpc"
)

const pooled = 3

// Requests and responses are single texts, so no code need be generated.
type text = wrappers.StringValue

// A function that handles a call.
type answers func(context.Context, string) (string, error)

// Serves these methods of a service over gRPC.
func serve(service string, methods map[string]answers) {
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		log.Fatal(err)
	}
	about := grpc.ServiceDesc{ServiceName: service, HandlerType: (*any)(nil)}
	for name, answer := range methods {
		about.Methods = append(about.Methods, grpc.MethodDesc{
			MethodName: name,
			Handler: func(
				_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor,
			) (any, error) {
				asked := new(text)
				if err := decode(asked); err != nil {
					return nil, err
				}
				answered, err := answer(ctx, asked.Value)
				return &text{Value: answered}, err
			},
		})
	}
	server := grpc.NewServer()
	server.RegisterService(&about, nil)
	log.Fatal(server.Serve(listener))
}

// A function that calls a method of the service at the port of that name, over one connection,
// which is made at its first use.
func caller(port string) func(context.Context, string, string) (string, error) {
	connection := sync.OnceValue(func() *grpc.ClientConn {
		to, err := grpc.Dial("127.0.0.1:"+os.Getenv(port), grpc.WithInsecure())
		if err != nil {
			log.Fatal(err)
		}
		return to
	})
	return func(ctx context.Context, method, asked string) (string, error) {
		answered := new(text)
		err := connection().Invoke(ctx, method, &text{Value: asked}, answered)
		return answered.Value, err
	}
}

func front() {
	prices := caller("PRICES_PORT")
	http.HandleFunc("/item/", func(w http.ResponseWriter, r *http.Request) {
		id := r.URL.Path[len("/item/"):]
		for _, method := range []string{"/shop.Prices/Look", "/shop.Prices/Reserve"} {
			answered, err := prices(r.Context(), method, id)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
			fmt.Fprintln(w, answered)
		}
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}

func prices() {
	stock := caller("STOCK_PORT")
	serve("shop.Prices", map[string]answers{
		"Look": func(ctx context.Context, id string) (string, error) {
			return stock(ctx, "/shop.Stock/Look", id)
		},
		"Reserve": func(ctx context.Context, id string) (string, error) {
			if _, err := stock(ctx, "/shop.Stock/Look", id); err != nil {
				return "", err
			}
			return stock(ctx, "/shop.Stock/Reserve", id)
		},
	})
}

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
func (to *redis) do(words ...string) (string, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&text, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(to.Conn, text.String()); err != nil {
		return "", err
	}
	return to.ReadString('\n')
}

func stock() {
	pool := make(chan *redis, pooled)
	for range pooled {
		pool <- dial()
	}
	by := func(command string) answers {
		return func(_ context.Context, id string) (string, error) {
			to := <-pool
			answered, err := to.do(command, "stock:"+id)
			pool <- to
			time.Sleep(time.Millisecond)
			return id + ": " + strings.TrimSpace(answered), err
		}
	}
	serve("shop.Stock", map[string]answers{"Look": by("EXISTS"), "Reserve": by("DECR")})
}

func main() {
	map[string]func(){"front": front, "prices": prices, "stock": stock}[os.Args[1]]()
}
