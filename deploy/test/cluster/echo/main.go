// Command echo is the workload of the cluster tests: what it does depends on the name it is called by.
//
//	echo             serves its host name on :8080, and ends in order when it is asked to
//	pause            holds the namespaces of a pod
//	load FROM URL... asks each URL from an address of this machine, ten times a second, until it is asked to end, and writes what it
//	                 saw as JSON
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch filepath.Base(os.Args[0]) {
	case "pause":
		<-ctx.Done()
	case "load":
		err = load(ctx, os.Args[1], os.Args[2:], os.Stdout)
	default:
		err = serve(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("find the name of the pod: %w", err)
	}
	server := &http.Server{
		Addr: ":8080", ReadHeaderTimeout: time.Minute, // A busy machine may let the load balancer wait between connection and request.
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, host+"\n") }),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-ctx.Done()
		_ = server.Shutdown(context.WithoutCancel(ctx))
	}()
	if err := server.ListenAndServe(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve: %w", err)
	}
	<-done
	return nil
}

// Seen is what load writes.
type Seen struct {
	Answered int            `json:"answered"`
	Hosts    map[string]int `json:"hosts"`  // who answered, and how often
	URLs     map[string]int `json:"urls"`   // and where
	Failed   []string       `json:"failed"` // when, and why
}

// interval is that of the requests to one URL.
const interval = 100 * time.Millisecond

func load(ctx context.Context, from string, urls []string, out io.Writer) error {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	// A new connection for each request, as curl makes it: the next one may meet another server.
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, DialContext: dialer.DialContext}}
	seen := Seen{Hosts: map[string]int{}, URLs: map[string]int{}}
	var mu sync.Mutex
	var workers sync.WaitGroup
	for _, url := range urls {
		workers.Go(func() {
			tick := time.NewTicker(interval)
			defer tick.Stop()
			for ctx.Err() == nil {
				host, err := ask(client, url)
				mu.Lock()
				if err != nil {
					seen.Failed = append(seen.Failed, time.Now().UTC().Format(time.RFC3339Nano)+" "+err.Error())
				} else {
					seen.Answered++
					seen.Hosts[host]++
					seen.URLs[url]++
				}
				mu.Unlock()
				<-tick.C
			}
		})
	}
	workers.Wait()
	return json.NewEncoder(out).Encode(seen)
}

func ask(client *http.Client, url string) (string, error) {
	// Without a context: the client has a time limit, and a request under way is finished.
	resp, err := client.Get(url) //nolint:gosec // The URLs are those of the test.
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", resp.Status, body)
	}
	return string(body), nil
}
