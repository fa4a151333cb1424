package shadowtest

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/runtime"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
)

// Crash has controllers die at one of their calls and writes, so that none after it is done.
type Crash struct {
	mu    sync.Mutex
	armed bool
	left  int
	after bool
	died  bool
}

// At lets so many calls and writes be made before the controllers die, with the effect of the last or without.
func (c *Crash) At(left int, after bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed, c.left, c.after = true, left, after
}

// Over lets all be made again, and reports whether the controllers have died.
func (c *Crash) Over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = false
	return c.died
}

// Strike decides about a call or a write.
func (c *Crash) Strike() gatewaytest.Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.armed {
		return gatewaytest.Fault{}
	}
	if c.left > 0 {
		c.left--
		return gatewaytest.Fault{}
	}
	gone := &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "the process has died"}
	last := !c.died
	c.died = true
	if last && c.after {
		return gatewaytest.Fault{After: gone}
	}
	return gatewaytest.Fault{Before: gone}
}

// Writes are what controllers write to an API server, as "VERB RESOURCE", unless they are dead.
type Writes struct {
	// Crash decides, and Effect does what the API server does with a write whose answer is lost.
	Crash  *Crash
	Effect func(kubetesting.Action) error
	mu     sync.Mutex
	list   []string
}

// React is a reaction for all actions.
func (w *Writes) React(action kubetesting.Action) (bool, runtime.Object, error) {
	if slices.Contains([]string{"get", "list", "watch"}, action.GetVerb()) {
		return false, nil, nil
	}
	w.mu.Lock()
	w.list = append(w.list, action.GetVerb()+" "+strings.TrimSuffix(action.GetResource().Resource+"/"+action.GetSubresource(), "/"))
	w.mu.Unlock()
	switch fault := w.Crash.Strike(); {
	case fault.Before != nil:
		return true, nil, fault.Before
	case fault.After != nil:
		return true, nil, errors.Join(fault.After, w.Effect(action))
	}
	return false, nil, nil
}

// Take are the writes since the last time.
func (w *Writes) Take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.list
	w.list = nil
	return list
}
