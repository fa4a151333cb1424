package readiness

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func check(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestWaiting: a pod waits for a Service while nothing but its gate is missing.
func TestWaiting(t *testing.T) {
	t.Parallel()
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: status}
	}
	ready := condition(corev1.ContainersReady, corev1.ConditionTrue)
	tests := []struct {
		name       string
		gates      []corev1.PodConditionType
		conditions []corev1.PodCondition
		deleted    bool
		want       []string
	}{
		{name: "no gate", conditions: []corev1.PodCondition{ready}},
		{name: "gate of another controller", gates: []corev1.PodConditionType{"example.com/gate"}, conditions: []corev1.PodCondition{ready}},
		{name: "gate without a Service", gates: []corev1.PodConditionType{Prefix}, conditions: []corev1.PodCondition{ready}},
		{name: "containers not ready", gates: []corev1.PodConditionType{Gate("web")}},
		{name: "waits", gates: []corev1.PodConditionType{Gate("web")}, conditions: []corev1.PodCondition{ready}, want: []string{"default/web"}},
		{name: "goes", gates: []corev1.PodConditionType{Gate("web")}, conditions: []corev1.PodCondition{ready}, deleted: true},
		{
			name: "for one of two", gates: []corev1.PodConditionType{Gate("web"), Gate("api")},
			conditions: []corev1.PodCondition{ready, condition(Gate("web"), corev1.ConditionTrue), condition(Gate("api"), corev1.ConditionFalse)},
			want:       []string{"default/api"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}, Status: corev1.PodStatus{Conditions: tt.conditions}}
			for _, gate := range tt.gates {
				pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
			}
			if tt.deleted {
				pod.DeletionTimestamp = new(metav1.Now())
			}
			check(t, "waits for", tt.want, append([]string(nil), Waiting(pod)...))
		})
	}
}

// TestJudge: the worst of what the listeners find counts.
func TestJudge(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		found []Health
		want  Health
	}{
		{name: "no listener", want: Unknown},
		{name: "good", found: []Health{Good, Good}, want: Good},
		{name: "one doesn't know", found: []Health{Good, Unknown}, want: Unknown},
		{name: "one fails", found: []Health{Good, Unknown, Bad}, want: Bad},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			check(t, "health", tt.want, Judge(tt.found))
		})
	}
}

// TestPolls: questions become more seldom while nothing changes, and soon again when a pod comes or goes.
func TestPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Polls
		asked := func(d time.Duration, pods ...types.UID) (n int) {
			for end := time.Now().Add(d); time.Now().Before(end); {
				ask, after := p.Wait(pods)
				if ask {
					n++
					after = p.Asked()
				}
				<-time.After(after)
			}
			return n
		}
		check(t, "in an hour", 123, asked(time.Hour, "a"))
		check(t, "in ten seconds after another came", 3, asked(10*time.Second, "a", "b"))
		check(t, "waiting time of the first", true, p.Since("a") > time.Hour)
		check(t, "waiting time of the second", true, p.Since("b") < time.Minute)
		if ask, _ := p.Wait(nil); ask {
			t.Error("asks for nobody")
		}
		check(t, "waiting time of nobody", time.Duration(0), p.Since("a"))
	})
}
