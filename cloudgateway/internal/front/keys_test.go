package front

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

const terraform = "system:serviceaccount:tools:terraform"

// TestKeysAreRenewed: a key pair is there, and gone, a second after the file says so. A file that is wrong changes nothing.
func TestKeysAreRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		path := filepath.Join(t.TempDir(), "keys.yaml")
		k := newKeyring(path, nil, slog.New(slog.NewTextHandler(&log, nil)))
		write := func(n int, text string) {
			t.Helper()
			<-time.After(2 * lookAgain)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			at := time.Now().Add(time.Duration(n) * time.Hour)
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		pair := func(id string) string {
			return fmt.Sprintf("keys: [{id: %s, secret: 0123456789abcdef, user: %q}]\n", id, terraform)
		}
		has := func(want ...string) {
			t.Helper()
			var got []string
			for _, id := range []string{"a", "b"} {
				if _, ok := k.find(id); ok {
					got = append(got, id)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("key pairs (-want +got):\n%s", diff)
			}
		}
		has()
		write(1, pair("a"))
		has("a")
		write(2, pair("b"))
		has("b")
		write(3, "keys: [{id: b, secret: short}]")
		has("b")
		if text := log.String(); !strings.Contains(text, "former ones count") || strings.Contains(text, "short\"") ||
			strings.Contains(text, "0123456789") {
			t.Errorf("the log says %s", text)
		}
		if k.unread() == nil {
			t.Error("a file that is wrong counts as read")
		}
		write(4, pair("a"))
		has("a")
		for _, move := range [][2]string{{path, path + ".away"}, {path + ".away", path}} {
			<-time.After(2 * lookAgain)
			if err := os.Rename(move[0], move[1]); err != nil {
				t.Fatal(err)
			}
			has("a")
			if away := move[0] == path; away != (k.unread() != nil) {
				t.Errorf("away: %t, unread: %v", away, k.unread())
			}
		}
		write(5, "keys: []")
		has()
	})
}

// TestUnreadableKeysAreSeen: the metric says whether the file can be read now, also of a replica that no tool calls: a
// standby never has a call.
func TestUnreadableKeysAreSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, registry := filepath.Join(t.TempDir(), "keys.yaml"), prometheus.NewRegistry()
		New(Config{Front: config.Front{KeysFile: path}, Registerer: registry, Logger: slog.New(slog.DiscardHandler)})
		unreadable := func(want float64) {
			t.Helper()
			<-time.After(2 * lookAgain)
			all, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			for _, family := range all {
				if family.GetName() != "cloudgateway_front_keys_unreadable" {
					continue
				}
				if got := family.GetMetric()[0].GetGauge().GetValue(); got != want {
					t.Errorf("unreadable: %g, want %g", got, want)
				}
				return
			}
			t.Error("there is no such metric")
		}
		unreadable(1)
		if err := os.WriteFile(path, []byte("keys: []"), 0o600); err != nil {
			t.Fatal(err)
		}
		unreadable(0)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		unreadable(1)
	})
}

func TestKeyPairsAreChecked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys.yaml")
	text := `keys:
- {id: "a b", secret: 0123456789abcdef, user: tool.example.com}
- {id: a, secret: 0123456789abcde, user: tool.example.com}
- {id: b, secret: 1123456789abcdef, user: "system:admin"}
- {id: c, secret: 2123456789abcdef, user: "system:serviceaccount:kube-system:lbcontroller"}
- {id: d, secret: 3123456789abcdef, user: tool.example.com, groups: ["system:masters"]}
- {id: e, secret: 4123456789abcdef, user: tool.example.com, wait: 10m}
- {id: f, secret: 5123456789abcdef, user: "system:serviceaccount:tools:terraform", groups: [ops], wait: 50s}
- {id: f, secret: 6123456789abcdef, user: tool.example.com}
- {id: g, secret: 5123456789abcdef, user: tool.example.com}
sessionSecrets: [short, 5123456789abcdef, 7123456789abcdef, 7123456789abcdef, 8123456789abcdef]
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	k := &keyring{path: path, refused: []string{"system:serviceaccount:kube-system:lbcontroller"}, log: slog.New(slog.DiscardHandler)}
	_, _, err := k.load()
	if err == nil {
		t.Fatal("all of it is accepted")
	}
	for _, want := range []string{
		"keys[0].id", "keys[1].secret", "keys[2].user", "keys[3].user", "keys[4].groups[0]", "keys[5].wait", `keys[7].id: "f" is there twice`,
		"keys[8].secret: is that of another pair", "sessionSecrets[0]: is shorter", "sessionSecrets[1]: is that of a key pair",
		"sessionSecrets[3]: is that of a key pair, or is there twice", "sessionSecrets[4]: is more than 4",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: no word of %s", err, want)
		}
	}
	if strings.Contains(err.Error(), "keys[6]") || strings.Contains(err.Error(), "sessionSecrets[2]") {
		t.Errorf("the good one is refused: %v", err)
	}
	if strings.Contains(err.Error(), "5123456789abcdef") {
		t.Errorf("the error has a secret: %v", err)
	}
	caller := Key{User: terraform, Groups: []string{"ops"}}.caller()
	want := []string{"ops", "system:authenticated", "system:serviceaccounts", "system:serviceaccounts:tools"}
	if diff := cmp.Diff(want, caller.Groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}
