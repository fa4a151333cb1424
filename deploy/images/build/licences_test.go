package build

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"alicloud-controllers.dev/deploy/tools/local/binaries"
)

// TestLicences: who gets an image gets the licences of all that is in it, and a licence that nobody has looked at stops
// the build.
func TestLicences(t *testing.T) {
	t.Parallel()
	const bsd = "Redistribution and use in source and binary\n forms, with or without modification, are permitted"
	for text, want := range map[string]string{
		"Apache License\n   Version 2.0, January 2004":                                 "Apache-2.0",
		"Permission is hereby granted, free of charge, to any person obtaining a copy": "MIT",
		bsd: "BSD-2-Clause", bsd + " Neither the name of": "BSD-3-Clause", "Mozilla Public License Version 2.0": "MPL-2.0",
		"Permission is hereby granted, free of charge, to any person obtaining a copy\n" + bsd: "MIT BSD-2-Clause",
		"GNU AFFERO GENERAL PUBLIC LICENSE Version 3":                                          "", "Business Source License 1.1": "", "": "",
	} {
		if got := strings.Join(licences(text), " "); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestNoticesOfEveryImage reads those of all processes.
func TestNoticesOfEveryImage(t *testing.T) {
	t.Parallel()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range Processes() {
		all, err := notices(t.Context(), root, process, "arm64")
		if err != nil {
			t.Error(err)
			continue
		}
		want := []string{"alicloud-controllers.dev", "stdlib"}
		if process != simulator {
			want = append(want, "google.golang.org/grpc", "k8s.io/client-go")
		}
		for _, module := range want {
			if !slices.ContainsFunc(all, func(n notice) bool { return n.module == module && len(n.ids) > 0 }) {
				t.Errorf("%s: nothing of %s", process, module)
			}
		}
		text := string(passedOn(all))
		if n := strings.Count(text, "END OF TERMS AND CONDITIONS"); n == 0 || n > 12 {
			t.Errorf("%s: the text of the Apache license is there %d times", process, n)
		}
	}
	others, err := certificates(t.Context(), root)
	if err != nil || len(others) != 1 || !slices.Equal(others[0].ids, []string{"BSD-3-Clause", "MPL-2.0"}) {
		t.Errorf("the certificates have %v, %v", others, err)
	}
}

// TestNoticesBesidePackages: a directory in a module may have a licence of its own, and one that nothing is compiled of
// counts for nothing.
func TestNoticesBesidePackages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for path, text := range map[string]string{
		"LICENSE": "permission is hereby granted, free of charge, to any person obtaining a copy", "license.go": "package x",
		"third/COPYING": "Mozilla Public License, version 2.0", "unused/LICENSE": "Business Source License",
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n := notice{module: "example.com/x", version: "v1.0.0", texts: map[string]string{}}
	err := n.read(dir, []string{filepath.Join(dir, "third")})
	if err != nil || strings.Join(n.ids, " ") != "MIT MPL-2.0" || len(n.texts) != 2 {
		t.Errorf("%+v, %v", n, err)
	}
	n = notice{module: "example.com/y", version: "v1.0.0", texts: map[string]string{}}
	if err := n.read(filepath.Join(dir, "unused"), []string{filepath.Join(dir, "unused")}); err == nil ||
		!strings.Contains(err.Error(), "example.com/y v1.0.0 has no licence that is known here") {
		t.Errorf("an unknown licence: %v", err)
	}
}
