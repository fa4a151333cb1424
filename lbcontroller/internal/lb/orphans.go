package lb

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

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

// recordOrphans is where the state of orphans is in the record. That of a CLB has no suffix.
func (k *Kind) recordOrphans() string {
	if name := k.Product.Marks().Name; name != annotation.CLB {
		return "orphans-" + strings.ToLower(string(name))
	}
	return "orphans"
}

// shownOrphans bounds the list of CLBs in an event.
const shownOrphans = 5

// Orphans says what is done about CLBs of the cluster whose Services are gone.
type Orphans struct {
	Client   kubernetes.Interface
	Recorder record.EventRecorder
	// Interval is how often they are looked for; 0 for never. A look is one read of the gateway with the priority of the background.
	Interval time.Duration
	// Delete lets them be deleted.
	Delete bool
	orphan.Policy
}

// watchOrphans looks for orphans until ctx ends.
func (k *Kind) watchOrphans(ctx context.Context) error {
	if k.Orphans.Interval <= 0 || k.Desired.ClusterID == "" {
		return nil
	}
	ctx = gateway.WithPriority(ctx, gateway.Background)
	events := kube.NewEvents(k.Orphans.Recorder, 0)
	for pause := min(k.Orphans.Interval, 10*time.Minute); ; pause = k.Orphans.Interval { //nolint:mnd // A new leader has more urgent reads.
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		found, err := k.lookForOrphans(ctx)
		if err != nil && ctx.Err() == nil {
			k.Logger.Warn("load balancers without a Service can't be looked for or deleted; it is tried again", "error", err)
			continue
		}
		k.Shared.metrics.orphans.WithLabelValues(string(k.Product.Marks().Name)).Set(float64(len(found)))
		if text := k.orphansText(found); text != "" {
			events.Warning(controller.ClusterObject(), controller.ReasonOrphan, k.words(text))
		} else {
			events.Resolve(controller.ClusterObject(), controller.ReasonOrphan)
		}
	}
}

// orphansText lists orphans and says what to do; empty if there are none.
func (k *Kind) orphansText(found []orphan.Orphan) string {
	if len(found) == 0 {
		return ""
	}
	var list []string
	for _, o := range found[:min(len(found), shownOrphans)] {
		text := fmt.Sprintf("%s (%s)", o.LoadBalancer, o.Address)
		if o.Kept != "" && k.Orphans.Delete {
			text += ", kept because " + o.Kept
		}
		list = append(list, text)
	}
	next := "release them in the console if nobody needs them, or set orphans.delete in the configuration"
	if k.Orphans.Delete {
		next = "those without a reason are deleted after orphans.grace; take the tag " + ownership.TagCluster + " off a CLB that is to stay"
	}
	return fmt.Sprintf("%d CLBs of the cluster have no Service: %s; %s", len(found), strings.Join(list, ", "), next)
}

// lookForOrphans finds the orphans, and deletes those whose time has come. Anything that can't be read ends the look.
func (k *Kind) lookForOrphans(ctx context.Context) ([]orphan.Orphan, error) {
	found, living, services, err := k.orphans(ctx)
	if err != nil || !k.Orphans.Delete || k.Policy != PolicySync && k.Policy != "" {
		return found, err
	}
	if doubt := orphan.Doubt(living); doubt != "" {
		for i := range found {
			found[i].Kept = doubt
		}
		return found, nil
	}
	text, err := k.Records.Memo(ctx, k.recordOrphans())
	if err != nil {
		return found, fmt.Errorf("read since when CLBs have no Service: %w", err)
	}
	var state orphan.State
	if text != "" {
		if err := json.Unmarshal([]byte(text), &state); err != nil {
			return found, fmt.Errorf("the record of CLBs without a Service can't be read; delete key %s of the ConfigMap to begin anew: %w", k.recordOrphans(), err)
		}
	}
	due, state := orphan.Decide(time.Now(), found, living, state, k.Orphans.Policy)
	if err := k.commitOrphans(ctx, state); err != nil || len(due) == 0 {
		return found, err
	}
	members, err := k.members(ctx)
	if err != nil {
		return found, err
	}
	for _, o := range due {
		kept, err := k.deleteOrphan(ctx, o, services, members, &state)
		if err != nil {
			return found, fmt.Errorf("delete CLB %s, which has no Service: %w", o.LoadBalancer, err)
		}
		for i := range found {
			if found[i].LoadBalancer == o.LoadBalancer {
				found[i].Kept = kept
			}
		}
	}
	return found, nil
}

// deleteOrphan deletes a CLB, unless what is on it speaks for it; then it returns why. The budget is spent before.
func (k *Kind) deleteOrphan(ctx context.Context, o orphan.Orphan, services []*corev1.Service, members map[string]bool, state *orphan.State) (kept string, err error) {
	observed, err := k.Product.Read(ctx, o.LoadBalancer, observe.Extent{View: observe.Whole})
	if rpcerr.ReasonOf(err) == rpcerr.LoadBalancerNotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	again, _ := orphan.Find(k.Desired.ClusterID, k.Product.Marks().Finalizer, []model.Observed{observed}, services)
	if len(again) == 0 || again[0].Kept != "" || again[0].Mark != o.Mark {
		return "it has changed", nil
	}
	if kept := orphan.Witness(observed, k.Desired.ClusterID, members); kept != "" {
		return kept, nil
	}
	state.Deleted = append(state.Deleted, time.Now())
	if err := k.commitOrphans(ctx, *state); err != nil {
		return "", err
	}
	k.Logger.Info("deleting a load balancer whose Service is gone", "loadBalancer", o.LoadBalancer, "address", o.Address, "mark", o.Mark)
	if _, err := apply.Apply(ctx, k.Product, apply.Work{Plan: plan.Release(k.Product, observed, false), Observed: observed}); err != nil && !isGone(err) {
		return "", err
	}
	for _, g := range observed.Groups {
		if owner, made := ownership.MadeFor(g.Name); made {
			if err := k.dropGroups(ctx, o.Mark, owner, model.Observed{Groups: []model.Group{g}}, false); err != nil {
				return "", err
			}
		}
	}
	k.Orphans.Recorder.Eventf(controller.ClusterObject(), corev1.EventTypeNormal, controller.ReasonOrphanGone, "CLB %s (%s) is deleted: its Service is gone since %s",
		o.LoadBalancer, o.Address, state.Since[o.LoadBalancer].UTC().Format(time.RFC3339))
	return "", nil
}

func (k *Kind) commitOrphans(ctx context.Context, state orphan.State) error {
	text := ""
	if len(state.Since)+len(state.Deleted) > 0 {
		data, err := json.Marshal(state)
		if err != nil {
			return err
		}
		text = string(data)
	}
	if err := k.Records.Commit(ctx, k.recordOrphans(), text); err != nil {
		return fmt.Errorf("record since when CLBs have no Service, so that the next leader knows: %w", err)
	}
	return nil
}

// members are the ids of the instances of the nodes.
func (k *Kind) members(ctx context.Context) (map[string]bool, error) {
	list, err := k.Orphans.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
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

// orphans reads the CLBs of the cluster, then the Services, so that a Service which comes meanwhile is not missed.
func (k *Kind) orphans(ctx context.Context) (found []orphan.Orphan, living int, services []*corev1.Service, err error) {
	list, err := k.Product.Search(ctx, observe.Query{Tag: ownership.TagCluster, Value: k.Desired.ClusterID})
	if err != nil {
		return nil, 0, nil, fmt.Errorf("list the CLBs of the cluster: %w", err)
	}
	if len(list) == 0 {
		return nil, 0, nil, nil
	}
	if services, err = listServices(ctx, k.Orphans.Client); err != nil {
		return nil, 0, nil, err
	}
	found, living = orphan.Find(k.Desired.ClusterID, k.Product.Marks().Finalizer, list, services)
	return found, living, services, nil
}
