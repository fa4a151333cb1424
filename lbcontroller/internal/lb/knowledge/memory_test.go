package knowledge

import (
	"testing"
	"time"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	var m Memory
	m.Put(Entry{UID: "u-1", EIPs: []string{"1.2.3.4"}}, &Packer{})
	if e := m.Get("u-1"); len(e.EIPs) != 1 {
		t.Errorf("got %+v", e)
	}
	if e := m.Get("u-2"); len(e.EIPs) != 0 {
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
