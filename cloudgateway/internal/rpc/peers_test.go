package rpc

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestManyPeers: the memory for peers is bounded, also if each comes from another network.
func TestManyPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Peers{Burst: 20, PerSecond: 2}
		for i := range 3 * peersKept {
			p.Take(fmt.Sprint(i))
		}
		if len(p.buckets) > peersKept+1 {
			t.Errorf("%d peers are remembered, want at most %d", len(p.buckets), peersKept+1)
		}
		if p.Take("one more") {
			t.Error("peers without a bucket of their own share none")
		}
		<-time.After(10 * time.Second)
		if !p.Take("one more") {
			t.Error("peers that did nothing for a while are remembered")
		}
	})
}
