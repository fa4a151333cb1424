package controller

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Registration adds a kind to a controller.
type Registration struct {
	// MetricType is the value of the label type of the metrics, such as CLBType.
	MetricType string
	// Finalizer keeps a Service until the kind has released its load balancer. Every kind has its own, so that a Service that changes
	// from one to another is given up by the first.
	Finalizer string
	Kind      Kind
	// Previewer says what the kind would do.
	Previewer Previewer
	// Labels and Annotations are the keys under which the kind notes on Services what it must know later. Those that
	// another client takes off, by replacing a Service, are put back.
	Labels, Annotations []string
	// Run is what the kind does beside the passes, as long as this replica leads; nil for nothing.
	Run func(ctx context.Context) error
}

// assignment says which kinds have to do with a Service.
type assignment struct {
	// wanted is the kind whose load balancer the Service asks for; nil for none.
	wanted *Registration
	// interest is that of the wanted kind.
	interest Interest
	// release are the kinds that hold the Service and aren't wanted.
	release []Registration
	// shared are the ids of load balancers on which other Services may have something, too.
	shared []string
}

// idle reports that there is nothing to do for the Service.
func (a assignment) idle() bool { return a.wanted == nil && len(a.release) == 0 }

// assign asks every kind about a Service.
func assign(kinds []Registration, svc *corev1.Service) assignment {
	var a assignment
	for i, r := range kinds {
		interest := r.Kind.Interest(svc)
		wanted, held := interest.Wanted && a.wanted == nil, Writer{Finalizer: r.Finalizer}.Holds(svc)
		if wanted {
			a.wanted, a.interest = &kinds[i], interest
		} else if held {
			a.release = append(a.release, r)
		}
		if wanted || held {
			a.shared = append(a.shared, interest.Shared...)
		}
	}
	slices.Sort(a.shared)
	a.shared = slices.Compact(a.shared)
	return a
}

// missing is a patch of the metadata of a Service with what it had before of the marks of the kinds and lacks now.
func missing(kinds []Registration, before, svc *corev1.Service) map[string]any {
	meta := map[string]any{}
	lost := func(had, has map[string]string, keys []string) map[string]string {
		values := map[string]string{}
		for _, key := range keys {
			if _, ok := has[key]; !ok && had[key] != "" {
				values[key] = had[key]
			}
		}
		return values
	}
	var finalizers, labels, annotations []string
	for _, r := range kinds {
		if slices.Contains(before.Finalizers, r.Finalizer) && !slices.Contains(svc.Finalizers, r.Finalizer) {
			finalizers = append(finalizers, r.Finalizer)
		}
		labels, annotations = append(labels, r.Labels...), append(annotations, r.Annotations...)
	}
	if len(finalizers) > 0 {
		meta["finalizers"] = append(slices.Clone(svc.Finalizers), finalizers...)
	}
	if values := lost(before.Labels, svc.Labels, labels); len(values) > 0 {
		meta["labels"] = values
	}
	if values := lost(before.Annotations, svc.Annotations, append(annotations, AnnotationGeneration)); len(values) > 0 {
		meta["annotations"] = values
	}
	return meta
}

// PreviewersOf returns those of the kinds that have to do with a Service, in the order in which they would work on it;
// none for a Service that belongs to no kind.
func PreviewersOf(kinds []Registration, svc *corev1.Service) []Previewer {
	var list []Previewer
	a := assign(kinds, svc)
	for _, kind := range a.release {
		list = append(list, kind.Previewer)
	}
	if a.wanted != nil {
		list = append(list, a.wanted.Previewer)
	}
	return list
}
