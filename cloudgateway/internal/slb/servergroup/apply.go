package servergroup

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// ApplyServerChanges adds, removes and re-weights servers of one group.
func (s *Service) ApplyServerChanges(
	ctx context.Context, r *slbv1.ApplyServerChangesRequest,
) (*slbv1.ApplyServerChangesResponse, error) {
	todo := normalize(changes{add: r.GetAdd(), remove: r.GetRemove(), update: r.GetUpdate(), removeFirst: r.GetRemoveFirst()})
	response := &slbv1.ApplyServerChangesResponse{}
	if todo.empty() {
		return response, nil
	}
	id := r.GetServerGroupId()
	err := s.owners.Exclusively(ctx, id, r.GetLoadBalancerId(), func(ctx context.Context, w *slb.Writer) (err error) {
		response.CloudCalls, err = s.applyToGroup(ctx, w, id, todo)
		return err
	})
	return cloud.Answer(response, err)
}

// applyToGroup makes changes of a vServer group, and forgets what was remembered about it.
func (s *Service) applyToGroup(ctx context.Context, w *slb.Writer, id string, todo changes) (int32, error) {
	defer s.groups.Invalidate(id)
	return s.apply(ctx, w, s.vServerGroup(id), todo)
}

// ApplyDefaultServerChanges does the same to the default server group of a load balancer.
func (s *Service) ApplyDefaultServerChanges(
	ctx context.Context, r *slbv1.ApplyDefaultServerChangesRequest,
) (*slbv1.ApplyDefaultServerChangesResponse, error) {
	todo := normalize(changes{
		add: withoutPort(r.GetAdd()), remove: withoutPort(r.GetRemove()), update: withoutPort(r.GetUpdate()), removeFirst: r.GetRemoveFirst(),
	})
	response := &slbv1.ApplyDefaultServerChangesResponse{}
	if todo.empty() {
		return response, nil
	}
	err := s.product.Exclusively(ctx, r.GetLoadBalancerId(), func(ctx context.Context, w *slb.Writer) (err error) {
		response.CloudCalls, err = s.apply(ctx, w, s.defaultGroup(r.GetLoadBalancerId()), todo)
		return err
	})
	return cloud.Answer(response, err)
}

// apply makes the changes, one call after the other.
func (s *Service) apply(ctx context.Context, w *slb.Writer, group serverSet, todo changes) (int32, error) {
	a := &application{service: s, writer: w, group: group, todo: todo}
	again := func(err error) bool { return cloud.Busy(err) || cloud.Unclear(err) }
	err := w.Retry(ctx, again, a.run)
	if err == nil {
		err = a.missing()
	}
	return a.calls, err
}

// serverSet is a set of servers that the cloud changes by a few in a call: a vServer group, or the default server group of an instance.
type serverSet struct {
	param, id string          // the parameter that says which set, and its value
	actions   map[verb]string // without replace if the cloud cannot
	read      func(ctx context.Context) ([]*slbv1.Server, error)
}

func (s *Service) vServerGroup(id string) serverSet {
	return serverSet{
		param: "VServerGroupId", id: id,
		actions: map[verb]string{
			replace: "ModifyVServerGroupBackendServers",
			add:     "AddVServerGroupBackendServers",
			set:     "SetVServerGroupAttribute",
			remove:  "RemoveVServerGroupBackendServers",
		},
		read: func(ctx context.Context) ([]*slbv1.Server, error) {
			group, err := s.describeGroup(ctx, id)
			return group.GetServers(), err
		},
	}
}

func (s *Service) defaultGroup(loadBalancerID string) serverSet {
	return serverSet{
		param: "LoadBalancerId", id: loadBalancerID,
		actions: map[verb]string{add: "AddBackendServers", set: "SetBackendServers", remove: "RemoveBackendServers"},
		read: func(ctx context.Context) ([]*slbv1.Server, error) {
			servers, err := s.describeDefaultGroup(ctx, loadBalancerID)
			return withoutPort(servers), err
		},
	}
}

// params encodes a call.
func (p serverSet) params(s step) cloud.Params {
	params := cloud.Params{p.param: p.id}
	into := map[verb]string{add: "BackendServers", set: "BackendServers", replace: "NewBackendServers"}
	if name, ok := into[s.verb]; ok {
		params.JSON(name, serverDocs(s.into))
	}
	out := map[verb]string{remove: "BackendServers", replace: "OldBackendServers"}
	if name, ok := out[s.verb]; ok {
		params.JSON(name, serverKeyDocs(s.out))
	}
	return params
}

// application is a set of changes on its way.
type application struct {
	service *Service
	writer  *slb.Writer
	group   serverSet
	todo    changes
	calls   int32
	// narrow is the size of a call while a server is looked for that the cloud does not know; 0: as large as can be.
	narrow  int
	unknown []*slbv1.Server
	refusal error // of the last unknown server
}

// run makes calls until nothing is left or one fails. After a lost answer, or one that contradicts the plan, it looks at what
// the group holds and goes on with what is missing.
func (a *application) run(ctx context.Context) error {
	for !a.todo.empty() {
		_, canReplace := a.group.actions[replace]
		next := a.todo.next(a.perCall(a.group.actions[add]), canReplace)
		action := a.group.actions[next.verb]
		next = next.first(a.perCall(action))
		a.calls++
		err := a.writer.Send(ctx, action, a.group.params(next), nil)
		switch {
		case err == nil:
			a.todo = a.todo.after(next)
		case tooMany(err) && a.service.callSizes.learn(action, next.size(), err):
		case rpcerr.ReasonOf(err) == rpcerr.ServerLimit && next.verb == add && canReplace && len(a.todo.remove) > 0 && !a.todo.full:
			a.todo.full = true
		case rpcerr.ReasonOf(err) == rpcerr.ServerNotFound && len(next.into) > 0:
			a.setAside(next, err)
		case cloud.Unclear(err), disagrees(err):
			progress, readErr := a.lookAgain(ctx)
			if readErr != nil {
				return fmt.Errorf("%w; reading the group back failed: %v", err, readErr) //nolint:errorlint // One cause.
			}
			if !progress {
				return err
			}
		default:
			return err
		}
	}
	return nil
}

// perCall is how many servers the next call of an action may name.
func (a *application) perCall(action string) int {
	if size := a.service.callSizes.of(action); a.narrow == 0 || size < a.narrow {
		return size
	}
	return a.narrow
}

// lookAgain drops from the changes what the group shows to be done, and reports whether that was anything. An addition of a server that
// is there with another weight becomes an update, which is a step forward, too.
func (a *application) lookAgain(ctx context.Context) (progress bool, err error) {
	servers, err := a.group.read(ctx)
	if err != nil {
		return false, err
	}
	rest := remaining(a.todo, servers)
	progress = rest.size() < a.todo.size() || len(rest.add) < len(a.todo.add)
	a.todo = rest
	return progress, nil
}

// setAside takes the servers out of the changes that the cloud does not know, so that one that has vanished does not keep the
// others of its call waiting. The cloud's text may name them; if not, halving the call finds them.
func (a *application) setAside(refused step, err error) {
	var unknown []*slbv1.Server
	for _, s := range refused.into {
		if refused.size() == 1 || mentions(err.Error(), s.GetServerId()) {
			unknown = append(unknown, s)
		}
	}
	if len(unknown) == 0 {
		a.narrow = (refused.size() + 1) / 2
		return
	}
	a.narrow, a.refusal = 0, err
	a.unknown = append(a.unknown, unknown...)
	a.todo = a.todo.without(unknown)
}

// mentions reports whether a text names an id, and not only one that begins like it.
func mentions(text, id string) bool {
	const edge = `[^A-Za-z0-9-]`
	return regexp.MustCompile(`(^|` + edge + `)` + regexp.QuoteMeta(id) + `(` + edge + `|$)`).MatchString(text)
}

// missing is the error about the servers that were set aside, nil if there are none.
func (a *application) missing() error {
	const most = 20
	if len(a.unknown) == 0 {
		return nil
	}
	var names []string
	for _, s := range a.unknown[:min(most, len(a.unknown))] {
		names = append(names, s.GetServerId())
	}
	e := rpcerr.Errorf(rpcerr.ServerNotFound, "%d servers do not exist or do not run and were left out, all others are done: %s",
		len(a.unknown), strings.Join(cloud.Sorted(names), ", "))
	if cause, ok := rpcerr.From(a.refusal); ok {
		e.API, e.CloudCode, e.CloudRequestID = cause.API, cause.CloudCode, cause.CloudRequestID
	}
	return e
}

// disagrees reports whether the cloud refused a call for what the group holds: a server to be replaced is not there, or one to be
// added is. The caller may not have known, e.g. because an earlier request of it was carried out in part.
func disagrees(err error) bool {
	e, ok := rpcerr.From(err)
	return ok && (e.Code == codes.InvalidArgument || e.Code == codes.AlreadyExists || strings.HasPrefix(e.CloudCode, "Invalid"))
}

// tooMany reports whether the cloud refused a call only because of its size.
func tooMany(err error) bool {
	e, ok := rpcerr.From(err)
	return ok && e.CloudCode == "TooManyBackendServers"
}

// Servers in one call (SLB API reference). The documents say 20 since 2021, but the service takes 40, which the existing CCM sends.
const (
	maxServersPerCall        = 40
	documentedServersPerCall = 20
)

// callSizes are how many servers a call may name, by action. It begins with what is configured, and what a refusal teaches holds from
// then on. It is safe for concurrent use.
type callSizes struct {
	configured int

	mu      sync.Mutex
	learned map[string]int
}

func newCallSizes(configured int) *callSizes {
	return &callSizes{configured: max(1, min(configured, maxServersPerCall)), learned: map[string]int{}}
}

func (c *callSizes) of(action string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, ok := c.learned[action]; ok {
		return n
	}
	return c.configured
}

// learn takes the limit of an action from the refusal of a call with size servers: the one that the cloud's text names, else the
// documented one. It reports whether that allows a smaller call. Another refusal of an action that keeps to its limit teaches nothing.
func (c *callSizes) learn(action string, size int, refusal error) bool {
	limit := documentedServersPerCall
	if e, ok := rpcerr.From(refusal); ok {
		if match := regexp.MustCompile(`max supported number: ([0-9]{1,4})`).FindStringSubmatch(e.Message); match != nil {
			limit, _ = strconv.Atoi(match[1]) // digits, by the pattern
		}
	}
	if limit < 1 || limit >= size {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.learned[action] = limit
	return true
}
