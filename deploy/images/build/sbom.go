package build

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// bom is a bill of materials in the format CycloneDX 1.5, with the parts of it that a Go program knows about itself.
type bom struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   bomMetadata `json:"metadata"`
	Components []bomPart   `json:"components"`
}

type bomMetadata struct {
	Timestamp string  `json:"timestamp"`
	Component bomPart `json:"component"`
}

type bomPart struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl,omitempty"`
	// Licences are by their SPDX identifiers.
	Licences []bomLicence `json:"licenses,omitempty"`
}

type bomLicence struct {
	Licence struct {
		ID string `json:"id"`
	} `json:"license"`
}

// licensed adds the licences of a module.
func (p bomPart) licensed(by map[string]notice, module string) bomPart {
	for _, id := range by[module].ids {
		var l bomLicence
		l.Licence.ID = id
		p.Licences = append(p.Licences, l)
	}
	return p
}

// materials says what a program is made of: the modules that are compiled in with their licences, and the standard
// library. Modules of this tree have the version of the image.
func materials(process, version string, created time.Time, info *debug.BuildInfo, all []notice) bom {
	by := map[string]notice{}
	for _, n := range all {
		by[n.module] = n
	}
	root := strings.TrimSuffix(own, "/")
	b := bom{
		Format: "CycloneDX", Spec: "1.5", Version: 1,
		Metadata: bomMetadata{
			Timestamp: created.UTC().Format(time.RFC3339),
			Component: bomPart{Type: "application", Name: process, Version: version}.licensed(by, root),
		},
		Components: []bomPart{bomPart{Type: "library", Name: "stdlib", Version: info.GoVersion, PURL: "pkg:golang/stdlib@" +
			strings.TrimPrefix(info.GoVersion, "go")}.licensed(by, "stdlib")},
	}
	for _, dep := range info.Deps {
		part := bomPart{Type: "library", Name: dep.Path, Version: dep.Version}
		if strings.HasPrefix(dep.Path, own) {
			part.Version = version
			part = part.licensed(by, root)
		} else {
			part.PURL = "pkg:golang/" + dep.Path + "@" + dep.Version
			part = part.licensed(by, dep.Path)
		}
		b.Components = append(b.Components, part)
	}
	slices.SortFunc(b.Components, func(x, y bomPart) int { return strings.Compare(x.Name, y.Name) })
	return b
}

// writeMaterials writes the bill beside the image.
func writeMaterials(path string, b bom) error {
	text, err := json.MarshalIndent(b, "", " ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.WriteFile(path, append(text, '\n'), 0o644) //nolint:gosec // For all users who may read the tree.
}

// static reports as an error what a program needs besides the kernel.
func static(binary []byte) error {
	file, err := elf.NewFile(bytes.NewReader(binary))
	if err != nil {
		return fmt.Errorf("read the program: %w", err)
	}
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			return fmt.Errorf("the program is linked dynamically")
		}
	}
	return nil
}
