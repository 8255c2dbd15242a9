// Command paddock-fakemodel serves package fakemodel, for tests that start it
// beside an agent inside a sandbox. It is no part of what Paddock ships.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"paddock/internal/fakemodel"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8901", "address to serve on")
	flag.Parse()
	server := &http.Server{Addr: *listen, Handler: fakemodel.Handler(), ReadHeaderTimeout: 10 * time.Second}
	if err := server.ListenAndServe(); err != nil {
		fmt.Fprintln(os.Stderr, "paddock-fakemodel:", err)
		os.Exit(1)
	}
}
