package lb_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// ranges asks that only these networks may connect.
func ranges(list ...string) func(*corev1.Service) {
	return func(svc *corev1.Service) { svc.Spec.LoadBalancerSourceRanges = list }
}

// morePorts gives the Service a second port.
func morePorts(svc *corev1.Service) {
	svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "more", Port: 81, NodePort: 30081, Protocol: corev1.ProtocolTCP})
}

// changed makes one change of several.
func changed(changes ...func(*corev1.Service)) func(*corev1.Service) {
	return func(svc *corev1.Service) {
		for _, change := range changes {
			change(svc)
		}
	}
}

func unavailable() error {
	return &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "the cloud does not answer"}
}

func entriesOf(l *state.Acl) string {
	var list []string
	for _, e := range l.Entries {
		list = append(list, e.Entry)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// open are the listeners that let everybody in: without a white list, or with one that is empty.
func (w *world) open() (open []string) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	for lb, l := range clbListeners(w.cloud.Cloud) {
		filled := false
		for _, id := range l.AclIDs {
			filled = filled || len(w.cloud.Acls[id].Entries) > 0
		}
		if l.Attributes["AclStatus"] != "on" || l.Attributes["AclType"] != "white" || !filled {
			open = append(open, fmt.Sprint(lb.ID, " ", l.Port))
		}
	}
	return open
}

// TestNeverOpen: whatever call fails, loses its answer, or is the last one of a process, no listener of a Service with
// source ranges is open for a moment.
func TestNeverOpen(t *testing.T) {
	t.Parallel()
	life := func(w *world) {
		w.create(web(ranges("10.0.0.0/8", "192.0.2.0/24")))
		w.settle()
		w.update(changed(ranges("198.51.100.0/24"), morePorts))
		w.settle()
	}
	for k, more := 0, true; more; k += gatewaytest.Every(3) {
		for name, fault := range map[string]gatewaytest.Fault{
			"fails": {Before: unavailable()}, "is lost": {After: unavailable()},
		} {
			inWorld(t, 2, func(w *world) {
				var count, happened atomic.Int64
				var found atomic.Value
				w.cloud.Interpose(func(int, string, proto.Message) gatewaytest.Fault {
					if open := w.open(); len(open) > 0 {
						found.Store(open)
					}
					if count.Add(1) == int64(k+1) {
						happened.Add(1)
						return fault
					}
					return gatewaytest.Fault{}
				})
				life(w)
				w.restart()
				w.after(10 * time.Minute)
				if open := w.open(); len(open) > 0 || found.Load() != nil {
					t.Errorf("call %d %s: open in the end %v, on the way %v", k+1, name, open, found.Load())
				}
				check(t, fmt.Sprintf("listeners after call %d %s", k+1, name), 2, len(w.listeners()))
				check(t, "lists", 1, len(w.cloud.Acls))
				more = happened.Load() > 0
			})
		}
	}
}

// TestRangesAreNotMixed: the field and a list of the user's exclude each other, be that asked for by annotation or set
// in the console, and a CLB has networks of its family only.
func TestRangesAreNotMixed(t *testing.T) {
	t.Parallel()
	field := annotation.SourceRanges
	for name, tt := range map[string]struct {
		changes []func(*corev1.Service)
		says    []string
	}{
		"annotation": {[]func(*corev1.Service){ranges("10.0.0.0/8"), annotated(annotation.ACLStatus, "on"), annotated(annotation.ACLID, "acl-1"),
			annotated(annotation.ACLType, "white")}, []string{field, "remove one of the two", annotation.ACLID}},
		"annotation that switches off": {[]func(*corev1.Service){ranges("10.0.0.0/8"), annotated(annotation.ACLStatus, "off")},
			[]string{field, "remove one of the two", annotation.ACLStatus}},
		"other family": {[]func(*corev1.Service){ranges("2001:db8::/32")}, []string{field + " has no IPv4 network", annotation.IPVersion}},
		"no network":   {[]func(*corev1.Service){ranges("10.0.0.0/8", "10.0.0.0.0/8")}, []string{field, `"10.0.0.0.0/8" is no network`}},
	} {
		inWorld(t, 2, func(w *world) {
			w.create(web(tt.changes...))
			w.settle()
			check(t, name+": writes", 0, len(w.cloud.Writes()))
			text := strings.Join(w.events.take(), "; ")
			for _, part := range tt.says {
				if !strings.Contains(text, part) {
					t.Errorf("%s: %q isn't in %q", name, part, text)
				}
			}
		})
	}
	inWorld(t, 2, func(w *world) {
		w.create(web())
		w.settle()
		w.cloud.Lock()
		w.cloud.Acls["acl-by-hand"] = &state.Acl{Name: "by hand", IPVersion: "ipv4"}
		for _, l := range clbListeners(w.cloud.Cloud) {
			l.Attributes["AclStatus"], l.Attributes["AclType"], l.AclIDs = "on", "black", []string{"acl-by-hand"}
		}
		w.cloud.Unlock()
		w.cloud.ResetCalls()
		w.update(changed(ranges("10.0.0.0/8"), annotated(annotation.Scheduler, "wrr")))
		w.after(time.Minute)
		for _, l := range clbListeners(w.cloud.Cloud) {
			check(t, "list by hand", []string{"acl-by-hand"}, l.AclIDs)
			check(t, "what else is asked", "wrr", l.Attributes["Scheduler"])
		}
		check(t, "lists", 1, len(w.cloud.Acls))
	})
}

// TestRangesPreserved: with a preserved CLB its list stays, and is nobody's then but the user's.
func TestRangesPreserved(t *testing.T) {
	t.Parallel()
	inWorld(t, 2, func(w *world) {
		w.create(web(ranges("10.0.0.0/8"), annotated(annotation.PreserveOnDelete, "on")))
		w.settle()
		w.remove()
		w.reap()
		w.after(time.Minute)
		w.cloud.Lock()
		defer w.cloud.Unlock()
		check(t, "CLBs", 1, len(w.cloud.LoadBalancers))
		check(t, "lists", 1, len(w.cloud.Acls))
		for _, l := range w.cloud.Acls {
			check(t, "marks", 0, len(l.Tags))
		}
		for _, l := range clbListeners(w.cloud.Cloud) {
			check(t, "still in force", "on", l.Attributes["AclStatus"])
		}
	})
}

// TestClonedList: an access control list with another name that bears the tags of the Service's is another's: it is
// neither changed nor deleted. Of one with the same name nobody knows whose it is: that is told.
func TestClonedList(t *testing.T) {
	t.Parallel()
	const cloned = "acl-0"
	for _, name := range []string{"my-own-clone", ""} {
		inWorld(t, 2, func(w *world) {
			w.create(web(ranges("10.0.0.0/8")))
			w.settle()
			w.cloud.Lock()
			for _, l := range w.cloud.Acls {
				clone := *l
				clone.ID, clone.Tags = cloned, slices.Clone(l.Tags)
				if name != "" {
					clone.Name = name
				}
				w.cloud.Acls[cloned] = &clone
				break
			}
			w.cloud.Unlock()
			w.cloud.ResetCalls()
			w.after(10 * time.Hour)
			if name != "" {
				check(t, "writes of the drift checks", []string(nil), w.writes())
				w.update(ranges())
				w.after(10 * time.Hour)
			}
			w.remove()
			w.reap()
			w.after(time.Minute)
			w.cloud.Lock()
			defer w.cloud.Unlock()
			check(t, "the clone", "10.0.0.0/8", entriesOf(w.cloud.Acls[cloned]))
			if name != "" {
				check(t, "lists", 1, len(w.cloud.Acls))
				return
			}
			if text := strings.Join(w.events.take(), "; "); !strings.Contains(text, cloned) {
				t.Errorf("the clone isn't told: %s", text)
			}
		})
	}
}
