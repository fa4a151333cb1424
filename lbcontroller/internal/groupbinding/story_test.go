package groupbinding_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
)

var update = flag.Bool("update", false, "rewrite what the stories say of what happens; read the change before you "+
	"commit it")

// TestStories plays the stories of testdata/stories, and compares what happens with what they say. A line "> COMMAND"
// is done, and what happens within a minute stands below. Those of a second cluster begin with "two".
func TestStories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/stories/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var played string
			play(t, strings.Contains(file, "nodes"), func(w *world) {
				s := &script{world: w, files: archive.Files, shown: map[string]string{}}
				played = s.play(string(archive.Comment))
			})
			switch {
			case played == string(archive.Comment) || t.Failed():
			case *update:
				archive.Comment = []byte(played)
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			default:
				t.Errorf("it goes otherwise (-told +happened); if that is right, run the test with -update:\n%s",
					cmp.Diff(strings.Split(string(archive.Comment), "\n"), strings.Split(played, "\n")))
			}
		})
	}
}

// requestIDs are those of the cloud, which differ each time.
var requestIDs = regexp.MustCompile(`request [0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}`)

// script is a story.
type script struct {
	*world
	files []txtar.File
	shown map[string]string
	told  strings.Builder
}

func (s *script) play(text string) string {
	s.happened()
	s.told.Reset() // What there is at the beginning isn't told.
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		command, is := strings.CutPrefix(line, "> ")
		if !is {
			if strings.HasPrefix(line, "#") || line == "" && !strings.HasSuffix(s.told.String(), "\n\n") {
				s.told.WriteString(line + "\n")
			}
			continue
		}
		s.told.WriteString(line + "\n")
		wait := s.do(strings.Fields(command))
		<-time.After(wait)
		synctest.Wait()
		s.happened()
	}
	return strings.TrimRight(s.told.String(), "\n") + "\n"
}

// do carries out a command, and says how long it takes until all is quiet.
func (s *script) do(words []string) time.Duration {
	c := s.one
	if words[0] == "two" {
		if words = words[1:]; s.two == nil {
			s.two = s.newCluster("c-two", s.one.nodes)
			s.two.start()
		}
		c = s.two
	}
	args := words[1:]
	switch words[0] {
	case "apply":
		for _, name := range args {
			i := slices.IndexFunc(s.files, func(f txtar.File) bool { return f.Name == name })
			if i < 0 {
				s.t.Fatalf("no file %s", name)
			}
			c.apply(string(s.files[i].Data))
		}
	case "pods":
		c.pods(args[0], args[1:]...)
	case "delete":
		c.remove(args[0], args[1])
	case "console-delete":
		s.dropGroup(args[0])
	case "console-make":
		s.cloud.Change(func(c *state.Cloud) {
			if strings.HasPrefix(args[0], "sgp-") {
				addGroup(c, args[0], state.NLBServerGroup{Name: args[1]})
			} else {
				addVGroup(c, args[0], args[1])
			}
		})
	case "restart":
		c.stop()
		c.start()
	case "advance":
		d, err := time.ParseDuration(args[0])
		if err != nil {
			s.t.Fatal(err)
		}
		return d
	default:
		s.t.Fatalf("no command %s", words[0])
	}
	return time.Minute
}

// happened tells what is new.
func (s *script) happened() {
	var calls []string
	for _, c := range s.cloud.Writes() {
		text := c.Method
		switch r := c.Request.(type) {
		case *nlbv1.ApplyServerChangesRequest:
			text += fmt.Sprintf(" %s: add %d, remove %d, update %d", r.GetServerGroupId(), len(r.GetAdd()), len(r.GetRemove()),
				len(r.GetUpdate()))
		case *slbv1.ApplyServerChangesRequest:
			text += fmt.Sprintf(" %s: add %d, remove %d, update %d", r.GetServerGroupId(), len(r.GetAdd()), len(r.GetRemove()),
				len(r.GetUpdate()))
		}
		calls = append(calls, text)
	}
	s.cloud.ResetCalls()
	slices.Sort(calls)
	for _, text := range slices.Compact(calls) {
		fmt.Fprintf(&s.told, "call    %s\n", text)
	}
	for _, c := range []*cluster{s.one, s.two} {
		if c == nil {
			continue
		}
		for _, text := range c.events.Take() {
			fmt.Fprintf(&s.told, "event   %s%s\n", c.prefix(), requestIDs.ReplaceAllString(text, "request R"))
		}
		now := map[string]string{}
		for _, name := range []string{"web", "web-two", "again", "udp", "headless"} {
			if b := c.binding(name); b != nil {
				now[name] = textOf(c, name)
			}
		}
		s.changed("binding "+c.prefix(), now)
	}
	s.changed("group   ", s.servers())
}

func (c *cluster) prefix() string {
	if c.id == "c-two" {
		return "two "
	}
	return ""
}

// textOf says how a binding stands.
func textOf(c *cluster, name string) string {
	b := c.binding(name)
	var parts []string
	if b.DeletionTimestamp != nil {
		parts = append(parts, "is being deleted")
	}
	for _, condition := range b.Status.Conditions {
		text := fmt.Sprintf("%s=%s %s", condition.Type, condition.Status, condition.Reason)
		if condition.Message != "" {
			text += " (" + condition.Message + ")"
		}
		parts = append(parts, text)
	}
	if g := b.Status.ServerGroup; g != nil {
		parts = append(parts, "group "+g.ID)
	}
	return strings.Join(append(parts, fmt.Sprintf("%d servers: %s", b.Status.ServerCount, strings.Join(b.Status.Servers,
		" "))), "; ")
}

// changed tells which of several things are others than they were.
func (s *script) changed(kind string, now map[string]string) {
	for key := range s.shown {
		if name, is := strings.CutPrefix(key, kind); is && now[name] == "" && s.shown[key] != "" && !strings.Contains(name,
			" ") {
			fmt.Fprintf(&s.told, "%s%s: nothing\n", kind, name)
			s.shown[key] = ""
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if text := now[name]; s.shown[kind+name] != text {
			fmt.Fprintf(&s.told, "%s%s: %s\n", kind, name, strings.TrimRight(text, " "))
			s.shown[kind+name] = text
		}
	}
}

const (
	bindingOf = `apiVersion: alibabacloud.com/v1
kind: ServerGroupBinding
metadata: {name: web}
spec: {serviceRef: {name: web, port: 80}, serverGroup: {%s}, weight: %d}
`
	serviceWeb = `apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: ClusterIP, ports: [{name: http, port: 80}]}
`
	onNLB = "kind: NLB, loadBalancerID: nlb-1, id: sgp-web"
	onCLB = "kind: CLB, loadBalancerID: lb-1, name: web"
)

// TestCrashAtEveryCall: wherever the process dies, the next one brings the story to the same end: before the call, or
// after its effect.
func TestCrashAtEveryCall(t *testing.T) {
	t.Parallel()
	for kind, named := range map[string]string{"NLB": onNLB, "CLB": onCLB} {
		group := map[string]string{"NLB": "sgp-web", "CLB": "rsp-web"}[kind]
		steps := []struct {
			name string
			do   func(w *world)
			want string
		}{
			{"made", func(w *world) {
				w.one.apply(serviceWeb)
				w.one.pods("web", "10.0.0.1", "10.0.0.2")
				w.one.apply(fmt.Sprintf(bindingOf, named, 80))
			}, "eni-10.0.0.1:8080=40 of c-one eni-10.0.0.2:8080=40 of c-one"},
			{"changed", func(w *world) {
				w.one.pods("web", "10.0.0.2")
				w.one.apply(fmt.Sprintf(bindingOf, named, 20))
			}, "eni-10.0.0.2:8080=20 of c-one"},
			{"gone", func(w *world) { w.one.remove("binding", "web") }, ""},
		}
		for dying := range steps {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, with effect %t", kind, steps[dying].name, after), func(t *testing.T) {
					t.Parallel()
					n := gatewaytest.From(len(t.Name()), 4)
					for died := true; died && n < 100; n += gatewaytest.Every(4) {
						play(t, false, func(w *world) {
							for i, step := range steps {
								if i == dying {
									w.crash.At(n, after)
								}
								step.do(w)
								w.settle()
								if i == dying {
									w.one.stop()
									died = w.crash.Over()
									w.one.start()
									w.settle()
								}
								if got := w.servers()[group]; got != step.want {
									t.Errorf("call %d: %s: servers %q, want %q; %s", n, step.name, got, step.want, w.one.events.Take())
								}
							}
							if w.one.binding("web") != nil {
								t.Errorf("call %d: the binding is still there", n)
							}
						})
					}
					if n < 5 {
						t.Errorf("only %d calls", n)
					}
					t.Logf("%d calls", n)
				})
			}
		}
	}
}

// TestNothingChanges: a binding at rest costs neither calls nor writes, and a restart no look at its server group.
func TestNothingChanges(t *testing.T) {
	t.Parallel()
	play(t, false, func(w *world) {
		w.one.apply(serviceWeb)
		w.one.pods("web", "10.0.0.1")
		w.one.apply(fmt.Sprintf(bindingOf, "kind: NLB, loadBalancerID: nlb-1, name: web", 80))
		w.settle()
		rest := func(what string) {
			t.Helper()
			w.cloud.ResetCalls()
			w.one.writes.Take()
			<-time.After(10 * time.Minute)
			synctest.Wait()
			if calls, writes := w.cloud.Calls(), w.one.writes.Take(); len(calls) > 0 || len(writes) > 0 {
				t.Errorf("%s: nothing changes, and there are %v and the writes %q", what, calls, writes)
			}
		}
		rest("made")
		w.one.stop()
		w.cloud.ResetCalls()
		w.one.start()
		for _, c := range w.cloud.CallsOf("nlb.ListServerGroups") {
			if ids := c.Request.(*nlbv1.ListServerGroupsRequest).GetNames(); len(ids) > 0 {
				t.Errorf("a restart looks for the server group: %v", c)
			}
		}
		rest("restarted")
	})
}
