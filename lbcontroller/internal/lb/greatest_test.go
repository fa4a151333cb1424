package lb_test

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
)

// TestGreatestCluster tells what a cluster of GREATEST=nodes,services,subset costs, without -race: calls when a node
// joins, memory and processor time of everything in this process, and how soon a new leader serves a fresh change. The
// time is virtual, and the gateway answers at once, as fast as its limits would never let it.
func TestGreatestCluster(t *testing.T) {
	var nodes, services, subset int
	if _, err := fmt.Sscanf(os.Getenv("GREATEST"), "%d,%d,%d", &nodes, &services, &subset); err != nil {
		t.Skip("GREATEST names no size, such as 5000,10000,50: it takes minutes and GiB")
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.config = func(s *settings) {
			s.Kind.Desired.MaxNodes = subset
			s.Kind.Records = knowledge.NewRecord(knowledge.RecordConfig{Client: w.kube, Namespace: "kube-system", Name: recordName,
				Logger: slog.New(slog.DiscardHandler)})
		}
		for i := range nodes {
			w.addNode(i + 1)
		}
		w.start()
		used := processorTime(t)
		spent := func() time.Duration { return (processorTime(t) - used).Round(time.Millisecond) }
		for i := range services {
			w.put(numbered(i))
			if i%20 == 19 { // The watch of the fake API server holds a hundred events.
				w.after(time.Second)
			}
		}
		w.after(time.Minute)
		t.Logf("%d Services are made: %d calls, %s of the processor, %d MiB", services, len(w.calls()), spent(), heap())

		for n := range 3 {
			used = processorTime(t)
			w.addNode(nodes + 1 + n)
			w.settle()
			joined, serves := fmt.Sprintf("i-%d", nodes+1+n), 0
			w.cloud.Lock()
			for _, g := range w.cloud.ServerGroups {
				if slices.ContainsFunc(g.Servers, func(s *state.Server) bool { return s.ServerID == joined }) {
					serves++
				}
			}
			w.cloud.Unlock()
			calls := len(w.calls())
			t.Logf("a node joins and serves %d Services: %d calls, %s of the processor", serves, calls, spent())
			if 10*calls > 12*serves {
				t.Errorf("%d calls for %d Services", calls, serves)
			}
		}

		used = processorTime(t)
		w.restart()
		t.Logf("a new leader: %d calls within its first moments, %s of the processor", len(w.calls()), spent())
		used = processorTime(t)
		begun := time.Now()
		w.put(web())
		for len(w.cloud.CallsOf("CreateLoadBalancer")) == 0 {
			w.after(100 * time.Millisecond)
			if time.Since(begun) > time.Hour {
				t.Fatal("a fresh change is not served within an hour")
			}
		}
		t.Logf("a fresh Service is served after %s and %d calls, %s of the processor",
			time.Since(begun), len(w.calls()), spent())
		w.after(time.Hour)
		t.Logf("the hour after that: %d calls, %d MiB", len(w.calls()), heap())
		w.stop()
	})
}

// heap is what is in use after a collection, in MiB.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc >> 20
}
