package main

import (
	"go/ast"
	"go/parser"
	"go/token"
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
