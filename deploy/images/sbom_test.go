package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMaterials reads them from a Go program that is at hand: this test.
func TestMaterials(t *testing.T) {
	t.Parallel()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := materials("lbcontroller", "1.2.3", time.Unix(0, 0), binary)
	if err != nil {
		t.Fatal(err)
	}
	find := func(name string) bomPart {
		i := slices.IndexFunc(b.Components, func(p bomPart) bool { return p.Name == name })
		if i < 0 {
			t.Errorf("%s is not among %v", name, b.Components)
			return bomPart{}
		}
		return b.Components[i]
	}
	if yaml := find("sigs.k8s.io/yaml"); !strings.HasPrefix(yaml.PURL, "pkg:golang/sigs.k8s.io/yaml@v1.") {
		t.Errorf("a module is %+v", yaml)
	}
	if std := find("stdlib"); !strings.HasPrefix(std.PURL, "pkg:golang/stdlib@1.") {
		t.Errorf("the standard library is %+v", std)
	}
	if b.Metadata.Component.Version != "1.2.3" || b.Metadata.Timestamp != "1970-01-01T00:00:00Z" {
		t.Errorf("it is of %+v", b.Metadata)
	}
	if _, err := materials("x", "1", time.Now(), []byte("no program")); err == nil {
		t.Error("something else has materials")
	}
}
