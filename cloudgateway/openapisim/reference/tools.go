package reference

import (
	_ "embed" // for what tools call
	"fmt"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

//go:embed tools.txt
var calls string

// Tool is a program of others that calls the cloud.
type Tool struct {
	Name, From string
	Parts      []Part
}

// Part is what a part of a tool calls of one product.
type Part struct {
	Name, Product string
	Actions       []string
}

// Tools are those whose calls are known.
func Tools() []Tool {
	var out []Tool
	for line := range strings.Lines(calls) {
		line = strings.TrimSpace(line)
		switch name, isTool := strings.CutPrefix(line, "= "); {
		case line == "" || strings.HasPrefix(line, "#"):
		case isTool:
			out = append(out, Tool{Name: name})
		default:
			tool := &out[len(out)-1]
			if from, ok := strings.CutPrefix(line, "from "); ok {
				tool.From = from
				continue
			}
			tool.Parts = append(tool.Parts, part(strings.Fields(line)))
		}
	}
	return out
}

// part reads the words of a line. The product is the last word before the actions, which begin with a capital letter and go to the end.
func part(words []string) Part {
	first := len(words)
	for first > 0 && words[first-1][0] >= 'A' && words[first-1][0] <= 'Z' {
		first--
	}
	return Part{Name: strings.Join(words[:first-1], " "), Product: words[first-1], Actions: words[first:]}
}

// Simulated splits the actions of a part into those that are there and those that are missing.
func (p Part) Simulated() (there, missing []string) {
	for _, name := range p.Actions {
		if simulated(p.Product, name) {
			there = append(there, name)
		} else {
			missing = append(missing, name)
		}
	}
	return there, missing
}

func simulated(product, action string) bool {
	return slices.ContainsFunc(openapisim.Products(), func(p api.Product) bool {
		return p.Name == product && slices.ContainsFunc(p.Actions, func(a api.Action) bool { return a.Name == action })
	})
}

// calledBy counts the different actions that a tool calls, and those that are missing.
func (t Tool) calledBy() (all, missing int) {
	seen := map[string]bool{}
	for _, p := range t.Parts {
		for _, name := range p.Actions {
			if key := p.Product + " " + name; !seen[key] {
				seen[key] = true
				all++
				if !simulated(p.Product, name) {
					missing++
				}
			}
		}
	}
	return all, missing
}

// ToolsPage renders the page that says for each tool which of its calls there are.
func ToolsPage() string {
	var b strings.Builder
	b.WriteString(toolsIntro)
	b.WriteString("| tool | actions | there | missing |\n|---|---|---|---|\n")
	for _, t := range Tools() {
		all, missing := t.calledBy()
		fmt.Fprintf(&b, "| [%s](#%s) | %d | %d | %d |\n", t.Name, heading(t.Name), all, all-missing, missing)
	}
	for _, t := range Tools() {
		fmt.Fprintf(&b, "\n## %s\n\nRead from %s.\n\n| part | product | there | missing |\n|---|---|---|---|\n", t.Name, t.From)
		for _, p := range t.Parts {
			there, missing := p.Simulated()
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", p.Name, p.Product, strings.Join(there, ", "), strings.Join(missing, ", "))
		}
	}
	return b.String()
}

// heading is the anchor of a heading.
func heading(name string) string {
	keep := func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		}
		return -1
	}
	return strings.Map(keep, strings.ToLower(name))
}

const toolsIntro = `# What other people's tools call

<!-- Generated from cloudgateway/openapisim/reference/tools.txt and the tables of the products; do not edit. -->

For each tool, the actions that it calls, by the part of it that does: there, or missing. The official CLI calls whatever it is told
to, so it can call all that [coverage.md](coverage.md) lists. An action that is there answers as [actions.md](actions.md) says.
` + "`testdata/tools`" + ` has the calls of Terraform's resources, Terway, the CSI driver and Karpenter in their order, as these tools
send them; the test ` + "`TestTools`" + ` makes them, and every action that is there must succeed in one.

`
