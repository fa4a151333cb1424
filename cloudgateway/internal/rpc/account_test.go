package rpc

import (
	"fmt"
	"testing"
)

// TestRoomForTheNextCaller: however many callers have as much under way as they may, the next one is served.
func TestRoomForTheNextCaller(t *testing.T) {
	t.Parallel()
	const callers, size = 6, 10
	for name, limits := range map[string]Limits{
		"calls": {Calls: 400, CallsPerCaller: 100},
		"bytes": {Bytes: 400 * (size + answerRoom), BytesPerCaller: 100 * (size + answerRoom)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAccount(limits.withDefaults())
			var entries []*entry
			call := func(caller string) error {
				e, err := a.enter(caller, answerRoom)
				if err != nil {
					return err
				}
				entries = append(entries, e)
				return e.hold(size)
			}
			for i := range callers {
				calls := 0
				for call(fmt.Sprint("greedy-", i)) == nil {
					calls++
				}
				if calls == 0 || i < 3 && calls != 100 {
					t.Errorf("caller %d has %d calls under way", i, calls)
				}
			}
			if err := call("modest"); err != nil {
				t.Error(err)
			}
			for _, e := range entries {
				e.end()
			}
			if a.all.calls+a.all.bytes+len(a.callers) > 0 {
				t.Errorf("%d calls, %d bytes and %d callers are left", a.all.calls, a.all.bytes, len(a.callers))
			}
		})
	}
}

// TestWhatCallersMaySendUnread: all that any number of callers may send without having it read is in the account.
func TestWhatCallersMaySendUnread(t *testing.T) {
	t.Parallel()
	limits := Limits{}.withDefaults()
	a := newAccount(limits)
	for caller, calls, refused := 0, 0, 0; refused < 10; caller++ { // Nobody finds room any more.
		for before := calls; ; calls++ {
			if _, err := a.enter(fmt.Sprint("greedy-", caller), callRoom); err != nil {
				if calls == before {
					refused++
				}
				break
			}
			if calls*window > limits.Bytes {
				t.Fatalf("%d callers have sent %d MiB that nobody has read, and %d MiB are in the account", caller+1, calls*window>>20,
					a.all.bytes>>20)
			}
		}
	}
}
