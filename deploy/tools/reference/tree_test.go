package main

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`"a" + "b"`: "ab", "true": "true", "0.7": "0.7", "five": "5", "config.Duration(4 * time.Hour)": "4h", "five * time.Minute": "5m",
		"time.Second": "1s", "20 * time.Millisecond": "20ms", "90 * time.Second": "1m30s",
	}
	s := &source{values: map[string]ast.Expr{"five": &ast.BasicLit{Value: "5"}}}
	for input, want := range tests {
		t.Run(input, func(t *testing.T) {
			t.Parallel()
			e, err := parser.ParseExpr(input)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := s.text(e); err != nil || got != want {
				t.Errorf("got %q, error %v, want %q", got, err, want)
			}
		})
	}
	for _, input := range []string{"f(1, 2)", "func() {}", `"a" * "b"`} {
		e, err := parser.ParseExpr(input)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.text(e); err == nil {
			t.Errorf("%s: got %q, want an error", input, got)
		}
	}
}

// TestServer reads the comments of a service as protoc-gen-go-grpc writes them.
func TestServer(t *testing.T) {
	t.Parallel()
	const code = `package p

// ThingServiceServer is the server API for ThingService service.
// for forward compatibility.
//
// ThingService makes things.
type ThingServiceServer interface {
	// MakeThing makes one.
	MakeThing()
	mustEmbed()
}

// ThingServiceServerOther is something else.
type ThingServiceServerOther interface {
	// MakeThing is not it.
	MakeThing()
}
`
	file, err := parser.ParseFile(token.NewFileSet(), "", code, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	about, methods := (&source{files: []*ast.File{file}}).server("ThingService")
	if about != "ThingService makes things." || methods["MakeThing"] != "MakeThing makes one.\n" {
		t.Errorf("got %q, %q", about, methods)
	}
}

// TestConfigPage: a key is described by its field's own comment, which may name a default that the process computes.
func TestConfigPage(t *testing.T) {
	t.Parallel()
	const code = `package config

type Config struct {
	// Burst is how many calls may go at once. Default: 2000.
	Burst int ` + "`json:\"burst\"`" + `
	// Quiet is a time. Default: 1s.
	Quiet Duration ` + "`json:\"quiet\"`" + `
	Part Part ` + "`json:\"part\"`" + `
	// Names are texts.
	Names []string ` + "`json:\"names\"`" + `
	// Parts are further ones.
	Parts []Part ` + "`json:\"parts\"`" + `
}

type Part struct {
	// On switches it on.
	On bool ` + "`json:\"on\"`" + `
	// Host is a host. Default: that of the region.
	Host string ` + "`json:\"host\"`" + `
}

func Default() Config { return Config{Quiet: 5} }
`
	page := func(code string) (string, error) {
		file, err := parser.ParseFile(token.NewFileSet(), "", code, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		s := &source{files: []*ast.File{file}}
		k := &keys{table: newTable("key", "type", "default", "meaning"), defaults: map[string]string{}}
		if err := k.readDefaults(s); err != nil {
			t.Fatal(err)
		}
		err = k.fields(s, "Config", place{})
		return k.table.String(), err
	}
	got, err := page(code)
	const want = "| key | type | default | meaning |\n|---|---|---|---|\n" +
		"| `burst` | number | `2000` | `burst` is how many calls may go at once. |\n" +
		"| `quiet` | number | `5` | `quiet` is a time. |\n" +
		"| `part.on` | bool | `false` | `on` switches it on. |\n" +
		"| `part.host` | string | that of the region | `host` is a host. |\n" +
		"| `names` | list |  | `names` are texts. |\n" +
		"| `parts` | list |  | `parts` are further ones. |\n" +
		"| `parts[].on` | bool | `false` | `on` switches it on. |\n" +
		"| `parts[].host` | string | that of the region | `host` is a host. |\n"
	if err != nil || got != want {
		t.Errorf("%v, got\n%swant\n%s", err, got, want)
	}
	if _, err := page(strings.Replace(code, "// On switches it on.", "", 1)); !errors.Is(err, errNoMeaning) {
		t.Errorf("a key without a meaning: %v", err)
	}
}
