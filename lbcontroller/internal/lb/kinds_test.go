package lb_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// another is a kind beside CLB.
type another struct{ clb.Product }

// Marks implements lb.Product.
func (another) Marks() lb.Marks {
	return lb.Marks{Name: "ALB", Finalizer: "service.k8s.alibaba/another", MetricType: "ALBType", DottedNames: true,
		Orphans: "orphans-alb", ServersPerCall: 200}
}

// Shapes implements desired.Configurer.
func (another) Shapes(b *desired.Builder) []desired.Shape {
	var shapes []desired.Shape
	for _, port := range b.View.Service.Spec.Ports {
		shapes = append(shapes, desired.Shape{Protocol: string(port.Protocol)})
	}
	return shapes
}

// TestStateOfOrphans: what earlier versions have written down of each kind is found.
func TestStateOfOrphans(t *testing.T) {
	t.Parallel()
	check(t, "of CLBs", "orphans", clb.Product{}.Marks().Orphans)
	check(t, "of NLBs", "orphans-nlb", nlb.Product{}.Marks().Orphans)
}

// TestTwoKinds: two kinds share the metrics of a process, and each knows its own annotations.
func TestTwoKinds(t *testing.T) {
	client, registry := newCloud(t).Client(), prometheus.NewRegistry()
	shared := lb.NewShared(client, "vpc-test", registry)
	seen := map[string]bool{}
	for _, product := range []lb.Product{clb.Product{Gateway: client}, another{clb.Product{Gateway: client}}} {
		r := lb.New(lb.Config{Product: product, Shared: shared, Gateway: client, Logger: slog.New(slog.DiscardHandler), Registerer: registry})
		seen[r.Finalizer], seen[r.MetricType] = true, true
	}
	if len(seen) != 4 {
		t.Errorf("the kinds have marks in common: %v", seen)
	}
	if rows := annotation.TableFor("ALB"); len(rows) > 0 {
		t.Errorf("a kind without rows has %d", len(rows))
	}
	kind := lb.New(lb.Config{Product: another{clb.Product{Gateway: client}}, Shared: shared, Gateway: client,
		Logger: slog.New(slog.DiscardHandler)})
	svc := web(annotated(annotation.Scheduler, "wrr"))
	svc.Annotations[annotation.OwnTags] = ""
	preview := kind.Previewer.Preview(t.Context(), controller.Request{Key: webKey, Service: svc, Nodes: backend.New(nil)})
	check(t, "actions", true, strings.Contains(fmt.Sprint(preview.Actions), "create load balancer "))
	cfg := desired.Config{ClusterID: clusterID, DottedNames: true}
	result, err := desired.Build(cfg, desired.Input{View: cfg.View(svc), Nodes: backend.New(nil)}, another{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "group", "k8s.30080.TCP.web.default.c-test", result.Desired.Groups[0].Name)
	check(t, "ours", true, result.Desired.Owner.Owns(result.Desired.Groups[0].Name))
}
