// Package reference writes docs/actions.md, docs/coverage.md and docs/tools.md: what the simulated cloud knows of each action, from the
// tables that it runs by, beside what the cloud documents. What is documented but not simulated is there too, so that a gap
// is not taken for a promise.
package reference

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/documented"
)

//go:generate go run ./gen -o ../docs/actions.md -coverage ../docs/coverage.md -tools ../docs/tools.md

// Missing returns the documented actions that the simulated cloud doesn't have.
func Missing() []documented.Action {
	return slices.DeleteFunc(slices.Clone(documented.Described()), func(d documented.Action) bool {
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

CS is in ROA style: a method and a path say which action is called, parameters may be in the path, and errors of its actions have the
members ` + "`code`, `message`, `requestId` and `status`" + `.

In the tables **bold** parameters are required; *list* and *struct list* stand for ` + "`Name.1`, `Name.2`, … and\n" +
	"`Name.1.Key`, …" + `; ranges of lists are numbers of items.

`

func anchor(p api.Product) string {
	return strings.ReplaceAll(strings.ToLower(p.Code+" "+p.Version), " ", "-")
}

func of(p api.Product, all []documented.Action) []documented.Action {
	return slices.DeleteFunc(slices.Clone(all), func(d documented.Action) bool { return d.Product != p.Name })
}

// Coverage renders the page that says how much of each product there is.
func Coverage() string {
	var b strings.Builder
	b.WriteString(coverageIntro)
	b.WriteString(
		"| product | version | simulated | documented | part | parameters honoured | documented for these actions " +
			"|\n|---|---|---|---|---|---|---|\n")
	for _, p := range openapisim.Products() {
		honoured, all := 0, 0
		for _, a := range p.Actions {
			ignored := len(ignoredParams(p.Name, a))
			honoured, all = honoured+documentedParams(p.Name, a.Name)-ignored, all+documentedParams(p.Name, a.Name)
		}
		known := len(documented.Actions(p.Name))
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %d | %d | %d %% | %d | %d |\n",
			p.Code, anchor(p), p.Version, len(p.Actions), known, 100*len(p.Actions)/known, honoured, all)
	}
	for _, p := range openapisim.Products() {
		writeCoverage(&b, p)
	}
	return b.String()
}

const coverageIntro = `# How much of each product is simulated

<!-- Generated from the tables in cloudgateway/openapisim; do not edit. -->

Documented are the actions of version 1 of the SDK for Go, v1.63.107 (April 2025), and what clients send that is younger than
it: the certificates of CAS, the monitoring of NLB, components of CS, versions of HTTP in health checks. A parameter that is
ignored can be sent, and nothing comes of it; the journal says so, and a strict cloud refuses them ([openapisim](openapisim.md)).
[actions.md](actions.md) has the parameters and codes of each action. An action that is not simulated answers
` + "`InvalidAction.NotFound`" + `, and its message says whether the product documents it.

`

func writeCoverage(b *strings.Builder, p api.Product) {
	fmt.Fprintf(b, "\n## %s %s\n\n| action | ignored parameters |\n|---|---|\n", p.Code, p.Version)
	simulated := map[string]bool{}
	for _, a := range slices.SortedFunc(slices.Values(p.Actions), func(a, b api.Action) int { return strings.Compare(a.Name, b.Name) }) {
		simulated[a.Name] = true
		fmt.Fprintf(b, "| [%s](actions.md#%s) | %s |\n", a.Name, strings.ToLower(a.Name), strings.Join(quoted(ignoredParams(p.Name, a)), ", "))
	}
	missing := slices.DeleteFunc(documented.Actions(p.Name), func(name string) bool { return simulated[name] })
	if len(missing) > 0 {
		fmt.Fprintf(b, "\n<details><summary>%d documented actions are not simulated</summary>\n\n%s\n\n</details>\n",
			len(missing), strings.Join(missing, ", "))
	}
}

// documentedParams is the number of parameters that an action documents.
func documentedParams(product, action string) int { return len(documented.Params(product, action)) }

func writeProduct(b *strings.Builder, p api.Product, missing []documented.Action) {
	fmt.Fprintf(b, "\n## %s %s\n", p.Code, p.Version)
	if p.Malformed != "" {
		fmt.Fprintf(b, "\nA parameter of the wrong form is answered with `%s` instead of `InvalidParameter`.\n", p.Malformed)
	}
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
	if a.Path != "" {
		fmt.Fprintf(b, "`%s %s`\n\n", a.Method, a.Path)
	}
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
		fmt.Fprintf(b, "\nCodes of failed items, in an answer with status 200: %s.\n",
			strings.Join(quoted(slices.Sorted(slices.Values(a.ItemCodes))), ", "))
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
	all := documented.Params(product, a.Name)
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		byMembers := slices.ContainsFunc(all, func(other string) bool { return strings.HasPrefix(other, name+".") })
		return slices.ContainsFunc(a.Params, func(p api.Param) bool {
			// A structure whose members the documents don't list is read by its members.
			return strings.EqualFold(p.Name, name) || !byMembers && strings.HasPrefix(p.Name, name+".")
		})
	})
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
		values := quoted(p.Enum)
		if p.Open {
			values = append(values, "and others")
		}
		parts = append(parts, strings.Join(values, ", "))
	}
	settings := api.DefaultSettings()
	for _, member := range p.Members {
		parts = append(parts, strings.TrimSuffix("`"+member.Name+"` "+cmp.Or(values(member), kindName(member.Kind)), " "))
	}
	if most := p.Most(&settings); p.Min != 0 || most != 0 {
		parts = append(parts, fmt.Sprintf("%d…%d", p.Min, most))
	}
	return strings.Join(parts, "; ")
}
