package main

import (
	"go/ast"
	"go/parser"
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
