// Package reference writes docs/actions.md: what the simulated cloud knows of each action, from the tables that
// it runs by, beside what the cloud documents. What is documented but not simulated is on the page too, so that a gap
// is not taken for a promise.
package reference

import (
	_ "embed" // for the documented actions
	"fmt"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

//go:generate go run ./gen -o ../docs/actions.md

//go:embed actions.txt
var actionsText string

// Documented is an action of the cloud's documents.
type Documented struct {
	Product, Name string
	Params        []string // without the members of repeated ones, as in [api.Param]
}

// DocumentedActions are the actions that the controllers, and other tools that do their work, can be expected to call.
func DocumentedActions() []Documented {
	var out []Documented
	for line := range strings.Lines(actionsText) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] == "#" {
			continue
		}
		d := Documented{Product: fields[0], Name: fields[1]}
		for _, p := range fields[2:] {
			if name := paramName(p); !slices.Contains(d.Params, name) {
				d.Params = append(d.Params, name)
			}
		}
		out = append(out, d)
	}
	return out
}

// paramName cuts what belongs to the form of a parameter off its name: "Tag.N{Key,Value}!" is Tag.
func paramName(documented string) string {
	name, _, _ := strings.Cut(strings.TrimSuffix(documented, "!"), "{")
	return strings.TrimSuffix(name, ".N")
}

// Missing returns the documented actions that the simulated cloud doesn't have.
func Missing() []Documented {
	return slices.DeleteFunc(DocumentedActions(), func(d Documented) bool {
		return slices.ContainsFunc(openapisim.Products(), func(p api.Product) bool {
			return p.Name == d.Product && slices.ContainsFunc(p.Actions, func(a api.Action) bool { return a.Name == d.Name })
		})
	})
}

// Markdown renders the page.
func Markdown() string {
	var b strings.Builder
	b.WriteString(intro)
	products, missing := openapisim.Products(), Missing()
	b.WriteString("| product | version | actions | documented but missing |\n|---|---|---|---|\n")
	for _, p := range products {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %d | %d |\n", p.Code, anchor(p), p.Version, len(p.Actions), len(of(p, missing)))
	}
	for _, p := range products {
		writeProduct(&b, p, of(p, missing))
	}
	return b.String()
}

const intro = `# The actions of the simulated cloud

<!-- Generated from the tables in cloudgateway/openapisim; do not edit. -->

What openapisim does with each action: the parameters it honours and the error codes its handlers can answer. A parameter that is not
honoured is ignored, as the cloud ignores unknown ones; those that the cloud documents are listed as *ignored*. Apart from the codes here,
every action answers

- what concerns the request as a whole: ` + "`MissingParameter`, `InvalidParameter`, `InvalidAction.NotFound`, `InvalidVersion`,\n" +
	"  `InvalidRegionId.NotFound`, `InvalidAccessKeyId.NotFound`, `InvalidAccessKeyId.Inactive`, `SignatureDoesNotMatch`,\n" +
	"  `SignatureNonceUsed`, `InvalidTimeStamp.Expired`, `MissingSecurityToken`, `InvalidSecurityToken.*`, `Throttling`" + `;
- any other code by a fault rule ([openapisim](openapisim.md)).

In the tables **bold** parameters are required; *list* and *struct list* stand for ` + "`Name.1`, `Name.2`, … and `Name.1.Key`, …" + `; ranges
of lists are numbers of items.

`

func anchor(p api.Product) string {
	return strings.NewReplacer(" ", "-").Replace(strings.ToLower(p.Code + " " + p.Version))
}

func of(p api.Product, all []Documented) []Documented {
	return slices.DeleteFunc(slices.Clone(all), func(d Documented) bool { return d.Product != p.Name })
}

func writeProduct(b *strings.Builder, p api.Product, missing []Documented) {
	fmt.Fprintf(b, "\n## %s %s\n", p.Code, p.Version)
	if len(missing) > 0 {
		b.WriteString("\nDocumented but not simulated; a call is answered with `InvalidAction.NotFound`:\n\n")
		for _, d := range missing {
			fmt.Fprintf(b, "- `%s`\n", d.Name)
		}
	}
	actions := slices.Clone(p.Actions)
	slices.SortFunc(actions, func(a, b api.Action) int { return strings.Compare(a.Name, b.Name) })
	for _, a := range actions {
		writeAction(b, p.Name, a)
	}
}

func writeAction(b *strings.Builder, product string, a api.Action) {
	fmt.Fprintf(b, "\n### %s\n\n", a.Name)
	if a.Unsigned {
		b.WriteString("Takes unsigned requests.\n\n")
	}
	if len(a.Params) > 0 {
		b.WriteString("| parameter | kind | values |\n|---|---|---|\n")
	}
	for _, p := range sortedParams(a.Params) {
		name := "`" + p.Name + "`"
		if p.Required {
			name = "**" + name + "**"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, kindName(p.Kind), values(p))
	}
	if len(a.Params) > 0 {
		b.WriteString("\n")
	}
	if ignored := ignoredParams(product, a); len(ignored) > 0 {
		fmt.Fprintf(b, "Ignored: %s.\n\n", strings.Join(quoted(ignored), ", "))
	}
	codes := a.AllCodes()
	if len(codes) == 0 {
		b.WriteString("No codes of its own.\n")
		return
	}
	fmt.Fprintf(b, "Codes: %s.\n", strings.Join(quoted(codes), ", "))
	if len(a.ItemCodes) > 0 {
		fmt.Fprintf(b, "\nCodes of failed items, in an answer with status 200: %s.\n", strings.Join(quoted(slices.Sorted(slices.Values(a.ItemCodes))), ", "))
	}
}

// sortedParams puts the required ones first.
func sortedParams(params []api.Param) []api.Param {
	return slices.SortedStableFunc(slices.Values(params), func(a, b api.Param) int {
		if a.Required != b.Required {
			if a.Required {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
}

func ignoredParams(product string, a api.Action) []string {
	for _, d := range DocumentedActions() {
		if d.Product != product || d.Name != a.Name {
			continue
		}
		return slices.DeleteFunc(d.Params, func(name string) bool {
			return slices.ContainsFunc(a.Params, func(p api.Param) bool { return strings.EqualFold(p.Name, name) })
		})
	}
	return nil
}

func quoted(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = "`" + name + "`"
	}
	return out
}

func kindName(k api.Kind) string {
	switch k {
	case api.String:
		return "text"
	case api.Int:
		return "number"
	case api.Bool:
		return "true or false"
	case api.JSON:
		return "JSON"
	case api.Strings:
		return "list"
	case api.Structs:
		return "struct list"
	}
	return ""
}

func values(p api.Param) string {
	var parts []string
	if len(p.Enum) > 0 {
		parts = append(parts, strings.Join(quoted(p.Enum), ", "))
	}
	settings := api.DefaultSettings()
	if most := p.Most(&settings); p.Min != 0 || most != 0 {
		parts = append(parts, fmt.Sprintf("%d…%d", p.Min, most))
	}
	return strings.Join(parts, "; ")
}
