package lb

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/orphan"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// memo is where the state of orphans is in the record. That of CLBs has no suffix.
func (w *orphans) memo() string {
	if name := w.product.Marks().Name; name != annotation.CLB {
		return "orphans-" + strings.ToLower(string(name))
	}
	return "orphans"
}

// shownOrphans bounds the list of load balancers in an event.
const shownOrphans = 5

// orphans looks for load balancers of the cluster whose Services are gone.
type orphans struct {
	Orphans
	changer
	// mayDelete reports that the policy of the configuration lets them be deleted.
	mayDelete bool
	found     *prometheus.GaugeVec
}

func newOrphans(cfg Config, c changer) *orphans {
	return &orphans{
		Orphans: cfg.Orphans, changer: c, mayDelete: cfg.Policy.deletes(),
		found: cfg.Shared.metrics.orphans,
	}
}

// watch looks for orphans until ctx ends.
func (w *orphans) watch(ctx context.Context) error {
	if w.Interval <= 0 || w.clusterID == "" {
		return nil
	}
	ctx = gateway.WithPriority(ctx, gateway.Background)
	events := kube.NewEvents(w.Recorder, 0)
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
			events.Warning(controller.ClusterObject(), controller.ReasonOrphan, text)
		} else {
			events.Resolve(controller.ClusterObject(), controller.ReasonOrphan)
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
	if slices.ContainsFunc(found, func(o orphan.Orphan) bool { return o.AccessList }) {
		what += " or access lists"
	}
	for _, o := range found[:min(len(found), shownOrphans)] {
		text := fmt.Sprintf("%s (%s)", o.LoadBalancer, cmp.Or(o.Address, o.Name))
		if o.Kept != "" && w.Delete {
			text += ", kept because " + o.Kept
		}
		list = append(list, text)
	}
	next := "release them in the console if nobody needs them, or set orphans.delete in the configuration"
	if w.Delete {
		next = "those without a reason are deleted after orphans.grace; take the tag " +
			ownership.TagCluster + " off a load balancer that is to stay"
	}
	return fmt.Sprintf("%d %s of the cluster have no Service: %s; %s", len(found), what, strings.Join(list, ", "), next)
}

// look finds the orphans, and deletes those whose time has come. Anything that can't be read ends the look.
func (w *orphans) look(ctx context.Context) ([]orphan.Orphan, error) {
	found, living, services, err := w.list(ctx)
	if err != nil || !w.Delete || !w.mayDelete {
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
		if o.AccessList {
			remove = w.deleteList
		}
		kept, err := remove(ctx, o, services, members, &state)
		if err != nil {
			return found, fmt.Errorf("delete load balancer %s, which has no Service: %w", o.LoadBalancer, err)
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
	if kept := orphan.Witness(observed, w.clusterID, members); kept != "" {
		return kept, nil
	}
	state.Deleted = append(state.Deleted, time.Now())
	if err := w.commit(ctx, *state); err != nil {
		return "", err
	}
	w.logger.Info("deleting a load balancer whose Service is gone", "loadBalancer", o.LoadBalancer, "address", o.Address, "mark", o.Mark)
	mark, allocated := observe.Mark{DefaultName: o.Mark, ClusterID: w.clusterID}, &model.WantedEIP{Made: true}
	err = w.findEIPs(ctx, &observed, mark, allocated)
	if err == nil {
		err = w.dropEIPs(ctx, "", plan.DropEIPs(allocated, observed), observed)
	}
	if err != nil {
		return "", err
	}
	if _, err := apply.Apply(ctx, w.product, apply.Work{Plan: plan.Release(w.product, observed, false),
		Observed: observed}); err != nil && !isGone(err) {
		return "", err
	}
	lists, err := w.product.Lists(ctx, mark)
	if err == nil {
		err = w.dropLists(ctx, "", lists, false)
	}
	if err != nil {
		return "", err
	}
	for _, g := range observed.Groups {
		if owner, made := ownership.MadeFor(g.Name); made {
			there := model.Observed{Groups: []model.Group{g}}
			if _, err := apply.Apply(ctx, w.product, apply.Work{Plan: w.groupsToDrop(owner, there, false), Observed: there}); err != nil {
				return "", err
			}
		}
	}
	w.Recorder.Eventf(controller.ClusterObject(), corev1.EventTypeNormal, controller.ReasonOrphanGone,
		"load balancer %s (%s) is deleted: its Service is gone since %s",
		o.LoadBalancer, o.Address, state.Since[o.LoadBalancer].UTC().Format(time.RFC3339))
	return "", nil
}

// deleteList deletes an access list that bears both marks yet, unless something uses it; then it returns why. The budget is spent before.
func (w *orphans) deleteList(ctx context.Context, o orphan.Orphan, _ []*corev1.Service, _ map[string]bool,
	state *orphan.State) (kept string, err error) {
	lists, err := w.product.Lists(ctx, observe.Mark{DefaultName: o.Mark, ClusterID: w.clusterID})
	if err != nil {
		return "", err
	}
	lists = slices.DeleteFunc(lists, func(l model.AccessList) bool { return l.ID != o.LoadBalancer })
	if len(lists) == 0 {
		return "it has changed", nil
	}
	state.Deleted = append(state.Deleted, time.Now())
	if err := w.commit(ctx, *state); err != nil {
		return "", err
	}
	w.logger.Info("deleting an access list whose Service is gone", "list", o.LoadBalancer, "name", o.Name, "mark", o.Mark)
	err = w.dropLists(ctx, "", lists, false)
	isFree := func(err error) bool { e, ok := rpcerr.From(err); return !ok || e.Code != codes.FailedPrecondition }
	if err != nil && !slices.ContainsFunc(causes(err), isFree) {
		return "something else uses it", nil
	}
	if err == nil {
		w.Recorder.Eventf(controller.ClusterObject(), corev1.EventTypeNormal, controller.ReasonOrphanGone,
			"access list %s (%s) is deleted: its Service is gone since %s", o.LoadBalancer, o.Name,
			state.Since[o.LoadBalancer].UTC().Format(time.RFC3339))
	}
	return "", err
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

// list reads the load balancers and access lists of the cluster, then the Services, so that a Service which comes meanwhile is not
// missed. Where the gateway may not read access lists there are none.
func (w *orphans) list(ctx context.Context) (found []orphan.Orphan, living int, services []*corev1.Service, err error) {
	list, err := w.product.Search(ctx, observe.Query{Tag: ownership.TagCluster, Value: w.clusterID})
	if err != nil {
		return nil, 0, nil, fmt.Errorf("list the load balancers of the cluster: %w", err)
	}
	lists, err := w.product.AllLists(ctx, w.clusterID)
	if err != nil && rpcerr.ReasonOf(err) != rpcerr.CloudForbidden {
		return nil, 0, nil, err
	}
	if len(list)+len(lists) == 0 {
		return nil, 0, nil, nil
	}
	if services, err = listServices(ctx, w.Client); err != nil {
		return nil, 0, nil, err
	}
	found, living = orphan.Find(w.clusterID, w.product.Marks().Finalizer, list, lists, services)
	return found, living, services, nil
}
