package memory

import (
	"testing"
	"time"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	var m Memory
	m.Put("default/web", Entry{UID: "u-1", EIPs: []string{"1.2.3.4"}})
	if e, ok := m.Get("default/web", "u-1"); !ok || len(e.EIPs) != 1 {
		t.Errorf("got %+v, %t", e, ok)
	}
	if _, ok := m.Get("default/web", "u-2"); ok {
		t.Error("a successor of the same name gets what was remembered of its predecessor")
	}
	m.Forget("default/web")
	m.SetFull("default/web")
	if _, ok := m.Get("default/web", "u-1"); ok || !m.Full("default/web") {
		t.Error("not forgotten, or not full")
	}
	m.Put("default/web", Entry{UID: "u-1"})
	if m.Full("default/web") {
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
		e, state := m.Recall("default/web", "u-1", now, nil)
		if state != want {
			t.Errorf("state %d, want %d", state, want)
		}
		e.UID = "u-1"
		return e
	}
	m.Put("default/web", recall(Unknown))
	before := recall(Known)
	m.Doubt("default/web")
	m.Put("default/web", before)
	if _, state := m.Last("default/web", "u-1", now); state != Known {
		t.Error("a doubt about the configuration hides the servers")
	}
	m.Put("default/web", recall(Due))
	recall(Known)
	m.Put("default/web", Renew(recall(Known)))
	m.Drop("default/web")
	recall(Unknown)
}
