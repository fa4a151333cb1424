package chart_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// kubeconform looks at all that the tests of this package render, if the variable names the program, as make chart does.
// Its schemas are those that the API servers publish, of the newest Kubernetes and the oldest that is supported, and those
// of custom resources.
const (
	kubeconform = "KUBECONFORM"
	renderedIn  = "RENDERED_IN" // for the tests: the directory where they leave what they render
)

// TestMain has kubeconform look at what the tests have rendered.
func TestMain(m *testing.M) { os.Exit(runAndConform(m)) }

func runAndConform(m *testing.M) int {
	program := os.Getenv(kubeconform)
	if program == "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "rendered-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Setenv(renderedIn, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	failed := m.Run()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) == 0 {
		return failed // No test that was chosen renders anything.
	}
	for name, schemas := range modulesOfSchemas() {
		out, err := conform(context.Background(), program, schemas, dir, "crds")
		fmt.Fprintf(os.Stderr, "kubeconform, %s Kubernetes: %s", name, out)
		if err != nil {
			fmt.Fprintln(os.Stderr, "FAIL kubeconform:", err)
			failed = 1
		}
	}
	return failed
}

// TestConform: kubeconform finds what is wrong in objects of the chart, and nothing else, with the schemas of each
// Kubernetes.
func TestConform(t *testing.T) {
	t.Parallel()
	program := os.Getenv(kubeconform)
	if program == "" {
		t.Skip(kubeconform + " names no program; run make chart")
	}
	documents := render(t, "kube-system", map[string]any{
		"tls":            map[string]any{"certManager": map[string]any{"enabled": true}},
		"serviceMonitor": map[string]any{"enabled": true}, "prometheusRule": map[string]any{"enabled": true},
	})
	documents["definition"] = read(t, "crds/servergroupbindings.yaml")
	const lb = "Deployment lbcontroller"
	faults := map[string]struct{ document, old, planted, want string }{
		"a field of a container":         {lb, "volumeMounts:", "volumeMount:", "'volumeMount' not allowed"},
		"a field of a pod's environment": {lb, "resourceFieldRef", "resourceFieldReference", "not allowed"},
		"a port without a number":        {"Service cloudgateway", "port: 7443", "port: grpc", "got string, want integer"},
		"a list that is none":            {"ClusterRole alicloud:lbcontroller", "rules:", "rules: {}\nx:", "want array"},
		"the same field twice":           {"ConfigMap lbcontroller", "\ndata:", "\ndata: {}\ndata:", "error unmarshalling"},
		"a field of a monitor":           {"ServiceMonitor cloudgateway", "endpoints:", "endpoint:", "'endpoint' not"},
		"a field of an alert":            {"PrometheusRule alicloud-controllers", "expr:", "exprs:", "'exprs' not allowed"},
		"a field of a certificate":       {"Certificate cloudgateway", "dnsNames:", "dnsnames:", "'dnsnames' not allowed"},
		"a field of a definition":        {"definition", "openAPIV3Schema:", "openAPISchema:", "'openAPISchema' not allowed"},
		"an unknown kind":                {"Service cloudgateway", "kind: Service\n", "kind: Servce\n", "not find schema"},
	}
	dir := t.TempDir()
	for name, tt := range faults {
		if strings.Count(documents[tt.document], tt.old) == 0 {
			t.Fatalf("%s: %s has no %q", name, tt.document, tt.old)
		}
		for directory, text := range map[string]string{
			"right": documents[tt.document], "wrong": strings.Replace(documents[tt.document], tt.old, tt.planted, 1),
		} {
			file := filepath.Join(dir, directory, strings.ReplaceAll(name, " ", "-")+".yaml")
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for kubernetes, schemas := range modulesOfSchemas() {
		t.Run(kubernetes, func(t *testing.T) {
			t.Parallel()
			if out, err := conform(t.Context(), program, schemas, filepath.Join(dir, "right")); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			out, err := conform(t.Context(), program, schemas, filepath.Join(dir, "wrong"))
			if err == nil {
				t.Error("the program does not fail")
			}
			for name, tt := range faults {
				found := slices.ContainsFunc(strings.Split(out, "\n"), func(line string) bool {
					return strings.Contains(line, "/"+strings.ReplaceAll(name, " ", "-")+".yaml - ") && strings.Contains(line, tt.want)
				})
				if !found {
					t.Errorf("%s is not found, want %q in:\n%s", name, tt.want, out)
				}
			}
		})
	}
}

// keep leaves what a test has rendered for kubeconform: each text once, with the name of the first test that has it.
func keep(t *testing.T, files map[string]string) {
	t.Helper()
	dir := os.Getenv(renderedIn)
	if dir == "" {
		return
	}
	for name, text := range files {
		if filepath.Ext(name) != ".yaml" || strings.TrimSpace(text) == "" {
			continue
		}
		sum := fnv.New64a()
		_, _ = sum.Write([]byte(text)) // A hash takes everything.
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprintf("%x", sum.Sum64())), 0o700); err != nil {
			continue // It is there.
		}
		of := regexp.MustCompile(`\W+`).ReplaceAllString(t.Name(), "-") + "-" + filepath.Base(name)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%x", sum.Sum64()), of), []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// modulesOfSchemas are the directories of the go.mod files that choose which Kubernetes is meant.
func modulesOfSchemas() map[string]string {
	return map[string]string{"newest": "../tools/local/kubernetes", "oldest": "../tools/local/oldest"}
}

// conform has the program look at files, strictly: a field that no schema knows is an error, and so is a kind without a
// schema.
func conform(ctx context.Context, program, kubernetes string, files ...string) (string, error) {
	dir, err := os.MkdirTemp("", "schemas-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := writeSchemas(ctx, kubernetes, dir); err != nil {
		return "", err
	}
	arguments := []string{"-strict", "-summary", "-schema-location",
		dir + "/{{.Group}}/{{.ResourceAPIVersion}}/{{.ResourceKind}}.json"}
	out, err := exec.CommandContext(ctx, program, slices.Concat(arguments, files)...).CombinedOutput()
	return string(out), err
}

// writeSchemas writes a schema for each kind of the API server and of the custom resources.
func writeSchemas(ctx context.Context, kubernetes, to string) error {
	source, err := sourceOf(ctx, kubernetes, "k8s.io/kubernetes")
	if err != nil {
		return err
	}
	var api struct{ Definitions map[string]map[string]any }
	if err := readInto(filepath.Join(source, "api/openapi-spec/swagger.json"), &api); err != nil {
		return err
	}
	for name, definition := range api.Definitions {
		switch name {
		case "io.k8s.apimachinery.pkg.util.intstr.IntOrString", "io.k8s.apimachinery.pkg.api.resource.Quantity":
			definition["type"] = []string{"string", "number"}
		default:
			closeSchema(definition)
		}
	}
	for name, definition := range api.Definitions {
		kinds, _ := definition["x-kubernetes-group-version-kind"].([]any)
		for _, each := range kinds {
			kind, _ := each.(map[string]any)
			definitions := map[string]any{}
			reach(api.Definitions, definition, definitions)
			schema := map[string]any{"$ref": "#/definitions/" + name, "definitions": definitions}
			definitions[name] = definition
			if err := writeSchema(to, kind["group"], kind["version"], kind["kind"], schema); err != nil {
				return err
			}
		}
	}
	for module, pattern := range map[string]string{
		"github.com/cert-manager/cert-manager":               "deploy/crds/*.yaml",
		"github.com/prometheus-operator/prometheus-operator": "example/prometheus-operator-crd/*.yaml",
	} {
		source, err := sourceOf(ctx, "../tools/conform", module)
		if err != nil {
			return err
		}
		if err := writeCustom(filepath.Join(source, pattern), to); err != nil {
			return err
		}
	}
	return nil
}

func writeCustom(pattern, to string) error {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return fmt.Errorf("%s: %d files: %w", pattern, len(files), err)
	}
	for _, file := range files {
		var definition struct {
			Spec struct {
				Group    string
				Names    struct{ Kind string }
				Versions []struct {
					Name   string
					Schema struct{ OpenAPIV3Schema map[string]any }
				}
			}
		}
		if err := readInto(file, &definition); err != nil {
			return err
		}
		for _, version := range definition.Spec.Versions {
			closeSchema(version.Schema.OpenAPIV3Schema)
			spec := definition.Spec
			err := writeSchema(to, spec.Group, version.Name, spec.Names.Kind, version.Schema.OpenAPIV3Schema)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// sourceOf is the directory of a module's source, in the version that the go.mod of the other directory requires.
func sourceOf(ctx context.Context, requiredIn, module string) (string, error) {
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	download.Dir, download.Env = requiredIn, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := download.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("download %s: %w: %s", module, err, out)
	}
	var found struct{ Dir string }
	return found.Dir, json.Unmarshal(out, &found)
}

// closeSchema lets an object have no other fields than those that are named. Each of several schemas narrows values only.
func closeSchema(schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	open := schema["x-kubernetes-preserve-unknown-fields"] == true
	if !open && len(properties) > 0 && schema["additionalProperties"] == nil {
		schema["additionalProperties"] = false
	}
	inner := slices.Collect(maps.Values(properties))
	for _, each := range append(inner, schema["items"], schema["additionalProperties"]) {
		if each, ok := each.(map[string]any); ok {
			closeSchema(each)
		}
	}
}

// reach collects the definitions that a schema refers to.
func reach(all map[string]map[string]any, schema any, found map[string]any) {
	switch schema := schema.(type) {
	case []any:
		for _, each := range schema {
			reach(all, each, found)
		}
	case map[string]any:
		for key, value := range schema {
			name, isName := value.(string)
			name, isReference := strings.CutPrefix(name, "#/definitions/")
			if key != "$ref" || !isName || !isReference {
				reach(all, value, found)
			} else if found[name] == nil {
				found[name] = all[name]
				reach(all, all[name], found)
			}
		}
	}
}

// writeSchema puts a schema where kubeconform looks for it. It takes the version for the group of what has none.
func writeSchema(to string, group, version, kind any, schema map[string]any) error {
	if group == "" {
		group = version
	}
	file := filepath.Join(to, fmt.Sprint(group), fmt.Sprint(version), strings.ToLower(fmt.Sprint(kind))+".json")
	text, err := json.Marshal(schema)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

func readInto(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return yaml.Unmarshal(text, into)
}
