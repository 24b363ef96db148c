// Command probe is the test pod's only program. As a server it answers every request with its host
// name, which in a pod is the pod's name, and logs the request; as a client it shows from inside
// another pod what the network does.
//
//	probe serve [ADDRESS]   answer HTTP on ADDRESS (:8080)
//	probe get URL           print the answer's body; fails unless the status is 200
//	probe resolve NAME      print NAME's addresses, sorted, one a line
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"time"
)

// clientTimeout bounds get and resolve. Emulated machines are slow, and the caller tries again.
const clientTimeout = 20 * time.Second

func main() {
	args := os.Args[1:]
	var err error
	switch {
	case len(args) == 1 && args[0] == "serve":
		err = serve(":8080")
	case len(args) == 2 && args[0] == "serve":
		err = serve(args[1])
	case len(args) == 2 && args[0] == "get":
		err = get(os.Stdout, args[1])
	case len(args) == 2 && args[0] == "resolve":
		err = resolve(os.Stdout, args[1])
	default:
		fmt.Fprintln(os.Stderr, "usage: probe serve [ADDRESS] | probe get URL | probe resolve NAME")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

func serve(address string) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	fmt.Printf("%s listens on %s\n", host, address)
	return http.ListenAndServe(address,
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Printf("%s %s from %s\n", r.Method, r.URL.Path, r.RemoteAddr)
			fmt.Fprintln(w, host)
		}))
}

func get(out io.Writer, url string) error {
	client := http.Client{Timeout: clientTimeout}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("get %s: %s", url, response.Status)
	}
	_, err = io.Copy(out, response.Body)
	return err
}

func resolve(out io.Writer, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), clientTimeout)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(ctx, name)
	if err != nil {
		return err
	}
	slices.Sort(addresses)
	for _, address := range addresses {
		fmt.Fprintln(out, address)
	}
	return nil
}
