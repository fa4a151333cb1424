package backend

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestWeightsOfSlices: the pods of each name share its part of the traffic, however many they are.
func TestWeightsOfSlices(t *testing.T) {
	t.Parallel()
	slice := func(manager, note string, ips ...string) *discoveryv1.EndpointSlice {
		s := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Labels: map[string]string{discoveryv1.LabelManagedBy: manager}, Annotations: map[string]string{AnnotationWeight: note},
			},
			AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: new("tcp-80"), Port: new(int32(8080))}},
		}
		for _, ip := range ips {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{strings.TrimSuffix(ip, "!")},
				Conditions: discoveryv1.EndpointConditions{Ready: new(!strings.HasSuffix(ip, "!"))}})
		}
		return s
	}
	ours := func(note string, ips ...string) *discoveryv1.EndpointSlice { return slice(SlicesManager, note, ips...) }
	for name, tt := range map[string]struct {
		slices []*discoveryv1.EndpointSlice
		each   *int32
		want   map[string]int32
	}{
		"no weights": {slices: []*discoveryv1.EndpointSlice{ours("", "a", "b")}, want: map[string]int32{"a": 100, "b": 100}},
		"a pod of each": {slices: []*discoveryv1.EndpointSlice{ours("70 v1", "a"), ours("30 v2", "b")},
			want: map[string]int32{"a": 100, "b": 43}},
		"more pods of one": {slices: []*discoveryv1.EndpointSlice{ours("99 v1", "a", "b", "c"), ours("1 v2", "d")},
			want: map[string]int32{"a": 100, "b": 100, "c": 100, "d": 3}},
		"slices with one name": {slices: []*discoveryv1.EndpointSlice{ours("50 v1", "a"), ours("50 v1", "b"), ours("50 v2",
			"c")}, want: map[string]int32{"a": 50, "b": 50, "c": 100}},
		"only ready pods count": {slices: []*discoveryv1.EndpointSlice{ours("50 v1", "a", "b!"), ours("50 v2", "c")},
			want: map[string]int32{"a": 100, "c": 100}},
		"none for one": {slices: []*discoveryv1.EndpointSlice{ours("1 v1", "a"), ours("0 v2", "b")},
			want: map[string]int32{"a": 100, "b": 0}},
		"none for all": {slices: []*discoveryv1.EndpointSlice{ours("0 v1", "a"), ours("0 v2", "b")},
			want: map[string]int32{"a": 0, "b": 0}},
		"less than the finest": {slices: []*discoveryv1.EndpointSlice{ours("1000000 v1", "a"), ours("1 v2", "b")},
			want: map[string]int32{"a": 100, "b": 1}},
		"a pod of two names": {slices: []*discoveryv1.EndpointSlice{ours("50 v1", "a", "b"), ours("50 v2", "b")},
			want: map[string]int32{"a": 33, "b": 100}},
		"annotation default-weight is the highest": {slices: []*discoveryv1.EndpointSlice{ours("1 v1", "a"), ours("1 v2", "b", "c")},
			each: new(int32(50)), want: map[string]int32{"a": 50, "b": 25, "c": 25}},
		"slices of others": {slices: []*discoveryv1.EndpointSlice{slice("me", "1 v1", "a"), slice("me", "99 v2", "b")},
			want: map[string]int32{"a": 100, "b": 100}},
		"what can't be read": {slices: []*discoveryv1.EndpointSlice{ours("-1 v1", "a"), ours("x v2", "b"), ours("5", "c")},
			want: map[string]int32{"a": 100, "b": 100, "c": 100}},
	} {
		source := Source{Nodes: New(nil), Slices: tt.slices}
		choice := source.Choose(Policy{Mode: Pods, Each: tt.each}, corev1.ServicePort{Name: "tcp-80", Port: 80,
			TargetPort: intstr.FromString("tcp-80")})
		got := map[string]int32{}
		for share := range choice.All() {
			got[share.IP] = share.Weight
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzSliceWeight: what is read is written back as it was, and within its bounds.
func FuzzSliceWeight(f *testing.F) {
	for _, note := range []string{"70 shop/v1:80", "0 a", "1000001 a", "-1 a", " a", "7", "07 a", "+7 a"} {
		f.Add(note)
	}
	f.Fuzz(func(t *testing.T, note string) {
		s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{discoveryv1.LabelManagedBy: SlicesManager}, Annotations: map[string]string{AnnotationWeight: note},
		}}
		weight, name, ok := SliceWeight(s)
		if !ok {
			return
		}
		s.Annotations[AnnotationWeight] = fmt.Sprintf("%d %s", weight, name)
		again, nameAgain, ok := SliceWeight(s)
		if weight < 0 || weight > MaxSliceWeight || !ok || again != weight || nameAgain != name {
			t.Errorf("%q is %d %q, and then %d %q", note, weight, name, again, nameAgain)
		}
	})
}
