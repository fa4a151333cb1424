package knowledge

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	var m Memory
	m.Put(Entry{UID: "u-1", Addresses: []string{"1.2.3.4"}}, &Packer{})
	if e := m.Get("u-1"); len(e.Addresses) != 1 {
		t.Errorf("got %+v", e)
	}
	if e := m.Get("u-2"); len(e.Addresses) != 0 {
		t.Error("a successor of the same name gets what was remembered of its predecessor")
	}
	m.Forget()
	m.SetFull()
	if _, state := m.Last("u-1", time.Now()); state != Unknown || !m.Full() {
		t.Error("not forgotten, or not full")
	}
	m.Put(Entry{UID: "u-1"}, &Packer{})
	if m.Full() {
		t.Error("full after a success")
	}
}

// TestDoubt: who has recalled before a doubt can't put it away.
func TestDoubt(t *testing.T) {
	t.Parallel()
	var m Memory
	now := time.Now()
	recall := func(want State) Entry {
		t.Helper()
		e, state := m.Recall("u-1", now, nil)
		if state != want {
			t.Errorf("state %d, want %d", state, want)
		}
		e.UID = "u-1"
		return e
	}
	m.Put(recall(Unknown), &Packer{})
	before := recall(Current)
	m.Doubt()
	m.Put(before, &Packer{})
	if _, state := m.Last("u-1", now); state != Current {
		t.Error("a doubt about the configuration hides the servers")
	}
	m.Put(recall(Doubted), &Packer{})
	recall(Current)
	e := Renew(recall(Current))
	e.UID, e.VerifyAt = "u-1", now
	m.Put(e, &Packer{})
	recall(Due)
	if first := m.Meet("u-1"); first {
		t.Error("a Service that a user has changed is met as if nothing were known of it")
	}
}

// TestLimitOfServers: a limit is news when it is the first, or lower than the one that is believed, and is believed for some hours.
func TestLimitOfServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Memory
		for _, step := range []struct {
			after  time.Duration
			limit  int
			isNews bool
		}{{0, 200, true}, {time.Minute, 200, false}, {time.Minute, 100, true}, {time.Minute, 150, false}, {5 * time.Hour, 150, true}} {
			<-time.After(step.after)
			if isNews := m.SetLimit(step.limit); isNews != step.isNews {
				t.Errorf("%d after %s is news: %t", step.limit, step.after, isNews)
			}
			if servers, until := m.Limit(); servers != step.limit || !until.After(time.Now()) {
				t.Errorf("the limit is %d until %s, want %d", servers, until, step.limit)
			}
		}
		<-time.After(5 * time.Hour)
		if servers, _ := m.Limit(); servers != 0 {
			t.Errorf("a limit of %d is believed for ever", servers)
		}
	})
}
