package release

import (
	"strings"
	"testing"
)

func TestNotes(t *testing.T) {
	t.Parallel()
	const changes = "# Changelog\n\n## Unreleased\n\n- new\n\n## 0.2.0 (2026-12-01)\n\n- older\n\n## 0.1.0\n\n- oldest\n"
	for version, want := range map[string]string{"0.3.0": "new", "0.2.0": "older", "0.1.0": "oldest"} {
		if got, err := notes(changes, version, false); err != nil || got != "# "+version+"\n\n- "+want+"\n" {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
	if _, err := notes("# Changelog\n", "0.1.0", false); err == nil {
		t.Error("notes of nothing")
	}
	if _, err := notes(changes, "0.3.0", true); err == nil {
		t.Error("a tag has the notes of what is not released")
	}
	if _, err := notes(changes, "0.2.0", true); err == nil || !strings.Contains(err.Error(), "Unreleased") {
		t.Errorf("changes that a tag has and its notes have not: %v", err)
	}
	for _, heading := range []string{"", "## Unreleased\n\n"} {
		if got, err := notes("# Changelog\n\n"+heading+"## 0.2.0\n\n- all\n", "0.2.0", true); err != nil || got != "# 0.2.0\n\n- all\n" {
			t.Errorf("with %q above: %q, %v", heading, got, err)
		}
	}
}

// TestLinksOfNotes: they are read on the page of a release, where a relative link leads nowhere.
func TestLinksOfNotes(t *testing.T) {
	t.Parallel()
	const changes = "See [docs/install.md](docs/install.md#2-images), the [runbook](docs/runbook.md) and [others](https://example.com/x).\n"
	const end = "\nThe files that are named here are those of the source at the tag v0.1.0.\n"
	for source, want := range map[string]string{
		"": "See `docs/install.md`, the runbook (`docs/runbook.md`) and [others](https://example.com/x).\n" + end,
		"https://git.example.com/r/blob/": "See [docs/install.md](https://git.example.com/r/blob/v0.1.0/docs/install.md#2-images), " +
			"the [runbook](https://git.example.com/r/blob/v0.1.0/docs/runbook.md) and [others](https://example.com/x).\n",
	} {
		if got := absolute(changes, "0.1.0", source); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", source, got, want)
		}
	}
	if got := absolute("- new\n", "0.1.0", ""); got != "- new\n" {
		t.Errorf("without links: %q", got)
	}
}
