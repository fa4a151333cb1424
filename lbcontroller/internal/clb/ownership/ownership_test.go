package ownership

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNamesOfTheExistingCCM(t *testing.T) {
	t.Parallel()
	o := Owner{Service: "web", Namespace: "default", ClusterID: "c-1"}
	for got, want := range map[string]string{
		DefaultName("5e4dbfc9-c2ae-4642-b033-5607860aef6a"): "a5e4dbfc9c2ae4642b0335607860aef6",
		DefaultName("short"): "ashort",
		o.Listener(80):       "k8s/80/web/default/c-1",
		o.Group("30080"):     "k8s/30080/web/default/c-1",
		o.Group("http"):      "k8s/http/web/default/c-1",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestOwns(t *testing.T) {
	t.Parallel()
	o := Owner{Service: "web", Namespace: "default", ClusterID: "c-1"}
	for text, want := range map[string]bool{
		"k8s/80/web/default/c-1":   true,
		"k8s/http/web/default/c-1": true,
		"k8s/80/web/default/c-2":   false,
		"k8s/80/web/other/c-1":     false,
		"k8s/80/api/default/c-1":   false,
		"k8s//web/default/c-1":     false,
		"k8s/80/web/default":       false,
		"80/web/default/c-1":       false,
		"by hand":                  false,
		"":                         false,
	} {
		if got := o.Owns(text); got != want {
			t.Errorf("%q: got %t", text, got)
		}
	}
}

func TestMadeFor(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Owner{
		"k8s/80/web/default/c-1": {"web", "default", "c-1"},
		"k8s/http/api/other/c-2": {"api", "other", "c-2"},
		"k8s//web/default/c-1":   {},
		"k8s/80/web/default":     {},
		"k8s/80/web/default/c/d": {},
		"x/80/web/default/c-1":   {},
		"by hand":                {},
		"":                       {},
	} {
		if got, ok := MadeFor(text); got != want || ok != (want != Owner{}) {
			t.Errorf("%q: got %v, %t", text, got, ok)
		}
	}
}

func TestMarkProperties(t *testing.T) {
	t.Parallel()
	label := rapid.StringMatching(`[a-z]([a-z0-9-]{0,61}[a-z0-9])?`)
	owner := rapid.Custom(func(t *rapid.T) Owner {
		return Owner{label.Draw(t, "service"), label.Draw(t, "namespace"), rapid.StringMatching(`c[a-z0-9]{0,32}`).Draw(t, "cluster")}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := owner.Draw(t, "a"), owner.Draw(t, "b")
		name := a.Group(rapid.StringMatching(`[a-z0-9-]{1,15}`).Draw(t, "port"))
		if len(name) > maxName || strings.Count(name, "/") != 4 {
			t.Fatalf("name %q of %d characters", name, len(name))
		}
		if !a.Owns(name) || a != b && b.Owns(name) || !a.Owns(a.Listener(80)) {
			t.Fatalf("ownership of %q: a %t, b %t", name, a.Owns(name), b.Owns(name))
		}
	})
}
