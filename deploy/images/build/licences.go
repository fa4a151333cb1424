package build

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// notice is what somebody who hands a program on has to pass on with it: the texts of the licences and notices of one
// module.
type notice struct {
	module, version string
	// ids are the licences by their SPDX identifiers, such as "MIT".
	ids []string
	// texts are the files, by their paths in the module.
	texts map[string]string
}

// own is the prefix of the modules of this tree.
const own = "alicloud-controllers.dev/"

// notices are those of what is compiled into a process for one architecture: each module, in the order of their paths,
// the standard library, and this tree once. A module without a licence that is known here is an error: what nobody may
// hand on is not released.
func notices(ctx context.Context, root, process, arch string) ([]notice, error) {
	return of(ctx, root, filepath.Join(root, module(process)), "./cmd/"+process, "linux", arch)
}

// of are those of what is compiled into a package for one platform.
func of(ctx context.Context, root, dir, pkg, system, arch string) ([]notice, error) {
	const each = "{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}"
	listed, err := list(ctx, dir, system, arch, "list", "-deps", "-f", each, pkg)
	if err != nil {
		return nil, fmt.Errorf("list what %s is made of: %w", pkg, err)
	}
	goroot, err := list(ctx, root, system, arch, "env", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, fmt.Errorf("find the standard library: %w", err)
	}
	std, version, _ := strings.Cut(strings.TrimSpace(goroot), "\n")
	found := map[string]notice{
		"stdlib": {module: "stdlib", version: version, texts: map[string]string{}},
		own:      {module: strings.TrimSuffix(own, "/"), texts: map[string]string{}},
	}
	directories := map[string][]string{"stdlib": {std, std}, own: {root, root}}
	for line := range strings.Lines(listed) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 4 || strings.HasPrefix(fields[0], own) {
			continue
		}
		found[fields[0]] = notice{module: fields[0], version: fields[1], texts: map[string]string{}}
		if directories[fields[0]] == nil {
			directories[fields[0]] = []string{fields[2]}
		}
		directories[fields[0]] = append(directories[fields[0]], fields[3])
	}
	var all []notice
	for module, n := range found {
		if err := n.read(directories[module][0], directories[module][1:]); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b notice) int { return strings.Compare(a.module, b.module) })
	return all, nil
}

// certificates are the notices of the authorities' certificates in each image.
func certificates(ctx context.Context, root string) ([]notice, error) {
	const module = "golang.org/x/crypto/x509roots/fallback"
	listed, err := list(ctx, filepath.Join(root, "deploy"), "linux", "amd64", "list", "-m", "-f", "{{.Version}}\t{{.Dir}}", module)
	if err != nil {
		return nil, fmt.Errorf("find the certificates: %w", err)
	}
	version, dir, _ := strings.Cut(strings.TrimSpace(listed), "\t")
	n := notice{module: module, version: version, texts: map[string]string{"certificates": "etc/ssl/certs/ca-certificates.crt has data of " +
		"Mozilla's root store, under the Mozilla Public License, version 2.0: https://www.mozilla.org/MPL/2.0/"}}
	return []notice{n}, n.read(dir, []string{dir})
}

// read finds the texts of a module: those beside the packages that are compiled in, and those of the directories above
// them.
func (n *notice) read(top string, packages []string) error {
	for _, dir := range packages {
		for ; strings.HasPrefix(dir, top); dir = filepath.Dir(dir) {
			entries, err := os.ReadDir(dir)
			if err != nil {
				return fmt.Errorf("find the licence of %s: %w", n.module, err)
			}
			for _, entry := range entries {
				if entry.IsDir() || !isNotice(entry.Name()) {
					continue
				}
				text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
				if err != nil {
					return fmt.Errorf("read the licence of %s: %w", n.module, err)
				}
				below, err := filepath.Rel(top, dir)
				if err != nil {
					return fmt.Errorf("read the licence of %s: %w", n.module, err)
				}
				n.texts[path.Join(filepath.ToSlash(below), entry.Name())] = string(text)
			}
		}
	}
	for _, text := range n.texts {
		for _, id := range licences(text) {
			if !slices.Contains(n.ids, id) {
				n.ids = append(n.ids, id)
			}
		}
	}
	slices.Sort(n.ids)
	if len(n.ids) == 0 {
		return fmt.Errorf("%s %s has no licence that is known here: %q", n.module, n.version, n.texts)
	}
	return nil
}

// isNotice is true of the usual names, such as LICENSE, LICENSE.md and NOTICE, and false of a program's license.go.
func isNotice(name string) bool {
	name = strings.ToUpper(name)
	if strings.HasSuffix(name, ".GO") {
		return false
	}
	return slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"},
		func(usual string) bool { return strings.HasPrefix(name, usual) })
}

// phrases are what licences are known by, in small letters and with single spaces.
func phrases() [][2]string {
	return [][2]string{
		{"apache license version 2.0, january 2004", "Apache-2.0"},
		{`licensed under the apache license, version 2.0 (the "license")`, "Apache-2.0"},
		{"permission is hereby granted, free of charge, to any person obtaining a copy", "MIT"},
		{"permission to use, copy, modify, and distribute this software for any purpose with or without fee", "ISC"},
		{"permission to use, copy, modify, and/or distribute this software for any purpose with or without fee", "ISC"},
		{"mozilla public license version 2.0", "MPL-2.0"},
		{"mozilla public license, version 2.0", "MPL-2.0"},
	}
}

// licences are those of a text, which may have several. Licences that ask for more than that is passed on with a
// program are not among them.
func licences(text string) []string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	var ids []string
	for _, phrase := range phrases() {
		if strings.Contains(text, phrase[0]) && !slices.Contains(ids, phrase[1]) {
			ids = append(ids, phrase[1])
		}
	}
	switch {
	case !strings.Contains(text, "redistribution and use in source and binary forms"):
	case strings.Contains(text, "neither the name"), strings.Contains(text, "may not be used to endorse"):
		ids = append(ids, "BSD-3-Clause")
	default:
		ids = append(ids, "BSD-2-Clause")
	}
	return ids
}

// passedOn is the file of an image: each text once, below the modules that have it.
func passedOn(all []notice) []byte {
	of := map[string][]string{}
	var texts []string
	for _, n := range all {
		paths := make([]string, 0, len(n.texts))
		for path := range n.texts {
			paths = append(paths, path)
		}
		slices.Sort(paths)
		for _, path := range paths {
			text := strings.TrimSpace(strings.ReplaceAll(n.texts[path], "\r\n", "\n"))
			if of[text] == nil {
				texts = append(texts, text)
			}
			of[text] = append(of[text], strings.TrimSpace(n.module+" "+n.version)+": "+path)
		}
	}
	var out bytes.Buffer
	for _, text := range texts {
		fmt.Fprintf(&out, "%s\n\n%s\n\n%s\n\n", strings.Join(of[text], "\n"), text, strings.Repeat("=", 80))
	}
	return out.Bytes()
}

// list runs a go command in a module by itself, for one platform.
func list(ctx context.Context, dir, system, arch string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // The arguments are ours.
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return string(out), nil
}
