package main

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
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
}

// materials says what a program is made of: the modules that are compiled in, and the standard library. Modules of this tree have the
// version of the image.
func materials(process, version string, created time.Time, binary []byte) (bom, error) {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return bom{}, fmt.Errorf("read the modules of %s: %w", process, err)
	}
	own, _, _ := strings.Cut(info.Main.Path, "/")
	b := bom{
		Format: "CycloneDX", Spec: "1.5", Version: 1,
		Metadata: bomMetadata{
			Timestamp: created.UTC().Format(time.RFC3339), Component: bomPart{Type: "application", Name: process, Version: version},
		},
		Components: []bomPart{{Type: "library", Name: "stdlib", Version: info.GoVersion, PURL: "pkg:golang/stdlib@" +
			strings.TrimPrefix(info.GoVersion, "go")}},
	}
	for _, dep := range info.Deps {
		part := bomPart{Type: "library", Name: dep.Path, Version: dep.Version}
		if strings.HasPrefix(dep.Path, own+"/") {
			part.Version = version
		} else {
			part.PURL = "pkg:golang/" + dep.Path + "@" + dep.Version
		}
		b.Components = append(b.Components, part)
	}
	slices.SortFunc(b.Components, func(x, y bomPart) int { return strings.Compare(x.Name, y.Name) })
	return b, nil
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
