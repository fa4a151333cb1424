package release

import (
	"fmt"
	"regexp"
	"strings"
)

// notes are the part of the changes about a version, or, before its tag, about what is not released.
func notes(changes, version string, tagged bool) (string, error) {
	if _, rest, ok := strings.Cut("\n"+changes, "\n## Unreleased\n"); ok && tagged {
		if rest, _, _ = strings.Cut("\n"+rest, "\n## "); strings.TrimSpace(rest) != "" {
			return "", fmt.Errorf("the changes have lines under Unreleased, which the tag has, too: move them to the part about %s", version)
		}
	}
	headings := []string{"## " + version, "## [" + version + "]"}
	if !tagged {
		headings = append(headings, "## Unreleased")
	}
	for _, heading := range headings {
		_, rest, ok := strings.Cut("\n"+changes, "\n"+heading)
		if !ok {
			continue
		}
		_, rest, _ = strings.Cut(rest, "\n") // The date.
		rest, _, _ = strings.Cut(rest, "\n## ")
		return "# " + version + "\n\n" + strings.TrimSpace(rest) + "\n", nil
	}
	return "", fmt.Errorf("the changes have no part about %s", version)
}

// introduced are the notes as they stand beside the files of a release, where nothing else says what these are for.
func introduced(notes string) string {
	title, changes, _ := strings.Cut(notes, "\n\n")
	return title + "\n\nHow to verify these files, and to install from them, is in [docs/install.md](docs/install.md#2-images).\n\n" + changes
}

// absolute gives the links of the changes, which lead to files beside them, the address of those files at the tag.
// Where that is not known, each file is named instead: on the page of a release a relative link leads nowhere.
func absolute(notes, version, source string) string {
	tag, named := "v"+version, false
	links := regexp.MustCompile(`\[([^\]]+)\]\(([^)\s]+)\)`)
	notes = links.ReplaceAllStringFunc(notes, func(link string) string {
		text, target, _ := strings.Cut(links.ReplaceAllString(link, "$1\n$2"), "\n")
		path, _, _ := strings.Cut(target, "#")
		switch {
		case strings.Contains(target, "://"):
			return link
		case source != "":
			return "[" + text + "](" + strings.TrimSuffix(source, "/") + "/" + tag + "/" + target + ")"
		case text == path:
			named = true
			return "`" + path + "`"
		}
		named = true
		return text + " (`" + path + "`)"
	})
	if named {
		notes += "\nThe files that are named here are those of the source at the tag " + tag + ".\n"
	}
	return notes
}
