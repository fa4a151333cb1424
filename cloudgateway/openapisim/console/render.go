package console

import (
	"embed"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"sync"
)

//go:embed assets
var assets embed.FS

//go:embed templates
var templates embed.FS

// parseTemplates does so once for all simulators of a process, of which tests start thousands.
var parseTemplates = sync.OnceValues(func() (*template.Template, error) { //nolint:gochecknoglobals // A constant.
	pages, err := template.New("console").Funcs(template.FuncMap{"count": count, "found": found}).ParseFS(templates, "templates/*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("parse the templates: %w", err)
	}
	return pages, nil
})

// count writes a number with its thousands apart.
func count(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "\u202f" + text[i:] // narrow space that doesn't break
	}
	return text
}

// paged is a pager with the noun for its items, in the plural.
type paged struct {
	pager
	Noun string
}

func found(p pager, noun string) paged { return paged{p, noun} }

// Place says which part of the list is shown.
func (p paged) Place() string {
	switch {
	case p.Total == 0:
		return "No " + p.Noun
	case p.Total == 1:
		return "1 " + strings.TrimSuffix(p.Noun, "s")
	case p.First == 1 && p.Last == p.Total:
		return count(p.Total) + " " + p.Noun
	}
	return fmt.Sprintf("%s–%s of %s %s", count(p.First), count(p.Last), count(p.Total), p.Noun)
}
