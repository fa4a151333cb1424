package dataplane

import (
	"context"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unique"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	tests := []struct {
		results string // + passed, - failed
		want    string // ? unknown, + good, - bad; with rise 3 and fall 2
	}{
		{"+++", "??+"},
		{"--", "?-"},
		{"+-+-+-", "??????"},
		{"+++-+-+--", "??++++++-"},
		{"--++-+++", "?------+"},
	}
	for _, tt := range tests {
		v, got := verdict{}, ""
		for _, result := range tt.results {
			v = v.next(result == '+', 3, 2)
			got += map[standing]string{unknown: "?", good: "+", bad: "-"}[v.standing]
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.results, got, tt.want)
		}
	}
}

// The standing is that of the last streak that was long enough, whatever came before.
func TestVerdictIsTheLastLongStreak(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rise, fall := rapid.IntRange(1, 10).Draw(t, "rise"), rapid.IntRange(1, 10).Draw(t, "fall")
		v, want, streak, last := verdict{}, unknown, 0, false
		for _, ok := range rapid.SliceOf(rapid.Bool()).Draw(t, "results") {
			if ok != last {
				streak = 0
			}
			last = ok
			streak++
			switch {
			case ok && streak >= rise:
				want = good
			case !ok && streak >= fall:
				want = bad
			}
			if v = v.next(ok, rise, fall); v.standing != want {
				t.Fatalf("standing %d, want %d", v.standing, want)
			}
		}
	})
}

func TestUsable(t *testing.T) {
	t.Parallel()
	named := func(name string, weight int, gone bool, kind string) target {
		down := ""
		if gone {
			down = "gone"
		}
		if kind == "" {
			return target{id: targetID{server: name}, weight: weight, down: down}
		}
		return target{id: targetID{server: name}, weight: weight, down: down, probe: probe{how: unique.Make(checkup{kind: kind})}}
	}
	waiting := func(t target) target {
		t.standby = true
		return t
	}
	known := standings(func(p probe) standing { return map[string]standing{"good": good, "bad": bad}[p.how.Value().kind] })
	tests := []struct {
		name    string
		targets []target
		want    string
		report  string
	}{
		{"good ones only", []target{named("a", 1, false, "good"), named("b", 1, false, "new"), named("c", 1, false, "bad")},
			"a", "normal unavailable abnormal "},
		{"new ones if there are no good ones", []target{named("b", 1, false, "new"), named("c", 1, false, "bad")}, "b", "unavailable abnormal "},
		{"a good one without weight doesn't count", []target{named("a", 0, false, "good"), named("b", 1, false, "new")}, "b",
			"normal unavailable "},
		{"none that stands by", []target{named("a", 1, false, "good"), waiting(named("b", 1, false, "good"))}, "a", "normal normal "},
		{"one that stands by waits for checks of the other", []target{named("a", 1, false, "new"), waiting(named("b", 1, false, "good"))}, "a",
			"unavailable normal "},
		{"one that stands by if the other fails", []target{named("a", 1, false, "bad"), waiting(named("b", 1, false, "good"))}, "b",
			"abnormal normal "},
		{"never bad ones", []target{named("c", 1, false, "bad")}, "", "abnormal "},
		{"no check", []target{named("a", 1, false, ""), named("b", 1, true, "")}, "a", "unavailable unavailable "},
		{"unreachable", []target{named("a", 1, true, "good")}, "", "abnormal "},
	}
	for _, tt := range tests {
		got, report := "", ""
		for _, target := range known.usable(tt.targets) {
			got += target.id.server
		}
		for _, target := range tt.targets {
			report += known.report(target) + " "
		}
		if got != tt.want || report != tt.report {
			t.Errorf("%s: usable %q, reported %q, want %q and %q", tt.name, got, report, tt.want, tt.report)
		}
	}
}

func TestChecksRunAtTheirInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []time.Duration // written by the check, read when it has ended
		var passing atomic.Bool
		passing.Store(true)
		changes := 0
		c := newChecks(func(context.Context, probe) bool {
			at = append(at, time.Since(start))
			return passing.Load()
		}, func() { changes++ })
		p := probe{how: unique.Make(checkup{kind: protoTCP, interval: 2 * time.Second, rise: 2, fall: 2})}
		ctx, stop := context.WithCancel(t.Context())
		c.set(ctx, map[probe]bool{p: true})
		c.set(ctx, map[probe]bool{p: true}) // goes on
		wait := func(d time.Duration, want standing) {
			t.Helper()
			<-time.After(d)
			synctest.Wait()
			if got := c.standing(p); got != want {
				t.Errorf("after %s: standing %d, want %d", time.Since(start), got, want)
			}
		}
		wait(1*time.Second, unknown)
		wait(2*time.Second, good)
		passing.Store(false)
		wait(2*time.Second, good)
		wait(2*time.Second, bad)
		c.set(ctx, nil)
		c.wait()
		wait(0, unknown)
		want := []time.Duration{0, 2 * time.Second, 4 * time.Second, 6 * time.Second}
		if diff := cmp.Diff(want, at); diff != "" || changes != 2 {
			t.Errorf("%d changes, checks at (-want +got):\n%s", changes, diff)
		}
		c.set(ctx, map[probe]bool{p: true})
		stop()
		c.wait()
	})
}

func TestFlowsAreReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, start := newFlows(), time.Now()
		id := func(name string) targetID {
			return targetID{server: name, addr: netip.MustParseAddrPort("127.0.0.1:80")}
		}
		cut := map[string]time.Duration{}
		opened := map[string]*flow{}
		for _, name := range []string{"stays", "goes", "returns"} {
			opened[name] = f.open(netip.Addr{}, id(name), func() { cut[name] = time.Since(start) })
		}
		opened["request"] = f.open(netip.Addr{}, id("goes"), nil)
		if n := f.count(id("goes")); n != 2 {
			t.Errorf("%d connections, want 2", n)
		}
		f.release(func(id targetID) bool { return id.server != "stays" }, 10*time.Second)
		<-time.After(5 * time.Second)
		f.release(func(id targetID) bool { return id.server == "goes" }, 10*time.Second)
		<-time.After(time.Hour)
		synctest.Wait()
		if diff := cmp.Diff(map[string]time.Duration{"goes": 10 * time.Second}, cut); diff != "" {
			t.Errorf("cut at (-want +got):\n%s", diff)
		}
		for _, fl := range opened {
			f.done(fl)
		}
		f.end()
		if f.count(id("goes")) != 0 || f.open(netip.Addr{}, id("stays"), nil) != nil {
			t.Error("closed flows are open")
		}
	})
}
