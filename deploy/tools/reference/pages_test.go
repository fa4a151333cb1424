package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

const top = "../../.."

// pages are those that people write and read, by their path from the top.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{
		"*.md", "docs/*.md", "docs/adr/*.md", "docs/reference/*.md", "deploy/README.md", "deploy/chart/README.md",
		"deploy/chart/templates/NOTES.txt",
		"cloudgateway/openapisim/*.md", "cloudgateway/openapisim/docs/*.md",
	} {
		paths, err := filepath.Glob(filepath.Join(top, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no page is like %s: %v", pattern, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			found[strings.TrimPrefix(path, top+"/")] = string(text)
		}
	}
	return found
}

// fences are the blocks of code of any kind.
var fences = regexp.MustCompile("(?ms)^```.*?^```$")

// anchors are the names that the headings of a page have in links.
func anchors(page string) map[string]bool {
	names := map[string]bool{}
	for _, heading := range regexp.MustCompile("(?m)^#+ (.*)$").FindAllStringSubmatch(fences.ReplaceAllString(page, ""), -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		names[strings.ReplaceAll(name, " ", "-")] = true
	}
	return names
}

// TestFresh: the generated pages say what the sources say. What made them other is generated in a second: make generate.
func TestFresh(t *testing.T) {
	t.Parallel()
	written, err := write(top)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range written {
		text, err := os.ReadFile(filepath.Join(top, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(text)); diff != "" {
			t.Errorf("%s is stale: run make generate (-sources +page):\n%s", name, diff)
		}
	}
}

// TestLinks: each leads to a file and a heading that are there.
func TestLinks(t *testing.T) {
	t.Parallel()
	all := pages(t)
	headings := map[string]map[string]bool{}
	for name, text := range all {
		headings[name] = anchors(text)
	}
	seen := 0
	for name, text := range all {
		for _, link := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
			path, anchor, _ := strings.Cut(link[1], "#")
			if strings.Contains(path, "://") {
				continue
			}
			seen++
			target := name
			if path != "" {
				target = filepath.Join(filepath.Dir(name), path)
			}
			if _, err := os.Stat(filepath.Join(top, target)); err != nil {
				t.Errorf("%s: %s leads nowhere", name, link[1])
			} else if anchor != "" && !headings[target][anchor] {
				t.Errorf("%s: %s leads to no heading", name, link[1])
			}
		}
	}
	if seen == 0 {
		t.Error("there are no links")
	}
}

// cells counts the columns of a row of a table. A pipe in code or behind a backslash is text.
func cells(row string) int {
	row = regexp.MustCompile("`[^`]*`").ReplaceAllString(row, "")
	return strings.Count(strings.ReplaceAll(row, `\|`, ""), "|") - 1
}

// brokenTables are the lines of a page that look like rows and are not shown as such: without a head, after an empty line for example, or
// with another number of columns than the head has.
func brokenTables(page string) []string {
	isRule := regexp.MustCompile(`^\|( *:?-+:? *\|)+$`)
	var broken []string
	columns, lines := 0, strings.Split(fences.ReplaceAllString(page, ""), "\n")
	for i, line := range lines {
		switch isRow := strings.HasPrefix(line, "|"); {
		case !isRow:
			columns = 0
		case columns == 0 && (i+1 == len(lines) || !isRule.MatchString(lines[i+1])):
			broken = append(broken, line)
		case columns == 0:
			columns = cells(line)
		case !isRule.MatchString(line) && cells(line) != columns:
			broken = append(broken, line)
		}
	}
	return broken
}

// TestTables: what is meant as the row of a table is shown as one.
func TestTables(t *testing.T) {
	t.Parallel()
	for name, text := range pages(t) {
		for _, row := range brokenTables(text) {
			t.Errorf("%s: not shown as a row of a table: %.80s", name, row)
		}
	}
	whole := "| a | b |\n|---|---|\n| `x|y` | 1 \\| 2 |\n"
	for page, want := range map[string]int{whole: 0, whole + "\n| c | d |\n": 1, whole + "| c |\n": 1, "```\n| c |\n```\n": 0} {
		if got := brokenTables(page); len(got) != want {
			t.Errorf("%q: broken are %q", page, got)
		}
	}
}

// keysOf are the keys of a configuration or of values, with those that contain others.
func keysOf(t *testing.T, page string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(page, -1) {
		for key := row[1]; key != ""; {
			all[key] = true
			key = key[:max(0, strings.LastIndex(key, "."))]
		}
	}
	if len(all) == 0 {
		t.Fatal("a page of reference has no keys")
	}
	return all
}

// free are the values below which the schema lets users choose the keys, or the chart hands them on.
var free = regexp.MustCompile(
	`^(credentials\.(rrsa|assumeRole)|budget\.(callers|overrides)|tls\.certManager\.issuerRef|components\.[a-z*]+\.(config|resources))(\.|$)`)

// cloudTag are tags of the cloud, whose first word is a key of the configuration.
var cloudTag = regexp.MustCompile(`^kubernetes\.(do\.not|reused|load\.balancers)`)

// TestNames: what a page names is there: values and keys of the configuration, metrics, targets of make, tests.
func TestNames(t *testing.T) {
	t.Parallel()
	all := pages(t)
	metrics := keysOf(t, all["docs/reference/metrics.md"])
	known := keysOf(t, all["docs/reference/config.md"])
	text, err := os.ReadFile("../../chart/README.md")
	if err != nil {
		t.Fatal(err)
	}
	values := keysOf(t, string(text))
	var tops map[string]any
	if text, err = os.ReadFile("../../chart/values.yaml"); err == nil {
		err = yaml.Unmarshal(text, &tops)
	}
	if err != nil {
		t.Fatal(err)
	}
	if text, err = os.ReadFile(top + "/Makefile"); err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, rule := range regexp.MustCompile(`(?m)^([a-z0-9-]+):`).FindAllStringSubmatch(string(text), -1) {
		targets[rule[1]] = true
	}
	tests := testNames(t)

	seen := map[string]int{}
	valid := func(key string) bool {
		first, _, _ := strings.Cut(key, ".")
		if part, ok := strings.CutPrefix(key, "components."); ok {
			_, rest, _ := strings.Cut(part, ".")
			if setting, ok := strings.CutPrefix(rest, "config."); ok {
				return known[setting]
			}
			return values["components.NAME."+rest]
		}
		if tops[first] != nil && (values[key] || free.MatchString(key)) {
			return true
		}
		return known[key]
	}
	for name, page := range all {
		if strings.HasPrefix(name, "docs/reference/") || name == "CHANGELOG.md" || strings.HasPrefix(name, "cloudgateway/openapisim/") {
			continue // Generated, of the past, or about another program.
		}
		for _, quoted := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(fences.ReplaceAllString(page, ""), -1) {
			word := quoted[1]
			first, _, dotted := strings.Cut(word, ".")
			key := regexp.MustCompile(`^[a-z][A-Za-z0-9]*(\.([a-z*][A-Za-z0-9]*))+$`).FindString(strings.TrimSuffix(word, ".*"))
			if key == "" || !dotted || tops[first] == nil && !known[first] || cloudTag.MatchString(key) {
				continue // Not a key.
			}
			if seen["keys"]++; !valid(key) {
				t.Errorf("%s: %s is neither a value nor a key of a configuration", name, word)
			}
		}
		for _, metric := range regexp.MustCompile(
			`\b(?:cloudgateway|lbcontroller|nodecontroller|routecontroller|ccm|reconcile|readiness)_[a-z0-9_]+`).FindAllString(page, -1) {
			base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(metric, "")
			if seen["metrics"]++; !metrics[metric] && !metrics[base] {
				t.Errorf("%s: there is no metric %s", name, metric)
			}
		}
		for _, target := range regexp.MustCompile("(?m)(?:`|^)make ([a-z][a-z0-9-]+)").FindAllStringSubmatch(page, -1) {
			if seen["targets"]++; !targets[target[1]] {
				t.Errorf("%s: there is no make %s", name, target[1])
			}
		}
		for _, test := range regexp.MustCompile(`\b(?:Test|Benchmark)[A-Z]\w+`).FindAllString(page, -1) {
			if seen["tests"]++; !tests[test] {
				t.Errorf("%s: there is no %s", name, test)
			}
		}
	}
	for _, kind := range []string{"keys", "metrics", "targets", "tests"} {
		if seen[kind] == 0 {
			t.Errorf("no page names any of the %s", kind)
		}
	}
}

// TestTranslations: a page in Chinese has the headings, blocks of code, tables and links of the one in English, in the same order.
func TestTranslations(t *testing.T) {
	t.Parallel()
	all := pages(t)
	shape := func(page string) (parts []string) {
		parts = append(parts, fences.FindAllString(page, -1)...)
		for line := range strings.Lines(fences.ReplaceAllString(page, "")) {
			switch {
			case strings.HasPrefix(line, "#"):
				parts = append(parts, strings.Repeat("#", len(line)-len(strings.TrimLeft(line, "#"))))
			case strings.HasPrefix(line, "|"):
				parts = append(parts, "a row")
			}
			for _, link := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(line, -1) {
				if path, _, _ := strings.Cut(strings.ReplaceAll(link[1], ".zh.md", ".md"), "#"); path != "" {
					parts = append(parts, path)
				}
			}
		}
		return parts
	}
	seen := 0
	for name, page := range all {
		original, ok := strings.CutSuffix(name, ".zh.md")
		if !ok {
			continue
		}
		seen++
		if diff := cmp.Diff(shape(all[original+".md"]), shape(page)); diff != "" {
			t.Errorf("%s is not like the page in English (-English +Chinese):\n%s", name, diff)
		}
	}
	if seen == 0 {
		t.Error("there is no page in Chinese")
	}
}

// TestPaths: what a page names in the tree is there.
func TestPaths(t *testing.T) {
	t.Parallel()
	seen := 0
	for name, page := range pages(t) {
		if name == "CHANGELOG.md" || strings.HasPrefix(name, "cloudgateway/openapisim/") {
			continue // It is of the past, or about the paths of requests.
		}
		for _, quoted := range regexp.MustCompile(
			"`((?:proto|services|cloudgateway|"+
				"lbcontroller|nodecontroller|routecontroller|deploy|docs)/[a-zA-Z0-9_./*-]+)`").FindAllStringSubmatch(page, -1) {
			if regexp.MustCompile(`(^|/)[A-Z]+(/|\.|$)`).MatchString(quoted[1]) {
				continue // A place for a name.
			}
			seen++
			if found, err := filepath.Glob(filepath.Join(top, quoted[1])); err != nil || len(found) == 0 {
				t.Errorf("%s: there is no %s", name, quoted[1])
			}
		}
	}
	if seen == 0 {
		t.Error("no page names a path")
	}
}

// TestEveryRowSaysSomething: no key of the configuration, value or metric is without a meaning.
func TestEveryRowSaysSomething(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"docs/reference/config.md", "docs/reference/metrics.md", "docs/reference/events.md",
		"deploy/chart/README.md"} {
		text, err := os.ReadFile(filepath.Join(top, page))
		if err != nil {
			t.Fatal(err)
		}
		for row := range strings.Lines(string(text)) {
			if strings.HasPrefix(row, "| ") && strings.HasSuffix(row, "|  |\n") {
				t.Errorf("%s: %s", page, row)
			}
		}
	}
}

// TestVersionsOfPages: the names of images in the installation are those of this chart, and the tests run what it says that they do.
func TestVersionsOfPages(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../chart/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var about struct{ Version string }
	if err := yaml.Unmarshal(text, &about); err != nil || about.Version == "" {
		t.Fatalf("Chart.yaml: %v", err)
	}
	named := regexp.MustCompile(`(?:controllers?|\$name)[-:]([0-9]+\.[0-9]+\.[0-9]+(?:-dev)?)`).FindAllStringSubmatch(
		pages(t)["docs/install.md"], -1)
	for _, name := range named {
		if name[1] != about.Version {
			t.Errorf("docs/install.md: %s is not of version %s", name[0], about.Version)
		}
	}
	if len(named) == 0 {
		t.Error("docs/install.md names no image")
	}
	for file, module := range map[string]string{"../../go.mod": `helm.sh/helm/v3 v(3\.\d+)`,
		"../local/kubernetes/go.mod": `k8s.io/kubernetes v(1\.\d+)`} {
		text, err := os.ReadFile(file)
		version := regexp.MustCompile(module).FindStringSubmatch(string(text))
		if err != nil || version == nil {
			t.Fatalf("%s: no %s, %v", file, module, err)
		}
		if !strings.Contains(pages(t)["docs/install.md"], "tested with "+version[1]+",") {
			t.Errorf("docs/install.md does not say that it is tested with %s of %s", version[1], module)
		}
	}
}

// TestHelpFits: make help is read on one screen.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	help := exec.CommandContext(t.Context(), "make", "--no-print-directory", "help")
	help.Dir = top
	out, err := help.Output()
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(out), "\n"); lines > 24 || !strings.Contains(string(out), "make demo ") {
		t.Errorf("%d lines:\n%s", lines, out)
	}
	for line := range strings.Lines(string(out)) {
		if len(line) > 81 {
			t.Errorf("longer than 80 columns: %s", line)
		}
	}
}

// testNames are those of all tests and benchmarks of the tree.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir(top, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, name := range regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)`).FindAllSubmatch(text, -1) {
			names[string(name[1])] = true
		}
		return err
	})
	if err != nil || len(names) == 0 {
		t.Fatalf("tests of the tree: %d, %v", len(names), err)
	}
	return names
}
