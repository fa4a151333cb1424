// Command reference writes the reference pages of the gateway's API, configuration, metrics, events and values of the chart. It reads the
// sources of all modules, whose packages are internal to them, and of their types only the protocol's: what a page
// shows is spelled out next to the code it is about.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:generate go run . -root ../../..

// processes in the order of the pages. What is in services belongs to all of them.
func processes() []string {
	return []string{"cloudgateway", "lbcontroller", "nodecontroller", "routecontroller"}
}

func main() {
	root := flag.String("root", ".", "the `DIRECTORY` of the source tree")
	flag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintf(os.Stderr, "reference: %v\n", err)
		os.Exit(1)
	}
}

func run(root string) error {
	written, err := write(root)
	if err != nil {
		return err
	}
	for name, text := range written {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil { //nolint:gosec // A file of the source tree.
			return err
		}
	}
	return nil
}

// write makes all pages, by their path from the top.
func write(root string) (map[string]string, error) {
	pages := map[string]func(*tree) (string, error){"api": apiPage, "config": configPage, "metrics": metricsPage, "events": eventsPage,
		"faults": faultsPage}
	written := map[string]string{}
	for name, page := range pages {
		text, err := page(&tree{root: root})
		if err != nil {
			return nil, fmt.Errorf("page %s: %w", name, err)
		}
		written["docs/reference/"+name+".md"] = text
	}
	text, err := valuesPage(root)
	if err != nil {
		return nil, fmt.Errorf("README of the chart: %w", err)
	}
	written["deploy/chart/README.md"] = text
	return written, nil
}

// table is a Markdown table.
type table struct{ strings.Builder }

func newTable(columns ...string) *table {
	t := &table{}
	t.row(columns...)
	t.WriteString(strings.Repeat("|---", len(columns)) + "|\n")
	return t
}

func (t *table) row(cells ...string) {
	for _, cell := range cells {
		t.WriteString("| " + strings.ReplaceAll(strings.Join(strings.Fields(cell), " "), "|", `\|`) + " ")
	}
	t.WriteString("|\n")
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
