package chart_test

import (
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestCommandsOfThePages: every command that a page runs in a pod finds there, with every set of values, the
// configuration that the process has: the file it names or takes by default, and the existing controller manager's
// file, which it doesn't name.
func TestCommandsOfThePages(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, "../../README.md", "support-bundle.sh", "templates/NOTES.txt")
	commands := regexp.MustCompile(`exec (?:-it )?\S+ -- (cloudgateway|lbcontroller|nodecontroller|routecontroller) ` +
		`([a-z]+)([^` + "`" + `\n]*)`)
	type command struct{ page, process, name, arguments string }
	var all []command
	for _, page := range pages {
		for _, found := range commands.FindAllStringSubmatch(read(t, page), -1) {
			all = append(all, command{page, found[1], found[2], found[3]})
		}
	}
	for _, name := range []string{"doctor", "top", "plan", "convert"} {
		if !slices.ContainsFunc(all, func(c command) bool { return c.name == name }) {
			t.Errorf("no page runs %s", name)
		}
	}
	sets := map[string]map[string]any{
		"values only":           nil,
		"a file in a ConfigMap": {"cloudConfig": map[string]any{"configMap": "old"}},
		"a file in a Secret":    {"cloudConfig": map[string]any{"secret": "old", "key": "conf"}},
		"both, with variables": {"cloudConfig": map[string]any{"configMap": "old"}, "components": map[string]any{"cloudgateway": map[string]any{
			"extraEnv": []any{map[string]any{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}}}}},
	}
	maps.Copy(sets, variants())
	for variant, changes := range sets {
		documents, tried := render(t, "kube-system", changes), 0
		for _, c := range all {
			document, runs := documents["Deployment "+c.process]
			if !runs { // A plan is made by Jobs, and without routes there is no routecontroller.
				continue
			}
			tried++
			container := decode[appsv1.Deployment](t, document).Spec.Template.Spec.Containers[0]
			mounted := func(file string) bool {
				return slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == path.Dir(file) })
			}
			file := "/etc/" + c.process + "/config.yaml" // the default of plan and convert
			if named := regexp.MustCompile(`--?config[ =](\S+)`).FindStringSubmatch(c.arguments); named != nil {
				file = named[1]
			} else if c.process == "cloudgateway" {
				t.Errorf("%s: cloudgateway %s names no configuration", c.page, c.name)
			}
			if !mounted(file) {
				t.Errorf("%s, %s: %s %s reads %s, which is not mounted", variant, c.page, c.process, c.name, file)
			}
			for _, argument := range container.Args {
				flag, value, _ := strings.Cut(argument, "=")
				switch {
				case flag == "--config" && value != file:
					t.Errorf("%s, %s: %s %s reads %s, the process %s", variant, c.page, c.process, c.name, file, value)
				case flag == "--cloud-config" && !slices.Contains(container.Env, corev1.EnvVar{Name: "CLOUD_CONFIG", Value: value}):
					t.Errorf("%s, %s: %s %s does not find %s", variant, c.page, c.process, c.name, value)
				case flag == "--cloud-config" && !mounted(value):
					t.Errorf("%s, %s: %s is not mounted", variant, c.page, value)
				}
			}
			if given := slices.ContainsFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == "CLOUD_CONFIG" }); given !=
				(changes["cloudConfig"] != nil) {
				t.Errorf("%s: CLOUD_CONFIG is set: %t", variant, given)
			}
		}
		if t.Logf("%s: %d of %d commands", variant, tried, len(all)); tried == 0 {
			t.Errorf("%s: no command was looked at", variant)
		}
	}
}
