package orphan

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

const cluster = "c-1"

func clb(tags ...string) *slbv1.LoadBalancer {
	lb := &slbv1.LoadBalancer{LoadBalancerId: "lb-1", Address: "47.0.0.1"}
	for i := 0; i+1 < len(tags); i += 2 {
		lb.Tags = append(lb.Tags, &commonv1.Tag{Key: tags[i], Value: tags[i+1]})
	}
	return lb
}

// TestFind: only a CLB with both tags of the cluster, whose Service is gone, is an orphan; one that another Service has to do with is kept.
func TestFind(t *testing.T) {
	t.Parallel()
	ours := []string{ownership.TagCluster, cluster, ownership.TagService, "agone"}
	service := func(change func(*corev1.Service)) *corev1.Service {
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "there"},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
		change(svc)
		return svc
	}
	tests := map[string]struct {
		clusterID string
		tags      []string
		service   func(*corev1.Service)
		orphan    bool
		kept      bool
	}{
		"its Service is gone":  {cluster, ours, func(*corev1.Service) {}, true, false},
		"its Service is there": {cluster, ours, func(svc *corev1.Service) { svc.UID = "gone" }, false, false},
		"its Service asks for none any more": {cluster, ours, func(svc *corev1.Service) {
			svc.UID, svc.Spec.Type = "gone",
				corev1.ServiceTypeClusterIP
		}, true, false},
		"its Service gives it up": {cluster, ours, func(svc *corev1.Service) {
			svc.UID, svc.Spec.Type, svc.Finalizers = "gone", corev1.ServiceTypeClusterIP, []string{"its/finalizer"}
		}, false, false},
		"of another cluster": {cluster, []string{ownership.TagCluster, "c-2", ownership.TagService, "agone"},
			func(*corev1.Service) {}, false, false},
		"without the cluster's tag": {cluster, ours[2:], func(*corev1.Service) {}, false, false},
		"without the Service's tag": {cluster, ours[:2], func(*corev1.Service) {}, false, false},
		"a user's":                  {cluster, append([]string{ownership.TagReused, "true"}, ours...), func(*corev1.Service) {}, false, false},
		"no id of the cluster": {"", []string{ownership.TagCluster, "", ownership.TagService, "agone"},
			func(*corev1.Service) {}, false, false},
		"a Service names it": {cluster, ours, func(svc *corev1.Service) {
			svc.Annotations = map[string]string{annotation.LegacyPrefix + annotation.ID: "lb-1"}
		}, true, true},
		"a Service has its label": {cluster, ours,
			func(svc *corev1.Service) { svc.Labels = map[string]string{ownership.LabelLoadBalancerID: "lb-1"} }, true, true},
		"a Service shows its address": {cluster, ours, func(svc *corev1.Service) {
			svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "47.0.0.1"}}
		}, true, true},
	}
	for name, test := range tests {
		found, _ := Find(test.clusterID, "its/finalizer", []model.Observed{{InstanceID: "lb-1", Instance: clb(test.tags...)}}, nil,
			[]*corev1.Service{service(test.service)})
		if len(found) == 1 != test.orphan || test.orphan && (found[0].Kept != "") != test.kept {
			t.Errorf("%s: found %+v", name, found)
		}
	}
}

// TestInUse: anything on a CLB that this cluster hasn't made, or that serves others, keeps it.
func TestInUse(t *testing.T) {
	t.Parallel()
	own := ownership.Owner{Service: "web", Namespace: "default", ClusterID: cluster}
	other := ownership.Owner{Service: "web", Namespace: "default", ClusterID: "c-2"}
	whole := func(listener, group string, servers ...model.Server) model.Observed {
		return model.Observed{
			InstanceID: "lb-1", ConfigKnown: true, Instance: clb(ownership.TagCluster, cluster, ownership.TagService, "agone"),
			Listeners: []model.Listener{{Config: &slbv1.ListenerConfig{Description: new(listener)}}},
			Groups:    []model.Group{{ID: "rsp-1", Name: group, Servers: servers}},
		}
	}
	node := model.Server{ServerKey: model.ServerKey{Type: model.ECS, ID: "i-1"}}
	stranger := model.Server{ServerKey: model.ServerKey{Type: model.ECS, ID: "i-9"}}
	pod := model.Server{ServerKey: model.ServerKey{Type: model.ENI, ID: "i-1"}}
	partial := whole(own.Listener(80), own.Group("30080"))
	partial.ConfigKnown = false
	unread := whole(own.Listener(80), own.Group("30080"))
	unread.OtherGroups = map[string]string{"rsp-2": "mine"}
	retagged := whole(own.Listener(80), own.Group("30080"))
	retagged.Instance = clb(ownership.TagCluster, cluster)
	tests := map[string]struct {
		o    model.Observed
		kept bool
	}{
		"nothing on it":                       {model.Observed{ConfigKnown: true, Instance: partial.Instance}, true},
		"no server":                           {whole(own.Listener(80), own.Group("30080")), true},
		"only ours":                           {whole(own.Listener(80), own.Group("30080"), node), false},
		"a listener made by hand":             {whole("by hand", own.Group("30080"), node), true},
		"a listener of another cluster":       {whole(other.Listener(80), own.Group("30080"), node), true},
		"a server group made by hand":         {whole(own.Listener(80), "mine", node), true},
		"a server group of another cluster":   {whole(own.Listener(80), other.Group("30080"), node), true},
		"a server that is no node":            {whole(own.Listener(80), own.Group("30080"), node, stranger), true},
		"a server that is no instance at all": {whole(own.Listener(80), own.Group("30080"), pod), true},
		"listeners that weren't read":         {partial, true},
		"server groups that weren't read":     {unread, true},
		"other tags than before":              {retagged, true},
	}
	for name, test := range tests {
		if kept := InUse(test.o, cluster, map[string]bool{"i-1": true}); (kept != "") != test.kept {
			t.Errorf("%s: kept because %q", name, kept)
		}
	}
}

// TestFindThings: a thing without its load balancer is an orphan, unless a Service that is there has its mark, or something uses it.
func TestFindThings(t *testing.T) {
	t.Parallel()
	there := &corev1.Service{ObjectMeta: metav1.ObjectMeta{UID: "there"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	thing := model.Thing{Kind: model.ThingGroup, ID: "sgp-1", Name: "k8s.80.TCP.gone.default.c-1", Mark: "agone"}
	for name, tt := range map[string]struct {
		change func(*model.Thing)
		beside []model.Observed
		orphan bool
	}{
		"nothing uses it":        {func(*model.Thing) {}, nil, true},
		"something uses it":      {func(t *model.Thing) { t.UsedBy = "nlb-of-somebody" }, nil, false},
		"its Service is there":   {func(t *model.Thing) { t.Mark = "athere" }, nil, false},
		"goes with its balancer": {func(*model.Thing) {}, []model.Observed{{Instance: clb(ownership.TagService, "agone")}}, false},
	} {
		of := thing
		tt.change(&of)
		orphans, _ := Find(cluster, "its/finalizer", tt.beside, []model.Thing{of}, []*corev1.Service{there})
		if found := len(orphans) == 1 && orphans[0].LoadBalancer == "sgp-1"; found != tt.orphan || len(orphans) > 1 {
			t.Errorf("%s: orphans %v", name, orphans)
		}
	}
}

// TestCopiesOfAList: of two access lists with one name and mark, one may be somebody's copy.
func TestCopiesOfAList(t *testing.T) {
	t.Parallel()
	list := model.Thing{Kind: model.ThingList, ID: "acl-1", Name: "k8s-clb-agone", Mark: "agone"}
	other := list
	other.ID = "acl-2"
	for n, things := range [][]model.Thing{{list}, {list, other}} {
		orphans, _ := Find(cluster, "its/finalizer", nil, things, nil)
		if len(orphans) != len(things) {
			t.Fatalf("%d lists: orphans %v", len(things), orphans)
		}
		for _, o := range orphans {
			if kept := o.Kept != ""; kept != (n > 0) {
				t.Errorf("%d lists: %s is kept: %t (%s)", len(things), o.LoadBalancer, kept, o.Kept)
			}
		}
	}
}

// TestDecide: an orphan is due once it has been one for the grace without a break; the budget counts what earlier leaders deleted.
func TestDecide(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(hours int) time.Time { return start.Add(time.Duration(hours) * time.Hour) }
	orphans := func(n int) (list []Orphan) {
		for i := range n {
			list = append(list, Orphan{LoadBalancer: fmt.Sprint("lb-", i)})
		}
		return list
	}
	p := Policy{Grace: 48 * time.Hour, PerDay: 2}
	ids := func(list []Orphan) (ids []string) {
		for _, o := range list {
			ids = append(ids, o.LoadBalancer)
		}
		return ids
	}
	var state State
	var due []Orphan
	step := func(hours int, list []Orphan, living int, want ...string) {
		t.Helper()
		due, state = Decide(at(hours), list, living, state, p)
		if diff := cmp.Diff(want, ids(due)); diff != "" {
			t.Errorf("after %d hours (-want +got):\n%s", hours, diff)
		}
		for range due {
			state.Deleted = append(state.Deleted, at(hours))
		}
	}
	step(0, orphans(3), 20)
	step(47, orphans(3), 20)
	step(48, orphans(3), 20, "lb-0", "lb-1")
	step(49, orphans(3)[2:], 20)
	step(72, nil, 20) // lb-2 is no orphan for a moment.
	step(73, orphans(3)[2:], 20)
	step(120, orphans(3)[2:], 20)
	step(121, orphans(3)[2:], 20, "lb-2")

	state = State{}
	step(0, orphans(3), 0)
	step(50, orphans(3), 0, "lb-0") // Half of all is the most.

	kept := []Orphan{{LoadBalancer: "lb-1", Kept: "a Service names it"}}
	state = State{}
	step(0, kept, 20)
	step(100, kept, 20)
	if Doubt(0) == "" || Doubt(1) != "" {
		t.Error("only load balancers of Services that exist show that the lists are those of this cluster")
	}
}

// TestOnUsers: what Services that are gone have left on a user's load balancer is reported and never deleted; what is kept there, another
// cluster's, and what people have made isn't reported.
func TestOnUsers(t *testing.T) {
	t.Parallel()
	gone := ownership.Owner{Service: "gone", Namespace: "default", ClusterID: cluster}
	long := ownership.Owner{Namespace: "a-namespace-with-a-long-name-too", ClusterID: cluster,
		Service: "a-service-whose-name-is-as-long-as-kubernetes-allows-it-to-be-x"}
	elsewhere := ownership.Owner{Service: "gone", Namespace: "default", ClusterID: "c-2"}
	there := []*corev1.Service{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}}
	const left = "server group k8s/1/gone/default/c-1"
	kept := func(o ownership.Owner) []string { key, value := o.Kept(); return []string{key, value} }
	for what, tt := range map[string]struct {
		tags     []string
		listener string
		group    string
		want     string
	}{
		"nothing":              {},
		"by hand":              {listener: "front", group: "mine"},
		"of a Service that is": {listener: "k8s/80/web/default/c-1", group: "k8s/30080/web/default/c-1"},
		"of another cluster":   {listener: elsewhere.Listener(80)},
		"of one that is gone": {listener: gone.Listener(80), group: gone.Group("30080"),
			want: "listener k8s/80/gone/default/c-1, server group k8s/30080/gone/default/c-1"},
		"of an NLB":                  {listener: gone.Dotted("80", "tcp"), want: "listener k8s.80.TCP.gone.default.c-1"},
		"kept":                       {tags: kept(gone), listener: gone.Listener(80), group: gone.Group("30080")},
		"kept on an NLB":             {tags: kept(gone), listener: gone.Dotted("80", "tcp")},
		"kept by a long name":        {tags: kept(long), group: long.Group("30080")},
		"left by a long name":        {group: long.Group("30080"), want: "server group " + long.Group("30080")},
		"kept in another cluster":    {tags: kept(elsewhere), group: gone.Group("1"), want: left},
		"kept, but another's":        {tags: kept(long), group: gone.Group("1"), want: left},
		"a tag that is made up":      {tags: []string{"kubernetes.kept.by.user.x", "default/gone"}, group: gone.Group("1"), want: left},
		"a tag that says too little": {tags: []string{kept(gone)[0], "gone"}, group: gone.Group("1"), want: left},
	} {
		lb := model.Observed{InstanceID: "lb-1", Instance: clb(tt.tags...), OtherGroups: map[string]string{"rsp-1": tt.group},
			Listeners: []model.Listener{{Config: &slbv1.ListenerConfig{Description: &tt.listener}}}}
		got := ""
		for _, o := range OnUsers(cluster, []model.Observed{lb}, there) {
			if got = o.Name; o.LoadBalancer != "lb-1" || o.Kept == "" || o.Thing != model.ThingLeft {
				t.Errorf("%s: %+v", what, o)
			}
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", what, got, tt.want)
		}
		if found := OnUsers("", []model.Observed{lb}, there); len(found) > 0 {
			t.Errorf("%s: without an id of the cluster %v is found", what, found)
		}
	}
}
