package shadow

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/services/reconcile"
)

// TestAwait: what is missing is logged when it changes, looked at once a minute, and nothing is missing in the end. Where
// the API server doesn't say, nothing new is missing, and it is asked again soon.
func TestAwait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := &Loop{kind: "Gateway", log: slog.New(slog.NewTextHandler(&log, nil)),
			gather: reconcile.NewGather(gatherQuiet, gatherMax, func(context.Context) {})}
		answers, said, begin := []string{"!down", "!down", "routes, grants", "routes, grants", "!down", "routes", "routes", ""}, []string{},
			time.Now()
		if !l.Await(t.Context(), "install them", func() (string, error) {
			said = append(said, l.Missing())
			answer := answers[0]
			answers = answers[1:]
			if trouble, is := strings.CutPrefix(answer, "!"); is {
				return "", errors.New(trouble)
			}
			return answer, nil
		}) {
			t.Error("it gave up")
		}
		for text, want := range map[string]int{"kind=Gateway missing=": 2, "kind=Gateway error=down": 2} {
			if n := strings.Count(log.String(), text); n != want {
				t.Errorf("logged %s %d times:\n%s", text, n, log.String())
			}
		}
		if got := strings.Join(said, "; "); got != "; ; ; routes, grants; routes, grants; routes, grants; routes; routes" || l.Missing() != "" {
			t.Errorf("missing were %q, and now %q", got, l.Missing())
		}
		if took := time.Since(begin); took != 4*lookAgain+3*askAgain {
			t.Errorf("it took %s", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if l.Await(ctx, "", func() (string, error) { return "routes", nil }) ||
			l.Await(ctx, "", func() (string, error) { return "", errors.New("down") }) {
			t.Error("it went on after the end")
		}
	})
}

// TestMissing: what isn't installed, what is there in another version only, and what can't be known are different things.
func TestMissing(t *testing.T) {
	t.Parallel()
	list := func(groupVersion string, names ...string) *metav1.APIResourceList {
		l := &metav1.APIResourceList{GroupVersion: groupVersion}
		for _, name := range names {
			l.APIResources = append(l.APIResources, metav1.APIResource{Name: name})
		}
		return l
	}
	for name, c := range map[string]struct {
		there []*metav1.APIResourceList
		fails string
		want  string
	}{
		"nothing": {[]*metav1.APIResourceList{list("other.io/v1", "routes")}, "", "routes, grants"},
		"all":     {[]*metav1.APIResourceList{list("x.io/v1", "grants", "routes")}, "", ""},
		"one":     {[]*metav1.APIResourceList{list("x.io/v1", "routes")}, "", "grants"},
		"an older version": {[]*metav1.APIResourceList{list("x.io/v1beta1", "routes", "grants"), list("x.io/v1", "grants")}, "",
			"routes (only v1beta1)"},
		"two others": {[]*metav1.APIResourceList{list("x.io/v1alpha2", "routes"), list("x.io/v1alpha3", "routes")}, "",
			"routes (only v1alpha2, v1alpha3), grants"},
		"no answer":        {[]*metav1.APIResourceList{list("x.io/v1", "grants")}, "group", "!down"},
		"no second answer": {[]*metav1.APIResourceList{list("x.io/v1", "grants")}, "resource", "!down"},
	} {
		kube := fake.NewSimpleClientset()
		kube.Resources = c.there
		kube.PrependReactor("get", c.fails, func(kubetesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("down") })
		got, err := Missing(kube.Discovery(), "x.io", "v1", "routes", "grants")
		if err != nil {
			got = "!" + err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// runs makes a Loop and runs it for a time, and says after how long each pass begins. do is called after a minute.
func runs(t *testing.T, during time.Duration, pass func(l *Loop, n int) []error, do func(l *Loop)) (at []time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		begin, l := time.Now(), &Loop{kind: "Gateway", log: slog.New(slog.DiscardHandler), read: map[types.NamespacedName]int{}}
		l.pass = func(context.Context) []error {
			at = append(at, time.Since(begin).Truncate(time.Second))
			return pass(l, len(at))
		}
		l.gather = reconcile.NewGather(gatherQuiet, gatherMax, l.run)
		time.AfterFunc(time.Minute, func() { do(l) })
		time.AfterFunc(during, cancel)
		if err := l.Run(ctx); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
	return at
}

// TestRetries: passes that fail are made again after a second, and twice as long after each further one, up to a minute.
// Those that don't are not.
func TestRetries(t *testing.T) {
	t.Parallel()
	got := runs(t, 10*time.Minute, func(_ *Loop, n int) []error {
		if n == 9 || n > 10 {
			return []error{nil}
		}
		return []error{nil, errors.New("no")}
	}, func(*Loop) {})
	var gaps []string
	for i := range got[1:] {
		gaps = append(gaps, (got[i+1] - got[i]).String())
	}
	if text := strings.Join(gaps, " "); text != "1s 2s 4s 8s 16s 32s 1m0s 1m0s" {
		t.Errorf("gaps %s", text)
	}
}

// TestChangeOfAService asks for a pass if the last pass has looked at it; what only one before has looked at doesn't matter.
func TestChangeOfAService(t *testing.T) {
	t.Parallel()
	name := func(n string) types.NamespacedName { return types.NamespacedName{Namespace: "red", Name: n} }
	pass := func(l *Loop, n int) []error {
		if l.looksAt(name("stays")); n == 1 {
			l.looksAt(name("goes"))
			l.Trigger()
		}
		return nil
	}
	for changed, want := range map[types.NamespacedName]int{name("stays"): 3, name("goes"): 2, name("other"): 2, {}: 3} {
		if got := runs(t, 2*time.Minute, pass, func(l *Loop) { l.Changed(changed) }); len(got) != want {
			t.Errorf("%s: %d passes, want %d", changed, len(got), want)
		}
	}
}
