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
		DefaultName("short"):  "ashort",
		o.Listener(80):        "k8s/80/web/default/c-1",
		o.Group("30080"):      "k8s/30080/web/default/c-1",
		o.Group("http"):       "k8s/http/web/default/c-1",
		o.Dotted("80", "tcp"): "k8s.80.TCP.web.default.c-1",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestShortenedNames: they must be the same in every version, or a vServer group would be made anew and the old one left behind.
func TestShortenedNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("s", 63)
	for name, tt := range map[string]struct {
		owner Owner
		port  string
		want  string
	}{
		"as long as it may be": {Owner{long[:61], "default", "c-1"}, "80",
			"k8s/80/sssssssssssssssssssssssssssssssssssssssssssssssssssssssssssss/default/c-1"},
		"one character too long": {Owner{long[:62], "default", "c-1"}, "80", "k8s/80/ssssssssssssssssssssss.ae34c3b997/default/c-1"},
		"everything is long": {Owner{long, strings.Repeat("n", 63), strings.Repeat("c", 33)}, "80",
			"k8s/80/sssssss.d998a03811/nnnnnnn/ccccccccccccccccccccccccccccccccc"},
		"the longest port name": {Owner{long, strings.Repeat("n", 63), strings.Repeat("c", 34)}, "port-of-15-char",
			"k8s/port-of-15-char/ssssss.7203494ee7/nnnnnnn/cccccccccccccccccccccccccccccccccc"},
		"a long cluster id is cut": {Owner{long, strings.Repeat("n", 63), strings.Repeat("c", 35)}, "80",
			"k8s/80/ssssss.7afe392a90/nnnnnnn/cccccccccccccccccccccccccccccccccc"},
	} {
		if got := tt.owner.Group(tt.port); got != tt.want || len(got) > 80 || !tt.owner.Owns(got) {
			t.Errorf("%s: got %q (%d), want %q", name, got, len(got), tt.want)
		}
	}
}

func TestOwns(t *testing.T) {
	t.Parallel()
	o := Owner{Service: "web", Namespace: "default", ClusterID: "c-1"}
	for text, want := range map[string]bool{
		"k8s/80/web/default/c-1":        true,
		"k8s/http/web/default/c-1":      true,
		"k8s/80/web/default/c-2":        false,
		"k8s/80/web/other/c-1":          false,
		"k8s/80/api/default/c-1":        false,
		"k8s//web/default/c-1":          false,
		"k8s.80.TCP.web.default.c-1":    true,
		"k8s.80_90.UDP.web.default.c-1": true,
		"k8s.80.TCP.web.other.c-1":      false,
		"k8s.80.TCP.api.default.c-1":    false,
		"k8s.80..web.default.c-1":       false,
		"k8s..TCP.web.default.c-1":      false,
		"k8s.80.web.default.c-1":        false,
		"k8s/80/web/default":            false,
		"80/web/default/c-1":            false,
		"by hand":                       false,
		"":                              false,
	} {
		if got := o.Owns(text); got != want {
			t.Errorf("%q: got %t", text, got)
		}
	}
}

func TestMadeFor(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Owner{
		"k8s/80/web/default/c-1":     {"web", "default", "c-1"},
		"k8s/http/api/other/c-2":     {"api", "other", "c-2"},
		"k8s//web/default/c-1":       {},
		"k8s.80.TCP.web.default.c-1": {"web", "default", "c-1"},
		"k8s.80..web.default.c-1":    {},
		"k8s.80.TCP..default.c-1":    {},
		"x.80.TCP.web.default.c-1":   {},
		"k8s/80/web/default":         {},
		"k8s/80/web/default/c/d":     {},
		"x/80/web/default/c-1":       {},
		"by hand":                    {},
		"":                           {},
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
		long := a.Dotted("port-of-15-char", "tcpssl")
		if len(long) > maxDotted || strings.Count(long, ".") != 5 || !a.Owns(long) || a != b && b.Owns(long) {
			t.Fatalf("name %q of %d characters: a %t, b %t", long, len(long), a.Owns(long), b.Owns(long))
		}
		if len(name) > maxName || strings.Count(name, "/") != 4 {
			t.Fatalf("name %q of %d characters", name, len(name))
		}
		if !a.Owns(name) || a != b && b.Owns(name) || !a.Owns(a.Listener(80)) {
			t.Fatalf("ownership of %q: a %t, b %t", name, a.Owns(name), b.Owns(name))
		}
	})
}

// TestReserved: users can neither set nor take off by annotation what says whose a load balancer is, nor the cloud's own tags.
func TestReserved(t *testing.T) {
	t.Parallel()
	kept, _ := Owner{Service: "web", Namespace: "default", ClusterID: "c-1"}.Kept()
	for key, want := range map[string]bool{
		TagService: true, TagCluster: true, TagReused: true, kept: true,
		"acs:rm:rgId": true, "ACS:x": true, "aliyun.x": true, "Aliyun": true,
		"team": false, "kubernetes.io/x": false, "x-acs:": false, "": false,
	} {
		if got := Reserved(key); got != want {
			t.Errorf("%q: %t", key, got)
		}
	}
}
