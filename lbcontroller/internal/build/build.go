// Package build turns a Service, its EndpointSlices and the nodes into what is wanted in the cloud. It is pure, and all
// validation of what users write happens here.
package build

import (
	"fmt"
	"hash/fnv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/mark"
	"alicloud-controllers.dev/lbcontroller/internal/model"
	"alicloud-controllers.dev/lbcontroller/internal/nodeset"
)

// Config is what all Services of the cluster share.
type Config struct {
	ClusterID       string
	VPCID           string
	VSwitchIDs      []string
	ResourceGroupID string
	// PodBackends makes pods the backends of Services that don't say.
	PodBackends bool
}

// Input is what is known about one Service.
type Input struct {
	Service *corev1.Service
	Slices  []*discoveryv1.EndpointSlice
	Nodes   *nodeset.Set
}

// Result is what the Service asks for.
type Result struct {
	Desired *model.Desired
	// Hostname and EIP tell what to publish instead of the address of the instance.
	Hostname string
	EIP      bool
	// Warnings tell what was left out, for people.
	Warnings []string
}

// InvalidError lists everything that is wrong with a Service.
type InvalidError struct {
	Problems []string
	// Backends has the wanted vServer groups and nothing else: what is wrong must not cost a CLB that works its servers. It is
	// nil if what is wrong concerns them.
	Backends *model.Desired
}

// Error joins the problems.
func (e *InvalidError) Error() string { return strings.Join(e.Problems, "; ") }

// builder collects the problems and warnings of one Service.
type builder struct {
	Config
	Input
	values   annotation.Values
	owner    mark.Owner
	mode     Mode
	problems []string
	warnings []string
}

// Build returns what the Service asks for, or an *InvalidError with every problem.
func Build(cfg Config, in Input) (Result, error) {
	svc := in.Service
	values, problems := annotation.Parse(svc.Annotations)
	b := &builder{Config: cfg, Input: in, values: values, mode: ModeOf(cfg, svc),
		owner: mark.Owner{Service: svc.Name, Namespace: svc.Namespace, ClusterID: cfg.ClusterID}}
	backendsKnown := true
	for _, p := range problems {
		b.problems = append(b.problems, p.String())
		backendsKnown = backendsKnown && p.Scope != annotation.Backends
	}
	d := &model.Desired{Owner: b.owner, UID: string(svc.UID)}
	d.Instance = b.instance()
	d.Listeners = b.listeners()
	d.Groups = b.groups()
	if len(svc.Spec.LoadBalancerSourceRanges) > 0 {
		b.warn("spec.loadBalancerSourceRanges has no effect on a CLB; use the annotations %sacl-status, acl-id and acl-type", annotation.Prefix)
	}
	if len(b.problems) > 0 {
		invalid := &InvalidError{Problems: b.problems}
		if backendsKnown {
			invalid.Backends = &model.Desired{Owner: d.Owner, UID: d.UID, Groups: d.Groups}
		}
		return Result{}, invalid
	}
	return Result{
		Desired:  d,
		Hostname: values.Text(annotation.Hostname),
		EIP:      values.Has(annotation.ExternalIPType),
		Warnings: b.warnings,
	}, nil
}

func (b *builder) problem(format string, args ...any) {
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

// misfit reports an annotation whose value doesn't fit the rest of the Service.
func (b *builder) misfit(key, want string) {
	b.problems = append(b.problems, b.values.Problem(key, want).String())
}

func (b *builder) warn(format string, args ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
}

// vswitch picks one of the configured vSwitches, always the same for a Service so that a repeated creation is the same request.
func (b *builder) vswitch() string {
	if len(b.VSwitchIDs) == 0 {
		return ""
	}
	h := fnv.New32a()
	h.Write([]byte(b.Service.UID)) // A hash never fails to write.
	return b.VSwitchIDs[int(h.Sum32()%uint32(len(b.VSwitchIDs)))]
}
