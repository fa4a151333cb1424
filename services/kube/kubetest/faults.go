package kubetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/runtime"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
)

// Interpose asks decide about each write that comes through the Client from now on, and about each call of cloud. What a test
// does to its nodes goes around the Client. nil ends it.
func (c *Cluster) Interpose(cloud *gatewaytest.Connection, decide func() gatewaytest.Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.decide = decide
	if decide == nil {
		cloud.Interpose(nil)
		return
	}
	cloud.Interpose(func(int, string, proto.Message) gatewaytest.Fault { return decide() })
}

// react is the reaction of the API server to a request, if it is disturbed.
func (c *Cluster) react(action kubetesting.Action) (bool, runtime.Object, error) {
	c.mu.Lock()
	decide := c.decide
	c.mu.Unlock()
	if decide == nil || !slices.Contains([]string{"create", "update", "patch", "delete"}, action.GetVerb()) {
		return false, nil, nil
	}
	what := decide()
	if what.Before == nil && what.After != nil {
		if _, _, err := kubetesting.ObjectReaction(c.Client.Tracker())(action); err != nil {
			return true, nil, err
		}
		what.Before = what.After
	}
	return what.Before != nil, nil, what.Before
}

// unavailable is the error of a call that was not answered.
func unavailable(message string) error {
	return &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: message}
}

// Flaky lets a third of the calls of cloud and of the writes to the API server fail while the function that it gives says so, half of
// them with an effect.
func (c *Cluster) Flaky(cloud *gatewaytest.Connection, random *rand.Rand) func(bool) {
	var mu sync.Mutex
	failing := false
	c.Interpose(cloud, func() gatewaytest.Fault {
		mu.Lock()
		defer mu.Unlock()
		switch n := random.IntN(6); {
		case failing && n == 0:
			return gatewaytest.Fault{Before: unavailable("no")}
		case failing && n == 1:
			return gatewaytest.Fault{After: unavailable("the answer is lost")}
		default:
			return gatewaytest.Fault{}
		}
	})
	return func(on bool) {
		mu.Lock()
		defer mu.Unlock()
		failing = on
	}
}

// Death is the end of a process at one of its calls, of the cloud or as a write to the API server.
type Death struct {
	mu       sync.Mutex
	calls    int // before the last
	after    bool
	happened bool
	dead     chan struct{}
}

// mostCalls bounds the calls of a story.
const mostCalls = 300

// AtEveryCall plays a story once for each call that is made in it, and lets the process die before the call and after it.
func AtEveryCall(t *testing.T, play func(t *testing.T, d *Death)) {
	t.Helper()
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprintf("with effect %t", after), func(t *testing.T) {
			t.Parallel()
			// A story that -run leaves out is not known to be the last.
			for n, happened := 0, true; happened && n < mostCalls; n++ {
				t.Run(fmt.Sprintf("call %d", n), func(t *testing.T) {
					d := &Death{calls: n, after: after}
					play(t, d)
					happened = d.happened
				})
			}
		})
	}
}

// Reign lets a process live until its death, for the given time at most, and then stops it. What it calls after its death has
// no effect.
func (d *Death) Reign(c *Cluster, cloud *gatewaytest.Connection, most time.Duration, start func() (stop func())) {
	d.dead = make(chan struct{})
	c.Interpose(cloud, d.strike)
	stop := start()
	select {
	case <-d.dead:
	case <-time.After(most):
	}
	stop()
	c.Interpose(cloud, nil)
}

func (d *Death) strike() gatewaytest.Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calls > 0 {
		d.calls--
		return gatewaytest.Fault{}
	}
	last := !d.happened
	if last {
		d.happened = true
		close(d.dead)
	}
	if last && d.after {
		return gatewaytest.Fault{After: unavailable("the process died")}
	}
	return gatewaytest.Fault{Before: unavailable("the process died")}
}

const (
	// walks is how many random histories are played, and shortWalks with -short, unless WALKS says so. make soak plays
	// 5 000 others.
	walks, shortWalks = 200, 40
	// walkers play at the same time; each history waits for its goroutines often.
	walkers = 4
)

// Walk plays random histories, each with random numbers of its own. WALK_SEED chooses others, and WALKS how many. One that
// fails is repeated by its name with -run.
func Walk(t *testing.T, play func(t *testing.T, random *rand.Rand)) {
	t.Helper()
	number := func(name string, otherwise uint64) uint64 {
		n, err := strconv.ParseUint(os.Getenv(name), 10, 64)
		if err != nil && os.Getenv(name) != "" {
			t.Fatal(errors.Join(errors.New(name), err))
		}
		if err != nil {
			return otherwise
		}
		return n
	}
	ordinary := uint64(walks)
	if testing.Short() {
		ordinary = shortWalks
	}
	seed, most := number("WALK_SEED", 1), number("WALKS", ordinary)
	t.Logf("WALK_SEED=%d", seed)
	for first := range uint64(walkers) {
		t.Run(fmt.Sprintf("walker %d", first), func(t *testing.T) {
			t.Parallel()
			for i := first; i < most; i += walkers {
				t.Run(fmt.Sprintf("history %d", i), func(t *testing.T) {
					play(t, rand.New(rand.NewPCG(seed, i))) //nolint:gosec // Nothing depends on its being hard to guess.
				})
			}
		})
	}
}
