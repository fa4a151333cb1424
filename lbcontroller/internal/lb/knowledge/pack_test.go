package knowledge

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// instances are n servers on a port.
func instances(n int, port int32, description string) []model.Server {
	servers := make([]model.Server, n)
	for i := range servers {
		servers[i] = model.Server{
			ServerKey: model.ServerKey{Type: model.ECS, ID: fmt.Sprintf("i-%d", i), Port: port}, Weight: 100, Description: description,
		}
	}
	return servers
}

// TestServersAreRemembered: what is recalled is what was put, whatever the servers have in common.
func TestServersAreRemembered(t *testing.T) {
	t.Parallel()
	mixed := append(instances(3, 30080, "k8s/30080/web/default/c"),
		model.Server{ServerKey: model.ServerKey{ID: "i-of-a-user", Port: 1, Type: math.MaxInt32}, Weight: math.MinInt32,
			Description: strings.Repeat("ü", 200)},
		model.Server{ServerKey: model.ServerKey{ID: "eni-1", IP: "10.0.0.1", Port: math.MaxInt32, Type: model.ENI}, Weight: math.MaxInt32},
		model.Server{ServerKey: model.ServerKey{IP: "2001:db8::1", Port: -1}, Weight: -1, Description: "k8s/30080/web/default/c"},
		model.Server{},
	)
	for name, groups := range map[string][]model.Group{
		"no groups":  nil,
		"no servers": {{ID: "rsp-1", Name: "one"}},
		"alike":      {{ID: "rsp-1", Name: "one", Servers: instances(300, 30080, "mine")}, {ID: "rsp-2", Servers: instances(2, 0, "")}},
		"mixed":      {{ID: "rsp-1", Held: true, BuiltIn: true, Servers: mixed}},
		"empty one":  {{Servers: []model.Server{{}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for kind, known := range map[string]Known{
				"all":     All{Observed: model.Observed{InstanceID: "lb-1", ConfigKnown: true, Groups: groups}},
				"servers": Servers{model.Observed{InstanceID: "lb-1", Groups: groups}},
				"refused": Refused{Meanwhile: Servers{model.Observed{InstanceID: "lb-1", Groups: groups}}},
			} {
				var m Memory
				m.Put(Entry{UID: "u", Known: known}, &Packer{})
				for range 2 { // What is recalled is the caller's to change.
					e := m.Get("u")
					if diff := cmp.Diff(groups, There(e.Known).Groups); diff != "" {
						t.Errorf("%s: groups (-put +got):\n%s", kind, diff)
					}
					for _, g := range There(e.Known).Groups {
						clear(g.Servers)
					}
				}
				concerned := m.ForgetOn("lb-1", func(e Entry) bool {
					if diff := cmp.Diff(groups, There(e.Known).Groups); diff != "" {
						t.Errorf("%s: groups (-put +got):\n%s", kind, diff)
					}
					return true
				})
				if _, state := m.Last("u", time.Now()); state != Unknown || !concerned {
					t.Errorf("%s: concerned: %t; state %d", kind, concerned, state)
				}
			}
		})
	}
}

// TestServersAreShared: Services that differ in the port and the description of their servers only share one list.
func TestServersAreShared(t *testing.T) {
	t.Parallel()
	var l Packer
	for _, n := range []int{longList - 1, longList, 1000} {
		one, sum1 := l.servers(instances(n, 30080, "one"))
		two, sum2 := l.servers(instances(n, 30081, "two"))
		if one.list != two.list || sum1 != sum2 {
			t.Errorf("%d servers make two lists", n)
		}
		for i := range n {
			for name, change := range map[string]func(*model.Server){
				"ID": func(s *model.Server) { s.ID += "x" }, "IP": func(s *model.Server) { s.IP = "10.0.0.1" },
				"type":   func(s *model.Server) { s.Type++ },
				"weight": func(s *model.Server) { s.Weight++ }, "port": func(s *model.Server) { s.Port++ },
				"description": func(s *model.Server) { s.Description += "x" },
			} {
				if n > longList && i%97 > 0 {
					continue
				}
				other := instances(n, 30080, "one")
				if change(&other[i]); one.holds(other) {
					t.Errorf("server %d of %d with another %s is taken for the same", i, n, name)
				}
				var fresh Packer
				got, sum := l.servers(other)
				if want, wantSum := fresh.servers(other); got != want || sum != wantSum || got == one || sum == sum1 {
					t.Errorf("server %d of %d with another %s: what was packed before makes a difference, or the list is the same", i, n, name)
				}
			}
		}
		if more, sum := l.servers(instances(n+1, 30080, "one")); more.list == one.list || sum == sum1 {
			t.Error("other servers make the same list")
		}
	}
}

// TestServersArePackedOnce: the list of a Service with the nodes of others takes no memory of its own, not even to be compared.
func TestServersArePackedOnce(t *testing.T) {
	var l Packer
	some, all, other := instances(40, 30080, "one"), instances(1000, 30080, "one"), instances(999, 30080, "one")
	allocations := testing.AllocsPerRun(10, func() {
		for _, servers := range [][]model.Server{some, all, other} {
			if p, _ := l.servers(servers); !p.holds(servers) {
				t.Error("other servers were packed")
			}
		}
	})
	if allocations > 0 {
		t.Errorf("%g allocations", allocations)
	}
}

// TestDigest: the records of earlier processes have these digests.
func TestDigest(t *testing.T) {
	t.Parallel()
	var p Packer
	mixed := append(instances(20, 30080, "one"),
		model.Server{ServerKey: model.ServerKey{ID: "eni-1", IP: "10.0.0.1", Port: -1}, Weight: -1, Description: "x"})
	for want, servers := range map[string][]model.Server{
		strings.Repeat("0", 64): nil,
		"e0da3cf58b9447124a081e5f3cc405f9d813e34b2d391a09bc25e244dcaeeb67": instances(1, 30080, "one"),
		"88f39fd1cbdd6e61aa8019896e0a6799f792abf7036ac9bb1d7d9e9ddb7d1ca1": instances(1000, 30080, "one"),
		"2fcee8f8d5da657a11c6e580d41e781b5c028a56f9b3c565e9c57e8e96d49b40": mixed,
	} {
		if got := fmt.Sprintf("%x", p.Digest(servers)); got != want {
			t.Errorf("digest %s, want %s", got, want)
		}
	}
}

// TestMemoryOfAService: 1 000 servers, which have 64 KiB in a pass, need no memory of their own with each Service.
func TestMemoryOfAService(t *testing.T) {
	const services, servers, room = 200, 1000, 2 << 10
	var all [services + 1]Memory
	var packer Packer
	put := func(n int) {
		description := fmt.Sprintf("k8s/%d/web-%d/default/c", 30000+n, n)
		all[n].Put(Entry{UID: "u", Known: All{Observed: model.Observed{InstanceID: "lb", Groups: []model.Group{
			{ID: "rsp", Name: description, Servers: instances(servers, int32(30000+n), description)},
		}}}}, &packer)
	}
	inUse := func() int64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	put(0)
	before := inUse()
	for n := range services {
		put(n + 1)
	}
	each := (inUse() - before) / services
	t.Logf("%d bytes for each Service with %d servers", each, servers)
	if each > room {
		t.Errorf("each Service needs %d bytes, at most %d are allowed", each, room)
	}
	runtime.KeepAlive(&all)
}
