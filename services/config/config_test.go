package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/services/config"
	"alicloud-controllers.dev/services/version"
)

type inner struct {
	Level  string            `json:"level"`
	Wait   config.Duration   `json:"wait"`
	Others []config.Duration `json:"others"`
}

type sample struct {
	Name    string         `json:"name"`
	Workers int            `json:"workers"`
	On      bool           `json:"on"`
	Inner   inner          `json:"inner"`
	Limits  map[string]int `json:"limits"`
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		want       sample
		// wantErr are parts of the error.
		wantErr []string
	}{
		{name: "empty keeps the defaults", text: "", want: sample{Name: "default", Workers: 3}},
		{name: "over the defaults", text: "workers: 5\ninner: {level: x, wait: 1m30s}\nlimits: {a: 1}\n",
			want: sample{Name: "default", Workers: 5, Inner: inner{Level: "x", Wait: config.Duration(90 * time.Second)},
				Limits: map[string]int{"a": 1}}},
		{name: "all unknown keys", text: "nam: x\ninner: {lvl: y}\n", wantErr: []string{`unknown field "nam"`,
			`unknown field "inner.lvl"`, "this is version " + version.String()}},
		{name: "keys are case-sensitive", text: "Name: x\n", wantErr: []string{`unknown field "Name"`}},
		{name: "key twice", text: "name: x\nname: y\n", wantErr: []string{"name", "already"}},
		{name: "wrong type", text: "inner: {level: 3}\n", wantErr: []string{"inner.level: got a number, want a string"}},
		{name: "wrong number", text: "workers: many\n", wantErr: []string{"workers: got a string, want a int"}},
		{name: "bad duration", text: "inner: {wait: 5 seconds}\n",
			wantErr: []string{`inner.wait: "5 seconds" is not a duration such as "30s" or "5m"`}},
		{name: "duration without unit", text: "inner: {wait: 5}\n", wantErr: []string{`inner.wait: 5 is not a duration`}},
		{name: "bad duration in a list", text: "inner: {others: [1s, x]}\n", wantErr: []string{`inner.others[1]: "x" is not a duration`}},
		{name: "list", text: "- a\n", wantErr: []string{"the file: got a array"}},
		{name: "no YAML", text: "a: [", wantErr: []string{"not valid YAML"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := sample{Name: "default", Workers: 3}
			err := config.Parse([]byte(tc.text), &got)
			if len(tc.wantErr) > 0 {
				if err == nil {
					t.Fatalf("no error, got %+v", got)
				}
				for _, part := range tc.wantErr {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("error lacks %q:\n%v", part, err)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Parse (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("name: x\ninner: {wait: 5s}\n"))
	f.Add([]byte("inner: {wait: [1]}\n"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		var s sample
		_ = config.Parse(text, &s) // Whatever the file holds, it must not panic.
	})
}

func TestLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := config.Load(path, &sample{}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a missing file gives %v", err)
	}
	if err := os.WriteFile(path, []byte("nope: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := config.Load(path, &sample{}); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "nope") {
		t.Errorf("an unknown key gives %v, which lacks the file or the key", err)
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	empty, set := "", "own"
	config.Fill(&empty, "old")
	config.Fill(&set, "old")
	if empty != "old" || set != "own" {
		t.Errorf("an empty value becomes %q, a set one %q", empty, set)
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(config.Duration(90 * time.Second))
	if err != nil || string(text) != `"1m30s"` {
		t.Errorf("Marshal = %s, %v", text, err)
	}
	if got := config.Duration(0).Or(time.Second); got != time.Second {
		t.Errorf("Or of zero = %s", got)
	}
	if got := config.Duration(time.Minute).Or(time.Second); got != time.Minute {
		t.Errorf("Or of a minute = %s", got)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	var p config.Problems
	p.Required("a", "set")
	p.OneOf("a", "x", "x", "y")
	p.Range("a", 1, 1, 2)
	p.Positive("a", 1)
	p.HostPort("a", "127.0.0.1:80")
	p.HostPort("a", ":80")
	if err := p.Err(); err != nil {
		t.Fatalf("right values give %v", err)
	}
	p.Required("region", "")
	p.OneOf("scheme", "FTP", "HTTP", "HTTPS")
	p.Range("workers", 0, 1, 100)
	p.Positive("wait", 0)
	p.HostPort("listen", "80")
	want := `region: is required
scheme: "FTP" is not one of HTTP, HTTPS
workers: 0 is not in 1 to 100
wait: 0s is not above zero
listen: "80" is not of the form "host:port"`
	if diff := cmp.Diff(want, p.Err().Error()); diff != "" {
		t.Errorf("Err (-want +got):\n%s", diff)
	}
}
