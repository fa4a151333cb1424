package memory

import "testing"

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
