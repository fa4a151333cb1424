package lb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/orphan"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// memo is where the state of orphans is in the record.
func (w *orphans) memo() string { return w.product.Marks().Orphans }

// shownOrphans bounds the list of load balancers in an event.
const shownOrphans = 5

// orphans looks for load balancers of the cluster whose Services are gone, and for what stands beside load balancers.
type orphans struct {
	Orphans
	changer
	events  *kube.Events
	desired desired.Config
	policy  Policy
	found   *prometheus.GaugeVec
}

func newOrphans(cfg Config, c changer) *orphans {
	return &orphans{
		Orphans: cfg.Orphans, changer: c, events: kube.NewEvents(cfg.Orphans.Recorder, 0),
		desired: cfg.Desired, policy: cfg.Policy, found: cfg.Shared.metrics.orphans,
	}
}

// watch looks for orphans until ctx ends.
func (w *orphans) watch(ctx context.Context) error {
	if w.Interval <= 0 || w.clusterID == "" {
		return nil
	}
	ctx = gateway.WithPriority(ctx, gateway.Background)
	for pause := min(w.Interval, 10*time.Minute); ; pause = w.Interval { //nolint:mnd // A new leader has more urgent reads.
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		found, err := w.look(ctx)
		if err != nil && ctx.Err() == nil {
			w.logger.Warn("load balancers without a Service can't be looked for or deleted; it is tried again", "error", err)
			continue
		}
		w.found.WithLabelValues(string(w.product.Marks().Name)).Set(float64(len(found)))
		if text := w.text(found); text != "" {
			w.events.Warning(controller.ClusterObject(), controller.ReasonOrphan, text)
		} else {
			w.events.Resolve(controller.ClusterObject(), controller.ReasonOrphan)
		}
	}
}

// text lists orphans and says what to do; empty if there are none.
func (w *orphans) text(found []orphan.Orphan) string {
	if len(found) == 0 {
		return ""
	}
	var list []string
	what := string(w.product.Marks().Name) + "s"
	if slices.ContainsFunc(found, func(o orphan.Orphan) bool { return o.Thing != 0 }) {
		what += ", or things beside " + what + ","
	}
	for _, o := range found[:min(len(found), shownOrphans)] {
		text := fmt.Sprintf("%s (%s)", o.LoadBalancer, cmp.Or(o.Address, o.Name))
		if o.Thing != 0 {
			text = fmt.Sprintf("%s %s", o.Thing, text)
		}
		if o.Kept != "" && w.Delete {
			text += ", kept because " + o.Kept
		}
		list = append(list, text)
	}
	next := "release them in the console if nobody needs them, or set orphans.delete in the configuration"
	if w.Delete {
		next = "those without a reason are deleted after orphans.grace; take the tag " +
			ownership.TagCluster + " off what is to stay"
	}
	return fmt.Sprintf("%d %s of the cluster have no Service: %s; %s", len(found), what, strings.Join(list, ", "), next)
}

// look finds the orphans, and deletes those whose time has come. Anything that can't be read ends the look.
func (w *orphans) look(ctx context.Context) ([]orphan.Orphan, error) {
	found, living, services, err := w.list(ctx)
	if err != nil || !w.Delete || !w.policy.deletes() {
		return found, err
	}
	if doubt := orphan.Doubt(living); doubt != "" {
		for i := range found {
			found[i].Kept = doubt
		}
		return found, nil
	}
	text, err := w.records.Memo(ctx, w.memo())
	if err != nil {
		return found, fmt.Errorf("read since when load balancers have no Service: %w", err)
	}
	var state orphan.State
	if text != "" {
		if err := json.Unmarshal([]byte(text), &state); err != nil {
			return found,
				fmt.Errorf("the record of load balancers without a Service can't be read; delete key %s of the ConfigMap to begin anew: %w",
					w.memo(), err)
		}
	}
	due, state := orphan.Decide(time.Now(), found, living, state, w.Policy)
	if err := w.commit(ctx, state); err != nil || len(due) == 0 {
		return found, err
	}
	members, err := w.members(ctx)
	if err != nil {
		return found, err
	}
	for _, o := range due {
		remove := w.delete
		if o.Thing != 0 {
			remove = w.deleteThing
		}
		kept, err := remove(ctx, o, services, members, &state)
		if err != nil {
			return found, fmt.Errorf("delete %s %s, which has no Service: %w", o.Thing, o.LoadBalancer, err)
		}
		for i := range found {
			if found[i].LoadBalancer == o.LoadBalancer {
				found[i].Kept = kept
			}
		}
	}
	return found, nil
}

// delete deletes a load balancer, unless what is on it speaks for it; then it returns why. The budget is spent before.
func (w *orphans) delete(ctx context.Context, o orphan.Orphan, services []*corev1.Service, members map[string]bool,
	state *orphan.State) (kept string, err error) {
	observed, err := w.product.Read(ctx, o.LoadBalancer, observe.Extent{View: observe.Whole})
	if rpcerr.ReasonOf(err) == rpcerr.LoadBalancerNotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	again, _ := orphan.Find(w.clusterID, w.product.Marks().Finalizer, []model.Observed{observed}, nil, services)
	if len(again) == 0 || again[0].Kept != "" || again[0].Mark != o.Mark {
		return "it has changed", nil
	}
	if kept := orphan.InUse(observed, w.clusterID, members); kept != "" {
		return kept, nil
	}
	state.Deleted = append(state.Deleted, time.Now())
	if err := w.commit(ctx, *state); err != nil {
		return "", err
	}
	w.logger.Info("deleting a load balancer whose Service is gone", "loadBalancer", o.LoadBalancer, "address", o.Address, "mark", o.Mark)
	if err := w.deleteWhole(ctx, o, observed); err != nil {
		return "", err
	}
	w.Recorder.Eventf(controller.ClusterObject(), corev1.EventTypeNormal, controller.ReasonOrphanGone,
		"load balancer %s (%s) is deleted: its Service is gone since %s",
		o.LoadBalancer, o.Address, state.Since[o.LoadBalancer].UTC().Format(time.RFC3339))
	return "", nil
}

// deleteWhole deletes a load balancer with what stands beside it.
func (w *orphans) deleteWhole(ctx context.Context, o orphan.Orphan, observed model.Observed) error {
	mark := observe.Mark{DefaultName: o.Mark, ClusterID: w.clusterID}
	beside := plan.Beside{
		Binding: &model.Binding{Made: true}, Kind: w.product, GroupsApart: w.product.Marks().GroupsApart,
	}
	err := w.findBound(ctx, &observed, mark, beside.Binding)
	if err != nil {
		return err
	}
	// One that isn't bound may be the user's, who has named it by its id before.
	observed.Bound = slices.DeleteFunc(observed.Bound, func(b model.Bound) bool { return b.To != observed.InstanceID })
	first, _ := beside.Release(observed)
	if observed, err = w.releaseBeside(ctx, "", first, observed); err != nil {
		return err
	}
	if _, err := w.apply(ctx, apply.Work{Plan: plan.Release(w.product, observed, nil),
		Observed: observed}); err != nil && !isGone(err) {
		return err
	}
	if observed.Lists, err = w.product.Lists(ctx, mark); err != nil {
		return err
	}
	if observed.Failed, err = w.failed(ctx, mark); err != nil && !isUnreadable(err) {
		return err
	}
	var last plan.Plan
	for _, g := range observed.Groups { // Each names its Service, which is the same.
		if owner, made := ownership.MadeFor(g.Name); made {
			beside.Owner = owner
		}
	}
	_, last = beside.Release(observed)
	_, err = w.releaseBeside(ctx, "", last, observed)
	return err
}

// deleteThing deletes a thing that bears the marks yet, unless something speaks for it; then it returns why. It is read
// anew, and the budget is spent before.
func (w *orphans) deleteThing(ctx context.Context, o orphan.Orphan, services []*corev1.Service, members map[string]bool,
	state *orphan.State) (kept string, err error) {
	things, err := w.Things(ctx, o.Thing, w.clusterID, 0)
	if err != nil {
		return "", err
	}
	again, _ := orphan.Find(w.clusterID, w.product.Marks().Finalizer, nil, things, services)
	if !slices.ContainsFunc(again, func(now orphan.Orphan) bool {
		return now.LoadBalancer == o.LoadBalancer && now.Mark == o.Mark && now.Name == o.Name && now.Kept == ""
	}) {
		return "it has changed", nil
	}
	there, p, kept, err := w.thing(ctx, o, members)
	if err != nil || kept != "" {
		return kept, err
	}
	state.Deleted = append(state.Deleted, time.Now())
	if err := w.commit(ctx, *state); err != nil {
		return "", err
	}
	w.logger.Info("deleting a thing whose Service is gone", "thing", o.Thing, "id", o.LoadBalancer, "name", o.Name,
		"mark", o.Mark)
	if there, err = w.releaseBeside(ctx, "", p, there); err != nil {
		return "", err
	}
	if len(there.Groups)+len(there.Lists)+len(there.Bound)+len(there.Failed) > 0 {
		return "something else uses it, or it is protected", nil
	}
	w.Recorder.Eventf(controller.ClusterObject(), corev1.EventTypeNormal, controller.ReasonOrphanGone,
		"%s %s (%s) is deleted: its Service is gone since %s", o.Thing, o.LoadBalancer, o.Name,
		state.Since[o.LoadBalancer].UTC().Format(time.RFC3339))
	return "", nil
}

// thing reads a thing as it is now, and returns the way to delete it and nothing else, or why it stays.
func (w *orphans) thing(ctx context.Context, o orphan.Orphan, members map[string]bool) (
	there model.Observed, p plan.Plan, kept string, err error) {
	mark := observe.Mark{DefaultName: o.Mark, ClusterID: w.clusterID}
	switch o.Thing {
	case model.ThingList:
		there.Lists, err = w.product.Lists(ctx, mark)
		if len(there.Lists) != 1 || there.Lists[0].ID != o.LoadBalancer {
			kept = "it has changed"
		}
	case model.ThingGroup:
		var found model.Observed
		group := observe.Parts{IDs: []string{o.LoadBalancer}}
		found, err = w.product.Read(ctx, "", observe.Extent{View: observe.Servers, User: &group})
		for _, g := range found.Groups {
			if g.ID == o.LoadBalancer && g.Name == o.Name {
				there.Groups, kept = append(there.Groups, g), orphan.GroupInUse(g, members)
			}
		}
	case model.ThingFailed:
		there.Failed = []model.Thing{{Kind: o.Thing, ID: o.LoadBalancer, Name: o.Name, Mark: o.Mark}}
	case model.ThingBound, model.ThingLeft: // These are never deleted; see orphan.Find and orphan.OnUsers.
	}
	_, p = plan.Beside{}.Release(there)
	for _, g := range there.Groups { // One that a listener has come to use keeps its servers.
		p.Phases = append(p.Phases, plan.Phase{plan.DeleteGroup{GroupID: g.ID, Name: g.Name}})
	}
	if err == nil && kept == "" && p.Empty() {
		kept = "it has changed"
	}
	return there, p, kept, err
}

func (w *orphans) commit(ctx context.Context, state orphan.State) error {
	text := ""
	if len(state.Since)+len(state.Deleted) > 0 {
		data, err := json.Marshal(state)
		if err != nil {
			return err
		}
		text = string(data)
	}
	if err := w.records.Commit(ctx, w.memo(), text); err != nil {
		return fmt.Errorf("record since when load balancers have no Service, so that the next leader knows: %w", err)
	}
	return nil
}

// members are the ids of the instances of the nodes.
func (w *orphans) members(ctx context.Context) (map[string]bool, error) {
	list, err := w.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the nodes: %w", err)
	}
	ids := make(map[string]bool, len(list.Items))
	for i := range list.Items {
		if id, ok := nodes.ParseProviderID(list.Items[i].Spec.ProviderID); ok {
			ids[id.InstanceID] = true
		}
	}
	return ids, nil
}

func listServices(ctx context.Context, client kubernetes.Interface) ([]*corev1.Service, error) {
	list, err := client.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the Services: %w", err)
	}
	services := make([]*corev1.Service, len(list.Items))
	for i := range list.Items {
		services[i] = &list.Items[i]
	}
	return services, nil
}

// list reads the load balancers of the cluster and what stands beside them, then the Services, so that a Service
// which comes meanwhile is not missed. Where the gateway may not read a kind of things there are none. Services that
// lack the note of a thing get it.
func (w *orphans) list(ctx context.Context) (found []orphan.Orphan, living int, services []*corev1.Service, err error) {
	list, err := w.product.Search(ctx, observe.Query{Tag: ownership.TagCluster, Value: w.clusterID})
	if err != nil {
		return nil, 0, nil, fmt.Errorf("list the load balancers of the cluster: %w", err)
	}
	things, err := w.things(ctx, w.Beside(model.Nothing()), 0)
	if err != nil {
		return nil, 0, nil, err
	}
	users, err := w.users(ctx)
	if err != nil {
		return nil, 0, nil, err
	}
	if len(list)+len(things)+len(users) == 0 {
		return nil, 0, nil, nil
	}
	if services, err = listServices(ctx, w.Client); err != nil {
		return nil, 0, nil, err
	}
	found, living = orphan.Find(w.clusterID, w.product.Marks().Finalizer, list, things, services)
	found = append(found, orphan.OnUsers(w.clusterID, users, services)...)
	return found, living, services, w.remind(ctx, things, services)
}

// users reads the load balancers of users on which Services are or were, with their listeners and the names of server groups.
func (w *orphans) users(ctx context.Context) (list []model.Observed, err error) {
	marked, err := w.product.Search(ctx, observe.Query{Tag: ownership.TagReused, Value: "true"})
	if err != nil {
		return nil, fmt.Errorf("list the load balancers of users: %w", err)
	}
	for _, lb := range marked {
		found, err := w.product.Read(ctx, lb.InstanceID, observe.Extent{View: observe.Full, User: &observe.Parts{}})
		_, isComing := errors.AsType[*observe.MakingError](err)
		switch {
		case isGone(err), isUnreadable(err), isComing:
		case err != nil:
			return nil, err
		default:
			list = append(list, found)
		}
	}
	return list, nil
}

// remind notes on Services what was made for them, where they lack the note, and has them compared. What is about to go
// looks for itself.
func (w *orphans) remind(ctx context.Context, things []model.Thing, services []*corev1.Service) error {
	made := map[string][]model.Thing{}
	for _, t := range things {
		made[t.Mark] = append(made[t.Mark], t)
	}
	writer := controller.Writer{Client: w.Client, Finalizer: w.product.Marks().Finalizer}
	for _, svc := range services {
		mine := made[ownership.DefaultName(string(svc.UID))]
		if svc.DeletionTimestamp != nil || !w.product.Wants(svc) {
			continue
		}
		view := w.desired.View(svc)
		w.reportUnused(view, mine)
		if len(mine) == 0 {
			continue
		}
		notes := unnoted(view, nil, slices.DeleteFunc(mine, func(t model.Thing) bool { return t.Kind == model.ThingBound }))
		if len(notes.Annotations) == 0 || policyOf(view, w.policy) == PolicyReport {
			continue
		}
		w.logger.Info("a Service lacks the note of what was made for it", "service", keyOf(svc), "things", mine)
		memory := w.services.Of(keyOf(svc))
		memory.Forget()
		memory.Doubt() // What a pass under way remembers doesn't know of it.
		if _, err := writer.Note(ctx, svc, notes); err != nil && !controller.Superseded(err) {
			return err
		}
	}
	return nil
}
